"""Arrays that functions make, new ones and views of others, and then stored to: by whatever name they are
read afterwards, the derivative is that of the values that are there."""

import numpy as np
import pytest

from ctxdispatch import explain, grad, hessian, jacfwd, jvp
from ctxdispatch_contexts.programs import left_names
from tests.behaviours.mutation_checks import central, written

P = np.array([1.2, 0.7, 2.1, 1.6])

NEW = [
    "np.array({}, copy=True)", "np.array({}, order='C')", "np.copy({}, order='K')", "{}.copy(order='F')",
    "{}.astype(np.float64, copy=True)", "np.pad({}, 0, mode='edge')", "np.linspace(0.0, {}[0], 4)",
    "np.fft.fft({}).real", "np.insert({}, 1, 2.0)[:4]", "np.select([{} > 1], [{}], 0.5)", "{}.flatten('C')",
    "np.sum(np.outer({}, {}), axis=1, keepdims=False)", "np.concatenate([{}, {}], axis=0)[2:6]",
    "np.add({}, 1.0, dtype=float)", "np.where({} > 1.0, {}, 2.0)", "np.roll({}, 1, axis=0)",
]  # fmt: skip
VIEWS = [
    "{}.reshape(4)", "np.reshape({}, (4,))", "{}.ravel()", "np.ravel({})", "np.flip({})", "{}.T",
    "np.transpose({})", "np.asarray({})", "np.asarray({}, dtype=float)", "np.ascontiguousarray({})",
    "np.atleast_1d({})", "{}.squeeze()", "{}.real", "{}[::-1]", "{}[:, None].reshape(-1)",
    "{}.reshape(2, 2).T.ravel()", "{}.reshape(2, 2).swapaxes(0, 1).reshape(4)", "{}[::2].repeat(2)",
    "{}.view()", "np.array({}, copy=False) if False else {}.reshape(4, order='A')",
]  # fmt: skip

PROGRAMS = {
    "alone": """
    x = {make}
    x[0] = x[1] * x[0]
    x *= 0.5
    return np.sum(x**3)
""",
    "what it is made of is read": """
    x = {make}
    x[0] = x[1] * x[0] + 1.0
    return np.sum(x**2) + np.sum(b**3)
""",
    "what it is made of is stored to": """
    x = {make}
    b[1] = b[2] * b[0]
    x[0] = x[0] ** 2
    return np.sum(x**2 * np.arange(1.0, 5.0)) + b[0]
""",
    "stored to before": """
    b[1] = b[2] * b[0]
    x = {make}
    x[2] = x[0] ** 2
    return np.sum(x**2 * np.arange(1.0, 5.0))
""",
    "in a loop": """
    for i in range(3):
        x = {make}
        x[i] = x[i + 1] * 0.5 + x[i]
    return np.sum(b**2) + np.sum(x**3)
""",
    "from one round to the next": """
    x = b * 2.0
    for i in range(3):
        b = x
        x = {make}
        x[i] = b[3] * x[i]
    return np.sum(b**2) + np.sum(x**3)
""",
    "two of one": """
    x = {make}
    y = {make}
    x[1] = y[0] * x[1]
    y[2] += x[1]
    return np.sum(x * y)
""",
    "kept": """
    x = {make}
    kept = [x, b]
    x[0] = x[3] * 2.0
    return np.sum(kept[0] ** 2) + np.sum(kept[1])
""",
    "on one path": """
    x = {make} if b[0] > 0.0 else b
    x[0] = x[2] * x[0]
    return np.sum(x**2) + b[0]
""",
    "made again": """
    x = {make}
    x[0] = x[1] ** 2
    b = x
    y = {make}
    y[3] = y[0] * x[1]
    return np.sum(y**2) + np.sum(x)
""",
    "by parts": """
    x = {make}
    part = x[1:3]
    part *= x[0]
    x[:2] = part
    return np.sum(x**2)
""",
    "in a function": """
    def change(a):
        a[0] = a[1] * a[2]
        return a
    x = change({make})
    return np.sum(x**2) + np.sum(b)
""",
}
SOURCES = {"product": "p * 1.5", "copy": "p.copy()", "sum": "p + 0.0", "argument": "p"}


def made(name, make, source):
    text = f"def f(p):\n    b = {source}{PROGRAMS[name].format(make=make.replace('{}', 'b'))}"
    return written(text, f"<{name}, {make}, {source}>")


CASES = [
    (name, make, source) for name in PROGRAMS for make in NEW + VIEWS
    for source in (SOURCES if name in ("alone", "what it is made of is read", "two of one") else ("product",))
]  # fmt: skip


