"""Products of numbers that depend on the inputs with arrays that are known, and have zeros."""

import numpy as np
import pytest

from ctxdispatch import jacobian_sparsity

X = np.array([0.5, 0.7, 1.2])
KNOWN = {
    "bools": np.array([True, False, True]),
    "floats": np.array([1.0, 0.0, 2.0]),
    "ints": np.array([[0, 1, 2], [3, 0, 0]]),
    "none are zero": np.array([1.0, 2.0]),
    "a zero": np.array(0.0),
}
PRODUCTS = {
    "dot": lambda a, s: np.dot(a, s),
    "dot the other way": lambda a, s: np.dot(s, a),
    "method": lambda a, s: a.dot(s),
    "inner": lambda a, s: np.inner(a, s),
    "outer": lambda a, s: np.outer(a, s),
    "tensordot": lambda a, s: np.tensordot(a, s, 0),
    "einsum": lambda a, s: np.einsum("...,->...", a, s),
    "kron": lambda a, s: np.kron(a, s),
    "multiply": lambda a, s: np.multiply(a, s),
}


@pytest.mark.every(1)
@pytest.mark.parametrize("product", PRODUCTS)
@pytest.mark.parametrize("known", KNOWN)
def test_where_known_factors_are_not_zero(known, product):
    found = jacobian_sparsity(lambda x: PRODUCTS[product](KNOWN[known], x[1]), X).toarray()
    wanted = np.zeros(found.shape, bool)
    wanted[:, 1] = np.ravel(PRODUCTS[product](KNOWN[known], 1.0)) != 0
    assert not (wanted & ~found.astype(bool)).any()
    assert not found[:, [0, 2]].any()
