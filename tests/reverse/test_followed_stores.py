"""Stores into arrays that the program made itself: compiled, with a shadow a array
(`programs/followed.py`)."""

import numpy as np
import pytest

from ctxdispatch import code_adjoint, grad, hessian, jvp, value_and_grad, vjp
from ctxdispatch_contexts.recording import api
from tests.behaviours.followed_programs import (
    FOLLOWED,
    NOT_FOLLOWED,
    X,
    differences,
    held,
    in_a_closure,
    in_a_list,
)


@pytest.fixture
def compiled(monkeypatch):
    """No program may be recorded instead."""

    def refuse(function, *args):
        raise AssertionError(f"{function} was recorded")

    monkeypatch.setattr(api, "joint", refuse)
    monkeypatch.setattr(api, "split", refuse)


@pytest.fixture
def recorded(monkeypatch):
    """How often a program was recorded."""
    runs = []
    plain = api.joint

    def count(*args):
        runs.append(args)
        return plain(*args)

    monkeypatch.setattr(api, "joint", count)
    return runs


@pytest.mark.every(3)
@pytest.mark.parametrize("f", FOLLOWED, ids=lambda f: f.__name__)
def test_followed(f, compiled):
    x = X.copy()
    value, gradient = value_and_grad(f)(x)
    assert value == pytest.approx(f(X), rel=1e-14)
    assert gradient == pytest.approx(differences(f, X), rel=1e-6, abs=1e-8)
    assert np.array_equal(x, X)


@pytest.mark.every(3)
@pytest.mark.parametrize("f", FOLLOWED, ids=lambda f: f.__name__)
def test_the_pullback_may_be_called_again(f, compiled):
    value, pull = vjp(f, X)
    first, second = pull(1.0)[0], pull(2.0)[0]
    assert second == pytest.approx(2.0 * first, rel=1e-14)
    assert first == pytest.approx(differences(f, X), rel=1e-6, abs=1e-8)


@pytest.mark.every(9)
@pytest.mark.parametrize("f", FOLLOWED, ids=lambda f: f.__name__)
def test_second_derivatives(f):
    along = np.array([0.3, -1.0, 0.2, 0.5])
    expected = (grad(f)(X + 1e-6 * along) - grad(f)(X - 1e-6 * along)) / 2e-6
    assert jvp(grad(f), (X,), (along,))[1] == pytest.approx(expected, rel=1e-5, abs=1e-7)
    again = grad(lambda x: grad(f)(x) @ along)
    assert again(X) == pytest.approx(expected, rel=1e-5, abs=1e-7)
    assert hessian(f)(X) @ along == pytest.approx(expected, rel=1e-5, abs=1e-7)


@pytest.mark.every(3)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("f", FOLLOWED, ids=lambda f: f.__name__)
def test_dtypes(f, dtype):
    found = grad(f)(X.astype(dtype))
    assert found.dtype == dtype
    assert found == pytest.approx(differences(f, X), rel=1e-4 if dtype is np.float32 else 1e-6, abs=1e-5)


def test_the_result_is_an_array_that_was_stored_to(compiled):
    def f(x):
        a = np.zeros(3)
        a[1:] = x[:2] * x[2]
        return a

    y, pull = vjp(f, X)
    y[:] = 7.0
    assert pull(np.array([1.0, 2.0, 3.0]))[0] == pytest.approx([2.6, 3.9, 2 * 0.7 - 3 * 0.4, 0.0])


def test_a_part_is_the_result(compiled):
    def f(x):
        a = np.zeros(4)
        a[1:3] = x[:2] * x[2]
        return a[2:]

    _, pull = vjp(f, X)
    assert pull(np.array([1.0, 2.0]))[0] == pytest.approx([0.0, 1.3, -0.4, 0.0])


# -- seen by another name: not followed, and right all the same ----------------------------------------------


@pytest.mark.every(3)
@pytest.mark.parametrize("f", NOT_FOLLOWED, ids=lambda f: f.__name__)
def test_seen_by_another_name(f, recorded):
    assert grad(f)(X) == pytest.approx(differences(f, X), rel=1e-6, abs=1e-8)
    # the compiler sees through a cell, a tuple, and a list that is the function's own
    assert len(recorded) == (f not in (in_a_closure, held, in_a_list))


# -- what a sweep keeps --------------------------------------------------------------------------------------


def stencil(x):
    u = x.copy()
    for _ in range(3):
        u[1:-1] += 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return u.sum()


def nonlinear(x):
    u = x.copy()
    for _ in range(3):
        u[1:-1] += 0.1 * np.sin(u[2:])
    return u.sum()


def test_only_what_the_sweep_reads_is_copied():
    assert "append" not in code_adjoint(stencil)(X)
    assert code_adjoint(nonlinear)(X).count("append") == 1
