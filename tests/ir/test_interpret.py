"""The reference interpreter, on graphs whose meaning is plain to see."""

from __future__ import annotations

import operator
import types

import pytest
from ir_functions import CASES
from ir_graphs import nested_graph, pow_graph, sum_graph
from ir_programs import Log, random_source
from outcomes import outcome, run_function, run_graph

from ctxdispatch.bytecode.lift import lift
from ctxdispatch.ir import UNDEF, Builder, Const, Edge, Graph, Jump, Value, interpret, positional, verify
from ctxdispatch.ir.primitives import cell_get, check_bound, unpack


def test_loops():
    assert interpret(pow_graph(), [2.0, 10]) == 1024.0
    assert interpret(sum_graph(), [[1, 2, 3]]) == 6
    assert interpret(nested_graph(), [lambda x: x < 5, lambda x: x < 7, 1]) == 7


def test_edges_copy_in_parallel():
    graph = Graph("swap", positional(3, ("a", "b", "n")))
    b = Builder(graph)
    for name, value in zip("abn", graph.params, strict=True):
        b.write(name, value)
    head, body, done = b.new_block(), b.new_block(), b.new_block()
    b.jump(head)
    b.enter(head)
    b.branch(b.call(operator.gt, b.read("n"), Const(0)), body, done)
    b.seal(body), b.seal(done)
    b.enter(body)
    left, right = b.read("a"), b.read("b")
    b.write("a", right), b.write("b", left)
    b.write("n", b.call(operator.sub, b.read("n"), Const(1)))
    b.jump(head)
    b.seal(head)
    b.enter(done)
    b.ret(b.call(operator.sub, b.read("a"), b.read("b")))
    assert [interpret(verify(graph), [5, 3, n]) for n in range(3)] == [2, -2, 2]


def test_an_unbound_local_is_a_value_until_it_is_read():
    graph = Graph("f", positional(0))
    b = Builder(graph)
    b.ret(b.call(check_bound, UNDEF, Const("x")))
    with pytest.raises(UnboundLocalError, match="'x'"):
        interpret(graph, [])


def test_several_results_and_cells():
    graph = Graph("f", positional(1, ("t",)), cellnames=("c",))
    b = Builder(graph)
    (only,) = results = [Value("only")]
    b.op(unpack, [graph.params[0], Const(1)], results)
    b.ret(b.call(operator.add, only, b.call(cell_get, graph.cells[0], Const("c"))))
    assert interpret(graph, [(3,)], [types.CellType(4)]) == 7


def test_raise():
    graph = Graph("f", positional(2, ("e", "c")))
    Builder(graph).raise_(*graph.params)
    with pytest.raises(ValueError) as caught:
        interpret(graph, [ValueError("a"), KeyError("b")])
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_bare_raise_is_refused():
    graph = Graph("f", positional(0))
    Builder(graph).raise_(None)
    with pytest.raises(NotImplementedError, match="bare"):
        interpret(graph, [])


def test_trace():
    seen = []
    interpret(
        pow_graph(),
        [2.0, 1],
        trace=lambda block, op, results: seen.append((block.name, op.fn.__name__, results)),
    )
    assert seen == [("b1", "gt", (True,)), ("b2", "mul", (2.0,)), ("b2", "sub", (0,)), ("b1", "gt", (False,))]


def test_a_block_without_an_end():
    graph = Graph("f", positional(0))
    graph.entry.terminator = Jump(Edge(graph.new_block()))
    with pytest.raises(AssertionError, match="no terminator"):
        interpret(graph, [])


@pytest.mark.parametrize(("function", "args"), CASES)
def test_lifted_functions(function, args):
    assert outcome(run_graph, lift(function), function, args) == outcome(
        run_function, function, function, args
    )


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    scope = {}
    exec(compile(random_source(seed), "random", "exec"), scope)
    graph = verify(lift(scope["f"]))
    for world in range(4):
        assert _logged(lambda w: interpret(graph, [w, 1, 2, 3]), world) == _logged(
            lambda w: scope["f"](w, 1, 2, 3), world
        )


def _logged(run, seed):
    log = Log(seed)
    try:
        return run(log), log.lines
    except Exception as error:
        return type(error).__name__, log.lines
