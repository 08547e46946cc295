"""Arguments of kinds that programs are not made for: their runs are recorded, or they are refused.

recorded    subclasses of np.ndarray, whose methods are Python code on the same memory; array.array, of
            which NumPy reads the memory; deques, which hold items as lists do
refused     other memory, and numbers that are none of floating point
"""

from __future__ import annotations

import array
import collections
import ctypes
import decimal
import fractions
from typing import Any

import numpy as np

from ctxdispatch.passes import types as T

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
    np.recarray: "pass its fields as arrays (`x.name`), or one array of floats",
}


MEMORY = (memoryview, ctypes.Array, ctypes.Structure, np.recarray)
"""Those of them that may hold floats."""


def remedy_for(cls: type | None) -> str | None:
    """Of a class of which nothing has a derivative, what to give in its place."""
    found = (remedy for base, remedy in REMEDIES.items() if cls is not None and issubclass(cls, base))
    return next(found, None)


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
    return is_subclass(cls) or (cls is not None and issubclass(cls, (array.array, collections.deque)))


def is_subclass(cls: type | None) -> bool:
    """Of np.ndarray, and another class: its operators may be Python code (np.matrix)."""
    return cls is not None and cls is not np.ndarray and issubclass(cls, np.ndarray)
