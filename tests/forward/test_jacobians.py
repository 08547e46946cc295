"""Jacobians and Hessians: by either mode, of any form, against each other and central differences."""

import random

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from ctxdispatch import grad, hessian, hvp, jacfwd, jacobian, jacrev, jvp
from ctxdispatch_contexts.reverse import DerivativeError

W = np.arange(6.0).reshape(2, 3) / 7.0
X, Y = np.array([0.5, -1.0, 0.25]), np.array([2.0, -0.3])

BOTH = pytest.mark.parametrize("jac", [jacfwd, jacrev, jacobian], ids=lambda j: j.__name__)


def central(f, x, h=1e-6):
    x = np.asarray(x)
    rows = []
    for index in np.ndindex(x.shape):
        e = np.zeros(x.shape)
        e[index] = h
        rows.append((np.asarray(f(x + e)) - np.asarray(f(x - e))) / (2 * h))
    shape = np.shape(f(x))
    return np.moveaxis(
        np.array(rows).reshape(x.shape + shape), range(x.ndim), range(len(shape), len(shape) + x.ndim)
    )


def mixed(x, y):
    return np.tanh(W @ x) * y


FUNCTIONS = {
    "vector to vector": (lambda x: np.tanh(W @ x), X),
    "vector to matrix": (lambda x: np.outer(np.sin(x), x), X),
    "matrix to vector": (lambda a: np.sum(a * a, axis=0), W),
    "matrix to matrix": (lambda a: a.T @ a, W),
    "vector to number": (lambda x: np.sum(x**3), X),
    "number to vector": (lambda t: t * X, 0.5),
    "number to number": (lambda t: t**3, 0.5),
    "one element": (lambda x: np.sin(x), np.array([0.3])),
    "empty argument": (lambda x: np.ones(2) * np.sum(x), np.zeros(0)),
    "empty result": (lambda x: x[:0], X),
    "loop": (lambda x: sum([np.roll(x, i) * x for i in range(3)]), X),
    "constant": (lambda x: np.ones(2), X),
    "itself": (lambda x: x, X),
}


@BOTH
@pytest.mark.parametrize("name", FUNCTIONS)
def test_shapes_and_values(jac, name):
    f, x = FUNCTIONS[name]
    found = jac(f)(x)
    assert np.shape(found) == np.shape(f(x)) + np.shape(x)
    expected = central(f, x) if np.size(x) else np.zeros(np.shape(found))
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8)


@BOTH
def test_argnums(jac):
    dx, dy = jac(mixed, (0, 1))(X, Y)
    np.testing.assert_allclose(dx, central(lambda x: mixed(x, Y), X), atol=1e-8)
    np.testing.assert_allclose(dy, central(lambda y: mixed(X, y), Y), atol=1e-8)
    np.testing.assert_allclose(jac(mixed, 1)(X, Y), dy)
    np.testing.assert_allclose(jac(mixed, -1)(X, Y), dy)
    (only,) = jac(mixed, (1,))(X, Y)
    np.testing.assert_allclose(only, dy)
    first, second = jac(mixed, [1, 0])(X, Y)
    np.testing.assert_allclose(first, dy)
    np.testing.assert_allclose(second, dx)


@BOTH
def test_argnums_out_of_range(jac):
    with pytest.raises(DerivativeError, match="argnums 2 is out of range"):
        jac(mixed, 2)(X, Y)
    with pytest.raises(DerivativeError, match="argnums is the index .* 'x' is none"):
        jac(mixed, "x")(X, Y)


@pytest.mark.parametrize("result", [None, "a", 3])
def test_results_that_are_no_numbers(result):
    with pytest.raises(DerivativeError, match=f"Jacobian .* returned {result!r}, of type"):
        jacfwd(lambda x: result)(X)


def with_list(x):
    out = []
    for i in range(3):
        out.append(x[i] * x[0])
    return np.array(out)


@BOTH
def test_results_whose_type_only_run_time_knows(jac):
    np.testing.assert_allclose(jac(with_list)(X), central(with_list, X), atol=1e-8)
    second = central(jacfwd(with_list), X)
    np.testing.assert_allclose(jac(jacfwd(with_list))(X), second, atol=1e-8)
    first = jac(with_list, (0,))(X)
    assert isinstance(first, tuple) and first[0].shape == (3, 3)
    with pytest.raises(DerivativeError, match=r"complex|real"):
        jacrev(lambda x: with_list(x) * 1j)(X)


