"""The checker of what SciPy solves: central differences, and the two modes against each other."""

import numpy as np

from ctxdispatch import grad, jvp


def differences(f, args, i, step):
    """Those of the number f(*args) in each element of args[i]."""
    x = np.asarray(args[i], float)
    slopes = np.zeros(x.shape)
    for at in np.ndindex(x.shape):
        ends = []
        for sign in (1.0, -1.0):
            moved = x.copy()
            moved[at] += sign * step
            ends.append(f(*args[:i], moved if moved.ndim else float(moved), *args[i + 1 :]))
        slopes[at] = (ends[0] - ends[1]) / (2.0 * step)
    return slopes


def check(f, *args, tol=1e-5, step=1e-5, wrt=None):
    """Value, gradient and tangent of a weighted sum of f's result with respect to every argument, or those
    at the positions `wrt`. The modes agree to rounding."""

    def total(*args):
        y = f(*args)
        return np.sum(y * np.cos(np.arange(np.size(y))).reshape(np.shape(y)))

    for i in range(len(args)) if wrt is None else wrt:
        gradient = grad(total, argnums=i)(*args)
        np.testing.assert_allclose(gradient, differences(total, args, i, step), rtol=tol, atol=tol)
        direction = np.cos(np.arange(np.size(args[i]))).reshape(np.shape(args[i])) + 0.5
        direction = direction if np.ndim(args[i]) else float(direction)

        def of_one(x, i=i):
            return total(*args[:i], x, *args[i + 1 :])

        y, dy = jvp(of_one, (args[i],), (direction,))
        np.testing.assert_allclose(y, total(*args), rtol=1e-12)
        np.testing.assert_allclose(dy, np.sum(gradient * direction), rtol=1e-11, atol=1e-12)
