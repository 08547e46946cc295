"""Small Python functions that call a callee as a user writes it, and their derivatives through `vjp`.

    program(np.sum, (x,), {"axis": 0})    def f(a0): return np.sum(a0, axis=0)      f(x)
    program(operator.mul, (x, y), {})     def f(a0, a1): return a0 * a1             f(x, y)
    program(np.ndarray.T, (x,), {})       def f(a0): return a0.T                    f(x)

What varies is a parameter, what users spell as a literal is one.
"""

from __future__ import annotations

import bisect
import builtins
import cmath
import copy
import functools
import linecache
import logging
import math
import operator
import time
import types
import warnings
from typing import Any

import numpy as np
from derivative_checker import assert_same, assert_value, leaves

import ctxdispatch
from ctxdispatch_contexts.derivatives import linear, shapes, special

MODULES = {
    "np": np, "np.linalg": np.linalg, "math": math, "cmath": cmath, "bisect": bisect, "operator": operator,
    "functools": functools, "special": special, "linear": linear, "shapes": shapes, "time": time,
    "warnings": warnings, "logging": logging,
}  # fmt: skip
BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "matmul": "@", "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
    "and_": "&", "or_": "|", "xor": "^",
    "lshift": "<<", "rshift": ">>", "is_": "is", "is_not": "is not",
}  # fmt: skip
UNARY = {"neg": "-", "pos": "+", "invert": "~", "inv": "~", "not_": "not "}
DESCRIPTORS = (types.MethodDescriptorType, types.WrapperDescriptorType)
ATTRIBUTES = (types.GetSetDescriptorType, types.MemberDescriptorType)


# -- how it is spelled ---------------------------------------------------------------------------------------


@functools.cache
def paths() -> dict[Any, str]:
    """Where each callee is found, by the names that users know."""
    found: dict[Any, str] = {}
    for module, space in {**MODULES, "": builtins}.items():
        for name, value in vars(space).items():
            if callable(value) and not name.startswith("_") and not isinstance(value, types.ModuleType):
                found.setdefault(value, f"{module}.{name}" if module else name)
                if isinstance(value, np.ufunc):
                    found |= {getattr(value, m): f"np.{name}.{m}" for m in ("reduce", "accumulate", "outer")}
    return found


def literal(x: Any) -> str | None:
    """`x` as users spell it, or None where they would name it."""
    if x is None or isinstance(x, (bool, int, str, bytes)):
        return repr(x)
    if x is Ellipsis:
        return "..."
    if isinstance(x, slice):
        return f"slice({x.start}, {x.stop}, {x.step})"
    if isinstance(x, np.dtype):
        return f"np.dtype({x.str!r})"
    if isinstance(x, (list, tuple)):
        items = [literal(item) for item in x]
        return None if None in items else displayed(x, items)
    if isinstance(x, (type, types.BuiltinFunctionType, np.ufunc)):
        return paths().get(x)
    return None


def displayed(x: Any, items: list[Any]) -> str:
    return (
        f"[{', '.join(items)}]"
        if isinstance(x, list)
        else f"({', '.join(items)}{',' if len(items) == 1 else ''})"
    )


def subscript(x: Any) -> str:
    if isinstance(x, slice):
        return ":".join("" if part is None else str(part) for part in (x.start, x.stop, x.step))
    return (
        ", ".join(map(subscript, x)) + ("," if len(x) == 1 else "")
        if isinstance(x, tuple) and x
        else str(literal(x))
    )


class Spelling:
    """Expressions for arguments, the parameters they mention and the values of those."""

    def __init__(self, display: bool) -> None:
        self.display = display
        self.names: list[str] = []
        self.values: list[Any] = []

    def argument(self, x: Any) -> str:
        text = literal(x)
        if text is not None:
            return text
        if self.display and isinstance(x, (list, tuple)):
            return displayed(x, [self.argument(item) for item in x])
        self.names.append(f"a{len(self.names)}")
        self.values.append(x)
        return self.names[-1]

    def keyword(self, x: Any) -> str:
        """Floats among the keywords are literals: rules have no cotangents for them."""
        if type(x) is float:
            return repr(x) if math.isfinite(x) else f"{'-' if x < 0 else ''}math.inf"
        return self.argument(x)


