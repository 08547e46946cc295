"""What a callee does with numbers and arrays: found out once, and remembered.

moves       it moves objects and looks into none: containers, attributes, iterators
zero        its derivative is zero by rule
ruled       the table, or a rule of the user's, has its derivative
"""

from __future__ import annotations

import _abc
import array
import builtins
import collections
import functools
import operator
import types
from collections import deque
from typing import Any, NamedTuple

import numpy as np

from ctxdispatch.dispatch import moving
from ctxdispatch.dispatch.reach import HEAPTYPE
from ctxdispatch.dispatch.strip import gives_items
from ctxdispatch.facts import (
    ATTRIBUTES,
    BINARY,
    INPLACE,
    ITEMS,
    NAMESPACES,
    SET_OPERATORS,
    VIEWS,
    Fact,
    Shares,
    fact_of,
)
from ctxdispatch.facts.arity import least
from ctxdispatch.ir import primitives
from ctxdispatch.ir.values import hashable
from ctxdispatch_contexts.derivatives import table
from ctxdispatch_contexts.programs.activity import has_derivative, has_zero_derivative
from ctxdispatch_contexts.programs.converting import DISPATCHED, FUNCTION, UFUNC, takes_arrays
from ctxdispatch_contexts.programs.ending import ended_by, may_compute
from ctxdispatch_contexts.programs.primitive import Primitive
from ctxdispatch_contexts.programs.remembered import EQUALITIES
from ctxdispatch_contexts.recording import looking
from ctxdispatch_contexts.recording.spellings import UFUNCS


class Callee(NamedTuple):
    fact: Fact | None
    """Its row."""
    moves: bool
    by_first: bool
    """It moves what is in containers, and is something else on numbers and arrays."""
    spreads: bool
    """It goes through its operands."""
    replaces: bool
    """It goes through what it puts in the place of a slice."""
    extends: bool
    """It goes through what it adds to a list."""
    zero: bool
    real: bool
    """Its row in the table is for real numbers only."""
    known: bool
    """The table has its derivative."""
    view: bool
    """It may return a view."""
    of_math: bool
    arrays: int
    """So many leading arguments are arrays: it makes arrays of numbers and lists there."""
    code: Any
    """The Python code behind a function of NumPy's that a C object stands for."""
    followed: bool
    """That is what runs, and asks by itself what its operands are."""
    follows: Any
    """The Python function that does what it does, where it calls what it is given, or stores into that."""
    ends: bool
    """It is a class of objects that compute when nothing refers to them."""
    asks: str
    """The method of operands that NumPy calls in its place, or nothing."""
    takes_arrays: bool
    """It makes arrays of objects of the user's."""
    looks: bool
    """It looks at some of the objects that it is given."""
    iterates: bool
    """It makes iterators."""
    prepared: bool
    """`unseen.prepared` is to look at its operands."""
    compares: bool
    """It says whether its operands are equal."""
    by_key: bool
    """It looks for its second operand in the first, or the other way round."""
    through: int
    """So many leading arguments it goes through, and computes with the items."""
    texts: bool
    """It may make a text of its operands."""
    keeps: Any
    """The operands that it stores into its first; of one, or a key and one, its position; 0: none."""
    least: int
    """It fails with fewer operands."""


def look_at(callee: Any) -> Callee:
    found = _KNOWN.get(id(callee))
    if found is not None and found[0] is callee:
        return found[1]
    made = _look_at(callee)
    if len(_KNOWN) >= _MOST:
        _KNOWN.clear()
    _KNOWN[id(callee)] = (callee, made)
    return made


_KNOWN: dict[int, tuple[Any, Callee]] = {}
_MOST = 4096


def _look_at(callee: Any) -> Callee:
    row = moving.row_of(callee)
    has_hash = hashable(callee)
    element = table.elementwise(callee) if has_hash else None
    known = has_hash and (
        callee in INPLACE or issubclass(type(callee), Primitive) or has_derivative(callee)
        or table.lowering(callee) is not None
    )  # fmt: skip
    by_array = issubclass(type(callee), (np.ufunc, Primitive)) or callee is np.broadcast_arrays
    code = getattr(callee, "_implementation", None)
    code = code if type(code) is types.FunctionType else None
    return Callee(
        fact=(fact := fact_of(callee)),
        moves=_moves(callee, row),
        by_first=has_hash and callee in _ON_NUMBERS,
        spreads=row in moving.SPREADING,
        extends=callee is operator.iadd,
        replaces=row is not None and row is moving.ROWS.get(id(operator.setitem)),
        zero=has_hash and has_zero_derivative(callee),
        real=element is not None and not element.holomorphic,
        known=bool(known),
        view=has_hash and callee in VIEWS,
        of_math=getattr(callee, "__module__", None) in ("math", "cmath"),
        arrays=_ALL if by_array else table.array_arguments(callee) if has_hash else 0,
        code=code,
        followed=code is not None and (not known or code.__code__.co_filename == _POLYNOMIALS),
        follows=table.lowering(callee) if known and fact is not None and _is_followed(fact) else None,
        ends=(ending := ended_by(callee)) is not None and may_compute(ending.__code__),
        asks=(asks := _asks(callee, has_hash)),
        takes_arrays=bool(asks) or (has_hash and takes_arrays(callee)),
        looks=looking.methods(fact),
        iterates=_iterates(callee),
        prepared=looking.is_prepared(callee, fact),
        compares=has_hash and callee in EQUALITIES,
        by_key=looking.looks_up(callee, fact),
        through=_through(fact) if type(callee) is types.BuiltinFunctionType else 0,
        texts=looking.makes_texts(fact),
        keeps=_kept(callee, fact),
        least=least(callee),
    )


