"""The table as contexts read it: lookups, classification, coverage, edges, and that rules are code that
lifts."""

from __future__ import annotations

import dis
import inspect
import math
import operator

import numpy as np
import pytest
from derivative_checker import pull_by_table

from ctxdispatch_contexts.derivatives import namespaces, special, table
from ctxdispatch_contexts.derivatives.rows import ROWS, WITHOUT_CALLEES


def partials(callee, *args):
    """The row's partials at a point, over the namespace of the arguments' type."""
    y = callee(*args)
    entry = table.elementwise(callee)
    names = namespaces.MATH if isinstance(y, (int, float)) and type(y) is not np.float64 else namespaces.NUMPY
    with np.errstate(all="ignore"):
        return [np.asarray(p(*args, y)).tolist() for p in entry.partials(names)]


# -- lookups -------------------------------------------------------------------------------------------------


def test_callees_of_one_row_share_it():
    assert table.elementwise(math.sin) is table.elementwise(np.sin)
    assert table.elementwise(operator.mul).name == "mul"
    assert table.elementwise(np.arcsin).name == "asin"


@pytest.mark.parametrize("lookup", [table.elementwise, table.vjp_rule, table.lowering])
def test_unknown_and_unhashable_callees_have_no_rule(lookup):
    assert lookup([]) is None
    assert lookup(object()) is None
    assert not table.is_zero({})


def test_attributes():
    assert table.attribute_rule(np.ndarray, "T") is table.vjp_rule(np.ndarray.T)
    assert table.attribute_rule(np.ndarray, "no_such") is None
    assert table.is_zero(np.ndarray.shape)
    assert not table.is_zero(np.ndarray.T)


def test_bound_methods_of_ufuncs_are_found():
    assert table.vjp_rule(np.add.reduce) is not None
    assert table.is_zero(np.logical_or.reduce)


def test_partials_are_compiled_once():
    entry = table.elementwise(np.sin)
    assert entry.partials(namespaces.MATH) is entry.partials(namespaces.MATH)
    assert entry.partials(namespaces.MATH) is not entry.partials(namespaces.NUMPY)


def test_array_arguments():
    assert table.array_arguments(np.sum) == 1
    assert table.array_arguments(np.dot) == 2
    assert table.array_arguments(np.concatenate) == 0


@pytest.mark.parametrize(
    "name, kinds",
    [
        ("add", "const const"), ("sub", "const const"), ("mul", "linear linear"), ("truediv",
        "linear nonlinear"),
        ("sin", "nonlinear"), ("floor", "zero"), ("floordiv", "zero zero"), ("mod", "const linear"),
        ("maximum", "linear linear"), ("abs", "linear"), ("pow", "nonlinear nonlinear"), ("fma",
        "linear linear const"),
        ("hypot", "nonlinear nonlinear"), ("degrees", "const"), ("copysign", "linear zero"), ("exp",
        "nonlinear"),
    ],
)  # fmt: skip
def test_kinds_are_read_off_the_expressions(name, kinds):
    assert table.describe(name).kinds == tuple(kinds.split())


def test_needs_and_second_order_pattern():
    mul = table.describe("mul")
    assert mul.needs == ({"b"}, {"a"}) and mul.varies == ({"b"}, {"a"})
    assert table.describe("exp").needs == ({"y"},) and table.describe("exp").varies == ({"x"},)
    assert table.describe("maximum").varies == (frozenset(), frozenset())


# -- coverage ------------------------------------------------------------------------------------------------


def test_all_of_math_is_covered():
    known = {callee for _, callee in table.names()}
    functions = {name: f for name, f in vars(math).items() if callable(f) and not name.startswith("_")}
    assert [name for name, f in functions.items() if f not in known] == []


def test_every_ufunc_is_covered():
    known = {callee for _, callee in table.names()}
    assert [n for n, f in vars(np).items() if isinstance(f, np.ufunc) and f not in known] == []


@pytest.mark.parametrize("name", ROWS)
def test_every_row_has_a_callee_and_a_partial_per_parameter(name):
    row = ROWS[name]
    assert len(row.params) == len(row.partials)
    named = list(namespaces.callees(name))
    assert not named if name in WITHOUT_CALLEES else named or name == "fma"  # math.fma is of Python 3.13


