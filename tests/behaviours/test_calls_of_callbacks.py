"""Functions are called as often, and in the order among the items that are drawn, as C calls them, however
many items there are; what they set in variables around them is set."""

import bisect
import functools
import heapq
import itertools
import operator
import statistics

import numpy as np
import pytest

from ctxdispatch import jvp, value_and_grad
from ctxdispatch_contexts.programs.errors import Refused
from ctxdispatch_contexts.sparsity import jacobian_sparsity
from tests.recording import recorded

X = np.array([0.7, -0.4, 1.3])

USES = {
    "min": lambda f, items: [min(items, key=f, default=1.5)],
    "max": lambda f, items: [max(items, key=f, default=1.5)],
    "min of operands": lambda f, items: [min(*items, 0.3, key=f)],
    "sorted": lambda f, items: sorted(items, key=f),
    "sorted in reverse": lambda f, items: sorted(items, key=f, reverse=True),
    "sort": lambda f, items: (found := [*items], found.sort(key=f))[0],
    "map": lambda f, items: [*map(f, items)],
    "map of two": lambda f, items: [*map(f, items, [1.0, 2.0])],
    "one of map": lambda f, items: [next(map(f, items), 1.5)],
    "filter": lambda f, items: [*filter(f, items)],
    "filterfalse": lambda f, items: [*itertools.filterfalse(f, items)],
    "takewhile": lambda f, items: [*itertools.takewhile(f, items)],
    "dropwhile": lambda f, items: [*itertools.dropwhile(f, items)],
    "starmap": lambda f, items: [*itertools.starmap(f, zip(items))],
    "accumulate": lambda f, items: [*itertools.accumulate(items, f)],
    "accumulate from": lambda f, items: [*itertools.accumulate(items, f, initial=0.5)],
    "groupby": lambda f, items: [p for _, of in itertools.groupby(items, f) for p in of],
    "reduce": lambda f, items: [functools.reduce(f, items, 0.5)],
    "reduce of items": lambda f, items: [functools.reduce(f, items)],
    "nsmallest": lambda f, items: heapq.nsmallest(2, items, key=f),
    "nlargest": lambda f, items: heapq.nlargest(1, items, key=f),
    "merge": lambda f, items: [*heapq.merge(items, [0.1, 0.2], key=f)],
    "bisect": lambda f, items: [*items][: bisect.bisect([*items], 0.5, key=f)],
    "iter": lambda f, items: [*itertools.islice(iter(lambda: f(next(items)), 9.0), 2)],
    "any": lambda f, items: [1.0 if any(f(p) > 9 for p in items) else 2.0],
    "sum": lambda f, items: [sum(map(f, items))],
    "chain": lambda f, items: [*itertools.chain.from_iterable(map(lambda p: [f(p)], items))],
    "zip": lambda f, items: [p * q for p, q in zip(map(f, items), [2.0])],
    "zip_longest": lambda f, items: [p or q for p, q in itertools.zip_longest(map(f, items), [2.0, 1.0])],
    "fmean": lambda f, items: [statistics.fmean(map(f, items))],
    "vectorize": lambda f, items: [*np.vectorize(f, otypes=[float])(np.array([*items]))],
    "frompyfunc": lambda f, items: [float(np.sum(np.frompyfunc(f, 1, 1)(np.array([*items]))))],
    "apply_along_axis": lambda f, items: [*np.apply_along_axis(lambda p: f(p[0]), 1, np.array([[*items]]))],
    "fromiter": lambda f, items: [*np.fromiter(map(f, items), float)],
    "methodcaller": lambda f, items: [operator.methodcaller("__call__", p)(f) for p in items],
    "dict": lambda f, items: [*dict(enumerate(map(f, items))).values()],
    "setdefault": lambda f, items: [{}.setdefault(1, f(p)) for p in items],
}  # fmt: skip
KINDS = {
    "generator": lambda items: (p for p in items),
    "list": lambda items: iter([*items]),
}
PATHS = {
    "reverse": lambda f, x: value_and_grad(f)(x),
    "recorded": lambda f, x: value_and_grad(recorded(f))(x),
    "forward": lambda f, x: (jvp(f, (x,), (np.ones(3),))[0], None),
    "forward recorded": lambda f, x: (jvp(recorded(f), (x,), (np.ones(3),))[0], None),
    "pattern": lambda f, x: (jacobian_sparsity(f, x) and None, None),
}


def program(use, kind, count, log):
    """A function of x, whose run is written down: 0 to 2 for items drawn, 10 and on for calls."""

    def run(x):
        calls = 0

        def drawn():
            for i in range(count):
                log.append(i)
                yield x[i] * x[1]

        def f(p, q=1.5, *others):
            nonlocal calls
            log.append(10 + calls)
            calls += 1
            return p * q

        found = USES[use](f, KINDS[kind](drawn()))
        log.append(100 + calls)
        return sum(found) + x[0] * calls

    return run


def differences(f, x):
    steps = 1e-6 * np.eye(len(x))
    return [(f(x + step) - f(x - step)) / 2e-6 for step in steps]


def outcome(run, x):
    try:
        return run(x)
    except Refused:
        raise
    except Exception as error:
        return type(error)


@pytest.mark.every(40)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("count", [1, 0, 3])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("use", USES)
def test_functions_are_called_as_plainly(use, kind, count, path):
    plain_log, log = [], []
    plain = outcome(program(use, kind, count, plain_log), X.copy())
    f = program(use, kind, count, log)
    for _ in range(2):
        log.clear()
        try:
            found = outcome(lambda x: PATHS[path](f, x), X.copy())
        except Refused:
            if path != "pattern" and use != "frompyfunc":
                raise
            pytest.skip("refused, which patterns may be, and arrays of objects are")
        assert log == plain_log
        if isinstance(plain, type):
            assert found is plain
        elif found[0] is not None:
            np.testing.assert_allclose(found[0], plain)
        if not isinstance(plain, type) and found[1] is not None:
            np.testing.assert_allclose(found[1], differences(program(use, kind, count, []), X), atol=1e-6)
