"""Linear algebra of scipy.linalg: systems, inverses, factors and functions of matrices; on stacks as well.

The formulas are those of `linalg.py` (Giles 2008), transposed where he conjugates. A function that reads one
triangle of a matrix is differentiated as such: the cotangent is zero in the other one. Nothing that is
overwritten can be differentiated.

Loaded where a program has imported scipy.linalg (see `libraries.py`).
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl

from ctxdispatch_contexts.derivatives import linalg
from ctxdispatch_contexts.derivatives.linalg import conj, folded, mH, mT, of_triangle
from ctxdispatch_contexts.derivatives.linear import unbroadcast
from ctxdispatch_contexts.derivatives.registry import block, lower, vjp
from ctxdispatch_contexts.programs.no_derivative import no_derivative


def refuse_overwriting(*overwritten):
    if any(overwritten):
        raise no_derivative("a function that overwrites its arguments", "leave overwrite_a, overwrite_b out")


def columns(x, b):
    """`x` as a stack of matrices, where it belongs to a right-hand side `b` of one dimension."""
    return x[..., None] if b.ndim == 1 else x


def system(gb, x, a, b):
    """The cotangents of a and b in a x = b, from that of b as columns, of a whole stack."""
    ga = unbroadcast(-gb @ mT(columns(x, b)), a.shape)
    return (ga, unbroadcast(gb, columns(b, b).shape).reshape(b.shape))


# -- which elements of a matrix are read ---------------------------------------------------------------------


def read(full, assume_a, lower):
    """The cotangent of the elements that count, from that of all, where a matrix is taken to be of a kind."""
    if assume_a in ("sym", "symmetric"):
        return of_triangle(0.5 * (full + mT(full)), lower)
    if assume_a in ("her", "hermitian", "pos", "positive definite"):
        return folded(full, lower)
    if assume_a == "upper triangular":
        return np.triu(full)
    if assume_a == "lower triangular":
        return np.tril(full)
    if assume_a == "diagonal":
        return np.triu(np.tril(full))
    return np.triu(np.tril(full, 1), -1) if assume_a == "tridiagonal" else full


# -- systems -------------------------------------------------------------------------------------------------

OTHER = {"upper triangular": "lower triangular", "lower triangular": "upper triangular"}
GENERAL = (None, "gen", "general", "banded")


@vjp(sl.solve, arrays=2, multilinear=(1,), unless="overwrite_a overwrite_b", mixed=True)
def solve(
    g, y, a, b, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True, assume_a=None,
    transposed=False,
):  # fmt: skip
    refuse_overwriting(overwrite_a, overwrite_b)
    if a.size == 1:
        gb = g.reshape(b.shape) / a.reshape(())
        return (np.reshape(-np.sum(gb * y.reshape(b.shape)), a.shape), gb)
    if transposed:
        ga, gb = of_kind(g, y, mT(a), b, OTHER.get(assume_a, assume_a), not lower)
        return (mT(ga), gb)
    return of_kind(g, y, a, b, assume_a, lower)


def of_kind(g, y, a, b, assume_a, lower):
    if assume_a in GENERAL:
        return linalg.solve(g, y, a, b)
    g = columns(g, b)
    if assume_a in ("her", "hermitian", "pos", "positive definite"):
        gb = conj(sl.solve(a, conj(g), lower=lower, assume_a=assume_a))
    elif assume_a in ("sym", "symmetric"):
        gb = sl.solve(a, g, lower=lower, assume_a=assume_a)
    else:
        gb = sl.solve(mT(a), g, assume_a=OTHER.get(assume_a, assume_a))
    full, gb = system(gb, y, a, b)
    return (read(full, assume_a, lower), gb)


@vjp(sl.solve_triangular, arrays=2, multilinear=(1,), unless="overwrite_b", mixed=True)
def solve_triangular(
    g, y, a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True
):
    refuse_overwriting(overwrite_b)
    g = columns(g, b)
    if trans in (0, "N"):
        ga, gb = system(sl.solve_triangular(a, g, 1, lower, unit_diagonal), y, a, b)
    elif trans in (1, "T"):
        ga, gb = system(sl.solve_triangular(a, g, 0, lower, unit_diagonal), y, a, b)
        ga = mT(ga)
    else:
        ga, gb = system(conj(sl.solve_triangular(a, conj(g), 0, lower, unit_diagonal)), y, a, b)
        ga = mH(ga)
    skipped = 1 if unit_diagonal else 0
    return (np.tril(ga, -skipped) if lower else np.triu(ga, skipped), gb)


@vjp(sl.solve_banded, arrays=0, multilinear=(2,), unless="overwrite_ab overwrite_b", mixed=True)
def solve_banded(g, y, l_and_u, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True):
    """ab[u + i - j, j] = a[i, j]: the cotangent -bar(b) x^T of a, at these places."""
    refuse_overwriting(overwrite_ab, overwrite_b)
    ab, b = np.asarray(ab), np.asarray(b)
    low, up = l_and_u
    gb = sl.solve_banded((up, low), turned(ab, low, up), columns(g, b))
    i, inside = rows_of_bands(up, ab.shape)
    full = -np.sum(gb[..., i, :] * columns(y, b)[..., None, :, :], axis=-1)
    gab = unbroadcast(np.where(inside, full, 0.0), ab.shape)
    return (None, gab, unbroadcast(gb, columns(b, b).shape).reshape(b.shape))


def rows_of_bands(up, shape):
    """Per element of `ab` the row of the matrix that it is in, and whether there is such a row."""
    i = np.arange(shape[-2])[:, None] - up + np.arange(shape[-1])
    return np.clip(i, 0, shape[-1] - 1), (i >= 0) & (i < shape[-1])


def turned(ab, low, up):
    """The bands of the transposed matrix, of which there are `up` below and `low` above."""
    n = ab.shape[-1]
    rows = np.arange(low + up, -1, -1)[:, None] + np.zeros(n, int)
    j = np.arange(n) + np.arange(low + up + 1)[:, None] - low
    return np.where((j >= 0) & (j < n), ab[..., rows, np.clip(j, 0, n - 1)], 0.0)


@vjp(sl.solve_sylvester, arrays=3, multilinear=(2,), mixed=True)
def solve_sylvester(g, y, a, b, q):
    """a x + x b = q"""
    gq = sl.solve_sylvester(mT(a), mT(b), g)
    ga, gb = unbroadcast(-gq @ mT(y), a.shape), unbroadcast(-mT(y) @ gq, b.shape)
    return (ga, gb, unbroadcast(gq, q.shape))


# -- inverses and determinants -------------------------------------------------------------------------------


@vjp(sl.inv)
def inv(g, y, a, overwrite_a=False, check_finite=True, *, assume_a=None, lower=False):
    refuse_overwriting(overwrite_a)
    return (read(-mT(y) @ g @ mT(y), assume_a, lower),)


@vjp(sl.det)
def det(g, y, a, overwrite_a=False, check_finite=True):
    refuse_overwriting(overwrite_a)
    return linalg.det(g, y, a)


# -- Cholesky ------------------------------------------------------------------------------------------------


@vjp(sl.cholesky)
def cholesky(g, y, a, lower=False, overwrite_a=False, check_finite=True):
    refuse_overwriting(overwrite_a)
    return linalg.cholesky(g, y, a, upper=not lower)


@vjp(sl.cho_factor)
def cho_factor(g, y, a, lower=False, overwrite_a=False, check_finite=True):
    """The other triangle of what it returns is that of `a`."""
    refuse_overwriting(overwrite_a)
    if g[0] is None:
        return (None,)
    factor, own = (np.tril(y[0]), np.tril(g[0])) if lower else (np.triu(y[0]), np.triu(g[0]))
    return (cholesky(own, factor, a, lower)[0] + g[0] - own,)


@vjp(sl.cho_solve, arrays=0, multilinear=(1,), unless="overwrite_b", mixed=True)
def cho_solve(g, y, c_and_lower, b, overwrite_b=False, check_finite=True):
    """a = c c^H or c^H c: bar(b) = conj(a^-1 conj(g)), and that of c from bar(a) = -bar(b) x^T."""
    refuse_overwriting(overwrite_b)
    c, lower = c_and_lower
    b = np.asarray(b)
    full, gb = system(conj(sl.cho_solve((c, lower), conj(columns(g, b)))), y, c, b)
    both = full + mH(full)
    gc = np.tril(both @ conj(np.tril(c))) if lower else np.triu(conj(np.triu(c)) @ both)
    return ((gc, None), gb)


# -- functions of matrices -----------------------------------------------------------------------------------


@vjp(sl.expm)
def expm(g, y, A):
    """The derivative of exp in the direction g at the transposed matrix (Najfeld and Havel 1995)."""
    if A.ndim < 2 or A.shape[-1] == 1:
        return (np.reshape(g * y, A.shape),)
    return (frechet(mT(A), g),)


def frechet(a, e):
    """The derivative of exp at `a` in the direction `e`: the corner of exp([[a, e], [0, a]]) (Van Loan 1978).

    The direction is scaled to size 1, lest its length decide on how the exponential is computed.
    """
    size = np.max(np.abs(e), axis=(-2, -1), keepdims=True, initial=0.0)
    size = np.where(size == 0, 1.0, size)
    n, dtype = a.shape[-1], np.result_type(a, e)
    return (sl.expm(tiled(a, e / size, a)) * size)[..., :n, n:].astype(dtype)


def tiled(a, b, d):
    """[[a, b], [0, d]]"""
    a, b, d = np.broadcast_arrays(a, b, d)
    upper, under = np.concatenate((a, b), -1), np.concatenate((np.zeros_like(b), d), -1)
    return np.concatenate((upper, under), -2)


@vjp(frechet, arrays=2, multilinear=(1,), mixed=True)
def frechet_vjp(g, y, a, e):
    n, nothing = a.shape[-1], np.zeros_like(g)
    both = frechet(mT(tiled(a, e, a)), tiled(nothing, g, nothing))
    ga = both[..., :n, :n] + both[..., n:, n:]
    return (unbroadcast(ga, a.shape), unbroadcast(frechet(mT(a), g), e.shape))


@block(frechet, of=1)
def frechet_block(a, e):
    """A stack of directions."""
    return frechet(a, e)


@vjp(sl.sqrtm)
def sqrtm(g, y, A, disp=True, blocksize=64):
    """x x = a, so x dx + dx x = da (Higham, "Functions of matrices", 2008, section 6.1). With disp=False the
    estimated error comes beside x: it is of rounding, and constant."""
    if isinstance(y, tuple):
        return (None,) if g[0] is None else sqrtm(g[0], y[0], A)
    if A.ndim < 2:
        raise no_derivative(
            "sqrtm of fewer than two dimensions, for which versions of SciPy give different results",
            "give it a matrix, `np.atleast_2d(a)`",
        )
    if A.shape[-1] == 1:
        return (0.5 * g / y,)
    return (sl.solve_sylvester(mT(y), mT(y), g),)


# -- norms ---------------------------------------------------------------------------------------------------


@lower(sl.norm)
def norm(a, ord=None, axis=None, keepdims=False, check_finite=True):
    """NumPy's, but for what BLAS computes: that is a float of Python's."""
    a = np.asarray(a)
    if check_finite and not np.isfinite(a).all():
        raise ValueError("array must not contain infs or NaNs")
    found = np.linalg.norm(a, ord, axis, keepdims)
    by_blas = axis is None and not keepdims and a.size > 0 and a.dtype.char in "fdFD"
    return float(found) if by_blas and a.ndim == 1 and (ord is None or ord == 2) else found
