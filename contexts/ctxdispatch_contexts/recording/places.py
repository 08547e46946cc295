"""Numbers that were there before a run, where the program may have put them in an earlier call.

    self.value    attributes that a method stores (a constructor aside)       value    variables of a module,
    memo[key]     items of lists and dicts                                    buf      of a function around

    search(frames).stored()    those that the code of these frames reaches

Data that nothing stores to (`self.X`, a table in a module) is none of them.
"""

from __future__ import annotations

import dis
import functools
import sys
import types
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ctxdispatch.dispatch.reach import HEAPTYPE
from ctxdispatch.facts import storing_methods
from ctxdispatch.ir.leaves import is_ours
from ctxdispatch.ir.values import Position
from ctxdispatch_contexts.programs.errors import user_frame
from ctxdispatch_contexts.programs.opaque_values import fields
from ctxdispatch_contexts.recording.leaves import NUMBERS, leaves

MOST = 20_000
"""So many things are looked at."""

_ORIGINALS: weakref.WeakValueDictionary[tuple[str, int, str], types.CodeType] = weakref.WeakValueDictionary()
"""The user's code, by what code that is made of it says too."""
_ITEMS = (list, tuple, set, frozenset, deque)


def remember(code: types.CodeType) -> None:
    """It runs as other code from now on. (What has variables of the engine's is such code already.)"""
    if all(map(str.isidentifier, code.co_freevars)):
        _ORIGINALS[_key(code)] = code


def _key(code: types.CodeType) -> tuple[str, int, str]:
    return code.co_filename, code.co_firstlineno, code.co_qualname


def frames_of_run(frame: types.FrameType | None) -> list[types.FrameType]:
    """The frames of the user's, within the run."""
    found = []
    while frame is not None and frame.f_code is not _run_code():
        found.append(frame)
        frame = frame.f_back
    return [each for each in found if user_frame(each) is each]


def _run_code() -> types.CodeType:
    code: types.CodeType = sys.modules["ctxdispatch_contexts.recording.api"].run.__code__
    return code


def original(code: types.CodeType) -> types.CodeType:
    """The user's, of which `code` was made."""
    return _ORIGINALS.get(_key(code), code)


def search(frames: list[types.FrameType]) -> Search:
    """What the code of these frames reaches, but for variables of its own."""
    codes = [original(frame.f_code) for frame in frames]
    found = Search()
    for frame, code in zip(frames, codes, strict=True):
        found.written |= written(code)
        found.add_written(frame.f_globals.get(name) for name in code.co_names)
        cells = {*code.co_freevars, *code.co_cellvars}
        local = {name: value for name, value in frame.f_locals.items() if name.isidentifier()}
        found.named({name: value for name, value in local.items() if name in cells})
        found.named({name: frame.f_globals[name] for name in code.co_names if name in frame.f_globals})
        found.waiting += [v for name, v in local.items() if name not in cells and not _is_leaf(v)]
    found.go_on()
    return found


def _is_leaf(value: Any) -> bool:
    return issubclass(type(value), (np.ndarray, *NUMBERS))


class Search:
    """`written`: the names of what is stored to; `waiting`: what is to be looked into."""

    def __init__(self) -> None:
        self.written: set[str] = set()
        self.waiting: list[Any] = []
        self._named: list[dict[str, Any]] = []
        self._containers: list[tuple[str, Any]] = []
        self._seen: dict[int, Any] = {}

    def everything(self) -> list[Any]:
        named = [v for each in self._named for v in each.values()]
        return [*named, *filter(_is_leaf, self._seen.values())]

    def stored(self) -> Iterator[Any]:
        """Those that the program stores to."""
        leaves = [v for v in self._seen.values() if _is_leaf(v)]
        by_name = [v for named in self._named for name, v in named.items() if name in self.written]
        return iter({id(v): v for v in (*leaves, *by_name)}.values())

    def under(self, names: frozenset[str]) -> list[Any]:
        """Those that have such a name, or lie in a container that has one."""
        direct = [v for named in self._named for name, v in named.items() if name in names]
        return [*direct, *(v for name, held in self._containers if name in names for v in leaves(held))]

    def go_on(self) -> None:
        while self.waiting and len(self._seen) < MOST:
            value = self.waiting.pop()
            if id(value) not in self._seen:
                self._seen[id(value)] = value
                self._look_into(value)

    def named(self, named: dict[str, Any]) -> None:
        """Variables or attributes: a number by itself counts where something stores to its name."""
        self._named.append({name: value for name, value in named.items() if _is_leaf(value)})
        self.waiting += [value for value in named.values() if not _is_leaf(value)]
        self._containers += [(k, v) for k, v in named.items() if issubclass(type(v), (*_ITEMS, dict))]

    def add_written(self, values: Iterable[Any]) -> None:
        for value in values:
            if type(value) is types.FunctionType:
                self.written |= written(value.__code__)

    def _look_into(self, value: Any) -> None:
        if _is_users(type(value)):
            self.named(fields(value))
            self.waiting.append(type(value))
        if issubclass(type(value), _ITEMS):
            self.waiting += value
        elif issubclass(type(value), dict):
            self.waiting += [] if "__builtins__" in value else value.values()
        elif type(value) is types.MethodType or issubclass(type(value), functools.partial):
            parts = (value.__self__, value.__func__) if type(value) is types.MethodType else ()
            self.waiting += parts or (value.func, value.args, value.keywords)
        elif type(value) is types.FunctionType:
            self._look_into_function(value)
        elif issubclass(type(value), type) and _is_users(value):
            self._look_into_class(value)

    def _look_into_function(self, f: types.FunctionType) -> None:
        self.written |= written(f.__code__)
        self.named(dict(vars(f)))
        self.waiting.append(f.__defaults__)
        cells = zip(f.__code__.co_freevars, map(_contents, f.__closure__ or ()), strict=True)
        self.named({name: value for name, value in cells if name.isidentifier()})

    def _look_into_class(self, cls: type) -> None:
        for base in cls.__mro__[:-1]:
            members = dict(vars(base))
            functions = {name: _function(member) for name, member in members.items()}
            self.add_written(f for name, f in functions.items() if name not in _CONSTRUCTORS)
            self.named({name: member for name, member in members.items() if _is_data(member)})


