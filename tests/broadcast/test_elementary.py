"""Elementary functions: errors within the stated bounds, NumPy's special values, and loops that are
vectorised."""

import math
import platform
import re

import numpy as np
import pytest

pytest.importorskip("llvmlite")
pytest.importorskip("mpmath")

from elementary_points import (  # noqa: E402
    DOUBLE,
    LOOPS,
    SINGLE,
    VECTORS,
    arguments,
    assembly,
    fresh_kernel,
    mp,
    quarter_turns,
    results,
    special_arguments,
    worst_error,
)

from ctxdispatch_contexts.broadcast import elementary  # noqa: E402
from ctxdispatch_contexts.broadcast.elementary import FAST, FORMULAS, reduction, values  # noqa: E402

both = pytest.mark.parametrize("dtype", [SINGLE, DOUBLE], ids=str)
ROUNDED = [name for (name, dtype), bound in elementary.BOUNDS.items() if dtype == DOUBLE and bound > 0]
SLOW_REFERENCE = {"erfinv": 20, "i0": 60, "erfc": 120, "erf": 120}


def same(values, expected):
    """Bit by bit; but any NaN is as good as another."""
    return ((values == expected) & (np.signbit(values) == np.signbit(expected))) | (
        np.isnan(values) & np.isnan(expected))


def alike(name, values, expected):
    """Bit by bit, but where the formula is chosen for a vector together."""
    rounded = name in FAST and elementary.BOUNDS.get((name, values.dtype), 0) > 0
    chosen = rounded & np.isclose(values, expected, rtol=8 * np.finfo(values.dtype).eps, atol=0)
    return (same(values, expected) | chosen).all()


# Bounds


def test_no_bound_is_above_four():
    assert max(elementary.BOUNDS.values()) < 4
    assert {name for name, _ in elementary.BOUNDS}.union(elementary.AS_NUMPY) == set(FORMULAS)


@both
@pytest.mark.parametrize("name", [name for name in ROUNDED if name != "sinc"])
def test_errors_are_within_the_bound(name, dtype):
    points = arguments(name, dtype, SLOW_REFERENCE.get(name, 250))
    error, where = worst_error(name, dtype, points, results(name, dtype, points))
    assert error <= elementary.BOUNDS[name, dtype], where


@both
@pytest.mark.parametrize("form", [LOOPS, VECTORS])
def test_sinc_is_within_the_bound_of_what_numpy_computes(form, dtype):
    """NumPy's pi x is rounded, and so is not what mpmath's would be."""
    (x,) = arguments("sinc", dtype)
    x = x[np.abs(x) < 1e30]
    y = x * dtype.type(np.pi)
    exact = np.array([mp.sin(t) / t if t else 1 for t in map(float, y)])
    values = results("sinc", dtype, [x], form)
    units = np.abs(values - exact) / np.spacing(np.abs(exact.astype(dtype)))
    assert max(units) <= elementary.BOUNDS["sinc", dtype]


@both
@pytest.mark.parametrize("name", "exp expm1 sin cos tan power log2 log10 erfc log1p".split())
def test_bounds_hold_where_nothing_multiplies_and_adds_at_once(name, dtype, monkeypatch):
    monkeypatch.setattr(values, "HAS_FMA", False)
    points = arguments(name, dtype, 60)
    error, where = worst_error(name, dtype, points, results(name, dtype, points, run=fresh_kernel(name)))
    assert error <= elementary.BOUNDS[name, dtype] + 0.5, where


def turning(dtype, count):
    """Arguments of sin, cos and tan, of all magnitudes."""
    rng = np.random.default_rng(0)
    edges = np.array([reduction.MODERATE, 1.0, np.pi / 4, np.pi / 2], dtype)
    edges = np.concatenate([edges, *(np.nextafter(edges, dtype.type(to)) for to in (0, np.inf))])
    largest = np.array([1e30, 3e38 if dtype == SINGLE else 1e300, 1e-30, 0.0, *edges])
    limit = reduction.MODERATE
    usual = 3 * rng.normal(size=count)
    x = np.concatenate([rng.uniform(-limit, limit, count), usual, quarter_turns(rng, count),
                        largest, -largest])  # fmt: skip
    return [x.astype(dtype)]


