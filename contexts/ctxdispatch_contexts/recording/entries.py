"""Entries of the tape: what was done to values that depend on what is differentiated, each with its way back.

    entry.back(bars, again)     from the cotangents of what it made to those of what it was made of

Where it wrote into an array, `back` puts there what was there before, and into `again` what is to be there
when the sweep has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType
from typing import Any

import numpy as np

from ctxdispatch_contexts.recording.bars import Bars, conjugate, fitted
from ctxdispatch_contexts.recording.memory import WRITEABLE, Array, Joined, unfrozen
from ctxdispatch_contexts.recording.numbers import times
from ctxdispatch_contexts.recording.record import Number

Again = tuple[Any, Any, Any]
"""(array, index, what is to be there again afterwards)"""


class Call:
    """y = f(*args)"""

    __slots__ = ("y", "pullback", "args", "at")

    def __init__(self, y: Any, pullback: Any, args: Any, at: tuple[CodeType, int] | None) -> None:
        self.y, self.pullback, self.args, self.at = y, pullback, args, at

    def back(self, bars: Bars, again: list[Again]) -> None:
        bar = bars.take(self.y)
        if bar is not None:
            for arg, cotangent in zip(self.args, self.pullback(bar)[1:], strict=True):
                bars.add(arg, cotangent)


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
        _add(x, times(bar, partial(a, y.value), partial))
        return
    _, first, second, of_a, of_b, a, b = entry
    if first is not None and of_a is not None:
        _add(first, times(bar, of_a(a, b, y.value), of_a))
    if second is not None and of_b is not None:
        _add(second, times(bar, of_b(a, b, y.value), of_b))


def _add(number: Number, part: Any) -> None:
    number.derivative = part if number.derivative is None else number.derivative + part


class Elements:
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
        for value, known, partial in self.operands:
            if known is None or partial is None:
                continue
            part = bar * partial(*self.args, y)
            if known is True:
                memory.add(value, part if part.shape == value.shape else fitted(part, value))
            else:
                total = type(value)(part.sum())
                known.derivative = total if known.derivative is None else known.derivative + total


class Element:
    """y = array[index], a number."""

    __slots__ = ("y", "array", "index")

    def __init__(self, y: Number, array: Array, index: Any) -> None:
        self.y, self.array, self.index = y, array, index

    def back(self, bars: Bars, again: list[Again]) -> None:
        bar = self.y.derivative
        if bar is not None:
            self.y.derivative = None
            bars.memory.shadow(self.array)[self.index] += bar


class SetElement:
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
        if bar != 0:
            shadow[index] = 0
            if number is not None:
                number.derivative = bar if number.derivative is None else number.derivative + bar


class Item:
    """y = array[index], no view"""

    __slots__ = ("y", "array", "index")

    def __init__(self, y: Any, array: Array, index: Any) -> None:
        self.y, self.array, self.index = y, array, index

    def back(self, bars: Bars, again: list[Again]) -> None:
        bar = bars.take(self.y)
        if bar is None:
            return
        shadow = bars.memory.shadow(self.array)
        if isinstance(self.y, np.ndarray):
            np.add.at(shadow, self.index, conjugate(bar))
        else:
            shadow[self.index] += conjugate(bar)


class Kept:
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


class Store:
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


class Update:
    """array[index] = y, where (y, pullback) is f(*args) of what was there before: args[0] stands for that."""

    __slots__ = ("array", "pullback", "args", "kept")

    def __init__(self, array: Array, pullback: Any, args: Any, kept: Kept) -> None:
        self.array, self.pullback, self.args, self.kept = array, pullback, args, kept

    def back(self, bars: Bars, again: list[Again]) -> None:
        self.kept.back(bars, again)
        bar = bars.memory.arrived(self.array)
        if bar is None:
            return
        bars.memory.shadow(self.array)[...] = 0
        for arg, cotangent in zip(self.args, self.pullback(conjugate(bar))[1:], strict=True):
            bars.add(arg, cotangent)


class Added:
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


class Parted:
    """Here two names of the same memory became one."""

    __slots__ = ("joined",)

    def __init__(self, joined: Joined) -> None:
        self.joined = joined

    def back(self, bars: Bars, again: list[Again]) -> None:
        bars.memory.part(self.joined)


class Moved:
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
