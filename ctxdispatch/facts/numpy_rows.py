"""Rows of NumPy: which functions may hand on an operand or a view of it, which write, which call; the others'
results are new.

Functions and methods of the same name have the same row where they take the same operands. NumPy's own
Python code behind a function is no row's business: the row says what the function does. Rows are of arrays
of numbers: an array of objects hands on what it holds, whatever is done to it.
"""

from __future__ import annotations

import builtins
import operator
import types
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ctxdispatch.facts.fact import Fact, fact
from ctxdispatch.facts.table import ARRAY_METHODS, family, has_row, made, rows
from ctxdispatch.ir.operators import ELEMENTWISE, FINITE

_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, type(np.sum))
_MODULES = (np, np.linalg)


def named(names: str, *, methods: bool = True, functions: bool = True) -> list[Any]:
    """NumPy's functions, and methods of arrays and of NumPy's numbers, of these names."""
    found: list[Any] = []
    for name in names.split():
        if functions:
            found += [f for m in _MODULES if callable(f := getattr(m, name, None))]
        if methods:
            found += [vars(cls)[name] for cls in (np.ndarray, np.generic) if name in vars(cls)]
    return list({id(f): f for f in found}.values())


def array_fact(**columns: Any) -> Fact:
    """Of what makes arrays of all its operands, and goes through those that are none."""
    more = columns.pop("asks", "")
    asks = f"{ARRAY_METHODS} format hash {more}"
    return fact(**{"looks": "0.. **", "inside": True, "iterates": "0.. **", "methods": asks, **columns})


def functions_of(modules: Iterable[Any]) -> Iterator[Any]:
    """The public functions of these modules, each once."""
    seen: set[int] = set()
    for module in modules:
        for name, f in vars(module).items():  # `dir` would import all that NumPy imports when it is asked
            if type(f) in _FUNCTIONS and not name.startswith("_") and id(f) not in seen:
                seen.add(id(f))
                yield f


# -- views, and operands themselves --------------------------------------------------------------------------

_UFUNCS = {
    "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "and_": "bitwise_and", "or_": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "left_shift", "rshift": "right_shift", "neg": "negative", "pos": "positive",
    "abs": "absolute", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
    "eq": "equal", "ne": "not_equal",
}  # fmt: skip
AS_ARRAY = frozenset({np.array, np.asarray, np.asanyarray})
"""They make an array of whatever they are given."""

COPIES = frozenset({np.array, np.ndarray.astype})
"""Their result is new unless they are told not to copy, by `copy`."""

UFUNC_OF: dict[Any, np.ufunc] = {
    f: getattr(np, _UFUNCS.get(f.__name__, f.__name__))
    for f in (*ELEMENTWISE, operator.matmul, builtins.pow, builtins.divmod)
}
"""The ufunc that an operator is on arrays."""

MATRIX_PRODUCTS = frozenset({operator.matmul, *named("matmul dot outer")})
"""Products of matrices, in C order whatever their operands' order is."""

_MOVED = (
    "reshape ravel flatten transpose permute_dims matrix_transpose squeeze expand_dims swapaxes moveaxis "
    "rollaxis broadcast_to repeat tile flip flipud fliplr roll rot90 diag diagonal copy __copy__ atleast_1d "
    "atleast_2d take delete"
)
MOVES = frozenset(named(_MOVED))
"""The result has elements of the first operand, at other places; `diag` has zeros beside them."""
JOINS = frozenset(named("concatenate stack vstack hstack dstack column_stack"))
"""The result has the elements of the arrays that the first operand holds."""

CONVERTS = frozenset(named("array asarray asanyarray ascontiguousarray asfortranarray", methods=False))
"""They make an array, in some order in memory, of what they are given."""
SAME_PLACES = CONVERTS | frozenset(named("copy __copy__ astype"))
"""The result has the elements of the first operand where they were."""
FINITENESS = frozenset({*named("isnan isinf isfinite"), *FINITE})
"""Questions about numbers that are none, or too large."""
VALUE_SHAPED = frozenset(
    named("nonzero argwhere flatnonzero unique compress extract trim_zeros histogram_bin_edges")
)
"""How many elements the result has depends on values."""
_VALUE_FREE = (
    "shape ndim size iscomplexobj isrealobj isscalar result_type can_cast common_type promote_types "
    "zeros_like ones_like empty_like may_share_memory shares_memory isfortran issubdtype isdtype "
    "broadcast_shapes __len__ mintypecode"
)
VALUE_FREE = frozenset({
    *(len, callable, id, hash, issubclass, np.dtype, np.finfo, np.iinfo),
    *named(_VALUE_FREE),
})  # fmt: skip
"""The result is told by shapes and types alone."""
_AS_DTYPE = {1: "array asarray asanyarray ascontiguousarray asfortranarray fromiter", 2: "full full_like"}
DTYPE_AT = {id(f): at for at, names in _AS_DTYPE.items() for f in named(names, methods=False)}
"""Where the dtype of what they make may be given by position."""

