"""Cases of SciPy's functions; see `derivative_cases`, which ends with them where SciPy is installed."""

from __future__ import annotations

import inspect
import operator

import numpy as np
import scipy.linalg as linalg
import scipy.signal as signal
import scipy.special as special
from derivative_cases import (
    CASES,
    Case,
    array,
    axis_of,
    batch_of,
    broadcastable,
    case,
    each,
    elements,
    flag,
    number,
    regular,
    shape_of,
)
from hypothesis import strategies as st
from scipy.stats import _stats_pythran

from ctxdispatch_contexts.derivatives import scipy_distributions, scipy_linalg
from ctxdispatch_contexts.derivatives import special_functions as own

# -- elementwise ---------------------------------------------------------------------------------------------

SPECIAL = {
    "gamma": [(0.2, 4)], "rgamma": [(-0.9, 4)], "gammaln": [(0.2, 9)], "loggamma": [(0.2, 9)],
    "psi": [(0.2, 9)], "beta": [(0.3, 3)] * 2, "betaln": [(0.3, 3)] * 2,
    "erf": [(-2, 2)], "erfc": [(-2, 2)], "erfcx": [(-1, 3)], "erfi": [(-1.5, 1.5)], "dawsn": [(-2, 2)],
    "erfinv": [(-0.9, 0.9)], "erfcinv": [(0.1, 1.9)], "ndtr": [(-2, 2)], "log_ndtr": [(-3, 2)],
    "ndtri": [(0.05, 0.95)], "expit": [(-3, 3)], "log_expit": [(-3, 3)], "logit": [(0.1, 0.9)],
    "xlogy": [(0.1, 2)] * 2, "xlog1py": [(0.1, 2), (-0.5, 2)], "entr": [(0.1, 2)], "rel_entr": [(0.1, 2)] * 2,
    "kl_div": [(0.1, 2)] * 2, "j0": [(-5, 5)], "j1": [(-5, 5)], "y0": [(0.3, 5)], "y1": [(0.3, 5)],
    "i0": [(-3, 3)], "i1": [(-3, 3)], "i0e": [(0.1, 3)], "i1e": [(-3, -0.1)], "k0": [(0.3, 3)],
    "k1": [(0.3, 3)], "expm1": [(-2, 2)], "log1p": [(-0.9, 3)], "poch": [(0.3, 3)] * 2,
    "gammainc": [(0.5, 4), (0.2, 5)], "gammaincc": [(0.5, 4), (0.2, 5)],
    "gammaincinv": [(0.5, 4), (0.1, 0.9)], "gammainccinv": [(0.5, 4), (0.1, 0.9)],
    "betainc": [(0.5, 4), (0.5, 4), (0.1, 0.9)], "betaincc": [(0.5, 4), (0.5, 4), (0.1, 0.9)],
    "chdtr": [(0.5, 9), (0.2, 9)], "chdtrc": [(0.5, 9), (0.2, 9)],
    "stdtr": [(0.7, 9), (-3, 3)], "stdtrit": [(0.7, 9), (0.1, 0.9)],
    "betaincinv": [(0.5, 4), (0.5, 4), (0.1, 0.9)], "betainccinv": [(0.5, 4), (0.5, 4), (0.1, 0.9)],
    "chdtri": [(0.7, 9), (0.1, 0.9)], "fdtr": [(1, 9), (1, 9), (0.2, 3)], "fdtrc": [(1, 9), (1, 9), (0.2, 3)],
    "fdtri": [(1, 9), (1, 9), (0.1, 0.9)], "ndtri_exp": [(-3, -0.1)], "cosm1": [(-3, 3)],
    "powm1": [(0.2, 3), (-2, 2)], "boxcox": [(0.2, 3), (-2, 2)], "boxcox1p": [(-0.7, 3), (-2, 2)],
    "inv_boxcox": [(0.1, 2), (0.2, 2)], "inv_boxcox1p": [(0.1, 2), (0.2, 2)], "k0e": [(0.3, 3)],
    "k1e": [(0.3, 3)], "_ufuncs._log1mexp": [(-3, -0.2)], "_ufuncs._cosine_cdf": [(-3, 3)],
    "_ufuncs._cosine_invcdf": [(0.1, 0.9)],
    **{f"_ufuncs._cauchy_{name}": [(0.1, 0.9), (-1, 1), (0.5, 2)] for name in ("ppf", "isf")},
    "_ufuncs._beta_pdf": [(0.1, 0.9), (0.5, 4), (0.5, 4)],
    "_ufuncs._beta_ppf": [(0.1, 0.9), (0.5, 4), (0.5, 4)],
}  # fmt: skip
COMPLEX = set("gamma rgamma loggamma erf erfc erfcx erfi dawsn xlogy xlog1py ndtr log_ndtr".split())
BESSEL = {"jv": -3, "yv": 0.3, "yn": 0.3, "iv": -3, "ive": 0.2, "kv": 0.3,
          "kve": 0.3}
