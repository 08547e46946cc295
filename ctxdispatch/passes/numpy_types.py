"""What NumPy calls return: dtype, rank, and which dimensions have length 1.

dtypes are not modelled but asked for: the function runs once on tiny operands of the same dtypes and kinds
(arrays, NumPy scalars, Python scalars, which NEP 50 treats as weak). So do the dimensions of most functions:
`SAMPLED` runs on operands whose dimensions of unknown length take several lengths, and the results are
joined. That is right for functions whose result has each dimension a sum or product of the operands'; where
it is not (slices, `reshape`) there is a rule of its own in `numpy_shapes`. Results are cached by function and
types.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import product
from typing import Any as Anything

import numpy as np

from ctxdispatch.facts import AS_ARRAY, ELEMENTWISE
from ctxdispatch.ir.leaves import is_leaf
from ctxdispatch.ir.registry import Registry
from ctxdispatch.passes import numpy_names
from ctxdispatch.passes import numpy_shapes as shapes
from ctxdispatch.passes.lengths import plain
from ctxdispatch.passes.types import (
    LITERALS,
    Any,
    ArrayOf,
    Dim,
    Exact,
    Held,
    Known,
    ListOf,
    Never,
    TupleOf,
    Type,
    cls_of,
    join,
    number_classes,
    type_of,
)

Args = tuple[Type, ...]
Rule = Callable[[Anything, Args, Mapping[str, Type]], Type]

KINDS = frozenset("biufc")
"""The dtypes that inference knows: of objects, strings and records it says nothing."""

SCALARS: dict[type, Anything] = {
    t: t(1) for t in (*np.sctypeDict.values(), bool, int, float, complex)
    if issubclass(type(t), type) and (t in (bool, int, float, complex) or np.dtype(t).kind in KINDS)
}  # fmt: skip


def is_numpy(type_: Type) -> bool:
    """An array or a NumPy scalar: operators on it are NumPy's."""
    if isinstance(type_, ArrayOf):
        return True
    cls = cls_of(type_)
    return cls is not None and issubclass(cls, (np.generic, np.ndarray))


def numeric(type_: Type) -> bool:
    if isinstance(type_, ArrayOf):
        return type_.dtype.kind in KINDS
    return cls_of(type_) in SCALARS


# -- elementwise ---------------------------------------------------------------------------------------------


def elementwise(function: Anything, args: Args, kwargs: Mapping[str, Type]) -> Type:
    """Ufuncs and operators: dimensions broadcast, the dtype comes from a sample of one element."""
    if not all(map(numeric, args)) or not set(kwargs) <= {"dtype"}:
        return Any
    dims = shapes.broadcast([a.dims for a in args if isinstance(a, ArrayOf)])
    found = _on_one_element(function, tuple(map(plain, args)), tuple(kwargs.items()))
    return _with_dims(found, dims)


def _with_dims(found: Type, dims: shapes.Dims) -> Type:
    if isinstance(found, TupleOf):
        return TupleOf(tuple(_with_dims(item, dims) for item in found.items))
    return ArrayOf(found.dtype, dims) if isinstance(found, ArrayOf) else found


@lru_cache(maxsize=4096)
def _on_one_element(function: Anything, args: Args, kwargs: tuple[tuple[str, Type], ...]) -> Type:
    try:
        return quiet(function, [_one(a) for a in args], {name: _one(a) for name, a in kwargs})
    except Exception:
        return Any


def _one(type_: Type) -> Anything:
    """Of what is no whole number a half: some functions raise at 1, where they have a pole."""
    if isinstance(type_, Known):
        return type_.value
    array = isinstance(type_, ArrayOf)
    found = np.ones((1,) * len(type_.dims), type_.dtype) if array else SCALARS[type_.cls]  # type: ignore[attr-defined]
    if np.result_type(found).kind in "fc":
        found *= 0.5  # an array of no dimensions stays one
    return found


def quiet(function: Anything, args: list[Anything], kwargs: dict[str, Anything]) -> Type:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return _type_of_result(function(*args, **kwargs))


def _type_of_result(value: Anything) -> Type:
    """Named tuples (factorisations) by what they hold: they have just been made, and stay as they are."""
    names = getattr(value, "_fields", None)
    if names is None or not isinstance(value, tuple):
        return _of_dtype(value) if isinstance(value, np.dtype) else type_of(value)
    return Held(type(value), tuple(zip(names, map(type_of, value))))


