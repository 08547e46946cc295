"""Arguments of the names that have a derivative by NumPy's or SciPy's own Python code, for the report: see
`changing_cases`, whose table this extends."""

from __future__ import annotations

import numpy as np
from changing_cases import calls
from derivative_cases import array, axis_of, flag, number
from hypothesis import strategies as st

# -- functions of arrays with gaps ---------------------------------------------------------------------------

GAPS = np.array([[False, True, False], [False, False, True], [False, False, False], [True, False, False]])


def with_gaps(f):
    """f of an array in which some elements are nan, whatever varies."""

    def gapped(a, *args, **kwargs):
        return f(np.where(GAPS, np.nan, a), *args, **kwargs)

    return gapped


def register_gapped(name, *more):
    f = getattr(np, name)
    gapped = with_gaps(f)

    @calls(f"numpy.{name}", f, given=" ".join(["q"] * len(more)))
    def _(draw):
        axis = axis_of(draw, 2)
        return gapped, (array(draw, (4, 3), 0.3, 2.0), *more), {"axis": axis}


for _name, *_more in (
    ["nancumsum"], ["nancumprod"], ["nanmedian"], ["nanpercentile", 30.0], ["nanquantile", 0.3], ["nansum"],
    ["nanmean"], ["nanstd"], ["nanvar"], ["nanprod"], ["nanmax"], ["nanmin"], ["nanargmax"], ["nanargmin"],
):  # fmt: skip
    register_gapped(_name, *_more)

# -- polynomials ---------------------------------------------------------------------------------------------


@calls("numpy.poly", np.poly)
def _(draw):
    return np.poly, (array(draw, draw(st.sampled_from([(3,), (1,)]))),), {}


@calls("numpy.polyadd", np.polyadd)
@calls("numpy.polysub", np.polysub)
@calls("numpy.polymul", np.polymul)
def _(draw):
    return None, (array(draw, (3,), 0.3, 2.0), array(draw, (2,), 0.3, 2.0)), {}


@calls("numpy.polydiv", np.polydiv)
def _(draw):
    return np.polydiv, (array(draw, (4,), 0.3, 2.0), array(draw, (2,), 0.3, 2.0)), {}


@calls("numpy.polyder", np.polyder)
@calls("numpy.polyint", np.polyint)
def _(draw):
    return None, (array(draw, (4,), 0.3, 2.0),), {}


@calls("numpy.polyfit", np.polyfit)
def _(draw):
    return np.polyfit, (array(draw, (5,)), array(draw, (5,)), 2), {}


def of_poly1d(a, x):
    p = np.poly1d(a)
    return p(x), (p * p).coeffs, p.deriv()(x)


@calls("numpy.poly1d", given="r variable")
def _(draw):
    return of_poly1d, (array(draw, (3,), 0.3, 2.0), number(draw)), {}


# -- vectors up to their phases ------------------------------------------------------------------------------


def of_eig(a):
    w, v = np.linalg.eig(a)
    return w, np.abs(v) ** 2


def of_eigh(a, **kwargs):
    w, v = np.linalg.eigh(a, **kwargs)
    return w, np.abs(v) ** 2


def of_svd(a, **kwargs):
    u, s, v = np.linalg.svd(a, full_matrices=False, **kwargs)
    return np.abs(u) ** 2, s, np.abs(v) ** 2, (u * s) @ v


def register_up_to_phases(name, program, **options):
    @calls(f"numpy.linalg.{name}", getattr(np.linalg, name), **options)
    def _(draw):
        a = array(draw, (3, 3), -1.0, 1.0) + 1j * array(draw, (3, 3), -0.5, 0.5)
        return program, (a + np.diag([1.0, 5.0, 9.0]),), {}


register_up_to_phases("eig", of_eig)
register_up_to_phases("eigh", of_eigh)
register_up_to_phases("svd", of_svd, given="full_matrices")


# -- functions of functions, of several arrays ---------------------------------------------------------------


def normalised(row, power=2.0):
    return row * np.sum(row) ** power


@calls("numpy.apply_along_axis", np.apply_along_axis)
def _(draw):
    return np.apply_along_axis, (normalised, draw(st.integers(-2, 1)), array(draw, (2, 3), 0.3, 2.0)), {}


@calls("numpy.r_", given="")
def _(draw):
    return (lambda a, b: np.r_[a, 0.5, b]), (array(draw, (2,)), array(draw, (3,))), {}


@calls("numpy.c_", given="")
def _(draw):
    return (lambda a, b: np.c_[a, b]), (array(draw, (3,)), array(draw, (3,))), {}


def register_constant(name, *args):
    f = getattr(np, name)

    @calls(f"numpy.{name}", f)
    def _(draw):
        return (lambda x, *given, **kwargs: x * f(*given, **kwargs)), (number(draw), *args), {}


for _name, *_args in (["identity", 3], ["eye", 3], ["ones", (2, 3)], ["zeros", (2, 3)]):
    register_constant(_name, *_args)


def filled(a, **kwargs):
    out = np.empty_like(a, **kwargs)
    out[...] = 0.5
    return out * np.sum(a)


@calls("numpy.empty_like", np.empty_like)
def _(draw):
    return filled, (array(draw, (2, 3)),), {}


@calls("numpy.ndarray.dot", np.ndarray.dot)
def _(draw):
    return (lambda a, b, **kwargs: a.dot(b, **kwargs)), (array(draw, (2, 3)), array(draw, (3, 2))), {}


@calls("numpy.cov", np.cov)
def _(draw):
    kwargs = {"rowvar": flag(draw), "fweights": np.array([1, 2, 1, 3])}
    return np.cov, (array(draw, (4, 4)),), kwargs
