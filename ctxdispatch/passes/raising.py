"""Which pure calls may raise, by the types of their operands. (Warnings, and shapes that do not broadcast, do
not count: see `effects`.)

A function's row says on which classes of numbers it raises nothing. On arrays none do, except those of
`_MAY_FAIL_ON_ARRAYS`, or of lengths or axes that the operands do not have. Where something may catch that, it
is found by trying (`fails`): NumPy's function runs on samples of the operands' types, of lengths that differ,
empty ones among them, and of values of which some have no inverse, no root, no place in an order.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Sequence
from functools import lru_cache
from typing import Any as Anything

import numpy as np

from ctxdispatch.facts import DIVISIONS, IDENTITY, TRUTH, fact_of
from ctxdispatch.ir import primitives as prim
from ctxdispatch.ir.leaves import is_leaf
from ctxdispatch.passes import numpy_types, samples, transfer
from ctxdispatch.passes.types import Any, ArrayOf, Dim, Exact, IterOf, Known, TupleOf, Type, cls_of, flag

_TOTAL_ANY = {
    *(*IDENTITY, *TRUTH, bool, type, id, callable, slice),
    *(prim.build_tuple, prim.build_list, prim.make_cell, prim.make_function, prim.build_string, object),
}
_ON_CONTAINERS = {len, iter, reversed, enumerate, zip, list, tuple, prim.list_to_tuple}
_MAY_FAIL_ON_ARRAYS = {
    *(np.linalg.inv, np.linalg.solve, np.linalg.cholesky, np.linalg.eigh, np.linalg.svd, np.linalg.pinv),
    *(np.linalg.eigvalsh, operator.getitem, operator.index, operator.not_, operator.truth),
    *(float, int, bool, complex),
    *(np.ndarray.reshape, np.reshape, np.ndarray.item, np.linalg.det, np.linalg.slogdet, len, iter),
}


def may_raise(function: Anything, args: Sequence[Type]) -> bool:
    """Of a call that is `pure`."""
    if any(map(numpy_types.is_numpy, args)) or function in numpy_types.UFUNCS:
        return _array_may_raise(function, args)
    if function in _TOTAL_ANY:
        return False
    if function in _ON_CONTAINERS:
        return not all(map(_container, args))
    classes = [cls_of(a) for a in args]
    if function is isinstance:
        return not isinstance(args[-1], (Known, TupleOf))
    if function is range:
        return set(classes) != {int} or (len(args) > 2 and not _nonzero(args[2]))
    if function in DIVISIONS and len(args) == 2:
        return not (set(classes) <= {bool, int, float} and _nonzero(args[1]))
    if function in (operator.pow, pow) and len(args) == 2:
        return not (classes[0] is int and isinstance(args[1], Known) and args[1].value in (0, 1, 2))
    if function is operator.getitem:
        known = isinstance(args[0], TupleOf) and isinstance(args[1], Known)
        return not (known and transfer.call(function, tuple(args)) is not Any)
    row = fact_of(function)
    return row is None or not all(cls in row.total for cls in classes)


def _container(type_: Type) -> bool:
    return isinstance(type_, IterOf) or cls_of(type_) in (list, tuple, range, str, dict)


def _nonzero(divisor: Type) -> bool:
    return isinstance(divisor, Known) and bool(divisor.value)


def _array_may_raise(function: Anything, args: Sequence[Type]) -> bool:
    if function in transfer.FOLDABLE and not any(isinstance(a, ArrayOf) for a in args):
        return not all(numpy_types.numeric(a) for a in args)
    if function is operator.getitem:
        return not _harmless_index(args[1])
    if function in (len, iter):
        return not (isinstance(args[0], ArrayOf) and args[0].dims)
    if type(function) is np.ufunc or getattr(function, "__module__", None) in ("math", "cmath"):
        return _takes_no_such(function, args)
    may_fail = function in _MAY_FAIL_ON_ARRAYS or numpy_types.RULES.get(function) is numpy_types.by_rank
    return may_fail and not _sized(args)


def _takes_no_such(function: Anything, args: Sequence[Type]) -> bool:
    """A ufunc given more operands than it computes with, or another than numbers; a function of numbers given
    an array."""
    known = [a for a in args if a is not Any]
    if type(function) is np.ufunc:
        return len(args) != function.nin or not all(map(numpy_types.numeric, known))
    return any(isinstance(a, ArrayOf) for a in known)


def _sized(args: Sequence[Type]) -> bool:
    """bool(x), float(x) of a NumPy scalar."""
    return all(isinstance(a, Exact) and a.cls in samples.SCALARS for a in args)


def _harmless_index(index: Type) -> bool:
    items = index.items if isinstance(index, TupleOf) else (index,)
    return all(
        isinstance(i, Known) and (i.value is None or i.value is ... or type(i.value) is slice) for i in items
    )


# -- by samples ----------------------------------------------------------------------------------------------


def fails(function: Anything, args: Sequence[Type], kwnames: tuple[str, ...]) -> bool:
    """A pure call that `may_raise` lets go, as some of `args` are arrays or NumPy's numbers, may raise; the
    last of `args` have the names `kwnames`."""
    if function in _TOTAL_ANY or function is isinstance or not any(map(numpy_types.is_numpy, args)):
        return False
    known = [a.value for a in args if isinstance(a, Known)]
    return not all(map(is_leaf, known)) or _fails_on_samples(function, tuple(args), kwnames)


@lru_cache(maxsize=4096)
def takes_no_such(function: Anything, args: tuple[Type, ...], kwnames: tuple[str, ...]) -> bool:
    """It is a TypeError whatever the lengths and values are."""
    row = fact_of(function)
    if row is None or row.effect or row.calls or row.keeps:
        return False
    return all(isinstance(_error_of(function, args, kwnames, n, 0), TypeError) for n in (1, 2))


@lru_cache(maxsize=4096)
def _fails_on_samples(function: Anything, args: tuple[Type, ...], kwnames: tuple[str, ...]) -> bool:
    filled = (0 if type(function) is np.ufunc else n for n in range(SAMPLES))
    return any(_error_of(function, args, kwnames, n, fill) is not None for n, fill in enumerate(filled))


def _error_of(
    function: Anything, args: tuple[Type, ...], kwnames: tuple[str, ...], number: int, filled: int
) -> Exception | None:
    """What it raises on sample `number`; Unsampled where there is none."""
    first, rng = len(args) - len(kwnames), random.Random(number)
    try:
        given = [_sample(a, number, rng, filled) for a in args]
        numpy_types.quiet(function, given[:first], dict(zip(kwnames, given[first:])))
    except Exception as error:
        return error
    return None


SAMPLES = 24

LENGTHS = (0, 2, 3)
"""Of dimensions that are not surely 1."""


def _sample(type_: Type, number: int, rng: random.Random, filled: int) -> Anything:
    """The first samples have one length each: they go together. `filled`: with what. (Ufuncs raise nothing
    for numbers, and some of SciPy's go on for ever at great ones, which they take for orders.)"""

    def length(dim: Dim) -> int:
        dim = flag(dim)
        if dim:
            return 1
        if number < len(LENGTHS):
            return LENGTHS[number]
        return rng.choice(LENGTHS if dim is False else (1, *LENGTHS))

    def array(type_: ArrayOf, shape: tuple[int, ...]) -> Anything:
        return _filled(type_.dtype, shape, filled)

    def scalar(cls: type) -> Anything:
        found = _filled(np.dtype(cls), (), filled)
        return found.item() if cls in (bool, int, float, complex) else found[()]

    return samples.sample(type_, length, array, scalar)


def _filled(dtype: Anything, shape: tuple[int, ...], number: int) -> Anything:
    special = (np.nan, np.inf, np.finfo(dtype).max) if dtype.kind in "fc" else (7, 97, 1)
    return np.full(shape, (1, 0, -1, *special)[number % 6]).astype(dtype)
