"""What rewritten code remembers of callees and operands, per context instance.

A function that was rewritten for an instance has a list in a hidden cell: the instance, then a pair per place
of its code (`ir.sites`). A pair is written in one step and blank until then: threads see all of it or none.

    (callee, target)       what runs in place of the callee that was seen here last
    (type, type)           of operands for which the operation is the interpreter's own
    (callee, type)         of a last argument for which the callee runs as it is

Invariants: what is remembered is what `overdub.resolve` would find. A rule that is added or removed blanks
all lists of the class. A function whose code or defaults were assigned to blanks those of the instances
that remember it: at once where the program that runs does that, else when the instance is entered next.
"""

from __future__ import annotations

import abc
import builtins
import collections
import functools
import operator
import sys
import types
from typing import Any, NamedTuple

from ctxdispatch.dispatch import protocols, rules
from ctxdispatch.dispatch.reach import CMETHOD, HEAPTYPE, Engine, Initialiser
from ctxdispatch.facts import BINARY, COMPARISONS, INPLACE, SETS_ATTRIBUTE, SIGNS
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401
from ctxdispatch.ir.sites import CELL, CONTEXT

BLANK = (None, None)
"""Nobody calls None, and no type is it."""

MOST = 512
"""More functions than this, and an instance forgets them all: they may be lambdas made in a loop."""


class Copies:
    """What runs in place of functions with the code of `f` and its globals: with the code `rewritten`, which
    closes over more `cells`; each as it is where none is given."""

    __slots__ = ("code", "namespace", "rewritten", "cells")

    def __init__(
        self,
        f: types.FunctionType,
        rewritten: types.CodeType | None = None,
        cells: tuple[types.CellType, ...] = (),
    ) -> None:
        self.code, self.namespace = f.__code__, f.__globals__
        self.rewritten, self.cells = rewritten, cells

    def of(self, f: types.FunctionType) -> types.FunctionType:
        if self.rewritten is None:
            return f
        closure = (*(f.__closure__ or ()), *self.cells)
        made = types.FunctionType(self.rewritten, self.namespace, f.__name__, f.__defaults__, closure)
        made.__kwdefaults__, made.__qualname__ = f.__kwdefaults__, f.__qualname__
        return made


class Memory:
    """`lists` by the code that they are for; `functions` that are remembered, with what they were given;
    what becomes of functions, by the id of their code."""

    __slots__ = ("ctx", "lists", "functions", "codes", "__weakref__")

    def __init__(self, ctx: Any) -> None:
        self.ctx = ctx
        cls: Any = type(ctx)
        rules.forgets(cls, self)
        self.lists: dict[int, tuple[types.CodeType, types.CellType]] = {}
        self.functions: dict[int, tuple[types.FunctionType, Any]] = {}
        self.codes: dict[int, Copies] = {}

    def cell(self, code: types.CodeType, count: int) -> types.CellType:
        """That of functions with this code, which has so many places."""
        known = self.lists.get(id(code))
        if known is None:
            fresh = types.CellType([self.ctx, *[BLANK] * count])
            known = self.lists.setdefault(id(code), (code, fresh))
        return known[1]

    def keep(self, callee: types.FunctionType, given: tuple[Any, Any, Any]) -> None:
        """To look at when the instance is entered again. It was remembered already, for what it was `given`:
        whoever forgets from now on finds it."""
        if len(self.functions) >= MOST:
            self.forget()
        self.functions[id(callee)] = callee, given

    def keep_code(self, copies: Copies, version: int) -> None:
        """With what was found out for this version of the class; rules may have changed meanwhile."""
        if len(self.codes) >= MOST:
            self.codes.clear()
        self.codes[id(copies.code)] = copies
        if version != type(self.ctx)._version:
            self.codes.clear()

    def check(self) -> None:
        """Forget everything where a function is not what it was."""
        for function, assigned in tuple(self.functions.values()):
            if any(a is not b for a, b in zip(given(function), assigned)):
                self.forget()
                return

    def forget(self) -> None:
        self.functions.clear()
        self.codes.clear()
        for _, cell in tuple(self.lists.values()):
            places = cell.cell_contents
            for place in range(1, len(places)):
                places[place] = BLANK


def given(f: types.FunctionType) -> tuple[Any, Any, Any]:
    """What `ASSIGNED` names."""
    return f.__code__, f.__defaults__, f.__kwdefaults__


ASSIGNED = ("__code__", "__defaults__", "__kwdefaults__")
"""The attributes whose assignment is a change."""


def is_assignment(args: tuple[Any, ...]) -> bool:
    """Whether setattr(*args) is one of these, or delattr(*args)."""
    return (
        len(args) > 1
        and type(args[0]) is types.FunctionType
        and issubclass(type(args[1]), str)
        and args[1] in ASSIGNED
    )


