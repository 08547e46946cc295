"""Containers that hold what varies beside what does not: from the first, or put in later."""

import copy
from types import SimpleNamespace

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jacfwd, jvp

X = np.array([0.3, -0.7, 0.5])
FIXED = np.array([0.2, 1.5, -0.4])


def cubes(items):
    return sum([np.sum(a * a * a) for a in items])


def appended(x):
    kept = [x * 0.5]
    kept.append(FIXED.copy())
    return cubes(kept)


def appended_on_a_branch(x):
    kept = []
    if x[0] > 0.01:
        kept.append(x * 0.5)
    kept.append(FIXED.copy())
    return sum(np.sum(a * a * a) for a in kept)


def in_a_loop(x):
    kept, total = [], 0.0
    for i in range(4):
        kept.append(x * i if i % 2 else FIXED * i)
    for a in kept:
        total = total + np.sum(a * a)
    return total


def inserted_and_replaced(x):
    kept = [x, x * 2.0, x * 3.0]
    kept.insert(1, FIXED)
    kept[2] = FIXED * 2.0
    return cubes(kept)


def extended_and_taken(x):
    kept, total = [x], 0.0
    kept.extend([FIXED, x * x])
    while kept:
        a = kept.pop()
        total = total + np.sum(a * a * a)
    return total


def replaced_at_once(x):
    kept = [x]
    kept.append(x * x)
    kept[:] = [FIXED, FIXED * 2.0]
    kept[1:] = (x, FIXED)
    return cubes(kept)


def added(x):
    return cubes([x] + [FIXED]) + cubes([FIXED] * 2 + [x])


def of_lists(x):
    rows = [[x, x * 2.0] for _ in range(2)]
    rows[0].append(FIXED)
    rows.append([FIXED])
    return sum([cubes(row) for row in reversed(rows)])


def copied(x):
    kept = list([x, x * 2.0])
    more = kept.copy()
    more.append(FIXED)
    kept += [FIXED, 2.0 * FIXED]
    return cubes(kept) + cubes(more[1:]) + sum(np.sum(a * b) for a, b in zip(kept, more))


def replaced_further_in(x):
    rows = [[x, x * 2.0] for _ in range(2)]
    rows[0][0] = FIXED
    return sum([cubes(row) for row in rows])


def replaced_in_mappings(x):
    found = [{"a": x} for _ in range(2)]
    found[0]["b"] = FIXED
    found[1]["a"] = FIXED
    return sum(np.sum(v * v) for d in found for v in d.values())


def replaced_in_objects(x):
    found = [SimpleNamespace(v=x, items=[x, x * 2.0]) for _ in range(2)]
    found[0].v = FIXED
    found[1].items.append(FIXED)
    return sum(cubes(o.items) + np.sum(o.v * o.v) for o in found)


def put_first(items, value):
    items.append(value)
    items[0] = value


def put_by_a_function(x):
    rows = [[x, x * 2.0, x * 3.0] for _ in range(2)]
    put_first(rows[0], FIXED)
    return sum(float(i) * np.sum(v * v) for row in rows for i, v in enumerate(row))


def some_do_not_vary(x):
    rows = [[x, x * 2.0] for _ in range(2)]
    rows.append([FIXED, FIXED])
    for row in rows:
        row.append(FIXED)
        row.insert(0, 2.0 * FIXED)
        row.extend([FIXED, 1.0])
        row += [FIXED]
        del row[1]
        row.reverse()
    return sum([cubes(row) for row in rows])


OUTSIDE = [FIXED]


def one_is_not_made_here(x):
    rows = [[x] for _ in range(2)]
    rows.append(OUTSIDE)
    for row in rows:
        row.append(FIXED)
    total = sum([cubes(row) for row in rows])
    OUTSIDE.pop()
    return total


PROGRAMS = [appended, appended_on_a_branch, in_a_loop, inserted_and_replaced, extended_and_taken,
            replaced_at_once, added, of_lists, copied, replaced_further_in, replaced_in_mappings,
            replaced_in_objects, put_by_a_function, some_do_not_vary, one_is_not_made_here]  # fmt: skip


def differences(f, x, e=1e-5):
    return np.stack([(f(x + e * d) - f(x - e * d)) / (2 * e) for d in np.eye(len(x))])


@pytest.mark.parametrize("f", PROGRAMS)
def test_derivatives_of_both_modes(f):
    want = differences(f, X)
    value, tangent = jvp(f, (X,), (FIXED,))
    np.testing.assert_allclose(value, f(X))
    np.testing.assert_allclose(tangent, want @ FIXED, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(jacfwd(f)(X), want, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(grad(f)(X), want, rtol=1e-7)


@pytest.mark.parametrize("f", [extended_and_taken, some_do_not_vary])
def test_second_derivatives(f):
    for second in (hessian(f), jacfwd(jacfwd(f))):
        np.testing.assert_allclose(second(X), differences(grad(f), X), rtol=1e-6, atol=1e-8)


def test_a_list_that_is_an_argument():
    def f(xs):
        xs.append(FIXED.copy())
        xs.insert(0, 2.0)
        return cubes(xs)

    xs, moved = [X, X * 2.0], [FIXED, X]
    want = sum(np.sum(3.0 * x * x * d) for x, d in zip(xs, moved, strict=True))
    np.testing.assert_allclose(jvp(f, (copy.copy(xs),), (moved,))[1], want)
    assert len(moved) == 2
