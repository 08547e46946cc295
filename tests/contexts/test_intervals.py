"""IntervalContext: enclosures against many digits, tightness, and what is refused."""

import math
import operator
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ctxdispatch import Context, overdub
from ctxdispatch.contexts import IntervalContext
from ctxdispatch_contexts.intervals import Interval, IntervalError, enclose
from ctxdispatch_contexts.intervals.elementary import DOMAINS, FUNCTIONS

mpmath.mp.dps = 100
SPECIAL = st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0, 1e300, 5e-324])
WIDE = st.floats(-1e6, 1e6) | st.floats(-1e-3, 1e-3) | SPECIAL
UNIT = st.floats(0.0, 1.0)


@st.composite
def intervals(draw, numbers=WIDE):
    a, b = sorted((draw(numbers), draw(numbers)))
    return Interval(a, b if draw(st.booleans()) else a)


def member(interval, t):
    """A number of the interval, as a number of many digits."""
    lo, hi = mpmath.mpf(float(interval.lo)), mpmath.mpf(float(interval.hi))
    return min(max(lo + (hi - lo) * mpmath.mpf(t), lo), hi)  # these are many digits, and not all


def encloses(interval, exact):
    lo, hi = float(interval.lo), float(interval.hi)
    return (lo == -math.inf or mpmath.mpf(lo) <= exact) and (hi == math.inf or exact <= mpmath.mpf(hi))


# -- operators -------------------------------------------------------------------------------------


@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "//", "%"])
@given(a=intervals(), b=intervals(), s=UNIT, t=UNIT)
def test_operators_enclose_the_exact_results(symbol, a, b, s, t):
    x, y = member(a, s), member(b, t)
    if symbol in "//%":
        assume(0.0 not in b)
    exact = {
        "+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y, "/": lambda: x / y,
        "//": lambda: mpmath.floor(x / y), "%": lambda: x - mpmath.floor(x / y) * y,
    }[symbol]()  # fmt: skip
    found = {
        "+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "/": lambda: a / b,
        "//": lambda: a // b, "%": lambda: a % b,
    }[symbol]()  # fmt: skip
    assert encloses(found, exact)


@given(x=st.floats(-1e100, 1e100), y=st.floats(-1e100, 1e100))
def test_operators_on_points_are_as_tight_as_can_be(x, y):
    for found, plain in ((Interval(x) + y, x + y), (x - Interval(y), x - y), (Interval(x) * y, x * y)):
        assert found.lo <= plain <= found.hi
        assert np.nextafter(np.nextafter(found.lo, np.inf), np.inf) >= found.hi
    assert (Interval(3.0) + 4.0).width == (Interval(0.5) * 8.0).width == (Interval(6.0) / 3.0).width == 0.0


@given(a=intervals(st.floats(-50.0, 50.0)), n=st.integers(-6, 9), t=UNIT)
def test_whole_powers(a, n, t):
    assume(n >= 0 or 0.0 not in a)
    assert encloses(a**n, member(a, t) ** n)
    if n > 0 and n % 2 == 0:
        assert (a**n).lo >= 0.0


@given(a=intervals(st.floats(1e-3, 50.0)), y=st.floats(-3.0, 3.0), t=UNIT)
def test_other_powers(a, y, t):
    assert encloses(a**y, member(a, t) ** mpmath.mpf(y))
    assert encloses(2.0**a, mpmath.mpf(2) ** member(a, t))


@pytest.mark.parametrize("x", [10**400, Fraction(10**400, 3), np.longdouble("1e4000")])
def test_numbers_beyond_all_floats(x):
    largest = np.finfo(float).max
    assert Interval(x).bounds == (largest, math.inf) and Interval(-x).bounds == (-math.inf, -largest)
    assert enclose(lambda y: y < x, 1.0) and not enclose(lambda y: y < -x, 1.0)
    assert Interval(np.array([x, 1], dtype=object)).lo.tolist() == [largest, 1.0]


# -- elementary functions --------------------------------------------------------------------------

EXACT = {
    "absolute": abs, "fabs": abs, "square": lambda x: x * x, "exp2": lambda x: mpmath.mpf(2) ** x,
    "log2": lambda x: mpmath.log(x, 2), "log1p": lambda x: mpmath.log(1 + x),
    "trunc": lambda x: mpmath.mpf(int(x)),
    "rint": mpmath.nint, "positive": lambda x: x, "degrees": mpmath.degrees, "radians": mpmath.radians,
}  # fmt: skip
REACH = {"exp": 700, "exp2": 1000, "expm1": 700, "sinh": 700, "cosh": 700}


def exact(name, x):
    return EXACT.get(name, getattr(mpmath, name, None))(x)


