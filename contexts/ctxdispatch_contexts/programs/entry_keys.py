"""How entries for calls are told apart."""

from __future__ import annotations

from types import CodeType
from typing import Any

from ctxdispatch.bytecode.original import is_generated
from ctxdispatch.ir.sites import CONTEXT


class _Hole:
    def __repr__(self) -> str:
        return "_"


HOLE = _Hole()
"""In a call's template: an argument that the entry takes."""


class ById:
    """Any object as a dictionary key, hashable or not."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ById) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


CodeKey = CodeType | ById


def code_key(code: CodeType) -> CodeKey:
    """Equal for equal code; what is generated, or was rewritten for a context, is itself alone, for its
    constants need not have hashes."""
    return ById(code) if is_generated(code) or is_rewritten(code) else code


def is_rewritten(code: CodeType) -> bool:
    return any(name.startswith(CONTEXT) for name in code.co_freevars)


def code_of(key: CodeKey) -> CodeType:
    return key.value if isinstance(key, ById) else key  # type: ignore[no-any-return]


def literal_key(template: tuple[Any, ...]) -> tuple[Any, ...]:
    """1, 1.0 and True are different literals, and so are 0.0 and -0.0."""
    return tuple([t if t is HOLE else (type(t), repr(t)) for t in template])


def holes(n: int) -> tuple[Any, ...]:
    return (HOLE,) * n
