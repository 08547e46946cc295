"""What names and attributes mean: the objects behind globals, cells, modules, classes and methods.

Whatever is found out about something that the program might rebind comes with a guard. Of data only the type
is taken, not the value, for a global number may change between two calls; unless the caller asks for it
(`constant`: it will look at the guards). `held`: with what objects, dicts and lists hold (`passes.held`).
"""

from __future__ import annotations

import builtins
import cmath
import math
import operator
import sys
import types as pytypes
from abc import ABCMeta
from collections.abc import Iterable
from typing import Any as Anything
from typing import NamedTuple

import numpy as np

from ctxdispatch.ir import primitives as prim
from ctxdispatch.ir.leaves import HEAP_TYPE, is_installed, of_installed
from ctxdispatch.ir.values import hashable
from ctxdispatch.ir.wrappers import called
from ctxdispatch.ir.wrappers import class_attribute as class_attribute
from ctxdispatch.passes import numpy_types
from ctxdispatch.passes.guards import AttrIs, AttrType, CellIs, CellType, Guard, OfType, PathIs, PathType
from ctxdispatch.passes.held import guardable, has_dict, has_held, held_type
from ctxdispatch.passes.python_types import builtin
from ctxdispatch.passes.types import (
    CODE,
    Any,
    ArrayOf,
    Bound,
    Exact,
    Held,
    Known,
    Type,
    cls_of,
    const_type,
    is_literal,
    type_of,
    without_lists,
)

Path = tuple[dict[str, Anything], tuple[str, ...]]
Attribute = tuple[type, str]


class Found(NamedTuple):
    """`unset`: that no object of this class that arguments hold has an attribute of its own of this name."""

    type: Type
    guard: Guard | None = None
    path: Path | None = None
    unset: Attribute | None = None


UNKNOWN = Found(Any)

CONSTANT_MODULES = (math, cmath, np)
"""Their numbers (`math.pi`) are constants like their functions."""


# -- globals and cells ---------------------------------------------------------------------------------------


def global_name(
    namespace: dict[str, Anything], name: str, *, constant: bool = False, held: bool = False
) -> Found:
    try:
        value = prim.load_global(namespace, name)
    except NameError:
        return UNKNOWN
    return _at_path(value, (namespace, (name,)), constant=constant, held=held)


def _at_path(value: Anything, path: Path, *, constant: bool = False, held: bool = False) -> Found:
    type_ = stored_type(value, constant=constant, held=held)
    guard = PathIs(*path, value) if _by_identity(type_) else PathType(*path, type_)
    return Found(type_, guard, path)


def _by_identity(type_: Type) -> bool:
    """Texts are as good as equal ones."""
    return isinstance(type_, Known) and type(type_.value) is not str


def stored_type(value: Anything, *, constant: bool = False, held: bool = False) -> Type:
    """The type of what a name, attribute or cell holds. Sentinels (`object()`) are there to be compared."""
    if is_code(value) or type(value) in (object, type(np._NoValue)) or (constant and is_literal(value)):
        return Known(value)
    if held and not of_installed(type(value)):  # behind those is no end of code
        return guardable(held_type(value))
    return without_lists(type_of(value))  # checking each item would cost too much


def is_code(value: Anything) -> bool:
    """A program part rather than data: a module, class, function, or what wraps one. What has no hash is none
    (`functools.cmp_to_key(f)`): tables of callees cannot be asked about it."""
    if issubclass(type(value), (*CODE, np.vectorize)) or hasattr(type(value), "__wrapped__"):
        return True
    of_python = called(type(value)) is not None
    return callable(value) and not of_python and hashable(value)


def cell_contents(cell: pytypes.CellType, *, constant: bool = False, held: bool = False) -> Found:
    try:
        value = cell.cell_contents
    except ValueError:
        return UNKNOWN
    type_ = stored_type(value, constant=constant, held=held)
    return Found(type_, CellIs(cell, value) if _by_identity(type_) else CellType(cell, type_))


# -- imports -------------------------------------------------------------------------------------------------


def imported(
    namespace: dict[str, Anything], name: str, names: tuple[str, ...] | None, level: int
) -> tuple[Found, list[Guard]]:
    """What an import statement finds among the modules that there are, and what that rests on besides: then
    it does nothing else (The Python Language Reference, 5.3.1 and 7.11)."""
    package, scope = namespace.get("__package__"), namespace.get("__builtins__", builtins)
    importer = builtins.__import__
    if scope not in (builtins, vars(builtins)) or type(importer) is not pytypes.BuiltinFunctionType:
        return UNKNOWN, []
    besides: list[Guard] = [AttrIs(builtins, "__import__", importer)]
    if level:
        if type(package) is not str or package.count(".") < level - 1:
            return UNKNOWN, []
        besides.append(PathIs(namespace, ("__package__",), package))
        name = ".".join([*package.rsplit(".", level - 1)[:1], *filter(None, [name])])
    whole = sys.modules.get(name)
    lacking = [name] if whole is None else [f"{name}.{n}" for n in names or () if n not in vars(whole)]
    _NOT_IMPORTED.update(lacking)
    if lacking or not _is_ready(whole):
        return UNKNOWN, []
    if names is None and "." in name:
        if level:
            return UNKNOWN, []  # there is no such statement
        besides.append(PathIs(sys.modules, (name,), whole))
        name, _, _ = name.partition(".")
    path, module = (sys.modules, (name,)), sys.modules.get(name)
    if not _is_ready(module):
        return UNKNOWN, []
    return Found(Known(module), PathIs(*path, module), path), besides


