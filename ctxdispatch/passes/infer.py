"""Types of all values of a graph, for given argument types.

An optimistic fixpoint over the control flow graph (Wegman and Zadeck 1991, "Constant Propagation with
Conditional Branches"): every value starts as Never, a block is looked at once an edge to it is known to be
taken, a block parameter is the join of what the taken edges pass. Only joins move a type, so it ends.

Lists are the one kind of value whose type changes under way, so a list is one abstract object: all values
that may be it share their type, appending raises it, and what may be changed by code that we do not see has
items of any type.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from types import CellType as Cell
from typing import Any as Anything

from ctxdispatch.ir import primitives as prim
from ctxdispatch.ir.analysis import reverse_postorder
from ctxdispatch.ir.graph import (
    UNDEF,
    Block,
    Branch,
    Const,
    Edge,
    Graph,
    Iterate,
    Jump,
    Op,
    Operand,
    Return,
    Value,
)
from ctxdispatch.passes import effects, python_types, resolve, transfer
from ctxdispatch.passes.guards import Guard
from ctxdispatch.passes.types import (
    Any,
    Bound,
    Exact,
    IterOf,
    Known,
    ListOf,
    Never,
    TupleOf,
    Type,
    cls_of,
    const_type,
    join,
    widen,
)

CallType = Callable[[Anything, Sequence[Type], tuple[str, ...]], "Type | None"]
"""Asked for the results of calls that no table knows: (callee, argument types, kwnames)."""


@dataclass(eq=False)
class Inference:
    """`guards` is what the types rest on besides the argument types; the types are in `Value.type`. `mutates`
    says that the graph may change lists among its arguments."""

    return_type: Type
    guards: list[Guard]
    reachable: set[Block]
    maybe_unbound: set[Value] = field(default_factory=set)
    """Parameters that may hold UNDEF: their types are those of what they hold otherwise."""


def infer(
    graph: Graph,
    argtypes: Sequence[Type],
    *,
    cells: Sequence[Type | Cell] = (),
    call_type: CallType | None = None,
) -> Inference:
    """Set `Value.type` throughout `graph`. `cells` has for each closure cell the cell, or the type of its
    contents."""
    run = _Inference(graph, argtypes, cells, call_type).run()
    if run.foreign_lists and any(map(_has_list, argtypes)):
        run = _Inference(graph, [_without_lists(t) for t in argtypes], cells, call_type).run()
    for value in run.all_values():
        value.type = run.types.get(value, Never)
    return Inference(run.returned, run.guards(), run.reached, run.maybe_unbound())


def _has_list(type_: Type) -> bool:
    return isinstance(type_, ListOf) or (isinstance(type_, TupleOf) and any(map(_has_list, type_.items)))


def _without_lists(type_: Type) -> Type:
    if isinstance(type_, TupleOf):
        return TupleOf(tuple(map(_without_lists, type_.items)))
    return Exact(list) if isinstance(type_, ListOf) else type_


class _Inference:
    def __init__(
        self, graph: Graph, argtypes: Sequence[Type], cells: Sequence[Type | Cell], call_type: CallType | None
    ) -> None:
        self.graph = graph
        self.call_type = call_type
        self.types: dict[Value, Type] = dict(zip(graph.params, argtypes, strict=True))
        self.types.update(dict.fromkeys(graph.cells, Exact(Cell)))
        self.cells = dict(zip(graph.cells, cells)) if cells else {}
        self.order = {block: i for i, block in enumerate(reverse_postorder(graph))}
        self.returned: Type = Never
        self.reached: set[Block] = {graph.entry}
        self.resolved: dict[Value, resolve.Found] = {}
        self.foreign_lists = False
        self.queue: list[tuple[int, Block]] = []
        self.dirty: set[Block] = set()
        self.visits: dict[Block, int] = {}
        self.maker: dict[Value, Op] = {}
        self.readers: dict[Value, list[Block]] = {}
        self.lists: dict[Value, set[Value]] = {}  # which values may be the same list
        self.contents: dict[Value, Type] = {}  # of cells made here
        self.stored: set[tuple[int, str]] = set()
        self.shared_cells: set[Anything] = set()
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
            quiet = [*op.args[1:], *(a for a in op.args[:1] if self._maker_is(a, prim.make_cell) is False)]
        self.shared_cells.update(
            a.value if isinstance(a, Const) and isinstance(a.value, Cell) else a for a in quiet
        )

    def _maker_is(self, operand: Operand, function: Anything) -> bool:
        maker = self.maker.get(operand) if isinstance(operand, Value) else None
        return maker is not None and maker.fn is function

    def _reads(self, block: Block, operands: Anything) -> None:
        for operand in operands:
            if isinstance(operand, Value):
                blocks = self.readers.setdefault(operand, [])
                if not blocks or blocks[-1] is not block:
                    blocks.append(block)

    # -- the fixpoint ----------------------------------------------------------------------------------------

    def run(self) -> _Inference:
        self._mark(self.graph.entry)
        while self.queue:
            _, block = heappop(self.queue)
            self.dirty.discard(block)
            self.visits[block] = self.visits.get(block, 0) + 1
            for op in block.ops:
                self._op(op)
            self._terminator(block)
        return self

    def _mark(self, block: Block) -> None:
        if block not in self.dirty and block in self.reached:
            self.dirty.add(block)
            heappush(self.queue, (self.order[block], block))

    def raise_type(self, value: Value, type_: Type) -> None:
        """Raise the type of `value` to include `type_`."""
        old = self.types.get(value, Never)
        new = join(old, type_)
        if new is old or new == old:
            return
        self.types[value] = new
        for block in self.readers.get(value, ()):
            self._mark(block)

    def type(self, operand: Operand) -> Type:
        if isinstance(operand, Value):
            return self.types.get(operand, Never)
        return Never if operand is UNDEF else const_type(operand.value)

    def _terminator(self, block: Block) -> None:
        match block.terminator:
            case Return(value=value):
                self.returned = join(self.returned, self.type(value))
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
            self.foreign_lists = True  # the iterator's own code runs
        return iterator.item if isinstance(iterator, IterOf) else Never if iterator is Never else Any

    def _flow(self, edge: Edge, item: tuple[Type, ...] = ()) -> None:
        """The edge is taken: its target is reached, its arguments join the parameters."""
        target = edge.target
        new = target not in self.reached
        self.reached.add(target)
        for param, type_ in zip(target.params, item):
            self._join(target, param, type_)
        for param, arg in zip(target.params[len(item) :], edge.args):
            self._join(target, param, self._passed(param, arg))
        if new:
            self._mark(target)

    def _join(self, target: Block, param: Value, type_: Type) -> None:
        """Chains of ever deeper tuples would not end by themselves."""
        old = self.types.get(param, Never)
        if self.visits.get(target, 0) > MAX_VISITS and join(old, type_) != old:
            type_ = Any if self.visits[target] > 2 * MAX_VISITS else widen(type_)
        self.raise_type(param, type_)

    def _passed(self, param: Value, arg: Operand) -> Type:
        type_ = self.type(arg)
        if isinstance(type_, ListOf) and isinstance(arg, Value):
            self._same_list(param, arg)
        elif isinstance(type_, Bound) and isinstance(type_.self, ListOf):
            self._escape(self._bound_to(arg))
            return Any
        elif effects.holds_list(type_):
            self._escape(arg)
        return type_

    # -- ops -------------------------------------------------------------------------------------------------

    def _op(self, op: Op) -> None:
        args = [self.type(a) for a in op.args]
        callee = self.type(op.callee)
        if callee is Never or any(a is Never and o is not UNDEF for a, o in zip(args, op.args)):
            return  # not computed yet
        special = (
            _SPECIAL.get(callee.value) if isinstance(callee, Known) and _hashable(callee.value) else None
        )
        if special is not None:
            special(self, op, args)
            return
        self._list_effects(op, callee, args)
        result = self._call(callee, args, op.kwnames)
        if result is Any and not effects.reads_list(
            callee, args
        ):  # not understood: it may be one of the operands
            self._contain_all(op.args, args)
        self.set_results(op, result)

    def set_results(self, op: Op, type_: Type) -> None:
        if len(op.results) == 1:
            self.raise_type(op.results[0], type_)
        else:
            for result in op.results:
                self.raise_type(result, Any)

    def _call(self, callee: Type, args: Sequence[Type], kwnames: tuple[str, ...]) -> Type:
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

    # -- lists -----------------------------------------------------------------------------------------------

    def _list_effects(self, op: Op, callee: Type, args: Sequence[Type]) -> None:
        """Appending raises the items' type; whoever we do not know may put anything into a list he gets."""
        function, operands, types = _unbound(callee, op, args, self)
        put = _put(function, types) if _hashable(function) else None
        if put is not None:
            self._raise_items(operands[0], put[1])
            self._contain(operands[put[0]], types[put[0]])
        elif not _hashable(function) or not effects.keeps_lists(function, types):
            self.foreign_lists = True
            self._contain_all(operands, types)
        elif function in effects.CONTAINS_OPERANDS:
            self._contain_all(operands, types)
        elif function is operator.getitem:
            self._take_item(op.results[0], operands[0], types)
        elif function not in effects.LOOKS_AT:
            self._contain_all(*_only_tuples(operands, types))

    def _take_item(self, result: Value, operand: Operand | None, types: Sequence[Type]) -> None:
        """A list taken out of a tuple that was made here is that list."""
        if not (isinstance(types[0], TupleOf) and effects.holds_list(types[0])):
            return
        maker = self.maker.get(operand) if isinstance(operand, Value) else None
        index = python_types.known(types[1])
        made_here = maker is not None and maker.fn is prim.build_tuple and type(index) is int
        item = maker.args[index] if made_here else None  # type: ignore[union-attr]
        if isinstance(item, Value) and isinstance(self.types.get(item), ListOf):
            self._same_list(result, item)
        else:
            self._contain(operand, types[0])

    def _contain_all(self, operands: Sequence[Operand | None], types: Sequence[Type]) -> None:
        for operand, type_ in zip(operands, types):
            self._contain(operand, type_)

    def _contain(self, operand: Operand | None, type_: Type) -> None:
        if effects.holds_list(type_):
            self._escape(operand)

    def _raise_items(self, operand: Operand | None, item: Type) -> None:
        self._check_foreign(operand)
        for member in self._members(operand):
            if isinstance(self.types.get(member), ListOf):
                self.raise_type(member, Exact(list) if item is Any else ListOf(widen(item)))

    def _escape(self, operand: Operand | None) -> None:
        """Code that we do not see may change this list from now on."""
        if isinstance(operand, Value) and isinstance(self.types.get(operand), Bound):
            operand = self._bound_to(operand)
        maker = self.maker.get(operand) if isinstance(operand, Value) else None
        if maker is not None and maker.fn is prim.build_tuple:
            self._contain_all(maker.args, [self.type(a) for a in maker.args])
            return
        self._check_foreign(operand)
        for member in self._members(operand):
            if isinstance(self.types.get(member), ListOf):
                self.raise_type(member, Exact(list))

    def _check_foreign(self, operand: Operand | None) -> None:
        """A list that was not made here may be an item of another, or of an argument."""
        for member in self._members(operand) or (None,):
            maker = self.maker.get(member) if member is not None else None
            fresh = maker is not None and maker.fn in effects.MAKES_LIST
            self.foreign_lists |= not fresh and (
                member is None or member in self.graph.params or maker is not None
            )

    def _members(self, operand: Operand | None) -> set[Value]:
        if not isinstance(operand, Value):
            return set()
        return self.lists.setdefault(operand, {operand})

    def _same_list(self, a: Value, b: Value) -> None:
        group, other = self._members(a), self._members(b)
        if group is other:
            return
        group |= other
        for member in other:
            self.lists[member] = group
        type_ = python_types.join_all(self.types.get(m, Never) for m in group)
        for member in group:
            self.raise_type(member, type_)

    def _bound_to(self, operand: Operand) -> Operand | None:
        """The list whose method this is; None where that is not seen here."""
        maker = self.maker.get(operand) if isinstance(operand, Value) else None
        return maker.args[0] if maker is not None and maker.fn is getattr else None

    def maybe_unbound(self) -> set[Value]:
        edges = [pair for block in self.reached for e, ps in passed(block) for pair in zip(ps, e.args)]
        found: set[Value] = set()
        grows = any(a is UNDEF for _, a in edges)
        while grows:
            new = {p for p, a in edges if a is UNDEF or a in found}
            grows, found = new != found, new
        return found

    # -- names -----------------------------------------------------------------------------------------------

    def note(self, op: Op, found: resolve.Found) -> None:
        self.resolved[op.result] = found
        self.raise_type(op.result, found.type)

    def path(self, operand: Operand) -> resolve.Path | None:
        found = self.resolved.get(operand) if isinstance(operand, Value) else None
        return found.path if found is not None else None

    def guards(self) -> list[Guard]:
        """One guard per thing relied on; none for a name that is only the beginning of a longer path."""
        longer = self._only_bases()
        found: dict[Anything, Guard] = {}
        for value, what in self.resolved.items():
            if what.guard is not None and value not in longer and self.types.get(value) is not Any:
                found.setdefault((type(what.guard), what.guard.key()), what.guard)
        return list(found.values())

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


