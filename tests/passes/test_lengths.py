"""Dimensions of unknown length of which inference knows whose they are."""

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jacfwd, jvp
from ctxdispatch.bytecode.lift import lift
from ctxdispatch.ir.graph import Return
from ctxdispatch.passes import types as T
from ctxdispatch.passes.infer import infer
from ctxdispatch.passes.types import Length, type_of

X, Y = np.arange(5.0), np.arange(7.0)


def types_of(f, *args):
    """The types of the items of the tuple that `f` returns."""
    graph = lift(f)
    infer(graph, list(map(type_of, args)))
    value = next(b.terminator.value for b in graph.blocks if isinstance(b.terminator, Return))
    made = next(op for _, op in graph.ops() if value in op.results)
    return [item.type for item in made.args]


def same(f, *args):
    a, b = types_of(f, *args)
    return a.dims == b.dims and all(isinstance(d, (Length, bool)) for d in a.dims)


@pytest.mark.parametrize("f", [
    lambda x, y: (x[1:], x[:-1]),
    lambda x, y: (x[1:] * 2.0, np.sin(x[:-1])),
    lambda x, y: (x[1:] * x[:-1], x[1:]),
    lambda x, y: (x[1:][1:], x[1:-1]),
    lambda x, y: (x[2:], x[1:-1]),
    lambda x, y: (np.roll(x[1:], 1), x[:-1]),
    lambda x, y: (np.zeros(x[1:].shape), x[1:]),
    lambda x, y: (x, x[:]),
])  # fmt: skip
def test_certainly_of_one_length(f):
    assert same(f, X, Y)
    a, b = f(X, Y)
    assert a.shape == b.shape


@pytest.mark.parametrize("f", [
    lambda x, y: (x[1:], y[1:]),
    lambda x, y: (x[1:], x[2:]),
    lambda x, y: (x[1:] * x[2:][0], x),
    lambda x, y: (x[-2:], x[2:]),
    lambda x, y: (x[:3], x[1:4]),
    lambda x, y: (x[x > 1.0], x[x > 1.0]),
])  # fmt: skip
def test_not_known_to_be_of_one_length(f):
    assert not same(f, X, Y)


def test_of_several_axes():
    m = np.ones((4, 6))
    assert same(lambda u: (u[1:-1, 2:], u[2:, 1:-1]), m)
    assert not same(lambda u: (u[1:-1, 2:], u[1:-1, 1:]), m)


def test_a_loop_forgets_whose_length_it_was():
    def shrinking(x, n):
        y = x
        for _ in range(n):
            z = y
            y = y[1:]
        return y, z

    a, b = types_of(shrinking, X, 2)
    assert a.dims != b.dims


def test_items_of_lists_are_anybodys():
    def collected(x, n):
        xs = [x[1:]]
        for _ in range(n):
            xs.append(xs[-1][1:])
        return xs[0], xs[1]

    a, b = types_of(collected, X, 2)
    assert a == T.Any or b == T.Any or a.dims != b.dims


def test_shapes_of_one():
    """Slices may be of length 1, which broadcasts: their sum with another has a length of its own."""
    (found, whole) = types_of(lambda x, y: (x[1:] + y[1:], x[1:] + x), X, Y)
    assert isinstance(found.dims[0], Length) and whole.dims == (False,)


def test_a_length_is_neither_one_nor_not():
    with pytest.raises(TypeError, match="flag"):
        bool(Length("k"))


def test_gradients_of_neighbours_fit_nothing_at_run_time():
    def f(x):
        return np.sum((x[1:] - x[:-1]) ** 2)

    x = np.linspace(0.0, 1.0, 6) ** 2
    expected = np.zeros(6)
    expected[1:] += 2.0 * np.diff(x)
    expected[:-1] -= 2.0 * np.diff(x)
    np.testing.assert_allclose(grad(f)(x), expected, rtol=1e-14)
    np.testing.assert_allclose(grad(f)(x[:2]), [-2.0 * x[1], 2.0 * x[1]], rtol=1e-14)


def test_tangents_are_broadcast_as_values_are():
    """Both lengths unknown, one of them 1."""

    def f(x, y):
        return x[1:] + y[:-1]

    x, y = np.array([1.0, 2.0]), np.arange(4.0)
    np.testing.assert_array_equal(jvp(f, (x, y), (x, None))[1], [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(jacfwd(f)(x, y), [[0.0, 1.0]] * 3)


def test_second_derivatives_where_a_slice_is_broadcast():
    def f(x, y):
        return np.sum((x[1:] + y[:-1]) ** 2 * y[1:])

    x, y = np.array([1.0, 2.0]), np.arange(4.0)
    np.testing.assert_allclose(hessian(f)(x, y), [[0.0, 0.0], [0.0, 2.0 * np.sum(y[1:])]])


@pytest.mark.parametrize("like", [np.ones_like, np.zeros_like, np.empty_like])
def test_a_shape_that_is_given_is_the_shape(like):
    def f(w):
        q = w * w
        return (q * (0.0 * like(w, shape=(3,)) + 1.0)).sum() + q.sum()

    np.testing.assert_allclose(grad(f)(np.array([2.0])), [16.0])
