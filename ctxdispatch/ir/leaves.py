"""Objects from which nothing of the user's can be reached: code, and caches for all time, may hold them."""

from __future__ import annotations

import sys
import sysconfig
import types
from typing import Any

from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401


def is_leaf(value: Any) -> bool:
    """Nothing of the user's can be reached from `value`."""
    test = _LEAVES.get(type(value))
    if test is not None:
        return test is True or bool(test(value))
    numpy = sys.modules.get("numpy")
    return numpy is not None and _numpy_leaf(numpy, value)


def _permanent(module: Any) -> bool:
    """A module of Python's, NumPy's or this project's, by name."""
    root = module.partition(".")[0] if isinstance(module, str) and module != "__main__" else ""
    return root in sys.stdlib_module_names or root == "numpy" or is_ours(module)


def is_ours(module: Any) -> bool:
    """The name of a module of this project's packages."""
    return isinstance(module, str) and module.partition(".")[0] in ("ctxdispatch", "ctxdispatch_contexts")


def package_of(cls: type) -> str:
    """The outermost package that a class says it is of; what it says may be no text."""
    return str(cls.__module__).partition(".")[0]


def is_installed(file: str) -> bool:
    """Of a package that is installed, or Python's own."""
    return file.startswith(_INSTALLED)


_INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def of_installed(cls: type) -> bool:
    """A class of such a package, as it says."""
    name = cls.__module__
    return is_installed(file_of(sys.modules.get(name) if type(name) is str else None))


def file_of(module: Any) -> str:
    """Where a module is from, as it holds it: one that computes its attributes is not asked. Empty where
    there is none."""
    file = vars(module).get("__file__") if issubclass(type(module), types.ModuleType) else None
    return file if type(file) is str else ""


def _permanent_function(f: types.FunctionType) -> bool:
    return f.__closure__ is None and _permanent_namespace(f.__globals__)


def _permanent_namespace(namespace: Any) -> bool:
    name = namespace.get("__name__", "__main__")
    return _permanent(name) and name in sys.modules and vars(sys.modules[name]) is namespace


def _permanent_class(cls: type) -> bool:
    return not cls.__flags__ & HEAP_TYPE or _permanent(cls.__module__)


HEAP_TYPE = 1 << 9


def _numpy_leaf(numpy: Any, value: Any) -> bool:
    """Ufuncs and other functions, dtypes, scalars, arrays of numbers."""
    if type(value) is numpy.ndarray:
        return not value.dtype.hasobject
    return issubclass(type(value), (numpy.ufunc, numpy.dtype, numpy.number, numpy.bool_, type(numpy.sum)))


_LEAVES: dict[type, Any] = {
    **dict.fromkeys((type(None), bool, int, float, complex, str, bytes, slice, range, types.CodeType), True),
    types.EllipsisType: True,
    types.MethodDescriptorType: True,
    types.WrapperDescriptorType: True,
    types.BuiltinFunctionType: lambda f: f.__self__ is None or is_leaf(f.__self__),
    types.ModuleType: lambda m: _permanent_namespace(vars(m)),
    types.FunctionType: _permanent_function,
    type: _permanent_class,
    dict: _permanent_namespace,
    tuple: lambda items: all(map(is_leaf, items)),
    frozenset: lambda items: all(map(is_leaf, items)),
}
