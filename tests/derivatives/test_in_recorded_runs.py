"""Functions of NumPy's that are differentiated through their own Python code, or that change an array, in
both modes against central differences."""

import numpy as np
import pytest

from ctxdispatch import grad, jvp
from ctxdispatch_contexts.programs.errors import MutationError

X = np.array([1.0, 0.5, 3.0, 2.0])
NAN = np.array([1.0, np.nan, 3.0, 2.0])
W = np.cos(np.arange(12.0))


def with_nan(v):
    out = NAN.copy()
    out[[0, 2, 3]] = v[[0, 2, 3]] * v[0]
    return out


def masked_quotients(v):
    out = np.zeros(4)
    d = v * np.array([0.0, 1.0, 1.0, 1.0])
    np.divide(v, d, out=out, where=d != 0)
    np.log(v, out=out, where=v > 2.5)
    return out * out * v


def placed(v):
    out = v * 1.0
    np.place(out, out > 1.5, v[:1] * 2)
    np.put(out, [0], v[1])
    np.put_along_axis(out, np.array([3]), v[0] * v[2], 0)
    return out


def in_rounds(v):
    out = v * 1.0
    np.multiply.at(out, [0, 0, 2, 0], v[::-1] * v[1])
    np.maximum.at(out, np.array([1, 3, 1]), v[:3] + 0.7)
    np.sqrt.at(out, [2, 2])
    np.power.at(out.reshape(2, 2), (0, [0, 1]), 1.5)
    return out


def flat(v):
    out = np.outer(v, v[:2]).T
    out.flat[3] = v[0]
    out.flat[::3] = v[1] * 2
    out.flat.__setitem__(slice(1, 3), v[2:] * v[0])
    return out.flat[1] * out.flat[2:5] + sum(out.flat) + max(out.flat)


def partitioned(v):
    out = v * v
    out.partition(2)
    return out


def into(f, n, *args, **kwargs):
    """The result, what is written, and with it what was there before."""

    def run(v):
        out = np.ones(n) * v[0]
        y = f(with_nan(v), *args, out=out[1:], **kwargs)
        return out * y[0], y

    return run


def replaced_in_place(v):
    out = with_nan(v) + v
    np.nan_to_num(out, copy=False, nan=0.3)
    return out * v


def number_and_array(v):
    """np.dot returns a number, as no other function does that is given an array for it."""
    out = np.empty(())
    return np.dot(v, v * v[0], out=out) * v, out


FUNCTIONS = {
    "nancumsum, out": into(np.nancumsum, 5),
    "nancumprod, out": into(np.nancumprod, 5),
    "nanmedian, out": into(np.nanmedian, 2, axis=0, keepdims=True),
    "nanpercentile, out": into(np.nanpercentile, 3, [20.0, 70.0]),
    "nanquantile, out": into(np.nanquantile, 3, [0.2, 0.7], method="hazen"),
    "nanquantile, weights": into(
        np.nanquantile, 3, [0.2, 0.7], axis=0, weights=np.arange(1.0, 5.0), method="inverted_cdf"
    ),
    "dot, out": number_and_array,
    "nan_to_num, in place": replaced_in_place,
    "nancumsum": lambda v: np.nancumsum(with_nan(v)),
    "nancumprod": lambda v: np.nancumprod(with_nan(v)),
    "nanmedian": lambda v: np.nanmedian(with_nan(v)),
    "nanpercentile": lambda v: np.nanpercentile(with_nan(v), 30.0),
    "nanquantile": lambda v: np.nanquantile(with_nan(v), 0.3),
    "poly": np.poly,
    "polyadd": lambda v: np.polyadd(v, v[:2]),
    "polyder": np.polyder,
    "polydiv": lambda v: np.polydiv(v, v[:2] + 1),
    "polyfit": lambda v: np.polyfit(X, v, 2),
    "polyint": np.polyint,
    "polymul": lambda v: np.polymul(v, v),
    "polysub": lambda v: np.polysub(v, v[1:]),
    "poly1d": lambda v: np.poly1d(v)(v[0]),
    "Polynomial": lambda v: np.polynomial.Polynomial(v)(v[1]),
    "chebval": lambda v: np.polynomial.chebyshev.chebval(0.3, v),
    "apply_along_axis": lambda v: np.apply_along_axis(lambda row: row * row.sum(), 0, v),
    "cond": lambda v: np.linalg.cond(np.diag(v)),
    "sliding_window_view": lambda v: np.lib.stride_tricks.sliding_window_view(v, 2).sum(-1) * v[:3],
    "as_strided": lambda v: np.lib.stride_tricks.as_strided(v * 2, (3, 2), (8, 8)) ** 2,
    "getfield": lambda v: (v * 2).getfield(float) ** 2 + (v * (1 + 2j)).getfield(float, 8) ** 2,
    "vectorize": lambda v: np.vectorize(lambda t: t * t if t > 1.5 else t)(v),
    "masked quotients": masked_quotients,
    "ix_": lambda v: np.ix_(v[:2] ** 2, v[1:]),
    "histogram_bin_edges": lambda v: np.histogram_bin_edges(v * v, 3),
    "histogram": lambda v: np.histogram(v, 4, weights=v * v),
    "placed": placed,
    "ufunc.at": in_rounds,
    "partitioned": partitioned,
    "flat": flat,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_against_central_differences(name):
    def loss(v):
        found = FUNCTIONS[name](v)
        parts = found if isinstance(found, tuple) else (found,)
        return sum((np.ravel(p) * W[: np.size(p)]).sum() for p in parts)

    x = X + 0.1
    expected = [(loss(x + 1e-6 * e) - loss(x - 1e-6 * e)) / 2e-6 for e in np.eye(4)]
    np.testing.assert_allclose(grad(loss)(x.copy()), expected, rtol=1e-5, atol=1e-7)
    found = [jvp(loss, (x.copy(),), (e,))[1] for e in np.eye(4)]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_arrays_that_move_are_refused():
    """np.resize repeats the elements; the method of that name fills with zeros, in memory of its own."""

    def resized(v):
        out = v * 1.0
        out.resize((2, 4), refcheck=False)
        return np.sum(out**2)

    for derivative in (grad(resized), lambda v: jvp(resized, (v,), (v,))):
        with pytest.raises(MutationError, match=r"test_in_recorded_runs.py:\d+ in .*resized: .*np.pad"):
            derivative(X.copy())


@pytest.mark.parametrize("name", ["fft", "irfft", "hfft", "ihfft", "ifft2", "irfft2", "rfftn"])
def test_transforms_that_leave_out_alone(name):
    """hfft, ifft2 and irfft2 return another array than the one that is given as `out`."""
    f = getattr(np.fft, name)

    def loss(v):
        x = v.reshape(2, 2) * np.array([[1.0, 2.0], [0.5, 1.0]])
        out = np.zeros_like(f(np.ones((2, 2))))
        y = f(x, out=out)
        return np.sum((y * y).real) + np.sum((out * 3.0).real)

    expected = [(loss(X + 1e-6 * e) - loss(X - 1e-6 * e)) / 2e-6 for e in np.eye(4)]
    np.testing.assert_allclose(grad(loss)(X.copy()), expected, rtol=1e-5, atol=1e-7)
    found = [jvp(loss, (X.copy(),), (e,))[1] for e in np.eye(4)]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)
