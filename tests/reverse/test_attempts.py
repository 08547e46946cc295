"""Functions with `try`: a program of what they do where nothing is raised, and where something is, the run is
recorded. Value, state, errors and derivative are those of plain code either way."""

import copy
import math
import threading
import types
import warnings

import numpy as np
import pytest

from ctxdispatch import DerivativeError, grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp
from tests.reverse import effects_once

_log, _kept, _calls = [], {}, []


def straight(x):
    try:
        return np.sum(x**2) / x[0]
    except ValueError:
        return 0.0


def handled_now_and_then(x):
    a, b, c = x.tolist()
    try:
        y = a / (0 if b < 0 else 1)
    except ZeroDivisionError:
        y = a * c
    return y * b


def raised_by_the_program(x):
    try:
        if x[1] < 0:
            raise ValueError(x[0])
        y = x[2] * 2
    except ValueError as error:
        y = error.args[0] ** 2
    else:
        y = y + x[1]
    finally:
        z = x[0]
    return y * z


def at_last(x):
    y = x
    try:
        y = y * 2
    finally:
        y = y + 1
    return y.sum()


def root(v):
    try:
        return math.sqrt(v)
    except ValueError:
        return v * v


def of_helper(x):
    return sum([root(v) for v in x.tolist()])


def of_helpers_in_turn(x):
    def safe(f, v):
        try:
            return f(v)
        except ArithmeticError:
            return 0.0 * v

    return safe(lambda v: 1 / v.sum(), x) + safe(lambda v: v[0] / v[1], x)


def first_that_is_there(x):
    d = {"a": x[0]}
    try:
        y = d["b"]
    except KeyError:
        y = d["a"] * 2
    return y * x[1]


def in_a_loop(x):
    s = 0.0
    for v in x.tolist():
        try:
            s = s + v / (v > 0)
        except ZeroDivisionError:
            s = s - v
    return s


def nested(x):
    a, b, c = x.tolist()
    try:
        try:
            y = a / (b > 0)
        except TypeError:
            y = a
        y = y * 2
    except ZeroDivisionError:
        y = c
    return y


def logged(x):
    try:
        _log.append(len(_log))
        return x.sum() * len(_log)
    except ValueError:
        return x[0]


def kept(x):
    try:
        _kept["n"] = _kept.get("n", 0) + 1
        return x.sum() * _kept["n"]
    except ValueError:
        return x[0]


def stored(x):
    x = x * 1.0
    try:
        x[0] = x[1] * 3
        x[5] = 1.0
    except IndexError:
        x[2] = x[0] * x[1]
    return x.sum()


def stored_into_argument(x):
    try:
        x[0] = x[1] * 3
    except IndexError:
        pass
    return (x * x).sum()


def asserted(x):
    try:
        assert x[1] > 0
        return x.sum()
    except AssertionError:
        return (x * x).sum()


def converted(x):
    try:
        return float(x[0]) * x.sum()
    except TypeError:
        return x.sum()


def counted(x):
    _calls.append(1)
    try:
        return np.exp(x).sum()
    except FloatingPointError:
        return x.sum()


PROGRAMS = [
    straight, handled_now_and_then, raised_by_the_program, at_last, of_helper, of_helpers_in_turn,
    first_that_is_there, in_a_loop, nested, logged, kept, stored, asserted, converted, counted,
]  # fmt: skip
COMPILED = [straight, at_last, of_helpers_in_turn, raised_by_the_program, asserted]
POINTS = [np.array([0.5, 0.8, 1.3]), np.array([0.7, -0.4, 0.6])]


def reset():
    _log.clear()
    _kept.clear()
    _calls.clear()


def differences(f, x, h=1e-6):
    def at(d):
        reset()
        return f(x + d)

    return np.array([(at(h * e) - at(-h * e)) / (2 * h) for e in np.eye(x.size)])


@pytest.mark.every(3)
@pytest.mark.parametrize("f", PROGRAMS)
def test_gradients(f):
    for x in (*POINTS, *POINTS[::-1]):
        expected = differences(f, x)
        reset()
        y, found = value_and_grad(f)(x.copy())
        state = copy.deepcopy((_log, _kept, _calls))
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
        reset()
        np.testing.assert_allclose(y, f(x.copy()), rtol=1e-14)
        assert state == (_log, _kept, _calls)


