"""What a pullback keeps, apart from what the caller gets: who changes the result in place must not change
derivatives that are still to be computed.

    y, pullback = vjp(np.exp, x);  y *= 2;  pullback(ybar)

The pullback of exp reads exp(x). A kept array that shares memory with the result is copied. What pullbacks
further in keep (of calls at run time, of the user's rules) cannot be replaced: if that may be part of the
result, or cannot be looked into, the result is copied.
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ctxdispatch.dispatch import Context
from ctxdispatch.dispatch.reach import natively
from ctxdispatch.ir.leaves import is_leaf
from ctxdispatch_contexts.programs.assigned import is_empty
from ctxdispatch_contexts.programs.containers import rebuild, with_attributes

Copy = Callable[[Any], Any]
SEQUENCES = (tuple, list, set, frozenset, deque)


def copied(array: Any) -> Any:
    return array.copy(order="K")


@natively
def apart(y: Any, kept: tuple[Any, ...], copy: Copy = copied) -> tuple[Any, tuple[Any, ...]]:
    """(y, kept), those of both copied that may not stay what they are. `copy`: how one array is."""
    given = list(_arrays_of_result(y))
    if not given:
        return y, kept
    result = Memory(given)
    inside, opaque = _inside(kept)
    if opaque:
        return _copied(y, copy, into=True), kept
    within = Memory([a for a in inside if result.touches(a)])
    own = tuple([_copied(each, _where(result, copy)) for each in kept])
    return (_copied(y, _where(within, copy), into=True) if within.starts else y), own


def _where(memory: Memory, copy: Copy) -> Copy:
    return lambda array: copy(array) if memory.touches(array) else array


class Memory:
    """The memory of some arrays, as intervals that do not overlap."""

    def __init__(self, arrays: Iterable[Any]) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        for start, end in sorted(map(np.lib.array_utils.byte_bounds, arrays)):
            if self.ends and start <= self.ends[-1]:
                self.ends[-1] = max(self.ends[-1], end)
            else:
                self.starts.append(start)
                self.ends.append(end)

    def touches(self, array: Any) -> bool:
        """`array` may share memory with one of them."""
        start, end = np.lib.array_utils.byte_bounds(array)
        at = bisect_right(self.starts, start)
        return (at > 0 and self.ends[at - 1] > start) or (at < len(self.starts) and self.starts[at] < end)


def _arrays_of_result(y: Any) -> Iterator[Any]:
    """The arrays that a caller who has `y` can reach: in containers and attributes."""
    seen: set[int] = set()
    work = [y]
    while work:
        value = work.pop()
        if isinstance(value, np.ndarray):
            yield value
        elif id(value) not in seen:
            seen.add(id(value))
            if isinstance(value, (*SEQUENCES, dict)):
                work += _items(value)
            elif not is_leaf(value) and not issubclass(type(value), (type, FunctionType, ModuleType)):
                work += vars_of(value).values()


def _items(container: Any) -> Iterable[Any]:
    return container.values() if isinstance(container, dict) else container


def vars_of(value: Any) -> dict[str, Any]:
    """The attributes of an object, those in slots too."""
    slots = [name for cls in type(value).__mro__ for name in _slots(cls)]
    found = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return found | (value.__dict__ if hasattr(value, "__dict__") else {})


def _slots(cls: type) -> tuple[str, ...]:
    slots = vars(cls).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _inside(kept: Any) -> tuple[list[Any], bool]:
    """The arrays that pullbacks among what is kept have, and whether one has something of another kind. What
    an object of the user's holds was read off it before."""
    found: list[Any] = []
    seen: set[int] = set()
    work: list[tuple[Any, bool]] = [(kept, False)]
    while work:
        value, within = work.pop()
        if isinstance(value, np.ndarray):
            found += [value] if within else []
        elif id(value) not in seen:
            seen.add(id(value))
            parts = _kept_by(value)
            if isinstance(value, (*SEQUENCES, dict)):
                work += [(item, within) for item in _items(value)]
            elif parts is not None:
                work += [(part, True) for part in parts]
            elif within and not (is_leaf(value) or issubclass(type(value), (type, Context))):
                return found, True
    return found, False


def _kept_by(value: Any) -> Iterable[Any] | None:
    """What a callable as the program makes them holds."""
    if issubclass(type(value), functools.partial):
        return (value.func, value.args, value.keywords)
    if type(value) is FunctionType:
        cells = [c.cell_contents for c in value.__closure__ or () if not is_empty(c)]
        return (*(value.__defaults__ or ()), *cells)
    if type(value) in (MethodType, BuiltinFunctionType):
        return (value.__self__,)
    return None


def _copied(value: Any, copy: Copy, *, into: bool = False) -> Any:
    """`value` with the arrays in it as `copy` gives them, in objects too with `into`; itself where none
    changes."""
    if isinstance(value, np.ndarray):
        return copy(value)
    if isinstance(value, (tuple, list)):
        items = [_copied(item, copy, into=into) for item in value]
        return value if all(map(_is, items, value)) else rebuild(value, items)
    if isinstance(value, dict):
        entries = {k: _copied(item, copy, into=into) for k, item in value.items()}
        return value if all(map(_is, entries.values(), value.values())) else entries
    if not into or is_leaf(value) or callable(value) or isinstance(value, (set, frozenset)):
        return value
    return _copied_object(value, copy)


def _copied_object(value: Any, copy: Copy) -> Any:
    if isinstance(value, deque):
        return deque([_copied(item, copy, into=True) for item in value], value.maxlen)
    attributes = vars_of(value)
    new = {name: _copied(item, copy, into=True) for name, item in attributes.items()}
    if all(map(_is, new.values(), attributes.values())):
        return value
    return with_attributes(value, new)


def _is(a: Any, b: Any) -> bool:
    return a is b
