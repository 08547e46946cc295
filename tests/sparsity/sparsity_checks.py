"""What patterns are compared with: finite differences."""

import numpy as np

from ctxdispatch_contexts.sparsity import SparsityPattern


def jacobian_by_differences(f, x, h=1e-5):
    """The (m, n) Jacobian of `f` at the 1-D array `x`; 0 where two step sizes do not agree (a jump
    between)."""
    with np.errstate(all="ignore"):
        a, b = (_central(f, x, step) for step in (h, 0.3 * h))
        agree = np.abs(a - b) < 1e-3 * (1 + np.abs(a))
        plausible = (np.abs(a) > 1e-5) & (np.abs(a) < 1e4)
    return np.where(agree & plausible & np.isfinite(a), a, 0.0)


def _central(f, x, h):
    steps = h * np.eye(x.size)
    return np.stack([np.ravel(f(x + e)) - np.ravel(f(x - e)) for e in steps], axis=-1) / (2.0 * h)


def hessian_by_differences(f, x, h=1e-4):
    n, steps = x.size, h * np.eye(x.size)
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            corners = [f(x + p * steps[i] + q * steps[j]) * p * q for p in (1, -1) for q in (1, -1)]
            out[i, j] = sum(corners) / (4 * h * h)
    return out


def brusselator(n, slices=False):
    """The right-hand side of a 2-D Brusselator, periodic by np.roll or with fixed ends by slices."""

    def rolled(w):
        return np.roll(w, 1, 0) + np.roll(w, -1, 0) + np.roll(w, 1, 1) + np.roll(w, -1, 1) - 4.0 * w

    def sliced(w):
        out = -4.0 * w
        out[1:] += w[:-1]
        out[:-1] += w[1:]
        out[:, 1:] += w[:, :-1]
        out[:, :-1] += w[:, 1:]
        return out

    laplacian = sliced if slices else rolled

    def fun(t, y):
        u, v = y[: n * n].reshape(n, n), y[n * n :].reshape(n, n)
        du = 1.0 + u * u * v - 4.4 * u + 0.1 * laplacian(u)
        dv = 3.4 * u - u * u * v + 0.1 * laplacian(v)
        return np.concatenate([du.ravel(), dv.ravel()])

    return fun


def rows(*lines):
    """A pattern as lines of dots and x."""
    return SparsityPattern.from_dense(np.array([[c == "x" for c in line] for line in lines]))
