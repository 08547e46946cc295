"""What the passes make of a function, written down: one `Pipeline` per graph, one `Stage` per pass.

Invariant: a value and a block keep their names through a pipeline, as far as they are the same objects; so
what differs between two stages is what the pass did.
"""

from __future__ import annotations

import dis
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from types import CodeType
from typing import Any, NamedTuple

from ctxdispatch.ir.graph import Block, Graph
from ctxdispatch.ir.names import Names, name_all
from ctxdispatch.ir.printer import Printer
from ctxdispatch.ir.values import Position
from ctxdispatch.passes.snapshots import BEGIN


class Line(NamedTuple):
    """Text, and where in the source it comes from; None where the function's own source does not have it."""

    text: str
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None


class Part(NamedTuple):
    """A block of a graph, or a run of instructions: a head, and what folds away under it."""

    head: str
    lines: tuple[Line, ...]


@dataclass
class Stage:
    """`gone`: which lines of the stage before are not in this one, `new`: which of this one were not in that.
    Lines are counted through all parts, heads too."""

    name: str
    parts: list[Part]
    gone: list[int] = field(default_factory=list)
    new: list[int] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(_flat(self.parts))


@dataclass
class Pipeline:
    title: str
    stages: list[Stage] = field(default_factory=list)
    graph: Graph | None = None
    names: Names = field(default_factory=Names)
    blocks: dict[Block, str] = field(default_factory=dict)

    def add(self, name: str, graph: Graph) -> None:
        if graph is not self.graph:
            self.graph, self.names, self.blocks = graph, Names(), {}
        before = self.stages[-1].parts if self.stages else None
        stage = Stage(name, StablePrinter(graph, self.names, self.blocks).parts())
        if before is not None:
            stage.gone, stage.new = changes(_flat(before), _flat(stage.parts))
        self.stages.append(stage)


class Recorder:
    """`snapshots.recording(recorder)` fills `pipelines`. Several graphs may be under way at once."""

    def __init__(self) -> None:
        self.pipelines: list[Pipeline] = []
        self.prefix = ""

    def __call__(self, name: str, graph: Graph) -> None:
        if name == BEGIN:
            self.pipelines.append(Pipeline(f"{self.prefix}{graph.name}", graph=graph))
        found = self._of(graph)
        if found is not None:
            found.add(name, graph)

    def _of(self, graph: Graph) -> Pipeline | None:
        """The same graph's, else that of another graph of the same code: the pass has made a new one."""
        latest = self.pipelines[::-1]
        same = [p for p in latest if p.graph is graph]
        related = [p for p in latest if p.graph is not None and p.graph.code is graph.code]
        return next(iter(same + related), None)


class StablePrinter(Printer):
    """Prints with names that were given before."""

    def __init__(self, graph: Graph, names: Names, blocks: dict[Block, str]) -> None:
        super().__init__(graph, types=True)
        self._names = name_all(graph, names)
        for block in graph.blocks:
            blocks.setdefault(block, f"b{len(blocks)}")
        self._numbers = blocks

    def operand(self, operand: Any) -> str:
        return super().operand(operand).removeprefix("ctxdispatch.ir.frames.")

    def parts(self) -> list[Part]:
        title = f"{self._graph.name}({', '.join(self._arguments())}){self._cells()}"
        return [Part(title, ()), *map(self._part, self._graph.blocks)]

    def text(self) -> str:
        return "\n".join(_flat(self.parts()))

    def _part(self, block: Block) -> Part:
        params = "" if block is self._graph.entry else ", ".join(map(self._definition, block.params))
        error = f" on error {self.edge(block.handler.edge)}" if block.handler else ""
        lines = [self._line(self.op(op), op.pos) for op in block.ops]
        if block.terminator is not None:
            lines.append(self._line(self.terminator(block.terminator), block.terminator.pos))
        return Part(f"{self.block_name(block)}({params}):{error}", tuple(lines))

    def _line(self, text: str, pos: Position | None) -> Line:
        if pos is None or pos.filename != self._graph.filename:
            return Line(text)
        return Line(text, pos.line, pos.column, pos.end_line, pos.end_column)


def _flat(parts: Sequence[Part]) -> list[str]:
    return [text for part in parts for text in (part.head, *(f"  {line.text}" for line in part.lines))]


def changes(before: Sequence[str], after: Sequence[str]) -> tuple[list[int], list[int]]:
    """The lines of `before` that are not in `after`, and the other way round."""
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    differ = [codes[1:] for codes in matcher.get_opcodes() if codes[0] != "equal"]
    gone = [i for start, end, _, _ in differ for i in range(start, end)]
    return gone, [i for _, _, start, end in differ for i in range(start, end)]


# -- bytecode --------------------------------------------------------------------------------------

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def instructions(code: CodeType) -> Iterator[Line]:
    """The instructions of `code`, without caches and without addresses of objects."""
    for each in dis.get_instructions(code):
        mark = ">>" if each.is_jump_target else "  "
        shown = _ADDRESS.sub("", each.argrepr) or ("" if each.arg is None else str(each.arg))
        at: Any = each.positions
        text = f"{mark} {each.offset:>4} {each.opname:<28} {shown}".rstrip()
        yield Line(text, at.lineno, at.col_offset, at.end_lineno, at.end_col_offset)


def bytecode(code: CodeType) -> list[Part]:
    """`code` in parts that begin where something jumps to."""
    parts: list[tuple[str, list[Line]]] = [(f"{code.co_qualname}: {len(code.co_code)} bytes", [])]
    for line in instructions(code):
        if line.text.startswith(">>"):
            parts.append((f"from {line.text.split()[1]}:", []))
        parts[-1][1].append(line)
    return [Part(head, tuple(lines)) for head, lines in parts]
