"""Loops in runs that are recorded, which are one entry of the tape each: the same value, state and derivative
as plain code, whatever they do; and that they are such entries."""

import copy
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest

from ctxdispatch import DerivativeError, grad, hessian, jacfwd, jvp, value_and_grad, vjp
from ctxdispatch_contexts.recording import regions

ROOT = Path(__file__).parent.parent.parent
_kept = {}
_log = []
_scale = 1.0
_recorded = threading.RLock()
_array = np.array([0.5, -1.0, 2.0])


# -- programs of a number or an array, each with something that has no SSA form ------------------------------


def loop_in_try(x):
    s = 0.0
    try:
        for i in range(6):
            s = s + np.sin(x * i) * x
    except ValueError:
        s = x
    return s


def loop_in_with(x):
    s = x
    with _recorded:
        while s < 20:
            s = s * 1.5 + 0.1
    return s


def breaks_and_else(x):
    with _recorded:
        s = x
        for i in range(10):
            if i == 3:
                continue
            s = s * 1.1
            if s > 5:
                s = s - 1
                break
        else:
            s = -s
        for _ in range(2):
            s = s * x
        else:
            s = s + 1
    return s


def nested_loops(x):
    s = x
    with _recorded:
        for i in range(3):
            for j in range(i):
                s = s + x * j
            while s > 4:
                s = s / 2
    return s


def raised_midway(x):
    s = x
    try:
        for i in range(5, -1, -1):
            s = s + x / i
    except ZeroDivisionError:
        s = s * 2
    return s


def raised_in_loop(x):
    s = x
    for i in range(4):
        try:
            s = s + x / (i - 1)
        except ZeroDivisionError:
            s = s * x
    return s


def raises_of_itself(x):
    s = x
    try:
        for i in range(9):
            s = s * 1.5
            if i == 4:
                raise ValueError(s)
    except ValueError as error:
        s = error.args[0] + x
    return s


def of_generator(x):
    def items():
        with _recorded:
            pass
        for k in range(3):
            t = x
            for j in range(k + 1):
                t = t * 0.9 + np.tanh(x * j)
            yield t

    return sum(items())


def captured(x):
    y = x * 3

    def inner():
        with _recorded:
            s = 0.0
            for i in range(3):
                s = s + y * i
        return s

    return inner() + y


def captured_and_set(x):
    y = x

    def put():
        nonlocal y
        with _recorded:
            for i in range(3):
                y = y * x + i

    put()
    return y


def held_by_function(x):
    scale = x * x

    def f(v):
        return v * scale

    s = x
    with _recorded:
        for _ in range(3):
            s = f(s)
    return s


def global_of_run(x):
    global _scale
    _scale = x * 2
    try:
        s = 0.0
        for i in range(3):
            s = s + _scale * i
        return s
    finally:
        _scale = 1.0


def global_through_a_call(x):
    global _scale
    _scale = x * 2
    try:
        s = 0.0
        for i in range(3):
            s = s + _read_scale(i)
        return s
    finally:
        _scale = 1.0


def _read_scale(i):
    return _scale * i


def default_of_run(x):
    def f(v, w=x * 2):
        return v * w

    s = 1.0
    with _recorded:
        for _ in range(2):
            s = f(s)
    return s


def list_of_results(x):
    out = []
    with _recorded:
        for i in range(4):
            out = out + [x * i]
    out.append(x)
    return sum(out)


def appended(x):
    out = []
    with _recorded:
        for i in range(4):
            out.append(x * i)
    return sum(out) * len(out)


def same_list(x):
    xs, ys = [x, 2 * x], []
    with _recorded:
        for _ in range(2):
            ys = xs
    ys.append(x * x)
    return sum(xs)


def swapped(x):
    a, b = x, 2 * x
    with _recorded:
        for _ in range(5):
            a, b = b, a + 0.5 * b
    return a - b


def same_number(x):
    a = b = 0.0
    with _recorded:
        for _ in range(2):
            a = b = x
    return a * b


def constant_in_one_arm(x):
    y = 1.0
    with _recorded:
        for i in range(3):
            y = 0.0 if i < 5 else x
    z = 0.0
    return y * x + z * x + x


def loop_variable_later(x):
    with _recorded:
        for i in range(4):
            x = x + i * x
    return x * i


def maybe_unbound(x):
    with _recorded:
        for i in range(0):
            y = x
    try:
        return y
    except UnboundLocalError:
        return x * 3


def comprehension(x):
    with _recorded:
        for i in range(3):
            x = sum([x * k for k in range(i + 2)])
    return x


def printed(x):
    with _recorded:
        for i in range(3):
            _log.append(i)
            x = x * 1.5
    return x * len(_log)


def kept_before(x):
    _kept["last"] = 5.0
    s = x
    with _recorded:
        for _ in range(3):
            s = s + _kept["last"] * x
            _kept["last"] = _kept["last"] + 1.0
    return s