VIEWING = (
    "ravel transpose permute_dims matrix_transpose swapaxes moveaxis rollaxis squeeze expand_dims "
    "diagonal asarray asanyarray asfortranarray ascontiguousarray "
    "asarray_chkfinite real imag real_if_close flip flipud fliplr require astype array view getfield "
    "array_split split hsplit vsplit dsplit unstack trim_zeros asmatrix"
)
_VIEW = array_fact(result="itself 0, view 0")
rows(array_fact(result="view 0", lengths="1"), named("reshape broadcast_to", methods=False))
rows(array_fact(result="view 0"), [np.lib.stride_tricks.sliding_window_view])
rows(array_fact(result="view 0", lengths="1.."), named("reshape", functions=False))
rows(_VIEW, named(VIEWING))
rows(_VIEW._replace(views_from=2), [np.diag])
_VIEWED = "reshape broadcast_to rot90 atleast_1d atleast_2d atleast_3d __array__"
VIEWS = frozenset({*named(VIEWING), *named(_VIEWED), np.diag}) - COPIES
"""They compute nothing: they give views of the first operand, where its memory lets them."""
rows(_VIEW, named("diff matrix_power from_dlpack frombuffer polyint"))
rows(
    array_fact(result="itself 0.., view 0.., holds 0.."),
    named("meshgrid broadcast_arrays atleast_1d atleast_2d atleast_3d ix_ block bmat"),
)
rows(array_fact(result="itself 0 x", stores="0 x"), named("nan_to_num"))
rows(array_fact(stores="1 k", result="view 0"), named("rot90"))
rows(array_fact(result="view 0.., itself out", stores="out"), named("einsum"))
rows(
    array_fact(result="itself 1 bins, view 1 bins, holds 1 bins, copies 1 bins"),
    named("histogram_bin_edges histogram"),
)
rows(array_fact(result="copies 1 2 bins, holds 2 bins"), named("histogramdd histogram2d"))
rows(array_fact(asks="contains", result="itself 2 default"), named("mintypecode"))
rows(array_fact(asks="getattr getattribute missing", result="itself 0"), [np.dtype])

# -- what writes into an operand -----------------------------------------------------------------------------

rows(
    array_fact(stores="0", asks="repr", gives=types.NoneType),
    named("copyto put place putmask put_along_axis fill_diagonal"),
)
_OF_ARRAY = (np.ndarray,)


def methods_of(row: Fact, names: str, classes: Iterable[type] = _OF_ARRAY) -> None:
    rows(row, [vars(cls)[name] for cls in classes for name in names.split() if name in vars(cls)])


methods_of(
    array_fact(stores="0", keeps="1 2"),
    "fill sort partition setfield __setitem__ __delitem__ itemset",
)
methods_of(array_fact(stores="0", keeps="1", layout=True), "__setstate__")
methods_of(array_fact(stores="0", layout=True), "resize _set_dtype _set_shape")
methods_of(fact(looks="1", methods="index", result="view 0"), "__buffer__")
methods_of(array_fact(effect=True), "setflags")  # what it changes is no element
methods_of(array_fact(stores="0", result="itself 0"), "byteswap")
_INPLACE = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
methods_of(array_fact(stores="0", result="itself 0"), " ".join(f"__i{name}__" for name in _INPLACE.split()))
methods_of(
    fact(
        looks="0 1",
        inside=True,
        methods="index array array_interface array_struct iter next len getitem",
        iterates="1",
        result="view 0, item 0",
    ),
    "__getitem__",
)
methods_of(fact(looks="0", methods="getitem", result="copies 0"), "__iter__")
methods_of(fact(looks="1..", methods="index", result="copies 0, item 0"), "tolist item")
methods_of(
    array_fact(result="itself 0 1, view 0 1"),
    "__array__ __array_wrap__ __array_finalize__ __copy__ __deepcopy__ __dlpack__",
    (np.ndarray, np.generic),
)
methods_of(fact(result="itself 0"), "to_device", (np.ndarray, np.generic))
methods_of(array_fact(stores="1", effect=True, asks="reduce_ex"), "tofile dump dumps")


