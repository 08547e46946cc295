"""C code that asks an iterator for something else than its items gets what the iterator answers."""

import copy
import operator
import pickle

import numpy as np
import pytest

from ctxdispatch import grad, jvp

X = np.array([0.2, 0.9, -0.6])

MAKERS = [
    lambda: iter([1.0, 2.0, 3.0]),
    lambda: iter((1.0, 2.0)),
    lambda: iter(np.arange(1.0, 4.0)),
    lambda: iter({1.0: "a"}),
    lambda: iter("123"),
    lambda: reversed([1.0, 2.0]),
    lambda: enumerate([2.0, 1.0], 1),
    lambda: zip([1.0], [2.0]),
    lambda: map(abs, [-1.0]),
]

USES = [
    lambda items: next(pickle.loads(pickle.dumps(items))),
    lambda items: next(copy.copy(items)),
    lambda items: next(copy.deepcopy(items)),
    lambda items: operator.length_hint(items),
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("use", USES)
def test_nothing_differentiated_is_in_it(make, use):
    def program(x):
        found = use(make())
        number = found[0] if type(found) is tuple else found
        return float(number) * np.sum(x**2)

    plain = program(X)
    np.testing.assert_allclose(grad(program)(X), 2 * X * plain / np.sum(X**2))
    np.testing.assert_allclose(jvp(program, (X,), (X,)), (plain, 2 * plain))
