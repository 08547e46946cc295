"""Which operands a callable is called on: the likely ones first, then some by chance, the same each time."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tests.facts.callables import Probed, parameters
from tests.facts.curated import CURATED, KEYWORDS
from tests.facts.observing import Seen, observe

Makers = tuple[Callable[[], Any], ...]
Named = dict[str, Callable[[], Any]]


class Call(NamedTuple):
    makers: Makers
    named: Named
    seen: Seen


def calls(probed: Probed, tries: int) -> Iterator[Call]:
    """About so many calls."""
    chance = random.Random(zlib.crc32(probed.name.encode()))
    works: list[Makers] = []
    for makers, named in CURATED.get(probed.name, ()):
        yield Call(makers, named, _observe(probed, makers, named))
    for share, arity in zip((0.35, 0.35, 0.25, 0.15), range(0 if probed.selves else 1, 5)):
        for call in _of_arity(probed, arity, int(tries * share) + 4, chance):
            yield call
            if call.seen.returned:
                works.append(call.makers)
    yield from _with_keywords(probed, chance.sample(works, min(len(works), 3)), tries // 3, chance)
    yield from _with_out(probed, works, 2 if tries < 200 else 6)


def _observe(probed: Probed, makers: Makers, named: Named | None = None) -> Seen:
    of_numbers = _of_arrays(probed) and not probed.name.startswith("numpy.random")
    return observe(probed.callee, makers, named, objects=not of_numbers)


def _of_arrays(probed: Probed) -> bool:
    return probed.name.partition(".")[0] in ("numpy", "scipy")


_WRONG_NUMBER = re.compile(
    r"(takes|expected|missing|requires?|needs?|invalid number of) .*argument|not enough arguments"
)


def _of_arity(probed: Probed, arity: int, most: int, chance: random.Random) -> Iterator[Call]:
    wrong = 0
    for makers in _combinations(probed, arity, most, chance):
        call = Call(makers, {}, _observe(probed, makers))
        wrong += _WRONG_NUMBER.search(call.seen.message) is not None
        yield call
        if wrong > 3:
            return


def _combinations(probed: Probed, arity: int, most: int, chance: random.Random) -> Iterator[Makers]:
    pool, selves = probed.pool, probed.selves
    if arity <= 1:
        every = [(*([s] if selves else []), *rest) for s in selves or [None] for rest in _up_to(pool, arity)]
        yield from chance.sample(every, min(most, len(every)))
        return
    for _ in range(most):
        head = [chance.choice(selves)] if selves else []
        yield (*head, *_alike(pool, arity, chance))


def _up_to(pool: list[Any], arity: int) -> Iterator[tuple[Any, ...]]:
    yield from [(make,) for make in pool] if arity else [()]


def _alike(pool: list[Any], arity: int, chance: random.Random) -> list[Any]:
    """The first operands are the likely ones of the pool; often two are of one kind."""
    near = chance.randrange(len(pool))
    likely = pool[: max(len(pool) // 4, 1)]
    picks = [chance.choice(likely if chance.random() < 0.4 else pool)]
    while len(picks) < arity:
        roll = chance.random()
        picks.append(
            picks[-1]
            if roll < 0.2
            else pool[near]
            if roll < 0.3
            else chance.choice(likely if roll < 0.6 else pool)
        )
    return picks


def _with_keywords(probed: Probed, works: list[Makers], most: int, chance: random.Random) -> Iterator[Call]:
    """What works without keywords, with one; what has only keywords, with one."""
    names = parameters(probed.callee)
    known = [n for n in KEYWORDS if names is None or n in names]
    pairs = [(n, make) for n in known for make in KEYWORDS[n]]
    heads = [*works, ()] if not probed.selves else works
    tried = [(makers, {n: make}) for makers in heads for n, make in pairs]
    for makers, named in chance.sample(tried, min(most, len(tried))):
        yield Call(makers, named, _observe(probed, makers, named))


def _with_out(probed: Probed, works: list[Makers], most: int) -> Iterator[Call]:
    """Somewhere to write the result, by name and by position."""
    if not _of_arrays(probed):
        return
    done = 0
    for makers in works:
        like = _observe(probed, makers).like
        if like is None or done >= most:
            continue
        done += 1
        out = _array(*like)
        yield Call(makers, {"out": out}, _observe(probed, makers, {"out": out}))
        for missing in range(5):
            given = (*makers, *[_none] * missing, out)
            yield Call(given, {}, _observe(probed, given))


def _none() -> None:
    return None


def _array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Callable[[], Any]:
    return lambda: np.full(shape, 99, dtype) if dtype.kind in "biufc" else np.zeros(shape, dtype)
