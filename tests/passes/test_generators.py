"""A loop over a generator, and the generator's code around the loop's body, do the same in the same order."""

import copy
import inspect
import types

import pytest

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.bytecode.lift import lift, lift_generator
from ctxdispatch.ir import primitives
from ctxdispatch.ir.analysis import loops
from ctxdispatch.ir.graph import Iterate
from ctxdispatch.ir.interpret import interpret
from ctxdispatch.ir.prune import prune
from ctxdispatch.ir.rewrite import clone
from ctxdispatch.ir.verify import verify
from ctxdispatch.passes.buffers import make_function
from ctxdispatch.passes.generators import as_list, fuse, loop_over, source
from tests.passes import generator_programs
from tests.passes.generator_programs import GENERATORS, LOG, LOOPS, delegates, found

pytestmark = pytest.mark.every(1)
VALUES = ([0.5, -2.0, 3.0, 1.25], [0.25, 0.25, 1.0], [4.0, 0.0, -1.0, 2.5, 2.5])


def fused(loop, generator):
    """The graph of `loop`, and how many of its loops are the generator's now."""
    graph = clone(lift(loop))
    count = 0
    while _fuse_one(graph, generator):
        prune(graph)
        verify(graph)
        count += 1
    return graph, count


def _fuse_one(graph, generator):
    makers = {r: op for _, op in graph.ops() for r in op.results}
    forest = loops(graph)
    for header in [b for b in graph.blocks if isinstance(b.terminator, Iterate)]:
        ops = source(makers, header.terminator.iterator)
        called = makers.get(ops[-1].callee) if ops else None
        if called is None or called.fn is not primitives.load_global or called.args[1].value != "made":
            continue
        over = loop_over(graph, header, ops, forest)
        inner = lift_generator(generator.__code__, generator.__globals__)
        if over is not None:
            fuse(graph, over, ops, inner, ops[-1].args, [])
            return True
    return False


def outcome(call, v, n):
    v = copy.deepcopy(v)
    LOG.clear()
    try:
        found = call(v, n)
    except Exception as error:
        found = type(error), str(error)
    return found, v, [*LOG]


@pytest.mark.parametrize("generator", GENERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("loop", LOOPS, ids=lambda f: f.__name__)
def test_the_same_in_the_same_order(loop, generator, monkeypatch):
    monkeypatch.setattr(generator_programs, "made", generator)
    graph, count = fused(loop, generator)
    assert count == inspect.getsource(loop).count("in made(")
    function = make_function(clone(graph), loop.__globals__, ())
    for v in VALUES:
        for n in (0, 1, 3):
            wanted = outcome(loop, v, n)
            assert outcome(function, v, n) == wanted
            assert outcome(lambda v, n: interpret(graph, [v, n]), v, n) == wanted


@pytest.mark.parametrize("generator", GENERATORS, ids=lambda f: f.__name__)
def test_the_list_of_all_items(generator):
    graph = as_list(lift_generator(generator.__code__, generator.__globals__))
    verify(graph)
    for v in VALUES:
        for n in (0, 1, 3):
            wanted = outcome(lambda v, n: list(generator(v, n)), v, n)
            assert outcome(lambda v, n: interpret(graph, [v, n]), v, n) == wanted


def result_of_another(v, n):
    log = yield from delegates(v, n)
    yield log


def with_handlers(v, n):
    try:
        yield v[0]
    finally:
        n += 1


@pytest.mark.parametrize("generator", [result_of_another, with_handlers], ids=lambda f: f.__name__)
def test_what_has_no_graph(generator):
    with pytest.raises(UnsupportedSyntax):
        lift_generator(generator.__code__, generator.__globals__)


def test_no_generator():
    with pytest.raises(ValueError, match="found is no generator"):
        lift_generator(found.__code__, found.__globals__)


def kept(v, n):
    items = made(v, n)  # noqa: F821
    for x in items:
        if x > 1.0:
            break
    return next(items)


def outside_of_a_loop(v, n):
    items, s = made(v, n), 0.0  # noqa: F821
    for _ in range(3):
        for x in items:
            s = s + x
    return s


@pytest.mark.parametrize("loop", [kept, outside_of_a_loop], ids=lambda f: f.__name__)
def test_what_somebody_else_goes_through_too(loop):
    loop = types.FunctionType(loop.__code__, vars(generator_programs))
    assert fused(loop, generator_programs.looped)[1] == 0
