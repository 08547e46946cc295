"""Jacobians by reverse mode of results that only run time knows: one pullback for each element."""

from __future__ import annotations

from typing import Any

import numpy as np

from ctxdispatch_contexts.higher.arranging import basis
from ctxdispatch_contexts.programs.errors import DerivativeError, user_position
from ctxdispatch_contexts.reverse.seeds import scalar_seed

COMPLEX = "jacrev needs a real result, and this function returned a complex array; use jacfwd"


def pulled_rows(pair: Any, wrt: tuple[int, ...], *xs: Any) -> tuple[Any, ...]:
    """Of (y, pullback), the Jacobians with respect to the arguments `xs`, which are at `wrt`: of y's shape
    and then theirs; the gradients where y is a number."""
    y, pullback = pair
    if not isinstance(y, np.ndarray) or y.ndim == 0:
        cotangents = pullback(scalar_seed(y))
        return tuple([cotangents[i] for i in wrt])
    if y.dtype.kind == "c":
        raise DerivativeError(COMPLEX, user_position())
    every = [pullback(unit) for unit in basis(y)]
    return tuple([stacked([row[i] for row in every], y, x) for i, x in zip(wrt, xs, strict=True)])


def stacked(rows: list[Any], y: Any, x: Any) -> Any:
    shape = y.shape + np.shape(x)
    return np.stack(rows).reshape(shape) if rows else np.zeros(shape, np.result_type(x))


__all__ = ["COMPLEX", "pulled_rows"]
