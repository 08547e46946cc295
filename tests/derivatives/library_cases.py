"""Cases of NumPy's libraries (`fft` and others); see `derivative_cases`, which ends with them."""

from __future__ import annotations

import operator
import statistics

import numpy as np
from derivative_cases import array, axis_of, case, each, flag, number, shape_of
from hypothesis import strategies as st

from ctxdispatch_contexts.derivatives import bessel

NORMS = st.sampled_from([None, "backward", "forward", "ortho"])

# -- Fourier transforms --------------------------------------------------------------------------------------


def one_axis(draw, complex_, lengths):
    shape = list(shape_of(draw, 1, 3, 0))
    axis = axis_of(draw, len(shape), none=False)
    shape[axis] = draw(st.integers(2, 5))
    kwargs = {"axis": axis, "norm": draw(NORMS)}
    if flag(draw):
        kwargs["n"] = draw(lengths)
    return (array(draw, tuple(shape), complex_=complex_),), kwargs


@each(np.fft.fft, np.fft.ifft)
def _(draw):
    return one_axis(draw, True, st.integers(1, 7))


@each(np.fft.rfft, np.fft.ihfft)
def _(draw):
    return one_axis(draw, False, st.integers(1, 7))


@each(np.fft.irfft, np.fft.hfft)
def _(draw):
    return one_axis(draw, True, st.integers(1, 10))


def several_axes(draw, complex_, two=False):
    shape = draw(st.sampled_from([(3, 4), (2, 5, 3), (2, 0, 3, 2)]))
    args = (array(draw, shape, complex_=complex_),)
    choices = [{}, {"axes": (0, -1)}, {"axes": (-1, 0)}, {"axes": (0, -1), "s": (4, 5)},
               {"axes": (-1, 0), "s": (2, 6)}, {"axes": (0, -1), "s": (-1, 4)}]  # fmt: skip
    more = [{"s": (3, 5)}] if two else [{"axes": (0,)}, {"axes": (-1,), "s": (2,)}]
    kwargs = draw(st.sampled_from([c for c in choices + more if shape[1] or ("axes" in c)]))
    return args, {**kwargs, "norm": draw(NORMS)}


@each(np.fft.fftn, np.fft.ifftn)
def _(draw):
    return several_axes(draw, True)


@each(np.fft.fft2, np.fft.ifft2)
def _(draw):
    return several_axes(draw, True, True)


@case(np.fft.rfftn)
def _(draw):
    return several_axes(draw, False)


@case(np.fft.rfft2)
def _(draw):
    return several_axes(draw, False, True)


@case(np.fft.irfftn)
def _(draw):
    return several_axes(draw, True)


@case(np.fft.irfft2)
def _(draw):
    return several_axes(draw, True, True)


@each(np.fft.fftn, np.fft.ifftn, label="without axes")
def _(draw):
    return (array(draw, shape_of(draw, 0, 2), complex_=True),), {"axes": ()}


@each(np.fft.fftshift, np.fft.ifftshift)
def _(draw):
    shape = shape_of(draw, 1, 3, 0)
    return (array(draw, shape, complex_=True),), {"axes": axis_of(draw, len(shape), tuples=True)}


# -- linear algebra ------------------------------------------------------------------------------------------


@case(np.linalg.lstsq)
def _(draw):
    m, n = draw(st.sampled_from([(3, 3), (4, 2), (2, 4), (3, 1)]))
    right = draw(st.sampled_from([(m,), (m, 2)]))
    a = array(draw, (m, n), complex_=True) + np.diag([9.0, 6.0, 3.0, 1.0])[:m, :n]
    return (a, array(draw, right, complex_=True)), draw(st.sampled_from([{}, {"rcond": 1e-10}]))


@case(np.roots)
def _(draw):
    return (np.poly(array(draw, (draw(st.integers(1, 4)),), -3, 3)) * number(draw, 1, 2),), {}


@case(np.roots, label="complex")
def _(draw):
    return (array(draw, (4,), 1, 2) + 1j * array(draw, (4,), 0.5, 1.5),), {}


# -- Bessel functions ----------------------------------------------------------------------------------------


@each(np.i0, bessel.i1)
def _(draw):
    return (array(draw, shape_of(draw, 1, 3, 0), *draw(st.sampled_from([(-3, 3), (6, 10)]))),), {}


# -- arrays put together -------------------------------------------------------------------------------------


@case(np.insert)
def _(draw):
    shape, obj, values, axis = draw(st.sampled_from([
        ((4,), 1, (), None), ((4,), [1, 3], (2,), 0), ((4,), [3, 0], (2,), 0), ((4,), 2, (3,), 0),
        ((2, 3), 1, (), None), ((2, 3), 1, (3,), 0), ((2, 3), 1, (2,), 1), ((2, 3), [0, 2], (2, 2), 1),
        ((2, 3), slice(0, 2), (), 1), ((2, 3), -1, (), -1), ((0,), 0, (2,), None), ((2, 0), 0, (2,), 1),
        ((4,), [1, 1], (2,), None), ((3,), np.array([True, False, True]), (), 0),
    ]))  # fmt: skip
    return (array(draw, shape, complex_=True), obj, array(draw, values), axis), {}


@case(np.insert, label="numbers")
def _(draw):
    return (array(draw, (3,)), 1, draw(st.sampled_from([2.5, [1.5, 2.5]]))), {}


@case(np.piecewise)
def _(draw):
    x = array(draw, shape_of(draw, 1, 2, 0))
    masks = draw(st.sampled_from([[x < -0.5, x > 0.5], [x < 0.5, x > -0.5], [x < 9.0, x > 9.0]]))
    functions = [np.sin, draw(st.sampled_from([2.5, np.exp]))]
    return (x, masks, functions + draw(st.sampled_from([[], [np.cos]]))), {}


@case(np.piecewise, label="one condition")
def _(draw):
    x = array(draw, draw(st.sampled_from([(4,), (2, 3), ()])))
    return (x, [x > 0], [np.sinh, np.cos]), {}


@case(np.piecewise, label="more arguments")
def _(draw):
    x = array(draw, (5,))
    return (x, [x > 0], [operator.mul, operator.sub], 2.5), {}


@case(type(np.r_).__getitem__)
def _(draw):
    items = (array(draw, (2, 3)), array(draw, (1, 3), complex_=True))
    return (np.r_, draw(st.sampled_from([items, items[:1], ("-2", *items)]))), {}


# -- statistics ----------------------------------------------------------------------------------------------


def numbers(draw, n):
    return [k + number(draw, 0.5, 1.2) for k in range(n)]  # apart: standard deviations have a corner at zero


@each(
    statistics.mean, statistics.harmonic_mean, statistics.variance, statistics.pvariance, statistics.stdev,
    statistics.pstdev,
)  # fmt: skip
def _(draw):
    return (numbers(draw, draw(st.sampled_from([2, 4]))),), {}


@each(statistics.fmean, statistics.harmonic_mean, label="weights")
def _(draw):
    return (numbers(draw, 3), numbers(draw, 3)), {}


@each(statistics.variance, statistics.pvariance, statistics.stdev, statistics.pstdev, label="about")
def _(draw):
    return (numbers(draw, 3), number(draw, 0.1, 3.0)), {}
