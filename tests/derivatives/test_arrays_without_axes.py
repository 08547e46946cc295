"""Functions of arrays without axes: some of their results have one."""

import numpy as np
import pytest

from ctxdispatch import grad, jvp

CALLS = """
    a.cumsum(-1) | a.cumsum() | np.cumsum(a, axis=0) | a.cumprod(-1) | np.cumprod(a) | a.sum(axis=0) | np.sum(a, axis=-1)
    | a.max(axis=-1) | np.prod(a, axis=0) | np.flip(a) | np.roll(a, 1) | np.atleast_2d(a)
    | a.ravel() | a.flatten() | a.T | np.repeat(a, 3) | np.tile(a, 3) | np.take(a, [0, 0]) | np.expand_dims(a, 0)
    | np.nancumsum(a) | a[None] | a[...] | a[()] | a.item() | np.median(a) | np.quantile(a, 0.5) | np.ptp(a)
    | np.sum(a, keepdims=True) | np.append(a, 2.0) | np.stack([a, a]) | np.hstack([a, a]) | np.vstack([a, a])
    | np.dot(a, 3.0) | np.outer(a, [1.0, 2.0]) | np.kron(a, [1.0, 2.0]) | np.where(a > 0.0, a, -a) | np.clip(a, 0.0, 1.0)
    | np.linalg.norm(a) | np.interp(a, [0.0, 1.0], [0.0, 2.0]) | np.unique(a) | np.squeeze(a) | np.add.reduce(a, axis=None)
    | np.multiply.outer(a, a) | np.broadcast_to(a, (2,)) | np.full(2, a) | np.polyval([1.0, 2.0], a) | np.nanmax(a)
    | np.average(a) | np.transpose(a) | np.compress([True], a) | np.diagflat(a) | np.insert([1.0, 2.0], 1, a)
    | np.einsum("->", a)
"""  # noqa: E501
X = np.array([0.7, 0.4])


@pytest.mark.every(3)
@pytest.mark.parametrize("call", [" ".join(c.split()) for c in CALLS.split(" | ")])
def test_derivatives(call):
    space = {"np": np}
    exec(f"def f(x):\n    a = np.array(x[0] * x[1])\n    return np.sum(1.5 * {call}) + x[0]", space)
    f, h = space["f"], 1e-6
    wanted = [(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(grad(f)(X), wanted, rtol=1e-6)
    np.testing.assert_allclose([jvp(f, (X,), (e,))[1] for e in np.eye(2)], wanted, rtol=1e-6)
