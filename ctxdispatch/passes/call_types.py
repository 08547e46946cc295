"""What inference asks of calls of Python functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any as Anything
from typing import Protocol

from ctxdispatch.passes.types import Type


class CallType(Protocol):
    """What is known of the results of calls of Python functions, and whether they change anything."""

    def __call__(self, callee: Anything, types: Sequence[Type], kwnames: tuple[str, ...]) -> Type | None: ...

    def is_quiet(self, callee: Anything, types: Sequence[Type], kwnames: tuple[str, ...]) -> bool:
        """`Op.quiet`"""
