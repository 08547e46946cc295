"""`f(*args, **kwargs)` of operands that only run time knows: what f changes is seen, also where f is NumPy's,
a method, or chosen at run time. Right in both modes, and again where derivatives of it are taken."""

import itertools
import operator

import numpy as np
import pytest

from ctxdispatch import grad, jvp

W = np.array([1.0, 10.0, 100.0])
X = np.array([3.0, 1.0, 2.0])


def method_with_keywords(a, keywords):
    out = a * 1.0
    out.sort(**keywords)
    return np.sum(W * out * a)


def function_of_the_class(a, keywords):
    out = a * 1.0
    np.ndarray.sort(out, **keywords)
    return np.sum(W * out * a)


def put(a, indices_and_value):
    out = a * 1.0
    np.put(out, *indices_and_value)
    return np.sum(W * out * a)


def put_all_spread(a, indices_and_value):
    out = a * 1.0
    np.ndarray.put(*(out, *indices_and_value))
    return np.sum(W * out * a)


def out_in_a_display(a, _):
    out = a * 1.0
    np.add(out, out, **{"out": out})
    return np.sum(W * out * a)


def out_in_a_dict(a, keywords):
    out = a * 1.0
    keywords = dict(keywords)
    keywords["out"] = out
    np.add(out, out, **keywords)
    return np.sum(W * out * a)


def out_by_position(a, n):
    out = a * 1.0
    np.multiply(*([out] * n))
    return np.sum(W * out * a)


def sorted_in_place(out):
    out.sort()


def chosen_at_run_time(a, i):
    out = a * 1.0
    [sorted_in_place, np.negative][i](*[out])
    return np.sum(W * out * a)


def of_a_slice(a, n):
    out = a * 1.0
    items = [out]
    sorted_in_place(*items[:n])
    return np.sum(W * out * a)


PROGRAMS = [
    (method_with_keywords, {}), (method_with_keywords, {"axis": 0}), (function_of_the_class, {}),
    (put, ([0], 7.0)), (put_all_spread, ([0], 7.0)), (out_in_a_display, None), (out_in_a_dict, {}),
    (out_by_position, 3), (chosen_at_run_time, 0), (of_a_slice, 1),
]  # fmt: skip


@pytest.mark.every(12)
@pytest.mark.parametrize("f, given", PROGRAMS)
def test_what_is_changed_is_seen(f, given):
    def loss(a):
        return f(a, given)

    steps = np.eye(3) * 1e-6
    slopes = [(loss(X + s) - loss(X - s)) / 2e-6 for s in steps]
    np.testing.assert_allclose(grad(loss)(X), slopes, rtol=1e-6)
    np.testing.assert_allclose([jvp(loss, (X,), (e,))[1] for e in np.eye(3)], slopes, rtol=1e-6)
    bends = [(grad(loss)(X + s) - grad(loss)(X - s)) / 2e-6 for s in steps]
    second = [jvp(grad(loss), (X,), (e,))[1] for e in np.eye(3)]
    np.testing.assert_allclose(second, bends, rtol=1e-6, atol=1e-6)


def test_what_changes_nothing_stays_compiled():
    from ctxdispatch import code_adjoint

    def f(a, more):
        return np.sum(np.stack(*more) * a)

    assert "def f(a, more)" in str(code_adjoint(f)(X, ([X, X],)))


def product(a, b, c):
    return a * b * b * c


@pytest.mark.parametrize("f", [
    lambda x: product(*x), lambda x: product(*(x * x)), lambda x: np.hypot(*x[:2]) * x[2],
    lambda x: sum(itertools.starmap(operator.mul, [x[:2], x[1:] * x[0]])),
    lambda x: (lambda *given, last: given[0] * last * last)(*x[:2], last=x[2]),
])  # fmt: skip
def test_what_an_array_is_spread_over_has_second_derivatives(f):
    bends = [(grad(f)(X + s) - grad(f)(X - s)) / 2e-6 for s in np.eye(3) * 1e-6]
    found = [jvp(grad(f), (X,), (e,))[1] for e in np.eye(3)]
    np.testing.assert_allclose(found, bends, rtol=1e-6, atol=1e-6)
    swept = grad(lambda x: (grad(f)(x) * W).sum())(X)
    np.testing.assert_allclose(swept, np.array(bends) @ W, rtol=1e-6, atol=1e-4)


# -- functions that take any number of arguments -------------------------------------------------------------


def into_an_array(a):
    out = np.ones(3)
    np.cumsum(a, out=out)
    return W * out * a


def method_into_an_array(a):
    out = np.ones(3)
    a.cumsum(0, None, out)
    return W * out * a


def put_into_an_array(a):
    out = np.ones(3)
    np.put(out, [0, 2], a[:2])
    return W * out * a


def item_method(a):
    out = np.ones(3)
    np.ndarray.__setitem__(out, 1, a[0])
    return W * out * a


def some_elements(a):
    out = np.ones(3)
    np.sin(a, out=out, where=[True, False, True])
    return W * out * a


def by_a_loop(a):
    kept = []
    for items in [kept]:
        items.append(a * a)
    return W * kept[0]


def by_a_branch(a):
    kept, other = [], []
    items = kept if a[0] > 0 else other
    items.append(a * a)
    return W * kept[0]


def by_another_name(a):
    kept = [a]
    items = kept
    items += [a * a]
    return W * kept[1]


@pytest.mark.parametrize(
    "f",
    [into_an_array, method_into_an_array, put_into_an_array, item_method, some_elements, by_a_loop,
     by_a_branch, by_another_name],
)  # fmt: skip
def test_what_the_function_behind_changes_is_seen(f):
    """The program of `loss` is one call, which becomes the user's code."""

    def loss(*args):
        return np.sum(f(*args))

    d = np.array([0.3, -1.1, 0.7])
    slope = (loss(X + 1e-6 * d) - loss(X - 1e-6 * d)) / 2e-6
    assert grad(loss)(X) @ d == pytest.approx(slope, rel=1e-6)
    assert jvp(loss, (X,), (d,))[1] == pytest.approx(slope, rel=1e-6)
