"""What calls of Python's builtins return, from the types of their arguments: all rules of `type_rules`, and
here those of truth and classes, conversions, and operators in place.
"""

from __future__ import annotations

import io
import operator
import sys
import types as pytypes
from abc import ABCMeta
from collections.abc import Iterator, Mapping
from typing import Any as Anything

from ctxdispatch.facts import INPLACE, UNARY, with_rows
from ctxdispatch.ir import primitives as prim
from ctxdispatch.ir.leaves import HEAP_TYPE, package_of
from ctxdispatch.passes import numpy_types, samples
from ctxdispatch.passes.container_types import item_of, unpacked
from ctxdispatch.passes.scalar_types import BINARY, COMPARE, SCALARS, functions
from ctxdispatch.passes.type_rules import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    RULES,
    STR,
    UNKNOWN,
    Args,
    Rule,
    join_all,
    known,
    returns,
    row,
    rule,
)
from ctxdispatch.passes.types import (
    Any,
    ArrayOf,
    Exact,
    Held,
    Known,
    OneOf,
    TupleOf,
    Type,
    cls_of,
    is_literal,
)

__all__ = [
    "BINARY",
    "COMPARE",
    "INPLACE",
    "RULES",
    "UNARY",
    "UNKNOWN",
    "builtin",
    "functions",
    "item_of",
    "join_all",
    "known",
    "truth",
    "unpacked",
]

# -- truth, length, classes ----------------------------------------------------------------------------------


def range_of(bounds: list[Anything] | tuple[Anything, ...]) -> range | None:
    """`range(*bounds)`, where that is known, raises nothing and has a length."""
    fits = all(type(b) is int and abs(b) < 1 << 31 for b in bounds) and 1 <= len(bounds) <= 3
    return range(*bounds) if fits and (len(bounds) < 3 or bounds[2] != 0) else None


def truth(type_: Type) -> bool | None:
    """bool() of a value of this type: None where that is not known."""
    if isinstance(type_, Known):
        if is_literal(type_.value):
            return bool(type_.value)
        return True if type(type_.value) in (pytypes.FunctionType, pytypes.BuiltinFunctionType) else None
    if isinstance(type_, TupleOf):
        return len(type_.items) > 0
    return None


def _truth_rule(negate: bool) -> Rule:
    def apply(args: Args, kwargs: Mapping[str, Type]) -> Type:
        value = truth(args[0]) if args else False
        return BOOL if value is None else Known(value is not negate)

    return apply


RULES[bool], RULES[operator.truth], RULES[operator.not_] = (
    _truth_rule(False),
    _truth_rule(False),
    _truth_rule(True),
)


@rule(len)
def _len(args: Args, kwargs: Mapping[str, Type]) -> Type:
    if args and isinstance(args[0], Held) and args[0].by_position:
        return Known(len(args[0].fields))
    return Known(len(args[0].items)) if args and isinstance(args[0], TupleOf) else INT


@rule(type)
def _type(args: Args, kwargs: Mapping[str, Type]) -> Type:
    cls = cls_of(args[0]) if len(args) == 1 else None
    return Any if cls is None else Known(cls)


