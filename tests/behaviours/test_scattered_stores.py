"""`ufunc.at` on arrays: values go where the index says, as often as it does, and so do their derivatives."""

import itertools
import textwrap

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jacfwd, jacrev, jvp, vjp
from ctxdispatch_contexts.higher import recorded as higher
from ctxdispatch_contexts.recording import api

X = np.array([0.4, -0.7, 1.3, 0.9])
ALONG = np.array([1.0, -2.0, 0.5, 0.3])

STORES = {
    "added": "np.add.at(a, {i}, {v})",
    "subtracted": "np.subtract.at(a, {i}, {v})",
    "of a variable": """
        scatter = np.subtract.at
        scatter(a, {i}, {v})
    """,
    "into a part": """
        np.add.at(a[...], {i}, {v})
        np.subtract.at(a[::-1], {i}, {v})
    """,
    "under two names": """
        b = a
        np.add.at(a, {i}, {v})
        np.add.at(b, {i}, {v})
    """,
    "times over": """
        for k in range(3):
            np.add.at(a, {i}, {v})
            a *= 0.5
    """,
    "either way": """
        if a.sum() < 3.0:
            np.add.at(a, {i}, {v})
        else:
            np.subtract.at(a, {i}, {v})
        np.add.at(a, 0, a[-1])
    """,
    "within": """
        with np.errstate(all="ignore"):
            np.add.at(a, {i}, {v})
    """,
    "tried": """
        try:
            np.add.at(a, {i}, {v})
        except IndexError:
            a[0] = 3.0
    """,
    "changed afterwards": """
        i, v = {i}, {v}
        if isinstance(i, np.ndarray):
            i = i.copy()
        np.add.at(a, i, v)
        if isinstance(v, np.ndarray):
            v *= 2.0
        np.add.at(a, i, v)
        if isinstance(i, np.ndarray):
            i[...] = 1
        a[0] = 0.5
    """,
}
TARGETS = {
    "zeros": "np.zeros(4)",
    "like": "np.zeros_like(x)",
    "full": "np.full_like(x, 2.0)",
    "copy": "x.copy()",
    "single": "np.ones(4, single)",
    "matrix": "np.outer(x, x)",
    "column": "np.ones((4, 1)) * x[1]",
}
INDICES = {
    "array": "first",
    "list": "[1, 1, 0]",
    "number": "2",
    "numpy": "np.int64(-1)",
    "slice": "slice(1, 3)",
    "step": "slice(None, None, -2)",
    "all": "...",
    "new": "None",
    "mask": "mask",
    "one": "mask & (first > 2)",
    "none": "first[:0]",
    "square": "square",
    "made": "np.array([3, 0, 0])",
    "tuple": "(first,)",
    "pairs": "(first, last)",
    "behind": "(first, slice(None, 1))",
    "rows": "(slice(1, None), last[:2])",
}
NAMES = {
    "np": np,
    "first": np.array([0, 2, 2, 3]),
    "last": np.array([0, 0, 0, -1]),
    "mask": np.array([True, False, True, True]),
    "square": np.array([[0, 0], [3, -1]]),
}
VALUES = {
    "all": "np.sin(x)[places] * x[1]",
    "number": "x[0] * x[3]",
    "row": "np.sin(x)[places[..., :1]] * x[1]",
    "axis": "np.sin(x)[places[:1]] * x[1]",
    "constant": "(places + 0.5)",
    "whole": "places",
    "single": "(np.sin(x)[places] * x[1]).astype(single)",
    "own": "a[{i}] * x[2]",
    "part": "a[{i}]",
    "list": "[*np.sin(x)[places]]",
}
SHAPES = {"matrix": (4, 4), "column": (4, 1)}

PROGRAM = """
def f(x):
    a = {target}
    before = np.exp(a * 0.3) + x[0]
{store}
    return np.sin(a) * before + a * a
"""


def program(store, target, index, value, single):
    """Of single precision, or the same of double. Each with code of its own."""
    i, names = INDICES[index], {**NAMES, "single": single}
    part = np.empty(SHAPES.get(target, 4))[eval(i, names)]
    names["places"] = np.arange(part.size).reshape(part.shape) % 4
    written = textwrap.dedent(STORES[store]).strip().format(i=i, v=VALUES[value].format(i=i))
    exec(PROGRAM.format(target=TARGETS[target], store=textwrap.indent(written, "    ")), names)
    return names["f"]