def spelled(callee: Any, args: list[str], keywords: list[str], index: Any) -> str:
    name = getattr(callee, "__name__", "")
    if isinstance(callee, ATTRIBUTES):
        return f"{args[0]}.{name}"
    if isinstance(callee, DESCRIPTORS):
        return f"{args[0]}.{name}({', '.join(args[1:] + keywords)})"
    if vars(operator).get(name) is callee and not keywords:
        if name in BINARY and len(args) == 2:
            return f"{args[0]} {BINARY[name]} {args[1]}"
        if name in UNARY:
            return f"{UNARY[name]}{args[0]}"
        if callee is operator.getitem:
            return f"{args[0]}[{subscript(index) if literal(index) else args[1]}]"
    text = f"{paths().get(callee, 'callee')}({', '.join(args + keywords)})"
    return f"list({text})" if callee in (map, filter) else text


def called_by_name(callee: Any, args: Any, kwargs: Any) -> tuple[Any, tuple[Any, ...]]:
    """f(callee, x) in which the callee is known at run time only, as are the types of what it is given."""
    names = [f"a{i}" for i in range(len(args))]
    text = ", ".join(
        [f"{name}[0]" for name in names] + [f"{name}={literal(x) or repr(x)}" for name, x in kwargs.items()]
    )
    return function(f"def f(callee, {', '.join(names)}):\n    return callee({text})\n", None), tuple(
        [x] for x in args
    )


def program(callee: Any, args: Any, kwargs: Any, display: bool = False) -> tuple[Any, tuple[Any, ...]]:
    """The function, and what to call it with."""
    spelling = Spelling(display)
    texts = [spelling.argument(x) for x in args]
    keywords = [f"{name}={spelling.keyword(x)}" for name, x in kwargs.items()]
    body = spelled(callee, texts, keywords, args[1] if len(args) > 1 else None)
    f = function(f"def f({', '.join(spelling.names)}):\n    return {body}\n", callee)
    return f, tuple(spelling.values)


@functools.cache
def function(source: str, callee: Any) -> Any:
    """The function of that source, whose lines tracebacks can show."""
    filename = f"<program {len(linecache.cache)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    space = {
        **{name: module for name, module in MODULES.items() if "." not in name},
        "callee": callee,
    }
    exec(compile(source, filename, "exec"), space)
    return space["f"]


# -- through vjp ---------------------------------------------------------------------------------------------


def pull_by_vjp(f: Any, g: Any, y: Any, args: Any, kwargs: Any) -> Any:
    """The cotangents of `args`, after everything else about `vjp` was checked: its value against `y`,
    arguments that stay as they are, types of cotangents, the pullback's second call."""
    before = copy.deepcopy(args)
    value, pullback = ctxdispatch.vjp(f, *args, **kwargs)
    assert_equal(value, y)
    first, g_before = pullback(g), copy.deepcopy(g)
    kept = copy.deepcopy(first)
    second = pullback(g)
    assert_same(kept, second)
    assert_same(kept, first)
    assert_same(before, args)
    assert_same(g_before, g)
    assert_equal(value, y)
    assert isinstance(first, tuple) and len(first) == len(args)
    for cotangent, x in zip(first, args):
        assert_of_type(cotangent, x)
    return first


def assert_equal(a: Any, b: Any) -> None:
    """The same result: types, and values up to rounding (a lowered function may sum in another order)."""
    assert type(a) is type(b), f"a {type(a).__name__} instead of a {type(b).__name__}"
    if isinstance(b, (list, tuple)):
        for x, y in zip(a, b, strict=True):
            assert_equal(x, y)
    elif isinstance(b, (np.ndarray, np.generic)):
        assert a.dtype == b.dtype
        close = 1e-4 if b.dtype in (np.float32, np.complex64) else 1e-10
        np.testing.assert_allclose(
            a, b, rtol=close, atol=close
        ) if b.dtype.kind in "fc" else np.testing.assert_array_equal(a, b)
        assert a.shape == b.shape
    else:
        assert_value(a, b)


def assert_of_type(cotangent: Any, x: Any) -> None:
    """A cotangent has its primal's type, shape and dtype; what has no derivative has None."""
    if isinstance(x, (list, tuple)):
        if cotangent is not None:
            assert type(cotangent) is type(x), f"cotangent {cotangent!r} of a {type(x).__name__}"
            for c, item in zip(cotangent, x, strict=True):
                assert c is None or assert_of_type(c, item) is None
    elif not leaves(x):
        assert cotangent is None or cotangent == {} == x, f"cotangent {cotangent!r} of {x!r}"
    else:
        same = type(cotangent) is type(x) or (
            isinstance(x, np.ndarray) and not x.ndim and isinstance(cotangent, np.generic)
        )
        assert same, f"a {type(cotangent).__name__} as cotangent of a {type(x).__name__}"
        if isinstance(x, (np.ndarray, np.generic)):
            assert cotangent.dtype == x.dtype, f"{cotangent.dtype} as cotangent of {x.dtype}"
            assert cotangent.shape == x.shape
