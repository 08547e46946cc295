"""Whatever a program returns is of the type that was inferred for it: NumPy programs from a table, on arrays
of all small shapes and several dtypes, known exactly or in part."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxdispatch.bytecode.lift import lift
from ctxdispatch.passes.infer import Run, infer
from ctxdispatch.passes.types import Any, ArrayOf, Exact, type_of
from tests.passes.covering import covers

UNARY = [
    lambda x: -x,
    lambda x: abs(x),
    lambda x: x**2,
    lambda x: x**0.5,
    lambda x: x**-1,
    lambda x: 2.0 * x + 1,
    lambda x: 1 / x,
    lambda x: x // 2,
    lambda x: x % 2,
    lambda x: divmod(x, 2),
    lambda x: x > 0,
    lambda x: x == 1,
    lambda x: np.sin(x),
    lambda x: np.exp(x),
    lambda x: np.sqrt(x),
    lambda x: np.isnan(x),
    lambda x: np.modf(x),
    lambda x: np.add.reduce(x),
    lambda x: np.maximum.reduce(x, axis=None),
    lambda x: np.add.accumulate(x),
    lambda x: np.add.outer(x, x),
    lambda x: np.sum(x),
    lambda x: np.sum(x, axis=0),
    lambda x: np.sum(x, axis=-1, keepdims=True),
    lambda x: np.mean(x, 0),
    lambda x: np.max(x, axis=0),
    lambda x: np.argmax(x),
    lambda x: np.argmin(x, axis=0),
    lambda x: np.any(x),
    lambda x: np.all(x, axis=0),
    lambda x: np.var(x),
    lambda x: np.std(x, axis=-1),
    lambda x: np.cumsum(x),
    lambda x: np.sort(x),
    lambda x: np.argsort(x, axis=0),
    lambda x: np.prod(x, axis=(0, 1)),
    lambda x: np.median(x),
    lambda x: x.sum(),
    lambda x: x.sum(axis=0, keepdims=True),
    lambda x: x.mean(-1),
    lambda x: x.max(),
    lambda x: x.ravel(),
    lambda x: x.flatten(),
    lambda x: x.copy(),
    lambda x: x.astype(float),
    lambda x: x.astype(np.float32),
    lambda x: x.T,
    lambda x: x.transpose(),
    lambda x: x.shape,
    lambda x: x.shape[0],
    lambda x: x.ndim,
    lambda x: x.size,
    lambda x: x.dtype,
    lambda x: x.real,
    lambda x: x.imag,
    lambda x: x.conj(),
    lambda x: len(x),
    lambda x: np.transpose(x),
    lambda x: np.swapaxes(x, 0, 1),
    lambda x: np.moveaxis(x, 0, -1),
    lambda x: np.expand_dims(x, 0),
    lambda x: np.squeeze(x),
    lambda x: np.squeeze(x, axis=0),
    lambda x: np.atleast_1d(x),
    lambda x: np.atleast_2d(x),
    lambda x: np.diag(x),
    lambda x: np.trace(x),
    lambda x: np.triu(x),
    lambda x: np.diff(x),
    lambda x: np.roll(x, 1),
    lambda x: np.flip(x),
    lambda x: np.tile(x, 2),
    lambda x: np.repeat(x, 2),
    lambda x: np.repeat(x, 2, axis=0),
    lambda x: np.zeros_like(x),
    lambda x: np.ones_like(x, dtype=float),
    lambda x: np.full_like(x, 2),
    lambda x: np.zeros(x.shape),
    lambda x: np.zeros(x.shape[0]),
    lambda x: np.ones((2, 1)),
    lambda x: np.full((2, x.shape[0]), 1.5),
    lambda x: np.eye(3),
    lambda x: np.arange(3),
    lambda x: np.arange(x.shape[0]),
    lambda x: np.arange(0.0, 1.0, 0.25),
    lambda x: np.linspace(0, 1, 5),
    lambda x: np.linspace(0, 1),
    lambda x: np.reshape(x, (-1,)),
    lambda x: x.reshape(-1, 1),
    lambda x: x.reshape(1, -1),
    lambda x: x.reshape((-1, 2)),
    lambda x: x.reshape(x.shape),
    lambda x: x.reshape(1),
    lambda x: np.where(x > 0, x, 0),
    lambda x: np.clip(x, 0, 1),
    lambda x: np.maximum(x, 0),
    lambda x: np.maximum(x, 0.0),
    lambda x: np.float32(x[0]),
    lambda x: np.concatenate([x, x]),
    lambda x: np.concatenate((x, x), axis=-1),
    lambda x: np.stack([x, x]),
    lambda x: np.stack([x, x], axis=-1),
    lambda x: np.vstack((x, x)),
    lambda x: np.hstack([x, x]),
    lambda x: np.array([x, x]),
    lambda x: np.asarray(x),
    lambda x: np.array([1.0, 2.0]),
    lambda x: np.round(x, 1),
    lambda x: np.linalg.norm(x),
    lambda x: np.linalg.norm(x, axis=0),
    lambda x: np.linalg.det(x),
    lambda x: np.linalg.inv(x),
    lambda x: np.linalg.qr(x)[0],
    lambda x: np.fft.fft(x),
    lambda x: np.fft.rfft(x),
    lambda x: np.outer(x, x),
    lambda x: np.einsum("i,i->", x, x),
    lambda x: np.einsum("ij->ji", x),
    lambda x: np.tensordot(x, x, axes=0),
    lambda x: x[0],
    lambda x: x[-1],
    lambda x: x[1:],
    lambda x: x[:-1],
    lambda x: x[:1],
    lambda x: x[::-1],
    lambda x: x[::2],
    lambda x: x[:],
    lambda x: x[...],
    lambda x: x[..., 0],
    lambda x: x[0, ...],
    lambda x: x[None],
    lambda x: x[:, None],
    lambda x: x[None, :, None],
    lambda x: x[0, 0],
    lambda x: x[0, :],
    lambda x: x[:, 0],
    lambda x: x[1:, :-1],
    lambda x: x[[0]],
    lambda x: x[[0, 0]],
    lambda x: x[np.arange(x.shape[0])],
    lambda x: x[np.array((0, 0)), np.array((0, 0))],
    lambda x: x[np.array((0, 0)), 0],
    lambda x: x[np.array((0, 0)), :, np.array((0,))],
    lambda x: x[:, np.array((0,))],
    lambda x: x[0, :, np.array((0, 0))],
    lambda x: x[x > 0],
    lambda x: x[:, None][0],
    lambda x: [row for row in x],
    lambda x: [i for i, row in enumerate(x)],
    lambda x: sum([float(v) for v in x.ravel()]),
    lambda x: math.sin(x[0]),
    lambda x: float(x[0]) ** 2,
    lambda x: int(x[0]) + True,
    lambda x: (x.sum() * 1.0, x.sum() > 0, not x.any()),
    lambda x: min(x.shape),
    lambda x: [a + b for a, b in zip(x, x)],
]

BINARY = [
    lambda x, y: x + y,
    lambda x, y: x * y - 1.0,
    lambda x, y: x / y,
    lambda x, y: x**y,
    lambda x, y: x @ y,
    lambda x, y: x < y,
    lambda x, y: x != y,
    lambda x, y: np.dot(x, y),
    lambda x, y: np.matmul(x, y),
    lambda x, y: np.outer(x, y),
    lambda x, y: np.inner(x, y),
    lambda x, y: np.tensordot(x, y, axes=1),
    lambda x, y: np.vdot(x, y),
    lambda x, y: np.arctan2(x, y),
    lambda x, y: np.where(x > y, x, y),
    lambda x, y: np.concatenate([x, y]),
    lambda x, y: np.concatenate([x, y], axis=-1),
    lambda x, y: np.stack((x, y)),
    lambda x, y: np.broadcast_to(x, y.shape),
    lambda x, y: np.linalg.solve(x, y),
    lambda x, y: np.kron(x, y),
    lambda x, y: np.einsum("ij,jk->ik", x, y),
    lambda x, y: np.einsum("ij,j->i", x, y),
    lambda x, y: x if x.sum() > y.sum() else y,
    lambda x, y: x.dot(y),
    lambda x, y: x.reshape(y.shape),
]


def compiled(functions):
    return [pytest.param(lift(f), f, id=str(i)) for i, f in enumerate(functions)]


shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)
dtypes = st.sampled_from(["f8", "f4", "i8", "?", "c16", "u1", "f2"])


@st.composite
def arrays(draw):
    shape, dtype = draw(shapes), draw(dtypes)
    offset = draw(st.integers(-2, 2)) * (np.dtype(dtype).kind in "fci")
    x = np.arange(math.prod(shape)).reshape(shape).astype(dtype) + np.dtype(dtype).type(offset)
    return np.asarray(x, dtype)


@st.composite
def typed_arrays(draw):
    """An array with a type that holds for it, not always the best one."""
    x = draw(arrays())
    forget = draw(st.lists(st.booleans(), min_size=x.ndim, max_size=x.ndim))
    dims = tuple(None if f else d for f, d in zip(forget, type_of(x).dims))
    return x, ArrayOf(x.dtype, dims)


def check(graph, function, typed):
    values = [np.array(value) for value, _ in typed]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(*values)
        except Exception:
            return
    inferred = infer(graph, [t for _, t in typed]).return_type
    assert covers(inferred, result), f"{[t for _, t in typed]} -> {inferred}, but got {result!r}"


@pytest.mark.parametrize("graph, function", compiled(UNARY))
@settings(max_examples=40, deadline=None)
@given(x=typed_arrays())
def test_one_array(graph, function, x):
    check(graph, function, [x])


@pytest.mark.parametrize("graph, function", compiled(BINARY))
@settings(max_examples=120, deadline=None)
@given(x=typed_arrays(), y=typed_arrays())
def test_two_arrays(graph, function, x, y):
    check(graph, function, [x, y])


SCALARS = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / b,
    lambda a, b: a // b,
    lambda a, b: a % b,
    lambda a, b: a**b,
    lambda a, b: a**2,
    lambda a, b: 2**a,
    lambda a, b: divmod(a, b),
    lambda a, b: a < b,
    lambda a, b: (a == b, a is b, a is None, not a),
    lambda a, b: -a,
    lambda a, b: abs(a),
    lambda a, b: max(a, b),
    lambda a, b: round(a),
    lambda a, b: math.sqrt(a) + math.floor(b),
    lambda a, b: sum((a, b)),
    lambda a, b: sum([a, b]),
    lambda a, b: a.real,
    lambda a, b: a and b,
    lambda a, b: np.sin(a) + b,
    lambda a, b: np.maximum(a, b),
    lambda a, b: isinstance(a, (int, float)),
    lambda a, b: (type(a), float(b)),
    lambda a, b: [a, b][0],
]

scalars = st.one_of(
    st.integers(-3, 3),
    st.booleans(),
    st.floats(-3, 3),
    st.sampled_from([1.5, -2.0, 1 + 2j, np.float64(1.5), np.float32(-2), np.int64(3), np.bool_(True)]),
)


@pytest.mark.parametrize("graph, function", compiled(SCALARS))
@settings(max_examples=100, deadline=None)
@given(a=scalars, b=scalars)
def test_scalars(graph, function, a, b):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(a, b)
        except Exception:
            return
    inferred = infer(graph, [type_of(a), type_of(b)]).return_type
    assert covers(inferred, result), f"{a!r}, {b!r} -> {inferred}, but got {result!r}"


@pytest.mark.parametrize(
    "program",
    [
        lambda x, k: np.einsum(x, [0, 1], x, [2, 1]),
        lambda x, k: np.tensordot(x, x, k),
        lambda x, k: np.concatenate((x, x), k),
        lambda x, k: np.stack((x, x), k),
        lambda x, k: np.append(x, x, k),
    ],
)
@pytest.mark.parametrize("k", [0, 1])
def test_integers_that_are_axes_are_no_data(program, k):
    """Their values matter: none is taken for them."""
    x = np.ones((1, 3) if k == 0 else (1, 1))
    result, inferred = program(x, k), infer(lift(program), [type_of(x), type_of(k)]).return_type
    assert covers(inferred, result), f"{inferred}, but got {result.shape}"


def floats(*dims):
    return ArrayOf(np.dtype(float), dims)


CANDIDATES = [floats(False, False), floats(False), floats(True), floats(False, False, False)]


def has_inner_function(function):
    """Comprehensions on 3.11."""
    return any(hasattr(c, "co_code") for c in function.__code__.co_consts)


@pytest.mark.parametrize("graph, function", compiled([f for f in UNARY if not has_inner_function(f)]))
def test_types_are_found(graph, function):
    """Not only right but useful: each program has a type, for one of the usual ranks."""
    if set(function.__code__.co_names).isdisjoint({"qr", "ravel"}):  # a named tuple; a sum of no items
        assert any(infer(graph, [type_]).return_type is not Any for type_ in CANDIDATES)


def test_types_are_exact_where_they_matter():
    def program(x, w):
        y = np.tanh(w @ x + 1.0)
        return y, y.sum(), np.sum(w, axis=1, keepdims=True), w.T[:, None], y[0], x[1:]

    found = infer(lift(program), [floats(False), floats(False, False)]).return_type
    assert repr(found) == "(float64[n], float64, float64[n,1], float64[n,1,n], float64, float64[?])"


def straight(x):
    a = x * x
    b = [a, a + x]
    b.append(a * 2.0)
    return math.sin(b[0]) + b[1] * a


def looping(x):
    y = x
    for _ in range(3):
        y = y * x + 1.0
        z = y - x
        y = z * y
    return y


@pytest.mark.parametrize("f, most", [(straight, 1), (looping, 2)])
def test_blocks_are_looked_at_again_for_what_comes_from_elsewhere_alone(f, most):
    graph = lift(f)
    run = Run(graph, [Exact(float)], (), None, frozenset(), False).run()
    assert max(run.visits.values()) <= most
