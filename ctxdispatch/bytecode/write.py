"""The symbolic code of a graph in frame form: of its blocks, and of edges that rearrange the stack.

Invariant: where control enters a block, the stack is its parameters (`Block.params`, an iteration's item on
top); where an edge's arguments lie there already, it has no code.
"""

from __future__ import annotations

import builtins
import operator
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ctxdispatch.bytecode.arrange import Beside, Place, places, rearranged
from ctxdispatch.bytecode.assemble import Pos
from ctxdispatch.bytecode.borrow import owned
from ctxdispatch.bytecode.callables import callables
from ctxdispatch.bytecode.rows import is_none
from ctxdispatch.bytecode.schedule import FAR, Entry, Reads, Schedule
from ctxdispatch.bytecode.slots import Piece, SymbolicAt
from ctxdispatch.bytecode.tables import EMIT
from ctxdispatch.ir.graph import (
    Block,
    Branch,
    Delegate,
    Edge,
    Graph,
    Iterate,
    Jump,
    Raise,
    Reraise,
    Return,
    Terminator,
)
from ctxdispatch.ir.values import Const, Operand, Value


class Kept(NamedTuple):
    """Where an exception goes, and how much of the stack stays."""

    target: Piece
    depth: int
    lasti: bool


class Writer:
    """`blocks`: a piece per block, in order; `handlers` of pieces; `variables`: values that need one of their
    own."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.wide = callables(graph)
        self.bodies = {b.terminator.body.target for b in graph.blocks if isinstance(b.terminator, Iterate)}
        self._reads = {block: _reads(block) for block in graph.blocks}
        self.exported = _exported(graph, self._reads)
        self.owned = owned(graph, self.exported) if EMIT.borrows else set()
        self.of = {block: Piece([]) for block in graph.blocks}
        self.handlers: dict[Piece, Kept] = {}
        self._incoming = Counter(target for block in graph.blocks for target in block.successors())
        for block in graph.blocks:
            self._write(block)
        self.blocks = [*self.of.values()]
        for k, piece in enumerate(self.blocks):
            piece.place = k
        self.variables = self._variables()

    # -- blocks --------------------------------------------------------------------------------------

    def _write(self, block: Block) -> None:
        piece = self.of[block]
        piece.written = True
        entries = [Entry(p, [], True, p in self.wide) for p in self._stack(block)]
        if block.handler is not None:
            depth = sum(e.width for e in entries[: len(block.handler.edge.args)])
            self.handlers[piece] = Kept(self.of[block.handler.edge.target], depth, block.handler.lasti)
        reads = self._reads[block]
        s = Schedule(entries, reads, self.wide, self.graph)
        s.owned, s.exported = self.owned, self.exported
        test = _fused_test(block, reads)
        for op in block.ops[: len(block.ops) - (test is not None)]:
            s.write(op)
            if not self.exported.isdisjoint(op.results):
                self._export(s, op.results)
        end = block.terminator
        assert end is not None
        piece.pos = s.position(end.pos)
        for operand in _taken(end) if test is None else test[1:]:
            s.left[operand] -= 1
        self._end(block, s, piece, test)
        piece.code += s.code

    def _stack(self, block: Block) -> list[Value]:
        if block is self.graph.entry:
            return []
        params = block.params
        return [*params[1:], params[0]] if block in self.bodies else params

    def _export(self, s: Schedule, results: Sequence[Value]) -> None:
        """Into a variable, for other blocks."""
        for value in results:
            if value in self.exported and s.entries[-1].value is value:
                s.append([("COPY", 1, s.position(None)), ("STORE_FAST", value, s.position(None))])

    def _variables(self) -> list[Value]:
        frame = self.graph.frame
        known = {*self.graph.params, *self.graph.cells, *(frame.cells.values() if frame else ())}
        code = [(name, arg) for piece in self.blocks for name, arg, _ in _all_code(piece)]
        stored = dict.fromkeys(arg for name, arg in code if name == "STORE_FAST" and type(arg) is Value)
        loaded = {arg for name, arg in code if name == "LOAD_FAST" and type(arg) is Value}
        missing = loaded - known - stored.keys()
        assert not missing, f"{self.graph.name}: {missing} are used where nothing has stored them"
        return [value for value in stored if value not in known]

    # -- terminators ---------------------------------------------------------------------------------

    def _end(self, block: Block, s: Schedule, piece: Piece, test: tuple[str, Operand] | None) -> None:
        end = block.terminator
        match end:
            case Jump():
                last = block.ops[-1].pos if block.ops else None
                self._pass(s, end.edge.args, s.position(end.pos or last))
                piece.quiet, piece.spelled = end.quiet, end.spelled
                piece.successors = [self.of[end.edge.target]]
            case Branch():
                self._branch(s, piece, end, *(test or ("TRUE", end.cond)))
            case Iterate():
                self._iterate(s, piece, end)
            case Delegate():
                self._delegate(s, piece, end)
            case Return():
                self._return(s, end.value, piece.pos)
            case Raise():
                self._finish(s, end.operands(), ("RAISE_VARARGS", len(end.operands())), piece.pos)
            case Reraise():
                self._reraise(s, end, piece.pos)

    def _pass(self, s: Schedule, args: Sequence[Operand], pos: Pos) -> None:
        if not s.settle(args, pos):
            s.widen(args, pos)
            s.append(rearranged(s, places(s.entries[1:], {}), args, pos))

    def _branch(self, s: Schedule, piece: Piece, end: Branch, test: str, cond: Operand) -> None:
        pos = piece.pos
        if EMIT.or_pop and test == "TRUE" and self._or_pop(s, piece, end, cond):
            return
        taken, _ = s.take([cond], pos)
        low = min((0 if entry.fixed else entry.low for entry in taken), default=FAR)
        now = self._settled(s, [end.then.args, end.orelse.args], pos, low)
        s.append([i for entry in taken for i in entry.code])
        piece.test = test
        piece.successors = [self._edge(s, now, edge, pos) for edge in (end.then, end.orelse)]

    def _or_pop(self, s: Schedule, piece: Piece, end: Branch, cond: Operand) -> bool:
        """Whether one instruction does it: jump with the condition on the stack, or go on without it."""
        ways = ((end.then, end.orelse, "TRUE_OR_POP"), (end.orelse, end.then, "FALSE_OR_POP"))
        for kept, gone, test in ways:
            ahead = not self.of[kept.target].written
            fits = kept.args == [*gone.args, cond]
            if ahead and fits and s.settle(kept.args, piece.pos):
                piece.test = test
                piece.successors = [self.of[gone.target], self.of[kept.target]]
                return True
        return False

    def _settled(self, s: Schedule, choices: list[list[Operand]], pos: Pos, low: int = FAR) -> list[Place]:
        """The places of the stack, which is what one of the edges wants, if that can be."""
        for args in choices:
            if s.settle(args, pos, low):
                return self._places(args)
        return places(s.entries[1:], {})

    def _places(self, args: Sequence[Operand]) -> list[Place]:
        entries = [Entry(a, [], wide=a in self.wide) for a in args]  # type: ignore[arg-type]
        return places(entries, {})

    def _iterate(self, s: Schedule, piece: Piece, end: Iterate) -> None:
        pos = piece.pos
        self._pass(s, end.body.args, pos)
        below = self._places(end.body.args[:-1])
        piece.test = "ITER"
        exhausted: list[SymbolicAt] = [(name, arg, pos) for name, arg in EMIT.exhausted]
        piece.successors = [self.of[end.body.target], self._edge(s, below, end.exit, pos, exhausted)]

    def _delegate(self, s: Schedule, piece: Piece, end: Delegate) -> None:
        self._pass(s, [*end.yielded.args, end.value], piece.pos)
        piece.test = "SEND"
        piece.successors = [self.of[end.yielded.target], self.of[end.done.target]]

    def _return(self, s: Schedule, value: Operand, pos: Pos) -> None:
        if isinstance(value, Const) and EMIT.return_const:
            s.append([("RETURN_CONST", value.value, pos)])
        else:
            self._finish(s, (value,), ("RETURN_VALUE", 0), pos)

    def _finish(self, s: Schedule, operands: Sequence[Operand], last: tuple[str, Any], pos: Pos) -> None:
        taken, _ = s.take(operands, pos)
        s.append([*(i for entry in taken for i in entry.code), (*last, pos)])

    def _reraise(self, s: Schedule, end: Reraise, pos: Pos) -> None:
        taken, _ = s.take([end.exc], pos)
        depth = 0 if end.lasti is None else s.height(s.index(end.lasti))
        s.append([*(i for entry in taken for i in entry.code), ("RERAISE", depth, pos)])

    # -- edges ---------------------------------------------------------------------------------------

    def _edge(
        self, s: Schedule, now: list[Place], edge: Edge, pos: Pos, code: list[SymbolicAt] | None = None
    ) -> Piece:
        """Its code opens the target's where no other edge leads."""
        code = list(code or ())
        wanted = self._places(edge.args)
        if not _same(now, wanted):
            code += rearranged(s, now, edge.args, pos)
        target = self.of[edge.target]
        if not code:
            return target
        if self._incoming[edge.target] == 1 and target.code == []:
            target.code = code
            return target
        piece = Piece(code)
        piece.kept, piece.pos, piece.successors = True, pos, [target]
        return piece


