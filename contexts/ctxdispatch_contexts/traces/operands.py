"""What a run knows of its operands: which are values, which are the run's own, what a trace says for them."""

from __future__ import annotations

import enum
import types
from collections.abc import Set
from typing import Any

import numpy as np

from ctxdispatch_contexts.traces.kinds import (
    MAPPINGS,
    NUMBER,
    VIEWS,
    ends_of,
    fixed,
    is_leaf,
    is_sequence,
    items_of,
    within,
)
from ctxdispatch_contexts.traces.lines import Lines, Unfit
from ctxdispatch_contexts.traces.origins import Origins

_SPELLS_ARRAYS = tuple(map(type, (np.r_, np.c_, np.s_, np.mgrid, np.ogrid)))
"""What is in their brackets is an array."""


class Operands:
    def __init__(self, wrt: Set[str] | None, most: int) -> None:
        self.lines = Lines(most=most)
        self.origins = Origins(self.lines, wrt)
        self.values, self.alive = self.origins.values, self.origins.alive
        self.inside: set[int] = set()
        """Containers, objects and arrays that the run made, by id."""
        self.texts: set[int] = set()
        """Texts of numbers, by id."""
        self.ids: set[int] = set()
        """What `id` gave, by id."""
        self.why: str | None = None
        """Why the run is no straight line."""

    def forget(self) -> None:
        """What the run has seen may end: code that it was run by may be kept."""
        self.alive.clear()
        self.values.clear()
        self.origins.forget()

    def unfit(self, why: str) -> Unfit:
        self.why = self.why or why
        return Unfit(self.why)

    def made(self, value: Any) -> Any:
        self.inside.add(id(value))
        self.alive.append(value)
        return value

    def is_known(self, value: Any) -> bool:
        return id(value) in self.inside or id(value) in self.values or self.origins.is_constant(value)

    def holds_values(self, value: Any, depth: int = 4) -> bool:
        """It may be a value, or hold some."""
        cls = type(value)
        if cls in NUMBER or cls is np.ndarray:
            return id(value) in self.values or not self.origins.is_constant(value)
        if cls is str or cls is bytes:
            return id(value) in self.texts
        if is_sequence(value) or cls in (set, frozenset, *VIEWS):
            return depth == 0 or any(self.holds_values(item, depth - 1) for item in value)
        if cls in MAPPINGS:
            return depth == 0 or any(self.holds_values(item, depth - 1) for item in within(value))
        if cls is slice:
            return any(map(self.holds_values, ends_of(value)))
        return not fixed(value)  # an iterator or object may hold whatever there is

    def is_itself(self, value: Any) -> bool:
        """It is equal to itself alone, whatever it holds, and the same each time."""
        if id(value) in self.origins.of_arguments:
            return False  # it may be a copy
        return type(value).__eq__ in (object.__eq__, types.MethodType.__eq__)

    def is_key(self, value: Any) -> bool:
        """What it is equal to does not depend on values."""
        if type(value) is tuple:
            return all(map(self.is_key, value))
        if fixed(value):
            return id(value) not in self.texts
        return type(value).__hash__ is object.__hash__ and self.is_itself(value)

    def expression(self, value: Any) -> str:
        """What gives the value in the trace."""
        cls = type(value)
        if cls in NUMBER or cls is np.ndarray:
            if id(value) in self.values:
                return self.values[id(value)]
            if self.origins.is_constant(value):
                return self.lines.constant(value)
            raise self.unfit("a number of which it is not known where it is from")
        if id(value) in self.texts:
            raise self.unfit("a text of a number")
        if isinstance(value, enum.IntEnum):
            return self.lines.constant(int(value))  # its methods are those of whole numbers
        if cls is slice:
            parts = ", ".join(map(self.expression, ends_of(value)))
            return f"{self.lines.name(slice)}({parts})"
        known = fixed(value) and self.origins.is_there(value)
        if is_leaf(value) or known or (cls is frozenset and not self.holds_values(value)):
            return self.lines.constant(value)
        if cls is list or cls is tuple:
            items = "".join(f"{self.expression(item)}, " for item in value)
            return f"[{items}]" if cls is list else f"({items})"
        if cls is dict and all(type(key) in (str, int) for key in value):
            entries = ", ".join(f"{key!r}: {self.expression(item)}" for key, item in value.items())
            return f"{{{entries}}}"
        if cls in _SPELLS_ARRAYS:
            return self.lines.name(value)
        raise self.unfit(f"a {cls.__name__} among what is computed with")

    def index(self, value: Any) -> str:
        """What stands in brackets."""
        if type(value) is tuple and value:
            return "".join(f"{self.index(item)}, " for item in value)
        if type(value) is not slice:
            return self.expression(value)
        first, last, step = ("" if part is None else self.expression(part) for part in ends_of(value))
        return f"{first}:{last}:{step}" if step else f"{first}:{last}"

    def check_result(self, value: Any, seen: set[int]) -> None:
        """Numbers and arrays, and containers that the run made, each in one place."""
        cls = type(value)
        if id(value) in self.texts or id(value) in self.ids:
            raise self.unfit("a text of a number, or what `id` gave, among the results")
        if cls in NUMBER or cls is np.ndarray or is_leaf(value):
            return
        if cls not in (list, tuple, dict) or (cls is not tuple and id(value) not in self.inside):
            raise self.unfit(f"a {cls.__name__} among the results")
        if id(value) in seen and value != ():
            raise self.unfit("the same container twice among the results")
        seen.add(id(value))
        for item in items_of(value):
            self.check_result(item, seen)
