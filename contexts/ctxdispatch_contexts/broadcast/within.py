"""`broadcast` in a program that is transformed: the function is known there, or made there.

broadcast(f, x, y)            kernel_of(f, 2)(x, y)
np.vectorize(f)(x)            kernel_of(f, 1, python=True)(x)
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy as np

from ctxdispatch.ir.graph import Block, Op
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.ir.wrappers import called
from ctxdispatch.passes import types as T
from ctxdispatch.passes.guards import AttrIs
from ctxdispatch.passes.resolve import call_guard
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.broadcast.api import broadcast, kernel_of, operand
from ctxdispatch_contexts.broadcast.context import BroadcastContext
from ctxdispatch_contexts.broadcast.written_out import over_items
from ctxdispatch_contexts.derivatives.vectorizing import of_type
from ctxdispatch_contexts.forward import Before
from ctxdispatch_contexts.programs.derived import (
    is_known,
    objects_spelled_out,
    overdub_of,
    spelled_out,
)
from ctxdispatch_contexts.programs.operands import leaf_class
from ctxdispatch_contexts.reverse import checked_indices


@spelled_out(broadcast)
def _broadcast(prepared: Any, block: Block, op: Op) -> bool:
    n = len(op.args) - len(op.kwnames)
    if not op.kwnames and any(_holds_objects(operand_type(a)) for a in op.args[1:]):
        op.callee = Const(over_items)
        return True
    options = dict(zip(op.kwnames, op.args[n:], strict=True))
    out = options.pop("out", Const(None))
    fixed = all(isinstance(v, Const) for v in options.values())
    f, leading = _function(prepared, op.args[0]) if n else (Const(None), [])
    if not n or not fixed or not is_known(f, prepared) or operand_type(out) is T.Any:
        return False
    made = {name: v.value for name, v in options.items()}  # type: ignore[union-attr]
    if leading:
        made["leading"] = len(leading)
    arrays = [*leading, *op.args[1:n]]
    if operand_type(out) == T.Known(None):
        _make(block, op, f, arrays, made)
        return True
    if T.cls_of(operand_type(out)) is not np.ndarray:
        return False
    _store(prepared, block, op, f, arrays, made, out)
    return True


def _store(
    prepared: Any, block: Block, op: Op, f: Operand, arrays: list[Operand], made: dict[str, Any], out: Operand
) -> None:
    """out[...] = broadcast(f, x)"""
    before = Before(block, op)
    call = Op(op.callee, [], [Value()], (), op.pos)
    block.ops.insert(block.ops.index(op), call)
    _make(block, call, f, arrays, made)
    before(operator.setitem, out, Const(Ellipsis), call.result, syntax=True)
    block.ops.remove(op)
    substitute(prepared.graph, {op.result: out})


def _function(prepared: Any, f: Operand) -> tuple[Operand, list[Operand]]:
    """The function that is called, and what it is given before the elements. One that is an argument is known
    by a guard on that; of a partial made here, and of an object with a `__call__`, it is another."""
    type_ = operand_type(f)
    if isinstance(type_, T.Known) and callable(type_.value):
        return Const(type_.value), []
    making = prepared.maker.get(f)
    if making is not None and making.fn is functools.partial and making.args and not making.kwnames:
        return making.args[0], making.args[1:]
    cls = T.cls_of(type_)
    call = None if cls is None else called(cls)
    if cls is None or call is None:
        return f, []
    prepared.assume(call_guard(cls))
    return Const(call), [f]


@overdub_of(BroadcastContext, fields=True)
def _overdubbed(
    prepared: Any, block: Block, op: Op, f: Operand, args: list[Operand], context: BroadcastContext | None
) -> bool:
    """overdub(BroadcastContext(wrt=0), f, x, y)            kernel_of(f, 2, wrt=(0,))(x, y)"""
    options = _options(prepared.maker.get(op.args[0]), context)
    f, leading = _function(prepared, f)
    if options is None or not is_known(f, prepared):
        return False
    wrt = options.pop("wrt", None)
    if wrt is not None:
        found = checked_indices((wrt,) if isinstance(wrt, int) else wrt, len(args), "f")
        options["wrt"] = tuple(i + len(leading) for i in found)
    if leading:
        options["leading"] = len(leading)
    _make(block, op, f, [*leading, *args], options)
    return True


def _options(making: Op | None, context: BroadcastContext | None) -> dict[str, Any] | None:
    """The fields of a context that is known, or made here; None where some are not written out."""
    if context is not None:
        return {name: getattr(context, name) for name in FIELDS}
    if making is None or len(making.args) != len(making.kwnames):
        return None
    given = {name: _written_out(a) for name, a in zip(making.kwnames, making.args, strict=True)}
    return None if _UNKNOWN in given.values() else given


def _written_out(operand: Operand) -> Any:
    if isinstance(operand, Const):
        return operand.value
    type_ = operand_type(operand)
    return type_.value if isinstance(type_, T.Known) else _UNKNOWN


_UNKNOWN: Any = object()


FIELDS = ("wrt", "partials", "fastmath", "backend", "threads")


def _holds_objects(type_: T.Type) -> bool:
    """A list of what is no number, as far as is known."""
    return T.cls_of(type_) in (list, tuple) and not _is_numbers(type_)


def _is_numbers(type_: T.Type) -> bool:
    """A number or an array, or lists and tuples of such."""
    if isinstance(type_, T.TupleOf):
        return all(map(_is_numbers, type_.items))
    item = getattr(type_, "item", None)
    return leaf_class(T.widen(type_)) is not None if item is None else _is_numbers(item)


def _make(block: Block, op: Op, f: Operand, arrays: list[Operand], options: dict[str, Any]) -> None:
    """`op` becomes a call of what `kernel_of` makes of f."""
    before = Before(block, op)
    given = [Const(len(arrays)), *map(Const, options.values())]
    made = before(kernel_of, f, *given, kwnames=("count", *options))
    op.args = [before(operand, a) if T.cls_of(operand_type(a)) in (list, tuple) else a for a in arrays]
    op.callee, op.kwnames, op.syntax = made, (), False


@objects_spelled_out(np.vectorize)
def _vectorized(prepared: Any, block: Block, op: Op) -> bool:
    """A call of an np.vectorize object."""
    known = op.fn
    if isinstance(known, np.vectorize):
        f: Operand = Const(known.pyfunc)
        types = known.otypes or ""
        plain = known.signature is None and not known.excluded
        for name in ("pyfunc", "otypes", "signature"):
            prepared.assume(AttrIs(known, name, getattr(known, name)))
    else:
        making = prepared.maker.get(op.callee)
        plain, types = making is not None and making.fn is np.vectorize and len(making.args) == 1, ""
        f = making.args[0] if plain else Const(None)
    if not plain or op.kwnames or len(types) > 1 or not is_known(f, prepared):
        return False
    if types:
        op.callee, op.args = Const(of_type), [f, Const(types[0]), *op.args]
    else:
        _make(block, op, f, list(op.args), {"python": True})
    return True
