"""Functions of NumPy and Python that the user has given a rule.

The engine knows much about such functions: their types, cheaper equivalents, derivatives. A rule of the
user's comes before all of it. So the calls are made calls of something that nobody knows, before any pass
looks at them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.names import own_name
from ctxdispatch.ir.values import Const, hashable
from ctxdispatch.passes import types as T


class Ruled:
    """`function`, under the user's rule."""

    __slots__ = ("function", "__name__")

    def __init__(self, function: Any) -> None:
        self.function = function
        self.__name__ = own_name(function, "ruled")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def hide_ruled(graph: Graph, ruled: Callable[[Any], bool]) -> None:
    """In place, after inference. Python functions are looked up by their rules anyway."""
    ruled = functools.cache(ruled)
    for _, op in graph.ops():
        fn = _callee(op)
        if fn is not None and not issubclass(type(fn), (FunctionType, Ruled)) and hashable(fn) and ruled(fn):
            op.callee, op.syntax = Const(Ruled(fn)), False


def _callee(op: Op) -> Any:
    if isinstance(op.callee, Const):
        return op.callee.value
    return op.callee.type.value if isinstance(op.callee.type, T.Known) else None
