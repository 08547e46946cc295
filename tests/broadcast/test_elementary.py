"""Elementary functions: errors within the stated bounds, NumPy's special values, and loops that are
vectorised."""

import platform
import re

import numpy as np
import pytest

pytest.importorskip("numba")
mp = pytest.importorskip("mpmath").mp

from elementary_points import (  # noqa: E402
    DOUBLE,
    SINGLE,
    arguments,
    fresh_loop,
    loop,
    quarter_turns,
    results,
    special_arguments,
    worst_error,
)

from ctxdispatch_contexts.broadcast import elementary  # noqa: E402
from ctxdispatch_contexts.broadcast.elementary import values  # noqa: E402
from ctxdispatch_contexts.broadcast.elementary.formulas import FORMULAS  # noqa: E402

both = pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
ROUNDED = [name for (name, dtype), bound in elementary.BOUNDS.items() if dtype == DOUBLE and bound > 0]
SLOW_REFERENCE = {"erfinv": 20, "i0": 60, "erfc": 120, "erf": 120}


def same(values, expected):
    """Bit by bit; but any NaN is as good as another."""
    return ((values == expected) & (np.signbit(values) == np.signbit(expected))) | (
        np.isnan(values) & np.isnan(expected))


# Bounds


def test_no_bound_is_above_four():
    assert max(elementary.BOUNDS.values()) < 4
    named = {name for name, _ in elementary.BOUNDS}.union(elementary.AS_NUMPY, elementary.LOOPING_BOUNDS)
    assert named == set(elementary.NAMES)


@both
@pytest.mark.parametrize("name", [name for name in ROUNDED if name != "sinc"])
def test_errors_are_within_the_bound(name, dtype):
    points = arguments(name, dtype, SLOW_REFERENCE.get(name, 250))
    error, where = worst_error(name, dtype, points, results(loop(name, dtype), points, dtype))
    assert error <= elementary.BOUNDS[name, dtype], where


@both
def test_sinc_is_within_the_bound_of_what_numpy_computes(dtype):
    """NumPy's pi x is rounded, and so is not what mpmath's would be."""
    (x,) = arguments("sinc", dtype)
    x = x[np.abs(x) < 1e30]
    y = x * dtype.type(np.pi)
    exact = np.array([mp.sin(t) / t if t else 1 for t in map(float, y)])
    values = results(loop("sinc", dtype), [x], dtype)
    units = np.abs(values - exact) / np.spacing(np.abs(exact.astype(dtype)))
    assert max(units) <= elementary.BOUNDS["sinc", dtype]


@both
@pytest.mark.parametrize("name", "exp expm1 sin cos tan power log2 log10 erfc log1p".split())
def test_bounds_hold_where_nothing_multiplies_and_adds_at_once(name, dtype, monkeypatch):
    monkeypatch.setattr(values, "HAS_FMA", False)
    points = arguments(name, dtype, 60)
    error, where = worst_error(name, dtype, points, results(fresh_loop(name, dtype), points, dtype))
    assert error <= elementary.BOUNDS[name, dtype] + 0.5, where


@both
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_fast_ones_keep_the_bound_in_their_range(name, dtype):
    limit = elementary.FAST_RANGE[name, dtype]
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-limit, limit, 300), 3 * rng.normal(size=300), quarter_turns(rng, 300)])
    x = x[np.abs(x) <= limit].astype(dtype)
    error, where = worst_error(name, dtype, [x], results(loop(name, dtype, fast=True), [x], dtype))
    assert error <= elementary.BOUNDS[name, dtype], where


def test_what_is_exact_is_exact():
    k = np.arange(-1022.0, 1024)
    assert (results(loop("exp2", DOUBLE), [k], DOUBLE) == 2**k).all()
    assert (results(loop("log2", DOUBLE), [2**k], DOUBLE) == k).all()
    k = np.arange(23.0)
    assert (results(loop("log10", DOUBLE), [10**k], DOUBLE) == k).all()
    assert (results(loop("power", DOUBLE), [10 + 0 * k, k], DOUBLE) == 10**k).all()
    assert (results(loop("cbrt", DOUBLE), [k**3], DOUBLE) == k).all()
    assert (results(loop("hypot", DOUBLE), [3 * k, 4 * k], DOUBLE) == 5 * k).all()


# Special values


