"""`broadcast` in programs that are differentiated: with functions made there, in loops and branches, beside
other operations."""

import functools
import math

import numpy as np
import pytest
from broadcast_checks import THREE, WEIGHTS, close, differences

from ctxdispatch import (
    grad,
    hessian,
    jacrev,
    jvp,
    overdub,
    vjp,
)
from ctxdispatch_contexts.broadcast import BroadcastContext, broadcast

X, W = THREE, WEIGHTS


# -- captured ------------------------------------------------------------------------------------------------


def of_a_float(w):
    c = float(w[0]) * 1.0
    return np.sum(broadcast(lambda x: math.sin(c * x), X))


def of_an_item(w):
    c = w[1]
    return np.sum(broadcast(lambda x: math.sin(c * x) * c, X))


def of_a_sum(w):
    c = np.sum(w * w)
    return np.sum(broadcast(lambda x: math.sin(c * x), X * w[0]))


def of_items_within(w):
    return np.sum(broadcast(lambda x: math.sin(w[1] * x), X))


def of_a_tuple(w):
    cs = (w[0], w[1], 2.0)

    def f(x):
        r = 0.0
        for c in cs:
            r = r * x + c
        return r

    return np.sum(broadcast(f, X))


def of_a_default(w):
    c = w[1]
    return np.sum(broadcast(lambda x, c=c: math.sin(c * x), X))


def of_a_partial(w):
    return np.sum(broadcast(functools.partial(lambda c, x: math.sin(c * x), w[1]), X))


def through_a_helper(w):
    a, b = w[0], w[1]

    def inner(x):
        return a * x

    def outer(x):
        return math.sin(inner(x)) + b * inner(x)

    return np.sum(broadcast(outer, X))


def factory(c):
    def f(x):
        return math.sin(c * x)

    return f


def of_a_factory(w):
    return np.sum(broadcast(factory(w[1]), X) * broadcast(factory(w[0]), X))


class Layer:
    def __init__(self, scale):
        self.scale = scale

    def act(self, x):
        return math.tanh(self.scale * x)

    def __call__(self, x):
        return math.tanh(self.scale * x)

    def loss(self, x):
        return np.sum(broadcast(self.act, x))

    def loss_by_lambda(self, x):
        return np.sum(broadcast(lambda v: math.tanh(self.scale * v), x))

    def loss_by_local(self, x):
        scale = self.scale
        return np.sum(broadcast(lambda v: math.tanh(scale * v), x))


def of_a_method(w):
    return Layer(w[1]).loss(X)


def of_a_lambda_of_self(w):
    return Layer(w[1]).loss_by_lambda(X)


def of_a_local_of_self(w):
    return Layer(w[1]).loss_by_local(X)


def of_an_object(w):
    return np.sum(broadcast(Layer(w[1]), X))


CAPTURES = [
    of_a_float, of_an_item, of_a_sum, of_a_default, of_a_tuple, of_a_factory,
    through_a_helper,
    of_a_local_of_self,
    of_items_within,
    of_a_partial,
    of_a_method,
    of_a_lambda_of_self, of_an_object,
]  # fmt: skip


@pytest.mark.parametrize("loss", CAPTURES)
def test_captured(loss):
    close(grad(loss)(W), differences(loss, W))
    close(jvp(loss, (W,), (W,))[1], differences(loss, W) @ W)
    close(hessian(loss)(W), np.array([differences(lambda w: grad(loss)(w)[k], W) for k in range(2)]))


def of_one(c):
    return np.sum(broadcast(lambda x: math.sin(c * x), X))


@pytest.mark.parametrize("c", [0.5, np.float64(0.5), np.array(0.5)])
def test_captured_numbers_to_order_three(c):
    close(grad(of_one)(c), np.sum(X * np.cos(0.5 * X)))
    close(grad(grad(of_one))(c), -np.sum(X**2 * np.sin(0.5 * X)))
    close(grad(grad(grad(of_one)))(c), -np.sum(X**3 * np.cos(0.5 * X)))
    close(jacrev(jacrev(of_one))(c), -np.sum(X**2 * np.sin(0.5 * X)))


