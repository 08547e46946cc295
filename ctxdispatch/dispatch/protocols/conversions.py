"""Functions of one object that are one special method: `hash(x)` is `type(x).__hash__(x)`, checked.

    %y = hash(%x)      method under the context; the function itself on an object whose method returns that

So what the interpreter says of a result that is not right, the function itself says.
"""

from __future__ import annotations

import builtins
import operator
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from ctxdispatch.dispatch.protocols.standins import stand_in
from ctxdispatch.dispatch.reach import (
    ABSENT,
    HEAPTYPE,
    Engine,
    Handlers,
    Total,
    bind,
    invoke,
    lookup,
    running,
    special,
)
from ctxdispatch.dispatch.tags import bare, kind
from ctxdispatch.facts import SIGNS, TO_INT
from ctxdispatch.ir import primitives
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401


def _is(cls: type) -> Callable[[Any], bool]:
    return lambda out: type(out) is cls


def _same(out: Any) -> Any:
    return out


class Conversion(NamedTuple):
    """What a function makes of an object by the first of `methods` that its class has."""

    methods: tuple[str, ...]
    plain: Callable[[Any], bool] = lambda out: False
    """Whether what the first method returned needs no look by the function."""
    finish: Callable[[Any], Any] = _same
    """The result, of what is plain."""


CONVERSIONS: dict[Any, Conversion] = {
    builtins.hash: Conversion(
        ("__hash__",), lambda out: type(out) is int and -sys.maxsize <= out <= sys.maxsize and out != -1
    ),
    builtins.len: Conversion(("__len__",), lambda out: type(out) is int and 0 <= out <= sys.maxsize),
    builtins.bool: Conversion(("__bool__", "__len__"), _is(bool)),
    operator.truth: Conversion(("__bool__", "__len__"), _is(bool)),
    operator.not_: Conversion(("__bool__", "__len__"), _is(bool), operator.not_),
    builtins.repr: Conversion(("__repr__",), _is(str)),
    builtins.ascii: Conversion(("__repr__",)),
    builtins.int: Conversion(("__int__", "__index__", "__trunc__"), _is(int)),
    builtins.float: Conversion(("__float__", "__index__"), _is(float)),
    builtins.complex: Conversion(("__complex__", "__float__", "__index__"), _is(complex)),
    builtins.bin: Conversion(("__index__",), _is(int), bin),
    builtins.oct: Conversion(("__index__",), _is(int), oct),
    builtins.hex: Conversion(("__index__",), _is(int), hex),
    operator.index: Conversion(("__index__",), _is(int)),
}