@both
@pytest.mark.parametrize("name", [name for name in FORMULAS if hasattr(np, name) and name != "i0"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_special_values_are_numpys(name, dtype):
    points = [x.astype(dtype) for x in special_arguments(name)]
    if name in ("maximum", "minimum", "fmax", "fmin"):     # which of two zeros, NumPy leaves to the machine
        points = [x[~((points[0] == 0) & (points[1] == 0))] for x in points]
    ours, numpys = results(loop(name, dtype), points, dtype), getattr(np, name)(*points)
    near = np.isfinite(ours) & (numpys != 0) & (abs(ours - numpys) <= 8 * np.spacing(abs(numpys)))
    exact = elementary.BOUNDS.get((name, dtype), 0) == 0
    alike = same(ours, numpys) | (near & (not exact))
    assert alike.all(), [(*(x[i] for x in points), ours[i], numpys[i]) for i in np.flatnonzero(~alike)]


@both
@pytest.mark.parametrize("name, expected", {
    "expit": [np.nan, 1, 0, 0.5, 0.5], "erf": [np.nan, 1, -1, 0.0, -0.0], "erfc": [np.nan, 0, 2, 1, 1],
    "erfinv": [np.nan, np.nan, np.nan, 0.0, -0.0], "i0": [np.nan, np.inf, np.inf, 1, 1],
}.items())
def test_special_values_of_what_numpy_has_not_or_gets_wrong(name, expected, dtype):
    values = results(loop(name, dtype), [[np.nan, np.inf, -np.inf, 0.0, -0.0]], dtype)
    assert same(values, np.array(expected)).all()


@both
@pytest.mark.parametrize("name", "exp log sin tanh sqrt cbrt log1p expm1 arcsin erf".split())
def test_denormals_in_and_out(name, dtype):
    tiny = np.finfo(dtype).smallest_subnormal * np.array([1, 2, 3, 1000, 2**20], dtype)
    error, where = worst_error(name, dtype, [tiny], results(loop(name, dtype), [tiny], dtype))
    assert error <= elementary.BOUNDS[name, dtype], where


# Vector code

PACKED = r"^\s+v?\w+p[sd]\s.*%[xyz]mm|^\s+vp?(?:and|or|ternlog)\w*\s.*%[xyz]mm"
CALLED = r"^\s+(?:call|movabs)\w*\s+(.*)"
LIBM = re.compile(r"\$(exp|exp2|expm1|log|log2|log10|log1p|sin|cos|tan|pow|rint|floor|ceil|trunc|fma)f?\b")


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="looks for x86's instructions")
@both
@pytest.mark.parametrize("name", [name for name in FORMULAS if name not in elementary.NOT_VECTORISED])
def test_the_loop_is_vectorised_and_calls_nothing(name, dtype):
    (assembly,) = loop(name, dtype).inspect_asm().values()
    packed = re.findall(PACKED, assembly, re.M)
    called = [name for line in re.findall(CALLED, assembly, re.M) for name in LIBM.findall(line)]
    assert len(packed) >= 2 and not called


# Functions with loops


def looped(name, dtype, *arguments):
    f = elementary.implementation(name, dtype)
    return np.array([f(*each) for each in zip(*arguments)])


@pytest.mark.parametrize("name, exact", [("gamma", mp.gamma), ("digamma", mp.digamma),
                                         ("gammaln", lambda x: mp.log(abs(mp.gamma(x))))])
def test_gamma_functions(name, exact):
    rng = np.random.default_rng(2)
    x = np.concatenate([rng.uniform(-10, 20, 300), 10 ** rng.uniform(-5, 2, 200)])
    expected = [exact(t) for t in map(float, x)]
    scale = [max(abs(e), name != "gamma") for e in expected]
    errors = [abs(value - e) / s for value, e, s in zip(looped(name, DOUBLE, x), expected, scale)]
    assert max(errors) <= elementary.LOOPING_BOUNDS[name]
    singles = x[:50].astype(SINGLE)
    expected = looped(name, DOUBLE, singles.astype(DOUBLE)).astype(SINGLE)
    assert (looped(name, SINGLE, singles) == expected).all()


@pytest.mark.parametrize("order", [0, 1, 2, 3, 7, 30])
def test_polygamma(order):
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.uniform(-5, 20, 60), 10 ** rng.uniform(-3, 4, 30)])
    expected = [mp.polygamma(order, t) for t in map(float, x)]
    values = looped("polygamma", DOUBLE, np.full(x.size, order), x)
    errors = [abs(value - e) / max(abs(e), 1) for value, e in zip(values, expected)]
    assert max(errors) <= elementary.LOOPING_BOUNDS["polygamma"]


@pytest.mark.parametrize("name", ["gamma", "gammaln", "digamma", "polygamma"])
def test_special_values_are_scipys(name):
    special = pytest.importorskip("scipy.special")
    x = np.array([0.0, -0.0, -1, -2, np.inf, -np.inf, np.nan, 1, 2])
    for order in ([[1] * 9], [[2] * 9]) if name == "polygamma" else ([],):
        values, expected = looped(name, DOUBLE, *order, x), getattr(special, name)(*order, x)
        assert (same(values, expected) | np.isclose(values, expected, rtol=1e-14)).all()
