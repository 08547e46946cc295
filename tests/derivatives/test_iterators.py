"""Functions of `itertools`: the generators that programs have in their place give the same, take the same of
what they go through, and raise the same; and derivatives through them are compiled."""

import itertools
import operator

import numpy as np
import pytest

from ctxdispatch import explain, grad, jvp
from ctxdispatch_contexts.derivatives import iterators

V = [3.0, -1.0, 0.0, 2.5, 2.5, -4.0]
CALLS = {
    "pairwise": [((V,), {}), (((1.0, 2.0, 3.0),), {}), ((np.arange(4.0),), {}), (([],), {}), (((),), {})],
    "chain": [((V, "ab"), {}), ((), {}), (([], range(2)), {})],
    "islice": [
        ((V, *args), {}) for args in (
            (2,), (0,), (9,), (None,), (1, 4), (1, 5, 2), (0, 6, 3), (4, 2), (2, None), (2, None, 3),
            (None, 3), (0, 0), (5, 5), (1, 9, None), (-1,), (1, -2), (1, 2, 0),
        )
    ],
    "accumulate": [
        ((V,), {}), ((V, operator.mul), {}), ((V,), {"initial": 10.0}), (([],), {}), (([],), {"initial": 0}),
        ((V, max), {"initial": 1.0}),
    ],
    "takewhile": [((lambda x: x != 0.0, V), {}), ((bool, []), {})],
    "dropwhile": [((lambda x: x != 0.0, V), {}), ((lambda x: True, V), {})],
    "filterfalse": [((None, V), {}), ((lambda x: x > 0.0, V), {})],
    "compress": [((V, [1, 0, "", 2.0]), {}), ((V, (1, 0, 1)), {})],
    "starmap": [((pow, [(2.0, 3), (3.0, 2)]), {}), ((max, ["ab", (1, 2, 3)]), {})],
    "repeat": [((2.5, 3), {}), ((2.5, 0), {}), ((2.5, -1), {}), ((2.5,), {"times": 2}), ((2.5,), {})],
    "combinations": [((V, r), {}) for r in (0, 1, 2, 3, 7)],
    "permutations": [((V[:4], *r), {}) for r in ((), (2,), (0,), (None,), (5,))],
    "combinations_with_replacement": [((V[:3], r), {}) for r in (0, 2, 3)],
}  # fmt: skip


def outcome(function, args, kwargs):
    """The items, the error, and what is left of iterators that were given."""
    given = [iter(a) if type(a) is list else a for a in args]
    items, error = [], None
    try:
        for item in itertools.islice(function(*given, **kwargs), 50):
            items.append(item)
    except Exception as e:
        error = type(e)
    return items, error, [[*a] for a, b in zip(given, args) if type(b) is list]


def taken(function, args, kwargs):
    """When items are taken, and given."""
    log = []

    def logged(items):
        for item in items:
            log.append(item)
            yield item

    try:
        given = [logged(a) if type(a) is list and function.__name__ != "combinations" else a for a in args]
        for item in itertools.islice(function(*given, **kwargs), 3):
            log.append(("given", item))
    except Exception as e:
        log.append(type(e))
    return log


@pytest.mark.every(1)
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("seen", [outcome, taken], ids=lambda f: f.__name__)
def test_they_do_what_they_stand_for(name, seen):
    for args, kwargs in CALLS[name]:
        found, wanted = [seen(getattr(module, name), args, kwargs) for module in (iterators, itertools)]
        assert found == wanted, (args, kwargs)


# -- derivatives ---------------------------------------------------------------------------------------------

X = np.array([0.3, -0.7, 1.1, 0.4])
MADE = {
    "pairwise": lambda v: itertools.pairwise(v),
    "pairwise_of_a_list": lambda v: itertools.pairwise([v[0], v[1] * 2.0, v[2]]),
    "chain": lambda v: zip(itertools.chain(v[:2], [v[3]], (v[0],)), v),
    "islice": lambda v: zip(itertools.islice(v, 1, None, 2), v),
    "accumulate": lambda v: enumerate(itertools.accumulate(v)),
    "accumulate_by": lambda v: enumerate(itertools.accumulate(v, lambda a, b: a * b + 1.0, initial=v[3])),
    "takewhile": lambda v: enumerate(itertools.takewhile(lambda t: t < 1.0, v)),
    "dropwhile": lambda v: enumerate(itertools.dropwhile(lambda t: t > 0.0, v)),
    "filterfalse": lambda v: enumerate(itertools.filterfalse(lambda t: t > 1.0, v)),
    "compress": lambda v: enumerate(itertools.compress(v, [1, 0, 1, 1])),
    "starmap": lambda v: itertools.starmap(lambda a, b: (a * b, b), zip(v, v[1:])),
    "repeat": lambda v: zip(itertools.repeat(v[0], 3), v),
    "combinations": lambda v: itertools.combinations(v, 2),
    "combinations_of_three": lambda v: ((a, b * c) for a, b, c in itertools.combinations(v, 3)),
    "permutations": lambda v: itertools.permutations(v, 2),
    "with_replacement": lambda v: itertools.combinations_with_replacement(v, 2),
    "reversed": lambda v: enumerate(reversed(v)),
    "nested": lambda v: itertools.pairwise(itertools.islice(itertools.accumulate(v), 3)),
    "chained_generators": lambda v: itertools.pairwise(itertools.chain((t * t for t in v), v[2:])),
}  # fmt: skip


def by_a_loop(items):
    s = 0.5
    for a, b in items:
        s = s * (1.0 + a * 0.5) + b * b
        if s > 50.0:
            break
    return s


def by_a_sum(items):
    return sum(a * b * b for a, b in items)


def by_a_list(items):
    found = list(items)
    return found[0][0] * found[-1][1]


def program(made, through):
    def f(v):
        return through(made(v))

    f.__code__ = f.__code__.replace(co_name=f"f{next(NUMBERS)}")
    return f


NUMBERS = itertools.count()
CASES = [(name, through) for name in MADE for through in (by_a_loop, by_a_sum, by_a_list)]


@pytest.mark.every(6)
@pytest.mark.parametrize("name, through", CASES)
def test_derivatives(name, through):
    f = program(MADE[name], through)
    wanted = np.array([(f(X + e) - f(X - e)) / 2e-6 for e in np.eye(4) * 1e-6])
    np.testing.assert_allclose(grad(f)(X), wanted, atol=1e-5)
    value, tangent = jvp(f, (X,), (np.ones(4),))
    assert value == pytest.approx(f(X), rel=1e-14)
    np.testing.assert_allclose(tangent, wanted.sum(), atol=1e-5)


NOT_COMPILED = ("chain", "islice", "repeat", "chained_generators")
"""`zip` takes items of several; a generator expression in a tuple that another generator goes through."""


@pytest.mark.every(6)
@pytest.mark.parametrize("name, through", [case for case in CASES if case[0] not in NOT_COMPILED])
def test_they_are_compiled(name, through):
    report = explain(grad(program(MADE[name], through)))(X)
    assert {region.tier for region in report.regions} <= {"compiled whole", "compiled as an attempt"}, report
