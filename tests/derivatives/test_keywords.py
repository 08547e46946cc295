"""Keyword arguments beyond what `keyword_cases.py` has: second order, recorded runs, blocks, patterns, the
errors of NumPy itself, and what a dtype costs."""

import numpy as np
import pytest

from ctxdispatch import code_adjoint, grad, jacfwd, jacobian_sparsity, jacrev, jvp
from tests.recording import recorded

X = np.array([0.3, 0.7, 1.1])
W = np.array([0.5, -0.3, 0.9])
MASK = np.array([True, False, True])

PROGRAMS = {
    "dtype": lambda x: np.sin(x, dtype=np.float64),
    "complex": lambda x: np.sin(x, dtype=complex).real,
    "order": lambda x: np.exp(np.multiply.outer(x, x), order="F").sum(axis=0),
    "where": lambda x: np.where(MASK, np.log(x, where=MASK), x),
    "where, out": lambda x: np.log(x, where=MASK, out=np.ones(3), dtype=np.float64),
    "signature": lambda x: np.multiply(x, x[::-1], sig="dd->d"),
    "two results": lambda x: np.modf(x, out=(np.ones(3), np.ones(3)))[0] * x,
    "axes": lambda x: np.matmul(x, np.outer(x, x), axes=[0, (1, 0), 0]),
    "keepdims": lambda x: (
        np.vecdot(np.outer(x, x), x, keepdims=True)[:, 0] if hasattr(np, "vecdot") else x * x * (x @ x)
    ),
    "reduce": lambda x: np.hypot.reduce(np.outer(x, x), axis=1, where=MASK),
    "initial": lambda x: np.sum(np.outer(x, x), axis=0, initial=x[1]),
    "accumulate": lambda x: np.logaddexp.accumulate(x),
    "reduceat": lambda x: np.add.reduceat(x * x, [0, 2, 1]),
    "outer": lambda x: np.add.outer(x, x * x, dtype=np.float64).sum(axis=0),
    "mean": lambda x: np.std(np.outer(x, W), axis=0, mean=x[None]),
    "quantile": lambda x: np.quantile(np.outer(x, W), x / 2, axis=1, method="hazen").sum(axis=0),
    "lists": lambda x: np.add([x[0], 1, 2.0], x * [1, 2, 3]) * x,
}
PROGRAMS_BY_NAME = pytest.mark.parametrize("name", PROGRAMS)


def weighted(f):
    return lambda x: np.sum(W * f(x))


def slope(f, x, d, h):
    return (f(x + h * d) - f(x - h * d)) / (2 * h)


@pytest.mark.every(8)
@PROGRAMS_BY_NAME
@pytest.mark.parametrize("run", [lambda f: f, recorded], ids=["compiled", "recorded"])
def test_both_modes_and_second_order(name, run):
    f, d = weighted(run(PROGRAMS[name])), np.array([0.4, -1.1, 0.8])
    assert grad(f)(X) @ d == pytest.approx(slope(f, X, d, 1e-5), rel=1e-6, abs=1e-8)
    assert jvp(f, (X,), (d,))[1] == pytest.approx(slope(f, X, d, 1e-5), rel=1e-6, abs=1e-8)

    def along(x):
        return np.sum(grad(f)(x) * d)

    assert jvp(along, (X,), (d,))[1] == pytest.approx(slope(along, X, d, 1e-5), rel=1e-5, abs=1e-7)


@PROGRAMS_BY_NAME
def test_blocks_and_patterns(name):
    f = PROGRAMS[name]
    jacobian = jacfwd(f)(X)
    np.testing.assert_allclose(jacobian, jacrev(f)(X), rtol=1e-9, atol=1e-12)
    if name != "quantile":  # as many numbers as it selects are the inputs'
        assert not np.any(jacobian[jacobian_sparsity(f, X).toarray() == 0])