@rule(callable)
def _callable(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """Of classes that stay as they are."""
    cls = cls_of(args[0]) if len(args) == 1 else None
    if cls is None or not builtin(cls):
        return BOOL
    return Known(any("__call__" in vars(base) for base in cls.__mro__))


@rule(hasattr)
def _hasattr(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """Of what has no attributes but its class's, methods: others may raise something when they are read."""
    cls, name = cls_of(args[0]), known(args[1])
    if cls is None or type(name) is not str or cls.__flags__ & HEAP_TYPE or cls.__dictoffset__:
        return BOOL
    found = [vars(base)[name] for base in cls.__mro__ if name in vars(base)]
    return Known(bool(found)) if not found or callable(found[0]) else BOOL


@rule(isinstance)
def _isinstance(args: Args, kwargs: Mapping[str, Type]) -> Type:
    cls, classes = cls_of(args[0]), known(args[1])
    if cls is None or classes is UNKNOWN or not _ordinary(classes):
        return BOOL
    if _pretends(cls) and not issubclass(cls, classes):
        return BOOL
    return Known(issubclass(cls, classes))


@rule(issubclass)
def _issubclass(args: Args, kwargs: Mapping[str, Type]) -> Type:
    cls, classes = map(known, args)
    if issubclass(type(cls), type) and classes is not UNKNOWN and _ordinary(classes):
        return Known(issubclass(cls, classes))
    return BOOL


def asks_no_class(value: Type, classes: Type) -> bool:
    """isinstance() of these runs no code of the user's: the class of the object is known, and what it says of
    itself; the others are of no metaclass that would be asked, nor of one with hooks (`abc`)."""
    cls, known_classes = cls_of(value), known(classes)
    if known_classes is UNKNOWN or not (isinstance(value, OneOf) or (cls is not None and not _pretends(cls))):
        return False
    return all(type(each) is type for each in _each(known_classes))


def _each(classes: Anything) -> Iterator[Anything]:
    """All classes of a tuple of such, or of a union, at any depth."""
    if isinstance(classes, pytypes.UnionType):
        classes = classes.__args__
    if type(classes) is not tuple:
        yield classes
        return
    for inner in classes:
        yield from _each(inner)


def _ordinary(classes: Anything) -> bool:
    """isinstance() with these runs no code of the user's."""
    if isinstance(classes, tuple):
        return all(map(_ordinary, classes))
    if isinstance(classes, pytypes.UnionType):
        return all(map(_ordinary, classes.__args__))
    return type(classes) is type or (type(classes) is ABCMeta and not _has_own_hook(classes))


def _has_own_hook(cls: type) -> bool:
    """A `__subclasshook__` of the user's."""
    home = next(base for base in cls.__mro__ if "__subclasshook__" in vars(base))
    return package_of(home) not in sys.stdlib_module_names


def stays_related(cls: type, classes: Anything) -> bool:
    """Whether issubclass() of these has the same answer for good."""
    return builtin(cls) and all(type(each) is type for each in _each(classes))


def _pretends(cls: type) -> bool:
    """Instances may give another `__class__`, which isinstance() asks for as well."""
    return any(
        "__class__" in vars(c) or "__getattribute__" in vars(c) for c in cls.__mro__[:-1]
    ) and not builtin(cls)


def builtin(cls: type) -> bool:
    """A class that cannot be changed: its attributes need no guard."""
    return bool(cls.__flags__ & (1 << 8))


# -- conversions ---------------------------------------------------------------------------------------------

row([float], returns(FLOAT))
row([int], returns(INT))
row([complex], returns(COMPLEX))
row([range], returns(Exact(range)))


def instance(cls: type) -> Type:
    """What is of this class."""
    return Known(None) if cls is pytypes.NoneType else Exact(cls)


for _f, _row in with_rows():
    if _row.gives is not None and _f not in RULES:
        row([_f], returns(instance(_row.gives)))


def _allocated(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """object.__new__(C)"""
    cls: Anything = args[0].value if len(args) == 1 and isinstance(args[0], Known) else None
    return Exact(cls) if issubclass(type(cls), type) and not kwargs else Any


row([object.__new__], _allocated)
row([dict, prim.build_map], returns(Exact(dict)))
row([set, prim.build_set], returns(Exact(set)))
row([frozenset], returns(Exact(frozenset)))
row([prim.make_cell], returns(Exact(pytypes.CellType)))
row([prim.make_function], returns(Exact(pytypes.FunctionType)))
row([object], returns(Exact(object)))
row([pytypes.SimpleNamespace], returns(Exact(pytypes.SimpleNamespace)))


@rule(str, repr, ascii, format, prim.format_value)
def text(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """str(x) of a user's class may be of a subclass of str."""
    return STR if all(map(_is_written_by_c, args)) else Any


def _is_written_by_c(type_: Type) -> bool:
    """A number or a text, or what writes one as a text. (Arrays may be written by a function of the user's,
    `np.printoptions(formatter=..)`.)"""
    if isinstance(type_, TupleOf):
        return all(map(_is_written_by_c, type_.items))
    cls = cls_of(type_)
    return cls in SCALARS or cls in samples.SCALARS or known(type_) in (str, repr, ascii)


_numbers_mod = RULES[operator.mod]


@rule(open)
def opened(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """A file of text, where the mode does not say otherwise. (A path may be an object that tells it.)"""
    path, mode = args[0], args[1] if len(args) > 1 else kwargs.get("mode", Known("r"))
    is_text = isinstance(mode, Known) and type(mode.value) is str and "b" not in mode.value
    return Exact(io.TextIOWrapper) if is_text and cls_of(path) is str and "opener" not in kwargs else Any


@rule(operator.mod)
def _mod(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """Of a text, too, and what is written into it."""
    if cls_of(args[0]) is str:
        return STR if _is_written_by_c(args[1]) else Any
    return _numbers_mod(args, kwargs)


@rule(slice)
def _slice(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """What it holds may have a method of the user's that gives an index: such a slice is no plain value."""
    if not all(_of_c(cls_of(a)) for a in args):
        return Any
    values = [known(a) for a in args]
    if any(v is UNKNOWN or not (v is None or type(v) is int) for v in values):
        return Exact(slice)
    return Known(slice(*values))


def _of_c(cls: type | None) -> bool:
    return cls is not None and not cls.__flags__ & HEAP_TYPE


# -- in place ------------------------------------------------------------------------------------------------


def _out_of_place(function: Anything, args: Args) -> Type:
    if any(map(numpy_types.is_numpy, args)):
        return numpy_types.RULES[function](function, args, {})
    return RULES[function](args, {}) if function in RULES else Any


def extends(xs: Type, ys: Type) -> bool:
    """`xs += ys` is `xs.extend(ys)`, and `xs` the same list. (An array comes first, and adds.)"""
    return cls_of(xs) is list and cls_of(ys) in (list, tuple)


def _inplace(function: Anything) -> Rule:
    def apply(args: Args, kwargs: Mapping[str, Type]) -> Type:
        if isinstance(args[0], ArrayOf):  # x += y is x: its class, dtype and shape stay
            return args[0]
        if function is operator.add and extends(*args):
            return Exact(list)
        return Any if cls_of(args[0]) in (set, dict) else _out_of_place(function, args)

    return apply


for _f, _g in INPLACE.items():
    RULES[_f] = _inplace(_g)
