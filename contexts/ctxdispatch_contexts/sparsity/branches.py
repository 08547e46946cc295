"""Where paths meet: states are joined, what one path left with what another did.

    tracked values, numbers, arrays     sets united; a number that differs is not known any more, and depends
                                        on the inputs in a piecewise constant way only: it has no sets
    tuples, lists, dictionaries         item by item
    anything else that differs          `Either`: it must not be used

`a` is returned itself where `b` adds nothing to it: so a loop's state has converged when joining left it
identical.
"""

from __future__ import annotations

import dataclasses
import types
from collections import deque
from typing import Any

import numpy as np

from ctxdispatch_contexts.programs.containers import rebuild
from ctxdispatch_contexts.sparsity.errors import REMEDY
from ctxdispatch_contexts.sparsity.indexsets import Terms
from ctxdispatch_contexts.sparsity.journal import Cursor, Delta, kind
from ctxdispatch_contexts.sparsity.layouts import alike, common, in_memory_order, same_layout
from ctxdispatch_contexts.sparsity.run import Run
from ctxdispatch_contexts.sparsity.values import (
    Array,
    Either,
    Memory,
    Scalar,
    Tracked,
    inexact,
    memory_of,
    root_of,
)

NUMBERS = (int, float, complex, np.number, np.bool_)
MISSING = object()


@dataclasses.dataclass
class State:
    """What a path left: values of variables, and what it changed. `delta` None: the objects are as they are
    now."""

    values: dict[Any, Any]
    delta: Delta | None


