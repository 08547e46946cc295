"""Functions of Python numbers that are no elementwise rows: constructors, many arguments or results."""

from __future__ import annotations

import builtins
import cmath
import math

import numpy as np

from ctxdispatch_contexts.derivatives.linear import scatter, spread, unbroadcast
from ctxdispatch_contexts.derivatives.registry import of, vjp

# -- constructors and conversions ----------------------------------------------------------------------------


@vjp(
    builtins.float, np.float16, np.float32, np.float64, np.longdouble, np.complex64, np.complex128,
    np.clongdouble, float.conjugate, float.real, float.__float__, arrays=0, linear=(0,),
)  # fmt: skip
def number(g, y, x=0.0, *rest):
    """The cotangent of a one-element array has its shape."""
    if isinstance(x, np.ndarray):
        return (np.reshape(g, x.shape),)
    return (g,)


@vjp(builtins.complex, arrays=0, linear=(0, 1))
def complex_(g, y, real=0.0, imag=0.0):
    return (g, 1j * g)


@vjp(complex.conjugate, arrays=0, linear=(0,))
def complex_conjugate(g, y, z):
    return (g.conjugate(),)


@vjp(complex.real, arrays=0, linear=(0,))
def complex_real(g, y, z):
    return (g,)


@vjp(complex.imag, arrays=0, linear=(0,))
def complex_imag(g, y, z):
    return (-1j * g,)


@vjp(float.imag, arrays=0, linear=(0,))
def float_imag(g, y, x):
    return (0.0,)


@vjp(np.ndarray.item, *of(np.generic, "item"), linear=(0,), picks=True)
def item(g, y, a, *args):
    if len(args) == 0:
        return (np.reshape(np.asarray(g, a.dtype), a.shape),)
    if len(args) == 1 and isinstance(args[0], int):
        return (scatter(g, args[0], (a.size,), a.dtype).reshape(a.shape),)
    return (scatter(g, args if isinstance(args[0], int) else args[0], a.shape, a.dtype),)


@vjp(np.ndarray.tolist, *of(np.generic, "tolist"), linear=(0,))
def tolist(g, y, a):
    if a.ndim == 0:
        return (np.asarray(g, a.dtype),)
    return (gathered(g, a.shape, a.dtype),)


def gathered(g, shape, dtype):
    """Nested lists of cotangents, None for zero, as an array."""
    if g is None:
        return np.zeros(shape, dtype)
    if len(shape) == 0:
        return np.asarray(g, dtype)
    if shape[0] == 0:
        return np.zeros(shape, dtype)
    return np.stack([gathered(gi, shape[1:], dtype) for gi in g])


# -- several arguments ---------------------------------------------------------------------------------------


@vjp(math.hypot, arrays=0)
def hypot(g, y, *coordinates):
    return tuple(scaled(g / y if y else 0.0, coordinates))


@vjp(math.dist, arrays=0)
def dist(g, y, p, q):
    if isinstance(p, np.ndarray) and isinstance(q, np.ndarray):
        towards = g * away(p, q, y)
        return (towards, -towards)
    factor = g / y if y else 0.0
    towards = scaled(factor, [a - b for a, b in zip(p, q, strict=True)])
    return (like(towards, p), like(scaled(-1.0, towards), q))


def away(p, q, y):
    """The unit vector from q to p."""
    return (p - q) / (y if y else math.inf)


def scaled(factor, items):
    return [factor * x for x in items]


def like(items, x):
    """The cotangent of an array is one."""
    return np.array(items) if isinstance(x, np.ndarray) else items


@vjp(math.fsum, arrays=0, linear=(0,))
def fsum(g, y, seq):
    if isinstance(seq, np.ndarray):
        return (spread(g, seq.shape, seq.dtype),)
    return ([g] * len(seq),)


@vjp(*of(math, "sumprod"), arrays=0, multilinear=(0, 1))
def sumprod(g, y, p, q):
    first = g * q if isinstance(p, np.ndarray) and isinstance(q, np.ndarray) else like(scaled(g, q), p)
    second = g * p if isinstance(p, np.ndarray) and isinstance(q, np.ndarray) else like(scaled(g, p), q)
    return (first, second)


# -- several results -----------------------------------------------------------------------------------------


@vjp(math.modf, np.modf)
def modf(g, y, x):
    return (g[0],)


@vjp(math.frexp, np.frexp)
def frexp(g, y, x):
    """x = m 2**e, so dm = 2**-e dx"""
    if g[0] is None:
        return (None,)
    if isinstance(y[1], int):
        return (g[0] * 2.0 ** -y[1],)
    return (np.ldexp(g[0], -y[1]),)


@vjp(np.divmod, arrays=2)
def divmod_(g, y, a, b):
    if g[1] is None:
        return (None, None)
    return (within(g[1], a), within(-y[0] * g[1], b))


def within(g, like):
    """Summed to the shape of `like`."""
    if g.ndim == like.ndim == 0:
        return g
    return np.add.reduce(g, axis=None) if like.ndim == 0 else unbroadcast(g, like.shape)


# -- polar coordinates ---------------------------------------------------------------------------------------


@vjp(np.sign)
def sign(g, y, z):
    """z / |z| of complex numbers, zero at zero: |y| is 1, so dy = i y Im(conj(y) dz) / |z|. Real ones have a
    row."""
    if z.dtype.kind != "c":
        return (np.zeros_like(z),)
    size = np.abs(z)
    return (1j * np.imag(g * y) * np.conj(y) / np.where(size == 0, 1.0, size).astype(size.dtype),)


@vjp(cmath.phase, arrays=0)
def phase(g, y, z):
    return (-1j * g / z,)


@vjp(cmath.polar, arrays=0)
def polar(g, y, z):
    radius = 0.0 if g[0] is None else g[0] * z.conjugate() / y[0]
    return (radius if g[1] is None else radius - 1j * g[1] / z,)


@vjp(cmath.rect, arrays=0)
def rect(g, y, r, phi):
    return ((g * cmath.exp(1j * phi)).real, (g * 1j * y).real)