_NOT_IMPORTED: set[str] = set()
"""Modules that were asked for."""


def not_imported() -> frozenset[str]:
    """Those that imports asked for while there was none: once there is, more is known."""
    return frozenset([name for name in _NOT_IMPORTED if name not in sys.modules])


def _is_ready(module: Anything) -> bool:
    """A module whose attributes are read without code of the user's, and not in the midst of being made."""
    if type(module) is not pytypes.ModuleType:
        return False
    return not getattr(vars(module).get("__spec__"), "_initializing", False)


# -- attributes ----------------------------------------------------------------------------------------------


def attribute(owner: Type, name: str, path: Path | None, *, held: bool = False) -> Found:
    """What `owner.name` is; `path` is how the program came by the owner, where that is by names."""
    if isinstance(owner, Known):
        if issubclass(type(owner.value), pytypes.ModuleType):
            return _of_module(owner.value, name, path, held)
        if issubclass(type(owner.value), type):
            return _of_class(owner.value, name, path, held)
        if is_literal(owner.value) or issubclass(type(owner.value), (np.ufunc, np.dtype)):
            return _of_constant(owner.value, name)
    if isinstance(owner, Held):
        own = _held_attribute(owner, name)
        found = _held_by_class(owner, name) if own is None else Found(own)
        if found is not None:
            return found
    data = numpy_types.attribute(owner, name)
    return Found(data) if data is not None else _of_instance(owner, name)


def _held_attribute(owner: Held, name: str) -> Type | None:
    if owner.cls is dict or (
        is_data_descriptor(class_attribute(owner.cls, name)) and not issubclass(owner.cls, tuple)
    ):
        return None
    return owner.field(name)


def _held_by_class(owner: Held, name: str) -> Found | None:
    """A method or an attribute of the class, where the object has nothing under its name: who calls the
    program asks that of each such object. (The Python Language Reference, 3.3.2: but for data descriptors,
    what the object holds comes before what its class holds.)"""
    cls = owner.cls
    if cls is dict or issubclass(cls, tuple) or owner.field(name) is not None:
        return None
    if not (type(cls) in (type, ABCMeta) and cls.__getattribute__ is object.__getattribute__):
        return None
    if not has_dict(cls):
        return None
    found = class_attribute(cls, name)
    if type(found) is pytypes.FunctionType:
        return Found(Bound(owner, found), AttrIs(cls, name, found), None, (cls, name))
    static = type(found) is staticmethod
    if found is None or (hasattr(type(found), "__get__") and not (static or _is_of_class(found))):
        return None
    return _held_datum(cls, name, getattr(cls, name) if hasattr(type(found), "__get__") else found)


def _is_of_class(found: Anything) -> bool:
    """A method that is given the class: a new object each time, and equal."""
    return type(found) is classmethod and type(found.__func__) is pytypes.FunctionType


def _held_datum(cls: type, name: str, value: Anything) -> Found:
    """Of a tuple the class alone: guards do not look into long ones."""
    type_ = stored_type(value, held=type(value) is str)
    if _by_identity(type_):
        return Found(type_, AttrIs(cls, name, value), None, (cls, name))
    kept = type_ if isinstance(type_, (ArrayOf, Known)) else Exact(type(value))
    return Found(kept, AttrType(cls, name, kept), None, (cls, name))


def _of_module(module: pytypes.ModuleType, name: str, path: Path | None, held: bool) -> Found:
    computing = vars(module).get("__getattr__") if name not in vars(module) else None
    if type(computing) is pytypes.FunctionType and not is_installed(computing.__code__.co_filename):
        return UNKNOWN  # to look is to run it
    try:
        value = getattr(module, name)
    except AttributeError:
        return UNKNOWN
    constant = module in CONSTANT_MODULES
    if path is not None:
        return _at_path(value, (path[0], (*path[1], name)), constant=constant, held=held)
    return _of_owner(module, name, value, constant=constant, held=held)


def _of_owner(owner: Anything, name: str, value: Anything, *, constant: bool = False, held: bool) -> Found:
    """What a module or class holds that no name leads to any more."""
    type_ = stored_type(value, constant=constant, held=held)
    if _by_identity(type_):
        return Found(type_, AttrIs(owner, name, value))
    told = held or issubclass(type(owner), pytypes.ModuleType)
    return Found(type_, AttrType(owner, name, type_)) if told else UNKNOWN


def rests_on_held(guards: Iterable[Guard]) -> bool:
    """Some ask what objects, containers and classes hold, which code out of sight may change. (Of modules it
    is known who changes them.)"""
    return any(
        has_held(guard.type) or (isinstance(guard, AttrType) and issubclass(type(guard.owner), type))
        for guard in guards
        if isinstance(guard, OfType)
    )


