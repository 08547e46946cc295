"""What a call is called, and its arguments as short text. Neither runs code of the user's, but for `repr`."""

from __future__ import annotations

import functools
import reprlib
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

LONGEST = 60
"""Characters of an argument that are shown."""

UNNAMED_MODULES = (None, "builtins", "__main__")

Parts = tuple[Any, str]


def full_name(module: Any, name: str) -> str:
    """`module.name`; the module is left out of builtins and of the program's own `__main__`."""
    return name if module in UNNAMED_MODULES else f"{module}.{name}"


def parts(f: Any) -> Parts:
    """The module and the qualified name of a callable. Of a method and a partial it is that of the function,
    of an object with `__call__` the name of that."""
    while type(f) in _WRAPPED:
        f = _WRAPPED[type(f)](f)
    if issubclass(type(f), type):  # `isinstance` asks for `__class__`
        return _of_class(f)
    if type(f) in (MethodDescriptorType, WrapperDescriptorType, ClassMethodDescriptorType):
        return _of_class(f.__objclass__)[0], f.__qualname__
    if type(f) in (FunctionType, BuiltinFunctionType):
        return _module(f.__module__), f.__qualname__
    return _of_object(f)


def _module(module: Any) -> Any:
    return _PUBLIC.get(module, module) if type(module) is str else None


_PUBLIC = {"_operator": "operator", "ctxdispatch.ir.primitives": None}

_WRAPPED: dict[type, Any] = {
    MethodType: lambda f: f.__func__,
    functools.partial: lambda f: f.func,
}

_CLASS_MODULE = type.__dict__["__module__"].__get__
_CLASS_NAME = type.__dict__["__qualname__"].__get__


def _of_class(cls: type) -> Parts:
    """As `type` says it: a metaclass may have other ideas, and code of its own."""
    return _module(_CLASS_MODULE(cls)), _CLASS_NAME(cls)


def _of_object(f: Any) -> Parts:
    """Some callables made in C (ufuncs, cached functions) have a name of their own."""
    name = _attribute(f, "__qualname__") or _attribute(f, "__name__")
    if name is None:
        module, name = _of_class(type(f))
        return module, f"{name}.__call__"
    return _module(_attribute(f, "__module__")), name


def _attribute(f: Any, name: str) -> str | None:
    """Not by way of a `__getattr__`."""
    try:
        found = object.__getattribute__(f, name)
    except Exception:
        return None
    return found if type(found) is str else None


# -- arguments -------------------------------------------------------------------------------------


class _Short(reprlib.Repr):
    """Looks at the first items of containers only, however long they are."""

    def repr_ndarray(self, x: Any, level: int) -> str:
        if type(x) is not np.ndarray or x.size > self.maxlist or x.dtype == object:
            return f"<{type(x).__name__} {x.dtype} {x.shape}>"
        return " ".join(repr(x).split())

    def repr_instance(self, x: Any, level: int) -> str:
        try:
            return " ".join(repr(x).split())
        except Exception:  # of a class of the user's, perhaps of an object that is not complete yet
            return f"<{type(x).__name__}>"


_SHORT = _Short()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = LONGEST


def short(value: Any) -> str:
    """Its repr in LONGEST characters at most."""
    try:
        text = _SHORT.repr(value)
    except Exception:  # such as int's for very long ones
        text = f"<{type(value).__name__}>"
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def shown(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """`(1, x=2)`."""
    given = [*map(short, args[:MOST]), *(f"{name}={short(value)}" for name, value in kwargs.items())]
    return f"({', '.join(given[:MOST])}{', ...' if len(args) + len(kwargs) > MOST else ''})"


MOST = 8
"""So many arguments are shown."""