MAX_VISITS = 12


def _cell_key(operand: Operand) -> Anything:
    """Cells compare by contents, so they cannot be keys."""
    return operand if isinstance(operand, Value) else id(operand.value)


def passed(block: Block) -> list[tuple[Edge, list[Value]]]:
    """The edges that leave `block`, each with the parameters that its arguments are for."""
    terminator = block.terminator
    if isinstance(terminator, Iterate):
        body, exit = terminator.body, terminator.exit
        return [(body, body.target.params[1:]), (exit, exit.target.params)]
    return [(edge, edge.target.params) for edge in block.edges()]


def _hashable(value: Anything) -> bool:
    return getattr(type(value), "__hash__", None) is not None


def _unbound(
    callee: Type, op: Op, args: Sequence[Type], run: _Inference
) -> tuple[Anything, list[Operand | None], list[Type]]:
    """The call with a bound method's object as its first argument."""
    if isinstance(callee, Bound):
        return callee.function, [run._bound_to(op.callee), *op.args], [callee.self, *args]
    return (callee.value if isinstance(callee, Known) else None), list(op.args), list(args)


def _only_tuples(
    operands: Sequence[Operand | None], types: Sequence[Type]
) -> tuple[Sequence[Operand | None], Sequence[Type]]:
    chosen = [(o, t) for o, t in zip(operands, types) if isinstance(t, TupleOf)]
    return [o for o, _ in chosen], [t for _, t in chosen]


