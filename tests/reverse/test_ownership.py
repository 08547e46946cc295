"""The caller may change a gradient in place; what has no axes, another dtype or byte order keeps its form."""

import numpy as np
import pytest

from ctxdispatch import grad, vjp


def arrays_in(tree):
    if isinstance(tree, np.ndarray):
        return [tree]
    items = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, (tuple, list)) else ()
    return [array for item in items for array in arrays_in(item)]


A, B = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
C = np.array([7.0, 8.0, 9.0])


def times_captured(a):
    return (a * C).sum()


PROGRAMS = {
    "a factor of the other": (lambda a, b: (a * b).sum(), (A, B)),
    "of entries": (lambda p: (p["a"] * p["b"]).sum(), ({"a": A, "b": B},)),
    "of items": (lambda p: (p[0] * p[1]).sum(), ([A, B],)),
    "views": (lambda a, b: (a.reshape(3, 1) * b.reshape(3, 1)).sum(), (A, B)),
    "one for both": (lambda a, b: ((a + b) ** 2).sum(), (A, B)),
    "one for both entries": (lambda p: ((p["a"] + p["b"]) ** 2).sum(), ({"a": A, "b": B},)),
    "constant": (lambda a, b: (a + b).sum(), (A, B)),
    "captured": (times_captured, (A,)),
}


@pytest.mark.parametrize("f, args", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_a_gradient_is_the_callers_own(f, args):
    gradient = grad(f, argnums=tuple(range(len(args))))
    before = [a.copy() for a in (*arrays_in(args), C)]
    found = arrays_in(gradient(*args))
    expected = [g.copy() for g in found]
    for i, g in enumerate(found):
        assert g.flags.writeable
        assert not any(np.shares_memory(g, other) for other in (*arrays_in(args), C, *found[:i]))
        g += 100.0
    np.testing.assert_array_equal(arrays_in(gradient(*args)), expected)
    np.testing.assert_array_equal([*arrays_in(args), C], before)


def test_what_a_pullback_gives_is_not_what_it_was_given():
    _, pullback = vjp(lambda a, b: a + b, A, B)
    ybar = np.ones(3)
    first, second = pullback(ybar)
    first *= 2.0
    assert second.tolist() == ybar.tolist() == [1.0, 1.0, 1.0]


def test_arrays_of_another_byte_order_do_not_spoil_the_entry():
    gradient = grad(lambda x: (x * x).sum())
    for dtype in (">f8", "<f8", ">f4", "<f4"):
        g = gradient(np.array([1.0, 2.0], dtype))
        assert g.dtype == np.dtype(dtype) and g.tolist() == [2.0, 4.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("other", [np.float32, np.float64])
@pytest.mark.parametrize(
    "f",
    [
        lambda x, v: x * x + 0 * v.sum(),
        lambda x, v: (x * v).sum(),
        lambda x, v: (v / x).sum(),
        lambda x, v: x + 1 + v[0],
        lambda x, v: np.maximum(x, v).sum(),
    ],
)
def test_without_axes_it_stays_an_array_of_its_dtype(f, dtype, other):
    args = np.array(2, dtype), np.ones(3, other)
    for g, x in zip(grad(f, argnums=(0, 1))(*args), args, strict=True):
        assert type(g) is np.ndarray and g.shape == x.shape and g.dtype == x.dtype


@pytest.mark.parametrize("op", [np.maximum, np.add, np.hypot, np.power, np.multiply])
def test_mixed_precisions_keep_their_own(op):
    a, b = np.ones(3, np.float32), np.full(3, 2.0)
    da, db = grad(lambda a, b: op(a, b).sum() + (a * np.dot(a, b)).sum(), argnums=(0, 1))(a, b)
    assert da.dtype == np.float32 and db.dtype == np.float64


def scaled(x, scale=C):
    return (x * scale).sum()


def test_array_as_default_that_is_left_out():
    assert grad(scaled)(1.0) == C.sum()
    assert grad(scaled)(A).tolist() == C.tolist()


def one_branch(x, c):
    return (x * 2).sum() if c else 3.0


def test_zeros_of_a_branch_not_taken_have_the_arguments_shape():
    assert grad(one_branch)(A, 1).tolist() == [2.0, 2.0, 2.0]
    assert grad(one_branch)(A, 0).tolist() == [0.0, 0.0, 0.0]
    assert vjp(one_branch, A.reshape(3, 1), 0)[1](1.0)[0].shape == (3, 1)
