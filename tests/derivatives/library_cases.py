"""Cases of NumPy's libraries (`fft` and others); see `derivative_cases`, which ends with them."""

from __future__ import annotations

import numpy as np
from derivative_cases import array, axis_of, case, each, flag, shape_of
from hypothesis import strategies as st

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
