"""How a module of rules says whom its functions are for.

    @vjp(np.trace, np.ndarray.trace)
    def trace(g, y, a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
        return (...,)

A vjp rule takes the cotangent of the result, the result, and then whatever the primal takes; it returns the
cotangents of the leading parameters, each of its primal's shape (None: no derivative). What the rule leaves
to its caller: to refuse `out`, to cast a cotangent to its primal's dtype (the real part, where the primal
is real), and to make arrays of the numbers and lists among the first `arrays` arguments.

A rule is plain Python, to be lifted, specialised on the types of its arguments and inlined: it branches on
types, ranks and flags, and calls helpers where it needs a loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

VJP: dict[Any, Callable[..., Any]] = {}
ARRAYS: dict[Any, int] = {}
LOWERING: dict[Any, Callable[..., Any]] = {}


def vjp(*callees: Any, arrays: int = 1) -> Callable[[Function], Function]:
    """Register the function below as the vjp rule of `callees` (functions, methods, getset descriptors).

    `arrays`: how many leading arguments are arrays by nature, so that a list among them means an array.
    """

    def register(rule: Function) -> Function:
        for callee in callees:
            VJP[callee] = rule
            ARRAYS[callee] = arrays
        return rule

    return register


def lower(*callees: Any) -> Callable[[Function], Function]:
    """Register the function below as Python code that means the same as `callees`."""

    def register(function: Function) -> Function:
        for callee in callees:
            LOWERING[callee] = function
        return function

    return register


def of(owner: Any, *names: str) -> tuple[Any, ...]:
    """Those attributes of `owner` that exist in this Python and this NumPy."""
    return tuple(getattr(owner, name) for name in names if hasattr(owner, name))