# -- by sampling ---------------------------------------------------------------------------------------------


class Unsampled(Exception):
    """There is no sample for an operand: its value would matter."""


def by_sampling(function: Anything, args: Args, kwargs: Mapping[str, Type]) -> Type:
    """Integers that are not known may be axes or lengths; a bool that comes first is data."""
    return _sampled_once(function, args, kwargs, data=int(bool(args) and cls_of(args[0]) in (bool, np.bool_)))


def by_sampling_data(function: Anything, args: Args, kwargs: Mapping[str, Type]) -> Type:
    """For functions whose positional integers are data, those of the first arguments or all."""
    data = DATA_ARGUMENTS.get(getattr(function, "__name__", ""), len(args))
    return _sampled_once(function, args, kwargs, data=data)


DATA_ARGUMENTS = {"concatenate": 1, "stack": 1, "append": 2, "cross": 2}
"""How many arguments are data, where axes follow them."""


def by_rank(function: Anything, args: Args, kwargs: Mapping[str, Type]) -> Type:
    return shapes.forget_lengths(by_sampling(function, args, kwargs))


def _sampled_once(function: Anything, args: Args, kwargs: Mapping[str, Type], *, data: int) -> Type:
    """`data`: how many arguments are. What is known of the user's objects is not kept."""
    known = [t.value for t in (*args, *kwargs.values()) if isinstance(t, Known)]
    return _sampled(function, args, tuple(kwargs.items()), data) if all(map(is_leaf, known)) else Any


@lru_cache(maxsize=4096)
def _sampled(function: Anything, args: Args, kwargs: tuple[tuple[str, Type], ...], data: int) -> Type:
    if {"out", "where", "initial"} & {name for name, _ in kwargs}:
        return Any
    unsure = sum(map(_unsure, (*args, *(t for _, t in kwargs))))
    found: Type = Never
    for lengths in _lengths(unsure):
        try:
            values = [_of_lengths(a, lengths, i < data) for i, a in enumerate(args)]
            named = {name: _of_lengths(a, lengths, False) for name, a in kwargs}
        except Unsampled:
            return Any
        try:
            found = join(found, quiet(function, values, named))
        except Exception:  # lengths that do not go together: the program would raise as well
            continue
    return Any if found is Never else shapes.forget_lengths(found) if unsure > MAX_UNSURE else found


MAX_UNSURE = 2
"""With more dimensions of unknown length, all get the same: only rank and dtype of the result count."""


def _lengths(unsure: int) -> Iterator[tuple[int, Iterator[int]]]:
    """(length of False dimensions, lengths of None dimensions and lists in turn)"""
    for long in (0, 2, 3):
        if unsure > MAX_UNSURE:
            yield from ((long, iter([n] * unsure)) for n in (0, 1, long))
        else:
            yield from ((long, iter(ns)) for ns in product((0, 1, long or 2), repeat=unsure))


def _unsure(type_: Type) -> int:
    """How many lengths `_sample` will take for it."""
    if isinstance(type_, ArrayOf):
        return sum(d is None for d in type_.dims)
    if isinstance(type_, TupleOf):
        return sum(map(_unsure, type_.items))
    return 1 + 3 * _unsure(type_.item) if isinstance(type_, ListOf) else 0


def _of_lengths(type_: Type, lengths: tuple[int, Iterator[int]], data: bool) -> Anything:
    long, unsure = lengths

    def number(cls: type) -> Anything:
        if not (data or np.dtype(cls).kind in "fc"):
            raise Unsampled
        return SCALARS[cls]

    def length(dim: Dim) -> int:
        return next(unsure) if dim is None else 1 if dim else long

    return sample(type_, length, _array, number)


