"""The names under which recorded runs have left numbers and arrays in objects that outlive them.

    m.value = v        ("value", type(m))             kept.append(v)        ("kept", None)
    memo["sin"] = v    ("sin", None), ("memo", None)  global last           ("last", None)

A program takes what it reads for constants. Where it reads such a name, its runs are recorded as long as what
was left is there: they know whether it is what they read (`recording/left.py`).
"""

from __future__ import annotations

import builtins
import operator
from collections import Counter
from collections.abc import Callable, Hashable, Iterable

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.values import Const, hashable
from ctxdispatch.passes import types as T
from ctxdispatch_contexts.programs.activity import carries

Name = tuple[str, type | None]
"""Of an attribute, with the class of the object."""
Names = frozenset[Name]

_LEFT: dict[Hashable, Names] = {}
"""By what was left."""
_THERE: Counter[Name] = Counter()
"""How often."""

TOLD: list[Callable[[Names], None]] = []
"""Called with names that are new."""


def enter(key: Hashable, names: Iterable[Name]) -> None:
    """Something was left under these names."""
    drop(key)
    _LEFT[key] = names = frozenset(names)
    new = names - _THERE.keys()
    _THERE.update(names)
    for tell in TOLD if new else ():
        tell(new)


def drop(key: Hashable) -> None:
    """It is gone."""
    for name in _LEFT.pop(key, ()):
        _THERE[name] -= 1
        if not _THERE[name]:
            del _THERE[name]


def are_left(names: Names) -> bool:
    """Something was left under one of these names."""
    return bool(_THERE) and meet(names, _THERE.keys())


def meet(names: Names, others: Iterable[Name]) -> bool:
    """One of either may be the same."""
    return any(a == b and (c is None or d is None or c is d) for a, c in names for b, d in [*others])


def reads(graph: Graph) -> Names:
    """The names of what it reads, and what could have a derivative."""
    found = (_read(op) for _, op in graph.ops() if any(carries(r.type) for r in op.results))
    return frozenset(name for name in found if name is not None)


def _read(op: Op) -> Name | None:
    at = _NAMED.get(op.fn) if hashable(op.fn) else None
    name = op.args[at] if at is not None and len(op.args) > at else None
    if not isinstance(name, Const) or type(name.value) is not str:
        return None
    return name.value, T.cls_of(T.operand_type(op.args[0])) if op.fn is builtins.getattr else None


_NAMED = {builtins.getattr: 1, operator.getitem: 1, primitives.load_global: 1, primitives.cell_get: 1}
"""Which operand is the name."""
