"""What is changed where nobody looks: by code that only run time knows, in C, or that NumPy calls; through
attributes of arrays, defaults, starred names and `__dict__`; iterators that something takes from for nothing.
Each against central differences, in both modes."""

import bisect
import contextvars
import heapq
import itertools
import operator

import numpy as np
import pytest

from ctxdispatch import grad, jvp, value_and_grad

X = np.array([0.3, 1.6])


# -- read before: the sweep needs what was there -------------------------------------------------------------


def out_of_a_spread_call(x):
    a, keywords = np.ones(2), dict({})
    y = (x * a).sum()
    keywords["out"] = a
    np.add(a, 4.0, **keywords)
    return y


def arguments_of_a_spread_call(x):
    a = np.array([3.0, 1.0])
    y = (x * a).sum()
    np.put(a, *list([[0], 7.0])[:2])
    return y


def method_of_a_spread_call(x):
    a, keywords = np.array([3.0, 1.0]), dict()
    y = (x * a).sum()
    if len(x) > 1:
        keywords["axis"] = 0
    a.sort(**keywords)
    return y


def change(array, v):
    array[0] = 9.0
    return v * v


def keep(array, v):
    return v


def chosen_at_run_time(x):
    a = np.array([3.0, 1.0])
    y = (x * a).sum()
    return y + [keep, change][len(x) - 1](a, y)


def chosen_and_dropped(x):
    a = np.array([3.0, 1.0])
    y = (x * a).sum()
    [keep, change][len(x) - 1](a, 1.0)
    return y


# -- kept by code in C, or called by NumPy -------------------------------------------------------------------


def heap(x):
    h = []
    for v in x:
        heapq.heappush(h, v * v)
    return heapq.heappop(h) * 2 + h[0]


def in_order(x):
    h = [0.5]
    for v in x:
        bisect.insort(h, v * v)
    return h[0] * 2 + h[1] * 3 + h[2]


def accumulated(x):
    kept = []
    for _ in itertools.accumulate(x, lambda a, b: (kept.append(a * b), a + b)[1]):
        pass
    return kept[0] * 2


def context_variable(x):
    c = contextvars.ContextVar("c")
    c.set(x[0] * x[0])
    return c.get()


def called_by_numpy(x):
    a = np.zeros(2)

    def store(row):
        a[:] = row
        return row

    np.apply_along_axis(store, 0, x)
    return (a * a).sum()


# -- attributes of arrays ------------------------------------------------------------------------------------


def real_and_imag(x):
    a = np.zeros(2, complex)
    a.real = x
    a.imag = x * x
    return (np.abs(a) ** 2).sum()


def real_of_a_real_array(x):
    a = x * 1.0
    a.real = x * x
    return (a * a).sum()


def flat(x):
    a = np.zeros(2)
    a.flat = x * x
    return (a * a).sum()


def items_of_flat(x):
    items = (x * x).flat
    next(items)
    return next(items) + 2 * next(items, 5.0)


def enumerated(x):
    return sum(v * v * (i + 1) for (i,), v in np.ndenumerate(x))


def in_its_own_place(x):
    a = x * 1.0
    a[0] = np.inf
    np.nan_to_num(a, copy=False, posinf=2.0)
    return (a * a).sum()


def in_its_own_place_after_it_was_read(x):
    a = np.array([1.0, 2.0])
    y = (x * a).sum()
    a[0] = np.nan
    np.nan_to_num(a, copy=False)
    return y


# -- other names ---------------------------------------------------------------------------------------------


def starred(x):
    a, *b = [x[0], x[1], x[0]]
    b.append(a * a)
    return b[0] * b[1] * b[2]


def starred_alone(x):
    [*c] = t = [x[0], x[1]]
    c[0] = x[1] * x[1]
    return t[0] * c[0]


def default_of_get(x):
    d, m = {}, []
    d.get("k", m).append(x[0] * x[0])
    return m[0]


def default_of_pop(x):
    d, m = {}, np.zeros(1)
    d.pop("k", m)[0] = x[0] * x[0]
    return m[0]


def default_of_getattr(x):
    m = []
    getattr(np, "nothing_of_that_name", m).append(x[0] * x[0])
    return m[0]


def default_of_next(x):
    m = []
    next(iter([]), m).append(x[0] * x[0])
    return m[0]


def own_dict(x):
    return np.poly1d(x)(2.0)


# -- iterators -----------------------------------------------------------------------------------------------


def taken_and_dropped(x):
    it = iter([x[0], x[1]])
    next(it)
    return next(it) ** 2


def listed_and_dropped(x):
    it = iter([x[0], x[1]])
    list(it)
    return sum(it) + x[0]


def loop_that_breaks(x):
    it = iter([x[0], x[1], x[0] * x[1]])
    for _ in it:
        break
    return sum(v * v for v in it)


def looked_for(x):
    it = iter([x[0], 2.0, x[0] * x[1]])
    operator.contains(it, 2.0)
    return sum(v * v for v in it)


def zipped_with_fewer(x):
    it = iter([x[0], x[1], x[0] * x[1]])
    list(zip(it, [1.0]))
    return sum(v * v for v in it)


PROGRAMS = [
    out_of_a_spread_call, arguments_of_a_spread_call, method_of_a_spread_call, chosen_at_run_time,
    chosen_and_dropped, heap, in_order, accumulated, context_variable, called_by_numpy, real_and_imag,
    real_of_a_real_array, flat, items_of_flat, enumerated, in_its_own_place,
    in_its_own_place_after_it_was_read, starred, starred_alone,
    default_of_get, default_of_pop, default_of_getattr, default_of_next, own_dict, taken_and_dropped,
    listed_and_dropped, loop_that_breaks, looked_for, zipped_with_fewer,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS)
def test_derivatives_are_those_of_differences(f):
    slopes = np.array([(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(2)])
    value, found = value_and_grad(f)(X.copy())
    assert value == pytest.approx(f(X.copy()))
    np.testing.assert_allclose(found, slopes, rtol=1e-6, atol=1e-8)
    tangents = [jvp(f, (X.copy(),), (e,))[1] for e in np.eye(2)]
    np.testing.assert_allclose(tangents, slopes, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("f", [chosen_at_run_time, starred, default_of_get, flat, taken_and_dropped])
def test_second_derivatives_too(f):
    bends = [(grad(f)(X + 1e-6 * e) - grad(f)(X - 1e-6 * e)) / 2e-6 for e in np.eye(2)]
    found = [jvp(grad(f), (X.copy(),), (e,))[1] for e in np.eye(2)]
    np.testing.assert_allclose(found, bends, rtol=1e-5, atol=1e-6)
