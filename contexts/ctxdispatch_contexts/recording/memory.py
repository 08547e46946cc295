"""The derivatives of arrays, by the memory that the arrays lie in.

An array's *shadow* has its shape, dtype and strides, over memory that mirrors the array's. So a view's shadow
is the same view of the shadow, whatever function made the view, and what is written by one name is read by
all. Complex shadows are not conjugated: the shadow of `z.imag` is the imaginary part of that of `z`. Of a
*block* of k derivatives there are k such memories, along a leading axis.

The same memory may have several *names*, each with derivatives of its own. An array that is an argument is
given to the program by a name that nothing else has (`stand_in`), for the program may find the array itself
in a global, a closure, an attribute: that is a constant until one of the two is stored into, and the same as
the argument from then on (`join`). Two arguments stay two; neither may be stored into where they overlap.

Invariant: a block keeps what owns its memory alive, so that no other array gets its address.
"""

from __future__ import annotations

import array as buffers
import contextlib
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ctxdispatch.dispatch.reach import natively
from ctxdispatch_contexts.programs.errors import (
    MissingRuleError,
    MutationError,
    described,
    user_position,
)
from ctxdispatch_contexts.recording.addresses import Addresses, address, bounds, overlaps
from ctxdispatch_contexts.recording.blocks import Array, Block, part_of
from ctxdispatch_contexts.recording.shown import check_view, is_other


def owner(array: Array) -> Array:
    """The array that `array` is a view of; itself where it is none."""
    while True:
        base = array.base
        if base is None or type(base) is StandIn:
            return array
        if not issubclass(type(base), np.ndarray):  # `as_strided` has one in between, a buffer another
            base = _behind(array, base)
        if not issubclass(type(base), np.ndarray):
            return array
        array = base


def _behind(array: Array, base: Any) -> Any:
    if issubclass(type(base), memoryview):
        return base.obj
    if type(base) is np.nditer:
        with contextlib.suppress(ValueError):  # it is closed
            return next((of for of in base.operands if np.may_share_memory(array, of)), None)
    return getattr(base, "base", None)


class StandIn:
    """What an array that stands for another one has as its base. `names`: the other and those that it stands
    for in turn, the nearest and the last of them."""

    __slots__ = ("__array_interface__", "names")

    def __init__(self, of: Array, **interface: Any) -> None:
        known = owner(of)
        further = known.base.names if type(known.base) is StandIn else ()
        self.__array_interface__ = {**of.__array_interface__, **interface}
        self.names: tuple[Array, ...] = (known, *further[: _NAMES - 2], *further[_NAMES - 2 :][-1:])


_NAMES = 16
"""Runs within runs stand in for one another: so many at most, and any number of them one after the other."""


def stand_in(array: Array) -> Array:
    """Another array in the same memory, that is no view of `array`: its owner is itself."""
    made = np.asarray(StandIn(array))
    if made.dtype != array.dtype:  # of records, where fields have titles or gaps
        made = made.view(array.dtype)
    if type(array) is not np.ndarray:
        made = made.view(type(array))
        made.__array_finalize__(array)
        made.__dict__.update(array.__dict__)
    return made


def unfrozen(array: Array) -> Array:
    """`array`, which has been stored into: where it has been made read-only since, another in its memory."""
    if array.flags.num & WRITEABLE:
        return array
    return np.asarray(StandIn(array, data=(address(array), False))).view(array.dtype)


WRITEABLE = 0x400
"""NPY_ARRAY_WRITEABLE: `flags.writeable` of what np.broadcast_arrays returns is read with a warning."""


def view_of(buffer: Any) -> Array:
    """An array in the memory of an array.array."""
    return np.frombuffer(buffer, buffer.typecode)


def has_shadow(array: Any) -> bool:
    """An array of a dtype that has derivatives, or one that is read as such (a record of numbers)."""
    return issubclass(type(array), np.ndarray) and (array.dtype.kind in "fc" or array.dtype.names is not None)


class Joined(NamedTuple):
    """An argument's block and the one that it has been joined to; whether that was active before."""

    own: Block
    outside: Block
    active: bool


_REMEMBERED = 256


