"""What a call does, in this order:

Python's own protocols      operators and attributes of objects whose class has Python methods
a rule                      `python_rules`, `transfer`, `structural`: by the callee itself
Python code                 executed: functions, methods, constructors, what NumPy has in Python
C code, nothing tracked     runs as it is
C code                      opaque: what it returns depends on all that reached it, and we say so
"""

from __future__ import annotations

import array
import collections
import functools
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.dispatch.reach import HEAPTYPE, Engine, class_or_object, lookup, own_way, special
from ctxdispatch.facts.arity import fits
from ctxdispatch.ir.values import row_of
from ctxdispatch.ir.watching import is_undispatched
from ctxdispatch.passes.outputs import of_ufunc, out_by_name, takes_out
from ctxdispatch_contexts.programs.c_objects import gives_away
from ctxdispatch_contexts.sparsity.callees import (
    LIBRARY_CALLABLES,
    cached_property,
    descriptor_of,
    has_python_constructor,
    implementation,
    is_sparse_product,
    of_library,
)
from ctxdispatch_contexts.sparsity.conversions import PROTOCOLS, converted_by, special_method
from ctxdispatch_contexts.sparsity.errors import REMEDY, described, out_of_sight
from ctxdispatch_contexts.sparsity.journal import Cursor
from ctxdispatch_contexts.sparsity.opaque import Opaque
from ctxdispatch_contexts.sparsity.overrides import overridden
from ctxdispatch_contexts.sparsity.values import BY_C, Array, Either, Flat, Memory, Scalar, Tracked, root_of

Rule = Callable[[Any, Any, list[Any], dict[str, Any]], Any]
"""rule(run, callee, args, kwargs)"""


class Bound:
    """A method of a tracked value."""

    __slots__ = ("descriptor", "owner")

    def __init__(self, descriptor: Any, owner: Any) -> None:
        self.descriptor, self.owner = descriptor, owner

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise out_of_sight(BY_C)


