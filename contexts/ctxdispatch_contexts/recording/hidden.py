"""C code that would compute with what objects of the user's hold, by their methods, out of sight: refused.

What is known of such methods has been run by then (`overrides.py`, `conversions.py`): what is left are
objects in arrays, C code without a rule, and protocols that nobody runs under a context. C code that only
keeps or looks at an object (`id`, `isinstance`, `weakref.ref`) calls nothing that computes.
"""

from __future__ import annotations

import builtins
import gc
import math
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from ctxdispatch.dispatch.context import Context
from ctxdispatch.dispatch.protocols.standins import StandIn
from ctxdispatch.dispatch.reach import Engine
from ctxdispatch_contexts.programs.converting import is_of_python
from ctxdispatch_contexts.programs.errors import MissingRuleError, described, user_position
from ctxdispatch_contexts.programs.owned import Table
from ctxdispatch_contexts.recording import conversions
from ctxdispatch_contexts.recording.callees import Callee
from ctxdispatch_contexts.recording.leaves import NUMBERS

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def check(record: Any, callee: Any, known: Callee, args: Args, kwargs: Kwargs) -> None:
    """MissingRuleError where `callee` may call methods of an object that holds what is differentiated."""
    if record.still or not _asks(callee, known, args) or _keeps(callee, known, args, kwargs):
        return
    for value in _objects((*args, *kwargs.values())):
        if any(map(record.is_active, held([value]))):
            raise MissingRuleError(
                f"{described(callee)} is given an object of the class {type(value).__name__}, which holds "
                "what is differentiated: what it makes of the object, by methods of the class, is not "
                "followed; give it numbers or arrays (what the object holds), or call the methods",
                user_position(),
            )


def _asks(callee: Any, known: Callee, args: Args) -> bool:
    """It may call methods that compute. Operators that are no method of their operands' do where one of
    those is NumPy's; comparisons say yes or no."""
    if known.takes_arrays:
        compares = known.zero and conversions.is_operator(callee)
        return conversions.reads_arrays(callee, args) and not compares
    return _computes(callee)


def _keeps(callee: Any, known: Callee, args: Args, kwargs: Kwargs) -> bool:
    """What it returns has the objects themselves in it: views, new arrays of objects; a function of Python's
    is called with them."""
    if (known.view and all(isinstance(a, np.ndarray) for a in args[:1])) or id(callee) in _MAKING:
        dtype = conversions.dtype_of(callee, args, kwargs)
        return dtype is None or dtype.kind == "O"
    return isinstance(callee, np.ufunc) and all({*t} <= {*"O->"} for t in callee.types)


_MAKING = frozenset(map(id, (np.array, np.asarray, np.asanyarray, np.full)))
_COMPUTING = frozenset(map(id, (
    builtins.sum, builtins.abs, builtins.pow, builtins.divmod, builtins.round, builtins.float,
    builtins.complex,
)))  # fmt: skip
_LOOK_AT_OBJECTS = frozenset({
    "builtins", "_operator", "itertools", "functools", "_functools", "collections", "_collections", "types",
    "sys", "gc", "_weakref", "weakref", "_thread", "_abc", "_heapq", "_bisect", "copyreg", "atexit",
    "_contextvars", "_asyncio", "_queue", "time", "_warnings", "_typing", "typing", "_io", "_signal",
    "_tracemalloc", "faulthandler", "posix", "nt",
})  # fmt: skip
"""Modules of C code that keeps and compares objects."""


def _computes(callee: Any) -> bool:
    if id(callee) in _COMPUTING:
        return True
    if isinstance(callee, (types.FunctionType, types.MethodType)):
        return False
    owner = getattr(callee, "__objclass__", callee)
    module = getattr(owner, "__module__", None)
    return module not in _LOOK_AT_OBJECTS and not (isinstance(callee, type) and is_of_python(callee))


# -- what objects hold ---------------------------------------------------------------------------------------


def _objects(values: Any, depth: int = 8) -> Iterator[Any]:
    """The objects of the user's among the values, in containers and arrays too."""
    for value in values:
        cls = type(value)
        if is_of_python(cls) and not isinstance(value, _OURS):
            yield value
        elif depth and cls in _ITEMS:
            yield from _objects(value.values() if cls is dict else value, depth - 1)
        elif cls is np.ndarray and value.dtype == object:
            yield from _objects(value.flat, depth - 1)


_ITEMS = (list, tuple, dict, set, frozenset)
_OURS = (Context, Engine, StandIn)
_ENDS = (type, types.ModuleType, types.CodeType, types.FrameType, Table, *_OURS)


def held(values: list[Any], most: float = math.inf) -> Iterator[Any]:
    """The numbers and arrays that can be reached from objects; `TOO_MANY` after the first so many parts."""
    seen, waiting = {id(values)}, [values]
    while waiting and len(seen) < most:
        for part in _parts(waiting.pop()):
            if id(part) in seen or isinstance(part, _ENDS):
                continue
            seen.add(id(part))
            if isinstance(part, (np.ndarray, *NUMBERS)):
                yield part
            if not isinstance(part, NUMBERS):
                waiting.append(part)
    if waiting:
        yield TOO_MANY


TOO_MANY = object()


def _parts(value: Any) -> list[Any]:
    if isinstance(value, types.FunctionType):  # its globals are everybody's
        return [value.__closure__, value.__defaults__, value.__kwdefaults__]
    if isinstance(value, np.ndarray):
        return list(value.flat) if value.dtype == object else [value.base]
    if isinstance(value, dict) and is_namespace(value):
        return []
    return gc.get_referents(value)


def is_namespace(mapping: dict[Any, Any]) -> bool:
    """The variables of a module, which are everybody's too."""
    return "__builtins__" in mapping