_CONSTRUCTORS = ("__init__", "__new__", "__post_init__", "__setstate__", "__init_subclass__")


def _is_users(cls: type) -> bool:
    return bool(cls.__flags__ & HEAPTYPE) and not is_ours(cls.__module__)


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _function(member: Any) -> Any:
    """The function behind a member of a class."""
    member = member.fget if issubclass(type(member), property) else member
    return getattr(member, "__func__", getattr(member, "func", member))


def _is_data(member: Any) -> bool:
    return issubclass(type(member), (*_ITEMS, dict)) or _is_leaf(member)


# -- what code stores to -------------------------------------------------------------------------------------

_ASSIGNS = ("STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF", "STORE_NAME")
_IN_PLACE = frozenset({*storing_methods(), "out", "fill", "put", "copyto", "setflags"})
_LOADS = ("LOAD_ATTR", "LOAD_METHOD", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME", "LOAD_CLASSDEREF")


def written(code: types.CodeType) -> frozenset[str]:
    """The names of the attributes and variables that this code, and functions in it, assign to, or store into
    what they hold: of the latter all that stand in the line."""
    try:
        return _written(code)
    except TypeError:  # generated code, with constants that have no hash
        return _written.__wrapped__(code)


@functools.lru_cache(2048)
def _written(code: types.CodeType) -> frozenset[str]:
    lines: dict[int, set[str]] = {}
    names: set[str] = set()
    changing: set[int] = set()
    line = 0
    for each in dis.get_instructions(code):
        line = _line(each) or line
        if each.opname in _ASSIGNS:
            names.add(each.argval)
        elif each.opname in _LOADS:
            lines.setdefault(line, set()).add(each.argval)
        if _stores_into(each):
            changing.add(line)
    inner = [written(c) for c in code.co_consts if type(c) is types.CodeType]
    return frozenset().union(names, *inner, *[lines.get(at, ()) for at in changing])


@functools.lru_cache(512)
def named(code: types.CodeType, at: Position) -> list[tuple[bool, str]]:
    """The name of what is stored into there, and whether it is one of attributes: `kept` of `m.kept[i] = v`
    and of `m.kept.append(v)`; of `np.add(a, b, out=kept)` all names in it."""
    named = (*_LOADS, *_ASSIGNS)
    loads = [each for each in dis.get_instructions(code) if each.opname in named and each.positions]
    found = [each for each in loads if _begins(each) == (at.line, at.column)]
    if any(each.argval in ("np", "numpy") for each in found):
        found = [each for each in loads if _lies_in(each, at)]
    else:
        found = [each for each in found if not _is_method(each)][-1:]
    return [(each.opname in _ATTRIBUTES, each.argval) for each in found]


_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")


def _is_method(each: dis.Instruction) -> bool:
    return each.opname in _ATTRIBUTES and (each.opname == "LOAD_METHOD" or "NULL" in each.argrepr)


def _begins(each: dis.Instruction) -> tuple[int, int]:
    assert each.positions is not None
    return each.positions.lineno or 0, each.positions.col_offset or 0


def _lies_in(each: dis.Instruction, at: Position) -> bool:
    first, last = (at.line or 0, at.column or 0), (at.end_line or 0, at.end_column or 0)
    return first <= _begins(each) <= last


def _line(instruction: dis.Instruction) -> int | None:
    positions = instruction.positions
    return None if positions is None else positions.lineno


def _stores_into(instruction: dis.Instruction) -> bool:
    if instruction.opname == "BINARY_OP":
        return instruction.argrepr.endswith("=")
    if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD"):
        return instruction.argval in _IN_PLACE
    keywords = instruction.argval if instruction.opname in ("KW_NAMES", "LOAD_CONST") else ()
    return instruction.opname in ("STORE_SUBSCR", "STORE_SLICE") or (
        type(keywords) is tuple and "out" in keywords
    )
