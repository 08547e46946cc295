"""What SciPy's distributions compute of a covariance: by an eigendecomposition, whose vectors have no
derivative where two eigenvalues coincide, though what is made of them has.

    M^-1 = U U^T                            U0 as SciPy found it, a constant
    U = U0 L^-T,  L L^T = U0^T M U0         whatever U0 is; L is the identity here, its derivative is not
    log det M = log det M0 + 2 sum log diag L
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch_contexts.recording.solvers import apart, arguments, depends, imported, plainly, refused, rule
from ctxdispatch_contexts.reverse.stopping import stop_gradient


@rule("scipy.stats._multivariate", "_PSD.__init__")
def factored(ctx: Any, f: Any, args: Any, kwargs: Any) -> None:
    given = arguments(f, args, kwargs)
    made, matrix = given["self"], given["M"]
    if not depends(ctx, (matrix,)):
        plainly(ctx, f, args, kwargs)
        return
    f(**{**given, "M": apart(stop_gradient(matrix))})
    n = len(made.U)
    if made.rank < n:
        raise refused(
            "the density of a singular covariance has no derivative with respect to it; give a positive "
            "definite one, or keep it out of the derivative with `stop_gradient`"
        )
    made._M = matrix
    made.U, made.log_pdet = resolve(ctx, whitened)(matrix, made.U, made.log_pdet, given["lower"])


def whitened(matrix: Any, start: Any, log_det: Any, lower: bool) -> tuple[Any, Any]:
    """(U, log det of `matrix`), of which one triangle is read."""
    half = np.tril(matrix, -1) if lower else np.triu(matrix, 1)
    whole = half + half.T + np.diag(np.diag(matrix))
    factor = np.linalg.cholesky(start.T @ whole @ start)
    return start @ np.linalg.inv(factor).T, log_det + 2.0 * np.sum(np.log(np.diag(factor)))


FAR = 40.0
"""In standard deviations: what is beyond has no probability in float64."""


@rule("scipy.stats._qmvnt", "_bvn")
def of_a_rectangle(ctx: Any, f: Any, args: Any, kwargs: Any) -> Any:
    """P(low < x < high) of two normal variables. Infinite bounds do not vary with the deviations that SciPy
    divides them by: they lie far out instead."""
    given = arguments(f, args, kwargs)
    low, high, matrix = given.values()
    far = FAR * np.sqrt(np.diag(apart(stop_gradient(matrix))))
    return resolve(ctx, _rectangle)(low, high, matrix, far)


def _rectangle(low: Any, high: Any, matrix: Any, far: Any) -> Any:
    above = sys.modules["scipy.stats._stats_pythran"]._bvnu
    deviations = np.sqrt(np.diag(matrix))
    r = matrix[0, 1] / (deviations[0] * deviations[1])
    a, b = np.clip(low, -far, far) / deviations, np.clip(high, -far, far) / deviations
    p = above(a[0], a[1], r) - above(b[0], a[1], r) - above(a[0], b[1], r) + above(b[0], b[1], r)
    return max(0.0, min(p, 1.0))


__all__ = ["imported"]