def test_attributes_of_arguments():
    wanted = np.sum(X / np.cosh(0.5 * X) ** 2)
    for loss in (lambda m: m.loss(X), lambda m: m.loss_by_lambda(X), lambda m: np.sum(broadcast(m, X))):
        close(grad(loss)(Layer(0.5)).scale, wanted)


def test_attributes_of_known_objects():
    layer = Layer(0.5)
    loss = lambda x: np.sum(broadcast(layer.act, x))
    for scale in (0.5, 0.25, 2):
        layer.scale = scale
        close(grad(loss)(X), scale / np.cosh(scale * X) ** 2)


def test_globals_that_change(monkeypatch):
    gradient = grad(lambda x: np.sum(broadcast(scaled, x)))
    for scale in (1.5, 2.5, np.float64(3.5), 4):
        monkeypatch.setitem(globals(), "SCALE", scale)
        close(gradient(X), scale * np.ones(3))
    monkeypatch.setitem(globals(), "helper", lambda x: x * x)
    close(gradient(X), 8 * X)


SCALE = 1.0


def scaled(x):
    return SCALE * helper(x)


def helper(x):
    return x


# -- in programs ---------------------------------------------------------------------------------------------


def square(v):
    return v * v


def in_a_loop(x):
    for _ in range(2):
        x = broadcast(square, x)
    return np.sum(x)


def with_the_counter(x):
    s = 0.0
    for k in range(3):
        s = s + np.sum(broadcast(lambda v: v * v * k, x))
    return s


def in_a_branch(x):
    if x[0] > 0:
        y = broadcast(square, x)
    else:
        y = x
    return np.sum(broadcast(square, y) * x)


def in_a_while(x):
    n = 3
    while n > 0:
        x = broadcast(lambda v, w: v * w, x, x[:1])
        n -= 1
    return np.sum(x)


def in_a_comprehension(x):
    return sum([np.sum(broadcast(lambda v: v**k, x)) for k in (1, 2, 3)])


def of_a_list(x):
    return sum(np.sum(broadcast(f, x)) for f in [square, math.sin])


def of_a_global_list(x):
    total = 0.0
    for f in FUNCTIONS:
        total = total + np.sum(broadcast(f, x))
    return total


FUNCTIONS = [square, lambda v: math.sin(v)]


def beside_others(x):
    y = broadcast(lambda a, b: a * b, np.outer(x, x).reshape(3, 3), x[:, None])
    z = broadcast(lambda a, b: a / (1 + b), y[::-1, 1:], np.sum(y, axis=1, keepdims=True))
    return np.sum((np.concatenate([y, z], axis=1) @ np.ones(5)) ** 2) + np.max(y)


UNTYPED = {
    "product of matrices": lambda x: np.outer(x, x) @ np.ones((3, 3)),
    "indices": lambda x: x[np.array([0, 0, 1])],
    "solve": lambda x: np.linalg.solve(2 * np.eye(3), x), "pad": lambda x: np.pad(x, 1),
    "split": lambda x: np.split(x, [1])[1],
}  # fmt: skip
KNOWN = {
    "cumsum": lambda x: np.cumsum(x), "einsum": lambda x: np.einsum("i,j->ij", x, x),
    "mask": lambda x: x[x > 0.5],
    "stack": lambda x: np.stack([x, x * x]), "array": lambda x: np.array([x[0], x[1]]),
    "sort": lambda x: np.sort(x),
    "repeat": lambda x: np.repeat(x, 2), "transpose": lambda x: np.outer(x, x * x).T,
    "astype": lambda x: x.astype("f8"),
    "standard": lambda x: (x - np.mean(x)) / np.std(x), "item": lambda x: x[0], "sum": lambda x: np.sum(x),
}  # fmt: skip


def after(make):
    def loss(x):
        return np.sum(broadcast(lambda a: a * math.sin(a), make(x)))

    return loss


@pytest.mark.parametrize("name", KNOWN)
def test_operands_that_programs_make(name):
    loss = after(KNOWN[name])
    close(grad(loss)(X), differences(loss, X))


