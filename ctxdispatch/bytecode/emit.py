"""Emission: a graph becomes a code object.

    lay_out         the order of blocks, loop iterators that stay on the stack
    Stackifier      expression trees; symbolic code per block and edge
    Slots           the rest of the values share local variables
    place, Linker   jumps, indices, fused pairs
    encode          bytes, locations, exceptions

Invariant: running the code does what `ir.interpret` does with the graph, raising at the same source
position. This is the *free* way to emit: values have slots, the user's variables do not."""

from __future__ import annotations

import inspect
from collections import Counter
from types import CellType, CodeType, FunctionType
from typing import Any

from ctxdispatch.bytecode.assemble import NOWHERE, Handler, Instr, Pos, encode, shifted, stack_size
from ctxdispatch.bytecode.layout import Layout, lay_out
from ctxdispatch.bytecode.link import OPCODE, Linker, place
from ctxdispatch.bytecode.slots import Piece, Slots, SymbolicAt
from ctxdispatch.bytecode.stackify import Stackifier
from ctxdispatch.ir.graph import Block, Branch, Edge, Graph, Iterate
from ctxdispatch.ir.values import Value


def emit(
    graph: Graph,
    *,
    name: str | None = None,
    filename: str | None = None,
    line: int | None = None,
    namespace: dict[str, Any] | None = None,
) -> CodeType:
    """The code object of `graph`, for a function whose globals are `namespace` (default: the graph's)."""
    namespace = graph.namespace if namespace is None else namespace
    line = graph.line if line is None else line
    filename = filename or graph.filename
    pieces = _pieces(graph, namespace)
    slots = Slots(graph.params, graph.cells, pieces.all)
    linker = Linker(slots, graph, _docstring(graph))
    order = place(pieces.thinned(slots))
    body = linker.code(order)
    handlers = _trap(graph, pieces, linker, order)
    instrs = [*_prologue(graph, line), *shifted(body, _prologue_length(graph))]
    return _code_object(graph, name or graph.name, filename, line, linker, instrs, handlers)


def make_function(
    graph: Graph,
    namespace: dict[str, Any] | None = None,
    closure: tuple[CellType, ...] = (),
    defaults: tuple[Any, ...] | None = None,
    kwdefaults: dict[str, Any] | None = None,
    *,
    name: str | None = None,
) -> FunctionType:
    """The function that `graph` is. `closure` has a cell per name of `graph.cellnames`."""
    if namespace is None:
        namespace = {} if graph.namespace is None else graph.namespace
    code = emit(graph, name=name, namespace=namespace)
    function = FunctionType(code, namespace, code.co_name, defaults, tuple(closure))
    function.__qualname__ = code.co_qualname
    function.__kwdefaults__ = kwdefaults
    return function


# -- pieces ----------------------------------------------------------------------------------------


class _Pieces:
    """The pieces of a graph: one per block, and one per edge that has code and a place of its own."""

    def __init__(self, layout: Layout, writer: Stackifier) -> None:
        self.layout, self.writer = layout, writer
        self.of: dict[Block, Piece] = {block: Piece([]) for block in layout.order}
        self.edges: list[Piece] = []
        for block in reversed(layout.order):
            self._write(block)
        for block in layout.order:
            self._connect(block)

    @property
    def all(self) -> list[Piece]:
        return [*self.of.values(), *self.edges]

    def thinned(self, slots: Slots) -> list[Piece]:
        """The blocks' pieces, in order, without the edges in between that need no code."""
        gone = {edge for edge in self.edges if slots.vanishes(edge) and not edge.kept}
        for k, piece in enumerate(self.of.values()):
            piece.place = k
            piece.successors = [s.successors[0] if s in gone else s for s in piece.successors]
        return list(self.of.values())

    def _write(self, block: Block) -> None:
        piece = self.of[block]
        piece.code = self.writer.block(block)
        end = block.terminator
        piece.pos = self.writer.position(end.pos if end else None)
        if isinstance(end, Branch):
            piece.test = self.writer.test
        elif isinstance(end, Iterate):
            piece.test = "ITER"

    def _connect(self, block: Block) -> None:
        piece = self.of[block]
        if piece.test is None:
            piece.successors = [self.of[target] for target in block.successors()]
        else:
            piece.successors = [self._edge(block, edge) for edge in block.edges()]

    def _edge(self, block: Block, edge: Edge) -> Piece:
        """Its code opens the target's where no other edge leads."""
        code = self.writer.edge(block, edge)
        target = self.of[edge.target]
        behind = self._exits_backward(block, edge)
        alone = len(self.layout.incoming[edge.target]) == 1 and edge.target is not self.layout.order[0]
        if alone:
            target.code = code + target.code
        if alone or not (code or behind):
            return target
        piece = Piece(code)
        piece.kept = behind
        piece.pos = self.of[block].pos
        piece.successors = [target]
        self.edges.append(piece)
        return piece

    def _exits_backward(self, block: Block, edge: Edge) -> bool:
        """FOR_ITER jumps forward only."""
        end = block.terminator
        numbers = self.layout.numbers
        return isinstance(end, Iterate) and edge is end.exit and numbers[edge.target] <= numbers[block]