class Joiner:
    """Joins the states of two paths that forked at time `clock`. With `widen`, what grows becomes dense."""

    def __init__(self, run: Run, clock: int, widen: bool = False) -> None:
        self.run, self.clock, self.widen = run, clock, widen
        self.changed = False
        self.sides: tuple[Delta, Delta] = ({}, {})
        self.earlier: Delta = {}
        self.partner: dict[int, tuple[Any, Any]] = {}
        self.joined: dict[tuple[int, int], Any] = {}

    # -- states ----------------------------------------------------------------------------------------------

    def states(self, a: State, b: State, names: Any, earlier: Delta | None = None) -> State:
        """`earlier`: states of objects as they were where the deltas begin; of others, they are so now."""
        assert a.delta is not None and b.delta is not None
        self.sides, self.earlier = (a.delta, b.delta), earlier or {}
        values = {n: self.value(a.values.get(n, MISSING), b.values.get(n, MISSING)) for n in names}
        delta: Delta = {}
        for key in {**a.delta, **b.delta}:
            thing = (a.delta.get(key) or b.delta[key])[0]
            delta[key] = (thing, self.contents(thing, self.state(thing, 0), self.state(thing, 1)))
        return State(values, delta)

    def state(self, thing: Any, side: int) -> Any:
        """That of an object at the end of one of the paths."""
        found = self.sides[side].get(id(thing)) or self.earlier.get(id(thing))
        return found[1] if found else self.run.journal.save(thing)

    def lifted(self, v: Any, side: int) -> tuple[Any, Terms]:
        """An operand at the end of a path, and its sets there."""
        if isinstance(v, np.ndarray):
            owner = root_of(v)
            found = self.sides[side].get(id(owner)) or self.earlier.get(id(owner))
            if found is None:
                v = self.run.lifted(v)
            elif found[1][1] is not None:
                v = Array(v, Memory(in_memory_order(owner), found[1][1]))
            return v, v.memory.seen_by(v.sample) if isinstance(v, Array) else ()
        if isinstance(v, Array):
            owner = self.run.owner(v)
            found = self.sides[side].get(id(owner)) or self.earlier.get(id(owner))
            if found is not None:
                return v, Memory(v.memory.root, found[1][0 if owner is v.memory else 1] or ()).seen_by(
                    v.sample
                )
            return v, v.terms
        return v, ()

    def contents(self, thing: Any, a: Any, b: Any) -> Any:
        """The state of an object that has state `a` or `b`."""
        if isinstance(thing, Memory):
            return self.terms(a[0], b[0], thing.root, inexact(thing.root)), a[1]
        if isinstance(thing, np.ndarray):
            return self._array_contents(thing, a, b)
        cls = kind(thing)
        if cls is None:
            return self._fields(thing, a, b)
        if cls is types.CellType:
            return self._items(thing, list(a) or [MISSING], list(b) or [MISSING])
        if cls is Cursor:
            return a if a == b else None
        if cls in (set, bytearray):
            if a != b:
                self._differ(thing)
            return a
        return self._dict(thing, a, b) if cls is dict else self._items(thing, a, b)

    def _array_contents(self, owner: Any, a: Any, b: Any) -> Any:
        same = same_bits(a[0], b[0])
        if a[1] is None and b[1] is None and same:
            return a
        terms = self.terms(a[1] or (), b[1] or (), in_memory_order(owner), inexact(owner))
        if a[1] is None:
            self.changed = True
        return a[0], terms

    def _fields(self, thing: Any, a: Any, b: Any) -> Any:
        items = a[1]
        if items is not None:
            joined = self._dict if isinstance(items, dict) else self._items
            items = joined(thing, items, b[1])
        return self._dict(thing, a[0], b[0]), items

    def _dict(self, thing: Any, a: Any, b: Any) -> Any:
        if a.keys() != b.keys():
            return (
                {k: self.value(a.get(k, MISSING), b.get(k, MISSING)) for k in {**a, **b}}
                if (not isinstance(thing, dict))
                else self._differ(thing)
            )
        return {k: self.value(a[k], b[k]) for k in a}

    def _items(self, thing: Any, a: Any, b: Any) -> Any:
        if len(a) != len(b):
            self._differ(thing)
        return [self.value(x, y) for x, y in zip(a, b, strict=True)]

    def _differ(self, thing: Any) -> Any:
        self.run.refuse(
            f"after a branch or loop on a value that depends on the inputs, a {type(thing).__name__} holds "
            f"one number of items or another; {REMEDY}"
        )

    # -- values ----------------------------------------------------------------------------------------------

    def value(self, a: Any, b: Any) -> Any:
        if a is b or (isinstance(a, Either) and a.what):
            return a
        if a is MISSING or b is MISSING or isinstance(b, Either):
            return self._either(a, b)
        if isinstance(a, (Array, np.ndarray)) and isinstance(b, (Array, np.ndarray)):
            return self.array(*self.lifted(a, 0), *self.lifted(b, 1))
        if isinstance(a, (Array, np.ndarray)) and isinstance(b, (Scalar, *NUMBERS)):
            return self.mixed(*self.lifted(a, 0), b, first=a)
        if isinstance(b, (Array, np.ndarray)) and isinstance(a, (Scalar, *NUMBERS)):
            return self.mixed(*self.lifted(b, 1), a, first=a)
        if isinstance(a, (Scalar, *NUMBERS)) and isinstance(b, (Scalar, *NUMBERS)):
            return self.scalar(a, b)
        return self.other(a, b)

    def scalar(self, a: Any, b: Any) -> Any:
        if not isinstance(a, Tracked) and not isinstance(b, Tracked) and same_number(a, b):
            return a
        bits = self.run.bits(a) | self.run.bits(b)
        x, y = (v.sample if isinstance(v, Tracked) else v for v in (a, b))
        sample = x if isinstance(x, type(y)) or (not isinstance(y, type(x)) and wider(x, y)) else y
        types = frozenset().union(*(v.types if isinstance(v, Scalar) else {type(v)} for v in (a, b)))
        if isinstance(a, Scalar) and a.bits == bits and sample is x and a.types == types:
            return a
        self.changed = True
        self.run.loose = self.run.loose or len(types) > 1
        return Scalar(sample, (1 << self.run.arena.n) - 1 if self.widen and bits else bits, types)

    def array(self, a: Any, mine: Terms, b: Any, theirs: Terms) -> Any:
        x, y = (v.sample if isinstance(v, Tracked) else v for v in (a, b))
        if x.shape != y.shape or (x.dtype.kind != y.dtype.kind):
            return self._either(a, b)
        if not isinstance(a, Tracked) and not isinstance(b, Tracked) and x is y:
            return a
        known = (id(root_of(x)), id(root_of(y)))
        fresh = [*map(self._fresh_array, (a, b)), same_layout(x, y)]
        if isinstance(a, Tracked) and all(fresh) and not self._adds(mine, theirs, x.size):
            return a
        terms = self.terms(mine, theirs, x, inexact(x) or inexact(y))
        self.changed = self.changed or not isinstance(a, Tracked)
        laid = common(x, y) if x.dtype.itemsize >= y.dtype.itemsize else common(y, x)
        if laid is None:
            return Either(ORDERS)
        sample, root = laid
        out = Array(sample, memory_of(sample, root, terms, self.run.journal.clock))
        out.memory.mixed = any(isinstance(v, Array) and v.memory.mixed for v in (a, b))
        frozen = any(isinstance(v, Array) and v.memory.frozen for v in (a, b))
        if frozen or not all(fresh) or self._aliased(*known):
            self._freeze_array(a, b, out)
        return out

    def mixed(self, array: Any, terms: Terms, number: Any, first: Any) -> Any:
        """An array, or a number that would broadcast to it: such is 0.0 in the place of a term."""
        sample = array.sample if isinstance(array, Tracked) else array
        if not sample.ndim or np.asarray(self.run.sampled(number)).dtype.kind not in "bif":
            return self._either(array, number)
        bits = self.run.bits(number)
        row = (np.full(sample.shape, self.run.arena.row(bits), np.int32),) if bits else ()
        known = isinstance(first, Array) and first.memory.mixed and self._fresh_array(first)
        if known and not self._adds(terms, row, sample.size):
            return first
        self.changed = True
        sample, root = alike(sample)
        joined = self.run.arena.limited([*terms, *row]) if inexact(sample) else ()
        out = Array(sample, memory_of(sample, root, joined, self.run.journal.clock))
        out.memory.mixed = self.run.mixed = True
        self._freeze_array(array, out)
        return out

    def _fresh_array(self, v: Any) -> bool:
        """Made since the fork, and no view. A new array in another order than C is no root, but the owner."""
        if isinstance(v, Array):
            whole = v.sample is v.memory.root or v.sample.base is None
            return whole and v.memory.born > self.clock
        return v.base is None and self.run.journal.birth(v) > self.clock

    def _aliased(self, a: int, b: int) -> bool:
        """Whether an object of one path is joined with two of the other."""
        return any(self.partner.setdefault(x, (y, None))[0] != y for x, y in ((a, b), (b, a)))

    def _freeze_array(self, *arrays: Any) -> None:
        for v in arrays:
            if isinstance(v, Array):
                v.memory.frozen = FROZEN
            elif v.flags.writeable:
                self.run.frozen[id(root_of(v))] = (v, FROZEN)

    def terms(self, a: Terms, b: Terms, like: Any, carries: bool) -> Terms:
        if a is b or not carries or not self._adds(a, b, like.size):
            return a
        self.changed = True
        arena = self.run.arena
        if self.widen:
            return (np.full(like.shape, arena.row((1 << arena.n) - 1), np.int32),)
        return arena.collapse([*a, *b])

    def _adds(self, a: Terms, b: Terms, size: int) -> bool:
        """Whether `b` has anything that is not in `a`."""
        if not b or all(any(x is y for y in a) for x in b):
            return False
        arena = self.run.arena
        return not np.array_equal(arena.counts([*a, *b], size), arena.counts(a, size))

    # -- containers and objects ------------------------------------------------------------------------------

    def other(self, a: Any, b: Any) -> Any:
        if type(a) is not type(b):
            return self._either(a, b)
        if isinstance(a, tuple):
            if len(a) != len(b):
                return self._either(a, b)
            items = [self.value(x, y) for x, y in zip(a, b, strict=True)]
            if all(x is y for x, y in zip(items, a, strict=True)):
                return a
            return rebuild(a, items)
        if type(a) in (list, dict, deque, types.CellType):
            return self._container(a, b)
        if type(a) is types.FunctionType:
            return self._function(a, b)
        if type(a) is types.MethodType and a.__func__ is b.__func__ and a.__self__ is b.__self__:
            return a
        if isinstance(a, (str, bytes, range, slice, frozenset, np.dtype)) and not self.run.touched(a, b):
            return a if a == b else self._either(a, b)
        if type(a).__flags__ & (1 << 9) and kind(a) is None and hasattr(a, "__dict__"):
            return self._object(a, b)
        return self._either(a, b)

    def _container(self, a: Any, b: Any) -> Any:
        key = (id(a), id(b))
        if key in self.joined:
            return self.joined[key]
        journal = self.run.journal
        state = self.contents(a, self.state(a, 0), self.state(b, 1))
        if _identical(state, journal.save(a)) and self._fresh(a, b):
            return a
        out = type(a)() if type(a) is not types.CellType else types.CellType(None)
        journal.restore(out, state)
        return self._remember(a, b, out)

    def _object(self, a: Any, b: Any) -> Any:
        key = (id(a), id(b))
        if key in self.joined:
            return self.joined[key]
        journal = self.run.journal
        state = self.contents(a, self.state(a, 0), self.state(b, 1))
        if _identical(list(state[0].values()), list(journal.save(a)[0].values())) and self._fresh(a, b):
            return a
        out = object.__new__(type(a))
        journal.restore(out, state)
        return self._remember(a, b, out)

    def _function(self, a: Any, b: Any) -> Any:
        """Two closures of one code."""
        if a.__code__ is not b.__code__ or len(a.__closure__ or ()) != len(b.__closure__ or ()):
            return self._either(a, b)
        cells = tuple(self.value(x, y) for x, y in zip(a.__closure__ or (), b.__closure__ or (), strict=True))
        defaults = self.value(a.__defaults__ or (), b.__defaults__ or ())
        named = self.value(a.__kwdefaults__ or {}, b.__kwdefaults__ or {})
        if isinstance(defaults, Either) or isinstance(named, Either):
            return self._either(a, b)
        if all(x is y for x, y in zip(cells, a.__closure__ or (), strict=True)) and (
            defaults is (a.__defaults__ or ()) and _identical(named, a.__kwdefaults__ or {})
        ):
            return a
        out = types.FunctionType(a.__code__, a.__globals__, a.__name__, defaults or None, cells or None)
        out.__kwdefaults__ = named or None
        return out

    def _remember(self, a: Any, b: Any, out: Any) -> Any:
        self.joined[id(a), id(b)] = out
        self.run.journal.bear(out)
        if not self._fresh(a, b):
            for thing in (a, b, out):
                self.run.frozen[id(thing)] = (thing, FROZEN)
        return out

    def _fresh(self, a: Any, b: Any) -> bool:
        birth = self.run.journal.birth
        alias = self._aliased(id(a), id(b))
        return birth(a) > self.clock and birth(b) > self.clock and not alias

    def _either(self, a: Any, b: Any) -> Any:
        self.changed = self.changed or not isinstance(a, Either)
        return Either(
            f"this is one thing or another ({_kind(a)} or {_kind(b)}), after a branch or loop on a value "
            "that "
            f"depends on the inputs, and cannot be followed; {REMEDY}"
        )