FORBIDDEN = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@pytest.mark.parametrize(
    "rule", dict.fromkeys(map(table.vjp_rule, (c for t, c in table.names() if t == "vjp")))
)
def test_rules_are_plain_functions(rule):
    """Without try, with, yield and closures: what every lifter and inliner handles."""
    code = rule.__code__
    assert not code.co_freevars and not code.co_cellvars
    assert not code.co_flags & FORBIDDEN
    opcodes = {instruction.opname for instruction in dis.get_instructions(code)}
    assert not opcodes & {"BEFORE_WITH", "PUSH_EXC_INFO", "LOAD_SPECIAL"} or "LIST_APPEND" in opcodes


# -- ties and edges ------------------------------------------------------------------------------------------


def test_ties_share_equally():
    assert partials(np.maximum, np.array([1.0, 2.0]), np.array([1.0, 0.0])) == [[0.5, 1.0], [0.5, 0.0]]
    assert partials(np.fmin, np.array([1.0, np.nan]), np.array([1.0, 0.0])) == [[0.5, 0.0], [0.5, 1.0]]
    a = np.array([2.0, 1.0, 2.0])
    assert pull_by_table(np.max, 1.0, np.max(a), (a,), {})[0].tolist() == [0.5, 0.0, 0.5]
    assert pull_by_table(np.min, 1.0, np.min(-a), (-a,), {"axis": 0})[0].tolist() == [0.5, 0.0, 0.5]


def test_maximum_keeps_float32_at_ties():
    a = np.array([1.0, 2.0], np.float32)
    share = table.elementwise(np.maximum).partials(namespaces.NUMPY)[0](a, a, a)
    assert share.dtype == np.float32


def test_lengths_of_nothing_have_slope_zero_like_abs():
    assert partials(math.hypot, 0.0, 0.0) == [0.0, 0.0]
    assert partials(np.hypot, np.array([0.0, 3.0]), np.array([0.0, 4.0])) == [[0.0, 0.6], [0.0, 0.8]]
    assert table.vjp_rule(math.dist)(1.0, 0.0, [1.0], [1.0]) == ([0.0], [-0.0])
    assert table.vjp_rule(np.std)(1.0, np.float64(0.0), np.ones(3))[0].tolist() == [0.0, 0.0, 0.0]


def test_sorting_of_equals_is_stable():
    items = [(1, "a"), (0, "b"), (1, "c"), (0, "d")]
    lowered = table.lowering(sorted)
    for reverse in (False, True):
        assert lowered(items, key=operator.itemgetter(0), reverse=reverse) == sorted(
            items, key=operator.itemgetter(0), reverse=reverse
        )


def test_kinks():
    assert partials(abs, 0.0) == [0.0]
    assert partials(np.abs, np.array([0.0, -0.0, -2.0])) == [[0.0, 0.0, -1.0]]
    assert partials(math.copysign, 0.0, -1.0) == [0.0, 0.0]


def test_roots_at_zero_are_as_in_ieee_arithmetic():
    assert partials(math.sqrt, 0.0) == [math.inf]
    assert partials(np.sqrt, np.array([0.0])) == [[math.inf]]
    assert partials(math.asin, 1.0) == [math.inf] and partials(math.acos, 1.0) == [-math.inf]


@pytest.mark.parametrize(
    "a, b, expected",
    [
        (0.0, 2, [0.0, 0.0]), (0.0, 1, [1.0, 0.0]), (0.0, 0, [0.0, 0.0]), (0.0, 3.0, [0.0, 0.0]),
        (0.0, 0.5, [math.inf, 0.0]), (-2.0, 3, [12.0, math.nan]), (2.0, -1, [-0.25, 0.5 * math.log(2)]),
        (3.0, 0, [0.0, math.log(3)]),
    ],
)  # fmt: skip
def test_powers(a, b, expected):
    np.testing.assert_allclose(partials(operator.pow, a, b), expected)
    np.testing.assert_allclose(partials(np.power, np.array(a), b), expected)
    np.testing.assert_allclose(partials(np.power, np.array([a]), np.array([b])), [[e] for e in expected])


def test_where_does_not_leak_what_is_not_selected():
    c, g = np.array([True, False]), np.array([1.0, np.inf])
    _, a, b = pull_by_table(np.where, g, g, (c, np.ones(2), np.ones(2)), {})
    assert a.tolist() == [1.0, 0.0] and b.tolist() == [0.0, math.inf]