def from_iterator(x):
    it = iter([1.0, 2.0, 3.0, 4.0])
    s = 0.0
    with _recorded:
        for a in it:
            s = s + a * x
            if a > 1.5:
                break
    return s * next(it)


def zipped(x):
    s = x
    with _recorded:
        for i, (a, b) in enumerate(zip([1.0, 2.0], (x, 3.0))):
            s = s + a * b * i
    return s


def kept_in_dict(x):
    p = {"a": x, "b": 2.0}
    s = 0.0
    with _recorded:
        for _ in range(3):
            s = s + p["a"] * p["b"]
    return s


def inner_derivative(x):
    s = x
    with _recorded:
        for _ in range(2):
            s = s + grad(lambda t: t**3)(s)
    return s


NUMBERS = [
    loop_in_try, loop_in_with, breaks_and_else, nested_loops, raised_midway, raised_in_loop, raises_of_itself,
    of_generator, captured, captured_and_set, held_by_function, global_of_run, global_through_a_call,
    default_of_run, list_of_results, appended, same_list, swapped, same_number, constant_in_one_arm,
    loop_variable_later, maybe_unbound, comprehension, printed, kept_before, from_iterator, zipped,
    kept_in_dict, inner_derivative,
]  # fmt: skip


def products(x):
    w = np.arange(9.0).reshape(3, 3) / 9
    with _recorded:
        for _ in range(4):
            x = np.tanh(w @ x)
    return x.sum()


def filled(x):
    y = np.zeros(6)
    with _recorded:
        y[0] = x[0]
        for i in range(1, 6):
            y[i] = y[i - 1] * 0.5 + np.sin(x[i % 3])
    return y @ y


def stored_into_argument(x):
    x = x * 1.0
    with _recorded:
        for i in range(1, 3):
            x[i] = x[i] * x[i - 1]
    return x.sum()


def by_two_names(x):
    y = x * 2
    tail = y[1:]
    with _recorded:
        for i in range(2):
            y[i] = y[i] * 3
            tail[i] = tail[i] + y[0]
    return (y * tail[0]).sum()


def rows_of_one(x):
    rows = np.outer(x, x)
    with _recorded:
        for i in range(3):
            row = rows[i]
            row *= i + 1
    return rows.sum() + row.sum()


def in_place(x):
    y = x * 1.0
    z = y
    with _recorded:
        for i in range(3):
            y += x * i
    return (y * z).sum()


def stored_then_raised(x):
    y = np.zeros(3)
    try:
        for i in range(5):
            y[i] = x[i % 3] * (i + 1)
    except IndexError:
        y[0] = y[0] * 2
    return y @ y


def view_as_result(x):
    with _recorded:
        for i in range(3):
            part = x[i:]
    return part.sum() * x[0]


def reshaped_result(x):
    with _recorded:
        for _ in range(2):
            y = (x * 2).reshape(3, 1)
            z = y.T
    y[0] = 5.0
    return y.sum() + z.sum() * x[1]


def changed_afterwards(x):
    y = x * 2
    with _recorded:
        s = 0.0
        for i in range(3):
            s = s + y[i] ** 2
    y[:] = 0.0
    return s + y.sum()


def result_changed_afterwards(x):
    y = x
    with _recorded:
        for _ in range(2):
            y = y * y
    y[0] = y[1] * 2
    return y.sum()


def constant_array_back(x):
    best = _array
    with _recorded:
        for i in range(3):
            best = best if i < 5 else x
    return (best * x).sum()


def global_array(x):
    s = 0.0
    with _recorded:
        for i in range(3):
            s = s + _array[i] * x[i]
    return s


def rooted(x):
    """Infinite partials where nothing arrives."""
    z = x - x[0]
    y = z
    with _recorded:
        for _ in range(1):
            y = np.sqrt(np.abs(z))
    return np.where(z != 0, y, x).sum()


def overwritten_root(x):
    z = x - x[0]
    with _recorded:
        for _ in range(2):
            y = np.sqrt(z * z)
    y[0] = x[1]
    return y.sum()


def complex_numbers(x):
    z = x + 1j * x[0]
    with _recorded:
        for _ in range(3):
            z = z * z * 0.3 + x
    return np.abs(z).sum()


ARRAYS = [
    products, filled, stored_into_argument, by_two_names, rows_of_one, in_place, stored_then_raised,
    view_as_result, reshaped_result, changed_afterwards, result_changed_afterwards, constant_array_back,
    global_array, complex_numbers,
]  # fmt: skip


# -- checks --------------------------------------------------------------------------------------------------


def reset():
    _kept.clear()
    _log.clear()


def differences(f, x, h=1e-6):
    def at(d):
        reset()
        return f(x + d)

    if isinstance(x, float):
        return (at(h) - at(-h)) / (2 * h)
    steps = np.eye(x.size).reshape(x.size, *x.shape) * h
    return np.array([(at(d) - at(-d)) / (2 * h) for d in steps]).reshape(x.shape)


