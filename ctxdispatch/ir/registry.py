"""Tables of what we do in place of callables, each entry beside its definition:

    RULES: Registry[Rule] = Registry()

    @RULES.of(builtins.min, builtins.max)
    def extremum(...):
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F")


class Registry(dict[Any, F]):
    """By the callable."""

    def of(self, *callables: Any) -> Callable[[F], F]:
        """Enters what it decorates."""

        def enter(function: F) -> F:
            self.update(dict.fromkeys(callables, function))
            return function

        return enter