def any_of(run: Run, items: Any) -> Any:
    """One of `items`, and it is not known which."""
    if not items:
        run.refuse("an index into an empty list; test its length before")
    joiner, out = Joiner(run, run.journal.clock), items[0]
    for item in items[1:]:
        out = joiner.value(out, item)
    return out


ORDERS = (
    "this is an array with its elements in memory in one order or another, after a branch or loop on a value "
    'that depends on the inputs; give both sides one order: np.array(a, order="C")'
)
FROZEN = (
    "this changes in place what may be one of two objects, after a branch on a value that depends on the "
    f"inputs; copy it before, or {REMEDY}"
)


def _kind(v: Any) -> str:
    if v is MISSING:
        return "unbound"
    sample = v.sample if isinstance(v, Tracked) else v
    if isinstance(sample, np.ndarray):
        return f"an array of {sample.dtype}{list(sample.shape)}"
    return repr(sample) if isinstance(sample, (str, bool, type(None))) else f"a {type(sample).__name__}"


def _identical(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(a[k] is b[k] for k in a)
    return len(a) == len(b) and all(x is y for x, y in zip(a, b, strict=True))


def same_number(a: Any, b: Any) -> bool:
    return type(a) is type(b) and (a == b or (a != a and b != b)) and repr(a) == repr(b)


def same_bits(a: Any, b: Any) -> bool:
    return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())


def wider(a: Any, b: Any) -> bool:
    """Whether the type of number `a` holds what `b` may be."""
    order = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}
    return order.get(np.asarray(a).dtype.kind, 1) >= order.get(np.asarray(b).dtype.kind, 1)


__all__ = ["FROZEN", "any_of", "Joiner", "State"]
