"""Stores into objects that the program has just made: nobody sees them but through the same value."""

from __future__ import annotations

from types import FunctionType, MemberDescriptorType, SimpleNamespace
from typing import Any

from ctxdispatch.facts import SETS_ATTRIBUTE
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.values import Const, Operand
from ctxdispatch.passes.resolve import class_attribute


def is_fresh(graph: Graph, op: Op) -> bool:
    """Whether the object that `op` stores an attribute of was made in this program and has not been given to
    anything else before: then nobody sees the store but through the same value."""
    target = op.args[0]
    made = next(((b, o) for b, o in graph.ops() if target in o.results), None)
    if made is None or not _stores_plainly(op, _class_of_new(made[1])):
        return False
    maker = made[0]
    home = next(b for b, o in graph.ops() if o is op)
    reaching = _blocks_before(graph, home, maker)
    return not any(_gives_away(block, target, op if block is home else None) for block in reaching)


def _class_of_new(op: Op) -> Operand | None:
    """The class, where `op` makes an object without attributes."""
    if op.fn is object.__new__:
        return op.args[0]
    return op.callee if op.fn is SimpleNamespace and not op.args else None


def _stores_plainly(op: Op, made: Operand | None) -> bool:
    """No code of the class takes part in the store."""
    if not isinstance(made, Const) or not isinstance(op.args[1], Const):
        return False
    return keeps_attribute(made.value, op.args[1].value, op.fn)


def keeps_attribute(cls: type, name: str, store: Any) -> bool:
    """An object of the class holds what `store` stores in it: setattr, which a method of the class may do, or
    object.__setattr__."""
    code = store is setattr and type(class_attribute(cls, "__setattr__")) is FunctionType
    found = class_attribute(cls, name)
    return not code and (not hasattr(type(found), "__set__") or type(found) is MemberDescriptorType)


def names_of_class(cls: type) -> set[str]:
    """Of what it and its bases hold, but for what every class has."""
    return {name for base in cls.__mro__[:-1] for name in vars(base)} - {"__dict__", "__weakref__"}


def _blocks_before(graph: Graph, home: Block, maker: Block) -> set[Block]:
    """Blocks between the making and the store."""
    preds = graph.predecessors()
    seen, work = {home}, [home] if home is not maker else []
    while work:
        for pred, _ in preds[work.pop()]:
            if pred not in seen:
                seen.add(pred)
                if pred is not maker:
                    work.append(pred)
    return seen | {maker}


_HARMLESS = SETS_ATTRIBUTE | {getattr}


def _gives_away(block: Block, target: Operand, until: Op | None) -> bool:
    for op in block.ops:
        if op is until:
            return False
        if any(a is target for a in op.args[1:]) or (target in op.args and op.fn not in _HARMLESS):
            return True
    edges = [a for e in block.edges() for a in e.args]
    return until is None and target in edges
