"""The function behind a bound method: what rows and rules are of."""

from __future__ import annotations

import re
import types
from collections.abc import Callable
from typing import Any

from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

_DESCRIPTORS = (types.MethodDescriptorType, types.WrapperDescriptorType)


def canonical(f: Any) -> tuple[Any, tuple[Any, ...]]:
    """The function behind a bound method, and what it is bound to: f(*args) is function(*bound, *args)."""
    binds = _BINDS.get(type(f))
    return (f, ()) if binds is None else binds(f)


def _of_method(f: types.MethodType) -> tuple[Any, tuple[Any, ...]]:
    function, bound = canonical(f.__func__)
    return function, (*bound, f.__self__)


def _of_builtin(f: types.BuiltinMethodType) -> tuple[Any, tuple[Any, ...]]:
    owner = f.__self__
    kind = type(owner)  # isinstance asks the owner
    if issubclass(kind, type):
        return _of_class_method(f, owner)  # type: ignore[arg-type]
    if owner is None or issubclass(kind, types.ModuleType):
        return f, ()
    if kind in _CALLED and f.__name__ == "__call__":
        return canonical(owner)
    function: Any = getattr(type(owner), f.__name__, None)
    if type(function) in _DESCRIPTORS and function.__get__(owner, type(owner)) == f:
        return function, (owner,)
    return _of_base(f, owner)


_CALLED = (types.FunctionType, types.MethodType, types.BuiltinMethodType, *_DESCRIPTORS)
"""`f.__call__` of such is f."""


def _of_base(f: Any, owner: Any) -> tuple[Any, tuple[Any, ...]]:
    """A method that the class of its object overrides: super().update"""
    for base in type(owner).__mro__:
        function: Any = base.__dict__.get(f.__name__)
        if type(function) in _DESCRIPTORS and function.__get__(owner, type(owner)) == f:
            return function, (owner,)
    return f, ()


def _of_class_method(f: types.BuiltinMethodType, cls: type) -> tuple[Any, tuple[Any, ...]]:
    """`dict.fromkeys` is another object each time it is read; its descriptor is not."""
    found = (base.__dict__.get(f.__name__) for base in cls.__mro__)
    function = next((d for d in found if type(d) is types.ClassMethodDescriptorType), None)
    return _of_base(f, cls) if function is None else (function, (cls,))


_BINDS: dict[type, Callable[[Any], tuple[Any, tuple[Any, ...]]]] = {
    types.MethodType: _of_method,
    types.BuiltinMethodType: _of_builtin,
    type(re.compile("").sub): _of_builtin,  # of C methods that are told the class that defines them
    types.MethodWrapperType: _of_builtin,
    staticmethod: lambda f: canonical(f.__func__),
    classmethod: lambda f: canonical(f.__func__),
}
