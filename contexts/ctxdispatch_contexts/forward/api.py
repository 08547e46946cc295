"""What users call: derivatives of functions along tangents."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from ctxdispatch.dispatch.tracebacks import show_users_frames
from ctxdispatch_contexts.forward.contents import contents, unchanged
from ctxdispatch_contexts.forward.context import DualContext
from ctxdispatch_contexts.forward.entries import forward_function
from ctxdispatch_contexts.forward.program import ForwardMode
from ctxdispatch_contexts.forward.trees import check_tangent
from ctxdispatch_contexts.programs.derived import maker
from ctxdispatch_contexts.programs.errors import DerivativeError, user_position
from ctxdispatch_contexts.programs.tiers import check_tier


def jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False,
    tier: str | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """(f(*primals), the derivative of f at the primals along the tangents).

    Each tangent has the shape, dtype and structure of its primal, None for what has no derivative; the
    result's tangent those of the result. With `has_aux`, `f` returns (y, aux) and the result is (y, dy, aux).
    With `tier="python"`, what would be recorded is refused instead, at its line.

    Raises DerivativeError (a TypeError) where a tangent does not fit, or `f` cannot be differentiated.
    """
    try:
        y, dy = _pushed(f, primals, tangents, tier)
    except BaseException as error:
        show_users_frames(error)
        raise
    if not has_aux:
        return y, dy
    if not isinstance(y, tuple) or len(y) != 2:
        raise DerivativeError(
            f"has_aux=True needs a function that returns a pair (value, aux), not a {type(y).__name__}; "
            "return such a pair, or leave has_aux out",
            user_position(),
        )
    return y[0], dy[0], y[1]


def tangent_along(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], tier: str | None = None
) -> Any:
    """The second of what `jvp` returns, without the first."""
    return _pushed(f, primals, tangents, tier, alone=True)


def _pushed(
    f: Any, primals: Sequence[Any], tangents: Sequence[Any], tier: str | None, alone: bool = False
) -> Any:
    _check_arguments(f, primals, tangents)
    check_tier(tier)
    wrt = tuple([i for i, (x, d) in enumerate(zip(primals, tangents, strict=True)) if d is not None])
    moved = [check_tangent(primals[i], tangents[i], i) for i in wrt]
    varying = tuple([i for i, d in zip(wrt, moved, strict=True) if d is not None])
    function = forward_function(DualContext, f, len(primals), (), varying, False, alone=alone, tier=tier)
    return function(*primals, *(d for d in moved if d is not None))


def _check_arguments(f: Any, primals: Any, tangents: Any) -> None:
    if not callable(f):
        raise DerivativeError(
            f"jvp takes a function, not a {type(f).__name__}; write jvp(f, (x,), (dx,))", user_position()
        )
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise DerivativeError(
                f"{name} must be a tuple with one entry per argument, not a {type(given).__name__}; "
                "write (x,)",
                user_position(),
            )
    if len(primals) != len(tangents):
        raise DerivativeError(
            f"there are {len(primals)} primals and {len(tangents)} tangents; give one tangent per primal",
            user_position(),
        )
    if type(f) is FunctionType and not _takes(f, len(primals)):
        f(*primals)  # raises the function's own error


def _takes(f: FunctionType, n: int) -> bool:
    """So many positional arguments."""
    code = f.__code__
    least = code.co_argcount - len(f.__defaults__ or ())
    return least <= n and (n <= code.co_argcount or bool(code.co_flags & inspect.CO_VARARGS))


@maker(DualContext, lambda n, wrt, count=None, alone=False: ForwardMode(tuple(wrt), alone=alone))
def pushforward(
    f: Callable[..., Any], wrt: Sequence[int], n: int | None = None, alone: bool = False
) -> Callable[..., Any]:
    """(*args, *tangents) -> (f(*args), its tangent), or the tangent `alone`, for tangents of the positional
    arguments `wrt` of `n`. What is given is not checked: for programs."""
    count = f.__code__.co_argcount if n is None else n
    return forward_function(DualContext, f, count, (), tuple(wrt), False, alone=alone)


def linearize(f: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """(f(*primals), the linear function tangents -> derivative of f along them).

    The linear function may be called again and again: each call runs `f` again. It raises DerivativeError
    where what was given has changed since, by `f` itself or by anybody: arrays, and what containers and
    objects hold.
    """
    given = [contents(p) for p in primals]
    y = f(*primals)

    def f_jvp(*tangents: Any) -> Any:
        for i, (before, now) in enumerate(zip(given, primals, strict=True)):
            if not unchanged(before, now):
                raise DerivativeError(CHANGED.format(i), user_position())
        return jvp(f, primals, tangents)[1]

    return y, f_jvp


CHANGED = (
    "argument {} of linearize has changed since, so the derivative where it was is not to be had; give a "
    "copy that nobody changes, and where the function itself does, linearize(lambda x: f(x.copy()), x), or "
    "f(copy.deepcopy(x)) of objects and containers"
)
