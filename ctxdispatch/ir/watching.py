"""Functions that watch a program and are no part of it: hooks, and what passes of contexts have put there.

No context is asked about them or about what they call, no derivative goes through them, and they change
nothing that the program computes with.
"""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any

from ctxdispatch.ir.frames import load_local, load_local_borrowed, load_local_checked, store_local
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.rewrite import Use, uses
from ctxdispatch.ir.values import Const, Value

UNDISPATCHED = "$undispatched"
"""The mark of such a function, in its `__dict__`."""


class Undispatched(functools.partial[Any]):
    """A callable without Python code of its own that no context is asked about."""


def is_undispatched(f: Any) -> bool:
    return type(f) is Undispatched or (type(f) is FunctionType and UNDISPATCHED in f.__dict__)


def tell_apart(graph: Graph) -> None:
    """What a pass has put there and the program goes on with is a part of it: its ops call the function
    itself, in place. What is left only watches."""
    found = [op for _, op in graph.ops() if is_undispatched(op.fn)]
    if not found:
        return
    readers, loads = uses(graph), _loads(graph)
    for op in found:
        if not all(_watches(use.user, readers, loads) for result in op.results for use in readers[result]):
            op.callee = Const(_itself(op.fn))


LOADS = (load_local, load_local_checked, load_local_borrowed)


def _loads(graph: Graph) -> dict[Any, list[Value]]:
    """By the name of a variable, what is read from it."""
    found: dict[Any, list[Value]] = {}
    for _, op in graph.ops():
        if op.fn in LOADS and isinstance(op.args[0], Const):
            found.setdefault(op.args[0].value, []).append(op.result)
    return found


def _watches(user: Any, readers: dict[Value, list[Use]], loads: dict[Any, list[Value]]) -> bool:
    """Whether it is one of them, or keeps a value for them alone."""
    if not isinstance(user, Op) or user.fn is not store_local or not isinstance(user.args[0], Const):
        return isinstance(user, Op) and is_undispatched(user.fn)
    read = [use.user for value in loads.get(user.args[0].value, ()) for use in readers[value]]
    return all(isinstance(each, Op) and is_undispatched(each.fn) for each in read)


def _itself(f: Any) -> Any:
    if type(f) is Undispatched:
        return functools.partial(f.func, *f.args, **f.keywords) if f.args or f.keywords else f.func
    made = FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    made.__kwdefaults__, made.__qualname__, made.__module__ = f.__kwdefaults__, f.__qualname__, f.__module__
    return made
