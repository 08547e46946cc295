"""Eigenvalues and singular values, with their vectors (numpy.linalg), on stacks of matrices as well.

Between vectors i and j there is 1 / (w_j - w_i). Where two eigenvalues are equal, which of them is the first
and which basis of their space is found is chosen by rounding errors. So equal ones share their cotangents,
as ties of max do: sums of functions of them have their derivatives. Vectors of theirs have none.
"""

from __future__ import annotations

import numpy as np

from ctxdispatch_contexts.derivatives.linalg import conj, folded, mH, mT
from ctxdispatch_contexts.derivatives.registry import of, vjp
from ctxdispatch_contexts.programs.no_derivative import nothing_of


def diagonal(d, dtype):
    return np.eye(d.shape[-1], dtype=dtype) * d[..., None, :]


@vjp(np.linalg.eigh)
def eigh(g, y, a, UPLO="L"):
    w, v = y
    same = equal(w)
    inner = np.zeros_like(v) if g[0] is None else diagonal(shared(g[0], same), v.dtype)
    if g[1] is not None:
        gv = conj(g[1])
        inner = inner + inverse_gaps(w, same) * (mH(v) @ gv) + free(gv, crowded(same))
    full = v @ inner @ mH(v)
    return (folded(conj(full), UPLO in "Ll"),)


@vjp(np.linalg.eigvalsh)
def eigvalsh(g, y, a, UPLO="L"):
    return eigh((g, None), np.linalg.eigh(a, UPLO), a, UPLO)


@vjp(np.linalg.svd)
def svd(g, y, a, full_matrices=True, compute_uv=True, hermitian=False):
    if hermitian and not compute_uv:
        return symmetric_svd((None, g, None), np.linalg.svd(a, hermitian=True))
    if hermitian:
        return symmetric_svd(g, y)
    if not compute_uv:
        return singular_values(g, a)
    u, s, vh = y
    if full_matrices and a.shape[-1] > a.shape[-2]:
        k = s.shape[-1]
        of_v = None if g[2] is None else g[2][..., :k, :]
        (full,) = svd((g[0], g[1], of_v), (u, s, vh[..., :k, :]), a, False)
        return (full if g[2] is None else full + nothing_of(g[2], y[2], k, -2, "full_matrices=False"),)
    if full_matrices and a.shape[-1] < a.shape[-2]:
        k = s.shape[-1]
        of_u = None if g[0] is None else g[0][..., :k]
        (full,) = svd((of_u, g[1], g[2]), (u[..., :k], s, vh), a, False)
        return (full if g[0] is None else full + nothing_of(g[0], y[0], k, -1, "full_matrices=False"),)
    v, inner, same = mH(vh), np.zeros_like(vh @ mH(vh)), equal(s)
    gaps, size, inverse = inverse_gaps(s * s, same), s[..., None, :], inverse_sizes(s)[..., None, :]
    full = np.zeros_like(a)
    if g[1] is not None:
        inner = inner + diagonal(shared(g[1], same), s.dtype)
    if g[0] is not None:
        gu = conj(g[0])
        part = gaps * (mH(u) @ gu)
        loose = a.shape[-2] > a.shape[-1] or a.dtype.kind == "c"
        inner = inner + (part + mH(part)) * size + free(gu, unsettled(same, s, loose))
        full = full + ((gu - u @ (mH(u) @ gu)) * inverse) @ vh + gauge(u, gu, inverse, vh)
    if g[2] is not None:
        gv = mH(conj(g[2]))
        part = gaps * (mH(v) @ gv)
        loose = a.shape[-2] < a.shape[-1]
        inner = inner + size.swapaxes(-1, -2) * (part + mH(part)) + free(gv, unsettled(same, s, loose))
        full = full + (u * inverse) @ mH(gv - v @ (mH(v) @ gv))
    return (conj(u @ inner @ vh + full),)


def symmetric_svd(g, y):
    """Of a symmetric matrix the vectors on the left are its eigenvectors, and those on the right, with the
    signs of the eigenvalues, as well: eigenvalues of one size and two signs do not coincide."""
    u, s, vh = y
    signs = np.sum(mT(vh) * u, axis=-2).real
    of_s = None if g[1] is None else g[1] * signs
    if g[2] is None:
        return eigh((of_s, g[0]), (s * signs, u), None)
    right = mH(g[2]) * signs[..., None, :]
    return eigh((of_s, right if g[0] is None else g[0] + right), (s * signs, u), None)


def gauge(u, gu, inverse, vh):
    """What the free phase of complex singular vectors adds (Wan and Zhang, arXiv:1909.02659)."""
    if u.dtype.kind != "c":
        return 0.0
    return u @ (diagonal((1j * np.sum(np.conj(u) * gu, axis=-2).imag), u.dtype) * inverse) @ vh


def singular_values(g, a):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return (conj(u * shared(g, equal(s))[..., None, :] @ vh),)


@vjp(*of(np.linalg, "svdvals"))
def svdvals(g, y, x, /):
    return singular_values(g, x)


