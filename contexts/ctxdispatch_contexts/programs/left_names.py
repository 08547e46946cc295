"""The names under which recorded runs have left numbers and arrays in objects that outlive them.

    m.value = v        the attribute `value` of type(m)
    memo["sin"] = v    the item "sin", and the variable `memo` of this file
    m.kept.append(v)   the attribute `kept` of any class

A program takes what it reads for constants. Where it reads such a name, or finds what was left in what it
reads by others, its runs are recorded as long as that is there: they know whether it is what they read
(`recording/left.py`).
"""

from __future__ import annotations

import builtins
import operator
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from types import FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.leaves import is_ours
from ctxdispatch.ir.values import Const, Value, hashable
from ctxdispatch.passes import types as T
from ctxdispatch_contexts.programs.activity import carries
from ctxdispatch_contexts.programs.c_objects import all_reached, is_namespace


class Name(NamedTuple):
    """`of`: an attribute's class, None for any; a variable's file; of an item, nothing."""

    kind: str
    name: str
    of: Any = None


def attribute(name: str, cls: type | None = None) -> Name:
    return Name("attribute", name, cls)


def variable(name: str, file: str) -> Name:
    return Name("variable", name, file)


def item(key: str) -> Name:
    return Name("item", key)


ANYTHING = Name("anything", "")
"""What code reads that is called as it is."""
UNNAMED = Name("unnamed", "")
"""What was put into a variable of a function alone: programs are asked whether they find it."""
Names = frozenset[Name]

_LEFT: dict[Hashable, Names] = {}
"""By what was left."""
_THERE: Counter[Name] = Counter()
"""How often."""

TOLD: list[Callable[[Names], None]] = []
"""Called with names that are new."""


def enter(key: Hashable, names: Iterable[Name]) -> None:
    """Something was left under these names, and those that are known of it."""
    names = frozenset(names) | _LEFT.get(key, frozenset())
    unnamed = not names - {UNNAMED}
    names = names or frozenset({UNNAMED})
    drop(key)
    _LEFT[key] = names
    new = names - _THERE.keys()
    _THERE.update(names)
    for tell in TOLD if new or unnamed else ():
        tell(new)


def drop(key: Hashable) -> None:
    """It is gone."""
    for name in _LEFT.pop(key, ()):
        _THERE[name] -= 1
        if not _THERE[name]:
            del _THERE[name]


def are_left(names: Names) -> bool:
    """Something was left under one of these names."""
    return meet(names, _THERE.keys())


def left_in(graph: Graph, cells: Iterable[Any]) -> Names:
    """The names of what it reads; none where nothing was left under one of them, or in what it finds."""
    found = reads(graph) if _THERE else frozenset()
    if are_left(found):
        return found
    return frozenset({*found, ANYTHING}) if _THERE and is_reached([*cells, *found_by(graph)]) else frozenset()


def found_by(graph: Graph) -> list[Any]:
    """Objects that it knows, and those that its variables hold now."""
    ops = [op for _, op in graph.ops()]
    known = [a.value for op in ops for a in (op.callee, *op.args) if isinstance(a, Const)]
    loads = [op for op in ops if op.fn is primitives.load_global and isinstance(op.args[0], Const)]
    variables = [op.args[0].value.get(op.args[1].value) for op in loads if isinstance(op.args[1], Const)]
    return [v for v in (*known, *variables) if not (isinstance(v, dict) and is_namespace(v))]


def is_reached(value: Any) -> bool:
    """Something that was left."""
    return any(id(part) in _LEFT for part in all_reached(value))


def meet(names: Names, others: Iterable[Name]) -> bool:
    """One of either may be the same."""
    return any(_same(a, b) for b in [*others] for a in names)


def _same(a: Name, b: Name) -> bool:
    if ANYTHING in (a, b):
        return True
    return a[:2] == b[:2] and (a.of is None or b.of is None or a.of == b.of)


def reads(graph: Graph) -> Names:
    """The names of what it reads, and what could have a derivative."""
    ops = [op for _, op in graph.ops() if any(carries(r.type) for r in op.results)]
    return frozenset(name for op in ops if (name := _read(op, graph.filename)) is not None)


def _read(op: Op, file: str) -> Name | None:
    if _is_called_as_it_is(op):
        return ANYTHING
    fn = op.fn if hashable(op.fn) and len(op.args) > 1 else None
    name = op.args[1].value if fn in _READS and isinstance(op.args[1], Const) else None
    if type(name) is not str:
        return None
    if fn is operator.getitem:
        return item(name)
    if fn is not builtins.getattr:
        return variable(name, file if op.pos is None else op.pos.filename)
    owner = op.args[0].value if isinstance(op.args[0], Const) else None
    if type(owner) is ModuleType:
        return variable(name, getattr(owner, "__file__", ""))
    return attribute(name, T.cls_of(T.operand_type(op.args[0])))


def _is_called_as_it_is(op: Op) -> bool:
    """Python code that is no part of the program, and that is given nothing to differentiate."""
    if isinstance(op.callee, Value):
        return True
    fn = op.callee.value if isinstance(op.callee, Const) else None
    return type(fn) in (FunctionType, MethodType) and not is_ours(fn.__module__)


_READS = (builtins.getattr, operator.getitem, primitives.load_global, primitives.cell_get)
"""Their second operand is the name."""
