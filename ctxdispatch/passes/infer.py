"""Types of all values of a graph, for given argument types.

An optimistic fixpoint over the control flow graph (Wegman and Zadeck 1991, "Constant Propagation with
Conditional Branches"): every value starts as Never, a block is looked at once an edge to it is known to be
taken, a block parameter is the join of what the taken edges pass. Only joins move a type, so it ends.

Lists, the one kind of value whose type changes under way, have a file of their own (`passes.lists`).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from heapq import heappop, heappush
from types import CellType as Cell
from typing import Any as Anything

from ctxdispatch.ir import primitives as prim
from ctxdispatch.ir.analysis import passed, reverse_postorder
from ctxdispatch.ir.graph import Block, Branch, Edge, Graph, Iterate, Jump, Op, Return
from ctxdispatch.ir.values import UNDEF, Const, Operand, Value, hashable
from ctxdispatch.ir.watching import is_undispatched
from ctxdispatch.passes import effects, python_types, resolve, transfer
from ctxdispatch.passes.call_types import CallType
from ctxdispatch.passes.clashes import Clashes, Found
from ctxdispatch.passes.expected import expected_in, is_vague
from ctxdispatch.passes.guards import Guard
from ctxdispatch.passes.held import has_held, has_positions, holds_list, without_held
from ctxdispatch.passes.infer_ops import SPECIAL, result_of
from ctxdispatch.passes.lengths import named, plain
from ctxdispatch.passes.lists import Lists
from ctxdispatch.passes.types import (
    Any,
    Bound,
    Conditional,
    Exact,
    IterOf,
    Known,
    ListOf,
    Never,
    TupleOf,
    Type,
    join,
    operand_type,
    widen,
    without_lists,
)


@dataclass(eq=False)
class Inference:
    """`guards` is what the types rest on besides the argument types; the types are in `Value.type`. `mutates`
    says that the graph may change lists among its arguments."""

    return_type: Type
    guards: list[Guard]
    reachable: set[Block]
    foreign: bool = False
    """Code that is not seen here may run: what the arguments hold may change meanwhile."""
    maybe_unbound: set[Value] = field(default_factory=set)
    """Parameters that may hold UNDEF: their types are those of what they hold otherwise."""
    unset: set[resolve.Attribute] = field(default_factory=set)
    """What objects that arguments hold must not have: `resolve.Found`."""
    promised: set[Op] = field(default_factory=set)
    """What reads a function of a class off an object that may have something else of that name."""
    clashes: Found = field(default_factory=dict)


GlobalName = tuple[int, str]
"""The identity of a namespace, and a name in it."""

Variable = GlobalName | int
"""A global name, or the identity of a cell."""


def infer(
    graph: Graph,
    argtypes: Sequence[Type],
    *,
    cells: Sequence[Type | Cell] = (),
    call_type: CallType | None = None,
    trust: bool = False,
    held: bool = False,
    promises: bool = False,
    untrusted: Set[Variable] = frozenset(),
    frozen: bool = False,
    annotate: bool = True,
) -> Inference:
    """Set `Value.type` throughout `graph`. `cells` has for each closure cell the cell, or the type of its
    contents. With `trust` what the arguments hold is believed though foreign code may run: whoever asks so
    looks at `Inference.foreign` himself, once he has inlined what he can; with `held` what variables of
    the module and of functions around hold is looked into, and believed, too. Nothing is taken for granted
    about `untrusted` variables: they change meanwhile. `frozen`: the numbers that such variables hold are
    taken for constants. With `promises` the caller sees to it that objects do not hide methods
    of their classes (`promised`). Without `annotate` the graph is only looked at."""

    def run_with(argtypes: Sequence[Type]) -> Run:
        run = Run(graph, argtypes, cells, call_type, untrusted, frozen, held)
        run.promises = promises
        return run.run()

    run = run_with(argtypes)
    if run.lists.foreign and any(map(has_held, argtypes)) and not trust:
        run = run_with([without_held(t) for t in argtypes])
    if run.lists.foreign and any(map(_has_list, argtypes)):
        run = run_with([without_lists(t) for t in argtypes])
    if annotate:
        run.annotate()
    return Inference(
        run.returned, run.guards(), run.reached, run.lists.foreign, run.maybe_unbound(), run.unset(),
        run.promised, run.clashes.found,
    )  # fmt: skip


def _has_list(type_: Type) -> bool:
    return isinstance(type_, ListOf) or (isinstance(type_, TupleOf) and any(map(_has_list, type_.items)))


class Run:
    """One inference: the types so far, and the blocks still to be looked at."""

    def __init__(
        self, graph: Graph, argtypes: Sequence[Type], cells: Sequence[Type | Cell],
        call_type: CallType | None, untrusted: Set[Variable], frozen: bool, held: bool = False,
    ) -> None:  # fmt: skip
        self.graph = graph
        self.frozen, self.held = frozen, held
        self.call_type = call_type
        self.types: dict[Value, Type] = dict(zip(graph.params, argtypes, strict=True))
        self.types.update(dict.fromkeys(graph.cells, Exact(Cell)))
        self.cells = dict(zip(graph.cells, cells)) if cells else {}
        self.order = {block: i for i, block in enumerate(reverse_postorder(graph))}
        self.returned: Type = Never
        self.reached: set[Block] = {graph.entry}
        self.resolved: dict[Value, resolve.Found] = {}
        self.besides: list[Guard] = []  # of imports: what they rest on further
        self.queue: list[tuple[int, Block]] = []
        self.dirty: set[Block] = set()
        self.visits: dict[Block, int] = {}
        self.maker: dict[Value, Op] = {}
        self.under_way: tuple[Block | None, Op | None] = None, None
        self.readers: dict[Value, list[Block]] = {}
        self.lists = Lists(self, placed=any(map(has_positions, argtypes)))
        self.contents: dict[Value, Type] = {}  # of cells made here
        self.expected = expected_in(graph)
        self.tested: set[Value] = set()
        self.promises, self.promised = False, set[Op]()
        self.clashes = Clashes()
        self.stored: set[Variable] = {name for name in untrusted if isinstance(name, tuple)}
        self.shared_cells: set[Anything] = set(untrusted) - self.stored
        self._scan()

    # -- the graph as it is ----------------------------------------------------------------------------------

    def all_values(self) -> list[Value]:
        values = [*self.graph.cells]
        for block in self.graph.blocks:
            values += block.params
            for op in block.ops:
                values += op.results
        return values

    def _scan(self) -> None:
        for block in self.order:
            for op in block.ops:
                self._scan_op(op)
                self._reads(block, op.operands())
            self._reads(block, block.terminator.operands() if block.terminator else ())
            for edge in block.edges():
                self._reads(block, edge.args)

    def _scan_op(self, op: Op) -> None:
        for result in op.results:
            self.maker[result] = op
        if op.fn in (prim.store_global, prim.delete_global) and all(
            isinstance(a, Const) for a in op.args[:2]
        ):
            self.stored.add((id(op.args[0].value), op.args[1].value))  # type: ignore[union-attr]
        quiet = op.args[1:] if op.fn is prim.cell_get else op.args
        if op.fn is prim.cell_set:
            quiet = [*op.args[1:], *(a for a in op.args[:1] if self.maker_is(a, prim.make_cell) is False)]
        self.shared_cells.update(quiet)
        self.shared_cells.update([id(a.value) for a in quiet if type(a) is Const and type(a.value) is Cell])

    def maker_is(self, operand: Operand, function: Anything) -> bool:
        maker = self.maker.get(operand) if isinstance(operand, Value) else None
        return maker is not None and maker.fn is function

    def _reads(self, block: Block, operands: Anything) -> None:
        for operand in operands:
            if isinstance(operand, Value):
                blocks = self.readers.setdefault(operand, [])
                if not blocks or blocks[-1] is not block:
                    blocks.append(block)

    # -- the fixpoint ----------------------------------------------------------------------------------------

    def run(self) -> Run:
        self.mark(self.graph.entry)
        while self.queue:
            _, block = heappop(self.queue)
            self.dirty.discard(block)
            self.visits[block] = self.visits.get(block, 0) + 1
            for op in block.ops:
                self.under_way = block, op
                self._op(op)
            self.under_way = None, None
            self._terminator(block)
        return self

    def mark(self, block: Block) -> None:
        if block not in self.dirty and block in self.reached:
            self.dirty.add(block)
            heappush(self.queue, (self.order[block], block))

    def raise_type(self, value: Value, type_: Type) -> None:
        """Raise the type of `value` to include `type_`."""
        old = self.types.get(value, Never)
        new = named(join(old, named(type_, value)), value)
        if value in self.expected and is_vague(new):
            new = self.expected[value]
            self.tested.add(value)
        if new is old or new == old:
            return
        self.types[value] = new
        self.lists.changed(value, new)
        block, op = self.under_way
        self.look_again(value, block if self.maker.get(value) is op else None)

    def look_again(self, value: Value, under_way: Block | None = None) -> None:
        """At what reads `value`; in the block of the op that gives it, under way, that comes after it."""
        for block in self.readers.get(value, ()):
            if block is not under_way:
                self.mark(block)

    def type(self, operand: Operand) -> Type:
        if isinstance(operand, Value):
            return self.types.get(operand, Never)
        return Never if operand is UNDEF else operand_type(operand)

    def _terminator(self, block: Block) -> None:
        match block.terminator:
            case Return(value=value):
                self.returned = join(self.returned, plain(self.type(value)))
            case Jump(edge=edge):
                self._flow(edge)
            case Branch(cond=cond, then=then, orelse=orelse):
                truth = python_types.truth(self.type(cond))
                for edge in (then,) if truth is True else (orelse,) if truth is False else (then, orelse):
                    self._flow(edge)
            case Iterate(iterator=iterator, body=body, exit=exit):
                self._flow(body, (self._item(self.type(iterator)),))
                self._flow(exit)

    def _item(self, iterator: Type) -> Type:
        if not (isinstance(iterator, IterOf) and iterator.plain) and iterator is not Never:
            self.lists.foreign = True  # the iterator's own code runs
        return iterator.item if isinstance(iterator, IterOf) else Never if iterator is Never else Any

    def _flow(self, edge: Edge, item: tuple[Type, ...] = ()) -> None:
        """The edge is taken: its target is reached, its arguments join the parameters."""
        target = edge.target
        new = target not in self.reached
        self.reached.add(target)
        for param, type_ in zip(target.params, item):
            self._join(target, param, type_)
        for param, arg in zip(target.params[len(item) :], edge.args):
            self.clashes.compare(target, param, plain(self.type(arg)))
            self._join(target, param, self.passed_type(param, arg))
        if new:
            self.mark(target)

    def _join(self, target: Block, param: Value, type_: Type) -> None:
        """Chains of ever deeper tuples would not end by themselves."""
        old, type_ = self.types.get(param, Never), plain(type_)
        if self.visits.get(target, 0) > MAX_VISITS and join(old, type_) != old:
            type_ = Any if self.visits[target] > 2 * MAX_VISITS else widen(type_)
        self.raise_type(param, type_)

    def passed_type(self, param: Value, arg: Operand) -> Type:
        type_ = self.type(arg)
        if isinstance(type_, ListOf) and isinstance(arg, Value):
            self.lists.same(param, arg)
        elif isinstance(type_, Bound) and isinstance(type_.self, ListOf):
            self.lists.escape(self.lists.bound_to(arg))
            return Any
        elif holds_list(type_):
            self.lists.escape(arg)
        return type_

    # -- ops -------------------------------------------------------------------------------------------------

    def _op(self, op: Op) -> None:
        args = [self.type(a) for a in op.args]
        callee = self.type(op.callee)
        if callee is Never or any(a is Never and o is not UNDEF for a, o in zip(args, op.args)):
            return  # not computed yet
        if isinstance(callee, Conditional):
            callee = callee.on(args)
        if isinstance(callee, Known) and not effects.is_called_rightly(op, callee.value, len(args)):
            callee = Any
        special = SPECIAL.get(callee.value) if isinstance(callee, Known) and hashable(callee.value) else None
        if special is not None:
            special(self, op, args)
        else:
            self.call(op, callee, args)

    def call(self, op: Op, callee: Type, args: Sequence[Type]) -> None:
        self.lists.effects_of(op, callee, args)
        result = self.call_result(callee, args, op.kwnames)
        if result is Any and not (effects.reads_list(callee, args) or is_undispatched(op.fn)):
            # not understood: it may be one of the operands
            self.lists.keep_all(op.args, args)
        self.set_results(op, result_of(self, op, callee, result))

    def set_results(self, op: Op, type_: Type) -> None:
        if len(op.results) == 1:
            self.raise_type(op.results[0], type_)
        else:
            for result in op.results:
                self.raise_type(result, Any)

    def call_result(self, callee: Type, args: Sequence[Type], kwnames: tuple[str, ...]) -> Type:
        split = len(args) - len(kwnames)
        positional, kwargs = tuple(args[:split]), dict(zip(kwnames, args[split:]))
        if isinstance(callee, Bound):
            positional, args = (callee.self, *positional), (callee.self, *args)
            callee = Known(callee.function)
        if not isinstance(callee, Known):
            return Any
        found = transfer.call(callee.value, positional, kwargs)
        if found is Any and self.call_type is not None:
            return self.call_type(callee.value, args, kwnames) or Any
        return found

    def maybe_unbound(self) -> set[Value]:
        edges = [pair for block in self.reached for e, ps in passed(block) for pair in zip(ps, e.args)]
        found: set[Value] = set()
        grows = any(a is UNDEF for _, a in edges)
        while grows:
            new = {p for p, a in edges if a is UNDEF or a in found}
            grows, found = new != found, new
        return found

    def annotate(self) -> None:
        for value in self.all_values():
            value.type = self.types.get(value, Never)
        for op in [op for block in self.reached for op in block.ops]:
            op.tested = not self.tested.isdisjoint(op.results)
            callee, types = self.type(op.callee), tuple(map(self.type, op.args))
            if isinstance(callee, Known) and self.is_contained(op, callee.value, types):
                op.contained = op.contained or types

    def is_contained(self, op: Op, function: Anything, args: Sequence[Type]) -> bool:
        """`Op.contained`, given what is known so far."""
        if op.contained is not None or self.call_type is None:
            return op.contained is not None
        return self.call_type.is_contained(function, args, op.kwnames)

    # -- names -----------------------------------------------------------------------------------------------

    def note(self, op: Op, found: resolve.Found) -> None:
        self.resolved[op.result] = found
        if not self.lists.placed and has_positions(found.type):
            self.lists.placed = True
            for block in self.reached:
                self.mark(block)
        self.raise_type(op.result, found.type)

    def path(self, operand: Operand) -> resolve.Path | None:
        found = self.resolved.get(operand) if isinstance(operand, Value) else None
        return found.path if found is not None else None

    def guards(self) -> list[Guard]:
        """One guard per thing relied on; none for a name that is only the beginning of a longer path."""
        longer = self._only_bases()
        found: dict[Anything, Guard] = {(type(g), g.key()): g for g in self.besides}
        for value, what in self.resolved.items():
            if what.guard is not None and value not in longer and self.types.get(value) is not Any:
                found.setdefault((type(what.guard), what.guard.key()), what.guard)
        return list(found.values())

    def unset(self) -> set[resolve.Attribute]:
        return {what.unset for what in self.resolved.values() if what.unset is not None}

    def _only_bases(self) -> set[Value]:
        bases: set[Operand] = set()
        others: set[Operand] = set()
        for block in self.reached:
            for op in block.ops:
                longer = op.fn is getattr and self.path(op.result) is not None
                (bases if longer else others).update(op.args if longer else op.operands())
            others.update(block.terminator.operands() if block.terminator else ())
            for edge in block.edges():
                others.update(edge.args)
        return {v for v in bases - others if isinstance(v, Value)}


MAX_VISITS = 6
