"""Spellings that people use in the midst of other things: right, and compiled with the rest."""

import functools
import time

import numpy as np
import pytest

from ctxdispatch import explain, grad, jacfwd

X = np.array([0.3, -0.7, 1.1, 0.4])
SPENT = {}


def unpacked(x):
    a, b = (x[i : i + 2] for i in (0, 2))
    return np.sum(a * b)


def unpacked_by_key(x):
    p = {"w": x[:2], "b": x[2:], "s": 2.0}
    w, b, s = (p[k] for k in ("w", "b", "s"))
    return np.sum(np.tanh(w * s) * b)


def unpacked_with_star(x):
    first, *rest = (v * v for v in (x[0], x[1], x[2]))
    return first * rest[0] + rest[1]


def a_diagonal(x):
    k = np.outer(x, x)
    np.fill_diagonal(k, 1.0)
    return np.sum(np.sin(k))


def a_diagonal_of_what_varies(x):
    k = np.outer(x, x[:3])
    np.fill_diagonal(k, x[3])
    np.fill_diagonal(k.T, k[0, 1])
    return np.sum(np.sin(k) * np.arange(12).reshape(4, 3))


def a_masked_diagonal(x):
    k = np.outer(x, x)
    np.fill_diagonal(k, -np.inf)
    return np.sum(np.exp(k))


def timed(x):
    start = time.perf_counter()
    y = np.sum(x**3)
    SPENT["f"] = time.perf_counter() - start
    return y


def asked(x):
    return np.sum(x(2.0) if callable(x) else x * x)


def lambdas_in_a_list(x):
    steps = [lambda v, k=k: np.sin(v * k) * x[0] for k in (1.0, 2.0, 3.0)]
    for step in steps:
        x = step(x)
    return np.sum(x)


def functions_in_a_list(x):
    steps = []
    for k in (1.0, 2.0):

        def step(v, k=k):
            return np.sin(v * k)

        steps.append(step)
    return np.sum(steps[0](x) * steps[-1](x))


def reduced_over_functions(x):
    steps = [lambda v, k=k: np.tanh(v * k) for k in (1.0, 2.0, 3.0)]
    return np.sum(functools.reduce(lambda h, step: step(h), steps, x))


def made_functions_in_a_list(x):
    def scaled(k):
        return lambda v: v * k

    for step in [scaled(k) for k in (x[0], x[1], 2.0)]:
        x = step(x)
    return np.sum(x)


def _total(tree):
    if isinstance(tree, dict):
        return sum(_total(v) for v in tree.values())
    if isinstance(tree, (list, tuple)):
        return sum(_total(v) for v in tree)
    return np.sum(tree**2)


def a_tree(x):
    return _total({"a": [(x, x * 2.0), (x[:2],)], "b": np.sin(x)})


def _flat(tree):
    return np.concatenate([_flat(v) for v in tree]) if isinstance(tree, (list, tuple)) else np.ravel(tree)


def a_flattened_tree(x):
    flat = _flat([(x, np.outer(x, x)), (x * x, np.outer(x, x))])
    return np.dot(flat, np.cos(flat))


class _Base:
    def __init__(self, w):
        self.w = w

    def apply(self, x):
        return x * self.w


class _Scaled(_Base):
    def __init__(self, w, k):
        super().__init__(w * 2.0)
        self.k = k

    def apply(self, x):
        return super().apply(x) * self.k


def methods_of_a_base(x):
    return np.sum(_Scaled(x, 3.0).apply(x))


COMPILED = [
    unpacked, unpacked_by_key, unpacked_with_star, a_diagonal, a_masked_diagonal, timed, asked,
    lambdas_in_a_list, functions_in_a_list, reduced_over_functions, made_functions_in_a_list, a_tree,
    a_flattened_tree, methods_of_a_base,
]  # fmt: skip


@pytest.mark.parametrize("f", COMPILED, ids=lambda f: f.__name__)
def test_it_is_right_and_compiled(f):
    gradient = grad(f)
    agrees(f, gradient)
    assert explain(gradient)(X).regions[0].tier == "compiled whole"


def test_a_diagonal_by_another_name():
    agrees(a_diagonal_of_what_varies, grad(a_diagonal_of_what_varies))


def agrees(f, gradient):
    step = 1e-6
    want = [(f(X + step * e) - f(X - step * e)) / (2 * step) for e in np.eye(4)]
    np.testing.assert_allclose(gradient(X), want, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("count", [1, 3])
def test_as_many_items_as_names(count):
    def f(x):
        a, b = (v * v for v in (x[0], x[1], x[2])[:count])
        return a * b

    with pytest.raises(ValueError) as plain:
        f(X)
    with pytest.raises(ValueError) as ours:
        grad(f)(X)
    assert str(ours.value) == str(plain.value)


NAMED = [
    "pow(x[0], exp=3)", "pow(base=x[0], exp=3)", "pow(exp=x[0], base=2.0)", "sum([x[0], x[1]], start=x[2])",
    "functools.partial(pow, exp=2)(x[0])", "[f(x[0]) for f in (functools.partial(pow, exp=2), abs)][0]",
    "round(number=x[0] * 2.6, ndigits=1) * x[1]", "max([x[0], x[1]], default=2.0)", "pow(x, exp=2).sum()",
]  # fmt: skip


@pytest.mark.parametrize("text", NAMED)
def test_operands_of_builtins_by_name(text):
    space = {"functools": functools}
    exec(f"def f(x):\n    return {text}\n", space)
    f = space["f"]
    wanted = [(f(X + e) - f(X - e)) / 2e-6 for e in 1e-6 * np.eye(4)]
    for _ in range(3):
        np.testing.assert_allclose(grad(f)(X), wanted, atol=1e-6)
        np.testing.assert_allclose(jacfwd(f)(X), wanted, atol=1e-6)


@pytest.mark.parametrize("text", ["pow(x[0], expo=3)", "pow(x[0], base=3)", "round(numbre=x[0])"])
def test_wrong_names_raise_as_they_do(text):
    space = {}
    exec(f"def f(x):\n    return {text}\n", space)
    with pytest.raises(TypeError) as plain:
        space["f"](X)
    for _ in range(2):
        with pytest.raises(TypeError) as found:
            grad(space["f"])(X)
        assert str(found.value) == str(plain.value)
