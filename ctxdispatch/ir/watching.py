"""Functions that watch a program and are no part of it: hooks, and what the passes of contexts have put there.

No context is asked about them or about what they call, no derivative goes through them, and they change
nothing that the program computes with.
"""

from __future__ import annotations

import functools
from types import FunctionType
from typing import Any

from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.rewrite import Use, uses
from ctxdispatch.ir.values import Const

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
    readers = uses(graph) if found else {}
    for op in found:
        if not all(_watches(use) for result in op.results for use in readers[result]):
            op.callee = Const(_itself(op.fn))


def _watches(use: Use) -> bool:
    return isinstance(use.user, Op) and is_undispatched(use.user.fn)


def _itself(f: Any) -> Any:
    if type(f) is Undispatched:
        return functools.partial(f.func, *f.args, **f.keywords) if f.args or f.keywords else f.func
    made = FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    made.__kwdefaults__, made.__qualname__, made.__module__ = f.__kwdefaults__, f.__qualname__, f.__module__
    return made
