"""Poles crossed with structural zeros, orders and paths: derivatives at a pole whose element is not used are
those of the same program beside it, by forward mode, which has no masks.

A program has a row of `xs` for each of its poles, and the row's first element is at it.
"""

import itertools

import numpy as np
import pytest

from ctxdispatch import grad, hessian, hvp, jacfwd, jacrev, jvp, vjp
from tests.recording import recorded

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

POLES = {  # where the first element is, and two others
    "np.sqrt({})": (0.0, 0.6, 1.7), "np.log({})": (0.0, 0.6, 1.7), "{} ** 0.3": (0.0, 0.6, 1.7),
    "1.5 / {}": (0.0, 0.6, 1.7), "np.arccos({} - 3.0)": (4.0, 2.3, 3.4),
    "np.linalg.norm(np.stack(({}, 0.5 * {})), axis=0)": (0.0, 0.6, 1.7),
    "np.power({}, 0.7) * {}": (0.0, 0.6, 1.7), "np.sin({}) / {}": (0.0, 0.6, 1.7),
    "np.log(np.sqrt({})) * np.exp({})": (0.0, 0.6, 1.7), "np.exp({} * 9.0)": (80.0, 0.1, 0.2),
    "np.hypot({}, 0.0) ** -0.5": (0.0, 0.6, 1.7), "np.arctanh({} / 4.0)": (4.0, 0.6, 1.7),
}  # fmt: skip

ZEROS = {  # P(x) has the pole
    "index": "out = P(x)[1:] * w",
    "element": "y = P(x); out = y[1] * y[2] * w",
    "flags": "y = P(x); out = y[USED] * w",
    "where": "out = np.where(USED, P(x), x)[1:] * w",
    "where of a product": "y = P(x); out = np.where(USED, y * y, 0.0) * 2.0",
    "sum where": "out = np.sum(P(x), where=USED) * w",
    "overwritten": "y = P(x); y[0] = x[1]; out = y[1:] * w",
    "overwritten by a row": "y = np.zeros(3); y[:] = P(x); y[:1] = 0.0; out = y",
    "untaken arm": "out = np.array([P(v) if i else v * 0.0 for i, v in enumerate(x)])[1:] * w",
    "matrix": "out = M @ P(x)[1:]",
    "matrix that has a list": "out = np.dot([[0.0, 1.0, -2.0]], np.where(USED, P(x), 0.0))",
    "twice": "y = P(x); out = y[1:] * w + (P(y * 0.0 + x) + x)[1:]",
    "loop": "y = P(x); out = 0.0\nfor i in range(1, 3): out = out + y[i] * x[i] * w",
    "called": "out = called(lambda: P(x))[1:] * w",
    "of unknown type": "y = np.add(P(x), unknown(0.0)); out = y[1:] * w",
}  # fmt: skip

BESIDE = 0.9
ALONG = np.array([1.0, -0.5, 0.25])


def called(f):
    return f()


def unknown(x):
    return {"a": x, "b": None}[min("ab", key=str)]


def program(zero, poles, recorded=False):
    lines = ["total = 0.0"]
    for row, pole in enumerate(poles):
        lines += [f"x = xs[{row}]", *spelled(ZEROS[zero], pole).split("\n")]
        lines.append(f"total = total + np.sum(np.sin(out * 0.3) + out * {row + 1}.0)")
    lines.append("return total")
    indent = "    "
    if recorded:
        lines = ["try:", *(f"    {line}" for line in lines), "finally: pass"]
    names = {
        "np": np, "called": called, "unknown": unknown, "w": np.array([1.3, 0.7]),
        "USED": np.array([False, True, True]), "M": np.array([[1.0, -2.0], [0.5, 1.0]]),
    }  # fmt: skip
    exec("def f(xs):\n" + "\n".join(indent + line for line in lines), names)
    return names["f"]


