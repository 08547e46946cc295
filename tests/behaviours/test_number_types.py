"""Derivatives taken within a function that is differentiated, of values, seeds and tangents of different
float types: programs of calls that are known before, and those found at run time, agree."""

import itertools

import numpy as np
import pytest

from ctxdispatch import grad, jvp, linearize, value_and_grad, vjp

KINDS = {
    "float": float, "float32": np.float32, "float64": np.float64, "array": np.array,
    "array32": lambda value: np.array(value, np.float32),
}  # fmt: skip
X, G, DX, DG = 1.5, 0.75, 0.5, 0.25  # float32 has them all
VALUE, SLOPES = 3 * X**2 * G, (6 * X * G, 3 * X**2)


def cube(t):
    return t * t * t


def pulled(x, g):
    return vjp(cube, x)[1](g)[0]


def pulled_spread(x, g):
    _, pullback = vjp(cube, *(x,))
    return pullback(g)[0]


def pulled_all_spread(x, g):
    _, pullback = vjp(*(cube, x))
    return pullback(ybar=g)[0]


def pulled_items(x, g):
    _, pullback = vjp(lambda t: (t, [cube(t)]), *[x])
    return pullback((None, [g]))[0]


def pulled_entries(x, g):
    _, pullback = vjp(lambda t: {"unused": t, "cube": cube(t)}, *[x])
    return pullback({"cube": g})[0]


def pushed(x, g):
    return jvp(cube, (x,), (g,))[1]


def pushed_spread(x, g):
    return jvp(*(cube, (x,), (g,)))[1]


def linearized(x, g):
    return linearize(cube, *(x,))[1](*(g,))


def scaled(x, g):
    return grad(lambda t: cube(t) * g)(x)


def scaled_spread(x, g):
    return value_and_grad(lambda t, s: cube(t) * s)(*(x, g))[1]


CONVERTING = [pulled, pulled_spread, pulled_items, pushed]
OTHERS = [pulled_all_spread, pulled_entries, pushed_spread, linearized, scaled, scaled_spread]
MIXES = list(itertools.product(KINDS, KINDS))
CASES = [(f, *mix) for f in CONVERTING for mix in MIXES] + [(f, *mix) for f in OTHERS for mix in MIXES[1::4]]


def near(found, expected):
    return float(found) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("program, of_x, of_g", CASES, ids=lambda x: getattr(x, "__name__", x))
def test_values_seeds_and_tangents_of_all_types(program, of_x, of_g):
    x, g = KINDS[of_x](X), KINDS[of_g](G)
    assert near(program(x, g), VALUE)
    first, second = grad(program, argnums=(0, 1))(x, g)
    assert near(first, SLOPES[0]) and near(second, SLOPES[1])
    assert np.result_type(first) == np.result_type(x) and np.result_type(second) == np.result_type(g)
    tangents = KINDS[of_g](DX), KINDS[of_x](DG)
    assert near(jvp(program, (x, g), tangents)[1], SLOPES[0] * DX + SLOPES[1] * DG)


@pytest.mark.parametrize("of_x, of_g", MIXES)
def test_a_pullback_that_is_given(of_x, of_g):
    _, pullback = vjp(cube, KINDS[of_x](X))
    g = KINDS[of_g](G)
    assert near(grad(lambda g: pullback(g)[0])(g), SLOPES[1])
    assert near(jvp(lambda g: pullback(g)[0], (g,), (KINDS[of_x](DG),))[1], SLOPES[1] * DG)


@pytest.mark.parametrize("dtypes", [
    ("float32", "float64"), ("float64", "float32"), ("complex128", "float64"), ("complex64", "complex128"),
])
@pytest.mark.parametrize(
    "result", [lambda t: cube(t), lambda t: (t, cube(t)), lambda t: [t.T, {"y": cube(t)}]]
)
def test_arrays_and_results_that_share_memory_with_what_is_kept(dtypes, result):
    x, g = np.array([X, -X], dtypes[0]), np.array([G, 2 * G], dtypes[1])

    def pulled(x, g):
        y, pullback = vjp(result, *(x,))
        seed = g if isinstance(y, np.ndarray) else (None, g if isinstance(y, tuple) else {"y": g})
        return np.sum(pullback(seed)[0]).real

    of_x, of_g = grad(pulled, argnums=(0, 1))(x, g)
    np.testing.assert_allclose(of_x, 6 * x * g, rtol=1e-6)
    np.testing.assert_allclose(of_g, 3 * x**2, rtol=1e-6)
    along = jvp(pulled, (x, g), (np.ones_like(x), np.ones_like(g)))[1]
    np.testing.assert_allclose(along, np.sum(6 * x * g + 3 * x**2).real, rtol=1e-6)
