"""Arguments and results as trees of what they hold: taken when a run begins or ends, for the program may
change its containers.

Before a run every number in the arguments becomes an object of its own, for a run knows numbers by
identity: of `[1.0] * 3` each item has a cotangent. So does every array, which is the same memory by another
name (`memory.stand_in`). What was replaced is put back when the run ends, where it still is.

A cotangent has the structure of what was given (`programs/zeros.py`), so parts of which there is none are in
the tree as well (`Still`, None).
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import CellType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from ctxdispatch.dispatch.tags import Tagged, bare
from ctxdispatch_contexts.programs.containers import rebuild
from ctxdispatch_contexts.programs.errors import given_twice
from ctxdispatch_contexts.programs.kinds import is_floats
from ctxdispatch_contexts.programs.opaque_values import fields, is_opaque, read_field, stands_for_a_function
from ctxdispatch_contexts.programs.zeros import Zeros, in_namespace, layout
from ctxdispatch_contexts.recording.leaves import another, is_number
from ctxdispatch_contexts.recording.memory import has_shadow, stand_in
from ctxdispatch_contexts.recording.pushing import Pushing
from ctxdispatch_contexts.recording.record import Record
from ctxdispatch_contexts.recording.tape import Tape
from ctxdispatch_contexts.reverse.cotangents import entries_of, project


class Leaf:
    """A number or array."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def bar(self, tape: Tape) -> Any:
        """Zero where nothing arrived: whether it was read at all, a run does not know."""
        bar, value = tape.bar(self.value), self.value
        if bar is None:
            return np.zeros_like(value) if issubclass(type(value), np.ndarray) else type(value)(0)
        return project(bar, value)

    def arrived(self, tape: Tape) -> bool:
        return tape.bar(self.value) is not None

    def add(self, tape: Tape, cotangent: Any) -> None:
        tape.add(self.value, cotangent)

    def set(self, record: Pushing, tangent: Any) -> None:
        record.set(self.value, tangent)

    def tangent(self, record: Pushing) -> Any:
        return record.of(self.value)

    def arrays(self) -> Iterator[Any]:
        if issubclass(type(self.value), np.ndarray):
            yield self.value


class Still:
    """What is met again, or has no leaves: its cotangent is zero, of this structure."""

    __slots__ = ("zeros",)

    def __init__(self, zeros: Any) -> None:
        self.zeros = zeros

    def bar(self, tape: Tape) -> Any:
        return Zeros().of(self.zeros)

    def arrived(self, tape: Tape) -> bool:
        return False

    def add(self, tape: Tape, cotangent: Any) -> None:
        """It has none."""

    set = add

    def tangent(self, record: Pushing) -> Any:
        return None

    def arrays(self) -> Iterator[Any]:
        return iter(())


class Node:
    """A container, by keys; `like`, a shallow copy of it, says how its cotangent is built. None: a part that
    can have no derivative."""

    __slots__ = ("like", "parts")

    def __init__(self, like: Any, parts: dict[Any, Tree | None]) -> None:
        self.like, self.parts = like, parts

    def bar(self, tape: Tape) -> Any:
        found = {key: None if part is None else part.bar(tape) for key, part in self.parts.items()}
        if issubclass(type(self.like), (tuple, list, deque)):
            return rebuild(self.like, [*found.values()])
        return found if issubclass(type(self.like), dict) else self._in_namespace(found)

    def _in_namespace(self, found: dict[Any, Any]) -> Any:
        return in_namespace(layout(self.like), found)

    def arrived(self, tape: Tape) -> bool:
        return any(part.arrived(tape) for _, part in self._there())

    def _there(self) -> Iterator[tuple[Any, Tree]]:
        return ((key, part) for key, part in self.parts.items() if part is not None)

    def add(self, tape: Tape, cotangent: Any) -> None:
        for key, given in _given(cotangent):
            part = self.parts.get(key)
            if part is not None:
                part.add(tape, given)

    def set(self, record: Pushing, tangent: Any) -> None:
        for key, given in _given(tangent):
            part = self.parts.get(key)
            if part is not None:
                part.set(record, given)

    def tangent(self, record: Pushing) -> Any:
        """None for zeros."""
        found = {key: part.tangent(record) for key, part in self._there()}
        found = {key: tangent for key, tangent in found.items() if tangent is not None}
        if not found:
            return None
        if issubclass(type(self.like), (tuple, list, deque)):
            return rebuild(self.like, [found.get(i) for i in range(len(self.like))])
        return found if issubclass(type(self.like), dict) else SimpleNamespace(**found)

    def arrays(self) -> Iterator[Any]:
        for _, part in self._there():
            yield from part.arrays()


