"""Derivatives through `broadcast`: against finite differences, and closed forms.

Every order, both placements of the partial derivatives, and whatever the operands look like.
"""

import gc
import math

import numpy as np
import pytest
from broadcast_checks import THREE, differences, from_threads
from broadcast_checks import close as close_within
from elementary_points import fresh_kernel

from ctxdispatch import (
    ADContext,
    Dual,
    DualContext,
    check_grads,
    code_adjoint,
    custom_rule,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    overdub,
    stop_gradient,
    vjp,
)
from ctxdispatch_contexts.broadcast import BroadcastContext, broadcast
from ctxdispatch_contexts.broadcast.storing import _scaling
from ctxdispatch_contexts.reverse import keeping

X = THREE
Y = np.array([[0.5], [1.5]])
I = np.eye(3)


def close(found, wanted, rtol=1e-9):
    close_within(found, wanted, rtol, atol=1e-9)


# -- functions of one number, and three derivatives ----------------------------------------------------------


def newton(a):
    x = 1.0
    while abs(x * x - a) > 1e-13:
        x = 0.5 * (x + a / x)
    return x


def cubed(x):
    r = 1.0
    for _ in range(3):
        r = r * x
    return r


def branches(x):
    if x > 1.0:
        return x * x
    return x**3


def merged(x):
    s = 0
    for k in range(3):
        s = s + x * k
    return s * x


def nested(x):
    return helper(helper(x))


def helper(x):
    return x * x


FUNCTIONS = [
    (lambda x: x * math.sin(x), lambda x: np.sin(x) + x * np.cos(x), lambda x: 2 * np.cos(x) - x * np.sin(x),
     lambda x: -3 * np.sin(x) - x * np.cos(x)),
    (math.exp, np.exp, np.exp, np.exp),
    (newton, lambda x: 0.5 * x**-0.5, lambda x: -0.25 * x**-1.5, lambda x: 0.375 * x**-2.5),
    (cubed, lambda x: 3 * x**2, lambda x: 6 * x, lambda x: 6 + 0 * x),
    (branches, lambda x: np.where(x > 1, 2 * x, 3 * x**2), lambda x: np.where(x > 1, 2.0, 6 * x),
     lambda x: np.where(x > 1, 0.0, 6.0)),
    (merged, lambda x: 6 * x, lambda x: 6 + 0 * x, lambda x: 0 * x),
    (nested, lambda x: 4 * x**3, lambda x: 12 * x**2, lambda x: 24 * x),
    (lambda x: 1 / x, lambda x: -(x**-2), lambda x: 2 * x**-3, lambda x: -6 * x**-4),
    (lambda x: x * int(x) + round(x), np.floor, lambda x: 0 * x, lambda x: 0 * x),
    (lambda x: abs(x) * x, lambda x: 2 * x, lambda x: 2 + 0 * x, lambda x: 0 * x),
    (lambda x: x * (x > 0.5), lambda x: (x > 0.5) * 1.0, lambda x: 0 * x, lambda x: 0 * x),
]  # fmt: skip

def applied(f, how):
    """x -> the array, by a function that is known where it is differentiated."""
    names = {"broadcast": broadcast, "f": f, "np": np, "__name__": __name__}
    options = {"recompute": "", "store": ", partials='store'", "reference": ", backend='reference'"}
    if how == "several":
        return eval("lambda x: broadcast(lambda v: (v, f(v)), x)[1]", names)
    return eval(f"lambda x: broadcast(f, x{options[how]})", names)


def summed(f, how="recompute"):
    array = applied(f, how)
    return eval("lambda x: np.sum(array(x))", {"np": np, "array": array, "__name__": __name__})


HOW = ["recompute", "store", "reference", "several"]
CASES = [(how, *each) for how in HOW for each in FUNCTIONS if how == HOW[0] or each[0] in (newton, branches)]


@pytest.mark.every(3)
@pytest.mark.parametrize("how, f, d1, d2, d3", CASES)
def test_three_orders(how, f, d1, d2, d3):
    total, array = summed(f, how), applied(f, how)
    first, ones = grad(total), np.ones(3)
    second = grad(lambda x: np.sum(first(x)))
    close(first(X), d1(X))
    close(jvp(array, (X,), (X,))[1], d1(X) * X)
    close(vjp(array, X)[1](X)[0], d1(X) * X)
    close(second(X), d2(X))
    close(hvp(total, (X,), (ones,)), d2(X))
    close(np.diag(hessian(total)(X)), d2(X))
    close(jvp(lambda x: jvp(array, (x,), (ones,))[1], (X,), (ones,))[1], d2(X))
    close(grad(lambda x: np.sum(second(x)))(X), d3(X))
    close(jvp(second, (X,), (ones,))[1], d3(X))