@pytest.mark.parametrize(("name", "make", "source"), CASES)
def test_right_in_every_mode(name, make, source):
    f = made(name, make, SOURCES[source])
    try:
        expected = central(f, P)
    except ValueError:
        pytest.skip("plainly, it raises")
    for _ in range(3):
        given = P.copy()
        np.testing.assert_allclose(grad(f)(given), expected, rtol=1e-5, atol=1e-7)
    if source != "argument":
        np.testing.assert_array_equal(given, P)
    np.testing.assert_allclose(jacfwd(f)(P.copy()), expected, rtol=1e-5, atol=1e-7)
    tangent = jvp(f, (P.copy(),), (np.ones(4),))[1]
    np.testing.assert_allclose(tangent, expected.sum(), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("name", "make", "source"), CASES[::5])
def test_twice(name, make, source):
    f = made(name, make, SOURCES[source])
    try:
        f(P.copy())
    except ValueError:
        pytest.skip("plainly, it raises")
    expected = np.array([(grad(f)(P + s) - grad(f)(P - s)) / 2e-5 for s in np.eye(4) * 1e-5])
    np.testing.assert_allclose(hessian(f)(P.copy()), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("make", [*NEW, *VIEWS[:-2]])
def test_compiled_where_nobody_else_reads_it(make):
    f = made("alone", make, SOURCES["product"])
    grad(f)(P.copy())
    assert "compiled whole" in str(explain(grad(f))(P.copy()))


def overwritten_indices(p):
    """Each is read, and stored to afterwards."""
    at, total = np.zeros(2, dtype=int), 0.0
    steps = np.outer(p, p)
    for i in range(3):
        at[0] = i
        pair = (at, np.arange(2))
        total = total + np.sum(steps[pair] ** 2) * p[i]
        at[1] = i + 1
    return total


def best_path(p):
    scores, back = np.zeros((3, 4)), np.zeros((3, 4), dtype=int)
    scores[0] = p
    for t in range(1, 3):
        moved = scores[t - 1][:, None] + np.outer(p, p)
        back[t] = moved.argmax(axis=0)
        scores[t] = moved[back[t], np.arange(4)]
    return np.sum(scores[-1] ** 2)


@pytest.mark.parametrize("f", [overwritten_indices, best_path])
def test_indices_that_are_stored_to_later(f):
    gradient = grad(f)
    for x in (P, P, P[::-1].copy(), P):
        np.testing.assert_allclose(gradient(x), central(f, x), rtol=1e-5)
        np.testing.assert_allclose(jacfwd(f)(x), central(f, x), rtol=1e-5)


LISTS = {
    "a row": "x = np.zeros((2, 4)); x[0] = [p[0], p[1] * 2.0, 1, p[3]]; x[1] = (1, 2, 3, 4)",
    "rows": "x = np.ones((2, 2)); x[:] = [[p[0], p[1]], [p[2], 1.0]]",
    "at indices": "x = np.zeros((4, 4)); x[[0, 1], [2, 3]] = [p[0], p[1]]",
    "changed before": "x = np.zeros(4); v = [p[0]] * 4; v[1] = p[2] * p[3]; x[:] = v; v[0] = 0.0; x *= v[1]",
    "sorted": "x = np.outer(p, p[::-1]); x.sort(axis=0); x[1:].sort()",
    "diagonal": "x = np.outer(p, p); np.fill_diagonal(x, p[:2]); np.fill_diagonal(x[1:], np.ones(9) * p[0])",
}


@pytest.mark.parametrize("name", LISTS)
def test_what_is_stored_under_other_names(name):
    space = {"np": np}
    exec(f"def f(p):\n    {LISTS[name]}\n    return np.sum(x**2 * np.arange(x.size).reshape(x.shape))", space)
    f = space["f"]
    for _ in range(3):
        np.testing.assert_allclose(grad(f)(P), central(f, P), rtol=1e-5)
    np.testing.assert_allclose(jacfwd(f)(P), central(f, P), rtol=1e-5)


@pytest.mark.parametrize("make", ["np.array({}, copy=True)", "{}.astype(float, copy=True)", "np.copy({})"])
def test_a_copy_is_not_the_argument(make):
    """Else a store into it would be one that is seen outside, after which other programs have to look."""
    before = {*left_names._LEFT}
    gradient = grad(made("alone", make, "p"))
    for _ in range(3):
        gradient(P)
    assert {*left_names._LEFT} <= before


@pytest.mark.parametrize("copy", ["False", "None", "p is None"])
def test_what_may_be_the_argument(copy):
    f = made("alone", f"np.array({{}}, copy={copy})", "p")
    given = P.copy()
    value = f(P.copy())
    np.testing.assert_allclose(grad(f)(given), grad(made("alone", "{}", "p"))(P.copy()))
    assert not np.array_equal(given, P) and value == made("alone", "{}", "p")(P.copy())
