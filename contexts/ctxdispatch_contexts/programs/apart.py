"""Arrays of the caller's that a program stores to, which have to lie apart from whatever else it reads.

    entry(u, f):  branch apart(u, f, G) -> body   else recorded
    recorded():   return RECORD(u, f)

A program knows values by their names. A store to `u` is one to `f` and `G` too where these share memory: only
run time knows that, and where they do, the run is recorded, which knows arrays by their memory.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterable, Sequence, Set
from typing import Any

import numpy as np

from ctxdispatch.facts import NAMESPACES
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Branch, Edge, Graph, Op, Return, positional
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.aliases import Objects, is_outside
from ctxdispatch_contexts.programs.changes import changed
from ctxdispatch_contexts.programs.errors import Refusing
from ctxdispatch_contexts.programs.out_of_sight import runs_python

LOADS = (primitives.load_global, primitives.cell_get)


class Strangers:
    """What a graph reads that was there before it began. `loads`: the ops that read variables which are
    arrays; `arrays`: parameters and constants that are. `known` finds them: where it is false there may be an
    array that is not among them."""

    def __init__(self, graph: Graph, objects: Objects) -> None:
        self.graph, self.params, self._objects = graph, list(graph.params), objects
        self.arrays: dict[Operand, None] = {}
        self.loads: dict[Any, Op] = {}

    @functools.cached_property
    def known(self) -> bool:
        return all(map(self._param, self.params)) and all(map(self._block, self.graph.blocks))

    @functools.cached_property
    def _read(self) -> set[Operand]:
        """What is more than looked whether it is what it was (a captured function that has been inlined)."""
        blocks = self.graph.blocks
        found = {a for block in blocks for op in block.ops for a in op.operands()}
        for block in blocks:
            assert block.terminator is not None
            found.update(block.terminator.operands(), *[edge.args for edge in block.edges()])
        return found

    def _param(self, param: Value) -> bool:
        if not self._objects.of(param):
            return True
        self.arrays[param] = None
        return _is_array(param)

    def _block(self, block: Block) -> bool:
        passed = [a for edge in block.edges() for a in edge.args]
        assert block.terminator is not None
        return all(map(self._op, block.ops)) and self._constants([*passed, *block.terminator.operands()])

    def _op(self, op: Op) -> bool:
        if op.fn in LOADS:
            if any(map(self._objects.of, op.results)):
                self.loads[tuple(map(_key, op.args))] = op
            return all(_is_array(r) or r not in self._read or not self._objects.of(r) for r in op.results)
        if op.fn in NAMESPACES or runs_python(op):
            return False
        return self._constants(op.operands()) and self._is_of_operands(op)

    def _constants(self, operands: Iterable[Operand]) -> bool:
        found = [a for a in operands if isinstance(a, Const) and self._from_outside(a)]
        self.arrays.update(dict.fromkeys(found))
        return all(map(_is_array, found))

    def _is_of_operands(self, op: Op) -> bool:
        """Outside things that the results may be, operands may be too."""
        return any(map(self._objects.of, op.operands())) or not any(map(self._from_outside, op.results))

    def _from_outside(self, operand: Operand) -> bool:
        return any(map(is_outside, self._objects.reach(operand)))


def exposed(graph: Graph, objects: Objects, active: Set[Value], followed: Container[Op]) -> list[Value]:
    """The arrays among the parameters that are differentiated, where the graph stores to an array that was
    there before it began, and may be one of them. `followed`: stores of which that is known."""
    if not any(op not in followed and _changes_outside(objects, op) for _, op in graph.ops()):
        return []
    return [p for p in graph.params if p in active and _is_array(p)]


def _changes_outside(objects: Objects, op: Op) -> bool:
    return any(_is_array(target) and any(map(is_outside, objects.of(target))) for target in changed(op))


def _is_array(operand: Operand) -> bool:
    type_ = operand_type(operand)
    return isinstance(type_, T.ArrayOf) and type_.dtype.kind != "O"


def _key(operand: Operand) -> Any:
    return id(operand.value) if isinstance(operand, Const) else operand


# -- the test ------------------------------------------------------------------------------------------------


class Record(Refusing):
    """Stands in a program where its run is recorded instead, until it is known how."""

    __name__ = "record"


RECORD = Record()


def test_apart(graph: Graph, stored: Sequence[Value], strangers: Strangers) -> None:
    """Put the test before the graph, in place: each of the parameters `stored` lies apart from the others and
    from the strangers."""
    body, entry, otherwise = graph.entry, Block("entry"), Block("recorded")
    fresh = [Value(p.name, p.type) for p in body.params]
    entry.params, result = fresh, Value()
    test = _ask(entry, stored, strangers)
    entry.terminator = Branch(test, Edge(body, list(fresh)), Edge(otherwise))
    otherwise.ops = [Op(Const(RECORD), list(fresh), [result])]
    otherwise.terminator = Return(result)
    graph.blocks[:0] = [entry]
    graph.blocks.append(otherwise)


def asks_apart(graph: Graph, stored: Sequence[Value], strangers: Strangers) -> Graph:
    """The same test as a graph of its own, of the parameters that the strangers were found for."""
    params = [Value(p.name, p.type) for p in strangers.params]
    signature = positional(len(params), tuple(f"{p.name}.{i}" for i, p in enumerate(params)))
    test = Graph("apart", signature, cellnames=graph.cellnames, namespace=graph.namespace)
    test.entry.params = params
    test.entry.terminator = Return(_ask(test.entry, stored, strangers))
    substitute(test, dict(zip(graph.cells, test.cells)))
    return test


def _ask(entry: Block, stored: Sequence[Value], strangers: Strangers) -> Value:
    """Append the test to a block whose first parameters are those that the strangers were found for."""
    twin: dict[Operand, Operand] = dict(zip(strangers.params, entry.params))
    others = [twin.get(a, a) for a in strangers.arrays if a not in stored]
    others += filter(_is_array, entry.params[len(strangers.params) :])  # tangents
    for load in strangers.loads.values():
        loaded = Value(load.result.name, load.result.type)
        entry.ops.append(Op(load.callee, list(load.args), [loaded], (), load.pos, load.syntax))
        others.append(loaded)
    test = Value(type=T.Exact(bool))
    operands = [Const(len(stored)), *(twin[p] for p in stored), *others]
    entry.ops.append(Op(Const(apart), operands, [test]))
    return test


def apart(count: int, *arrays: Any) -> bool:
    """The first `count` arrays share memory with none of the others, and have each element once."""
    for i, stored in enumerate(arrays[:count], 1):
        if not _has_each_once(stored) or any(_share(stored, other) for other in arrays[i:]):
            return False
    return True


def _share(a: Any, b: Any) -> bool:
    if not np.may_share_memory(a, b):
        return False
    try:
        return np.shares_memory(a, b, max_work=1000)
    except np.exceptions.TooHardError:
        return True


def _has_each_once(array: Any) -> bool:
    """No two elements of an array lie in one place, as they do in `as_strided` windows."""
    if array.flags.forc:
        return True
    reach = array.itemsize
    for stride, n in sorted((abs(s), n) for s, n in zip(array.strides, array.shape) if n > 1):
        if stride < reach:
            return False
        reach = stride * (n - 1) + reach
    return True


def records(graph: Graph) -> bool:
    """It may have to be recorded, once it is called."""
    return any(op.fn is RECORD for _, op in graph.ops())


def record_with(graph: Graph, run: Callable[..., Any]) -> None:
    """Have `run` record, in place."""
    for _, op in graph.ops():
        if op.fn is RECORD:
            op.callee = Const(run)


__all__ = ["RECORD", "Strangers", "apart", "asks_apart", "exposed", "record_with", "records", "test_apart"]