_POLYNOMIALS = np.poly1d.__init__.__code__.co_filename
"""The functions of this file ask whether they are given polynomials, and give some then."""


def _is_followed(fact: Fact) -> bool:
    return bool(fact.calls or (fact.stores and fact.repeats))


def _iterates(callee: Any) -> bool:
    return callee is builtins.iter or (issubclass(type(callee), type) and gives_items(callee))


def _through(row: Fact | None) -> int:
    if row is None or row.twin is not None or "__radd__" not in row.methods:
        return 0
    return max(row.iterates.positions, default=-1) + 1


def _kept(callee: Any, fact: Fact | None) -> Any:
    """Displays store into what they are making (`[*a]`, `f(*a)`), which nobody has yet."""
    if getattr(callee, "__module__", None) == primitives.__name__:
        return 0
    if fact is None or not (fact.keeps and fact.stores.has(0)):
        return 0
    return {"1": 1, "2": 2, "1 2": 2}.get(str(fact.keeps), fact.keeps)


def _asks(callee: Any, has_hash: bool) -> str:
    of_ufunc = type(callee) is np.ufunc or type(getattr(callee, "__self__", None)) is np.ufunc
    if of_ufunc or callee is np.ufunc.at or (has_hash and INPLACE.get(callee, callee) in UFUNCS):
        return UFUNC
    return FUNCTION if type(callee) is DISPATCHED else ""


_ALL = 1 << 30

# -- what moves ----------------------------------------------------------------------------------------------

CONVERTER: Any = np._core._multiarray_umath._array_converter  # type: ignore[attr-defined]
CONVERTS = [f for f in vars(CONVERTER).values() if type(f) is types.MethodDescriptorType]
"""By which NumPy's own Python code takes its arguments for arrays, and gives arrays back."""

_MOVERS = frozenset(map(id, (
    types.FunctionType, types.CellType, operator.itemgetter, operator.methodcaller, builtins.super,
    type.__new__, builtins.dir, *NAMESPACES,
    primitives.format_value, primitives.build_string, CONVERTER, *CONVERTS,
    *(f for f in vars(_abc).values() if callable(f)),
)))  # fmt: skip
_KEY = type(functools.cmp_to_key(lambda a, b: 0))
_METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)
_CONTAINERS = (
    "collections", "itertools", "types", "weakref", "_queue", "_thread", "_contextvars",
    "_asyncio", "re", "functools",
)  # fmt: skip
_COMPUTE = (float, complex, int, bool, bytes, bytearray, memoryview)
"""Methods of classes of those modules, and of `_BUILTINS`, move what they are given, but for those of these
classes."""


def _builtins() -> frozenset[type]:
    """Those that have names, and those that have none: iterators, views of dicts."""
    ordered, plain = collections.OrderedDict[Any, Any](), dict[Any, Any]()
    views = [view for d in (plain, ordered) for view in (d, d.keys(), d.values(), d.items())]
    texts = ("", "\u00e9", b"", bytearray(), memoryview(b""))
    sequences = ([], (), set(), *texts, range(0), range(1 << 99), list[int], _Items())
    nameless = [*views, *map(iter, (*views, *sequences)), *map(reversed, (*views, [], range(1 << 99)))]
    named = [c for c in (*vars(builtins).values(), *vars(types).values()) if issubclass(type(c), type)]
    return frozenset([*named, *map(type, nameless), type(iter(int, 1))])


class _Items:
    def __getitem__(self, index: int) -> Any:
        raise IndexError


_BUILTINS = _builtins()

_MERGING = [f for f in (*BINARY, *INPLACE) if (row := fact_of(f)) and row.may_share(Shares.COPIES, 0)]
_ON_SETS = {f for f in _MERGING if INPLACE.get(f, f) in SET_OPERATORS - {operator.or_}}
_ON_SEQUENCES = frozenset(_MERGING) - _ON_SETS
_REPEAT = (operator.mul, operator.imul)