def _of_class(cls: type, name: str, path: Path | None, held: bool) -> Found:
    """Functions as they are. What else is made anew each time cannot be guarded."""
    if type(cls) not in (type, ABCMeta):
        return UNKNOWN
    found = class_attribute(cls, name)
    if found is not None and type(found).__flags__ & HEAP_TYPE and class_attribute(type(found), "__get__"):
        return UNKNOWN  # to look is to run it
    value = getattr(cls, name, _MISSING)
    anew = value is not getattr(cls, name, _MISSING) and not _is_of_class(found)
    if value is _MISSING or anew:
        return UNKNOWN
    if builtin(cls):
        return Found(const_type(value))
    if path is not None:
        return _at_path(value, (path[0], (*path[1], name)), held=held)
    if not held and not is_code(value):
        return UNKNOWN
    return _of_owner(cls, name, value, held=held)


_MISSING: Anything = object()


def _of_constant(value: Anything, name: str) -> Found:
    """Literals, ufuncs and dtypes never change."""
    attr = getattr(value, name, _MISSING)
    if is_literal(attr) or issubclass(type(attr), (pytypes.BuiltinMethodType, type, np.dtype)):
        return Found(Known(attr))
    return UNKNOWN


def _of_instance(owner: Type, name: str) -> Found:
    """A method, bound; slots and properties are data of unknown type."""
    cls = cls_of(owner)
    if cls is None or not finds_class_attribute(cls, name):
        return UNKNOWN
    found = special_method(owner, name)
    return Found(_DATA.get((cls, name), Any)) if found is UNKNOWN else found


def unless_hidden(owner: Type, name: str) -> Found:
    """The function of the class, which the object itself may hide: whoever takes it for that looks whether
    it does."""
    cls = cls_of(owner)
    if cls is None or isinstance(owner, Known) or type(cls) not in (type, ABCMeta) or builtin(cls):
        return UNKNOWN
    found = class_attribute(cls, name)
    reads = class_attribute(cls, "__getattribute__") is class_attribute(object, "__getattribute__")
    plain = reads and type(found) is pytypes.FunctionType
    return Found(Bound(owner, found), AttrIs(cls, name, found)) if plain else UNKNOWN


def special_method(owner: Type, name: str) -> Found:
    """The class's method, whatever the object itself has under this name."""
    cls = cls_of(owner)
    if cls is None:
        return UNKNOWN
    found = class_attribute(cls, name)
    if type(found) not in _METHODS and not _is_compiled(found):
        return UNKNOWN
    return Found(Bound(owner, found), None if builtin(cls) else AttrIs(cls, name, found))


_METHODS = (pytypes.FunctionType, pytypes.MethodDescriptorType, pytypes.WrapperDescriptorType)


def _is_compiled(found: Anything) -> bool:
    """A function that Cython has made: in a class it is a method."""
    return str(type(found).__module__).startswith("_cython") and hasattr(type(found), "__get__")


_DATA: dict[tuple[type, str], Type] = {
    **{(cls, part): Exact(float) for cls in (float, complex) for part in ("real", "imag")},
    **{
        (cls, part): Exact(int)
        for cls in (int, bool)
        for part in ("real", "imag", "numerator", "denominator")
    },
}


def call_guard(cls: type) -> AttrIs:
    """That `called(cls)` is what it is."""
    return AttrIs(cls, "__call__", class_attribute(cls, "__call__"))


def finds_class_attribute(cls: type, name: str) -> bool:
    """Whether `x.name` for an `x` of exactly `cls` surely means what the class holds.

    It does not where `x` may have an entry of its own: in classes with a `__dict__`, except for data
    descriptors, which win over it. Nor where the class computes its attributes, or its metaclass is not
    known.
    """
    if (
        type(cls) not in (type, ABCMeta)
        or class_attribute(cls, "__getattribute__") not in (object.__getattribute__, tuple.__getattribute__)
    ):
        return builtin(cls) and type(cls) is type
    found = class_attribute(cls, name)
    return found is not None and (not cls.__dictoffset__ or is_data_descriptor(found))


def stores_plainly(cls: type, function: Anything, name: Anything) -> bool:
    """`x.name = y`, or x[name] = y of a dict, puts y into an `x` of exactly this class, and that is all."""
    if cls is dict or function is not setattr:
        return cls is dict and function is operator.setitem and type(name) is str
    own = class_attribute(cls, "__setattr__") is object.__setattr__ and type(name) is str
    return own and bool(cls.__dictoffset__) and not is_data_descriptor(class_attribute(cls, name))


def is_data_descriptor(found: Anything) -> bool:
    return hasattr(type(found), "__set__") or hasattr(type(found), "__delete__")


def property_getter(owner: Type, name: str) -> tuple[pytypes.FunctionType, AttrIs] | None:
    """The function behind a Python property, and its guard."""
    cls = cls_of(owner)
    found = class_attribute(cls, name) if cls is not None and finds_class_attribute(cls, name) else None
    if type(found) is property and type(found.fget) is pytypes.FunctionType:
        return found.fget, AttrIs(cls, name, found)
    return None