PARAMETERS = {"polygamma": (0, 4, 0.3, 9), "zeta": (2, 5, 0.3, 4), "gammainc": (1, 4, 0.2, 5),
              "gammaincc": (1, 4, 0.2, 5), "pdtr": (0, 4, 0.3, 5), "pdtrc": (0, 4, 0.3, 5)}  # fmt: skip


def register(name, draw_arguments, label=""):
    callee = operator.attrgetter(name)(special)
    CASES.append(Case(f"scipy.special.{name}{label}", callee, st.composite(draw_arguments)()))


def of_arrays(name, domains):
    def draw_arguments(draw):
        shapes = broadcastable(draw, len(domains))
        return tuple(array(draw, s, *d, name in COMPLEX) for s, d in zip(shapes, domains)), {}

    register(name, draw_arguments)


def of_numbers(name, domains):
    def draw_arguments(draw):
        return tuple(number(draw, *d) for d in domains), {}

    register(name, draw_arguments, "[number]")


def whole(draw, low, high):
    """An order: a number or an array, of whole ones, which do not vary."""
    n = draw(st.integers(low, high))
    return n if flag(draw) else np.minimum(n + np.arange(3), high)


def of_order(name, low, high, start, stop, complex_=False):
    def draw_arguments(draw):
        return (whole(draw, low, high), array(draw, (*shape_of(draw, 0, 2), 3), start, stop, complex_)), {}

    register(name, draw_arguments)


for _name, _domains in SPECIAL.items():
    of_arrays(_name, _domains)
for _name in ("erf", "expit", "beta", "xlogy", "j0"):
    of_numbers(_name, SPECIAL[_name])
for _name, _start in BESSEL.items():
    of_order(_name, 0, 3, _start, 5, _name not in ("yn", "ive"))
for _name, _limits in PARAMETERS.items():
    of_order(_name, *_limits)


@case(special.betainc)
def _(draw):
    return (whole(draw, 1, 3), whole(draw, 1, 3), array(draw, (2, 3), 0.1, 0.9)), {}


@each(scipy_distributions.quiet_log, scipy_distributions.quiet_square)
def _(draw):
    return (array(draw, shape_of(draw, 1), 0.2, 3),), {}


@case(scipy_distributions.quiet_beta)
def _(draw):
    shapes = [shape or (1,) for shape in broadcastable(draw, 3)]
    return tuple(array(draw, s, *d) for s, d in zip(shapes, SPECIAL["_ufuncs._beta_pdf"])), {}


@case(scipy_distributions.placed)
def _(draw):
    at = elements(shape_of(draw, 1), -1, 1, draw(st.integers(0, 9))) > 0
    return (array(draw, (np.count_nonzero(at),)), at), {}


@case(scipy_distributions.density)
def _(draw):
    root = array(draw, (2, 2), 0.5, 1.5)
    return (array(draw, (3, 2)), array(draw, (2,)), root @ root.T + 2 * np.eye(2)), {}


@case(special.zeta, label="by name")
def _(draw):
    return (draw(st.integers(2, 4)), array(draw, (3,), 0.5, 3)), {}


def complex_array(draw, shape, low, high):
    return array(draw, shape, low, high) + 1j * array(draw, (), 0.3, 1)


@case(own.analytic_psi)
def _(draw):
    return (complex_array(draw, (3,), 0.3, 4),), {}


@case(own.derivative_of_psi)
def _(draw):
    return (complex_array(draw, (3,), 0.3, 4), draw(st.integers(1, 3))), {}


@case(own.order_of_ive, refuses=True)
def _(draw):
    return (whole(draw, 0, 3),), {}


@case(own.scaled_iv)
def _(draw):
    return (complex_array(draw, (2, 3), 0.3, 4), array(draw, (3,), 0.3, 4), np.asarray(whole(draw, 0, 3))), {}


