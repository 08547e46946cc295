"""Copies of what is known, with other fields: calls of its class.

dataclasses.replace(%s, x=%a)     C(x=%a, y=%s.y)
%s._replace(x=%a)                 tuple.__new__(C, (%a, %s[1]))
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Op
from ctxdispatch.ir.values import Const, Operand
from ctxdispatch.passes import named_tuples, transfer
from ctxdispatch.passes import types as T
from ctxdispatch.passes.guards import AttrIs, ClassHolds, CodeIs
from ctxdispatch.passes.inline import emit_before
from ctxdispatch.passes.resolve import class_attribute
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.objects import is_made_by_init

_REPLACES = (dataclasses.replace, getattr(dataclasses, "_replace", dataclasses.replace))
_FIELDS = "__dataclass_fields__"


def result_type(function: FunctionType, types: Sequence[T.Type], kwnames: tuple[str, ...]) -> T.Type | None:
    """What such a call returns; None where it is none, or nothing is known."""
    cls = T.cls_of(types[0]) if len(types) == 1 + len(kwnames) else None
    if function in _REPLACES and cls is not None and _fields(cls) and is_made_by_init(cls):
        return T.Exact(cls)
    names = _names(function, cls, kwnames)
    changes = dict(zip(kwnames, types[1:], strict=True)) if names else {}
    old = [types[0].field(n) or T.Any if isinstance(types[0], T.Held) else T.Any for n in names]
    items = T.TupleOf(tuple([changes.get(n, type_) for n, type_ in zip(names, old, strict=True)]))
    return transfer.call(tuple.__new__, (T.Known(cls), items)) if names else None


def open_replace(prepared: Any, block: Block, op: Op) -> bool:
    """True where something was changed."""
    given = len(op.args) - len(op.kwnames)
    cls = T.cls_of(operand_type(op.args[0])) if given == 1 and type(op.fn) is FunctionType else None
    changes = dict(zip(op.kwnames, op.args[1:], strict=True)) if cls is not None else {}
    if cls is not None and op.fn in _REPLACES:
        return _of_dataclass(prepared, block, op, cls, changes)
    names = _names(op.fn, cls, op.kwnames) if cls is not None else ()
    return bool(names) and _of_named_tuple(prepared, block, op, cls, names, changes)


def _fields(cls: type) -> dict[str, bool]:
    """The fields of a dataclass, and whether its `__init__` takes them; none where it takes more."""
    fields = class_attribute(cls, _FIELDS)
    own = class_attribute(cls, "__class__") is class_attribute(object, "__class__")
    if type(fields) is not dict or not own or any("InitVar" in str(f.type) for f in fields.values()):
        return {}
    return {f.name: f.init for f in dataclasses.fields(cls)}


def _of_dataclass(prepared: Any, block: Block, op: Op, cls: type, changes: dict[str, Operand]) -> bool:
    own = _fields(cls)
    if not own or not all(own.get(name) for name in changes):
        return False
    prepared.assume(CodeIs(op.fn, op.fn.__code__))  # type: ignore[arg-type, union-attr]
    prepared.assume(AttrIs(cls, _FIELDS, class_attribute(cls, _FIELDS)))
    emit, first = emit_before(block, op), op.args[0]
    rest = {n: emit(getattr, first, Const(n)) for n, init in own.items() if init and n not in changes}
    op.callee, op.args, op.kwnames = Const(cls), [*changes.values(), *rest.values()], (*changes, *rest)
    op.syntax = False
    return True


def _names(function: Any, cls: type | None, kwnames: tuple[str, ...]) -> tuple[str, ...]:
    """The fields of the named tuples of which `function` is the method `_replace`, called with these."""
    if getattr(function, "__code__", None) is not named_tuples.REPLACE or cls is None:
        return ()
    names = named_tuples.names_of(cls)
    return names if set(kwnames) <= set(names) and named_tuples.maker_of(cls) is not None else ()


def _of_named_tuple(
    prepared: Any, block: Block, op: Op, cls: Any, names: tuple[str, ...], changes: dict[str, Operand]
) -> bool:
    owner, made = named_tuples.maker_of(cls) or (cls, None)
    prepared.assume(ClassHolds(owner, "_make", made))
    emit, first = emit_before(block, op), op.args[0]
    items = [changes.get(n) or emit(operator.getitem, first, Const(i)) for i, n in enumerate(names)]
    op.callee, op.kwnames, op.syntax = Const(tuple.__new__), (), False
    op.args = [Const(cls), emit(primitives.build_tuple, *items)]
    return True
