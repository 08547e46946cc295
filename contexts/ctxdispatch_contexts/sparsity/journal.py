"""What a branch may change, and how that is taken back: shallow states of mutable objects.

    state = save(object);   ...;   restore(object, state)

The `Journal` has a level per arm that is being run. Before an object is changed, `touch` saves its state in
the innermost level, unless the object was born in it. So both arms of a branch run on the same objects, one
after the other: identity and aliasing stay what they are. Level 0 is for what the caller owns.
"""

from __future__ import annotations

import contextlib
import gc
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ctxdispatch.dispatch.reach import HEAPTYPE
from ctxdispatch.ir.leaves import is_ours
from ctxdispatch.ir.wrappers import is_wrapper, parts
from ctxdispatch_contexts.sparsity.errors import REMEDY, out_of_sight
from ctxdispatch_contexts.sparsity.layouts import in_memory_order
from ctxdispatch_contexts.sparsity.values import Array, Either, Memory, Tracked, root_of

Delta = dict[int, tuple[Any, Any]]
"""By id: an object and a state of it."""


class Cursor:
    """An iterator whose place can be saved: over a sequence, as it is when it is read. Its place is None
    after a branch in which it was advanced on one side only."""

    __slots__ = ("items", "at", "through", "outdated")

    def __init__(self, items: Any, sources: Iterable[Any] = ()) -> None:
        """`sources`: iterators whose items were all taken to make these."""
        self.items: Any = items
        self.at: int | None = 0
        self.outdated = False
        """What the items were made of has changed since."""
        self.through: Cursor | None = None
        """Goes through this one."""
        self.goes_through(sources)

    def goes_through(self, sources: Iterable[Any]) -> None:
        for source in sources:
            if isinstance(source, Cursor):
                source.through = self

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.at is None:
            raise out_of_sight(
                "an iterator is read after a branch on a value that depends on the inputs, in which it was "
                f"advanced on one side only; iterate over a list anew, or {REMEDY}"
            )
        if self.through is not None and not self.through.has_ended():
            raise out_of_sight(
                "an iterator is read while another one goes through it; take its items as a list first, and "
                "go through that"
            )
        if self.outdated:
            raise out_of_sight(
                "an iterator is read after what it goes through, or reads, has changed; take its items as a "
                "list where they are to be made"
            )
        if self.at >= len(self.items):
            raise StopIteration
        self.at += 1
        return self.items[self.at - 1]


    def has_ended(self) -> bool:
        """All its items have been taken, also by those that go through it."""
        return self.at == len(self.items) and (self.through is None or self.through.has_ended())


class Level(NamedTuple):
    """One arm that is being run: when it began, and what was saved in it."""

    clock: int
    saved: Delta


