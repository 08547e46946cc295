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
import gc
import sys
import weakref
import zlib
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from types import CellType, FrameType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from ctxdispatch.dispatch.reach import lookup, natively, special
from ctxdispatch.dispatch.strip import is_iterator
from ctxdispatch.dispatch.where import is_program, position_in
from ctxdispatch.ir import primitives
from ctxdispatch.ir.leaves import file_of, is_ours
from ctxdispatch.ir.registry import Registry
from ctxdispatch.ir.values import Position
from ctxdispatch_contexts.programs import left_names
from ctxdispatch_contexts.programs.c_objects import shows
from ctxdispatch_contexts.programs.converting import is_of_python
from ctxdispatch_contexts.programs.errors import MissingRuleError, Place, left_here
from ctxdispatch_contexts.programs.left_names import Name, Names
from ctxdispatch_contexts.recording import hidden, places, windows
from ctxdispatch_contexts.recording.leaves import NUMBERS, leaves

MOST = 500


class Left(NamedTuple):
    """`at`: where it was put there. Of an array: which elements (all), and what they held."""

    value: Any
    at: Place | Position
    elements: Any = ...
    held: int = 0


class Note(NamedTuple):
    """What was put into an owner, under a name or, in turn, without one; where that began.

    Objects are referred to weakly: what ends with their last reference (`__del__`, `finally` of a generator)
    ends when it does in a plain run."""

    owner: Any
    name: str | None
    values: list[Any]
    at: Place


_NUMBERS: OrderedDict[int, Left] = OrderedDict()
_ARRAYS: dict[int, Left] = {}
"""By identity; of arrays weak references to what owns their memory, also where that shows it by itself."""


