"""Code that carries the graph it is lifted as."""

import operator
from types import FunctionType

from ctxdispatch.bytecode.emit import make_function
from ctxdispatch.bytecode.lift import lift, lift_code
from ctxdispatch.bytecode.original import remember
from ctxdispatch.bytecode.pool import Pool
from ctxdispatch.ir import verify
from ctxdispatch.ir.rewrite import clone
from ctxdispatch.ir.values import Const
from ctxdispatch.passes import buffers


def two_graphs():
    """x + y, and what shall be run instead."""
    graph = lift(lambda x, y: x + y)
    other = clone(graph)
    other.entry.ops[0].callee = Const(operator.sub)
    return graph, other


def carrying(other, graph):
    pool = Pool()
    other.use_pool(pool)
    function = make_function(other, globals(), (pool.cell,))
    function.__code__ = remember(function.__code__, graph, pool)
    return function


def test_it_runs_as_it_is_and_is_lifted_as_it_was():
    graph, other = two_graphs()
    function = carrying(other, graph)
    assert function(5, 3) == 2
    lifted = verify(lift(function))
    assert str(lifted).replace(" cells(%$pool)", "") == str(graph)
    assert lifted.code is function.__code__ and lifted.namespace is globals()
    assert make_function(lifted, closure=function.__closure__)(5, 3) == 8


def test_each_lift_is_a_copy_without_types():
    graph, other = two_graphs()
    graph.entry.ops[0].result.type = "known"
    function = carrying(other, graph)
    first, second = lift(function), lift(function)
    first.entry.ops[0].callee = Const(operator.mul)
    assert second.entry.ops[0].fn is operator.add
    assert second.entry.ops[0].result.type is None
    assert graph.entry.ops[0].result.type == "known"


def test_what_no_instruction_stands_for_is_a_call():
    """A context that looks at calls sees it, whatever the pass said that made it."""
    graph, other = two_graphs()
    graph.entry.ops[0].callee = Const(pow)
    assert graph.entry.ops[0].syntax
    assert not lift(carrying(other, graph)).entry.ops[0].syntax
    assert lift(carrying(graph, other)).entry.ops[0].syntax


def test_it_goes_where_code_and_closure_go():
    graph, other = two_graphs()
    function = carrying(other, graph)
    twin = FunctionType(function.__code__, globals(), "twin", None, function.__closure__)
    assert twin(5, 3) == 2
    assert lift(twin).entry.ops[0].fn is operator.add


def test_code_made_of_such_code_has_a_pool_of_its_own():
    """Its closure is that of what it was made from, and then its own pool."""
    function = carrying(*reversed(two_graphs()))
    graph = lift(function)
    graph.entry.ops[0].callee = Const(operator.mul)
    made = buffers.make_function(graph, globals(), function.__closure__)
    assert made(5, 3) == 15
    assert [cell.cell_contents is not None for cell in made.__closure__] == [True, True]
    assert lift(made).entry.ops[0].fn is operator.mul
    assert make_function(lift(made), closure=made.__closure__)(5, 3) == 15


def test_without_the_closure_it_is_lifted_as_what_it_does():
    graph, other = two_graphs()
    function = carrying(other, graph)
    assert lift_code(function.__code__, globals()).entry.ops[0].fn is operator.sub