def _given(whole: Any) -> Iterable[tuple[Any, Any]]:
    return enumerate(whole) if issubclass(type(whole), (tuple, list, deque)) else entries_of(whole)


class Aside(Node):
    """Of what is no container of parameters, as functions: there is one where something arrived."""

    def bar(self, tape: Tape) -> Any:
        return super().bar(tape) if self.arrived(tape) else None


class Bound(Aside):
    """Of a functools.partial: all its parts are there."""

    def _in_namespace(self, found: dict[Any, Any]) -> Any:
        whole = {"func": None, "args": (None,) * len(self.like.args), "keywords": {}}
        return SimpleNamespace(**{**whole, **{key: bar for key, bar in found.items() if bar is not None}})


Tree = Leaf | Node | Still
_LEAVES = (type, ModuleType, str, bytes, int, np.generic, np.dtype)


class Arguments:
    """What a run is differentiated with respect to."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self.undo: list[Callable[[], None]] = []
        self._memo: dict[int, tuple[Any, Any]] = {}
        self._zeros = Zeros()

    def own(self, value: Any) -> tuple[Any, Tree | None]:
        """(what the program gets in place of `value`, its tree)"""
        if type(value) is Tagged:
            made, tree = self.own(value.__wrapped__)
            return Tagged(made, value._self_run, value._self_metadata), tree
        if is_number(value):
            made = another(value)
            self.record.track(made)
            self.record.memory.given.add(id(made))
            return made, Leaf(made)
        if issubclass(type(value), np.ndarray):
            return self._array(value)
        if is_floats(value):
            view = self.record.view(value)
            self.record.memory.given |= {id(view), id(value)}
            return value, self._again(value) if self.record.is_active(view) else self._tracked(view)
        if issubclass(type(value), _LEAVES) or value is None:
            return value, None
        if self.record.sweeps and is_opaque(type(value)) and not stands_for_a_function(value):
            self.record.opaque[id(value)] = value
        if issubclass(type(value), tuple):  # one that is given twice has parts of its own each time
            return self._container(value)
        if id(value) in self._memo:
            return self._memo[id(value)][0], self._again(value)  # what arrives is where it was met first
        self._memo[id(value)] = (value, value)
        self._zeros.entered(value)
        made, tree = self._container(value)
        self._zeros.left(value)
        self._memo[id(value)] = (made, value)
        return made, tree

    def _again(self, value: Any) -> Tree | None:
        zeros = self._zeros.of(value)
        return None if zeros is None else Still(zeros)

    def check(self, value: Any) -> None:
        """Before an argument is taken: a list, dict or object that is another argument too has one
        derivative, and cannot have two."""
        if id(value) in self._memo and not issubclass(type(value), (tuple, *_LEAVES)):
            raise given_twice(value)

    def beside(self, value: Any, bound: bool) -> Any:
        """An argument that is held fixed: it lies apart from those that are not. One that is `bound` is no
        more than another name."""
        if not bound:
            self.check(value)
        if not issubclass(type(value), np.ndarray) or self.record.memory.find(value) is None:
            return value
        made = stand_in(value)
        self.record.memory.stands_in(made, active=False)
        return made

    def _array(self, array: Any) -> tuple[Any, Tree | None]:
        if array.dtype == object:
            for i, item in enumerate(array.flat):
                self._replace(item, functools.partial(array.flat.__setitem__, i), lambda i=i: array.flat[i])
            return array, None
        if not has_shadow(array):
            return array, None
        made = stand_in(array)
        self.record.memory.stands_in(made)
        return made, Leaf(made)

    def _tracked(self, array: Any) -> Tree:
        self.record.track(array)
        return Leaf(array)

    def _replace(self, old: Any, put: Callable[[Any], None], now: Callable[[], Any]) -> Tree | None:
        """Put what the program gets in the place of `old`, until the run ends."""
        made, tree = self.own(old)
        if made is not old:
            put(made)
            self.undo.append(lambda: put(old) if now() is made else None)
        return tree

    def _container(self, value: Any) -> tuple[Any, Tree | None]:
        if issubclass(type(value), tuple):
            pairs = [self.own(item) for item in value]
            trees = {i: tree for i, (_, tree) in enumerate(pairs)}
            items = [made for made, _ in pairs]
            same = all(a is b for a, b in zip(items, value, strict=True))
            return value if same else rebuild(value, items), Node(value, trees)
        if issubclass(type(value), (list, deque)):
            return value, self._parts(value, range(len(value)), value.__getitem__, value.__setitem__)
        if issubclass(type(value), dict):
            return value, self._parts(value, [*value], value.get, value.__setitem__)
        return value, self._object(value)

    def _parts(self, like: Any, keys: Any, get: Any, put: Any, node: type[Node] = Node) -> Tree:
        trees = {
            key: self._replace(get(key), functools.partial(put, key), lambda key=key: _or_none(get, key))
            for key in keys
        }
        return node(like.copy() if type(like) in (list, deque) else like, trees)

    def _object(self, value: Any) -> Tree | None:
        if type(value) is FunctionType:
            return self._function(value)
        if type(value) is MethodType:
            _, tree = self.own(value.__self__)
            return Aside(MethodType, {"__self__": tree})
        if issubclass(type(value), functools.partial):
            return self._partial(value)
        known = layout(type(value))
        names = [] if type(value) is CellType else [*fields(value)]
        if not names:
            return None
        return self._parts(
            type(value),
            names,
            lambda name: read_field(value, name),
            lambda name, new: object.__setattr__(value, name, new),
            Node if known.parameters else Aside,
        )

    def _function(self, function: FunctionType) -> Tree | None:
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        filled = {name: cell for name, cell in cells.items() if _is_filled(cell)}
        return self._parts(
            FunctionType,
            [*filled],
            lambda name: filled[name].cell_contents,
            lambda name, new: setattr(filled[name], "cell_contents", new),
            Aside,
        )

    def _partial(self, value: Any) -> Tree | None:
        held = {"func": value.func, "args": value.args, "keywords": value.keywords}
        pairs = {name: self.own(part) for name, part in held.items()}
        func, args, keywords = (made for made, _ in pairs.values())
        if args is not value.args:
            before = value.__reduce__()[2]
            value.__setstate__((func, args, keywords, before[3]))
            self.undo.append(lambda: value.__setstate__(before))
        return Bound(value, {name: tree for name, (_, tree) in pairs.items()})

    def put_back(self) -> None:
        for undo in reversed(self.undo):
            undo()
        self.undo.clear()


def tree_of(value: Any, depth: int = 16) -> Tree | None:
    """The tree of a result, None where nothing has a cotangent."""
    value = bare(value)
    if is_number(value) or issubclass(type(value), np.ndarray):
        return Leaf(value)
    if not depth or issubclass(type(value), _LEAVES) or value is None:
        return None
    if issubclass(type(value), (tuple, list, deque)):
        parts = dict(enumerate(value))
    elif issubclass(type(value), dict):
        parts = value
    else:
        parts = fields(value)
    trees = {key: tree for key, part in parts.items() if (tree := tree_of(part, depth - 1)) is not None}
    return Node(value, trees) if trees else None


def _or_none(get: Any, key: Any) -> Any:
    try:
        return get(key)
    except (LookupError, AttributeError, ValueError):
        return None


def _is_filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
