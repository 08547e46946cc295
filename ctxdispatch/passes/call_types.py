"""What inference asks of calls of Python functions that stay calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any as Anything
from typing import Protocol

from ctxdispatch.passes.types import Type


class CallType(Protocol):
    def __call__(self, callee: Anything, types: Sequence[Type], kwnames: tuple[str, ...]) -> Type | None:
        """The type of the result, where no table knows it."""

    def is_contained(self, callee: Anything, types: Sequence[Type], kwnames: tuple[str, ...]) -> bool:
        """`Op.contained`"""