def note(record: Any, keeps: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """args[0] keeps some of the operands, which `Callee.keeps` says."""
    if type(keeps) is not int:
        for value in keeps.of((*args, *kwargs.values()), tuple(kwargs)):
            put(record, args[0], value)
    elif keeps < len(args):
        put(record, args[0], args[keeps], args[1] if keeps == 2 else None)


def put(record: Any, owner: Any, value: Any, name: Any = None) -> None:
    """owner.name = value, owner[name] = value"""
    if type(value) in _NOTHING or record.closed:
        return
    value = owner if is_iterator(value) else value  # it is gone when the run ends, its items are there
    key = (id(owner), name) if type(name) is str else id(owner)
    found = record.kept.get(key)
    if found is None or _owner(found) is None:
        own = is_ours(type(owner).__module__) or is_ours(type(value).__module__)
        place = None if own else _place()
        if place is not None:
            of = owner if type(owner).__weakrefoffset__ == 0 else weakref.ref(owner)
            record.kept[key] = Note(of, None if key == id(owner) else name, [_itself(value)], place)
    elif type(key) is int:
        found.values.append(_itself(value))
    else:
        found.values[0] = _itself(value)


def _itself(value: Any) -> Any:
    """A weak reference to an object that is kept as it is: others may be gone through."""
    by_code = is_of_python(type(value)) and special(type(value), "__iter__") is None
    return weakref.ref(value) if by_code and type(value).__weakrefoffset__ else value


def _owner(note: Note) -> Any:
    """None where it is gone."""
    return note.owner() if type(note.owner) is weakref.ref else note.owner


def _place() -> Place:
    """Where the user's program is; None where a run within this one keeps books."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if is_program(frame.f_code):
            module = str(frame.f_globals.get("__name__"))
            if not is_ours(module):
                return frame.f_code, frame.f_lasti
            if not module.startswith(_PERFORM):
                return None
        frame = frame.f_back
    return None


_PERFORM = (
    "ctxdispatch.dispatch",
    *(f"{__package__}.{name}" for name in ("context", "numbers", "left", "unseen", "refused")),
)
"""What does what the user's program says, in a run within this one."""


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
    notes = [*record.kept.values()]
    outliving = _outliving(notes)
    for note in notes:
        if id(_owner(note)) in outliving:
            for part in filter(record.is_active, _parts(note.values)):
                own = _own(windows.opened(record, part) if shows(type(part)) else part)
                if id(own) not in record.memory.given:
                    _enter(own, note.at, _names(_owner(note), note.name, note.at))
    record.kept.clear()
    for block, elements in record.memory.stored_outside():
        _enter(block.owner, block.at, _names(*block.by, block.at), elements)


def _outliving(notes: Sequence[Note]) -> set[int]:
    """The owners, by identity, to which there are other references than from the notes, and from owners to
    which there are none: found as the garbage collector finds them."""
    owners = {id(owner): owner for owner in map(_owner, notes) if owner is not None}
    found = {key for key, references in _from_elsewhere(owners, notes) if references > _NONE}
    work = [*found]
    while work:
        held = {id(part) for part in gc.get_referents(owners[work.pop()])} & owners.keys() - found
        found |= held
        work += held
    return found


def _from_elsewhere(owners: dict[int, Any], notes: Iterable[Note]) -> Iterator[tuple[int, int]]:
    """How many references there are to each, with those of counting."""
    inside = Counter(id(note.owner) for note in notes)
    for note in notes:
        inside.update(map(id, note.values))
    for owner in owners.values():
        inside.update(map(id, gc.get_referents(owner)))
    for key, owner in owners.items():
        yield key, sys.getrefcount(owner) - inside[key]


def _count_none() -> int:
    note = Note([], None, [], None)
    return next(_from_elsewhere({id(note.owner): note.owner}, [note]))[1]


_NONE = _count_none()


def _parts(values: list[Any]) -> Iterator[Any]:
    for value in values:
        value = value() if type(value) is weakref.ref else value
        seen = issubclass(type(value), (np.ndarray, *NUMBERS, list, tuple, dict)) or shows(type(value))
        yield from leaves(value) if seen else hidden.held([value], _PARTS)


_PARTS = 1000
"""Of an object, so many are looked at."""


def _own(value: Any) -> Any:
    return windows.holder(value) if issubclass(type(value), np.ndarray) else value


@natively
def leave_stored(names: Names, at: Position | None, values: Iterable[Any]) -> None:
    """A program has put these where later runs may find them (`programs/left_stores.py`)."""
    for value in values:
        for part in (value,) if _is_data(value) else filter(_is_data, _parts([value])):
            _enter(part, at, names)


def _is_data(value: Any) -> bool:
    return issubclass(type(value), (np.ndarray, *NUMBERS))


def _enter(value: Any, at: Place | Position, names: Iterable[Name], elements: Any = ...) -> None:
    if issubclass(type(value), NUMBERS):
        _NUMBERS.pop(id(value), None)
        _NUMBERS[id(value)] = Left(value, at)
        left_names.enter(id(value), names)
        if len(_NUMBERS) > MOST:
            left_names.drop(_NUMBERS.popitem(last=False)[0])
        return
    value = _own(value)
    buffer = shows(type(value))
    elements = ... if buffer else elements
    if not buffer and value.dtype.kind not in "fc":
        return  # read as numbers of another kind, or objects: those by themselves
    of, before = weakref.ref(value, functools.partial(_gone, id(value))), _ARRAYS.get(id(value))
    if before is not None and elements is not ... and before.elements is not ...:
        elements = elements | before.elements
    _ARRAYS[id(value)] = Left(of, at, elements, _digest(value, elements))
    left_names.enter(id(value), names)


def _gone(key: int, reference: Any) -> None:
    _ARRAYS.pop(key, None)
    left_names.drop(key)


def _names(owner: Any, name: Any, at: Place) -> Iterable[Name]:
    """Those that tell where it is: its own, and that of the owner, which is a container."""
    if type(name) is str and not issubclass(type(owner), dict):
        is_class = issubclass(type(owner), type)  # its instances have it too
        of_object = left_names.attribute(name, None if is_class else type(owner))
        if type(owner) is not ModuleType:
            return [of_object]
        return [of_object, left_names.variable(name, file_of(owner))]
    if at is None:
        return ()
    code, position = places.original(at[0]), position_in(*at)
    if type(name) is str and "__builtins__" in owner:
        return [left_names.variable(name, code.co_filename)]
    found = [_name(*each, code.co_filename) for each in places.named(code, position)]
    return [*found, left_names.item(name)] if type(name) is str else found


def _name(of_attribute: bool, name: str, file: str) -> Name:
    return left_names.attribute(name) if of_attribute else left_names.variable(name, file)


def _digest(array: Any, elements: Any) -> int:
    """Of what these elements hold: of many, some, for what is taken for unchanged is only followed."""
    array = array if issubclass(type(array), np.ndarray) else np.frombuffer(array, np.uint8)
    if elements is ... and array.size <= _SAMPLED:
        return zlib.crc32(array.tobytes())
    at = None if elements is ... else np.flatnonzero(elements)
    step = max((array if at is None else at).size // _SAMPLED, 1)
    return zlib.crc32(array.flat[slice(None, None, step) if at is None else at[::step]].tobytes())


_SAMPLED = 1000


@natively
def follow(record: Any, args: Iterable[Any]) -> None:
    """The run begins, with these arguments: what is one of them is meant to be what it is."""
    given = {id(_own(a)) for a in args}
    for left in _still_there() if _NUMBERS or _ARRAYS else ():
        if id(left.value) in given:
            continue
        value = windows.whole(record, left.value) if shows(type(left.value)) else left.value
        if not record.is_active(value):
            record.suspects.left[id(value)] = left._replace(value=value)
            record.follow_left(left._replace(value=value))


def _still_there() -> Iterator[Left]:
    for key in [*_NUMBERS]:
        left = _NUMBERS[key]
        if sys.getrefcount(left.value) > 2:  # the table's, and the operand of `getrefcount`
            yield left
        else:
            left_names.drop(key)
            del _NUMBERS[key]
    for left in [*_ARRAYS.values()]:
        array = left.value()
        if array is not None and _digest(array, left.elements) == left.held:
            yield left._replace(value=array)


def forget() -> None:
    """Nothing was left: what is there is a constant."""
    for key in (*_NUMBERS, *_ARRAYS):
        left_names.drop(key)
    _NUMBERS.clear()
    _ARRAYS.clear()


def error(left: Left) -> MissingRuleError:
    return left_here(left.at if left.at is None or isinstance(left.at, Position) else position_in(*left.at))
