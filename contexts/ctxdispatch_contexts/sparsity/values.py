"""What an abstract run computes with: values of which type, shape and index sets are known, but not the
value.

    Scalar   a number: a sample of it, and its set as a bitset
    Array    an ndarray: a sample, and the `Memory` that it is a view of
    Flat     `a.flat` of an Array
    Either   something that is one thing or another, and of no use to either

A *sample* is what the value is at the arguments at hand (on one path to it): NumPy and Python themselves say
by way of samples what types, shapes, views and errors come of an operation. Sets belong to memory, not to
arrays: the element of `a` at some address has the sets of that address. So views see stores through each
other exactly where NumPy's do.
"""

from __future__ import annotations

from collections.abc import Callable
from types import NoneType
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ctxdispatch.dispatch.reach import HEAPTYPE
from ctxdispatch_contexts.sparsity.errors import out_of_sight
from ctxdispatch_contexts.sparsity.indexsets import Terms
from ctxdispatch_contexts.sparsity.layouts import alike, same_layout

COMPARED = "a value that depends on the inputs was compared in C code; write the comparison out in Python"


class Tracked:
    """A value that is not known. It has no operators: whoever wants one must ask the executor."""

    __slots__ = ("sample",)
    sample: Any

    def __bool__(self) -> bool:
        raise out_of_sight(
            f"the truth of a tracked {type(self.sample).__name__} was asked in C "
            "code; write the test out in Python"
        )

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        raise out_of_sight(COMPARED)

    def __lt__(self, other: object) -> bool:
        raise out_of_sight(COMPARED)

    __le__ = __gt__ = __ge__ = __lt__

    def __hash__(self) -> int:
        raise out_of_sight(
            "a value that depends on the inputs cannot be a key: its hash is not "
            "known; use an index or a string"
        )


BY_C = (
    "C code runs a method of an object or a function that uses a value that depends on the inputs, and what "
    "C code runs cannot be followed; write out in Python what it does (a loop for a sort, a comparison of "
    "each for `in`), or use arrays, numbers and lists of them"
)
USED = """
    getitem setitem delitem len iter reversed contains call array float int index complex round str format neg
    pos abs invert
"""
OPERATORS = "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor"


def _used(self: Any, *args: Any, **kwargs: Any) -> Any:
    raise out_of_sight(BY_C)


for _name in USED.split():
    setattr(Tracked, f"__{_name}__", _used)
for _name in OPERATORS.split():
    for _way in ("", "r", "i"):
        setattr(Tracked, f"__{_way}{_name}__", _used)


def _attribute(self: Any, name: str) -> Any:
    """An attribute that the value itself would have. What asks for special ones is no code of the user's."""
    if name.startswith("__") or name in Tracked.__slots__ or not hasattr(self.sample, name):
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
    raise out_of_sight(BY_C)


class Scalar(Tracked):
    """`also`: the types that it may have besides its sample's, after a join."""

    __slots__ = ("bits", "also")
    __getattr__ = _attribute

    def __init__(self, sample: Any, bits: int, also: frozenset[type] = frozenset()) -> None:
        self.sample, self.bits, self.also = sample, bits, also

    @property
    def types(self) -> frozenset[type]:
        return self.also | {type(self.sample)}

    def __repr__(self) -> str:
        return f"Scalar({type(self.sample).__name__}, {self.bits:b})"


class Array(Tracked):
    """An ndarray of which the sets are known."""

    __slots__ = ("memory",)
    __getattr__ = _attribute

    def __init__(self, sample: Any, memory: Memory) -> None:
        self.sample, self.memory = sample, memory

    @property
    def terms(self) -> Terms:
        """To be kept: whoever writes into this memory from now on makes a copy first."""
        self.memory.private = False
        return self.memory.seen_by(self.sample)

    def __repr__(self) -> str:
        return f"Array({self.sample.dtype}, {self.sample.shape})"


class Flat(Tracked):
    """`array.flat`: a vector to whoever reads it, and stored to in a way of its own."""

    __slots__ = ("array",)

    def __init__(self, array: Array) -> None:
        self.array, self.sample = array, array.sample.flat


class Either:
    """What an `if` on a tracked value left different on its two sides. `what` says so to the user."""

    __slots__ = ("what",)

    def __init__(self, what: str) -> None:
        self.what = what

    def __bool__(self) -> bool:
        raise out_of_sight(self.what)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        raise out_of_sight(self.what)

    def __hash__(self) -> int:
        raise out_of_sight(self.what)


NUMBERS = (int, float, complex, np.ndarray, np.generic, Array, Scalar)


