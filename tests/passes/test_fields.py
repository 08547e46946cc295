"""What objects, dicts and lists hold that nobody else has."""

import aggregate_programs
import pytest
from optimised import outcome

from ctxdispatch.bytecode.lift import lift
from ctxdispatch.ir import interpret, primitives, verify
from ctxdispatch.ir.prune import prune
from ctxdispatch.passes.dce import dce
from ctxdispatch.passes.fields import open_fields
from ctxdispatch.passes.fold import fold
from ctxdispatch.passes.infer import infer
from ctxdispatch.passes.types import type_of

ARGS = [(x, b, aggregate_programs.shown) for x in (-3.0, 0.25, 2.0) for b in (False, True)]


class Body:
    weight = 2.0

    def __init__(self, x):
        self.x = x

    @property
    def twice(self):
        return 2 * self.x


class Watched:
    def __setattr__(self, name, value):
        object.__setattr__(self, name, value + 1)


def opened(f, *args):
    """The graph of `f`, opened as often as that finds something; how often that was."""
    graph = lift(f)
    fold(graph, infer(graph, tuple(map(type_of, args))))
    prune(graph)
    times = 0
    while open_fields(graph):
        verify(graph)
        dce(graph)
        prune(graph)
        verify(graph)
        times += 1
    return graph, times


def made(graph):
    kinds = (object.__new__, primitives.build_map, primitives.build_list)
    return [op.fn for _, op in graph.ops() if op.fn in kinds]


@pytest.mark.parametrize("block", range(20))
def test_random_programs_do_the_same(block):
    found = 0
    for seed in range(50 * block, 50 * block + 50):
        f = aggregate_programs.function(seed)
        graph, times = opened(f, *ARGS[0])
        found += times > 0
        for args in ARGS:
            expected = outcome(f, *args)
            assert outcome(lambda *args, g=graph: interpret(g, args), *args) == expected, f.source
    assert found > 30


def test_an_object_that_is_changed_in_a_loop_goes():
    def f(x):
        body = object.__new__(Body)
        body.x = x
        body.v = 0.0
        for _ in range(3):
            body.v -= 0.5 * body.x
            body.x += body.v
        return body.x * body.weight

    graph, _ = opened(f, 1.0)
    assert not made(graph) and interpret(graph, [1.0]) == f(1.0)


def test_one_that_is_made_anew_in_each_round_goes():
    def f(x):
        p = {"a": x, "b": 1.0}
        for _ in range(4):
            q = {"a": p["b"], "b": p["a"] + p["b"]}
            p = q
        return p["a"]

    graph, _ = opened(f, 1.0)
    assert not made(graph) and interpret(graph, [1.0]) == f(1.0)


def test_objects_in_objects_go():
    def f(x):
        inner = [x, 2.0]
        outer = {"inner": inner}
        outer["inner"][1] += x
        return outer["inner"][1] * inner[0]

    graph, times = opened(f, 1.0)
    assert not made(graph) and times > 1 and interpret(graph, [3.0]) == f(3.0)


def test_what_stays():
    def two_names(x, b):
        p, q = [x], [2 * x]
        r = p if b else q
        r[0] += 1.0
        return p[0] + q[0]

    def missing(x, b):
        p = {}
        if b:
            p["a"] = x
        return p["a"]

    def given_away(x, b):
        p = [x]
        q = (p, 1)
        q[0][0] = 2.0
        return p[0]

    def watched(x, b):
        p = object.__new__(Watched)
        p.x = x
        return p.x

    def descriptor(x, b):
        p = object.__new__(Body)
        p.x = x
        return p.twice

    for f in (two_names, missing, given_away, watched, descriptor):
        graph, _ = opened(f, 1.0, True)
        assert made(graph), f
        for b in (True, False):
            assert outcome(lambda *args, g=graph: interpret(g, args), 1.0, b) == outcome(f, 1.0, b)
