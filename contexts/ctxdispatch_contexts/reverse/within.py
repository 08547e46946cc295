"""Pullbacks taken within a program that is itself differentiated: see `programs/derived.py`.

vjp(f, x, y)                      pulled(f, None, 2)(x, y)
overdub(ADContext(), f, x, y)     the same
"""

from __future__ import annotations

from typing import Any

from ctxdispatch.ir.graph import Block, Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch_contexts.programs.derived import is_known, maker, overdub_of, spelled_out
from ctxdispatch_contexts.programs.entry_table import entry_function
from ctxdispatch_contexts.reverse.api import vjp
from ctxdispatch_contexts.reverse.context import ADContext, checked_indices
from ctxdispatch_contexts.reverse.program import ReverseMode


def _mode(n: int, argnums: Any = None, count: int | None = None) -> ReverseMode:
    wrt = (argnums,) if isinstance(argnums, int) else argnums
    wrt = wrt if wrt is None else checked_indices(wrt, n, "the function")
    return ReverseMode(wrt=wrt, inner=True, shown=True)


@maker(ADContext, _mode)
def pulled(f: Any, argnums: Any, n: int) -> Any:
    """(*args) -> (f(*args), pullback), for n positional arguments. For programs."""
    return entry_function(f, _mode(n, argnums), ADContext, n, ())


@spelled_out(vjp)
def _vjp(prepared: Any, block: Block, op: Op) -> bool:
    return not op.kwnames and bool(op.args) and _pull(prepared, block, op, op.args[0], op.args[1:], None)


@overdub_of(ADContext)
def _overdub(
    prepared: Any, block: Block, op: Op, f: Operand, args: list[Operand], context: Any = None
) -> bool:
    return _pull(prepared, block, op, f, args, context.argnums if context is not None else None)


def _pull(prepared: Any, block: Block, op: Op, f: Operand, args: list[Operand], argnums: Any) -> bool:
    if not is_known(f, prepared):
        return False
    made = Value()
    at = next(i for i, other in enumerate(block.ops) if other is op)
    block.ops.insert(at, Op(Const(pulled), [f, Const(argnums), Const(len(args))], [made], (), op.pos))
    op.callee, op.args, op.syntax = made, list(args), False
    return True
