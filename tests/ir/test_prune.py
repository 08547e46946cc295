"""Before and after of each thing that pruning does."""

import operator
import textwrap

from ctxdispatch.ir import verify
from ctxdispatch.ir.builder import Builder
from ctxdispatch.ir.graph import Block, Branch, Edge, Graph, Iterate, Jump, Return, positional
from ctxdispatch.ir.prune import prune
from ctxdispatch.ir.values import Const, Value


def start(*names):
    graph = Graph("f", positional(len(names), names))
    return graph, Builder(graph), graph.params


def link(block, terminator):
    block.terminator = terminator
    return block


def block(build, *names):
    made = build.new_block()
    made.params = [Value(n) for n in names]
    return made


def assert_pruned(graph, expected):
    verify(graph)
    assert str(verify(prune(graph))).strip() == textwrap.dedent(expected).strip()


def test_unreachable_blocks_go():
    graph, build, (x,) = start("x")
    lost = block(build, "p")
    link(lost, Jump(Edge(lost, [lost.params[0]])))
    build.ret(x)
    assert_pruned(graph, "f(%x):\n  b0(): return %x")


def test_a_parameter_that_is_always_one_value():
    graph, build, (x, c) = start("x", "c")
    left, right, meet = block(build), block(build), block(build, "p", "q")
    build.branch(c, left, right)
    for side, value in ((left, 1), (right, 2)):
        build.enter(side)
        build.call(print, Const(value))
        build.jump(meet, [x, Const(value)])
    build.enter(meet)
    build.ret(build.call(operator.add, *meet.params, name="s"))
    assert_pruned(
        graph,
        """
        f(%x, %c):
          b0(): branch %c b1() b2()
          b1(): %0 = print(1); jump b3(1)
          b2(): %1 = print(2); jump b3(2)
          b3(%q): %s = add(%x, %q); return %s
        """,
    )


def test_parameters_that_only_feed_each_other_around_a_loop():
    graph, build, (x, n) = start("x", "n")
    head, body, done = block(build, "a", "b", "k"), block(build), block(build)
    build.jump(head, [x, Const(1), n])
    build.enter(head)
    a, b, k = head.params
    build.branch(build.call(operator.gt, k, Const(0), name="c"), body, done)
    build.enter(body)
    build.jump(head, [b, a, build.call(operator.sub, k, Const(1), name="k2")])
    build.enter(done)
    build.ret(k)
    assert_pruned(
        graph,
        """
        f(%x, %n):
          b0(): jump b1(%n)
          b1(%k): %c = gt(%k, 0); branch %c b2() b3()
          b2(): %k2 = sub(%k, 1); jump b1(%k2)
          b3(): return %k
        """,
    )


def test_invariants_of_nested_loops_are_no_parameters():
    graph, build, (x,) = start("x")
    outer, inner, latch = block(build, "p"), block(build, "q"), block(build)
    out = block(build)
    build.jump(outer, [x])
    build.enter(outer)
    build.branch(build.call(bool, outer.params[0], name="c"), inner, out)
    outer.terminator.then.args = [outer.params[0]]
    build.enter(inner)
    build.branch(build.call(print, inner.params[0], name="d"), inner, latch)
    inner.terminator.then.args = [inner.params[0]]
    build.enter(latch)
    build.call(print)
    build.jump(outer, [inner.params[0]])
    build.enter(out)
    build.ret(outer.params[0])
    prune(verify(graph))
    assert not any(b.params for b in verify(graph).blocks[1:])


def test_empty_blocks_are_jumped_over():
    graph, build, (x, c) = start("x", "c")
    empty, full, meet = block(build, "e"), block(build), block(build, "p")
    link(graph.entry, Branch(c, Edge(empty, [x]), Edge(full)))
    link(empty, Jump(Edge(meet, [empty.params[0]])))
    build.enter(full)
    build.jump(meet, [build.call(operator.neg, x, name="y")])
    link(meet, Return(meet.params[0]))
    assert_pruned(
        graph,
        """
        f(%x, %c):
          b0(): branch %c b2(%x) b1()
          b1(): %y = neg(%x); jump b2(%y)
          b2(%p): return %p
        """,
    )


def test_two_edges_never_join_the_same_blocks_with_arguments():
    graph, build, (c,) = start("c")
    left, right, meet = block(build), block(build), block(build, "p")
    build.branch(c, left, right)
    for n, side in enumerate((left, right)):
        link(side, Jump(Edge(meet, [Const(n)])))
    link(meet, Return(meet.params[0]))
    prune(graph)
    for b in verify(graph).blocks:
        assert len(set(b.successors())) == len(b.successors())


def test_a_branch_that_decides_nothing_is_none():
    graph, build, (c,) = start("c")
    left, right, meet = block(build), block(build), block(build)
    build.branch(c, left, right)
    for side in (left, right):
        link(side, Jump(Edge(meet)))
    link(meet, Return(Const(1)))
    assert_pruned(graph, "f(%c):\n  b0(): return 1")


def test_chains_become_one_block():
    graph, build, (x,) = start("x")
    second, third = block(build, "p"), block(build, "q")
    y = build.call(operator.neg, x, name="y")
    build.jump(second, [y])
    build.enter(second)
    build.jump(third, [build.call(operator.neg, second.params[0], name="z")])
    link(third, Return(third.params[0]))
    assert_pruned(graph, "f(%x):\n  b0(): %y = neg(%x); %z = neg(%y); return %z")


def test_items_of_an_iteration_stay_and_its_empty_body_too():
    graph, build, (it,) = start("it")
    head, body, done = block(build), block(build, "item"), block(build)
    build.jump(head)
    link(head, Iterate(it, Edge(body), Edge(done)))
    link(body, Jump(Edge(head)))
    link(done, Return(Const(None)))
    assert_pruned(
        graph,
        """
        f(%it):
          b0(): jump b1()
          b1(): iterate %it b2() b3()
          b2(%item): jump b1()
          b3(): return None
        """,
    )


def test_an_empty_endless_loop_stays():
    graph, build, _ = start()
    first, second = block(build), block(build)
    link(graph.entry, Jump(Edge(first)))
    link(first, Jump(Edge(second)))
    link(second, Jump(Edge(first)))
    assert isinstance(prune(graph).blocks[-1].terminator, Jump)
    verify(graph)


def test_long_chains_are_quick():
    graph, build, (x,) = start("x")
    here: Block = graph.entry
    value = x
    for _ in range(20_000):
        following = block(build, "p")
        link(here, Jump(Edge(following, [value])))
        here, value = following, following.params[0]
    link(here, Return(value))
    assert_pruned(graph, "f(%x):\n  b0(): return %x")
