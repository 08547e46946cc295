"""Callees that are not looked into: run on samples, their results depend on all that reached them.

They may also store. Arrays that they are given depend on everything afterwards, unless the callee is known to
leave its arguments alone; arrays that they reach otherwise, if they are seen to change. Of changes to objects
and containers nothing could be said: they are refused.
"""

from __future__ import annotations

import functools
import random
import types
from collections import deque
from typing import Any

import numpy as np

from ctxdispatch.dispatch.reach import HEAPTYPE
from ctxdispatch_contexts.programs.assigned import is_empty
from ctxdispatch_contexts.programs.errors import OWN_FILES
from ctxdispatch_contexts.sparsity.callees import of_library
from ctxdispatch_contexts.sparsity.errors import described
from ctxdispatch_contexts.sparsity.run import LEAVES, Run, held
from ctxdispatch_contexts.sparsity.snapshots import Snapshot
from ctxdispatch_contexts.sparsity.stores import Stores
from ctxdispatch_contexts.sparsity.values import Array, Tracked, root_of

HARMLESS = ("numpy.fft", "numpy.linalg", "scipy.special", "scipy.fft")
"""Modules of C functions that leave their arguments alone. What others do to an array, at other values, is
not known."""


SEEN = (
    *LEAVES, types.FunctionType, types.MethodType, list, tuple, dict, set, frozenset, deque, np.ndarray,
    Tracked, np.ufunc, np.random.Generator, np.random.RandomState, random.Random,
)  # fmt: skip
"""Owners of methods in C: those that hold numbers of the user's show it."""


class Opaque(Stores):
    """Calls that are not followed."""

    def outside(self) -> list[Any]:
        """What was changed of objects older than the run: code that is not followed may read it."""
        return [thing for thing, _ in self.journal.levels[0].saved.values()]

    def opaque(self, f: Any, args: list[Any], kwargs: dict[str, Any], why: str) -> Any:
        """Runs on samples. Arrays that it changes depend on all that reached it as well."""
        bits = self.union(f, args, kwargs, self.outside() if type(f) is types.FunctionType else [])
        self._check_owner(f, args)
        self.warn_opaque(f, why)
        direct, others = self._arrays(f, args, kwargs)
        before = [np.array(self.sampled(a)) for a in (*direct, *others)]
        for a in (*direct, *others):
            self.journal.touch(self.owner(a) if isinstance(a, Array) else root_of(a))
        plain, named = self.computed(f, args, kwargs, f" is not looked into ({why}), and")
        callee = _sampled_callee(self, f) if self.touched(f) else f
        taken = Snapshot(self, _named_globals(f), f, args, kwargs, plain, named, callee)
        try:
            out = self.attempt(callee, plain, named)
        except BaseException:
            taken.restore()
            raise
        if taken.changed():
            taken.restore()
            self.refuse(
                f"{described(f)} is not looked into ({why}), and changes an object or container that it can "
                "reach; return what it computes instead"
            )
        harmless = str(getattr(f, "__module__", "")).startswith(HARMLESS) and "out" not in kwargs
        for k, (a, old) in enumerate(zip((*direct, *others), before)):
            same = np.array_equal(old, self.sampled(a), equal_nan=old.dtype.kind in "fc")
            if not same:
                self.about_to_store(a)  # may it be stored into?
            if not same or (k < len(direct) and not harmless):
                self.store(a, Ellipsis, self.dense(np.array(self.sampled(a)), bits), weak=True)
        if self.pairs is not None:
            self.pairs.clique(self, bits)
        if issubclass(type(out), types.ModuleType) and of_library(f):
            return out  # of what kind the operands are, not of their values
        pairs = [*zip(plain, args), *((named[key], kwargs[key]) for key in kwargs)]
        return self._result(out, bits, [*direct, *others], _given(pairs))

    def run_unseen(self, f: types.FunctionType, args: Any, kwargs: dict[str, Any]) -> Any:
        """A function of the user's that nothing tracked reaches, and that is not followed."""
        taken = Snapshot(self, _named_globals(f), f, args, kwargs)
        try:
            return self.born(f(*args, **kwargs))
        finally:
            taken.told()

    def _check_owner(self, f: Any, args: list[Any]) -> None:
        """A method in C may keep what it is given, in an object of which we do not see what it holds."""
        owner = getattr(f, "__self__", None)
        if type(f) in (types.MethodDescriptorType, types.WrapperDescriptorType) and args:
            owner = args[0]
        if type(f) is types.FunctionType or issubclass(type(owner), SEEN):
            return
        self.refuse(
            f"a value that depends on the inputs is passed to {described(f)}, whose object may keep it out "
            "of sight; use a list or an array"
        )

    def _arrays(self, f: Any, args: list[Any], kwargs: dict[str, Any]) -> tuple[list[Any], list[Any]]:
        """Writable arrays that a callee is given; and those that it reaches otherwise."""
        out = kwargs.get("out")
        direct = [*args, *kwargs.values(), *(out if isinstance(out, tuple) else ())]
        direct = [self.lifted(a) for a in direct]
        direct = [a for a in direct if isinstance(a, (Array, np.ndarray)) and self.sampled(a).flags.writeable]
        found = self.reachable(f, args, kwargs, _named_globals(f), arrays=True)
        known = {id(root_of(self.sampled(a))) for a in direct}
        others = [v for v in found if v.flags.writeable and id(root_of(v)) not in known]
        tracked = {id(a.sample): a for a in self.leaves(f, args, kwargs) if isinstance(a, Array)}
        return direct, [tracked[id(v)] if id(v) in tracked else self.lifted(v) for v in others]

    def _result(self, out: Any, bits: int, arrays: list[Any], given: dict[int, Any]) -> Any:
        """Dense. What the callee was given is that, and memory that something else sees too stays that."""
        if id(out) in given:
            return given[id(out)]
        if isinstance(out, np.ndarray):
            root = root_of(out)
            for a in arrays:
                if root is root_of(self.sampled(a)):
                    return Array(out, a.memory) if isinstance(a, Array) else out
        if type(out) in (tuple, list):
            return type(out)([self._result(x, bits, arrays, given) for x in out])
        return self.dense(out, bits)


