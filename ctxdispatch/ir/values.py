"""What programs are about: values, constants, places in the source.

    Value      defined once, by an op or as a parameter of a block
    Const      known when the graph is built
    Operand    either
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeVar

from ctxdispatch.ir.wrappers import PROXY

Row = TypeVar("Row")


class Position(NamedTuple):
    """Where in the user's source something stands. Columns are byte offsets as in `co_positions`. `part`: it
    is only a part of what does what stands there."""

    filename: str
    function: str
    line: int | None
    end_line: int | None = None
    column: int | None = None
    end_column: int | None = None
    part: bool = False

    def __str__(self) -> str:
        return f"{self.filename}:{self.line} in {self.function}"


class Value:
    """An SSA value. `name` is a hint for printing and for the emitter; identity is what counts.

    `type` is filled in by `passes.infer`; None means not inferred yet.
    """

    __slots__ = ("name", "type")

    def __init__(self, name: str = "", type: Any = None) -> None:
        self.name = name
        self.type = type

    def __repr__(self) -> str:
        return f"%{self.name or hex(id(self))[-5:]}"


class Reread(Value):
    """A value of the frame form that is read again from `cell` wherever it is used: it is on no stack."""

    __slots__ = ("cell",)

    def __init__(self, cell: Value, name: str = "") -> None:
        super().__init__(name)
        self.cell = cell


def hashable(value: Any) -> bool:
    """Callees are looked up in tables, and may be anything: a writable memoryview's hash raises ValueError, a
    class's may raise what it likes, and a proxy is equal to what it stands for."""
    if type(value) in _HASHED:
        return True
    if issubclass(type(value), PROXY):
        return False
    try:
        hash(value)
    except Exception:
        return False
    return True


_HASHED = frozenset({types.FunctionType, types.BuiltinFunctionType, types.NoneType, type, str, int})
"""What nearly all callees and literals are: nobody is asked for the hash of these."""


def row_of(table: Mapping[Any, Row], callee: Any) -> Row | None:
    """What the table says of a callee, which may be anything: nothing of what has no hash."""
    return table.get(callee) if hashable(callee) else None


class Const:
    """An operand known when the graph is built: any Python object, by reference. `type` is what passes know
    of it, as of a `Value`; `pos` is where the source has it (in frame form)."""

    __slots__ = ("pos", "type", "value")

    def __init__(self, value: Any, pos: Position | None = None) -> None:
        self.value = value
        self.pos = pos
        self.type: Any = None

    def __repr__(self) -> str:
        return repr(self.value)


class MethodName(Const):
    """The name of an attribute that is loaded to be called."""

    __slots__ = ()


Operand = Value | Const


class _Undef:
    """What a local variable holds before it is bound."""

    def __repr__(self) -> str:
        return "undef"


UNDEF = Const(_Undef())


class _Unread:
    def __repr__(self) -> str:
        return "None"


UNREAD = Const(_Unread())
"""What a merge is given on a path after which nobody reads it. Emitted as None."""
