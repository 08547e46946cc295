"""Stores into arguments: compiled, where at the entry they are seen to lie apart from what else is read."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from ctxdispatch import grad, jvp, value_and_grad, vjp
from ctxdispatch_contexts.programs.apart import apart
from ctxdispatch_contexts.programs.errors import MutationError
from ctxdispatch_contexts.recording import api

X = np.array([0.7, -0.4, 1.3, 0.2, -0.9])
Y = np.array([0.1, 0.5, -0.7, 0.3, 1.1])


@pytest.fixture(autouse=True)
def runs(monkeypatch):
    """The runs that were recorded."""
    found = []
    for name in ("joint", "split"):
        plain = getattr(api, name)

        def run(*args, plain=plain):
            found.append(args)
            return plain(*args)

        monkeypatch.setattr(api, name, run)
    return found


def mixed(u, f):
    u[0] = f[1] * u[2]
    u *= f
    u[1:] += u[:-1]
    return np.sum(np.sin(u))


def renamed(u, f):
    v = u
    v += 1.0
    v[::2] *= v[1::2].sum() * f[0]
    return np.sum(u * v)


def chain(u, f):
    for i in range(1, len(u)):
        u[i] += f[i] * u[i - 1]
    return u @ f


def filled(u, out):
    for i in range(len(u)):
        out[i] = u[i] * u[i - 1]
    return out.sum()


def either(u, f):
    v = u if f[0] > 0 else u.copy()
    v[1] *= f[2]
    return v @ f


def of_global(u, f):
    for i in range(4):
        u[i] += WEIGHTS[i] * u[i + 1]
    return np.sum(u * WEIGHTS * f)


WEIGHTS = np.array([0.3, -1.2, 0.8, 0.5, 0.9])


def central(f, args, i, h=1e-6):
    found = np.zeros(args[i].shape)
    for k in np.ndindex(args[i].shape):
        sides = []
        for step in (h, -h):
            moved = [a.copy() for a in args]
            moved[i][k] += step
            sides.append(f(*moved))
        found[k] = (sides[0] - sides[1]) / (2 * h)
    return found


@pytest.mark.parametrize("f", [mixed, renamed, chain, filled, either, of_global], ids=lambda f: f.__name__)
@pytest.mark.parametrize("strided", [False, True])
def test_gradients_and_arguments_are_as_they_should_be(f, strided, runs):
    def copies():
        return [np.stack([a, a], 1)[:, 0] if strided else a.copy() for a in (X, Y)]

    plain, mine = copies(), copies()
    expected = f(*plain)
    value, gradients = value_and_grad(f, argnums=(0, 1))(*mine)
    assert value == expected and all(map(np.array_equal, mine, plain)) and not runs
    for i, gradient in enumerate(gradients):
        np.testing.assert_allclose(gradient, central(f, (X, Y), i), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(gradient, grad(f, argnums=i)(*copies()), rtol=1e-13)
    slope = sum(g.sum() for g in gradients)
    assert jvp(f, tuple(copies()), (np.ones(5), np.ones(5)))[1] == pytest.approx(slope)


def test_captured_arrays(runs):
    def make(h):
        def f(u):
            u *= h
            return np.sum(u * u * h)

        return f

    np.testing.assert_allclose(grad(make(Y))(X.copy()), 2 * X * Y**3)
    assert not runs


def test_dtypes(runs):
    assert grad(chain)(X.astype(np.float32), Y.astype(np.float32)).dtype == np.float32
    assert not runs


def test_pullbacks_may_be_called_again_and_the_result_is_the_argument(runs):
    def step(u, f):
        u += f * u
        u[0] = 0.0
        return u

    u = X.copy()
    y, pullback = vjp(step, u, Y)
    assert y is u and not runs
    expected = np.where(np.arange(5) > 0, 1 + Y, 0), np.where(np.arange(5) > 0, X, 0)
    for _ in range(2):
        for found, right in zip(pullback(np.ones(5)), expected):
            np.testing.assert_allclose(found, right)


def test_what_fails_fails_as_the_plain_call_does(runs):
    fixed = X.copy()
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        grad(chain)(fixed, Y)
    short = X.copy()
    with pytest.raises(IndexError):
        grad(chain)(short, Y[:3])
    plain = X.copy()
    with pytest.raises(IndexError):
        chain(plain, Y[:3])
    assert np.array_equal(short, plain)


# -- where memory is shared ----------------------------------------------------------------------------------


def test_two_arguments_in_one_memory_are_refused():
    base = np.arange(9.0)
    with pytest.raises(MutationError, match="two arguments share memory"):
        grad(chain)(base[:5], base[4:])


def test_a_second_name_of_the_argument(runs):
    def f(u):
        v = u if u[0] > 0 else u.copy()
        v[1] *= 3.0
        return u @ v

    np.testing.assert_allclose(grad(f)(X.copy()), 2 * X * [1, 9, 1, 1, 1])
    assert len(runs) == 1


def test_a_global_that_is_the_argument(runs):
    table = WEIGHTS.copy()

    def f(u):
        u[0] = u[1] * u[2]
        return np.sum(NAMES["table"] * u)

    def g(u):
        u[0] = u[1] * u[2]
        return np.sum(table * u)

    NAMES = {"table": table}
    _, b, c, d, e = table
    expected = [0.0, 2 * b + 2 * b * c * c, 2 * c + 2 * b * b * c, 2 * d, 2 * e]
    for each in (f, g):
        table[:] = WEIGHTS
        np.testing.assert_allclose(grad(each)(table), expected)
    assert len(runs) == 2


@pytest.mark.parametrize("held", [lambda u: [u], lambda u: (u, 1.0), lambda u: {0: u}])
def test_a_container_that_has_the_argument(held):
    def f(u, container):
        u[0] = u[1] * u[1]
        return container[0].sum()

    u = X.copy()
    np.testing.assert_allclose(grad(f)(u, held(u)), [0.0, 1 + 2 * X[1], 1, 1, 1])


def test_an_object_that_has_the_argument():
    class Box:
        pass

    def f(u, box):
        u[0] = u[1] * u[1]
        return box.a.sum()

    box = Box()
    box.a = X.copy()
    np.testing.assert_allclose(grad(f)(box.a, box), [0.0, 1 + 2 * X[1], 1, 1, 1])


def test_apart():
    base = np.zeros((4, 6))
    assert apart(1, base[:, 0], base[:, 1])  # interleaved
    assert apart(2, base[:2], base[2:], np.zeros(3))
    assert not apart(1, base[0], base)
    assert not apart(2, base, np.zeros(3), base[:, :1])
    assert apart(1, base.T) and apart(1, base[::-1, ::2]) and apart(1, np.zeros((0, 3)))
    assert not apart(1, as_strided(np.zeros(6), (3, 4), (8, 8)))
    assert not apart(1, as_strided(np.zeros(6), (3,), (0,)))
