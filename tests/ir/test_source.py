"""Source of graphs: it reads as written here, and runs as the interpreter runs the graph."""

from __future__ import annotations

import operator
import textwrap

import ir_functions as functions
import numpy as np
import pytest
from ir_functions import CASES
from ir_graphs import nested_graph, pow_graph, sum_graph
from ir_programs import Log, random_graph, random_source
from outcomes import fresh_cells, outcome, run_function, run_graph

from ctxdispatch.bytecode.lift import lift
from ctxdispatch.ir import Builder, Const, Graph, interpret, positional, to_python, to_source
from ctxdispatch.passes.types import Exact


def same(graph, text):
    assert to_python(graph, comments=False).strip() == textwrap.dedent(text).strip()


# -- golden -------------------------------------------------------------------------------------


def test_the_example_of_the_design():
    same(
        pow_graph(),
        """
        def pow(x, n):
            r = 1.0
            k = n
            while k > 0:
                r = r * x
                k = k - 1
            return r
        """,
    )


def test_for():
    same(
        sum_graph(),
        """
        def total(items):
            total = 0
            for item in items:
                total = total + item
            return total
        """,
    )


def test_nested_while():
    same(
        nested_graph(),
        """
        def nested(outer, inner, x):
            while outer(x):
                while inner(x):
                    x = x + 1
            return x
        """,
    )


AS_WRITTEN = """
def sincos(x):
    return math.sin(x) * math.cos(x)

def logsumexp(x):
    m = np.max(x)
    return m + np.log(np.sum(np.exp(x - m), axis=0))

def swap(a, b, n):
    for _ in range(n):
        a, b = b, a
    return a - b

def nest(rows, limit):
    total = 0
    for row in rows:
        for v in row:
            if v < 0:
                break
            if v != 5:
                total += v
                if total > limit:
                    return total, v
        else:
            total += 100
    return total, None

def multi(rows):
    found = None
    for i, row in enumerate(rows):
        for j, v in enumerate(row):
            if v == 3:
                found = i, j
                break
        if found:
            return found
    return found

def first(xs):
    for x in xs:
        return x

def calls(f, *args, k, **kw):
    return f(*args, **kw) + k

def unpackstar(t):
    a, *b = t
    (c,) = b
    return a, c
"""


@pytest.mark.parametrize("text", AS_WRITTEN.strip().split("\n\n"), ids=lambda t: t[4 : t.index("(")])
def test_reads_as_it_was_written(text):
    name = text[4 : text.index("(")]
    same(lift(getattr(functions, name)), text)


def test_comments_are_the_lines_it_comes_from():
    text = to_python(lift(functions.logsumexp))
    assert ": m = np.max(x)\n    m = np.max(x)\n" in text
    assert "    # ir_functions.py:" in text


def test_a_computed_value_is_nested_only_where_order_allows():
    graph = Graph("f", positional(2, ("f", "g")))
    b = Builder(graph)
    f, g = graph.params
    first, second = b.call(f, name="first"), b.call(g, name="second")
    b.ret(b.call(operator.sub, second, first))
    same(
        graph,
        """
        def f(f, g):
            first = f()
            return g() - first
        """,
    )


def test_arithmetic_on_numbers_moves_to_its_use():
    graph = Graph("f", positional(2, ("x", "log")))
    b = Builder(graph)
    x, log = graph.params
    double = b.call(operator.mul, x, Const(2.0), name="double")
    b.call(log, x)
    b.ret(double)
    before = "def f(x, log):\n    double = x * 2.0\n    log(x)\n    return double"
    same(graph, before)
    x.type = Exact(float)
    same(graph, "def f(x, log):\n    log(x)\n    return x * 2.0")


def test_functions_from_deep_inside_are_imported():
    graph = Graph("f", positional(1, ("x",)))
    b = Builder(graph)
    b.ret(b.call(np.add.reduce, b.call(np.linalg.norm, graph.params[0])))
    text = "from numpy.linalg import norm\n\n\ndef f(x):\n    return np.add.reduce(norm(x))"
    same(graph, text)


def test_constants_without_a_name_are_listed_on_top():
    graph = Graph("f", positional(1, ("x",)))
    b = Builder(graph)
    weights = np.ones(3)
    b.ret(b.call(operator.matmul, graph.params[0], Const(weights)))
    source = to_source(graph)
    assert source.text == "# _c0: <ndarray float64[3]>\ndef f(x):\n    return x @ _c0\n"
    assert source.namespace["_c0"] is weights
    assert source.function()(np.arange(3.0)) == 3.0


def test_a_name_that_is_taken_is_not_used_for_a_module():
    graph = Graph("f", positional(1, ("np",)))
    b = Builder(graph)
    b.ret(b.call(np.exp, graph.params[0]))
    assert to_source(graph).function()(0.0) == 1.0


def test_leaving_two_loops_takes_a_flag():
    def found(rows, log):
        for row in rows:
            for v in row:
                if v == 3:
                    log(v)
                    break
            else:
                continue
            break
        log("end")
        return log

    graph = lift(found)
    for rows in ([], [[1], [3, 4]], [[1, 2]]):
        seen, wanted = [], []
        to_source(graph).function()(rows, seen.append)
        found(rows, wanted.append)
        assert seen == wanted


# -- round trips --------------------------------------------------------------------------------


@pytest.mark.parametrize(("function", "args"), CASES)
def test_runs_as_the_graph(function, args):
    graph = lift(function)
    program = to_source(graph).function(fresh_cells(function))
    assert outcome(run_function, program, function, args) == outcome(run_graph, graph, function, args)


def logged(run, seed):
    log = Log(seed)
    try:
        return run(log), log.lines
    except Exception as error:
        return type(error).__name__, log.lines


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed):
    scope = {}
    exec(compile(random_source(seed), "random", "exec"), scope)
    graph = lift(scope["f"])
    program = to_source(graph).function()
    for world in range(4):
        wanted = logged(lambda w: interpret(graph, [w, 1, 2, 3]), world)
        assert logged(lambda w: program(w, 1, 2, 3), world) == wanted


@pytest.mark.parametrize("seed", range(150))
def test_random_control_flow(seed):
    graph = random_graph(seed)
    if graph is None:
        return
    program = to_source(graph).function()
    for world in range(4):
        wanted = logged(lambda w: interpret(graph, [w.note, w.decide, 1, 2, 3]), world)
        assert logged(lambda w: program(w.note, w.decide, 1, 2, 3), world) == wanted


def test_a_long_program_is_no_deep_one():
    lines = [f"    if x > {i}: x = x + log({i})" for i in range(400)]
    scope = {}
    exec(compile("\n".join(["def f(x, log):", *lines, "    return x"]), "long", "exec"), scope)
    graph = lift(scope["f"])
    assert to_source(graph).function()(3, float) == scope["f"](3, float)
