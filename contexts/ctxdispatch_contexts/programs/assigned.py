"""Variables that functions share, of a module or of a function around them: which ones change while a program
runs, because it assigns to them, or because code out of sight may; which are bound."""

from __future__ import annotations

import builtins
import gc
import sys
from collections.abc import Iterable, Iterator, Mapping, Set
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Const, Graph, Value
from ctxdispatch.passes import guards as g
from ctxdispatch.passes.cells import free_stores, global_stores, inner_codes
from ctxdispatch.passes.infer import Variable


def assigned_free(code: CodeType) -> str | None:
    """A variable of an enclosing function that this code, or a function in it, assigns to."""
    return min(free_stores(code), default=None)


def relied_on(guards: Iterable[g.Guard]) -> dict[Variable, Any]:
    """The variables whose contents a program takes for granted, each with its namespace or cell."""
    found: dict[Variable, Any] = {}
    for guard in guards:
        match guard:
            case g.CellIs(cell=cell) | g.CellType(cell=cell):
                found[id(cell)] = cell
            case g.PathIs() | g.PathType():
                found.update(_along(guard.namespace, guard.path))
            case g.AttrIs(owner=ModuleType() as module):
                found[id(vars(module)), guard.name] = vars(module)
    return found


def _along(namespace: dict[str, Any], path: tuple[str, ...]) -> Iterator[tuple[Variable, dict[str, Any]]]:
    """The variables that `a.b.c` reads, as far as modules go."""
    for name in path:
        yield (id(namespace), name), namespace
        owner = namespace.get(name)
        if not isinstance(owner, ModuleType):
            return
        namespace = vars(owner)


def assigned_in(graph: Graph, cells: Mapping[Value, CellType]) -> Iterator[Variable]:
    """The variables that a program itself assigns to. `cells`: its own."""
    for _, op in graph.ops():
        if op.fn in (primitives.cell_set, primitives.cell_delete):
            target = op.args[0]
            cell = target.value if isinstance(target, Const) else cells.get(target)
            if cell is not None:
                yield id(cell)
        elif op.fn in (primitives.store_global, primitives.delete_global):
            namespace, name = op.args[:2]
            if isinstance(namespace, Const) and isinstance(name, Const):
                yield id(namespace.value), name.value


def assigned_out_of_sight(variables: Mapping[Variable, Any]) -> set[Variable]:
    """Those of the variables that a function assigns to: one that there is (`gc.freeze` hides them), or, of
    captured ones, one that the running function which has them may still make."""
    if not variables:
        return set()
    functions = [each for each in gc.get_objects() if type(each) is FunctionType]
    spaces = {key[0] for key in variables if isinstance(key, tuple)} - {id(vars(builtins))}
    found: set[Variable] = set()
    for f in functions:
        if id(f.__globals__) in spaces:
            found.update((id(f.__globals__), name) for name in global_stores(f.__code__))
    cells = {key for key in variables if isinstance(key, int)}
    found.update(_assigned_cells(functions, cells) if cells else ())
    return found & variables.keys()


def _assigned_cells(functions: Iterable[FunctionType], cells: Set[int]) -> Iterator[int]:
    running = list(_running_codes())
    for f in functions:
        for cell, name in zip(f.__closure__ or (), f.__code__.co_freevars, strict=True):
            if id(cell) in cells and _may_assign(f.__code__, name, running):
                yield id(cell)


def _may_assign(code: CodeType, name: str, running: Iterable[CodeType]) -> bool:
    """This code, or other code in the running function that has the variable."""
    if name in free_stores(code):
        return True
    owners = (c for c in running if name in c.co_cellvars and any(code is i for i in inner_codes(c)))
    return any(name in free_stores(inner) for owner in owners for inner in inner_codes(owner))


def _running_codes() -> Iterator[CodeType]:
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        yield frame.f_code


def reads_changing_global(graph: Graph) -> bool:
    """`graph` reads a global variable that some function of its module assigns to."""
    reads = [op.args for _, op in graph.ops() if op.fn is primitives.load_global]
    pairs = [(a.value, b.value) for a, b in reads if isinstance(a, Const) and isinstance(b, Const)]
    return bool(assigned_out_of_sight({(id(namespace), name): namespace for namespace, name in pairs}))


def is_empty(cell: CellType) -> bool:
    """A variable that is not bound."""
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False
