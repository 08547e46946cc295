"""The lattice of abstract values that inference works on.

    Never  <  Known(value)                                    <  Exact(class)  <  Any
              ArrayOf(dtype, dims), TupleOf(items), ListOf(item)  <  Exact(class)
              IterOf(item), Bound(self, function), Conditional(function, holds)  <  Any

`Exact` means `type(x) is cls`, never a subclass: what is inferred may be relied on without a check.
"""

from __future__ import annotations

import sys
import types as pytypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any as Anything

from ctxdispatch.ir.leaves import HEAP_TYPE
from ctxdispatch.ir.names import describe
from ctxdispatch.ir.values import UNREAD, Operand, Value


class Type:
    """One element of the lattice."""

    __slots__ = ()


class _Top(Type):
    def __repr__(self) -> str:
        return "Any"


class _Bottom(Type):
    def __repr__(self) -> str:
        return "Never"


class _Unset(Type):
    def __repr__(self) -> str:
        return "Unset"


Any: Type = _Top()
Never: Type = _Bottom()
Unset: Type = _Unset()
"""In the place of a field's type: an object has no attribute of its own of that name. See `Held`."""


@dataclass(frozen=True, slots=True)
class Exact(Type):
    """An instance of exactly `cls`."""

    cls: type

    def __repr__(self) -> str:
        return self.cls.__name__


@dataclass(frozen=True, slots=True, eq=False)
class Known(Type):
    """This very object: a function, module, class, literal. Equal where the object is identical (literals:
    where type and value agree)."""

    value: Anything

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Known) and _same(self.value, other.value)

    def __hash__(self) -> int:
        if isinstance(self.value, (int, str, bytes)) or (
            type(self.value) is float and self.value == self.value
        ):
            return hash(self.value)
        return hash(type(self.value))  # nan and nan; bound builtins are a new object each time

    def __repr__(self) -> str:
        return f"Known({describe(self.value)})"


@dataclass(frozen=True, slots=True)
class Length:
    """A dimension of unknown length of which it is known whose it is: that of `source` (a value of the
    program, and an axis), `less` so many, or 0. Two that are equal are of one length, whatever that is.

    Such types hold within one run of inference and what is done with its graph: `lengths.plain` says the
    rest.
    """

    source: Anything
    less: int = 0

    def __bool__(self) -> bool:
        raise TypeError("a length is neither 1 nor not: ask flag(length)")


Dim = bool | Length | None


def flag(dim: Dim) -> bool | None:
    """True where the length is 1, False where it is not, None where that is not known."""
    return None if isinstance(dim, Length) else dim


@dataclass(frozen=True, slots=True)
class ArrayOf(Type):
    """Exactly `numpy.ndarray`, of this dtype. Per dimension: True where its length is 1, False where it is
    not, None where that is not known; or whose length it is. The length of `dims` is the rank."""

    dtype: Anything
    dims: tuple[Dim, ...]

    @property
    def ndim(self) -> int:
        return len(self.dims)

    def __repr__(self) -> str:
        return f"{self.dtype}[{','.join({True: '1', False: 'n', None: '?'}[flag(d)] for d in self.dims)}]"


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


@dataclass(frozen=True, slots=True)
class Held(Type):
    """Exactly `cls`, and what it holds: attributes of an object, entries of a dict with string keys, fields
    of a named tuple, all items of a list by position; or, `item`, every item of a list, of a tuple or of a
    dict's view. See `passes.held`. Of attributes a field may be `Unset`: there is none, and what the class
    has under that name is what the object gives. `whole`: a dict has these keys, in this order, and no
    others."""

    cls: type
    fields: tuple[tuple[str | int, Type], ...]
    item: Type | None = None
    whole: bool = False

    @property
    def by_position(self) -> bool:
        """How many items there are is known, and the type of each."""
        return self.item is None and (self.cls is list or issubclass(self.cls, tuple))

    def field(self, name: Anything) -> Type | None:
        return next((type_ for key, type_ in self.fields if key == name and type_ is not Unset), None)

    def __repr__(self) -> str:
        inside = f"[{self.item!r}]" if self.item else ", ".join(f"{k}: {t!r}" for k, t in self.fields)
        return f"{self.cls.__name__}({inside})"


