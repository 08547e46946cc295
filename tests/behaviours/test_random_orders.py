"""`shuffle` and `permutation` of NumPy's generators, of what is differentiated: the same order, and the same
state of the generator, as in a plain run."""

import numpy as np
import pytest

from ctxdispatch import grad, jacfwd
from tests.behaviours.mutation_checks import central
from tests.recording import recorded as on_tape

X = np.array([0.3, 1.2, 0.7])
WEIGHTS = np.arange(9.0).reshape(3, 3)
GENERATORS = {
    "Generator": np.random.default_rng,
    "RandomState": np.random.RandomState,
    "MT19937": lambda seed: np.random.Generator(np.random.MT19937(seed)),
}


def an_array(rng, x):
    v = x * 1.0
    rng.shuffle(v)
    return v @ WEIGHTS[0]


def rows(rng, x):
    v = np.outer(x, x**2)
    rng.shuffle(v)
    return (v * WEIGHTS).sum()


def views(rng, x):
    v = np.outer(x, x**2)
    rng.shuffle(v[1:])
    rng.shuffle(v[:, 0])
    return (v * WEIGHTS).sum()


def a_list(rng, x):
    v = list(x)
    rng.shuffle(v)
    return sum(i * a for i, a in enumerate(v))


def parts(rng, x):
    v = [x[0], x * 2, {"a": x[1]}]
    rng.shuffle(v)
    return sum(i * np.sum(a["a"] if isinstance(a, dict) else a) for i, a in enumerate(v))


def permuted_array(rng, x):
    return rng.permutation(x) @ WEIGHTS[0]


def permuted_rows(rng, x):
    return (rng.permutation(np.outer(x, x**2)) * WEIGHTS).sum()


def permuted_list(rng, x):
    return sum(i * a for i, a in enumerate(rng.permutation(list(x))))


def any_number(rng, x):
    n = {"a": 3, "b": x}["a"]
    return x[rng.permutation(n)] @ WEIGHTS[0]


def numbers(rng, x):
    return x[rng.permutation(3)] @ WEIGHTS[0]


PROGRAMS = [
    an_array, rows, views, a_list, parts, permuted_array, permuted_rows, permuted_list, numbers, any_number,
]  # fmt: skip


@pytest.mark.every(4)
@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("mode", [grad, jacfwd])
@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_derivatives(program, generator, mode, recorded):
    def f(x):
        rng = GENERATORS[generator](5)
        y = program(rng, x)
        return y * (1.0 + rng.uniform())  # which tells its state

    run = on_tape(f) if recorded else f
    for _ in range(2):
        np.testing.assert_allclose(mode(run)(X), central(f, X), rtol=1e-6)


def along_columns(method):
    def f(x):
        rng = np.random.default_rng(3)
        v = np.outer(x, x**2)
        v = rng.permutation(v, axis=1) if method == "permutation" else v
        if method == "shuffle":
            rng.shuffle(v, axis=1)
        return (v * WEIGHTS).sum() * rng.uniform()

    return f


@pytest.mark.parametrize("mode", [grad, jacfwd])
@pytest.mark.parametrize("method", ["shuffle", "permutation"])
def test_axes(method, mode):
    f = along_columns(method)
    np.testing.assert_allclose(mode(f)(X), central(f, X), rtol=1e-6)


@pytest.mark.parametrize("mode", [grad, jacfwd])
def test_of_the_module(mode):
    def f(x):
        np.random.seed(4)
        v = x * 1.0
        np.random.shuffle(v)
        return v @ np.random.permutation(x) * v[0]

    np.testing.assert_allclose(mode(f)(X), central(f, X), rtol=1e-6)
