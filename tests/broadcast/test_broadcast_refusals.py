"""What cannot be a kernel is a KernelError, at the user's line, that says what to do about it."""

import math
import random
import re
import time

import numpy as np
import pytest
from broadcast_checks import FIVE, INTS

from ctxdispatch_contexts.broadcast import KernelError, broadcast, dtypes

X, N = FIVE, INTS


def raises(x):
    if x < 0:
        raise ValueError("no")  # HERE
    return x


def prints(x):
    print("hi")  # HERE
    return x


def falls_through(x):
    if x > 1:  # HERE
        return x


def maybe_unbound(x):
    if x > 1:
        k = 2.0
    return k  # HERE


def unbound_after_a_loop(x):
    for k in range(int(x)):
        pass
    return k  # HERE


def factorial(n):
    return 1.0 if n < 1 else n * factorial(n - 1)  # HERE


def countdown(x, n=3):
    return x if n == 0 else countdown(x, n - 1) + 1.0  # HERE


def even(n):
    return True if n == 0 else odd(n - 1)  # HERE


def odd(n):
    return False if n == 0 else even(n - 1)  # HERE


def generates(x):
    yield x  # HERE


async def waits(x):  # HERE
    return x


def tries(x):
    try:  # HERE
        return 1 / x
    except ZeroDivisionError:
        return 0.0


def opens(x):
    with open("file"):  # HERE
        return x


def stores_a_global(x):
    global STORED
    STORED = x  # HERE
    return x


def steps(n):
    s = 0
    for k in range(0, 10, n):  # HERE
        s += k
    return s


def long_tuple(x):
    for c in (1.0,) * 1000:  # HERE
        x = x + c
    return x


def counting(start):
    def f(x):
        nonlocal start
        start = start + 1.0  # HERE
        return x + start

    return f


REFUSED = [
    ("raise", raises, X, "return nan|on every path"), ("print", prints, X, "print"),
    ("recursion", factorial, N, "recursion|calls itself"),
    ("recursion of literals", countdown, X, "recursion|itself"),
    ("mutual recursion", even, N, "recursion|calls itself"), ("generator", generates, X, "generator"),
    ("async", waits, X, "async"), ("try", tries, X, "try"), ("with", opens, X, "with"),
    ("global", stores_a_global, X, "STORED"), ("nonlocal", counting(1.0), X, "start"),
    ("step", steps, N[4:], "step"),
    ("fall through", falls_through, X, "number"), ("unbound", maybe_unbound, X, "unbound"),
    ("unbound after loop", unbound_after_a_loop, X, "unbound"), ("long tuple", long_tuple, X, "tuple|range"),
    ("none", lambda x: x if x > 0 else None, X, "number"),  # HERE
    ("none of ints", lambda n: n if n > 0 else None, N, "number"),  # HERE
    ("string", lambda x: "a", X, "number"),  # HERE
    ("string on a path", lambda x: x if x > 0 else "7.5", X, "number"),  # HERE
    ("none computed with", lambda x: (x if x > 0 else None) * 2, X, "number"),  # HERE
    ("array made", lambda x: np.array([x, 1.0])[0], X, "array"),  # HERE
    ("array", lambda x: X * x, X, "number"),  # HERE
    ("nested", lambda x: broadcast(lambda y: y, x), X, "broadcast"),  # HERE
    ("dict", lambda x: {x: 1.0}[x], X, "dict|getitem|build_map"),  # HERE
    ("attribute", lambda x: x.foo, X, "foo|getattr"),  # HERE
    ("unknown name", lambda x: undefined * x, X, "undefined"),  # noqa: F821  # HERE
    ("clock", lambda x: time.time() * x, X, "time"),  # HERE
    ("random", lambda x: random.random() * x, X, "random"),  # HERE
    ("random of numpy", lambda x: np.random.rand() * x, X, "rand"),  # HERE
    ("complex", lambda x: abs(x * 1j), X, "number"),  # HERE
    ("float shift", lambda x: x << 1, X, "shift"),  # HERE
    ("arity", lambda x: math.sin(x, x), X, "sin"),  # HERE
    ("arity of helper", lambda x: raises(x, x), X, "raises"),  # HERE
    ("keyword", lambda x: np.sin(x, where=x > 0), X, "where"),  # HERE
    ("index", lambda x: (x, 1.0)[2], X, "2"),  # HERE
    ("large", lambda n: n * 10**20, N, "does not fit"),  # HERE
    ("int power", lambda n: 2**n, N, "float"),  # HERE
    ("lengths", lambda x: (x, x) if x > 1 else (x,), X, "tuple"),  # HERE
    ("tuple or number", lambda x: (x, x) if x > 1 else x, X, "tuple"),  # HERE
    ("nested tuple", lambda x: (x, (x, x)), X, "tuple"),  # HERE
    ("list", lambda x: [x, x], X, "list"),  # HERE
]  # fmt: skip