def raised(dtype, count):
    """Arguments of power, some of which are negative, or give what is not normal."""
    rng = np.random.default_rng(0)
    x, y = np.exp(rng.normal(size=count)), 5 * rng.normal(size=count)
    hard = [(-2, 3), (-8, 1), (1e-40, 0.5), (0, 2), (2, 127.9), (2, -149), (2, -1074), (2, 1023.9)]
    return [np.concatenate(each).astype(dtype) for each in zip((x, y), zip(*hard))]


SPREAD = {"power": raised, "sin": turning, "cos": turning, "tan": turning}


def divided(dtype, count):
    """Arguments of fmod: multiples, what is next to them, and quotients of all sizes."""
    rng = np.random.default_rng(0)
    y = (rng.normal(size=count) * 10 ** rng.uniform(-3, 3, count)).astype(dtype)
    x = y * np.rint(10 ** rng.uniform(0, np.log10(2) * np.finfo(dtype).nmant, count)).astype(dtype)
    beside = np.nextafter(x, dtype.type(0)), np.nextafter(x, dtype.type(np.inf))
    hard = [(1, 1e-40), (1e-40, 3e-41), (3e38, 1e-30), (-5, 3), (5, -3), (-6, 3), (0, 1), (1, 0), (0, 0)]
    x, y = np.concatenate([x, *beside, y]), np.concatenate([y, y, y, x])
    return [np.concatenate([each, few]).astype(dtype) for each, few in zip((x, y), zip(*hard))]


@both
@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide"])
@pytest.mark.parametrize("fma", [True, False])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_rests_are_exact(name, fma, dtype, monkeypatch):
    monkeypatch.setattr(values, "HAS_FMA", fma and values.HAS_FMA)
    x = divided(dtype, 300)
    assert same(results(name, dtype, x, VECTORS, fresh_kernel(name)), getattr(np, name)(*x)).all()


@both
@pytest.mark.parametrize("name", SPREAD)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_chosen_for_vectors_keeps_the_bound(name, dtype):
    """Of usual arguments, and with others among them, whichever formula is taken for them together."""
    points = SPREAD[name](dtype, 200)
    order = np.random.default_rng(1).permutation(points[0].size)
    for x in points, [each[order] for each in points]:
        error, where = worst_error(name, dtype, x, results(name, dtype, x, VECTORS))
        assert error <= elementary.BOUNDS[name, dtype], where


@both
@pytest.mark.parametrize("name", SPREAD)
def test_what_is_not_finite_among_usual_arguments(name, dtype):
    others = np.array([np.inf, -np.inf, np.nan] * 12, dtype)
    points = [np.concatenate([x, others]) for x in SPREAD[name](dtype, 60)]
    points = [np.random.default_rng(1).permutation(x) for x in points]
    y = results(name, dtype, points, VECTORS)
    assert alike(name, y, results(name, dtype, points, LOOPS))
    assert name == "power" or (np.isnan(y) == ~np.isfinite(points[0])).all()


def test_what_is_exact_is_exact():
    k = np.arange(-1022.0, 1024)
    assert (results("exp2", DOUBLE, [k]) == 2**k).all()
    assert (results("log2", DOUBLE, [2**k]) == k).all()
    k = np.arange(23.0)
    assert (results("log10", DOUBLE, [10**k]) == k).all()
    assert (results("power", DOUBLE, [10 + 0 * k, k]) == 10**k).all()
    assert (results("cbrt", DOUBLE, [k**3]) == k).all()
    assert (results("gamma", DOUBLE, [k + 1]) == [math.factorial(int(n)) for n in k]).all()
    assert np.isnan(results("gamma", DOUBLE, [-k - 1])).all()
    assert (results("hypot", DOUBLE, [3 * k, 4 * k]) == 5 * k).all()


