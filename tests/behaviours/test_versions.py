"""Variables that hold a number or None first and an array later: starts, loops and steps as people write
them, with no iteration, with one and with several. All are compiled, and raise what the plain call does."""

import itertools

import numpy as np
import pytest

from ctxdispatch import explain, grad, hessian, jacfwd

RNG = np.random.default_rng(5)
A = RNG.standard_normal((4, 3, 3))
X = np.array([0.5, 1.5, -0.7])

LOOPS = {
    "range": "for k in range(n):\n        v = A[k] @ x",
    "rows": "for a in A[:n]:\n        v = a @ x",
    "own_items": "for t in x[:n]:\n        v = np.array([t, t * t, 1.0])",
    "zip": "for a, t in zip(A, x[:n]):\n        v = a[0] * t",
    "enumerate": "for k, t in enumerate(x[:n]):\n        v = A[k, 0] * t",
    "list": "for t in [x * 2.0, x ** 2, x][:n]:\n        v = t",
    "while": "k = 0\n    while k < n:\n        v = A[k] @ x\n        k += 1",
    "nested": "for k in range(n):\n        v = 0\n        for j in range(n): v = v + A[j] @ x * k",
}  # fmt: skip
STEPS = {
    "sum": "y = y + v", "in_place": "y += v", "skipping": "if v[0] > 0.3: continue\n        y = y + v",
    "leaving": "y = y + v\n        if y[1] > 0.5: break",
    "two": "y = y + v\n        z = z + v * v", "if": "if y is None: y = v\n        else: y = y + v",
    "else": "y = v if y is None else np.maximum(y, v)", "previous": "y, z = v, y if y is not None else z",
}  # fmt: skip
STARTS = {"0": "0", "0.0": "0.0", "None": "None", "ints": "np.zeros(3, int)", "number": "np.float64(0.0)"}
ENDS = {
    "product": "np.sum(y * x) + np.sum(z)", "method": "(y * x).sum() + np.sum(z)",
    "matrix": "y @ x + np.sum(z)",
}  # fmt: skip
COMPILED = {"compiled whole", "compiled as an attempt"}

CASES = [
    (start, loop, step, end)
    for start, loop, step, end in itertools.product(STARTS, LOOPS, STEPS, ENDS)
    if (start == "None") is (step in ("if", "else", "previous"))
    and (start, step) != ("ints", "in_place")  # which raises
    and (start, loop, step, end) != ("ints", "while", "skipping", "method")  # which is recorded
]


def made(start, loop, step, end):
    source = f"def f(x, n):\n    y = {STARTS[start]}\n    z = 0.0\n    {LOOPS[loop]}\n        {STEPS[step]}\n"
    scope = {"np": np, "A": A}
    exec(source + f"    return {ENDS[end]}\n", scope)
    return scope["f"]


def outcome(f, *args):
    try:
        return f(*args)
    except (TypeError, ValueError, AttributeError) as error:
        return type(error)


def central(f, x, n, h=1e-6):
    return np.array([(f(x + e, n) - f(x - e, n)) / (2 * h) for e in np.eye(3) * h])


@pytest.mark.every(30)
@pytest.mark.parametrize("start, loop, step, end", CASES)
def test_what_becomes_an_array(start, loop, step, end):
    f = made(start, loop, step, end)
    for n in (3, 0, 1, 3):
        plain = outcome(f, X, n)
        if type(plain) is type:
            assert outcome(grad(f), X, n) is plain
        else:
            wanted = central(f, X, n)
            np.testing.assert_allclose(grad(f)(X, n), wanted, atol=1e-6)
            np.testing.assert_allclose(jacfwd(f)(X, n), wanted, atol=1e-6)
    assert {region.tier for region in explain(grad(f))(X, 3).regions} <= COMPILED


@pytest.mark.every(60)
@pytest.mark.parametrize("start, loop, step, end", CASES)
def test_second_derivatives(start, loop, step, end):
    f = made(start, loop, step, end)
    wanted = [(grad(f)(X + e, 3) - grad(f)(X - e, 3)) / 2e-5 for e in np.eye(3) * 1e-5]
    np.testing.assert_allclose(hessian(f)(X, 3), wanted, atol=1e-5)


# -- other ways to meet --------------------------------------------------------------------------------------


def either_function(x, n):
    act = np.tanh if x[0] > 0 else np.sin
    return act(x).sum()


def another_rank(x, n):
    y = x
    if n > 1:
        y = x[None]
    return (y @ A[0]).sum()


def a_sum(x, n):
    s = sum([A[k] @ x for k in range(n)])
    return np.sum(s * x)


def a_sum_of_a_generator(x, n):
    s = sum(A[k] @ x for k in range(n))
    return np.sum(s * x)


def a_list_of_sums(x, n):
    kept, s = [], 0
    for k in range(n):
        s = s + A[k] @ x
        kept.append(s)
    return np.sum(sum(kept) * x)


def a_best_one(x, n):
    best, found = None, None
    for k in range(n):
        v = A[k] @ x
        if best is None or v[0] < best:
            best, found = v[0], v
    return 0.0 if found is None else found @ x


def in_a_try(x, n):
    s = 0
    try:
        for k in range(n):
            s = s + A[k] @ x
    except ValueError:
        return 0.0
    return np.sum(s * x)


def five_sums_in_a_row(x, n):
    total = 0.0
    for power in range(5):
        s = 0
        for k in range(n):
            s = s + (A[k] @ x) ** (power + 1)
        total = total + np.sum(s)
    a = b = c = d = 0
    for k in range(n):
        a = a + A[k] @ x
    for k in range(n):
        b = b + A[k] @ x - a
    for k in range(n):
        c = c + A[k] @ x * b
    for k in range(n):
        d = d + A[k] @ x * c
    return total + np.sum(a * b + c * d)


OTHERS = [
    either_function, another_rank, a_sum, a_sum_of_a_generator, a_list_of_sums, a_best_one, in_a_try,
    five_sums_in_a_row,
]  # fmt: skip


@pytest.mark.parametrize("f", OTHERS, ids=lambda f: f.__name__)
def test_other_ways(f):
    for n in (3, 0, 1, 3):
        np.testing.assert_allclose(grad(f)(X, n), central(f, X, n), atol=1e-5)
        np.testing.assert_allclose(jacfwd(f)(X, n), central(f, X, n), atol=1e-5)
    assert {region.tier for region in explain(grad(f))(X, 3).regions} <= COMPILED


# -- what is never defined -----------------------------------------------------------------------------------

NEVER = {
    "none": lambda x, y: None + x[0], "matrix": lambda x, y: 0.0 @ (x[0] * 1.0),
    "attribute": lambda x, y: y.sum() * x[0], "array": lambda x, y: (y @ x)[0],
    "shift": lambda x, y: (y << 1) * x[0], "item": lambda x, y: y[0] * x[0],
}  # fmt: skip


@pytest.mark.parametrize("caught", [False, True])
@pytest.mark.parametrize("name", NEVER)
def test_what_raises_whatever_the_numbers(name, caught):
    def f(x, y):
        if x[1] > 0:
            return np.sum(x**2)
        if not caught:
            return NEVER[name](x, y)
        try:
            NEVER[name](x, y)
        except (TypeError, ValueError, AttributeError):
            return x[0] ** 3

    np.testing.assert_allclose(grad(f)(X, 1.0), 2 * X)
    at = np.array([0.5, -1.5, 0.7])
    if caught:
        np.testing.assert_allclose(grad(f)(at, 1.0), [0.75, 0.0, 0.0])
    else:
        assert outcome(grad(f), at, 1.0) is outcome(f, at, 1.0)
