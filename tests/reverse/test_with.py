"""`with` in programs that are compiled: value, derivative, warnings and NumPy's error state are those of
plain code, and what NumPy raises or does for an operation is recorded."""

import contextlib
import warnings

import numpy as np
import pytest

from ctxdispatch import grad, jvp, value_and_grad, vjp


class Section:
    def __init__(self, scale):
        self.scale = scale

    def __enter__(self):
        self.total = 0.0
        return self

    def __exit__(self, kind, value, traceback):
        self.total = self.total * self.scale


def inside(x):
    with np.errstate(all="ignore"):
        y = np.log(x)
    return np.sum(np.where(x > 0, y, 0.0))


def several(x):
    with np.errstate(divide="ignore"), np.errstate(invalid="ignore"):
        return np.sum(np.where(x > 0, x * np.log(x), 1.0))


def left_early(x):
    s = 0.0
    for k in range(3):
        with np.errstate(divide="ignore"):
            if k == 1:
                continue
            t = 1 / x
            if k == 2:
                break
        s = s + np.sum(np.where(x > 0, t, x))
    return s + np.sum(np.where(x > 0, t, x))


def own(x):
    with Section(2.0) as section:
        for k in range(3):
            section.total = section.total + np.sum(np.sin(x[k:]))
    return section.total


def suppressed(x):
    s = x[1]
    with contextlib.suppress(IndexError), contextlib.nullcontext():
        s = s * x[2]
        s = s + x[int(x[1] * 2.6)]
    return s


def raised(x):
    try:
        with np.errstate(divide="raise"):
            unused = 1 / x  # noqa: F841
        return np.sum(x)
    except FloatingPointError:
        return np.sum(x * x)


POINT = np.array([0.0, 1.0, 2.0])
COMPILED = [inside, several, left_early, own, suppressed]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", [*COMPILED, raised])
@pytest.mark.parametrize("x", [POINT, POINT + 0.2])
def test_values_and_derivatives(f, x):
    before = np.geterr()
    y, found = value_and_grad(f)(x.copy())
    np.testing.assert_allclose(y, f(x))
    inner = x > 0
    for e, g in zip(np.eye(3)[inner], found[inner]):
        np.testing.assert_allclose(g, (f(x + 1e-6 * e) - f(x - 1e-6 * e)) / 2e-6, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(jvp(f, (x,), (inner * 1.0,))[1], found[inner].sum(), rtol=1e-9)
    np.testing.assert_allclose(vjp(f, x)[1](1.0)[0], found)
    assert np.geterr() == before


@pytest.mark.parametrize("f", COMPILED)
def test_what_raises_nothing_is_not_recorded(f, recorded):
    with np.errstate(all="ignore"):
        grad(f)(POINT * 0.3 + 0.1)
    assert not recorded


@pytest.mark.parametrize("f", [inside, several, left_early])
def test_forward_derivatives_warn_as_the_program_does(f):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jvp(f, (POINT,), (np.ones(3),))


def test_the_error_state_is_as_before_where_the_attempt_raises():
    def f(x):
        try:
            with np.errstate(all="ignore"):
                y = [x][int(x)]
        except IndexError:
            y = x * x
        return y

    before = np.geterr()
    assert (grad(f)(3.0), grad(f)(0.5)) == (6.0, 1.0)
    assert np.geterr() == before


def test_loops_of_recorded_runs_call_functions_with_try(capsys):
    def helper(x):
        try:
            return x / x.sum()
        except ZeroDivisionError:
            return x

    def f(x):
        s = 0.0
        print("recorded")
        for k in range(50):
            s = s + helper(x) * k
        return s[0]

    x = np.array([0.3, 1.0])
    np.testing.assert_allclose(grad(f)(x), grad(lambda v: v[0] / v.sum() * 1225)(x))
