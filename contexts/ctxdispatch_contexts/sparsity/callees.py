"""What a callee is: the C method behind a bound one, the Python function behind a dispatcher of NumPy's."""

from __future__ import annotations

import functools
import operator
import sys
import types
from typing import Any

import numpy as np

from ctxdispatch.dispatch.reach import is_python, lookup

LIBRARIES = frozenset(sys.stdlib_module_names) | {"numpy", "scipy"}
C_METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType)
LIBRARY_CALLABLES = (types.BuiltinFunctionType, *C_METHODS, np.ufunc)


def is_sparse_product(f: Any, args: list[Any]) -> bool:
    owner = args[0]
    if not str(type(owner).__module__).startswith("scipy.sparse"):
        return False
    return f is operator.matmul or (f is operator.mul and not hasattr(owner, "_is_array"))


def cached_property(f: Any, args: list[Any]) -> Any:
    """What getattr(owner, name) computes once and stores, or None."""
    descriptor = lookup(type(args[0]), args[1]) if f is getattr and isinstance(args[1], str) else None
    return descriptor if issubclass(type(descriptor), functools.cached_property) else None


def has_python_constructor(cls: type) -> bool:
    return is_python(lookup(cls, "__new__")) or is_python(lookup(cls, "__init__"))


def descriptor_of(f: Any) -> Any:
    """The C method that `f` is, bound to its object: `super().update` is not its class's `update`."""
    owner, cls = f.__self__, type(f.__self__)
    found = [vars(base)[f.__name__] for base in cls.__mro__ if f.__name__ in vars(base)]
    return next((d for d in found if type(d) in C_METHODS and d.__get__(owner, cls) == f), None)


def implementation(f: Any) -> Any:
    """The Python function behind NumPy's dispatchers and caches of results."""
    for name in ("_implementation", "__wrapped__"):
        inner = getattr(f, name, None) if not issubclass(type(f), type) else None
        if type(inner) is types.FunctionType and type(f).__module__ in ("numpy", "functools"):
            return inner
    return None


def of_library(*things: Any) -> bool:
    modules = [getattr(t, "__module__", None) for t in things]
    return any(m is not None and str(m).partition(".")[0] in LIBRARIES for m in modules)
