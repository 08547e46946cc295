"""Where an index, a condition, a later store or an arm that was not taken decides that nothing arrives for an
element, an infinite partial leaves its cotangent 0; where a number happens to be 0, it is nan.

Each pole is met at the first element, which no consumer uses; the gradient is that of the same program where
the first element is at no pole.
"""

import itertools
import math

import numpy as np
import pytest

from ctxdispatch import code_adjoint, grad, hessian, jacfwd, jacrev
from tests.recording import RECORDED, recorded

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

USED = np.array([False, True, True, True])

POLES = {
    "np.sqrt(x)": 0.0, "x ** 0.5": 0.0, "np.power(x, 0.3)": 0.0, "np.log(x)": 0.0, "np.log1p(x)": -1.0,
    "2.0 / x": 0.0, "np.reciprocal(x)": 0.0, "np.cbrt(x)": 0.0, "np.arcsin(x / 8.0)": 8.0,
    "np.arccosh(x + 1.0)": 0.0, "np.arctanh(x / 8.0)": 8.0, "np.exp(x)": 1000.0,
    "np.sqrt((x - 0.0) ** 2)": 0.0, "np.log(np.sqrt(x))": 0.0, "np.hypot(x, 0.0) ** -0.5": 0.0,
}  # fmt: skip

EXPRESSIONS = [
    "np.sum(y[1:])", "y[1] + y[2] * y[3]", "y[-1] * 2.0", "np.sum(y[1::2])", "np.sum(y[::-1][:3])",
    "np.sum(np.take(y, [1, 2, 2]))", "np.sum(y[[1, 3]] ** 2)", "np.sum(y[USED])", "y.item(2)",
    "np.sum(np.where(USED, y, x))", "np.sum(np.where(USED, y * 2.0 + 1.0, 0.0))",
    "np.sum(np.select([~USED, USED], [x, y]))", "np.sum(np.choose(USED.astype(int), [x, y]))",
    "np.sum(np.piecewise(x, [USED], [lambda t: t * 2.0, lambda t: t])) + y[1]",
    "np.sum(np.tril(np.triu(y.reshape(2, 2)[::-1, ::-1]).T, -1))", "np.sum(np.tril(y.reshape(2, 2), -1))",
    "np.sum(np.diag(y.reshape(2, 2)[:, ::-1]))", "np.diag(y)[2, 2]", "np.trace(y.reshape(2, 2)[:, ::-1])",
    "np.sum(y.reshape(2, 2)[1])", "np.sum(y.reshape(2, 2).T[1, :])", "y.reshape(2, 2).ravel()[3]",
    "np.sum(np.concatenate((x, y))[5:])", "np.sum(np.concatenate((y[1:], x)))",
    "np.sum(np.stack((y, x))[:, 1:])", "np.sum(np.pad(y, 2)[3:])", "np.sum(np.roll(y, 1)[2:])",
    "np.sum(np.insert(y, 1, 5.0)[1:])", "np.sum(np.repeat(y, 2)[2:])", "np.sum(np.tile(y, 2)[5:])",
    "np.sum(np.delete(y, 0))", "np.sum(np.compress(USED, y))", "np.sum(np.extract(USED, y))",
    "np.sum(np.split(y, 2)[1])", "np.max(y[1:])", "np.sum(np.sort(y[1:])[:2])",
    "np.sum(np.maximum(y[1:], x[1:]))", "np.partition(y[1:], 1)[1]",
    "np.sum(y, where=USED)", "np.add.reduce(y, where=USED)",
    "np.mean(y, where=USED)", "np.var(y, where=USED)", "np.max(y, where=USED, initial=-1e9)",
    "np.prod(y, where=USED)", "np.nansum(np.where(USED, y, np.nan))", "np.nanmax(np.where(USED, y, np.nan))",
    "np.cumsum(y[::-1])[2]", "y[1:] @ np.arange(3.0)", "np.einsum('i,i->', y[1:], x[1:])",
    "np.linalg.norm(y[1:])", "np.sum((y[2:] + y[1:-1]) * 0.5)", "(y, x)[0][2]", "{'a': y}['a'][1]",
    "sum([v * 2.0 for v in y][1:])", "min(y[1], y[2])", "(y[1] if x[1] > 0 else y[0]) * 2.0",
]  # fmt: skip

