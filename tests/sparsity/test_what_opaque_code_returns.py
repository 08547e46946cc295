"""C code that is not looked into may return what it was given, or what that holds: stores to it, and what is
read of it afterwards, are followed there too."""

import io
import itertools

import numpy as np
import pytest

from ctxdispatch import jacobian, jacobian_sparsity

X = np.array([0.7, -0.4, 1.3])
given_back = io.text_encoding
"""It returns what it is given, and has no rule for that."""


def of_a_list(x):
    kept = given_back([x, x * 2.0])
    return kept[0][2] + kept[1][0]


def what_is_appended_afterwards(x):
    kept = [x * 2.0]
    other = given_back(kept)
    kept.append(x * 3.0)
    return other[-1][1]


def what_is_stored_afterwards(x):
    kept = {"a": [x * 2.0]}
    other = given_back(kept)
    kept["a"][0] = x[:1]
    return other["a"][0][0]


def what_is_stored_into_an_array(x):
    y = x * 1.0
    other = given_back((y, [y]))
    y[2] = x[0]
    return other[1][0][2]


def a_view_in_a_tuple(x):
    y = x * 1.0
    other = given_back((y[1:],))[0]
    y[1] = x[0]
    return other[0]


def of_dicts_in_lists(x):
    return given_back([{"a": (x[0], x)}])[0]["a"][1][1]


PROGRAMS = [
    of_a_list, what_is_appended_afterwards, what_is_stored_afterwards, what_is_stored_into_an_array,
    a_view_in_a_tuple, of_dicts_in_lists,
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_it_is_what_was_given(f):
    pattern = jacobian_sparsity(f, X).toarray()
    assert not np.any((jacobian(f)(X) != 0) & ~np.atleast_2d(pattern))


@pytest.mark.parametrize("ends", [1.0, None, np.array(0), list], ids=repr)
def test_what_has_no_items_says_so_when_it_is_gone_through(ends):
    def f(x):
        chained = itertools.chain([x], ends, [x])
        return next(iter([chained])) and x[2] * 2.0

    assert np.array_equal(np.atleast_2d(jacobian_sparsity(f, X).toarray()), [[False, False, True]])
