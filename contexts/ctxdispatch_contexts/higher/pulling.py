"""Jacobians by reverse mode of results that only run time knows: one pullback for each element."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ctxdispatch_contexts.higher.arranging import basis
from ctxdispatch_contexts.programs.containers import rebuild
from ctxdispatch_contexts.programs.errors import DerivativeError, user_position
from ctxdispatch_contexts.programs.zeros import fields, in_namespace, is_floating, layout
from ctxdispatch_contexts.reverse.seeds import scalar_seed

COMPLEX = "jacrev needs a real result, and this function returned a complex array; use jacfwd"


def pulled_rows(pair: Any, wrt: tuple[int, ...], turned: bool, *xs: Any) -> tuple[Any, ...]:
    """Of (y, pullback), the Jacobians with respect to the arguments `xs`, which are at `wrt`: of y's shape
    and then theirs; the gradients where y is a number. Those of a complex y where they are `turned`: its
    imaginary part is the real one of -1j y."""
    y, pullback = pair
    if turned and np.iscomplexobj(y):
        return _turned(y, pullback, wrt, xs)
    if not isinstance(y, np.ndarray) or y.ndim == 0:
        cotangents = pullback(scalar_seed(y))
        return tuple([cotangents[i] for i in wrt])
    if y.dtype.kind == "c":
        raise DerivativeError(COMPLEX, user_position())
    every = [pullback(unit) for unit in basis(y)]
    return tuple([stacked([row[i] for row in every], y, x) for i, x in zip(wrt, xs, strict=True)])


def _turned(y: Any, pullback: Any, wrt: tuple[int, ...], xs: tuple[Any, ...]) -> tuple[Any, ...]:
    units = basis(np.asarray(y))
    kind = type(y) if np.ndim(y) == 0 and not isinstance(y, np.ndarray) else np.asarray
    parts = [[pullback(kind(unit * by)) for unit in units.reshape(-1, *np.shape(y))] for by in (1.0, -1j)]
    rows = [[stacked([row[i] for row in part], np.asarray(y), x) for part in parts] for i, x in zip(wrt, xs)]
    return tuple([real + 1j * imag for real, imag in rows])


def pulled_containers(pair: Any, wrt: tuple[int, ...], turned: bool, *xs: Any) -> tuple[Any, ...]:
    """The same for a container y: containers of Jacobians."""
    y, pullback = pair
    tree = pulled_tree(y, pullback, wrt, turned, xs)
    return tuple([_picked(y, tree, j) for j in range(len(wrt))])


def pulled_tree(y: Any, pullback: Any, wrt: tuple[int, ...], turned: bool, xs: tuple[Any, ...]) -> Any:
    """For each number or array in `y`, the Jacobians with respect to all of `xs`; None for what has none."""
    if isinstance(y, dict):
        return {k: pulled_tree(v, _through(pullback, y, k), wrt, turned, xs) for k, v in y.items()}
    if isinstance(y, (tuple, list)):
        return [pulled_tree(v, _through(pullback, y, i), wrt, turned, xs) for i, v in enumerate(y)]
    if is_floating(y):
        return pulled_rows((y, pullback), wrt, turned, *xs)
    parts = {} if isinstance(y, np.ndarray) else fields(y)
    return {k: pulled_tree(v, _through(pullback, y, k), wrt, turned, xs) for k, v in parts.items()} or None


def _through(pullback: Any, whole: Any, key: Any) -> Any:
    """The pullback of one entry of what a function returned."""

    def pull(cotangent: Any) -> Any:
        if isinstance(whole, dict):
            return pullback({k: cotangent if k is key else None for k in whole})
        if not isinstance(whole, (tuple, list)):
            return pullback(SimpleNamespace(**{key: cotangent}))
        items = [cotangent if i == key else None for i in range(len(whole))]
        return pullback(rebuild(whole, items))

    return pull


def _picked(y: Any, tree: Any, j: int) -> Any:
    """The Jacobians with respect to the j-th of the arguments, in containers as in `y`."""
    if isinstance(y, dict):
        return {k: _picked(v, tree[k], j) for k, v in y.items()}
    if isinstance(y, (tuple, list)):
        return rebuild(y, [_picked(v, t, j) for v, t in zip(y, tree, strict=True)])
    if isinstance(tree, dict):
        return in_namespace(layout(type(y)), {k: _picked(v, tree[k], j) for k, v in fields(y).items()})
    return None if tree is None else tree[j]


def stacked(rows: list[Any], y: Any, x: Any) -> Any:
    shape = y.shape + np.shape(x)
    return np.stack(rows).reshape(shape) if rows else np.zeros(shape, np.result_type(x))


__all__ = ["COMPLEX", "pulled_containers", "pulled_rows"]
