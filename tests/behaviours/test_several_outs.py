"""`out=` in a tuple, and several of them: what is written there is followed, and what was read before is
remembered as it was."""

import numpy as np
import pytest

from ctxdispatch import grad, jvp

X = np.array([0.3, 1.6])


def in_a_tuple(x):
    a = np.empty(2)
    np.sin(x, out=(a,))
    return (a * a).sum()


def in_a_spread_tuple(x):
    a = np.empty(2)
    np.sin(x, **{"out": (a,)})
    return (a * a).sum()


def in_a_variable(x):
    out = (np.empty(2),)
    np.multiply(x, x, out=out)
    np.sin(out[0], out=out)
    return out[0].sum()


def of_a_reduction(x):
    a = np.empty(1)
    np.add.reduce(x * x, keepdims=True, out=(a,))
    return (a * a).sum()


def two(x):
    a, b = np.empty(2), np.empty(2)
    np.modf(x * 2.0, out=(a, b))
    return (a * a).sum()


def two_by_position(x):
    a, b = np.empty(2), np.empty(2)
    np.divmod(x, 0.7, a, b)
    return (b * b).sum()


def one_of_two(x):
    a = np.empty(2)
    np.divmod(x, 0.7, None, a)
    return (a * a).sum()


def one_of_two_in_a_tuple(x):
    m, e = np.modf(x, out=(None, np.empty(2)))
    return (m * m).sum() + e.sum()


def of_other_dtypes(x):
    m, e = np.empty(2), np.empty(2, np.int32)
    np.frexp(x, m, e)
    return (m * m).sum()


def written_over_after_it_was_read(x):
    a = np.ones(2)
    y = (x * a).sum()
    np.add(a, 4.0, out=(a,))
    return y


def both_written_over_after_they_were_read(x):
    a, b = np.ones(2), np.full(2, 3.0)
    y = (x * a * b).sum()
    np.divmod(a, 0.3, a, b)
    return y


@pytest.mark.parametrize("f", [
    in_a_tuple, in_a_spread_tuple, in_a_variable, of_a_reduction, two, two_by_position, one_of_two,
    one_of_two_in_a_tuple, of_other_dtypes, written_over_after_it_was_read,
    both_written_over_after_they_were_read,
])  # fmt: skip
def test_what_is_written_is_followed(f):
    slopes = np.array([(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(2)])
    np.testing.assert_allclose(grad(f)(X.copy()), slopes, rtol=1e-6, atol=1e-8)
    value, tangent = jvp(f, (X.copy(),), (np.array([1.0, -2.0]),))
    assert value == f(X)
    assert tangent == pytest.approx(slopes @ [1.0, -2.0], rel=1e-6, abs=1e-8)
