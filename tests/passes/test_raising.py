"""What is said to raise nothing raises nothing, at arrays of lengths and values at random."""

import itertools
import warnings

import numpy as np
import pytest

from ctxdispatch.passes import effects, numpy_types, raising, transfer
from ctxdispatch.passes.types import Any, ArrayOf, Exact

FUNCTIONS = [f for f in numpy_types.RULES if f not in numpy_types.OPERATORS and f not in numpy_types.UFUNCS]
VALUES = (0.5, -1.5, 0.0, np.nan, np.inf)


def of_rank(rank):
    return ArrayOf(np.dtype(float), (False,) * rank) if rank else Exact(float)


def drawn(rank, rng):
    value = float(rng.choice(VALUES))
    return np.full(tuple(rng.choice([0, 2, 3, 4], size=rank)), value) if rank else value


@pytest.mark.parametrize("part", range(8))
def test_on_arrays(part):
    """Some are said to raise nothing, and none of these does."""
    rng, quiet = np.random.default_rng(part), 0
    for f in FUNCTIONS[part::8]:
        for ranks in [(1,), (2,), *itertools.product((0, 1, 2), repeat=2), (1, 1, 1)]:
            types = tuple(map(of_rank, ranks))
            if transfer.call(f, types) is Any or not effects.pure(f, types):
                continue
            if raising.may_raise(f, types) or raising.fails(f, types, ()):
                continue
            quiet += any(ranks)
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                for _ in range(4):
                    f(*(drawn(rank, rng) for rank in ranks))
    assert quiet > 10


def test_orders_that_are_great():
    """Of a function that counts up to its order."""
    special = pytest.importorskip("scipy.special")
    types = tuple(map(of_rank, (2, 0)))
    assert raising.fails(special.yn, types, ()) is False
    assert raising.fails(special.yn, tuple(map(of_rank, (2, 1))), ())
