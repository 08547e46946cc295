"""Special functions in kernels: the gamma function's derivatives, and scipy.special's functions."""

import math

import numpy as np
import pytest

from ctxdispatch import overdub
from ctxdispatch_contexts.broadcast import BroadcastContext, broadcast, interpreter
from ctxdispatch_contexts.derivatives import special


def same(values, expected):
    return ((values == expected) & (np.signbit(values) == np.signbit(expected))) | (
        np.isnan(values) & np.isnan(expected)
    )


def calling(function):
    """A function that finds `function` among its globals."""
    return eval("lambda x: function(x)", {"function": function, "__name__": __name__})


def digamma(x):
    return special.digamma(x)


def polygamma(n, x):
    return special.polygamma(n, x)


def points(seed):
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.uniform(-10, 20, 150), 10 ** rng.uniform(-5, 4, 100)])


def test_digamma_within_its_bound(backend):
    mp = pytest.importorskip("mpmath").mp
    x = points(0)
    expected = [mp.digamma(t) for t in map(float, x)]
    errors = [abs(y - e) / max(abs(e), 1) for y, e in zip(broadcast(digamma, x, backend=backend), expected)]
    assert max(errors) <= 1e-14


@pytest.mark.parametrize("order", [0, 1, 2, 3, 7, 30])
def test_polygamma_within_its_bound(order, backend):
    mp = pytest.importorskip("mpmath").mp
    x = points(1)[::4]
    expected = [mp.polygamma(order, t) for t in map(float, x)]
    errors = [
        abs(y - e) / max(abs(e), 1) for y, e in zip(broadcast(polygamma, order, x, backend=backend), expected)
    ]
    assert max(errors) <= 1e-13


def test_orders_may_differ_from_element_to_element(backend):
    x, n = np.linspace(0.3, 5, 7), np.arange(7)
    expected = [special.polygamma(int(k), t) for k, t in zip(n, map(float, x))]
    np.testing.assert_allclose(broadcast(polygamma, n, x, backend=backend), expected, rtol=1e-13)


@pytest.mark.parametrize("function", [digamma, lambda x: special.polygamma(2, x)])
def test_float32_is_rounded_once(function, backend):
    x = points(2).astype(np.float32)
    y = broadcast(function, x, backend=backend)
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y, broadcast(function, x.astype(float), backend=backend).astype(np.float32))


EDGES = np.array([0.0, -0.0, -1, -2, np.inf, -np.inf, np.nan, 1, 2, 1e300, 1e-300])


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_special_values_are_scipys(order, backend):
    scipy_special = pytest.importorskip("scipy.special")
    expected = scipy_special.polygamma(order, EDGES) if order else scipy_special.digamma(EDGES)
    values = broadcast(polygamma, order, EDGES, backend=backend)
    assert (same(values, expected) | np.isclose(values, expected, rtol=1e-14)).all(), (values, expected)


# -- derivatives ---------------------------------------------------------------------------------------------

DERIVATIVES = {
    math.gamma: lambda x, y: y * special.digamma(x),
    math.lgamma: lambda x, y: special.digamma(x),
    math.erf: lambda x, y: 2 / math.sqrt(math.pi) * math.exp(-x * x),
    math.erfc: lambda x, y: -2 / math.sqrt(math.pi) * math.exp(-x * x),
    special.digamma: lambda x, y: special.polygamma(1, x),
    np.sinc: lambda x, y: (math.cos(math.pi * x) - y) / x,
}


@pytest.mark.parametrize("function", DERIVATIVES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_partial_derivatives_are_the_rows(function, dtype, backend):
    x = np.array([0.3, 1.7, 4.0, -0.6], dtype)
    y, (slope,) = overdub(BroadcastContext(wrt=(0,), backend=backend), calling(function), x)
    expected = [DERIVATIVES[function](t, float(function(t))) for t in map(float, x)]
    assert slope.dtype == dtype
    np.testing.assert_allclose(slope, expected, rtol=1e-12 if dtype == np.float64 else 1e-5)


# -- SciPy's -------------------------------------------------------------------------------------------------

OF_SCIPY = "erf erfc erfinv expit gamma gammaln psi digamma i0 cbrt exp2 expm1 log1p".split()


@pytest.mark.parametrize("name", OF_SCIPY)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_functions_of_scipy(name, dtype, backend):
    function = getattr(pytest.importorskip("scipy.special"), name)
    x = np.array([0.3, 0.7, 0.05, 0.9, -0.6 if name != "gammaln" else 0.4], dtype)
    y = broadcast(calling(function), x, backend=backend)
    assert y.dtype == dtype
    np.testing.assert_allclose(y, function(x), rtol=1e-13 if dtype == np.float64 else 1e-6)


def test_polygamma_of_scipy(backend):
    scipy_special = pytest.importorskip("scipy.special")
    x = np.linspace(0.3, 5, 7)
    twice = eval("lambda x: polygamma(2, x)", {"polygamma": scipy_special.polygamma, "__name__": __name__})
    y = broadcast(twice, x, backend=backend)
    np.testing.assert_allclose(y, scipy_special.polygamma(2, x), rtol=1e-13)


ERFINV = np.array([0.2724627147267543, 0.7328690779592167, 1.3859038243496777])


@pytest.mark.parametrize("name, slope", {
    "expit": lambda x: np.exp(-x) / (1 + np.exp(-x)) ** 2, "gammaln": np.vectorize(special.digamma),
    "erf": lambda x: 2 / np.sqrt(np.pi) * np.exp(-x * x),
    "erfinv": lambda x: np.sqrt(np.pi) / 2 * np.exp(ERFINV ** 2),
}.items())  # fmt: skip
def test_derivatives_of_functions_of_scipy(name, slope, backend):
    function = getattr(pytest.importorskip("scipy.special"), name)
    x = np.array([0.3, 0.7, 0.95])
    _, (found,) = overdub(BroadcastContext(wrt=(0,), backend=backend), calling(function), x)
    np.testing.assert_allclose(found, slope(x), rtol=1e-13)


@pytest.mark.parametrize("name", ["gamma", "lgamma", "erf", "erfc"])
def test_the_reference_without_scipy(name):
    x = np.array([0.0, -0.0, -1.0, -2.5, 0.3, 180.0, np.inf, np.nan])
    expected = {"gamma": [np.inf, -np.inf, np.nan], "lgamma": [np.inf] * 3}.get(name, [])
    with np.errstate(all="ignore"):
        values = interpreter._one_by_one(name)(x)
    assert same(values[: len(expected)], np.array(expected)).all()
    for value, t in zip(values[3:5], x[3:5]):
        assert value == getattr(math, name)(t)
    assert values[5] == (np.inf if name == "gamma" else getattr(math, name)(180.0)) and np.isnan(values[-1])
