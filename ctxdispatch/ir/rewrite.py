"""Copying graphs and replacing values: what every pass is made of.

    copy_blocks   fresh blocks, ops and values;   copy.values[old] is new,  copy.block_of[old] is new
    substitute    after `substitute(g, {a: b})` no operand of g is a

A copy shares nothing mutable with its original (constants, positions, signatures and types are shared).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from ctxdispatch.ir.frames import Frame, Handler, Instruction
from ctxdispatch.ir.graph import (
    Block,
    Branch,
    Delegate,
    Edge,
    Graph,
    Iterate,
    Jump,
    Op,
    Raise,
    Reraise,
    Return,
    Terminator,
    Trap,
)
from ctxdispatch.ir.values import Const, Operand, Reread, Value


class Copy(NamedTuple):
    """What `copy_blocks` made, and what became of what."""

    blocks: list[Block]
    values: dict[Value, Operand]
    block_of: dict[Block, Block]

    def operand(self, operand: Operand) -> Operand:
        """`operand` of the original, in the copy. What was defined outside of the copied blocks is itself."""
        return self.values.get(operand, operand) if isinstance(operand, Value) else operand

    def block(self, block: Block) -> Block:
        """That block of the original, in the copy; one that was not copied is itself."""
        return self.block_of.get(block, block)

    def edge(self, edge: Edge) -> Edge:
        """A new edge: the one of the original, in the copy."""
        return Edge(self.block(edge.target), [self.operand(a) for a in edge.args])


class Use(NamedTuple):
    """One operand position: `user` reads the value in `block`. A value read twice by one op is two uses."""

    block: Block
    user: Op | Edge | Terminator


# -- copying ---------------------------------------------------------------------------------------


def clone(graph: Graph) -> Graph:
    """A graph equal to `graph` that shares no value, op or block with it."""
    twin = Graph(
        graph.name,
        graph.signature,
        cellnames=graph.cellnames,
        namespace=graph.namespace,
        code=graph.code,
        filename=graph.filename,
        line=graph.line,
    )
    cells: dict[Value, Operand] = {}
    for old, new in zip(graph.cells, twin.cells, strict=True):
        new.type = old.type
        cells[old] = new
        if old is graph.pool_cell:
            twin.pool, twin.pool_cell = graph.pool, new
    twin.frame = _cloned_frame(graph.frame, cells)
    copy = copy_blocks(graph, cells)
    twin.blocks = copy.blocks
    if graph.trap is not None:
        twin.trap = Trap(tuple(copy.block_of[b] for b in graph.trap.blocks), copy.block_of[graph.trap.target])
    return twin


def _cloned_frame(frame: Frame | None, values: dict[Value, Operand]) -> Frame | None:
    if frame is None:
        return None
    cells = {name: _copy_value(cell, values) for name, cell in frame.cells.items()}
    twin = Frame(frame.code, cells)
    twin.prologue, twin.sites = list(frame.prologue), frame.sites
    return twin


def clone_into(target: Graph, source: Graph, values: Mapping[Value, Operand] | None = None) -> Copy:
    """Append a copy of `source`'s blocks to `target`. `values` says what `source`'s cells are in `target`.

    The copied entry keeps its parameters: jump to it with the arguments.
    """
    copy = copy_blocks(source, values)
    for block in copy.blocks:
        block.name = f"b{len(target.blocks)}"
        target.blocks.append(block)
    return copy


def copy_blocks(source: Graph | Iterable[Block], values: Mapping[Value, Operand] | None = None) -> Copy:
    """Copy all blocks of a graph, or some of them; `values` seeds the map of values.

    Edges to blocks, and uses of values, that are not copied stay what they are: so a region (a loop body) can
    be copied beside itself.
    """
    blocks = source.blocks if isinstance(source, Graph) else list(source)
    copy = Copy([], dict(values or {}), {})
    for block in blocks:
        _declare(block, copy)
    for old, new in zip(blocks, copy.blocks, strict=True):
        new.ops = [_copy_op(op, copy) for op in old.ops]
        if old.terminator is not None:
            new.terminator = map_terminator(old.terminator, copy.operand, copy.edge)
        if old.handler is not None:
            new.handler = Handler(copy.edge(old.handler.edge), old.handler.lasti)
    return copy


def _declare(block: Block, copy: Copy) -> None:
    """Definitions first: a use may stand before its definition in the list of blocks."""
    new = Block(block.name)
    copy.blocks.append(new)
    copy.block_of[block] = new
    new.params = [_copy_value(p, copy.values) for p in block.params]
    for op in block.ops:
        for result in op.results:
            _copy_value(result, copy.values)


def _copy_value(value: Value, values: dict[Value, Operand]) -> Value:
    if isinstance(value, Reread):
        new: Value = Reread(values.get(value.cell, value.cell), value.name)  # type: ignore[arg-type]
    else:
        new = Value(value.name, value.type)
    values[value] = new
    return new


def _copy_op(op: Op, copy: Copy) -> Op:
    values = copy.values
    args = [values.get(a, a) if isinstance(a, Value) else a for a in op.args]
    results = [values[r] for r in op.results]
    made = Op(_copied_callee(op.callee, values), args, results, op.kwnames, op.pos, op.syntax, op.reassoc)  # type: ignore[arg-type]
    made.bare, made.moves, made.exempt, made.caught = op.bare, op.moves, op.exempt, op.caught
    made.tested, made.contained, made.again = op.tested, op.contained, op.again
    return made


def _copied_callee(callee: Operand, values: dict[Value, Operand]) -> Operand:
    """An instruction may name a cell."""
    if isinstance(callee, Value):
        return values.get(callee, callee)
    if type(callee.value) is Instruction and isinstance(callee.value.arg, Value):
        return Const(Instruction(callee.value.name, values.get(callee.value.arg)))
    return callee


def map_terminator(
    terminator: Terminator, operand: Callable[[Operand], Operand], edge: Callable[[Edge], Edge]
) -> Terminator:
    """A new terminator of the same kind, its operands and edges mapped."""
    match terminator:
        case Jump():
            return Jump(edge(terminator.edge), terminator.pos, terminator.quiet, terminator.spelled)
        case Branch():
            return Branch(
                operand(terminator.cond), edge(terminator.then), edge(terminator.orelse), terminator.pos
            )
        case Iterate():
            return Iterate(
                operand(terminator.iterator), edge(terminator.body), edge(terminator.exit), terminator.pos
            )
        case Return():
            return Return(operand(terminator.value), terminator.pos)
        case Raise():
            exc, cause = (None if v is None else operand(v) for v in (terminator.exc, terminator.cause))
            return Raise(exc, cause, terminator.pos)
        case Reraise():
            lasti = None if terminator.lasti is None else operand(terminator.lasti)
            kept = tuple(map(operand, terminator.kept))
            return Reraise(operand(terminator.exc), lasti, kept, terminator.pos)
        case Delegate():
            return Delegate(
                operand(terminator.receiver), operand(terminator.value),
                edge(terminator.yielded), edge(terminator.done), terminator.pos,
            )  # fmt: skip


# -- replacing -------------------------------------------------------------------------------------


def substitute(graph: Graph, mapping: Mapping[Value, Operand]) -> None:
    """Replace every use of a key by its value, in place. Chains are followed: {a: b, b: c} makes a into c."""
    if not mapping:
        return
    final = {old: _follow(old, mapping) for old in mapping}
    for block in graph.blocks:
        substitute_in(block, final)


def substitute_in(block: Block, mapping: Mapping[Value, Operand]) -> None:
    """`substitute` in one block, without following chains."""

    def operand(old: Operand) -> Operand:
        return mapping.get(old, old)  # type: ignore[arg-type]

    replaced = mapping.keys()
    for op in block.ops:
        if op.callee in replaced:
            op.callee = operand(op.callee)
        if not replaced.isdisjoint(op.args):
            op.args = [operand(a) for a in op.args]
    end = block.terminator
    if end is None:
        return
    if not replaced.isdisjoint(end.operands()) or any(not replaced.isdisjoint(e.args) for e in end.edges()):
        block.terminator = map_terminator(
            end, operand, lambda e: Edge(e.target, [operand(a) for a in e.args])
        )


def _follow(value: Value, mapping: Mapping[Value, Operand]) -> Operand:
    seen: set[Value] = set()
    operand: Operand = value
    while isinstance(operand, Value) and operand in mapping:
        if operand in seen:
            raise ValueError(f"the mapping replaces {value} by itself")
        seen.add(operand)
        operand = mapping[operand]
    return operand


def split_block(graph: Graph, block: Block, index: int) -> Block:
    """Cut `block` before its op `index`: the rest moves, with the terminator, to a new block, the result.
    `block` is left without a terminator."""
    rest = graph.new_block()
    block.ops, rest.ops = block.ops[:index], block.ops[index:]
    rest.terminator, block.terminator = block.terminator, None
    return rest


# -- questions -------------------------------------------------------------------------------------


def uses(graph: Graph) -> dict[Value, list[Use]]:
    """Per defined value where it is read; an unused one has an empty list."""
    found: dict[Value, list[Use]] = {value: [] for value in definitions(graph)}
    for block in graph.blocks:
        for use, operand in _reads(block):
            if isinstance(operand, Value):
                found.setdefault(operand, []).append(use)
    return found


def mark_caught(graph: Graph) -> Graph:
    """In place: something may catch what its ops raise."""
    for _, op in graph.ops():
        op.caught = True
    return graph


def _reads(block: Block) -> Iterable[tuple[Use, Operand]]:
    for op in block.ops:
        use = Use(block, op)
        yield from ((use, operand) for operand in op.operands())
    if block.terminator is not None:
        use = Use(block, block.terminator)
        yield from ((use, operand) for operand in block.terminator.operands())
        for edge in block.terminator.edges():
            use = Use(block, edge)
            yield from ((use, operand) for operand in edge.args)


def definitions(graph: Graph) -> dict[Value, Block]:
    """The block that defines each value; the entry for cells."""
    found = dict.fromkeys(graph.cells, graph.entry)
    for block in graph.blocks:
        found.update(dict.fromkeys(block.params, block))
        for op in block.ops:
            found.update(dict.fromkeys(op.results, block))
    return found