class Journal:
    """The arms that are being run, the innermost last."""

    def __init__(self) -> None:
        self.levels: list[Level] = []
        self.clock = 0
        self._born: dict[int, tuple[Any, int]] = {}
        self.shadows: dict[int, Memory] = {}
        self._noting: list[dict[int, Any]] = []
        self._ahead: dict[int, tuple[Any, list[Cursor]]] = {}

    # -- items that are made before they are taken -----------------------------------------------------------

    @contextlib.contextmanager
    def noting(self) -> Iterator[dict[int, Any]]:
        """What is read within, by id."""
        notes: dict[int, Any] = {}
        self._noting.append(notes)
        try:
            yield notes
        finally:
            self._noting.pop()

    def read(self, things: Iterable[Any]) -> None:
        if self._noting:
            found = {id(thing): thing for thing in map(_source, things)}
            for notes in self._noting:
                notes.update(found)

    def ahead(self, cursor: Cursor, things: dict[int, Any]) -> Cursor:
        """The items of `cursor`, a new one, are made now, of these, and taken later."""
        self.bear(cursor)
        for key, thing in things.items():
            if not issubclass(type(thing), (int, float, complex, str, np.generic)):
                self._ahead.setdefault(key, (thing, []))[1].append(cursor)
        return cursor

    def _outdate(self, cursors: list[Cursor], level: Level) -> None:
        for cursor in cursors:
            cursor.outdated |= not cursor.has_ended()
        cursors[:] = [c for c in cursors if self.birth(c) < level.clock]  # which may be set back

    def ahead_of_view(self, cursor: Cursor, view: Any) -> Cursor:
        """The items of a dict's values, which are read off it when they are taken."""
        seen = () if type(view) in (dict, set, frozenset) else gc.get_referents(view)
        return self.ahead(cursor, {id(each): each for each in seen})

    # -- births ----------------------------------------------------------------------------------------------

    def bear(self, thing: Any) -> None:
        self._born.setdefault(id(thing), (thing, self.clock))

    def birth(self, thing: Any) -> int:
        """When `thing` was made; 0: before the run, for all we know."""
        if isinstance(thing, Memory):
            return thing.born
        found = self._born.get(id(thing))
        return found[1] if found else 0

    # -- levels ----------------------------------------------------------------------------------------------

    def open(self) -> Level:
        self.clock += 1
        self.levels.append(Level(self.clock, {}))
        return self.levels[-1]

    def touch(self, thing: Any) -> None:
        """`thing` is about to change."""
        level = self.levels[-1]
        if id(thing) in self._ahead:
            self._outdate(self._ahead[id(thing)][1], level)
        if id(thing) not in level.saved and self.birth(thing) < level.clock:
            level.saved[id(thing)] = (thing, self.save(thing))

    def collect(self) -> Delta:
        """The states, as they are now, of what the innermost level has touched."""
        return {key: (thing, self.save(thing)) for key, (thing, _) in self.levels[-1].saved.items()}

    def close(self) -> None:
        """The innermost level did not happen."""
        for thing, state in self.levels.pop().saved.values():
            self.restore(thing, state)

    def apply(self, delta: Delta) -> None:
        for thing, state in delta.values():
            self.touch(thing)
            self.restore(thing, state)

    # -- states ----------------------------------------------------------------------------------------------

    def save(self, thing: Any) -> Any:
        if issubclass(type(thing), Memory):
            thing.private = False
            return thing.terms, np.array(thing.root)
        if issubclass(type(thing), np.ndarray):
            shadow = self.shadows.get(id(thing))
            if shadow is not None:
                shadow.private = False
            return np.array(thing), None if shadow is None else shadow.terms
        state_of: Callable[[Any], Any] = _SAVE.get(kind(thing)) or _save_object
        return state_of(thing)

    def restore(self, thing: Any, state: Any) -> None:
        if isinstance(thing, Memory):
            thing.terms, thing.private = state[0], False
            _overwrite(thing.root, state[1])
        elif isinstance(thing, np.ndarray):
            _overwrite(thing, state[0])
            self.shadow(thing, state[1])
        else:
            set_back: Callable[[Any, Any], None] = _RESTORE.get(kind(thing)) or _restore_object
            set_back(thing, state)

    def shadow(self, owner: Any, terms: Any) -> None:
        """Give the array `owner` these sets; None: it is an ordinary array (again)."""
        if terms is None:
            self.shadows.pop(id(owner), None)
        elif id(owner) in self.shadows:
            memory = self.shadows[id(owner)]
            memory.terms, memory.private = terms, False
        else:
            self.shadows[id(owner)] = Memory(in_memory_order(owner), terms)
            self.bear(owner)  # keeps it alive: its id is a key


def _source(value: Any) -> Any:
    """What has to change for `value` to be read otherwise: of what is ours, the list or memory behind it."""
    through = value.items if type(value) is Cursor else value
    if is_ours(type(through).__module__) and "array" in getattr(type(through), "__slots__", ()):
        through = through.array
    return through.memory if issubclass(type(through), Array) else through


