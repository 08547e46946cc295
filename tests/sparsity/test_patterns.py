"""Patterns of Jacobians of code without branches on values."""

import functools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from sparsity_checks import brusselator, jacobian_by_differences, rows

from ctxdispatch import SparsityContext, jacobian_sparsity, overdub
from ctxdispatch_contexts.sparsity import OpaqueCallWarning, SparsityPattern

X = np.array([0.3, -1.2, 0.7, 2.1, -0.4])
MATRIX = np.array([[1.0, 0, 0, 2, 0], [0, 0, 3, 0, 0], [0, 4, 0, 0, 5]])


def in_place(x):
    du = np.zeros(5)
    view = du[1:-1]
    view[...] = x[2:] - x[:-2]
    du[0] = x[0]
    du[-1:] += x[-1]
    return du


def listed(x):
    out = []
    for i in range(len(x)):
        out.append(x[i] * x[i - 1])
    return np.array(out)


def nested(x):
    def inner(z, k=2):
        return z[k:] * scale

    scale = x[0]
    return inner(x), [inner(x, k=4)[0], math.sin(x[1])], (x[2],)


class Model:
    def __init__(self, w):
        self.w = w
        self.calls = []

    @property
    def doubled(self):
        return self.w + self.w

    def __matmul__(self, other):
        self.calls.append(other)
        return self.doubled * other

    def __call__(self, x):
        return self @ x


CASES = [
    (lambda x: x, "x....", ".x...", "..x..", "...x.", "....x"),
    (lambda x: x[::-1].copy(), "....x", "...x.", "..x..", ".x...", "x...."),
    (in_place, "x....", "x.x..", ".x.x.", "..x.x", "....x"),
    (listed, "x...x", "xx...", ".xx..", "..xx.", "...xx"),
    (nested, "x.x..", "x..x.", "x...x", "x...x", ".x...", "..x.."),
    (lambda x: MATRIX @ x, "x..x.", "..x..", ".x..x"),
    (lambda x: x @ MATRIX.T, "x..x.", "..x..", ".x..x"),
    (lambda x: np.einsum("ij,j->i", MATRIX, x), "x..x.", "..x..", ".x..x"),
    (lambda x: np.cumsum(x[:3]), "x....", "xx...", "xxx.."),
    (lambda x: x[:4].reshape(2, 2).sum(axis=0), "x.x..", ".x.x."),
    (lambda x: np.outer(x[:2], x[3:])[:, 0], "x..x.", ".x.x."),
    (lambda x: np.where(np.arange(5) < 2, x, x[::-1])[1:3], ".x...", "..x.."),
    (lambda x: np.where(x > 0, x, x[::-1])[1:3], ".x.x.", "..x.."),
    (lambda x: np.convolve(x[:3], [1.0, 0.0, 2.0], "valid"), "x.x.."),
    (lambda x: np.floor(x) + np.sign(x) + np.argmax(x), ".....", ".....", ".....", ".....", "....."),
    (lambda x: np.sign(x[:2] + 1j).real + np.sign(x[2:4]), "x....", ".x..."),
    (lambda x: np.var(x[:4].reshape(2, 2), axis=0, mean=x[None, 3:]), "x.xx.", ".x.xx"),
    (lambda x: np.pad(x[:2], 1, "reflect", reflect_type="odd"), "xx...", "xx...", "xx...", "xx..."),
    (lambda x: np.pad(x[:1], 1, constant_values=x[3]), "x..x.", "x..x.", "x..x."),
    (lambda x: np.nan_to_num(x[:1], nan=x[3]), "x..x."),
    (lambda x: x[np.argsort(x)][:1], "xxxxx"),
    (lambda x: np.sort(x[:2]), "xx...", "xx..."),
    (lambda x: max(x[0], x[1]), "xx..."),
    (lambda x: sum(v * v for v in x[:2]), "xx..."),
    (lambda x: np.linalg.norm(x[1:3]), ".xx.."),
    (lambda x: np.stack([x[:2], x[2:4]]).T.ravel(), "x....", "..x..", ".x...", "...x."),
    (lambda x: np.pad(x[:2], 1)[1:], "x....", ".x...", "....."),
    (lambda x: Model(x[:2])(x[2:4]), "x.x..", ".x.x."),
    (lambda x: functools.partial(math.hypot, x[0])(x[3]), "x..x."),
    (lambda x: {"a": x[0], "b": x[1:3]}, "x....", ".x...", "..x.."),
    (lambda x: x.tolist()[2] + x.item(0), "x.x.."),
    (lambda x: np.diff(x)[:2], "xx...", ".xx.."),
    (lambda x: np.add.reduce(x.reshape(1, 5)[:, 1:3], axis=1), ".xx.."),
    (lambda x: np.interp(x[:1], [0.0, 1.0], [1.0, 3.0]), "x...."),
    (lambda x: 3.0, "....."),
    (lambda x: np.zeros((0, 2)),),
]


