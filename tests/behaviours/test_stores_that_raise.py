"""Stores that raise when they have written something, refusals that the program catches, and arrays that are
made read-only after a store: a derivative is right, or refused, and what is stored is there as it is plainly.
"""

import numpy as np
import pytest

from ctxdispatch import MutationError, Refused, grad, jvp, stop_gradient
from tests.behaviours.mutation_checks import both_modes

X = np.array([0.7, 1.3, 0.45, 1.1])
TINY = np.array([2.0, 3.0, 1e-310, 4.0])


def _put(b, x):
    np.put(b, [0, 17], x[1] * 2.0)


def _put_by_method(b, x):
    b.put([0, 17], x[1] * 2.0)


def _flat(b, x):
    b.flat[[0, 17]] = x[1:3] * 2.0


def _listed(b, x):
    b[:] = [x[1] * 2.0, x[2], "no number", 1.0]


def _out(b, x):
    np.multiply(b, TINY, out=b)


def _out_of_another(b, x):
    np.multiply(x, TINY, out=b)


def _in_place(b, x):
    b *= TINY


def _at(b, x):
    np.multiply.at(b, [0, 1, 2, 3], TINY)


STORES = [_put, _put_by_method, _flat, _listed, _out, _out_of_another, _in_place, _at]


@pytest.mark.parametrize("store", STORES)
def test_a_store_that_raises_midway_is_refused_if_the_program_goes_on(store):
    def f(x):
        b = x * 1.0
        try:
            with np.errstate(under="raise"):
                store(b, x)
        except (IndexError, ValueError, FloatingPointError):
            pass
        return b @ b

    for derivative in (lambda: grad(f)(X), lambda: jvp(f, (X,), (X,))):
        with pytest.raises(MutationError, match="had stored some of what depends"):
            derivative()


@pytest.mark.parametrize("store", STORES)
def test_it_raises_what_it_raises_plainly_and_leaves_what_it_leaves_plainly(store):
    kept = np.zeros(4)

    def f(x):
        kept[:] = 1.0
        kept[1:] += x[1:]
        with np.errstate(under="raise"):
            store(kept, x)
        return kept @ kept

    with pytest.raises((IndexError, ValueError, FloatingPointError)) as plainly:
        f(X)
    left = kept.copy()
    for derivative in (lambda: grad(f)(X), lambda: jvp(f, (X,), (X,))):
        with pytest.raises(plainly.type):
            derivative()
        np.testing.assert_array_equal(kept, left)


def test_a_store_that_raises_before_it_writes_has_its_derivative():
    def f(x):
        b = x * 1.0
        try:
            b[:3] = x  # of another shape
        except ValueError:
            b[0] = x[1] * x[2]
        return b @ b

    both_modes(f, X)


def test_a_refusal_that_the_program_catches_is_raised_when_it_ends():
    def f(x):
        try:
            scale = float(x.tobytes()[0])
        except Exception:
            scale = 2.0
        return scale * (x @ x)

    def g(x):
        scale = 2.0
        try:
            scale = x.data.cast("B")[7]
        finally:
            return scale * (x @ x)  # noqa: B012

    for function in (f, g):
        for derivative in (lambda h: grad(h)(X), lambda h: jvp(h, (X,), (X,))):
            with pytest.raises(Refused):
                derivative(function)


def test_errors_of_the_program_are_caught_as_ever():
    def f(x):
        try:
            return (x @ x) * (1 // int(x[0]))
        except ZeroDivisionError:
            return x @ x * 3.0

    both_modes(f, X)


def _by_flags(b):
    b.flags.writeable = False


def _by_method(b):
    b.setflags(write=False)


@pytest.mark.parametrize("freeze", [_by_flags, _by_method])
def test_arrays_that_are_frozen_after_a_store(freeze):
    def one(x):
        b = x * 1.0
        c = b * b
        b[0] = x[1]
        freeze(b)
        return c.sum() + b[0] * c[0]

    def of_a_part(x):
        b = x * 1.0
        v = b[:2]
        c = v * v
        v += c
        freeze(v)
        return c @ v + b @ b

    def several(x):
        b = x * 1.0
        c = np.sin(b)
        b[1:] = x[1:] * 2.0
        np.multiply(b, x, out=b)
        freeze(b)
        return c @ c + b @ c

    for f in (one, of_a_part, several):
        both_modes(f, X)


def test_elements_that_share_memory_are_not_stored_into_in_reverse_mode():
    def f(x):
        b = np.zeros(1)
        np.lib.stride_tricks.as_strided(b, (4,), (0,))[:] = x
        return b[0] * x[1]

    def rows(x):
        b = x * 1.0
        np.lib.stride_tricks.as_strided(b, (3, 2), (8, 8))[1] = x[2:] * 2.0
        return b @ b

    with pytest.raises(MutationError, match="elements share memory"):
        grad(f)(X)
    assert jvp(f, (X,), (np.ones(4),))[1] == pytest.approx(X[1] + X[3])
    both_modes(rows, X)


def test_lists_deeper_than_any_are_looked_through():
    def f(x):
        values = [x[0] * 2.0, x[1]]
        for _ in range(12):
            values = [values]
        return np.array(values).sum() * x[2] + np.sum(values)

    both_modes(f, X)


def test_constants_stored_into_what_stop_gradient_returned():
    def f(x):
        y = x * 1.0
        np.multiply(2.0, 3.0, stop_gradient(y))
        return (y * x).sum()

    def by_item(x):
        y = x * 1.0
        stop_gradient(y)[0] = 5.0
        return (y * x).sum()

    def of_the_argument(x):
        stop_gradient(x).fill(2.0)
        return x @ x

    for function in (f, by_item, of_the_argument):
        for derivative in (lambda g: grad(g)(X.copy()), lambda g: jvp(g, (X.copy(),), (X,))):
            with pytest.raises(MutationError, match="returned its argument"):
                derivative(function)


class Doubling(np.ndarray):
    """NumPy asks it for the part that is stored into."""

    def __getitem__(self, index):
        return super().__getitem__(index) * 2.0


def test_parts_of_subclasses_are_stored_into_by_their_own_items():
    def f(x):
        b = (x * 1.0).view(Doubling)
        b[1:] = x[:-1]  # into a copy
        b[0] = x[1]
        return np.asarray(b) @ np.asarray(b)

    def column(x):
        m = np.asmatrix(np.outer(x[:2], x[:2]))
        m[:, 0] *= 2.0
        return (m * m.T)[0, 0]

    both_modes(f, X)
    both_modes(column, X)
