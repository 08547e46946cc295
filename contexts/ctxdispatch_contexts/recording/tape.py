"""The tape: what a run did to values that depend on what is differentiated, and the way back.

    y = f(x, z)      Call     bar(x), bar(z) += pullback(bar(y))
    a[i] = v         Store    bar(v) += bar(a)[i];  bar(a)[i] = 0;  a[i] is what it was
    a *= v           Update   both: a = a_before * v

Invariant: going back, arrays are what they were when an entry was made, and afterwards what the run left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any

import numpy as np

from ctxdispatch.dispatch.where import position_in
from ctxdispatch_contexts.programs.errors import Refused, user_frame, user_position
from ctxdispatch_contexts.recording.inserted import Inserted
from ctxdispatch_contexts.recording.leaves import is_number, leaves
from ctxdispatch_contexts.recording.memory import Array, has_shadow
from ctxdispatch_contexts.recording.numbers import times
from ctxdispatch_contexts.recording.record import Number, Record
from ctxdispatch_contexts.reverse.calling import call_any, call_with
from ctxdispatch_contexts.reverse.cotangents import entries_of

Again = tuple[Any, Any, Any]
"""(array, index, what is to be there again afterwards)"""


class Tape(Record):
    """Reverse mode."""

    by_elements = True
    sweeps = True

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self.entries: list[Any] = []

    # -- what a run does -----------------------------------------------------------------------------------

    def note(self, operands: Any) -> None:
        for operand in leaves(operands):
            if isinstance(operand, np.ndarray):
                self.memory.note(operand)

    def call(self, callee: Any, operands: Sequence[Any], kwnames: tuple[str, ...]) -> Any:
        self.note(operands)
        wrt = tuple([i for i, operand in enumerate(operands) if self.any_active((operand,))])
        y, pullback = call_with(self.context, callee, tuple(operands), kwnames, wrt)
        y = self.own(callee, y, operands)
        made = self.made(y)
        if made is not None:
            self.entries.append(Call(made, pullback, operands, place()))
        return y

    def release(self) -> None:
        if self.buffers:
            self.entries.clear()
        super().release()

    def item(self, array: Array, index: Any, out: Any) -> None:
        self.entries.append(Item(out, array, lasting(index)))

    def unary(self, y: Number, x: Number, partial: Any, a: Any) -> None:
        self.entries.append((y, x, partial, a))

    def binary(
        self, y: Number, first: Number | None, second: Number | None, of_a: Any, of_b: Any, a: Any, b: Any
    ) -> None:
        self.entries.append((y, first, second, of_a, of_b, a, b))

    def elements(self, y: Array, args: tuple[Any, ...], operands: Sequence[Any]) -> None:
        self.entries.append(Elements(y, args, operands))

    def add_to(self, array: Array, value: Any, sign: int, kept: Kept) -> None:
        self.entries.append(Added(array, ..., value, sign, kept))

    def element(self, y: Number, array: Array, index: Any) -> None:
        self.entries.append(Element(y, array, index))

    def set_element(self, array: Array, index: Any, number: Number | None, before: Any) -> None:
        self.memory.note(array)
        self.entries.append(SetElement(array, index, number, before))

    def before(self, array: Array, index: Any) -> Kept:
        self.memory.note(array)
        return Kept(array, lasting(index))

    def unchanged(self, kept: Kept) -> None:
        self.entries.append(kept)

    def store(self, array: Array, index: Any, value: Any, kept: Kept) -> None:
        self.entries.append(Store(array, lasting(index), value, kept))

    def updating(self, f: Any, operands: Sequence[Any], kwnames: tuple[str, ...]) -> Any:
        return call_any(self.context, f, tuple(operands), kwnames)[1]

    def update(self, array: Array, found: Any, operands: Sequence[Any], kept: Kept) -> None:
        self.note(operands)
        self.entries.append(Update(array, found, operands, kept))

    def move(self, array: Array, values: list[Any], sources: Array, kept: Kept) -> None:
        self.entries.append(Moved(array, values, sources, kept))

    def add_at(self, array: Array, index: Any, value: Any, sign: int, kept: Kept) -> None:
        self.entries.append(Added(array, lasting(index), value, sign, kept))

    def block(self, x: Any, function: Any, given: Sequence[Any]) -> None:
        self.entries.append(Inserted(x, function, given, user_position()))

    # -- cotangents ----------------------------------------------------------------------------------------

    def add(self, value: Any, cotangent: Any) -> None:
        """bar(value) += cotangent; of a container, the parts'."""
        if cotangent is None:
            return
        if isinstance(value, np.ndarray):
            if value.dtype == object:
                for item, part in zip(value.flat, np.asarray(cotangent, object).flat, strict=True):
                    self.add(item, part)
            elif value.size and self.memory.is_active(value):  # nothing is no zero: 0 * inf is none
                self.memory.add(value, conjugate(cotangent))
        elif is_number(value):
            number = self.numbers.get(id(value))
            if number is not None:
                number.derivative = cotangent if number.derivative is None else number.derivative + cotangent
        elif isinstance(value, (tuple, list, deque)):
            for item, part in zip(value, _parts(cotangent, len(value)), strict=True):
                self.add(item, part)
        elif isinstance(value, dict):
            for key, part in entries_of(cotangent):
                self.add(value.get(key), part)
        else:
            for name, part in entries_of(cotangent):
                self.add(getattr(value, name, None), part)

    def take(self, value: Any) -> Any:
        """The cotangent of `value`, which an entry made: what comes before it adds nothing more. None is
        zero."""
        if isinstance(value, np.ndarray):
            if not has_shadow(value):
                return None
            arrived = self.memory.arrived(value)
            if arrived is not None:
                self.memory.shadow(value)[...] = 0
            return conjugate(arrived)
        if is_number(value):
            number = self.numbers.get(id(value))
            if number is None:
                return None
            bar, number.derivative = number.derivative, None
            return bar
        if isinstance(value, (tuple, list, deque)):
            parts = [self.take(item) for item in value]
            return None if all(p is None for p in parts) else parts if type(value) is list else tuple(parts)
        if isinstance(value, dict):
            found = {key: self.take(item) for key, item in value.items()}
            return found if any(b is not None for b in found.values()) else None
        return None

    def bar(self, value: Any) -> Any:
        """The cotangent that has arrived at `value`, left where it is."""
        if isinstance(value, np.ndarray):
            return conjugate(self.memory.arrived(value)) if has_shadow(value) else None
        number = self.numbers.get(id(value))
        return None if number is None else number.derivative

    # -- the way back --------------------------------------------------------------------------------------

    def sweep(self, seed: Callable[[], None], read: Callable[[], Any]) -> Any:
        """Go back from what `seed` adds; what `read` says then. May be done again."""
        self.memory.clear()
        for number in self.numbers.values():
            number.derivative = None
        again: list[Again] = []
        entry: Any = None
        try:
            seed()
            for entry in reversed(self.entries):
                if type(entry) is tuple:
                    back_through_numbers(entry)
                else:
                    entry.back(self, again)
            return read()
        except Refused as error:
            _place(error, entry)
            raise
        finally:
            for array, index, after in reversed(again):
                array[index] = after


