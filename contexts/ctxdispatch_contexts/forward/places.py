"""Where the parts of a callable are: in the value, in its tangent, and in its cotangent.

    obj.method          __self__                     partial(f, a, k=b)     func, args[0], keywords["k"]
    closure             cells[0], defaults[0]        f(*args)               args[0]

A place is an operand of a call and the steps from there. A step that is named "d:..." leads through a
tangent, which has the parts of a callable under the names that it gives them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ctxdispatch_contexts.programs.closures import contents

Step = tuple[str, Any]
Path = tuple[int, tuple[Step, ...]]
"""Which root (0: the callee, i + 1: argument i), and the steps from there."""

READ: dict[str, Callable[[Any, Any], Any]] = {
    "self": lambda f, _: f.__self__,
    "func": lambda f, _: f.func,
    "args": lambda f, i: f.args[i],
    "keywords": lambda f, name: f.keywords[name],
    "cells": lambda f, i: contents(f.__closure__[i[0]]),
    "defaults": lambda f, i: f.__defaults__[i],
    "kwdefaults": lambda f, name: f.__kwdefaults__[name],
    "item": lambda items, i: items[i],
    "code": lambda f, _: f,
}

READ_TANGENT: dict[str, Callable[[Any, Any], Any]] = {
    "self": lambda d, _: getattr(d, "__self__", None),
    "func": lambda d, _: getattr(d, "func", None),
    "args": lambda d, i: _item(getattr(d, "args", None), i),
    "keywords": lambda d, name: _entry(getattr(d, "keywords", None), name),
    "cells": lambda d, i: _content(_item(getattr(d, "cells", None), i[0])),
    "defaults": lambda d, i: _item(getattr(d, "defaults", None), i),
    "kwdefaults": lambda d, name: _entry(getattr(d, "kwdefaults", None), name),
    "item": lambda d, i: _entry(d, i) if isinstance(d, dict) else _item(d, i),
    "code": lambda d, _: d,
}

KEYS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "self": lambda _: ("__self__",),
    "func": lambda _: ("func",),
    "args": lambda i: ("args", i),
    "keywords": lambda name: ("keywords", name),
    "cells": lambda i: (i[1],),
    "defaults": lambda i: ("__defaults__", i),
    "kwdefaults": lambda name: ("__kwdefaults__", name),
    "item": lambda i: (i,),
    "code": lambda _: (),
    "d:cells": lambda i: ("cells", i[0]),
    "d:defaults": lambda i: ("defaults", i),
    "d:kwdefaults": lambda name: ("kwdefaults", name),
}
"""What the entry of a cotangent is called that belongs to the part. (A cell's is that of what it holds.)"""


def _item(parts: Any, i: int) -> Any:
    return None if parts is None else parts[i]


def _entry(parts: Any, name: Any) -> Any:
    return None if parts is None else parts.get(name)


def _content(cell: Any) -> Any:
    return None if cell is None else cell.cell_contents


def value_at(roots: tuple[Any, ...], path: Path) -> Any:
    found = roots[path[0]]
    for step, key in path[1]:
        found = READ[step](found, key)
    return found


def tangent_at(roots: tuple[Any, ...], path: Path) -> Any:
    """None where there is none, at any step."""
    return _tangent(roots[path[0]], path[1])


def _tangent(found: Any, steps: Sequence[Step]) -> Any:
    for step, key in steps:
        if found is None:
            return None
        found = READ_TANGENT[step.removeprefix("d:")](found, key)
    return found


@dataclass(frozen=True)
class Place:
    """The operand number `at` of a call, or (`at` None) the constant `value`; `steps` lead on from there."""

    at: int | None
    value: Any = None
    steps: tuple[Step, ...] = ()

    def then(self, steps: Sequence[Step], *, moved: bool = False) -> Place:
        """`moved`: through the tangent that is there."""
        named = [("d:" + s.removeprefix("d:"), key) for s, key in steps] if moved else steps
        return Place(self.at, self.value, (*self.steps, *named))

    def among(self, roots: Sequence[Place], *, moved: bool = False) -> Place:
        """The same, where the operands are at `roots`, or (`moved`) their tangents are."""
        if self.at is None:
            return NOWHERE if moved else self
        return roots[self.at].then(self.steps, moved=moved)

    def read(self, operands: Sequence[Any]) -> Any:
        found = self.value if self.at is None else operands[self.at]
        for step, key in self.steps:
            if step.startswith("d:"):
                found = _tangent(found, [(step, key)])
            else:
                found = READ[step](found, key)
        return found

    def read_tangent(self, tangents: Sequence[Any]) -> Any:
        return None if self.at is None else _tangent(tangents[self.at], self.steps)

    @property
    def keys(self) -> tuple[Any, ...]:
        """The way to the part's own cotangent in that of the operand."""
        found = [KEYS.get(s, KEYS[s.removeprefix("d:")])(key) for s, key in self.steps]
        return tuple(key for part in found for key in part)


NOWHERE = Place(None)
"""Where a tangent would be, were there one."""

__all__ = ["NOWHERE", "Path", "Place", "Step", "tangent_at", "value_at"]
