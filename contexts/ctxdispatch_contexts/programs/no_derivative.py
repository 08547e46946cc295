"""What rules say where they are not for the arguments they are given: `raise no_derivative(why, remedy)`.

Rules are programs, inlined or called where the user's call stands: that is where the refusal is placed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any

import numpy as np

from ctxdispatch.ir.builder import Builder
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Position, hashable
from ctxdispatch_contexts.programs.errors import OWN_FILES, DerivativeError, Opaque, user_position
from ctxdispatch_contexts.programs.written import expression


class NoDerivativeError(DerivativeError, NotImplementedError):
    """A function that has a rule was called in a way that the rule is not for: `why`; what to write instead
    is `remedy`."""

    def __init__(self, why: str, remedy: str) -> None:
        self.why, self.remedy = why, remedy
        at = user_position()
        super().__init__(self._worded(at), at)

    def place(self, position: Position | str | None) -> None:
        if isinstance(position, Position):
            self.message = self._worded(position)
        super().place(position)

    def _worded(self, at: Position | None) -> str:
        written = expression(at)
        where = f" in `{written}`" if written else ""
        return f"there is no derivative of {self.why}{where}; {self.remedy}"


def no_derivative(why: str, remedy: str) -> NoDerivativeError:
    """What rules raise. Programs call it, and do not look into it (`targets.STAY`)."""
    return NoDerivativeError(why, remedy)


def nothing_of(g: Any, y: Any, k: int, axis: int, remedy: str) -> float:
    """0.0, of the vectors in y beyond the first k, which the library chooses freely: refused where their
    cotangent in g is not zero. (A transpose takes y for g, and asks for no more than the shape.)"""
    others = g[..., k:] if axis == -1 else g[..., k:, :]
    if g is not y and np.count_nonzero(others):
        raise no_derivative(
            "the vectors beyond those of the matrix, which are chosen freely", f"ask for {remedy}"
        )
    return 0.0


REFUSALS: set[Any] = {no_derivative}
"""Functions that make a refusal, and look at frames for its place: they stay calls (`targets.STAY`)."""


def stand_at(op: Op, at: Position | None) -> None:
    """`op` is of a rule, or of what stands in for an op, and is inlined for the user's code there."""
    op.pos = at
    if hashable(op.fn) and op.fn in REFUSALS and at is not None and at.line:
        op.callee = Const(Placed(op.fn, at))


class Placed(Opaque):
    """`rule`, for the call at `position`, which may be in another file than the program; or what makes a
    refusal for it."""

    def __init__(self, rule: Callable[..., Any], position: Position) -> None:
        self.rule, self.position = rule, position
        self.__name__ = getattr(rule, "func", rule).__name__  # block forms are partials

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            y = self.rule(*args, **kwargs)
        except NoDerivativeError as error:
            error.place(self.position)
            raise
        if isinstance(y, DerivativeError):
            y.place(self.position)
        return y


def placed(rule: Callable[..., Any], build: Builder) -> Callable[..., Any]:
    """What is called for `rule`: a frame knows the lines of its own file alone."""
    at = build.pos
    if at is None or not at.line or at.filename == build.graph.filename or not may_refuse(rule):
        return rule
    return Placed(rule, at)


@lru_cache(maxsize=4096)
def may_refuse(rule: Any) -> bool:
    """It calls `no_derivative`, or one of its helpers does; of generated code nobody knows."""
    code = getattr(rule, "__code__", None)
    return code is None or code.co_filename.startswith("<generated") or no_derivative in _called(rule, set())


def _called(f: FunctionType, seen: set[Any]) -> set[Any]:
    """What code of ours names, and what that names."""
    seen.add(f)
    for name in f.__code__.co_names:
        other = f.__globals__.get(name)
        if type(other) is FunctionType and other not in seen and _is_ours(other):
            _called(other, seen)
    return seen


def _is_ours(f: FunctionType) -> bool:
    return f.__code__.co_filename.startswith(OWN_FILES)