def spelled(text, pole):
    while (at := text.rfind("P(")) >= 0:
        depth = list(itertools.accumulate((c == "(") - (c == ")") for c in text[at + 1 :]))
        end = at + 1 + depth.index(0)
        text = text[:at] + "(" + pole.replace("{}", text[at + 1 : end + 1]) + ")" + text[end + 1 :]
    return text


SECONDS = {  # the derivative of the gradient g of f along v
    "jvp of grad": lambda f, g, xs, v: jvp(g, (xs,), (v,))[1],
    "grad of grad": lambda f, g, xs, v: grad(lambda xs: np.sum(g(xs) * v))(xs),
    "hvp": lambda f, g, xs, v: hvp(f, (xs,), (v,)),
    "jvp of a recorded run": lambda f, g, xs, v: jvp(recorded(g), (xs,), (v,))[1],
    "vjp of grad": lambda f, g, xs, v: vjp(g, xs)[1](v)[0],
}

CASES = [
    (zero, [*POLES][k % 6 :: 6], path, [*SECONDS][k % 5 :: 3])
    for k, (zero, path) in enumerate(itertools.product(ZEROS, ("compiled", "recorded")))
]


@pytest.mark.every(12)
@pytest.mark.parametrize(("zero", "poles", "path", "names"), CASES, ids=[f"{c[0]}-{c[2]}" for c in CASES])
def test_orders_and_paths(zero, poles, path, names):
    f = program(zero, poles, path == "recorded")
    at = np.array([POLES[pole] for pole in poles])
    beside, v = at.copy(), np.array([ALONG * (row + 1) for row in range(len(poles))])
    beside[:, 0] = [4.0 - BESIDE if pole[0] == 4.0 else BESIDE for pole in at]
    plain, h = program(zero, poles), 1e-5

    def gradient(xs):
        return jacfwd(plain)(xs)

    np.testing.assert_allclose(grad(f)(at), gradient(beside), rtol=1e-9, atol=1e-12)
    want = (gradient(beside + h * v) - gradient(beside - h * v)) / (2 * h)
    for name in names:
        found = SECONDS[name](f, grad(f), at, v)
        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4, err_msg=name)


def left_early(x):
    rest = np.zeros(3)
    if not np.any(x > -100.0):
        return rest
    return np.where(x > -100.0, x**3, rest)


def test_a_selection_of_nothing_that_arrives_is_zero():
    """Where the gradient is swept, what has returned early has no cotangent of its own."""
    x = np.array([0.3, 0.6, 0.8])
    slopes = jacrev(grad(lambda x: np.sum(left_early(x))))(x)
    np.testing.assert_allclose(slopes, np.diag(6.0 * x))


def returned_early(x):
    for n in range(20):
        if x > 5:
            return x * n
        x = x * 1.7
    return x


def broken_off(x):
    n = 0
    while n < 3:
        n += 1
        if x * n > 5:
            break
    else:
        return x * x
    return x * n


def of_a_dict(x):
    d = {}
    for i in range(5):
        d[i] = x * i
        if d[i] > 3:
            return d[i]
    return d[1] + d[4]


@pytest.mark.parametrize("x", [0.5, 1.3, 2.13, np.float64(0.77), np.float64(2.13)])
@pytest.mark.parametrize("f", [returned_early, broken_off, of_a_dict, lambda x: 3 * x, lambda x: x, abs])
@pytest.mark.parametrize("outer", [grad, jacfwd, jacrev])
@pytest.mark.parametrize("inner", [grad, jacfwd, jacrev])
def test_what_does_not_bend_has_zeros(inner, outer, f, x):
    slope = (inner(f)(x + 1e-5) - inner(f)(x - 1e-5)) / 2e-5
    for _ in range(3):
        np.testing.assert_allclose(np.asarray(outer(inner(f))(x), float), slope, atol=1e-4)
    np.testing.assert_allclose(np.asarray(hessian(f)(x), float), slope, atol=1e-4)
