"""Linear algebra (numpy.linalg), on stacks of matrices as well.

The formulas are those of Giles, "Collected matrix derivative results for forward and reverse mode
algorithmic differentiation" (2008), transposed where he conjugates: a cotangent here is df/dx - i df/dy.
Functions of symmetric matrices (cholesky, eigh, `hermitian=True`) read one triangle, and of the diagonal the
real part: the cotangent of what is not read is zero.
"""

from __future__ import annotations

import numpy as np

from ctxdispatch_contexts.derivatives.linear import unbroadcast
from ctxdispatch_contexts.derivatives.registry import vjp
from ctxdispatch_contexts.programs.no_derivative import no_derivative, nothing_of


def mT(a):
    return a.swapaxes(-1, -2)


def mH(a):
    return np.conj(mT(a)) if a.dtype.kind == "c" else mT(a)


def conj(a):
    return np.conj(a) if a.dtype.kind == "c" else a


def over(g):
    """A cotangent per matrix, to scale matrices."""
    return g[..., None, None] if np.ndim(g) else g


def folded(full, lower=True):
    """The cotangent of the triangle that is read, from that of the symmetric matrix as a whole: an element
    outside the diagonal stands for its mirror image as well."""
    return of_triangle(0.5 * (full + mH(full)), lower)


def of_triangle(half, lower):
    """The same, of the mean of the cotangents of both elements."""
    return np.tril(half) + np.tril(half, -1) if lower else np.triu(half) + np.triu(half, 1)


def whole(a):
    """The symmetric matrix that the lower triangle of `a` stands for."""
    return np.tril(a, -1) + mH(np.tril(a, -1)) + np.eye(a.shape[-1], dtype=a.real.dtype) * a.real


# -- systems and inverses ------------------------------------------------------------------------------------


@vjp(np.linalg.solve, arrays=2, multilinear=(1,), mixed=True)
def solve(g, y, a, b):
    """bar(b) = a^-T g, bar(a) = -bar(b) y^T."""
    if b.ndim == 1:
        if a.ndim == 2:
            gb = np.linalg.solve(a.T, g)
            return (-gb[:, None] * y, gb)
        columns = np.linalg.solve(mT(a), g[..., None])
        return (-columns * y[..., None, :], unbroadcast(columns[..., 0], b.shape))
    gb = np.linalg.solve(mT(a), g)
    if a.ndim == 2 and b.ndim == 2:
        return (-gb @ y.T, gb)
    return (unbroadcast(-gb @ mT(y), a.shape), unbroadcast(gb, b.shape))


@vjp(np.linalg.inv)
def inv(g, y, a):
    return (-mT(y) @ g @ mT(y),)


@vjp(np.linalg.pinv)
def pinv(g, y, a, rcond=None, hermitian=False, **kwargs):
    """Golub and Pereyra (1973), for constant rank."""
    if hermitian:
        return (folded(pinv(g, y, whole(a))[0]),)
    g, n, m = conj(g), a.shape[-1], a.shape[-2]
    yh, gh = mH(y), mH(g)
    left, right = np.eye(m, dtype=y.dtype) - a @ y, np.eye(n, dtype=y.dtype) - y @ a
    return (conj(-yh @ g @ yh + left @ gh @ y @ yh + yh @ y @ gh @ right),)


@vjp(np.roots)
def roots(g, y, p):
    """dr = -(sum of dp_i r^(n - i)) / p'(r): the implicit function theorem, at roots that are single."""
    exponents = np.arange(p.size)[::-1]
    powers = (y[:, None] ** exponents).astype(y.dtype)
    slopes = powers[:, 1:] @ (p * exponents.astype(p.real.dtype))[:-1]
    return (-((g / slopes) @ powers),)


# -- determinants --------------------------------------------------------------------------------------------


WELL_CONDITIONED = 1e4
"""Up to this product of the largest entries of a matrix and of its inverse, the inverse is trusted."""


