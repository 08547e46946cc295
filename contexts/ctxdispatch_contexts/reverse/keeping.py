"""What a pullback keeps, apart from what the caller gets: who changes the result in place must not change
derivatives that are still to be computed.

    y, pullback = vjp(np.exp, x);  y *= 2;  pullback(ybar)

The pullback of exp reads exp(x). Where the result shares memory with something kept, that is copied; where
only a pullback further in keeps it, the result is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from ctxdispatch_contexts.reverse.cotangents import rebuild
from ctxdispatch_contexts.reverse.seeds import natively


@natively
def apart(y: Any, kept: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """(y, kept) without an array in common, apart from views of arguments that `y` may consist of."""
    given = list(_arrays(y, set()))
    if not given:
        return y, kept

    def shared(array: Any) -> bool:
        return any(np.may_share_memory(array, other) for other in given)

    own = tuple([_copied(each, shared) for each in kept])
    inside = [a for each in own for a in _arrays(each, set()) if shared(a)]
    if inside:
        y = _copied(y, lambda array: any(np.may_share_memory(array, other) for other in inside))
    return y, own


def _arrays(value: Any, seen: set[int]) -> Iterator[np.ndarray[Any, Any]]:
    """The arrays in `value`: in containers, in attributes, in what a pullback keeps."""
    if isinstance(value, np.ndarray):
        yield value
    elif id(value) not in seen:
        seen.add(id(value))
        for part in _parts(value):
            yield from _arrays(part, seen)


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, (tuple, list, set, frozenset)):
        return value
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, functools.partial):
        return (value.func, value.args, value.keywords)
    if isinstance(value, FunctionType):
        cells = [c.cell_contents for c in value.__closure__ or () if not _is_empty(c)]
        return (*(value.__defaults__ or ()), *cells)
    if callable(value) and hasattr(value, "__self__"):
        return (value.__self__,)
    return vars(value).values() if hasattr(value, "__dict__") and not isinstance(value, type) else ()


def _is_empty(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


def _copied(value: Any, shared: Callable[[Any], bool]) -> Any:
    """`value` with the arrays in it that are `shared` copied; itself where there are none."""
    if isinstance(value, np.ndarray):
        return value.copy(order="K") if shared(value) else value
    if isinstance(value, (tuple, list)):
        items = [_copied(item, shared) for item in value]
        return value if all(map(_is, items, value)) else rebuild(value, items)
    if isinstance(value, dict):
        entries = {k: _copied(item, shared) for k, item in value.items()}
        return value if all(map(_is, entries.values(), value.values())) else entries
    if type(value) is SimpleNamespace:
        return SimpleNamespace(**_copied(vars(value), shared))
    return value


def _is(a: Any, b: Any) -> bool:
    return a is b