_PUTS: dict[Anything, tuple[int, Callable[[Type], Type]]] = {
    prim.list_append: (1, lambda t: t),
    list.append: (1, lambda t: t),
    list.insert: (2, lambda t: t),
    operator.setitem: (2, lambda t: t),
    prim.list_extend: (1, python_types.item_of),
    list.extend: (1, python_types.item_of),
}
"""Which argument says what such a call puts into the list, its first argument."""


def _put(function: Anything, types: Sequence[Type]) -> tuple[int, Type] | None:
    """The number of the argument that is put into a list, and the type of the items that this gives."""
    if function not in _PUTS or cls_of(types[0]) is not list:
        return None
    position, item = _PUTS[function]
    if function is operator.setitem and cls_of(types[1]) is not int:
        return position, Any
    return position, item(types[position])


# -- ops that need more than types ---------------------------------------------------------------------------


def _load_global(run: _Inference, op: Op, args: Sequence[Type]) -> None:
    namespace, name = (python_types.known(a) for a in args)
    unknown = name is python_types.UNKNOWN or (id(namespace), name) in run.stored
    run.note(op, resolve.UNKNOWN if unknown else resolve.global_name(namespace, name))


def _getattr(run: _Inference, op: Op, args: Sequence[Type]) -> None:
    name = python_types.known(args[1])
    if len(args) != 2 or not isinstance(name, str):
        run.raise_type(op.result, Any)
        return
    found = resolve.attribute(args[0], name, run.path(op.args[0]))
    if found is resolve.UNKNOWN and not isinstance(args[0], Known):
        run.foreign_lists = True
    run.note(op, found)


