"""The lattice of abstract values that inference works on.

    Never  <  Known(value)  <  Exact(class)  <  Any
              ArrayOf(dtype, dims)  <  Any        TupleOf(items), ListOf(item)  <  Any

`Exact` means `type(x) is cls`, never a subclass: what is inferred may be relied on without a check.
"""

from __future__ import annotations

import types as pytypes
from dataclasses import dataclass
from typing import Any as Anything


class Type:
    """One element of the lattice."""

    __slots__ = ()


class _Top(Type):
    def __repr__(self) -> str:
        return "Any"


class _Bottom(Type):
    def __repr__(self) -> str:
        return "Never"


Any: Type = _Top()
Never: Type = _Bottom()


@dataclass(frozen=True, slots=True)
class Exact(Type):
    """An instance of exactly `cls`."""

    cls: type

    def __repr__(self) -> str:
        return self.cls.__name__


@dataclass(frozen=True, slots=True, eq=False)
class Known(Type):
    """This very object: a function, module, class, literal. Equal where the object is identical (literals: where
    type and value agree)."""

    value: Anything

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Known) and _same(self.value, other.value)

    def __hash__(self) -> int:
        return hash(type(self.value))

    def __repr__(self) -> str:
        return f"Known({self.value!r})"


@dataclass(frozen=True, slots=True)
class ArrayOf(Type):
    """Exactly `numpy.ndarray`, of this dtype. Per dimension: True where its length is 1, False where it is not,
    None where that is not known. The length of `dims` is the rank."""

    dtype: Anything
    dims: tuple[bool | None, ...]

    @property
    def ndim(self) -> int:
        return len(self.dims)

    def __repr__(self) -> str:
        return f"{self.dtype}[{','.join({True: '1', False: 'n', None: '?'}[d] for d in self.dims)}]"


@dataclass(frozen=True, slots=True)
class TupleOf(Type):
    """Exactly `tuple`, item by item."""

    items: tuple[Type, ...]

    def __repr__(self) -> str:
        return f"({', '.join(map(repr, self.items))})"


@dataclass(frozen=True, slots=True)
class ListOf(Type):
    """Exactly `list`, every item of one type, any length."""

    item: Type

    def __repr__(self) -> str:
        return f"[{self.item!r}]"


LITERALS = (bool, int, float, complex, str, bytes, pytypes.NoneType, pytypes.EllipsisType)


def _same(a: Anything, b: Anything) -> bool:
    if a is b:
        return True
    return type(a) is type(b) and isinstance(a, LITERALS) and repr(a) == repr(b)


def cls_of(type_: Type) -> type | None:
    """The exact class of every value of `type_`, where it is known."""
    match type_:
        case Exact(cls):
            return cls
        case Known(value):
            return type(value)
        case TupleOf():
            return tuple
        case ListOf():
            return list
        case ArrayOf():
            import numpy

            return numpy.ndarray
    return None


def widen(type_: Type) -> Type:
    """A literal's class: what a loop may change it into."""
    if isinstance(type_, Known) and isinstance(type_.value, LITERALS):
        return Exact(type(type_.value))
    return type_


def join(a: Type, b: Type) -> Type:
    """The least type above both."""
    if a is Never or a == b:
        return b
    if b is Never:
        return a
    if isinstance(a, ArrayOf) and isinstance(b, ArrayOf) and a.dtype == b.dtype and len(a.dims) == len(b.dims):
        return ArrayOf(a.dtype, tuple(x if x == y else None for x, y in zip(a.dims, b.dims, strict=True)))
    if isinstance(a, TupleOf) and isinstance(b, TupleOf) and len(a.items) == len(b.items):
        return TupleOf(tuple(map(join, a.items, b.items)))
    if isinstance(a, ListOf) and isinstance(b, ListOf):
        return ListOf(join(a.item, b.item))
    cls = cls_of(a)
    if cls is not None and cls is cls_of(b) and _plain(a) and _plain(b):
        return Exact(cls)
    return Any


def _plain(type_: Type) -> bool:
    return not isinstance(type_, (ArrayOf,))