def test_mod_of_a_quotient_that_rounds():
    assert partials(operator.mod, 1.0, 0.1) == [1.0, -(1.0 // 0.1)]


def test_unused_results_have_no_cotangent():
    a = np.eye(2) * 3.0
    assert table.vjp_rule(np.linalg.slogdet)((None, 1.0), np.linalg.slogdet(a), a)[0].shape == (2, 2)
    x = np.arange(4.0)
    (cotangent,) = table.vjp_rule(np.split)([None, np.ones(2)], np.split(x, 2), x, 2)
    assert cotangent.tolist() == [0.0, 0.0, 1.0, 1.0]


def test_complex_conventions():
    """For real f the cotangent is df/dx - i df/dy; holomorphic functions multiply without conjugation."""
    z = np.array([3.0 + 4.0j])
    assert partials(np.abs, z) == [[pytest.approx(0.6 - 0.8j, rel=1e-15)]]
    assert pull_by_table(np.imag, np.ones(1), z.imag, (z,), {})[0].tolist() == [-1j]
    assert pull_by_table(np.conj, np.array([1j]), z.conj(), (z,), {})[0].tolist() == [-1j]
    assert not table.elementwise(np.sign).holomorphic


def test_what_has_no_derivative_is_refused():
    a = np.ones((2, 3))
    with pytest.raises(NotImplementedError, match="full_matrices"):
        table.vjp_rule(np.linalg.svd)((None, None, np.ones((3, 3))), np.linalg.svd(a), a)
    with pytest.raises(NotImplementedError, match="reduced"):
        full = a.T + np.eye(3, 2)
        table.vjp_rule(np.linalg.qr)((np.eye(3), None), np.linalg.qr(full, "complete"), full, "complete")
    with pytest.raises(NotImplementedError, match="reflection jumps"):
        table.vjp_rule(np.linalg.qr)((np.eye(2), None), np.linalg.qr(np.eye(2), "raw"), np.eye(2), "raw")
    with pytest.raises(NotImplementedError, match="an object as mode"):
        table.vjp_rule(np.pad)(a, a, a, 1, lambda vector, width, axis, options: None)


def test_eigenvectors_up_to_their_phase():
    """y = sum c |v|^2 w does not depend on the phases, which the library chooses."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=(3, 3)) + np.diag([0.0, 4.0, 8.0])
    c, d, h = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), 1e-5

    def f(a):
        w, v = np.linalg.eig(a)
        order = np.argsort(w.real)
        return float(np.sum(c * np.abs(v[:, order]) ** 2 * w[order].real))

    y = w, v = np.linalg.eig(a)
    back = np.argsort(np.argsort(w.real))
    g = (np.sum(c[:, back] * np.abs(v) ** 2, axis=0), 2 * c[:, back] * np.conj(v) * w.real)
    (cotangent,) = table.vjp_rule(np.linalg.eig)(g, y, a)
    assert np.sum(cotangent * d).real == pytest.approx((f(a + h * d) - f(a - h * d)) / (2 * h), rel=1e-6)


# -- special functions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "x, expected",
    [
        (1.0, -0.5772156649015329), (0.5, -1.9635100260214235), (2.0, 0.42278433509846713), (10.0,
        2.2517525890667211),
        (100.0, 4.600161852738087), (-0.5, 0.03648997397857652), (-1.5, 0.7031566406452432), (1e-3,
        -1000.5755719318103),
    ],
)  # fmt: skip
def test_digamma(x, expected):
    assert abs(special.digamma(x) - expected) <= 4 * math.ulp(max(1.0, abs(expected)))


def test_polygamma_values_and_poles():
    assert special.polygamma(1, 1.0) == pytest.approx(math.pi**2 / 6, rel=1e-15)
    assert special.polygamma(1, -0.5) == pytest.approx(math.pi**2 / 2 + 4, rel=1e-14)
    assert special.polygamma(2, 1.0) == pytest.approx(-2.4041138063191886, rel=1e-14)
    assert special.polygamma(3, 0.5) == pytest.approx(math.pi**4, rel=1e-14)
    assert special.polygamma(2, -0.5) == pytest.approx(special.polygamma(2, 0.5) + 16, rel=1e-13)
    assert math.isnan(special.digamma(-3.0)) and math.isnan(special.polygamma(1, 0.0))


def test_digamma_against_scipy():
    scipy = pytest.importorskip("scipy.special")
    for x in np.concatenate([np.linspace(-30.3, 30.2, 400), np.geomspace(1e-8, 1e8, 50)]).tolist():
        expected = float(scipy.digamma(x))
        assert abs(special.digamma(x) - expected) <= 1e-14 * (1 + abs(expected)) * max(1.0, abs(x) / 4), x
