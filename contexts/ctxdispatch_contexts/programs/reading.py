"""Code of the user's that C code may run for its own ends, and that may store: by what it looks like."""

from __future__ import annotations

import builtins
import dis
import functools
import sys
import types
from collections.abc import Iterable
from typing import Any

from ctxdispatch.dispatch.reach import is_python, lookup, special
from ctxdispatch.facts import fact_of

LIBRARIES = sys.stdlib_module_names | {"numpy", "scipy", "ctxdispatch", "ctxdispatch_contexts"}
"""Special methods of their classes change nothing but for those that are there to change their object."""


def reads(f: Any) -> bool:
    """A function of the user's, or behind a method of theirs, that stores nothing."""
    f = getattr(f, "__func__", f)
    if issubclass(type(f), type):
        return True  # `__class__`
    if type(f) is not types.FunctionType:
        return False
    if str(f.__globals__.get("__name__")).partition(".")[0] in LIBRARIES:
        wrapped = f.__dict__.get("__wrapped__")  # in `__repr__` of dataclasses
        return wrapped is None or reads(wrapped)
    return all(_is_reading(i, f) for i in dis.get_instructions(f))


_READING = frozenset(
    """
    RESUME COPY_FREE_VARS CACHE EXTENDED_ARG NOP NOT_TAKEN LOAD_CONST LOAD_SMALL_INT LOAD_FAST
    LOAD_FAST_CHECK LOAD_FAST_BORROW LOAD_FAST_LOAD_FAST LOAD_FAST_BORROW_LOAD_FAST_BORROW LOAD_DEREF
    STORE_FAST STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST COMPARE_OP IS_OP CONTAINS_OP BINARY_SUBSCR
    BINARY_SLICE UNARY_NEGATIVE UNARY_NOT UNARY_INVERT UNARY_POSITIVE TO_BOOL POP_TOP COPY SWAP
    RETURN_VALUE RETURN_CONST BUILD_TUPLE BUILD_LIST BUILD_STRING BUILD_SLICE FORMAT_VALUE FORMAT_SIMPLE
    FORMAT_WITH_SPEC CONVERT_VALUE PRECALL CALL UNPACK_SEQUENCE RAISE_VARARGS
""".split()
)


def _is_reading(instruction: dis.Instruction, f: types.FunctionType) -> bool:
    """Of what it calls, only functions that read."""
    name, shown = instruction.opname, instruction.argrepr
    if name == "LOAD_GLOBAL":
        return "NULL" not in shown or _is_known(f, str(instruction.argval))  # it is not called
    if name == "LOAD_ATTR":
        return "NULL" not in shown
    if name == "BINARY_OP":
        return not shown.endswith("=")
    return name in _READING or "JUMP" in name


def _is_known(f: types.FunctionType, name: str) -> bool:
    """It changes nothing, and calls nothing that it is given by position."""
    row = fact_of(f.__globals__.get(name, vars(builtins).get(name)))
    if row is None or row.stores or row.effect or not row.known:
        return False
    return not row.calls.positions and row.calls.start is None


# -- what C code may run -------------------------------------------------------------------------------------

_NOT_BY_C = frozenset({
    "__init__", "__new__", "__post_init__", "__init_subclass__", "__class_getitem__", "__set_name__",
    "__call__", "__enter__", "__exit__", "__aenter__", "__aexit__", "__setattr__", "__delattr__",
    "__setitem__", "__delitem__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__", "__copy__",
    "__deepcopy__", "__replace__", "__annotate__", "__annotate_func__",
})  # fmt: skip
"""What C code has no reason to run, or what the engine runs."""


@functools.lru_cache(2048)
def may_store(cls: type) -> bool:
    return any(_may_store(name, f) for base in cls.__mro__ for name, f in [*vars(base).items()])


def _may_store(name: str, found: Any) -> bool:
    if issubclass(type(found), property):
        return found.fget is not None and not reads(found.fget)
    if issubclass(type(found), functools.cached_property):
        return not reads(found.func)
    if name[:2] == "__" == name[-2:]:
        return callable(found) and name not in _NOT_BY_C and is_python(found) and not reads(found)
    return False


# -- classes that are made -----------------------------------------------------------------------------------


def hooks(args: tuple[Any, ...]) -> list[type]:
    """Of the operands of a metaclass, the classes of which making a class runs code that may store."""
    if len(args) < 3 or type(args[-2]) is not tuple or not issubclass(type(args[-1]), dict):
        return []
    found = [*_of_bases(args[-2]), *_of_members(args[-1])]
    return [cls for cls, hook in found if not reads(hook)]


def _of_bases(bases: tuple[Any, ...]) -> Iterable[tuple[type, Any]]:
    for base in bases:
        hook = lookup(base, "__init_subclass__") if issubclass(type(base), type) else None
        if hook is not None and is_python(hook):
            yield base, hook


def _of_members(namespace: dict[str, Any]) -> Iterable[tuple[type, Any]]:
    for member in [*namespace.values()]:
        hook = special(type(member), "__set_name__")
        if hook is not None:
            yield type(member), hook
