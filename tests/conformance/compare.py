"""A mode against plain: of the tests that pass in plain, which do not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .catalog import Module
from .expected import Expected, stale
from .modes import BASELINE
from .store import FINISHED, Result, Store

PASSING = frozenset({"pass", "xfail"})
"""A test that is expected to fail by CPython itself passes by failing."""


@dataclass
class Comparison:
    """One module under one mode; `failures` maps the ids of new failures to what became of them."""

    module: Module
    mode: str
    status: str
    passing: int
    failures: dict[str, str] = field(default_factory=dict)
    expected: dict[str, str] = field(default_factory=dict)
    stale: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    text: str = ""

    @property
    def unexpected(self) -> dict[str, str]:
        return {test: became for test, became in self.failures.items() if test not in self.expected}


def passing(plain: Result) -> list[str]:
    """Nothing where plain itself did not come to its end: there is nothing to compare with."""
    return [t for t, o in plain.outcomes.items() if o in PASSING] if plain.status in FINISHED else []


def failures(plain: Result, other: Result) -> dict[str, str]:
    """A module that did not come to its end fails as a whole: its single results are not to be relied on."""
    if other.status not in FINISHED:
        return dict.fromkeys(passing(plain), other.status)
    became = {test: other.outcomes.get(test, "missing") for test in passing(plain)}
    return {test: outcome for test, outcome in became.items() if outcome not in PASSING}


def compare(module: Module, plain: Result, other: Result, entries: Iterable[Expected]) -> Comparison:
    entries = list(entries)
    new = failures(plain, other)
    known = {
        test: entry.reason for test in new for entry in entries
        if entry.concerns(other.mode, module.name) and entry.matches(test)
    }  # fmt: skip
    return Comparison(
        module, other.mode, other.status, len(passing(plain)), new, known,
        stale(entries, other.mode, module.name, new), other.refused, other.text,
    )  # fmt: skip


def comparisons(
    store: Store, modules: Iterable[Module], modes: Iterable[str], entries: Iterable[Expected]
) -> list[Comparison]:
    """Of everything that has results in both."""
    entries = list(entries)
    found = []
    for mode in modes:
        for module in modules:
            plain, other = store.load(BASELINE, module.name), store.load(mode, module.name)
            if plain is not None and other is not None:
                found.append(compare(module, plain, other, entries))
    return found