@pytest.fixture
def done(monkeypatch):
    """How often a region was done."""
    found = []
    write = regions._write_down

    def written(ctx, known, *rest):
        found.append(known.part)
        write(ctx, known, *rest)

    monkeypatch.setattr(regions, "_write_down", written)
    return found


@pytest.mark.parametrize("f", NUMBERS + ARRAYS)
def test_gradients(f):
    x = 0.7 if f in NUMBERS else np.array([0.4, -0.3, 0.8])
    expected = differences(f, x)
    for _ in range(3):
        reset()
        value, found = value_and_grad(f)(copy.copy(x))
        state = copy.deepcopy((_kept, _log, _scale, _array))
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
        reset()
        assert value == f(x)
        assert str(state) == str((_kept, _log, _scale, _array))


@pytest.mark.parametrize("f", NUMBERS + ARRAYS)
def test_pullbacks_and_other_modes(f):
    x = 0.7 if f in NUMBERS else np.array([0.4, -0.3, 0.8])
    reset()
    y, pullback = vjp(f, x)
    first, second = pullback(1.0)[0], pullback(2.0)[0]
    np.testing.assert_allclose(2 * np.asarray(first), second, rtol=1e-12)
    reset()
    v = np.ones_like(x) if f in ARRAYS else 1.0
    np.testing.assert_allclose(jvp(f, (x,), (v,))[1], np.sum(first), rtol=1e-9)


@pytest.mark.parametrize("f", [loop_in_try, loop_in_with, nested_loops, of_generator, captured, zipped])
def test_second_derivatives(f):
    reset()
    expected = (grad(f)(0.7 + 1e-5) - grad(f)(0.7 - 1e-5)) / 2e-5
    np.testing.assert_allclose(hessian(f)(0.7), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("f", ARRAYS)
def test_blocks_of_tangents(f):
    x = np.array([0.4, -0.3, 0.8])
    reset()
    np.testing.assert_allclose(jacfwd(f)(x), differences(f, x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("f", [rooted, overwritten_root])
def test_nothing_arrives_at_poles(f):
    x = np.array([0.4, -0.3, 0.8])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = grad(f)(x)
    assert np.isfinite(found).all()
    tangents = [jvp(f, (x,), (d,))[1] for d in np.eye(3)]
    np.testing.assert_allclose(found, tangents, rtol=1e-9)


USED = [
    loop_in_with, nested_loops, of_generator, captured, swapped, zipped,
    breaks_and_else, comprehension, products, filled, in_place, changed_afterwards,
    result_changed_afterwards, stored_into_argument, global_array, complex_numbers,
]  # fmt: skip


COUNTED = """
from tests.reverse import test_regions as tests
from ctxdispatch_contexts.recording import regions

found, write = [], regions._write_down
regions._write_down = lambda *args: (found.append(1), write(*args))[1]
for f in tests.USED:
    x = 0.7 if f in tests.NUMBERS else tests.np.array([0.4, -0.3, 0.8])
    for mode in (lambda: tests.grad(f)(x), lambda: tests.jvp(f, (x,), (x,))):
        found.clear()
        mode()
        if not found:
            print(f.__name__)
"""


def test_regions_are_done():
    """In a process where nothing has been tried, left, or set before."""
    ended = subprocess.run([sys.executable, "-c", COUNTED], capture_output=True, text=True, cwd=ROOT)
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr[-2000:]


NO_REGIONS = [
    global_through_a_call, default_of_run, held_by_function, same_list, from_iterator, kept_before,
    raised_in_loop,
]  # fmt: skip


@pytest.mark.parametrize("f", NO_REGIONS)
def test_what_is_no_region(f, done):
    """What reads something differentiated besides its inputs, or has another name for what it makes."""
    reset()
    grad(f)(0.7)
    assert not done


def test_draws_are_drawn_once(done):
    def f(x, rng):
        s = x
        with _recorded:
            for _ in range(3):
                s = s * rng.normal()
        return s

    draws = np.random.default_rng(1).normal(size=4)
    rng = np.random.default_rng(1)
    np.testing.assert_allclose(grad(f)(2.0, rng), np.prod(draws[:3]))
    assert rng.normal() == draws[3] and not done


def test_kept_values_that_are_equal_are_refused():
    """As in a program without regions: what was stored for this point before the run is no constant."""
    xs, ys = [1.0, 2.0], [10.0, 20.0]

    def f(x):
        with _recorded:
            y = x * 0.0
            for a, b in zip(xs, ys):
                if a == x:
                    y = b
        return y

    assert grad(f)(1.5) == 0.0
    with pytest.raises(DerivativeError):
        grad(f)(2.0)


def test_errors_are_the_programs_own():
    def f(x):
        with _recorded:
            for i in range(3):
                x = x + [1, 2][i]
        return x

    with pytest.raises(IndexError) as caught:
        grad(f)(1.0)
    assert "f" in [entry.name for entry in caught.traceback]
