"""The variables of a program in frame form: where they are read, assigned to, and surely bound.

A variable is a name, or, where closures share it, the value that stands for its cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType

from ctxdispatch.ir import frames, primitives
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes.cells import free_stores

Variable = str | Value

_READS = (
    *(frames.load_local, frames.load_local_checked, frames.load_local_borrowed),
    *(frames.load_closure, primitives.cell_get),
)
_SETS = (frames.store_local, primitives.cell_set)
_UNSETS = (frames.delete_local, frames.take_local, primitives.cell_delete)


def variable_of(op: Op) -> Variable | None:
    """What the op reads, sets or unsets."""
    if op.fn not in (*_READS, *_SETS, *_UNSETS):
        return None
    named: Operand = op.args[0]
    return named if isinstance(named, Value) else str(named.value) if isinstance(named, Const) else None


@dataclass(eq=False)
class Variables:
    """`live_in[block]`: what the block, or what comes after it, reads before it is assigned to.
    `bound[block]`: what is surely bound where the block begins."""

    live_in: Mapping[Block | None, set[Variable]]
    bound: dict[Block, set[Variable]]

    def bound_at(self, block: Block, at: int) -> set[Variable]:
        """Before op `at` of the block."""
        return _bound_after(self.bound[block], block.ops[:at])


def variables(graph: Graph) -> Variables:
    """What closures share is read by them, once the program has ended, too."""
    shared: set[Variable] = {v for _, op in graph.ops() if isinstance(v := variable_of(op), Value)}
    return Variables(_live(graph.blocks, lambda block: block.successors(), shared), _bound(graph))


def assigned(ops: Iterable[Op]) -> set[Variable]:
    """What they set or unset, or functions that they make."""
    own, loaded, made = set[Variable](), dict[str, Variable](), set[str]()
    for op in ops:
        variable = variable_of(op)
        if variable is not None and op.fn in (*_SETS, *_UNSETS):
            own.add(variable)
        elif isinstance(variable, Value) and op.fn is frames.load_closure:
            loaded[variable.name] = variable
        elif op.fn is primitives.make_function:
            codes = [a.value for a in op.args if isinstance(a, Const) and type(a.value) is CodeType]
            made.update(*map(free_stores, codes))
    return own | {loaded[name] for name in made & loaded.keys()}


def needed(blocks: Sequence[Block], outputs: Iterable[Variable]) -> tuple[set[Variable], set[Variable]]:
    """What a part of a program reads of what it has not assigned to: the first of the blocks is where it
    begins, and where it is left the outputs are read. And what it only sets aside, bound or not."""
    live = _live(blocks, lambda block: [edge.target for edge in block.edges()], set(outputs))
    aside = {v for b in blocks for op in b.ops if op.fn is frames.take_local and (v := variable_of(op))}
    return live[blocks[0]], aside


def _live(
    blocks: Sequence[Block], successors: Callable[[Block], list[Block]], outside: set[Variable]
) -> dict[Block | None, set[Variable]]:
    """`outside`: what is read where control leaves the blocks."""
    uses = {block: _use(block) for block in blocks}
    live: dict[Block | None, set[Variable]] = {block: set(read) for block, (read, _) in uses.items()}
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            read, killed = uses[block]
            after = set().union(*(live.get(b, outside) for b in successors(block) or (None,)))
            found = read | (after - killed)
            if block.handler is not None and block.handler.edge.target in live:
                found |= live[block.handler.edge.target]  # it may raise before it assigns
            if found != live[block]:
                live[block], changed = found, True
    return live


def _use(block: Block) -> tuple[set[Variable], set[Variable]]:
    """What the block reads of what it has not assigned to; what it assigns to."""
    read: set[Variable] = set()
    killed: set[Variable] = set()
    for op in block.ops:
        variable = variable_of(op)
        if variable is None:
            continue
        if op.fn in _READS:
            read |= {variable} - killed
        elif op.fn is not frames.take_local:
            killed.add(variable)
    return read, killed


def _bound(graph: Graph) -> dict[Block, set[Variable]]:
    assert graph.frame is not None
    cells = {c.name: c for c in graph.frame.cells.values()}
    start: set[Variable] = {*graph.cells, *(cells.get(name, name) for name in graph.signature.names)}
    found: dict[Block, set[Variable]] = {graph.entry: start}
    work = [graph.entry]
    while work:
        block = work.pop()
        after = _bound_after(found[block], block.ops)
        ways = [(edge.target, after) for edge in block.edges()]
        if block.handler is not None:
            ways.append((block.handler.edge.target, found[block] - _unset(block)))
        for target, bound in ways:
            known = found.get(target)
            if known is None or not known <= bound:
                found[target] = set(bound) if known is None else known & bound
                work.append(target)
    return found


def _unset(block: Block) -> set[Variable]:
    return {v for op in block.ops if op.fn in _UNSETS and (v := variable_of(op)) is not None}


def _bound_after(bound: set[Variable], ops: Iterable[Op]) -> set[Variable]:
    bound = set(bound)
    for op in ops:
        variable = variable_of(op)
        if variable is not None and op.fn in _SETS:
            bound.add(variable)
        elif variable is not None and op.fn in _UNSETS:
            bound.discard(variable)
    return bound
