"""What users call: gradients of functions as functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ctxdispatch.dispatch import overdub, recurse
from ctxdispatch.dispatch.reach import natively
from ctxdispatch.dispatch.tracebacks import show_users_frames
from ctxdispatch.ir.names import name_like
from ctxdispatch_contexts.programs.derived import maker, mark_gradient
from ctxdispatch_contexts.programs.errors import DerivativeError, user_position
from ctxdispatch_contexts.programs.tiers import check_tier
from ctxdispatch_contexts.reverse import context as ad
from ctxdispatch_contexts.reverse.context import ADContext
from ctxdispatch_contexts.reverse.program import ReverseMode
from ctxdispatch_contexts.reverse.seeds import value_of_pair

Argnums = int | Sequence[int]


def _mode(
    n: int, argnums: Argnums = 0, has_aux: bool = False, debug: bool = False, tier: str | None = None, *,
    value: bool = False,
) -> ReverseMode:  # fmt: skip
    single = isinstance(argnums, int)
    wrt = ad.checked_indices((argnums,) if isinstance(argnums, int) else tuple(argnums), n, "the function")
    return ReverseMode(
        wrt=wrt, split=False, value=value, has_aux=has_aux, single=single, debug=debug, tier=tier
    )  # fmt: skip


@maker(ADContext, _mode)
def grad(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, debug: bool = False,
    tier: str | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """A function that returns the gradient of `f`, a function with a real scalar result.

    `argnums` says with respect to which positional arguments: an int for one gradient, a sequence for a tuple
    of them. Each has the shape, dtype and structure of its argument (tuple, list, dict; a
    `types.SimpleNamespace` of the attributes for any other object): zeros where it was not read, None for
    leaves that can have no derivative. With `has_aux`, `f` returns (value, aux) and the result is (gradient,
    aux).

    With `debug`, each rule that it uses is checked by finite differences, where it is used (`debug_rules`).
    With `tier="python"`, what would be recorded (`explain` has it) is refused instead, at its line.

    For complex arguments of a real `f` the gradient is df/dx - i df/dy.

    Raises DerivativeError (a TypeError) where `f` cannot be differentiated, at the user's line.
    """
    return _gradient(f, argnums, has_aux, value=False, debug=debug, tier=tier)


@maker(ADContext, functools.partial(_mode, value=True))
def value_and_grad(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, debug: bool = False,
    tier: str | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """Like `grad`, but the function returns (value, gradient); with `has_aux` ((value, aux), gradient)."""
    return _gradient(f, argnums, has_aux, value=True, debug=debug, tier=tier)


def _gradient(
    f: Any, argnums: Argnums, has_aux: bool, *, value: bool, debug: bool, tier: str | None
) -> Callable[..., Any]:
    if not callable(f):
        raise DerivativeError(
            f"grad takes a function, not a {type(f).__name__}; write grad(f)(x)", user_position()
        )
    _check_argnums(argnums)
    check_tier(tier)
    single = isinstance(argnums, int)
    wrt = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    mode = ReverseMode(
        wrt=wrt, split=False, value=value, has_aux=has_aux, single=single, debug=debug, tier=tier
    )  # fmt: skip
    if ad.is_direct(f, ADContext):
        checked = _checked(mode, f.__code__.co_argcount, f.__qualname__)
        made = ad.entry_function(f, checked, ADContext, 0, ())
    else:
        made = _by_call(f, mode)
    if not (value or has_aux):
        mark_gradient(made, f, wrt)
    return made


def _check_argnums(argnums: Any) -> None:
    indices = argnums if isinstance(argnums, Sequence) and not isinstance(argnums, str) else (argnums,)
    if not all(isinstance(i, int) for i in indices):
        raise DerivativeError(
            f"argnums {argnums!r} must be the index of a positional argument, or a tuple of "
            "indices; write argnums=0 or argnums=(0, 1)",
            user_position(),
        )


def _checked(mode: ReverseMode, n: int, name: str) -> ReverseMode:
    """`mode` for a function of n positional arguments: negative argnums count from the end."""
    assert mode.wrt is not None
    wrt = ad.checked_indices(mode.wrt, n, name)
    return mode if wrt == mode.wrt else replace(mode, wrt=wrt)


def _by_call(f: Any, mode: ReverseMode) -> Callable[..., Any]:
    """For what is no plain function (a method, an object, star arguments): one program per shape of call."""

    def called(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[], Any]:
        if kwargs or not args:
            args, kwargs = _by_position(f, args, kwargs)
        return functools.partial(function_for(len(args), tuple(kwargs)), *args, **kwargs)

    def function_for(n: int, kwnames: tuple[str, ...] = ()) -> Callable[..., Any]:
        checked = _checked(mode, n, getattr(f, "__qualname__", type(f).__name__))
        return ad.entry_function(f, checked, ADContext, n, kwnames)

    def gradient(*args: Any, **kwargs: Any) -> Any:
        try:
            return called(args, kwargs)()
        except BaseException as error:
            show_users_frames(error)
            raise

    gradient.__overdub__ = lambda ctx, *args, **kwargs: recurse(ctx, called(args, kwargs))  # type: ignore[attr-defined]
    gradient.__entry_function__ = function_for  # type: ignore[attr-defined]
    name_like(gradient, f)
    return gradient


def _by_position(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The call with all arguments by position that may be; TypeError where it does not fit `f`."""
    try:
        signature = inspect.signature(f)
    except ValueError:  # a builtin that has none
        return args, kwargs
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        f(*args, **kwargs)  # raises its own
        raise
    return bound.args, bound.kwargs


def vjp(f: Callable[..., Any], *args: Any, has_aux: bool = False, **kwargs: Any) -> tuple[Any, ...]:
    """(f(*args), pullback). `pullback(ybar)`, ybar of the result's shape, is a tuple with one cotangent per
    positional argument (None for what can have no derivative), none for keyword arguments. It may be called
    again.
    With `has_aux`, `f` returns (y, aux) and the result is (y, pullback, aux).

    The result may be changed in place. The arguments may not while the pullback is still to be called: it
    reads them (copying each would cost what most callers never need).
    """
    try:
        y, pullback = overdub(ADContext(), f, *args, **kwargs)
    except BaseException as error:
        show_users_frames(error)
        raise
    return _with_aux(y, pullback) if has_aux else (y, pullback)


def _with_aux(pair: Any, pullback: Callable[[Any], tuple[Any, ...]]) -> tuple[Any, ...]:
    return value_of_pair(pair), functools.partial(_pull_value, pullback), pair[1]


def _pull_value(pullback: Callable[[Any], tuple[Any, ...]], ybar: Any) -> tuple[Any, ...]:
    return pullback((ybar, None))


def _vjp_under(
    ctx: Any, f: Callable[..., Any], /, *args: Any, has_aux: bool = False, **kwargs: Any
) -> Any:
    y, pullback = recurse(ctx, overdub, ADContext(), f, *args, **kwargs)
    return _with_aux(y, pullback) if has_aux else (y, pullback)


# What another context does with these, where a program calls them: making a gradient is no part of the
# program.
vjp.__overdub__ = _vjp_under  # type: ignore[attr-defined]
natively(grad)
natively(value_and_grad)
