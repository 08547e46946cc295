"""Two stages: what depends on arguments that stay the same is computed once.

    program(x, seeds)      ->      kept = setup(seeds);  program'(x, kept)       called again and again

A compressed Jacobian is computed along the same seeds at every point. What the program does to the seeds
alone (shifts, slices, products with constants) is the larger part of a linear right-hand side.
Numbers read from globals and from captured variables count as constants, and are compared at each call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CellType
from typing import Any

import numpy as np

from ctxdispatch.bytecode.pool import Pool
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Const, Graph, Op, Return, Value, hashable, positional
from ctxdispatch.ir.rewrite import clone, substitute, uses
from ctxdispatch.passes import effects
from ctxdispatch.passes import types as T
from ctxdispatch.passes.buffers import make_function
from ctxdispatch_contexts.programs.activity import STORES
from ctxdispatch_contexts.programs.entry import Entry
from ctxdispatch_contexts.programs.guarding import asking
from ctxdispatch_contexts.programs.rules import PACKAGE

NUMBERS = (int, float, bool, complex)
CONSTANTS = (*NUMBERS, str, bytes, slice, np.generic, np.dtype)


class Staged:
    """Calls of an entry's function whose last arguments, `static`, are given once and never change."""

    def __init__(self, entry: Entry, static: tuple[Any, ...], args: tuple[Any, ...]) -> None:
        self.entry, self.static = entry, static
        self._prepare(args)

    def _prepare(self, args: tuple[Any, ...]) -> None:
        operands = (*args, *self.static)
        self._types = self.entry.types_of(operands)
        program = self.entry.derivative(self._types)
        self._holds = asking(program.guards)
        setup, online = split(clone(program.graph), len(self.static))
        space, cells = self.entry.namespace, self.entry.source.cells
        self._numbers = [_where(op, setup, cells) for op in setup.entry.ops if _reads_variable(op)]
        self._values = [read(*path) for read, path in self._numbers]
        self._kept = make_function(setup, space, cells, Pool())(*self.static)
        self._online = make_function(online, space, cells, Pool())

    def __call__(self, *args: Any) -> Any:
        if not self._fits(args):
            self._prepare(args)
        return self._online(*args, *self._kept)

    def _fits(self, args: tuple[Any, ...]) -> bool:
        same = all(
            read(*path) is value for (read, path), value in zip(self._numbers, self._values, strict=True)
        )
        return same and self._holds() and self.entry.types_of((*args, *self.static)) == self._types


Read = tuple[Callable[..., Any], tuple[Any, ...]]


def _where(op: Op, graph: Graph, cells: Sequence[CellType]) -> Read:
    """How the variable is read that `op` reads."""
    where, name = op.args[:2]
    assert isinstance(name, Const)
    if isinstance(where, Const):
        return primitives.load_global, (where.value, name.value)
    return primitives.cell_get, (cells[graph.cells.index(where)], name.value, True)


def split(graph: Graph, n: int) -> tuple[Graph, Graph]:
    """(setup, online) of a graph whose last n parameters are static; `graph` becomes the second."""
    entry = graph.entry
    params, given = entry.params[: len(entry.params) - n], entry.params[len(entry.params) - n :]
    static: set[Value] = set(given)
    once: list[Op] = []
    again: list[Op] = []
    stores = _may_change(graph, set(given))
    variables = all(_is_quiet(op) or _reads_variable(op) for _, op in graph.ops())
    for op in entry.ops:
        if _is_static(op, static, variables) and not (stores and effects.makes_mutable(op)):
            static.update(op.results)
            once.append(op)
        else:
            again.append(op)
    entry.ops = again
    used = uses(graph)
    kept = [v for v in (*given, *(r for op in once for r in op.results)) if used.get(v)]
    setup = _graph(graph, "setup", given)
    result = Value()
    setup.entry.ops = [*once, Op(Const(primitives.build_tuple), list(kept), [result], syntax=True)]
    setup.entry.terminator = Return(result)
    substitute(setup, dict(zip(graph.cells, setup.cells)))
    entry.params = [*params, *kept]
    graph.signature = _signature(entry.params)
    return setup, graph


def _may_change(graph: Graph, arrays: set[Value]) -> bool:
    """Some op that is not known to change nothing gets what was made of `arrays`, or a view of that."""
    reached: set[Value] = set(arrays)
    for _, op in graph.ops():
        if reached.isdisjoint(op.operands()):  # type: ignore[arg-type]
            continue
        if not _is_quiet(op):
            return True
        reached.update(op.results)
    return False


def _is_static(op: Op, static: set[Value], variables: bool) -> bool:
    """`variables`: nothing changes any while the program runs."""
    if _reads_variable(op):
        return variables and T.cls_of(op.result.type or T.Any) in NUMBERS
    if any(isinstance(a, Const) and not _is_constant(a.value) for a in op.args):
        return False
    values = [a for a in op.operands() if isinstance(a, Value)]
    return _is_quiet(op) and all(v in static for v in values)


def _is_constant(value: Any) -> bool:
    """Nobody can change it: arrays among the constants are defaults of functions."""
    if isinstance(value, (tuple, frozenset)):
        return all(map(_is_constant, value))
    return value is None or value is Ellipsis or callable(value) or isinstance(value, CONSTANTS)


def _is_quiet(op: Op) -> bool:
    """It changes nothing: neither its operands nor anything else."""
    if not hashable(op.fn) or op.fn is None or op.fn in STORES:
        return False
    ours = str(getattr(op.fn, "__module__", "")).startswith(PACKAGE)
    return ours or effects.op_is_pure(op) or effects.removable(op)


def _reads_variable(op: Op) -> bool:
    return op.fn in (primitives.load_global, primitives.cell_get)


def _graph(like: Graph, name: str, params: Sequence[Value]) -> Graph:
    graph = Graph(name, _signature(params), cellnames=like.cellnames, namespace=like.namespace)
    graph.entry.params = list(params)
    return graph


def _signature(params: Sequence[Value]) -> Any:
    return positional(len(params), tuple(f"{p.name or 't'}.{i}" for i, p in enumerate(params)))