class Handled:
    """A callee of which is found when it is called what a run does."""

    def run(self, run: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        raise NotImplementedError

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("what a context runs in place of a callee was called in C code")


class Rows:
    """The items of an array, as they are when they are read."""

    __slots__ = ("run", "array")

    def __init__(self, run: Any, array: Any) -> None:
        self.run, self.array = run, array

    def __len__(self) -> int:
        return len(self.run.sampled(self.array))

    def __getitem__(self, i: int) -> Any:
        if i >= len(self):
            raise IndexError(i)
        return self.run.call(operator.getitem, [self.array, i], {})


GENERATED = "it is a program that another context makes; the pattern of a gradient is hessian_sparsity's"

OWN = (Tracked, Either, Cursor, Bound, Rows, Memory)


class Calls(Opaque):
    """Calls of anything: see above."""

    def call(self, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        self.check_shown(f, args)
        protocol = row_of(PROTOCOLS, f)
        if protocol is not None and len(args) == 2 and is_sparse_product(f, args):
            from ctxdispatch_contexts.sparsity.products import sparse_product

            x = self.lifted(args[1])
            if isinstance(x, Array):
                return sparse_product(self, args[0], x, f(args[0], x.sample))
        if protocol is not None and any(_has_python_methods(a) for a in args[:2]):
            kept = cached_property(f, args)
            if kept is not None:
                return self.kept(kept, args[0])
            method = None if kwargs else special_method(f, args)
            if method is not None:
                return converted_by(self, method, f, args, f)
            return protocol(ENGINE, self, f)(*args, **kwargs)
        out = self.primitive(f, args, kwargs)
        return self.of_types(out, args) if self.loose and isinstance(out, Scalar) else out

    def kept(self, descriptor: functools.cached_property[Any], owner: Any) -> Any:
        """Stored as `cached_property` does, where the journal sees it."""
        name = descriptor.attrname
        if name not in vars(owner):
            value = self.call(descriptor.func, [owner], {})
            self.touch(owner)
            vars(owner)[name] = value
        return vars(owner)[name]

    def of_types(self, out: Scalar, args: list[Any]) -> Scalar:
        """What is made of numbers of several types may have as many."""
        also = frozenset().union(*(v.also for v in self.leaves(args) if isinstance(v, Scalar)))
        return Scalar(out.sample, out.bits, out.also | also) if also else out

    def primitive(self, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if type(f).__module__ == "numpy":
            found = overridden(self, f, args, kwargs)
            if found is not NotImplemented:
                return found
        if takes_out(f):
            args, kwargs = out_by_name(f, args, kwargs)
            f = of_ufunc(f)
            if kwargs.get("overwrite_input") and self.touched(args[:1]):
                self.refuse(f"overwrite_input of {described(f)} is not supported; leave it out")
            if "out" in kwargs:
                out = kwargs["out"]
                named, kwargs = kwargs, {k: v for k, v in kwargs.items() if k != "out"}
                if out is Ellipsis:  # an array where there would be a number
                    return self.call(np.asarray, [self.by_rule(f, args, kwargs)], {})
                if type(f) is np.ufunc and f.signature is not None and self.rule(f) is None:
                    return self.by_rule(f, args, named)  # opaque; the shape of `out` may be a parameter
                if out is not None and (type(out) is not tuple or any(o is not None for o in out)):
                    return self.into(out, f, args, kwargs)
        return self.by_rule(f, args, kwargs)

    def into(self, out: Any, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """f(*args, out=out): what it computes, stored. So no rule has to look at `out`."""
        targets = out if type(out) is tuple else (out,)
        for o in targets:
            if isinstance(o, Either):
                self.refuse(o.what)
            self.check_mixed(self.lifted(o))
        if not self.touched(args, kwargs, targets):
            for o in targets:
                self.touch(o)
            return self.run_natively(f, args, {**kwargs, "out": out})
        arrays = [o for o in targets if o is not None]
        if not all(isinstance(self.lifted(o), (Array, np.ndarray)) for o in arrays):
            f(*self.samples(args, kwargs)[0], out=self.sampled(out))  # it raises
        made = self.by_rule(f, args, kwargs)
        values = made if isinstance(made, tuple) and len(targets) > 1 else (made,)
        for o in arrays:
            self.about_to_store(o)
        plain, named = self.samples(args, kwargs)
        self.attempt(f, plain, {**named, "out": self.sampled(out)})
        weak = kwargs.get("where", True) is not True and (type(f) is np.ufunc or f.__name__ == "outer")
        for o, value in zip(targets, values, strict=True):
            if o is not None:
                self.store(self.lifted(o), Ellipsis, value, weak=weak)
        stored = tuple(value if o is None else o for o, value in zip(targets, values))
        return stored if len(targets) > 1 else stored[0]

    def by_rule(self, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        self.check_target(f, args)
        rule = self.rule(f)
        if rule is not None and fits(f, len(args) + len(kwargs), (*kwargs,)):
            return rule(self, f, args, kwargs)
        bound = type(f) in (types.BuiltinFunctionType, types.MethodWrapperType)
        if bound and not issubclass(type(f.__self__), (types.ModuleType, type(None))):
            return self.builtin_method(f, args, kwargs)
        return self.general(f, args, kwargs)

    def rule(self, f: Any) -> Rule | None:
        from ctxdispatch_contexts.sparsity.ruleset import rules

        found: Rule | None = row_of(rules(), f)
        return found

    def builtin_method(self, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A C method that is bound to its object: the descriptor's rule takes the object first."""
        owner = f.__self__
        if type(owner) is np.ufunc:
            if f.__name__ == "__call__":
                return self.call(owner, args, kwargs)
            method = UFUNC_METHODS.get(f.__name__)
            return self.native(f, args, kwargs) if method is None else method(self, f, args, kwargs)
        descriptor = descriptor_of(f)
        of_object = not issubclass(type(owner), type) or getattr(descriptor, "__objclass__", None) is type
        if of_object and (self.rule(descriptor) is not None or takes_out(descriptor)):
            return self.primitive(descriptor, [owner, *args], kwargs)
        if isinstance(owner, (np.ndarray, np.flatiter)) and f.__name__ in vars(operator):
            return self.primitive(
                getattr(operator, f.__name__), [owner, *args], kwargs
            )  # a.__setitem__(i, v)
        if isinstance(owner, np.ndarray) and descriptor is not None:
            return self.native(descriptor, [owner, *args], kwargs)  # it may store into its owner
        if isinstance(owner, BUFFERS) and self.touched(args, kwargs):
            self.refuse(
                f"a value that depends on the inputs is passed to {described(f)}, whose object holds plain "
                "numbers only; use a list or an array"
            )
        return self.native(f, args, kwargs)

    def general(self, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if is_undispatched(f):
            return self.watched(f, args, kwargs)
        if type(f) is types.FunctionType:
            return self.python_function(f, args, kwargs)
        if isinstance(f, Handled):
            return f.run(self, args, kwargs)
        if type(f) is types.MethodType:
            return self.call(f.__func__, [f.__self__, *args], kwargs)
        if isinstance(f, Bound):
            return self.call(f.descriptor, [f.owner, *args], kwargs)
        if issubclass(type(f), functools.partial):
            return self.call(f.func, [*f.args, *args], {**f.keywords, **kwargs})
        if issubclass(type(f), (staticmethod, classmethod)):
            return self.call(f.__func__, args, kwargs)
        if isinstance(f, (Tracked, Either)):
            self.refuse(f.what if isinstance(f, Either) else "a number is called; call a function")
        if type(f) is np.ufunc and f.signature is None:
            return any_ufunc(self, f, args, kwargs)
        inner = implementation(f)
        if inner is not None and self.touched(f, args, kwargs):
            return self.call(inner, args, kwargs)
        if issubclass(type(f), type) and issubclass(f, CONTAINERS) and not has_python_constructor(f):
            return self.collected(f, args, kwargs)
        if any(f is view for view in FOREIGN_VIEWS):
            self.seen_elsewhere(f, args, kwargs)
        target = None if issubclass(type(f), LIBRARY_CALLABLES) else class_or_object(ENGINE, self, f)
        if target is not None and not (of_library(type(f), f) and not self.touched(f, args, kwargs)):
            return self.born(target(*args, **kwargs))
        return self.native(f, args, kwargs)

    def watched(self, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A hook of another context, or what a pass of it has put there: it is told of samples."""
        plain, named = self.samples(args, kwargs)
        return f(*plain, **named)

    def collected(self, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A container, of a class derived from Python's: its items are moved, not looked at."""
        from ctxdispatch_contexts.sparsity.iterables import iterable

        return self.born(f(*[iterable(self, a) for a in args], **kwargs))

    def python_function(self, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        own = own_way(f)
        if own is not None and "__written_out__" in f.__dict__:
            return self.call(f.__written_out__, args, kwargs)
        if own is not None:
            return self.opaque(f, args, kwargs, GENERATED)
        if of_library(f) and not self.touched(f, args, kwargs, self.outside()):
            return self.run_natively(f, args, kwargs)
        return self.function(f, args, kwargs)

    def function(self, f: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        raise NotImplementedError

    # -- C code ----------------------------------------------------------------------------------------------

    def native(self, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if self.touched(f, args, kwargs):
            return self.opaque(f, args, kwargs, "it is C code without a rule")
        return self.run_natively(f, args, kwargs)

    def run_natively(self, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """With nothing tracked. What it may change is saved."""
        for thing in (*args, *kwargs.values(), getattr(f, "__self__", None)):
            self.touch(thing)
        if gives_away(f, tuple(args)):
            roots = map(root_of, self.reachable(args, kwargs, arrays=True))
            self.escaped.update((id(root), root) for root in roots)
        return self.born(f(*args, **kwargs))

    def seen_elsewhere(self, f: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
        """What is made here reads and writes arrays without our seeing it."""
        if self.touched(args, kwargs):
            self.refuse(f"{described(f)} of an array that depends on the inputs; index the array itself")
        for a in self.reachable(args, kwargs, arrays=True):
            self.seal(a, described(f))

    # -- iteration -------------------------------------------------------------------------------------------

    def iterator(self, v: Any) -> Any:
        """iter(v), such that the journal can save its place, where that can be."""
        self._check_flat(v)
        v = self.lifted(v)
        if isinstance(v, Either):
            self.refuse(v.what)
        if isinstance(v, Scalar):
            return iter(v.sample)  # Python's own error
        if isinstance(v, (Array, np.ndarray)):
            if self.sampled(v).ndim == 0:
                raise TypeError("iteration over a 0-d array")
            return self.born(Cursor(Rows(self, v)))
        if type(v) in (list, tuple, range, str, bytes) or isinstance(v, tuple):
            return self.born(Cursor(v))
        if type(v) in _VIEWS:
            return self.born(self.journal.ahead_of_view(Cursor(list(v)), v))
        if isinstance(v, Cursor):
            return v
        if special(type(v), "__iter__") is not None:
            return PROTOCOLS[iter](ENGINE, self, iter)(v)
        if lookup(type(v), "__iter__") is None and special(type(v), "__getitem__") is not None:
            return self.born(Cursor(self._by_index(v)))
        return self.born(iter(v))

    def _by_index(self, v: Any) -> list[Any]:
        """The items of an object that has nothing but `__getitem__`."""
        items: list[Any] = []
        while True:
            try:
                items.append(self.call(operator.getitem, [v, len(items)], {}))
            except IndexError:
                return items

    def _check_flat(self, v: Any) -> None:
        """Elements are read as the iterator gets to them, of a view."""
        if not isinstance(v, (Flat, np.flatiter)):
            return
        base = v.array.sample if isinstance(v, Flat) else v.base
        if not base.flags.c_contiguous and self.touched(v):
            self.refuse("`flat` of an array that is not contiguous is iterated over; iterate over a.ravel()")

    def advance(self, iterator: Any) -> Any:
        if isinstance(iterator, Cursor):
            self.journal.touch(iterator)
            return next(iterator)
        if isinstance(iterator, Either):
            self.refuse(iterator.what)
        if isinstance(iterator, (Flat, np.flatiter)) and self.touched(iterator):
            self.refuse("`flat` of an array that depends on the inputs is advanced; iterate over a.ravel()")
        if special(type(iterator), "__next__") is not None:
            return self.call(type(iterator).__next__, [iterator], {})
        if len(self.journal.levels) > 1 and self.journal.birth(iterator) < self.journal.levels[-1].clock:
            self.refuse(
                f"a {type(iterator).__name__} is advanced in a branch or loop on a value that depends on the "
                f"inputs, and cannot be set back; iterate over a list, or {REMEDY}"
            )
        return next(iterator)


_VIEWS: tuple[type, ...] = (dict, set, frozenset, type({}.keys()), type({}.values()), type({}.items()))
UFUNC_METHODS: dict[str, Rule] = {}
"""Filled by `structural`: reduce, accumulate, outer, at, reduceat, of any ufunc."""


def any_ufunc(run: Any, f: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """A ufunc without a row, of SciPy for instance, is elementwise all the same."""
    return UFUNC_METHODS["__call__"](run, f, args, kwargs)


BUFFERS = (memoryview, bytearray, array.array, np.nditer)
"""They hold plain numbers only."""
FOREIGN_VIEWS = (np.nditer, np.nested_iters, np.broadcast, memoryview)
CONTAINERS = (list, tuple, dict, set, frozenset, collections.deque)


def _has_python_methods(a: Any) -> bool:
    return bool(type(a).__flags__ & HEAPTYPE) and not issubclass(type(a), (*OWN, type, types.ModuleType))


class _Plainly(Handled):
    """What a handler of the engine calls: `by` of a run. It is the run's, and no program to look into."""

    def __init__(self, by: Callable[..., Any], f: Any) -> None:
        self.by, self.f = by, f

    def run(self, run: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return self.by(self.f, args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.by(self.f, list(args), kwargs)


def _engine_native(run: Any, f: Any) -> Any:
    return _Plainly(run.primitive, f)


def _engine_resolve(run: Any, f: Any) -> Any:
    return _Plainly(run.call, f)


ENGINE = Engine(_engine_resolve, _engine_resolve, _engine_resolve, _engine_native)

__all__ = ["Bound", "Calls", "ENGINE", "Rows", "Rule"]
