"""IntervalContext: enclosures against many digits, tightness, and what is refused."""

import math

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


def exact_result(symbol, x, y):
    return {
        "+": lambda: x + y, "-": lambda: x - y, "*": lambda: x * y, "/": lambda: x / y,
        "//": lambda: mpmath.floor(x / y), "%": lambda: x - mpmath.floor(x / y) * y,
    }[symbol]()  # fmt: skip


@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "//", "%"])
@given(a=intervals(), b=intervals(), s=UNIT, t=UNIT)
def test_operators_enclose_the_exact_results(symbol, a, b, s, t):
    x, y = member(a, s), member(b, t)
    if symbol in "//%":
        assume(0.0 not in b)
    with mpmath.workdps(700):  # as many as the whole part of a quotient may have
        exact = exact_result(symbol, x, y)
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


def test_numbers_that_float64_does_not_hold_are_enclosed():
    big = 2**53 + 1
    for value in (big, np.int64(big), np.array([big]), np.uint64(2**64 - 1), np.longdouble("0.1")):
        found = enclose(lambda x, value=value: x * value, 1.0)
        lo, hi = (np.longdouble(np.ravel(bound)[0]) for bound in (found.lo, found.hi))
        assert lo <= np.ravel(value)[0] <= hi and lo < hi
    assert Interval(2**53).width == 0.0 and Interval(-(10**400)).lo == -math.inf


def test_bounds_have_memory_of_their_own():
    given = np.ones(3)
    x = Interval(given)
    x[0] = Interval(1.0, 2.0)
    assert given.tolist() == [1.0] * 3 and (x[0].lo, x[0].hi) == (1.0, 2.0)
    y = Interval(given, np.asfortranarray(np.ones(3)))
    y.reshape(3, 1)[1, 0] = 4.0
    assert y.contains([1.0, 4.0, 1.0])


def test_membership():
    x = Interval([0.0, 1.0], [0.0, 2.0])
    assert 0.0 in x and 5.0 not in x and x.contains([0.0, 1.5]) and not x.contains(1.5)
    assert 1.5 in x[1] and 0.5 not in x[1]
    with pytest.raises(IntervalError, match="== .* holds for some"):
        assert 1.5 in x


@pytest.mark.parametrize("spec", [".2f", ".3g", ".1e", "+.4f", "10.2f", ".1%", ",.1f"])
def test_formats_round_outwards(spec):
    for lo, hi in ((0.126, 0.454), (-1234.56, 1234.56), (1e-7, 2e9), (2.5, 3.5)):
        low, high = f"{Interval(lo, hi):{spec}}"[1:-1].split(", ")
        numbers = [float(t.replace(",", "").rstrip("%")) / (100 if "%" in t else 1) for t in (low, high)]
        assert numbers[0] <= lo and hi <= numbers[1]
    assert f"{Interval(2.5):.1f}" == "[2.5, 2.5]" and f"{Interval(0.126, 0.454):.2f}" == "[0.12, 0.46]"
    with pytest.raises(TypeError, match="format their items"):
        assert f"{Interval([1.0]):.1f}"


def test_divmod_hypot_and_products_of_more_dimensions():
    found = enclose(lambda x: divmod(x, 0.7), 1.3)
    assert found[0].contains(1.0) and found[1].contains(1.3 % 0.7)
    with pytest.raises(ValueError, match="mismatch"):
        enclose(lambda a, b: a @ b, np.ones((2, 3)), np.ones((4, 2)))


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
        (lambda x: x % (x - 1.0), "the divisor may be 0"),
        (lambda x: (x - 1.0) * math.inf, "a result is no number"),
        (lambda x: x * 1j, "complex 1j and an interval: only real numbers have enclosures"),
        (lambda x: x == np.complex128(1.0), "only real numbers have enclosures"),
        (lambda x: x * math.nan, "nan has no enclosure"),
        (lambda x: np.sum(x, where=True), "numpy.sum of intervals: got an unexpected keyword argument"),
        (lambda x: np.add(x, 1.0, out=np.zeros(())), "out= of an operation on intervals is an Interval"),
        (lambda x: max(Interval([1.0]), x), "max of arrays of intervals"),
        (lambda x: pow(x, 2, 3), "pow of intervals: too many positional arguments"),
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
    with pytest.raises(IntervalError, match="argsort of an interval has no enclosure"):
        enclose(lambda x: x.argsort(), np.ones(2))
    with pytest.raises(AttributeError, match="an Interval has no 'nothing'"):
        enclose(lambda x: x.nothing, np.ones(2))


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
