"""What SciPy's distributions compute of a covariance: by an eigendecomposition, whose vectors have no
derivative where two eigenvalues coincide, though what is made of them has.

    M^-1 = U U^T                            U0 as SciPy found it, a constant
    U = U0 L^-T,  L L^T = U0^T M U0         whatever U0 is; L is the identity here, its derivative is not
    log det M = log det M0 + 2 sum log diag L
"""

from __future__ import annotations

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


__all__ = ["imported"]
