"""Which functions have no second derivative in which of their arguments, for Hessian patterns.

    joint       linear in these arguments together (sum, concatenate)
    not joint   linear in each, the others held (matmul): pairs of one argument with another are nonzero

Functions that select elements (max, sort) are linear but where the selection changes.
"""

from __future__ import annotations

import builtins
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ctxdispatch.ir.values import row_of
from ctxdispatch_contexts.derivatives import registry


class Linearity(NamedTuple):
    """The arguments in which a function is linear, together or each."""

    positions: tuple[int, ...]
    joint: bool


SELECTIONS = """
    max min amax amin nanmax nanmin sort sort_complex partition take_along_axis
"""
SUMS = """
    sum nansum mean nanmean trace cumsum nancumsum linspace bincount
"""


def linearity(callee: Any) -> Any:
    """The entry of `callee`: `.positions` and `.joint`; None where it is nonlinear, for all we know."""
    return row_of(getattr(registry, "LINEAR", {}), callee) or row_of(_provisional(), callee)


@cache
def _provisional() -> dict[Any, Linearity]:
    joint = Linearity((0,), True)
    names = (*SELECTIONS.split(), *SUMS.split())
    found = {getattr(o, n): joint for n in names for o in (np, np.ndarray) if hasattr(o, n)}
    found.update({getattr(np, name).reduce: joint for name in "add maximum minimum fmax fmin".split()})
    found[np.add.accumulate] = joint
    found.update({f: Linearity((0, 1, 2), True) for f in (np.add.at, np.subtract.at)})
    found.update(dict.fromkeys((builtins.float, np.float64, np.float32, np.float16, np.longdouble), joint))
    found[np.linspace] = Linearity((0, 1), True)
    found[np.bincount] = Linearity((1,), True)
    found[np.linalg.solve] = Linearity((1,), True)
    found[np.modf] = joint
    return found


def _has(positions: Any, i: int) -> bool:
    """Positions are a tuple, or a slice where there are any number of them."""
    return i >= (positions.start or 0) if isinstance(positions, slice) else i in positions


def bends(run: Any, callee: Any, operands: Any, result: Any) -> None:
    """Each number of `result` is a function of all of its set, linear only if `linearity` says so."""
    if run.pairs is None:
        return
    found = linearity(callee)
    varying = [i for i, v in enumerate(operands) if run.union(v)]
    linear = found is not None and all(_has(found.positions, i) for i in varying)
    if linear and (found.joint or len(varying) <= 1):
        return
    run.pairs.cliques(run, run.terms(result))
