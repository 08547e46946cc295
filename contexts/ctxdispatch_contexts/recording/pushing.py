"""Forward mode: a run in which numbers have tangents, and arrays tangents in their shadows.

`count`: tangents come in blocks of so many, along a leading axis.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from ctxdispatch_contexts.derivatives.block_indexing import front
from ctxdispatch_contexts.forward.calling import call_any
from ctxdispatch_contexts.programs.containers import rebuild
from ctxdispatch_contexts.recording.leaves import is_number
from ctxdispatch_contexts.recording.memory import Array
from ctxdispatch_contexts.recording.numbers import times
from ctxdispatch_contexts.recording.raising import no_derivative, refuse_derivative
from ctxdispatch_contexts.recording.record import Number, Record
from ctxdispatch_contexts.recording.subclasses import plain


class Left(Number):
    """One that an earlier run has left: whether its tangent has been `read`."""

    __slots__ = ("read", "_nan")

    def __init__(self, value: Any, count: int | None) -> None:
        self.value, self.read = value, False
        self._nan = np.nan if count is None else np.full(count, np.nan)

    @property
    def derivative(self) -> Any:
        self.read = True
        return self._nan

    @derivative.setter
    def derivative(self, tangent: Any) -> None:
        self._nan = tangent


class Pushing(Record):
    def __init__(self, context: Any, count: int | None = None) -> None:
        super().__init__(context, count)
        self.by_elements = count is None

    # -- tangents ------------------------------------------------------------------------------------------

    def set(self, value: Any, tangent: Any) -> None:
        """`value`, a number or array, has this tangent from now on."""
        self.track(value)
        if issubclass(type(value), np.ndarray):
            self.memory.shadow(value)[...] = 0 if tangent is None else tangent
        else:
            self.numbers[id(value)].derivative = tangent

    def suspect(self, value: Any, stored: bool) -> None:
        self.track(value)
        if stored:
            block = self.count is not None and not issubclass(type(value), np.ndarray)
            self.set(value, np.full(self.count, np.nan) if block else np.nan)

    def follow_left(self, left: Any) -> None:
        """Its tangent is nan: what that arrives at depends on it."""
        value = left.value
        if issubclass(type(value), np.ndarray):
            self.track(value)
            self.memory.note(value).unknown = left.elements
        else:
            self.numbers[id(value)] = Left(value, self.count)

    def left_read(self) -> Any:
        """The first of what earlier runs have left that this one has read."""
        for each in self.suspects.left.values():
            array = issubclass(type(each.value), np.ndarray)
            if (self.memory.note(each.value) if array else self.numbers[id(each.value)]).read:
                return each
        return None

    def of(self, value: Any) -> Any:
        """The tangent of `value`, a copy; of a container, its parts' in one of its kind; None where it has
        none."""
        if issubclass(type(value), np.ndarray):
            return np.array(self.memory.shadow(value)) if self.memory.is_active(value) else None
        if is_number(value):
            number = self.numbers.get(id(value))
            return None if number is None else number.derivative
        if issubclass(type(value), (tuple, list, deque)):
            parts = [self.of(item) for item in value]
            return None if all(p is None for p in parts) else rebuild(value, parts)
        if issubclass(type(value), dict):
            found = {key: self.of(item) for key, item in value.items()}
            return found if any(t is not None for t in found.values()) else None
        return None

    def give(self, made: Any, tangent: Any) -> None:
        """The parts of `made` that are new have those of `tangent`."""
        if made is None:
            return
        if issubclass(type(made), np.ndarray) or is_number(made):
            self.set(made, tangent)
        elif issubclass(type(made), dict):
            for key, part in made.items():
                self.give(part, None if tangent is None else tangent.get(key))
        else:
            for part, each in zip(made, tangent or [None] * len(made), strict=True):
                self.give(part, each)

    def at(self, index: Any) -> Any:
        """The same index of a tangent."""
        if self.count is None:
            return index
        return (slice(None), *(index if type(index) is tuple else (index,)))

    def along(self, value: Any, shape: tuple[int, ...]) -> Any:
        """The tangent of `value` (zero where it has none), to be broadcast to `shape`, a block's without its
        first axis."""
        return self._spread(self.of(value), shape)

    def _spread(self, tangent: Any, shape: tuple[int, ...]) -> Any:
        if tangent is None or self.count is None:
            return 0 if tangent is None else tangent
        tangent = np.asarray(tangent)
        own = tangent.shape[1:]
        more, less = len(shape) - len(own), max(len(own) - len(shape), 0)
        return tangent.reshape(self.count, *[1] * more, *own[less:])

    def placed(self, value: Any, array: Array, index: Any) -> Any:
        """The tangent of `value`, as it is stored where `at(index)` says: the axes of arrays that are apart
        in an index come before that of a block."""
        tangent = self.along(value, np.shape(array[index]))
        apart = self.count is not None and issubclass(type(tangent), np.ndarray)
        return np.moveaxis(tangent, 0, front(index)) if apart else tangent

    # -- what a run does -----------------------------------------------------------------------------------

    def call(self, callee: Any, operands: Sequence[Any], kwnames: tuple[str, ...]) -> Any:
        y, dy = self._pushed(callee, operands, kwnames)
        y = self.own(callee, y, operands)
        self.give(self.made(y), dy)
        return y

    def _pushed(self, callee: Any, operands: Sequence[Any], kwnames: tuple[str, ...]) -> tuple[Any, Any]:
        operands = plain(tuple(operands))
        tangents = tuple([self.of(operand) for operand in operands])
        try:
            found: tuple[Any, Any] = call_any(
                self.context, callee, None, operands, tangents, kwnames, self.count
            )
        except Exception as error:
            refuse_derivative(error, self.context, callee, operands, kwnames)
            raise
        return found

    def item(self, array: Array, index: Any, out: Any) -> None:
        if issubclass(type(out), np.ndarray):
            part = self.memory.shadow(array)[self.at(index)]
            self.set(out, part if self.count is None else np.moveaxis(part, front(index), 0))
        else:
            tangent = self._of_element(array, index)
            self.set(out, type(out)(tangent) if self.count is None else tangent)

    def _of_element(self, array: Array, index: Any) -> Any:
        """A block of numbers would be a view of the shadow, which is stored to."""
        tangent = self.memory.shadow(array)[self.at(index)]
        return tangent if self.count is None else np.array(tangent)

    def unary(self, y: Number, x: Number, partial: Any, a: Any) -> None:
        if x.derivative is not None:
            try:
                y.derivative = times(x.derivative, partial(a, y.value), partial)
            except Exception as error:
                raise no_derivative(self.doing, error) from error

    def binary(
        self, y: Number, first: Number | None, second: Number | None, of_a: Any, of_b: Any, a: Any, b: Any
    ) -> None:
        try:
            for number, partial in ((first, of_a), (second, of_b)):
                if number is not None and partial is not None and number.derivative is not None:
                    part = times(number.derivative, partial(a, b, y.value), partial)
                    y.derivative = part if y.derivative is None else y.derivative + part
        except Exception as error:
            raise no_derivative(self.doing, error) from error

    def elements(self, y: Array, args: tuple[Any, ...], operands: Sequence[Any]) -> None:
        tangent = self.memory.shadow(y)
        for value, known, partial in operands:
            moved = self.memory.shadow(value) if known is True else known and known.derivative
            if moved is not None and partial is not None:
                tangent += moved * partial(*args, y)

    def add_to(self, array: Array, value: Any, sign: int, kept: Any) -> None:
        if self.is_active(value):
            self.memory.shadow(array)[...] += sign * self.along(value, np.shape(array))

    def element(self, y: Number, array: Array, index: Any) -> None:
        y.derivative = self._of_element(array, index)

    def set_element(self, array: Array, index: Any, number: Number | None, before: Any) -> None:
        tangent = None if number is None else number.derivative
        self.memory.shadow(array)[self.at(index)] = 0 if tangent is None else tangent

    def store(self, array: Array, index: Any, value: Any, kept: Any) -> None:
        if self.memory.is_active(array):
            shadow = self.memory.shadow(array)
            shadow[self.at(index)] = self.placed(value, array, index)

    def updating(self, f: Any, operands: Sequence[Any], kwnames: tuple[str, ...]) -> Any:
        return self._pushed(f, operands, kwnames)[1]

    def update(self, array: Array, found: Any, operands: Sequence[Any], kept: Any) -> None:
        self.memory.shadow(array)[...] = self._spread(found, np.shape(array))  # results broadcast into `out`

    def copied(self, array: Array) -> Array:
        made = array.copy()
        if self.memory.is_active(array):
            self.set(made, self.of(array))
        return made

    def move(self, array: Array, values: list[Any], sources: Array, kept: Any) -> None:
        shadow = self.memory.shadow(array)
        lead = () if self.count is None else (self.count,)
        parts = [np.array(shadow).reshape(*lead, -1)]
        for value in values:
            full = np.broadcast_to(self.along(value, np.shape(value)), (*lead, *np.shape(value)))
            parts.append(full.reshape(*lead, -1))
        shadow[...] = np.concatenate(parts, -1)[..., sources]

    def add_at(self, array: Array, index: Any, value: Any, sign: int, kept: Any) -> None:
        if self.is_active(value):
            tangent = self.placed(value, array, index)
            np.add.at(self.memory.shadow(array), self.at(index), sign * tangent)
