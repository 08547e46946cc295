"""Rows of `numpy.random`: what draws changes its generator. Loaded once a program has imported that."""

from __future__ import annotations

import numpy as np

from ctxdispatch.facts.fact import Fact
from ctxdispatch.facts.numpy_rows import array_fact, methods_of
from ctxdispatch.facts.table import rows

_GENERATORS = (np.random.Generator, np.random.RandomState)
_DRAWS = array_fact(asks="repr", stores="0", effect=True, repeats=True, result="itself 1, item 1, copies 1")
_DRAWN_INTO = {"random": 3, "standard_normal": 3, "standard_exponential": 4, "standard_gamma": 4}


def _draws(cls: type, name: str) -> Fact:
    if name == "__init__":
        return array_fact(stores="0", keeps="1", effect=True, repeats=True)
    at = _DRAWN_INTO.get(name) if cls is np.random.Generator else None
    if at is None:
        return _DRAWS
    return array_fact(stores=f"0 {at} out", effect=True, repeats=True, result=f"itself {at} out", out=at)


for _cls in _GENERATORS:
    for _name, _f in vars(_cls).items():
        if callable(_f) and _name not in ("shuffle", "permuted", "bit_generator"):
            rows(_draws(_cls, _name), [_f])
    methods_of(array_fact(stores="0 1", effect=True, repeats=True, asks="setitem"), "shuffle", (_cls,))
    methods_of(
        array_fact(stores="0 out", keeps="1", effect=True, repeats=True, result="itself out"),
        "permuted", (_cls,),
    )  # fmt: skip
_SEEDED = [
    cls
    for cls in vars(np.random).values()
    if issubclass(type(cls), type) and issubclass(cls, np.random.BitGenerator)
]
rows(
    array_fact(effect=True, repeats=True, result="holds 0 seed, copies 0 seed"),
    [*_SEEDED, *_GENERATORS, np.random.SeedSequence],
)
rows(
    array_fact(effect=True, repeats=True, result="itself 0, holds 0 seed, copies 0 seed"),
    [np.random.default_rng],
)
rows(array_fact(effect=True, result="itself 0"), [np.random.seed, np.random.get_state, np.random.set_state])
