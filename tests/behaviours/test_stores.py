"""Stores under reverse mode: what the sweep would not see is refused, what it does not read goes through."""

import operator
from collections import deque

import numpy as np
import pytest
from mutation_checks import both_modes

from ctxdispatch import grad, jvp, vjp
from ctxdispatch_contexts.reverse import DerivativeError


def through_another_item(x):
    rows = [[], []]
    rows[0].append(x)
    rows[1].append(x * x)
    return rows[0][0] * rows[1][0]


def through_two_names(x):
    a = []
    b = [a, a]
    b[0].append(x)
    return a[0] * x


def through_a_branch(x):
    a, b = [], []
    chosen = a if x > 0 else b
    chosen.append(x * x)
    return a[0]


def into_a_dict(x):
    d = {"a": []}
    d["a"].append(x * x)
    return d["a"][0]


def into_a_deque(x):
    d = deque()
    d.append(x * x)
    return d[0]


def in_a_call_that_is_not_inlined(x):
    out = []
    collect(out, x, 3)
    return sum(out)


def collect(out, x, n):
    if n:
        out.append(x * n)
        collect(out, x, n - 1)


def while_it_is_iterated(x):
    a = [x]
    for v in a:
        if len(a) < 4:
            a.append(v * x)
    return a[-1]


def by_a_nonlocal_at_run_time(x):
    total = 0.0

    def add(v):
        nonlocal total
        total = total + v
        return v

    list(map(add, [x, x * x]))
    return total


def into_a_global(x):
    KEPT.append(x * x)
    return KEPT[-1]


KEPT = []

LOST = [
    through_another_item, through_two_names, through_a_branch, into_a_dict, into_a_deque,
    in_a_call_that_is_not_inlined, while_it_is_iterated, into_a_global,
]  # fmt: skip


def test_a_nonlocal_at_run_time_is_right_or_refused():
    try:  # where comprehensions are inlined (from 3.12 on) `map` is a loop of the program
        assert grad(by_a_nonlocal_at_run_time)(3.0) == 7.0
    except DerivativeError as error:
        assert "assigns to 'total'" in str(error)


@pytest.mark.parametrize("f", LOST)
def test_lost_stores_are_refused_or_right(f):
    """Never silently wrong. CPython from 3.12 on inlines comprehensions, so there more is seen, and right."""
    try:
        found = grad(f)(2.0)
    except DerivativeError as refusal:
        assert __file__ in str(refusal)
    else:
        assert found == pytest.approx((f(2.0 + 1e-6) - f(2.0 - 1e-6)) / 2e-6, rel=1e-6)


def buffer_changed_after_use(x):
    buf = np.zeros(3)
    buf[0] = 2.0
    y = x * buf
    buf[0] = 5.0
    return y.sum()


def buffer_filled_in_a_loop(x):
    buf, total = np.zeros(3), 0.0
    for i in range(3):
        buf[:] = i
        total = total + (x * buf).sum()
    return total


def buffer_changed_through_a_view(x):
    buf = np.ones(4)
    y = x * buf[1:]
    buf.reshape(2, 2)[1, 1] = 7.0
    return y.sum()


def buffer_written_by_out(x):
    buf = np.ones(3)
    y = x * buf
    np.add(buf, 1.0, out=buf)
    return y.sum()


STALE = [
    buffer_changed_after_use,
    buffer_filled_in_a_loop,
    buffer_changed_through_a_view,
    buffer_written_by_out,
]


@pytest.mark.parametrize("f", STALE)
def test_054_changes_of_what_the_derivative_remembers(f):
    x = np.ones(3)
    central = [(f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
    np.testing.assert_allclose(grad(f)(x), central, rtol=1e-6)


def buffer_of_its_own_iteration(x):
    total = 0.0
    for i in range(3):
        buf = np.zeros(3)
        buf[:] = i
        total = total + (x * buf).sum()
    return total


def buffer_filled_before_use(x):
    buf = np.zeros(3)
    buf[0] = 2.0
    buf[1:] = 4.0
    return (x * buf).sum()


def test_buffers_that_are_finished_when_read():
    assert grad(buffer_filled_before_use)(np.ones(3)).tolist() == [2.0, 4.0, 4.0]
    assert grad(buffer_of_its_own_iteration)(np.ones(3)).tolist() == [3.0, 3.0, 3.0]


def test_logs_counters_and_caches_may_be_stored_to():
    counter, cache, steps = {"calls": 0}, {}, np.zeros(2)

    def f(x, history):
        history.append(x)
        counter["calls"] += 1
        cache["last"] = x * 2.0
        steps[1] += 1
        return x * x

    history = []
    y, pullback = vjp(f, 3.0, history)
    assert (y, pullback(1.0)[0]) == (9.0, 6.0)
    assert (history, counter, cache, steps.tolist()) == ([3.0], {"calls": 1}, {"last": 6.0}, [0.0, 1.0])


def test_lists_that_grow_after_they_were_read():
    def powers(x, n):
        p = [x]
        for _ in range(n):
            p.append(p[-1] * x)
        return sum(p) + p[-2]

    assert grad(powers)(2.0, 2) == 1 + 4 + 12 + 4.0

    def made_anew(x):
        for _ in range(2):
            x = sum([x * v for v in (x, 2.0)])
        return x

    assert np.isclose(grad(made_anew)(2.0), 2 * (8.0 + 1) * 2 * (2.0 + 1))


# -- arrays of objects hold the numbers themselves -----------------------------------------------------------


def objects_of_array(x):
    kept = np.empty(3, object)
    kept[:] = x * 2.0
    return kept[0] * kept[1]


def objects_of_lists(x):
    kept = np.empty((2, 3), object)
    kept[0] = (x[0], x[1], 2.0)
    kept[1:] = [x * x]
    return kept[0, 0] * kept[1, 2] + kept[0, 2] * kept[0, 1]


def objects_that_move(x):
    kept = np.empty(3, object)
    np.copyto(kept, x)
    kept[[0, 1]] = x[1:]
    np.put(kept, [2], x[:1])
    kept[1:] = kept[:2]
    return kept[0] * kept[1] ** 2 * kept[2]


def object_that_is_a_list(x):
    kept = np.empty(2, object)
    kept[0], kept[1] = x, [x[0], 1.0]
    return kept[0][1] * kept[1][0]


@pytest.mark.parametrize("f", [objects_of_array, objects_of_lists, objects_that_move, object_that_is_a_list])
def test_stores_into_arrays_of_objects(f):
    both_modes(f, np.array([0.7, 1.3, 2.4]))


@pytest.mark.parametrize("change", [
    lambda kept, x: operator.imul(kept, 2.0), lambda kept, x: np.add(x, 1.0, out=kept),
    lambda kept, x: np.add.at(kept, [0, 0], x[:2]),
])  # fmt: skip
def test_what_computes_with_objects_in_place_is_refused(change):
    def f(x):
        kept = np.zeros(3, object)
        kept[:] = x
        change(kept, x)
        return kept[0] * kept[1]

    for derivative in (grad(f), lambda x: jvp(f, (x,), (x,))):
        with pytest.raises(DerivativeError, match="on an array of objects computes out of sight"):
            derivative(np.array([0.7, 1.3, 2.4]))
