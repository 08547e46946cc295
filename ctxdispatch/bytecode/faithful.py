"""Faithful emission: a graph in frame form becomes a code object like the one that it was lifted from.

    Writer         symbolic code of blocks and edges (`schedule`, `arrange`)
    FrameLinker    the frame's variables, names and constants where they were
    encode         bytes, locations, exceptions

    round_trip(code)    lift and emit, nested code too: does what `code` does, seen from wherever

Invariant: variables keep slots, names and lifetimes; blocks keep their order; what nobody changed becomes the
instructions that it was.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

from ctxdispatch.bytecode import sites
from ctxdispatch.bytecode.assemble import NOWHERE, Handler, Instr, Pos, encode, shifted, stack_size
from ctxdispatch.bytecode.flow import JUMPS
from ctxdispatch.bytecode.frame import lift_frame
from ctxdispatch.bytecode.link import KINDS, OPCODE, Linker, place
from ctxdispatch.bytecode.machine import slot_names
from ctxdispatch.bytecode.slots import Piece
from ctxdispatch.bytecode.write import Writer
from ctxdispatch.ir.frames import Place
from ctxdispatch.ir.graph import Graph

# -- public ----------------------------------------------------------------------------------------


def rewrite(code: CodeType, transform: Callable[[Graph], Graph]) -> CodeType:
    """`code` and the code nested in it, each by way of `transform` of its graph in frame form."""
    consts = tuple(rewrite(c, transform) if type(c) is CodeType else c for c in code.co_consts)
    return emit_frame(transform(lift_frame(code.replace(co_consts=consts))))


def round_trip(code: CodeType) -> CodeType:
    """`code`, of a function, class body or module, lifted and emitted again, with the code nested in it."""
    return rewrite(code, _unchanged)


def emit_frame(graph: Graph) -> CodeType:
    """The code object of a graph in frame form."""
    writer = Writer(graph)
    linker = FrameLinker(graph, writer)
    order = place(writer.blocks)
    body = linker.code(order)
    prologue = linker.prologue(graph)
    instrs = [*prologue, *shifted(body, len(prologue))]
    handlers = linker.handlers(order, len(prologue))
    return _code_object(graph, linker, instrs, handlers)


def _unchanged(graph: Graph) -> Graph:
    return graph


# -- instructions ----------------------------------------------------------------------------------


class FrameLinker(Linker):
    """Names and constants of the code that was lifted keep their places; what is new comes after them."""

    def __init__(self, graph: Graph, writer: Writer) -> None:
        assert graph.frame is not None
        code = graph.frame.code
        self.consts = list(code.co_consts)
        self.names = list(code.co_names)
        self.instrs: list[Instr] = []
        first = len(code.co_varnames)  # so that names are new also where the code was emitted before
        made = (f"$value{first + k}" for k in range(len(writer.variables)))
        self.variables = [*code.co_varnames, *made]
        self.cells: dict[str, Any] = {**graph.frame.cells}
        if sites.has_method_cell(graph):
            self.cells.setdefault(sites.METHOD, sites.METHOD)
        self._pool, self._pool_cell = graph.pool, graph.pool_cell
        self._name_index = {name: k for k, name in enumerate(self.names)}
        self._const_index = {id(const): k for k, const in reversed([*enumerate(self.consts)])}
        self._fusable = False
        self._patches: list[tuple[int, Piece]] = []
        self._starts: dict[Piece, int] = {}
        self._places: dict[Place, int] = {}
        self._slot: dict[Any, int] = self._slots(graph, writer)
        self._cells = {self._slot[cell] for cell in (*self.cells.values(), *graph.cells)}
        self._handlers = writer.handlers

    def _slots(self, graph: Graph, writer: Writer) -> dict[Any, int]:
        assert graph.frame is not None
        slots: dict[Any, int] = {name: k for k, name in enumerate(self.variables)}
        cells = {name: cell for name, cell in self.cells.items() if name not in slots}
        others = [*cells.values(), *graph.cells]
        slots |= {cell: len(self.variables) + k for k, cell in enumerate(others)}
        slots |= {cell: slots[name] for name, cell in self.cells.items() if name in slots}
        if sites.METHOD in cells:
            slots[sites.METHOD] = slots[cells[sites.METHOD]]
        slots |= {param: slots[name] for param, name in zip(graph.params, graph.signature.names)}
        own = len(self.variables) - len(writer.variables)
        return slots | {value: own + k for k, value in enumerate(writer.variables)}

    def instruction(self, name: str, arg: Any, pos: Any) -> None:
        if name in KINDS:
            KINDS[name](self, name, arg, pos)
        elif type(arg) is str:
            self._add(name, self._slot[arg], pos)
        elif type(arg) is Place:
            self._place(name, arg, pos)
        elif name in SUPER:
            attribute, two = arg
            self._add("LOAD_SUPER_ATTR", self._name(attribute) << 2 | two | SUPER[name], pos)
        else:
            super().instruction(name, arg, pos)

    def _may_fuse(self, before: int, at: Pos, index: int, pos: Pos) -> bool:
        """What was one instruction has one position. Cells are loaded one by one."""
        return at == pos and before not in self._cells and index not in self._cells

    def _place(self, name: str, place: Place, pos: Any) -> None:
        """An instruction that is the place, or that names it."""
        if OPCODE[name] in JUMPS:
            self._add(name, self._places.get(place, len(self.instrs) + 1), pos)
        else:
            self._places[place] = len(self.instrs)
            self._add(name, 0, pos)

    def prologue(self, graph: Graph) -> list[Instr]:
        """As it was, but for cells that the graph has more, and for slots that have moved."""
        assert graph.frame is not None
        names, cells = slot_names(graph.frame.code), graph.frame.cells
        found: list[Instr] = []
        if graph.cells:
            found.append((OPCODE["COPY_FREE_VARS"], len(graph.cells), NOWHERE))
        if sites.METHOD in self.cells.keys() - cells.keys():
            found.append((OPCODE["MAKE_CELL"], self._slot[sites.METHOD], NOWHERE))
        for opcode, arg, pos in graph.frame.prologue:
            if opcode == OPCODE["MAKE_CELL"]:
                found.append((opcode, self._slot[cells[names[arg]]], pos))
            elif opcode != OPCODE["COPY_FREE_VARS"]:
                found.append((opcode, arg, pos))
        return found

    def handlers(self, order: list[Piece], by: int) -> list[Handler]:
        """The exception table; neighbours with one target are one entry."""
        ends = [*[self._starts[piece] for piece in order[1:]], len(self.instrs)]
        found: list[Handler] = []
        for piece, end in zip(order, ends, strict=True):
            kept = self._handlers.get(piece)
            start = self._starts[piece]
            if kept is None or start == end:
                continue
            entry = Handler(start + by, end + by, self._starts[kept.target] + by, kept.depth, kept.lasti)
            last = found[-1] if found else None
            if last is not None and last.end == entry.start and last[2:] == entry[2:]:
                found[-1] = last._replace(end=entry.end)
            else:
                found.append(entry)
        return found


SUPER = {"LOAD_SUPER_ATTR": 0, "LOAD_SUPER_METHOD": 1}


def _code_object(graph: Graph, linker: FrameLinker, instrs: list[Instr], handlers: list[Handler]) -> CodeType:
    assert graph.frame is not None
    code = graph.frame.code
    made = encode(instrs, code.co_firstlineno, handlers)
    return code.replace(
        co_code=made.code,
        co_consts=tuple(linker.consts),
        co_names=tuple(linker.names),
        co_varnames=tuple(linker.variables),
        co_nlocals=len(linker.variables),
        co_cellvars=tuple(linker.cells),
        co_freevars=graph.cellnames,
        co_stacksize=stack_size(instrs, handlers),
        co_linetable=made.linetable,
        co_exceptiontable=made.exceptiontable,
    )