@pytest.mark.every(3)
@pytest.mark.parametrize("f", PROGRAMS)
def test_every_mode(f):
    for x in POINTS:
        expected = differences(f, x)
        for mode in (jacrev, jacfwd):
            reset()
            np.testing.assert_allclose(mode(f)(x.copy()), expected, rtol=1e-6, atol=1e-7)
        reset()
        y, pullback = vjp(f, x.copy())
        np.testing.assert_allclose(pullback(2.0)[0], 2 * expected, rtol=1e-6, atol=1e-7)
        reset()
        tangent = jvp(f, (x.copy(),), (np.ones(3),))[1]
        np.testing.assert_allclose(tangent, expected.sum(), rtol=1e-6, atol=1e-7)


@pytest.mark.every(3)
@pytest.mark.parametrize("f", [straight, raised_by_the_program, of_helper, stored, in_a_loop])
def test_second_derivatives(f):
    for x in POINTS:
        reset()
        expected = [(grad(f)(x + 1e-5 * e) - grad(f)(x - 1e-5 * e)) / 2e-5 for e in np.eye(3)]
        np.testing.assert_allclose(hessian(f)(x.copy()), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.every(3)
@pytest.mark.parametrize("f", COMPILED)
def test_what_raises_nothing_is_not_recorded(f, recorded):
    f = types.FunctionType(f.__code__, f.__globals__)  # of which nobody knows whether it raises
    grad(f)(POINTS[0])
    jvp(f, (POINTS[0],), (POINTS[0],))
    vjp(f, POINTS[0])
    assert not recorded


def test_what_is_done_before_it_always_raises_is_done_once():
    def f(x):
        try:
            for i in range(3):
                _log.append(i)
            raise ValueError(x)
        except ValueError:
            return x * x

    reset()
    for n in (1, 2, 3):
        assert grad(f)(3.0) == 6.0
        assert len(_log) == 3 * n


def test_what_has_raised_is_tried_again_later_and_later(recorded):
    def f(x):
        try:
            return x / (x > 1.0)
        except ZeroDivisionError:
            return x * x

    g = grad(f)
    for i in range(7):
        assert g(0.5) == 1.0
        assert len(recorded) == i + 1
    recorded.clear()
    for _ in range(8):
        assert g(2.0) == 1.0
    assert 0 < len(recorded) < 8


def test_an_argument_that_is_stored_into_is_so_once():
    x = np.array([0.5, 0.8, 1.3])
    found = grad(stored_into_argument)(x)
    np.testing.assert_allclose(found, [0.0, 2 * 0.8 + 2 * 9 * 0.8, 2.6])
    np.testing.assert_allclose(x, [2.4, 0.8, 1.3])


def test_errors_that_numpy_raises():
    def f(x):
        try:
            np.log(x)
            return x
        except FloatingPointError:
            return 3 * x

    with np.errstate(invalid="raise"):
        assert (f(np.float64(-1.0)), grad(f)(np.float64(-1.0))) == (-3.0, 3.0)
    assert grad(f)(np.float64(1.0)) == 1.0


def test_what_nobody_handles_is_the_programs_error():
    def f(x):
        try:
            y = [x][int(x)]
        except KeyError:
            y = x
        return y

    assert grad(f)(0.5) == 1.0
    with pytest.raises(IndexError) as caught:
        grad(f)(5.5)
    assert "f" in [entry.name for entry in caught.traceback]


@pytest.mark.every(3)
@pytest.mark.parametrize("kind", ["with", "try", "raised"])
@pytest.mark.parametrize("effect", effects_once.EFFECTS)
def test_what_can_be_seen_is_done_once(effect, kind):
    f = effects_once.program(effect, kind)
    for mode in (f, value_and_grad(f), lambda x: jvp(f, (x,), (1.0,)), lambda x: vjp(f, x)):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            effects_once.before()
            y = mode(0.5)
            state = effects_once.after(), len(told)
        if mode is f:
            plain = y, state
        assert (y if mode is f else y[0], state) == plain


def test_iterators_of_the_callers_are_gone_through_once():
    def f(x, items):
        try:
            a = next(items)
            return x * a / (a > 100)
        except ZeroDivisionError:
            return x * next(items)

    for mode in (grad, value_and_grad, jacrev, jacfwd):
        items = iter([1, 2, 3])
        mode(f)(1.0, items)
        assert next(items) == 3


def test_what_a_derivative_raises_is_not_for_the_users_handlers():
    """The value is infinite, and its partial, of a bool, would divide by zero."""

    def f(x):
        try:
            with np.errstate(all="ignore"), threading.Lock():  # which is recorded
                return np.float64(2.0) * x / (x > 1.0)
        except ZeroDivisionError:
            return 3 * x

    assert f(0.5) == np.inf
    with pytest.raises(DerivativeError, match="where the value does not"):
        jvp(f, (0.5,), (1.0,))