def _given(pairs: list[tuple[Any, Any]]) -> dict[int, Any]:
    """What containers and arrays are of which a callee was given samples, by what these are. `pairs`: of a
    sample and what it is of."""
    found: dict[int, Any] = {}
    for sample, value in pairs:  # grows
        if type(value) is dict:
            pairs += [(sample[key], value[key]) for key in value]
        elif type(value) in (list, tuple):
            pairs += zip(sample, value)
        if isinstance(value, Array) or (type(value) in (list, tuple, dict) and sample != ()):
            found[id(sample)] = value
    return found


def is_own(f: types.FunctionType) -> bool:
    """What a function is read as: no code of the user's."""
    return f.__code__.co_filename.startswith(OWN_FILES)


def _named_globals(f: Any) -> list[Any]:
    """What a function's code may read of its module, and so on for the functions and classes among it."""
    found: dict[int, Any] = {}
    work = [f] if type(f) in (types.FunctionType, types.MethodType) else []
    while work:
        new = {id(t): t for t in _leads_to(work.pop())}
        new = {key: t for key, t in new.items() if key not in found}
        found.update(new)
        work.extend(new.values())
    return list(found.values())


def _leads_to(g: Any) -> list[Any]:
    if of_library(g) or issubclass(type(g), types.ModuleType):
        return []
    if type(g) is types.FunctionType:
        names = {name for code in _codes(g.__code__) for name in code.co_names}
        return [*(g.__globals__[n] for n in names if n in g.__globals__), *held(g)]
    if issubclass(type(g), (types.MethodType, types.CellType, functools.partial)):
        return held(g)
    if issubclass(type(g), type):
        members = [getattr(m, "fget", getattr(m, "__func__", m)) for m in vars(g).values()]
        return [m for m in members if type(m) is types.FunctionType]
    return [type(g)] if type(g).__flags__ & HEAPTYPE and not of_library(type(g)) else []


def _codes(code: types.CodeType) -> list[types.CodeType]:
    """That of a function, and of those that are made in it."""
    inner = [c for c in code.co_consts if type(c) is types.CodeType]
    return [code, *(each for c in inner for each in _codes(c))]


def _sampled_callee(run: Run, f: Any) -> Any:
    """A callee with samples in the place of what it holds: a method's owner, a closure's cells."""
    if type(f) is types.FunctionType:
        return _sampled_function(run, f, {})
    owner = getattr(f, "__self__", None)
    if owner is not None:
        return getattr(run.sampled(owner), f.__name__)
    return f


def _sampled_function(run: Run, f: types.FunctionType, made: dict[types.FunctionType, Any]) -> Any:
    """`made`: of functions that hold one another, or themselves."""
    if f not in made:
        cells = tuple(types.CellType() for _ in f.__closure__ or ())
        defaults = tuple(run.sampled(d) for d in f.__defaults__ or ())
        new = types.FunctionType(f.__code__, f.__globals__, f.__name__, defaults or None, cells or None)
        new.__kwdefaults__ = {k: run.sampled(d) for k, d in (f.__kwdefaults__ or {}).items()} or None
        made[f] = new
        for cell, own in zip(cells, f.__closure__ or (), strict=True):
            if not is_empty(own):
                v = own.cell_contents
                is_function = type(v) is types.FunctionType
                cell.cell_contents = _sampled_function(run, v, made) if is_function else run.sampled(v)
    return made[f]
