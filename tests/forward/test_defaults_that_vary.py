"""Functions whose defaults are what is differentiated, given to code that is looked for at run time: they are
no constants, though nothing is captured in a cell."""

import numpy as np
import pytest

from ctxdispatch import checkpoint, grad, jacfwd, jvp
from ctxdispatch_contexts.programs.errors import MutationError

X = np.array([0.7, -1.3])


def by_position(k):
    def scale(t, k=k):
        return t * k

    return scale


def by_name(k):
    def scale(t, *, k=k):
        return t * k

    return scale


def after(n, f, v):
    """f(v), where no program sees what f is."""
    return f(v) if n <= 0 else after(n - 1, f, v)


PROGRAMS = {
    "both vary": lambda x: after(3, by_position(x[0]), x[1]),
    "the default alone": lambda x: after(2, by_position(x[0] * x[1]), 2.0),
    "by name": lambda x: after(3, by_name(x[0]), x[1]),
    "by name alone": lambda x: after(2, by_name(x[0] ** 2), 2.0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_defaults(name):
    f = PROGRAMS[name]
    want = np.array([(f(X + e) - f(X - e)) / 2e-6 for e in 1e-6 * np.eye(2)])
    for found in (jacfwd(f), grad(f), grad(checkpoint(f)), jacfwd(checkpoint(f))):
        np.testing.assert_allclose(found(X), want, atol=1e-6)
    np.testing.assert_allclose(jvp(f, (X,), (X,))[1], want @ X, atol=1e-6)


def increased(f, v):
    """Of a number, which `+=` does not change."""
    found = f(v)
    found += v
    return found * found


def test_a_number_that_only_run_time_knows_is_increased_under_a_checkpoint():
    def f(x):
        return increased(lambda v: after(2, lambda t: t * x[0], v), x[1])

    want = np.array([(f(X + e) - f(X - e)) / 2e-6 for e in 1e-6 * np.eye(2)])
    np.testing.assert_allclose(grad(checkpoint(f))(X), want, atol=1e-6)
    np.testing.assert_allclose(jacfwd(grad(checkpoint(f)))(X), jacfwd(grad(f))(X), atol=1e-12)
    with pytest.raises(MutationError, match="test_defaults_that_vary.py:.* changes differentiated data"):
        grad(checkpoint(lambda x: increased(lambda v: after(2, lambda t: t * x, v), x[1]).sum()))(X)
