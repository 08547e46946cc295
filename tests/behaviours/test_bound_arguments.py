"""`functools.partial` that the program makes itself, and calls of what only run time knows for what they
change: their effect on what is differentiated is followed, or refused at the user's line, never dropped.
"""

import functools
import operator

import numpy as np
import pytest

from ctxdispatch import grad, jvp, value_and_grad
from ctxdispatch_contexts.reverse import DerivativeError


def appended(x):
    out = []
    put = functools.partial(out.append)
    put(x * x)
    return out[0].sum()


def appended_by_a_function(x):
    out = []
    functools.partial(lambda items, item: items.append(item), out)(x * x)
    return out[0].sum()


def a_factor(x):
    square = functools.partial(np.multiply, x)
    return square(x).sum()


def keywords_of_both(x):
    clip = functools.partial(np.clip, a_min=1.5, a_max=2.5)
    return (clip(x * x) + clip(x, a_min=0.0)).sum()


def of_a_partial(x):
    outer = functools.partial(functools.partial(np.where, x > 1.5), x * x)
    return outer(x).sum()


def out_by_keyword(x):
    total = np.zeros(3)
    functools.partial(np.add, out=total)(x, x)
    return total.sum()


def out_by_position(x):
    total = np.zeros(3)
    functools.partial(np.multiply, x, x, total)()
    return total.sum()


def out_in_a_list(x):
    total = np.zeros(3)
    for store in [functools.partial(np.multiply, x, out=total)]:
        store(x)
    return total.sum()


def set_item_of_an_array(x):
    total = np.zeros(3)
    functools.partial(total.__setitem__, slice(None))(x * x)
    return total.sum()


def set_item_of_a_dict(x):
    found = {}
    functools.partial(found.__setitem__, "x")(x * x)
    return found["x"].sum()


def operator_in_a_list(x):
    total = np.zeros(3)
    for store in [functools.partial(operator.setitem, total, slice(None))]:
        store(x * x)
    return total.sum()


def given_to_a_function(x):
    def store(f, value):
        f(value)

    total = np.zeros(3)
    store(functools.partial(np.copyto, total), x * x)
    return total.sum()


def attribute(x):
    class Record:
        pass

    record = Record()
    functools.partial(setattr, record, "total")(x * x)
    return record.total.sum()


def mapped(x):
    total = np.zeros(3)
    list(map(functools.partial(np.multiply, x, out=total), [x]))
    return total.sum()


RIGHT = (appended, appended_by_a_function, a_factor, keywords_of_both, of_a_partial)
FUNCTIONS = (
    *RIGHT, out_by_keyword, out_by_position, out_in_a_list, set_item_of_an_array, set_item_of_a_dict,
    operator_in_a_list, given_to_a_function, attribute, mapped,
)  # fmt: skip

X = np.array([1.0, 2.0, 3.0])
DX = np.array([1.0, -0.5, 0.25])


@pytest.mark.parametrize("mode", ["forward", "reverse"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_right_or_refused(f, mode):
    expected = (f(X + 1e-6 * DX) - f(X - 1e-6 * DX)) / 2e-6
    try:
        found = jvp(f, (X,), (DX,))[1] if mode == "forward" else grad(f)(X) @ DX
    except DerivativeError as refusal:
        assert f not in RIGHT, refusal
        assert f"{__file__}:" in str(refusal)
    else:
        assert found == pytest.approx(expected, rel=1e-6)


SEEN = []


@pytest.mark.parametrize("callback", [print, SEEN.append, lambda y: SEEN.append(y)])
def test_callbacks_that_are_known_see_what_they_would(callback):
    def f(x):
        y = x * x
        callback(y)
        return (y * x).sum()

    SEEN.clear()
    assert jvp(f, (X,), (DX,))[1] == pytest.approx(3 * X**2 @ DX)
    assert callback is print or np.array_equal(SEEN, [X * X])


# -- keywords of dicts that change ---------------------------------------------------------------------------


def filled_in_a_loop(x):
    kw = {}
    for name in ("axis",):
        kw[name] = 0
    return np.sum(np.cumsum(x, **kw) ** 2)


def filled_by_a_comprehension(x):
    kw = {name: 0 for name in ("axis",)}  # noqa: C420
    return np.sum(np.cumsum(x, **kw) ** 2)


def two_dicts(x):
    kw, more = {"axis": 0}, {}
    for name in ("dtype",):
        more[name] = float
    return np.sum(np.cumsum(x, **kw, **more) ** 2)


def changed_before(x):
    kw = {"axis": 1}
    kw["axis"] = 0
    return np.sum(np.cumsum(x, **kw) ** 2)


def changed_afterwards(x):
    kw = {"axis": 1}
    kw.update(axis=0)
    y = np.cumsum(x, **kw)
    kw["axis"] = 1
    return np.sum(y**2)


def changed_by_another_name(x):
    kw = {"axis": 1}
    held = [kw]
    held[0]["axis"] = 0
    return np.sum(np.cumsum(x, **kw) ** 2)


def changed_by_the_callee(x):
    def summed(x, **kw):
        kw.setdefault("axis", 0)
        return np.sum(np.cumsum(x, **kw) ** 2)

    return summed(x) + summed(x, axis=1)


@pytest.mark.parametrize("f", [
    filled_in_a_loop, filled_by_a_comprehension, two_dicts, changed_before, changed_afterwards,
    changed_by_another_name, changed_by_the_callee,
])  # fmt: skip
def test_keywords_are_what_the_dict_holds_at_the_call(f):
    x = np.arange(6.0).reshape(2, 3)
    units = np.eye(6).reshape(6, 2, 3)
    slopes = [(f(x + 1e-5 * e) - f(x - 1e-5 * e)) / 2e-5 for e in units]
    value, gradient = value_and_grad(f)(x)
    assert value == f(x)
    np.testing.assert_allclose(gradient.ravel(), slopes, rtol=1e-7)
    assert jvp(f, (x,), (units[1],)) == pytest.approx((value, slopes[1]))
