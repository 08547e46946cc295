"""Constants that code does not hold: in a list that the function has in its closure."""

import gc
import math
import operator
import sys
import types
import weakref

import numpy as np
import pytest

from ctxdispatch.bytecode.emit import make_function
from ctxdispatch.bytecode.lift import lift
from ctxdispatch.bytecode.pool import Pool
from ctxdispatch.ir import verify
from ctxdispatch.ir.builder import Builder
from ctxdispatch.ir.graph import Graph, Return, positional
from ctxdispatch.ir.leaves import is_leaf
from ctxdispatch.ir.rewrite import clone
from ctxdispatch.ir.values import Const


class Thing:
    def __call__(self, x):
        return x + 1


def pooled(graph, namespace=None, closure=()):
    pool = Pool()
    graph.use_pool(pool)
    return make_function(verify(graph), namespace, (*closure, pool.cell)), pool


def calling(thing):
    graph = Graph("f", positional(1))
    build = Builder(graph)
    build.ret(build.call(operator.add, build.call(thing, graph.params[0]), Const(2), syntax=True))
    return graph


def test_code_has_no_constant_that_leads_anywhere():
    thing = Thing()
    function, pool = pooled(calling(thing))
    assert function(3) == 6
    assert all(map(is_leaf, function.__code__.co_consts)) and thing in pool.items
    assert function.__closure__ == (pool.cell,) and function.__code__.co_freevars == ("$pool",)


def test_a_constant_is_there_once():
    thing = Thing()
    graph = calling(thing)
    graph.entry.ops[1].args[1] = graph.entry.ops[0].result
    graph.entry.ops.append(graph.entry.ops[0].__class__(Const(thing), [graph.entry.ops[1].result], []))
    _, pool = pooled(graph)
    assert pool.items == [thing]


@pytest.mark.parametrize("value", [Thing(), [1], {}, lambda: 0, Thing])
def test_it_is_returned_as_it_is(value):
    graph = Graph("f", positional(0))
    graph.entry.terminator = Return(Const(value))
    function, _ = pooled(graph)
    assert function() is value


def test_beside_cells_of_the_functions_own():
    thing, y = Thing(), 5

    def f(x):
        return thing(x) * y

    graph = lift(f)
    graph.entry.terminator = Return(Const(thing))
    function, _ = pooled(graph, f.__globals__, f.__closure__)
    assert function(1) is thing


def test_a_clone_reads_the_same_pool():
    graph = calling(Thing())
    pool = Pool()
    graph.use_pool(pool)
    twin = clone(graph)
    assert twin.pool is pool and twin.pool_cell is twin.cells[-1] is not graph.pool_cell


def test_a_function_whose_code_leads_back_to_it_dies():
    thing = Thing()
    thing.function = pooled(calling(thing))[0]
    reference = weakref.ref(thing)
    del thing
    gc.collect()
    assert reference() is None


LEAVES = [
    None, True, 1, 1.5, 1j, "a", b"a", ..., slice(1, 2), range(3), (1, (2, "a")), frozenset({1}), math.sin,
    len, test_a_constant_is_there_once.__code__, np.sin, np.add.reduce, np.sum, np.float64, np.float64(1.0),
    np.dtype(float), np.ones(3), np.ndarray.sum, np, math, float, str.join, operator.add, vars(np),
    np.ndarray, types.FunctionType,
]  # fmt: skip


@pytest.mark.parametrize("value", LEAVES, ids=lambda v: type(v).__name__)
def test_leaves(value):
    assert is_leaf(value)


HEAVY = [
    Thing(), Thing, Thing().__call__, [], {}, lambda x: x, np.array([Thing()]), (1, [2]), [].append,
    types.ModuleType("math"), globals(), sys.modules[__name__], np.vectorize(Thing()), types.CellType(1),
    types.SimpleNamespace(),
]  # fmt: skip


@pytest.mark.parametrize("value", HEAVY, ids=lambda v: type(v).__name__)
def test_what_may_lead_anywhere(value):
    assert not is_leaf(value)
