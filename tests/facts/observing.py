"""What one call does to its operands: a set of `Demand`s on the row of what is called.

Operands are made anew for each call by makers, which make equals each time: so an operand after a call is
compared with a second one that was not passed. What two makings share (constants, classes) is not the
operands' own.
"""

from __future__ import annotations

import array
import functools
import gc
import io
import signal
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tests.facts.contents import Maker, Reference, contents_of, is_a, is_lazy, reached, reference
from tests.facts.operands import LOG


class Demand(NamedTuple):
    column: str
    operand: int | str
    detail: str = ""
    """Of `looks` and `inside` the method; of `result` what sharing would do; of `gives` the class; of
    `iterates` whether another operand is an array."""

    def __str__(self) -> str:
        return f"{self.column} {self.operand} {self.detail}".strip()


class Seen(NamedTuple):
    demands: set[Demand]
    returned: bool
    like: tuple[tuple[int, ...], np.dtype[Any]] | None
    """Shape and dtype of the result."""
    message: str
    """Of the error."""


class Deadline(BaseException):
    """A call took too long."""


def observe(
    callee: Any, makers: tuple[Maker, ...], named: dict[str, Maker] | None = None, objects: bool = True
) -> Seen:
    """Calls it once. `objects`: it matters what becomes of operands that are no numbers, arrays or
    containers."""
    given: dict[int | str, Maker] = {**dict(enumerate(makers)), **(named or {})}
    operands = {position: make() for position, make in given.items()}
    own = _own(operands, given)
    beside = {position for position, one in own.arrays if is_a(one, _ARRAYS)}
    counts = {position: sys.getrefcount(o) for position, o in operands.items()}
    result, message = _call(callee, operands, len(makers))
    demands = {
        demand
        for position, o in operands.items()
        for demand in _changed(position, o, reference(given[position]))
    }
    if not message:
        demands.add(Demand("gives", "", type(result).__name__))
    found = _reached(result, own)
    drained = _drained(result, own)
    done = _logged(own, raised=bool(message))
    called = {d.operand for d in done if d.column == "calls"}
    demands |= done | _shared(result, found, drained, own, objects, called)
    kept = _kept(operands, own, objects)
    like = (result.shape, result.dtype) if isinstance(result, (np.ndarray, np.generic)) else None
    result = drained = found = None
    own.result_is_dropped()
    demands |= kept | _hidden(operands, counts, own, kept, objects)
    return Seen(_told(demands, beside), not message, like, message)


def _told(demands: set[Demand], arrays: set[int | str]) -> set[Demand]:
    """An array goes through what it is computed with."""
    return {
        d._replace(detail=BESIDE) if d.column == "iterates" and arrays - {d.operand} else d for d in demands
    }


BESIDE = "beside an array"


def _call(callee: Any, operands: dict[Any, Any], n: int) -> tuple[Any, str]:
    values = list(operands.items())
    args, kwargs = [o for _, o in values[:n]], dict(values[n:])
    LOG.entries.clear()
    signal.setitimer(signal.ITIMER_REAL, 5.0)
    LOG.on = True
    try:
        result = callee(*args, **kwargs)
        _checked()
        return result, ""
    except (Exception, Deadline, SystemExit, GeneratorExit) as error:
        return None, f"{type(error).__name__}: {_text(error)}"
    finally:
        LOG.on = False
        signal.setitimer(signal.ITIMER_REAL, 0.0)


_checked = functools.partial(int)
"""A call that says so where the one before it left an error and returned all the same (`ndarray.put`)."""


def _text(error: BaseException) -> str:
    try:
        return str(error)[:100]
    except Exception:
        return ""


# -- whose is what -----------------------------------------------------------------------------------------

_SHARED = (str, bytes, int, type(None), type(Ellipsis), type, types.FunctionType)
"""Of such it says nothing that it is the same object."""


class Own:
    """Which operand an object belongs to: those that are no other making's too."""

    def __init__(self) -> None:
        self.top: dict[int, int | str] = {}
        self.inside: dict[int, int | str] = {}
        self.arrays: list[tuple[int | str, Any]] = []
        self.alive: list[Any] = []

    def result_is_dropped(self) -> None:
        self.alive.clear()
        self.arrays.clear()
        LOG.entries.clear()

    def of(self, obj: Any) -> int | str | None:
        return self.top.get(id(obj), self.inside.get(id(obj)))


def _own(operands: dict[int | str, Any], given: dict[int | str, Maker]) -> Own:
    own = Own()
    for position, o in operands.items():
        shared = reference(given[position]).ids
        if id(o) not in shared and not is_a(o, _SHARED):
            own.top[id(o)] = position
        for each, (one, _) in reached(o).items():
            own.alive.append(one)
            if each not in shared and one is not o and not is_a(one, _SHARED):
                own.inside[each] = position
            if is_a(one, (*_BUFFERS, io.BytesIO)):
                own.arrays.append((position, one))
    return own


def _changed(position: int | str, o: Any, before: Reference) -> Iterator[Demand]:
    places: list[Any] = []
    if contents_of(o, places) != before.contents:
        yield Demand("stores", position)
    elif places != before.places:
        yield Demand("iterates", position)


# -- what was done -------------------------------------------------------------------------------------------


_IN_MESSAGES = ("__repr__", "__str__", "__class__")


