"""The companion transform with an algebra that has nothing to do with derivatives: provenance.

The companion of a value is the set of the arguments that it was computed from, along the path that was taken.
"""

import math
import operator

import pytest

from ctxdispatch.bytecode.lift import lift
from ctxdispatch.ir import primitives
from ctxdispatch.ir.builder import Builder
from ctxdispatch.ir.graph import Return, positional
from ctxdispatch.ir.interpret import interpret
from ctxdispatch.ir.values import Const, Value
from ctxdispatch.ir.verify import verify
from ctxdispatch.passes import types as T
from ctxdispatch.passes.companion import Companions, companion_name

NOTHING = Const(frozenset())


def union(*sets):
    return frozenset().union(*sets)


class Provenance:
    def op(self, run, op):
        run.emit(op)
        found = [run.of(a) for a in op.operands() if run.of(a) is not None]
        for result in op.results:
            run.put(result, run.call(union, *found))

    def parameter(self, param):
        return Value(companion_name(param))

    def absent(self, run, operand, param):
        return NOTHING

    def item(self, run, iterator, item):
        return iterator


def with_provenance(f):
    """f(*args) -> (f(*args), the indices of the arguments that it came of)"""
    graph = lift(f)
    every = {p for b in graph.blocks for p in b.params} | {r for _, op in graph.ops() for r in op.results}
    run = Companions(graph, every, Provenance())
    names = graph.signature.names
    seeds = [Value("d" + name) for name in names]
    run.run(dict(zip(graph.params, seeds, strict=True)))
    for block in graph.blocks:
        if isinstance(block.terminator, Return):
            build = Builder(graph)
            build.enter(block)
            value = block.terminator.value
            pair = (value, run.of(value) or NOTHING)
            block.terminator.value = build.call(primitives.build_tuple, *pair, syntax=True)
    graph.signature = positional(2 * len(names), (*names, *("d" + name for name in names)))
    graph.entry.params += seeds
    verify(graph)
    return lambda *args: interpret(graph, [*args, *(frozenset([i]) for i in range(len(args)))])


def straight(a, b, c):
    return a * b + math.sin(a)


def branches(a, b, c):
    return a if c > 0 else b


def merged(a, b, c):
    r = 1.0
    if c > 0:
        r = a
    return r * b


def loop(a, b, c):
    r = 1.0
    while c > 0:
        r, b, c = b, r * a, c - 1
    return r


def items(a, b, c):
    total = 0.0
    for x in (a, b):
        total = total + x
    return total


def constant(a, b, c):
    return 7.0


@pytest.mark.parametrize("f, args, expected", [
    (straight, (2.0, 3.0, 1), {0, 1}),
    (branches, (2.0, 3.0, 1), {0}),
    (branches, (2.0, 3.0, 0), {1}),
    (merged, (2.0, 3.0, 1), {0, 1}),
    (merged, (2.0, 3.0, 0), {1}),
    (loop, (2.0, 3.0, 0), set()),
    (loop, (2.0, 3.0, 1), {1}),
    (loop, (2.0, 3.0, 2), {0}),
    (loop, (2.0, 3.0, 3), {0, 1}),
    (items, (2.0, 3.0, 0), {0, 1}),
    (constant, (2.0, 3.0, 0), set()),
])  # fmt: skip
def test_companions_travel_beside_their_values(f, args, expected):
    value, found = with_provenance(f)(*args)
    assert value == f(*args)
    assert found == expected


def test_what_is_not_tracked_has_no_companion():
    graph = lift(straight)
    a = graph.params[0]
    run = Companions(graph, {a}, Provenance())
    run.run({a: NOTHING})
    calls = [op.fn for _, op in graph.ops()]
    assert all(r not in run.companions for _, op in graph.ops() for r in op.results)
    assert operator.mul in calls


class Beside:
    """The companion of a list is one that lacks its last items; loops go through both."""

    def __init__(self, lacking):
        self.lacking = lacking

    def op(self, run, op):
        run.emit(op)
        if op.fn is primitives.build_list:
            short = run.call(primitives.build_list, *op.args[: len(op.args) - self.lacking], syntax=True)
            op.result.type = short.type = T.Exact(list)
            run.put(op.result, short)
        elif op.fn is iter:
            run.put(op.result, run.call(iter, run.of(op.args[0])))
        else:
            run.put(op.result, run.call(op.fn, *(run.of(a) or a for a in op.args)))

    def parameter(self, param):
        return Value(companion_name(param))

    def absent(self, run, operand, param):
        return operand

    def item(self, run, iterator, item):
        return run.item_beside(item, lambda companion, iterator: companion)


def summed(a, b, c):
    items, total = [a, b, c], 0.0
    for item in items:
        total += item
    return total


def with_companion(f, algebra):
    graph = lift(f)
    every = {p for b in graph.blocks for p in b.params} | {r for _, op in graph.ops() for r in op.results}
    Companions(graph, every, algebra).run({p: p for p in graph.params})
    verify(graph)
    return lambda *args: interpret(graph, list(args))


def test_loops_take_as_many_items_as_there_are_companions():
    assert with_companion(summed, Beside(0))(1.0, 2.0, 4.0) == 7.0
    with pytest.raises(ValueError, match="shorter"):
        with_companion(summed, Beside(1))(1.0, 2.0, 4.0)
