"""Values of SciPy's piecewise polynomials and B-splines, whose C code gives way to NumPy's where they are
differentiated: they are linear in the coefficients, and their slope at a point is the next derivative there.

The coefficients of a CubicSpline are read through; those of make_interp_spline are linear in the values.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch_contexts.recording.numerics import integral
from ctxdispatch_contexts.recording.solvers import (
    arguments,
    depends,
    imported,
    plainly,
    refuse_if,
    refused,
    rule,
)


@rule("scipy.interpolate", "PPoly._evaluate")  # before SciPy 1.18
@rule("scipy.interpolate._interpolate", "_PPoly._evaluate")
def evaluate(ctx: Any, f: Any, args: Any, kwargs: Any) -> Any:
    given = arguments(f, args, kwargs)
    spline, x, out = given["self"], given["x"], given["out"]
    if not depends(ctx, (spline.c, spline.x, x)):
        return plainly(ctx, f, args, kwargs)
    f(spline, np.array(x), given["nu"], given["extrapolate"], out)
    nothing = np.isnan(out)
    at = np.clip(np.searchsorted(spline.x, x, "right") - 1, 0, len(spline.x) - 2)
    return resolve(ctx, polynomials)(spline.c, spline.x, x, at, given["nu"], nothing, out)


def polynomials(c: Any, starts: Any, x: Any, at: Any, nu: int, nothing: Any, out: Any) -> None:
    """out = the derivative of order nu of the polynomial number `at` at x."""
    c = np.reshape(c, (c.shape[0], c.shape[1], -1))
    degree = c.shape[0] - 1
    t = np.reshape(x - starts[at], (-1, 1))
    y = np.zeros((len(x), c.shape[2]))
    for i in range(degree - nu + 1):
        power = degree - i
        y = y * t + math.perm(power, nu) * c[i, at]
    out[...] = np.where(nothing, np.nan, y)


@rule("scipy.interpolate", "PPoly.integrate")
def integrate(ctx: Any, f: Any, args: Any, kwargs: Any) -> Any:
    given = arguments(f, args, kwargs)
    spline = given["self"]
    if depends(ctx, (spline.c, spline.x, given["a"], given["b"])):
        raise refused(
            "the integral of a piecewise polynomial has no derivative rule; use the difference of its "
            "antiderivative's values"
        )
    return plainly(ctx, f, args, kwargs)


@rule("scipy.interpolate", "BSpline.__call__")
def of_basis(ctx: Any, f: Any, args: Any, kwargs: Any) -> Any:
    given = arguments(f, args, kwargs)
    spline, x, nu = given["self"], given["x"], given["nu"]
    if not depends(ctx, (spline.c, spline.t, x)):
        return plainly(ctx, f, args, kwargs)
    refuse_if(ctx, {"knots": spline.t}, type(spline), "knots")
    options = (given["extrapolate"] if given["extrapolate"] is not None else spline.extrapolate,)
    if spline.axis or np.iscomplexobj(spline.c):
        raise refused(
            "B-splines of complex numbers, or along another axis than the first, are not "
            "ruled; split it, or move the axis there"
        )
    fixed = np.array(x, float)
    basis = f(type(spline)(spline.t, np.eye(len(spline.c)), spline.k), fixed, nu, *options)
    y = resolve(ctx, np.tensordot)(basis, spline.c, 1)
    if depends(ctx, (x,)):
        slope = f(type(spline)(spline.t, np.array(spline.c), spline.k), fixed, nu + 1, *options)
        more = (1,) * (np.ndim(y) - fixed.ndim)
        y = resolve(ctx, moved)(y, x, fixed, slope, fixed.shape + more)
    return resolve(ctx, np.asarray)(y)


def moved(y: Any, x: Any, fixed: Any, slope: Any, shape: Any) -> Any:
    return y + np.reshape(np.asarray(x) - fixed, shape) * slope


@rule("scipy.interpolate", "make_interp_spline")
def interpolating(ctx: Any, f: Any, args: Any, kwargs: Any) -> Any:
    given = arguments(f, args, kwargs)
    if not depends(ctx, (given["x"], given["y"], given["t"], given["bc_type"])):
        return plainly(ctx, f, args, kwargs)
    refuse_if(ctx, given, f, "x", "t", "bc_type")
    if given["axis"]:
        raise refused("make_interp_spline has derivatives along the first axis; move the axis there")
    y = ctx.array(given["y"]) if not issubclass(type(given["y"]), np.ndarray) else given["y"]
    fixed = np.array(y)
    spline = f(**{**given, "y": fixed})
    n = len(fixed)
    columns = [_coefficients(f, given, row, fixed) for row in np.eye(n)]
    zero = _coefficients(f, given, np.zeros(n), fixed)
    matrix = np.stack([c - zero for c in columns], axis=1)
    moving = resolve(ctx, np.tensordot)(matrix, resolve(ctx, integral)(np.zeros(y.shape), y, fixed), 1)
    coefficients = resolve(ctx, np.add)(np.array(spline.c), moving)
    return type(spline).construct_fast(spline.t, coefficients, spline.k, spline.extrapolate, spline.axis)


def _coefficients(f: Any, given: dict[str, Any], values: Any, like: Any) -> Any:
    """Those of values that are the same in all further dimensions; the conditions at the ends are linear."""
    full = np.broadcast_to(values.reshape(-1, *[1] * (like.ndim - 1)), like.shape)
    c = f(**{**given, "y": np.array(full)}).c
    return c.reshape(len(c), -1)[:, 0]


__all__ = ["imported"]
