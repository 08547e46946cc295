"""Of which type random draws are, by their parameters and their size."""

import inspect
import itertools

import numpy as np
import pytest

from ctxdispatch.passes import numpy_shapes, transfer
from ctxdispatch.passes.types import Any, Exact, Known, TupleOf, type_of
from tests.passes.covering import covers

RNG = np.random.default_rng(0)
PARAMETERS = {
    "exponential": (2.0,), "rayleigh": (1.5,), "chisquare": (2,), "standard_t": (3.0,), "gamma": (1.0, 2.0),
    "integers": (0, 5), "binomial": (5, 0.5), "poisson": (2.0,), "normal": (0, np.float64(1.0)),
    "uniform": (-1.0, 1), "laplace": (0.0, 1.0), "gumbel": (0.0, 1.0), "logistic": (0.0, 1.0),
    "lognormal": (0.0, 1.0),
}  # fmt: skip
NAMES = [f.__name__ for f in numpy_shapes.SHAPED if f.__qualname__.startswith("Generator.")]
DRAWS = [name for name in NAMES if name != "permutation"]
SIZES = [None, 0, 1, 3, (), (2,), (1, 3), (0, 2)]


def forms(value):
    """A constant, or a value of which the class is known alone."""
    if type(value) is tuple:
        yield from map(TupleOf, itertools.product(*map(forms, value)))
        return
    yield from (Known(value), Exact(type(value))) if value is not None else (Known(None),)


def test_there_are_some():
    assert len(DRAWS) > 10


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("keyword", [True, False])
def test_draws(name, size, keyword):
    f = getattr(np.random.Generator, name)
    parameters = PARAMETERS.get(name, ())
    if not keyword and len([*inspect.signature(f).parameters]) - 1 <= len(parameters):
        return
    given = parameters if keyword else (*parameters, size)
    result = f(RNG, *given, **({"size": size} if keyword else {}))
    for types in itertools.product(*[[*forms(v)] for v in given]):
        for at in forms(size) if keyword else (None,):
            found = transfer.call(f, (Exact(np.random.Generator), *types), {"size": at} if keyword else {})
            assert found is not Any and covers(found, result), (types, at)


@pytest.mark.parametrize("given", [(np.ones(3), 1.0), (0.0, np.ones(2)), ([0.0, 1.0], 1.0)])
def test_of_parameters_that_are_no_numbers_nothing_is_said(given):
    types = tuple([type_of(v) if type(v) is np.ndarray else Exact(type(v)) for v in given])
    assert transfer.call(np.random.Generator.normal, (Exact(np.random.Generator), *types)) is Any


def test_nor_of_dtypes_and_other_generators():
    generator = Exact(np.random.Generator)
    draw, make = np.random.Generator.random, np.random.default_rng
    assert transfer.call(draw, (generator, Known(3)), {"dtype": Known(np.float32)}) is Any
    assert transfer.call(draw, (Exact(np.random.RandomState), Known(3))) is Any
    assert transfer.call(make, (generator,)) is Any
    assert transfer.call(make, (Exact(int),)) == generator == transfer.call(make, ())


@pytest.mark.parametrize("of", [5, np.arange(4.0), np.ones((2, 3)), np.arange(3)])
def test_permutations(of):
    found = transfer.call(np.random.Generator.permutation, (Exact(np.random.Generator), type_of(of)))
    assert found is not Any and covers(found, RNG.permutation(of))
