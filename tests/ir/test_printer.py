"""The print of a graph is part of the design: these are golden."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
from ir_graphs import nested_graph, pow_graph, sum_graph

from ctxdispatch.ir import Builder, Const, Graph, Position, Signature, Value, positional, print_graph
from ctxdispatch.ir.names import Names, describe
from ctxdispatch.ir.primitives import unpack
from ctxdispatch.passes.types import Exact


def test_the_example_of_the_design():
    assert str(pow_graph()) == (
        "pow(%x, %n):\n"
        "  b0(): jump b1(1.0, %n)\n"
        "  b1(%r, %k): %c = gt(%k, 0); branch %c b2() b3()\n"
        "  b2(): %r2 = mul(%r, %x); %k2 = sub(%k, 1); jump b1(%r2, %k2)\n"
        "  b3(): return %r"
    )


def test_iteration():
    assert "  b1(%total): iterate %it b2() b3()\n  b2(%item): " in str(sum_graph())


def test_values_without_a_hint_are_numbered():
    assert "%0 = %outer(%x2); branch %0" in str(nested_graph())


def test_calls_keywords_results_types():
    graph = Graph("f", positional(1, ("x",)))
    b = Builder(graph)
    x = graph.params[0]
    x.type = Exact(float)
    b.call(np.sum, b.call(math.sin, b.call(np.exp, x)), Const(0), kwnames=("axis",))
    first, second = Value("a"), Value("b")
    b.op(unpack, [x, Const(2)], [first, second])
    b.op(operator.setitem, [x, Const("k"), first], [])
    b.raise_(second, Const(None))
    assert print_graph(graph, width=200) == (
        "f(%x):\n"
        "  b0(): %0 = np.exp(%x); %1 = math.sin(%0); %2 = np.sum(%1, axis=0); %a, %b = unpack(%x, 2); "
        "setitem(%x, 'k', %a); raise %b from None"
    )
    assert print_graph(graph, types=True).startswith("f(%x: float):\n  b0():\n    %0 = np.exp(%x)\n")


def test_arguments_with_stars_and_cells():
    graph = Graph("f", Signature(("a", "k", "rest", "kw"), 1, 0, 1, True, True), cellnames=("c",))
    Builder(graph).ret(graph.cells[0])
    assert str(graph) == "f(%a, %k, *%rest, **%kw) cells(%c):\n  b0(): return %c"


def test_lines():
    graph = pow_graph()
    graph.blocks[2].ops[0].pos = Position("/somewhere/else/loop.py", "pow", 3)
    assert "%r2 = mul(%r, %x)  # loop.py:3\n" in print_graph(graph, lines=True)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (operator.mul, "mul"),
        (len, "len"),
        (math.sin, "math.sin"),
        (np.exp, "np.exp"),
        (np.sum, "np.sum"),
        (np, "np"),
        (float, "float"),
        (np.ones((3, 2)), "<ndarray float64[3,2]>"),
        (object(), "<object object>"),
        (1.5, "1.5"),
        ("a b", "'a b'"),
        (list(range(100)), "<list>"),
    ],
)
def test_constants(value, text):
    assert describe(value) == text


def test_names_are_unique_whatever_the_hints():
    names = Names()
    values = [Value(n) for n in ("x", "x", "x2", "x", "x2", "")]
    assert [names[v] for v in values] == ["x", "x2", "x2_2", "x3", "x2_3", "0"]
