"""Tangents of what is read from containers, objects and cells: read from their tangents, by the same key.

    xs[0]     dxs[0]          d.get(k, x)     dd.get(k), dx where d has no k
    o.a       do.a            cell            what the tangent cell holds

Where the whole has no tangent (None), what is read from it has none.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ctxdispatch.facts import says
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.companion import Companions
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.forward.tangents import NONE, Shapes, put_result, tangent_or_none
from ctxdispatch_contexts.programs.containers import attribute_key, indexable, plain_attribute_of
from ctxdispatch_contexts.programs.operands import infer_op

Handler = Callable[[Shapes, Companions, Op], None]
Table = dict[Any, tuple[Handler, Callable[[Op], bool]]]
"""By callee: the handler, and which ops of the callee are its."""


def _index(shapes: Shapes, run: Companions, op: Op) -> None:
    container, key = op.args
    tangent = tangent_or_none(run, container)
    fields = operand_type(tangent)
    if isinstance(fields, T.TupleOf) and isinstance(key, Const):
        put_result(shapes, run, op, operator.getitem, [tangent, key])
    else:
        run.put(op.result, shapes.definite(run, run.call(entry, tangent, key), op.result))


@says(result="item 0", raises=False)
def entry(tangent: Any, key: Any) -> Any:
    if tangent is None:
        return None
    return tangent.get(key) if isinstance(tangent, dict) else tangent[key]


def _get(shapes: Shapes, run: Companions, op: Op) -> None:
    """dict.get(mapping, key, default)"""
    mapping, key, *default = op.args
    args = [tangent_or_none(run, mapping), mapping, key, *(tangent_or_none(run, d) for d in default)]
    run.put(op.result, shapes.definite(run, run.call(entry_or_default, *args), op.result))


@says(known=False, raises=False)
def entry_or_default(tangent: Any, mapping: Any, key: Any, default: Any = None) -> Any:
    if key not in mapping:
        return default
    return None if tangent is None else tangent.get(key)


ABSENT: Any = object()


def ask(run: Companions, op: Op) -> Value:
    """What `op`, which has just been emitted and ends with a default, finds, or ABSENT. Its result is made of
    that: it may be the very default, and was found all the same."""
    found = Value("found")
    asked = Op(op.callee, [*op.args[:-1], Const(ABSENT)], [found], op.kwnames, op.pos, op.syntax)
    found.type = infer_op(asked)
    run.build.block.ops[run.build.block.ops.index(op)] = asked
    run.build.op(found_or, [found, op.args[-1]], [op.result])
    return found


def found_or(found: Any, default: Any) -> Any:
    return default if found is ABSENT else found


def _pop_key(shapes: Shapes, run: Companions, op: Op) -> None:
    mapping, key, *default = op.args
    more = [ask(run, op), tangent_or_none(run, default[0])] if default else []
    popped = run.call(pop_entry, tangent_or_none(run, mapping), key, *more)
    run.put(op.result, shapes.definite(run, popped, op.result))


def pop_entry(tangent: Any, key: Any, found: Any = None, default: Any = None) -> Any:
    popped = None if tangent is None else tangent.pop(key, None)
    return default if found is ABSENT else popped


def _attribute(shapes: Shapes, run: Companions, op: Op) -> None:
    target, name, *default = op.args
    if default:
        args = [tangent_or_none(run, target), target, name, tangent_or_none(run, default[0])]
        run.put(op.result, shapes.definite(run, run.call(attribute_or_default, *args), op.result))
        return
    tangent, key = tangent_or_none(run, target), attribute_key(op)
    if isinstance(key.value, int):
        found = run.call(entry, tangent, key)
    else:
        found = run.call(getattr, tangent, part_of(T.cls_of(operand_type(target)), name), NONE)
    run.put(op.result, shapes.definite(run, found, op.result))


FUNCTION_PARTS = {"__defaults__": "defaults", "__kwdefaults__": "kwdefaults", "__closure__": "cells"}
"""What tangents of functions call them."""


def names_function_part(op: Op) -> bool:
    return isinstance(op.args[1], Const) and op.args[1].value in FUNCTION_PARTS


def part_of(cls: type | None, name: Operand) -> Operand:
    """What the tangent of an object calls its attribute."""
    if cls is FunctionType and isinstance(name, Const):
        return Const(FUNCTION_PARTS.get(name.value, name.value))
    return name


@says(known=False, raises=False)
def attribute_or_default(tangent: Any, target: Any, name: str, default: Any) -> Any:
    return getattr(tangent, name, None) if hasattr(target, name) else default


def _reads_plainly(op: Op) -> bool:
    """Also with a default."""
    return (
        plain_attribute_of(Op(op.callee, op.args[:2], op.results))
        if len(op.args) == 3
        else plain_attribute_of(op)
    )


def _cell_get(shapes: Shapes, run: Companions, op: Op) -> None:
    cell = run.of(op.args[0])
    found = run.call(content, cell) if cell is not None else NONE
    run.put(op.result, shapes.definite(run, found, op.result))


@says(result="item 0", raises=False)
def content(cell: Any) -> Any:
    """What a tangent cell holds: nothing, where the value's cell was not tracked."""
    return None if cell is None else cell.cell_contents


# -- the table -----------------------------------------------------------------------------------------------


def _is_container(op: Op) -> bool:
    cls = T.cls_of(operand_type(op.args[0]))
    return cls is not None and issubclass(cls, (list, tuple, dict)) and indexable(op)


def always(op: Op) -> bool:
    return True


READ: Table = {
    primitives.cell_get: (_cell_get, always),
    dict.get: (_get, always),
    dict.pop: (_pop_key, always),
    operator.getitem: (_index, _is_container),
    builtins.getattr: (_attribute, _reads_plainly),
}


