"""What NumPy calls return: dtype, rank, and which dimensions have length 1.

dtypes are not modelled but asked for: the function runs once on tiny operands of the same dtypes and kinds
(arrays, NumPy scalars, Python scalars, which NEP 50 treats as weak). So do the dimensions of most functions:
`SAMPLED` runs on operands whose dimensions of unknown length take several lengths, and the results are
joined. That is right for functions whose result has each dimension a sum or product of the operands'; where
it is not (slices, `reshape`) there is a rule of its own in `numpy_shapes`. Results are cached by function and
types.
"""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any as Anything

import numpy as np

from ctxdispatch.facts import AS_ARRAY, ELEMENTWISE
from ctxdispatch.ir.leaves import is_leaf
from ctxdispatch.ir.registry import Registry
from ctxdispatch.passes import numpy_names
from ctxdispatch.passes import numpy_shapes as shapes
from ctxdispatch.passes.lengths import plain
from ctxdispatch.passes.samples import (
    KINDS,
    MAX_UNSURE,
    SCALARS,
    Unsampled,
    item_of_lists,
    lengths_of,
    of_lengths,
    unsure_lengths,
)
from ctxdispatch.passes.types import (
    Any,
    ArrayOf,
    Exact,
    Held,
    Known,
    Never,
    TupleOf,
    Type,
    cls_of,
    join,
    type_of,
)

Args = tuple[Type, ...]
Rule = Callable[[Anything, Args, Mapping[str, Type]], Type]


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
    unsure = sum(map(unsure_lengths, (*args, *(t for _, t in kwargs))))
    found: Type = Never
    for lengths in lengths_of(unsure):
        try:
            values = [of_lengths(a, lengths, i < data) for i, a in enumerate(args)]
            named = {name: of_lengths(a, lengths, False) for name, a in kwargs}
        except Unsampled:
            return Any
        try:
            found = join(found, quiet(function, values, named))
        except Exception:  # lengths that do not go together: the program would raise as well
            continue
    return Any if found is Never else shapes.forget_lengths(found) if unsure > MAX_UNSURE else found


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


@EXACT.of(np.lib.stride_tricks.sliding_window_view)
def _windows(function: Anything, args: Args, kwargs: Mapping[str, Type]) -> Type:
    """An axis more for each length of a window."""
    array, window = (args[0], args[1]) if len(args) > 1 else (Any, Any)
    if not isinstance(array, ArrayOf) or array.dtype.kind not in KINDS or "subok" in kwargs:
        return Any
    dims = (None,) if cls_of(window) is int else shapes.dims_of(window)
    return Any if dims is None else ArrayOf(array.dtype, (None,) * (len(array.dims) + len(dims)))


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
    if not set(kwargs) <= {"dtype", "copy"}:
        return Any
    item = _item_of_rows(args[0]) if args else None
    if item is None:
        found = by_sampling_data(function, args, kwargs)
        return found if isinstance(found, ArrayOf) else Any  # of no numbers it is one of floats
    one = by_sampling_data(function, (TupleOf((item,)), *args[1:]), kwargs)
    return ArrayOf(one.dtype, (None, *one.dims[1:])) if isinstance(one, ArrayOf) else Any


def _item_of_rows(given: Type) -> Type | None:
    """Arrays of one rank in a list or tuple are rows, of one length, or there is no array."""
    items: Iterable[Type | None] = (item_of_lists(given),)
    if isinstance(given, Held) and given.by_position:
        items = [item for _, item in given.fields]
    elif isinstance(given, TupleOf):
        items = given.items
    rows: list[Type] = [item for item in items if isinstance(item, ArrayOf) and item.dims]
    if not rows or len(rows) != len([*items]):
        return None
    item = functools.reduce(join, rows)
    return item if isinstance(item, ArrayOf) else None


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