def _cell_get(run: _Inference, op: Op, args: Sequence[Type]) -> None:
    cell = op.args[0].value if isinstance(op.args[0], Const) else run.cells.get(op.args[0], op.args[0])
    if _cell_key(op.args[0]) in run.shared_cells or (isinstance(cell, Cell) and id(cell) in run.shared_cells):
        run.note(op, resolve.UNKNOWN)
    elif isinstance(cell, Cell):
        run.note(op, resolve.cell_contents(cell))
    elif isinstance(cell, Value):
        run.raise_type(
            op.result, run.contents.get(cell, Never) if run._maker_is(cell, prim.make_cell) else Any
        )
    else:
        run.note(op, resolve.Found(cell))


def _make_cell(run: _Inference, op: Op, args: Sequence[Type]) -> None:
    run.raise_type(op.result, Exact(Cell))
    for operand in op.args:
        _store(run, op.result, operand)


def _cell_set(run: _Inference, op: Op, args: Sequence[Type]) -> None:
    if isinstance(op.args[0], Value):
        _store(run, op.args[0], op.args[1])
    run.set_results(op, Known(None))


def _store(run: _Inference, cell: Value, operand: Operand) -> None:
    type_ = run.type(operand)
    run._contain(operand, type_)
    old = run.contents.get(cell, Never)
    run.contents[cell] = join(old, run.type(operand))
    if run.contents[cell] != old:
        for block in run.readers.get(cell, ()):
            run._mark(block)


