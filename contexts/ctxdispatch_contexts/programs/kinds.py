"""Arguments of kinds that programs are not made for: their runs are recorded, or they are refused.

recorded    subclasses of np.ndarray, whose methods are Python code on the same memory; array.array, of
            which NumPy reads the memory; deques, which hold items as lists do; values with tags
refused     other memory, numbers that are none of floating point, and whatever else holds its state out of
            sight (`opaque_values.py`), where there is nothing beside it
"""

from __future__ import annotations

import array
import collections
import ctypes
import datetime
import decimal
import fractions
import functools
import types
from typing import Any

import numpy as np

from ctxdispatch.dispatch.strip import gives_items
from ctxdispatch.dispatch.tags import Tagged
from ctxdispatch.ir.leaves import package_of
from ctxdispatch.passes import types as T
from ctxdispatch.passes.held import guardable, held_type
from ctxdispatch_contexts.programs.opaque_values import has_fields, is_opaque, parts

FLOATS = "fd"
"""The codes of those array.arrays that have derivatives."""

REMEDIES: dict[type, str] = {
    memoryview: "pass the array that it shows (`np.asarray(x)`)",
    bytearray: "pass an array of floats (`np.frombuffer(x).copy()`)",
    bytes: "pass an array of floats (`np.frombuffer(x)`)",
    ctypes.Array: "pass an array of floats (`np.ctypeslib.as_array(x)`)",
    ctypes._SimpleCData: "pass its `value`",
    ctypes.Structure: "pass its fields as floats",
    fractions.Fraction: "pass `float(x)`",
    decimal.Decimal: "pass `float(x)`",
    datetime.timedelta: "pass `x.total_seconds()`",
    datetime.datetime: "pass `x.timestamp()`",
    types.MappingProxyType: "pass a dict (`dict(x)`)",
    np.recarray: "pass its fields as arrays (`x.name`), or one array of floats",
}


MEMORY = (memoryview, ctypes.Array, ctypes.Structure, np.recarray)
"""Those of them that may hold floats."""


OF_MODULES: dict[str, str] = {
    "pandas": "pass its numbers (`x.to_numpy()`)",
    "polars": "pass its numbers (`x.to_numpy()`)",
    "torch": "pass its numbers (`x.detach().numpy()`)",
    "tensorflow": "pass its numbers (`x.numpy()`)",
    "jax": "pass its numbers (`np.asarray(x)`)",
    "jaxlib": "pass its numbers (`np.asarray(x)`)",
    "cupy": "pass its numbers (`x.get()`)",
    "itertools": "pass a list of its items (`[*x]`)",
}
"""Of classes of these packages, where there is more to say than of any other."""


def remedy_for(cls: type | None) -> str | None:
    """Of a class of which nothing has a derivative, what to give in its place."""
    if cls is None:
        return None
    return _by_class(cls) or (remedy(cls) if is_opaque(cls) and not has_fields(cls) else None)


def _by_class(cls: type) -> str | None:
    return next((remedy for base, remedy in REMEDIES.items() if issubclass(cls, base)), None)


def remedy(cls: type) -> str:
    """What to give in the place of an object whose numbers are out of sight."""
    packages = [package_of(c) for c in cls.__mro__]
    of_module = next((OF_MODULES[name] for name in packages if name in OF_MODULES), None)
    items = "pass a list of its items (`[*x]`)" if hasattr(cls, "__iter__") else None
    return _by_class(cls) or of_module or items or "pass the numbers that it is made of"


def is_sealed(cls: type) -> bool:
    """Opaque, and nothing that programs make of their own and go through."""
    return is_opaque(cls) and not issubclass(cls, _GONE_THROUGH) and not gives_items(cls)


_GONE_THROUGH = (
    set, frozenset, np.flatiter, type({}.keys()), type({}.values()), type({}.items()), types.GeneratorType,
    types.CoroutineType, types.AsyncGeneratorType,
)  # fmt: skip


def has_derivatives(value: Any) -> bool:
    """A number or array of floats; or of objects, or a function, which may hold some."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fcO"
    return issubclass(type(value), (float, complex, np.inexact, *_FUNCTIONS)) or is_floats(value)


_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)


def out_of_sight(value: Any) -> Any:
    """The first opaque object in an argument in which there is nothing that has a derivative; else None."""
    if type(value) is float or type(value) is np.ndarray:
        return None
    found = None
    for part in parts(value):
        if has_derivatives(part):
            return None
        if found is None and is_opaque(type(part)):
            found = part
    return found


def is_floats(value: Any) -> bool:
    """An array.array of floats."""
    return type(value) is array.array and value.typecode in FLOATS


def only_recorded(type_: T.Type) -> bool:
    """A value of this type, or one in it, is of a kind that programs are not made for."""
    if isinstance(type_, T.TupleOf):
        return any(map(only_recorded, type_.items))
    if isinstance(type_, T.ListOf):
        return only_recorded(type_.item)
    if isinstance(type_, T.Held):
        held = [*(each for _, each in type_.fields), *([type_.item] if type_.item else ())]
        return any(map(only_recorded, held)) or _is_recorded(type_.cls)
    return not isinstance(type_, T.Known) and _is_recorded(T.cls_of(type_))


def _is_recorded(cls: type | None) -> bool:
    return is_subclass(cls) or (cls is not None and issubclass(cls, (array.array, collections.deque, Tagged)))


def is_subclass(cls: type | None) -> bool:
    """Of np.ndarray, and another class: its operators may be Python code (np.matrix)."""
    return cls is not None and cls is not np.ndarray and issubclass(cls, np.ndarray)


def is_of_objects(dtype: Any) -> bool:
    """It is that of arrays of objects; a `dtype` of the user's own functions may be anything."""
    named = isinstance(dtype, (str, np.dtype)) and str(dtype).strip("<>=|") in ("O", "object", "object_")
    return named or dtype is object or dtype is np.object_


def fits(known: T.Type, type_: T.Type, arg: Any) -> bool:
    """`arg`, of `type_`, is of the type `known`, too: an empty list is one of any items, a long one is not
    looked into, and what items of others have in common may be less than what each is."""
    if isinstance(known, T.Held) and known.cls is list and known.item is not None and type(arg) is list:
        return all(T.join(guardable(held_type(v)), known.item) == known.item for v in arg)
    return type_ == known
