"""What values, functions and constants are called, in print and in generated source.

Names are a function of the graph alone: hints in order of definition, made unique by numbers, so that a print
is stable from run to run.
"""

from __future__ import annotations

import ast
import math
import re
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from ctxdispatch.ir.graph import Graph
from ctxdispatch.ir.values import Value

SHORT_MODULES = {"numpy": "np", "_operator": "operator", "ctxdispatch.ir.primitives": "primitives"}
"""How people write these modules."""

UNPREFIXED = {"builtins", "operator", "primitives"}
"""Modules whose functions are printed without the module: the IR's own vocabulary."""


class Names:
    """Unique names, given on demand and kept. `taken` are all in use; `clean` makes a hint a name."""

    def __init__(self, taken: Iterable[str] = (), clean: Callable[[str], str] = lambda hint: hint) -> None:
        self.taken = set(taken)
        self._of: dict[Value, str] = {}
        self._next: dict[str, int] = {}
        self._clean = clean

    def __getitem__(self, value: Value) -> str:
        name = self._of.get(value)
        if name is None:
            name = self._of[value] = self.fresh(self._clean(value.name))
        return name

    def fresh(self, hint: str) -> str:
        """`hint`, or hint2, hint3, ...; without a hint 0, 1, ..."""
        if hint and hint not in self.taken:
            self.taken.add(hint)
            return hint
        stem = hint + "_" if hint and hint[-1].isdigit() else hint
        number = self._next.get(stem, 2 if hint else 0)
        while f"{stem}{number}" in self.taken:
            number += 1
        self._next[stem] = number + 1
        self.taken.add(f"{stem}{number}")
        return f"{stem}{number}"


def name_all(graph: Graph, names: Names) -> Names:
    """Give every value of the graph its name, in order of definition in the list of blocks."""
    for value in defined(graph):
        names[value]
    return names


def defined(graph: Graph) -> Iterable[Value]:
    """Every value that the graph defines, arguments and cells first."""
    yield from graph.params
    yield from graph.cells
    for block in graph.blocks:
        if block is not graph.entry:
            yield from block.params
        for op in block.ops:
            yield from op.results


# -- objects ---------------------------------------------------------------------------------------


def path_of(value: Any) -> str | None:
    """`module.name` of a function, class or module, as people write it; None for other objects."""
    if issubclass(type(value), types.ModuleType):
        module_name: str = value.__name__
        return SHORT_MODULES.get(module_name, module_name)
    if type(value) is types.MethodType:
        return None
    of_object = type(value) is types.BuiltinMethodType and value.__self__ is not None
    if of_object and not issubclass(type(value.__self__), types.ModuleType):
        owner = path_of(value.__self__)  # np.add.reduce
        return f"{owner}.{value.__name__}" if owner else value.__qualname__
    name = _plain_name(value)
    module = _module_of(value, name) if name else None
    return f"{SHORT_MODULES.get(module, module)}.{name}" if module else name


def name_like(function: Any, f: Any) -> None:
    """`functools.update_wrapper`, of names that are text."""
    for name in ("__name__", "__qualname__", "__doc__"):
        if type(text := getattr(f, name, None)) is str:
            setattr(function, name, text)
    function.__wrapped__ = f


def own_name(value: Any, default: str) -> str:
    """`value.__name__` where that is text: mocks have something under every name."""
    name = getattr(value, "__name__", None)
    return name if type(name) is str else default


def _plain_name(value: Any) -> str | None:
    try:
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        return name if isinstance(name, str) and callable(value) else None
    except Exception:  # a user's object may do anything in __getattr__; it only loses its name
        return None


def _module_of(value: Any, name: str) -> str | None:
    """The public module that has `value` under `name`, before the one that defines it (`numpy` before
    `numpy.core.fromnumeric`)."""
    module = getattr(value, "__module__", None)
    if not isinstance(module, str):  # ufuncs and C methods: where their class is from
        module = type(value).__module__
    root = module.partition(".")[0].lstrip("_")
    for candidate in (root, module):
        if lookup(candidate, name) is value:
            return candidate
    return module


def lookup(module: str, name: str) -> Any:
    """What `module.name` is now, or None; imports nothing."""
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def short_path(value: Any, home: str | None = None) -> str | None:
    """`path_of` without the module where that is the IR's own vocabulary (mul, len, unpack; math.sin, np.exp
    keep theirs) or `home`, the module of the function that is printed."""
    path = path_of(value)
    if path is None:
        return None
    if home and path.startswith(home + "."):
        return path[len(home) + 1 :]
    module, dot, name = path.partition(".")
    return name if module in UNPREFIXED and dot else path


# -- constants -------------------------------------------------------------------------------------

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_LITERALS = (bool, int, str, bytes, types.NoneType, types.EllipsisType)


def is_literal(value: Any) -> bool:
    """`repr(value)` is Python that makes an equal object of the same type, whatever names mean."""
    if type(value) in _LITERALS:
        return True
    if type(value) is float:
        return math.isfinite(value)
    if type(value) is complex:  # `-2j` is -(2j), with a negative zero for real part
        finite = math.isfinite(value.real) and math.isfinite(value.imag)
        return finite and repr(ast.literal_eval(repr(value))) == repr(value)
    return type(value) is tuple and all(map(is_literal, value))


def describe(value: Any, home: str | None = None, width: int = 40) -> str:
    """A constant in print: short, one line, no addresses."""
    if is_literal(value):
        return repr(value)
    if type(value) is types.CodeType:
        return f"<code {value.co_name}>"
    path = short_path(value, home)
    return path or _shape(value) or _brief(value, width)


def _shape(value: Any) -> str | None:
    """Arrays by dtype and shape: their numbers say nothing in a print."""
    shape = getattr(value, "shape", None)
    if not (hasattr(value, "dtype") and isinstance(shape, tuple) and shape):
        return None
    return f"<{type(value).__name__} {value.dtype}[{','.join(map(str, shape))}]>"


def _brief(value: Any, width: int) -> str:
    try:
        text = _ADDRESS.sub("", " ".join(repr(value).split()))
    except Exception:  # printing a graph must not fail for a user's __repr__
        text = ""
    return text if 0 < len(text) <= width else f"<{type(value).__name__}>"
