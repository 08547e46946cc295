"""At what C code looks of the objects that it is given, and so may run special methods of: by its row.

xs.append(c), isinstance(c, C)    at nothing, or it is followed     d[c], s.add(c)   at keys
sorted(xs, key=f)                 at what f returns                 {c} | s          at items, too
f(c), of which nothing is known   at all, and all that it holds
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ctxdispatch.facts import ITEMS, ORDERING, Fact, Shares, fact, fact_of, fact_on

Args = tuple[Any, ...]
Kwargs = dict[str, Any]

_FOLLOWED = fact(
    methods="iter next getitem len length_hint keys reversed getattr getattribute get setattr set delattr "
    "delete class bases instancecheck subclasscheck"
).methods
"""What is asked for items, attributes, lengths and classes runs under the context, whoever asks; likewise"""
_TRUTH = fact(methods="bool").methods
"""of an operand itself."""
HASHED = (dict, set, frozenset)
FEW = 8
"""Keys of a container that are looked at, for one may have the hash of another."""


def methods(row: Fact | None) -> bool:
    """It may run some that are not followed."""
    return row is None or bool(row.looks and row.methods - (_FOLLOWED if row.inside else _FOLLOWED | _TRUTH))


def looked_at(callee: Any, args: Args, kwargs: Kwargs) -> tuple[list[Any], list[Any]]:
    """Of its operands what it may run methods of; what, and of all that is in it."""
    operands = [*args, *kwargs.values()]
    row = fact_on(callee, args[0] if args else None)
    if row is None:
        return [], operands
    if not methods(row) or (_is_one(callee, ORDERING) and kwargs.get("key") is not None):
        return [], []
    names = tuple(kwargs)
    at, inside = row.looks.of(operands, names), row.inside.of(operands, names)
    keys: list[Any] = []
    if _HASH in row.methods and any(type(v) in HASHED for v in at):
        through = _ids(row.iterates.of(operands, names))
        tables = [v for v in at if type(v) in HASHED and id(v) not in through]
        keys = [key for table in tables if len(table) <= FEW for key in table]
        inside = [v for v in inside if id(v) not in _ids(tables)]
    within = _ids(inside)
    return [v for v in at if id(v) not in within], inside + keys


def _ids(values: Iterable[Any]) -> set[int]:
    return set(map(id, values))


_HASH = "__hash__"


def _is_one(value: Any, values: Iterable[Any]) -> bool:
    return any(value is each for each in values)


# -- what is done before -------------------------------------------------------------------------------------


def takes_index(callee: Any) -> bool:
    return _is_one(callee, ITEMS)


def asks_for_items(callee: Any) -> bool:
    """Of mappings, by their keys, which has some make them; `d[k]` makes them under the context."""
    row = fact_of(callee)
    return not takes_index(callee) and (row is None or _ITEM in row.methods)


_ITEM = "__getitem__"


def is_prepared(callee: Any, row: Fact | None) -> bool:
    """Something is done about its operands before it gets them."""
    of_text = getattr(callee, "__objclass__", None) in (str, bytes)
    return makes_class(callee) or takes_index(callee) or of_text or _hashes_items(row)


def makes_class(callee: Any) -> bool:
    """`type`, `type.__new__`, another metaclass: given a name, bases and a namespace."""
    return callee is type.__new__ or (issubclass(type(callee), type) and issubclass(callee, type))


def _hashes_items(row: Fact | None) -> bool:
    """All items of what it goes through become keys."""
    if row is None or not row.iterates or _HASH not in row.methods:
        return False
    return bool(row.keeps) or any(s.shares is Shares.COPIES for s in row.result)


def looks_up(callee: Any, row: Fact | None) -> bool:
    """It looks for its second operand in the first, or the other way round."""
    row = fact_on(callee, {}) or row
    if row is None or _HASH not in row.methods or not (row.looks.has(0) and row.inside.has(1)):
        return False
    if row.inside.has(0):
        return False  # it compares the two
    return row.may_share(Shares.ITEM, 0) or not row.stores


def makes_texts(row: Fact | None) -> bool:
    """What it returns is no item of a container."""
    return row is not None and row.known and not row.may_share(Shares.ITEM, 0)
