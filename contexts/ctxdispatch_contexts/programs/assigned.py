"""Variables that functions share: which ones code assigns to, of the functions around it or of its module;
which are bound."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType
from typing import Any

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Const, Graph
from ctxdispatch.passes.cells import free_stores
from ctxdispatch.passes.infer import GlobalName


def assigned_free(code: CodeType) -> str | None:
    """A variable of an enclosing function that this code, or a function in it, assigns to."""
    return min(free_stores(code), default=None)


def assigned_globals(graph: Graph) -> frozenset[GlobalName]:
    """The global variables that `graph` reads and that functions of their modules assign to."""
    reads = [op.args for _, op in graph.ops() if op.fn is primitives.load_global]
    pairs = [(a.value, b.value) for a, b in reads if isinstance(a, Const) and isinstance(b, Const)]
    names = {(id(namespace), name): namespace for namespace, name in pairs}
    return frozenset(key for key, namespace in names.items() if assigned_by_functions(namespace, key[1]))


def assigned_by_functions(namespace: dict[str, Any], name: str) -> bool:
    """Whether a function of a module, or a method of a class in it, assigns to this global of the module."""
    found = [v for v in namespace.values() if isinstance(v, (FunctionType, type))]
    functions = [f for v in found for f in (vars(v).values() if isinstance(v, type) else (v,))]
    codes = [f.__code__ for f in functions if isinstance(f, FunctionType) and f.__globals__ is namespace]
    return any(_assigns(code, name) for code in codes)


def _assigns(code: CodeType, name: str) -> bool:
    if name in code.co_names and name in _arguments(code, ("STORE_GLOBAL",)):
        return True
    return any(_assigns(inner, name) for inner in code.co_consts if isinstance(inner, CodeType))


def is_empty(cell: CellType) -> bool:
    """A variable that is not bound."""
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


def _arguments(code: CodeType, opnames: tuple[str, ...]) -> Iterator[str]:
    return (str(i.argval) for i in dis.get_instructions(code) if i.opname in opnames)
