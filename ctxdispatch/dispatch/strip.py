"""Taking tags off what C code is given, and putting them back where it wrote.

strip.value(x)      x itself where there is no tag in it; else a copy of the containers around the tags
"""

from __future__ import annotations

import collections
import functools
import gc
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any

from ctxdispatch.dispatch.shadows import behind, is_array, is_flat
from ctxdispatch.dispatch.tags import Tagged, has
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

ATOMS: frozenset[type] = frozenset({
    int, float, complex, bool, str, bytes, type(None), type, range,
    types.FunctionType, types.BuiltinFunctionType, types.ModuleType, types.MethodType,
})  # fmt: skip
"""Classes whose instances have nothing in them, and are never marked."""


class Strip:
    """Takes tags off; `metadata` is what they held."""

    def __init__(self, call: Any) -> None:
        self.call, self.ctx = call, call.ctx
        self.metadata: list[Any] = []
        self.copies: dict[int, tuple[Any, Any, list[Any]]] = {}
        self.origins: dict[int, list[Any]] = {}
        self.handed: dict[int, tuple[Any, Any]] = {}
        self.found = False
        self.wraps = False
        self.shadowed = False
        self._memo: dict[int, Any] = {}

    def arguments(self, callee: Any, args: tuple[Any, ...]) -> list[Any]:
        """An iterator is no operand of its own method."""
        if not args or type(callee) not in METHODS or not is_iterator(self.call.bare(args[0])):
            return [self.value(a) for a in args]
        metadata = self.call.held(args[0])
        if metadata:
            self._saw(*metadata)
        return [self.call.bare(args[0]), *(self.value(a) for a in args[1:])]

    def value(self, value: Any) -> Any:
        cls = type(value)
        if cls in ATOMS:
            return value
        if cls is Tagged:
            return self._tagged(value)
        marks = self.ctx._marks.of(value)
        if marks:
            self._saw(*marks)
        into = INTO.get(cls) or _by_base(cls)
        return value if into is None else into(self, value)

    def _saw(self, *metadata: Any) -> None:
        self.metadata += metadata
        self.found = True

    def _tagged(self, value: Any) -> Any:
        if not has(self.ctx._run, value):
            inner = self.value(value.__wrapped__)
            if inner is value.__wrapped__:
                return value
            return Tagged(inner, value._self_run, value._self_metadata)
        self._saw(self.ctx.metadata(value))
        bare = self.value(self.ctx.untag(value))
        self.origins.setdefault(id(bare), []).append(value)
        return bare

    # -- containers --------------------------------------------------------------------------------

    def _items(self, items: Any) -> list[Any] | None:
        """What to put in place of them, None where nothing has a tag."""
        if not self.ctx._marks and {*map(type, items)} <= ATOMS:
            return None
        made = [self.value(item) for item in items]
        return made if any(new is not old for new, old in zip(made, items)) else None

    def sequence(self, value: Any) -> Any:
        made = self._items(value)
        return value if made is None else tuple.__new__(type(value), made)

    def mutable(self, value: Any) -> Any:
        """A list, set or deque."""
        if id(value) in self._memo:
            return self._memo[id(value)]
        self._memo[id(value)] = value  # within itself it stays
        made = self._items([*value])
        return value if made is None else self._copied(value, refilled(value, made))

    def frozen(self, value: Any) -> Any:
        made = self._items([*value])
        return value if made is None else type(value)(made)

    def mapping(self, value: Any) -> Any:
        if id(value) in self._memo:
            return self._memo[id(value)]
        self._memo[id(value)] = value
        keys, values = self._items([*value.keys()]), self._items([*value.values()])
        if keys is None and values is None:
            return value
        made = dict(zip(keys or value.keys(), values or value.values()))
        return self._copied(value, refilled(value, made))

    def _copied(self, original: Any, copy: Any) -> Any:
        self._memo[id(original)] = copy
        self.copies[id(copy)] = (original, copy, _contents(copy))
        return copy

    def view(self, value: Any) -> Any:
        """Of a dict: the same one of what becomes of that."""
        (held,) = gc.get_referents(value)
        made = self.value(held)
        return value if made is held else VIEWS[type(value)](made)

    def slice(self, value: Any) -> Any:
        made = self._items([value.start, value.stop, value.step])
        return value if made is None else slice(*made)

    def iterator(self, value: Any) -> Any:
        self.found = self.wraps = True
        return Untagging(self, value)

    def array(self, value: Any) -> Any:
        found = self.ctx._shadows.metadata(value)
        if found:
            self.shadowed = True
            self._saw(*found)
        if value.dtype == object and self._items([*value.flat]) is not None:
            made = value.copy()
            for index, item in enumerate(value.flat):
                made.flat[index] = self.value(item)
            return made
        return value

    def of_numpy(self, value: Any) -> Any:
        if is_flat(value):
            self.array(value.base)
            return value
        return self.array(value) if is_array(value) else value

    def memory(self, value: Any) -> Any:
        for held in behind(value):
            self.value(held)
        return value

    def exception(self, value: Any) -> Any:
        """Its arguments are looked at: they are what it says."""
        self._items(value.args)
        return value

    # -- afterwards --------------------------------------------------------------------------------

    def write_back(self) -> None:
        for original, copy, before in [*self.copies.values()]:
            after = _contents(copy)
            if len(after) != len(before) or any(a is not b for a, b in zip(after, before)):
                _refill(original, self._restored(copy))

    def _restored(self, copy: Any) -> Any:
        if issubclass(type(copy), dict):
            return {self.original(k): self.original(v) for k, v in copy.items()}
        return [self.original(item) for item in copy]

    def original(self, value: Any) -> Any:
        """What `value` was made of; several equal ones cannot be told apart, so it has the tags of all."""
        if id(value) in self.copies:
            return self.copies[id(value)][0]
        origins = self.origins.get(id(value))
        if origins is None:
            return self.call.give(value, self.metadata) if type(value) not in _NEVER_NEW else value
        return origins[0] if len(origins) == 1 else self.call.give(origins[0], self.call.held(*origins))


