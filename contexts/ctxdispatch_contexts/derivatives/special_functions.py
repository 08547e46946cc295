"""The functions of scipy.special: what their rows are written with, and rules for those that are no rows.

Loaded where a program has imported scipy.special (see `libraries.py`).
"""

from __future__ import annotations

import math

import numpy as np
import scipy.special as special

from ctxdispatch_contexts.derivatives.linear import unbroadcast
from ctxdispatch_contexts.derivatives.namespaces import NUMPY
from ctxdispatch_contexts.derivatives.reductions import restore
from ctxdispatch_contexts.derivatives.registry import lower, vjp
from ctxdispatch_contexts.programs.no_derivative import no_derivative

KEEP_OUT = (
    "keep that argument out of the derivative with `stop_gradient`, or give the function a rule with "
    "`custom_rule`"
)


# -- what the rows are written with --------------------------------------------------------------------------


def refused(argument, function, what):
    """Instead of a partial derivative that is not known."""
    raise no_derivative(f"scipy.special.{function} with respect to its {what} in closed form", KEEP_OUT)


def erfcx_slope(x, y):
    """2 x y - 2 / sqrt(pi); where that would cancel, the asymptotic series of DLMF 7.12.1."""
    large = np.real(x) > 40.0
    t = 0.5 / np.square(np.where(large, x, 40.0))
    series = t * (1.0 - 3.0 * t * (1.0 - 5.0 * t * (1.0 - 7.0 * t * (1.0 - 9.0 * t))))
    return np.where(large, -1.1283791670955126 * series, 2.0 * x * y - 1.1283791670955126)


def weak(a, x):
    """A number of Python's in the precision of `x`: SciPy would take it for one of float64."""
    if type(a) in (int, float) and isinstance(x, (np.ndarray, np.generic)):
        return np.asarray(a, x.dtype)
    return a


def difference(f, i, y, *args):
    """The derivative of y = f(*args) in the argument i, a positive parameter, by central differences of order
    eight. The step is a small part of what f varies over: of the parameter, of its root where it is large."""
    at = np.asarray(args[i], np.float64)
    step = 0.005 * np.minimum(at, np.sqrt(at))
    total = 0.0
    for k, weight in ((1, 4.0 / 5.0), (2, -1.0 / 5.0), (3, 4.0 / 105.0), (4, -1.0 / 280.0)):
        above = f(*args[:i], at + k * step, *args[i + 1 :])
        total = total + weight * (above - f(*args[:i], at - k * step, *args[i + 1 :]))
    return (total / step).astype(np.result_type(y))


def f_density(m, n, x):
    """Of Fisher's F distribution with m and n degrees of freedom (DLMF 8.17.7, with x = n t / (m - m t))."""
    r = m / n
    front = special.xlogy(0.5 * m, r) + special.xlogy(0.5 * m - 1.0, x)
    return np.exp(front - 0.5 * (m + n) * np.log1p(r * x) - special.betaln(0.5 * m, 0.5 * n))


def power_slope(u, b):
    """d/db (exp(b u) - 1) / b = u^2 (t e^t - e^t + 1) / t^2, t = b u; where that would cancel, its series."""
    t = b * u
    small = np.abs(t) < 0.5
    s, far = np.where(small, t, 0.0), np.where(small, 1.0, t)
    series = sum([(k + 1) / math.factorial(k + 2) * s**k for k in range(14)])
    return u * u * np.where(small, series, (np.exp(far) * (far - 1.0) + 1.0) / (far * far))


def root_slope(a, b):
    """d/db log((1 + a b)^(1/b)) = a^2 (t / (1 + t) - log(1 + t)) / t^2, t = a b; where that would cancel, its
    series."""
    t = a * b
    small = np.abs(t) < 0.05
    s, far = np.where(small, t, 0.0), np.where(small, 1.0, t)
    series = -sum([(k + 1) / (k + 2) * (-s) ** k for k in range(12)])
    return a * a * np.where(small, series, (far / (1.0 + far) - np.log1p(far)) / (far * far))


NAMESPACE = {
    **{name: f for name, f in vars(special).items() if callable(f) and not name.startswith("_")},
    **NUMPY,
    "digamma": special.digamma, "polygamma": special.polygamma,
    "__name__": "derivatives of scipy.special",
    "real": np.real, "refused": refused, "erfcx_slope": erfcx_slope, "weak": weak,
    "pi": math.pi, "f_density": f_density, "power_slope": power_slope, "root_slope": root_slope,
    "difference": difference, "_beta_ppf": getattr(special._ufuncs, "_beta_ppf", None),
}  # fmt: skip


# -- functions of Python that are rows -----------------------------------------------------------------------


@lower(special.polygamma)
def polygamma(n, x):
    """Of arguments by name."""
    return special.polygamma(np.asarray(n), np.asarray(x))