@pytest.mark.parametrize("name", UNTYPED)
def test_operands_that_are_not_typed(name):
    loss = after(UNTYPED[name])
    close(grad(loss)(X), differences(loss, X))


def of_items_and_lists(x):
    return np.sum(broadcast(lambda a, b, c: a * b + c, x, x[0], [1.0, 2.0, 3.0]))


def of_lists_of_items(x):
    return np.sum(broadcast(lambda a, c: a * c, x, [x[1], 2.0, x[2]]))


def of_arrays_made(x):
    return np.sum(broadcast(lambda a, b: a * a * b, x, np.arange(3) + np.array([0.5, 1.0, 2.0])))


def recursive(x, n=2):
    return x if n == 0 else recursive(broadcast(square, x), n - 1)


def summed_recursion(x):
    return np.sum(recursive(x))


def by_star(x):
    args = (x, x * x)
    return np.sum(broadcast(lambda a, b: a * b, *args))


def chosen_at_run_time(x):
    f = square if x[0] > 0 else math.sin
    return np.sum(broadcast(f, x))


PROGRAMS = [
    with_the_counter, in_a_branch, beside_others, of_items_and_lists, of_arrays_made, summed_recursion,
    in_a_comprehension,
    of_lists_of_items,
    by_star,
    in_a_loop,
    in_a_while,
    of_a_list,
    of_a_global_list,
    chosen_at_run_time,
]  # fmt: skip


@pytest.mark.parametrize("loss", PROGRAMS)
def test_programs(loss):
    close(grad(loss)(X), differences(loss, X))
    close(jvp(loss, (X,), (X,))[1], differences(loss, X) @ X)
    close(hessian(loss)(X), np.array([differences(lambda x: grad(loss)(x)[k], X) for k in range(3)]), 1e-5)


def test_nested_derivatives_are_told_apart():
    f = lambda a: a * grad(lambda b: np.sum(broadcast(lambda x: a * x + b, X)))(1.0)
    close(grad(f)(2.0), 3.0)
    g = lambda a: jvp(lambda b: broadcast(lambda x: a * b * b * x, X), (3.0,), (1.0,))[1]
    close(jvp(g, (2.0,), (1.0,))[1], 6 * X)
    close(jacrev(g)(2.0), 6 * X)
    h = lambda a: vjp(lambda b: broadcast(lambda x: a * b * b * x, X), 3.0)[1](X)[0]
    close(grad(h)(2.0), 6 * np.sum(X * X))


def test_derivatives_within_kernels():
    close(broadcast(lambda x: grad(lambda y: y * y * y)(x), X), 3 * X**2)
    close(grad(lambda x: np.sum(broadcast(lambda v: grad(lambda y: y * y * y)(v), x)))(X), 6 * X)


@pytest.mark.parametrize("wrt", [None, (0,)])
def test_the_context_within(wrt):
    def loss(x):
        found = overdub(BroadcastContext(wrt=wrt), lambda v: v * v * v, x)
        return np.sum(found if wrt is None else found[1][0])

    close(grad(loss)(X), 3 * X**2 if wrt is None else 6 * X)


def test_the_context_within_with_fields():
    """Partial derivatives that are differentiated again."""

    def by_partials(x):
        y, (dx,) = overdub(BroadcastContext(wrt=0), lambda v: v * v * v, x)
        return np.sum(y + dx)

    def stored(x):
        return np.sum(overdub(BroadcastContext(partials="store", wrt=(0,)), square, x)[1][0] * x)

    close(grad(by_partials)(X), 3 * X**2 + 6 * X)
    close(jvp(by_partials, (X,), (X,))[1], np.sum(3 * X**3 + 6 * X**2))
    close(grad(stored)(X), 4 * X)


def test_indices_that_are_not_there():
    with pytest.raises(TypeError, match="argnums 3 is out of range"):
        grad(lambda x: np.sum(overdub(BroadcastContext(wrt=3), square, x)[1][0]))(X)
