"""Calls of C code that makes numbers or arrays of objects of the user's, by methods that those have.

    math.hypot(F(x), 1.0)     F.__float__                        np.sum(S(x))      S.__array__
    np.sin(Q(x))              Q.__array_ufunc__                  a[0] = F(x)       F.__float__

No derivative program says what these methods do: such a call is refused there, so the run is recorded, and
`recording/conversions.py` runs them under its context.
"""

from __future__ import annotations

import builtins
import functools
import operator
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from ctxdispatch.dispatch.reach import HEAPTYPE, lookup, special
from ctxdispatch.facts import ARITHMETIC, AS_ARRAY, COMPARISONS, INPLACE, canonical
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.leaves import is_ours, package_of
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives import table
from ctxdispatch_contexts.programs.activity import has_derivative
from ctxdispatch_contexts.programs.reading import LIBRARIES

UFUNC, FUNCTION = "__array_ufunc__", "__array_function__"
"""What NumPy calls in the place of its own code."""

ARRAY_LIKE = (UFUNC, "__array__", "__array_interface__", "__array_struct__", "__getitem__")

_OF_NUMBERS = (builtins.float, builtins.complex)
_OF_OBJECTS = frozenset({"builtins", "_operator", "itertools", "_functools", "collections", "_collections"})
DISPATCHED = type(np.sum)
"""Of NumPy's functions that ask for `__array_function__`."""

_C_CLASSES = (
    np.ndarray, np.generic, np.dtype, float, complex, int, str, bytes, list, tuple, dict, set, frozenset,
    type, types.FunctionType, types.MethodType, types.ModuleType,
)  # fmt: skip


def is_of_python(cls: type) -> bool:
    """A class with methods written in Python, of which objects are no numbers, arrays or containers."""
    if not cls.__flags__ & HEAPTYPE or issubclass(cls, _C_CLASSES):
        return False
    return any(type(f) in _WRITTEN for base in cls.__mro__ for f in vars(base).values())


_WRITTEN = (types.FunctionType, property)


_NUMBER_LIKE = (
    "__float__", "__complex__", "__index__", "__add__", "__radd__", "__sub__", "__rsub__", "__mul__",
    "__rmul__", "__truediv__", "__rtruediv__", "__pow__", "__rpow__", "__neg__", "__abs__",
)  # fmt: skip


def is_converted(cls: type) -> bool:
    """A class in Python of which objects become numbers or arrays, or are computed with as such."""
    if not is_of_python(cls):
        return False
    return any(special(cls, name) is not None for name in (*ARRAY_LIKE, FUNCTION, *_NUMBER_LIKE))


@functools.lru_cache(1024)
def has_methods_of_arrays(cls: type) -> bool:
    """A class of the user's with methods that NumPy's code in Python calls before it makes an array."""
    own = [base for base in cls.__mro__ if base.__flags__ & HEAPTYPE and not _is_of_library(base)]
    return not _METHODS.isdisjoint(name for base in own for name in vars(base))


def _is_of_library(cls: type) -> bool:
    return package_of(cls) in LIBRARIES


_METHODS = frozenset(n for n, f in vars(np.ndarray).items() if callable(f) and not n.startswith("_"))


def takes_numbers(callee: Any) -> bool:
    if getattr(callee, "__module__", None) in ("math", "cmath") or any(callee is f for f in _OF_NUMBERS):
        return True
    return issubclass(type(callee), type) and issubclass(callee, np.inexact)


def takes_arrays(callee: Any) -> bool:
    """NumPy's, or one that has a derivative and is no operator and nothing that moves objects."""
    owner = getattr(callee, "__objclass__", callee)
    module = str(getattr(owner, "__module__", None))
    if issubclass(type(callee), (np.ufunc, DISPATCHED)) or issubclass(type(owner), (np.ufunc, DISPATCHED)):
        return True
    if type(callee) is not types.FunctionType and module.partition(".")[0] == "numpy":
        return not issubclass(type(callee), type)
    if module in _OF_OBJECTS or is_ours(module):
        return False
    return has_derivative(callee) or table.lowering(callee) is not None


