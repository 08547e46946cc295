"""What was there before a run: what arguments, globals and closures lead to.

All of it is looked at when the run first meets it, as deep as it goes, and what is found is tested before the
trace runs again (`tests`): classes, lengths, keys, and all that is neither a number of an argument nor an
array. Numbers of arguments, and arrays, are values of the trace, read where they lie. So that a number tells
by itself which one it is, a run is given copies of arguments that hold some.
"""

from __future__ import annotations

import collections
import enum
import functools
import operator
import types
import warnings
from collections.abc import Callable, Iterable, Sequence, Set
from keyword import iskeyword
from operator import is_
from typing import Any

import numpy as np

from ctxdispatch.dispatch.reach import HEAPTYPE
from ctxdispatch_contexts.traces.kinds import (
    KINDS,
    LITERALS,
    MAPPINGS,
    NUMBER,
    copy_with,
    ends_of,
    entries_with,
    fields_of,
    fixed,
    is_leaf,
    is_sequence,
    parts_of,
    remade,
)
from ctxdispatch_contexts.traces.lines import Lines, Unfit

MOST = 3000
"""So many objects are looked at."""
_CODE, _DEFAULTS = operator.attrgetter("__code__"), operator.attrgetter("__defaults__")
_EQUAL = (int, str, bytes)
"""Classes of constants that are told by what they are equal to."""
_FUNCTIONS = (types.FunctionType, property, staticmethod, classmethod, functools.partial)
_OF_CLASS = frozenset({"__weakref__", "__dict__", "__doc__", "__module__", "__slots__", "__annotations__"})
MISSING = object()
"""What is found where there is nothing."""


def same_contents(held: Any, contents: Any) -> bool:
    return len(held) == len(contents) and all(map(is_, held, contents))


def same_entries(held: Any, keys: Any, contents: Any) -> bool:
    return same_contents(held, keys) and all(map(is_, held.values(), contents))


def same_keys(held: Any, keys: Any) -> bool:
    return [*held] == [*keys] and all(map(is_, map(type, held), map(type, keys)))


def same_ends(given: Any, parts: Any) -> bool:
    """Of a range or slice."""
    found = ends_of(given)
    return found == parts and all(map(is_, map(type, found), map(type, parts)))


def calm() -> bool:
    """NumPy is not to raise, and warnings are none."""
    quiet = {*np.geterr().values()} <= {"ignore", "warn"}
    return quiet and not any(action == "error" for action, *_ in warnings.filters)


def same_parts(functions: Any, code: Any, defaults: Any) -> bool:
    return all(map(is_, map(_CODE, functions), code)) and all(map(is_, map(_DEFAULTS, functions), defaults))


def _may_run(value: Any) -> bool:
    return callable(value) or hasattr(type(value), "__get__")


def _root(path: str) -> str:
    """The argument that the path begins with."""
    return path.partition(".")[0].partition("[")[0]


def apart(elsewhere: frozenset[int], objects: tuple[Any, ...]) -> bool:
    """Each is another object, and none is among those with the ids `elsewhere`."""
    found = {*map(id, objects)}
    return len(found) == len(objects) and elsewhere.isdisjoint(found)


_TESTS = (same_contents, same_entries, same_keys, same_ends, same_parts, apart, calm)


