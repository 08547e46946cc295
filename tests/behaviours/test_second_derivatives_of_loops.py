"""Second derivatives of what goes through elements one by one: where cotangents do not vary, nothing stands
for their tangents until they are asked for. Called again and again, for the second program knows more."""

import functools
import operator

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jacobian, jvp

POINT = np.array([0.5, 0.6, 0.7, 0.8])


def by_sum(x, f):
    return sum(f(t) for t in x)


def by_list(x, f):
    made = [f(t) for t in x]
    return sum(made) + made[0]


def by_loop(x, f):
    total = 0.0
    for t in x:
        total = total + f(t)
    return total


def by_index(x, f):
    total = 0.0
    for i in range(len(x)):
        total += f(x[i])
    return total


def by_while(x, f):
    i, total = 0, 0.0
    while i < len(x):
        total, i = total + f(x[i]), i + 1
    return total


def by_reduce(x, f):
    return functools.reduce(operator.add, [f(t) for t in x])


def by_map(x, f):
    return sum(map(f, x))


def by_append(x, f):
    made = []
    for t in x:
        made.append(f(t))
    return np.sum(np.array(made))


def by_store(x, f):
    made = np.zeros(len(x))
    for i, t in enumerate(x):
        made[i] = f(t)
    return made.sum()


def by_dict(x, f):
    made = {}
    for i, t in enumerate(x):
        made[i] = f(t)
    return sum(made.values())


LOOPS = [by_sum, by_list, by_loop, by_index, by_while, by_reduce, by_map, by_append, by_store, by_dict]
OF = {
    "constant": lambda t: 2.0 * t, "itself": lambda t: t, "square": lambda t: t * t,
    "sine": lambda t: np.sin(t) * t,
}  # fmt: skip
FROM = {"x": lambda x: x, "exp": np.exp, "twice": lambda x: 2.0 * x, "part": lambda x: x[1:], "rows": np.sort}
WAYS = {
    "hessian": lambda g: hessian(g),
    "jacobian": lambda g: jacobian(grad(g)),
    "columns": lambda g: lambda x: np.array([jvp(grad(g), (x,), (e,))[1] for e in np.eye(len(x))]),
    "rows": lambda g: lambda x: np.array([grad(lambda q: grad(g)(q) @ e)(x) for e in np.eye(len(x))]),
}  # fmt: skip


@pytest.mark.every(24)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("made", FROM)
@pytest.mark.parametrize("of", OF)
@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
def test_second_derivatives(loop, of, made, way):
    def g(x):
        return loop(FROM[made](x), OF[of])

    first = grad(g)
    want = np.array([(first(POINT + e) - first(POINT - e)) / 2e-5 for e in 1e-5 * np.eye(4)])
    second = WAYS[way](g)
    for _ in range(3):
        found = second(POINT)
        assert np.asarray(found).dtype == np.float64
        assert np.shape(found) == (4, 4)
        np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-8)