@pytest.mark.parametrize("name", FUNCTIONS)
@given(data=st.data(), t=UNIT)
def test_functions_enclose_the_exact_values(name, data, t):
    least, most = DOMAINS.get(name, (-REACH.get(name, 1e5), REACH.get(name, 1e5)))
    numbers = st.floats(max(least, -1e5), min(most, 1e5)) | st.floats(max(least, -10.0), min(most, 10.0))
    a = data.draw(intervals(numbers))
    x = member(a, t)
    assume(not (name.startswith("log") and a.lo in (0.0, -1.0)) and not (name == "atanh" and abs(x) == 1))
    assume(x == 0 or abs(x) > 1e-40)  # else the digits of the oracle do not suffice
    value = exact(name, x)
    assert isinstance(value, mpmath.mpc) or encloses(Interval(*FUNCTIONS[name](a.lo, a.hi)), value)


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in ("tan", "floor", "ceil", "trunc", "rint")])
@given(x=st.floats(0.1, 0.9))
def test_functions_of_points_are_tight(name, x):
    x = x + 1.0 if name == "acosh" else x
    found = Interval(*FUNCTIONS[name](np.float64(x), np.float64(x)))
    assert found.width <= 40 * np.spacing(max(abs(found.lo), abs(found.hi)))


@pytest.mark.parametrize(
    "f, a, expected",
    [
        (math.sin, (0.0, 2.0), (0.0, 1.0)), (math.sin, (3.0, 6.0), (-1.0, 0.1411200080598673)),
        (math.cos, (-0.5, 0.5), (0.8775825618903725, 1.0)), (math.cos, (0.0, 10.0), (-1.0, 1.0)),
        (math.sin, (1e12, 1e12), (-1.0, 1.0)), (math.tan, (1.0, 2.0), (-math.inf, math.inf)),
        (math.cosh, (-1.0, 2.0), (1.0, 3.762195691083632)), (abs, (-1.0, 2.0), (0.0, 2.0)),
        (math.floor, (1.5, 3.5), (1.0, 3.0)), (math.sqrt, (4.0, 9.0), (2.0, 3.0)),
    ],
)  # fmt: skip
def test_extrema_in_between(f, a, expected):
    found = enclose(f, Interval(*a))
    assert found.lo == pytest.approx(expected[0]) and found.hi == pytest.approx(expected[1])
    assert Interval(*expected) in Interval(found.lo - 1e-9, found.hi + 1e-9)


# -- programs --------------------------------------------------------------------------------------


def rump(a, b):
    return 333.75 * b**6 + a**2 * (11 * a**2 * b**2 - b**6 - 121 * b**4 - 2) + 5.5 * b**8 + a / (2 * b)


class Pendulum:
    def __init__(self, angle, speed):
        self.angle, self.speed = angle, speed

    def step(self, dt):
        self.speed = self.speed - dt * math.sin(self.angle)
        self.angle += dt * self.speed


def swing(angle, steps):
    pendulum = Pendulum(angle, 0.0)
    for _ in range(steps):
        pendulum.step(0.1)
    return pendulum.angle


def test_rump_s_example_is_enclosed_where_floats_have_no_digit():
    found = enclose(rump, 77617.0, 33096.0)
    assert -0.8273960599468214 in found and abs(rump(77617.0, 33096.0) + 0.827) > 1.0


def test_classes_loops_comprehensions_and_builtins():
    found = overdub(IntervalContext(), swing, Interval(0.5), 20)
    assert swing(0.5, 20) in found and found.width < 1e-12
    wide = overdub(IntervalContext(), swing, Interval(0.5, 0.51), 20)
    for start in (0.5, 0.503, 0.51):
        assert swing(start, 20) in wide

    def polynomial(x):
        terms = [c * x**k for k, c in enumerate((1.0, -2.0, 0.5))]
        return sum(terms) + max(x, 0.0) - min(x, 1.0, 2.0) + pow(x, 2)

    assert polynomial(0.3) in enclose(polynomial, Interval(0.29, 0.31))


def test_arrays():
    x = np.linspace(0.1, 2.0, 6)
    programs = [
        lambda x: np.sum(np.exp(-x * x)) / x.size,
        lambda x: (x @ x) ** 0.5,
        lambda x: np.mean(np.sin(x)[1:-1]),
        lambda x: np.concatenate([x, x * 2])[::-1].reshape(3, 4).sum(axis=1),
        lambda x: np.where(x > 5.0, x, -x).max(),
        lambda x: (x[:, None] * x).sum(axis=(0, 1)),
        lambda x: np.hypot(x, x).min(),
        lambda x: np.clip(x, 0.5, 1.5).sum(),
        lambda x: np.arctan2(x, x + 1.0).mean(),
        lambda x: np.diff(x).sum(),
        lambda x: np.stack([x, x]).T @ np.ones((2, 2)),
        lambda x: np.maximum(x, 1.0) + np.sqrt(x) - np.log(x),
    ]
    for f in programs:
        found = enclose(f, x)
        assert found.contains(f(x)) and np.all(found.width < 1e-12), f
        assert enclose(f, Interval(x, x * 1.001)).contains(f(x * 1.0001))


