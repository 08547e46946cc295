"""NumPy makes arrays of lists of what is no array, but gives one: iterators of arrays (`flat`), views of
their memory, objects with `__array__`. The derivative goes through it, or it is refused."""

import numpy as np
import pytest

from ctxdispatch import grad, jacfwd, jacobian_sparsity, jvp
from ctxdispatch_contexts.programs.errors import DerivativeError
from ctxdispatch_contexts.sparsity.errors import SparsityError

X = np.array([0.2, 0.9, -0.6])


class Holder:
    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return self.array


NAMES = {
    "flat": lambda x: x.flat,
    "flat of a view": lambda x: x[None, ::-1].T.flat,
    "flat of a result": lambda x: (x * x).flat,
    "memory": lambda x: memoryview(x),
    "__array__": Holder,
    "rows": lambda x: list(x[None]),
}
MAKERS = {
    "array": lambda a, x: np.array([a, x])[0, 2] * x[0],
    "array, first": lambda a, x: np.array([a])[0, 1] * x[1],
    "array, nested": lambda a, x: np.array([[a], [x]])[0, 0, 2] * x[0],
    "array, of a tuple": lambda a, x: np.array((a, x))[0, 1] * x[0],
    "asarray": lambda a, x: np.sum(np.asarray([a])[0, 0]) * x[1],
    "stack": lambda a, x: np.stack([a, x * 2])[0].sum() * x[0],
    "concatenate": lambda a, x: np.concatenate([a, x * 2])[1] * x[0],
    "vstack": lambda a, x: np.vstack([a, x])[0, 1] * x[0],
    "hstack": lambda a, x: np.hstack([a, x])[1] * x[0],
    "sum": lambda a, x: np.sum([a, x]) * x[0],
    "mean": lambda a, x: np.mean([a, x], axis=0)[1] * x[0],
    "maximum": lambda a, x: np.add([a], x)[0, 1] * x[0],
    "dot": lambda a, x: np.sum(np.dot([a], x)) * x[1],
    "store": lambda a, x: stored(a) * x[0],
}


def stored(a):
    kept = np.zeros((2, 3))
    kept[:] = [a, a]
    return kept[1, 2] + kept[0, 1]


def program(name, maker):
    """It, and differences of it."""

    def f(x):
        return MAKERS[maker](NAMES[name](x), x)

    try:
        f(X)
    except (ValueError, TypeError, IndexError):
        pytest.skip("NumPy makes no array of it")
    wanted = [(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
    return f, wanted


MODES = {
    "grad": lambda f: grad(f)(X.copy()),
    "jvp": lambda f: np.array([jvp(f, (X.copy(),), (e,))[1] for e in np.eye(3)]),
    "jacfwd": lambda f: jacfwd(f)(X.copy()),
}


@pytest.mark.every(4)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("name", NAMES)
def test_derivatives(name, maker, mode):
    f, wanted = program(name, maker)
    for _ in range(3):
        try:
            found = MODES[mode](f)
        except DerivativeError:
            assert name not in ("flat", "rows")
            continue
        np.testing.assert_allclose(found, wanted, atol=1e-7)


@pytest.mark.every(4)
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("name", NAMES)
def test_patterns(name, maker):
    f, wanted = program(name, maker)
    try:
        found = jacobian_sparsity(f, X.copy())
    except SparsityError:
        assert name not in ("flat", "rows")
        return
    found = found.toarray() if hasattr(found, "toarray") else np.asarray(found)
    assert np.all(found.reshape(-1).astype(bool) >= (np.abs(wanted) > 1e-9))