_NEVER_NEW = (Tagged,)
METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType)


def _contents(container: Any) -> list[Any]:
    if issubclass(type(container), dict):
        return [x for pair in container.items() for x in pair]
    return [*container]


def refilled(like: Any, items: Any) -> Any:
    """A container of the class of `like`."""
    import copy

    if type(like) in (list, set, dict):
        return type(like)(items)
    made = copy.copy(like)
    _refill(made, items)
    return made


def _refill(container: Any, items: Any) -> None:
    if issubclass(type(container), list):
        list.__setitem__(container, slice(None), items)
    elif issubclass(type(container), dict):
        kind = collections.OrderedDict if issubclass(type(container), collections.OrderedDict) else dict
        kind.clear(container)
        kind.update(container, items)
    else:
        container.clear()
        (container.update if issubclass(type(container), set) else container.extend)(items)


def is_iterator(value: Any) -> bool:
    """An iterator of the interpreter's own, generators included: one that gives nothing but its items."""
    return type(value) is Untagging or gives_items(type(value))  # type: ignore[arg-type]


@functools.lru_cache(4096)
def gives_items(cls: type) -> bool:
    """What is awaited (`agen.aclose()`) has a `__next__` too, and C code wants it itself."""
    own = hasattr(cls, "__next__") and cls.__module__ in ("builtins", "itertools")
    return own and not hasattr(cls, "__await__")


class Untagging:
    """An iterator whose items lose their tags as they are taken."""

    def __init__(self, strip: Strip, iterator: Any) -> None:
        self._strip, self.iterator = strip, iterator

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return self._strip.value(next(self.iterator))

    def __length_hint__(self) -> int:
        return operator.length_hint(self.iterator)

    def __repr__(self) -> str:
        return repr(self.iterator)


VIEWS: dict[type, Callable[[Any], Any]] = {
    type({}.keys()): dict.keys, type({}.values()): dict.values, type({}.items()): dict.items,
    types.MappingProxyType: types.MappingProxyType,
}  # fmt: skip

INTO: dict[type, Callable[[Strip, Any], Any]] = {
    tuple: Strip.sequence, list: Strip.mutable, set: Strip.mutable, collections.deque: Strip.mutable,
    frozenset: Strip.frozen, memoryview: Strip.memory, dict: Strip.mapping, slice: Strip.slice,
    **dict.fromkeys(VIEWS, Strip.view),
}  # fmt: skip
_BASES: tuple[tuple[type, Callable[[Strip, Any], Any]], ...] = (
    (tuple, Strip.sequence), (list, Strip.mutable), (set, Strip.mutable), (collections.deque, Strip.mutable),
    (dict, Strip.mapping), (BaseException, Strip.exception),
)  # fmt: skip


def _by_base(cls: type) -> Callable[[Strip, Any], Any] | None:
    if gives_items(cls):
        return Strip.iterator
    found = next((into for base, into in _BASES if issubclass(cls, base)), None)
    of_numpy = cls.__module__ == "numpy" or hasattr(cls, "__array_interface__")
    return Strip.of_numpy if found is None and of_numpy else found


class Giving(functools.partial[Any]):
    """Gives what it is called with a tag: made of a call, a list of metadata that may still grow."""


def given(call: Any, metadata: list[Any], item: Any) -> Any:
    return call.give(item, metadata)