def gives_way(array: type, other: type) -> bool:
    """`array + other` is left to `other`, by what its class says (NumPy's `binop_should_defer`)."""
    if not is_of_python(other):
        return False
    missing: Any = object()
    method = lookup(other, UFUNC, missing)
    if method is not missing:
        return method is None
    return _priority(array) < _priority(other)


def _priority(cls: type) -> float:
    """Where only an object can say, it says that it is to be asked."""
    if cls is np.ndarray or issubclass(cls, np.generic):
        return 0.0 if cls is np.ndarray else -1e6
    found = lookup(cls, "__array_priority__", -1e6)
    return float(found) if isinstance(found, (int, float)) else np.inf


def leaves_operator(number: type, other: type) -> bool:
    """`number + other`, of an array or a number of NumPy's, runs a method of `other`'s: NumPy does not make
    an array of it."""
    array_like = issubclass(other, np.ndarray) or any(hasattr(other, name) for name in ARRAY_LIKE)
    return gives_way(number, other) or (issubclass(number, np.generic) and not array_like)


# -- in programs ---------------------------------------------------------------------------------------------


def converts(op: Op, maker: Mapping[Value, Op]) -> bool:
    """`op` makes numbers or arrays of an object among its operands, or among the items of a display; or
    records, or adds lists to arrays, of which programs know no more."""
    if not hashable(op.fn) or type(op.fn) is types.MethodType:
        return False
    if (op.fn in AS_ARRAY and _makes_records(op)) or _adds_lists(op, maker):
        return True
    objects = [a for a in op.args if _is_object(operand_type(a)) or _holds_object(a, maker)]
    if not objects:
        return False
    callee, _ = canonical(op.fn)
    if callee in _ON_ARRAYS:
        return any(_is_of_numpy(T.cls_of(operand_type(a))) for a in op.args if a not in objects)
    return takes_numbers(callee) or takes_arrays(callee)


def _makes_records(op: Op) -> bool:
    n = len(op.args) - len(op.kwnames)
    named = dict(zip(op.kwnames, op.args[n:], strict=True))
    dtype = operand_type(named.get("dtype", op.args[1] if n > 1 else Const(None)))
    if isinstance(dtype, T.Known):
        return isinstance(dtype.value, np.dtype) and dtype.value.names is not None
    return T.cls_of(dtype) in (list, dict)


def _adds_lists(op: Op, maker: Mapping[Value, Op]) -> bool:
    """sum([x, [1.0, 2.0]]) of an array x."""
    made = maker.get(op.args[0]) if op.fn is builtins.sum and isinstance(op.args[0], Value) else None
    if made is None or made.fn not in (primitives.build_list, primitives.build_tuple):
        return False
    classes = {T.cls_of(operand_type(a)) for a in made.args}
    return np.ndarray in classes and not classes.isdisjoint((list, tuple))


def _is_of_numpy(cls: type | None) -> bool:
    return cls is not None and issubclass(cls, (np.ndarray, np.generic))


_ON_ARRAYS = frozenset(
    {operator.setitem, *ARITHMETIC, *COMPARISONS, *(f for f, g in INPLACE.items() if g in ARITHMETIC)}
)


def _holds_object(operand: Operand, maker: Mapping[Value, Op]) -> bool:
    made = maker.get(operand) if isinstance(operand, Value) else None
    if made is None or made.fn not in (primitives.build_list, primitives.build_tuple):
        return False
    return any(_is_object(operand_type(a)) or _holds_object(a, maker) for a in made.args)


def _is_object(type_: T.Type) -> bool:
    if isinstance(type_, T.TupleOf):
        return any(map(_is_object, type_.items))
    if isinstance(type_, T.ListOf):
        return _is_object(type_.item)
    cls = None if isinstance(type_, T.Known) else T.cls_of(type_)
    return cls is not None and (is_converted(cls) or has_methods_of_arrays(cls))
