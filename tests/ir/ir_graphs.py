"""Graphs built by hand, for the tests of the IR tools."""

from __future__ import annotations

import operator

from ctxdispatch.ir import Builder, Const, Graph, positional


def pow_graph() -> Graph:
    """The example of the design: x ** n by repeated multiplication."""
    graph = Graph("pow", positional(2, ("x", "n")))
    b = Builder(graph)
    x, n = graph.params
    b.write("r", Const(1.0))
    b.write("k", n)
    head, body, done = b.new_block(), b.new_block(), b.new_block()
    b.jump(head)
    b.enter(head)
    r, k = b.read("r"), b.read("k")
    b.branch(b.call(operator.gt, k, Const(0), name="c"), body, done)
    b.seal(body)
    b.seal(done)
    b.enter(body)
    b.write("r", b.call(operator.mul, b.read("r"), x, name="r"))
    b.write("k", b.call(operator.sub, b.read("k"), Const(1), name="k"))
    b.jump(head)
    b.seal(head)
    b.enter(done)
    b.ret(b.read("r"))
    assert r is not k
    return graph


def sum_graph() -> Graph:
    """for item in items: total = total + item"""
    graph = Graph("total", positional(1, ("items",)))
    b = Builder(graph)
    it = b.call(iter, graph.params[0], name="it")
    b.write("total", Const(0))
    head, body, done = b.new_block(), b.new_block(), b.new_block()
    b.jump(head)
    b.enter(head)
    b.read("total")
    item = b.iterate(it, body, done, "item")
    b.seal(body)
    b.seal(done)
    b.enter(body)
    b.write("total", b.call(operator.add, b.read("total"), item, name="total"))
    b.jump(head)
    b.seal(head)
    b.enter(done)
    b.ret(b.read("total"))
    return graph


def nested_graph() -> Graph:
    """while outer(x): while inner(x): x = step(x); all of it on one argument of callables"""
    graph = Graph("nested", positional(3, ("outer", "inner", "x")))
    b = Builder(graph)
    outer, inner, x = graph.params
    b.write("x", x)
    head, inner_head, inner_body, done = (b.new_block() for _ in range(4))
    b.jump(head)
    b.enter(head)
    b.branch(b.call(outer, b.read("x")), inner_head, done)
    b.seal(done)
    b.enter(inner_head)
    b.branch(b.call(inner, b.read("x")), inner_body, head)
    b.seal(head)
    b.seal(inner_body)
    b.enter(inner_body)
    b.write("x", b.call(operator.add, b.read("x"), Const(1), name="x"))
    b.jump(inner_head)
    b.seal(inner_head)
    b.enter(done)
    b.ret(b.read("x"))
    return graph
