"""Sums of products with fewer operations: the same polynomial, exactly, and never a longer program."""

import math
import operator
import random

import numpy as np
import pytest

from ctxdispatch import code_adjoint, grad, jvp, value_and_grad
from ctxdispatch.bytecode.lift import lift
from ctxdispatch.ir import interpret, verify
from ctxdispatch.passes.cse import cse
from ctxdispatch.passes.dce import dce
from ctxdispatch.passes.infer import infer
from ctxdispatch.passes.types import Exact
from ctxdispatch_contexts.programs.derived import entry_of
from ctxdispatch_contexts.programs.optimise import loosen
from ctxdispatch_contexts.programs.sums import collect_terms

ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.neg)


def lifted(source, names="abcd", type_=float):
    f = eval(f"lambda {', '.join(names)}: {source}", {"math": math})  # noqa: S307
    graph = lift(f)
    infer(graph, [Exact(type_)] * len(names))
    return f, dce(cse(graph))


def loosened(source, own=(), **options):
    """The graph of an expression, all of it a derivative's, but for the ops whose functions are in `own`."""
    f, graph = lifted(source, **options)
    before = length(graph)
    loosen(graph, {op for _, op in graph.ops() if op.fn in own})
    verify(graph)
    return f, graph, before


def length(graph):
    return sum(op.fn in ARITHMETIC for _, op in graph.ops())


@pytest.mark.parametrize(
    ("source", "least"),
    [
        ("(a * b) * c + (a * c) * b", 3),
        ("(a * b * d, d * (b * a))", 2),
        ("a + b + a + a", 2),
        ("a - b - b - b", 2),
        ("-a - a - a", 2),
        ("2.0 * a + a + b", 2),
        ("3 * a + 2.0 * a", 1),
        ("a + b + a + b + a + b", 2),
        ("a * d + b * d", 2),
        ("a * d - b * d + c * d", 3),
        ("a * b * d + c * d + d * d", 4),
        ("(a * b * d + c * (a * d), a * d)", 5),
        ("(a + b + c, d + b + a)", 3),
        ("(a - b, b - a + c)", 2),
        ("(a + b + c, 2.0 * (a + b + c))", 3),
        ("(a + b, b + a + c, a + d + b)", 3),
        ("-a * d - b * d", 3),
        ("a * b - a * b", 2),
        ("a - a", 1),
        ("0.5 * a + 0.5 * b", 3),
        ("a * 0.5 * b + b * 0.5 * a", 3),
        ("a + 1", 1),
        ("a * b + c * d", 3),
        ("-2.0 * a + 2.0 * b", 2),
        ("(a * 0.0, a * -0.0)", 2),
        ("a * a * a * a * a * a * a * a * a * a + b * a", 10),
    ],
)
def test_what_is_written_with_fewer_operations(source, least):
    f, graph, _ = loosened(source)
    assert length(graph) == least
    for numbers in ((2.0, 3.0, 5.0, 7.0), (-1.0, 4.0, 0.0, 6.0)):
        assert interpret(graph, list(numbers)) == f(*numbers)


def polynomial(pick, depth):
    if depth == 0:
        return pick(["a", "b", "c", "d", "2.0", "3", "a", "b"])
    p, q = polynomial(pick, depth - 1), polynomial(pick, depth - 1)
    return pick([f"({p} + {q})", f"({p} - {q})", f"{p} * ({q})", f"-({p})", f"({p} + {p} + ({q}))"])


@pytest.mark.parametrize("seed", range(150))
def test_random_polynomials_stay_what_they_are(seed):
    """On small whole numbers floating point is exact, and so is the comparison."""
    rng = random.Random(seed)
    sources = [polynomial(rng.choice, rng.choice([2, 3, 4])) for _ in range(rng.choice([1, 2, 3]))]
    f, graph, before = loosened(f"({', '.join(sources)},)")
    assert length(graph) <= before
    for _ in range(5):
        numbers = [float(rng.randint(-3, 3)) for _ in range(4)]
        assert interpret(graph, list(numbers)) == f(*numbers)


def test_again_is_the_same_program():
    def text():
        f = grad(grad(grad(lambda x: math.sin(math.cos(x)) * x * x)))
        f(0.7)
        return str(entry_of(f).derivative((Exact(float),)).graph)

    assert text() == text()


@pytest.mark.parametrize("type_", [int, complex, np.float64])
def test_other_numbers_than_pythons_floats_are_left_alone(type_):
    _, graph, before = loosened("a * d + b * d + a + a + a", type_=type_)
    assert length(graph) == before


def test_the_users_own_operations_are_left_alone():
    _, graph, before = loosened("a * d + b * d + a + a + a", own=ARITHMETIC)
    assert length(graph) == before
    _, graph, _ = loosened("(a * d) + b * d", own=(operator.mul,))
    assert [op.fn for _, op in graph.ops()] == [operator.mul, operator.mul, operator.add]


def test_where_nothing_is_gained_nothing_is_changed():
    _, graph = lifted("a + (b - c * (d + 1.0))")
    ops = [op for _, op in graph.ops()]
    for op in ops:
        op.reassoc = True
    assert not collect_terms(graph)
    assert [op for _, op in graph.ops()] == ops


def test_values_and_branches_of_the_users_are_bitwise_his():
    def f(x):
        total = x * 0.1 + x * 0.2 + x * 0.3  # (0.1 + 0.2 + 0.3) * x is another number
        return total * x if total == x * 0.1 + x * 0.2 + x * 0.3 else 1.0 / 0.0

    for x in (0.1, 0.7, 1.1, 3.3):
        value, slope = value_and_grad(f)(x)
        assert value == f(x) == jvp(f, (x,), (1.0,))[0]
        assert slope == pytest.approx(1.2 * x)
        assert grad(grad(f))(x) == pytest.approx(1.2)


def test_overflow_is_not_brought_in_by_reordered_products():
    """(s * x) * g of 1e-200, 1e200, 1e200 is a number, (x * g) * s is not."""

    def f(s, x, g):
        return s * x * g

    slope = grad(lambda s, x, g, y: f(s, x, g) * y, 3)
    assert slope(1e-200, 1e200, 1e200, 1.0) == pytest.approx(1e200)
    assert grad(grad(lambda s, x, g, y: f(s, x, g) * y * y, 3), 3)(
        1e-200, 1e200, 1e200, 1.0
    ) == pytest.approx(2e200)


def test_infinities_do_not_cancel():
    """x - x of an infinity is nan, and stays so."""
    f, graph, _ = loosened("a * d - a * d + b")
    assert math.isnan(interpret(graph, [math.inf, 1.0, 1.0, 1.0])) and math.isnan(f(math.inf, 1.0, 1.0, 1.0))


def wobble(x):
    return math.sin(math.cos(x)) * x


@pytest.mark.parametrize(("order", "most"), [(1, 3), (2, 9), (3, 19), (4, 39)])
def test_derivatives_of_higher_order_are_short(order, most):
    f = wobble
    for _ in range(order):
        f = grad(f)
    f(0.7)
    assert length(entry_of(f).derivative((Exact(float),)).graph) <= most


def test_code_adjoint_of_a_derivative_shows_the_program_of_the_derivative_of_it():
    text = str(code_adjoint(grad(wobble))(0.7))
    assert len(text.splitlines()) < 12
    assert "math.cos" in text and "Entry" not in text
    assert "def " in str(code_adjoint(grad(grad(wobble)))(0.7))
