"""Code that carries the graph it is lifted as."""

import operator

from ctxdispatch.bytecode.emit import make_function
from ctxdispatch.bytecode.lift import lift
from ctxdispatch.bytecode.original import remember
from ctxdispatch.ir import verify
from ctxdispatch.ir.graph import Const
from ctxdispatch.ir.rewrite import clone


def two_graphs():
    """x + y, and what shall be run instead."""
    graph = lift(lambda x, y: x + y)
    other = clone(graph)
    other.entry.ops[0].callee = Const(operator.sub)
    return graph, other


def carrying(other, graph):
    function = make_function(other, globals())
    function.__code__ = remember(function.__code__, graph)
    return function


def test_it_runs_as_it_is_and_is_lifted_as_it_was():
    graph, other = two_graphs()
    function = carrying(other, graph)
    assert function(5, 3) == 2
    lifted = verify(lift(function))
    assert str(lifted) == str(graph)
    assert lifted.code is function.__code__ and lifted.namespace is globals()
    assert make_function(lifted)(5, 3) == 8


def test_each_lift_is_a_copy_without_types():
    graph, other = two_graphs()
    graph.entry.ops[0].result.type = "known"
    function = carrying(other, graph)
    first, second = lift(function), lift(function)
    first.entry.ops[0].callee = Const(operator.mul)
    assert second.entry.ops[0].fn is operator.add
    assert second.entry.ops[0].result.type is None
    assert graph.entry.ops[0].result.type == "known"


def test_it_goes_where_the_code_goes():
    graph, other = two_graphs()
    function = carrying(other, graph)
    twin = lambda x, y: None  # noqa: E731
    twin.__code__ = function.__code__
    assert twin(5, 3) == 2
    assert lift(twin).entry.ops[0].fn is operator.add
