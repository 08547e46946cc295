"""Behaviour 72: what is computed again, and that it is the same again."""

import random

import numpy as np
import pytest

from ctxdispatch import checkpoint, grad, hessian, jvp, vjp
from ctxdispatch_contexts.reverse import DerivativeError

X = np.array([1.0, 2.0, 3.0])


def dropped(x):
    return x * (np.random.rand(3) < 0.5) * random.random()


def seeded(f, *args):
    np.random.seed(1)
    random.seed(1)
    found = f(*args)
    return found, np.random.rand(), random.random()


def test_072_random_numbers_are_the_same_again():
    found, *after = seeded(grad(lambda x: (checkpoint(dropped)(x) * x).sum()), X)
    expected, *plainly = seeded(grad(lambda x: (dropped(x) * x).sum()), X)
    np.testing.assert_allclose(found, expected)
    assert after == plainly


def test_072_a_generator_among_the_arguments():
    def noisy(x, rng):
        return x * rng.normal(size=3)

    def f(x, rng):
        return (checkpoint(noisy)(x, rng) * x).sum()

    noise = np.random.default_rng(0).normal(size=3)
    np.testing.assert_allclose(grad(f)(X, np.random.default_rng(0)), 2 * X * noise)


UNSEEN = np.random.default_rng(0)


def reads(x):
    return x * x * UNSEEN.normal()


def test_072_another_result_is_refused():
    pullback = vjp(lambda x: checkpoint(reads)(x), 3.0)[1]
    with pytest.raises(DerivativeError, match="test_checkpoints.py.*reads is checkpointed, and gave another"):
        pullback(1.0)


def test_072_arguments_that_it_changes_are_refused():
    def doubles(x):
        x *= 2.0
        return (x * x).sum()

    def f(x):
        y = x + 0.0
        return checkpoint(doubles)(y)

    with pytest.raises(DerivativeError, match=r"test_checkpoints.py:\d+ in .*doubles"):
        grad(f)(X)


def part(x):
    return np.sin(x) * x


def both(x):
    return checkpoint(part)(x) * checkpoint(part)(x * x)


def test_072_checkpoints_in_checkpoints():
    def f(x):
        return checkpoint(both)(x).sum()

    def plain(x):
        return (part(x) * part(x * x)).sum()

    np.testing.assert_allclose(grad(f)(X), grad(plain)(X))
    np.testing.assert_allclose(hessian(f)(X), hessian(plain)(X))
    assert jvp(f, (X,), (X,)) == jvp(plain, (X,), (X,))


class Runs:
    count = 0


def counted(x):
    Runs.count += 1
    return x * x


POLICIES = {"nothing": ("nothing", 2), "everything": ("everything", 1), "f": (lambda f: f is counted, 1)}


@pytest.mark.parametrize("policy, times", POLICIES.values(), ids=POLICIES)
def test_072_policies(policy, times):
    Runs.count = 0
    assert grad(lambda x: checkpoint(counted, policy)(x) * x)(2.0) == 12.0
    assert Runs.count == times


def test_072_a_policy_that_there_is_not():
    with pytest.raises(DerivativeError, match=r"test_checkpoints.py:\d+ .*'dots'"):
        checkpoint(counted, policy="dots")
