"""Operators on two objects: `a + b` runs `__add__`, `__radd__` or `__iadd__`.

One whose operands have no such method written in Python is left to the interpreter.
"""

from __future__ import annotations

import builtins
import collections
import functools
import operator
import re
from collections.abc import Callable
from typing import Any

from ctxdispatch.dispatch.protocols.conversions import truth
from ctxdispatch.dispatch.protocols.standins import mapping, stand_in
from ctxdispatch.dispatch.reach import (
    ABSENT,
    HEAPTYPE,
    Engine,
    Handler,
    Target,
    invoke,
    lookup,
    running,
    special,
)
from ctxdispatch.dispatch.tags import bare, kind
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

ARITHMETIC = {
    "add": "+", "sub": "-", "mul": "*", "matmul": "@", "truediv": "/", "floordiv": "//", "mod": "%",
    "pow": "** or pow()", "lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
COMPARISON = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
_INPLACE_SYMBOLS = {"pow": "**"}
_SYMBOLS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_BY_IDENTITY_OF_OPERANDS = {"eq": operator.is_, "ne": operator.is_not}


def operator_function(name: str) -> Any:
    """The function of the module `operator`, by the name of the method without its underscores."""
    return getattr(operator, name + "_" if name in ("and", "or") else name)


class _Binary:
    """The interpreter's protocol of `left op right`, for operands with a method written in Python."""

    def __init__(
        self, name: str, reflected: str, refusal: Callable[[Any, Any], str], comparison: bool
    ) -> None:
        self.forward, self.reflected = f"__{name}__", f"__{reflected}__"
        self.refusal, self.comparison = refusal, comparison
        self.otherwise = _BY_IDENTITY_OF_OPERANDS.get(name)
        self.concatenates = name in ("add", "mul")

    def __call__(self, engine: Engine, ctx: Any, f: Any) -> Target:
        return functools.partial(self.run, engine, ctx, f)

    def run(self, engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 2 or kwargs:
            return engine.native(ctx, f)(*args, **kwargs)
        left, right = args
        if not _in_python(kind(left), self.forward) and not _in_python(kind(right), self.reflected):
            return engine.native(ctx, f)(left, right)
        for name, x, y in self._order(left, right):
            out = _ask(engine, ctx, x, name, y)
            if out is not NotImplemented:
                return out
        if self.otherwise is not None:
            return self.otherwise(bare(left), bare(right))
        raise TypeError(self.refusal(left, right))

    def _order(self, left: Any, right: Any) -> list[tuple[str, Any, Any]]:
        forward, reflected = (self.forward, left, right), (self.reflected, right, left)
        mine, others = kind(left), kind(right)
        if mine is others and not self.comparison:
            return [forward]
        first = self._reflected_first(mine, others)
        return [reflected, forward] if first else [forward, reflected]

    def _reflected_first(self, left: type, right: type) -> bool:
        # Sequences in C concatenate and repeat after all number protocols were tried; numbers have __radd__.
        if self.concatenates and special(left, self.forward) is None and lookup(left, "__radd__") is None:
            return True
        if left is right or not issubclass(right, left):
            return False
        others, own = (lookup(cls, self.reflected, ABSENT) for cls in (right, left))
        return self.comparison or others is not own


def _in_python(cls: type, name: str) -> bool:
    return special(cls, name) is not None or (name == "__ne__" and _by_eq(cls))


def _ask(engine: Engine, ctx: Any, instance: Any, name: str, other: Any) -> Any:
    if name != "__ne__" or not _by_eq(kind(instance)):
        return invoke(engine, ctx, instance, name, other)
    out = invoke(engine, ctx, instance, "__eq__", other)
    return out if out is NotImplemented else not truth(engine, ctx, out)


def _by_eq(cls: type) -> bool:
    """Whether `__ne__` is inherited from `object`: that asks `__eq__`."""
    return special(cls, "__eq__") is not None and lookup(cls, "__ne__") is object.__ne__


_QUALIFIED = re.compile(r"'(\w+\.)+")
"""How the interpreter names a class of C code: with its module."""


def _types(left: Any, right: Any) -> str:
    return f"{kind(left).__name__!r} and {kind(right).__name__!r}"


def _arithmetic(name: str, symbol: str) -> _Binary:
    def refusal(left: Any, right: Any) -> str:
        return f"unsupported operand type(s) for {symbol}: {_types(left, right)}"

    return _Binary(name, f"r{name}", refusal, comparison=False)


def _comparison(name: str, reflected: str) -> _Binary:
    def refusal(left: Any, right: Any) -> str:
        return f"{_SYMBOLS[name]!r} not supported between instances of {_types(left, right)}"

    return _Binary(name, reflected, refusal, comparison=True)


def _inplace(name: str, symbol: str) -> Handler:
    """`__iadd__`, else what the context does for `+`, but for an error that says `+=`. What changed itself
    keeps its tag."""
    method, plain = f"__i{name}__", operator_function(name)

    def run(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 2 or kwargs:
            return engine.native(ctx, f)(*args, **kwargs)
        left, right = args
        own = lookup(kind(left), method, ABSENT)
        if own is not ABSENT:
            if special(kind(left), method) is None:
                out = _natively_inplace(engine, ctx, f, own, left, right)
            else:
                out = invoke(engine, ctx, left, method, right)
            if out is not NotImplemented:
                return left if out is bare(left) else out
        try:
            return engine.resolve(ctx, plain)(left, right)
        except TypeError as error:
            if _QUALIFIED.sub("'", str(error)) != HANDLERS[plain].refusal(left, right):
                raise
            text = str(error).replace(f"for {ARITHMETIC[name]}:", f"for {symbol}=:", 1)
        raise TypeError(text)

    return running(run)


def _natively_inplace(engine: Engine, ctx: Any, f: Any, own: Any, left: Any, right: Any) -> Any:
    """A container of C code goes through its right operand; a class of C code, without numbers' `+`, only
    once that operand's `__radd__` has no answer."""
    spread = _THROUGH.get(own)
    mine, others = kind(left), kind(right)
    asked = spread is stand_in and (mine in _OF_C or not mine.__flags__ & HEAPTYPE)
    if asked and lookup(others, "__radd__", ABSENT) is not ABSENT:
        if special(others, "__radd__") is None:
            return engine.native(ctx, f)(left, right)
        out = invoke(engine, ctx, right, "__radd__", left)
        if out is not NotImplemented:
            return out
        f, left = own, bare(left)
    return engine.native(ctx, f)(left, right if spread is None else spread(engine, ctx, right))


_THROUGH = {list.__iadd__: stand_in, collections.deque.__iadd__: stand_in, dict.__ior__: mapping}
_OF_C = (list, collections.deque)
"""From 3.12 on a deque's class is made at run time, as those of Python code are."""


def _pow(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """With a modulus it has three operands, and which of them decides changes with the version: native."""
    if kwargs or len(args) != 2:
        return engine.native(ctx, f)(*args, **kwargs)
    return HANDLERS[operator.pow].run(engine, ctx, f, *args)


HANDLERS: dict[Any, Any] = {
    **{operator_function(name): _arithmetic(name, symbol) for name, symbol in ARITHMETIC.items()},
    **{getattr(operator, name): _comparison(name, reflected) for name, reflected in COMPARISON.items()},
    builtins.divmod: _arithmetic("divmod", "divmod()"),
}
HANDLERS |= {
    **{
        getattr(operator, "i" + name): _inplace(name, _INPLACE_SYMBOLS.get(name, symbol))
        for name, symbol in ARITHMETIC.items()
    },
    builtins.pow: running(_pow),
}