def _same(now: list[Place], wanted: list[Place]) -> bool:
    return len(now) == len(wanted) and all(
        a is b or (isinstance(a, Beside) and isinstance(b, Beside)) for a, b in zip(now, wanted)
    )


def _all_code(piece: Piece) -> Iterator[SymbolicAt]:
    yield from piece.code
    for successor in piece.successors:
        if successor.kept:
            yield from successor.code


def _reads(block: Block) -> Reads:
    """How often each value is read in the block."""
    found: Reads = defaultdict(int)
    for op in block.ops:
        found[op.callee] += 1
        for operand in op.args:
            found[operand] += 1
    end = block.terminator
    assert end is not None
    for operand in end.operands():
        found[operand] += 1
    for edge in end.edges():
        for operand in edge.args:
            found[operand] += 1
    return found


def _taken(end: Terminator) -> Sequence[Operand]:
    """The operands of a terminator that do not stay on the stack."""
    return (end.exc,) if isinstance(end, Reraise) else end.operands()


def _exported(graph: Graph, reads: dict[Block, Reads]) -> set[Operand]:
    """Values that are used in other blocks than where they are defined, as they are."""
    home = {result: block for block, op in graph.ops() for result in op.results}
    home |= {param: block for block in graph.blocks for param in block.params if block is not graph.entry}
    return {
        operand
        for block, found in reads.items()
        for operand in found
        if type(operand) is Value and home.get(operand, block) is not block
    }


# -- tests -----------------------------------------------------------------------------------------

def _fused_test(block: Block, reads: Reads) -> tuple[str, Operand] | None:
    """The jump's own test, where the op before it is nothing else: of truth, or for None."""
    end = block.terminator
    if not isinstance(end, Branch) or not block.ops:
        return None
    op = block.ops[-1]
    if not op.syntax or not op.results or op.results[0] is not end.cond or reads[end.cond] != 1:
        return None
    if op.fn is operator.is_ and is_none(op.args[1]):
        return "NONE", op.args[0]
    if op.fn is builtins.bool and not EMIT.truth:
        return "TRUE", op.args[0]
    return None
