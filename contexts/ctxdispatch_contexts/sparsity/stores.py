"""Changes of objects and arrays: what the journal must know before, and what becomes of index sets."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ctxdispatch.facts import fact_of
from ctxdispatch_contexts.programs.c_objects import SHOWN, is_opaque, reached, takes_address
from ctxdispatch_contexts.programs.ending import ended_by
from ctxdispatch_contexts.sparsity.errors import described
from ctxdispatch_contexts.sparsity.indexsets import MOST_TERMS, Terms
from ctxdispatch_contexts.sparsity.journal import Cursor, is_mutable
from ctxdispatch_contexts.sparsity.layouts import in_memory_order
from ctxdispatch_contexts.sparsity.run import Run
from ctxdispatch_contexts.sparsity.values import Array, Either, Memory, root_of


def _references(out: Any) -> int:
    return sys.getrefcount(out)


FRESH = _references([])
"""References to an argument that the caller does not hold."""


class Stores(Run):
    """Changes in place."""

    def touch(self, thing: Any) -> None:
        """`thing` may be about to change."""
        if isinstance(thing, np.ndarray):
            thing = root_of(thing)
        if isinstance(thing, Cursor) or (is_mutable(thing)):
            self.check_frozen(thing, only_containers=isinstance(thing, np.ndarray))
            self.journal.touch(thing)

    def check_target(self, f: Any, args: list[Any]) -> None:
        """f(*args) stores into its first operand, if it stores: one that is known."""
        if args and type(args[0]) is Either and (fact := fact_of(f)) is not None and fact.stores.has(0):
            self.refuse(args[0].what)

    def check_frozen(self, thing: Any, only_containers: bool = False) -> None:
        found = self.frozen.get(id(thing))
        if found is not None and not only_containers:
            self.refuse(found[1])

    def seal(self, array: Any, what: str) -> None:
        """From now on nothing that is tracked is stored into it: `what` would not show it."""
        owner = root_of(array)
        message = f"a store into an array that {what} sees too cannot be followed; store into a copy of it"
        self.frozen.setdefault(id(owner), (owner, message))

    def check_shown(self, f: Any, args: Iterable[Any]) -> None:
        """An object of C code would show the samples that have been stored as plain numbers."""
        if self.journal.shadows:
            for thing in (f, getattr(f, "__self__", None), *args):
                if (is_opaque(type(thing)) or takes_address(thing)) and self._shows(thing):
                    self.refuse(
                        f"an object of C code ({described(type(thing))}) may show what depends on the inputs "
                        "and was stored into an array; read the array itself, or make the object of a copy"
                    )

    def _shows(self, thing: Any) -> bool:
        if any(isinstance(self.lifted(a), Array) for a in reached(thing) if isinstance(a, np.ndarray)):
            return True
        unknown = not issubclass(type(thing), (type, SHOWN))
        return unknown and not self.escaped.keys().isdisjoint(self.journal.shadows)

    def born(self, out: Any) -> Any:
        """`out`, which is new if nobody else refers to it."""
        if ended_by(type(out)) is not None:
            self.refuse(f"objects of the class {type(out).__name__} have a `__del__`, which C code calls")
        if sys.getrefcount(out) <= FRESH and (is_mutable(out) or hasattr(out, "__next__")):
            self.journal.bear(out)
        return out

    def store(self, target: Any, index: Any, value: Any, weak: bool = False) -> None:
        """The sets of target[index] = value; the samples are stored already. An array that was known is not
        known from now on."""
        terms = self._stored(target, value)
        if self.local and not terms and not isinstance(self.lifted(target), Array):
            return
        target = self._followed(target)
        target.memory.store(target.sample, index, terms, weak)
        self._limit(target.memory)

    def store_moved(self, target: Any, value: Any, store: Callable[[Any, Any], None]) -> None:
        """The sets once store(target, value) has moved elements, see `Memory.carry`."""
        terms = self._stored(target, value)
        if self.local and not terms and not isinstance(self.lifted(target), Array):
            return
        target = self._followed(target)
        if target.sample.itemsize != target.memory.root.itemsize:  # a part of each element
            self.store(target, Ellipsis, self.scalar(0.0, self.bits(value)), weak=True)
            return
        target.memory.carry(target.sample, self.sampled(value), terms, store)
        self._limit(target.memory)

    def _stored(self, target: Any, value: Any) -> Terms:
        """The sets that a value brings into an array: integers have none."""
        self.check_dtype(target, value)
        return self.terms(value) if self.sampled(target).dtype.kind in "fc" else ()

    def check_dtype(self, target: Any, value: Any) -> None:
        """What is no number would hide the sets of a value that is stored there."""
        dtype = self.sampled(target).dtype
        if dtype.kind in "OSUV" and self.touched(value):
            self.refuse(
                f"a value that depends on the inputs is stored into an array of dtype {dtype}; use an array "
                "of floats, or a list"
            )

    def _followed(self, target: Any) -> Array:
        """An array whose memory has sets from now on."""
        if isinstance(target, Array):
            return target
        owner = root_of(target)
        if id(owner) not in self.journal.shadows:
            if not self.journal.birth(owner):
                self.escaped[id(owner)] = owner
            self.journal.shadow(owner, ())
        found: Array = self.lifted(target)
        return found

    def _limit(self, memory: Memory) -> None:
        if len(memory.terms) > MOST_TERMS:
            memory.terms = self.arena.limited(memory.terms)
            memory.private = False

    def about_to_store(self, target: Any) -> None:
        """Called before the sample is stored into."""
        lifted = self.lifted(target)
        if isinstance(lifted, Array):
            if lifted.memory.frozen:
                self.refuse(lifted.memory.frozen)
            self.journal.touch(self.owner(lifted))
        else:
            owner = root_of(target)
            self.check_frozen(owner)
            if not in_memory_order(owner).flags.c_contiguous or not owner.flags.owndata:
                self.refuse("a store into an array that is no contiguous memory of its own; copy it first")
            self.journal.touch(owner)
