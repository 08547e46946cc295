"""Through what Python code runs besides calls: `a + b` runs `__add__`, `sorted(xs, key=f)` runs `f`.

`BY_IDENTITY` maps the id of such a callee to a handler as in `reach.BY_TYPE`. An operator whose operands
have no special method written in Python is left to the interpreter: in doubt it is native, and so exactly
Python's.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any

from ctxdispatch.dispatch.reach import Engine, Handler, Target, bind, lookup, special
from ctxdispatch.ir import primitives

# -- binary operators ------------------------------------------------------------------------------

ARITHMETIC = {
    "add": "+", "sub": "-", "mul": "*", "matmul": "@", "truediv": "/", "floordiv": "//", "mod": "%",
    "pow": "** or pow()", "lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
COMPARISON = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
_SYMBOLS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_BY_IDENTITY_OF_OPERANDS = {"eq": operator.is_, "ne": operator.is_not}


def operator_function(name: str) -> Any:
    return getattr(operator, name + "_" if name in ("and", "or") else name)


INPLACE = {getattr(operator, "i" + name): operator_function(name) for name in ARITHMETIC}
"""operator.iadd -> operator.add: what `a += b` means where a's class has no `__iadd__`."""


class _Binary:
    """The interpreter's protocol of `left op right`, for operands with a method written in Python."""

    def __init__(self, name: str, reflected: str, fail: Callable[[Any, Any], Any], comparison: bool) -> None:
        self.forward, self.reflected = f"__{name}__", f"__{reflected}__"
        self.fail, self.comparison = fail, comparison
        self.concatenates = name in ("add", "mul")

    def __call__(self, engine: Engine, ctx: Any, f: Any) -> Target:
        return functools.partial(self.run, engine, ctx, f)

    def run(self, engine: Engine, ctx: Any, f: Any, left: Any, right: Any, /) -> Any:
        if special(type(left), self.forward) is None and special(type(right), self.reflected) is None:
            return engine.native(ctx, f)(left, right)
        for name, x, y in self._order(left, right):
            out = _invoke(engine, ctx, x, name, y)
            if out is not NotImplemented:
                return out
        return self.fail(left, right)

    def _order(self, left: Any, right: Any) -> list[tuple[str, Any, Any]]:
        forward, reflected = (self.forward, left, right), (self.reflected, right, left)
        if type(left) is type(right) and not self.comparison:
            return [forward]
        first = self._reflected_first(type(left), type(right))
        return [reflected, forward] if first else [forward, reflected]

    def _reflected_first(self, left: type, right: type) -> bool:
        # Sequences in C concatenate and repeat after all number protocols were tried; numbers have __radd__.
        if self.concatenates and special(left, self.forward) is None and lookup(left, "__radd__") is None:
            return True
        if left is right or not issubclass(right, left):
            return False
        return self.comparison or lookup(right, self.reflected) is not lookup(left, self.reflected)


def _invoke(engine: Engine, ctx: Any, instance: Any, name: str, *args: Any) -> Any:
    method = lookup(type(instance), name)
    if method is None:
        return NotImplemented
    return engine.resolve(ctx, bind(method, instance))(*args)


def _types(left: Any, right: Any) -> str:
    return f"{type(left).__name__!r} and {type(right).__name__!r}"


def _arithmetic(name: str, symbol: str) -> _Binary:
    def fail(left: Any, right: Any) -> Any:
        raise TypeError(f"unsupported operand type(s) for {symbol}: {_types(left, right)}")

    return _Binary(name, f"r{name}", fail, comparison=False)


def _comparison(name: str, reflected: str) -> _Binary:
    def fail(left: Any, right: Any) -> Any:
        raise TypeError(f"{_SYMBOLS[name]!r} not supported between instances of {_types(left, right)}")

    return _Binary(name, reflected, _BY_IDENTITY_OF_OPERANDS.get(name, fail), comparison=True)


def _inplace(name: str) -> Handler:
    """`__iadd__`, else what the context does for `+`."""

    def run(engine: Engine, ctx: Any, f: Any, left: Any, right: Any, /) -> Any:
        method = lookup(type(left), f"__i{name}__")
        if method is None:
            return engine.resolve(ctx, INPLACE[f])(left, right)
        if special(type(left), f"__i{name}__") is None:
            return engine.native(ctx, f)(left, right)
        out = _invoke(engine, ctx, left, f"__i{name}__", right)
        return engine.resolve(ctx, INPLACE[f])(left, right) if out is NotImplemented else out

    return lambda engine, ctx, f: functools.partial(run, engine, ctx, f)


# -- operators on one object -----------------------------------------------------------------------


class _Truth:
    def __init__(self, value: Any) -> None:
        self._value = value

    def __bool__(self) -> bool:
        return self._value  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return self._value  # type: ignore[no-any-return]


def _same(out: Any) -> Any:
    return out


def _exact_bool(out: Any) -> bool:
    """The interpreter's own check of what `__bool__` returned."""
    return bool(_Truth(out))


