"""f(*args, **kwargs) as a plain call, where the arguments are known one by one, and the keywords by name."""

from __future__ import annotations

import operator

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.ir.watching import is_undispatched
from ctxdispatch.passes import types as T
from ctxdispatch.passes.inline import emit_before
from ctxdispatch.passes.types import operand_type


def spread(block: Block, op: Op) -> bool:
    """call_ex(f, args, kwargs) with a tuple of known length and keywords of known names is a plain call."""
    f, args, *rest = op.args
    type_ = operand_type(args)
    names = _keywords(rest[0], block, op) if rest else {}
    if not isinstance(type_, T.TupleOf) or names is None:
        return False
    emit = emit_before(block, op)
    items = [emit(operator.getitem, args, Const(i)) for i in range(len(type_.items))]
    op.callee, op.args, op.kwnames = f, [*items, *names.values()], tuple(names)
    op.syntax = False
    return True


def open_arguments(graph: Graph, block: Block, op: Op) -> bool:
    """Of f(*args), f(**kwargs). True where something was changed."""
    if op.fn is primitives.call_ex:
        return spread(block, op)
    return op.fn is primitives.dict_merge and merge(graph, block, op)


def merge(graph: Graph, block: Block, op: Op) -> bool:
    """f(k=a, **m) of such keywords: one display."""
    target, other = op.args[:2]
    own, given = _keywords(target, block, op), _keywords(other, block, op)
    if own is None or given is None or not own.keys().isdisjoint(given) or not isinstance(target, Value):
        return False
    merged = Value(target.name)
    substitute(graph, {target: merged})  # only what is merged reads it before
    op.callee, op.results, op.syntax = Const(primitives.build_map), [merged], True
    op.args = [operand for name, value in (own | given).items() for operand in (Const(name), value)]
    return True


def _keywords(operand: Operand, block: Block, reader: Op) -> dict[str, Operand] | None:
    """The keywords in a dict that is made in this block, and that nothing before `reader` changes."""
    if isinstance(operand, Const):
        return {} if not operand.value else None
    before = block.ops[: block.ops.index(reader)]
    making = next((o for o in before if operand in o.results and o.fn is primitives.build_map), None)
    if making is None or not all(isinstance(k, Const) for k in making.args[::2]):
        return None
    if not all(_only_reads(o, operand) for o in before if operand in o.operands()):
        return None
    keys = [k.value for k in making.args[::2]]  # type: ignore[union-attr]
    return dict(zip(keys, making.args[1::2], strict=True))


def _only_reads(op: Op, operand: Operand) -> bool:
    merges = op.fn is primitives.dict_merge and operand is not op.args[0]
    return merges or op.fn is primitives.call_ex or is_undispatched(op.fn)