def test_items_are_stored_and_out_takes_intervals():
    def f(x):
        x = x.copy()
        x[0] = x[1] * 2
        x[2:] += 1.0
        return x

    assert enclose(f, np.arange(4.0)).contains(f(np.arange(4.0)))
    out = Interval(np.zeros(2))
    assert enclose(lambda x: np.add(x, 1.0, out=out), np.ones(2)) is out and 2.0 in out[0]


def test_around_contains_the_decimal():
    tenth = mpmath.mpf("0.1")
    assert not encloses(Interval(0.1), tenth) and encloses(Interval.around(0.1), tenth)
    assert encloses(enclose(lambda x: x * 3, 0.1, around=True), mpmath.mpf("0.3"))


def test_comparisons_that_hold_for_all_or_for_none():
    a, b = Interval(1.0, 2.0), Interval(3.0, 4.0)
    assert a < b and a <= b and b > a and b >= a and not a > b and a != b and not a == b
    assert 0.5 < a and a < 2.5 and a <= 2.0 and bool(a) and not Interval(0.0)
    assert Interval(1.0) == 1.0 and (a == "text") is False
    assert (Interval([1.0, 5.0]) < 3.0).tolist() == [True, False]


def test_in_is_containment_of_one_interval_and_any_equal_of_an_array():
    x = Interval(np.array([0.0, 1.0]), np.array([0.0, 2.0]))
    assert 0.5 in Interval(0.0, 1.0) and Interval(0.5, 2.0) not in Interval(0.0, 1.0)
    assert 0.0 in x and 7.0 not in x and "text" not in x and x.contains([0.0, 1.5]) and not x.contains(0.0)
    with pytest.raises(IntervalError, match="holds for some of their numbers"):
        1.5 in x


# -- bounds ----------------------------------------------------------------------------------------


@given(n=st.integers(-(2**70), 2**70), d=st.integers(1, 2**60))
def test_numbers_that_no_float_holds_are_enclosed_as_tightly_as_can_be(n, d):
    found = [Interval(n), Interval(1.0) * n, Interval(1.0) * Fraction(n, d), Interval(0.0) + np.array([n])[0]]
    for x, exact in zip(found, [n, n, Fraction(n, d), n]):
        assert x.lo <= exact <= x.hi and np.nextafter(x.lo, np.inf) >= x.hi


def test_arrays_of_numbers_that_no_float_holds():
    for dtype in (np.int64, np.uint64, np.longdouble, object):
        values = np.array([1, 2**53 + 1, 2**62 + 3], dtype)
        for x in (Interval(values), Interval(np.zeros(3)) + (list(values) if dtype is object else values)):
            assert all(lo <= int(v) <= hi for lo, v, hi in zip(x.lo, values, x.hi)), dtype
            assert x[0].width == 0.0 < x[1].width
    tenth = np.longdouble(1) / 10
    assert Interval(tenth).lo < tenth < Interval(tenth).hi


