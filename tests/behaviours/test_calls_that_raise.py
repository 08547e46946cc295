"""Calls in a `try`, read or not, at operands for which they raise: that they raise is what is read."""

import math

import numpy as np
import pytest

from ctxdispatch import jvp, value_and_grad
from ctxdispatch_contexts.programs.errors import Refused
from tests.recording import recorded as on_tape

X = np.array([0.7, 0.3, 1.1])
CALLS = {
    "out is a number": lambda x: np.sin(x, 1), "out is a text": lambda x: np.sin(x, "a"),
    "out is too short": lambda x: np.sin(x, x[:1]), "of two": lambda x: np.add(x, x, 1),
    "out by name": lambda x: np.exp(x, out=3), "bytes": lambda x: np.positive(x, b"a", 1),
    "an array for a number": math.sin, "of two numbers": lambda x: math.hypot(x, 1.0),
    "too few": lambda x: np.maximum(x), "a text": lambda x: np.sin("a"),
    "text beside": lambda x: np.add(x, "a"), "shapes": lambda x: x + np.ones(2),
    "a shape": lambda x: np.reshape(x, 5), "an axis": lambda x: np.sum(x, axis=7),
    "an index": lambda x: x[9], "a logarithm": lambda x: math.log(-x[0]),
    "a division": lambda x: float(x[0]) / 0.0, "a matrix": lambda x: np.linalg.inv(np.zeros((2, 2))),
    "a product": lambda x: np.dot(x, np.ones(2)), "parts": lambda x: np.concatenate([x, np.eye(2)]),
    "an unknown name": lambda x: np.sin(x, foo=1), "whole out": lambda x: np.sqrt(x, np.zeros(3, int)),
}  # fmt: skip

A = np.arange(8.0).reshape(2, 4)
SHAPES = {
    "matmul": lambda x: A @ x, "dot": lambda x: np.dot(x, A), "sum": lambda x: A + x,
    "product": lambda x: A * x, "after a product": lambda x: np.outer(A, x) + np.ones(7),
    "chained": lambda x: np.exp(A) * np.sin(x) - 1.0, "broadcast_to": lambda x: np.broadcast_to(x, (2,)),
    "reshape": lambda x: x.reshape(2, -1), "concatenate": lambda x: np.concatenate([A, x]),
    "stack": lambda x: np.stack([A[0], x]), "append": lambda x: np.append(A, x[None], axis=0),
    "einsum": lambda x: np.einsum("ij,j->i", A, x), "tensordot": lambda x: np.tensordot(A, x, 1),
    "inner": lambda x: np.inner(A, x), "vdot": lambda x: np.vdot(A, x),
    "where": lambda x: np.where(A > 0.0, x, 1.0), "clip": lambda x: np.clip(x, np.zeros(2), 9.0),
    "one bound": lambda x: np.clip(x, 1.0), "both names": lambda x: np.clip(x, 0.0, 1.0, max=2.0),
    "max of nothing": lambda x: np.max(x[:0]), "full_like": lambda x: np.full_like(A, x),
    "polyval": lambda x: np.polyval(A, x), "trapezoid": lambda x: np.trapezoid(A, x),
    "mask": lambda x: x[np.ones(4, bool)], "norm": lambda x: np.linalg.norm(x, axis=1),
    "norm of three axes": lambda x: np.linalg.norm(x[:, None, None], 2),
    "squeeze": lambda x: np.squeeze(x, axis=0), "split": lambda x: np.split(x, 2)[0],
    "median": lambda x: np.median(x, axis=1), "quantile": lambda x: np.quantile(x, 3.0),
    "percentile": lambda x: np.percentile(x, -3.0),
    "axis of a quantile": lambda x: np.quantile(x, 0.5, axis=2),
    "interp": lambda x: np.interp(x, [0.0, 1.0], [0.0]), "gradient": lambda x: np.gradient(x, np.ones(2)),
    "meshgrid": lambda x: np.meshgrid(x, x, indexing="nix")[0], "vander": lambda x: np.vander(x[None]),
    "cov": lambda x: np.cov(x[None, None]), "cross": lambda x: np.cross(A, x),
    "solve": lambda x: np.linalg.solve(np.eye(2), x), "swapaxes": lambda x: np.swapaxes(x, 0, 3),
    "cumsum": lambda x: np.cumsum(x, axis=4), "take": lambda x: np.take(x, [9]),
    "diff": lambda x: np.diff(x, -1), "pad": lambda x: np.pad(x, -1),
    "roll": lambda x: np.roll(x, 1, axis=2), "repeat": lambda x: np.repeat(x, [1, 2]),
    "trace": lambda x: np.trace(x), "a method": lambda x: x.dot(A), "mean": lambda x: x.mean(axis=1),
}  # fmt: skip


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("name", [*CALLS])
def test_it_is_seen(name, recorded):
    def program(x):
        scale = 2.0
        try:
            CALLS[name](x)
        except Exception:
            scale = 1.0
        return scale * x[0]

    f = on_tape(program) if recorded else program
    assert f(X) == 0.7
    for run in (lambda: value_and_grad(f)(X), lambda: jvp(f, (X,), (X,))):
        try:
            assert run()[0] == 0.7
        except Refused:
            return


