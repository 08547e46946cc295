"""functools.cache in a run: what is differentiated is not the same argument as another of the same value."""

import dataclasses
import fractions
import functools

import numpy as np
import pytest

from ctxdispatch import check_grads, grad, hessian, jacfwd, value_and_grad
from tests.recording import RECORDED
from tests.recording import recorded as on_tape

X = np.array([1.0, 1.0, 2.0, 1.0])


@dataclasses.dataclass(frozen=True)
class Point:
    value: float
    name: str = ""


class Pair(tuple):
    pass


def of_numbers(cache):
    square = cache(lambda v: v * v)
    return lambda x: sum([square(v) for v in x])


def beside_constants(cache):
    square = cache(lambda v: v * v)
    return lambda x: square(x[0]) + square(1.0) + square(float(x[1])) + square(1) + square(True)


def of_several(cache):
    product = cache(lambda v, w, *, power=1.0: v * w**2 * power**3)
    return lambda x: product(x[0], x[1]) + product(x[1], x[0]) + product(x[0], x[3], power=x[1])


def of_tuples(cache):
    first = cache(lambda pair: pair[0] * pair[0] * pair[1])
    return lambda x: first((x[0], 2.0)) + first((x[1], 2.0)) + first(Pair((x[3], 2.0)))


def of_objects(cache):
    square = cache(lambda point: point.value**2)
    return lambda x: square(Point(x[0])) + square(Point(x[1])) + square(Point(1.0))


def of_methods(cache):
    class Model:
        def __init__(self, w):
            self.w = w

        def __eq__(self, other):
            return self.w == other.w

        def __hash__(self):
            return 1

        @cache
        def loss(self, v):
            return self.w * v**2

    return lambda x: Model(x[0]).loss(1.0) + Model(x[1]).loss(1.0) + Model(x[2]).loss(x[3])


def of_the_same_object(cache):
    @cache
    def power(v, n):
        return v if n <= 1 else power(v, n // 2) * power(v, n - n // 2)

    return lambda x: power(x[0], 21) + power(x[2], 5)


KINDS = [of_numbers, beside_constants, of_several, of_tuples, of_objects, of_methods, of_the_same_object]
TWO, TYPED = functools.lru_cache(maxsize=2), functools.lru_cache(typed=True)
CACHES = [functools.cache, TWO, TYPED, functools.lru_cache]


@pytest.mark.parametrize("cache", CACHES, ids=["cache", "two", "typed", "plain"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("recorded", [False, True])
def test_derivatives(kind, cache, recorded):
    f = kind(cache)

    checked = on_tape(f) if recorded else f
    want = np.array([(kind(lambda g: g)(X + d) - kind(lambda g: g)(X - d)) / 2e-5 for d in 1e-5 * np.eye(4)])
    np.testing.assert_allclose(grad(checked)(X), want, rtol=1e-6)
    np.testing.assert_allclose(jacfwd(checked)(X), want, rtol=1e-6)


@pytest.mark.parametrize("kind", [of_numbers, of_tuples])
def test_second_derivatives(kind):
    np.testing.assert_allclose(hessian(kind(functools.cache))(X), hessian(kind(lambda g: g))(X), atol=1e-12)


def test_it_is_a_cache_for_the_same_objects():
    runs = []

    @functools.cache
    def fibonacci(v, n):
        runs.append(n)
        return v if n < 2 else fibonacci(v, n - 1) + fibonacci(v, n - 2)

    assert grad(lambda v: fibonacci(v, 20))(1.0) == 10946.0
    assert len(runs) == 21


def test_what_has_no_hash_is_no_argument():
    f = functools.cache(lambda v: np.sum(v))
    with pytest.raises(TypeError, match="unhashable"):
        grad(f)(X)


def test_whole_numbers_are_found_again():
    calls = []

    @functools.cache
    def factor(n):
        calls.append(n)
        return fractions.Fraction(n, 2)

    check_grads(lambda x: float(factor(3)) * np.sum(x**2) * float(factor(3)), (X,))
    assert calls == [3]


class Settings:
    scale = 1.0


def of_an_object(cache):
    settings = cache(Settings)
    return settings, lambda x: x[0] * settings().scale


def of_a_list(cache):
    numbers = cache(lambda n: [float(n)])

    def program(x):
        found = numbers(3)
        found[0] += 1.0
        return found[0] * x[2]

    return numbers, program


def of_the_generator(cache):
    chance = cache(np.random.default_rng)
    return chance, lambda x: chance(7).normal() * x[0]


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("cache", CACHES, ids=["cache", "two", "typed", "plain"])
@pytest.mark.parametrize("kind", [of_an_object, of_a_list, of_the_generator])
def test_where_nothing_is_differentiated_it_is_read_and_filled(kind, cache, recorded):
    (plain, want), (kept, f) = kind(cache), kind(cache)

    for step in range(3):
        if kind is of_an_object:
            plain().scale, kept().scale = step + 2.0, step + 2.0
        value, gradient = value_and_grad(on_tape(f) if recorded else f)(X)
        np.testing.assert_allclose(value, want(X))
        np.testing.assert_allclose(gradient @ X, value)
    assert kept.cache_info().misses == plain.cache_info().misses


@pytest.mark.parametrize("cache", CACHES, ids=["cache", "two", "typed", "plain"])
@pytest.mark.parametrize("key", [(2,), ("a",), (2, 3), (2.0,), ((1, 2),)])
def test_what_was_there_before_the_run_is_a_constant(cache, key):
    board = [1.0]
    read = cache(lambda *k: board[0] * 3.0)

    def program(x):
        with RECORDED:
            board[0] = x[0]
            return read(*key) * x[1]

    read(*key)
    value, gradient = value_and_grad(program)(2.0 * X)
    assert (value, program(2.0 * X)) == (6.0, 6.0)
    np.testing.assert_allclose(gradient, [0.0, 3.0, 0.0, 0.0])
    read.cache_clear()
    value, gradient = value_and_grad(program)(2.0 * X)
    np.testing.assert_allclose((value, *gradient), (12.0, 6.0, 6.0, 0.0, 0.0))


def test_attributes_of_the_function_are_no_results():
    board = [1.0]

    @functools.lru_cache
    def read(key):
        return board[0] * 2.0

    read.kind = 1

    def program(x):
        with RECORDED:
            board[0] = x[0]
            return read("kind") * x[0] + read("__doc__") * x[1]

    value, gradient = value_and_grad(program)(2.0 * X)
    assert value == 16.0
    np.testing.assert_allclose(gradient, [12.0, 4.0, 0.0, 0.0])
    assert read.cache_info().currsize == 0
