"""What a callee does with numbers and arrays: found out once, and remembered.

moves       it moves objects and looks into none: containers, attributes, iterators
zero        its derivative is zero by rule
ruled       the table, or a rule of the user's, has its derivative
"""

from __future__ import annotations

import _abc
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
from ctxdispatch.ir import primitives
from ctxdispatch.ir.values import hashable
from ctxdispatch_contexts.derivatives import table
from ctxdispatch_contexts.programs.activity import has_derivative, has_zero_derivative
from ctxdispatch_contexts.programs.converting import DISPATCHED, FUNCTION, UFUNC, takes_arrays
from ctxdispatch_contexts.programs.errors import MissingRuleError, user_position
from ctxdispatch_contexts.programs.operands import INPLACE
from ctxdispatch_contexts.programs.primitive import Primitive
from ctxdispatch_contexts.recording import looking


class Callee(NamedTuple):
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
    asks: str
    """The method of operands that NumPy calls in its place, or nothing."""
    takes_arrays: bool
    """It makes arrays of objects of the user's."""
    looks: bool
    """It looks at some of the objects that it is given."""
    prepared: bool
    """`unseen.prepared` is to look at its operands."""


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
        callee in INPLACE or isinstance(callee, Primitive) or has_derivative(callee)
        or table.lowering(callee) is not None
    )  # fmt: skip
    by_array = isinstance(callee, (np.ufunc, Primitive)) or callee is np.broadcast_arrays
    code = getattr(callee, "_implementation", None)
    return Callee(
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
        code=code if isinstance(code, types.FunctionType) else None,
        asks=(asks := _asks(callee, has_hash)),
        takes_arrays=bool(asks) or (has_hash and takes_arrays(callee)),
        looks=looking.at(callee) is not looking.Looks.NOWHERE,
        prepared=looking.is_prepared(callee),
    )


def _asks(callee: Any, has_hash: bool) -> str:
    of_ufunc = isinstance(callee, np.ufunc) or isinstance(getattr(callee, "__self__", None), np.ufunc)
    if of_ufunc or callee is np.ufunc.at or (has_hash and INPLACE.get(callee, callee) in UFUNCS):
        return UFUNC
    return FUNCTION if type(callee) is DISPATCHED else ""


_ALL = 1 << 30

# -- what moves ----------------------------------------------------------------------------------------------

_CONVERTER: Any = np._core._multiarray_umath._array_converter  # type: ignore[attr-defined]
_CONVERTS = [f for f in vars(_CONVERTER).values() if type(f) is types.MethodDescriptorType]
"""By which NumPy's own Python code takes its arguments for arrays, and gives arrays back."""