BLOCKS = {
    "overwritten": "y[0] = x[0]; out = np.sum(y)",
    "overwritten by a mask": "y[~USED] = 0.0; out = np.sum(y * y)",
    "overwritten in another array": "z = np.zeros(4); z[:] = y; z[:1] = x[:1] * 2.0; out = np.sum(z)",
    "divided in place": "z = np.ones(4); z /= x; out = np.sum(z[1:]) + y[1]",
    "divided in place by what is no more than a number": "z = y * 1.0; z /= x[1]; out = np.sum(z[1:])",
    "divided in place and overwritten": "w = np.ones(4); w /= y; w[0] = 1.0; out = np.sum(w * w)",
    "multiplied in place": "z = x * 1.0; z *= y; z *= 1.0 / y; out = np.sum(z[USED] * x[USED])",
    "divided in an arm": "z = np.ones(4); z /= y\nif x[1] > 0: out = np.sum(z[1:])\nelse: out = y[1]",
    "overwritten copy": "z = y.copy(); z[0] = 1.0; out = np.sum(z)",
    "stored in part": "z = np.zeros(4); z[1:] = y[1:]; out = np.sum(z)",
    "added in part": "z = np.zeros(3); z += y[1:]; z *= 2.0; z -= y[1:]; out = np.sum(z * z)",
    "unpacked": "a, b, c, d = y; out = b * c + d",
    "loop over indices": "out = 0.0\nfor i in range(1, 4): out = out + y[i] * i",
    "loop with a branch": "out = 0.0\nfor i in range(4):\n if USED[i]: out += y[i]\n else: out += x[i]",
    "loop with lists": "z = []\nfor v in y: z.append(v * 2.0)\nout = z[1] + z[3]",
    "loop with stores":
        "z = np.zeros(4)\nfor i in range(4): z[i] = y[i]\nfor i in range(2): z[0] = x[i]\nout = np.sum(z)",
    "carried": "z = y\nfor i in range(3): z = z * 1.5 + x\nout = np.sum(z[1:])",
    "branch": "z = y * 2.0\nif x[1] > 0.0: z = z[1:]\nout = np.sum(z)",
    "scalars": "s = [math.sqrt(abs(v)) for v in (x[0] * 0.0, x[1])]\nout = s[1] + y[1]",
}  # fmt: skip

WITHIN = "with RECORDED:\n        {}"


def made(pole, consumer, recorded=False):
    body = BLOCKS.get(consumer) or f"out = {consumer}"
    lines = [f"y = {pole}", *body.split("\n"), "return out"]
    text = "\n        ".join(lines)
    names = {"np": np, "math": math, "USED": USED, "RECORDED": RECORDED}
    exec(
        "def f(x):\n    " + (WITHIN.format(text) if recorded else text.replace("\n        ", "\n    ")),
        names,
    )
    return names["f"]


def points(pole):
    return np.array([POLES[pole], 1.0, 2.0, 3.0]), np.array([0.7, 1.0, 2.0, 3.0])


CONSUMERS = [*EXPRESSIONS, *BLOCKS]
CASES = [*zip(itertools.cycle(POLES), CONSUMERS), *zip(itertools.cycle([*POLES][7:]), CONSUMERS[::3])]


@pytest.mark.parametrize(("pole", "consumer"), CASES)
def test_reverse_mode_agrees_at_poles(pole, consumer):
    f = made(pole, consumer)
    at, beside = points(pole)
    np.testing.assert_allclose(grad(f)(at), grad(f)(beside))


@pytest.mark.parametrize(("pole", "consumer"), CASES[::3])
def test_recorded_runs_agree_at_poles(pole, consumer):
    f = made(pole, consumer, recorded=True)
    at, beside = points(pole)
    np.testing.assert_allclose(grad(f)(at), grad(f)(beside))


@pytest.mark.parametrize(("pole", "consumer"), CASES[::11])
def test_forward_mode_and_second_derivatives_agree(pole, consumer):
    f = made(pole, consumer)
    at, beside = points(pole)
    np.testing.assert_allclose(jacfwd(f)(at)[1:], grad(f)(beside)[1:])
    np.testing.assert_allclose(hessian(f)(at)[1:, 1:], hessian(f)(beside)[1:, 1:], atol=1e-12)


def test_rows_of_a_jacobian():
    def f(x):
        y = np.sqrt(x)
        y[0] = x[0] * x[1]
        return y

    at = np.array([0.0, 4.0])
    np.testing.assert_allclose(jacrev(f)(at), [[4.0, 0.0], [0.0, 0.25]])


def square_of_root(x):
    return math.sqrt(x[0]) ** 2


def square_of_roots(x):
    return np.sum(np.sqrt(x) ** 2)


def square_that_is_read(x):
    return (np.sqrt(x) ** 2)[0]


def square_in_an_array(x):
    z = np.zeros(2)
    z[0] = math.sqrt(x[0])
    z[1] = x[1]
    return z[0] ** 2 + z[1]


def square_where(x):
    return np.sum(np.where(x < 1.0, np.sqrt(x) ** 2, x))


VALUES = [square_of_root, square_of_roots, square_that_is_read, square_in_an_array, square_where]


@pytest.mark.parametrize("f", [*VALUES, *map(recorded, VALUES)])
def test_a_zero_by_value_is_none_by_structure(f):
    found = grad(f)(np.array([0.0, 4.0]))
    assert np.isnan(found[0])
    assert not np.isnan(found[1])


def test_a_choice_below_a_pole():
    def f(x):
        return np.sum(np.sqrt(np.maximum(x, 0.0)))

    np.testing.assert_allclose(grad(f)(np.array([-1.0, 4.0])), [0.0, 0.25])


