"""The tape: what a run did to values that depend on what is differentiated, and the way back.

    y = f(x, z)      Call     bar(x), bar(z) += pullback(bar(y))
    a[i] = v         Store    bar(v) += bar(a)[i];  bar(a)[i] = 0;  a[i] is what it was
    a *= v           Update   both: a = a_before * v

Invariant: going back, arrays are what they were when an entry was made, and afterwards what the run left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from ctxdispatch.dispatch.where import position_in
from ctxdispatch_contexts.programs import left_names, left_reads
from ctxdispatch_contexts.programs.errors import MutationError, Refused, place, user_position
from ctxdispatch_contexts.recording.addresses import overlaps
from ctxdispatch_contexts.recording.bars import Bars, lasting
from ctxdispatch_contexts.recording.blocks import Array, part_of
from ctxdispatch_contexts.recording.entries import (
    Added,
    Again,
    Call,
    Called,
    Element,
    Elements,
    Item,
    Kept,
    Moved,
    Parted,
    SetElement,
    Store,
    Update,
    back_through_kept,
    back_through_numbers,
    mask_numbers,
)
from ctxdispatch_contexts.recording.inserted import Inserted
from ctxdispatch_contexts.recording.leaves import leaves
from ctxdispatch_contexts.recording.masks import is_nan
from ctxdispatch_contexts.recording.raising import refuse_derivative
from ctxdispatch_contexts.recording.record import Number
from ctxdispatch_contexts.recording.subclasses import plain
from ctxdispatch_contexts.reverse.calling import call_any, call_with


class Tape(Bars):
    """Reverse mode."""

    by_elements = True
    sweeps = True

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self.entries: list[Any] = []

    # -- what a run does -----------------------------------------------------------------------------------

    def note(self, operands: Any) -> None:
        for operand in leaves(operands):
            if issubclass(type(operand), np.ndarray):
                self.memory.note(operand)

    def call(self, callee: Any, operands: Sequence[Any], kwnames: tuple[str, ...]) -> Any:
        self.note(operands)
        operands = plain(tuple(operands))
        wrt = tuple([i for i, operand in enumerate(operands) if self.any_active((operand,))])
        try:
            with left_reads.followed() if left_names.anything_left() else nullcontext():
                y, pullback = call_with(self.context, callee, operands, kwnames, wrt)
        except Exception as error:
            refuse_derivative(error, self.context, callee, operands, kwnames)
            raise
        y = self.own(callee, y, operands)
        made = self.made(y)
        if made is y and type(y) is np.ndarray and y.base is None and not self.context.ad_ruled(callee):
            self.memory.made(y)  # or an operand, which is active before
        if made is not None:
            self.entries.append(Call(y, made, Called(callee, kwnames, pullback), operands, place()))
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

    def join(self, array: Array, index: Any = ...) -> None:
        self.entries += [Parted(self.memory.join(own)) for own in self.memory.about_to_join(array, index)]

    def before(self, array: Array, index: Any) -> Any:
        if overlaps(array) and overlaps(part_of(array, index)):
            raise MutationError(
                "an array of which elements share memory is stored into, and which value stays there is not "
                "followed back; store into the array that it is a view of",
                user_position(),
            )
        return super().before(array, index)

    def keep(self, array: Array, index: Any) -> Kept:
        self.memory.note(array)
        return Kept(array, lasting(index))

    def unchanged(self, kept: Kept) -> None:
        self.entries.append(kept)

    def store(self, array: Array, index: Any, value: Any, kept: Kept) -> None:
        self.entries.append(Store(array, lasting(index), value, kept))

    def updating(self, f: Any, operands: Sequence[Any], kwnames: tuple[str, ...]) -> Any:
        y, pullback = call_any(self.context, f, plain(tuple(operands)), kwnames)
        return y, Called(f, kwnames, pullback)

    def update(self, array: Array, found: Any, operands: Sequence[Any], kept: Kept) -> None:
        self.note(operands)
        y, called = found
        self.entries.append(Update(array, called, operands, kept, y if np.shape(y) != array.shape else array))

    def move(self, array: Array, values: list[Any], sources: Array, kept: Kept) -> None:
        self.entries.append(Moved(array, values, sources, kept))

    def add_at(self, array: Array, index: Any, value: Any, sign: int, kept: Kept) -> None:
        self.entries.append(Added(array, lasting(index), value, sign, kept))

    def block(self, x: Any, function: Any, given: Sequence[Any]) -> None:
        self.entries.append(Inserted(x, function, given, user_position()))

    # -- the way back --------------------------------------------------------------------------------------

    def sweep(self, seed: Callable[[], None], read: Callable[[], Any], ones: Callable[[], None]) -> Any:
        """Go back from what `seed` adds; what `read` says then. May be done again. `ones` adds the masks of
        it."""
        found = self._back(seed, read, _step)
        if not is_nan(found) or any(type(entry) is Inserted for entry in self.entries):
            return found  # what the user has put into the way back runs once
        self._back(ones, lambda: None, _step_of_masks)
        try:
            return self._back(seed, read, _step_with_masks)
        finally:
            self.masks = {}

    def _back(self, seed: Callable[[], None], read: Callable[[], Any], step: Callable[..., None]) -> Any:
        self.memory.clear()
        for number in self.numbers.values():
            number.derivative = None
        again: list[Again] = []
        entry: Any = None
        try:
            seed()
            for entry in reversed(self.entries):
                step(entry, self, again)
            return read()
        except Refused as error:
            _place(error, entry)
            raise
        finally:
            for array, index, after in reversed(again):
                array[index] = after


def _step(entry: Any, bars: Bars, again: list[Again]) -> None:
    if type(entry) is tuple:
        back_through_numbers(entry)
    else:
        entry.back(bars, again)


def _step_of_masks(entry: Any, bars: Bars, again: list[Again]) -> None:
    if type(entry) is tuple:
        mask_numbers(entry, bars.masks)
    else:
        entry.back_masks(bars, again)


def _step_with_masks(entry: Any, bars: Bars, again: list[Again]) -> None:
    if type(entry) is tuple:
        back_through_kept(entry, bars.masks)
    else:
        entry.back(bars, again)


def _place(error: Refused, entry: Any) -> None:
    """What is refused on the way back, and not in a user's own pullback, is refused where the entry was
    made."""
    at = getattr(entry, "at", None)
    if at is not None and error.position == str(user_position()):
        error.place(position_in(*at))