def sample(
    type_: Type, length: Callable[[Dim], int], array: Callable[[ArrayOf, tuple[int, ...]], Anything],
    number: Callable[[type], Anything],
) -> Anything:  # fmt: skip
    """A value of the type; Unsampled where there is none. `length`: of dimensions, and of lists, as of None;
    `array`: of this shape."""
    if isinstance(type_, ArrayOf):
        if type_.dtype.kind not in KINDS:
            raise Unsampled
        return array(type_, tuple(map(length, type_.dims)))
    if isinstance(type_, TupleOf):
        return tuple(sample(item, length, array, number) for item in type_.items)
    if isinstance(type_, ListOf):
        return [sample(type_.item, length, array, number) for _ in range(length(None))]
    if isinstance(type_, Known) and _harmless(type_.value):
        return type_.value
    cls, *others = number_classes(type_) or [cls_of(type_)]
    if cls not in SCALARS or any(np.dtype(other) != np.dtype(cls) for other in others):
        raise Unsampled
    return number(cls)


def _harmless(value: Anything) -> bool:
    return type(value) in LITERALS or isinstance(value, (np.dtype, slice, np.generic)) or value in SCALARS


def _array(type_: ArrayOf, shape: tuple[int, ...]) -> Anything:
    """The identity matrix, repeated: it has an inverse, a determinant, a Cholesky factor."""
    if len(shape) < 2:
        return np.ones(shape, type_.dtype)
    return np.broadcast_to(np.eye(*shape[-2:], dtype=type_.dtype), shape).copy()


# -- the table -----------------------------------------------------------------------------------------------


def own(rule: Callable[[Args, Mapping[str, Type]], Type]) -> Rule:
    return lambda function, args, kwargs: rule(args, kwargs)


EXACT: Registry[Rule] = Registry()
"""Rules of a function's own."""


@EXACT.of(np.where)
def _where(function: Anything, args: Args, kwargs: Mapping[str, Type]) -> Type:
    """With one argument its result's length is that of the data."""
    return by_sampling_data(function, args, kwargs) if len(args) == 3 else Any


def keeping_shape(rule: Rule) -> Rule:
    """The result has the shape of the first argument, of known lengths or not, unless it is told another."""

    def kept(function: Anything, args: Args, kwargs: Mapping[str, Type]) -> Type:
        found = rule(function, tuple(map(plain, args)), {name: plain(t) for name, t in kwargs.items()})
        if (
            "shape" not in kwargs
            and isinstance(found, ArrayOf)
            and isinstance(args[0], ArrayOf)
            and found.ndim == args[0].ndim
        ):
            return ArrayOf(found.dtype, args[0].dims)
        return found

    KEEPS_SHAPE.add(kept)
    return kept


KEEPS_SHAPE: set[Rule] = set()


@EXACT.of(np.ndim)
def _ndim(function: Anything, args: Args, kwargs: Mapping[str, Type]) -> Type:
    if len(args) != 1 or kwargs or not numeric(args[0]):
        return Any
    return Known(len(args[0].dims) if isinstance(args[0], ArrayOf) else 0)


@EXACT.of(np.broadcast_to)
def _broadcast_to(function: Anything, args: Args, kwargs: Mapping[str, Type]) -> Type:
    """To lengths that are not known: their number is the rank."""
    found = by_sampling(function, args, kwargs)
    if found is not Any or len(args) != 2 or kwargs or not numeric(args[0]):
        return found
    dims = shapes.dims_of(args[1])
    dtype = args[0].dtype if isinstance(args[0], ArrayOf) else np.dtype(cls_of(args[0]))
    return Any if dims is None else ArrayOf(dtype, dims)


@EXACT.of(np.pad)
def _pad(function: Anything, args: Args, kwargs: Mapping[str, Type]) -> Type:
    """Whatever it is padded with is cast to the dtype of the array."""
    array = args[0] if args else Any
    known = isinstance(array, ArrayOf) and array.dtype.kind in KINDS
    return ArrayOf(array.dtype, (None,) * len(array.dims)) if known else Any  # type: ignore[attr-defined]


@EXACT.of(np.linalg.lstsq)
def _lstsq(function: Anything, args: Args, kwargs: Mapping[str, Type]) -> Type:
    """Whether there are residuals depends on the rank."""
    found = by_sampling(function, args, kwargs)
    if not isinstance(found, TupleOf):
        return Any
    x, residuals, *others = found.items
    return TupleOf((x, shapes.forget_lengths(residuals), *others))


@EXACT.of(*AS_ARRAY)
def _array_of(function: Anything, args: Args, kwargs: Mapping[str, Type]) -> Type:
    return by_sampling_data(function, args, kwargs) if set(kwargs) <= {"dtype", "copy"} else Any