def place() -> tuple[CodeType, int] | None:
    """Where the user's program is: enough to find the line, which is hardly ever asked for."""
    frame = user_frame()
    return None if frame is None else (frame.f_code, frame.f_lasti)


def _place(error: Refused, entry: Any) -> None:
    """What is refused on the way back, and not in a user's own pullback, is refused where the entry was
    made."""
    at = getattr(entry, "at", None)
    if at is not None and error.position == str(user_position()):
        error.place(position_in(*at))


def conjugate(cotangent: Any) -> Any:
    """Cotangents are d/dx - i d/dy, shadows are not conjugated."""
    return np.conjugate(cotangent) if np.iscomplexobj(cotangent) else cotangent


def _parts(cotangent: Any, n: int) -> Iterator[Any]:
    if hasattr(cotangent, "__len__") and not isinstance(cotangent, dict):
        return iter(cotangent)
    entries = dict(entries_of(cotangent))
    return (entries.get(i) for i in range(n))


# -- entries -----------------------------------------------------------------------------------------------


class Call:
    """y = f(*args)"""

    __slots__ = ("y", "pullback", "args", "at")

    def __init__(self, y: Any, pullback: Any, args: Any, at: tuple[CodeType, int] | None) -> None:
        self.y, self.pullback, self.args, self.at = y, pullback, args, at

    def back(self, tape: Tape, again: list[Again]) -> None:
        bar = tape.take(self.y)
        if bar is not None:
            for arg, cotangent in zip(self.args, self.pullback(bar)[1:], strict=True):
                tape.add(arg, cotangent)


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

    def back(self, tape: Tape, again: list[Again]) -> None:
        y, memory = self.y, tape.memory
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

    def back(self, tape: Tape, again: list[Again]) -> None:
        bar = self.y.derivative
        if bar is not None:
            self.y.derivative = None
            tape.memory.shadow(self.array)[self.index] += bar


class SetElement:
    """array[index] = number"""

    __slots__ = ("array", "index", "number", "before")

    def __init__(self, array: Array, index: Any, number: Number | None, before: Any) -> None:
        self.array, self.index, self.number, self.before = array, index, number, before

    def back(self, tape: Tape, again: list[Again]) -> None:
        array, index, number = self.array, self.index, self.number
        again.append((array, index, array[index]))
        array[index] = self.before
        shadow = tape.memory.shadow(array)
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

    def back(self, tape: Tape, again: list[Again]) -> None:
        bar = tape.take(self.y)
        if bar is None:
            return
        shadow = tape.memory.shadow(self.array)
        if isinstance(self.y, np.ndarray):
            np.add.at(shadow, self.index, conjugate(bar))
        else:
            shadow[self.index] += conjugate(bar)