# Special values


@both
@pytest.mark.parametrize("form", [LOOPS, VECTORS])
@pytest.mark.parametrize("name", [name for name in FORMULAS if hasattr(np, name) and name != "i0"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_special_values_are_numpys(name, form, dtype):
    points = [x.astype(dtype) for x in special_arguments(name)]
    if name in ("maximum", "minimum", "fmax", "fmin"):     # which of two zeros, NumPy leaves to the machine
        points = [x[~((points[0] == 0) & (points[1] == 0))] for x in points]
    ours, numpys = results(name, dtype, points, form), getattr(np, name)(*points)
    near = np.isfinite(ours) & (numpys != 0) & (abs(ours - numpys) <= 8 * np.spacing(abs(numpys)))
    exact = elementary.BOUNDS.get((name, dtype), 0) == 0
    alike = same(ours, numpys) | (near & (not exact))
    assert alike.all(), [(*(x[i] for x in points), ours[i], numpys[i]) for i in np.flatnonzero(~alike)]


@both
@pytest.mark.parametrize("name, expected", {
    "expit": [np.nan, 1, 0, 0.5, 0.5], "erf": [np.nan, 1, -1, 0.0, -0.0], "erfc": [np.nan, 0, 2, 1, 1],
    "erfinv": [np.nan, np.nan, np.nan, 0.0, -0.0], "i0": [np.nan, np.inf, np.inf, 1, 1],
    "gamma": [np.nan, np.inf, np.nan, np.inf, -np.inf], "lgamma": [np.nan, np.inf, np.inf, np.inf, np.inf],
}.items())
def test_special_values_of_what_numpy_has_not_or_gets_wrong(name, expected, dtype):
    values = results(name, dtype, [[np.nan, np.inf, -np.inf, 0.0, -0.0]])
    assert same(values, np.array(expected)).all()


@both
@pytest.mark.parametrize("name", "exp log sin tanh sqrt cbrt log1p expm1 arcsin erf".split())
def test_denormals_in_and_out(name, dtype):
    tiny = np.finfo(dtype).smallest_subnormal * np.array([1, 2, 3, 1000, 2**20], dtype)
    error, where = worst_error(name, dtype, [tiny], results(name, dtype, [tiny]))
    assert error <= elementary.BOUNDS[name, dtype], where


# Vector code


@both
@pytest.mark.parametrize("name", FORMULAS)
def test_vectors_give_what_single_numbers_give(name, dtype):
    points = arguments(name, dtype, 70)
    assert alike(name, results(name, dtype, points, VECTORS), results(name, dtype, points, LOOPS))


@both
@pytest.mark.parametrize("name", ["exp", "sin", "power", "fmod"])
def test_every_length(name, dtype):
    points = arguments(name, dtype, 70)
    whole = results(name, dtype, points, VECTORS)
    for n in range(1, 71):
        cut = [x[:n] for x in points]
        assert alike(name, results(name, dtype, cut, LOOPS), whole[:n])
        assert alike(name, results(name, dtype, cut, VECTORS), whole[:n])


PACKED = r"^\s+v?\w+p[sd]\s.*%[xyz]mm|^\s+vp?(?:and|or|ternlog)\w*\s.*%[xyz]mm"
LIBM = re.compile(r"^\s+(?:call|movabs|jmp).*\b(exp2?|expm1|log|log2|log10|log1p|sin|cos|tan|pow|rint|floor|"
                  r"ceil|trunc|fma|fmod|tgamma|lgamma)f?\b", re.M)  # fmt: skip


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="looks for x86's instructions")
@both
@pytest.mark.parametrize("name", [name for name in FORMULAS if name not in elementary.NOT_VECTORISED])
def test_the_loop_is_vectorised_and_calls_nothing(name, dtype):
    code = assembly(name, dtype)
    assert len(re.findall(PACKED, code, re.M)) >= 2 and not LIBM.findall(code)