@lower(special.zeta)
def zeta(x, q=None, out=None):
    """Of arguments by name."""
    if q is None:
        raise no_derivative("scipy.special.zeta with respect to its exponent in closed form", KEEP_OUT)
    return special.zeta(np.asarray(x), np.asarray(q))


@lower(special.psi)
def psi(x, out=None):
    """Of complex numbers, of which SciPy has no derivative; real ones have a row."""
    return analytic_psi(x)


def analytic_psi(z):
    return special.psi(z)


@vjp(analytic_psi, arrays=1)
def analytic_psi_vjp(g, y, z):
    return (g * derivative_of_psi(z, 1),)


def derivative_of_psi(z, n):
    """Cauchy's integral on a circle a quarter as wide as the next pole is far, by the trapezoidal rule
    (Lyness and Moler, "Numerical differentiation of analytic functions", 1967): its error is (1/4)^24."""
    pole = np.minimum(np.rint(np.real(z)), 0.0)
    radius = 0.25 * np.abs(z - pole)
    total = 0.0
    for k in range(24):
        turn = np.exp(2j * np.pi * k / 24)
        total = total + special.psi(z + radius * turn) / turn**n
    return (math.factorial(n) / 24 * total / radius**n).astype(z.dtype)


@vjp(derivative_of_psi, arrays=1)
def derivative_of_psi_vjp(g, y, z, n):
    return (g * derivative_of_psi(z, n + 1),)


@lower(special.ive)
def ive(v, z, out=None):
    """Of complex numbers; real ones have a row."""
    return scaled_iv(z, np.abs(np.real(z)), order_of_ive(v))


def order_of_ive(v):
    """A value of its own, of which the cotangent is refused where the order varies."""
    return np.asarray(v)


@vjp(order_of_ive)
def order_of_ive_vjp(g, y, v):
    return (refused(v, "ive", "order"),)


def scaled_iv(z, size, order):
    """I_v(z) exp(-size), where size is |Re z|: analytic in z, and I_v(z) alone would overflow."""
    return special.ive(order, z) * np.exp(np.abs(np.real(z)) - size)


@vjp(scaled_iv, arrays=3)
def scaled_iv_vjp(g, y, z, size, order):
    """DLMF 10.29.1. Where the order varies, `order_of_ive` refuses whatever comes back to it."""
    slope = 0.5 * (scaled_iv(z, size, order - 1.0) + scaled_iv(z, size, order + 1.0))
    of_size = -np.real(g * y)
    return (
        unbroadcast(g * slope, z.shape),
        unbroadcast(of_size, size.shape),
        unbroadcast(0.0 * of_size, order.shape),
    )


# -- several elements ----------------------------------------------------------------------------------------


@vjp(special.multigammaln)
def multigammaln(g, y, a, d):
    """The sum over j < d of log gamma(a - j/2), and a constant (DLMF 35.3.5)."""
    return (g * np.sum(special.psi(a[..., None] - 0.5 * np.arange(d)), axis=-1),)


@vjp(special.softmax)
def softmax(g, y, x, axis=None):
    weighted = g * y
    return (weighted - y * np.sum(weighted, axis=axis, keepdims=True),)


@vjp(special.log_softmax)
def log_softmax(g, y, x, axis=None):
    return (g - np.exp(y) * np.sum(g, axis=axis, keepdims=True),)


@vjp(special.logsumexp, arrays=1)
def logsumexp(g, y, a, axis=None, b=None, keepdims=False, return_sign=False):
    """exp(a - y), times b; in which y is the logarithm of the sum, or of its size where it has a sign."""
    if return_sign:
        g = of_size_and_sign(g, y[1])
        return (None, None, None) if g is None else summands(g / y[1], y[0], a, axis, b, keepdims)
    return summands(g, y, a, axis, b, keepdims)


def of_size_and_sign(g, sign):
    """The cotangent of the logarithm of s, from those of log |s| and of s / |s|: these vary with its real and
    with its imaginary part. The sign of a real number is constant."""
    if sign.dtype.kind != "c":
        return g[0]
    size = 0.0 if g[0] is None else np.real(g[0])
    return size if g[1] is None else size + 1j * np.imag(g[1] * sign)


def summands(g, y, a, axis, b, keepdims):
    """The cotangents of `a` and `b`: those of the sum's terms, which are broadcast."""
    shape = np.shape(a) if b is None else np.broadcast_shapes(np.shape(a), np.shape(b))
    g, top = restore(g, shape, axis, keepdims), restore(finite(y), shape, axis, keepdims)
    if b is None:
        share = g * np.exp(a - top)
        return (np.reshape(share, a.shape) if a.ndim == 0 else share, None, None)
    b = np.asarray(b)
    share = g * np.exp(np.broadcast_to(a, shape) - top)
    return (unbroadcast(b * np.where(b == 0, 0.0, share), a.shape), None, unbroadcast(share, b.shape))


def finite(y):
    """0 for the logarithm of an empty sum: its terms are zero, and so are their derivatives."""
    return np.where(np.real(y) == -np.inf, 0.0, y)
