"""What reverses the ops of one callee, and what such functions have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Operand, Value
from ctxdispatch_contexts.reverse.adjoint import Adjoint
from ctxdispatch_contexts.reverse.bars import NONE, is_zero


@dataclass(frozen=True)
class Handler:
    """Reverses the ops of one callee; `accepts` may leave some of them to others."""

    reverse: Callable[[Adjoint, Op], None]
    accepts: Callable[[Op], bool] = lambda op: True


def arrived(adjoint: Adjoint, op: Op) -> Operand:
    return adjoint.bar(op.result)


def or_none(cotangent: Operand) -> Operand:
    return NONE if is_zero(cotangent) else cotangent


def own_bar(adjoint: Adjoint, container: Operand, bar: Value) -> None:
    """`bar` has in it what `container` got before."""
    assert isinstance(container, Value)
    adjoint.set_bar(container, bar)