# -- several elements ----------------------------------------------------------------------------------------


@case(special.multigammaln)
def _(draw):
    return (array(draw, shape_of(draw, 0, 2, 0), 1.2, 5), draw(st.integers(1, 3))), {}


def along_axes(draw, complex_=False):
    shape = shape_of(draw, 0, 3)
    return array(draw, shape, complex_=complex_), {"axis": axis_of(draw, len(shape), tuples=True)}


@case(special.softmax)
def _(draw):
    a, kwargs = along_axes(draw, True)
    return (a,), kwargs


@case(special.log_softmax)
def _(draw):
    a, kwargs = along_axes(draw)
    return (a,), kwargs


@case(special.logsumexp)
def _(draw):
    a, kwargs = along_axes(draw, True)
    return (a,), {**kwargs, "keepdims": flag(draw)}


@case(special.logsumexp, label="weights")
def _(draw):
    shape, other = draw(st.sampled_from([((2, 3), (3,)), ((2, 1), (2, 3)), ((3,), (2, 3)), ((3,), ())]))
    axis = draw(st.sampled_from([None, -1, 0]))
    return (array(draw, shape), axis, array(draw, other, 0.2, 2), flag(draw)), {}


@case(special.logsumexp, label="sign")
def _(draw):
    a = array(draw, (2, 3), complex_=True)
    return (a, axis_of(draw, 2), np.array([1.0, -4.0, 0.5]), flag(draw), True), {}


# -- systems -------------------------------------------------------------------------------------------------


def layout_of(draw):
    """The sizes of a system, and the shapes of its stack and of its right-hand side."""
    n, batch = draw(st.integers(1, 3)), batch_of(draw)
    return n, batch, draw(st.sampled_from([(n,), (n, 2), (*batch, n, 1)]))


KINDS = [None, "gen", "sym", "her", "pos", "upper triangular", "lower triangular", "diagonal", "tridiagonal"]


@case(linalg.solve)
def _(draw):
    n, batch, right = layout_of(draw)
    return (regular(draw, n, batch, True), array(draw, right, complex_=True)), {}


@case(linalg.solve, label="kinds")
def _(draw):
    n, batch, right = layout_of(draw)
    kwargs = {"assume_a": draw(st.sampled_from(KINDS)), "lower": flag(draw)}
    complex_ = kwargs["assume_a"] in ("sym", "upper triangular")
    return (regular(draw, n, batch, complex_), array(draw, right, complex_=complex_)), kwargs


@case(linalg.solve, label="transposed")
def _(draw):
    n = draw(st.integers(1, 3))
    kwargs = {"assume_a": draw(st.sampled_from([None, "sym", "upper triangular"])), "transposed": True}
    return (regular(draw, n), array(draw, (n,))), {**kwargs, "lower": flag(draw)}


@case(linalg.solve, label="one element")
def _(draw):
    return (array(draw, (1, 1), 0.5, 2), array(draw, draw(st.sampled_from([(3,), (1, 2), (1,)])))), {}


@case(linalg.solve_triangular)
def _(draw):
    n, batch, right = layout_of(draw)
    kwargs = {"trans": draw(st.sampled_from([0, 1, 2, "N", "T", "C"])), "lower": flag(draw)}
    return (regular(draw, n, batch, True), array(draw, right, complex_=True)), {
        **kwargs, "unit_diagonal": flag(draw),
    }  # fmt: skip


@case(linalg.solve_banded)
def _(draw):
    low, up = draw(st.sampled_from([(1, 1), (0, 0), (2, 1), (0, 2), (1, 0)]))
    n, batch = draw(st.integers(3, 4)), draw(st.sampled_from([(), (2,)]))
    ab = array(draw, (*batch, low + up + 1, n), -1, 1, True)
    ab = ab + 4.0 * (np.arange(low + up + 1) == up)[:, None]
    return ((low, up), ab, array(draw, draw(st.sampled_from([(n,), (n, 2)])), complex_=True)), {}


@case(linalg.solve_sylvester)
def _(draw):
    m, n, batch = draw(st.integers(1, 3)), draw(st.integers(1, 2)), draw(st.sampled_from([(), (2,)]))
    z = 1j if flag(draw) else 1.0
    a, b = z * regular(draw, m, batch), z * regular(draw, n)
    return (a, b, array(draw, (m, n)) * z), {}


