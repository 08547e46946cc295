"""Discrete Fourier transforms (numpy.fft), each with its block form (see `blocks.py`).

Their matrices are symmetric, so that the transpose of `fft` is `fft`, not the inverse: a cotangent here is
df/dx - i df/dy. Transforms of real arrays keep half of a spectrum, whose other half is its mirror image: what
stands for two frequencies counts twice. A length given cuts the array or fills it up with zeros; its
transpose fills up or cuts.
"""

# ruff: noqa: C403 (a list: rules are lifted, and a generator is a frame of its own)
from __future__ import annotations

import numpy as np

from ctxdispatch_contexts.derivatives.blocks import after, afters, behind
from ctxdispatch_contexts.derivatives.linear import place
from ctxdispatch_contexts.derivatives.registry import block, vjp
from ctxdispatch_contexts.programs.no_derivative import no_derivative

REVERSED = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}
"""The scale of the inverse transform as one of the transform itself."""


def resized(g, shape):
    """`g` cut, or with zeros after it, in every direction: the transpose of asking for a length."""
    if g.shape == shape:
        return g
    index = common(g.shape, shape)
    return place(g[index], index, shape, g.dtype)


def common(a, b):
    return tuple([slice(0, min(n, m)) for n, m in zip(a, b, strict=True)])


def axes_of(s, axes, ndim):
    """The axes that are transformed, in the order of `s`."""
    if axes is not None:
        return tuple(axes)
    return tuple(range(ndim)) if s is None else tuple(range(-len(s), 0))


def distinct(s, axes, ndim):
    """`axes_of`, none of them twice: lengths then are those of the argument and of the result."""
    axes = axes_of(s, axes, ndim)
    if len(set([i % ndim for i in axes])) < len(axes):
        raise no_derivative("a transform of one axis twice", "transform it once more")
    return axes


# -- of complex arrays ---------------------------------------------------------------------------------------


@vjp(np.fft.fft, linear=(0,), unless="out", mixed=True)
def fft(g, y, a, n=None, axis=-1, norm=None, out=None):
    return (resized(np.fft.fft(g, None, axis, norm), a.shape),)


@vjp(np.fft.ifft, linear=(0,), unless="out", mixed=True)
def ifft(g, y, a, n=None, axis=-1, norm=None, out=None):
    return (resized(np.fft.ifft(g, None, axis, norm), a.shape),)


@vjp(np.fft.fftn, linear=(0,), unless="out", mixed=True)
def fftn(g, y, a, s=None, axes=None, norm=None, out=None):
    return (resized(np.fft.fftn(g, None, distinct(s, axes, a.ndim), norm), a.shape),)


@vjp(np.fft.ifftn, linear=(0,), unless="out", mixed=True)
def ifftn(g, y, a, s=None, axes=None, norm=None, out=None):
    return (resized(np.fft.ifftn(g, None, distinct(s, axes, a.ndim), norm), a.shape),)


@vjp(np.fft.fft2, linear=(0,), unless="out", mixed=True)
def fft2(g, y, a, s=None, axes=(-2, -1), norm=None, out=None):
    return fftn(g, y, a, s, axes, norm)


@vjp(np.fft.ifft2, linear=(0,), unless="out", mixed=True)
def ifft2(g, y, a, s=None, axes=(-2, -1), norm=None, out=None):
    return ifftn(g, y, a, s, axes, norm)


# -- to and from half a spectrum -----------------------------------------------------------------------------


def from_half(g, n, axis, norm):
    """The transpose of `rfft` of length n: sum over k of Re(g[k] exp(-2 pi i j k / n)), as an `irfft`."""
    weights = np.where(single(n, axis, g.ndim), 1.0, 0.5).astype(g.real.dtype)
    return np.fft.irfft(np.conj(g) * weights, n, axis, REVERSED[norm])


def to_half(g, axis, norm):
    """The transpose of `irfft` to the length of `g`."""
    weights = np.where(single(g.shape[axis], axis, g.ndim), 1.0, 2.0).astype(g.dtype)
    return np.conj(np.fft.rfft(g, None, axis, REVERSED[norm])) * weights


