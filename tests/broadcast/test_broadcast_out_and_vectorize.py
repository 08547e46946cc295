"""`broadcast` with `out`, under its other name np.vectorize, and in sparsity patterns: right, or refused."""

import math

import numpy as np
import pytest
from broadcast_checks import THREE, WEIGHTS, close

from ctxdispatch import (
    UnsupportedSyntax,
    grad,
    hessian,
    hessian_sparsity,
    jacfwd,
    jacobian_sparsity,
    jvp,
    sparse_jacobian,
    value_and_grad,
)
from ctxdispatch_contexts.broadcast import broadcast
from ctxdispatch_contexts.sparsity import SparsityError

X, W = THREE, WEIGHTS


def square(v):
    return v * v


# -- out -----------------------------------------------------------------------------------------------------


def into_an_array(x):
    out = np.empty(3)
    broadcast(square, x, out=out)
    return np.sum(out)


def into_an_array_returned(x):
    return np.sum(broadcast(square, x, out=np.empty(3)))


def into_the_operand(x):
    y = x * 1.0
    broadcast(square, y, out=y)
    return np.sum(y)


def into_what_was_used(x):
    y = x * x
    z = np.sum(y * y)
    broadcast(lambda v: v * 0.0 + 1.0, np.ones(3), out=y)
    return z


def into_a_global(x):
    broadcast(square, x, out=STORE)
    return np.sum(STORE * x)


STORE = np.zeros(3)
OUT = [(into_an_array, 2 * X), (into_an_array_returned, 2 * X), (into_the_operand, 2 * X),
       (into_what_was_used, 4 * X**3), (into_a_global, 3 * X**2)]  # fmt: skip


@pytest.mark.parametrize("loss, wanted", OUT)
def test_out_is_right_or_refused(loss, wanted):
    for found in (lambda: grad(loss)(X.copy()), lambda: jvp(loss, (X.copy(),), (np.ones(3),))[1]):
        try:
            value = found()
        except Exception:
            continue
        close(value, wanted if np.ndim(value) else np.sum(wanted))


@pytest.mark.parametrize("loss, wanted", OUT)
def test_out_in_reverse_mode(loss, wanted):
    close(grad(loss)(X.copy()), wanted)


# -- np.vectorize --------------------------------------------------------------------------------------------


@np.vectorize
def vectorized(v):
    return v * math.sin(v)


def test_vectorize_made_inside():
    close(grad(lambda x, c: np.sum(np.vectorize(lambda v: c * v * v)(x)), (0, 1))(X, 2.0)[0], 4 * X)
    close(grad(lambda x, c: np.sum(np.vectorize(lambda v: c * v * v)(x)), (0, 1))(X, 2.0)[1], np.sum(X * X))
    close(grad(lambda x: np.sum(np.vectorize(lambda v: (v, v * v))(x)[1]))(X), 2 * X)
    close(np.diag(hessian(lambda x: np.sum(np.vectorize(square)(x)))(X)), 2 * np.ones(3))
    close(jacfwd(lambda x: np.vectorize(square)(x))(X), np.diag(2 * X))


def test_vectorize_known():
    wanted = np.sin(X) + X * np.cos(X)
    close(grad(lambda x: np.sum(vectorized(x)))(X), wanted)
    captured = np.vectorize(square)
    close(grad(lambda x: np.sum(captured(x)))(X), 2 * X)
    close(jvp(lambda x: vectorized(x), (X,), (X,))[1], wanted * X)


@pytest.mark.parametrize(
    "options, wanted",
    [
        ({"otypes": [float]}, 2 * X), ({"otypes": ["f4"]}, 2 * X), ({"otypes": [int]}, 0 * X),
        ({"cache": True}, 2 * X),
        ({"signature": "()->()"}, 2 * X), ({"excluded": {1}}, 2 * X), ({"doc": "words"}, 2 * X),
    ],
)  # fmt: skip
def test_vectorize_with_options(options, wanted):
    """Right or refused."""
    made = np.vectorize(square, **options)
    try:
        found = grad(lambda x: np.sum(made(x)))(X)
    except Exception as error:
        assert isinstance(error, TypeError | NotImplementedError | SyntaxError), error
        return
    close(found, wanted)


@pytest.mark.parametrize(
    "f",
    [
        lambda v: 0 if v < 0.5 else v * v,
        lambda v: 2.5, lambda v: v > 0.5, lambda v: int(v), lambda v: v // 0.5,
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_vectorize_has_the_same_value(f, dtype):
    x = X.astype(dtype)
    loss = eval("lambda x: np.sum(x * np.vectorize(lambda v: f(v))(x))", {"np": np, "f": f})
    close(value_and_grad(loss)(x)[0], loss(x))


# -- sparsity ------------------------------------------------------------------------------------------------

PATTERNS = [
    (lambda x: broadcast(square, x), np.eye(3)),
    (lambda x: broadcast(lambda v, w: v * w, x, x[0]), np.eye(3) + np.outer([1, 1, 1], [1, 0, 0]) > 0),
    (lambda x: broadcast(lambda v, w: v if v > 0 else w, x[1:], x[:-1]), np.eye(2, 3) + np.eye(2, 3, 1)),
]


@pytest.mark.parametrize("f, wanted", PATTERNS)
def test_patterns_are_right_or_refused(f, wanted):
    try:
        pattern = jacobian_sparsity(f, X).toarray()
    except (SparsityError, TypeError, UnsupportedSyntax):
        return
    assert np.all(pattern >= (np.asarray(wanted) > 0))
    close(sparse_jacobian(f, X)(X).toarray(), jacfwd(f)(X))


def test_patterns():
    for f, wanted in PATTERNS:
        assert np.array_equal(jacobian_sparsity(f, X).toarray(), np.asarray(wanted) > 0)
    pattern = hessian_sparsity(lambda x: np.sum(broadcast(square, x)), X)
    assert np.array_equal(pattern.toarray(), np.eye(3) > 0)