def test_an_interval_of_an_interval_is_a_copy():
    x = Interval(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    y = Interval(x)
    y[0] = 9.0
    assert x.lo.tolist() == [1.0, 2.0] and y.hi.tolist() == [9.0, 4.0]
    assert Interval(Interval(1.0, 2.0)).bounds == (1.0, 2.0) and type(Interval(x[0]).lo) is type(x[0].lo)


def test_an_interval_owns_its_bounds():
    low = np.array([1.0, 2.0])
    x = Interval(low)
    low[0] = 9.0
    assert x[0].lo == 1.0 and not np.shares_memory(x.lo, x.hi) and x.lo.flags.writeable
    wide = Interval(0.0, np.asfortranarray(np.ones((2, 3))))
    assert wide.shape == (2, 3) and wide.lo.strides == wide.hi.strides and wide.lo.flags.writeable
    for bad in (1j, "1.0", np.array([1j]), None):
        with pytest.raises(TypeError):
            Interval(bad)


INFINITE = WIDE | st.sampled_from([math.inf, -math.inf, 1.7e308, -1.7e308])


@pytest.mark.parametrize("name", "add sub mul truediv floordiv mod pow".split())
@given(a=intervals(INFINITE), b=intervals(INFINITE))
def test_infinite_bounds_never_make_a_nan(name, a, b):
    a = abs(a) if name == "pow" else a
    found = getattr(operator, name)(a, b)
    assert found.lo <= found.hi
    with np.errstate(all="ignore"):
        plain = [getattr(np.float64, f"__{name}__")(x, y) for x in a.bounds for y in b.bounds]
    assert all(p in found for p in plain if not np.isnan(p)), plain


def test_what_has_no_value_is_all_numbers():
    x, infinity = Interval(1.0), Interval(math.inf)
    for found in (
        x / 0,
        x // 0,
        x % 0.0,
        x % Interval(-1.0, 1.0),
        0.0 * infinity,
        infinity - infinity,
        infinity / infinity,
    ):
        assert found.lo == -math.inf and found.hi == math.inf
    assert (
        Interval(0.0) * Interval(1.0, math.inf)
    ).width == 0.0  # numbers without bound, none of them infinity


@given(
    a=intervals(),
    spec=st.sampled_from([".2f", "+.3e", "10.1f", "*>12.4g", ".0f", ".1%", ",.2f", "g", "", "=+014.3"]),
)
def test_a_format_rounds_outwards_and_no_more_than_needed(a, spec):
    texts = f"{a:{spec}}".strip("[]").split(", ")
    for text, bound, sign in zip(texts, (a.lo, a.hi), (-1, 1)):
        percent = text.endswith("%")
        read = Decimal(text.strip("%* ").replace(",", "")).scaleb(-2 if percent else 0)
        assert sign * (float(read) - bound) >= 0
        unit = Decimal((0, (1,), read.as_tuple().exponent))
        if spec in ("*>12.4g", "g") or (percent and abs(bound) > 2.0**40):
            continue  # which drop zeros, or multiply by 100 and round
        assert abs(read - Decimal(float(bound))) <= unit


def test_arrays_are_printed_with_all_digits():
    third = Interval(np.array([1.0])) / 3.0
    assert repr(third) == "Interval(array([0.33333333333333326]), array([0.33333333333333337]))"


def test_enclose_lifts_what_is_in_lists_and_the_same_array_once():
    def f(items, named, text, a, b):
        a += 1.0
        return [2 * items[0], *items[1:]], named["k"] * 3, text, a is b

    array = np.zeros(2)
    items, named, text, same = enclose(f, [0.5, (1.0,)], {"k": 0.25}, "text", array, array)
    assert items[0].contains(1.0) and type(items[1]) is tuple and named.contains(0.75)
    assert text == "text" and same and array.sum() == 0.0


# -- refusals --------------------------------------------------------------------------------------


def branching(x):
    if x < 1.0:
        return x
    return x * x


@pytest.mark.parametrize(
    "f, text",
    [
        (branching, "[0.9, 1.1] < [1.0, 1.0] holds for some of their numbers and not for others; split"),
        (lambda x: math.log(x - 1.0), ", 0.10000000000000009], which reaches beyond [0.0, inf]"),
        (lambda x: math.gamma(x), "math.gamma has no enclosure for intervals; write it with functions that"),
        (lambda x: np.linalg.det(x), "numpy.linalg.det has no enclosure for intervals"),
        (lambda x: np.i0(x), "has no enclosure for intervals"),
        (lambda x: np.multiply.accumulate(x), "np.multiply.accumulate has no enclosure for intervals"),
        (lambda x: np.exp(x, where=False), "np.exp of intervals takes no where"),
        (lambda x: float(x), "the interval [0.9, 1.1] is no float; take .lo, .hi or .mid"),
        (lambda x: [1, 2][x], "is no float"),
        (lambda x: max([x, 1.0], key=abs), "max(.., key=..) of intervals"),
        (lambda x: x == 1.0, "[0.9, 1.1] == [1.0, 1.0] holds for some"),
        (lambda x: round(x, 2), "only whole numbers are enclosed"),
    ],
)
def test_refusals_name_the_line_the_intervals_and_a_remedy(f, text):
    with pytest.raises(IntervalError) as info:
        enclose(f, Interval(0.9, 1.1))
    place, _, message = str(info.value).partition(": ")
    assert text in message and place.startswith(__file__ if "i0" not in f.__code__.co_names else "/")


def test_no_interval():
    for bad in ((2.0, 1.0), (math.nan, 1.0)):
        with pytest.raises(ValueError, match="are no interval"):
            Interval(*bad)
    with pytest.raises(AttributeError, match="an Interval has no 'sumcum'"):
        enclose(lambda x: x.sumcum(), np.ones(2))


def test_stacks():
    class Hooks(Context):
        seen: list

        def prehook(self, f, args, kwargs):
            self.seen.append(f)

    x = Interval(0.5, 0.6)
    for outer, inner in ((Hooks([]), IntervalContext()), (IntervalContext(), Hooks([]))):
        found = overdub(outer, overdub, inner, swing, x, 3)
        assert (found.lo, found.hi) == (lambda e: (e.lo, e.hi))(overdub(IntervalContext(), swing, x, 3))
    assert overdub(IntervalContext(), swing, 0.5, 3) == swing(0.5, 3)