class Memory:
    """The blocks of a run."""

    def __init__(self, count: int | None = None) -> None:
        self.count = count
        self._blocks: dict[int, Block] = {}
        self._addresses: Addresses | None = None
        """Once there are arrays whose memory is another's, as far as one sees."""
        self._foreign: Addresses | None = None
        """Of these arrays."""
        self.joined: list[Joined] = []
        self.views: set[int] = set()
        """The arrays by which memory of other objects is known (`Record.view`)."""
        self.written: list[Array] = []
        """What was a constant before what is differentiated was stored there."""
        self._made: set[int] = set()
        """By identity, constants that the run has made. An array that was there before is none of them: what
        has its identity is itself."""
        self.given: set[int] = set()
        """The same of arguments, and of what stands for them."""
        self._items: dict[int, tuple[Array, Array]] = {}
        """By identity, what iterators of NumPy's have given, and whose memory that is."""
        self._shown: dict[int, weakref.ref[Array]] = {}
        """By the array that they lie in, the last views of constants of which the numbers are others."""
        self._shadows: dict[int, tuple[Array, Block, Array]] = {}
        """Of arrays of late, for those that are read element by element."""

    def find(self, array: Array) -> Block | None:
        """The block of `array`, None where the run knows nothing of its memory."""
        of = self._owner(array)
        found = self._blocks.get(id(of))
        if found is None and type(of.base) is StandIn:
            return next((b for name in of.base.names if (b := self._blocks.get(id(name)))), None)
        if found is None and (self._foreign or of.base is not None):
            return self._by_address(of)
        return found

    def _by_address(self, of: Array) -> Block | None:
        """That of memory in which `of` lies without being a view."""
        if self._addresses is None:
            self._addresses = Addresses(self._blocks.values())
        known: Addresses = self._addresses if of.base is not None else self._foreign  # type: ignore[assignment]
        found: Block | None = known.around(bounds(of)) if of.nbytes else None
        return found

    def is_active(self, array: Array) -> bool:
        of = self._owner(array)
        found = self._blocks.get(id(of))
        if found is None and (self._foreign or of.base is not None):
            found = self.find(of)
        return found is not None and found.active

    def note(self, array: Array) -> Block:
        """The block of `array`, from now on known."""
        found = self.find(array)
        if found is None:
            of = self._owner(array)
            found = self._blocks[id(of)] = Block(of, self.count)
            self._place(found)
        return found

    def _owner(self, array: Array) -> Array:
        """`owner`; also of what an iterator of NumPy's gave, which tells its operands until it is closed."""
        of = owner(array)
        if of is not array:
            while issubclass(type(array.base), np.ndarray):
                array = array.base
            if type(array.base) is np.nditer and of is not array:
                self._items[id(array)] = array, of
        return self._items[id(of)][1] if id(of) in self._items else of

    def _place(self, block: Block) -> None:
        base = block.owner.base
        if base is not None and type(base) is not StandIn and block.size:
            self._foreign = self._foreign or Addresses(())
            self._foreign.add(block)
        if self._addresses is not None:
            self._addresses.add(block)

    # -- names ---------------------------------------------------------------------------------------------

    def stands_in(self, array: Array, active: bool = True) -> None:
        """`array` is an argument's name: it has a block of its own, and what it stands for, another."""
        own, names = Block(owner(array), self.count), owner(array).base.names
        outside = self.note(names[-1])
        self.given.update(map(id, (own.owner, *names)))
        for name in names:
            self._blocks[id(name)] = outside
        self._blocks[id(own.owner)] = own
        outside.names.append(own)
        own.outside, own.active = outside, active

    def is_of_argument(self, array: Array) -> bool:
        """It is in the memory of one, by another name."""
        found = self.find(array)
        return found is not None and bool(found.names)

    def about_to_join(self, array: Array, index: Any = ...) -> list[Block]:
        """array[index] is stored into: the arguments there, whose names are to be one with the others."""
        found = self.find(array)
        if found is None or not (found.names or found.outside):
            return []
        place = found.low, found.low + found.size
        if found.outside is None:
            place = bounds(part_of(array, index))
        touched = [own for own in (found.outside or found).names if own.overlaps(place)]
        if len(touched) > 1:
            raise MutationError(
                "two arguments share memory, and one of the two is changed in place; give one of them as a "
                "copy (`x.copy()`)",
                user_position(),
            )
        return touched

    def join(self, own: Block) -> Joined:
        """`own` and what it is a name of are one from now on. To be undone with `part`."""
        assert own.outside is not None
        joined = Joined(own, own.outside, own.outside.active)
        own.outside.names.remove(own)
        own.outside = None
        self.joined.append(joined)
        self._join(joined)
        return joined

    def _join(self, joined: Joined) -> None:
        own, outside, _ = joined
        if not own.empty:
            outside.shadow(own.owner)[...] = own.shadow(own.owner)
        outside.active |= own.active
        self._blocks[id(own.owner)] = outside
        self._shadows.clear()

    def part(self, joined: Joined) -> None:
        """On the way back: before they were one."""
        own, outside, active = joined
        if not outside.empty:
            own.shadow(own.owner)[...] = outside.shadow(own.owner)
        outside.active = active
        self._blocks[id(own.owner)] = own
        self._shadows.clear()

    # -- what depends --------------------------------------------------------------------------------------

    def activate(self, array: Array) -> None:
        self.note(array).active = True

    def stored(self, array: Array, index: Any = ...) -> None:
        """What is differentiated has been stored into array[index]. Refused where its memory is that of an
        object of another kind, for what that reads is not followed."""
        of = owner(array)
        if self._shown and (shown := self._shown.get(id(of), _nothing)()) is not None:
            check_view(shown, of)
        base = None if id(of) in self.views else of.base
        base = base.obj if issubclass(type(base), memoryview) else base
        if issubclass(type(base), (buffers.array, bytearray, memoryview)):
            raise MissingRuleError(
                f"an array that lies in the memory of ({described(type(base))}) is given a value that "
                "depends on what is differentiated, which would be lost there; use an array of floats of "
                "its own (`np.array(...)`)",
                user_position(),
            )
        self.write(array, index)

    def write(self, array: Array, index: Any = ...) -> None:
        """Its memory was a constant, or depends on what is differentiated already."""
        block = self.note(array)
        if not block.active:
            block.active = True
            self.written.append(block.owner)
        if id(block.owner) not in self._made and block.owner.dtype.kind in "fcu" and array.dtype.kind in "fc":
            block.mark(array, index)

    def made(self, array: Array) -> None:
        """By the run: what it stores there is left only where the array is put somewhere."""
        self._made.add(id(array))

    def stored_outside(self) -> Iterator[tuple[Block, Array]]:
        """The memory that was there before the run, is no argument's, and into which it has stored what is
        differentiated; into which elements."""
        for block in self._blocks.values():
            if (marked := block.marked) is not None and id(block.owner) not in self.given:
                yield block, marked

    def show(self, view: Any) -> None:
        """A view of a constant has been made, which may be stored into later."""
        if issubclass(type(view), np.ndarray) and is_other(view, owner(view)):
            self._shown[id(owner(view))] = weakref.ref(view)

    def copies(self) -> list[tuple[Array, bytes]]:
        """What can be written into of the memory that is known, and what is there now."""
        return contents([block.owner for block in self._blocks.values()])

    def clear(self) -> None:
        for block in (*self._blocks.values(), *(joined.own for joined in self.joined)):
            block.clear()
        for joined in self.joined:
            self._join(joined)

    def shadow(self, array: Array) -> Array:
        known = self._shadows.get(id(array))
        if known is not None and known[0] is array and known[1].holds(known[2]):
            return known[2]
        block = self.note(array)
        made = block.shadow(array)
        if len(self._shadows) >= _REMEMBERED:
            self._shadows.clear()
        self._shadows[id(array)] = (array, block, made)
        return made

    def arrived(self, array: Array) -> Array | None:
        """A copy of the shadow; None where nothing was added to it. Of elements that share memory one has
        what arrived there, and the others nothing."""
        found = self.find(array)
        if found is None or found.empty:
            return None
        shadow = found.shadow(array)
        if self.count is not None or not overlaps(shadow):
            return shadow.copy()
        out = np.zeros_like(shadow, order="C", subok=False)
        _, first = np.unique(_elements(found, array)[1], return_index=True)
        out.reshape(-1)[first] = shadow.reshape(-1)[first]
        return out

    def add(self, array: Array, derivative: Any) -> None:
        """shadow(array) += derivative, also where elements of `array` share memory."""
        shadow = self.shadow(array)
        if not overlaps(shadow):
            shadow += derivative
            return
        block = self.note(array)
        derivative = np.broadcast_to(derivative, shadow.shape)
        flat, places = _elements(block, array)
        np.add.at(flat, places, derivative)


def _nothing() -> None:
    """No view."""


def _elements(block: Block, array: Array) -> tuple[Array, Array]:
    """The shadow as one row of elements, and where in it those of `array` are."""
    offset = address(array) - block.low
    first = offset % array.itemsize
    n = (block.size - first) // array.itemsize
    places = np.full(array.shape, (offset - first) // array.itemsize, np.intp)
    for axis, (stride, length) in enumerate(zip(array.strides, array.shape, strict=True)):
        steps = np.arange(length) * (stride // array.itemsize)
        places += steps.reshape(-1, *[1] * (array.ndim - axis - 1))
    flat = np.ndarray((n,), array.dtype, block._bytes, first)
    return flat, places


@natively
def differ(array: Array, other: Array) -> bool:
    """In some bit."""
    return array.tobytes() != other.tobytes()


@natively
def changed(kept: list[tuple[Array, bytes]]) -> bool:
    """Whether any of what `Memory.copies` found holds something else by now."""
    return any(array.tobytes() != before for array, before in kept)


@natively
def contents(owners: list[Array]) -> list[tuple[Array, bytes]]:
    return [(a, a.tobytes()) for a in owners if a.flags.writeable and a.dtype != object]
