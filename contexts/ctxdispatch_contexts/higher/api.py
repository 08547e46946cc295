"""What users call: Jacobians, Hessians, and products with them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

from ctxdispatch.dispatch.tracebacks import show_users_frames
from ctxdispatch.ir.graph import Block, Op
from ctxdispatch.ir.names import name_like
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch_contexts.forward import DualContext, push_call, pushforward, tangent_along
from ctxdispatch_contexts.higher.modes import JacobianMode
from ctxdispatch_contexts.programs.activity import ZERO_BY_RULE
from ctxdispatch_contexts.programs.derived import maker, spelled_out
from ctxdispatch_contexts.programs.entry_table import entry_function, is_direct
from ctxdispatch_contexts.programs.errors import DerivativeError, user_position
from ctxdispatch_contexts.programs.owned import for_code
from ctxdispatch_contexts.programs.tiers import check_tier
from ctxdispatch_contexts.reverse import ADContext, checked_indices, grad

Argnums = int | Sequence[int]


def _mode(
    n: int, argnums: Argnums = 0, has_aux: bool = False, tier: str | None = None, *, forward: bool | None
) -> JacobianMode:
    single = isinstance(argnums, int)
    wrt = checked_indices((argnums,) if isinstance(argnums, int) else tuple(argnums), n, "the function")
    return JacobianMode(wrt, single, has_aux, forward, tier=tier)


@maker(DualContext, functools.partial(_mode, forward=True))
def jacfwd(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, tier: str | None = None
) -> Callable[..., Any]:
    """A function that returns the Jacobian of `f`, by forward mode: best where `f` has fewer inputs than
    outputs.

    The result has the shape of f's result and then that of the argument, the dtype of the result; for a
    sequence of `argnums` it is a tuple with one Jacobian each, for a result in containers a container of its
    form. All tangents are computed at once: f's arrays become as many times as long as there are inputs. With
    `has_aux`, `f` returns (value, aux), and the result is (Jacobian, aux). `tier` as in `grad`.

    Raises DerivativeError where `f` cannot be differentiated, at the user's line.
    """
    return _jacobian(f, argnums, has_aux, tier, DualContext, forward=True)


@maker(ADContext, functools.partial(_mode, forward=False))
def jacrev(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, tier: str | None = None
) -> Callable[..., Any]:
    """Like `jacfwd`, by reverse mode: best where `f` has fewer outputs than inputs. For a number it is the
    gradient, for an array all cotangents are pulled back at once."""
    return _jacobian(f, argnums, has_aux, tier, ADContext, forward=False)


def _jacobian(
    f: Any, argnums: Argnums, has_aux: bool, tier: str | None, context: Any, *, forward: bool
) -> Callable[..., Any]:
    check_tier(tier)
    if not callable(f):
        raise DerivativeError(
            f"a Jacobian is that of a function, not of a {type(f).__name__}; write jacobian(f)(x)",
            user_position(),
        )
    if is_direct(f, context):
        mode = _mode(f.__code__.co_argcount, argnums, has_aux, tier, forward=forward)
        return entry_function(f, mode, context, f.__code__.co_argcount, ())

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        try:
            return function_for(len(args), tuple(kwargs))(*args, **kwargs)
        except BaseException as error:
            show_users_frames(error)
            raise

    def function_for(n: int, kwnames: tuple[str, ...] = ()) -> Callable[..., Any]:
        return entry_function(f, _mode(n, argnums, has_aux, tier, forward=forward), context, n, kwnames)

    jacobian.__entry_function__ = function_for  # type: ignore[attr-defined]
    name_like(jacobian, f)
    return jacobian


@maker(DualContext, functools.partial(_mode, forward=None))
def jacobian(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, tier: str | None = None
) -> Callable[..., Any]:
    """The Jacobian of `f` by the mode that is cheaper: forward where the result has at least as many elements
    as the arguments `argnums`, else reverse. `f` runs once at every call.

    Of up to 32 inputs it is reverse mode only where the types say that the result is a number; of more, the
    first call with arguments of new shapes finds out, by one pullback for each element of the result.

    See `jacfwd` for what the result is.
    """
    choice = _Choice(f, argnums, has_aux, tier)

    def function(*args: Any, **kwargs: Any) -> Any:
        shapes = _shapes(args, kwargs)
        try:
            found = _chosen(choice, shapes, args, kwargs)(*args, **kwargs)
        except BaseException as error:
            show_users_frames(error)
            raise
        _seen(choice, shapes, args, kwargs, found)
        return found

    def function_for(n: int, kwnames: tuple[str, ...] = ()) -> Callable[..., Any]:
        """Within a program, where shapes are not known."""
        return entry_function(f, _mode(n, argnums, has_aux, tier, forward=None), DualContext, n, kwnames)

    function.__entry_function__ = function_for  # type: ignore[attr-defined]
    name_like(function, f)
    return function


FEW = 32
"""Inputs of which forward mode is taken unless the types say that the result is a number."""


class _Choice:
    """The cheaper of `jacfwd` and `jacrev`, by the shapes of the arguments."""

    def __init__(self, f: Callable[..., Any], argnums: Argnums, has_aux: bool, tier: str | None) -> None:
        self.f, self.argnums, self.has_aux, self.tier = f, argnums, has_aux, tier
        how = argnums, has_aux, tier
        self.by_forward, self.by_reverse = jacfwd(f, *how), jacrev(f, *how)
        self.made: dict[Any, Callable[..., Any]] = {}

    def inputs(self, args: tuple[Any, ...]) -> int:
        argnums = (self.argnums,) if isinstance(self.argnums, int) else tuple(self.argnums)
        return sum(np.size(args[i]) for i in checked_indices(argnums, len(args), "f"))

    def first(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
        """For shapes that are new."""
        few = self.has_aux or self.inputs(args) <= FEW
        mode = _mode(len(args), self.argnums, self.has_aux, self.tier, forward=None if few else False)
        mode = replace(mode, row_by_row=not few)
        function = entry_function(self.f, mode, DualContext if few else ADContext, len(args), tuple(kwargs))
        return function if few else self.or_forward(function)

    def or_forward(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def either(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except DerivativeError:  # forward mode may know what to do; else it says what is wrong
                return self.by_forward(*args, **kwargs)

        return either

    def later(self, args: tuple[Any, ...], found: Any) -> Callable[..., Any] | None:
        """Once a Jacobian is known; None: what was first is taken on."""
        if self.has_aux or self.inputs(args) <= FEW:
            return None
        single = isinstance(self.argnums, int)
        jacobian = found if single else found[0]
        x = args[self.argnums if single else self.argnums[0]]  # type: ignore[index]
        if not isinstance(jacobian, np.ndarray) or np.iscomplexobj(jacobian):
            return self.by_forward
        fewer = np.size(jacobian) < self.inputs(args) * max(np.size(x), 1)
        return self.or_forward(self.by_reverse) if fewer else self.by_forward


def _shapes(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return (*map(np.shape, args), *((k, np.shape(v)) for k, v in kwargs.items()))


def _chosen(choice: _Choice, shapes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return choice.made.get(shapes) or choice.first(args, kwargs)


def _seen(choice: _Choice, shapes: Any, args: tuple[Any, ...], kwargs: dict[str, Any], found: Any) -> None:
    if shapes not in choice.made:
        choice.made[shapes] = choice.later(args, found) or choice.first(args, kwargs)


ZERO_BY_RULE.update((_shapes, _chosen, _seen))


def hessian(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, tier: str | None = None
) -> Callable[..., Any]:
    """The matrix of second derivatives of `f`, forward over reverse: of f's shape and then twice that of the
    argument; for a sequence of `argnums` a tuple of tuples."""
    return jacfwd(jacrev(f, argnums, has_aux, tier), argnums, has_aux, tier)


def hvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], tier: str | None = None
) -> Any:
    """The product of f's Hessian at the primals with the tangents, without the Hessian: the derivative of the
    gradient along them (Pearlmutter 1994). `f` has a number for result. A primal whose tangent is None
    is data: it does not vary, and has no row or column in the Hessian.

    An array of the primal's shape; a tuple of them where several vary.
    """
    if not all(isinstance(g, (tuple, list)) for g in (primals, tangents)) or len(primals) != len(tangents):
        raise DerivativeError(
            "hvp takes a tuple of primals and a tuple of as many tangents, None for data; write "
            "hvp(f, (x,), (v,))",
            user_position(),
        )
    moving = tuple([i for i, tangent in enumerate(tangents) if tangent is not None])
    if not moving:
        raise DerivativeError(
            "hvp needs a tangent that is not None; give one for an argument of floats", user_position()
        )
    try:
        return tangent_along(_gradient(f, moving), primals, tangents, tier)
    except BaseException as error:
        show_users_frames(error)
        raise


def _gradient(f: Any, moving: tuple[int, ...]) -> Callable[..., Any]:
    """grad(f), found again faster than made: that is as long as the product of a short vector."""
    if type(f) is not FunctionType:
        return grad(f, _argnums(moving))
    return for_code(f, (hvp, moving, ADContext._version), lambda: grad(f, _argnums(moving)))


def _argnums(moving: tuple[int, ...]) -> Argnums:
    return moving[0] if len(moving) == 1 else moving


@spelled_out(hvp)
def _hvp(prepared: Any, block: Block, op: Op) -> bool:
    """Within a program: the calls of what hvp(f, primals, tangents) makes."""

    def push(before: Any, f: Operand, wrt: tuple[Const, Const]) -> Value:
        gradient = before(grad, f, Const(_argnums(wrt[0].value)))
        return before(pushforward, gradient, *wrt, Const(True))  # type: ignore[no-any-return]

    return push_call(prepared, block, op, push)