def is_a_store(case):
    try:
        program(*case, np.float64)(X.copy())
    except (IndexError, TypeError, ValueError):
        return False
    return True


CROSS = [
    case
    for case in itertools.product(STORES, TARGETS, INDICES, VALUES)
    if (case[0] in ("added", "subtracted") or case[1] == "copy") and is_a_store(case)
]


def differences(f, h=1e-6):
    return np.stack([(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(4)], -1)


@pytest.mark.every(150)
@pytest.mark.parametrize("case", CROSS, ids=", ".join)
def test_every_mode_follows(case):
    f, x = program(*case, np.float32), X.copy()
    slopes = differences(program(*case, np.float64))
    within = {"rtol": 1e-5, "atol": 1e-5} if "single" in case else {"rtol": 1e-6, "atol": 1e-7}
    for _ in range(2):  # the second by what the first one noted of types
        for jacobian in (jacfwd, jacrev):
            np.testing.assert_allclose(jacobian(f)(x), slopes, **within)
        y, moved = jvp(f, (x,), (ALONG,))
        np.testing.assert_allclose(moved, slopes @ ALONG, **within)
        np.testing.assert_array_equal(y, f(X.copy()))
        y, pullback = vjp(f, x)
        np.testing.assert_array_equal(y, f(X.copy()))
        for _ in range(2):
            (back,) = pullback(np.ones_like(y))
            np.testing.assert_allclose(back, slopes.reshape(-1, 4).sum(0), **within)
    np.testing.assert_array_equal(x, X)


# -- programs ------------------------------------------------------------------------------------------------

FIRST = NAMES["first"]


def of_other_arrays(x):
    d = {"a": np.zeros(4), "b": x.copy()}
    np.add.at(d["a"], FIRST, x)
    np.subtract.at(d["b"], FIRST, d["a"])
    return np.sum(d["a"] * d["b"])


def an_index_that_changes(x):
    a, i = x * x, FIRST.copy()
    np.add.at(a, i, np.sin(x))
    i[:] = 1
    np.subtract.at(a, i, x)
    i[0] = 0
    return np.sum(a**3)


def a_mask_that_changes(x):
    a, k = x * x, x > 0.0
    np.add.at(a, k, x[k] * 2.0)
    k[:] = True
    np.subtract.at(a, k, x)
    return np.sum(a**3)


def a_value_that_changes(x):
    a, v = np.zeros(4), np.sin(x)
    np.add.at(a, FIRST, v)
    v *= x
    np.subtract.at(a, FIRST, v)
    v[:] = 0.0
    return np.sum(a**3)


def over_its_own(x):
    a = x * x
    np.add.at(a, slice(1, 4), a[:3])
    np.add.at(a, FIRST, a)
    np.subtract.at(a, FIRST, a[::-1])
    return np.sum(a**3)


def until_it_is_large(x):
    a = x * 1.0
    while np.sum(a) < 20.0:
        np.add.at(a, FIRST[:3], a[1:] * 0.3 + abs(x[0]))
    return np.sum(a * a)


def of_infinite_slope(x):
    """Elements that are overwritten have no part in the result, whatever their slopes were."""
    a = np.zeros(4)
    np.subtract.at(a, [3, 1, 2, 2], np.sqrt(np.abs(x) - 0.4))
    a[3] = 1.0
    return np.sum(a * a * x)


def of_an_argument(x):
    def moved(y):
        np.add.at(y, FIRST, x * y)
        return y

    return np.sum(moved(x * x) ** 2)


def spread(x):
    args = (x * x, FIRST, x)
    np.add.at(*args)
    return np.sum(args[0] ** 2)


def counted(x):
    counts, sums = np.zeros(4, int), np.zeros_like(x)
    np.add.at(counts, FIRST, 1)
    np.add.at(sums, FIRST, x)
    return np.sum(sums / (counts + np.bincount(FIRST, minlength=len(x)) + 1.0) * x)


def a_derivative_within(x):
    def inner(z):
        a = np.zeros_like(z)
        np.subtract.at(a, FIRST, z * x)
        return np.sum(a**3)

    return np.sum(grad(inner)(x * x))


def what_is_flat(x):
    """What has no slope itself has one from where something is stored into it."""
    total = 0.0
    for flat in (np.floor, np.rint, np.trunc, np.sign, np.ones_like, np.zeros_like, np.round):
        y = flat(x * 3.0)
        y[0] = x[1]
        np.add.at(y, FIRST, x)
        total = total + np.sum(y * y)
    return total


FOLLOWED = [
    of_other_arrays, an_index_that_changes, a_mask_that_changes, a_value_that_changes, over_its_own,
    until_it_is_large, of_infinite_slope, of_an_argument, spread, counted, a_derivative_within, what_is_flat,
]  # fmt: skip


def a_list_that_changes(x):
    a, i = x * x, [0, 1]
    np.add.at(a, i, x[:2])
    i.append(3)
    np.add.at(a, i, x[1:] * x[0])
    i[0] = 2
    return np.sum(a**3)


def a_pair_that_changes(x):
    m, i = np.outer(x, x), FIRST.copy()
    pair = (i, i)
    np.add.at(m, pair, x)
    i[0] = 1
    return np.sum(m * m)


def by_another_name(x):
    m = np.outer(x, x)
    turned = m.T
    np.add.at(m, (FIRST, 0), x)
    np.subtract.at(m.ravel(), FIRST, x)
    np.add.at(m.reshape(-1), FIRST * 3, x)
    return np.sum(turned * np.arange(16.0).reshape(4, 4) * m)


def of_several_kept(x):
    kept = [np.zeros(4) for _ in range(3)]
    for k, a in enumerate(kept):
        np.add.at(a, FIRST, x * (k + 1.0))
    return sum(np.sum(a * a) for a in kept)


def swapped(x):
    a, b = np.zeros(4), x.copy()
    for _ in range(3):
        np.add.at(a, FIRST, b * x)
        a, b = b, a
    return np.sum(a * b * b)


def of_complex_numbers(x):
    a = np.zeros(4, complex)
    np.subtract.at(a, FIRST, x * (1.0 + 2.0j))
    return np.sum(np.abs(a) ** 2)


def other_functions(x):
    a = x * x
    np.multiply.at(a, FIRST, x)
    np.maximum.at(a, FIRST, x)
    np.negative.at(a, FIRST)
    return np.sum(a**3)


def of_no_axes(x):
    a = np.array(x[0] * x[1])
    np.add.at(a, (), x[2])
    np.subtract.at(a, ..., x[2] * x[1])
    return a * a * x[0]


def rounded_into(x):
    y, z = np.zeros(4), x * 1.0
    y[0] = x[0]
    np.around(x * 3.0, out=y)
    y[1] = x[2]
    np.floor(x, out=z)
    np.add.at(y, FIRST, x + z)
    return np.sum(y * y)


OTHERS = [
    a_list_that_changes, a_pair_that_changes, by_another_name, of_several_kept, swapped, of_complex_numbers,
    other_functions, of_no_axes, rounded_into,
]  # fmt: skip


@pytest.mark.every(3)
@pytest.mark.parametrize("f", [*FOLLOWED, *OTHERS], ids=lambda f: f.__name__)
def test_both_orders_follow(f):
    slope = differences(f)
    curved = differences(grad(f), 1e-5)
    for _ in range(2):
        np.testing.assert_allclose(grad(f)(X.copy()), slope, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(jacfwd(f)(X.copy()), slope, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(hessian(f)(X.copy()), curved, rtol=1e-6, atol=1e-6)


@pytest.fixture
def compiled(monkeypatch):
    """No program may be recorded instead."""

    def refuse(function, *args):
        raise AssertionError(f"{function} was recorded")

    for module in (api, higher):
        for name in ("joint", "split", "pushed"):
            monkeypatch.setattr(module, name, refuse, raising=module is api)


@pytest.mark.parametrize("f", FOLLOWED, ids=lambda f: f.__name__)
def test_no_run_is_recorded(f, compiled):
    for derivative in (grad, jacfwd, hessian):
        derivative(f)(X.copy())


def test_what_arguments_hold_is_known_afterwards(compiled):
    def f(p):
        a = np.zeros_like(p["w"])
        np.add.at(a, FIRST, p["w"])
        return np.sum(a * p["v"])

    found = grad(f)({"w": X, "v": X + 1.0})
    assert found["w"] == pytest.approx((X + 1.0)[FIRST])
    assert found["v"] == pytest.approx(np.bincount(FIRST, X))