def _pieces(graph: Graph, namespace: Any) -> _Pieces:
    layout = lay_out(graph)
    pieces = _Pieces(layout, Stackifier(layout, namespace, graph.filename, graph.line))
    _join_store_and_load(pieces.all)
    return pieces


# -- peephole --------------------------------------------------------------------------------------


def _join_store_and_load(order: list[Piece]) -> None:
    """What is stored to be loaded at once, and never again, stays on the stack; so does what is popped and
    loaded again."""
    loads: Counter[Any] = Counter()
    for piece in order:
        loads.update(arg for name, arg, _ in piece.code if isinstance(arg, Value) and name in READS)
        loads.update(a for name, arg, _ in piece.code if name == "MOVES" for _, a in arg)
        loads.update(arg[0] for name, arg, _ in piece.code if name == "CHECK")
    for piece in reversed(order):  # a loop's container is popped after it is stored
        piece.code = _joined(piece.code, loads)


READS = frozenset({"LOAD_FAST", "LOAD_DEREF", "STORE_DEREF", "DELETE_DEREF", "MAKE_CELL"})


def _joined(code: list[SymbolicAt], loads: Counter[Any]) -> list[SymbolicAt]:
    found: list[SymbolicAt] = []
    for instruction in code:
        if instruction[0] == "LOAD_FAST" and found:
            name, arg, _ = found[-1]
            if arg is instruction[1] and (name == "POP_TOP" or (name == "STORE_FAST" and loads[arg] == 1)):
                found.pop()
                loads[arg] -= name == "POP_TOP"
                continue
        found.append(instruction)
    return found


# -- the code object -------------------------------------------------------------------------------

KEPT_FLAGS = inspect.CO_NESTED | 0x1FE0000 | getattr(inspect, "CO_HAS_DOCSTRING", 0)
"""Of the code that a graph was lifted from: CO_NESTED, the flags of __future__ imports, and that the first
constant is a docstring."""


def _prologue(graph: Graph, line: int) -> list[Instr]:
    pos: Pos = (line, line, 0, 0)
    copy: list[Instr] = [(OPCODE["COPY_FREE_VARS"], len(graph.cells), NOWHERE)] if graph.cells else []
    return [*copy, (OPCODE["RESUME"], 0, pos)]


def _prologue_length(graph: Graph) -> int:
    return 2 if graph.cells else 1


def _trap(graph: Graph, pieces: _Pieces, linker: Linker, order: list[Piece]) -> list[Handler]:
    if graph.trap is None or graph.trap.target not in pieces.of:
        return []
    guarded = {pieces.of[block] for block in graph.trap.blocks if block in pieces.of}
    by = _prologue_length(graph)
    return [
        Handler(h.start + by, h.end + by, h.target + by, h.depth)
        for h in linker.trap(order, guarded, pieces.of[graph.trap.target])
    ]


def _docstring(graph: Graph) -> str | None:
    """The first constant is the docstring if it is a string."""
    consts = graph.code.co_consts if graph.code else ()
    return consts[0] if consts and isinstance(consts[0], str) else None


def _flags(graph: Graph) -> int:
    signature = graph.signature
    flags = inspect.CO_OPTIMIZED | inspect.CO_NEWLOCALS
    flags |= inspect.CO_VARARGS * signature.varargs | inspect.CO_VARKEYWORDS * signature.varkw
    flags |= inspect.CO_NESTED * bool(graph.cells)
    return flags | (graph.code.co_flags & KEPT_FLAGS if graph.code else 0)


def _code_object(
    graph: Graph, name: str, filename: str, line: int, linker: Linker, instrs: list[Instr],
    handlers: list[Handler],
) -> CodeType:  # fmt: skip
    made = encode(instrs, line, handlers)
    signature = graph.signature
    return CodeType(
        signature.argcount,
        signature.posonly,
        signature.kwonly,
        len(linker.slots.names),
        stack_size(instrs, handlers),
        _flags(graph),
        made.code,
        tuple(linker.consts),
        tuple(linker.names),
        tuple(linker.slots.names),
        filename,
        name.rpartition(".")[2],
        name,
        line,
        made.linetable,
        made.exceptiontable,
        graph.cellnames,
        (),
    )