def test_products_with_stored_partials_are_zero_where_the_cotangent_is():
    kernel = fresh_kernel("sin")
    scaling = _scaling(kernel, 2)
    assert scaling.linear == (0,) and scaling.output(1).linear == (0,)
    assert [y.tolist() for y in scaling(np.array([0.0, 2.0]), X[:2], 3.0)] == [[0.0, 2 * X[1]], [0.0, 6.0]]


@pytest.mark.every(3)
@pytest.mark.parametrize("how", ["recompute", "store", "several"])
def test_jacobians_of_one_order(how):
    array = applied(cubed, how)
    close(jacfwd(array)(X), 3 * X**2 * I)
    close(jacrev(array)(X), 3 * X**2 * I)
    close(jacfwd(jacfwd(array))(X), second_of_cubes())


def second_of_cubes():
    found = np.zeros((3, 3, 3))
    for k in range(3):
        found[k, k, k] = 6 * X[k]
    return found


JACREV = "jacrev of a kernel is not differentiated: KeyError, AttributeError, or silently 0"


@pytest.mark.every(3)
@pytest.mark.parametrize("how", ["recompute", "store", "several"])
@pytest.mark.parametrize("outer, inner", [(jacrev, jacrev), (jacfwd, jacrev), (jacrev, jacfwd)])
def test_jacobians_of_jacobians(outer, inner, how):
    if how == "recompute" and outer is not inner:
        how = "store"  # recomputed, these are right: below
    close(outer(inner(applied(cubed, how)))(X), second_of_cubes())


@pytest.mark.every(3)
@pytest.mark.parametrize("outer, inner", [(jacfwd, jacrev), (jacrev, jacfwd)])
def test_jacobians_of_jacobians_recomputed(outer, inner):
    close(outer(inner(lambda x: broadcast(cubed, x)))(X), second_of_cubes())


@pytest.mark.every(3)
@pytest.mark.parametrize("how", ["recompute", "store", "several"])
def test_gradient_of_a_reverse_jacobian(how):
    array = applied(cubed, how)

    def squares(x):
        jacobian = jacrev(array)(x)
        return np.sum(jacobian * jacobian)

    close(grad(squares)(X), 36 * X**3)


# -- operands ------------------------------------------------------------------------------------------------


def both(x, y):
    return x * y + math.sin(x) * y * y


def total(x, y):
    return np.sum(broadcast(both, x, y) ** 2)


def total_stored(x, y):
    return np.sum(broadcast(both, x, y, partials="store") ** 2)


OPERANDS = [
    (X, Y), (X, np.array(2.0)), (X, 2.0), (X[:1], Y), (Y, X), (X, X * 2),
    (X[None, :, None], np.ones((2, 1, 2))),
    (np.ones((2, 3, 2)) * 0.3, X[:, None]), (1.5, 2.0), (X[::-1], np.ones((3, 2, 3))[:, ::2].T),
    (np.array(1.5), Y),
    (np.zeros((0, 3)), X), (np.zeros((2, 0)), Y),
]  # fmt: skip


@pytest.mark.every(3)
@pytest.mark.parametrize("loss", [total, total_stored])
@pytest.mark.parametrize("x, y", OPERANDS)
def test_operands_of_all_shapes(x, y, loss):
    by_x, by_y = grad(loss, (0, 1))(x, y)
    close(by_x, differences(lambda v: total(v, y), x), 1e-5)
    close(by_y, differences(lambda v: total(x, v), y), 1e-5)
    close(grad(loss)(x, y), by_x)
    close(grad(loss, 1)(x, y), by_y)
    if np.size(x) and np.ndim(y):
        close(jvp(grad(loss, 1), (x, y), (x, y))[1], along(loss, x, y), 1e-5)


def along(loss, x, y, h=1e-6):
    """The derivative of the gradient by y along (x, y)."""
    return (grad(loss, 1)(x * (1 + h), y * (1 + h)) - grad(loss, 1)(x * (1 - h), y * (1 - h))) / (2 * h)


