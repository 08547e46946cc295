"""What C code makes of objects of the user's before it computes: numbers, arrays, lists.

    __array__                            an array, where NumPy's code takes arrays
    __len__ and __getitem__              a list of the items, likewise
    __float__, __complex__, __index__    a number, for functions of numbers, and where the dtype is known

These methods are run under the context, and the C code gets what they return.
"""

from __future__ import annotations

import array
import cmath
import contextlib
import functools
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch.dispatch.reach import bind, special
from ctxdispatch.facts import AS_ARRAY, DTYPE_AT, fact_of
from ctxdispatch.ir.registry import Registry
from ctxdispatch_contexts.programs.converting import is_converted
from ctxdispatch_contexts.programs.kinds import FLOATS
from ctxdispatch_contexts.recording.callees import Callee
from ctxdispatch_contexts.recording.leaves import listed
from ctxdispatch_contexts.recording.overrides import has_within, replaced

Args = tuple[Any, ...]
Kwargs = dict[str, Any]
Convert = Callable[[Any, Any], Any]


def converted(ctx: Any, callee: Any, known: Callee, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments with numbers, arrays and lists in the place of objects that become such."""
    if not has_within((args, kwargs), is_object):
        return args, kwargs
    found = _of(callee, known, args, kwargs)
    n = len(args) if known.view else known.arrays or len(args)
    given = [_by(ctx, found[min(i, len(found) - 1)], a) if found and i < n else a for i, a in enumerate(args)]
    named = {name: _by(ctx, found[-1], value) if found else value for name, value in kwargs.items()}
    return tuple(given), named


def _by(ctx: Any, convert: Convert, value: Any) -> Any:
    return replaced(value, is_object, lambda item: convert(ctx, item))


def of_dtype(ctx: Any, dtype: np.dtype[Any], value: Any) -> Any:
    """The value, for what makes such elements of it."""
    convert = _BY_KIND.get(dtype.kind)
    return _by(ctx, convert[0], value) if convert else value


def is_object(value: Any) -> bool:
    """It may be converted, or computed with."""
    return is_converted(type(value))


# -- what each function takes -------------------------------------------------------------------------------


def _of(callee: Any, known: Callee, args: Args, kwargs: Kwargs) -> tuple[Convert, ...]:
    """By which the arguments are converted, the last one those that are left."""
    particular = next((by for f, by in _PARTICULAR if f is callee), None)
    if particular is not None:
        return particular
    if known.of_math:
        return (as_complex if callee.__module__ == "cmath" else as_real,)
    if issubclass(type(callee), type) and issubclass(callee, np.inexact):
        by = _BY_KIND[np.dtype(callee).kind] if len(args) == 1 else ()
        return tuple(map(_number_first, by)) if issubclass(callee, float) else by
    dtype = dtype_of(callee, args, kwargs)
    if dtype is not None:
        return _BY_KIND.get(dtype.kind, ())
    return (as_array,) if known.takes_arrays and reads_arrays(callee, args) else ()


def is_operator(callee: Any) -> bool:
    return getattr(callee, "__module__", None) == "_operator"


def reads_arrays(callee: Any, args: Args) -> bool:
    """An operator does where one of its operands is NumPy's."""
    return not is_operator(callee) or any(issubclass(type(a), (np.ndarray, np.generic)) for a in args)


def dtype_of(callee: Any, args: Args, kwargs: Kwargs) -> np.dtype[Any] | None:
    """Of the elements that the callee makes, or stores, where it is known beforehand."""
    if args and _stores_elements(callee) and (dtype := _dtype_in(args[0])) is not None:
        return dtype
    if callee is np.full_like and len(args) == 2 and "dtype" not in kwargs:
        return np.asarray(args[0]).dtype
    at = DTYPE_AT.get(id(callee))
    given = kwargs.get("dtype", args[at] if at is not None and len(args) > at else None)
    if at is None or given is None:
        return None
    return np.dtype(given)


def _dtype_in(memory: Any) -> Any:
    """Of the numbers in it, where they are floats."""
    if issubclass(type(memory), np.ndarray):
        return memory.dtype
    if type(memory) is array.array:
        return np.dtype(memory.typecode) if memory.typecode in FLOATS else None
    if type(memory) is memoryview:
        with contextlib.suppress(ValueError):  # it was released
            return np.dtype(memory.format) if memory.format in FLOATS else None
    return None


def _stores_elements(callee: Any) -> bool:
    """Into its first operand; an operator in place computes what it stores."""
    row = fact_of(callee)
    return row is not None and row.stores.has(0) and row.twin is None


def _is(callee: Any, among: Iterable[Any]) -> bool:
    return any(callee is f for f in among)


# -- what becomes of an object -------------------------------------------------------------------------------


def as_array(ctx: Any, value: Any) -> Any:
    """An array, or a list, of what is one; of others themselves."""
    if hasattr(type(value), "__array__"):
        return resolve(ctx, value.__array__)()
    for name in _OF_MEMORY:
        if hasattr(type(value), name) or name in getattr(value, "__dict__", ()):
            resolve(ctx, getattr)(value, name)  # refused where it shows memory that varies
            return value
    if special(type(value), "__getitem__") is None or not hasattr(type(value), "__len__"):
        return value
    return [as_array(ctx, item) if is_object(item) else item for item in resolve(ctx, listed)(value)]


_OF_MEMORY = ("__array_struct__", "__array_interface__")


def _as(number: Convert) -> Convert:
    def convert(ctx: Any, value: Any) -> Any:
        made = as_array(ctx, value)
        return replaced(made, is_object, lambda item: number(ctx, item))

    return convert


def _number_first(convert: Convert) -> Convert:
    """np.float64 is a float: it asks for numbers before it makes arrays."""

    def by_number(ctx: Any, value: Any) -> Any:
        number = as_real(ctx, value)
        return convert(ctx, value) if number is value else number

    return by_number


def _number(*names: str) -> Convert:
    """What the first of these methods that the class has returns, a number; else the object itself."""

    def convert(ctx: Any, value: Any) -> Any:
        for name in names:
            method = special(type(value), name)
            if method is not None:
                made = resolve(ctx, bind(method, value))()
                return made if issubclass(type(made), _KINDS[name]) else value
        return value

    return convert


_KINDS = {"__float__": float, "__complex__": complex, "__index__": int}
as_real = _number("__float__", "__index__")
as_complex = _number("__complex__", "__float__", "__index__")
_PARTICULAR: tuple[tuple[Any, tuple[Convert, ...]], ...] = (
    (float, (as_real,)), (complex, (as_complex, as_real)), (cmath.rect, (as_real,)),
    (math.ldexp, (as_real, lambda ctx, value: value)),
    *((getattr(math, name), ()) for name in ("comb", "factorial", "gcd", "isqrt", "lcm", "perm")),
)  # fmt: skip
_BY_KIND: dict[str, tuple[Convert, ...]] = {"f": (_as(as_real),), "c": (_as(as_complex),), "O": ()}
_BY_KIND |= dict.fromkeys("biuV", (as_array,))


# -- pairs ---------------------------------------------------------------------------------------------------


def with_pairs(ctx: Any, args: Args) -> Args:
    """The arguments of `dict`, whose first it makes entries of: objects among the items are gone through."""
    if not args or type(args[0]) not in (list, tuple) or not any(map(is_object, args[0])):
        return args
    return resolve(ctx, _pairs)(args[0]), *args[1:]


def _pairs(items: Any, /) -> list[tuple[Any, ...]]:
    return [(*item,) for item in items]


# -- records -------------------------------------------------------------------------------------------------


def are_records(callee: Any, args: Args, kwargs: Kwargs) -> bool:
    """np.array(rows, dtype), of fields."""
    dtype = dtype_of(callee, args, kwargs) if args and _is(callee, AS_ARRAY) else None
    return dtype is not None and dtype.names is not None and issubclass(type(args[0]), (list, tuple))


def filled(made: Any, rows: Any, /) -> Any:
    """np.array(rows, dtype), which is `made`, stored field by field."""
    for at in np.ndindex(made.shape):
        row = functools.reduce(operator.getitem, at, rows)
        for name, value in zip(made.dtype.names or (), row, strict=True):
            made[name][at] = value
    return made


# -- arithmetic of objects -----------------------------------------------------------------------------------


def as_code(callee: Any, args: Args) -> Callable[..., Any] | None:
    """Python code for C code that does arithmetic with the items that it is given, where among them are
    objects, or lists beside arrays."""
    found = next((code for f, code in _ARITHMETIC if f is callee), None)
    if found is None or not args:
        return None
    if callee is sum:  # that runs methods of objects under the context
        return found if type(args[0]) in (list, tuple) and _is_mixed(args[0]) else None
    return found if has_within(args, is_object) else None


ONE_BY_ONE: Registry[Callable[..., Any]] = Registry()
"""The same for objects that an iterator gives: each is added, multiplied, converted, compared, or a function
called with it, before the next one is made, which may change it."""


def _is_mixed(items: Any) -> bool:
    kinds = set(map(type, items))
    return np.ndarray in kinds and not kinds.isdisjoint((list, tuple))


@ONE_BY_ONE.of(sum)
def _sum(items: Any, /, start: Any = 0) -> Any:
    for item in items:
        start = start + item
    return start


@ONE_BY_ONE.of(math.prod)
def _product(items: Any, /, *, start: Any = 1) -> Any:
    for item in items:
        start = start * item
    return start


def _sum_of_products(p: Any, q: Any, /) -> Any:
    total = 0
    for a, b in zip(p, q, strict=True):
        total = total + a * b
    return total


@ONE_BY_ONE.of(max)
def _greatest(items: Any, /, *, key: Any = None, default: Any = None) -> Any:
    return _extreme(items, key, operator.gt)


@ONE_BY_ONE.of(min)
def _least(items: Any, /, *, key: Any = None, default: Any = None) -> Any:
    return _extreme(items, key, operator.lt)


def _extreme(items: Any, key: Any, beats: Any) -> Any:
    best = top = None
    for i, item in enumerate(items):
        value = item if key is None else key(item)
        if i == 0 or beats(value, top):
            best, top = item, value
    return best


@ONE_BY_ONE.of(math.fsum)
def _floats(items: Any, /) -> Any:
    return math.fsum([float(item) for item in items])


_ARITHMETIC = ((sum, _sum), (math.prod, _product), (getattr(math, "sumprod", None), _sum_of_products))