@vjp(np.linalg.det)
def det(g, y, a):
    if np.count_nonzero(y) == np.size(y):
        inverse = np.linalg.inv(a)
        if np.max(np.abs(a), initial=0.0) * np.max(np.abs(inverse), initial=0.0) < WELL_CONDITIONED:
            return (over(g * y) * mT(inverse),)
    return (over(g) * cofactors(a),)


def cofactors(a):
    """det(a) inv(a).T, also where a is singular."""
    u, s, vh = np.linalg.svd(a)
    return np.conj(u * others(s)[..., None, :] @ vh) * over(np.linalg.det(u) * np.linalg.det(vh))


@vjp(cofactors)
def cofactors_of(g, y, a):
    """With a = u s vh cofactors are multiplicative, and those of s + m are those of s and, to first order, at
    i, j: -m[j, i] times the product of all s but two, and at i, i: the sum of m[j, j] times such products.
    Nothing is divided by singular values, which may be zero."""
    u, s, vh = np.linalg.svd(a)
    k = over(np.linalg.det(u) * np.linalg.det(vh)) * (mH(u) @ g @ mH(vh))
    own = np.eye(s.shape[-1], dtype=bool)
    pairs = np.where(own, 0.0, others(np.where(own, 1.0, s[..., None, :])))
    along = np.diagonal(k, axis1=-2, axis2=-1)[..., None, :] @ pairs
    m = np.where(own, along, -mT(k * pairs))
    return (np.conj(u) @ m @ np.conj(vh),)


def others(s):
    """At i: the product of all but the i-th along the last axis."""
    return np.multiply.reduce(np.where(np.eye(s.shape[-1], dtype=bool), 1.0, s[..., None, :]), axis=-1)


@vjp(np.linalg.slogdet)
def slogdet(g, y, a):
    """d log|det| = Re t, d sign = i sign Im t, with t = tr(a^-1 da)."""
    if a.dtype.kind != "c" or g[0] is None:
        if g[1] is None:
            return (None,)
        return (over(g[1]) * mT(np.linalg.inv(a)),)
    of_phase = np.imag(g[0] * y[0]) * 1j
    if g[1] is None:
        return (over(of_phase) * mT(np.linalg.inv(a)),)
    return (over(g[1] + of_phase) * mT(np.linalg.inv(a)),)


# -- factorisations ------------------------------------------------------------------------------------------


@vjp(np.linalg.cholesky)
def cholesky(g, y, a, /, *, upper=False):
    low, g = (mH(y), mH(conj(g))) if upper else (y, conj(g))
    phi = np.tril(mH(low) @ g)
    phi = phi - 0.5 * phi * np.eye(phi.shape[-1], dtype=phi.dtype)
    half = np.linalg.solve(mH(low), mH(np.linalg.solve(mH(low), mH(phi + mH(phi)))))
    return (of_triangle(0.5 * conj(half), not upper),)


@vjp(np.linalg.qr)
def qr(g, y, a, mode="reduced"):
    """Of a matrix of full rank; of one with more columns than rows those beyond the square follow from it
    (Walter and Lehmann, arXiv:1001.1654)."""
    if mode == "r":
        q, r = np.linalg.qr(a)
        return qr((None, g), (q, r), a)
    n, m = a.shape[-1], a.shape[-2]
    if mode == "raw":
        return (unreflected(y[0], y[1], g[0], g[1]),)
    if mode == "complete" and m > n:
        q, r = y
        of_q = None if g[0] is None else g[0][..., :n]
        of_r = None if g[1] is None else g[1][..., :n, :]
        (full,) = qr((of_q, of_r), (q[..., :n], r[..., :n, :]), a)
        return (full if g[0] is None else full + nothing_of(g[0], y[0], n, -1, "mode='reduced'"),)
    q, r = y
    gq = np.zeros_like(q) if g[0] is None else conj(g[0])
    gr = np.zeros_like(r) if g[1] is None else conj(g[1])
    if m >= n:
        return (conj(of_factors(q, r, gq, gr)),)
    # a = (x, z) and r = (u, v) with x = q u, v = q^H z
    z, gv = a[..., m:], gr[..., m:]
    gx = of_factors(q, r[..., :m], gq + z @ mH(gv), gr[..., :m])
    return (conj(np.concatenate((gx, q @ gv), -1)),)


