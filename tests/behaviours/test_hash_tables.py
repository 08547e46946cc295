"""What is differentiated as items of sets and keys of dicts, through getters, copies, and `statistics`:
right in both modes, or refused; never a silent zero."""

import bisect
import copy
import math
import operator
import statistics
from fractions import Fraction

import numpy as np
import pytest

from ctxdispatch import grad, jvp
from ctxdispatch_contexts.programs.errors import MissingRuleError

X = np.array([0.3, 0.4, 0.5])
ALONG = np.array([1.0, -2.0, 0.5])


def check(f):
    step = 1e-6
    slopes = np.array([(f(X + step * e) - f(X - step * e)) / (2 * step) for e in np.eye(3)])
    assert np.any(slopes != 0.0)
    np.testing.assert_allclose(grad(f)(X.copy()), slopes, rtol=1e-6, atol=1e-8)
    value, tangent = jvp(f, (X.copy(),), (ALONG,))
    assert value == f(X)
    np.testing.assert_allclose(tangent, slopes @ ALONG, rtol=1e-6, atol=1e-8)


def stored_keys(x):
    table = {}
    for v in x:
        table[v] = 2.0
    return sum(k * v for k, v in table.items())


def default_keys(x):
    table = {}
    for v in x:
        table.setdefault(v * v, v)
    return sum(table) + sum(table.values())


def unpacked_pair(x):
    table = {x[0]: 2.0}
    ((key, value),) = table.items()
    return key * value


def looped_keys(x):
    total = 0.0
    for k, v in dict(zip(x, x * 2.0)).items():
        total += k * v
    return total


def updated_set(x):
    seen = {x[0]}
    seen.update(x * 2.0)
    seen.add(x[1])
    first, *others = sorted(seen)
    return first * others[-1] + sum(others)


PROGRAMS = {
    "sum of a set": lambda x: sum({x[0], 2.0 * x[1]}),
    "sum of a spread set": lambda x: sum({*x}),
    "sum of a frozenset": lambda x: sum(frozenset([x[2], x[0]])),
    "product of a set": lambda x: math.prod(set(x)),
    "extremes of a set": lambda x: max({*x}) * min({*x}),
    "comprehension": lambda x: max({v * v for v in x}),
    "difference of sets": lambda x: sum(set(x) - {x[1]}),
    "union of sets": lambda x: sum(set(x) | {x[0] * 2.0}) + sum(set(x).union([x[0] * 3.0])),
    "items of a set": lambda x: [v * v for v in {x[0]}][0],
    "updated set": updated_set,
    "keys of a display": lambda x: sum({x[0]: 1, x[1] * 2.0: 2}),
    "keys of a comprehension": lambda x: sum(list({v * 2.0: 1 for v in x})),
    "keys that are stored": stored_keys,
    "keys by default": default_keys,
    "keys of pairs": looped_keys,
    "keys of fromkeys": lambda x: sum(k * v for k, v in dict.fromkeys(x, 3.0).items()),
    "unpacked": unpacked_pair,
    "popped": lambda x: {x[0]: x[1]}.popitem()[0] * x[2],
    "constant keys": lambda x: sum(k * v for k, v in {0.5: x[0], 1.5: x[1]}.items()),
    "looked up by number": lambda x: {x[0]: x[1] * x[0], x[1]: 0.0}[x[0]],
    "sum of lists": lambda x: sum([[x[0], x[1]], [x[2] * x[0]]], [])[2] + sum([(x[0],), (x[1],)], ())[1],
    "itemgetter": lambda x: operator.itemgetter(1)(x) * operator.itemgetter(0, 2)([*x])[1],
    "attrgetter": lambda x: (
        operator.attrgetter("T.real")(x).sum() + operator.attrgetter("T", "real")(x)[1][0]
    ),
    "methodcaller": lambda x: operator.methodcaller("dot", x)(x * 2.0),
    "itemgetter of a key": lambda x: operator.itemgetter(x[0])({x[0]: x[1]}),
    "deepcopy": lambda x: (lambda d: d["a"][0] * d["b"].sum())(
        copy.deepcopy({"a": [x[0] * x[1]], "b": x * x})
    ),
    "copy": lambda x: copy.copy(x[0]) * copy.copy(x)[1] * copy.copy([x[2]])[0],
    "bisect": lambda x: x[bisect.bisect([*x], 0.35)] * x[bisect.bisect_left(x, 0.45)],
    "mean": lambda x: statistics.mean(x.tolist()) * statistics.mean(tuple(x * x)) * statistics.mean(x),
    "fmean": lambda x: statistics.fmean(x.tolist()) + statistics.fmean([*x], [*(x + 1.0)]),
    "harmonic_mean": lambda x: statistics.harmonic_mean([*x]) + statistics.harmonic_mean([*x], [*(x + 1.0)]),
    "variance": lambda x: statistics.variance([*x]) + statistics.pvariance([*x]) * statistics.variance(x),
    "variance about": lambda x: (
        statistics.variance([*x], x[0] * 2.0) + statistics.pvariance([*x], x[1] + 1.0)
    ),
    "stdev": lambda x: statistics.stdev([*x]) * statistics.pstdev([*x, 1.0]) + statistics.stdev(x * x),
    "of a generator": lambda x: statistics.mean(v * v for v in x) + statistics.stdev(v * v for v in x),
    "other statistics": lambda x: (
        statistics.median([*x]) * statistics.geometric_mean([*x])
        + statistics.linear_regression([1.0, 2.0, 4.0], [*x]).slope
        + statistics.covariance([*x], [*(x * x)]) * statistics.correlation([*x], [x[1], x[0], x[2] ** 2])
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_right_in_both_modes(name):
    check(PROGRAMS[name])


@pytest.mark.parametrize(
    "f", [statistics.variance, statistics.stdev, statistics.harmonic_mean, statistics.fmean]
)
def test_second_derivatives_of_statistics(f):
    def slope(t):
        return grad(lambda t: f([t, t * t, 0.3]))(t)

    assert grad(slope)(0.7) == pytest.approx((slope(0.7 + 1e-6) - slope(0.7 - 1e-6)) / 2e-6, rel=1e-6)


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: x[0].item().as_integer_ratio()[0] * 1.0, "as_integer_ratio"),
        (lambda x: float(Fraction(float(x[0])) * 2), "as_integer_ratio"),
        (lambda x: np.frombuffer(x.tobytes()).sum(), "tobytes"),
        (lambda x: np.frombuffer(bytes(x)).sum(), "bytes"),
    ],
)
def test_all_of_a_number_in_whole_numbers_is_refused(f, name):
    for derivative in (lambda: grad(f)(X.copy()), lambda: jvp(f, (X.copy(),), (ALONG,))):
        with pytest.raises(MissingRuleError, match=rf"\.py:\d+ in .*{name}.*; .*stop_gradient"):
            derivative()


def test_log_of_complex_numbers_to_a_base():
    import cmath

    def f(t):
        return abs(cmath.log(t + 1j, 2.0) * cmath.log(3.0, t + 0.5j))

    assert grad(f)(0.7) == pytest.approx((f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6, rel=1e-6)
