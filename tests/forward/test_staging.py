"""Derivatives along the same seeds at many points: what depends on the seeds alone is computed once, and once
more where what it was computed from has changed."""

import numpy as np
import pytest

from ctxdispatch import jvp
from ctxdispatch_contexts.forward import BlockDerivative

X = np.array([0.3, 0.7, 1.1, 0.2])
SEEDS = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
scale = 3.0


def agrees(block, f, x=X):
    np.testing.assert_allclose(block(x), [jvp(f, (x,), (seed,))[1] for seed in SEEDS], rtol=1e-14)
    return True


def shifted(x):
    return np.roll(x, 1) * scale + x * x


def online(block):
    """How many arrays are kept, and so not computed again."""
    (staged,) = block._staged.values()
    return sum(isinstance(kept, np.ndarray) for kept in staged._kept)


def test_what_depends_on_the_seeds_alone_is_kept():
    block = BlockDerivative(shifted, 0, SEEDS)
    assert agrees(block, shifted) and agrees(block, shifted, 2.0 * X)
    assert online(block) >= 1


def test_a_global_number_that_changes(monkeypatch):
    block = BlockDerivative(shifted, 0, SEEDS)
    assert agrees(block, shifted)
    monkeypatch.setitem(globals(), "scale", 5.0)
    assert agrees(block, shifted)
    monkeypatch.setitem(globals(), "scale", 5)
    assert agrees(block, shifted)


def test_a_captured_number_that_changes():
    def make():
        factor = 3.0

        def f(x):
            return np.roll(x, 1) * factor + x * x

        def change(to):
            nonlocal factor
            factor = to

        return f, change

    f, change = make()
    block = BlockDerivative(f, 0, SEEDS)
    assert agrees(block, f) and online(block) >= 1
    for to in (5.0, 5, -1.0):
        change(to)
        assert agrees(block, f)


def test_a_number_that_the_function_changes_itself():
    calls = 0

    def f(x):
        nonlocal calls
        calls = calls + 1
        return np.roll(x, 1) * calls

    block = BlockDerivative(f, 0, SEEDS)
    for n in (1, 2, 3):
        dy = block(X)
        assert calls == n
        np.testing.assert_array_equal(dy, n * np.roll(SEEDS, 1, axis=1))


def test_captured_arrays_may_change_in_place():
    weights = np.ones(4)

    def f(x):
        return np.roll(x, 1) * weights

    block = BlockDerivative(f, 0, SEEDS)
    assert agrees(block, f)
    weights[:] = 2.0
    assert agrees(block, f)


@pytest.mark.parametrize("x", [np.arange(4.0), X[::-1], X.reshape(2, 2).T.reshape(-1)])
def test_other_arguments(x):
    block = BlockDerivative(shifted, 0, SEEDS)
    assert agrees(block, shifted) and agrees(block, shifted, x)


def test_other_arguments_of_other_types():
    def f(x, a):
        return np.roll(x, 1) * a

    block = BlockDerivative(f, 0, SEEDS)
    for a in (2.0, 2, np.float64(3.0), np.arange(4.0)):
        np.testing.assert_allclose(block(X, a), np.roll(SEEDS, 1, axis=1) * a, rtol=1e-14)


def test_what_is_kept_is_not_changed():
    def f(x):
        y = np.roll(x, 1)
        return (y * 2.0 + y) * np.sin(x) - y

    block = BlockDerivative(f, 0, SEEDS)
    for _ in range(3):
        assert agrees(block, f)
