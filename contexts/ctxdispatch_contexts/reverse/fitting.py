"""Cotangents at run time that have another shape than their primals: of operands that were broadcast, of
numbers in the place of arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ctxdispatch.facts import says
from ctxdispatch_contexts.programs.containers import rebuild
from ctxdispatch_contexts.reverse.cotangents import project
from ctxdispatch_contexts.reverse.releasing import finish


@says(known=False, raises=False)
def fitted(cotangent: Any, primal: Any) -> Any:
    """What a rule gave for an array in the place of `primal`, as the cotangent of `primal`: a number, a list,
    ..."""
    if isinstance(primal, (int, bool, np.integer)):
        return None
    if cotangent is None:
        return finish(None, primal)
    if isinstance(primal, (list, tuple)) and isinstance(cotangent, np.ndarray):
        return rebuild(primal, [fitted(c, p) for c, p in zip(cotangent, primal, strict=True)])
    if isinstance(primal, (np.ndarray, float, complex, np.inexact)):
        return project(cotangent, primal)
    return cotangent


@says(result="itself 0", raises=False)
def unbroadcast(cotangent: Any, primal: Any, result: Any) -> Any:
    """The cotangent of an operand whose `result` was broadcast: summed over the axes that were.

    `cotangent` may be of smaller shape than `result` (it is then constant along the missing axes). None stays
    the zero.
    """
    if cotangent is None:
        return None
    shape = np.shape(primal)
    full = np.shape(result)
    if shape == full and np.shape(cotangent) == full:
        return project(cotangent, primal)
    if np.shape(cotangent) != full:
        cotangent = np.broadcast_to(cotangent, full)
    if shape != full:
        cotangent = sum_to(cotangent, shape)
    return project(cotangent, primal)


LEAVES = (float, complex, np.inexact, np.ndarray)


def sum_to(array: Any, shape: tuple[int, ...]) -> Any:
    lead = array.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(
        i + lead for i, n in enumerate(shape) if n == 1 and array.shape[i + lead] != 1
    )
    return np.add.reduce(array, axis=axes, keepdims=True).reshape(shape) if axes else array


@says(result="itself 0", raises=False)
def expand(cotangent: Any, primal: Any) -> Any:
    """A cotangent that is constant along some axes, in full."""
    if cotangent is None:
        return np.zeros(primal.shape, primal.dtype)
    if isinstance(cotangent, np.ndarray) and cotangent.shape == primal.shape:
        return cotangent
    return project(np.broadcast_to(cotangent, primal.shape), primal).copy()


@says(result="itself 0", raises=False)
def or_zeros(cotangent: Any, result: Any) -> Any:
    """What a rule gets: an array of whole numbers has no cotangent, and so has nothing to pass on."""
    return np.zeros(result.shape) if cotangent is None and isinstance(result, np.ndarray) else cotangent


@says(result="itself 0", raises=False)
def full(cotangent: Any, primal: Any) -> Any:
    """`expand`, where a merge of cotangents may have been the zero 0.0. `tidy` knows whether."""
    return expand(cotangent, primal)


@says(result="itself 0", raises=False)
def full_result(cotangent: Any, primal: Any) -> Any:
    """`full`, for the caller, who gets an array of zeros where `tidy` finds that nothing arrives."""
    return expand(cotangent, primal)
