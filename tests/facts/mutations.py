"""Rows with an entry less. What the probe does not notice is there for caution, or no operands show it.

A row is often of many callables: an entry is shown if a call of one of them shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ctxdispatch.facts import Fact, Operands, Source, canonical, fact_of, table, with_rows
from ctxdispatch.facts.numpy_rows import array_fact
from tests.facts import probe

COLUMNS = ("stores", "calls", "iterates")
CAUTION = {
    "what its generator's code does is followed": r"builtins.generator.send: (stores|calls) 0",
    "what a cache or a class holds nobody sees": (
        r"functools._lru_cache_wrapper.cache_clear: stores 0|builtins.type: result copies 1"
    ),
    "sets and dicts go through others of their kind unasked": (
        r"builtins\.(dict\.__eq__|dict\.__or__|set\.isdisjoint|dict_keys): iterates [01]"
    ),
    "functions are made of code, which no operand is": (
        r"builtins\.function: result holds (globals|argdefs|closure|kwdefaults)"
    ),
    "a special method may return its object": r"builtins\.sum: result item 0",
    "what is called may hand on anything": r"numpy\.(piecewise: result|nditer: stores 0)",
    "NumPy before 2.5": r"numpy\.rot90: stores (1|k)",
    "it would write files": r"numpy\.ndarray\.tofile: stores 1",
    "an array of objects hands on what it holds": r"numpy\..*: result (item|copies) .*",
}
"""Entries that no call shows, and why they stand there."""


def mutations(row: Fact) -> Iterator[tuple[str, Fact]]:
    """Each entry of these columns and of the result, by name, and the row without it. A result that is not
    known is one entry."""
    for column in COLUMNS:
        for entry, rest in without(getattr(row, column)):
            yield f"{column} {entry}", row._replace(**{column: rest})
    if not row.known:
        yield "result", row._replace(known=True)
        return
    for i, (shares, operands) in enumerate(row.result):
        for entry, rest in without(operands):
            result = (*row.result[:i], Source(shares, rest), *row.result[i + 1 :])
            yield f"result {shares.name.lower()} {entry}", row._replace(result=result)


def without(operands: Operands) -> Iterator[tuple[str, Operands]]:
    for position in operands.positions:
        yield str(position), operands._replace(positions=_less(operands.positions, position))
    if operands.start is not None:
        yield f"{operands.start}..", operands._replace(start=None)
    for name in operands.names:
        yield name, operands._replace(names=_less(operands.names, name))


def _less(entries: tuple[Any, ...], entry: Any) -> tuple[Any, ...]:
    return tuple([e for e in entries if e != entry])


class Written(NamedTuple):
    """A row where it is written, and by how many operands that of a callable is bound."""

    label: str
    row: Fact
    bound: int

    def of(self, mutated: Fact) -> Fact:
        return mutated.bound(self.bound) if self.bound else mutated


def written(callee: Any) -> Written | None:
    function, bound = canonical(callee)
    row = fact_of(function)
    if row is None:
        return None
    cls = getattr(callee, "__self__", None)
    of_class = fact_of(cls) if getattr(callee, "__name__", "") == "__new__" else None
    if of_class is not None and of_class.bound(-1) == row:
        return Written(_label(cls, of_class), of_class, -1)
    return Written(_label(function, row), row, len(bound))


def _label(callee: Any, row: Fact) -> str:
    """What it is of: a family, or the first callable that has it. Rows may be equal and of two places."""
    if type(callee) is np.ufunc:
        return "ufuncs"
    family = next((cls for cls, each in table._FAMILIES.items() if each is row), None)
    if family is not None:
        return f"family of {family.__module__}.{family.__qualname__}"
    found = next((f for f, each in with_rows() if each is row), callee)
    owner = getattr(found, "__objclass__", None) or getattr(found, "__self__", None)
    name = getattr(found, "__qualname__", None) or getattr(found, "__name__", repr(found))
    return f"{getattr(found, '__module__', None) or getattr(owner, '__module__', None)}.{name}"


OF_ARRAYS = array_fact().iterates
"""Said once, of nearly all that NumPy has."""


def judged(outcome: probe.Outcome) -> Iterator[tuple[str, bool]]:
    """Each mutation of the row, and whether what was seen of the callable tells it from the row."""
    found, used_up = written(outcome.probed.callee), _is_used_up(outcome.probed.callee)
    for name, mutated in mutations(found.row) if found is not None else ():
        if name == "iterates 0" and not used_up:
            continue
        told = found.of(mutated)
        yield _named(found, name), any(not probe.allows(told, d) for d in outcome.demands)


def _named(found: Written, entry: str) -> str:
    """An entry where it is written: of all ufuncs once, and once what array functions go through."""
    if found.label == "ufuncs":
        entry = re.sub(r"\d+(\.\.)?", lambda at: "outputs" if at[1] else "inputs", entry)
    through = entry.startswith("iterates") and found.row.iterates == OF_ARRAYS
    return f"{'array functions' if through else found.label}: {entry}"


def _is_used_up(callee: Any) -> bool:
    """Not so the object of a method of what is no iterator: that it goes through it nobody sees."""
    owner = getattr(callee, "__objclass__", None)
    return owner is None or hasattr(owner, "__next__")


def cautious(name: str) -> bool:
    return any(re.fullmatch(pattern, name) for pattern in CAUTION.values())
