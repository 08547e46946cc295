"""Parts of programs that are recorded (`passes/outline.py`), as programs of their own: what such a part may
do.

A part is run once, and again by the program itself where it raises or turns out to be no region: so it
changes nothing that was there before, draws no numbers, and runs no code that is not seen. Arrays among its
inputs that it stores into it gets as copies.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.facts import fact_of
from ctxdispatch.ir import primitives
from ctxdispatch.ir.analysis import passed
from ctxdispatch.ir.graph import Graph, Op, Return, Signature
from ctxdispatch.ir.leaves import is_leaf, is_ours
from ctxdispatch.ir.rewrite import clone, substitute
from ctxdispatch.ir.values import Const, Position, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.guards import AttrIs, AttrType, CellIs, CellType, DefaultsAre, Guard, PathIs, PathType
from ctxdispatch.passes.parts import Part
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.aliases import Objects, is_outside
from ctxdispatch_contexts.programs.c_objects import is_namespace
from ctxdispatch_contexts.programs.changes import changed_objects, moves_iterator, sets_name
from ctxdispatch_contexts.programs.errors import described
from ctxdispatch_contexts.programs.journal import keep_journal, trial
from ctxdispatch_contexts.programs.mode import Program
from ctxdispatch_contexts.programs.out_of_sight import has_effect, only_computes, runs_python
from ctxdispatch_contexts.programs.remembered import is_cached


class PartSource:
    """A part as a function of its inputs. `copied`: those that it gets as copies of its own; what these are
    at the end comes after its outputs."""

    cells = ()

    def __init__(self, part: Part, copied: tuple[int, ...] = ()) -> None:
        self.part, self.copied = part, copied
        self.namespace = part.graph.namespace

    def signature(self) -> Signature:
        return self.part.graph.signature

    def bare(self) -> Graph:
        of = self.part.graph
        return Graph(of.name, of.signature, namespace=of.namespace, filename=of.filename, line=of.line)

    def call(self, *args: Any) -> Any:
        raise NotImplementedError("a part is called as a program alone")

    def guards(self, types: Sequence[T.Type] = ()) -> list[Guard]:
        return []

    def graph(self, types: Sequence[T.Type] = ()) -> Graph:
        graph = clone(self.part.graph)
        copies = []
        for i in self.copied:
            param, copy = graph.params[i], Value(graph.params[i].name)
            substitute(graph, {param: copy})
            copies.append(Op(Const(np.copy), [param], [copy]))
        graph.entry.ops[:0] = copies
        for made in returned(graph):
            made.args += [op.result for op in copies]
        return graph


def returned(graph: Graph) -> Iterator[Op]:
    """The tuples that it returns, where they are made."""
    makers = {op.results[0]: op for _, op in graph.ops() if op.fn is primitives.build_tuple}
    ends = [b.terminator.value for b in graph.blocks if isinstance(b.terminator, Return)]
    passes = [pair for b in graph.blocks for edge, params in passed(b) for pair in zip(params, edge.args)]
    for value in ends:  # grows
        if value in makers:
            yield makers[value]  # type: ignore[index]
        ends += [arg for param, arg in passes if param is value and arg not in ends]


@dataclass(frozen=True, eq=False)
class Answer:
    """What goes with the outputs of a region's program. `varied`: which of them may have a derivative;
    `reads` give what it reads that is no input."""

    varied: tuple[bool, ...]
    reads: tuple[Callable[[], Any], ...]


class Attempt:
    """What may be run, and run again in another way: a program without handlers, in whose place the run is
    recorded where it raises. `stored`: the inputs that were found to be stored into."""

    def __init__(self) -> None:
        self.stored: set[int] = set()
        self._checked = False

    def check(self, graph: Graph, objects: Objects, varied: set[Value]) -> None:
        """Raise UnsupportedSyntax where the prepared graph does what can be seen from outside."""
        scopes, others = {*_quiet_scopes(graph)}, []
        for _, op in graph.ops():
            if _is_of_outside(op) or moves_iterator(objects, op):
                raise _unfit(graph, op)
            if is_scoped(op) and not objects.of(op.args[0]) <= scopes:
                raise _unfit(graph, op)
            for site in filter(is_outside, changed_objects(objects, op)):
                if site in graph.params and isinstance(site.type, T.ArrayOf):
                    self.stored.add(graph.params.index(site))
                else:
                    others.append(op)
        if self.stored:
            raise _unfit(graph)
        lost = self.noted(graph, others)
        if lost is not None:
            raise _unfit(graph, lost)
        self._checked = True

    def noted(self, graph: Graph, stores: Sequence[Op]) -> Op | None:
        """Have what these change put back where the program raises; one of which that cannot be."""
        entries = Value("journal", T.Exact(list))
        lost = keep_journal(graph, stores, entries)
        if stores and lost is None:
            graph.entry.ops.insert(0, Op(Const(trial), [], [entries]))
        return lost

    def finish(self, program: Program) -> Program:
        if not self._checked:
            raise _unfit(program.graph)  # it never returns
        program.attempt = True
        return program


class Region(Attempt):
    """A part, for one set of inputs that are differentiated."""

    def __init__(self) -> None:
        super().__init__()
        self._varied: tuple[bool, ...] = ()

    def check(self, graph: Graph, objects: Objects, varied: set[Value]) -> None:
        super().check(graph, objects, varied)
        results = [made.args for made in returned(graph)]
        if not results:
            raise _unfit(graph)
        self._varied = tuple([any(a in varied for a in each) for each in zip(*results, strict=True)])

    def noted(self, graph: Graph, stores: Sequence[Op]) -> Op | None:
        return next(iter(stores), None)

    def finish(self, program: Program) -> Program:
        """Have the program return its answer too, in place."""
        pairs = [*returned(program.graph)]
        if not (self._checked and pairs):
            raise _unfit(program.graph)
        reads = (*reads_of(program.guards), *_of_graph(program.graph))
        for made in pairs:
            made.args.append(Const(Answer(self._varied, reads)))
        return program


def no_region(*inputs: Any) -> None:
    """In the place of a program: None is no answer."""


def _unfit(graph: Graph, op: Op | None = None) -> UnsupportedSyntax:
    """The run is recorded: `explain` has it."""
    pos = (op.pos if op is not None else None) or Position(graph.filename, graph.name, graph.line)
    by = "" if op is None or op.fn is None else f" (by {described(op.fn)})"
    what = f"what can be seen from outside{by}"
    return UnsupportedSyntax(what, pos.filename, pos.line, pos.function, _INSIDE)


_INSIDE = "do it before or after, and use what is made here, by functions that are known"
"""What is run in vain, and then recorded, would have been done twice."""


def _is_of_outside(op: Op) -> bool:
    """It runs code that is not seen, or does something that is not seen in its operands."""
    if op.fn in (primitives.load_global, primitives.cell_get) or is_cached(op.fn):
        return False
    if op.fn is primitives.delete_global or runs_python(op):
        return True
    fact = fact_of(op.fn)
    if fact is not None:
        return fact.effect and not (fact.scoped or fact.repeats)
    return not only_computes(op.fn)


def changes_outside(graph: Graph, but: Any = None) -> bool:
    """It changes what was there before, has another effect, or may do either out of sight; `but` for calls
    of this function."""
    objects = Objects(graph)
    return any(_changes(op, objects) for _, op in graph.ops() if but is None or op.fn is not but)


def _changes(op: Op, objects: Objects) -> bool:
    if op.fn in (primitives.load_global, primitives.cell_get) or is_cached(op.fn):
        return False
    if sets_name(op) or has_effect(op) or any(map(is_outside, changed_objects(objects, op))):
        return True
    if T.Any in map(operand_type, op.args) and fact_of(op.fn) is not None:
        return False  # what a sweep does with cotangents of which it does not know what they are
    ours = is_ours(getattr(op.fn, "__module__", None))
    return runs_python(op) or (not ours and moves_iterator(objects, op))


def may_run_later(op: Op, program: Program, around: Graph, later: bool) -> bool:
    """Whether the program that `op` calls in `around` gives the same once more, when that sweeps, and nothing
    is another one then. `later`: what sweeps is a call of its own."""
    if changes_outside(program.graph):
        return False
    graph = program.graph
    reads = any(_loads(graph)) or any(reads_of(program.guards))
    reads = reads or not all(_stays(read()) for read in _constants(graph))
    return not (reads and (later or changes_outside(around, op.fn)))


def _stays(value: Any) -> bool:
    """A number, or a list that was written as one: what others have as well, a guard knows."""
    if type(value) is list:
        return all(type(item) in (int, bool) for item in value)
    return type(value) in (float, complex) or issubclass(type(value), np.number)


def is_scoped(op: Op) -> bool:
    fact = fact_of(op.fn)
    return fact is not None and fact.scoped


def _quiet_scopes(graph: Graph) -> Iterator[Op]:
    """What makes managers that have NumPy raise, call or write nothing for an operation: it would
    do so for those that programs leave out, too."""
    for _, op in graph.ops():
        if op.fn is np.errstate and {a.value if isinstance(a, Const) else a for a in op.args} <= _QUIET:
            yield op


_QUIET = {"ignore", "warn", None}


# -- what is read --------------------------------------------------------------------------------------------


def reads_of(guards: Iterable[Guard]) -> Iterator[Callable[[], Any]]:
    """What gives the data that they ask for."""
    for guard in guards:
        if isinstance(guard, (PathIs, AttrIs, CellIs)):
            yield from _constant(guard.value)
        elif isinstance(guard, DefaultsAre):
            for value in (*(guard.defaults or ()), *(guard.kwdefaults or {}).values()):
                yield from _constant(value)
        elif isinstance(guard, PathType):
            yield lambda g=guard: _along(g.namespace, g.path)  # type: ignore[misc]
        elif isinstance(guard, AttrType):
            yield lambda g=guard: getattr(g.owner, g.name)  # type: ignore[misc]
        elif type(guard) is CellType:
            yield lambda g=guard: g.cell.cell_contents  # type: ignore[misc]


def _along(namespace: dict[str, Any], path: Sequence[str]) -> Any:
    found = primitives.load_global(namespace, path[0])  # it may be one of the builtins
    for name in path[1:]:
        found = getattr(found, name)
    return found


def _of_graph(graph: Graph) -> Iterator[Callable[[], Any]]:
    for op in _loads(graph):
        yield functools.partial(_read, op.fn, *[a.value for a in op.args[:2]])  # type: ignore[union-attr]
    yield from _constants(graph)


def _loads(graph: Graph) -> Iterator[Op]:
    for _, op in graph.ops():
        if op.fn in _READS and all(isinstance(a, Const) for a in op.args[:2]):
            yield op


def _constants(graph: Graph) -> Iterator[Callable[[], Any]]:
    for block in graph.blocks:
        ends = block.terminator.operands() if block.terminator is not None else ()
        passed = [a for edge in block.edges() for a in edge.args]
        ops = [op for op in block.ops if op.fn is not primitives.make_function]  # the pullback
        for operand in (*(a for op in ops for a in op.operands()), *ends, *passed):
            yield from _constant(operand.value) if isinstance(operand, Const) else ()


def _read(fn: Any, owner: Any, name: str) -> Any:
    try:
        return fn(owner, name)
    except (AttributeError, NameError, ValueError):  # it was not read
        return None


def _constant(value: Any) -> Iterator[Callable[[], Any]]:
    """Numbers and arrays; what may hold some."""
    if not is_still(value):
        yield lambda: value


_READS = (primitives.load_global, primitives.cell_get, getattr)
_STILL = (int, bool, str, bytes, type(None), type(...), range, slice, FunctionType, ModuleType, CodeType)


def is_still(value: Any) -> bool:
    """Nothing that is differentiated can be in it, or what can is told by other guards."""
    if type(value) is tuple:
        return all(map(is_still, value))
    if issubclass(type(value), (float, complex, np.inexact, np.ndarray)):
        return False
    return issubclass(type(value), _STILL) or is_leaf(value) or (type(value) is dict and is_namespace(value))
