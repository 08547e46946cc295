"""What constants are called in generated source; `namespace` is what those names mean."""

from __future__ import annotations

import builtins
import math
import sys
import types
from typing import Any

from ctxdispatch.ir.expressions import NUMBER, PRIMARY, UNARY
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.names import Names, describe, is_literal, lookup, path_of
from ctxdispatch.ir.operators import ITEMS
from ctxdispatch.ir.primitives import load_global
from ctxdispatch.ir.text import Shown, constant_index
from ctxdispatch.ir.values import UNDEF, UNREAD, Const

LONG_NAMES = {"np": "numpy", "primitives": "ctxdispatch.ir.primitives"}


class Constants:
    """Names are given on demand; `Names` is shared with the variables, so that they never meet."""

    def __init__(self, graph: Graph, names: Names) -> None:
        self.namespace: dict[str, Any] = {}
        self.listed: dict[str, str] = {}
        self.imports: list[str] = []
        self._globals = graph.namespace or {}
        self._names = names
        self._shown: dict[int, Shown] = {}
        self._kept: list[Any] = []  # keeps the ids in `_shown` meaning what they meant

    def reserve(self, graph: Graph) -> None:
        """Name all constants of `graph` before the variables are named."""
        for _, op in graph.ops():
            for operand in op.operands():
                if isinstance(operand, Const) and not _is_index(op, operand):
                    self.show(operand.value)
            if op.fn is load_global and self.is_global(op.args):
                self.global_name(op.args[1].value)  # type: ignore[union-attr]
        for block in graph.blocks:
            terminator = block.terminator
            operands = terminator.operands() if terminator else ()
            for operand in (*operands, *(a for e in block.edges() for a in e.args)):
                if isinstance(operand, Const):
                    self.show(operand.value)

    def show(self, value: Any) -> Shown:
        if is_literal(value):
            return _literal(value)
        if id(value) not in self._shown:
            self._kept.append(value)
            self._shown[id(value)] = self._name(value)
        return self._shown[id(value)]

    # -- globals -----------------------------------------------------------------------------------

    def is_global(self, args: Any) -> bool:
        """The first two arguments of `load_global` are this function's namespace and a name."""
        return len(args) == 2 and all(isinstance(a, Const) for a in args) and args[0].value is self._globals

    def global_name(self, name: str) -> str | None:
        """`name`, if it can mean the global variable of that name here."""
        if name in self.namespace or name not in self._names.taken:
            self._names.taken.add(name)
            missing = object()
            found = self._globals.get(name, vars(builtins).get(name, missing))
            if self.namespace.setdefault(name, found) is found:
                if found is missing:
                    del self.namespace[name]
                return name
        return None

    # -- others ------------------------------------------------------------------------------------

    def _name(self, value: Any) -> Shown:
        if value is self._globals:
            return "globals()", PRIMARY
        if value is UNREAD.value:
            return "None", PRIMARY
        if value is UNDEF.value:
            return self._bind("UNDEF", value), PRIMARY
        if type(value) is float:  # inf or nan: finite ones are literals
            self._names.taken.add("float")
            return ("-float('inf')", UNARY) if value == -math.inf else (f"float('{value}')", PRIMARY)
        if type(value) is complex and is_literal(-value):  # -1j has -0.0 for real part, as -(1j) has
            return f"-{-value!r}", UNARY
        if type(value) is slice and is_literal((value.start, value.stop, value.step)):
            self._names.taken.add("slice")
            return repr(value), PRIMARY
        return self._path(value) or self._listed(value), PRIMARY

    def _path(self, value: Any) -> str | None:
        """`np.exp`, where that is what `value` is called and its first part is free."""
        path = path_of(value) or ""
        home = self._globals.get("__name__")
        if home and path.startswith(f"{home}."):
            path = path[len(home) + 1 :]
        path = path.removeprefix("builtins.")
        if not all(part.isidentifier() for part in path.split(".")):
            return None
        root, *rest = path.split(".")
        found = base = self._root(root)
        for part in rest:
            found = getattr(found, part, None)
        if not same_object(found, value) or not self._free(root, base):
            return None
        module = path.rpartition(".")[0]
        if len(rest) > 1 and lookup(module, rest[-1]) is value and self._import(module, rest[-1], value):
            return rest[-1]
        self._names.taken.add(root)
        self.namespace[root] = base
        return path

    def _import(self, module: str, name: str, value: Any) -> bool:
        """What stands deep inside of a package goes by its own name, if that is free."""
        if name in self._names.taken:
            return False
        self.imports.append(f"from {module} import {name}")
        return self._bind(name, value) == name

    def _root(self, root: str) -> Any:
        if root in self._globals:
            return self._globals[root]
        module = sys.modules.get(LONG_NAMES.get(root, root))
        return vars(builtins).get(root, module)

    def _free(self, root: str, base: Any) -> bool:
        if root in self.namespace:
            return self.namespace[root] is base
        return root not in self._names.taken

    def _listed(self, value: Any) -> str:
        """A name of its own, explained at the top."""
        hint = getattr(value, "__name__", "") if callable(value) else ""
        plain = isinstance(hint, str) and hint.isidentifier() and not issubclass(type(value), type)
        name = self._bind(hint if plain else "_c", value)
        self.listed[name] = describe(value)
        return name

    def _bind(self, hint: str, value: Any) -> str:
        if hint == "_c":
            hint = f"_c{sum(n.startswith('_c') for n in self.listed)}"
        name = self._names.fresh(hint)
        self.namespace[name] = value
        return name


def _is_index(op: Op, operand: Const) -> bool:
    """It stands between [ and ], and needs no name there."""
    indexes = op.fn in ITEMS
    return indexes and operand is op.args[1] and constant_index(operand.value) is not None


def same_object(a: Any, b: Any) -> bool:
    """Identical; for a method of a built-in object, which is made anew at each access: equal."""
    return a is b or (type(a) is types.BuiltinMethodType and a == b)


def _literal(value: Any) -> Shown:
    text = repr(value)
    if text.startswith("-"):
        return text, UNARY
    return text, NUMBER if isinstance(value, (int, float)) and not isinstance(value, bool) else PRIMARY