def test_the_loop_runs_in_the_dtype_that_is_asked_for():
    def f(x):
        return np.sum(np.sin(x, dtype=np.float32))

    found = grad(f)(X)
    assert found.dtype == np.float64
    assert found.tolist() == np.cos(X.astype(np.float32)).astype(np.float64).tolist()
    wide = grad(lambda x: np.sum(np.sin(x, dtype=np.float64)))(X.astype(np.float32))
    assert wide.dtype == np.float32
    np.testing.assert_array_equal(wide, np.cos(X.astype(np.float32).astype(float)).astype(np.float32))


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("f", [np.var, np.std, np.nanvar, np.nanstd])
@pytest.mark.parametrize("options", [{}, {"where": MASK}])
def test_deviations_of_complex_numbers_in_a_real_dtype_are_from_the_mean_of_the_real_parts(f, options):
    z, d = X + 1j * W, np.array([0.2 + 0.1j, -0.4j, 0.5])

    def spread(z):
        return f(z, dtype=np.float64, **options)

    expected = slope(spread, z, d, 1e-6)
    assert np.sum(grad(spread)(z) * d).real == pytest.approx(expected, rel=1e-6)
    assert jvp(spread, (z,), (d,))[1] == pytest.approx(expected, rel=1e-6)


def test_a_dtype_that_operands_have_costs_nothing():
    def plain(x):
        return np.sin(x)

    def told(x):
        return np.sin(x, dtype=np.float64, casting="safe", subok=True)

    text = str(code_adjoint(told)(X))
    assert "np.cos(x)" in text and "astype" not in text and "loop_dtypes" not in text
    assert text.count("\n") == str(code_adjoint(plain)(X)).count("\n")


def test_nothing_is_computed_where_the_mask_is_false():
    def f(x):
        return np.sum(np.where(x > 0, np.sqrt(x, where=x > 0), 0.0))

    with np.errstate(all="raise"):
        assert grad(f)(np.array([4.0, -1.0, 0.0])).tolist() == [0.25, 0.0, 0.0]


@pytest.mark.parametrize(
    "x", [0.3, np.float32(0.3), np.float64(0.3), np.array(0.3), np.zeros((0, 3)), X[::2]]
)
def test_numbers_and_arrays_without_elements(x):
    found = grad(lambda x: np.sum(np.multiply(np.sin(x, dtype=np.float64), 2.0, order="C")))(x)
    assert type(found) is type(x) and np.result_type(found) == np.result_type(x)
    np.testing.assert_allclose(found, 2 * np.cos(x), rtol=1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.sin(x + 0j, dtype=float),
        lambda x: np.sin(x, dtype=int),
        lambda x: np.add(x, x, casting="no", dtype=np.float32),
        lambda x: np.sin(x, dtype=float, sig="d->d"),
        lambda x: np.sin(x, where=np.array([1, 0, 1])),
        lambda x: np.subtract.reduce(np.outer(x, x), axis=None),
        lambda x: np.subtract.reduce(x[:0]),
        lambda x: np.subtract.reduce(x, where=MASK),
        lambda x: np.matmul(np.outer(x, x), x, axis=0),
        lambda x: np.matmul(np.outer(x, x), np.outer(x, x), keepdims=True),
    ],
)
def test_what_numpy_refuses_is_refused_as_it_does(call):
    with pytest.raises((TypeError, ValueError)) as plain:
        call(X)
    with pytest.raises(type(plain.value)) as found:
        grad(lambda x: np.sum(np.abs(call(x))))(X)
    assert str(plain.value) in str(found.value)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64, np.float16, np.longdouble])
def test_elements_of_every_dtype_are_followed_in_recorded_runs(dtype):
    x = X.astype(dtype)

    def f(x):
        return np.abs(x[0] * x[2]) + np.abs(x[np.int64(1)])

    expected = np.array([1.1, 1.0, 0.3])
    np.testing.assert_allclose(np.real(grad(recorded(f))(x)).astype(float), expected, rtol=2e-3)
    assert float(jvp(recorded(f), (x,), (np.ones(3, dtype),))[1]) == pytest.approx(2.4, rel=2e-3)