@pytest.mark.parametrize("jac", [jacfwd, jacobian], ids=lambda j: j.__name__)
def test_has_aux(jac):
    found, aux = jac(lambda x: (np.sin(x), "aux"), has_aux=True)(X)
    assert aux == "aux"
    np.testing.assert_allclose(found, np.diag(np.cos(X)))


@BOTH
def test_float32(jac):
    found = jac(lambda x: np.sin(x))(X.astype(np.float32))
    assert found.dtype == np.float32


@BOTH
@pytest.mark.parametrize("bad", [np.arange(3), 3, "text", [1.0, 2.0], None])
def test_arguments_that_have_no_jacobian(jac, bad):
    with pytest.raises(DerivativeError, match="'x'|argument"):
        jac(lambda x: x)(bad)


@BOTH
def test_what_is_no_function(jac):
    with pytest.raises(DerivativeError, match="function"):
        jac(3.0)(X)


@BOTH
def test_results_own_their_memory(jac):
    x = X.copy()
    g = jac(lambda x: W @ x)
    first = g(x)
    first[...] = 7.0
    np.testing.assert_allclose(g(x), W)
    np.testing.assert_array_equal(x, X)


@BOTH
def test_complex_arguments_are_refused(jac):
    """Whether the function is holomorphic, only its author knows."""
    with pytest.raises(TypeError, match="argument 'z' .* is complex"):
        jac(lambda z: np.sum(np.abs(z) ** 2))(np.array([1.0 + 2.0j, -0.5j]))


def test_complex_results():
    x = np.array([0.3, 0.7])
    expected = np.diag(1j * np.exp(1j * x))
    np.testing.assert_allclose(jacfwd(lambda x: np.exp(1j * x))(x), expected)
    np.testing.assert_allclose(jacobian(lambda x: np.exp(1j * x)[:1])(x), expected[:1])
    with pytest.raises(TypeError, match="jacrev needs a real result"):
        jacrev(lambda x: np.exp(1j * x))(x)


def test_other_shapes_and_types_on_later_calls():
    g = jacobian(lambda x: np.sin(x) * 2.0)
    for x in (X, 0.5, np.ones((2, 2)), X.astype(np.float32), np.ones(1), X):
        np.testing.assert_allclose(g(x), central(lambda x: np.sin(x) * 2.0, np.asarray(x, float)), atol=1e-6)


# -- Hessians ------------------------------------------------------------------------------------------------


def energy(x, a=1.5):
    return a * np.sum(np.exp(x)) + np.sum(x[1:] * x[:-1] ** 2)


def test_hessian():
    expected = central(grad(energy), X)
    np.testing.assert_allclose(hessian(energy)(X), expected, atol=1e-8)
    for outer in (jacfwd, jacrev):
        for inner in (grad, jacrev, jacfwd):
            np.testing.assert_allclose(outer(inner(energy))(X), expected, atol=1e-8)
    np.testing.assert_allclose(hvp(energy, (X,), (np.ones(3),)), expected @ np.ones(3), atol=1e-7)


def test_hessian_argnums_and_aux():
    f = lambda x, y: (np.sum(x) ** 2 * np.sum(y**3), "aux")  # noqa: E731
    h, aux = hessian(f, has_aux=True)(X, Y)
    assert aux == "aux"
    np.testing.assert_allclose(h, 2 * np.sum(Y**3) * np.ones((3, 3)))
    g = lambda x, y: f(x, y)[0]  # noqa: E731
    np.testing.assert_allclose(hessian(g, 1)(X, Y), np.sum(X) ** 2 * np.diag(6 * Y))
    (xx, xy), (yx, yy) = hessian(g, (0, 1))(X, Y)
    np.testing.assert_allclose(xx, h)
    np.testing.assert_allclose(xy, yx.T)
    np.testing.assert_allclose(yy, hessian(g, 1)(X, Y))


def test_hessian_of_a_number():
    assert hessian(lambda x: x**4)(2.0) == 48.0
    assert np.shape(hessian(lambda x: np.sum(x))(X)) == (3, 3)


def test_jacobians_within_gradients():
    def total(x):
        return np.sum(jacfwd(lambda x: np.sin(x) * x)(x))

    np.testing.assert_allclose(grad(total)(X), 2 * np.cos(X) - X * np.sin(X))