def single(n, axis, ndim):
    """Which frequencies have no mirror image but themselves: 0 and n/2; with axes of length 1 after it."""
    k = np.arange(n // 2 + 1)
    return ((k == 0) | (2 * k == n)).reshape((-1,) + (1,) * (ndim - 1 - axis % ndim))


def of_kind(g, a):
    """Half a spectrum that happens to be real, as its transform is: so is its cotangent."""
    return g if a.dtype.kind == "c" else np.real(g)


def length(n, a, axis):
    """The length of a transform of `a` that was asked to have length `n`."""
    return a.shape[axis] if n is None or n == -1 else n


@vjp(np.fft.rfft, linear=(0,), unless="out", mixed=True)
def rfft(g, y, a, n=None, axis=-1, norm=None, out=None):
    return (resized(from_half(g, length(n, a, axis), axis, norm), a.shape),)


@vjp(np.fft.irfft, linear=(0,), unless="out", mixed=True)
def irfft(g, y, a, n=None, axis=-1, norm=None, out=None):
    return (of_kind(resized(to_half(g, axis, norm), a.shape), a),)


@vjp(np.fft.hfft, linear=(0,), unless="out", mixed=True)
def hfft(g, y, a, n=None, axis=-1, norm=None, out=None):
    """hfft(a) = irfft(conj(a)), with the scale of the other direction."""
    return (of_kind(np.conj(resized(to_half(g, axis, REVERSED[norm]), a.shape)), a),)


@vjp(np.fft.ihfft, linear=(0,), unless="out", mixed=True)
def ihfft(g, y, a, n=None, axis=-1, norm=None, out=None):
    """ihfft(a) = conj(rfft(a)), with the scale of the other direction."""
    return (resized(from_half(np.conj(g), length(n, a, axis), axis, REVERSED[norm]), a.shape),)


@vjp(np.fft.rfftn, linear=(0,), unless="out", mixed=True)
def rfftn(g, y, a, s=None, axes=None, norm=None, out=None):
    """`rfft` along the last axis, then `fft` along the others."""
    axes = distinct(s, axes, a.ndim)
    n = length(None if s is None else s[-1], a, axes[-1])
    return (resized(from_half(np.fft.fftn(g, None, axes[:-1], norm), n, axes[-1], norm), a.shape),)


@vjp(np.fft.irfftn, linear=(0,), unless="out", mixed=True)
def irfftn(g, y, a, s=None, axes=None, norm=None, out=None):
    axes = distinct(s, axes, a.ndim)
    full = np.fft.ifftn(to_half(g, axes[-1], norm), None, axes[:-1], norm)
    return (of_kind(resized(full, a.shape), a),)


@vjp(np.fft.rfft2, linear=(0,), unless="out", mixed=True)
def rfft2(g, y, a, s=None, axes=(-2, -1), norm=None, out=None):
    return rfftn(g, y, a, s, axes, norm)


@vjp(np.fft.irfft2, linear=(0,), unless="out", mixed=True)
def irfft2(g, y, a, s=None, axes=(-2, -1), norm=None, out=None):
    return irfftn(g, y, a, s, axes, norm)


# -- shifts --------------------------------------------------------------------------------------------------


@vjp(np.fft.fftshift, linear=(0,))
def fftshift(g, y, x, axes=None):
    return (np.fft.ifftshift(g, axes),)


@vjp(np.fft.ifftshift, linear=(0,))
def ifftshift(g, y, x, axes=None):
    return (np.fft.fftshift(g, axes),)


# -- of blocks -----------------------------------------------------------------------------------------------


@block(np.fft.fft)
def fft_block(a, n=None, axis=-1, norm=None, out=None):
    return np.fft.fft(a, n, after(axis), norm)


@block(np.fft.ifft)
def ifft_block(a, n=None, axis=-1, norm=None, out=None):
    return np.fft.ifft(a, n, after(axis), norm)


@block(np.fft.rfft)
def rfft_block(a, n=None, axis=-1, norm=None, out=None):
    return np.fft.rfft(a, n, after(axis), norm)


@block(np.fft.irfft)
def irfft_block(a, n=None, axis=-1, norm=None, out=None):
    return np.fft.irfft(a, n, after(axis), norm)


@block(np.fft.hfft)
def hfft_block(a, n=None, axis=-1, norm=None, out=None):
    return np.fft.hfft(a, n, after(axis), norm)


@block(np.fft.ihfft)
def ihfft_block(a, n=None, axis=-1, norm=None, out=None):
    return np.fft.ihfft(a, n, after(axis), norm)


@block(np.fft.fftn)
def fftn_block(a, s=None, axes=None, norm=None, out=None):
    return np.fft.fftn(a, s, afters(axes_of(s, axes, a.ndim - 1)), norm)


@block(np.fft.ifftn)
def ifftn_block(a, s=None, axes=None, norm=None, out=None):
    return np.fft.ifftn(a, s, afters(axes_of(s, axes, a.ndim - 1)), norm)


@block(np.fft.rfftn)
def rfftn_block(a, s=None, axes=None, norm=None, out=None):
    return np.fft.rfftn(a, s, afters(axes_of(s, axes, a.ndim - 1)), norm)


@block(np.fft.irfftn)
def irfftn_block(a, s=None, axes=None, norm=None, out=None):
    return np.fft.irfftn(a, s, afters(axes_of(s, axes, a.ndim - 1)), norm)


@block(np.fft.fft2)
def fft2_block(a, s=None, axes=(-2, -1), norm=None, out=None):
    return np.fft.fft2(a, s, afters(axes), norm)


@block(np.fft.ifft2)
def ifft2_block(a, s=None, axes=(-2, -1), norm=None, out=None):
    return np.fft.ifft2(a, s, afters(axes), norm)


@block(np.fft.rfft2)
def rfft2_block(a, s=None, axes=(-2, -1), norm=None, out=None):
    return np.fft.rfft2(a, s, afters(axes), norm)


@block(np.fft.irfft2)
def irfft2_block(a, s=None, axes=(-2, -1), norm=None, out=None):
    return np.fft.irfft2(a, s, afters(axes), norm)


@block(np.fft.fftshift)
def fftshift_block(x, axes=None):
    return np.fft.fftshift(x, behind(axes, x))


@block(np.fft.ifftshift)
def ifftshift_block(x, axes=None):
    return np.fft.ifftshift(x, behind(axes, x))
