"""What runs leave in objects that outlive them, and that later runs would take for constants.

    self.value = v      memo[key] = v      kept.append(v)      global last      buffer[:] = v

A run notes what is put where. When it ends, the numbers and arrays that depend on what was differentiated, in
objects that are alive still, are *left*; so are arrays made before it, if it has stored into them. Later runs
follow them as they do arguments, and refuse where their result depends on one. They are told by identity,
arrays by what they hold too: what others have put in their place is a constant.

A number cannot be weakly referenced: of these the last `MOST` are known.
"""

from __future__ import annotations

import functools
import sys
import weakref
import zlib
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from types import CellType
from typing import Any, NamedTuple

import numpy as np

from ctxdispatch.dispatch.reach import lookup, natively
from ctxdispatch.dispatch.where import position_in
from ctxdispatch.facts import Fact
from ctxdispatch.ir import primitives
from ctxdispatch.ir.leaves import is_ours
from ctxdispatch.ir.registry import Registry
from ctxdispatch_contexts.programs import left_names
from ctxdispatch_contexts.programs.errors import MissingRuleError, Place, left_here, place
from ctxdispatch_contexts.recording import hidden, memory, places
from ctxdispatch_contexts.recording.leaves import NUMBERS, leaves

MOST = 500


class Left(NamedTuple):
    """`at`: where it was put there; `held`: of an array, what it held."""

    value: Any
    at: Place
    held: int = 0


class Note(NamedTuple):
    """What was put where, under which name, if it has one."""

    owner: Any
    value: Any
    name: Any
    at: Place


_NUMBERS: OrderedDict[int, Left] = OrderedDict()
_ARRAYS: dict[int, Left] = {}
"""By identity; of arrays weak references to those that own their memory."""


def note(record: Any, fact: Fact, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """args[0] keeps some of its operands."""
    values = fact.keeps.of((*args, *kwargs.values()), tuple(kwargs))
    for value in values:
        put(record, args[0], value, args[1] if len(args) > 2 else None)


def put(record: Any, owner: Any, value: Any, name: Any = None) -> None:
    """owner.name = value, owner[name] = value"""
    if type(value) not in _NOTHING and not record.closed and not (_is_own(owner) or _is_own(value)):
        record.kept.append(Note(owner, value, name, place()))


def _is_own(value: Any) -> bool:
    """A run within this one keeps books."""
    return is_ours(type(value).__module__)


def cached(record: Any, args: tuple[Any, ...], out: Any) -> None:
    """getattr(*args) has given `out`, which a `cached_property` keeps."""
    if issubclass(type(lookup(type(args[0]), args[1], None)), functools.cached_property):
        put(record, args[0], out, args[1])


RULES: Registry[Any] = Registry()


@RULES.of(primitives.store_global)
def _store_global(ctx: Any, namespace: dict[str, Any], name: str, value: Any) -> None:
    primitives.store_global(namespace, name, value)
    put(ctx.record, namespace, value, name)


@RULES.of(primitives.cell_set)
def _cell_set(ctx: Any, cell: CellType, value: Any) -> None:
    primitives.cell_set(cell, value)
    put(ctx.record, cell, value)


_NOTHING = frozenset({int, bool, str, bytes, type(None), type(note), type})
"""There is nothing in it that has a derivative."""


@natively
def leave(record: Any) -> None:
    """The run has ended."""
    notes = Counter(id(note.owner) for note in record.kept)
    while record.kept:
        owner, value, name, at = record.kept.pop()
        notes[id(owner)] -= 1
        # Beside the notes: the variable here, and the operand of `getrefcount`.
        if sys.getrefcount(owner) - notes[id(owner)] > 2:
            for part in filter(record.is_active, _parts(value)):
                _enter(part, at, owner, name)
    for array, at in record.memory.stored_outside():
        _enter(array, at, None, None)


def _parts(value: Any) -> Iterable[Any]:
    container = issubclass(type(value), (np.ndarray, *NUMBERS, list, tuple, dict))
    return leaves(value) if container else hidden.held([value], _PARTS)


_PARTS = 1000
"""Of an object, so many are looked at."""


def _enter(value: Any, at: Place, owner: Any, name: Any) -> None:
    value = memory.owner(value) if isinstance(value, np.ndarray) else value
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "fc":
            return  # memory that is read as numbers of another kind, or objects: those by themselves
        of = weakref.ref(value, functools.partial(_gone, id(value)))
        _ARRAYS[id(value)] = Left(of, at, _digest(value))
    else:
        _NUMBERS.pop(id(value), None)
        _NUMBERS[id(value)] = Left(value, at)
        if len(_NUMBERS) > MOST:
            left_names.drop(_NUMBERS.popitem(last=False)[0])
    left_names.enter(id(value), _names(owner, name, at))


def _gone(key: int, reference: Any) -> None:
    _ARRAYS.pop(key, None)
    left_names.drop(key)


def _names(owner: Any, name: Any, at: Place) -> set[left_names.Name]:
    """Those that tell where it is: its own, and those in the line, where it is put into something else."""
    if type(name) is str and not isinstance(owner, dict):
        return {(name, type(owner))}
    line = set[str]() if at is None else places.named(places.original(at[0]), position_in(*at).line)
    return {(each, None) for each in (*line, *([name] if type(name) is str else ()))}


def _digest(array: Any) -> int:
    """Of what it holds: of many elements some, for what is taken for unchanged is only followed."""
    step = max(array.size // _SAMPLED, 1)
    return zlib.crc32(np.ascontiguousarray(array.reshape(-1)[::step]).tobytes())


_SAMPLED = 1000


@natively
def follow(record: Any, args: Iterable[Any]) -> None:
    """The run begins, with these arguments: what is one of them is meant to be what it is."""
    given = {id(memory.owner(a) if isinstance(a, np.ndarray) else a) for a in args}
    for left in _still_there() if _NUMBERS or _ARRAYS else ():
        if id(left.value) not in given and not record.is_active(left.value):
            record.suspects.left[id(left.value)] = left
            record.follow_left(left.value)


def _still_there() -> Iterator[Left]:
    yield from [*_NUMBERS.values()]
    for left in [*_ARRAYS.values()]:
        array = left.value()
        if array is not None and _digest(array) == left.held:
            yield left._replace(value=array)


def error(left: Left) -> MissingRuleError:
    return left_here(None if left.at is None else position_in(*left.at))