@pytest.mark.parametrize("f, lines", [(case[0], case[1:]) for case in CASES])
@pytest.mark.parametrize("mode", ["global", "local"])
def test_pattern_of(f, lines, mode):
    found = jacobian_sparsity(f, X, mode=mode)
    expected = rows(*lines) if lines else SparsityPattern.from_dense(np.zeros((0, 5)))
    if mode == "global":
        assert found == expected
    else:
        assert found.issubset(expected)


@pytest.mark.parametrize("slices", [False, True])
def test_the_brusselator_both_ways_against_finite_differences(slices):
    f = brusselator(5, slices)
    found = jacobian_sparsity(f, 0.0, np.ones(50), argnums=1)
    rng = np.random.default_rng(0)
    nonzero = sum(jacobian_by_differences(lambda y: f(0.0, y), rng.uniform(1, 2, 50)) != 0 for _ in range(3))
    assert found == SparsityPattern.from_dense(nonzero)


def test_in_place_right_hand_side():
    def rhs(du, u):
        du[0] = -u[0]
        du[1:] = u[:-1] - u[1:]
        return du

    assert jacobian_sparsity(rhs, np.zeros(3), np.ones(3), argnums=1) == rows("x..", "xx.", ".xx")


def test_several_arguments_count_in_order():
    def f(a, b, c):
        return [b * c, a[0][0][0]]

    found = jacobian_sparsity(f, ([np.ones(2)],), 2.0, 3.0, argnums=(2, 1))
    assert found == rows("xx", "..")
    found = jacobian_sparsity(lambda p, y: p[1] * y + p[0], (1.0, 2.0), np.ones(2), argnums=[0, 1])
    assert found == rows("xxx.", "xx.x")


def test_float32_and_shapes():
    x = np.ones((2, 3), np.float32)
    assert jacobian_sparsity(lambda x: x.sum(axis=0), x) == rows("x..x..", ".x..x.", "..x..x")


def test_a_store_is_seen_through_views_and_aliases():
    def f(x):
        a = x.copy()
        b, c = a[1:], a
        c[2] = x[0]
        return np.append(b, SimpleNamespace(v=a).v[2])

    assert jacobian_sparsity(f, X) == rows(".x...", "x....", "...x.", "....x", "x....")


def test_the_caller_s_objects_are_left_alone():
    history, buffer, x = [], np.zeros(2), X.copy()

    def f(x):
        history.append(x)
        buffer[:] = x[:2]
        x[0] = 5.0
        return buffer * x[2]

    assert jacobian_sparsity(f, x) == rows("x.x..", ".xx..")
    assert history == [] and not buffer.any() and np.array_equal(x, X)


def test_an_opaque_call_is_dense_and_says_so():
    def careful(u):
        try:
            return np.array([u[0], 1.0])
        finally:
            pass

    def f(x):
        return np.append(careful(x[1:3]), x[4])

    with pytest.warns(OpaqueCallWarning, match=r"test_patterns.py:\d+.*careful is not looked into"):
        assert jacobian_sparsity(f, X) == rows(".xx..", ".xx..", "....x")


def test_what_has_no_rule_is_dense():
    with pytest.warns(OpaqueCallWarning, match="permuted"):
        found = jacobian_sparsity(lambda x: np.random.default_rng(0).permuted(x[:2]), X)
    assert found == rows("xx...", "xx...")


def test_fft_is_dense():
    assert jacobian_sparsity(lambda x: np.fft.rfft(x[:2]).real, X) == rows("xx...", "xx...")


def test_sparse_matrices_have_their_own_pattern():
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_array(MATRIX)
    assert jacobian_sparsity(lambda x: matrix @ x, X) == rows("x..x.", "..x..", ".x..x")


def test_a_ufunc_without_a_row_is_elementwise():
    special = pytest.importorskip("scipy.special")
    assert jacobian_sparsity(lambda x: special.expit(x[:2]), X) == rows("x....", ".x...")


def test_the_context():
    def f(k, x, y):
        return x[:k] * y

    found = overdub(SparsityContext(), f, 2, np.ones(3), 1.0)
    assert found == rows("x..x", ".x.x")
    assert overdub(SparsityContext(mode="local"), lambda x: x if x > 0 else 1.0, -1.0).nnz == 0


@pytest.mark.parametrize(
    "f",
    [
        lambda u: u * u[:1], lambda u: u[:1] * u, lambda u: u + u[:, :1] * u, lambda u: u[0] * u,
        lambda u: u * u[:1, :1], lambda u: u - u.T[:1].T, lambda u: np.where(u > 0.0, u, u[:1]),
        lambda u: np.maximum(u[:1], u) * u[1:2],
    ],
)  # fmt: skip
def test_operands_of_other_shapes_that_begin_at_the_same_element(f):
    def flat(x):
        return f(x.reshape(3, 4)).ravel()

    x = np.linspace(-1.0, 1.7, 12)
    found = jacobian_sparsity(flat, x).toarray().astype(bool)
    for point in (x, -x[::-1]):
        assert not (jacobian_by_differences(flat, point) != 0)[~found].any()
