"""Memory that C code reaches out of sight: what has escaped, and what may show it.

    m = memoryview(a); a[0] = t; m[0]          tree = cKDTree(p, copy_data=False); p[0, 0] = t; tree.query(q)

A run knows what happens to an array by its own names and views. An object of C code that was given the array,
or an address in it, shows what is there by then, and nothing follows from that. So

    expose      an array that C code may have kept, or whose address was taken, has *escaped*
    reading     once what is differentiated has been stored into an array, an object of C code that reaches
                it, or may (of what is not known, where the array has escaped, or was there before the run),
                gives no numbers: they are refused. Nor does it change memory that the run has read

`programs/c_objects.py` says which code, and which objects.
"""

from __future__ import annotations

import ctypes
import functools
import types
import weakref
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ctxdispatch.dispatch.holding import held_by
from ctxdispatch.dispatch.reach import natively
from ctxdispatch.dispatch.strip import Untagging, gives_items, is_iterator
from ctxdispatch_contexts.programs.c_objects import (
    SHOWN,
    gives_away,
    is_opaque,
    reached,
    shows,
    takes_address,
)
from ctxdispatch_contexts.programs.errors import MissingRuleError, described, user_frame, user_position
from ctxdispatch_contexts.recording import memory, places
from ctxdispatch_contexts.recording.leaves import NUMBERS, leaves

# -- what a run knows of it ----------------------------------------------------------------------------------


class Escaped:
    """Of one run: the arrays that have escaped, by their owners."""

    def __init__(self) -> None:
        self._owners: dict[int, weakref.ref[Any]] = {}
        self._outside: tuple[int, bool] = (0, False)
        self.views: list[Any] = []
        """Iterators that the run has made, whose items lie in their operands' memory."""

    def __bool__(self) -> bool:
        return bool(self._owners)

    def expose(self, values: Any) -> None:
        for part in leaves(values):
            if issubclass(type(part), np.ndarray):
                of = memory.owner(part)
                self._owners[id(of)] = weakref.ref(of)

    def alive(self) -> list[Any]:
        return [of for each in self._owners.values() if (of := each()) is not None]

    def by(self, callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """callee(*args, **kwargs) is called, of which nothing is known."""
        if gives_away(callee, args):
            self.expose((args, kwargs))

    def given_to(self, owner: Any, values: Any) -> None:
        """An attribute of `owner` is set."""
        if is_opaque(type(owner)):
            self.expose(values)

    def is_unsafe(self, record: Any) -> bool:
        """What is differentiated is where C code may find it: in what has escaped, or it was stored into what
        was there before the run."""
        written = record.memory.written
        if any(map(record.memory.is_active, self.alive())):
            return True
        known, outside = self._outside
        if known != len(written):
            outside = _are_held(written)
            self._outside = len(written), outside
        return outside


def _are_held(owners: list[Any]) -> bool:
    """By attributes, variables, containers: not by the names of a function that runs alone."""
    frame = user_frame()
    if frame is None:
        return True
    wanted = set(map(id, owners))
    held = places.search(places.frames_of_run(frame)).everything()
    return any(issubclass(type(v), np.ndarray) and id(memory.owner(v)) in wanted for v in held)


# -- reading -------------------------------------------------------------------------------------------------


@natively
def concerned(record: Any, values: Iterable[Any]) -> list[Any]:
    """Those of the operands of a call that may show what the run has stored."""
    given = [*values]
    found = [value for value in _opaque(given) if not issubclass(type(value), type)]
    if given and issubclass(type(given[0]), ctypes._CFuncPtr):  # it may ask for `_as_parameter_`
        found += [v for v in given[2:] if type(v) not in _PLAIN]
    return [v for v in found if _shows(record, v)] if found else found


def _opaque(values: Iterable[Any], depth: int = 3) -> Iterator[Any]:
    for value in values:
        cls = type(value)
        if cls in _PLAIN:
            continue
        if _is_calm(cls):
            if takes_address(value):
                yield value
            continue
        if depth and (cls in (list, tuple) or is_iterator(value)):
            yield from _opaque(value if cls in (list, tuple) else held_by(value), depth - 1)
        if cls in (list, tuple):
            continue
        if (is_opaque(cls) and not shows(cls)) or takes_address(value):
            yield value


@functools.lru_cache(4096)
def _is_calm(cls: type) -> bool:
    """Its objects show no memory of others, nor hold or give what does."""
    return not (cls in (list, tuple, Untagging) or gives_items(cls) or is_opaque(cls))


_PLAIN = frozenset({float, int, bool, str, types.NoneType, np.ndarray, np.float64, slice, types.FunctionType})


def _shows(record: Any, value: Any) -> bool:
    if any(map(record.is_active, reached(value))):
        return True
    return not issubclass(type(value), SHOWN) and record.escaped.is_unsafe(record)


def checked(record: Any, callee: Any, through: bool, run: Any, showing: list[Any], given: Any) -> Any:
    """run(), where `given` are its operands, and some of them may show what is differentiated. `through`: it
    goes through their items."""
    arrays = [a for value in showing for a in reached(value) if issubclass(type(a), np.ndarray)]
    before = [(of, of.tobytes()) for a in arrays if record.memory.find(a) for of in (memory.owner(a),)]
    out = run()
    if memory.changed(before) or (before and getattr(callee, "__name__", "") in _STORES):
        raise _refusal(showing[0], "stores into memory that the run has read")
    through = through and not all(any(v is view for view in record.escaped.views) for v in showing)
    if through or _acts(callee, out) or _has_numbers(record, out, given):
        raise _refusal(
            showing[0],
            "may give numbers out of memory into which a value that depends on what is differentiated has "
            "been stored",
        )
    record.escaped.expose((out,))
    return out


_STORES = ("setitem", "__setitem__")


def _acts(callee: Any, out: Any) -> bool:
    """A method of an object that is not known, which may store what it computes: it returns nothing, or it is
    a function of another library, which ctypes calls."""
    owner = getattr(callee, "__objclass__", None) or type(getattr(callee, "__self__", callee))
    if out is not None and not issubclass(owner, ctypes._CFuncPtr):
        return False
    return is_opaque(owner) and not issubclass(owner, SHOWN)


@natively
def _has_numbers(record: Any, out: Any, given: Any) -> bool:
    """Others than the operands, that depend on nothing as far as the run knows."""
    if issubclass(type(out), (bytes, bytearray)):
        return True
    known = set(map(id, leaves(given)))
    new = [leaf for leaf in leaves(out) if id(leaf) not in known]
    return any(_is_number(leaf) and not record.is_active(leaf) for leaf in new)


def _is_number(leaf: Any) -> bool:
    return issubclass(type(leaf), NUMBERS) or (issubclass(type(leaf), np.ndarray) and leaf.dtype.kind in "fc")


def _refusal(value: Any, what: str) -> MissingRuleError:
    return MissingRuleError(
        f"an object of C code ({described(type(value))}) {what}, where that is not followed; read the array "
        "itself, or make the object of a copy (`a.copy()`)",
        user_position(),
    )