def test_arms_that_are_not_taken():
    def f(x):
        y = math.sqrt(x)
        if x > 1.0:
            return y
        return x

    assert grad(f)(0.0) == grad(recorded(f))(0.0) == 1.0
    assert grad(f)(4.0) == 0.25


def test_what_is_used_in_full_has_no_mask():
    """Nor does what is divided by a number, or summed in a loop."""

    def f(x):
        total = 0.0
        for i in range(3):
            total = total + np.sum(np.sqrt(x) / np.sqrt(x + i))
        return total / 2.0

    assert "where" not in code_adjoint(f)(np.array([1.0, 4.0]))


def test_calls_found_at_run_time():
    def f(x, h):
        return np.sum(h(np.sqrt(x))[1:])

    assert grad(f)(np.array([0.0, 4.0]), np.copy).tolist() == [0.0, 0.25]


def test_long_programs():
    names = {"np": np}
    lines = ["def f(x):", "    y = np.sqrt(x)", *["    y = y + 1.0"] * 400, "    return np.sum(y[1:])"]
    exec("\n".join(lines), names)
    assert grad(names["f"])(np.array([0.0, 4.0])).tolist() == [0.0, 0.25]


LISTED = [[0.0, 1.0], [1.0, 2.0], [-1.0, 2.0]]
UNKNOWN = {"a": np.array(LISTED)}


@pytest.mark.parametrize("f", [
    lambda y: np.dot(LISTED, y),
    lambda y: np.tensordot(y, axes=1, b=np.array(LISTED).T),
    lambda y: np.dot(sorted(UNKNOWN.values(), key=id)[0], y),
    lambda y: np.asarray(np.asmatrix(LISTED) @ y).ravel(),
    lambda y: np.einsum("ij,j->i", LISTED, y),
    lambda y: np.array([sum(a * b for a, b in zip(row, y)) for row in LISTED]),
])  # fmt: skip
def test_factors_of_products_are_no_part_of_masks(f):
    """Whose elements may be 0, or cancel each other."""

    def run(x):
        return f(np.sqrt(x))[1] * 2.0 + f(np.sqrt(x))[2]

    assert grad(run)(np.array([1.0, 4.0])).tolist() == [0.5, 1.5]
    assert grad(recorded(run))(np.array([1.0, 4.0])).tolist() == [0.5, 1.5]


DATA = np.array([np.nan, 1.0, 2.0])


@pytest.mark.parametrize("f", [
    lambda x: np.nansum(x * DATA),
    lambda x: np.nanmax(x * DATA),
    lambda x: np.nansum((x - DATA) * (x - DATA)),
    lambda x: np.sum(np.where(np.isnan(DATA), 0.0, np.sin(x * DATA))),
    lambda x: np.sum((x * DATA)[np.isfinite(DATA)]),
])  # fmt: skip
def test_products_with_nan_that_is_left_out(f):
    found = grad(f)(np.ones(3))
    assert found[0] == 0.0
    np.testing.assert_allclose(found, jacfwd(f)(np.ones(3)))


@pytest.mark.parametrize("size", [5, 50_000])
def test_chains_on_large_arrays(size):
    def f(x):
        return np.sum((np.sqrt(x) * np.exp(-x) + 1.0)[1:])

    def g(x):
        return np.sum(np.where(x > 0.0, np.log(np.sqrt(x) * 2.0) * x, x))

    x = np.linspace(0.0, 2.0, size)
    assert grad(f)(x)[0] == 0.0
    assert grad(g)(x)[0] == 1.0


OTHERS = [0, True, np.int64(1), np.uint8(1), np.array(1), 2.0, np.float32(1.0), 1j]


@pytest.mark.parametrize("other", OTHERS, ids=map(repr, OTHERS))
@pytest.mark.parametrize("maker", [
    lambda x, other: np.array([x, other]).sum(),
    lambda x, other: np.stack([x, other])[0],
    lambda x, other: np.hstack([x, other])[0],
    lambda x, other: np.concatenate([[x], [other]])[0],
    lambda x, other: sum([x, other]),
    lambda x, other: np.sum([[x, other], [other, x]]) / 2,
    lambda x, other: np.where([True, False], [x, other], 0.0)[0],
    lambda x, other: np.mean((x, other)) * 2,
    lambda x, other: math.prod([x, other, 2.0]) / (2.0 * other) if other else math.prod([x, 1]),
    lambda x, other: np.dot([x, other], [1.0, 2.0]),
    lambda x, other: np.array([{"a": x, "b": other}["a"], other])[0],
])  # fmt: skip
@pytest.mark.parametrize("within", [lambda f: f, recorded], ids=["", "recorded"])
def test_masks_of_what_has_no_derivative(within, maker, other):
    """Numbers of all classes stand beside what is differentiated, where something else is at a pole."""

    def f(x):
        return np.where(x > 2, np.sqrt(x - 1.0), 0.0) + np.real(maker(x, other))

    np.testing.assert_allclose(grad(within(f))(1.0), 1.0)