def test_fresh_closures_again_and_again():
    for k in range(1, 13):
        np.testing.assert_allclose(jacobian(lambda x: k * x * x)(X), np.diag(2 * k * X))  # noqa: B023
        np.testing.assert_allclose(hessian(lambda x: k * np.sum(x**2))(X), 2 * k * np.eye(3), atol=1e-15)  # noqa: B023


# -- small programs ------------------------------------------------------------------------------------------

STEPS = [
    "np.sin({a})", "{a} * {b}", "{a} + {b}", "np.cumsum({a})", "{a}[::-1]", "V @ {a}", "np.exp(0.3 * {a})",
    "{a} / (2.0 + {b} * {b})", "np.where({a} > 0, {a}, {b})", "np.roll({a}, 1)", "{a} * {b}[0]",
    "np.sum({a}) * {b}",
]  # fmt: skip
RESULTS = ["{a}", "{a}[1:]", "np.outer({a}, {b})", "np.sum({a})", "np.stack([{a}, {b}])"]


@settings(max_examples=25, phases=[Phase.generate])
@given(seed=st.integers(0, 10**6))
def test_random_programs(seed):
    rng = random.Random(seed)
    names, lines = ["x"], []
    for i in range(rng.randint(1, 4)):
        lines.append(f"    v{i} = " + rng.choice(STEPS).format(a=rng.choice(names), b=rng.choice(names)))
        names.append(f"v{i}")
    lines.append("    return " + rng.choice(RESULTS).format(a=names[-1], b=rng.choice(names)))
    space = {"np": np, "V": np.arange(9.0).reshape(3, 3) / 9.0}
    source = "def f(x):\n" + "\n".join(lines)
    exec(source, space)
    f = space["f"]
    expected = central(f, X)
    for jac in (jacfwd, jacrev, jacobian):
        np.testing.assert_allclose(jac(f)(X), expected, rtol=1e-6, atol=1e-7, err_msg=source)


# -- zeros, numbers ------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("f", [lambda x: np.ones(2), np.floor, lambda x: np.sign(x[:2])])
def test_what_does_not_vary_has_zeros(jac, f):
    x = np.array([1.5, 2.5, 3.5])
    np.testing.assert_array_equal(jac(f)(x), np.zeros((len(f(x)), 3)))


@BOTH
def test_an_argument_that_is_not_read_has_zeros(jac):
    x = np.array([1.0, 2.0, 3.0])
    first, second = jac(lambda x, y: x * 2.0, argnums=(0, 1))(x, x)
    np.testing.assert_array_equal(first, 2.0 * np.eye(3))
    np.testing.assert_array_equal(second, np.zeros((3, 3)))


@BOTH
def test_with_respect_to_a_number(jac):
    np.testing.assert_array_equal(jac(lambda x: x * np.arange(3.0))(2.0), np.arange(3.0))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x * x, x[0]),
        lambda x: {"a": x * x, "b": [x[1], np.sin(x)]},
        lambda x: [x * 2.0],
        lambda x: (x, (x[0] * x[1], x[::2])),
        lambda x: (),
    ],
)
def test_results_in_containers(f):
    """By reverse mode as by forward mode: containers of Jacobians."""
    x = np.array([0.3, 0.5, 0.7])
    by_rows, by_columns = jacrev(f)(x), jacfwd(f)(x)
    assert_alike(by_rows, by_columns)
    assert_alike(jacobian(f)(x), by_columns)


def assert_alike(a, b):
    assert type(a) is type(b)
    if isinstance(a, dict):
        assert list(a) == list(b)
        a, b = list(a.values()), list(b.values())
    if isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_alike(x, y)
    elif a is not None:
        assert a.shape == b.shape and a == pytest.approx(b)


def test_results_in_containers_by_several_arguments():
    f = lambda x, s: (x * s, s * s)
    x = np.array([0.3, 0.5])
    assert_alike(jacrev(f, (0, 1))(x, 2.0)[0], jacfwd(f, (0, 1))(x, 2.0)[0])
    assert jacrev(f, (0, 1))(x, 2.0)[1][0] == pytest.approx(x)
    loss = lambda x: sum(np.sum(j) for j in jacrev(lambda z: (z * z, z[0]))(x))
    assert grad(loss)(x) == pytest.approx([2.0, 2.0])


