"""Unit vectors, and blocks of tangents along them as Jacobians. At run time; the array functions are inlined
where the types are known."""

from __future__ import annotations

import functools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from ctxdispatch.facts import says
from ctxdispatch.passes import types as T
from ctxdispatch_contexts.derivatives import registry
from ctxdispatch_contexts.derivatives.registry import Linear
from ctxdispatch_contexts.programs.activity import ZERO_BY_RULE
from ctxdispatch_contexts.programs.containers import rebuild
from ctxdispatch_contexts.programs.errors import DerivativeError, user_position
from ctxdispatch_contexts.programs.helper_types import always, block_like, first_if_numeric, returning
from ctxdispatch_contexts.programs.zeros import Zeros, fields, in_namespace, is_floating, layout


@functools.lru_cache(maxsize=64)
def _unit_vectors(shape: tuple[int, ...], dtype: Any) -> Any:
    n = math.prod(shape)
    found = np.eye(n, dtype=dtype).reshape((n, *shape))
    found.flags.writeable = False
    return found


LARGE = 1 << 16
"""Blocks of more elements are not kept."""


@says(known=False, raises=False)
def basis(x: Any) -> Any:
    """The unit vectors of the space of x: (size, *shape), of its dtype, not to be written to."""
    shape, dtype = np.shape(x), np.result_type(x)
    if math.prod(shape) ** 2 > LARGE:
        return _unit_vectors.__wrapped__(shape, dtype)
    return _unit_vectors(shape, dtype)


@says(known=False, raises=False)
def size(x: Any) -> int:
    return np.size(x)


@says(known=False, raises=False)
def sizes(*xs: Any) -> int:
    return sum(map(np.size, xs))


@says(known=False, raises=False)
def bases(*xs: Any) -> tuple[Any, ...]:
    """The unit vectors of the space of several arguments, the part of each."""
    total, start, found = sizes(*xs), 0, []
    for x in xs:
        part = np.zeros((total, *np.shape(x)), np.result_type(x))
        part[start : start + np.size(x)] = basis(x)
        found.append(part)
        start += np.size(x)
    return tuple(found)


def arranged(block: Any, x: Any, y: Any) -> Any:
    """Tangents of y along the unit vectors of x as an array of y's shape and then x's."""
    if isinstance(block, np.ndarray):
        if block.ndim == 1:
            return block.reshape(x.shape)
        if block.ndim == 2 and x.ndim == 1:
            return block.T
        return np.moveaxis(block, 0, -1).reshape(block.shape[1:] + x.shape)
    return arranged_tree(block, x, y)


@says(known=False, raises=False)
def arranged_tree(block: Any, x: Any, y: Any) -> Any:
    """The same for every leaf of y; zeros where there is no tangent."""
    if block is None:
        return Zeros(lambda leaf: np.zeros(np.shape(leaf) + np.shape(x), np.result_type(leaf))).of(y)
    if isinstance(y, (tuple, list)):
        return rebuild(y, [arranged_tree(b, x, v) for b, v in zip(block, y, strict=True)])
    if isinstance(y, dict):
        return {k: arranged_tree(block.get(k), x, v) for k, v in y.items()}
    if isinstance(block, SimpleNamespace):
        moved = vars(block)
        return in_namespace(layout(type(y)), {
            k: arranged_tree(moved.get(k), x, getattr(y, k, None)) for k in {**fields(y), **moved}
        })  # fmt: skip
    return arranged(np.asarray(block), np.asarray(x), y) if is_floating(y) else None


def check_result(y: Any) -> None:
    """A Jacobian is one of numbers."""
    if isinstance(y, (str, bytes, int, np.integer, np.bool_, type(None))):
        raise DerivativeError(
            f"a Jacobian is that of a number, an array, or a container of them, and this function returned "
            f"{y!r:.60}, of type {type(y).__name__}; return floats",
            user_position(),
        )


@says(known=False, raises=False)
def arranged_rows(block: Any, y: Any, at: int, *xs: Any) -> Any:
    """Those of the tangents that are along the unit vectors of argument `at`."""
    start = sum(np.size(x) for x in xs[:at])
    return arranged_tree(rows(block, start, start + np.size(xs[at])), np.asarray(xs[at]), y)


def rows(block: Any, start: int, stop: int) -> Any:
    if isinstance(block, np.ndarray):
        return block[start:stop]
    if isinstance(block, dict):
        return {k: rows(b, start, stop) for k, b in block.items()}
    if isinstance(block, (tuple, list)):
        return rebuild(block, [rows(b, start, stop) for b in block])
    if isinstance(block, SimpleNamespace):
        return SimpleNamespace(**{k: rows(b, start, stop) for k, b in vars(block).items()})
    return block


@says(known=False, raises=False)
def numbers(jacobian: Any, y: Any) -> Any:
    """With respect to a number: a number for each number in y."""
    if isinstance(y, (tuple, list)):
        return rebuild(y, [numbers(j, v) for j, v in zip(jacobian, y, strict=True)])
    if isinstance(y, dict):
        return {k: numbers(j, y[k]) for k, j in jacobian.items()}
    return type(y)(jacobian) if isinstance(y, (float, complex, np.inexact)) else jacobian


@says(known=False, raises=False)
def own(jacobian: Any) -> Any:
    """A copy for the caller, who may change it: of unit vectors, of what the function captured."""
    if isinstance(jacobian, np.ndarray):
        return np.array(jacobian)
    if isinstance(jacobian, (tuple, list)):
        return rebuild(jacobian, [own(each) for each in jacobian])
    if isinstance(jacobian, dict):
        return {k: own(j) for k, j in jacobian.items()}
    return jacobian


def _types_of_bases(args: tuple[T.Type, ...], kwargs: Any) -> T.Type:
    return T.TupleOf(tuple([block_like(i)(args, kwargs) for i in range(len(args))]))


ZERO_BY_RULE.update((basis, size, sizes, bases, check_result))
registry.LINEAR[own] = registry.LINEAR[arranged_tree] = registry.LINEAR[arranged_rows] = Linear((0,), True)


returning(block_like(0), basis)
returning(always(T.Exact(int)), size, sizes)
returning(_types_of_bases, bases)
returning(first_if_numeric, own)


@registry.vjp(own, arrays=0)
def own_vjp(g, y, jacobian):
    return (g,)
