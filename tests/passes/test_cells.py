"""Cells that nobody shares are what they hold."""

import pytest

from ctxdispatch.ir import primitives
from ctxdispatch.ir.builder import Builder
from ctxdispatch.ir.graph import Graph, positional
from ctxdispatch.ir.interpret import interpret
from ctxdispatch.ir.values import Const
from ctxdispatch.ir.verify import verify
from ctxdispatch.passes.cells import open_cells


def started():
    graph = Graph("f", positional(1, ("x",)))
    return graph, Builder(graph), graph.params[0]


def get(build, cell):
    return build.call(primitives.cell_get, cell, Const("x"), Const(True), syntax=True)


def callees(graph):
    return [op.fn for _, op in graph.ops()]


def test_a_cell_that_is_read():
    graph, build, x = started()
    cell = build.call(primitives.make_cell, x, syntax=True)
    build.ret(build.call(primitives.build_tuple, get(build, cell), get(build, cell), syntax=True))
    open_cells(graph)
    verify(graph)
    assert callees(graph) == [primitives.build_tuple]
    assert interpret(graph, [3.0]) == (3.0, 3.0)


def test_a_cell_in_a_cell():
    graph, build, x = started()
    inner = build.call(primitives.make_cell, x, syntax=True)
    outer = build.call(primitives.make_cell, get(build, inner), syntax=True)
    build.ret(get(build, outer))
    open_cells(graph)
    verify(graph)
    assert callees(graph) == [] and interpret(graph, [3.0]) == 3.0


def test_cells_that_stay():
    for use in (
        lambda b, c: b.call(primitives.build_tuple, c),
        lambda b, c: b.op(primitives.cell_set, [c, Const(1.0)], []),
    ):
        graph, build, x = started()
        cell = build.call(primitives.make_cell, x, syntax=True)
        use(build, cell)
        build.ret(get(build, cell))
        open_cells(graph)
        assert primitives.make_cell in callees(graph) and primitives.cell_get in callees(graph)


def test_a_cell_that_is_set_once():
    """And read by a function that is made here, which has it still."""
    for code, opened in (
        ((lambda x: lambda: x)(0).__code__, True),
        (_setter().__code__, False),
    ):
        graph, build, x = started()
        cell = build.call(primitives.make_cell, syntax=True)
        closure = build.call(primitives.build_tuple, cell, syntax=True)
        none = Const(None)
        made = build.call(
            primitives.make_function, Const({}), Const(code), none, none, none, closure, syntax=True
        )
        build.op(primitives.cell_set, [cell, x], [], syntax=True)
        build.ret(build.call(primitives.build_tuple, get(build, cell), made, syntax=True))
        open_cells(graph)
        verify(graph)
        assert (primitives.cell_get not in callees(graph)) == opened
        first, function = interpret(graph, [3.0])
        assert first == 3.0 and function() == (3.0 if opened else None)


def _setter():
    x = 1

    def f():
        nonlocal x
        x = 2

    return f


def test_a_cell_that_nobody_reads_goes():
    graph, build, x = started()
    cell = build.call(primitives.make_cell, syntax=True)
    build.op(primitives.cell_set, [cell, x], [], syntax=True)
    build.ret(get(build, cell))
    open_cells(graph)
    verify(graph)
    assert callees(graph) == [] and interpret(graph, [3.0]) == 3.0


def test_a_cell_that_is_read_before_it_is_set():
    graph, build, x = started()
    cell = build.call(primitives.make_cell, syntax=True)
    early = get(build, cell)
    build.op(primitives.cell_set, [cell, x], [], syntax=True)
    build.ret(early)
    open_cells(graph)
    with pytest.raises(NameError):
        interpret(graph, [3.0])


def test_an_empty_cell_stays():
    graph, build, _ = started()
    cell = build.call(primitives.make_cell, syntax=True)
    build.ret(get(build, cell))
    open_cells(graph)
    assert callees(graph) == [primitives.make_cell, primitives.cell_get]
