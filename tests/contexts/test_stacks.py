"""The bundled contexts, three deep, in every order: nothing breaks, and results are the plain run's.

What a context is told of within and around others is in its own tests.
"""

import functools
import itertools
import json
import math
import operator

import numpy as np
import pytest

from ctxdispatch import (
    ADContext,
    SparsityContext,
    grad,
    hessian,
    hessian_sparsity,
    jacobian_sparsity,
    overdub,
)
from ctxdispatch.contexts import installed, load

OF_VALUES = {"ADContext", "DualContext", "SparsityContext", "BroadcastContext"}
"""They return something else than the program does."""

BUNDLED = [name for name in installed() if load(name).__module__.startswith("ctxdispatch_contexts.")]
NAMES = [name for name in BUNDLED if name not in OF_VALUES]
MAKE = {
    "NaNContext": lambda cls: cls(on="record"),
    "TraceContext": lambda cls: cls(arguments=True),
    "DebugContext": lambda cls: cls.of(lambda stop: "step"),
}


def made(name):
    cls = load(name)
    return MAKE.get(name, lambda cls: cls())(cls)


def stacked(names, f, *args):
    """f under these contexts, the last the innermost."""
    call = [x for name in names for x in (overdub, made(name))]
    return call[0](*call[1:], f, *args)


class Account:
    rate = 0.05

    def __init__(self, balance):
        self.balance = balance

    def __iadd__(self, amount):
        self.balance += amount
        return self

    @property
    def interest(self):
        return self.balance * self.rate


def numbers(n):
    for k in range(n):
        yield k * 0.5


def everything(x, xs):
    account = Account(x)
    for item in numbers(3):
        account += item
    try:
        xs["missing"]
    except KeyError as error:
        name = error.args[0]
    squares = {k: math.sqrt(v) for k, v in xs.items()}
    first, *rest = sorted(xs.values(), key=lambda v: -v)
    array = np.exp(np.linspace(0.0, 1.0, 4)) @ np.ones(4)
    with np.errstate(all="ignore"):
        text = json.dumps({"a": [first, rest], name: round(account.interest, 6)})
    return text, squares, float(array), max(map(operator.neg, rest)), f"{x:.2f}"


ARGUMENTS = (2.0, {"a": 4.0, "b": 9.0, "c": 1.0})
PLAIN = everything(*ARGUMENTS)


def small(x, xs):
    account = Account(x)
    account += max(xs)
    return [account.interest, *map(math.sqrt, xs)]


@pytest.mark.parametrize("names", [*itertools.product(NAMES, repeat=1), *itertools.permutations(NAMES, 2)])
def test_one_and_two_deep(names):
    assert stacked(names, everything, *ARGUMENTS) == PLAIN


@pytest.mark.parametrize("outermost", NAMES)
def test_three_deep_in_every_order(outermost):
    for inner in itertools.product(NAMES, repeat=2):
        assert stacked((outermost, *inner), small, 2.0, [4.0, 9.0]) == small(2.0, [4.0, 9.0]), inner


@pytest.mark.parametrize("names", itertools.permutations(NAMES, 2))
def test_over_a_gradient(names):
    def f(x):
        return np.sum(np.sin(x) * x)

    x = np.array([0.5, 1.5])
    assert np.array_equal(stacked(names, grad(f), x), grad(f)(x))


@pytest.mark.parametrize("name", NAMES)
def test_within_and_around_reverse_mode(name):
    def f(x):
        return math.sin(x) * x

    y, pullback = overdub(made(name), overdub, ADContext(), f, 0.5)
    assert y == f(0.5) and pullback(1.0)[0] == grad(f)(0.5)


def chained(x, scale=2.0):
    return scale * np.sum(x[1:] ** 2 * x[:-1]) + x[0]


@pytest.mark.parametrize("f", [chained, lambda x: chained(x), lambda x: np.sum(np.sin(x))])
def test_sparsity_over_a_gradient_is_the_hessian_s_pattern(f):
    x = np.arange(1.0, 6.0)
    expected = hessian_sparsity(f, x)
    assert overdub(SparsityContext(), grad(f), x) == jacobian_sparsity(grad(f), x) == expected
    assert np.all(expected.toarray() >= (hessian(f)(x) != 0))


def test_sparsity_over_a_gradient_with_respect_to_other_arguments():
    x, scale = np.arange(1.0, 6.0), 2.0
    both = hessian_sparsity(chained, x, scale, argnums=(0, 1)).toarray()
    found = [
        overdub(SparsityContext(), grad(chained), x, scale).toarray(),
        overdub(SparsityContext(), grad(chained, argnums=1), x, scale).toarray(),
        jacobian_sparsity(grad(chained, argnums=(1, 0)), x, scale, argnums=0).toarray(),
    ]
    assert np.array_equal(found[0], both[:5]) and np.array_equal(found[1], both[5:])
    assert np.array_equal(found[2], both[[5, 0, 1, 2, 3, 4]][:, :5])

    @functools.wraps(grad(chained))
    def wrapped(x):
        return x * 2.0

    assert np.array_equal(overdub(SparsityContext(), wrapped, x).toarray(), np.eye(5, dtype=bool))
