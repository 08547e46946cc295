"""Keyword arguments, and methods of ufuncs, to be tested through `vjp` and `jvp` (see `program_cases.py`)."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from derivative_cases import array, axis_of, flag, regular, shape_of
from hypothesis import strategies as st

MASKS = {
    0: True, 1: np.array([True, False, True]), 2: np.array([[True], [False], [True]]),
}  # fmt: skip


BOUNDS = ("min", "max") if "min" in inspect.signature(np.clip).parameters else ("a_min", "a_max")
"""Their names since NumPy 2.1, by which one alone may be given."""

CROSSES_PLANES = np.lib.NumpyVersion(np.__version__) < "2.5.0"
"""NumPy 2.5 takes vectors of three numbers alone."""


def some(draw, **options):
    """Some of those keywords, each with one of its values."""
    chosen = {name: draw(st.sampled_from(values)) for name, values in options.items() if flag(draw)}
    return chosen or {name: values[0] for name, values in options.items()}


def register(more: Any) -> None:
    for cases in (of_ufuncs, of_generalised, of_methods, of_reductions, of_statistics, of_grids, of_algebra):
        cases(more)


# -- ufuncs --------------------------------------------------------------------------------------------------

OF_CALLS = {
    "dtype": [np.float64, "float64", np.dtype(float)], "casting": ["same_kind", "safe", "unsafe"],
    "order": ["C", "F", "A", "K"], "subok": [False],
}  # fmt: skip


def log_where(x, where):
    """Elsewhere the result is whatever was in the memory."""
    return np.where(where, np.log(x, where=where), 0.0)


def power_where(a, b, where):
    return np.where(where, np.power(a, b, where=where, dtype=np.float64), 0.0)


def modf_where(x, where):
    return np.where(where, np.modf(x, where=where)[0], 0.0)


def parts_out(x):
    return np.modf(x, out=(np.zeros(x.shape), np.zeros(x.shape)))[0]


def of_ufuncs(more):
    @more(np.sin, np.exp, np.sqrt, np.absolute, label="keywords")
    def _(draw):
        return (array(draw, shape_of(draw, smallest=0), 0.2, 2),), some(draw, **OF_CALLS)

    @more(np.add, np.multiply, np.power, np.hypot, np.maximum, label="keywords")
    def _(draw):
        return (array(draw, (2, 3), 0.2, 2), array(draw, (3,), 0.3, 2)), some(draw, **OF_CALLS)

    @more(np.sin, label="complex")
    def _(draw):
        return (array(draw, (3,), 0.2, 2, True),), {"dtype": complex}

    @more(np.multiply, label="complex")
    def _(draw):
        return (array(draw, (3,), 0.2, 2, True), array(draw, (3,))), {"dtype": complex}

    @more(np.multiply, label="signature")
    def _(draw):
        options = some(draw, sig=["dd->d", (None, None, float), "DD->D"])
        return (array(draw, (3,)), array(draw, (2, 1))), options

    @more(np.sign, label="complex")
    def _(draw):
        options = some(draw, order=["C"], subok=[False]) if flag(draw) else {}
        return (array(draw, shape_of(draw, smallest=0)) + 1j * array(draw, (), 0.3, 2),), options

    @more(np.modf, np.frexp, label="keywords")
    def _(draw):
        return (array(draw, (3,), 0.55, 0.95),), some(draw, order=["C"], dtype=[None], subok=[True])

    @more(log_where, modf_where)
    def _(draw):
        return (array(draw, (3, 3), 0.2, 0.9), MASKS[draw(st.integers(0, 2))]), {}

    @more(power_where)
    def _(draw):
        return (array(draw, (3, 3), 0.2, 2), array(draw, (3,)), MASKS[draw(st.integers(0, 2))]), {}

    @more(parts_out)
    def _(draw):
        return (array(draw, (3,), 0.1, 0.9),), {}

    @more(np.clip, label="keywords")
    def _(draw):
        return (array(draw, (2, 3)), -0.51, 0.53), {"dtype": float, "casting": "safe"}

    @more(np.clip, label="bounds by name")
    def _(draw):
        bounds = dict(zip(BOUNDS, [array(draw, (3,), -0.6, -0.5), 0.53], strict=True))
        left_out = draw(st.sampled_from([None, *BOUNDS])) if BOUNDS[0] == "min" else None
        return (array(draw, (2, 3)),), {name: bounds[name] for name in bounds if name != left_out}

    @more(np.add, np.multiply, label="lists")
    def _(draw):
        pair = [array(draw, (3,)), [0.5, 1, 2.0]]
        return tuple(pair if flag(draw) else pair[::-1]), {}


def of_generalised(more):
    @more(np.matmul, label="axes")
    def _(draw):
        axes, a, b = draw(st.sampled_from([
            ([(1, 0), (0, 1), (0, 1)], (3, 2), (3, 4)), ([(0, 1), (1, 0), (1, 0)], (2, 3), (4, 3)),
            ([(1, 2), 0, 0], (2, 4, 3), (3,)), ([0, (0, 1), 0], (3,), (3, 4)),
        ]))  # fmt: skip
        return (array(draw, a, complex_=True), array(draw, b)), {"axes": axes, **some(draw, order=["C"])}

    @more(np.matmul, label="dtype")
    def _(draw):
        return (array(draw, (2, 3)), array(draw, (3, 2))), {"dtype": np.float64, "casting": "same_kind"}

    if hasattr(np, "vecdot"):

        @more(np.vecdot, label="axes")
        def _(draw):
            kwargs = draw(st.sampled_from([
                {"axis": 0}, {"axis": 0, "keepdims": True}, {"axes": [0, -2]}, {"axes": [0, 0, 1], "keepdims":
                True}, {"keepdims": True, "dtype": complex},
            ]))  # fmt: skip
            return (array(draw, (3, 3), complex_=True), array(draw, (3, 3))), kwargs

    if hasattr(np, "matvec"):

        @more(np.matvec, np.vecmat, label="dtype")
        def _(draw):
            return (array(draw, (3, 3)), array(draw, (3, 3))), {"dtype": float, "order": "C"}


# -- methods of ufuncs ---------------------------------------------------------------------------------------


def of_methods(more):
    @more(np.subtract.reduce, np.divide.reduce, np.hypot.reduce, np.logaddexp2.reduce, np.add.reduce)
    def _(draw):
        shape = shape_of(draw, 1, 3)
        kwargs = {"axis": axis_of(draw, len(shape), none=False), "keepdims": flag(draw)}
        return (array(draw, shape, 0.3, 2),), {**kwargs, **some(draw, initial=[0.7], dtype=[np.float64])}

    @more(np.subtract.reduce, np.divide.reduce, np.hypot.reduce, np.add.reduce, label="where")
    def _(draw):
        where = MASKS[draw(st.integers(1, 2))]
        return (array(draw, (3, 3), 0.3, 2),), {
            "axis": draw(st.integers(-2, 1)),
            "where": where,
            "initial": 0.7,
        }

    @more(np.hypot.reduce, np.add.reduce, np.maximum.reduce, label="several axes")
    def _(draw):
        return (array(draw, (2, 3, 2), 0.3, 2),), {"axis": draw(st.sampled_from([None, (0, 2), (1, -1), ()]))}

    @more(np.subtract.accumulate, np.hypot.accumulate, np.logaddexp.accumulate, np.fmax.accumulate)
    def _(draw):
        shape = shape_of(draw, 1, 2)
        return (array(draw, shape, 0.3, 2),), {"axis": axis_of(draw, len(shape), none=False), "dtype": float}

    @more(np.add.reduceat, np.multiply.reduceat, np.subtract.reduceat, np.maximum.reduceat)
    def _(draw):
        indices = draw(st.sampled_from([[0, 2], [0], [1, 3, 2], [3, 0, 2, 2]]))
        return (array(draw, (2, 4), 0.3, 2), indices), {"axis": draw(st.sampled_from([1, -1]))}

    @more(np.add.outer, np.multiply.outer, np.hypot.outer, np.arctan2.outer, label="keywords")
    def _(draw):
        return (array(draw, (2,), 0.3, 2), array(draw, (3, 1), 0.3, 2)), some(draw, **OF_CALLS)


# -- functions -----------------------------------------------------------------------------------------------


def sum_from(x, start):
    return np.sum(x, axis=0, initial=start)


def prod_from(x, start):
    return np.prod(x, axis=-1, keepdims=True, initial=start)


def max_from(x, start):
    return np.max(x, axis=0, initial=start)


def subtract_from(x, start):
    return np.subtract.reduce(x, axis=1, initial=start)


def var_about(x, mean):
    return np.var(x, axis=0, mean=mean, ddof=1)


def std_about(x, mean):
    return np.std(x, axis=0, mean=mean, keepdims=True)


def of_reductions(more):
    @more(sum_from, prod_from, max_from, subtract_from)
    def _(draw):
        return (array(draw, (2, 3), 0.2, 2), 1.03), {}

    @more(var_about, std_about)
    def _(draw):
        return (array(draw, (4, 3), complex_=True), array(draw, (1, 3))), {}


def average_and_weights(a, weights):
    return np.average(a, axis=(1, 0), weights=weights, returned=True)


METHODS = """inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf hazen weibull
    median_unbiased normal_unbiased lower higher midpoint nearest""".split()


def of_statistics(more):
    @more(average_and_weights)
    def _(draw):
        return (array(draw, (2, 3), complex_=True), array(draw, (3, 2), 0.2, 1)), {}

    @more(np.average, label="returned")
    def _(draw):
        return (array(draw, (2, 3)),), {"returned": True, "axis": axis_of(draw, 2), "keepdims": flag(draw)}

    @more(np.quantile, label="method")
    def _(draw):
        q = draw(st.sampled_from([0.31, np.array([0.23, 0.58])]))
        kwargs = {"axis": axis_of(draw, 2), "method": draw(st.sampled_from(METHODS)), "keepdims": flag(draw)}
        return (array(draw, (4, 3)), q), kwargs

    @more(np.percentile, label="weights")
    def _(draw):
        weights = np.array([0.2, 0.5, 0.3])
        return (array(draw, (4, 3)), 37.0), {"axis": 1, "method": "inverted_cdf", "weights": weights}

    @more(np.cov, label="weights")
    def _(draw):
        kwargs = some(draw, fweights=[[1, 2, 3, 1]], aweights=[np.array([0.2, 0.5, 0.3, 0.4])], ddof=[0, 1])
        return (array(draw, (2, 4), complex_=True),), kwargs


def with_step(start, stop):
    return np.linspace(start, stop, 4, retstep=True)


def trimmed(a, trim, axis):
    """Finite differences move zeros, too."""
    return np.trim_zeros(np.where(np.outer([0, 1, 1], [0, 1, 1, 0]), a, 0.0), trim, axis)


def padded_with(a, value):
    return np.pad(a, ((1, 2), (2, 1)), constant_values=value)


def ramp_to(a, value):
    return np.pad(a, ((1, 2), (2, 1)), "linear_ramp", end_values=value)


def padded_by_function(a, widths, factor):
    """The function changes each vector in place, borders that are there already too."""

    def fill(vector, width, axis, options):
        before, after = width
        vector[: before + 1] = vector[before] * options["factor"]
        if after:
            vector[-after:] = vector[before] * vector[-after - 1] + axis

    return np.pad(a, widths, fill, factor=factor)


def without_gaps(a, nan, high, low):
    gaps = np.where([True, False, True], [[np.nan, 0.0, -np.inf], [np.inf, 0.0, 0.0]], a)
    return np.nan_to_num(gaps, nan=nan, posinf=high, neginf=low)


def unwrapped(a, period):
    return np.unwrap(a % 3.0, period=period)


def of_grids(more):
    @more(with_step)
    def _(draw):
        return (array(draw, (2,)), array(draw, (2,))), {}

    @more(np.geomspace, np.logspace, label="keywords")
    def _(draw):
        options = some(draw, dtype=[float], endpoint=[False], axis=[0, 1])
        return (array(draw, (2,), 1, 2), array(draw, (2,), 3, 9), 4), options

    @more(np.gradient, label="edge_order")
    def _(draw):
        step = draw(st.sampled_from([(), (0.5,), (np.array([0.0, 1.0, 1.5, 3.0]),)]))
        return (array(draw, (2, 4)), *step), {"axis": 1, "edge_order": 2}

    @more(np.interp, label="period")
    def _(draw):
        points = np.array([1.3, 0.1, 2.75, 3.4])
        return (array(draw, (3,), 4.15, 4.65), points, array(draw, (4,))), {"period": 2.0}

    @more(np.pad, label="modes")
    def _(draw):
        kwargs = draw(st.sampled_from([
            {"mode": "linear_ramp", "end_values": 0.3}, {"mode": "mean"}, {"mode": "mean", "stat_length": 2},
            {"mode": "maximum"}, {"mode": "minimum", "stat_length": 2}, {"mode": "median"},
            {"mode": "reflect", "reflect_type": "odd"}, {"mode": "symmetric", "reflect_type": "odd"},
        ]))  # fmt: skip
        return (array(draw, (2, 3)), ((1, 0), (2, 4))), kwargs

    @more(padded_with, ramp_to)
    def _(draw):
        value = draw(st.sampled_from([0.31, array(draw, (2,)), array(draw, (2, 2)), array(draw, (2, 1))]))
        return (array(draw, (2, 3), complex_=True), value), {}

    @more(padded_by_function)
    def _(draw):
        return (array(draw, (2, 3), complex_=True), ((1, 2), (0, 1))), {"factor": 1.7}

    @more(without_gaps)
    def _(draw):
        return (array(draw, (2, 3), complex_=True), *(1.3, -0.4, 0.6)), {}

    @more(unwrapped)
    def _(draw):
        return (np.linspace(0.0, 11.0, 6) + array(draw, (6,), 0.0, 0.2), 3.1), {}

    @more(trimmed)
    def _(draw):
        return (array(draw, (3, 4), 0.5, 2), draw(st.sampled_from(["fb", "f", "b"])), axis_of(draw, 2)), {}

    @more(*([np.cross] if CROSSES_PLANES else []), label="planes")
    def _(draw):
        n, m = draw(st.sampled_from([(2, 2), (2, 3), (3, 2)]))
        return (array(draw, (2, n)), array(draw, (m,))), {}

    @more(np.correlate, label="shorter first")
    def _(draw):
        mode = draw(st.sampled_from(["full", "same", "valid"]))
        return (array(draw, (2,), complex_=True), array(draw, (4,), complex_=True)), {"mode": mode}


def unique_and_more(a):
    return np.unique(a, return_index=True, return_counts=True)[0]


def determined(a):
    """What is determined where the other vectors are chosen freely, whatever their phases are."""
    k = min(a.shape)
    u, s, vh = np.linalg.svd(a, full_matrices=True)
    q, r = np.linalg.qr(a, "complete")
    return np.abs(u[:, :k]) ** 2, s, (u[:, :k] * s) @ vh[:k], q[:, :k], r[:k]


def of_algebra(more):
    @more(unique_and_more)
    def _(draw):
        return (array(draw, (4,)),), {}

    @more(np.unique, label="axis")
    def _(draw):
        return (array(draw, (3, 2)),), {"axis": draw(st.integers(0, 1))}

    @more(np.linalg.qr, label="wide, r")
    def _(draw):
        return (regular(draw, 4)[:3],), {"mode": draw(st.sampled_from(["r", "reduced", "complete"]))}

    @more(np.linalg.qr, label="raw")
    def _(draw):
        m, n = draw(st.sampled_from([(3, 3), (3, 2), (2, 3), (1, 2)]))
        a = array(draw, (m, n), 0.3, 2, complex_=True) + np.eye(m, n)
        return (a,), {"mode": "raw"}

    @more(determined)
    def _(draw):
        m, n = draw(st.sampled_from([(3, 2), (2, 3)]))
        return (array(draw, (m, n), complex_=True) + np.diag([8.0, 4.0, 2.0])[:m, :n],), {}

    @more(np.linalg.slogdet, label="complex")
    def _(draw):
        return (regular(draw, 3) + 1j * array(draw, (3, 3)),), {}