class Origins:
    """`lines`: those of the trace, where numbers and arrays are read; `tests`: those of what has to hold.
    `wrt`: the arguments that are differentiated; None: all."""

    def __init__(self, lines: Lines, wrt: Set[str] | None) -> None:
        self.lines, self._wrt = lines, wrt
        self.tests: list[str] = ["calm()"]
        self.paths: dict[int, str] = {}
        """How containers, objects and arrays that were there are reached, by id."""
        self.values: dict[int, str] = {}
        """The variables that numbers and arrays are in, by id."""
        self.constants: set[int] = set()
        """Numbers that are what they are, by id."""
        self.of_arguments: set[int] = set()
        self.copies: dict[int, Any] = {}
        """Of arguments, by the id of what was given."""
        self._apart: list[str] = []
        """Where arguments hold containers and arrays: each is in one place, and nowhere besides."""
        self._elsewhere: set[int] = set()
        self.leaves: list[str] = []
        """The numbers and arrays that arguments hold."""
        self.besides: list[Any] = []
        """Those that were there besides."""
        self.cells: set[int] = set()
        """Of functions that were there, by id."""
        self.given: set[int] = set()
        """Numbers and arrays that were there before, in arguments and besides, by id; not those in code."""
        self.alive: list[Any] = []
        self._known: set[int] = set()
        self._functions: list[types.FunctionType] = []
        lines.namespace.update({f.__name__: f for f in _TESTS})
        lines.namespace |= {"ndarray": np.ndarray, "MISSING": MISSING, "type": type, "len": len}
        lines.namespace["getattr"] = getattr

    def forget(self) -> None:
        self.alive.clear()
        self.copies.clear()
        self._functions = []
        self.besides = []

    def is_constant(self, value: Any) -> bool:
        return id(value) in self.constants or id(value) in LITERALS

    def named(self, value: Any, expression: str) -> str:
        """A variable for what the expression gives."""
        name = self.lines.variable()
        self.lines.add(f"{name} = {expression}")
        self.values[id(value)] = name
        self.alive.append(value)
        return name

    # -- arguments -------------------------------------------------------------------------------------------

    def argument(self, value: Any, path: str) -> Any:
        """Note what is held; the value, or a copy with numbers that are nowhere else."""
        if fixed(value):
            if type(value) is types.FunctionType and value.__closure__ and self._is_wrt(path):
                raise Unfit("a function that is differentiated, which may have captured numbers")
            self.beside(value)
            self.tests.append(self._is(value, path))
            return value
        if type(value) in NUMBER:
            value = value * type(value)(1)
            self.tests.append(f"type({path}) is {self.lines.name(type(value))}")
        else:
            self.of_arguments.add(id(value))
            if self._seen(value, path):
                return self.copies.get(id(value), value)
            self._apart.append(path)
        if type(value) is np.ndarray:
            value = self._copied(value, (value,), (None,), functools.partial(value.copy, "K"))
            self._array(value, path)
        elif type(value) not in NUMBER:
            return self._container(value, path)
        else:
            self.named(value, path)
        self.leaves.append(path)
        self.given.add(id(value))
        return value

    def _container(self, value: Any, path: str) -> Any:
        self.tests.append(f"type({path}) is {self.lines.name(type(value))}")
        if is_sequence(value):
            self.tests.append(f"len({path}) == {len(value)}")
            self._of_tuple(value)
            items = [self.argument(item, f"{path}[{i}]") for i, item in enumerate(value)]
            return self._copied(value, value, items, lambda: remade(value, items))
        if type(value) in MAPPINGS:
            if not all(type(key) in (str, int, bool) for key in value):
                raise Unfit("keys of an argument that are no texts")
            self.tests.append(f"same_keys({path}, {self.lines.name(tuple(value))})")
            self._factory(value, path)
            items = [self.argument(value[key], f"{path}[{key!r}]") for key in value]
            return self._copied(value, [*value.values()], items, lambda: entries_with(value, items))
        if type(value) in (set, frozenset) and all(map(fixed, value)):
            self._all_beside(self._contents(value, path))
            return value
        fields = fields_of(value)
        if fields is None:
            raise Unfit(f"an argument of the class {type(value).__name__}")
        self.of_class(type(value))
        if not all(name.isidentifier() and not iskeyword(name) for name in fields):
            raise Unfit("an attribute of an argument whose name is none")
        if hasattr(value, "__dict__"):
            self.tests.append(f"same_keys({path}.__dict__, {self.lines.name(tuple(value.__dict__))})")
        items = [self.argument(item, f"{path}.{name}") for name, item in fields.items()]
        return self._copied(value, [*fields.values()], items, lambda: copy_with(value, fields, items))

    def _of_tuple(self, value: Any) -> None:
        """A named tuple has methods."""
        if type(value).__flags__ & HEAPTYPE:
            if hasattr(value, "__dict__"):
                raise Unfit(f"attributes of a {type(value).__name__}")
            self.of_class(type(value))

    def _factory(self, value: Any, path: str) -> None:
        if type(value) is collections.defaultdict:
            self.tests.append(f"{path}.default_factory is {self.lines.name(value.default_factory)}")
            self.beside(value.default_factory)

    def _copied(self, value: Any, held: Any, items: Sequence[Any], copy: Callable[[], Any]) -> Any:
        if same_contents(held, items):
            return value
        made = self.copies[id(value)] = copy()
        self.paths[id(made)] = self.paths[id(value)]
        self.of_arguments.add(id(made))
        self.alive.append(made)
        return made

    def _array(self, value: np.ndarray, path: str) -> None:
        if value.dtype.char not in KINDS:
            raise Unfit(f"an array of {value.dtype}")
        dtype, shape = self.lines.name(value.dtype), value.shape
        self.tests.append(f"type({path}) is ndarray and {path}.dtype is {dtype} and {path}.shape == {shape}")
        self.named(value, path)

    def _is(self, value: Any, path: str) -> str:
        """A test that it is that."""
        cls, same = self.lines.name(type(value)), self.lines.name(value)
        if type(value) in _EQUAL or isinstance(value, np.generic):
            return f"type({path}) is {cls} and {path} == {same}"
        if type(value) in (range, slice):
            return f"type({path}) is {cls} and same_ends({path}, {self.lines.name(ends_of(value))})"
        return f"{path} is {same}"

    def _is_wrt(self, path: str) -> bool:
        return self._wrt is None or _root(path) in self._wrt

    def _seen(self, value: Any, path: str) -> bool:
        known = self.paths.get(id(value))
        if known is None:
            self.paths[id(value)] = path
            self.alive.append(value)
            if len(self.alive) > MOST:
                raise Unfit("much that was there before")
            return False
        if _root(path) != _root(known) or self._is_wrt(path):
            raise Unfit("an argument that is read by two names")
        self.tests.append(f"{path} is {known}")
        return True

    # -- what is there besides -------------------------------------------------------------------------------

    def is_there(self, value: Any) -> bool:
        """It was there before, and is known to be as it was."""
        return id(value) in self._known or id(value) in self.paths

    def beside(self, value: Any) -> None:
        """Something that is there whatever the arguments are: what it holds has to be what it was."""
        if id(value) in self.copies:
            raise Unfit("an argument that is read by another name, too")
        if type(value) in NUMBER:
            self.besides.append(value)
            self.constants.add(id(value))
            self.given.add(id(value))
        elif type(value) is types.FunctionType:
            self.function(value)
        elif is_leaf(value):
            pass
        elif issubclass(type(value), type):
            self.of_class(value)
        elif id(value) not in self.paths:
            path = self.paths[id(value)] = self.lines.name(value)
            self._elsewhere.add(id(value))
            self.alive.append(value)
            if len(self.alive) > MOST:
                raise Unfit("much that was there before")
            self._all_beside(self._contents(value, path))

    def _all_beside(self, values: Iterable[Any]) -> None:
        for value in values:
            self.beside(value)

    def _contents(self, value: Any, path: str) -> Iterable[Any]:
        cls = type(value)
        if cls is np.ndarray:
            self.besides.append(value)
            self.given.add(id(value))
            self._array(value, path)
            return ()
        if is_sequence(value) or cls in (set, frozenset):
            self._of_tuple(value)
            contents = tuple(value)
            self.tests.append(f"same_contents({path}, {self.lines.name(contents)})")
            return contents
        if cls in (*MAPPINGS, types.MappingProxyType):
            self._factory(value, path)
            return self._entries(value, path)
        if (parts := parts_of(value)) is not None:
            if cls is functools.partial:  # which `__setstate__` changes
                held = f"({path}.func, {path}.args, {path}.keywords)"
                self.tests.append(f"same_contents({held}, {self.lines.name(parts)})")
            return parts
        if issubclass(cls, (enum.Enum, int, str, bytes)):  # which cannot change but for their attributes
            self.of_class(cls)
            return self._entries(vars(value), f"{path}.__dict__") if hasattr(value, "__dict__") else ()
        fields = fields_of(value)
        if fields is None:
            raise Unfit(f"an object of the class {cls.__name__}")
        self.of_class(cls)
        self.tests.append(f"type({path}) is {self.lines.name(cls)}")
        held = getattr(value, "__dict__", {})
        for name in fields.keys() - held.keys():
            self.tests.append(f"getattr({path}, {name!r}) is {self.lines.name(fields[name])}")
        if hasattr(value, "__dict__"):
            self._entries(held, f"{path}.__dict__")
        return fields.values()

    def _entries(self, held: Any, path: str) -> tuple[Any, ...]:
        keys, contents = tuple(held), tuple(held.values())
        self.alive.append((keys, contents))
        self.tests.append(f"same_entries({path}, {self.lines.name(keys)}, {self.lines.name(contents)})")
        return (*keys, *contents)

    def found(self, value: Any, expression: str) -> None:
        """What is found by a name: the name has to lead to it again."""
        if id(value) not in self.values or id(value) in self.copies:
            self.beside(value)
        path = self.paths.get(id(value))
        known = self._is(value, expression) if path is None else f"{expression} is {path}"
        self.tests.append(known)

    def missing(self, owner: Any, name: str) -> None:
        self.tests.append(f"getattr({self.lines.name(owner)}, {name!r}, MISSING) is MISSING")

    def function(self, function: types.FunctionType) -> None:
        """One that was there."""
        if id(function) in self._known:
            return
        self._known.add(id(function))
        self._functions.append(function)
        self.alive.append(function)
        self.cells.update(map(id, function.__closure__ or ()))
        named = function.__kwdefaults__
        if named is not None:
            self._entries(named, f"{self.lines.name(function)}.__kwdefaults__")
        self._all_beside((*(function.__defaults__ or ()), *(named or {}).values()))

    def of_class(self, cls: type) -> None:
        """What the class, its class, and those it comes of, have: functions as they are, and whatever else
        may run where nobody asks for it by name; attributes besides when they are read."""
        for each in (*cls.__mro__, *type(cls).__mro__):
            if id(each) in self._known or not each.__flags__ & HEAPTYPE:
                continue
            self._known.add(id(each))
            self.alive.append(each.__mro__)
            self.tests.append(f"{self.lines.name(each)}.__mro__ is {self.lines.name(each.__mro__)}")
            held = vars(each)
            self._entries(held, f"{self.lines.name(each)}.__dict__")
            for name, value in [*held.items()]:
                special = name[:2] == name[-2:] == "__" and name not in _OF_CLASS
                if type(value) in _FUNCTIONS or (special and _may_run(value)):
                    self.beside(value)

    def holds(self, parameters: str) -> types.FunctionType:
        """(*arguments) -> whether all is as it was."""
        code, defaults = ([*map(part, self._functions)] for part in (_CODE, _DEFAULTS))
        named = ", ".join(map(self.lines.name, (self._functions, code, defaults)))
        tests = [*dict.fromkeys(self.tests), f"same_parts({named})"]
        if self._apart:
            places = "".join(f"{path}, " for path in self._apart)
            tests.append(f"apart({self.lines.name(frozenset(self._elsewhere))}, ({places}))")
        lines = [f"    if not ({test}): return False" for test in tests]
        handler = ["except Exception:", "    return False"]
        return self.lines.another(["try:", *lines, *handler]).function("holds", parameters, "True")

    def looked(self, parameters: str) -> types.FunctionType:
        """(*arguments) -> the numbers and arrays in them."""
        found = "".join(f"{leaf}, " for leaf in self.leaves)
        return self.lines.another([]).function("leaves", parameters, f"({found})")