@pytest.mark.every(2)
@pytest.mark.parametrize("read", [True, False])
@pytest.mark.parametrize("name", [*SHAPES])
def test_shapes_and_axes(name, read):
    """In each mode the other way is gone, as plainly."""

    def program(x):
        try:
            y = SHAPES[name](x)
        except Exception:
            return 3.0 * np.sum(x)
        return np.sum(y) if read else np.sum(x * x)

    assert program(X) == 3.0 * np.sum(X)
    value, gradient = value_and_grad(program)(X)
    assert value == program(X)
    np.testing.assert_array_equal(gradient, [3.0, 3.0, 3.0])
    assert jvp(program, (X,), (X,)) == (program(X), program(X))


def skipped(x, call):
    n = 0.0
    for v in x - 0.5:
        try:
            call(v)
        except Exception:
            continue
        n += v
    return n**2


def stopped(x, call):
    n, i = 0.0, 0
    while i < 3:
        try:
            call(x[2 - i] - 0.5)
        except Exception:
            break
        n, i = n + x[i], i + 1
    return n**2


def counted(x, call):
    n = 0.0
    for v in x - 0.5:
        if is_valid(v, call):
            n = n + v * v
    return n


def is_valid(v, call):
    try:
        call(v)
    except Exception:
        return False
    else:
        return True


def otherwise(x, call):
    n = 0.0
    for v in x - 0.5:
        try:
            y = call(v)
        except Exception:
            n += v * v
        else:
            n += v
    return n


OF_NUMBERS = {
    "log": lambda v: math.log(v), "sqrt": lambda v: math.sqrt(v),
    "product": lambda v: A[:, 0] @ np.ones(2 + (v < 0.0)),
    "sum": lambda v: np.ones(3) + np.ones(3 + (v < 0.0)), "shape": lambda v: X.reshape(3 + (v < 0.0)),
    "pair": lambda v: (math.acos(2.0 * (v < 0.0)), v), "test": lambda v: 1 if math.sqrt(v) else 2,
}  # fmt: skip


@pytest.mark.every(2)
@pytest.mark.parametrize("name", OF_NUMBERS)
@pytest.mark.parametrize("program", [skipped, stopped, counted, otherwise])
def test_in_loops(program, name):
    def f(x):
        return program(x, OF_NUMBERS[name])

    wanted = [(f(X + h) - f(X - h)) / 2e-6 for h in 1e-6 * np.eye(3)]
    value, gradient = value_and_grad(f)(X)
    assert value == f(X)
    np.testing.assert_allclose(gradient, wanted, atol=1e-5)
    np.testing.assert_allclose([jvp(f, (X,), (e,))[1] for e in np.eye(3)], wanted, atol=1e-5)


UNREAD = """
    np.dot(x, A) | A @ x | np.broadcast_to(x, (2,)) | x.mean(axis=1) | np.interp(x, [0.0], [0.0, 1.0])
    | math.sqrt(-x[1]) | math.acos(3.0 * x[2]) | math.log(0.0 * x[0]) | math.exp(x[2] * 1e4)
    | math.fmod(x[0], 0.0) | math.pow(-x[1], 0.5) | int(x[0] * np.inf) | round(x[0] * np.nan)
    | [1.0, 2.0].index(x[0]) | range(x[0])
    | math.comb(x[0], 1) | math.ldexp(x[0], x[1]) | np.trapezoid(x, np.ones(5)) | np.linspace(x[0], x[1], -1)
    | np.average(x, weights=[1.0, -1.0, 0.0]) | np.linalg.matrix_power(np.outer(x, x), 0.5)
    | [math.sqrt(-v) for v in x] | {"a": math.sqrt(-x[1]), "b": 1.0} | t = (x @ x[:2], x[0])[1]
    | y = 1 if math.sqrt(-x[0]) else 2 | np.diff(x[0]) | math.sin(x[0] * math.inf)
"""


@pytest.mark.parametrize("call", [" ".join(c.split()) for c in UNREAD.split(" | ")])
def test_nobody_reads_it(call):
    """And nothing catches what it raises."""
    space = {"np": np, "math": math, "A": A}
    exec(f"def program(x):\n    {call}\n    return np.sum(x * x)", space)
    f = space["program"]
    for run in (f, value_and_grad(f), lambda x: jvp(f, (x,), (x,))):
        with pytest.raises((ValueError, TypeError, ArithmeticError)):
            run(X)