@vjp(nothing_of)
def nothing_of_vjp(t, y, g, vectors, k, axis, remedy):
    """They have no tangents: nan, as a multiple of `t`, so that blocks of tangents have it too."""
    free = np.arange(g.shape[axis]) >= k
    none = np.zeros_like(g)
    return (np.where(free if axis == -1 else free[:, None], np.nan * t, none), none)


def of_factors(q, r, gq, gr):
    m = r @ mH(gr) - mH(gq) @ q
    low = np.tril(m, -1)
    full = low + mH(low) + np.eye(m.shape[-1], dtype=m.dtype) * m.real
    return mH(np.linalg.solve(r, mH(gq + q @ full)))


def unreflected(h, tau, gh, gtau):
    """The cotangent of the matrix of which LAPACK's geqrf leaves (h, tau): its last reflection is undone
    first, which gives back the columns that it was applied to, and then their cotangents. A real number with
    nothing below it is left as it is."""
    f, k = mT(h), tau.shape[-1]
    reflecting = tau if tau.dtype.kind == "c" else tau[..., : f.shape[-2] - 1]
    if np.count_nonzero(reflecting) < np.size(reflecting):
        raise no_derivative(
            "qr with mode='raw' of a column that is zero below the diagonal, from where its reflection jumps",
            "ask for mode='reduced'",
        )
    gf = np.zeros_like(f) if gh is None else mT(conj(gh))
    gt = np.zeros_like(tau) if gtau is None else conj(gtau)
    a, ga = f[..., k:, k:], gf[..., k:, k:]
    for i in range(k - 1, -1, -1):
        a = np.concatenate((f[..., i : i + 1, i + 1 :], a), -2)
        ga = np.concatenate((gf[..., i : i + 1, i + 1 :], ga), -2)
        column, g_column = f[..., i:, i : i + 1], gf[..., i:, i : i + 1]
        a, ga = before_reflection(column, tau[..., i, None, None], a, g_column, gt[..., i, None, None], ga)
    return conj(ga)


def before_reflection(column, t, after, g_column, gt, g_after):
    """(alpha, x) became (beta, 0) by I - conj(t) v v^H, with t = 1 - alpha / beta, |beta| the length of both
    and v = (1, w), w = x / (alpha - beta) (Golub and Van Loan, "Matrix Computations", 5.1.3); the columns
    beside it became `after`. `column` has beta and w. The matrix as it was, and its cotangent."""
    beta, w = column[..., :1, :].real, column[..., 1:, :]
    v = np.concatenate((np.ones_like(t), w), -2)
    z = mH(v) @ g_after
    before = after - t * v @ (mH(v) @ after)
    u = mH(v) @ before
    by, length = np.where(t == 0, 1.0, -conj(t) * beta), np.where(t == 0, 1.0, beta)
    gt = np.where(t == 0, 0.0, gt - u @ mH(z)) / length
    gw = g_column[..., 1:, :] - (t * g_after @ mH(u) + conj(t) * before @ mH(z))[..., 1:, :]
    q = mH(w) @ gw / by
    g_beta = g_column[..., :1, :].real + q.real + (conj(gt) * (1.0 - t)).real
    g_column = np.concatenate((g_beta * (1.0 - t) - q - gt, gw / by - g_beta * t * w), -2)
    column = np.concatenate((beta * (1.0 - t), -t * beta * w), -2)
    return np.concatenate((column, before), -1), np.concatenate((g_column, g_after - t * v @ z), -1)
