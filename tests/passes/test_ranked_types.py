"""Of what results are: functions whose results' lengths data decide, or how lengths compare."""

import numpy as np
import pytest

from ctxdispatch.passes import numpy_names, transfer
from ctxdispatch.passes.types import Any, ArrayOf, Exact, Known, ListOf, TupleOf, is_literal, type_of

V, LONG, ONE, M, I, B = (
    np.linspace(0.5, 2.0, 4), np.arange(1.0, 6.0), np.array([2.0]), np.eye(3) + 1.0,
    np.array([0, 2]), np.array([True, False, True, True]),
)  # fmt: skip

CALLS = [
    *[(np.convolve, (a, b), m) for a in (V, LONG, ONE) for b in (V, ONE) for m in ("full", "same", "valid")],
    *[(np.correlate, (a, b), m) for a in (V, LONG) for b in (V, ONE) for m in ("full", "valid")],
    *[(np.split, (a, 2)) for a in (V, V[:2], np.ones((4, 1)))], (np.split, (V, I)),
    (np.array_split, (LONG, 5)), (np.array_split, (M, 2), 1), (np.split, (M, 3), -1),
    (np.array_split, (M, 2), 0), (np.unique, (V,)), (np.unique, (M,), 0),
    (np.hsplit, (np.ones((2, 4)), 2)), (np.vsplit, (np.ones((4, 2)), 2)), (np.pad, (V, 2)),
    (np.pad, (M, ((1, 0), (0, 2))), "edge"), (np.take, (V, I)), (np.take, (M, 1), 0), (np.take, (V, 1)),
    (np.compress, (B, V)), (np.delete, (V, 1)), (np.insert, (V, 1, 2.0)), (np.diagflat, (V,)),
    (np.ediff1d, (V,)), (np.digitize, (V, LONG)), (np.fix, (V,)), (np.fix, (np.float64(1.5),)),
    (np.isreal, (V,)), (np.isin, (V, LONG)), (np.partition, (V, 2)), (np.argpartition, (V, 2)),
    (np.sinc, (V,)), (np.i0, (V,)), (np.unwrap, (V,)), (np.nanargmax, (V,)), (np.nanargmax, (M,), 0),
    (np.nonzero, (V,)), (np.flatnonzero, (V,)), (np.argwhere, (M,)), (np.meshgrid, (V, LONG)),
    (np.meshgrid, (V, ONE), "ij"), (np.broadcast_arrays, (V, ONE)), (np.resize, (V, 7)),
    (np.resize, (V, (2, 3))), (np.extract, (B, V)), (np.trim_zeros, (V,)), (np.linalg.cond, (M,)),
    (np.linalg.trace, (M,)), (np.linalg.outer, (V, LONG)), (np.linalg.vector_norm, (V,)),
    (np.linalg.vector_norm, (M,), 0), (np.linalg.matmul, (M, M)), (np.linalg.vecdot, (V, V)),
    (np.linalg.tensorsolve, (M, M[0])), (np.linalg.diagonal, (M,)), (np.ndarray.take, (V, I)),
    (np.ndarray.compress, (V, B)), (np.ndarray.nonzero, (M,)), (np.ndarray.searchsorted, (LONG, V)),
    (np.bincount, (I,)), (np.bincount, (I, V[:2])), (np.bincount, (I, None, 7)), (np.bincount, (I, I, 2)),
    (np.dsplit, (np.ones((2, 2, 4)), 2)), (np.sort_complex, (V,)),
    *[(getattr(np, n), (M, V[:3])) for n in ("vecdot", "matvec") if hasattr(np, n)],
    *[(np.astype, (V, np.float32)) for n in ("astype",) if hasattr(np, n)],
]  # fmt: skip


def named(last):
    """What the last of a case names."""
    if type(last) is int:
        return {"axis": last}
    return {"indexing" if last == "ij" else "mode": last} if last else {}


def given(value):
    if type(value) is tuple:
        return TupleOf(tuple(map(given, value)))
    return Known(value) if is_literal(value) and type(value) is not float else type_of(value)


def is_of(value, type_):
    if isinstance(type_, TupleOf):
        same = type(value) is tuple and len(value) == len(type_.items)
        return same and all(map(is_of, value, type_.items))
    if isinstance(type_, ListOf):
        return type(value) is list and all(is_of(v, type_.item) for v in value)
    if isinstance(type_, Exact):
        return type(value) is type_.cls
    ones = [flag is None or flag == (n == 1) for flag, n in zip(type_.dims, np.shape(value), strict=True)]
    assert isinstance(type_, ArrayOf)
    return type(value) is np.ndarray and value.dtype == type_.dtype and all(ones)


@pytest.mark.parametrize("case", CALLS, ids=lambda case: case[0].__name__)
def test_types_are_those_of_results(case):
    f, args, *last = case
    keywords = named(last[0] if last else None)
    type_ = transfer.call(f, tuple(map(given, args)), {k: given(v) for k, v in keywords.items()})
    assert type_ is not Any
    assert is_of(f(*args, **keywords), type_)


@pytest.mark.parametrize("name", numpy_names.RANKED.split())
def test_names_are_numpys(name):
    assert hasattr(np, name)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("f", [np.split, np.array_split])
def test_parts_wherever_an_array_is_cut(f, axis):
    """The number of parts is not known, nor may the axis be."""
    keywords = {} if axis is None else {"axis": axis}
    for known in (True, False):
        types = {k: Known(v) if known else Exact(int) for k, v in keywords.items()}
        type_ = transfer.call(f, (type_of(M), Exact(int)), types)
        assert isinstance(type_, ListOf) and is_of(f(M, 3, **keywords), type_)
