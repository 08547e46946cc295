"""Functions that contexts make, and that say themselves what their derivatives are.

A *primitive* stands in programs as an operation of its own: it is not looked into, and reverse and forward
mode ask it where they ask the derivative table about any other.
"""

from __future__ import annotations

from typing import Any

from ctxdispatch.ir.graph import Op
from ctxdispatch.passes.pure import PureFunction
from ctxdispatch_contexts.programs.errors import Opaque


class Primitive(PureFunction, Opaque):
    """`reverse` and `push` are given the run of the transform, for one op that calls this function. `linear`:
    the positions of the operands that give zero where they are all zero, each a number or an array."""

    linear: tuple[int, ...] = ()

    pointwise = False
    """The result is an array, each element computed from those of the operands at its place."""

    unbounded = False
    """A partial derivative may be infinite."""

    def __overdub__(self, ctx: Any, *args: Any, **kwargs: Any) -> Any:
        """Contexts do not look into it."""
        return ctx.fallback(self, args, kwargs)

    def reverse(self, adjoint: Any, op: Op) -> None:
        """bar(operands) += what bar(result) gives."""
        raise NotImplementedError

    def push(self, shapes: Any, run: Any, op: Op) -> None:
        """`op` has been emitted: put the tangent of its result."""
        raise NotImplementedError
