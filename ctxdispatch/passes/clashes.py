"""Parameters of blocks of which less is known than of what comes by each way: `y = 0.0` before a loop that
adds arrays.

Types only go up while they are inferred, so the first that comes is that of a way that needs no other.
"""

from __future__ import annotations

from ctxdispatch.ir.graph import Block
from ctxdispatch.ir.values import Value
from ctxdispatch.passes.types import Any, ArrayOf, Held, Known, Never, Type, cls_of, join

Found = dict[Value, tuple[Block, Type]]
"""By parameter: its block, and what came first."""


class Clashes:
    """`blurred`: parameters of which nothing is known any more, since others have clashed."""

    def __init__(self) -> None:
        self._first: dict[Value, Type] = {}
        self._clashes: Found = {}
        self._blurred: Found = {}

    def compare(self, target: Block, param: Value, type_: Type) -> None:
        """With what came first."""
        first = type_ if type_ is Never else self._first.setdefault(param, type_)
        if clash(first, type_):
            self._clashes.setdefault(param, (target, first))
        elif self._clashes and blurs(first, type_):
            self._blurred.setdefault(param, (target, first))

    @property
    def found(self) -> Found:
        return {**self._clashes, **self._blurred}


def clash(a: Type, b: Type) -> bool:
    """Much is known of each, and next to nothing of what may be either."""
    if a == b or Any in (a, b) or Never in (a, b):
        return False
    joined = join(a, b)
    if isinstance(a, ArrayOf) and isinstance(b, ArrayOf):
        return not isinstance(joined, ArrayOf)
    if isinstance(a, Held) is not isinstance(b, Held):
        return not isinstance(joined, Held)
    functions = isinstance(a, Known) and isinstance(b, Known) and callable(a.value) and callable(b.value)
    return functions or joined is Any


def blurs(known: Type, other: Type) -> bool:
    """So little is known of the other that nothing is of both."""
    arrays = isinstance(known, ArrayOf) and not isinstance(other, ArrayOf) and cls_of(other) is cls_of(known)
    return known not in (Any, Never) and (other is Any or arrays)