def writing(at: str, stores: str = "", result: str = "") -> Fact:
    """Into what is given as `out`, by name or at these positions."""
    first = min(map(int, at.split()))
    shared = f"itself {at} out, item 0" + (f", {result}" if result else "")
    return array_fact(stores=f"{stores} {at} out", result=shared, out=first)


_OUT_AT = {
    2: "max min amax amin ptp argmax argmin nanargmax nanargmin round around dot outer concatenate concat "
    "stack choose "
    "nanmax nanmin average",
    3: "sum prod mean std var cumsum cumprod clip take compress nanmean nanstd nanvar nancumsum "
    "nancumprod nansum nanprod",
    5: "trace",
}
for _at, _names in _OUT_AT.items():
    rows(writing(str(_at)), named(_names))
rows(writing("2 3"), named("any all"))
rows(writing("2", stores="0 a"), named("median nanmedian"))
rows(writing("3", stores="0 a"), named("quantile percentile nanquantile nanpercentile"))
rows(writing("1"), named("fix isneginf isposinf"))
methods_of(
    array_fact(stores="1", result="itself 0 1, item 0", out=1), "conj conjugate", (np.ndarray, np.generic)
)

# -- what calls ----------------------------------------------------------------------------------------------

rows(array_fact(calls="0", known=False), [np.apply_along_axis, np.apply_over_axes, np.fromfunction])
rows(array_fact(calls="2", known=False), [np.piecewise])
rows(fact(looks="0 1 2", methods="index name", result="holds 0"), [np.frompyfunc])

# -- ufuncs' methods -----------------------------------------------------------------------------------------

methods_of(array_fact(stores="1", gives=types.NoneType), "at", (np.ufunc,))
methods_of(array_fact(stores="4 out", result="itself 4 out", out=4), "reduce accumulate", (np.ufunc,))
methods_of(array_fact(stores="5 out", result="itself 5 out", out=5), "reduceat", (np.ufunc,))
methods_of(array_fact(stores="out", result="itself out"), "outer", (np.ufunc,))
methods_of(array_fact(stores="0.. **", known=False), "__call__", (np.ufunc,))

# -- classes, text, files ------------------------------------------------------------------------------------

_SCALARS = [cls for cls in vars(np).values() if issubclass(type(cls), type) and issubclass(cls, np.generic)]
made(array_fact(asks="str repr", result="itself 0, view 0"), list(dict.fromkeys(_SCALARS)))
made(array_fact(result="view 2 buffer"), _OF_ARRAY)
made(array_fact(result="holds 0.., copies 0.."), [np.broadcast])
made(array_fact(stores="0", known=False), [np.nditer])
_SAVES = (
    "save savez savez_compressed savetxt tofile seterr seterrcall setbufsize set_printoptions test info "
    "show_config "
    "show_runtime load loadtxt genfromtxt fromfile fromregex"
)
rows(array_fact(effect=True, asks="reduce_ex array_function"), named(_SAVES, methods=False))
rows(
    array_fact(effect=True, repeats=True),
    named("geterr geterrcall getbufsize get_printoptions", methods=False),
)
rows(array_fact(stores="1 max_line_width", asks="repr str"), named("array2string array_repr array_str"))
rows(array_fact(asks="repr str"), named("__repr__ __str__"))
rows(fact(looks="0.. **", methods="repr", result="holds 0.. **", effect=True), named("printoptions"))
rows(fact(keeps="call", gives=np.errstate), [np.errstate])
rows(fact(stores="0", effect=True, scoped=True), [np.errstate.__enter__, np.errstate.__exit__])

# -- all others ----------------------------------------------------------------------------------------------

_AXES = np.lib.array_utils.normalize_axis_index, np.lib.array_utils.normalize_axis_tuple
rows(array_fact(), [*_AXES, np.zeros_like, np.diag_indices_from, np.tril_indices_from, np.triu_indices_from])
_LENGTHS = {
    "0": "zeros ones empty full identity diag_indices",
    "0..": "arange eye tri indices tril_indices triu_indices broadcast_shapes",
    "1": "unravel_index",
    "2": "linspace logspace geomspace",
}
for _lengths, _names in _LENGTHS.items():
    rows(array_fact(lengths=_lengths), named(_names, methods=False))
OTHERS = [f for f in functions_of(_MODULES) if not has_row(f)]
rows(array_fact(stores="out", result="itself out"), OTHERS)
family(array_fact(), (np.ndarray, np.generic))