def test_dtypes_of_gradients():
    x, y = X.astype("f4"), Y
    assert grad(lambda x: np.sum(broadcast(helper, x)))(x).dtype == np.float32
    by_x, by_y = grad(total, (0, 1))(x, y)
    assert (by_x.dtype, by_y.dtype) == ("f4", "f8")
    assert jvp(lambda x: broadcast(helper, x), (x,), (x,))[1].dtype == np.float32
    assert jacfwd(lambda x: broadcast(helper, x))(x).dtype == np.float32


def test_unused_operands_widen_the_result():
    by_x, by_y = grad(lambda x, y: np.sum(broadcast(lambda x, y: x * x, x, y)), (0, 1))(X, Y)
    close(by_x, 4 * X)
    close(by_y, 0 * Y)


def test_structural_zeros():
    y, (p, q) = overdub(BroadcastContext(wrt=(0, 1)), lambda x, n: x * n, X, np.arange(3))
    close(p, np.arange(3.0))
    assert q is None
    (a, b, c), (by_x, by_y) = overdub(BroadcastContext(wrt=(0, 1)), lambda x, y: (x * y, x, int(y)), X, Y)
    close(by_x[0], np.broadcast_to(Y, (2, 3)))
    assert by_x[2] is None and by_y[1] is None and by_y[2] is None
    y, (p, q) = overdub(BroadcastContext(wrt=(1, 0)), both, X, Y)
    close(p, X + 2 * np.sin(X) * Y)
    close(q, Y + np.cos(X) * Y * Y)
    powers = lambda x, n: np.sum(broadcast(lambda x, n: x**n, x, n))
    close(grad(powers)(X, np.arange(3)), np.array([0.0, 1.0, 3.8]))
    close(grad(powers)(0 * X, np.arange(3)), np.array([0.0, 1.0, 0.0]))


def test_loops_with_bounds_from_whole_numbers():
    def power(x, n):
        r = 1.0
        for _ in range(n):
            r = r * x
        return r

    n = np.array([0, 2, 5])
    close(grad(lambda x: np.sum(broadcast(power, x, n)))(X), n * X ** np.maximum(n - 1, 0))
    wanted = sum(k * X ** max(k - 1, 0) for k in n)
    close(grad(lambda x, n: np.sum(broadcast(power, x, n)))(X, n[:, None]), wanted)