def test_more_primals_than_the_function_takes():
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        jvp(lambda x: x * x, (1.0, 2.0), (1.0, 1.0))
    assert jvp(lambda *a: a[0] * a[1], (2.0, 3.0), (1.0, 0.0))[1] == 3.0


# -- how often a function runs -------------------------------------------------------------------------------


def scaled_in_place(x):
    x *= 2.0
    return x**2


def swapped_in_place(x):
    y = x[0]
    x[0] = x[1]
    return y * x


def counted(log, result):
    """A function that sees how often it has run."""

    def f(x):
        log.append(1.0)
        return result(x, len(log))

    return f


COUNTED = {
    "fewer": lambda x, k: k * x[:2] ** 2,
    "more": lambda x, k: k * np.concatenate([x, x**2]),
    "a number": lambda x, k: k * np.sum(x**2),
    "complex": lambda x, k: k * np.exp(1j * x[:2]),
    "a complex number": lambda x, k: k * np.sum(np.exp(1j * x)),
    "a list": lambda x, k: [k * x[0], k * x[:3] ** 2],
}


@pytest.mark.parametrize("n", [3, 40])
@pytest.mark.parametrize("name", COUNTED)
def test_a_function_runs_once(name, n):
    log = []
    x = np.linspace(0.1, 1.0, n)
    g = jacobian(counted(log, COUNTED[name]))
    expected = jacfwd(lambda x: COUNTED[name](x, 1))(x)
    for _ in range(3):
        log.clear()
        found = g(x)
        assert len(log) == 1
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b)


@pytest.mark.parametrize("jac", [jacfwd, jacrev, jacobian])
def test_what_the_function_changes_is_as_after_one_call(jac):
    for f, result, left in (
        (scaled_in_place, [[8.0, 0.0], [0.0, 24.0]], [2.0, 6.0]),
        (swapped_in_place, [[3.0, 1.0], [3.0, 1.0]], [3.0, 3.0]),
    ):
        x = np.array([1.0, 3.0])
        np.testing.assert_allclose(jac(f)(x), result)
        np.testing.assert_array_equal(x, left)
    log = []
    np.testing.assert_allclose(jac(counted(log, lambda x, k: x * k))(np.ones(2)), np.eye(2))
    assert log == [1.0]
    numbers = iter([1.0, 2.0, 3.0])
    np.testing.assert_allclose(jac(lambda x: x * next(numbers))(np.ones(2)), np.eye(2))
    assert next(numbers) == 2.0


def tripled(xs, n):
    for v in xs:
        yield v * n


def guarded(v, n):
    try:
        return v**n
    except ValueError:
        return v


class Guarded:
    def __init__(self, v):
        try:
            self.v = v * v
        except ValueError:
            self.v = v


def read(v, values=(3.0, "text")):
    return guarded(v, values[int(not len(v))])


WITHOUT_FORM = {
    "generator": lambda x: np.array(list(tripled(x, 3))),
    "generator in a loop": lambda x: np.array([v * v for v in tripled(np.sin(x), 3.0)]),
    "try": lambda x: guarded(np.sin(x), 3.0),
    "try in a class": lambda x: Guarded(x).v,
    "try on items": lambda x: sum(map(lambda v: guarded(v, 2.0), x)),
    "try on what only run time knows": read,
}


@pytest.mark.parametrize("jac", [jacfwd, jacrev, lambda f: lambda x: jvp(f, (x,), (x,))[1]])
@pytest.mark.parametrize("name", WITHOUT_FORM)
def test_functions_of_the_module_that_have_no_ssa_form(jac, name):
    f = WITHOUT_FORM[name]
    expected = central(f, X) if jac in (jacfwd, jacrev) else central(f, X) @ X
    np.testing.assert_allclose(jac(f)(X), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.array([[x[0]], [x[1] * x[0]]]),
        lambda x: np.array([[x[0], 2.0], [x[1], x[0]]]),
        lambda x: np.interp(x, [-3.0, 0.0, 3.0], [1.0, 5.0, 2.0]),
        lambda x: np.interp([0.5, 1.5], [0.0, 1.0, 2.0, 3.0], x),
    ],
)
def test_of_results_whose_rank_is_known_at_run_time_alone(f):
    x = np.array([0.3, 0.8, -1.2, 2.0])
    for _ in range(2):
        assert np.allclose(jacrev(f)(x), jacfwd(f)(x))
