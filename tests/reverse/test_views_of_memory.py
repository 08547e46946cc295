"""What hands out an array's memory has no rule: a zero would be silently wrong."""

import numpy as np
import pytest

from ctxdispatch import grad
from ctxdispatch_contexts.reverse import MissingRuleError


def reads_data(x):
    return x.data[0] * 2


def reads_base(x):
    return (x[1:].base * x).sum()


def reads_bytes(x):
    return x.data.cast("B")[7] * x[0]


def test_memory_of_an_array_is_read_as_numbers_and_refused_as_bytes():
    np.testing.assert_array_equal(grad(reads_data)(np.ones(2)), [2.0, 0.0])
    with pytest.raises(MissingRuleError, match=__file__):
        grad(reads_bytes)(np.ones(2))


def test_the_base_of_a_view_is_the_array():
    np.testing.assert_array_equal(grad(reads_base)(np.array([1.0, 3.0])), [2.0, 6.0])


def test_keyword_default_changed_in_place():
    def helper(t, *, k=2.0):
        return t * k

    def f(x):
        return helper(x)

    g = grad(f)
    assert g(1.0) == 2.0
    helper.__kwdefaults__["k"] = 11.0
    assert g(1.0) == 11.0
