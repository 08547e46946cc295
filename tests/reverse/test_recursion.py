"""Functions that call themselves: by number, list and array, straight down and branching, to depths that
only run time knows; derivatives of each mode and order against differences; what the functions leave behind.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from ctxdispatch import MutationError, explain, grad, hessian, jacfwd, jvp

LENGTHS = [1, 2, 5]


def power(x, n):
    return 1.0 if n == 0 else x * power(x, n - 1)


def branching(x, n):
    return x if n < 2 else branching(math.sin(x), n - 1) + branching(x * x, n - 2)


def halving(x):
    return x if abs(x) < 0.1 else 0.5 * halving(x / 2) + math.sin(x)


def even(x, n):
    return x if n == 0 else odd(x * x * 0.5, n - 1)


def odd(x, n):
    return math.sin(x) if n == 0 else even(x + 1.0, n - 1)


def bisect(a, b, depth):
    m = 0.5 * (a + b)
    if depth < 1 or b - a < 0.1:
        return (b - a) * math.exp(m)
    return bisect(a, m, depth - 1) + bisect(m, b, depth - 1)


def adaptive(f, a, b, tol=1e-2, depth=12):
    m = 0.5 * (a + b)
    whole, parts = (b - a) * f(m), 0.5 * (b - a) * (f(0.5 * (a + m)) + f(0.5 * (m + b)))
    if depth == 0 or abs(whole - parts) < tol:
        return parts
    return adaptive(f, a, m, tol / 2, depth - 1) + adaptive(f, m, b, tol / 2, depth - 1)


def density(t):
    return math.exp(-t * t)


def casteljau(points, t):
    if len(points) == 1:
        return points[0]
    return casteljau([(1 - t) * a + t * b for a, b in zip(points, points[1:])], t)


def squares(xs):
    return 0.0 if not xs else xs[0] ** 2 + squares(xs[1:])


def horner(c, x):
    return c[0] if len(c) == 1 else c[0] + x * horner(c[1:], x)


def halves(x):
    if len(x) < 2:
        return np.sum(x * x)
    h = len(x) // 2
    return 0.5 * halves(x[:h]) + np.sin(halves(x[h:]))


def pairs(xs):
    """It returns a list."""
    return xs if len(xs) < 2 else pairs([a * b for a, b in zip(xs, xs[1:])])


def last(xs):
    """It returns what it was given a part of."""
    return xs[0] if len(xs) == 1 else last(xs[1:])


OF_NUMBERS = {
    "power": power,
    "branching": branching,
    "halving": lambda x, n: halving(x * n),
    "mutual": even,
    "interval": lambda x, n: bisect(x * 0.1, x * n, n),
    "function": lambda x, n: adaptive(density, 0.0, x * n),
    "ufunc": lambda x, n: adaptive(np.cos, 0.0, x * n),
    "lambda": lambda x, n: adaptive(lambda t: density(t) / (t + 1.0), 0.0, x * n),
    "closure": lambda x, n: adaptive(lambda t: density(t * x), 0.0, x * n),
    "list": lambda x, n: casteljau([x * i for i in range(n)] + [x * x], 0.3),
    "squares": lambda x, n: squares([x * i for i in range(n)]) + x,
    "polynomial": lambda x, n: horner([math.sin(x)] * (n + 1), x),
    "in a loop": lambda x, n: sum(power(x + i, i) for i in range(n)),
    "array": lambda x, n: halves(x * np.linspace(0.1, 0.9, n)),
    "list given back": lambda x, n: pairs([x + 0.1 * i for i in range(n)] + [x])[0],
    "item given back": lambda x, n: last([x * i for i in range(n)] + [x * x]) * x,
}


def slope(f, x, step=1e-5):
    return (f(x + step) - f(x - step)) / (2 * step)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_derivatives_of_numbers(name, n):
    f = OF_NUMBERS[name]
    x = 0.7
    first = slope(lambda x: f(x, n), x)
    assert grad(f)(x, n) == pytest.approx(first, rel=1e-6, abs=1e-8)
    assert jacfwd(f)(x, n) == pytest.approx(first, rel=1e-6, abs=1e-8)
    assert jvp(lambda x: f(x, n), (x,), (2.0,))[1] == pytest.approx(2 * first, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_second_derivatives_of_numbers(name, n):
    f, x = OF_NUMBERS[name], 0.7
    second = slope(lambda x: grad(f)(x, n), x)
    assert hessian(f)(x, n) == pytest.approx(second, rel=1e-5, abs=1e-6)
    assert grad(grad(f))(x, n) == pytest.approx(second, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("f", [halves, lambda x: casteljau(list(x), x[0]), lambda x: squares(list(x))])
def test_derivatives_of_arrays(f, n):
    x = np.linspace(0.2, 0.9, n)
    first = [slope(lambda s, i=i: f(x + s * np.eye(n)[i]), 0.0) for i in range(n)]
    np.testing.assert_allclose(grad(f)(x), first, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(jacfwd(f)(x), first, rtol=1e-6, atol=1e-8)
    second = [slope(lambda s, i=i: grad(f)(x + s * np.eye(n)[i]), 0.0) for i in range(n)]
    np.testing.assert_allclose(hessian(f)(x), second, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("f", [casteljau, lambda xs, t: squares(xs), horner, lambda xs, t: last(xs) * t])
@pytest.mark.parametrize("order", [(1, 2, 5), (5, 1, 2), (2, 5, 1)])
def test_lists_of_other_lengths_have_programs_of_their_own(f, order):
    gradient = grad(f)
    for n in order:
        xs = [0.3 + 0.1 * i for i in range(n)]
        want = [slope(lambda s, i=i: f([*xs[:i], xs[i] + s, *xs[i + 1 :]], 0.4), 0.0) for i in range(n)]
        assert gradient(xs, 0.4) == pytest.approx(want, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize(
    "f, args",
    [(power, (1.3, 5)), (branching, (0.7, 5)), (casteljau, ([0.1, 0.4, 0.2, 0.9], 0.3)),
     (squares, ([1.0, 2.0, 3.0],)), (halves, (np.arange(6.0),))],
)  # fmt: skip
def test_they_are_compiled(f, args):
    gradient = grad(f)
    gradient(*args)
    assert explain(gradient)(*args).regions[0].tier == "compiled whole"


@pytest.mark.parametrize("f, args", [(power, (1.3, 5)), (branching, (0.7, 5)), (even, (0.7, 4))])
def test_second_derivatives_are_compiled(f, args):
    second = hessian(f)
    second(*args)
    assert explain(second)(*args).regions[0].tier == "compiled whole"


@pytest.mark.parametrize("f", [math.cos, np.sin, density])
@pytest.mark.parametrize("d", [grad, hessian])
def test_functions_as_arguments_are_known(f, d):
    derivative = d(lambda x: adaptive(f, 0.1, x))
    derivative(0.7)
    assert explain(derivative)(0.7).regions[0].tier == "compiled whole"


@pytest.mark.parametrize("n", [1, 3, 150])
def test_lists_made_here_of_any_length(n):
    def f(x):
        return np.sum(last([x * i for i in range(n)]) * x) + squares([np.sum(x)] * (n % 150))

    x = np.array([0.3, 0.8])
    want = [slope(lambda s, e=e: f(x + s * e), 0.0) for e in np.eye(2)]
    for gradient in (grad(f), jacfwd(f)):
        for _ in range(2):
            np.testing.assert_allclose(gradient(x), want, rtol=1e-6)


def test_lists_of_arrays_of_other_lengths():
    def f(x):
        return np.sum(last([x, x[:1], x[:2]])) * np.sum(x) + np.sum(last([x[:1], x, x * x]) ** 2)

    x = np.array([0.3, 0.8, 0.2])
    want = [slope(lambda s, e=e: f(x + s * e), 0.0) for e in np.eye(3)]
    np.testing.assert_allclose(grad(f)(x), want, rtol=1e-6)
    np.testing.assert_allclose(jacfwd(f)(x), want, rtol=1e-6)


# -- what they leave behind, and read ------------------------------------------------------------------------


class Counter:
    def __init__(self):
        self.calls, self.scale = 0, 1.0


def counting(x, n, counter):
    counter.calls += 1
    return x if n == 0 else x * counting(x, n - 1, counter)


def logging(x, n, log):
    log.append(x)
    return x if n == 0 else x * logging(x * 2.0, n - 1, log)


def scaling(x, n, counter):
    """What it reads, it has changed before."""
    counter.scale = counter.scale * x
    return counter.scale if n == 0 else counter.scale + scaling(x, n - 1, counter)


def overwriting(a, n):
    a[n] = a[n] * a[n - 1]
    return np.sum(a) if n == 1 else overwriting(a, n - 1)


def remembering(x, n, seen=[]):
    seen.append(n)
    return x if n == 0 else x * remembering(x, n - 1)


def number_of(n, seen=[]):
    seen.append(n)
    return float(len(seen)) if n == 0 else number_of(n - 1)


SCALE = [1.0]


def reading(x, n):
    return x * SCALE[0] if n == 0 else x * reading(x, n - 1)


def read_after_store(x, n):
    SCALE[0] = x * x
    y = reading(x, n)
    SCALE[0] = 1.0
    return y


class Held:
    value = 1.0


def reading_class(x, n):
    return x * Held.value if n == 0 else x * reading_class(x, n - 1)


def read_class_after_store(x, n):
    Held.value = x * x
    y = reading_class(x, n)
    Held.value = 1.0
    return y


FACTOR = 1.0


def reading_global(x, n):
    return x * FACTOR if n == 0 else x * reading_global(x, n - 1)


def read_global_after_store(x, n):
    global FACTOR
    FACTOR = x * x
    y = reading_global(x, n)
    FACTOR = 1.0
    return y


def in_copy(x, n):
    a = np.array([1.0, x, x * x, 2.0, x, 1.0, x, 3.0, x, x])
    return overwriting(a, n)


def read_before_and_after(x, n):
    """The call stores to what was read before it, and is read after it."""
    a = x * np.arange(1.0, 11.0)
    before = np.sin(a)
    y = overwriting(a, n)
    return np.sum(before * a) + y


def put_and_summed(x, n):
    xs = [x]
    for i in range(n):
        xs.append(squares(xs) * 0.1 + i * x)
    return squares(xs)


STATEFUL = {
    "counts": lambda x, n: counting(x, n, Counter()),
    "logs": lambda x, n: logging(x, n, []),
    "reads what it changed": lambda x, n: scaling(x, n, Counter()),
    "default": lambda x, n: remembering(x, n),
    "variable": read_after_store,
    "class": read_class_after_store,
    "global": read_global_after_store,
    "appended between": put_and_summed,
}


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("name", STATEFUL)
def test_what_changes_meanwhile(name, n):
    f, x = STATEFUL[name], 0.7
    first = slope(lambda x: f(x, n), x)
    gradient, forward = grad(f), jacfwd(f)
    for _ in range(2):
        assert gradient(x, n) == pytest.approx(first, rel=1e-6, abs=1e-8)
        assert forward(x, n) == pytest.approx(first, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("n", [2, 4])
@pytest.mark.parametrize("d", [grad, jacfwd])
@pytest.mark.parametrize("f", [in_copy, read_before_and_after])
def test_stores_are_right_or_refused(f, d, n):
    first = slope(lambda x: f(x, n), 0.7)
    try:
        found = d(f)(0.7, n)
    except MutationError:
        return
    assert found == pytest.approx(first, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("n", [0, 1, 4])
@pytest.mark.parametrize("d", [grad, jacfwd], ids=["reverse", "forward"])
def test_what_is_left(d, n):
    counter, log, seen = Counter(), [], remembering.__defaults__[0]
    derivative = d(lambda x: counting(x, n, counter) + logging(x, n, log) + remembering(x, n))
    for times in (1, 2, 3):
        before = len(seen)
        derivative(0.7)
        assert counter.calls == times * (n + 1)
        assert log == [0.7 * 2.0**i for i in range(n + 1)] * times
        assert seen[before:] == [*range(n, -1, -1)]


def test_each_call_runs_once():
    def f(x, n):
        return x * number_of(n)

    number_of.__defaults__[0].clear()
    derivative = grad(f)
    assert [derivative(2.0, 3) for _ in range(3)] == [4.0, 8.0, 12.0]


def failing(x, n, log=None):
    if log is not None:
        log.append(n)
    if n == 0:
        raise ValueError(f"at {x:.3f}")
    return x * failing(x + 1.0, n - 1, log)


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("d", [grad, jacfwd])
def test_errors_come_from_where_they_are(d, n):
    log: list[int] = []
    with pytest.raises(ValueError) as plain:
        failing(0.5, n)
    derivative = d(failing)
    for _ in range(2):
        with pytest.raises(ValueError) as ours:
            derivative(0.5, n)
        assert str(ours.value) == str(plain.value)
    with pytest.raises(ValueError):
        d(lambda x: failing(x, n, log))(0.5)
    assert log == [*range(n, -1, -1)]


@pytest.mark.parametrize("d", [grad, jacfwd])
def test_without_an_end(d):
    with pytest.raises(RecursionError):
        d(lambda x: counting(x, -1, Counter()))(1.0)


def turned(x, n):
    return x * x if n == 0 else turned(x, n - 1)


def test_a_function_that_becomes_another_one(monkeypatch):
    derivative, second = grad(lambda x: turned(x, 3)), hessian(lambda x: turned(x, 3))
    assert derivative(2.0) == 4.0
    assert second(2.0) == 2.0
    monkeypatch.setitem(globals(), "turned", lambda x, n: x**3)
    assert derivative(2.0) == 12.0
    assert second(2.0) == 12.0
