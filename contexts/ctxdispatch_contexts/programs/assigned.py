"""Variables that functions share, of a module or of a function around them: which ones change while a program
runs, because it assigns to them, or because code out of sight may; which are bound."""

from __future__ import annotations

import builtins
import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph
from ctxdispatch.ir.values import Const, Value
from ctxdispatch.passes import guards as g
from ctxdispatch.passes.cells import free_stores, global_stores, inner_codes
from ctxdispatch.passes.held import has_dict
from ctxdispatch.passes.infer import Variable
from ctxdispatch.passes.resolve import CONSTANT_MODULES


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
            case g.AttrIs(owner=ModuleType() as module) | g.AttrType(owner=ModuleType() as module):
                found[id(vars(module)), guard.name] = vars(module)
            case g.AttrIs(owner=cls) | g.AttrType(owner=cls) if issubclass(type(cls), type):
                found[id(cls), guard.name] = cls
    return found


def relied_on_of_objects(guards: Iterable[g.Guard]) -> set[Variable]:
    """The attributes of objects, not of modules, whose values or types are taken for granted; of classes what
    is no code."""
    attributes = [guard for guard in guards if isinstance(guard, (g.AttrIs, g.AttrType))]
    code = (ModuleType, type)
    return {
        (id(a.owner), a.name)
        for a in attributes
        if isinstance(a, g.AttrType) or not issubclass(type(a.owner), code)
    }


def stored_attributes(graph: Graph) -> set[str]:
    """The names of the attributes that a program stores, of whatever objects."""
    names = (op.args[1] for _, op in graph.ops() if op.fn in (setattr, delattr) and len(op.args) > 1)
    return {name.value for name in names if isinstance(name, Const)}


def _along(namespace: dict[str, Any], path: tuple[str, ...]) -> Iterator[tuple[Variable, Any]]:
    """The variables that `a.b.c` reads, as far as modules and classes go."""
    space: Any = namespace
    for name in path:
        yield (id(space), name), space
        owner = getattr(space, name, None) if issubclass(type(space), type) else space.get(name)
        if not issubclass(type(owner), (ModuleType, type)):
            return
        space = owner if issubclass(type(owner), type) else vars(owner)


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
        elif op.fn in (setattr, delattr) and all(isinstance(a, Const) for a in op.args[:2]):
            owner, name = op.args[0].value, op.args[1].value  # type: ignore[union-attr]
            yield id(vars(owner)) if issubclass(type(owner), ModuleType) else id(owner), name


class Holder(NamedTuple):
    """A function's code, its module's variables, and what it captured."""

    code: CodeType
    namespace: dict[str, Any]
    cells: Sequence[CellType]


def assigned_out_of_sight(variables: Mapping[Variable, Any], holders: Iterable[Holder]) -> set[Variable]:
    """Those of the variables that a function assigns to: of its module, or of the function around it.
    `holders`: the functions that have captured variables."""
    spaces = {key[0]: space for key, space in variables.items() if type(space) is dict}
    found: set[Variable] = {
        (id(space), name) for space in spaces.values() for name in _assigned_names(space)
    } & variables.keys()
    cells = {key for key in variables if isinstance(key, int)}
    for holder in holders if cells else ():
        held = {id(c): name for c, name in zip(holder.cells, holder.code.co_freevars) if id(c) in cells}
        around = _codes_around(holder.code, holder.namespace) if held else None
        if around is not None:
            found.update(key for key, name in held.items() if _is_assigned(name, around))
            cells -= held.keys()
    return found.union(_of_functions_there_are([variables[key] for key in cells]))


def _assigned_names(namespace: dict[str, Any]) -> Iterator[str]:
    """The variables of a module to which functions in it assign, methods and functions in functions too."""
    if any(namespace is vars(module) for module in (builtins, *CONSTANT_MODULES)):
        return
    for value in list(namespace.values()):
        members = vars(value).values() if _is_class_of(value, namespace) else (value,)
        for function in map(_unwrapped, members):
            if function is not None and function.__globals__ is namespace:
                yield from global_stores(function.__code__)


def _is_class_of(value: Any, namespace: dict[str, Any]) -> bool:
    return issubclass(type(value), type) and value.__module__ == namespace.get("__name__")


def _unwrapped(value: Any) -> FunctionType | None:
    """The function behind what decorators make of it."""
    for _ in range(MAX_DECORATORS):
        if type(value) is FunctionType and not hasattr(value, "__wrapped__"):
            return value
        if issubclass(type(value), (staticmethod, classmethod)):
            value = value.__func__
        elif issubclass(type(value), property):
            value = value.fget
        else:
            value = _own_dict(value).get("__wrapped__")
    return None


def _own_dict(value: Any) -> Mapping[str, Any]:
    """Without what its class makes of reading attributes."""
    return object.__getattribute__(value, "__dict__") if has_dict(type(value)) else {}  # type: ignore[no-any-return]


MAX_DECORATORS = 16


def _codes_around(code: CodeType, namespace: dict[str, Any]) -> list[CodeType] | None:
    """Of the functions around a function, the outermost first. None where that is not found by its name."""
    first, *_ = code.co_qualname.split(".<locals>.")
    owner, _, name = first.rpartition(".")
    found = vars(namespace.get(owner, object)).get(name) if owner else namespace.get(name)
    outer = _unwrapped(found)
    return None if outer is None else _path(outer.__code__, code)


def _path(outer: CodeType, code: CodeType) -> list[CodeType] | None:
    if outer is code:
        return []
    for inner in inner_codes(outer):
        found = _path(inner, code)
        if found is not None:
            return [outer, *found]
    return None


def _is_assigned(name: str, around: Iterable[CodeType]) -> bool:
    """By a function made where the variable is."""
    return any(
        name in code.co_cellvars and any(name in free_stores(inner) for inner in inner_codes(code))
        for code in around
    )


def _of_functions_there_are(cells: Sequence[CellType]) -> Iterator[int]:
    """The cells to which a function assigns, of all that the garbage collector knows: exact, and it looks at
    all there is. (Functions that it has cleared have no closure any more.)"""
    sought = {*map(id, cells)}
    for f in _referring(FunctionType, _referring(tuple, cells)):
        for cell, name in zip(f.__closure__ or (), f.__code__.co_freevars):
            if id(cell) in sought and name in free_stores(f.__code__):
                yield id(cell)


def _referring(cls: type, to: Sequence[Any]) -> list[Any]:
    return [each for each in gc.get_referrers(*to) if type(each) is cls] if to else []


def reads_changing_global(graph: Graph) -> bool:
    """`graph` reads a global variable that some function of its module assigns to."""
    reads = [op.args for _, op in graph.ops() if op.fn is primitives.load_global]
    pairs = [(a.value, b.value) for a, b in reads if isinstance(a, Const) and isinstance(b, Const)]
    return bool(assigned_out_of_sight({(id(namespace), name): namespace for namespace, name in pairs}, ()))


def is_empty(cell: CellType) -> bool:
    """A variable that is not bound."""
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False