# -- what may be remembered ------------------------------------------------------------------------


def is_stable(f: Any) -> bool:
    """Whether what runs in place of `f` is the same until a rule or one of `ASSIGNED` changes."""
    kind = type(f)
    if kind is types.FunctionType:
        # One with a closure would live on with what it holds; cells of ours hold nothing of the user's.
        return not f.__closure__ or f.__code__.co_freevars[0].startswith((CONTEXT, CELL)) or _is_held(f)
    if kind is types.BuiltinFunctionType:
        return type(f.__self__) is types.ModuleType
    if kind is type:
        return not f.__flags__ & HEAPTYPE
    if kind is functools.partial:
        return _is_of_engine(f)
    return kind in STABLE or (_is_of_c(kind) and _is_held(f))


def _is_of_engine(f: functools.partial[Any]) -> bool:
    """Whether it is what a context further in remembers of a callee."""
    if len(f.args) < 3 or type(f.args[0]) is not Engine or f.keywords:
        return False
    _, _, callee, *more = f.args
    if is_held_class(callee):
        return len(more) == 0 or (len(more) == 1 and type(more[0]) is Initialiser)
    return not more and is_stable(callee)


def is_held_class(f: Any) -> bool:
    """Whether it is a class made in Python that lives as long as its module; of such, what runs in its place
    looks at it when it is called."""
    return type(f) in (type, abc.ABCMeta) and bool(f.__flags__ & HEAPTYPE) and _is_held(f)


def _is_of_c(kind: type) -> bool:
    """Whether there is no Python code behind objects of this class that are called: a ufunc is one."""
    return not kind.__flags__ & HEAPTYPE and kind not in protocols.BY_TYPE and kind not in BOUND


BOUND = {types.BuiltinMethodType, types.MethodWrapperType, CMETHOD}


def _is_held(f: Any) -> bool:
    """Whether it lives as long as its module: that, or a class in it, has it under the name it goes by."""
    module = getattr(f, "__module__", None) or type(f).__module__
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None)
    if type(module) is not str or type(name) is not str:
        return False
    place: Any = sys.modules.get(module)
    for each in name.split("."):
        if not issubclass(type(place), types.ModuleType | type):
            return False
        place = place.__dict__.get(each)
    return (place.__func__ if type(place) in (staticmethod, classmethod) else place) is f


STABLE = {types.MethodDescriptorType, types.WrapperDescriptorType}
ASSIGNS = frozenset(map(id, SETS_ATTRIBUTE))
"""They may assign to a function that is remembered."""


def is_native(operation: Any, kinds: tuple[type, ...]) -> bool:
    """Whether the interpreter does `operation` on any operands of these classes without running Python code
    that a context follows."""
    if any(kind.__flags__ & HEAPTYPE for kind in kinds):
        return False
    return operation is not operator.getitem or kinds[0] not in MAKERS


MAKERS = {type, collections.defaultdict}
"""Of C code, but `C[k]` and an item that is missing are made by Python code."""

GUARDED = frozenset({
    *BINARY, *INPLACE, *COMPARISONS, *SIGNS, operator.getitem, operator.not_, builtins.bool,
})  # fmt: skip
"""Operations that `is_native` knows."""


class ByClass(NamedTuple):
    """A builtin whose handler leaves to the interpreter what it is called with, with so many arguments, where
    the class of the last, or of all where they have to be `alike`, is of C code."""

    f: Any
    counts: tuple[int, ...] = (1,)
    alike: bool = False


BY_CLASS: dict[str, ByClass] = {
    **{name: ByClass(f) for name, f in vars(builtins).items() if id(f) in map(id, protocols.BY_FIRST)},
    "isinstance": ByClass(isinstance, (2,)),
    "issubclass": ByClass(issubclass, (2,)),
    "max": ByClass(max, (2, 3), alike=True),
    "min": ByClass(min, (2, 3), alike=True),
    "divmod": ByClass(divmod, (2,), alike=True),
    "pow": ByClass(pow, (2,), alike=True),
}
"""By name."""

_NO_BUILTIN = ByClass(None, ())


def by_class(name: Any, count: int) -> ByClass | None:
    """The builtin of this name, where it may be remembered when it is called with so many arguments."""
    row = BY_CLASS.get(name, _NO_BUILTIN)
    return row if count in row.counts else None


def is_native_call(f: Any, kinds: tuple[type, ...]) -> bool:
    """Whether no Python code that a context follows runs in `f` on arguments of these classes. (The second
    argument of isinstance may be a tuple of anything.)"""
    row = by_class(getattr(f, "__name__", ""), len(kinds))
    if row is None or row.f is not f:
        return False
    if row.alike or len(kinds) == 1:
        return not kinds[0].__flags__ & HEAPTYPE and all(kind is kinds[0] for kind in kinds)
    return kinds[-1] is type
