"""Two stages: what depends on arguments that stay the same is computed once.

    program(x, seeds)      ->      kept = setup(seeds);  program'(x, kept)       called again and again

A compressed Jacobian is computed along the same seeds at every point. What the program does to the seeds
alone (shifts, slices, products with constants) is the larger part of a linear right-hand side.
Numbers read from globals and from captured variables are constants of such a program (`frozen`), and are
compared at each call.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from types import CellType
from typing import Any

import numpy as np

from ctxdispatch.bytecode.pool import Pool
from ctxdispatch.facts import fact_of
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Op, Return, positional
from ctxdispatch.ir.rewrite import clone, substitute, uses
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import effects
from ctxdispatch.passes.buffers import make_function
from ctxdispatch.passes.conform import conform
from ctxdispatch.passes.types import ArrayOf, operand_type
from ctxdispatch_contexts.programs import tiers
from ctxdispatch_contexts.programs.changes import changed, out_of
from ctxdispatch_contexts.programs.entry import Entry
from ctxdispatch_contexts.programs.guarding import asking
from ctxdispatch_contexts.programs.mode import Program
from ctxdispatch_contexts.programs.out_of_sight import runs_python
from ctxdispatch_contexts.programs.rules import PACKAGE

CONSTANTS = (int, float, bool, complex, str, bytes, slice, np.generic, np.dtype)


@dataclass
class Online:
    """The program that is left: (*args, *kept). `made` of those kept are made of what is static. `run` is it
    as a function, `function(graph)` makes one of any such graph."""

    graph: Graph
    args: tuple[Any, ...]
    kept: tuple[Any, ...]
    made: tuple[bool, ...]
    cells: Sequence[CellType]
    function: Callable[[Graph], Any]

    @property
    def reads_state(self) -> bool:
        """What it computes depends on more than numbers: on arrays that variables hold, on attributes, on
        arguments that are objects."""
        values = {*self.graph.entry.params, *(r for _, op in self.graph.ops() for r in op.results)}
        plain = all(isinstance(a, (*CONSTANTS, np.ndarray, type(None))) for a in self.args)
        return not plain or not all(is_static(op, values) for _, op in self.graph.ops())

    @functools.cached_property
    def run(self) -> Any:
        return self.function(self.graph)


class Staged:
    """Calls of an entry's function whose last arguments, `static`, are given once and never change.
    `finish(online)` makes of the rest what is called, (*args, *kept). Where there is no program, and for
    calls whose arguments share memory where it takes for granted that they do not, the run is recorded:
    `finish_recorded(run)` makes what is called then, of (*args) -> what the program would return."""

    def __init__(
        self, entry: Entry, static: tuple[Any, ...], args: tuple[Any, ...], finish: Callable[[Online], Any],
        finish_recorded: Callable[[Any], Any],
    ) -> None:  # fmt: skip
        self.entry, self.static, self.finish = entry, static, finish
        self._recorded = finish_recorded(self._record)
        self._prepare(args)

    def _record(self, *args: Any) -> Any:
        run = self.entry.mode.recorded(self.entry.source.call, self.entry.context)
        assert run is not None
        return run(*args, *self.static)

    def _prepare(self, args: tuple[Any, ...]) -> None:
        operands = (*args, *self.static)
        self._types = self.entry.types_of(operands)
        program = self._program()
        if program is None:
            self._holds, self._apart = _always, _never
            return
        self._holds = asking(program.guards)
        setup, online, made = split(clone(program.graph), len(self.static))
        space, cells = self.entry.namespace, self.entry.source.cells

        def function(graph: Graph) -> Any:
            return make_function(graph, space, cells, Pool())

        self._apart = _always if program.apart is None else function(program.apart)
        self._kept = function(setup)(*self.static)
        self._online = self.finish(Online(online, args, self._kept, made, cells, function))

    def _program(self) -> Program | None:
        """None where the run has to be recorded."""
        from ctxdispatch_contexts.programs.refusing import refuses

        try:
            program = self._derivative()
        except tiers.NO_PROGRAM:
            return None
        return program if refuses(program.graph) is None else None

    def _derivative(self) -> Program:
        """Variables are constants of it where nothing can change them while it runs."""
        program = self.entry.derivative(self._types)
        graph = program.graph
        if not has_effects(graph) and not any(_is_foreign(op) for _, op in graph.ops()):
            return program
        mode: Any = self.entry.mode
        return self.entry.sibling(replace(mode, frozen=False)).derivative(self._types)

    def __call__(self, *args: Any) -> Any:
        if not (self._holds() and self.entry.types_of((*args, *self.static)) == self._types):
            self._prepare(args)
        return self._online(*args, *self._kept) if self._apart(*args) else self._recorded(*args)


def _always(*args: Any) -> bool:
    return True


def _never(*args: Any) -> bool:
    return False


def split(graph: Graph, n: int) -> tuple[Graph, Graph, tuple[bool, ...]]:
    """(setup, online, made) of a graph whose last n parameters are static; `graph` becomes the second.
    `made`: which of the values kept are made of these parameters, not of constants alone."""
    entry = graph.entry
    params, given = entry.params[: len(entry.params) - n], entry.params[len(entry.params) - n :]
    static: set[Value] = set(given)
    made: set[Value] = set(given)
    once: list[Op] = []
    again: list[Op] = []
    stores = may_change(graph, {*given, *_made_of_constants(graph)})
    for op in entry.ops:
        if is_static(op, static) and not (stores and effects.makes_mutable(op)):
            static.update(op.results)
            if not made.isdisjoint(op.operands()):  # type: ignore[arg-type]
                made.update(op.results)
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
    return setup, graph, tuple([v in made for v in kept])


def may_change(graph: Graph, arrays: set[Value]) -> bool:
    """Some op that is not known to change nothing gets what was made of `arrays`, or a view of that."""
    reached: set[Value] = set(arrays)
    for _, op in graph.ops():
        if reached.isdisjoint(op.operands()):  # type: ignore[arg-type]
            continue
        if not is_quiet(op):
            return True
        reached.update(op.results)
    return False


def _is_foreign(op: Op) -> bool:
    """Code out of sight runs."""
    return not is_quiet(op) and op.fn not in READS and runs_python(op)


def has_effects(graph: Graph) -> bool:
    """It is known to change a variable, or an object from outside that is no array, or to show something."""
    maker = {r: op for _, op in graph.ops() for r in op.results}
    return any(_has_effect(op, maker) for _, op in graph.ops())


def _has_effect(op: Op, maker: dict[Value, Op]) -> bool:
    if is_quiet(op) or op.fn in READS:
        return False
    outside = [target for target in changed(op) if _is_outside(target, maker)]
    if outside:
        return not all(isinstance(operand_type(target), ArrayOf) for target in outside)
    if op.fn is next:
        return isinstance(op.args[0], Value) and _is_outside(op.args[0], maker)
    fact = fact_of(op.fn)
    return op.fn is primitives.store_global or (fact is not None and fact.effect)


def _is_outside(operand: Operand, maker: dict[Value, Op]) -> bool:
    while isinstance(operand, Value) and operand in maker:
        op = maker[operand]
        if op.fn not in (getattr, operator.getitem):
            return op.fn in READS
        operand = op.args[0]
    return True


def _made_of_constants(graph: Graph) -> set[Value]:
    return {r for _, op in graph.ops() if not any(isinstance(a, Value) for a in op.args) for r in op.results}


def is_static(op: Op, static: set[Value]) -> bool:
    """It computes the same at each call, from these values and constants."""
    return is_quiet(op) and has_static_operands(op, static)


def has_static_operands(op: Op, static: set[Value]) -> bool:
    if op.fn in READS or (op.fn is getattr and isinstance(op.args[0], Const)):
        return False
    return are_static(op.operands(), static)


def are_static(operands: Iterable[Operand], static: Container[Value]) -> bool:
    return all(a in static if isinstance(a, Value) else _is_constant(a.value) for a in operands)


READS = (primitives.load_global, primitives.cell_get)
"""What they read may be another thing at the next call; the entry takes numbers for constants."""


def _is_constant(value: Any) -> bool:
    """Nobody can change it: arrays among the constants are defaults of functions."""
    if isinstance(value, (tuple, frozenset)):
        return all(map(_is_constant, value))
    return value is None or value is Ellipsis or callable(value) or isinstance(value, CONSTANTS)


def is_quiet(op: Op) -> bool:
    """It changes nothing: neither its operands nor anything else."""
    if not hashable(op.fn) or op.fn is None or out_of(op) is not None:
        return False
    if op.fn is conform or effects.op_is_pure(op) or effects.removable(op):
        return True
    fact = fact_of(op.fn)
    stores = fact is not None and bool(fact.stores)
    return str(getattr(op.fn, "__module__", "")).startswith(PACKAGE) and not stores


def _graph(like: Graph, name: str, params: Sequence[Value]) -> Graph:
    graph = Graph(name, _signature(params), cellnames=like.cellnames, namespace=like.namespace)
    graph.entry.params = list(params)
    return graph


def _signature(params: Sequence[Value]) -> Any:
    return positional(len(params), tuple(f"{p.name or 't'}.{i}" for i, p in enumerate(params)))
