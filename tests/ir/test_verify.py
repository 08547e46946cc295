"""The verifier refuses each kind of broken graph, and says where it is broken."""

from __future__ import annotations

import operator

import pytest
from ir_graphs import nested_graph, pow_graph, sum_graph

from ctxdispatch.ir import Block, Branch, Const, Edge, Jump, Op, Return, Value, VerificationError, verify


@pytest.mark.parametrize("make", [pow_graph, sum_graph, nested_graph])
def test_accepts(make):
    graph = make()
    assert verify(graph) is graph


def no_terminator(g):
    g.blocks[3].terminator = None


def to_the_entry(g):
    g.blocks[3].terminator = Jump(Edge(g.entry, list(g.params)))


def too_few_arguments(g):
    g.blocks[2].terminator.edge.args.pop()


def foreign_block(g):
    other = Block("b9")
    other.terminator = Return(Const(None))
    g.blocks[3].terminator = Jump(Edge(other))


def listed_twice(g):
    g.blocks.append(g.blocks[3])


def defined_twice(g):
    g.blocks[2].ops[1].results = [g.blocks[2].ops[0].result]


def undefined(g):
    g.blocks[2].ops[0].args[1] = Value("ghost")


def not_dominating(g):
    g.blocks[3].terminator = Return(g.blocks[2].ops[0].result)


def used_before(g):
    g.blocks[2].ops.reverse()
    g.blocks[2].ops[0].args[1] = g.blocks[2].ops[1].result


def no_operand(g):
    g.blocks[2].ops[0].args[1] = 3


def no_bool(g):
    g.blocks[1].terminator = Branch(Const(1), *g.blocks[1].edges())


def wrong_signature(g):
    g.params.pop()


def too_many_keywords(g):
    g.blocks[2].ops[0].kwnames = ("a", "b", "c")


def several_results(g):
    g.blocks[3].ops.append(Op(Const(operator.add), [Const(1), Const(2)], [Value(), Value()], syntax=True))


BROKEN = {
    no_terminator: "b3: the block has no terminator",
    to_the_entry: "b3, `jump b0(%x, %n)`: an edge leads to the entry",
    too_few_arguments: "b2, `jump b1(%r2)`: 1 arguments on an edge that takes 2",
    foreign_block: "not in the graph",
    listed_twice: "the block is listed twice",
    defined_twice: "%r2 is defined a second time",
    undefined: "b2, `%r2 = mul(%r, %ghost)`: %ghost is not defined in the graph",
    not_dominating: "b3, `return %r2`: %r2 is not defined on every path to here",
    used_before: "is not defined on every path to here",
    no_operand: "3 is no operand",
    no_bool: "the condition is no bool",
    wrong_signature: "1 parameters for 2 arguments",
    too_many_keywords: "more keywords than arguments",
    several_results: "several results",
}


@pytest.mark.parametrize("breakage", BROKEN, ids=lambda f: f.__name__)
def test_refuses(breakage):
    graph = pow_graph()
    breakage(graph)
    with pytest.raises(VerificationError) as caught:
        verify(graph)
    assert BROKEN[breakage] in str(caught.value).partition("\n")[0]


def test_the_body_of_an_iteration_gets_its_item_by_itself():
    graph = sum_graph()
    graph.blocks[1].terminator.body.args.append(Const(0))
    with pytest.raises(VerificationError, match="1 arguments on an edge that takes 0"):
        verify(graph)


def test_unreachable_code_must_only_be_well_formed():
    graph = pow_graph()
    lost = graph.new_block()
    lost.terminator = Return(graph.blocks[2].ops[0].result)
    verify(graph)
