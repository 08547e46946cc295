"""How many arguments a callee takes, as far as it says: a call with others raises, and has no rule."""

from __future__ import annotations

import array
import functools
import inspect
import operator
import struct
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, ModuleType, WrapperDescriptorType
from typing import Any

import numpy as np

from ctxdispatch.facts.table import fact_of


def least(function: Any) -> int:
    """So many operands it takes at least; 0 where it does not say."""
    if type(function) is FunctionType:
        return int(function.__code__.co_argcount) - len(function.__defaults__ or ())
    return next((n for n in range(4) if fits(function, n)), 0)


def fits(function: Any, count: int, kwnames: tuple[str, ...] = ()) -> bool:
    """Whether a function takes so many arguments, the last of them by keyword; True where it does not say."""
    if type(function) is FunctionType:
        code, positional = function.__code__, count - len(kwnames)
        takes_more = bool(code.co_flags & inspect.CO_VARARGS)
        return count >= least(function) and (takes_more or positional <= code.co_argcount)
    if type(function) is np.ufunc:
        return bool(function.nin <= count - len(kwnames) <= function.nargs)
    return not _is_c(function) or _fits(function, count - len(kwnames), tuple(kwnames))


def _is_c(function: Any) -> bool:
    """Code of a module or of a class that cannot be changed: it holds nothing of the user's."""
    if type(function) is BuiltinFunctionType:
        return type(function.__self__) in (ModuleType, type(None))
    return type(function) in _OF_C or (type(function) is type and bool(function.__flags__ & IMMUTABLE))


_OF_C = (MethodDescriptorType, WrapperDescriptorType, type(np.reshape))
IMMUTABLE = 1 << 8

MANY = 1 << 30
_UNSAID: dict[Any, tuple[int, int]] = {
    **dict.fromkeys((bool, set, frozenset, dir, vars), (0, 1)), super: (0, 2), int: (0, 2),
    **dict.fromkeys((bytes, bytearray, str), (0, 3)), **dict.fromkeys((classmethod, staticmethod), (1, 1)),
    **dict.fromkeys((iter, next, anext), (1, 2)), **dict.fromkeys((slice, range, type), (1, 3)),
    filter: (2, 2), getattr: (2, 3), map: (2, MANY), __build_class__: (2, MANY),
    struct.pack_into: (3, MANY), struct.Struct.pack_into: (3, MANY), array.array: (1, 2),
}  # fmt: skip
"""What functions of C do not say of themselves. Others of C take one argument at least, unless they have a
row that does not mention it (`time.perf_counter`); other classes may take none."""


@functools.lru_cache(4096)
def _fits(function: Any, positional: int, kwnames: tuple[str, ...]) -> bool:
    signature = _signature(function)
    if signature is None:
        row = fact_of(function)
        some = type(function) is BuiltinFunctionType and (row is None or row.mentions(0))
        least, most = _UNSAID.get(function, (int(some), MANY))
        return least <= positional + len(kwnames) and positional <= most
    try:
        signature.bind(*range(positional), **dict.fromkeys(kwnames))
    except TypeError:
        return False
    return True


@functools.lru_cache(4096)
def _signature(function: Any) -> inspect.Signature | None:
    """What it says of itself; a method that says nothing (`list.__getitem__`) is the operator of its name."""
    if type(function) is MethodDescriptorType and getattr(function, "__text_signature__", None) is None:
        function = vars(operator).get(function.__name__, function)
    try:
        return inspect.signature(function)
    except (ValueError, TypeError):
        return None