class Kept:
    """What was in `array[index]` before something was written there."""

    __slots__ = ("array", "index", "before")

    def __init__(self, array: Array, index: Any) -> None:
        self.array, self.index = array, index
        self.before = np.array(array[index], copy=True)

    def back(self, tape: Tape, again: list[Again]) -> None:
        array, index = self.array, self.index
        if not array.flags.writeable:
            return  # nobody else could write there by this name
        again.append((array, index, np.array(array[index], copy=True)))
        array[index] = self.before


class Store:
    """array[index] = value, where `value` was broadcast and cast. `keeps`: where it was not written."""

    __slots__ = ("array", "index", "value", "kept")

    def __init__(self, array: Array, index: Any, value: Any, kept: Kept) -> None:
        self.array, self.index, self.value, self.kept = array, index, value, kept

    def back(self, tape: Tape, again: list[Again]) -> None:
        self.kept.back(tape, again)
        block = tape.memory.find(self.array)
        if block is None or block.empty or not block.active:
            return
        shadow = block.shadow(self.array)
        bar = np.array(shadow[self.index], copy=True)
        shadow[self.index] = 0
        if tape.is_active(self.value):
            tape.add(self.value, fitted(conjugate(bar), self.value))


class Update:
    """array[index] = y, where (y, pullback) is f(*args) of what was there before: args[0] stands for that."""

    __slots__ = ("array", "pullback", "args", "kept")

    def __init__(self, array: Array, pullback: Any, args: Any, kept: Kept) -> None:
        self.array, self.pullback, self.args, self.kept = array, pullback, args, kept

    def back(self, tape: Tape, again: list[Again]) -> None:
        self.kept.back(tape, again)
        bar = tape.memory.arrived(self.array)
        if bar is None:
            return
        tape.memory.shadow(self.array)[...] = 0
        for arg, cotangent in zip(self.args, self.pullback(conjugate(bar))[1:], strict=True):
            tape.add(arg, cotangent)


class Added:
    """array[index] += sign * value, each element as often as it is named"""

    __slots__ = ("array", "index", "value", "sign", "kept")

    def __init__(self, array: Array, index: Any, value: Any, sign: int, kept: Kept) -> None:
        self.array, self.index, self.value, self.sign, self.kept = array, index, value, sign, kept

    def back(self, tape: Tape, again: list[Again]) -> None:
        self.kept.back(tape, again)
        block = tape.memory.find(self.array)
        if block is not None and not block.empty and tape.is_active(self.value):
            bar = self.sign * block.shadow(self.array)[self.index]
            tape.add(self.value, fitted(conjugate(bar), self.value))


class Moved:
    """The elements of `array` are others of its own or of `values`: `sources` numbers them, those of the
    array first."""

    __slots__ = ("array", "values", "sources", "kept")

    def __init__(self, array: Array, values: list[Any], sources: Array, kept: Kept) -> None:
        self.array, self.values, self.sources, self.kept = array, values, sources, kept

    def back(self, tape: Tape, again: list[Again]) -> None:
        self.kept.back(tape, again)
        bar = tape.memory.arrived(self.array)
        if bar is None:
            return
        total = self.array.size + sum(np.size(v) for v in self.values)
        every = np.zeros(total, bar.dtype)
        np.add.at(every, self.sources.ravel(), bar.ravel())
        n = self.array.size
        tape.memory.shadow(self.array)[...] = every[:n].reshape(self.array.shape)
        for value in self.values:
            part = every[n : n + np.size(value)].reshape(np.shape(value))
            n += np.size(value)
            if tape.is_active(value):
                tape.add(value, fitted(conjugate(part), value))


def lasting(index: Any) -> Any:
    """`index` as it is now: arrays and lists of positions may change before the sweep."""
    if type(index) in (tuple, list):
        return type(index)(map(lasting, index))
    return np.array(index) if isinstance(index, np.ndarray) else index


def fitted(bar: Any, value: Any) -> Any:
    """The cotangent of `value`, of which `bar` is the one of what it was broadcast and cast to. A store drops
    leading axes of one."""
    shape = np.shape(value)
    bar = np.asarray(bar)
    extra = bar.ndim - len(shape)
    same = enumerate(shape[max(-extra, 0) :], max(extra, 0))
    axes = (*range(extra), *(at for at, n in same if n == 1 and bar.shape[at] != 1))
    bar = bar.sum(axis=axes, keepdims=True).reshape(shape) if axes else bar.reshape(shape)
    if np.iscomplexobj(bar) and not np.iscomplexobj(value):
        bar = bar.real
    return bar if isinstance(value, np.ndarray) else type(value)(bar[()])
