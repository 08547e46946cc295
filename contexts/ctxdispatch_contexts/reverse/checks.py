"""`check_grads`: reverse mode against finite differences, on anything that numbers can be found in."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from ctxdispatch.dispatch.tracebacks import show_users_frames
from ctxdispatch_contexts.reverse.api import vjp
from ctxdispatch_contexts.reverse.context import ADContext


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 1,
    modes: Sequence[str] = ("rev",),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    rules: bool = False,
) -> None:
    """Check the derivatives of `f` at `args` against central differences in a random direction.

    For a random tangent v and cotangent w, <w, (f(x + eps v) - f(x - eps v)) / (2 eps)> must equal
    <pullback(w), v>. Arguments and results may be numbers, arrays and tuples, lists, dicts, objects of them.
    `order` 1 and mode "rev" are what there is. Raises AssertionError with both numbers where they differ by
    more than `atol + rtol * |expected|` (defaults by the arguments' precision), ValueError for an order or
    mode that does not exist, and where there is no float in `args`.

    With `rules`, every operation that `f` makes is checked by itself first, against central differences at
    its own operands: the first whose rule is wrong is named, with its line (each is run four times more).
    """
    try:
        _check(f, args, order, modes, atol, rtol, eps, rules)
    except BaseException as error:
        show_users_frames(error)
        raise


def _check(
    f: Callable[..., Any], args: Sequence[Any], order: int, modes: Sequence[str], atol: float | None,
    rtol: float | None, eps: float | None, rules: bool,
) -> None:  # fmt: skip
    if order != 1 or set(modes) - {"rev"}:
        raise ValueError(
            f"check_grads has order 1 and mode 'rev', not order {order} and modes {tuple(modes)}"
        )
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    if not _leaves(args):
        raise ValueError(
            "there is nothing to check: no float and no array of floats in args; check a function of "
            "numbers, arrays, or tuples, lists, dicts and objects of them"
        )
    if rules:
        from ctxdispatch_contexts.recording.checking import check_rules

        check_rules(f, copy.deepcopy(args), ADContext)
    step, tolerance = (1e-2, 2e-2) if _is_single(args) else (1e-6, 1e-5)
    found, expected = _both_ways(f, args, eps or step)
    atol, rtol = (tolerance if given is None else given for given in (atol, rtol))
    if not abs(found - expected) <= atol + rtol * abs(expected):
        raise AssertionError(f"reverse mode gives {found:.12g}, central differences give {expected:.12g}")


def _both_ways(f: Callable[..., Any], args: tuple[Any, ...], eps: float) -> tuple[Any, Any]:
    """The derivative along a random direction, by reverse mode and by central differences."""
    rng = np.random.default_rng(0)
    v = _random_like(args, rng)
    above, below = f(*_step(args, v, eps)), f(*_step(args, v, -eps))  # before `f` may change what is in args
    y, pullback = vjp(f, *args)
    w = _random_like(y, rng)
    expected = (_inner(w, above) - _inner(w, below)) / (2 * eps)
    return _inner(pullback(_as_result(w, y)), v), expected


def _is_single(tree: Any) -> bool:
    return any(np.asarray(leaf).dtype in (np.float32, np.complex64, np.float16) for leaf in _leaves(tree))


def _leaves(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        return [leaf for value in tree.values() for leaf in _leaves(value)]
    if isinstance(tree, (tuple, list)):
        return [leaf for value in tree for leaf in _leaves(value)]
    if _is_object(tree):
        return _leaves(vars(tree))
    return [tree] if _is_inexact(tree) else []


def _is_inexact(x: Any) -> bool:
    return isinstance(x, (float, complex, np.inexact)) or (isinstance(x, np.ndarray) and x.dtype.kind in "fc")


def _is_object(x: Any) -> bool:
    """An instance of a user's class with attributes."""
    other = (type, FunctionType, ModuleType, MethodType, np.ndarray, np.generic)
    return hasattr(x, "__dict__") and not isinstance(x, other)


def _map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    if isinstance(tree, dict):
        return {k: _map(function, v, *(o[k] for o in others)) for k, v in tree.items()}
    if isinstance(tree, (tuple, list)):
        items = [_map(function, *each) for each in zip(tree, *others, strict=True)]
        return type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)
    if _is_object(tree):
        twin = copy.copy(tree)
        twin.__dict__.update(_map(function, vars(tree), *map(vars, others)))
        return twin
    return function(tree, *others)


def _random_like(tree: Any, rng: np.random.Generator) -> Any:
    def one(x: Any) -> Any:
        if not _is_inexact(x):
            return None
        v = rng.standard_normal(np.shape(x))
        v = v + 1j * rng.standard_normal(np.shape(x)) if np.iscomplexobj(x) else v
        return np.asarray(v).astype(np.asarray(x).dtype)

    return _map(one, tree)


def _step(tree: Any, v: Any, eps: float) -> Any:
    def one(x: Any, d: Any) -> Any:
        if d is None:
            return x
        moved = x + eps * d
        return moved.astype(x.dtype) if isinstance(x, (np.ndarray, np.generic)) else type(x)(moved)

    return _map(one, tree, v)


def _as_result(w: Any, y: Any) -> Any:
    return _map(
        lambda one, like: one if isinstance(like, np.ndarray) or one is None else type(like)(one), w, y
    )


def _inner(a: Any, b: Any) -> float:
    """The real inner product of two trees: with cotangents in the convention df/dx - i df/dy it is Re(sum
    a*b)."""
    if a is None or b is None:
        return 0.0
    if isinstance(a, dict):
        return sum(_inner(v, b.get(k) if isinstance(b, dict) else getattr(b, k, None)) for k, v in a.items())
    if isinstance(a, SimpleNamespace):
        return _inner(vars(a), b if isinstance(b, dict) else vars(b))
    if isinstance(a, (tuple, list)):
        return sum(_inner(x, y) for x, y in zip(a, b, strict=False))
    return float(np.real(np.sum(np.asarray(a) * np.asarray(b))))