def _first_operand(name: str, finish: Callable[[Any], Any] = _same) -> Handler:
    """The special method `name` of the first argument takes the others."""

    def run(engine: Engine, ctx: Any, f: Any, instance: Any, /, *args: Any) -> Any:
        if special(type(instance), name) is None:
            return engine.native(ctx, f)(instance, *args)
        return finish(_invoke(engine, ctx, instance, name, *args))

    return lambda engine, ctx, f: functools.partial(run, engine, ctx, f)


_ON_FIRST: dict[Any, tuple[str, Callable[[Any], Any]]] = {
    operator.neg: ("__neg__", _same),
    operator.pos: ("__pos__", _same),
    operator.invert: ("__invert__", _same),
    builtins.abs: ("__abs__", _same),
    operator.getitem: ("__getitem__", _same),
    operator.setitem: ("__setitem__", _same),
    operator.delitem: ("__delitem__", _same),
    operator.contains: ("__contains__", bool),
    primitives.not_contains: ("__contains__", operator.not_),
    builtins.bool: ("__bool__", _exact_bool),
    operator.truth: ("__bool__", _exact_bool),
    operator.not_: ("__bool__", lambda out: not _Truth(out)),
    builtins.len: ("__len__", lambda out: len(_Truth(out))),
}


def _getattr(engine: Engine, ctx: Any, f: Any, instance: Any, name: str, /, *default: Any) -> Any:
    """Properties run under the context; the rest of attribute access is the interpreter's."""
    found = lookup(type(instance), name)
    plain = default or type(found) is not property or special(type(instance), "__getattr__")
    if plain or special(type(instance), "__getattribute__") or found.fget is None:
        return engine.native(ctx, f)(instance, name, *default)
    return engine.resolve(ctx, found.fget)(instance)


def _setattr(engine: Engine, ctx: Any, f: Any, instance: Any, name: str, value: Any, /) -> Any:
    found = lookup(type(instance), name)
    if type(found) is not property or special(type(instance), "__setattr__") or found.fset is None:
        return engine.native(ctx, f)(instance, name, value)
    return engine.resolve(ctx, found.fset)(instance, value)


def _iter(engine: Engine, ctx: Any, f: Any, iterable: Any, /, *sentinel: Any) -> Any:
    if sentinel:
        return engine.native(ctx, f)(engine.callback(ctx, iterable), *sentinel)
    if special(type(iterable), "__iter__") is None:
        return engine.native(ctx, f)(iterable)
    out = _invoke(engine, ctx, iterable, "__iter__")
    if lookup(type(out), "__next__") is None:
        raise TypeError(f"iter() returned non-iterator of type {type(out).__name__!r}")
    return out


def _next(engine: Engine, ctx: Any, f: Any, iterator: Any, /, *default: Any) -> Any:
    if special(type(iterator), "__next__") is None:
        return engine.native(ctx, f)(iterator, *default)
    try:
        return _invoke(engine, ctx, iterator, "__next__")
    except StopIteration:
        if default:
            return default[0]
        raise


def _run(function: Callable[..., Any]) -> Handler:
    return lambda engine, ctx, f: functools.partial(function, engine, ctx, f)


# -- C functions that call back --------------------------------------------------------------------

_CALLBACKS: dict[Any, tuple[int | None, str]] = {
    builtins.sorted: (None, "key"),
    list.sort: (None, "key"),
    builtins.min: (None, "key"),
    builtins.max: (None, "key"),
    builtins.map: (0, ""),
    builtins.filter: (0, ""),
    functools.reduce: (0, ""),
    functools.cmp_to_key: (0, "mycmp"),
    itertools.starmap: (0, ""),
    itertools.takewhile: (0, ""),
    itertools.dropwhile: (0, ""),
    itertools.filterfalse: (0, ""),
    itertools.accumulate: (1, "func"),
    itertools.groupby: (1, "key"),
}
"""The function's place among the positional arguments, its keyword."""


def _calling_back(position: int | None, keyword: str) -> Handler:
    def run(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get(keyword) is not None:
            kwargs[keyword] = engine.callback(ctx, kwargs[keyword])
        if position is not None and len(args) > position and args[position] is not None:
            inner = engine.callback(ctx, args[position])
            args = (*args[:position], inner, *args[position + 1 :])
        return engine.native(ctx, f)(*args, **kwargs)

    return lambda engine, ctx, f: functools.partial(run, engine, ctx, f)


# -- the table -------------------------------------------------------------------------------------

HANDLERS: dict[Any, Handler] = {
    **{operator_function(name): _arithmetic(name, symbol) for name, symbol in ARITHMETIC.items()},
    **{getattr(operator, "i" + name): _inplace(name) for name in ARITHMETIC},
    **{getattr(operator, name): _comparison(name, reflected) for name, reflected in COMPARISON.items()},
    **{f: _first_operand(*row) for f, row in _ON_FIRST.items()},
    **{f: _calling_back(*row) for f, row in _CALLBACKS.items()},
    builtins.getattr: _run(_getattr),
    builtins.setattr: _run(_setattr),
    builtins.iter: _run(_iter),
    builtins.next: _run(_next),
}

BY_IDENTITY: dict[int, Handler] = {id(f): handler for f, handler in HANDLERS.items()}
"""By id: a callee need not be hashable. `HANDLERS` keeps the ids from being reused."""
