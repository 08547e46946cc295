"""Entries of the tape: what was done to values that depend on what is differentiated, each with its way back.

    entry.back(bars, again)     from the cotangents of what it made to those of what it was made of

Where it wrote into an array, `back` puts there what was there before, and into `again` what is to be there
when the sweep has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from ctxdispatch_contexts.recording.bars import Bars, conjugate, fitted
from ctxdispatch_contexts.recording.masks import Masks, selected
from ctxdispatch_contexts.recording.memory import WRITEABLE, Array, Joined, unfrozen
from ctxdispatch_contexts.recording.numbers import is_choice
from ctxdispatch_contexts.recording.record import Number
from ctxdispatch_contexts.reverse.cotangents import kept as kept_part
from ctxdispatch_contexts.reverse.through import through

Again = tuple[Any, Any, Any]
"""(array, index, what is to be there again afterwards)"""


class Entry:
    """What is done to cotangents is done to their masks, but for partials; `bars.masks` gets those."""

    __slots__ = ()

    def back(self, bars: Bars, again: list[Again]) -> None:
        raise NotImplementedError

    def back_masks(self, bars: Bars, again: list[Again]) -> None:
        self.back(bars, again)


class Called(NamedTuple):
    """f(*args), the last of them by these names, and its pullback."""

    function: Any
    kwnames: tuple[str, ...]
    pullback: Any

    def back(self, bars: Bars, at: int, args: Any, bar: Any) -> None:
        """From the cotangent of the result to those of the arguments. `at`: the entry."""
        cotangents = self.pullback(bar)[1:]
        masks = bars.masks.get(at) or [None] * len(cotangents)
        for arg, cotangent, mask in zip(args, cotangents, masks, strict=True):
            bars.add(arg, cotangent if mask is None else selected(cotangent, mask))

    def back_masks(self, bars: Bars, at: int, args: Any, y: Any, mask: Any) -> None:
        masks = bars.masks[at] = list(through(self.function, y, args, self.kwnames, mask))
        for arg, found in zip(args, masks, strict=True):
            if bars.any_active((arg,)):
                bars.add(arg, found)


class Call(Entry):
    """y = f(*args); `made` is what is new in it."""

    __slots__ = ("y", "made", "called", "args", "at")

    def __init__(self, y: Any, made: Any, called: Called, args: Any, at: tuple[CodeType, int] | None) -> None:
        self.y, self.made, self.called, self.args, self.at = y, made, called, args, at

    @property
    def pullback(self) -> Any:
        return self.called.pullback

    def back(self, bars: Bars, again: list[Again]) -> None:
        bar = bars.take(self.made)
        if bar is not None:
            self.called.back(bars, id(self), self.args, bar)

    def back_masks(self, bars: Bars, again: list[Again]) -> None:
        mask = bars.take(self.made)
        if mask is not None:
            self.called.back_masks(bars, id(self), self.args, self.y, mask)


def back_through_numbers(entry: tuple[Any, ...]) -> None:
    """Of y = f(a), (y, x, partial, a); of y = f(a, b), (y, first, second, of_a, of_b, a, b): `x`, `first` and
    `second` are what the run knows of the operands. Most of a long tape is this: tuples, made in one step."""
    y = entry[0]
    bar = y.derivative
    if bar is None:
        return
    y.derivative = None
    if len(entry) == 4:
        _, x, partial, a = entry
        _add(x, bar * partial(a, y.value))
        return
    _, first, second, of_a, of_b, a, b = entry
    if first is not None and of_a is not None:
        _add(first, bar * of_a(a, b, y.value))
    if second is not None and of_b is not None:
        _add(second, bar * of_b(a, b, y.value))


def back_through_kept(entry: tuple[Any, ...], masks: Masks) -> None:
    """The same where the cotangent may be zero by structure."""
    if masks.get(id(entry)):
        back_through_numbers(entry)
    else:
        entry[0].derivative = None


def mask_numbers(entry: tuple[Any, ...], masks: Masks) -> None:
    y = entry[0]
    mask, y.derivative = y.derivative, None
    if not mask:
        return
    masks[id(entry)] = mask
    if len(entry) == 4:
        _add(entry[1], mask)
        return
    _, first, second, of_a, of_b, a, b = entry
    for number, partial in ((first, of_a), (second, of_b)):
        if number is not None and partial is not None:
            _add(number, mask * partial(a, b, y.value) if is_choice(partial) else mask)


def _add(number: Number, part: Any) -> None:
    number.derivative = part if number.derivative is None else number.derivative + part


class Elements(Entry):
    """y = f(*args), elements of a new array; see `elements.Operand`."""

    __slots__ = ("y", "args", "operands")

    def __init__(self, y: Array, args: tuple[Any, ...], operands: Sequence[Any]) -> None:
        self.y, self.args, self.operands = y, args, operands

    def back(self, bars: Bars, again: list[Again]) -> None:
        y, memory = self.y, bars.memory
        block = memory.find(y)
        if block is None or block.empty:
            return
        bar = memory.shadow(y)  # nothing that comes before has this memory
        mask = bars.masks.get(id(self))
        for value, known, partial in self.operands:
            if known is None or partial is None:
                continue
            part = bar * partial(*self.args, y)
            self._pass_on(bars, value, known, part if mask is None else kept_part(part, mask))

    @staticmethod
    def _pass_on(bars: Bars, value: Any, known: Any, part: Any) -> None:
        if known is True:
            bars.memory.add(value, part if part.shape == value.shape else fitted(part, value))
        else:
            total = type(value)(part.sum())
            known.derivative = total if known.derivative is None else known.derivative + total

    def back_masks(self, bars: Bars, again: list[Again]) -> None:
        mask = bars.memory.arrived(self.y)
        if mask is None:
            return
        bars.masks[id(self)] = mask
        for value, known, partial in self.operands:
            if known is not None and partial is not None:
                chosen = mask * partial(*self.args, self.y) if is_choice(partial) else mask
                self._pass_on(bars, value, known, chosen)


class Element(Entry):
    """y = array[index], a number."""

    __slots__ = ("y", "array", "index")

    def __init__(self, y: Number, array: Array, index: Any) -> None:
        self.y, self.array, self.index = y, array, index

    def back(self, bars: Bars, again: list[Again]) -> None:
        bar = self.y.derivative
        if bar is not None:
            self.y.derivative = None
            bars.memory.shadow(self.array)[self.index] += bar


class SetElement(Entry):
    """array[index] = number"""

    __slots__ = ("array", "index", "number", "before")

    def __init__(self, array: Array, index: Any, number: Number | None, before: Any) -> None:
        self.array, self.index, self.number, self.before = array, index, number, before

    def back(self, bars: Bars, again: list[Again]) -> None:
        index, number = self.index, self.number
        array = unfrozen(self.array)
        again.append((array, index, array[index]))
        array[index] = self.before
        shadow = bars.memory.shadow(self.array)
        bar = shadow[index]
        shadow[index] = 0
        if number is not None:
            number.derivative = bar if number.derivative is None else number.derivative + bar


class Item(Entry):
    """y = array[index], no view"""

    __slots__ = ("y", "array", "index")

    def __init__(self, y: Any, array: Array, index: Any) -> None:
        self.y, self.array, self.index = y, array, index

    def back(self, bars: Bars, again: list[Again]) -> None:
        bar = bars.take(self.y)
        if bar is None:
            return
        shadow = bars.memory.shadow(self.array)
        if issubclass(type(self.y), np.ndarray):
            np.add.at(shadow, self.index, conjugate(bar))
        else:
            shadow[self.index] += conjugate(bar)


class Kept(Entry):
    """What was in `array[index]` before something was written there."""

    __slots__ = ("array", "index", "before", "written")

    def __init__(self, array: Array, index: Any) -> None:
        self.array, self.index = array, index
        self.before = np.array(array[index], copy=True)
        self.written = bool(array.flags.num & WRITEABLE)

    def back(self, bars: Bars, again: list[Again]) -> None:
        if not self.written:
            return  # nobody else could write there by this name
        array, index = unfrozen(self.array), self.index
        again.append((array, index, np.array(array[index], copy=True)))
        array[index] = self.before


class Store(Entry):
    """array[index] = value, where `value` was broadcast and cast. `keeps`: where it was not written."""

    __slots__ = ("array", "index", "value", "kept")

    def __init__(self, array: Array, index: Any, value: Any, kept: Kept) -> None:
        self.array, self.index, self.value, self.kept = array, index, value, kept

    def back(self, bars: Bars, again: list[Again]) -> None:
        self.kept.back(bars, again)
        block = bars.memory.find(self.array)
        if block is None or block.empty or not block.active:
            return
        shadow = block.shadow(self.array)
        bar = np.array(shadow[self.index], copy=True)
        shadow[self.index] = 0
        if bars.is_active(self.value):
            bars.add(self.value, fitted(conjugate(bar), self.value))


class Update(Entry):
    """array[...] = y, where (y, pullback) is f(*args) of what was there before: args[0] stands for that.
    `y`: the array itself where that has its shape."""

    __slots__ = ("array", "called", "args", "kept", "y")

    def __init__(self, array: Array, called: Called, args: Any, kept: Kept, y: Any) -> None:
        self.array, self.called, self.args, self.kept, self.y = array, called, args, kept, y

    def back(self, bars: Bars, again: list[Again]) -> None:
        self.kept.back(bars, again)
        bar = self._taken(bars)
        if bar is not None:
            self.called.back(bars, id(self), self.args, conjugate(bar))

    def back_masks(self, bars: Bars, again: list[Again]) -> None:
        y = np.array(self.array) if self.y is self.array else self.y
        self.kept.back(bars, again)
        mask = self._taken(bars)
        if mask is not None:
            self.called.back_masks(bars, id(self), self.args, y, mask)

    def _taken(self, bars: Bars) -> Any:
        bar = bars.memory.arrived(self.array)
        if bar is not None:
            bars.memory.shadow(self.array)[...] = 0
        return bar if bar is None or self.y is self.array else fitted(bar, self.y)


class Added(Entry):
    """array[index] += sign * value, each element as often as it is named"""

    __slots__ = ("array", "index", "value", "sign", "kept")

    def __init__(self, array: Array, index: Any, value: Any, sign: int, kept: Kept) -> None:
        self.array, self.index, self.value, self.sign, self.kept = array, index, value, sign, kept

    def back(self, bars: Bars, again: list[Again]) -> None:
        self.kept.back(bars, again)
        block = bars.memory.find(self.array)
        if block is not None and not block.empty and bars.is_active(self.value):
            bar = self.sign * block.shadow(self.array)[self.index]
            bars.add(self.value, fitted(conjugate(bar), self.value))

    def back_masks(self, bars: Bars, again: list[Again]) -> None:
        Added(self.array, self.index, self.value, 1, self.kept).back(bars, again)


class Parted(Entry):
    """Here two names of the same memory became one."""

    __slots__ = ("joined",)

    def __init__(self, joined: Joined) -> None:
        self.joined = joined

    def back(self, bars: Bars, again: list[Again]) -> None:
        bars.memory.part(self.joined)


class Moved(Entry):
    """The elements of `array` are others of its own or of `values`: `sources` numbers them, those of the
    array first."""

    __slots__ = ("array", "values", "sources", "kept")

    def __init__(self, array: Array, values: list[Any], sources: Array, kept: Kept) -> None:
        self.array, self.values, self.sources, self.kept = array, values, sources, kept

    def back(self, bars: Bars, again: list[Again]) -> None:
        self.kept.back(bars, again)
        bar = bars.memory.arrived(self.array)
        if bar is None:
            return
        total = self.array.size + sum(np.size(v) for v in self.values)
        every = np.zeros(total, bar.dtype)
        np.add.at(every, self.sources.ravel(), bar.ravel())
        n = self.array.size
        bars.memory.shadow(self.array)[...] = every[:n].reshape(self.array.shape)
        for value in self.values:
            part = every[n : n + np.size(value)].reshape(np.shape(value))
            n += np.size(value)
            if bars.is_active(value):
                bars.add(value, fitted(conjugate(part), value))
