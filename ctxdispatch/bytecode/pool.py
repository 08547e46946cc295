"""Constants that generated code does not hold itself.

The garbage collector does not look into code objects: a function whose code has a constant that leads back to
it would never die. So constants that may lead anywhere (functions, objects, namespaces) are in a list that
the function has in a closure cell, its *pool*; the code reads them from there by index. Those without a hash
(arrays, dicts, slices) too: debuggers, profilers and picklers look code objects up in tables. Code without a
pool reads these off a constant (`Held`). A pool only grows: code of several programs may share it, also while
it runs.
"""

from __future__ import annotations

import types
from typing import Any


class Held:
    """A constant without a hash, of code that has no pool: its `value` is loaded."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Pool:
    """`items` are the constants, `cell` what the function has in its closure."""

    NAME = "$pool"  # of the cell

    __slots__ = ("items", "cell", "_index")

    def __init__(self, items: list[Any] | None = None) -> None:
        self.items: list[Any] = [] if items is None else items
        self.cell = types.CellType(self.items)
        self._index = {id(item): i for i, item in enumerate(self.items)}

    def index(self, value: Any) -> int:
        """Where `value` is; it is put there first."""
        index = self._index.setdefault(id(value), len(self.items))
        if index == len(self.items):
            self.items.append(value)
        return index