def _converting(row: Conversion) -> Total:
    def run(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        name = _method(kind(args[0]), row.methods) if len(args) == 1 and not kwargs else None
        if name is None:
            return engine.native(ctx, f)(*args, **kwargs)
        out = invoke(engine, ctx, args[0], name)
        plain = name == row.methods[0] and row.plain(out)
        return row.finish(out) if plain else f(returning(kind(args[0]), name, out))

    return running(run)


def _method(cls: type, names: tuple[str, ...]) -> str | None:
    """The first of the methods that `cls` has, if it is written in Python."""
    if not cls.__flags__ & HEAPTYPE:
        return None
    for name in names:
        if lookup(cls, name) is not None:
            return name if special(cls, name) is not None else None
    return None


def returning(cls: type, name: str, out: Any) -> Any:
    """An object, of a class called like `cls`, whose special method `name` returns `out`."""
    return type(cls.__name__, (), {name: lambda self, *args: out})()


OPERATIONS = Handlers({f: _converting(row) for f, row in CONVERSIONS.items()})


# -- results that nobody looks at ------------------------------------------------------------------

UNCHECKED = {f: f"__{f.__name__}__" for f in (*SIGNS, *TO_INT, builtins.abs, operator.abs)}
UNCHECKED[operator.inv] = "__invert__"


def first_operand(name: str) -> Total:
    """The special method `name` of the first argument takes the others."""

    def run(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        if kwargs or not args or special(kind(args[0]), name) is None:
            return engine.native(ctx, f)(*args, **kwargs)
        return invoke(engine, ctx, args[0], name, *args[1:])

    return running(run)


OPERATIONS |= {f: first_operand(name) for f, name in UNCHECKED.items()}
HANDLERS = Handlers(OPERATIONS)


@HANDLERS.runs(builtins.reversed)
def _reversed(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """`__reversed__`, else from the last item to the first."""
    if kwargs:
        return engine.native(ctx, f)(*args, **kwargs)
    cls = kind(args[0]) if len(args) == 1 else object
    if special(cls, "__reversed__") is not None:
        return invoke(engine, ctx, args[0], "__reversed__")
    by_index = lookup(cls, "__reversed__", ABSENT) is ABSENT and special(cls, "__getitem__") is not None
    return engine.native(ctx, f)(*[stand_in(engine, ctx, a) if by_index else a for a in args])


@HANDLERS.runs(builtins.round)
def _round(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """round(x, None) is round(x)."""
    args = args[:1] if len(args) == 2 and args[1] is None else args
    return first_operand("__round__")(engine, ctx, f)(*args, **kwargs)


# -- text ------------------------------------------------------------------------------------------


def text_method(cls: type) -> str | None:
    """By which method written in Python str(x) shows an `x` of `cls`: `object.__str__` asks `__repr__`."""
    name = "__repr__" if lookup(cls, "__str__") is object.__str__ else "__str__"
    return name if special(cls, name) is not None else None


@HANDLERS.runs(builtins.str)
def _str(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    name = text_method(kind(args[0])) if len(args) == 1 and not kwargs else None
    if name is None:
        return engine.native(ctx, f)(*args, **kwargs)
    return as_text(engine, ctx, args[0], name)


def as_text(engine: Engine, ctx: Any, value: Any, name: str) -> Any:
    out = invoke(engine, ctx, value, name)
    return out if type(out) is str else str(returning(kind(value), name, out))


@HANDLERS.runs(builtins.format)
def _format(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """format(x, spec); `object.__format__` without a spec is str(x)."""
    if kwargs:
        return engine.native(ctx, f)(*args, **kwargs)
    spec = args[1] if len(args) == 2 else ""
    if len(args) in (1, 2) and type(spec) is str:
        cls = kind(args[0])
        if special(cls, "__format__") is not None:
            out = invoke(engine, ctx, args[0], "__format__", spec)
            return out if type(out) is str else format(returning(cls, "__format__", out), spec)
        name = text_method(cls)
        if not spec and name is not None and lookup(cls, "__format__") is object.__format__:
            return as_text(engine, ctx, args[0], name)
    return engine.native(ctx, f)(*args)


@HANDLERS.runs(primitives.format_value)
def _format_value(
    engine: Engine, ctx: Any, f: Any, value: Any, conversion: Any = None, spec: Any = "", /
) -> Any:
    """{value!conversion:spec} of an f-string."""
    convert = HANDLERS.get(conversion)
    if not _shown_in_python(kind(value)):
        return engine.native(ctx, f)(value, conversion, spec)
    shown = value if convert is None else convert(engine, ctx, conversion)(value)
    return _format(engine, ctx, format, shown, spec)


def _shown_in_python(cls: type) -> bool:
    return any(special(cls, name) is not None for name in ("__format__", "__str__", "__repr__"))


# -- classes that say what their instances are -----------------------------------------------------


def _of_class(name: str) -> Total:
    """isinstance, issubclass: `__instancecheck__`, `__subclasscheck__` of the class, or of one of a tuple."""

    def run(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 2 or kwargs:
            return engine.native(ctx, f)(*args, **kwargs)
        value, cls = args[0], bare(args[1])
        if type(cls) is tuple:
            return any(run(engine, ctx, f, value, c) for c in cls)
        exact = name == "__instancecheck__" and kind(value) is cls
        check = None if exact else special(type(cls), name)
        if check is None:
            return engine.native(ctx, f)(value, cls)
        return truth(engine, ctx, engine.resolve(ctx, bind(check, cls))(value))

    return running(run)


HANDLERS[builtins.isinstance] = _of_class("__instancecheck__")
HANDLERS[builtins.issubclass] = _of_class("__subclasscheck__")


def truth(engine: Engine, ctx: Any, value: Any) -> bool:
    """bool(value) as C code asks it: no rule, no hook, but what it runs is under `ctx`."""
    if value is True or value is False:
        return value
    answer: bool = _BOOL(engine, ctx, bool)(value) if _method(kind(value), _TRUTH) else bool(value)
    return answer


_TRUTH = CONVERSIONS[builtins.bool].methods
_BOOL = _converting(CONVERSIONS[builtins.bool])

BY_FIRST = (*CONVERSIONS, *UNCHECKED, builtins.round, builtins.reversed, builtins.str, builtins.format)
"""Those that leave what is of a class of C code to the interpreter, called with that alone."""
