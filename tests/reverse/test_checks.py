"""`check_grads` accepts what is right and nothing else; `stop_gradient`; the import of the contexts."""

import subprocess
import sys

import numpy as np
import pytest

from ctxdispatch import ADContext, check_grads, custom_rule, grad, overdub, stop_gradient, vjp


def cube(x):
    return x**3


def wrong(x):
    return x * x


custom_rule(wrong)(lambda x: (x * x, lambda ybar: 3.0 * x * ybar))


class Model:
    def __init__(self):
        self.w = np.array([1.0, 2.0])


@pytest.mark.parametrize(
    "f, args",
    [
        (cube, (1.5,)),
        (cube, (np.arange(3.0),)),
        (cube, (np.ones((2, 3), np.float32),)),
        (lambda x: np.sum(abs(x) ** 2), (np.ones(3) + 1j,)),
        (lambda d: d["a"][0] * d["b"], ({"a": [1.0], "b": 2.0},)),
        (lambda m: m.w**2, (Model(),)),
        (lambda x: (x, {"y": [x * x]}), (2.0,)),
        (lambda x, n: x**n, (2.0, 3)),
    ],
)
def test_check_grads_accepts_what_is_right(f, args):
    check_grads(f, args)


def test_check_grads_says_both_numbers():
    with pytest.raises(AssertionError, match="reverse mode gives .*, central differences give"):
        check_grads(lambda x: wrong(x) + x, (2.0,))
    check_grads(lambda x: wrong(x) + x, (2.0,), rtol=1.0)


def test_check_grads_has_the_first_order_of_reverse_mode():
    with pytest.raises(ValueError, match="order 1 and mode 'rev'"):
        check_grads(cube, (1.0,), order=2)
    with pytest.raises(ValueError, match="order 1 and mode 'rev'"):
        check_grads(cube, (1.0,), modes=("fwd",))


def test_stop_gradient_is_the_identity_without_a_derivative():
    x = np.array([1.0, 2.0])
    assert stop_gradient(x) is x
    np.testing.assert_array_equal(grad(lambda x: np.sum(x * stop_gradient(x)))(x), x)
    assert grad(lambda x: stop_gradient(x) * 2.0)(3.0) == 0.0
    assert grad(lambda d: d["a"] * stop_gradient(d)["a"])({"a": 3.0}) == {"a": 3.0}
    assert vjp(lambda x, y: stop_gradient(x * y) + y, 2.0, 3.0)[1](1.0) == (0.0, 1.0)


def test_stop_gradient_in_a_loop():
    def f(x):
        total = 0.0
        for _ in range(3):
            total = stop_gradient(total) + x * total + x
        return total

    assert grad(f)(0.5) == 3.25  # 1, then 0.5 + 0.5 * 1 + 1, then 1.25 + 0.5 * 2 + 1


@pytest.mark.parametrize("first", ["ctxdispatch.contexts", "ctxdispatch_contexts.reverse", "ctxdispatch"])
def test_the_context_is_one_class_whatever_is_imported_first(first):
    code = (
        f"import {first}\n"
        "from ctxdispatch.contexts import ADContext\n"
        "import ctxdispatch, ctxdispatch_contexts.reverse\n"
        "assert ADContext is ctxdispatch.ADContext is ctxdispatch_contexts.reverse.ADContext\n"
        "assert issubclass(ADContext, ctxdispatch.Context)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_reading_variables_by_name():
    assert grad(lambda x: locals()["x"] * 2)(2.0) == 2.0
    with pytest.raises(TypeError, match="eval has no derivative rule"):
        grad(lambda x: eval("x * 2"))(2.0)


def test_check_grads_looks_into_objects():
    @custom_rule(wrong_square)
    def _(x):
        return x * x, lambda ybar: 99.0 * ybar

    try:
        with pytest.raises(AssertionError, match="reverse mode gives"):
            check_grads(lambda m: wrong_square(m.w).sum(), (Model(),))
    finally:
        ADContext.unrule(wrong_square)
    check_grads(lambda m: wrong_square(m.w).sum(), (Model(),))


def wrong_square(x):
    return x * x


@pytest.mark.parametrize("args", [(2,), ("a",), ([1, 2],), (np.arange(3),)])
def test_check_grads_with_nothing_to_check(args):
    with pytest.raises(ValueError, match="there is nothing to check"):
        check_grads(lambda x: x, args)


@pytest.mark.parametrize("cotangent", [np.array([5.0]), 5.0, np.ones(7), np.ones((3, 1))], ids=np.shape)
def test_a_rule_that_gives_another_shape(cotangent):
    custom_rule(wrong_square)(lambda x: (x * x, lambda ybar: cotangent))
    try:
        with pytest.raises(TypeError, match=r"wrong_square gave a cotangent of shape .* for argument 0"):
            grad(lambda x: wrong_square(x).sum())(np.ones(3))
    finally:
        ADContext.unrule(wrong_square)


@pytest.mark.parametrize("more", [(7.0,), (None, 7.0), (7.0, 8.0)])
def test_a_pullback_takes_one_cotangent(more):
    _, pullback = overdub(ADContext(), lambda a, b: a * b, 2.0, 3.0)
    assert pullback(1.0) == (3.0, 2.0)
    with pytest.raises(TypeError):
        pullback(1.0, *more)
    _, pullback = vjp(lambda a: (a * a).sum(), np.arange(3.0))
    with pytest.raises(TypeError):
        pullback(1.0, *more)
