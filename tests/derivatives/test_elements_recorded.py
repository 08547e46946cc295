"""Every elementwise row in a recorded run gives the derivatives that it gives compiled: broadcast, of numbers
and arrays, of views that are overwritten meanwhile, in either precision, in both modes."""

import math

import numpy as np
import pytest
from derivative_cases import CASES
from derivative_programs import assert_equal
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from ctxdispatch import grad, jvp, vjp
from ctxdispatch_contexts.derivatives import namespaces
from ctxdispatch_contexts.derivatives.rows import ROWS as ROWS_BY_NAME
from ctxdispatch_contexts.derivatives.table import describe

ROWS = [case for case in CASES if case.name.startswith("row ")]
SETTINGS = settings(
    max_examples=3, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)  # fmt: skip


def programs(callee):
    def compiled(*args):
        return callee(*args)

    def recorded(*args):
        try:
            held = [arg if np.ndim(arg) == 0 else (arg * 1.0)[...] for arg in args]
            y = callee(*held)
            for arg in held:
                if np.ndim(arg):
                    arg[...] = 7.0
            return y
        finally:
            del held

    return compiled, recorded


def narrowed(args, which):
    """In float32: those of `which`."""
    return tuple(
        np.asarray(a, np.float32) if k in which and isinstance(a, np.ndarray) else a
        for k, a in enumerate(args)
    )


@pytest.mark.every(16)
@pytest.mark.parametrize("case", ROWS, ids=[case.name for case in ROWS])
@SETTINGS
@given(data=st.data())
def test_as_compiled(case, data):
    args, kwargs = data.draw(case.arguments)
    if kwargs or any(np.iscomplexobj(a) for a in args):
        return
    args = narrowed(args, data.draw(st.sets(st.integers(0, len(args) - 1))))
    compiled, recorded = programs(case.callee)
    with np.errstate(all="ignore"):
        (y, pull), (z, pull_recorded) = vjp(compiled, *args), vjp(recorded, *args)
        assert_equal(z, y)
        seed = np.cos(np.arange(np.size(y))).reshape(np.shape(y)).astype(np.result_type(y))
        seed = seed if isinstance(y, np.ndarray) else type(y)(seed)
        for a, b in zip(pull(seed), pull_recorded(seed), strict=True):
            alike(b, a)
        tangents = tuple(np.ones_like(a) if isinstance(a, np.ndarray) else type(a)(1.0) for a in args)
        alike(jvp(recorded, args, tangents)[1], jvp(compiled, args, tangents)[1])


def alike(found, expected):
    if expected is None or np.ndim(found) == np.ndim(expected) == 0:
        assert found is None or np.allclose(found, 0.0 if expected is None else expected, equal_nan=True)
        return
    assert np.shape(found) == np.shape(expected) and np.result_type(found) == np.result_type(expected)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-6)


def first_stored(p):
    out = p * 1.0
    seen = out.view()
    seen[0] = seen[1] * seen[1]
    return out * out


def summed_flat(p):
    out = p * 1.0
    out.flat[2] = out[0]
    return sum(out.flat) * out[2]


@pytest.mark.parametrize("f", [first_stored, summed_flat])
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64, np.longdouble, np.float64])
def test_elements_of_every_dtype(f, dtype):
    """An element is a number, known by its identity, of whatever class."""
    turned = 1j * np.array([0.1, 0.2, 0.3]) if dtype in COMPLEX else 0.0
    p = (np.array([0.2, 1.3, -1.5]) + turned).astype(dtype)
    direction = (np.array([0.5, -0.7, 0.3]) * (1 - 2j if dtype in COMPLEX else 1)).astype(dtype)

    def loss(p):
        return float(np.sum((f(p) * 0.7).real))

    def at(t):
        wide = np.complex128 if dtype in COMPLEX else np.float64
        return loss(p.astype(wide) + t * direction.astype(wide))

    slope = (at(1e-6) - at(-1e-6)) / 2e-6
    np.testing.assert_allclose(np.sum((grad(loss)(p) * direction).real), slope, rtol=1e-5)
    np.testing.assert_allclose(jvp(loss, (p,), (direction,))[1], slope, rtol=1e-5)


COMPLEX = (np.complex64, np.complex128)


@pytest.mark.parametrize("f", [math.gamma, math.lgamma])
def test_functions_that_numpy_lacks_of_its_numbers(f):
    _, recorded = programs(f)
    for x in (1.7, -0.3):
        slope, curve = grad(recorded)(x), grad(grad(recorded))(x)
        of_numpys = grad(recorded)(np.float64(x)), grad(grad(recorded))(np.float64(x))
        assert of_numpys == pytest.approx((slope, curve))
        assert jvp(recorded, (np.float64(x),), (np.float64(1.0),))[1] == pytest.approx(slope)


@pytest.mark.parametrize("name", ROWS_BY_NAME)
def test_partials_find_their_names(name):
    for partial in describe(name).partials(namespaces.NUMPY):
        assert set(partial.__code__.co_names) <= namespaces.NUMPY.keys()
