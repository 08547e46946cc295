"""Jacobians and Hessians of programs with `try` and `with`: compiled where nothing is raised, recorded where
something is, and what they change is changed once."""

import contextlib
import threading

import numpy as np
import pytest

from ctxdispatch import explain, grad, hessian, hvp, jacfwd, jacobian
from tests.behaviours.mutation_checks import central

X = np.array([0.7, 1.3, 0.4])
LOG, LOCK = [], threading.Lock()


class Counted:
    entered = 0

    def __enter__(self):
        Counted.entered += 1
        return 2.0

    def __exit__(self, *error):
        return error[0] is ValueError


@contextlib.contextmanager
def scaled(k):
    yield k * 3.0


def tried(x):
    try:
        y = np.sin(x).sum()
    except ValueError:
        y = 0.0
    return y**2


def silent(x):
    with np.errstate(all="ignore"):
        y = np.exp(x).sum()
    return y**2


def locked(x):
    with LOCK:
        return (x**3).sum()


def entered(x):
    with Counted() as k:
        return (x**3).sum() * k * Counted.entered


def generated(x):
    with scaled(x[0]) as k:
        return (x**2).sum() * k


def noted(x):
    try:
        LOG.append(len(LOG))
        y = (x**3).sum() * len(LOG)
    finally:
        LOG.append(-1)
    return y


def raises_sometimes(x):
    try:
        if x[0] > 1.0:
            raise ValueError
        y = (x**3).sum()
    except ValueError:
        y = (x**4).sum() * x[1]
    return y


def raises_always(x):
    with Counted():
        y = (x**3).sum()
        LOG.append(1.0)
        raise ValueError
    return y * x[0] * len(LOG)


def looks_up(x):
    y = 0.0
    for key in ("a", "b"):
        try:
            y = y + {"a": x[0] ** 3}[key]
        except KeyError:
            y = y * x[1]
    return y


PROGRAMS = [
    tried, silent, locked, entered, generated, noted, raises_sometimes, raises_always, looks_up,
]  # fmt: skip
MODES = {
    "jacfwd": lambda f, x: jacfwd(f)(x),
    "jacobian": lambda f, x: jacobian(lambda x: f(x) * np.ones(2))(x)[0],
    "jacobian of a gradient": lambda f, x: jacobian(grad(f))(x),
    "hessian": lambda f, x: hessian(f)(x),
    "hvp": lambda f, x: hvp(f, (x,), (np.eye(3)[0],)),
    "jacfwd twice": lambda f, x: jacfwd(jacfwd(f))(x),
}


def reset():
    LOG.clear()
    Counted.entered = 0


def plain(f, x):
    reset()
    return f(x)


def gradient(f, x):
    return central(lambda x: plain(f, x), x)


def second(f, x, h=1e-4):
    rows = np.eye(3) * h
    return np.array([(gradient(f, x + e) - gradient(f, x - e)) / (2 * h) for e in rows])


@pytest.mark.every(4)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_what_is_changed(f, mode):
    for x in (X, X, X + 0.5, X):
        wanted = gradient(f, x) if mode in ("jacfwd", "jacobian") else second(f, x)
        wanted = wanted[0] if mode == "hvp" else wanted
        plain(f, x)
        left = [*LOG], Counted.entered
        reset()
        np.testing.assert_allclose(MODES[mode](f, x), wanted, rtol=1e-3, atol=1e-3)
        assert ([*LOG], Counted.entered) == left


@pytest.mark.parametrize("take", [jacfwd, jacobian, hessian])
@pytest.mark.parametrize("f", [tried, silent])
def test_they_are_compiled(f, take):
    for _ in range(3):
        derivative = take(f)
        derivative(X)
    assert explain(derivative)(X).regions[0].tier.startswith("compiled")
