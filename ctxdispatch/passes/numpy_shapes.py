"""Dimensions of results where sampling would not tell: indexing, reshaping, making arrays.

A dimension is True (length 1), False (another length) or None (not known).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any as Anything

import numpy as np

from ctxdispatch.facts import fact_of
from ctxdispatch.ir.registry import Registry
from ctxdispatch.passes.types import (
    Any,
    ArrayOf,
    Dim,
    Exact,
    Held,
    Known,
    Length,
    ListOf,
    TupleOf,
    Type,
    cls_of,
    number_classes,
)

Args = tuple[Type, ...]
Dims = tuple[Dim, ...]
INTS = (int, np.int64, np.int32, np.intp)


def broadcast(shapes: Sequence[Dims]) -> Dims:
    """Lengths other than 1 must be equal or NumPy raises, so False wins over whatever it meets."""
    if not shapes:
        return ()
    columns = zip_longest(*(reversed(s) for s in shapes), fillvalue=True)
    return tuple(map(_meet, columns))[::-1]


def _meet(column: tuple[Dim, ...]) -> Dim:
    if False in column:
        return False
    rest = [d for d in column if d is not True]
    return True if not rest else rest[0] if all(d == rest[0] for d in rest) else None


def forget_lengths(type_: Type) -> Type:
    if isinstance(type_, TupleOf):
        return TupleOf(tuple(map(forget_lengths, type_.items)))
    if isinstance(type_, Held):
        return Held(type_.cls, tuple((name, forget_lengths(t)) for name, t in type_.fields))
    if isinstance(type_, ListOf):
        return ListOf(forget_lengths(type_.item))
    return ArrayOf(type_.dtype, (None,) * len(type_.dims)) if isinstance(type_, ArrayOf) else type_


def array_or_scalar(dtype: Anything, dims: Dims, *, scalar: bool) -> Type:
    return ArrayOf(dtype, dims) if dims or not scalar else Exact(dtype.type)


SHAPE_ARGUMENT: dict[Anything, int] = {}
"""Where functions of ours take the shape of what they return."""


def shape_argument(function: Anything) -> int | None:
    row = fact_of(function)
    if row is not None and row.lengths.positions:
        return row.lengths.positions[0]
    return SHAPE_ARGUMENT.get(function)


SHAPED: Registry[Callable[[Args, Mapping[str, Type]], Type]] = Registry()
"""Rules that know of shapes."""


# -- shapes given as arguments -------------------------------------------------------------------------------


def dims_of(shape: Type) -> Dims | None:
    """The dimensions of an array made with this `shape` argument; None where its rank is not known."""
    items = shape.items if isinstance(shape, TupleOf) else (shape,)
    if not all(cls_of(i) in INTS for i in items):
        return None
    return tuple(_dim(i) for i in items)


def _dim(length: Type) -> bool | None:
    return bool(length.value == 1) if isinstance(length, Known) and length.value != -1 else None


def dtype_of(type_: Type | None, default: Anything) -> Anything:
    """The dtype that a `dtype` argument means; None where that is not known."""
    if type_ is None:
        return np.dtype(default)
    if not isinstance(type_, Known):
        return None
    try:
        return np.dtype(default if type_.value is None else type_.value)
    except TypeError:
        return None


@SHAPED.of(np.zeros, np.ones, np.empty)
def filled(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """zeros, ones, empty: (shape, dtype=float)"""
    given = {**dict(zip(("shape", "dtype"), args)), **kwargs}
    dims = dims_of(given["shape"]) if "shape" in given else None
    dtype = dtype_of(given.get("dtype"), float)
    return ArrayOf(dtype, dims) if dims is not None and dtype is not None and set(given) <= _FILLED else Any


_FILLED = {"shape", "dtype", "order"}


@SHAPED.of(np.full)
def full(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """full(shape, value, dtype=that of the value)"""
    given = {**dict(zip(("shape", "value", "dtype"), args)), **kwargs}
    dims, cls = dims_of(given["shape"]), cls_of(given["value"])
    simple = cls in (bool, int, float, complex) or (cls is not None and issubclass(cls, np.number))
    dtype = dtype_of(given.get("dtype"), cls) if simple else None
    return ArrayOf(dtype, dims) if dims is not None and dtype is not None else Any


@SHAPED.of(np.eye)
def eye(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """eye(rows, columns=rows, diagonal=0, dtype=float)"""
    given = {**dict(zip(("N", "M", "k", "dtype"), args)), **kwargs}
    rows, columns = given.get("N", Any), given.get("M", Known(None))
    dims = dims_of(TupleOf((rows, rows if columns == Known(None) else columns)))
    dtype = dtype_of(given.get("dtype"), float)
    return ArrayOf(dtype, dims) if dims is not None and dtype is not None and set(given) <= _EYE else Any


_EYE = {"N", "M", "k", "dtype", "order"}


@SHAPED.of(np.identity)
def identity(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """identity(rows, dtype=float)"""
    return eye(args, kwargs) if len(args) == 1 and set(kwargs) <= {"dtype"} else Any


@SHAPED.of(np.bincount)
def bincount(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """bincount(x, weights=None, minlength=0): the greatest x decides the length, if no more is asked for."""
    given = {**dict(zip(("x", "weights"), args)), **kwargs}
    weights = given.get("weights", Known(None))
    known = isinstance(given.get("x"), ArrayOf) and (weights == Known(None) or isinstance(weights, ArrayOf))
    return ArrayOf(np.dtype(np.intp if weights == Known(None) else float), (None,)) if known else Any


@SHAPED.of(np.arange)
def arange(args: Args, kwargs: Mapping[str, Type]) -> Type:
    classes = {cls_of(a) for a in args}
    if not classes <= {int, float} or not set(kwargs) <= {"dtype"}:
        return Any
    dtype = dtype_of(kwargs.get("dtype"), float if float in classes else int)
    length = args[0] if len(args) == 1 and classes == {int} else Exact(int)
    return Any if dtype is None else ArrayOf(dtype, (_dim(length),))


@SHAPED.of(np.linspace)
def linspace(args: Args, kwargs: Mapping[str, Type]) -> Type:
    simple = len(args) in (2, 3) and not kwargs and {cls_of(a) for a in args[:2]} <= {int, float, np.float64}
    if not simple or (len(args) == 3 and cls_of(args[2]) is not int):
        return Any
    return ArrayOf(np.dtype(float), (_dim(args[2]) if len(args) == 3 else False,))


# -- random draws --------------------------------------------------------------------------------------------

_GENERATOR = np.random.Generator


@SHAPED.of(np.random.default_rng)
def default_rng(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """Of a seed: what is given a generator gives that."""
    seeds = [*args, *kwargs.values()]
    return Exact(_GENERATOR) if all(cls_of(s) in (int, type(None)) for s in seeds) else Any


def _draw(size_at: int, cls: Anything) -> Callable[[Args, Mapping[str, Type]], Type]:
    """Of a distribution whose parameters are numbers; `cls` is what one draw is."""

    def drawn(args: Args, kwargs: Mapping[str, Type]) -> Type:
        given = dict(enumerate(args)) | {size_at if k == "size" else k: t for k, t in kwargs.items()}
        size = given.pop(size_at, Known(None))
        known = set(given) <= {*range(size_at), *_PARAMETERS} and cls_of(given.pop(0, Any)) is _GENERATOR
        if not known or not all(map(number_classes, given.values())):
            return Any
        dims = () if size == Known(None) else dims_of(size)
        return Any if dims is None else Exact(cls) if size == Known(None) else ArrayOf(np.dtype(cls), dims)

    return drawn


_PARAMETERS = frozenset(("loc", "scale", "low", "high", "mean", "sigma", "lam", "n", "p", "df", "shape"))
_DRAWS = {
    **dict.fromkeys(("random", "standard_normal", "standard_exponential"), (1, float)),
    **dict.fromkeys(("exponential", "rayleigh", "chisquare", "standard_t"), (2, float)),
    **dict.fromkeys(("normal", "uniform", "laplace", "gumbel", "logistic", "lognormal", "gamma"), (3, float)),
    "integers": (3, np.int64), "binomial": (3, int), "poisson": (2, int),
}  # fmt: skip
for _name, (_at, _cls) in _DRAWS.items():
    SHAPED.of(getattr(_GENERATOR, _name))(_draw(_at, _cls))


@SHAPED.of(_GENERATOR.permutation)
def permutation(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """Of the first whole numbers, or a copy of an array."""
    of = args[1] if len(args) == 2 and not kwargs else Any
    if isinstance(of, ArrayOf):
        return of
    return ArrayOf(np.dtype(np.int64), (None,)) if cls_of(of) is int else Any


# -- parts and other forms -----------------------------------------------------------------------------------


@SHAPED.of(np.split, np.array_split)
def split(args: Args, kwargs: Mapping[str, Type]) -> Type:
    """A list of parts of the array, wherever it is cut."""
    array, *others = args
    axis = others[1] if len(others) > 1 else kwargs.get("axis", Known(0))
    if not isinstance(array, ArrayOf) or array.dtype.hasobject or "ary" in kwargs:
        return Any
    n = len(array.dims)
    at = axis.value % n if isinstance(axis, Known) and type(axis.value) is int and n else None
    dims = tuple([None if at is None or i == at else d for i, d in enumerate(array.dims)])
    return ListOf(ArrayOf(array.dtype, dims))


@SHAPED.of(np.reshape)
def reshape(args: Args, kwargs: Mapping[str, Type]) -> Type:
    if len(args) != 2 or kwargs or not isinstance(args[0], ArrayOf):
        return Any
    dims = dims_of(args[1])
    return Any if dims is None else ArrayOf(args[0].dtype, _single_unknown(args[0].dims, args[1], dims))


@SHAPED.of(np.ndarray.reshape)
def reshape_method(args: Args, kwargs: Mapping[str, Type]) -> Type:
    shape = args[1] if len(args) == 2 else TupleOf(args[1:])
    return reshape((args[0], shape), kwargs)


def _single_unknown(old: Dims, shape: Type, dims: Dims) -> Dims:
    """The length of -1 alone is that of the flattened array: 1 iff all were."""
    items = shape.items if isinstance(shape, TupleOf) else (shape,)
    ones = sum(d is True for d in dims)
    minus = [i for i, item in enumerate(items) if isinstance(item, Known) and item.value == -1]
    if len(minus) != 1 or ones != len(dims) - 1 or (None in old and False not in old):
        return dims
    return tuple(all(old) if i == minus[0] else d for i, d in enumerate(dims))


# -- indexing ------------------------------------------------------------------------------------------------


@SHAPED.of(operator.getitem)
def getitem(args: Args, kwargs: Mapping[str, Type]) -> Type:
    array, index = args
    if not isinstance(array, ArrayOf):
        return Any
    items = index.items if isinstance(index, TupleOf) else (index,)
    parts = [_part(i) for i in items]
    if None in parts:
        return Any
    return _Indexing(array, parts).result()  # type: ignore[arg-type]


Part = tuple[str, Anything]
"""("int", None), ("new", None), ("rest", None), ("slice", its type), ("array", dims), ("mask", rank)"""


def _part(index: Type) -> Part | None:
    if isinstance(index, ArrayOf):
        kind = index.dtype.kind
        return ("array", index.dims) if kind in "iu" else ("mask", len(index.dims)) if kind == "b" else None
    if isinstance(index, ListOf):
        return _LISTS.get(cls_of(index.item))
    if isinstance(index, Known) and (index.value is None or index.value is ...):
        return ("new", None) if index.value is None else ("rest", None)
    cls = cls_of(index)
    return ("slice", index) if cls is slice else ("int", None) if cls in INTS else None


_LISTS: dict[type | None, Part] = {int: ("array", (None,)), bool: ("mask", 1)}
_TAKES = {"int": 1, "slice": 1, "array": 1, "new": 0, "rest": 0}


class _Indexing:
    """Walks an index along the dimensions it takes. Integers beside arrays are arrays of rank 0."""

    def __init__(self, array: ArrayOf, parts: list[Part]) -> None:
        self.array = array
        taken = sum(_TAKES.get(kind, detail or 0) for kind, detail in parts)
        self.rest = len(array.dims) - taken
        self.explicit = ("rest", None) in parts  # x[..., 0] of a vector is an array of rank 0, x[0] a number
        self.parts = parts if self.explicit else [*parts, ("rest", None)]
        self.advanced = any(kind in ("array", "mask") for kind, _ in parts)

    def result(self) -> Type:
        if self.rest < 0 or self.parts.count(("rest", None)) > 1:
            return Any
        out: list[Dim] = []
        arrays: list[Dims] = []
        places: list[int] = []  # of the advanced parts: numbers in `parts`
        first, at = 0, 0
        for number, (kind, detail) in enumerate(self.parts):
            step = self.rest if kind == "rest" else detail if kind == "mask" else _TAKES[kind]
            dims, at = self.array.dims[at : at + step], at + step
            if kind in _ADVANCED and self.advanced:
                first = first if places else len(out)
                places.append(number)
                arrays.append(_ADVANCED[kind](detail))
            else:
                out.extend(_BASIC[kind](dims, detail))
        if arrays:
            first = first if places == list(range(places[0], places[0] + len(places))) else 0
            out[first:first] = broadcast(arrays)
        whole = not self.explicit and all(kind == "int" for kind, _ in self.parts[:-1])
        return array_or_scalar(self.array.dtype, tuple(out), scalar=whole)


def _sliced(dims: Dims, index: Type) -> Dims:
    """x[:] and x[::-1] keep the length; a slice of a single item has one or none."""
    if not isinstance(index, Known):
        return (None,)
    cut = index.value
    if cut.start is None and cut.stop is None and cut.step in (None, 1, -1):
        return dims
    if isinstance(dims[0], Length) and cut.step in (None, 1):
        less = _less(cut.start or 0, cut.stop)
        return (None if less is None else Length(dims[0].source, dims[0].less + less),)
    return (len(range(*cut.indices(1))) == 1,) if dims[0] is True else (None,)


def _less(start: Anything, stop: Anything) -> int | None:
    """How many items x[start:stop] leaves out, of any x that has so many, at both ends."""
    if type(start) is not int or start < 0 or not (stop is None or (type(stop) is int and stop < 0)):
        return None
    return start - (stop or 0)


_BASIC: dict[str, Anything] = {
    "int": lambda dims, detail: (),
    "new": lambda dims, detail: (True,),
    "rest": lambda dims, detail: dims,
    "slice": _sliced,
}
_ADVANCED: dict[str, Anything] = {
    "int": lambda detail: (),
    "array": lambda detail: detail,
    "mask": lambda detail: (None,),
}


def lacks_dimensions(args: Args) -> bool:
    """Numbers, None or arrays without axes are among numbers and arrays: their product raises."""
    scalars = {type(None), *(cls for a in args for cls in number_classes(a))}
    without = [not a.dims if isinstance(a, ArrayOf) else cls_of(a) in scalars for a in args]
    return any(without) and all(isinstance(a, ArrayOf) or no for a, no in zip(args, without))