OPERATORS = (*ELEMENTWISE, pow, divmod)

UFUNCS = tuple(f for f in vars(np).values() if type(f) is np.ufunc and f.signature is None)


def _named(owner: Anything, names: str, rule: Rule) -> dict[Anything, Rule]:
    return {getattr(owner, n): rule for n in names.split() if hasattr(owner, n)}


def _reducers() -> dict[Anything, Rule]:
    binary = [f for f in UFUNCS if f.nin == 2 and f.nout == 1]
    return {getattr(f, n): by_sampling for f in binary for n in ("reduce", "accumulate")} | {
        f.outer: by_sampling_data for f in binary
    }


RULES: dict[Anything, Rule] = {
    **dict.fromkeys(OPERATORS, elementwise),
    **dict.fromkeys(UFUNCS, elementwise),
    **_reducers(),
    **_named(np, numpy_names.SAMPLED, by_sampling),
    **_named(np, numpy_names.DATA, by_sampling_data),
    **_named(np, numpy_names.RANKED, by_rank),
    **_named(np.ndarray, "take compress nonzero argpartition choose searchsorted", by_rank),
    **_named(np.ndarray, numpy_names.METHODS, by_sampling),
    **_named(np.generic, f"{numpy_names.METHODS} tolist", by_sampling),
    **_named(np.linalg, numpy_names.LINALG, by_sampling),
    **_named(np.linalg, numpy_names.LINALG_RANKED, by_rank),
    **_named(np.fft, numpy_names.FFT, by_sampling),
    **_named(np.ndarray, "clip dot", by_sampling_data),
    **{f: own(rule) for f, rule in shapes.SHAPED.items()},
    **EXACT,
    operator.matmul: lambda f, args, kwargs: (
        Never if shapes.lacks_dimensions(args) else by_sampling_data(f, args, kwargs)
    ),
    round: by_sampling,
    **{t: elementwise for t in SCALARS if issubclass(t, np.generic)},
}

KEEPING = [getattr(np, n) for n in numpy_names.SAME_SHAPE.split()]
OF_ARRAYS = [getattr(np.ndarray, n) for n in ("copy", "astype", "conj")]
RULES.update({f: keeping_shape(RULES[f]) for f in (*KEEPING, *OF_ARRAYS) if f in RULES})


def attribute(type_: Type, name: str) -> Type | None:
    """The type of a data attribute of an array or NumPy scalar; None for any other."""
    if not is_numpy(type_) or not isinstance(type_, ArrayOf):
        return _scalar_attribute(type_, name) if is_numpy(type_) else None
    if name in _ATTRIBUTES:
        return _ATTRIBUTES[name](type_ if name in ("T", "mT") else plain(type_))  # type: ignore[arg-type]
    if name in ("real", "imag") and type_.dtype.kind in KINDS:
        return ArrayOf(getattr(np.empty(0, type_.dtype), name).dtype, type_.dims)
    return None


def _scalar_attribute(type_: Type, name: str) -> Type | None:
    cls = cls_of(type_)
    if cls not in SCALARS or name not in ("real", "imag", "T", "ndim", "size", "shape", "dtype"):
        return None
    value = getattr(SCALARS[cls], name)
    return Known(value) if name in ("ndim", "size", "dtype") else type_of(value)


def _of_dtype(dtype: np.dtype[Anything]) -> Type:
    return Known(dtype) if dtype.isbuiltin == 1 else Exact(type(dtype))


_ATTRIBUTES: dict[str, Callable[[ArrayOf], Type]] = {
    "ndim": lambda t: Known(len(t.dims)),
    "size": lambda t: Known(1) if all(t.dims) else Exact(int),
    "shape": lambda t: TupleOf(tuple(Known(1) if d else Exact(int) for d in t.dims)),
    "strides": lambda t: TupleOf((Exact(int),) * len(t.dims)),
    "dtype": lambda t: _of_dtype(t.dtype),
    "T": lambda t: ArrayOf(t.dtype, t.dims[::-1]),
    "mT": lambda t: ArrayOf(t.dtype, (*t.dims[:-2], *t.dims[:-3:-1])) if len(t.dims) > 1 else Any,
    "itemsize": lambda t: Exact(int),
    "nbytes": lambda t: Exact(int),
}