_SEQUENCES = (
    list, tuple, str, bytes, bytearray, deque, array.array, dict, set, frozenset, types.MappingProxyType,
    type({}.keys()), type({}.items()),
)  # fmt: skip

_ON_NUMBERS = (_ON_SEQUENCES | {*ITEMS, *ATTRIBUTES, builtins.next}) - {builtins.delattr}


def _moves(callee: Any, row: Any) -> bool:
    if row is not None or id(callee) in _MOVERS or type(callee) is _KEY or _is_dict(callee):
        return True
    if type(callee) not in _METHODS or callee.__name__ == "__call__":
        return False
    return callee.__objclass__ not in _COMPUTE and _is_pythons(callee.__objclass__)


def _is_pythons(cls: type) -> bool:
    """Of Python's own classes. Those of other C code may have no module, which reads `builtins`."""
    return cls in _BUILTINS if cls.__module__ == "builtins" else cls.__module__ in _CONTAINERS


def _is_dict(callee: Any) -> bool:
    """A class of dicts that are made as dicts are (`scipy.optimize.OptimizeResult`)."""
    if type(callee) is not type or not issubclass(callee, dict):
        return False
    return callee.__init__ is dict.__init__ and callee.__new__ is dict.__new__


def moves(known: Callee, callee: Any, args: tuple[Any, ...]) -> bool:
    """This call moves objects."""
    if callee is setattr and args and not issubclass(type(args[0]), np.ndarray):
        return True  # of the user's numbers too
    if known.moves:
        if not known.by_first or not args:
            return True
        if callee in _ON_SEQUENCES:
            return _concatenates(callee, args)
        return not issubclass(type(args[0]), _NUMERIC)
    if not args:
        return False
    return issubclass(type(args[0]), (str, bytes)) if callee is operator.mod else _is_of_sets(callee, args[0])


def goes_through(known: Callee, args: tuple[Any, ...]) -> bool:
    """A call that moves takes the items of its operands."""
    if known.extends:
        return issubclass(type(args[0]), (list, deque))
    return known.spreads or (known.replaces and len(args) == 3 and type(args[1]) is slice)


def _concatenates(callee: Any, args: tuple[Any, ...]) -> bool:
    """xs + ys, xs * n, n * xs, d | e: the items are moved. [1.0, 2.0] * array is computed by the array, and
    [1.0, 2.0] + np.float64(1.0) by NumPy's number, which only repeats, if it is an integer; what an object of
    any other class makes of it, nobody knows."""
    if len(args) != 2:
        return False  # and the call raises
    first, second = map(type, args)
    numpys = np.ndarray if callee in _REPEAT else (np.ndarray, np.number, np.bool_)
    if issubclass(first, _NUMERIC) or issubclass(second, numpys):
        return False
    return issubclass(first, _SEQUENCES) or issubclass(second, _SEQUENCES)


def _is_of_sets(callee: Any, first: Any) -> bool:
    return issubclass(type(first), SETS) and hashable(callee) and callee in _ON_SETS


SETS = (set, frozenset, type({}.keys()), type({}.items()))


def holds_bytes(container: Any) -> bool:
    """Of a class of C's whose items are no objects (`array.array`, `memoryview`, arrays of ctypes): one that
    is stored there is made into bytes, and another is read."""
    if issubclass(type(container), _NUMERIC):
        return False
    store = getattr(type(container), "__setitem__", None)
    if type(store) is not types.WrapperDescriptorType:
        return False
    owner = store.__objclass__
    return owner in _COMPUTE or not _is_pythons(owner)


def is_native_attribute(cls: type, name: str) -> bool:
    """What is stored there goes to C code that is no part of Python."""
    for c in cls.__mro__:
        if name in c.__dict__:
            return _is_native(c.__dict__[name])
    return False


def _is_native(found: Any) -> bool:
    if issubclass(type(found), property):
        return type(found.fset) is types.BuiltinFunctionType
    if type(found) in (types.GetSetDescriptorType, types.MemberDescriptorType):
        return not (found.__objclass__.__flags__ & HEAPTYPE or _is_pythons(found.__objclass__))
    return type(found).__module__ == "_ctypes"


_NUMERIC = (np.ndarray, np.flatiter, float, complex, np.generic, int)


def is_plain(value: Any) -> bool:
    """Of a class that has no operations in Python code."""
    cls = type(value)
    return not cls.__flags__ & HEAPTYPE or cls.__module__ == "builtins"


def is_number_or_array(value: Any) -> bool:
    return issubclass(type(value), np.ndarray) or is_plain(value)


def are_numbers(values: tuple[Any, ...]) -> bool:
    """Or arrays of numbers: there are no objects of the user's in them."""
    for value in values:
        cls = type(value)
        if not (cls in _FIXED or (cls is np.ndarray and not value.dtype.hasobject)):
            return False
    return True


_FIXED = frozenset({float, int, bool, complex, np.float64, np.int64, types.NoneType, slice, str})