class Memory:
    """The index sets of one block of memory: `terms` in the shape of `root`, the array that owns it.

    `private`: no other memory has these very terms, so they may be written into. `frozen` says why it must
    not be changed: after a join it may be one of two blocks. `mixed`: it may as well be a number.
    """

    __slots__ = ("root", "terms", "private", "frozen", "born", "mixed")

    def __init__(self, root: Any, terms: Terms, born: int = 0) -> None:
        assert all(t.dtype == np.int32 for t in terms)
        self.root, self.terms, self.born = root, terms, born
        self.private = self.mixed = False
        self.frozen: str | None = None

    def seen_by(self, view: Any) -> Terms:
        """The terms of an array that is a view of this memory, in its shape."""
        root = self.root
        if view is root or not self.terms:
            return self.terms
        self.terms = tuple(np.asarray(t, order="C") for t in self.terms)
        if view.size == root.size and view.flags.c_contiguous and view.itemsize == root.itemsize:
            return tuple(t.reshape(view.shape) for t in self.terms)
        offset = view.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        size = root.itemsize
        if view.size == 0:
            return tuple(np.zeros(view.shape, np.int32) for _ in self.terms)
        if any(s % size for s in view.strides):
            positions = _positions(view, offset, size)
            return tuple(t.reshape(-1)[positions] for t in self.terms)
        start, strides = offset // size, [s // size * 4 for s in view.strides]
        return tuple(as_strided(t.reshape(-1)[start:], view.shape, strides) for t in self.terms)

    def store(self, view: Any, index: Any, terms: Terms, weak: bool) -> None:
        """view[index] = something with these `terms` (broadcast as in NumPy). With `weak`, perhaps, or only a
        part of an element: the real one."""
        weak = weak or view.itemsize != self.root.itemsize
        if not self.private:
            self.terms = tuple(np.array(t, order="C") for t in self.terms)
            self.private = True
        missing = len(terms) + (len(self.terms) if weak else 0) - len(self.terms)
        if missing > 0:
            self.terms += tuple(np.zeros(self.root.shape, np.int32) for _ in range(missing))
        seen = self.seen_by(view)
        old = len(seen) - len(terms) if weak else 0
        for k, target in enumerate(seen[old:]):
            target[index] = terms[k] if k < len(terms) else 0

    def carry(self, view: Any, value: Any, terms: Terms, store: Callable[[Any, Any], None]) -> None:
        """store(view, value) has moved elements of `value`, which has these `terms`: one after the other, so
        that it may have read what it had just written. Numbers that are moved alike tell which."""
        numbers = Memory(self.root, (np.arange(self.root.size, dtype=np.int32).reshape(self.root.shape),))
        store(numbers.seen_by(view)[0], self._numbered(numbers, view, value))
        sources, sizes = numbers.terms[0], (self.root.size, np.size(value))
        count = max(len(self.terms), len(terms))
        columns = [_filled(t, count, n) for t, n in zip((self.terms, terms), sizes)]
        self.terms = tuple(np.asarray(np.concatenate(layer)[sources]) for layer in zip(*columns))
        self.private = True

    def _numbered(self, numbers: Memory, view: Any, value: Any) -> Any:
        """The numbers of the elements of `value`: behind those of this memory, where they are not in it. A
        value of another dtype NumPy copies."""
        if isinstance(value, np.ndarray) and root_of(value) is root_of(self.root):
            mine = numbers.seen_by(value)[0]
            return mine if value.dtype == view.dtype else mine.copy()
        size = self.root.size
        return np.arange(size, size + np.size(value), dtype=np.int32).reshape(np.shape(value))


def memory_of(sample: Any, root: Any, terms: Terms, born: int = 0) -> Memory:
    """The memory `root`, of which `sample` is all that is used, with these `terms` in the sample's shape."""
    if root is sample or not terms:
        return Memory(root, terms, born)
    placed = Memory(root, tuple(np.zeros(root.shape, np.int32) for _ in terms), born)
    for target, t in zip(placed.seen_by(sample), terms, strict=True):
        target[...] = t
    return placed


def laid_out(ids: Any, sample: Any) -> Any:
    """`ids`, in the shape of `sample`, in memory as the sample is."""
    if ids.shape != sample.shape or same_layout(ids, sample):
        return ids
    like, root = alike(sample)
    (placed,) = Memory(root, (np.zeros(root.shape, np.int32),)).seen_by(like)
    placed[...] = ids
    return placed


def _filled(terms: Terms, count: int, size: int) -> list[Any]:
    """`count` terms of `size` elements, empty ones behind."""
    return [t.reshape(-1) for t in terms] + [np.zeros(size, np.int32)] * (count - len(terms))


def _positions(view: Any, offset: int, size: int) -> Any:
    at = np.full(view.shape, offset, np.int64)
    for axis, stride in enumerate(view.strides):
        at += stride * np.arange(view.shape[axis]).reshape((-1,) + (1,) * (view.ndim - axis - 1))
    return at // size


def root_of(array: Any) -> Any:
    """The array that owns the memory of `array`."""
    base = _base(array)
    while isinstance(base, np.ndarray):
        array, base = base, _base(base)
    return array


def lies_elsewhere(root: Any) -> bool:
    """In memory that it was told by address: `__array_interface__`, DLPack."""
    cls = type(root.base)
    by_interface = cls.__flags__ & HEAPTYPE and cls.__module__ != "mmap"
    return cls is not NoneType and bool(by_interface or cls.__name__ == "PyCapsule")


def _base(array: Any) -> Any:
    """What an array is a view of, through a buffer or what `as_strided` puts in between."""
    base = array.base
    if base is None or isinstance(base, np.ndarray):
        return base
    return base.obj if isinstance(base, memoryview) else getattr(base, "base", None)


def inexact(sample: Any) -> bool:
    """Whether a derivative can flow through values of this type."""
    if isinstance(sample, (np.ndarray, np.generic)):
        return sample.dtype.kind in "fc"
    return isinstance(sample, (float, complex))
