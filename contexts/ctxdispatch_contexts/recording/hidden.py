"""C code that would compute with what objects of the user's hold, by their methods, out of sight: refused.

What is known of such methods has been run by then (`overrides.py`, `conversions.py`): what is left are
objects in arrays, C code without a rule, and protocols that nobody runs under a context. C code that only
keeps or looks at an object (`id`, `isinstance`, `weakref.ref`) calls nothing that computes.
"""

from __future__ import annotations

import math
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from ctxdispatch.facts import AS_ARRAY, fact
from ctxdispatch_contexts.programs.c_objects import parts
from ctxdispatch_contexts.programs.converting import is_of_python
from ctxdispatch_contexts.programs.errors import MissingRuleError, described, user_position
from ctxdispatch_contexts.programs.owned import Table
from ctxdispatch_contexts.programs.reaching import MOST, OURS, named
from ctxdispatch_contexts.recording import conversions
from ctxdispatch_contexts.recording.callees import Callee
from ctxdispatch_contexts.recording.leaves import NUMBERS
from ctxdispatch_contexts.recording.spellings import SLOT

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def check(record: Any, callee: Any, known: Callee, args: Args, kwargs: Kwargs) -> bool:
    """MissingRuleError where `callee` may call methods of an object that holds what is differentiated; True
    where nothing is known of what it does with such an object."""
    if record.still or not _asks(callee, known, args) or _keeps(callee, known, args, kwargs):
        return False
    for value in _objects((*args, *kwargs.values())):
        if any(map(record.is_active, held([value]))):
            if known.fact is None and not (known.known or known.takes_arrays):
                return True
            raise MissingRuleError(
                f"{described(callee)} is given an object of the class {type(value).__name__}, which holds "
                "what is differentiated: what it makes of the object, by methods of the class, is not "
                "followed; give it numbers or arrays (what the object holds), or call the methods",
                user_position(),
            )
    return False


def _asks(callee: Any, known: Callee, args: Args) -> bool:
    """It may call methods that compute. Operators that are no method of their operands' do where one of
    those is NumPy's; comparisons say yes or no."""
    if known.takes_arrays:
        compares = known.zero and conversions.is_operator(callee)
        return conversions.reads_arrays(callee, args) and not compares
    return _computes(callee, known)


def _keeps(callee: Any, known: Callee, args: Args, kwargs: Kwargs) -> bool:
    """What it returns has the objects themselves in it: views, new arrays of objects; a function of Python's
    is called with them."""
    if (known.view and all(issubclass(type(a), np.ndarray) for a in args[:1])) or id(callee) in _MAKING:
        dtype = conversions.dtype_of(callee, args, kwargs)
        return dtype is None or dtype.kind == "O"
    return type(callee) is np.ufunc and all({*t} <= {*"O->"} for t in callee.types)


_MAKING = frozenset(map(id, (*AS_ARRAY, np.full)))
_ARITHMETIC = fact(methods="add radd abs pow rpow divmod rdivmod round").methods
_NUMBERS = fact(methods="float complex").methods
"""Of what such a method returns, what has derivative zero makes nothing that varies."""
_KEEP_OBJECTS = frozenset({
    "functools", "_functools", "sys", "gc", "_weakref", "weakref", "_thread", "_abc", "copyreg", "atexit",
    "_contextvars", "_asyncio", "_queue", "_warnings", "_typing", "typing", "_signal",
})  # fmt: skip
"""Modules of C code that keeps objects, or calls them later, without a row: it computes with none."""


def _computes(callee: Any, known: Callee) -> bool:
    if type(callee) is SLOT and callee.__objclass__ in (int, float, complex):
        return False  # an operator of numbers leaves an object of another class to that
    if known.fact is not None:
        return bool(known.fact.methods & (_ARITHMETIC if known.zero else _ARITHMETIC | _NUMBERS))
    if type(callee) in (types.FunctionType, types.MethodType):
        return False
    of_python = issubclass(type(callee), type) and is_of_python(callee)
    return _module(callee) not in _KEEP_OBJECTS and not of_python


def _module(callee: Any) -> Any:
    """Of C code: a method without a descriptor (`Task.task_wakeup`) is of the module of its class."""
    owner = getattr(callee, "__objclass__", callee)
    if type(callee) is types.BuiltinMethodType and callee.__module__ is None:
        owner = next(cls for cls in type(callee.__self__).__mro__ if not is_of_python(cls))
    return getattr(owner, "__module__", None)


# -- what objects hold ---------------------------------------------------------------------------------------


def _objects(values: Any, depth: int = 8) -> Iterator[Any]:
    """The objects of the user's among the values, in containers and arrays too."""
    for value in values:
        cls = type(value)
        if is_of_python(cls) and not issubclass(type(value), OURS):
            yield value
        elif depth and cls in _ITEMS:
            yield from _objects(value.values() if cls is dict else value, depth - 1)
        elif cls is np.ndarray and value.dtype == object:
            yield from _objects(value.flat, depth - 1)


_ITEMS = (list, tuple, dict, set, frozenset)
_ENDS = (type, types.ModuleType, types.CodeType, types.FrameType, Table, *OURS)


def held(values: list[Any], most: float = math.inf) -> Iterator[Any]:
    """The numbers and arrays that can be reached from objects; `TOO_MANY` after the first so many parts."""
    seen, waiting = {id(values)}, [values]
    while waiting and len(seen) < most:
        for part in parts(waiting.pop()):
            if id(part) in seen or issubclass(type(part), _ENDS):
                continue
            seen.add(id(part))
            if issubclass(type(part), (np.ndarray, *NUMBERS)):
                yield part
            if not issubclass(type(part), NUMBERS):
                waiting.append(part)
    if waiting:
        yield TOO_MANY


TOO_MANY = object()


def reaches_active(record: Any, code: list[Any]) -> bool:
    """Functions or objects of classes, from which something that is differentiated can be reached."""
    return any(map(record.is_active, held(named(code), MOST)))