@case(linalg.norm)
def _(draw):
    shape = draw(st.sampled_from([(3,), (1,), (2, 3), (2, 2, 2)]))
    a = array(draw, shape, 0.5, 2.0, len(shape) == 1)
    orders = {1: [None, 1, 2, 3, np.inf, -1], 2: [None, "fro", 1, np.inf, 2], 3: [None]}
    kwargs = {"check_finite": flag(draw), "keepdims": flag(draw), "axis": draw(st.sampled_from([None, 0]))}
    return (a,), {**kwargs, "ord": draw(st.sampled_from(orders[1 if kwargs["axis"] == 0 else len(shape)]))}


# -- inverses, factors, functions of matrices ----------------------------------------------------------------


@each(linalg.inv, linalg.det)
def _(draw):
    return (regular(draw, draw(st.integers(1, 3)), batch_of(draw), True),), {}


@case(linalg.inv, label="kinds")
def _(draw):
    kind = draw(st.sampled_from(KINDS[:-2]))
    a = regular(draw, 3, (), kind in ("sym", "upper triangular"))
    return (a,), {"assume_a": kind, "lower": flag(draw)}


@each(linalg.cholesky, linalg.cho_factor)
def _(draw):
    n = draw(st.integers(1, 3))
    a = regular(draw, n, batch_of(draw), True) + 4.0 * np.eye(n)  # dominates its rows: positive definite
    return (a,), {"lower": flag(draw)}


@case(linalg.cho_solve)
def _(draw):
    n, batch, right = layout_of(draw)
    return ((regular(draw, n, batch, True), flag(draw)), array(draw, right, complex_=True)), {}


@each(linalg.expm, linalg.sqrtm)
def _(draw):
    return (regular(draw, draw(st.integers(1, 3)), batch_of(draw), True),), {}


OF_ROOTS = {"disp": False, "blocksize": 2}
"""Deprecated; SciPy 1.18 is to take them away."""


@case(linalg.sqrtm, label="options")
def _(draw):
    taken = [name for name in OF_ROOTS if name in inspect.signature(linalg.sqrtm).parameters]
    return (regular(draw, 3, (), True),), {name: OF_ROOTS[name] for name in taken if flag(draw)}


@case(scipy_linalg.frechet)
def _(draw):
    n = draw(st.integers(2, 3))
    return (array(draw, (n, n), complex_=True), array(draw, (n, n), complex_=True)), {}


# -- convolutions --------------------------------------------------------------------------------------------

MODES = st.sampled_from(["full", "same", "valid"])


def sequences(draw):
    ndim = draw(st.integers(1, 2))
    longer, shorter = ([draw(st.integers(n, n + 2)) for _ in range(ndim)] for n in (3, 1))
    arrays = (array(draw, tuple(longer), complex_=True), array(draw, tuple(shorter), complex_=True))
    return (arrays if flag(draw) else arrays[::-1]), draw(MODES)


@each(signal.convolve, signal.correlate)
def _(draw):
    arrays, mode = sequences(draw)
    return (*arrays, mode, draw(st.sampled_from(["auto", "direct", "fft"]))), {}


@each(signal.fftconvolve, signal.oaconvolve)
def _(draw):
    arrays, mode = sequences(draw)
    return arrays, {"mode": mode}


@case(signal.fftconvolve, label="axes")
def _(draw):
    left, right, axes = draw(st.sampled_from([
        ((2, 4), (2, 3), 1), ((2, 4), (1, 3), -1), ((1, 3), (3, 2), [1]), ((4, 2, 3), (2, 1, 3), 0),
        ((4, 2, 3), (2, 2, 2), (0, 2)),
    ]))  # fmt: skip
    return (array(draw, left), array(draw, right), draw(MODES), axes), {}


@each(signal.convolve, signal.correlate, signal.fftconvolve, label="numbers")
def _(draw):
    return (array(draw, (), complex_=True), array(draw, (), complex_=True)), {}


@case(signal.fftconvolve, label="empty")
def _(draw):
    return (array(draw, (3,)), np.zeros(0)), {}


# -- normal variables ----------------------------------------------------------------------------------------

if hasattr(_stats_pythran, "_bvnu"):

    @case(_stats_pythran._bvnu)
    def _(draw):
        return (number(draw), number(draw), number(draw, -0.8, 0.8)), {}
