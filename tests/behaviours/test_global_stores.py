"""Programs that assign to global variables: right where that has nothing to do with the derivative, else
refused at the line."""

import numpy as np
import pytest

from ctxdispatch import grad, value_and_grad, vjp

seen, last, cache, flag = 0, 0.0, None, False


@pytest.fixture(autouse=True)
def reset(monkeypatch):
    for name, value in {"seen": 0, "last": 0.0, "cache": None, "flag": False}.items():
        monkeypatch.setitem(globals(), name, value)


def counting(x):
    global seen
    seen += 1
    return x * x


def test_a_counter_counts():
    g = grad(counting)
    assert [g(3.0), g(4.0)] == [6.0, 8.0] and seen == 2
    assert vjp(counting, 3.0)[1](1.0) == (6.0,) and seen == 3


def lazily(x):
    global cache
    if cache is None:
        cache = np.arange(3.0)
    return np.sum(cache * x)


WAYS = [grad(lazily), lambda x: value_and_grad(lazily)(x)[1], lambda x: vjp(lazily, x)[1](1.0)[0]]


@pytest.mark.parametrize("run", WAYS)
def test_what_is_made_at_the_first_call(run):
    for _ in range(2):
        np.testing.assert_array_equal(run(np.ones(3)), [0.0, 1.0, 2.0])


def flagged(x):
    global flag
    flag = True
    if flag:
        return x * x
    return x


def test_a_flag_is_read_as_it_was_set():
    assert grad(flagged)(3.0) == 6.0 and flag is True


def remembered(x):
    global last
    last = np.exp(x)
    return x * x


def test_what_is_only_remembered_is_what_the_plain_call_leaves():
    assert grad(remembered)(2.0) == 4.0 and last == np.exp(2.0)


def read_again(x):
    global last
    last = x * 2
    return x * x + last


def store(x):
    global last
    last = 3.0 * x


def by_a_helper(x):
    store(x)
    return last * x


def by_what_it_is_given(x, functions):
    functions[0](x)
    return last * x


def in_a_loop(x):
    global last
    for _ in range(3):
        last = last + x
    return last


@pytest.mark.parametrize(
    "f, args, slope",
    [
        (read_again, (2.0,), 6.0),
        (by_a_helper, (2.0,), 12.0),
        (by_what_it_is_given, (2.0, [store]), 12.0),
        (in_a_loop, (2.0,), 3.0),
    ],
)
@pytest.mark.parametrize("initial", [0.0, None, 1])
def test_030_what_is_read_again_counts(f, args, slope, initial, monkeypatch):
    monkeypatch.setitem(globals(), "last", 1.0 if f is in_a_loop else initial)
    assert grad(f)(*args) == slope
    left = last
    monkeypatch.setitem(globals(), "last", 1.0 if f is in_a_loop else initial)
    f(*args)
    assert left == last  # as the plain call leaves it


def deleting(x):
    global cache
    del cache
    return x * x


def test_a_deleted_global_is_gone():
    assert grad(deleting)(2.0) == 4.0
    assert "cache" not in globals()
    globals()["cache"] = None
