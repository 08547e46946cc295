"""What several tests of `broadcast` share: operands, functions, and how results are compared."""

import threading

import numpy as np

from ctxdispatch_contexts.broadcast import KernelError, broadcast
from ctxdispatch_contexts.programs.errors import DerivativeError, MutationError

BACKENDS = ["compiled", "reference"]
REFUSALS = (KernelError, DerivativeError, MutationError)

THREE = np.array([0.3, 0.7, 1.9])
FIVE = np.array([0.3, 0.7, 1.9, -2.4, 5.2])
INTS = np.arange(-3, 6)
WEIGHTS = np.array([0.4, 1.3])


# -- functions -----------------------------------------------------------------------------------------------


def affine(a, b):
    return a * b + a


def piecewise(a, b):
    if a > b:
        return a * b
    elif a < -1.0:
        return a - b
    return b * 2.0 - a


def iterated(a, b):
    n, s = 0, a * 0.5
    while abs(s) < 4.0 and n < 9:
        s = s * 1.3 + b
        n += 1
        if s < -3.0:
            break
    return s + n


# -- comparisons ---------------------------------------------------------------------------------------------


def same(found, wanted, exact=True):
    """Values, shape and dtype."""
    assert np.shape(found) == np.shape(wanted)
    assert np.asarray(found).dtype == np.asarray(wanted).dtype
    if exact:
        np.testing.assert_array_equal(found, wanted)
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-12 if np.asarray(found).itemsize == 8 else 1e-5)


def close(found, wanted, rtol=1e-6, atol=1e-8):
    assert np.shape(found) == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)


def differences(f, x, h=1e-6):
    """The gradient of `f`, a function of an array with one result, by central differences."""
    x = np.asarray(x, float)
    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[at] = h
        found[at] = (f(x + step) - f(x - step)) / (2 * h)
    return found


def by_elements(f, x):
    """What Python makes of every element."""
    return np.array([f(v) for v in x.tolist()])


def check_by_elements(f, x, backend="auto"):
    """`broadcast(f, x)` against Python's own run of `f` on every element."""
    wanted = by_elements(f, x)
    found = broadcast(f, x, backend=backend)
    if isinstance(found, tuple):
        found = np.stack(found, -1)
    assert found.shape == wanted.shape and found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-13)


def from_threads(f, many=8):
    """The results of as many threads that call `f` at once; the first error, where one raised."""
    results, errors = [None] * many, []

    def work(i):
        try:
            results[i] = f()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
