"""Values of which types are, on which functions run to say what they give or whether they raise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any as Anything

import numpy as np

from ctxdispatch.passes.types import (
    LITERALS,
    ArrayOf,
    Dim,
    Held,
    Known,
    ListOf,
    TupleOf,
    Type,
    cls_of,
    number_classes,
)

KINDS = frozenset("biufc")
"""The dtypes that inference knows: of objects, strings and records it says nothing."""

SCALARS: dict[type, Anything] = {
    t: t(1) for t in (*np.sctypeDict.values(), bool, int, float, complex)
    if issubclass(type(t), type) and (t in (bool, int, float, complex) or np.dtype(t).kind in KINDS)
}  # fmt: skip


class Unsampled(Exception):
    """There is no sample for an operand: its value would matter."""


MAX_UNSURE = 2
"""With more dimensions of unknown length, all get the same: only rank and dtype of the result count."""


def lengths_of(unsure: int) -> Iterator[tuple[int, Iterator[int]]]:
    """(length of False dimensions, lengths of None dimensions and lists in turn)"""
    for long in (0, 2, 3):
        if unsure > MAX_UNSURE:
            yield from ((long, iter([n] * unsure)) for n in (0, 1, long))
        else:
            yield from ((long, iter(ns)) for ns in product((0, 1, long or 2), repeat=unsure))


def unsure_lengths(type_: Type) -> int:
    """How many lengths `of_lengths` takes for it."""
    if isinstance(type_, ArrayOf):
        return sum(d is None for d in type_.dims)
    if isinstance(type_, TupleOf):
        return sum(map(unsure_lengths, type_.items))
    if isinstance(type_, Held) and type_.by_position:
        return sum(unsure_lengths(item) for _, item in type_.fields)
    item = item_of_lists(type_)
    return 0 if item is None else 1 + 3 * unsure_lengths(item)


def item_of_lists(type_: Type) -> Type | None:
    """What all items are of, of lists of any length."""
    held = isinstance(type_, Held) and type_.cls is list
    return type_.item if held or isinstance(type_, ListOf) else None  # type: ignore[attr-defined]


def of_lengths(type_: Type, lengths: tuple[int, Iterator[int]], data: bool) -> Anything:
    long, unsure = lengths

    def number(cls: type) -> Anything:
        if not (data or np.dtype(cls).kind in "fc"):
            raise Unsampled
        return SCALARS[cls]

    def length(dim: Dim) -> int:
        return next(unsure) if dim is None else 1 if dim else long

    return sample(type_, length, _array, number)


def sample(
    type_: Type, length: Callable[[Dim], int], array: Callable[[ArrayOf, tuple[int, ...]], Anything],
    number: Callable[[type], Anything],
) -> Anything:  # fmt: skip
    """A value of the type; Unsampled where there is none. `length`: of dimensions, and of lists, as of None;
    `array`: of this shape."""
    if isinstance(type_, ArrayOf):
        if type_.dtype.kind not in KINDS:
            raise Unsampled
        return array(type_, tuple(map(length, type_.dims)))
    if isinstance(type_, TupleOf):
        return tuple(sample(item, length, array, number) for item in type_.items)
    if isinstance(type_, Held) and type_.by_position and type_.cls in (list, tuple):
        return type_.cls(sample(item, length, array, number) for _, item in type_.fields)
    item = item_of_lists(type_)
    if item is not None:
        return [sample(item, length, array, number) for _ in range(length(None))]
    if isinstance(type_, Known) and _harmless(type_.value):
        return type_.value
    cls, *others = number_classes(type_) or [cls_of(type_)]
    if cls not in SCALARS or any(np.dtype(other) != np.dtype(cls) for other in others):
        raise Unsampled
    return number(cls)


def _harmless(value: Anything) -> bool:
    return type(value) in LITERALS or isinstance(value, (np.dtype, slice, np.generic)) or value in SCALARS


def _array(type_: ArrayOf, shape: tuple[int, ...]) -> Anything:
    """The identity matrix, repeated: it has an inverse, a determinant, a Cholesky factor."""
    if len(shape) < 2:
        return np.ones(shape, type_.dtype)
    return np.broadcast_to(np.eye(*shape[-2:], dtype=type_.dtype), shape).copy()
