"""How many arguments a callee takes, as far as it says: a call with others raises, and has no rule."""

from __future__ import annotations

import functools
import inspect
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, ModuleType, WrapperDescriptorType
from typing import Any

import numpy as np

from ctxdispatch.dispatch.reach import HEAPTYPE


def has_too_few(function: Any, given: int) -> bool:
    return given < least(function)


def least(function: Any) -> int:
    """So many operands it takes at least; 0 where it does not say."""
    if type(function) is FunctionType:
        return int(function.__code__.co_argcount) - len(function.__defaults__ or ())
    return next((n for n in range(4) if fits(function, n)), 0)


def fits(function: Any, count: int, kwnames: tuple[str, ...] = ()) -> bool:
    """Whether C code takes so many arguments, the last of them by keyword; True where it does not say."""
    if type(function) is np.ufunc:
        return bool(function.nin <= count - len(kwnames) <= function.nargs)
    return not _is_c(function) or _fits(function, count - len(kwnames), tuple(kwnames))


def _is_c(function: Any) -> bool:
    """Code of a module or a static class, which holds nothing of the user's and stays."""
    if type(function) is BuiltinFunctionType:
        return type(function.__self__) in (ModuleType, type(None))
    return type(function) in _OF_C or (type(function) is type and not function.__flags__ & HEAPTYPE)


_OF_C = (MethodDescriptorType, WrapperDescriptorType, type(np.reshape))


_UNSAID = {getattr: 2, type: 1}
"""Other functions of C that say nothing take one argument at least, other classes may take none."""


@functools.lru_cache(4096)
def _fits(function: Any, positional: int, kwnames: tuple[str, ...]) -> bool:
    signature = _signature(function)
    if signature is None:
        return positional + len(kwnames) >= _UNSAID.get(function, type(function) is BuiltinFunctionType)
    try:
        signature.bind(*range(positional), **dict.fromkeys(kwnames))
    except TypeError:
        return False
    return True


@functools.lru_cache(4096)
def _signature(function: Any) -> inspect.Signature | None:
    """What it says of itself."""
    try:
        return inspect.signature(function)
    except (ValueError, TypeError):
        return None
