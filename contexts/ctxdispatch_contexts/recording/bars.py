"""Cotangents on the way back through a run: what has arrived at the values that it knows.

Those of arrays are shadows of their memory (`memory.py`), those of numbers are kept with the numbers; a
container has none of its own, its parts have.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from ctxdispatch_contexts.recording.leaves import is_number
from ctxdispatch_contexts.recording.memory import has_shadow
from ctxdispatch_contexts.recording.record import Record
from ctxdispatch_contexts.reverse.cotangents import Missing, entries_of
from ctxdispatch_contexts.reverse.pullbacks import supplied


class Bars(Record):
    """What a run knows, with the cotangents of it."""

    def __init__(self, context: Any) -> None:
        super().__init__(context)
        self.masks: dict[int, Any] = {}
        """By entry, what structural zeros there are; of a call, those of its arguments."""

    def add(self, value: Any, cotangent: Any) -> None:
        """bar(value) += cotangent; of a container, the parts'."""
        if cotangent is None:
            return
        if type(cotangent) is Missing:
            if self.any_active((value,)):
                supplied(cotangent)
        elif issubclass(type(value), np.ndarray):
            if value.dtype == object:
                for item, part in zip(value.flat, np.asarray(cotangent, object).flat, strict=True):
                    self.add(item, part)
            elif value.size and self.memory.is_active(value):  # nothing is no zero: 0 * inf is none
                self.memory.add(value, conjugate(cotangent))
        elif is_number(value):
            number = self.numbers.get(id(value))
            if number is not None:
                number.derivative = cotangent if number.derivative is None else number.derivative + cotangent
        elif issubclass(type(value), (tuple, list, deque)):
            for item, part in zip(value, _parts(cotangent, len(value)), strict=True):
                self.add(item, part)
        elif issubclass(type(value), dict):
            for key, part in entries_of(cotangent):
                self.add(value.get(key), part)
        elif not issubclass(type(value), (int, np.generic)):  # which masks are given, too
            for name, part in entries_of(cotangent):
                self.add(getattr(value, name, None), part)

    def take(self, value: Any) -> Any:
        """The cotangent of `value`, which an entry made: what comes before it adds nothing more. None is
        zero."""
        if issubclass(type(value), np.ndarray):
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
        if issubclass(type(value), (tuple, list, deque)):
            parts = [self.take(item) for item in value]
            return None if all(p is None for p in parts) else parts if type(value) is list else tuple(parts)
        if issubclass(type(value), dict):
            found = {key: self.take(item) for key, item in value.items()}
            return found if any(b is not None for b in found.values()) else None
        return None

    def bar(self, value: Any) -> Any:
        """The cotangent that has arrived at `value`, left where it is."""
        if issubclass(type(value), np.ndarray):
            return conjugate(self.memory.arrived(value)) if has_shadow(value) else None
        number = self.numbers.get(id(value))
        return None if number is None else number.derivative


def conjugate(cotangent: Any) -> Any:
    """Cotangents are d/dx - i d/dy, shadows are not conjugated."""
    return np.conjugate(cotangent) if np.iscomplexobj(cotangent) else cotangent


def _parts(cotangent: Any, n: int) -> Iterator[Any]:
    if hasattr(cotangent, "__len__") and not issubclass(type(cotangent), dict):
        return iter(cotangent)
    entries = dict(entries_of(cotangent))
    return (entries.get(i) for i in range(n))


def lasting(index: Any) -> Any:
    """`index` as it is now: arrays and lists of positions may change before the sweep."""
    if type(index) in (tuple, list):
        return type(index)(map(lasting, index))
    return np.array(index) if issubclass(type(index), np.ndarray) else index


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
    return bar if issubclass(type(value), np.ndarray) else type(value)(bar[()])
