"""Orders, dominance, loops and lifetimes; each against its definition on random control flow."""

from __future__ import annotations

import pytest
from ir_graphs import nested_graph, pow_graph, sum_graph
from ir_programs import random_graph

from ctxdispatch.ir import (
    Branch,
    Const,
    Edge,
    Graph,
    IrreducibleError,
    Jump,
    Return,
    dominators,
    liveness,
    loops,
    positional,
    postdominators,
    reverse_postorder,
    verify,
)

GRAPHS = [g for seed in range(60) if (g := random_graph(seed)) is not None]


def reached(graph, without=None, start=None):
    """The blocks that `start` reaches on paths around `without`."""
    work, seen = [start or graph.entry], set()
    while work:
        block = work.pop()
        if block is not without and block not in seen:
            seen.add(block)
            work.extend(block.successors())
    return seen


@pytest.mark.parametrize("graph", GRAPHS)
def test_dominance_is_what_it_is_defined_to_be(graph):
    verify(graph)
    tree = dominators(graph)
    for a in graph.blocks:
        cut_off = set(graph.blocks) - reached(graph, without=a)
        assert {b for b in graph.blocks if tree.dominates(a, b)} == cut_off


@pytest.mark.parametrize("graph", GRAPHS)
def test_an_immediate_dominator_is_the_last_one(graph):
    tree = dominators(graph)
    for block, parent in tree.idom.items():
        strict = [a for a in graph.blocks if a is not block and tree.dominates(a, block)]
        assert all(tree.dominates(a, parent) for a in strict)


@pytest.mark.parametrize("graph", GRAPHS)
def test_postdominance(graph):
    tree = postdominators(graph)
    exits = {b for b in graph.blocks if not b.successors()}
    for a in graph.blocks:
        for b in graph.blocks:
            around = bool(reached(graph, without=a, start=b) & exits)
            if a in tree and b in tree:
                assert tree.dominates(a, b) == (a is b or not around)


@pytest.mark.parametrize("graph", GRAPHS)
def test_loops(graph):
    forest = loops(graph)
    for loop in forest.loops:
        assert all(loop.header in latch.successors() and latch in loop.blocks for latch in loop.latches)
        assert all(forest.dominators.dominates(loop.header, b) for b in loop.blocks)
        entered = {e.target for p, e in _edges(graph) if p not in loop.blocks and e.target in loop.blocks}
        assert entered <= {loop.header}
        assert {e.target for _, e in loop.exits()}.isdisjoint(loop.blocks)
        assert loop.depth == 1 + (loop.parent.depth if loop.parent else 0)
        assert all(child.blocks < loop.blocks for child in loop.children)
    cyclic = {b for b in graph.blocks if any(b in reached(graph, start=s) for s in b.successors())}
    assert set(forest.loop_of) == cyclic


def _edges(graph):
    return [(b, e) for b in graph.blocks for e in b.edges()]


@pytest.mark.parametrize("graph", GRAPHS)
def test_liveness(graph):
    live_in = liveness(graph).live_in
    for block in graph.blocks:
        live = {v for s in block.successors() for v in live_in[s]}
        live |= {v for e in block.edges() for v in e.args if not isinstance(v, Const)}
        live |= {v for v in block.terminator.operands() if not isinstance(v, Const)}
        for op in reversed(block.ops):
            live -= set(op.results)
            live |= {v for v in op.operands() if not isinstance(v, Const)}
        assert live_in[block] == live - set(block.params) - (
            set(graph.params) if block is graph.entry else set()
        )


def test_the_loops_of_two_nested_ones():
    outer, inner = loops(nested_graph()).loops
    assert (outer.children, inner.parent, outer.depth, inner.depth) == ([inner], outer, 1, 2)
    assert inner.blocks < outer.blocks


def test_live_across():
    graph = pow_graph()
    body, live = graph.blocks[2], liveness(pow_graph())
    live = liveness(graph)
    x, (r, k) = graph.params[0], graph.blocks[1].params
    assert live.live_across(body, 0) == {x, k}
    assert live.live_after(body, 0) == {x, k, body.ops[0].result}


def test_order_of_a_loop():
    assert [b.name for b in reverse_postorder(sum_graph())] == ["b0", "b1", "b2", "b3"]


def test_a_loop_with_two_entries_is_refused():
    graph = Graph("f", positional(1, ("c",)))
    a, b, end = graph.new_block(), graph.new_block(), graph.new_block()
    graph.entry.terminator = Branch(graph.params[0], Edge(a), Edge(b))
    a.terminator = Jump(Edge(b))
    b.terminator = Branch(graph.params[0], Edge(a), Edge(end))
    end.terminator = Return(Const(None))
    with pytest.raises(IrreducibleError, match="entry besides"):
        loops(graph)


def test_long_chains_need_no_recursion():
    graph = Graph("f", positional(0))
    block = graph.entry
    for _ in range(5000):
        after = graph.new_block()
        block.terminator = Jump(Edge(after))
        block = after
    block.terminator = Return(Const(None))
    assert len(dominators(verify(graph)).order) == 5001
    assert not loops(graph).loops