@pytest.mark.parametrize("backend", ["auto", "reference"])
@pytest.mark.parametrize("f, x, words", [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_refused(f, x, words, backend):
    with pytest.raises(KernelError, match=words) as caught:
        broadcast(f, x, backend=backend)
    message = str(caught.value)
    assert __file__ in message and "primitives" not in message
    line = int(message.split(__file__ + ":")[1].split()[0].rstrip(":"))
    assert "# HERE" in open(__file__).read().splitlines()[line - 1]
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize("backend", ["auto", "reference"])
def test_a_dict_of_the_kernel_s_own_is_none(backend):
    def f(x):
        state = {"a": x, "b": 1.0}
        state["b"] += state["a"]
        return state["b"]

    np.testing.assert_array_equal(broadcast(f, X, backend=backend), X + 1.0)


@pytest.mark.parametrize("f", [lambda x: {x: 1.0}[x], lambda x: undefined * x, lambda x: x.foo])  # noqa: F821
def test_remedies_fit(f):
    """`do it before or after, on the arrays` is no help there."""
    with pytest.raises(KernelError) as caught:
        broadcast(f, X)
    assert "on the arrays" not in str(caught.value)


OPTIONS = [
    ("threads", 1, True), ("threads", 1, 1.0), ("threads", 1, np.int64(1)), ("threads", 1, [1]),
    ("threads", 1, np.ones(2)), ("fastmath", True, 1), ("fastmath", False, 0), ("fastmath", True, {}),
    ("partials", "store", []), ("partials", "store", "stored"), ("backend", "reference", np.ones(2)),
]  # fmt: skip


@pytest.mark.parametrize("name, right, wrong", OPTIONS)
def test_options_are_refused_also_after_those_that_are_equal(name, right, wrong):
    def f(x):
        return 2.0 * x

    assert broadcast(f, X, **{name: right}).tolist() == (2.0 * X).tolist()
    with pytest.raises(KernelError, match=f"{name} is .*, not {re.escape(repr(wrong))}"):
        broadcast(f, X, **{name: wrong})


def test_what_the_function_raises_is_not_blamed_on_options():
    with pytest.raises(KernelError, match="print"):
        broadcast(prints, X, threads=2, partials="store")


def test_refused_again_and_then_not(monkeypatch):
    """A refusal is no state."""
    def f(x):
        return CHOSEN(x)

    for _ in range(2):
        with pytest.raises(KernelError):
            broadcast(f, X)
    monkeypatch.setitem(globals(), "CHOSEN", math.cos)
    np.testing.assert_allclose(broadcast(f, X), np.cos(X))
    monkeypatch.setitem(globals(), "CHOSEN", print)
    with pytest.raises(KernelError):
        broadcast(f, X)


CHOSEN = print


def test_wrong_number_of_operands():
    with pytest.raises(TypeError, match="1 positional argument"):
        broadcast(lambda x: x, X, X)
    with pytest.raises(TypeError, match="missing 1 required"):
        broadcast(lambda x, y: x, X)


def shifts_floats(x, y):
    return x << y


@pytest.mark.parametrize("ufunc", [np.left_shift, np.right_shift, np.bitwise_and, np.bitwise_xor])
def test_objects_are_no_numbers_though_numpy_was_asked_for_them_before(ufunc):
    floats = (X.dtype, X.dtype)
    ufunc.resolve_dtypes((*floats, np.dtype(object)))  # since NumPy 2.5 that answers the next one too
    with pytest.raises(TypeError):
        dtypes._of_ufunc(ufunc, floats)
    with pytest.raises((KernelError, TypeError)):
        broadcast(shifts_floats, X, X)
