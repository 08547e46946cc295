"""Which callables are probed, and which are not, with the reason."""

from __future__ import annotations

import importlib
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ctxdispatch.facts import fact_of
from tests.facts.operands import ARRAYS, POOL, SELVES

PYTHON = (
    "builtins operator math cmath itertools functools collections heapq bisect copy array statistics random "
    "datetime decimal fractions struct re json io"
).split()
NUMPY = ["numpy", "numpy.linalg", "numpy.fft", "numpy.random"]
SCIPY = (
    "scipy.special scipy.linalg.lapack scipy.linalg.blas scipy.linalg scipy.fft scipy.ndimage "
    "scipy.signal scipy.interpolate "
    "scipy.integrate scipy.optimize scipy.spatial scipy.sparse scipy.cluster.vq scipy.stats"
).split()

LEFT_OUT = {
    "ends the process or waits": "exit quit breakpoint input help copyright credits license _exit",
    "opens what a number names": (
        "open open_code FileIO fdopen memmap DataSource save savez savez_compressed savetxt load loadtxt "
        "genfromtxt fromfile fromregex tofile dump"
    ),
    "sets what all of the process shares": (
        "seterr seterrcall setbufsize set_printoptions setcontext test seed set_bit_generator "
        "set_state seterrobj setflags "
        "set_string_function set_numeric_ops set_module errstate init_builtin_override"
    ),
    "runs text as a program": "exec eval compile __import__ __build_class__",
    "trusts what is said of memory": "as_strided ndpointer scalar _reconstruct __setstate__ __reduce__ lib",
    "of the tests' own frames": "globals locals vars dir super",
    "is about classes alone": "__init_subclass__ __subclasshook__ __class_getitem__ __subclasses__ mro",
    "runs by itself": "__del__",
    "shows the machine": "show_config show_runtime info",
}
_SHARED = (np.ufunc, "__setattr__")  # there is one of each ufunc
_LEFT_OUT = {name for names in LEFT_OUT.values() for name in names.split()} - {"setflags"}


class Probed(NamedTuple):
    name: str
    callee: Callable[..., Any]
    pool: list[Callable[[], Any]]
    selves: list[Callable[[], Any]]
    """Makers of operand 0, of a method; [] of a function."""


def modules(names: list[str]) -> list[str]:
    """Those that can be imported here."""
    return [name for name in names if _imported(name) is not None]


def _imported(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def callables(module: str) -> list[Probed]:
    """Of this module: its functions and classes, and the methods of its classes; each once."""
    found = {p.name: p for p in [*_functions(module), *_methods(module)]}
    once = {id(p.callee): p for p in reversed(found.values())}
    return [p for p in found.values() if once[id(p.callee)] is p]


def _functions(module: str) -> Iterator[Probed]:
    pool = POOL if module in PYTHON else ARRAYS
    holder = _imported(module)
    for name in sorted(dir(holder), key=lambda name: _rank(holder, name)):
        f = getattr(holder, name)
        if name in _LEFT_OUT or not callable(f) or not _is_probed(f):
            continue
        if not name.startswith("_") or fact_of(f) is not None:
            yield Probed(f"{module}.{name}", f, pool, [])


def _rank(holder: Any, name: str) -> tuple[bool, bool, str]:
    """Of several names of one thing the one that it says itself."""
    return name.startswith("_"), getattr(getattr(holder, name), "__name__", name) != name, name


def _is_probed(f: Any) -> bool:
    """Python code is followed and needs no row; where it has one it is probed."""
    if isinstance(f, type):
        of_python = f.__flags__ & 1 << 9
        return not (of_python and fact_of(f) is None) and not issubclass(f, BaseException)
    return not _is_python(f) or fact_of(f) is not None


def _is_python(f: Any) -> bool:
    behind = f.__func__ if type(f) is types.MethodType else getattr(type(f), "__call__", None)
    return type(f) is types.FunctionType or type(behind) is types.FunctionType


def _methods(module: str) -> Iterator[Probed]:
    for cls, selves in SELVES.items():
        if _module_of(cls) != module:
            continue
        pool = ARRAYS if cls.__module__.startswith("numpy") else POOL
        for name, f in sorted(vars(cls).items()):
            f = getattr(cls, name) if type(f) is staticmethod else f
            if name not in _LEFT_OUT and (cls, name) != _SHARED and callable(f) and _is_probed(f):
                makers = [lambda cls=cls: cls] if _of_the_class(name, f) else selves
                yield Probed(f"{cls.__module__}.{cls.__qualname__}.{name}", f, pool, makers)


def _of_the_class(name: str, f: Any) -> bool:
    return name == "__new__" or type(f) is types.ClassMethodDescriptorType


def _module_of(cls: type) -> str:
    name = cls.__module__
    known = {
        "_io": "io",
        "_random": "random",
        "_struct": "struct",
        "types": "builtins",
        "_functools": "functools",
    }
    name = known.get(name, name)
    if name in PYTHON or name in NUMPY:
        return name
    return (
        "numpy.random"
        if name.startswith("numpy.random")
        else "numpy"
        if name.startswith("numpy")
        else "builtins"
    )


def parameters(f: Any) -> list[str] | None:
    """The names of what may be given by keyword; None where it is not known."""
    try:
        return [
            p.name
            for p in inspect.signature(f).parameters.values()
            if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
        ]
    except (ValueError, TypeError):
        return None


__all__ = ["LEFT_OUT", "NUMPY", "PYTHON", "SCIPY", "Probed", "callables", "modules", "parameters"]