def test_where_functions_have_no_slope():
    at = np.array([0.0, 4.0])
    for f, wanted in (
        (lambda x: math.sqrt(x) if x > 0 else 0.0, [0, 0.25]), (lambda x: x / x if x != 0 else 1.0, [0, 0]),
        (lambda x: x**2, [0, 8]), (lambda x: x if x > 0 else 0, [0, 1]), (lambda x: max(x, 1.0), [0, 1]),
        (lambda x: x % 3.0, [1, 1]), (lambda x: x // 3.0, [0, 0]),
    ):  # fmt: skip
        f_total = summed(f)
        close(grad(f_total)(at), np.array(wanted, float))
    at = np.array([0.0, 1.0, -2.0])
    close(grad(lambda x: np.sum(broadcast(abs, x)))(at), grad(lambda x: np.sum(np.abs(x)))(at))
    larger = lambda x: np.sum(broadcast(lambda v: np.maximum(v, 1.0), x))
    close(grad(larger)(at), grad(lambda x: np.sum(np.maximum(x, 1.0)))(at))
    signed = lambda x: np.sum(broadcast(lambda v: math.copysign(v, -1.0), x))
    close(grad(signed)(at), grad(lambda x: np.sum(np.copysign(x, -1.0)))(at))


def test_several_results_of_which_some_are_used():
    def several(x, y):
        return x * y, math.sin(x), y * y, int(x)

    def loss(x, y):
        a, b, c, n = broadcast(several, x, y)
        return np.sum(a) + np.sum(b * b) * np.sum(n)

    close(grad(loss)(X, Y), differences(lambda x: loss(x, Y), X), 1e-6)
    close(grad(loss, 1)(X, Y), differences(lambda y: loss(X, y), Y), 1e-6)
    close(grad(lambda x, y: np.sum(broadcast(several, x, y)[1]), (0, 1))(X, Y)[1], 0 * Y)
    close(grad(lambda x: np.sum(broadcast(several, x, X)[3] * x))(X), np.floor(X))
    close(jacrev(lambda x: broadcast(several, x, X))(X)[0], X * I)
    rows = [differences(lambda x: grad(loss)(x, Y)[k], X) for k in range(3)]
    close(hessian(lambda x: loss(x, Y))(X), np.array(rows), 1e-5)


def test_large_arrays_and_threads():
    check_grads(total, (X, Y))
    x = np.linspace(0.1, 0.9, 1 << 18)
    one = grad(lambda x: np.sum(broadcast(newton, x, threads=1)))(x)
    close(one, 0.5 * x**-0.5)
    assert np.array_equal(one, grad(lambda x: np.sum(broadcast(newton, x, threads=2)))(x))


# -- what is shared ------------------------------------------------------------------------------------------


def test_gradients_are_arrays_of_their_own():
    x, y, seed = X.copy(), X.copy(), np.ones(3)
    f = lambda x, y: broadcast(lambda a, b: a + b, x, y)
    value, pullback = vjp(f, x, y)
    by_x, by_y = pullback(seed)
    by_x[:] = 7
    assert by_y.tolist() == seed.tolist() == [1, 1, 1] and np.array_equal(x, X)
    value[:] = 9
    assert pullback(seed)[0].tolist() == [1, 1, 1]
    for by_x, by_y in (grad(lambda x, y: np.sum(f(x, y)), (0, 1))(x, y), jvp(f, (x, y), (x, seed))):
        pairs = (by_x, by_y), (by_x, x), (by_y, seed)
        assert not any(np.shares_memory(*pair) for pair in pairs)
        by_x[:] = 3


@pytest.mark.every(3)
@pytest.mark.parametrize("how", ["recompute", "store"])
def test_pullbacks_are_called_again(how):
    x = np.linspace(0.1, 1.0, 1 << 17)
    value, pullback = vjp(applied(helper, how), x)
    first = pullback(np.ones_like(x))[0]
    del value
    gc.collect()
    [broadcast(helper, x + k) for k in range(3)]
    assert np.array_equal(pullback(np.ones_like(x))[0], first)
    close(first, 2 * x)
    close(pullback(2 * np.ones_like(x))[0], 4 * x)


def test_first_gradient_from_many_threads():
    loss = summed(lambda x: x * math.sin(x) + math.exp(-x))
    found = from_threads(lambda: grad(loss)(X))
    assert all(np.array_equal(each, found[0]) for each in found)


# -- rules and contexts --------------------------------------------------------------------------------------


def test_stop_gradient():
    close(grad(lambda x: np.sum(broadcast(lambda v: v * stop_gradient(v), x)))(X), X)


def ruled(x):
    return x * x


@custom_rule(ruled)
def _(x):
    return ruled(x), lambda ybar: 100.0 * ybar


@pytest.mark.every(3)
@pytest.mark.parametrize("f", [ruled, lambda v: ruled(v), lambda v: 0.0 + ruled(v)])
def test_custom_rules(f):
    """Right or refused."""
    try:
        found = grad(summed(f))(X)
    except TypeError:
        return
    close(found, 100.0 * np.ones(3))


def test_contexts():
    loss = lambda x: np.sum(broadcast(lambda v: v * v, x))
    close(overdub(ADContext(), loss, X)[1](1.0)[0], 2 * X)
    dual = overdub(DualContext(), loss, Dual(X, np.ones(3)))
    close(dual.partials, np.sum(2 * X))
    assert "pullback_of" in code_adjoint(loss)(X) and code_adjoint(loss)(X) == code_adjoint(loss)(X)


def test_what_is_stored_is_not_the_result(monkeypatch):
    """The pullback keeps the partial derivatives alone: y would be copied, for the caller may change it."""
    copied, touches = [], keeping.Memory.touches

    def noted(memory, array):
        copied.append(touches(memory, array))
        return copied[-1]

    monkeypatch.setattr(keeping.Memory, "touches", noted)
    x = np.linspace(0.1, 2.0, 1000)
    y, pullback = vjp(lambda x: broadcast(cubed, x, partials="store"), x)
    assert copied and not any(copied)
    y *= 0.0
    close(pullback(np.ones_like(x))[0], 3 * x**2)
