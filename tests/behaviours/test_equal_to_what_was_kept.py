"""Results looked up by `==` in what an earlier call has kept, and computed with. Refused where something is
found equal; everywhere else programs stay programs, whose runs are not recorded."""

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jacfwd, jvp
from ctxdispatch_contexts.programs.errors import DerivativeError
from ctxdispatch_contexts.recording import api

pairs = [(3.0, 9.0), (7.0, 49.0)]
by_key = {3.0: 9.0, 7.0: 49.0}
last = [3.0, 9.0]
LIMIT = 3.0


def in_pairs(x):
    for k, v in pairs:
        if k == x[0]:
            return v + x[1]
    return x[0] ** 2 + x[1]


def in_items(x):
    for k, v in by_key.items():
        if k == x[0]:
            return v + x[1]
    return x[0] ** 2 + x[1]


def by_membership(x):
    if x[0] in by_key:
        return by_key[x[0]] + x[1]
    return x[0] ** 2 + x[1]


def by_get(x):
    found = by_key.get(x[0])
    return (x[0] ** 2 if found is None else found) + x[1]


def in_a_list(x):
    if x[0] == last[0]:
        return last[1] + x[1]
    return x[0] ** 2 + x[1]


def collected(x):
    found = [v for k, v in pairs if k == x[0]]
    return (found[0] if found else x[0] ** 2) + x[1]


def counted(x):
    i = 0
    while i < len(pairs) and pairs[i][0] != x[0]:
        i += 1
    return (pairs[i][1] if i < len(pairs) else x[0] ** 2) + x[1]


def in_a_loop(x):
    total = 0.0
    for _ in range(2):
        total = total + (last[1] if last[0] == x[0] else x[0] ** 2)
    return 0.5 * total + x[1]


def look(x, kept):
    return kept[1] + x[1] if kept[0] == x[0] else x[0] ** 2 + x[1]


def by_a_helper(x):
    return look(x, last)


PROGRAMS = [in_pairs, in_items, by_membership, by_get, in_a_list, collected, counted, in_a_loop, by_a_helper]
EQUAL, OTHER = np.array([3.0, 2.0]), np.array([5.0, 2.0])


@pytest.fixture
def runs(monkeypatch):
    """How many runs were recorded."""
    made = []
    for name in ("joint", "pushed"):
        was = getattr(api, name)
        monkeypatch.setattr(api, name, lambda *args, was=was: made.append(1) or was(*args))
    return made


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_what_is_found_equal_is_refused(f, runs):
    np.testing.assert_allclose(grad(f)(OTHER), [10.0, 1.0])
    assert grad(f)(OTHER.tolist()) == [10.0, 1.0]
    assert jvp(f, (OTHER,), (np.array([1.0, 0.0]),))[1] == 10.0
    assert not runs
    for derivative in (grad(f), jacfwd(f), hessian(f), lambda x: jvp(f, (x,), (x,))):
        with pytest.raises(DerivativeError, match="what an earlier call has kept"):
            derivative(EQUAL)
    np.testing.assert_allclose(hessian(f)(OTHER), [[2.0, 0.0], [0.0, 0.0]])


def at_a_limit(x):
    return 2.0 * x[1] if x[0] == LIMIT else x[0] * x[1]


def at_a_literal(x):
    return 2.0 * x[1] if x[0] == 3.0 else x[0] * x[1]


@pytest.mark.parametrize("f, recorded", [(at_a_limit, True), (at_a_literal, False)])
def test_what_computes_with_nothing_kept_is_answered(f, recorded, runs):
    np.testing.assert_allclose(grad(f)(OTHER), [2.0, 5.0])
    assert not runs
    np.testing.assert_allclose(grad(f)(EQUAL), [0.0, 2.0])
    assert bool(runs) == recorded
    np.testing.assert_allclose(hessian(f)(EQUAL), np.zeros((2, 2)))


def test_a_program_that_has_changed_something_does_not_start_again():
    calls = []

    def f(x):
        calls.append(1)
        return last[1] + x[1] if x[0] == last[0] else x[0] * x[1]

    with pytest.raises(DerivativeError):
        grad(f)(EQUAL)
    assert len(calls) == 1
    np.testing.assert_allclose(grad(f)(OTHER), [2.0, 5.0])
    assert len(calls) == 2