_MOVERS = frozenset(map(id, (
    types.FunctionType, types.CellType, operator.itemgetter, operator.methodcaller, builtins.locals,
    builtins.__build_class__, builtins.globals, builtins.vars, builtins.dir, builtins.super,
    primitives.format_value, primitives.build_string, _CONVERTER, *_CONVERTS,
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
    named = [c for c in (*vars(builtins).values(), *vars(types).values()) if isinstance(c, type)]
    return frozenset([*named, *map(type, nameless), type(iter(int, 1))])


class _Items:
    def __getitem__(self, index: int) -> Any:
        raise IndexError


_BUILTINS = _builtins()

_ON_SEQUENCES = frozenset({
    operator.add, operator.iadd, operator.mul, operator.imul, operator.or_, operator.ior,
})  # fmt: skip

_ON_NUMBERS = _ON_SEQUENCES | {
    operator.getitem, operator.setitem, operator.delitem, builtins.getattr, builtins.setattr, builtins.next,
}  # fmt: skip


def _moves(callee: Any, row: Any) -> bool:
    if row is not None or id(callee) in _MOVERS or type(callee) is _KEY or _is_dict(callee):
        return True
    return (
        type(callee) in _METHODS and callee.__objclass__ not in _COMPUTE and _is_pythons(callee.__objclass__)
    )


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
    if callee is setattr and args and not isinstance(args[0], np.ndarray):
        return True  # of the user's numbers too
    if known.moves:
        return not (known.by_first and args and (isinstance(args[0], _NUMERIC) or _by_numpy(callee, args)))
    if not args:
        return False
    return isinstance(args[0], (str, bytes)) if callee is operator.mod else _is_of_sets(callee, args[0])


def goes_through(known: Callee, args: tuple[Any, ...]) -> bool:
    """A call that moves takes the items of its operands."""
    if known.extends:
        return isinstance(args[0], (list, deque))
    return known.spreads or (known.replaces and len(args) == 3 and type(args[1]) is slice)


def _by_numpy(callee: Any, args: tuple[Any, ...]) -> bool:
    """[1.0, 2.0] * array is computed by the array."""
    return callee in _ON_SEQUENCES and isinstance(args[1], np.ndarray)


def _is_of_sets(callee: Any, first: Any) -> bool:
    return callee in _ON_SETS and isinstance(first, SETS)


_ON_SETS = (operator.sub, operator.and_, operator.xor, operator.isub, operator.iand, operator.ixor)
SETS = (set, frozenset, type({}.keys()), type({}.items()))


def holds_bytes(container: Any) -> bool:
    """Of a class of C's whose items are no objects (`array.array`, `memoryview`, arrays of ctypes): one that
    is stored there is made into bytes, and another is read."""
    if isinstance(container, _NUMERIC):
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
    if isinstance(found, property):
        return isinstance(found.fset, types.BuiltinFunctionType)
    if isinstance(found, (types.GetSetDescriptorType, types.MemberDescriptorType)):
        return not (found.__objclass__.__flags__ & HEAPTYPE or _is_pythons(found.__objclass__))
    return type(found).__module__ == "_ctypes"


_NUMERIC = (np.ndarray, np.flatiter, float, complex, np.generic, int)

# -- spellings -----------------------------------------------------------------------------------------------

SLOT = type(np.ndarray.__add__)
_SPELLINGS: dict[Any, Any] = {
    found: getattr(operator, name)
    for cls in (np.ndarray, np.flatiter)
    for name in dir(operator)
    if name.startswith("__") and (found := cls.__dict__.get(name)) is not None
}


def spelled(callee: Any) -> Any:
    """Methods of arrays that are operators, as those."""
    return _SPELLINGS.get(callee, callee) if type(callee) is SLOT else callee


UFUNCS: dict[Any, Any] = {
    operator.add: np.add, operator.sub: np.subtract, operator.mul: np.multiply,
    operator.truediv: np.true_divide, operator.floordiv: np.floor_divide, operator.mod: np.remainder,
    operator.pow: np.power, operator.matmul: np.matmul, operator.neg: np.negative, operator.pos: np.positive,
    operator.abs: np.absolute, operator.lt: np.less, operator.le: np.less_equal, operator.gt: np.greater,
    operator.ge: np.greater_equal, operator.eq: np.equal, operator.ne: np.not_equal,
}  # fmt: skip
_SLOTS = frozenset({operator.getitem, operator.setitem})


def of_slot(record: Any, callee: Any, args: tuple[Any, ...]) -> Any:
    """What a method of np.ndarray, `callee` as an operator, is on a subclass that has one of its own in
    Python code: the operator would be that one again."""
    if callee in _SLOTS:
        return callee
    if callee not in UFUNCS and record.any_active(args):
        raise MissingRuleError(
            f"np.ndarray's {callee.__name__}, called by the class {type(args[0]).__name__}, has no "
            "derivative rule; use arrays of NumPy's own class (`np.asarray(x)`)",
            user_position(),
        )
    return UFUNCS.get(callee, callee)


VIEWS: frozenset[Any] = frozenset({
    np.reshape, np.ravel, np.transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.squeeze, np.expand_dims,
    np.atleast_1d, np.atleast_2d, np.atleast_3d, np.broadcast_to, np.diagonal, np.asarray, np.asanyarray,
    np.ascontiguousarray, np.real, np.imag, np.flip, np.flipud, np.fliplr, np.rot90, np.require,
    np.ndarray.__array__,
    *(getattr(np.ndarray, name) for name in "reshape ravel transpose swapaxes squeeze diagonal".split()),
    np.ndarray.view, np.ndarray.getfield,
})  # fmt: skip


def is_plain(value: Any) -> bool:
    """Of a class that has no operations in Python code."""
    cls = type(value)
    return not cls.__flags__ & HEAPTYPE or cls.__module__ == "builtins"