@dataclass(frozen=True, slots=True)
class OneOf(Type):
    """A number of exactly one of these classes: what a sum is that starts with 0."""

    classes: frozenset[type]

    def __repr__(self) -> str:
        return "|".join(sorted(cls.__name__ for cls in self.classes))


@dataclass(frozen=True, slots=True)
class IterOf(Type):
    """An iterator that gives items of this type. `plain`: it ends, and taking items runs no code of the
    user's."""

    item: Type
    plain: bool = True

    def __repr__(self) -> str:
        return f"iter[{self.item!r}]"


@dataclass(frozen=True, slots=True)
class Bound(Type):
    """What `x.name` gives where it is `function` with `x`, of type `self`, as its first argument."""

    self: Type
    function: Anything

    def __repr__(self) -> str:
        return f"bound({self.function!r}, {self.self!r})"


@dataclass(frozen=True, slots=True)
class Conditional(Type):
    """A callable that is `function` on arguments of such types as `holds` says, and on others not known."""

    function: Anything
    holds: Callable[[Sequence[Type]], bool] = field(compare=False, repr=False)

    def on(self, args: Sequence[Type]) -> Type:
        """What it is in a call with arguments of these types."""
        return Known(self.function) if self.holds(args) else Any


LITERALS = (bool, int, float, complex, str, bytes, pytypes.NoneType, pytypes.EllipsisType)


def is_literal(value: Anything) -> bool:
    """Of a literal's very class: a subclass may mean something else by its operators."""
    return type(value) in LITERALS


def _same(a: Anything, b: Anything) -> bool:
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is pytypes.BuiltinMethodType:  # np.add.reduce is a new object each time
        return a.__self__ is b.__self__ and bool(a == b)
    return (is_literal(a) or type(a) is slice) and repr(a) == repr(b)


_CLASSES: dict[type[Type], type] = {TupleOf: tuple, ListOf: list}


def cls_of(type_: Type) -> type | None:
    """The exact class of every value of `type_`, where it is known."""
    if isinstance(type_, (Exact, Held)):
        return type_.cls
    if isinstance(type_, Known):
        return type(type_.value)
    if isinstance(type_, ArrayOf):
        import numpy

        return numpy.ndarray
    return _CLASSES.get(type(type_))


def widen(type_: Type) -> Type:
    """A literal's class: what a loop may change it into."""
    if isinstance(type_, Known) and is_literal(type_.value):
        return Exact(type(type_.value))
    return type_


# -- the order -----------------------------------------------------------------------------------------------


def join(a: Type, b: Type) -> Type:
    """The least type above both."""
    if a is Never or a is b or a == b:
        return b
    if b is Never:
        return a
    joined = _JOINS[type(a)](a, b) if type(a) is type(b) and type(a) in _JOINS else None
    return joined or _join_classes(a, b)


def _join_classes(a: Type, b: Type) -> Type:
    cls = cls_of(a)
    if cls is not None and cls is cls_of(b):
        return Exact(cls)
    numbers = number_classes(a) | number_classes(b)
    return OneOf(numbers) if numbers and number_classes(a) and number_classes(b) else Any


def number_classes(type_: Type) -> frozenset[type]:
    """The classes that a number of this type may have; nothing where it may be no number."""
    if isinstance(type_, OneOf):
        return type_.classes
    cls = cls_of(type_)
    if cls in (int, float, complex, bool):
        return frozenset((cls,))
    numpy = sys.modules.get("numpy")
    return frozenset((cls,)) if cls and numpy is not None and issubclass(cls, numpy.number) else frozenset()


def _join_arrays(a: ArrayOf, b: ArrayOf) -> Type | None:
    if a.dtype != b.dtype or len(a.dims) != len(b.dims):
        return None
    return ArrayOf(a.dtype, tuple(map(_join_dims, a.dims, b.dims)))