def _overwrite(array: Any, data: Any) -> None:
    if array.flags.writeable:
        array[...] = data


KINDS = (list, dict, set, deque, bytearray, types.CellType, Cursor)


def kind(thing: Any) -> type | None:
    for cls in KINDS:
        if issubclass(type(thing), cls) and (type(thing) is cls or namespace(thing) is None):
            return cls
    return None


def _refill(thing: Any, state: Iterable[Any]) -> None:
    thing.clear()
    (thing.update if isinstance(thing, (dict, set)) else thing.extend)(state)


def _cell_state(cell: types.CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def _restore_cell(cell: types.CellType, state: tuple[Any, ...]) -> None:
    if state:
        cell.cell_contents = state[0]
    else:
        del cell.cell_contents


def _restore_list(thing: list[Any], state: list[Any]) -> None:
    thing[:] = state


def _restore_cursor(cursor: Cursor, state: int | None) -> None:
    cursor.at = state


def fields(thing: Any) -> dict[str, Any]:
    """What an object's own attributes hold, in its dictionary and its slots."""
    if is_wrapper(type(thing)):
        return parts(thing)
    found = dict(namespace(thing) or {})
    for name in _slots(type(thing)):
        with contextlib.suppress(AttributeError):
            found[name] = object.__getattribute__(thing, name)
    return found


def namespace(thing: Any) -> Any:
    """Its `__dict__`, without what its class makes of reading attributes; a weak proxy's is its referent's,
    while that lives."""
    try:
        if type(thing) in weakref.ProxyTypes:
            return thing.__dict__
        return object.__getattribute__(thing, "__dict__")
    except (AttributeError, ReferenceError):
        return None


def _slots(owner: type) -> set[str]:
    """The names of a class's slots, as attributes have them."""
    found = set()
    for cls in owner.__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            private = name.startswith("__") and not name.endswith("__")
            found.add(f"_{cls.__name__.lstrip('_')}{name}" if private else name)
    return found - {"__dict__", "__weakref__"}


def _save_object(thing: Any) -> tuple[dict[str, Any], Any]:
    """Its fields, and its items where its class derives from a container."""
    items = next((cls(thing) for cls in (list, dict, set) if issubclass(type(thing), cls)), None)
    return fields(thing), items


def _restore_object(thing: Any, state: tuple[dict[str, Any], Any]) -> None:
    old, items = state
    for name in fields(thing).keys() - old.keys():
        vars(thing).pop(name) if name in getattr(thing, "__dict__", ()) else object.__delattr__(thing, name)
    for name, value in old.items():
        if hasattr(thing, "__dict__") and name not in _slots(type(thing)):
            vars(thing)[name] = value  # a property may have its name
        else:
            object.__setattr__(thing, name, value)
    if items is not None:
        _refill(thing, items)


def _cursor_state(cursor: Cursor) -> int | None:
    return cursor.at


_SAVE: dict[Any, Callable[[Any], Any]] = {
    list: list, dict: dict, set: set, deque: list, bytearray: bytes, types.CellType: _cell_state,
    Cursor: _cursor_state,
}  # fmt: skip
_RESTORE: dict[Any, Callable[[Any, Any], None]] = {
    list: _restore_list, dict: _refill, set: _refill, deque: _refill, bytearray: _refill,
    types.CellType: _restore_cell, Cursor: _restore_cursor,
}  # fmt: skip


def is_mutable(thing: Any) -> bool:
    """Whether a branch might change it, as far as the journal can tell."""
    if issubclass(type(thing), (np.ndarray, *KINDS)):
        return True
    fixed = (type, types.ModuleType, types.FunctionType, Tracked, Either)
    held = namespace(thing) is not None or type(thing).__flags__ & HEAPTYPE
    return bool(held) and not issubclass(type(thing), fixed)


__all__ = ["Cursor", "Delta", "Journal", "Level", "fields", "is_mutable", "kind", "namespace", "root_of"]