def _unpack(run: _Inference, op: Op, args: Sequence[Type]) -> None:
    if not effects.plain_container(args[0]):
        run.foreign_lists = True
    run._contain(op.args[0], args[0]) if isinstance(args[0], TupleOf) else None
    for result, type_ in zip(op.results, python_types.unpacked(args[0], len(op.results))):
        run.raise_type(result, type_)


def _call_ex(run: _Inference, op: Op, args: Sequence[Type]) -> None:
    """f(*args) with a tuple of known length is a call like any other."""
    kwargs = args[2] if len(args) > 2 else Known(None)
    if (
        isinstance(args[1], TupleOf)
        and kwargs == Known(None)
        and not any(map(effects.holds_list, args[1].items))
    ):
        run._list_effects(Op(op.args[0], [], []), args[0], args[1].items)
        run.set_results(op, run._call(args[0], args[1].items, ()))
        return
    run._list_effects(op, Any, args)
    run.set_results(op, Any)


def _check_bound(run: _Inference, op: Op, args: Sequence[Type]) -> None:
    run.raise_type(op.result, run._passed(op.result, op.args[0]))


_SPECIAL: Mapping[Anything, Callable[[_Inference, Op, Sequence[Type]], None]] = {
    prim.load_global: _load_global,
    getattr: _getattr,
    prim.cell_get: _cell_get,
    prim.cell_set: _cell_set,
    prim.make_cell: _make_cell,
    prim.unpack: _unpack,
    prim.call_ex: _call_ex,
    prim.check_bound: _check_bound,
}