def _join_dims(a: Dim, b: Dim) -> Dim:
    return a if a == b else flag(a) if flag(a) is flag(b) else None


def _join_tuples(a: TupleOf, b: TupleOf) -> Type | None:
    return TupleOf(tuple(map(join, a.items, b.items))) if len(a.items) == len(b.items) else None


def _join_bound(a: Bound, b: Bound) -> Type | None:
    return Bound(join(a.self, b.self), a.function) if a.function is b.function else None


def _join_held(a: Held, b: Held) -> Type | None:
    if a.cls is not b.cls or [k for k, _ in a.fields] != [k for k, _ in b.fields]:
        return None
    fields = tuple((k, join(x, y)) for (k, x), (_, y) in zip(a.fields, b.fields, strict=True))
    return Held(a.cls, fields, None if a.item is None or b.item is None else join(a.item, b.item))


_JOINS: dict[type[Type], Anything] = {
    Held: _join_held,
    ArrayOf: _join_arrays,
    TupleOf: _join_tuples,
    ListOf: lambda a, b: ListOf(join(a.item, b.item)),
    IterOf: lambda a, b: IterOf(join(a.item, b.item), a.plain and b.plain),
    Bound: _join_bound,
}


def leq(a: Type, b: Type) -> bool:
    """Every value of type `a` is of type `b`."""
    return join(a, b) == b


# -- types of values -----------------------------------------------------------------------------------------

MAX_ITEMS = 50
"""Longer tuples and lists are not looked into: every call would check them item by item."""

CODE = (
    pytypes.FunctionType,
    pytypes.BuiltinFunctionType,
    pytypes.ModuleType,
    pytypes.MethodDescriptorType,
    pytypes.WrapperDescriptorType,
    type,
    pytypes.NoneType,
    pytypes.EllipsisType,
)
"""What is taken by identity: a program rarely changes it, and nothing can be inferred from its class."""


def without_lists(type_: Type) -> Type:
    """Of lists, those within tuples too, the class alone: what is in them changes."""
    if isinstance(type_, TupleOf):
        return TupleOf(tuple(map(without_lists, type_.items)))
    return Exact(list) if isinstance(type_, ListOf) else type_


def type_of(value: Anything, depth: int = 8) -> Type:
    """The type that a program is specialised to when it is called with `value`. Containers are looked into
    `depth` levels deep: a list may contain itself."""
    cls = type(value)
    if cls is float or cls is int:
        return Exact(cls)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if cls is numpy.ndarray:
            return ArrayOf(value.dtype, tuple([n == 1 for n in value.shape]))
        if cls is numpy.ufunc:
            return Known(value)
    if cls in (tuple, list) and len(value) <= MAX_ITEMS and depth:
        return _type_of_items(value, depth - 1)
    if cls is slice and any(type(v).__flags__ & HEAP_TYPE for v in (value.start, value.stop, value.step)):
        return Any  # an index may be given by a method of the user's
    return Known(value) if issubclass(cls, CODE) else Exact(cls)


def _type_of_items(value: Anything, depth: int) -> Type:
    items = tuple([type_of(item, depth) for item in value])
    if type(value) is tuple:
        return TupleOf(items)
    item: Type = Never
    for each in items:
        item = join(item, each)
    return Exact(list) if item is Any or item is Never else ListOf(item)


def const_type(value: Anything) -> Type:
    """The type of a constant of the program itself."""
    if value is UNREAD.value:
        return Never
    cls = type(value)
    if cls is tuple and len(value) <= MAX_ITEMS:
        return TupleOf(tuple(map(const_type, value)))
    numpy = sys.modules.get("numpy")
    if numpy is not None and cls is numpy.ndarray:
        return ArrayOf(value.dtype, tuple([n == 1 for n in value.shape]))
    return Known(value)


def operand_type(operand: Operand) -> Type:
    """What inference found out about an operand; Any before."""
    type_ = operand.type
    if type_ is None:
        if isinstance(operand, Value):
            return Any
        type_ = operand.type = const_type(operand.value)
    return type_  # type: ignore[no-any-return]
