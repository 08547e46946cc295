"""Chains of elementwise operations on large arrays are one kernel, in reverse mode: the same derivative, in
fewer passes, and programs for small arrays stay what they were."""

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ctxdispatch import ADContext, grad, overdub, value_and_grad
from ctxdispatch_contexts.broadcast.kernel import Kernel
from ctxdispatch_contexts.programs.derived import entry_of
from ctxdispatch_contexts.programs.sizes import LIMIT

LARGE = (LIMIT // 100 + 1, 100)
rng = np.random.default_rng(0)


def squashed(x, w):
    h = 1 / (1 + np.exp(-(x * w + 0.1)))
    return np.sum(np.tanh(h) * np.where(h > 0.6, h**2, np.sqrt(h)))


def unfused(f, *args):
    y, pullback = overdub(ADContext(fuse=False), f, *args)
    return y, pullback(1.0)


def kernels_in(gradient):
    """How many kernels each program of a gradient calls."""
    programs = [p for kept in entry_of(gradient).specialised.values() for p in kept]
    return [sum(isinstance(op.fn, Kernel) for _, op in p._plain.ops()) for p in programs]


def test_a_chain_is_one_kernel_for_large_arrays_and_numpy_for_small_ones():
    gradient = value_and_grad(squashed, (0, 1))
    for shape in (LARGE, (3, 100), LARGE, (3, 100)):
        x, w = rng.normal(size=shape), rng.normal(size=shape[1])
        value, found = gradient(x, w)
        other, expected = unfused(squashed, x, w)
        assert np.isclose(value, other, rtol=1e-13)
        for a, b in zip(found, expected):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)
    assert sorted(kernels_in(gradient)) == [0, 2]  # the value, and both gradients at once


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_dtypes_are_those_of_numpy(dtype):
    x = rng.normal(size=LARGE).astype(dtype)
    found = grad(lambda x: np.sum(np.exp(-x * 2.0) / (1.0 + x * x)))(x)
    assert found.dtype == dtype and found.shape == x.shape
    _, (expected,) = unfused(lambda x: np.sum(np.exp(-x * 2.0) / (1.0 + x * x)), x)
    np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == "float32" else 1e-12)


def test_whole_numbers_and_masks_in_a_chain():
    x, n = rng.normal(size=LARGE), rng.integers(0, 3, LARGE)

    def f(x):
        return np.sum(np.where((n > 1) & (x > 0), x * n, np.sin(x) * 0.5 - x))

    _, (expected,) = unfused(f, x)
    np.testing.assert_allclose(grad(f)(x), expected, rtol=1e-12)


def test_what_is_read_elsewhere_is_stored():
    def f(x):
        a = np.exp(x) * 2.0 + 1.0
        b = a.sum(axis=0)
        return np.sum(np.log(a) * b * x)

    x = rng.normal(size=LARGE)
    _, (expected,) = unfused(f, x)
    np.testing.assert_allclose(grad(f)(x), expected, rtol=1e-11)


def test_operations_do_not_move_over_a_store():
    def f(x):
        kept = np.zeros(x.shape)
        a = kept * 2.0 + 1.0
        kept[0] = 5.0
        return np.sum((a + kept) * x * x * 3.0)

    x = rng.normal(size=LARGE)
    _, (expected,) = unfused(f, x)
    np.testing.assert_allclose(grad(f)(x), expected, rtol=1e-12)


def test_in_loops_and_branches():
    def f(x, n):
        for _ in range(n):
            x = np.tanh(x) * 1.5 + 0.1 * x if n > 1 else x * 2.0 - np.sin(x) * x
        return np.sum(x)

    x = rng.normal(size=LARGE)
    for n in (1, 3):
        _, pulled = unfused(f, x, n)
        np.testing.assert_allclose(grad(f)(x, n), pulled[0], rtol=1e-11, atol=1e-13)


def test_shapes_that_do_not_go_together_are_numpys_error():
    gradient = grad(lambda x, y: np.sum(np.exp(x * y) + x * 2.0))
    gradient(rng.normal(size=LARGE), rng.normal(size=LARGE[1]))
    with pytest.raises(ValueError):
        gradient(rng.normal(size=LARGE), rng.normal(size=LARGE[1] + 1))


def test_second_derivatives_of_large_arrays():
    def f(x):
        return np.sum(np.exp(np.sin(x) * 0.5) * x)

    x = rng.normal(size=LARGE)
    along = grad(lambda x: np.sum(grad(f)(x) * 2.0))(x)
    u = np.exp(np.sin(x) * 0.5)
    first = 0.5 * np.cos(x)
    np.testing.assert_allclose(along, 2.0 * u * (2 * first + x * (first**2 - 0.5 * np.sin(x))), rtol=1e-10)


def test_short_chains_are_left_alone():
    gradient = grad(lambda x: np.sum(np.sin(x)))
    gradient(rng.normal(size=LARGE))
    assert kernels_in(gradient) == [0]


def test_fusion_can_be_declined():
    x = rng.normal(size=LARGE)
    w = rng.normal(size=LARGE[1])
    fused, plain = value_and_grad(squashed)(x, w)[1], unfused(squashed, x, w)[1][0]
    np.testing.assert_allclose(fused, plain, rtol=1e-11, atol=1e-13)
    assert ADContext(fuse=False) != ADContext()
