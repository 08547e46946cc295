"""Seeing the IR: `print(ir(f)(1.0, 2))`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from ctxdispatch.ir.graph import Graph

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


class Shown:
    """A graph whose repr is its print."""

    def __init__(self, graph: Graph, typed: bool) -> None:
        self.graph = graph
        self.typed = typed

    def __repr__(self) -> str:
        from ctxdispatch.ir.printer import print_graph

        return print_graph(self.graph, types=self.typed)


def ir(f: Callable[..., Any]) -> Callable[..., Shown]:
    """`ir(f)(*args, **kwargs)` is the IR of `f`, its values' types inferred for these arguments.

    `ir(f)()` of an `f` that takes arguments is the IR without types. Raises TypeError where `f` has no Python
    code or the arguments do not fit, UnsupportedSyntax where the IR has no form for the code.
    """
    function, prefix, keywords = unwrap(f)

    @functools.wraps(function)
    def shown(*args: Any, **kwargs: Any) -> Shown:
        from ctxdispatch.bytecode.lift import lift

        graph = lift(function)
        typed = bool(args or kwargs or not graph.params)
        if typed:
            infer_types(graph, function, (*prefix, *args), {**keywords, **kwargs})
        return Shown(graph, typed)

    return shown


def unwrap(f: Any) -> tuple[FunctionType, Args, Kwargs]:
    """The function behind methods, partials and objects with `__call__`, and the arguments they hold."""
    if type(f) is FunctionType:
        return f, (), {}
    if issubclass(type(f), functools.partial):
        function, args, kwargs = unwrap(f.func)
        return function, (*args, *f.args), {**kwargs, **f.keywords}
    if type(f) is MethodType:
        function, args, kwargs = unwrap(f.__func__)
        return function, (*args, f.__self__), kwargs
    call = getattr(f, "__call__", None)  # noqa: B004
    if type(call) is MethodType:
        return unwrap(call)
    raise TypeError(f"{f!r} has no Python code")


def infer_types(graph: Graph, function: FunctionType, args: Args, kwargs: Kwargs) -> None:
    """Give the values of `graph` their types in a call of `function` with these arguments. TypeError where
    they do not fit."""
    from ctxdispatch.passes.infer import infer
    from ctxdispatch.passes.types import type_of

    bound = inspect.signature(function, follow_wrapped=False).bind(*args, **kwargs)
    bound.apply_defaults()
    types = [type_of(bound.arguments[name]) for name in graph.signature.names]
    infer(graph, types, cells=function.__closure__ or ())
