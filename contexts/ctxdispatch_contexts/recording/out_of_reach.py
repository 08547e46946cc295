"""Code of Python's and NumPy's own that nothing which is differentiated can reach: it runs as it is.

    with np.errstate(all="ignore"): ..      json.dumps({"a": 1})      np.linspace(0, 1, 5)

Such a function has no closure, and its module holds nothing of the user's; what it is given are leaves, or
containers and objects of the libraries' own classes, in which there are only such. So it runs no code that
anybody could have written for the run, and what it computes is a constant.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import FunctionType
from typing import Any

import numpy as np

from ctxdispatch.dispatch.holding import referents
from ctxdispatch.ir.graph import Block, Edge, Graph
from ctxdispatch.ir.leaves import is_leaf, is_ours
from ctxdispatch.passes.parts import Part, Place
from ctxdispatch_contexts.programs.c_objects import shows
from ctxdispatch_contexts.recording.leaves import is_number

MOST = 100
"""So many parts of what it is given are looked at."""


class Native:
    """Such a function, as what stands in its own code and is asked first."""

    __slots__ = ("call",)

    def __init__(self, graph: Graph) -> None:
        assert graph.code is not None and graph.namespace is not None
        self.call = _caller(FunctionType(graph.code, graph.namespace), graph.signature)


def native(graph: Graph) -> Place | None:
    """Where the program asks whether it may run as it is (its part has the `Native`); None where it is not of
    a library."""
    code, namespace = graph.code, graph.namespace
    if code is None or namespace is None or code.co_freevars or code.co_flags & _LATER:
        return None
    if is_ours(namespace.get("__name__")) or not is_leaf(namespace):
        return None
    at = next((i + 1 for i, op in enumerate(graph.entry.ops) if getattr(op.fn, "name", "") == "RESUME"), None)
    if at is None or not set(graph.signature.names).isdisjoint(code.co_cellvars):
        return None
    place = Place(graph.entry, at, Edge(Block()), 0)
    place.part = Part(graph, graph.signature.names, None)
    return place


_LATER = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR


def _caller(function: FunctionType, signature: Any) -> Callable[[Sequence[Any]], Any]:
    """Of the values of all parameters, `*args` and `**kwargs` last."""
    positional, named = signature.argcount, signature.argcount + signature.kwonly
    names = signature.names[positional:named]

    def call(values: Sequence[Any]) -> Any:
        rest = list(values[named:])
        args = rest.pop(0) if signature.varargs else ()
        kwargs = rest.pop(0) if signature.varkw else {}
        return function(*values[:positional], *args, **dict(zip(names, values[positional:named])), **kwargs)

    return call


def is_out_of_reach(record: Any, values: Sequence[Any]) -> bool:
    """Nothing that is differentiated, and no code of the user's, is in reach of these."""
    return all(_is_still(record, part) for part in _parts(values))


def _parts(values: Sequence[Any]) -> Iterator[Any]:
    """Them, and what they hold; None where there is too much."""
    waiting, seen = [*values], 0
    while waiting:
        value = waiting.pop()
        seen += 1
        yield _TOO_MUCH if seen > MOST else value
        if not is_leaf(value) or type(value) is tuple:
            waiting += referents(value)


_TOO_MUCH = object()
_CONTAINERS = (list, tuple, dict, set, frozenset)


def _is_still(record: Any, value: Any) -> bool:
    cls = type(value)
    if issubclass(cls, np.ndarray) or shows(cls):
        return False  # the code may store into it
    if is_leaf(value):
        return not (is_number(value) and record.is_active(value))
    if cls in _CONTAINERS:
        return True
    return is_leaf(cls) and cls.__module__ != "builtins" and gc.is_tracked(value)
