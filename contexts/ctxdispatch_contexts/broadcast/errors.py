"""Refusals of kernels. Every message says where, what, and what to do about it."""

from __future__ import annotations

from ctxdispatch.ir.graph import Op, Position
from ctxdispatch_contexts.programs.errors import user_position


class KernelError(TypeError):
    """A function or an operand that `broadcast` cannot make a kernel of. `position` is where in the user's
    source."""

    def __init__(self, message: str, position: Position | None = None) -> None:
        where = str(position) if position is not None and position.line else user_position()
        super().__init__(f"{where}: {message}" if where else message)
        self.position = where


class ShapeError(KernelError, ValueError):
    """Operands do not broadcast: a ValueError, as it is in NumPy."""


def refuse(op: Op, message: str) -> KernelError:
    """The error at the user's line."""
    return KernelError(message, op.pos)
