"""What a specialised program takes for granted beyond its argument types. Each is checked at the entry of the
generated function, in a few nanoseconds of emitted code."""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any as Anything

from ctxdispatch.passes.types import Type


class OfType:
    """That something is of a type."""

    type: Type


@dataclass(frozen=True, eq=False)
class PathIs:
    """`namespace[path[0]].path[1]...` is this very `value` (a module, function, class)."""

    namespace: dict[str, Anything]
    path: tuple[str, ...]
    value: Anything

    def key(self) -> Anything:
        return (id(self.namespace), self.path)


@dataclass(frozen=True, eq=False)
class PathType(OfType):
    """The value at `path` has `type`: a global number, array, ..."""

    namespace: dict[str, Anything]
    path: tuple[str, ...]
    type: Type

    def key(self) -> Anything:
        return (id(self.namespace), self.path)


@dataclass(frozen=True, eq=False)
class AttrIs:
    """`owner.name is value`, owner a module or class reached otherwise than by name."""

    owner: Anything
    name: str
    value: Anything

    def key(self) -> Anything:
        return (id(self.owner), self.name)


@dataclass(frozen=True, eq=False)
class AttrType(OfType):
    """`owner.name` has `type`, and `owner` is of the class it was of."""

    owner: Anything
    name: str
    type: Type

    def key(self) -> Anything:
        return (id(self.owner), self.name)


ABSENT: Anything = object()


@dataclass(frozen=True, eq=False)
class ClassHolds:
    """`vars(cls)[name] is value`, or there is no such entry where that is ABSENT: how attributes of its
    objects are read and stored."""

    cls: type
    name: str
    value: Anything

    def key(self) -> Anything:
        return (id(self.cls), self.name)


@dataclass(frozen=True, eq=False)
class IsSubclass:
    """`issubclass(cls, classes) is value`: its bases are assigned to, or it is registered with an abstract
    class."""

    cls: type
    classes: Anything
    value: bool

    def key(self) -> Anything:
        return (self.cls, self.classes)


@dataclass(frozen=True, eq=False)
class CodeIs:
    """`function.__code__` has not been replaced."""

    function: types.FunctionType
    code: types.CodeType

    def key(self) -> Anything:
        return id(self.function)


@dataclass(frozen=True, eq=False)
class DefaultsAre:
    """`function` still has these defaults: a call that leaves arguments out was bound to them."""

    function: types.FunctionType
    defaults: tuple[Anything, ...] | None
    kwdefaults: dict[str, Anything] | None

    def key(self) -> Anything:
        return id(self.function)


@dataclass(frozen=True, eq=False)
class KeysAre:
    """The dict has these keys, in this order: the keywords of a call were taken from it."""

    owner: dict[str, Anything]
    keys: tuple[str, ...]

    def key(self) -> Anything:
        return id(self.owner)


@dataclass(frozen=True, eq=False)
class CellIs:
    """The cell holds this very value (a captured function, module, class)."""

    cell: types.CellType
    value: Anything

    def key(self) -> Anything:
        return id(self.cell)


@dataclass(frozen=True, eq=False)
class CellType(OfType):
    """What the cell holds has `type`."""

    cell: types.CellType
    type: Type

    def key(self) -> Anything:
        return id(self.cell)


Guard = (
    PathIs | PathType | AttrIs | AttrType | ClassHolds | IsSubclass | CodeIs | DefaultsAre | KeysAre
    | CellIs | CellType
)
