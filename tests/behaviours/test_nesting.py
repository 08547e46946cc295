"""Behaviours 61 to 68, 71, 72 and 82: derivatives of derivatives, by every mix of modes.

`D` takes a derivative by one mode, so every test runs for the four pairs (outer, inner). A function that is
differentiated inside another one is known where the outer program is made: of the module, or made there. One
that is an argument is refused (see test_bad_input.py), so `overdub(outer, overdub, inner, f, x)` is a form
for contexts that look on, and its derivative is taken of a function that says overdub(inner, f, x).

67: what Cassette tests as `isderiving` and `nestlevel` is an ADContext or DualContext rule here, that says
what mode it runs under.
"""

import itertools
import math

import numpy as np
import pytest

from ctxdispatch import (
    ADContext,
    Context,
    Dual,
    DualContext,
    check_grads,
    checkpoint,
    custom_rule,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    overdub,
    value_and_grad,
    vjp,
)


def reverse(f):
    return grad(f)


def forward(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


MODES = {"reverse": reverse, "forward": forward}
PAIRS = [pytest.param(a, b, id=f"{n}-over-{m}") for n, a in MODES.items() for m, b in MODES.items()]
pairs = pytest.mark.parametrize("outer, inner", PAIRS)


# Within a function that is differentiated, the same spelled with the call of the derivative. ---------------


def reverse_at(f, x):
    return grad(f)(x)


def forward_at(f, x):
    return jvp(f, (x,), (1.0,))[1]


AT = [reverse_at, forward_at]
nested = pytest.mark.parametrize(
    "D, d", [pytest.param(D, d, id=f"{D.__name__}-{d.__name__}") for D in AT for d in AT]
)


# -- 61 ------------------------------------------------------------------------------------------------------


@nested
def test_061_derivative_of_the_derivative_of_sin(D, d):
    def second(x):
        return d(math.sin, x)

    assert D(second, 0.5) == pytest.approx(-math.sin(0.5), rel=1e-14)


@nested
def test_061_the_inner_derivative_is_not_the_outer_one(D, d):
    assert D(lambda x: x * d(lambda y: x + y, 1.0), 1.0) == 1.0
    assert D(lambda x: x * d(lambda y: x * y, 1.0), 4.0) == 8.0
    assert D(lambda x: x * d(lambda y: x * y, 1.0), 2.0) == 4.0


@nested
def test_061_inner_derivative_at_the_outer_variable(D, d):
    assert D(lambda x: x * d(lambda y: x * y * y, x), 3.0) == pytest.approx(6 * 9.0)  # x 2 x x


# -- 62 ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("modes", ["rrrrrr", "ffffff", "rfrfrf", "ffrrff"])
def test_062_sixth_derivative_of_sin(modes):
    f = math.sin
    for mode in modes:
        f = MODES["reverse" if mode == "r" else "forward"](f)
    assert f(0.7) == pytest.approx(-math.sin(0.7), rel=1e-13)


def power(x, n=3):
    r = 1.0
    while n > 0:
        r *= x
        n -= 1
    return r


@pairs
def test_062_second_derivative_of_a_power_by_loop(outer, inner):
    assert outer(inner(power))(2.0) == 12.0
    for n, expected in ((0, 0.0), (1, 0.0), (2, 2.0), (5, 160.0)):
        assert outer(inner(lambda x: power(x, n)))(2.0) == expected  # noqa: B023


def test_062_third_derivative_through_a_tuple_pullback():
    def through(x):
        y, pullback = vjp(lambda t: (t * t * t,), x)
        return pullback((1.0,))[0]

    assert through(2.0) == 12.0
    assert grad(through)(2.0) == 12.0
    assert forward(through)(2.0) == 12.0
    assert grad(grad(through))(2.0) == forward(grad(through))(2.0) == 6.0


# -- 63 ------------------------------------------------------------------------------------------------------


@nested
def test_063_assignment_in_the_inner_function(D, d):
    def outer(x):
        def inner(y):
            nonlocal x
            x = x * y
            return x

        return d(inner, 1.0)

    try:
        found = D(outer, 1.0)
    except TypeError as refusal:
        assert f"{__file__}:" in str(refusal)
    else:
        assert found == 1.0


@nested
def test_063_inner_assignment_of_its_own_argument(D, d):
    def outer(x):
        def inner(y):
            z = y
            y = z * x
            return y

        return d(inner, 1.0) * x

    assert D(outer, 1.0) == 2.0


@nested
def test_063_inner_function_constant_in_its_argument(D, d):
    assert D(lambda x: d(lambda y: x, 1.0) * x, 1.0) == 0.0
    assert D(lambda x: d(lambda y: x * x, 1.0) + x, 3.0) == 1.0


@pytest.mark.parametrize("D", AT, ids=lambda D: D.__name__)
def test_063_three_deep(D):
    for f, x, expected in (
        (lambda x: reverse_at(lambda y: reverse_at(lambda z: z * y, 1.0), 1.0), 1.0, 0.0),
        (lambda x: forward_at(lambda y: forward_at(lambda z: z * y, 1.0), 1.0), 1.0, 0.0),
        (lambda x: reverse_at(lambda y: forward_at(lambda z: x * y * z, 1.0), 1.0), 1.0, 1.0),
        (lambda x: forward_at(lambda y: reverse_at(lambda z: x * y * z, 1.0), 1.0), 1.0, 1.0),
        (lambda x: x * reverse_at(lambda y: y * reverse_at(lambda z: x * y * z, 2.0), 3.0), 5.0, 60.0),
        (lambda x: x * forward_at(lambda y: y * reverse_at(lambda z: x * y * z, 2.0), 3.0), 5.0, 60.0),
        (lambda x: x * reverse_at(lambda y: y * forward_at(lambda z: x * y * z, 2.0), 3.0), 5.0, 60.0),
        (lambda x: x * forward_at(lambda y: y * forward_at(lambda z: x * y * z, 2.0), 3.0), 5.0, 60.0),
    ):
        assert D(f, x) == expected


@nested
def test_063_what_takes_the_derivative_is_captured_itself(D, d):
    """Two functions deep only run time knows it."""
    assert D(lambda x: d(lambda y: d(lambda z: x * y * z, 1.0), 1.0), 1.0) == 1.0


@nested
def test_063_derivative_of_what_was_captured(D, d):
    def outer(x):
        scaled = x * x

        def inner(y):
            return scaled * y * y

        return d(inner, x)

    assert D(outer, 2.0) == pytest.approx(24.0)  # 2 x^3


@nested
def test_063_a_function_that_was_returned(D, d):
    def scale_by(x):
        return lambda y: x * y

    assert D(lambda x: x * d(scale_by(x), 1.0), 3.0) == 6.0


# -- 64 ------------------------------------------------------------------------------------------------------


def smooth(x):
    return math.exp(math.sin(x)) * x + 1.0 / x


@pairs
def test_064_all_pairs_of_modes_agree(outer, inner):
    x = 0.8
    h = 1e-4
    central = (smooth(x + h) - 2 * smooth(x) + smooth(x - h)) / h**2
    expected = grad(grad(smooth))(x)
    assert expected == pytest.approx(central, rel=1e-6)
    assert outer(inner(smooth))(x) == pytest.approx(expected, rel=1e-13)


def by_grad(x):
    return grad(smooth)(x)


def by_value_and_grad(x):
    return value_and_grad(smooth)(x)[1]


def by_vjp(x):
    return vjp(smooth, x)[1](1.0)[0]


def by_overdub(x):
    return overdub(ADContext(), smooth, x)[1](1.0)[0]


def by_jvp(x):
    return jvp(smooth, (x,), (1.0,))[1]


def by_dual(x):
    return overdub(DualContext(), smooth, Dual(x, 1.0)).partials


def by_dual_unpacked(x):
    y, dy = overdub(DualContext(), smooth, Dual(x, 1.0))
    return dy


def by_jacfwd(x):
    return jacfwd(smooth)(x)


def by_jacrev(x):
    return jacrev(smooth)(x)


FIRST = [
    by_grad, by_value_and_grad, by_vjp, by_overdub, by_jvp, by_dual, by_dual_unpacked, by_jacfwd, by_jacrev,
]  # fmt: skip

SECOND = {
    "grad": lambda f, x: grad(f)(x),
    "jvp": lambda f, x: jvp(f, (x,), (1.0,))[1],
    "vjp": lambda f, x: vjp(f, x)[1](1.0)[0],
    "ADContext": lambda f, x: overdub(ADContext(), f, x)[1](1.0)[0],
    "DualContext": lambda f, x: overdub(DualContext(), f, Dual(x, 1.0)).partials,
    "block": lambda f, x: overdub(DualContext(), f, Dual(x, np.array([1.0, 2.0]))).partials[1] / 2.0,
    "linearize": lambda f, x: linearize(f, x)[1](1.0),
}


@pytest.mark.parametrize("first", FIRST, ids=lambda f: f.__name__)
@pytest.mark.parametrize("second", SECOND)
def test_064_every_form_of_nesting(first, second):
    assert SECOND[second](first, 0.8) == pytest.approx(grad(grad(smooth))(0.8), rel=1e-13)


@pytest.mark.parametrize("second", SECOND)
@pytest.mark.parametrize("made", [grad, jacfwd, jacrev], ids=lambda f: f.__name__)
def test_064_of_what_a_maker_made(made, second):
    assert SECOND[second](made(smooth), 0.8) == pytest.approx(grad(grad(smooth))(0.8), rel=1e-13)


def test_064_a_context_that_looks_on():
    class Look(Context):
        pass

    y, pullback = overdub(Look(), overdub, ADContext(), smooth, 0.8)
    assert y == smooth(0.8) and pullback(1.0)[0] == pytest.approx(grad(smooth)(0.8))
    assert overdub(Look(), by_grad, 0.8) == pytest.approx(grad(smooth)(0.8))
    assert overdub(Look(), grad(by_grad), 0.8) == pytest.approx(grad(grad(smooth))(0.8))


@pytest.mark.parametrize("inner", [ADContext(), DualContext()])
def test_064_overdub_of_overdub(inner):
    """The same as the overdub of a function that calls overdub."""
    first, second = grad(smooth)(0.8), grad(grad(smooth))(0.8)
    if isinstance(inner, ADContext):
        (y, _), dy = overdub(DualContext(), overdub, inner, smooth, Dual(0.8, 1.0))
        assert dy[0] == pytest.approx(first)
        (y, _), pullback = overdub(ADContext(), overdub, inner, smooth, 0.8)
        assert pullback((1.0, None)) == (None, None, pytest.approx(first))
    else:
        found = overdub(DualContext(), overdub, inner, smooth, Dual(Dual(0.8, 1.0), Dual(1.0, 0.0)))
        y = found.value.value
        assert (found.value.partials, found.partials.value) == pytest.approx((first, first))
        assert found.partials.partials == pytest.approx(second)
        along, pullback = overdub(ADContext(), overdub, inner, smooth, Dual(0.8, 1.0))
        assert along.partials == pytest.approx(first)
        assert pullback(Dual(0.0, 1.0))[2].value == pytest.approx(second)
        with pytest.raises(TypeError, match="SimpleNamespace"):
            pullback(1.0)
    assert y == pytest.approx(smooth(0.8))


def test_064_overdub_of_overdub_of_overdub_is_refused():
    with pytest.raises(TypeError, match="three contexts are stacked"):
        overdub(ADContext(), overdub, DualContext(), overdub, DualContext(), smooth, 0.8)
    with pytest.raises(TypeError, match="overdub takes a context"):
        overdub(DualContext(), overdub, smooth, 0.8)


# -- 65 ------------------------------------------------------------------------------------------------------


def looping(x):
    total = 0.0
    for i in range(4):
        if i % 2:
            total += math.sin(x * i)
        else:
            total = total * x + x
    while total > 1.0:
        total = 0.5 * total * x
    return total


@pairs
@pytest.mark.parametrize("x", [0.4, 0.9])
def test_065_second_derivative_through_loops_and_branches(outer, inner, x):
    h = 1e-5
    central = (grad(looping)(x + h) - grad(looping)(x - h)) / (2 * h)
    assert outer(inner(looping))(x) == pytest.approx(central, rel=1e-7)


def newton(a):
    """sqrt(a)"""
    x = a
    while abs(x * x - a) > 1e-13:
        x = 0.5 * (x + a / x)
    return x


@pairs
def test_065_second_derivative_of_newtons_method(outer, inner):
    assert outer(inner(newton))(2.0) == pytest.approx(-0.25 * 2.0**-1.5, rel=1e-6)


@pairs
def test_065_a_gradient_within_a_loop(outer, inner):
    def total(x):
        s = 0.0
        for i in range(3):
            s += x * grad(smooth)(x + i)
        return s

    h = 1e-5
    central = (grad(total)(0.8 + h) - grad(total)(0.8 - h)) / (2 * h)
    assert outer(inner(total))(0.8) == pytest.approx(central, rel=1e-6)


# -- 66 ------------------------------------------------------------------------------------------------------

FACTOR = 3.0


def with_global(x):
    return FACTOR * x * x * x


@pairs
def test_066_closing_over_a_global_that_changes(outer, inner, monkeypatch):
    both = outer(inner(with_global))
    assert both(2.0) == 36.0
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    assert both(2.0) == 60.0
    monkeypatch.setitem(globals(), "FACTOR", np.float64(1.0))
    assert both(2.0) == 12.0


def inner_of_global(x):
    return x * grad(with_global)(x)


@pairs
def test_066_nested_gradient_closing_over_a_global(outer, inner, monkeypatch):
    both = outer(inner(inner_of_global))  # 3 F x^3
    assert both(2.0) == 108.0
    monkeypatch.setitem(globals(), "FACTOR", 1.0)
    assert both(2.0) == 36.0


def helper(x):
    return x * x


def calls_helper(x):
    return helper(x) * x


@pairs
def test_066_a_helper_is_redefined(outer, inner, monkeypatch):
    both = outer(inner(calls_helper))
    assert both(2.0) == 12.0
    monkeypatch.setitem(globals(), "helper", lambda x: x * x * x)
    assert both(2.0) == 48.0


# -- 67 ------------------------------------------------------------------------------------------------------


def quartic(x):
    return np.sum(x * x) * np.sum(x**3) + np.prod(x)


def test_067_forms_of_the_hessian():
    x = np.array([0.5, -1.2, 2.0])
    h = 1e-5
    central = np.stack([(grad(quartic)(x + h * e) - grad(quartic)(x - h * e)) / (2 * h) for e in np.eye(3)])
    forms = [
        hessian(quartic)(x), jacfwd(grad(quartic))(x), jacrev(grad(quartic))(x), jacfwd(jacrev(quartic))(x),
        jacrev(jacrev(quartic))(x), jacfwd(jacfwd(quartic))(x),
    ]  # fmt: skip
    for form in forms:
        assert form.dtype == float
        np.testing.assert_allclose(form, central, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(form, forms[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(forms[0], forms[0].T, rtol=1e-12)


@pytest.mark.night
def test_067_reverse_over_forward_jacobian_where_types_are_open():
    x = np.array([0.5, -1.2, 2.0])
    np.testing.assert_allclose(jacrev(jacfwd(quartic))(x), hessian(quartic)(x), rtol=1e-12)


def test_067_product_with_the_hessian():
    x, v = np.array([0.5, -1.2, 2.0]), np.array([1.0, 0.3, -2.0])
    full = hessian(quartic)(x)
    np.testing.assert_allclose(hvp(quartic, (x,), (v,)), full @ v, rtol=1e-12)
    np.testing.assert_allclose(grad(lambda x: grad(quartic)(x) @ v)(x), full @ v, rtol=1e-12)
    np.testing.assert_allclose(vjp(grad(quartic), x)[1](v)[0], full @ v, rtol=1e-12)
    np.testing.assert_allclose(grad(lambda x: jvp(quartic, (x,), (v,))[1])(x), full @ v, rtol=1e-12)


def test_067_diagonal_of_the_hessian():
    x = np.array([0.5, -1.2, 2.0])
    diagonal = [hvp(quartic, (x,), (e,)) @ e for e in np.eye(3)]
    np.testing.assert_allclose(diagonal, np.diag(hessian(quartic)(x)), rtol=1e-12)


def product(a, b):
    return np.sum(a * a * b)


def test_067_hessian_with_respect_to_two_arguments():
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    (aa, ab), (ba, bb) = hessian(product, (0, 1))(a, b)
    np.testing.assert_allclose(aa, np.diag(2 * b))
    np.testing.assert_allclose(ab, np.diag(2 * a))
    np.testing.assert_allclose(ba, np.diag(2 * a))
    np.testing.assert_allclose(bb, np.zeros((2, 2)))
    va, vb = np.array([1.0, -1.0]), np.array([0.5, 2.0])
    da, db = hvp(product, (a, b), (va, vb))
    np.testing.assert_allclose(da, aa @ va + ab @ vb)
    np.testing.assert_allclose(db, ba @ va + bb @ vb)


def deriving():
    return False


@custom_rule(deriving)
def _():
    return True, lambda g: ()


def tells(x):
    return x * 2.0 if deriving() else x


def test_067_a_rule_tells_whether_a_derivative_is_taken():
    assert tells(3.0) == 3.0
    assert vjp(tells, 3.0)[0] == overdub(ADContext(), tells, 3.0)[0]


# -- 68 ------------------------------------------------------------------------------------------------------


def with_dict(x):
    d = {"a": x, "b": 2.0}
    d = {**d, "a": d["a"] * d["a"]}
    return d["a"] * x * d["b"]


class Cell:
    def __init__(self, value):
        self.value = value


def with_object(x):
    cell = Cell(x)
    cell = Cell(cell.value * x)
    return 2.0 * cell.value * x


def with_list(x):
    items = []
    for i in range(3):
        items.append(x * (i + 1))
    return items[0] * items[1] * items[-3]


@pairs
@pytest.mark.parametrize("f", [with_dict, with_list], ids=lambda f: f.__name__)
def test_068_second_derivative_through_containers(outer, inner, f):
    assert outer(inner(f))(3.0) == pytest.approx(36.0)  # 2 x^3


@pairs
def test_068_second_derivative_through_objects(outer, inner):
    assert outer(inner(with_object))(3.0) == pytest.approx(36.0)


def stores_in_dict(x):
    d = {"a": x}
    d["a"] = d["a"] * d["a"]
    return 2.0 * d["a"] * x


def stores_in_list(x):
    items = [x, x]
    items[0] = items[1] * x
    return 2.0 * items[0] * x


def stores_in_object(x):
    cell = Cell(x)
    cell.value = cell.value * x
    return 2.0 * cell.value * x


@pytest.mark.parametrize("f", [stores_in_dict, stores_in_list], ids=lambda f: f.__name__)
def test_068_stores_are_followed(f):
    for outer, inner in itertools.product((forward, reverse), repeat=2):
        assert outer(inner(f))(3.0) == pytest.approx(36.0)


@pairs
def test_068_stores_to_an_object_made_here(outer, inner):
    assert outer(inner(stores_in_object))(3.0) == pytest.approx(36.0)


@pytest.mark.every(3)
@pairs
@pytest.mark.parametrize("f", [with_dict, with_object], ids=lambda f: f.__name__)
def test_068_gradient_inside_a_function_with_containers(outer, inner, f):
    def total(x):
        state = {"sum": x}
        state = {**state, "sum": state["sum"] + grad(f)(x)}
        return state["sum"]  # x + 6 x^2

    assert outer(inner(total))(3.0) == pytest.approx(12.0)


def of_params(params, x):
    return params["w"] * params["w"] * x + params["b"][0] * x * x


def test_068_gradient_of_a_gradient_in_a_dict():
    def penalty(params, x):
        g = grad(of_params)(params, x)
        return g["w"] * g["w"] + g["b"][0] * params["w"]

    params = {"w": 2.0, "b": [3.0]}
    found = grad(penalty)(params, 1.5)
    # g_w = 2 w x; g_b = x^2: penalty = 4 w^2 x^2 + w x^2
    assert found["w"] == pytest.approx(8 * 2.0 * 1.5**2 + 1.5**2)
    assert jvp(penalty, (params, 1.5), ({"w": 1.0, "b": [0.0]}, None))[1] == pytest.approx(found["w"])


# -- 71 ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shapes", [((3,), ()), ((2, 3), (3,)), ((2, 1), (1, 3)), ((3,), (2, 1))])
def test_071_mixed_broadcast(shapes):
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=s) if s else 0.7 for s in shapes)

    def mixed(x, y):
        return np.sum(np.sin(x) + y) + np.sum(np.cos(x) * y)

    check_grads(mixed, (x, y))
    dx, dy = grad(mixed, (0, 1))(x, y)
    tx, ty = np.ones(np.shape(x)) * 0.3, np.float64(0.2) * np.ones(np.shape(y))
    ty = ty if np.ndim(y) else float(ty)
    along = jvp(mixed, (x, y), (tx, ty))[1]
    assert along == pytest.approx(np.sum(dx * tx) + np.sum(dy * ty))


def test_071_a_float_added_to_an_array_under_second_derivatives():
    x = np.array([0.1, 0.4])

    def mixed(y):
        return np.sum(np.sin(x * y) + y)

    expected = -np.sum(x * x * np.sin(x * 0.5))
    for outer in MODES.values():
        for inner in MODES.values():
            assert outer(inner(mixed))(0.5) == pytest.approx(expected)


# -- 72 ------------------------------------------------------------------------------------------------------

runs = []


def counted(x):
    runs.append(1)
    return math.sin(x) * x


once_more = checkpoint(counted)


def of_checkpointed(x):
    return once_more(x) * x


def nested_checkpoint(x):
    return checkpoint(of_checkpointed)(x)


def plain_counted(x):
    return math.sin(x) * x * x


@pytest.mark.parametrize("outer", MODES.values(), ids=MODES)
def test_072_second_derivatives_through_a_checkpoint(outer):
    expected = grad(grad(plain_counted))(0.5)
    assert outer(reverse(of_checkpointed))(0.5) == pytest.approx(expected, rel=1e-12)
    assert outer(reverse(nested_checkpoint))(0.5) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("outer", MODES.values(), ids=MODES)
def test_072_second_derivatives_over_forward_mode_through_a_checkpoint(outer):
    expected = grad(grad(plain_counted))(0.5)
    assert outer(forward(of_checkpointed))(0.5) == pytest.approx(expected, rel=1e-12)


def test_072_forward_mode_runs_a_checkpointed_function_once():
    runs.clear()
    y, dy = jvp(of_checkpointed, (0.5,), (1.0,))
    assert len(runs) == 1
    assert dy == pytest.approx(grad(plain_counted)(0.5))


def test_072_reverse_mode_runs_it_twice_and_nested_thrice():
    runs.clear()
    grad(of_checkpointed)(0.5)
    assert len(runs) == 2
    runs.clear()
    grad(nested_checkpoint)(0.5)
    assert len(runs) == 3


# -- 82 ------------------------------------------------------------------------------------------------------


def squared_modulus(z):
    return abs(z) ** 2


COMPLEX = {
    "abs": lambda z: abs(z),
    "real": lambda z: z.real * z.real,
    "imag": lambda z: z.imag * z.real,
    "conj": lambda z: (z * z.conjugate()).real,
    "product": lambda z: (z * z * (2.0 - 1.0j)).real,
    "quotient": lambda z: (1.0 / z).imag,
    "power": lambda z: (z**3).real,
    "np.exp": lambda z: np.exp(z).real,
    "np.sin": lambda z: np.sin(z).imag,
    "np.log": lambda z: np.log(z).imag,
    "np.sqrt": lambda z: np.sqrt(z).real,
    "np.conj": lambda z: np.real(np.conj(z) * z * z),
    "np.abs": lambda z: np.abs(z) * np.imag(z),
    "np.angle": lambda z: np.angle(z),
    "mixed": lambda z: (z.real + 1j * np.exp(z.imag)).imag * abs(z),
}


@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("kind", [complex, np.complex128])
def test_082_complex_functions(name, kind):
    """grad is f_x - i f_y, and the derivative along dz its pairing with dz."""
    f, z, h = COMPLEX[name], kind(1.3 - 0.7j), 1e-6
    f_x = (f(z + h) - f(z - h)) / (2 * h)
    f_y = (f(z + 1j * h) - f(z - 1j * h)) / (2 * h)
    assert complex(grad(f)(z)) == pytest.approx(f_x - 1j * f_y, rel=1e-7, abs=1e-8)
    for dz in (kind(1.0), kind(1j), kind(0.3 - 2.0j)):
        y, dy = jvp(f, (z,), (dz,))
        assert y == f(z)
        assert float(dy) == pytest.approx(f_x * dz.real + f_y * dz.imag, rel=1e-7, abs=1e-8)


HOLOMORPHIC = {
    "polynomial": lambda z: z * z * z + 2.0 * z,
    "np.exp": np.exp,
    "np.sinh": lambda z: np.sinh(z) / z,
    "power": lambda z: z**2.5,
}
OTHERS = {
    "conj": lambda z: np.conj(z) * z,
    "real part": lambda z: np.real(z) * z,
    "modulus": lambda z: abs(z) * z,
}


@pytest.mark.parametrize("name", [*HOLOMORPHIC, *OTHERS])
def test_082_complex_results_forward_and_reverse(name):
    f, z, h = {**HOLOMORPHIC, **OTHERS}[name], np.complex128(1.3 - 0.7j), 1e-6
    y, pullback = vjp(f, z)
    for dz in (1.0 + 0j, 1j, 0.3 - 2.0j):
        along = (f(z + h * dz) - f(z - h * dz)) / (2 * h)
        assert jvp(f, (z,), (np.complex128(dz),))[1] == pytest.approx(along, rel=1e-7)
        for g in (1.0 + 0j, 1j, 0.5 + 0.2j):  # <pullback(g), dz> = <g, dy>
            (found,) = pullback(np.complex128(g))
            assert (found * dz).real == pytest.approx((g * along).real, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_082_holomorphic_functions_have_one_derivative(name):
    f, z, h = HOLOMORPHIC[name], np.complex128(1.3 - 0.7j), 1e-6
    slope = jvp(f, (z,), (np.complex128(1.0),))[1]
    assert jvp(f, (z,), (np.complex128(1j),))[1] == pytest.approx(1j * slope, rel=1e-12)
    second = jvp(lambda z: jvp(f, (z,), (np.complex128(1.0),))[1], (z,), (np.complex128(1.0),))[1]
    central = (f(z + 1e-4) - 2 * f(z) + f(z - 1e-4)) / 1e-8
    assert second == pytest.approx(central, rel=1e-5)


def test_082_complex_arrays():
    z = np.array([1.0 + 2.0j, -0.5 + 0.3j, 2.0 - 1.0j])
    f = lambda z: np.sum(np.abs(z * z) ** 2) + np.sum(np.real(z))  # noqa: E731
    g = grad(f)(z)
    for dz in (np.ones(3, complex), 1j * np.arange(3), z):
        along = (f(z + 1e-6 * dz) - f(z - 1e-6 * dz)) / 2e-6
        assert jvp(f, (z,), (dz,))[1] == pytest.approx(along, rel=1e-6)
        assert np.sum(g * dz).real == pytest.approx(along, rel=1e-6)


@pairs
def test_082_second_derivative_of_a_real_function_through_complex_numbers(outer, inner):
    def f(x):
        z = np.exp(1j * x) * x
        return np.abs(z) ** 2 * x + z.real  # x^3 + x cos x

    x = 0.6
    expected = 6 * x - 2 * math.sin(x) - x * math.cos(x)
    assert outer(inner(f))(x) == pytest.approx(expected, rel=1e-10)
