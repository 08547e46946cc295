"""The names under which runs have left numbers and arrays in objects that outlive them.

    m.value = v        the attribute `value` of type(m)
    memo["sin"] = v    the item "sin", and the variable `memo` of this file
    m.kept.append(v)   the attribute `kept` of any class

A program takes what it reads for constants. Once a run has left something, calls of programs that read more
than numbers and arrays that they are given ask whether what is left is in their reach (`left_reads.py`: it
may have been put elsewhere since), and are recorded if so: such runs know whether it is what they read
(`recording/left.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple


class Name(NamedTuple):
    """`of`: an attribute's class, None for any; a variable's file; of an item, nothing."""

    kind: str
    name: str
    of: Any = None


def attribute(name: str, cls: type | None = None) -> Name:
    return Name("attribute", name, cls)


def variable(name: str, file: str) -> Name:
    return Name("variable", name, file)


def item(key: str) -> Name:
    return Name("item", key)


ANYTHING = Name("anything", "")
"""What code reads that is called as it is."""
Names = frozenset[Name]

_LEFT: dict[Hashable, Names] = {}
"""By what was left."""
_THERE: Counter[Name] = Counter()
"""How often."""

TOLD: list[Callable[[], None]] = []
"""Called when a run leaves something for the first time."""
_told = False


def enter(key: Hashable, names: Iterable[Name]) -> None:
    """Something was left under these names, and those that are known of it."""
    global _told
    before = _LEFT.get(key, frozenset[Name]())
    found = frozenset(names) | before
    _LEFT[key] = found
    for name in found - before:
        _THERE[name] += 1
    if not _told:
        _told = True
        for tell in TOLD:
            tell()


def was_left() -> bool:
    """Something was, once: it need not be there any more."""
    return _told


def drop(key: Hashable) -> None:
    """It is gone."""
    for name in _LEFT.pop(key, ()):
        _THERE[name] -= 1
        if not _THERE[name]:
            del _THERE[name]


def is_left(values: Iterable[Any]) -> bool:
    """One of them is what was left."""
    return bool(_LEFT) and not _LEFT.keys().isdisjoint(map(id, values))


def anything_left() -> bool:
    return bool(_LEFT)


def may_be_there(names: Iterable[Name]) -> bool:
    """Something was left under one of these names."""
    return bool(_LEFT) and meet(names, _THERE)


def meet(names: Iterable[Name], others: Iterable[Name]) -> bool:
    """One of either may be the same."""
    return any(_same(a, b) for b in [*others] for a in names)


def _same(a: Name, b: Name) -> bool:
    if ANYTHING in (a, b):
        return True
    return a[:2] == b[:2] and (a.of is None or b.of is None or a.of == b.of)
