"""Copies share nothing, substitution leaves no use behind."""

from __future__ import annotations

import pytest
from ir_graphs import nested_graph, pow_graph, sum_graph

from ctxdispatch.ir import (
    Const,
    Edge,
    Graph,
    Jump,
    Return,
    Value,
    clone,
    clone_into,
    copy_blocks,
    interpret,
    positional,
    split_block,
    substitute,
    uses,
    verify,
)
from ctxdispatch.ir.names import defined


@pytest.mark.parametrize("make", [pow_graph, sum_graph, nested_graph])
def test_a_clone_is_equal_and_shares_nothing(make):
    graph = make()
    twin = verify(clone(graph))
    assert str(twin) == str(graph)
    assert not set(defined(twin)) & set(defined(graph))
    assert not set(twin.blocks) & set(graph.blocks)
    assert not {op for _, op in twin.ops()} & {op for _, op in graph.ops()}


def test_inlining_by_clone_into():
    outer = Graph("outer", positional(1, ("y",)))
    copy = clone_into(outer, pow_graph())
    outer.entry.terminator = Jump(Edge(copy.blocks[0], [outer.params[0], Const(3)]))
    assert interpret(verify(outer), [2.0]) == 8.0
    assert [b.name for b in outer.blocks] == [f"b{i}" for i in range(5)]


def test_a_region_is_copied_beside_itself():
    graph = pow_graph()
    copy = copy_blocks([graph.blocks[2]])
    assert copy.blocks[0].terminator.edge.target is graph.blocks[1]
    graph.blocks += copy.blocks
    graph.blocks[1].terminator.then = Edge(copy.blocks[0])
    assert interpret(verify(graph), [2.0, 4]) == 16.0


def test_seeded_values():
    graph = pow_graph()
    copy = copy_blocks([graph.blocks[2]], {graph.params[0]: Const(7)})
    assert copy.blocks[0].ops[0].args[1].value == 7


def test_substitution_follows_chains_and_reaches_edges():
    graph = pow_graph()
    x, n = graph.params
    between = Value()
    substitute(graph, {n: between, between: Const(2)})
    assert interpret(verify(graph), [3.0, 9]) == 9.0
    assert not uses(graph)[n]


def test_a_circular_substitution_is_refused():
    graph = pow_graph()
    x, n = graph.params
    with pytest.raises(ValueError, match="by itself"):
        substitute(graph, {x: n, n: x})


def test_uses_count_operand_positions():
    graph = pow_graph()
    r, k = graph.blocks[1].params
    assert [len(uses(graph)[v]) for v in (*graph.params, r, k)] == [1, 1, 2, 2]
    assert uses(graph)[r][1].user is graph.blocks[3].terminator


def test_split_block():
    graph = pow_graph()
    body = graph.blocks[2]
    rest = split_block(graph, body, 1)
    body.terminator = Jump(Edge(rest))
    assert (len(body.ops), len(rest.ops)) == (1, 1)
    assert interpret(verify(graph), [2.0, 5]) == 32.0


def test_a_terminator_is_copied_with_its_position():
    graph = pow_graph()
    assert isinstance(clone(graph).blocks[3].terminator, Return)
