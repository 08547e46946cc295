"""What Python converts by a special method of the user's: bool(v), float(v), len(v), `k in v`, ...

The engine's handlers hand what the method returned to the interpreter, which looks at it. What depends on the
inputs it would not take: that is converted by a rule.
"""

from __future__ import annotations

import builtins
import operator
from typing import Any

import numpy as np

from ctxdispatch.dispatch.protocols import OPERATIONS
from ctxdispatch.dispatch.protocols.conversions import CONVERSIONS, HANDLERS
from ctxdispatch.dispatch.reach import lookup, special
from ctxdispatch.ir import primitives
from ctxdispatch_contexts.sparsity.values import NUMBERS, Either, Tracked

_SHOWING = (builtins.str, builtins.format, primitives.format_value)
PROTOCOLS = {**OPERATIONS, **{f: HANDLERS[f] for f in (builtins.round, *_SHOWING)}}
CONTAINS: dict[Any, Any] = {operator.contains: builtins.bool, primitives.not_contains: operator.not_}


def special_method(f: Any, args: list[Any]) -> Any:
    """The method in Python by which `f` converts its operand, or None."""
    if f in CONTAINS:
        return special(type(args[0]), "__contains__") if len(args) == 2 else None
    if f not in CONVERSIONS or len(args) != 1:
        return None
    cls = type(args[0])
    name = next((m for m in CONVERSIONS[f].methods if lookup(cls, m) is not None), None)
    return None if name is None else special(cls, name)


def converted_by(run: Any, method: Any, f: Any, args: list[Any], handler: Any) -> Any:
    """f(*args), where the class of the first of them has this method; `handler` is the engine's."""
    out = run.call(method, args, {})
    if not isinstance(out, (Tracked, Either)):
        return handler(_returning(f, args[0], out), *args[1:])
    return out if f is builtins.len else run.call(CONTAINS.get(f, f), [out], {})


def _returning(f: Any, owner: Any, out: Any) -> Any:
    """An object, of a class called like the owner's, of which any of the methods of `f` returns `out`."""
    names = ("__contains__",) if f in CONTAINS else CONVERSIONS[f].methods
    has = [name for name in names if lookup(type(owner), name) is not None]
    return type(type(owner).__name__, (), {has[0]: lambda self, *args: out})()


TO_NUMBERS = (("__float__", float),)
TO_ARRAYS = (("__array__", np.asarray), *TO_NUMBERS)


def converted(run: Any, v: Any, protocol: Any = None) -> Any:
    """An object that says what array or number it stands for, as that; a list with something tracked in it as
    an array."""
    if isinstance(v, (*NUMBERS, Either, str, type(None))) or not run.touched(v):
        return run.lifted(v)
    if isinstance(v, (list, tuple)):
        return run.call(np.array, [v], {})
    for name, as_one in protocol or TO_ARRAYS:
        method = None if isinstance(v, Tracked) else special(type(v), name)
        if method is not None:
            return run.call(as_one, [run.call(method, [v], {})], {})
    return v


def converts(f: Any, args: list[Any]) -> bool:
    """Whether C code asks the operands what numbers or arrays they stand for."""
    by_kind = type(f).__module__ == "numpy" or protocol_of(f) is TO_NUMBERS
    return by_kind or any(isinstance(a, np.ndarray) for a in args)


def protocol_of(f: Any) -> Any:
    return TO_NUMBERS if getattr(f, "__module__", None) in ("math", "cmath") else TO_ARRAYS


__all__ = [
    "PROTOCOLS", "TO_NUMBERS", "converted", "converted_by", "converts", "protocol_of", "special_method",
]  # fmt: skip