def _logged(own: Own, raised: bool) -> set[Demand]:
    """Of a call that raises, not what the text of the error asks."""
    demands = set()
    for obj, name in LOG.entries:
        found = _belongs(obj, own)
        if found is None or (raised and name in _IN_MESSAGES):
            continue
        position, top = found
        if name == "__call__":
            demands.add(Demand("calls", position))
        elif name == "items":
            demands.add(Demand("iterates", position))
        else:
            if name == "__next__" and top:
                demands.add(Demand("iterates", position))
            demands.add(Demand("looks" if top else "inside", position, name))
    return demands


def _belongs(obj: Any, own: Own) -> tuple[int | str, bool] | None:
    """Operand, and whether it is that itself. An iterator belongs to what it was made of."""
    while own.of(obj) is None and getattr(obj, "parent", None) is not None:
        obj = obj.parent
    position = own.of(obj)
    return None if position is None else (position, id(obj) in own.top)


def _drained(result: Any, own: Own) -> list[Any]:
    """The first items of an iterator that is new, or of those in a tuple."""
    lazy = [r for r in (result if type(result) is tuple else (result,)) if is_lazy(r)]
    new = [r for r in lazy if own.of(r) is None and not isinstance(r, io.IOBase)]
    return [item for each in new for item in _first(each)]


def _first(lazy: Any) -> list[Any]:
    items: list[Any] = []
    LOG.on = True
    try:
        it = iter(lazy)
        for _ in range(6):
            items.append(next(it))
    except (Exception, Deadline):
        pass
    finally:
        LOG.on = False
    return items


def _reached(result: Any, own: Own) -> dict[int, tuple[Any, bool]]:
    """Before it is drained: what has come to its end holds nothing."""
    inside = list(vars(result).values()) if type(result) is type else result
    return reached(inside, own.top, objects=False)


def _shared(
    result: Any,
    found: dict[int, tuple[Any, bool]],
    drained: list[Any],
    own: Own,
    objects: bool,
    called: set[int | str],
) -> set[Demand]:
    """An array of objects hands on what it holds, whatever is done to it: no row says so. An iterator that
    holds another to go through it gives what that gives; but not what it calls."""
    position = own.of(result)
    if position is not None:
        if is_a(result, _NUMBERS) or not (objects or isinstance(result, _BUFFERS)):
            return set()
        kind = "ITSELF" if id(result) in own.top else "ITEM"
        if isinstance(result, (tuple, frozenset)):  # whether it is the same one is all the same
            kind += " COPIES"
        return {Demand("result", position, kind)}
    demands, gives = set(), is_lazy(result)
    for item in drained:
        at = own.of(item)
        if at is not None:
            demands.add(Demand("result", at, "HOLDS" if id(item) in own.top else "COPIES"))
        else:
            found = {**reached(item, own.top, objects=False), **found}
    for each, (one, lazily) in found.items():
        if each in own.top and (objects or is_a(one, _OF_NUMBERS) or callable(one)):
            later = gives and lazily and own.top[each] not in called
            demands.add(Demand("result", own.top[each], "HOLDS COPIES" if later else "HOLDS"))
        elif each in own.inside and (objects or is_a(one, _OF_NUMBERS)):
            demands.add(Demand("result", own.inside[each], "COPIES"))
        elif is_a(one, _WITH_MEMORY):
            demands |= {
                Demand("result", at, _kinds(one is result, id(base) in own.top))
                for at, base in own.arrays
                if shares_memory(one, base)
            }
    return demands


_NUMBERS = (float, complex)
_ARRAYS = (np.ndarray,)
_WITH_MEMORY = (np.ndarray, memoryview)
_BUFFERS = (np.ndarray, bytearray, array.array, memoryview)
_OF_NUMBERS = (*_BUFFERS, np.generic, list, tuple, dict)
"""What arrays are made of."""


def _kinds(is_result: bool, of_operand: bool) -> str:
    """A view of an array that an operand holds is what it holds."""
    return ("VIEW" if of_operand else "VIEW ITEM") if is_result else "VIEW COPIES"


def shares_memory(a: Any, b: Any) -> bool:
    try:
        return bool(np.may_share_memory(_memory(a), _memory(b)))
    except (ValueError, TypeError, BufferError):
        return False


def _memory(obj: Any) -> Any:
    obj = obj.getbuffer() if isinstance(obj, io.BytesIO) else obj
    return obj if isinstance(obj, np.ndarray) else np.frombuffer(obj, np.uint8)


# -- what is kept --------------------------------------------------------------------------------------------


def _kept(operands: dict[int | str, Any], own: Own, objects: bool) -> set[Demand]:
    """Another operand, or what it holds, lies now in this one."""
    demands = set()
    for position, o in operands.items():
        for each in reached(o, objects=objects):
            at = own.top.get(each, own.inside.get(each))
            if at is not None and at != position:
                demands.add(Demand("keeps", at))
    return demands


def _hidden(
    operands: dict[int | str, Any], counts: dict[int | str, int], own: Own, kept: set[Demand], objects: bool
) -> set[Demand]:
    """It is held once more than before, and nothing that was passed holds it."""
    held = [
        position
        for position, o in operands.items()
        if id(o) in own.top
        and not is_a(o, _NUMBERS)
        and (objects or is_a(o, _OF_NUMBERS))
        and Demand("keeps", position) not in kept
    ]
    if any(sys.getrefcount(operands[position]) > counts[position] for position in held):
        gc.collect()  # frames of errors
    return {Demand("keeps", p) for p in held if sys.getrefcount(operands[p]) > counts[p]}


__all__ = ["BESIDE", "Deadline", "Demand", "Seen", "observe"]