@vjp(np.linalg.eig)
def eig(g, y, a):
    """The vectors of length 1 (Boeddeker et al., arXiv:1701.00392)."""
    w, v = y
    skew = np.linalg.cond(v)[..., None]
    same = equal(w, skew)
    inner = np.zeros_like(v) if g[0] is None else diagonal(shared(np.conj(g[0]), same), v.dtype)
    if g[1] is not None:
        gv = np.conj(g[1])
        along, lengths = mH(v) @ gv, np.sum(np.conj(v) * gv, axis=-2).real
        inner = inner + np.conj(inverse_gaps(w, same)) * (along - mH(v) @ v @ diagonal(lengths, v.real.dtype))
        inner = inner + free(gv, crowded(same))
    return (np.conj(np.linalg.solve(mH(v), inner @ mH(v))),)


@vjp(np.linalg.eigvals)
def eigvals(g, y, a):
    return eig((g, None), np.linalg.eig(a), a)


# -- eigenvalues that coincide -------------------------------------------------------------------------------


def rounding(w):
    """How far eigenvalues may be off, per matrix: LAPACK's errors go with the largest, and so do those of
    the matrix."""
    return np.max(np.abs(w), axis=-1, keepdims=True, initial=0.0) * (
        (16 + w.shape[-1]) * np.finfo(w.dtype).eps
    )


def equal(w, skew=1.0):
    """At i, j: w_i and w_j are equal but for rounding, and any basis of the space that belongs to them is
    as good as the one found. Errors grow by `skew`, the condition of the vectors (Bauer and Fike 1960)."""
    return np.abs(w[..., None, :] - w[..., :, None]) <= (rounding(w) * skew)[..., None]


@vjp(equal, arrays=0)
def equal_vjp(g, y, w, skew=1.0):
    return (None, None)


def crowded(same):
    """Which eigenvalues have others that are equal."""
    return np.count_nonzero(same, axis=-2) > 1


def shared(g, same):
    """The cotangents of eigenvalues: those of equal ones share theirs, as ties of max do, for which of them
    is the first depends on rounding."""
    return (same @ g[..., None])[..., 0] / np.sum(same, axis=-1, dtype=g.real.dtype)


def inverse_gaps(w, same):
    """1 / (w_j - w_i), 0 between those that are the same: see `free`."""
    return np.logical_not(same) / (w[..., None, :] - w[..., :, None] + same)


def inverse_sizes(s):
    zero = s <= rounding(s)
    return np.logical_not(zero) / np.where(zero, 1.0, s)


def unsettled(same, s, loose):
    """Which singular vectors are chosen freely: those of 0 as well where the matrix is `loose`, with more
    vectors on the other side, or phases."""
    return crowded(same) | (s <= rounding(s)) if loose else crowded(same)


def free(g, chosen):
    """0 per vector, but nan of those that are `chosen` freely and used: nobody knows whether that which is
    made of them depends on the choice. Where all of a cotangent is 0 it may be so by chance."""
    used = np.count_nonzero(g, axis=-2) > 0
    used = used | (np.count_nonzero(used, axis=-1) == 0)[..., None]
    return np.where((chosen & used)[..., None, :], np.nan, np.zeros_like(g[..., :1, :]))


@vjp(free)
def free_vjp(t, y, g, chosen):
    """They have no tangents: nan, as a multiple of `t`, so that blocks of tangents have it too."""
    times = np.where(chosen[..., None, :], np.nan, np.zeros_like(g.real[..., :1, :]))
    return (np.zeros_like(g) + t * times, None)


# -- least squares -------------------------------------------------------------------------------------------


@vjp(np.linalg.lstsq, arrays=2)
def lstsq(g, y, a, b, rcond=None):
    """x = a^+ b, for constant rank (Golub and Pereyra 1973); the residuals are squared lengths of b - a x."""
    x, _, _, _ = y
    columns, full = (b[:, None], x[:, None]) if b.ndim == 1 else (b, x)
    rest = columns - a @ full
    ga, gb = np.zeros_like(a), np.zeros_like(columns)
    if g[0] is not None:
        gx = np.conj(g[0]).reshape(full.shape)
        inverse = mH(np.linalg.pinv(a, cutoff(x.dtype, a.shape, rcond)))  # of a^H
        inner = mH(inverse) @ (inverse @ gx)
        gb = conj(inverse @ gx)
        ga = conj(rest @ mH(inner) - (inverse @ gx) @ mH(full))
        ga = ga + conj(inverse @ full @ mH(gx - mH(inverse) @ (a @ gx)))
    if g[1] is not None and np.size(y[1]):
        towards = 2.0 * g[1] * conj(rest)
        gb, ga = gb + towards, ga - towards @ full.T
    if len(g) > 3 and g[3] is not None:
        ga = ga + singular_values(g[3], a)[0]
    return (ga, gb.reshape(b.shape))


def cutoff(dtype, shape, rcond):
    """Which singular values count, relative to the largest."""
    eps = float(np.finfo(dtype).eps)
    return eps * max(shape[0], shape[1]) if rcond is None else eps if rcond == -1 else rcond
