"""Graphs as text.

    pow(%x, %n):
      b0(): jump b1(1.0, %n)
      b1(%r, %k): %c = gt(%k, 0); branch %c b2() b3()
      b2(): %r2 = mul(%r, %x); %k2 = sub(%k, 1); jump b1(%r2, %k2)
      b3(): return %r

Blocks are numbered by their place in the list, values named by their hints: a graph always prints the same.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterable, Sequence
from typing import Any

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
    Signature,
    Terminator,
)
from ctxdispatch.ir.names import Names, describe, name_all
from ctxdispatch.ir.values import Const, Operand, Position, Value


def print_graph(graph: Graph, *, types: bool = False, lines: bool = False, width: int = 110) -> str:
    """`types` annotates definitions, `lines` adds source lines; a block wider than `width` is broken up."""
    return Printer(graph, types=types, lines=lines, width=width).graph_text()


class Printer:
    """Prints the parts of one graph under one naming: also for messages that show an op or a value."""

    def __init__(self, graph: Graph, *, types: bool = False, lines: bool = False, width: int = 110) -> None:
        self._graph = graph
        self._names = name_all(graph, Names())
        self._numbers = {block: f"b{i}" for i, block in enumerate(graph.blocks)}
        self._home = (graph.namespace or {}).get("__name__")
        self._types = types
        self._lines = lines
        self._width = width

    def graph_text(self) -> str:
        header = f"{self._graph.name}({', '.join(self._arguments())}){self._cells()}:"
        return "\n".join([header, *(f"  {self.block_text(b)}" for b in self._graph.blocks)])

    def block_text(self, block: Block) -> str:
        params = "" if block is self._graph.entry else ", ".join(map(self._definition, block.params))
        head = f"{self.block_name(block)}({params}):"
        body = [self.op(op) for op in block.ops]
        body.append(self.terminator(block.terminator) if block.terminator else "<no terminator>")
        head += f" on error {self.edge(block.handler.edge)}" if block.handler else ""
        line = f"{head} {'; '.join(body)}"
        if self._lines or len(line) > self._width:
            return "\n    ".join([head, *(self._commented(body, block) if self._lines else body)])
        return line

    def op(self, op: Op) -> str:
        results = ", ".join(map(self._definition, op.results))
        return f"{results} = {self._call(op)}" if results else self._call(op)

    def terminator(self, terminator: Terminator) -> str:
        return _TERMINATORS[type(terminator)](self, terminator)

    def operand(self, operand: Operand) -> str:
        if isinstance(operand, Value):
            return f"%{self._names[operand]}"
        if not isinstance(operand, Const):  # a broken graph is printed too: in the message that says so
            return f"<{operand!r}>"
        if operand.value is self._graph.namespace is not None:
            return "globals()"
        return describe(operand.value, self._home)

    def edge(self, edge: Edge) -> str:
        return f"{self.block_name(edge.target)}({self.operands(edge.args)})"

    def operands(self, operands: Iterable[Operand]) -> str:
        return ", ".join(map(self.operand, operands))

    def block_name(self, block: Block) -> str:
        return self._numbers.get(block, f"<foreign block {block!r}>")

    # -- parts -------------------------------------------------------------------------------------

    def _call(self, op: Op) -> str:
        plain = len(op.args) - len(op.kwnames)
        args = [self.operand(a) for a in op.args[:plain]]
        args += [f"{n}={self.operand(a)}" for n, a in zip(op.kwnames, op.args[plain:], strict=False)]
        return f"{self.operand(op.callee)}({', '.join(args)})"

    def _definition(self, value: Value) -> str:
        annotation = f": {value.type!r}" if self._types and value.type is not None else ""
        return f"%{self._names[value]}{annotation}"

    def _arguments(self) -> list[str]:
        stars = argument_stars(self._graph.signature)
        return [s + self._definition(p) for s, p in zip(stars, self._graph.params, strict=False)]

    def _cells(self) -> str:
        return f" cells({', '.join(map(self._definition, self._graph.cells))})" if self._graph.cells else ""

    def _commented(self, body: Sequence[str], block: Block) -> list[str]:
        """Each line of the source once, after the first statement that comes from it."""
        positions = [op.pos for op in block.ops] + [block.terminator.pos if block.terminator else None]
        last: Any = None
        texts = []
        for text, pos in zip(body, positions, strict=True):
            shown = pos is not None and pos[:3] != last
            texts.append(f"{text}  # {source_line(pos)}" if pos is not None and shown else text)
            last = pos[:3] if pos is not None else last
        return texts


def _raise(printer: Printer, t: Raise) -> str:
    exc = f" {printer.operand(t.exc)}" if t.exc is not None else ""
    return f"raise{exc}" + (f" from {printer.operand(t.cause)}" if t.cause is not None else "")


_TERMINATORS: dict[type, Callable[[Printer, Any], str]] = {
    Jump: lambda p, t: f"jump {p.edge(t.edge)}",
    Branch: lambda p, t: f"branch {p.operand(t.cond)} {p.edge(t.then)} {p.edge(t.orelse)}",
    Iterate: lambda p, t: f"iterate {p.operand(t.iterator)} {p.edge(t.body)} {p.edge(t.exit)}",
    Return: lambda p, t: f"return {p.operand(t.value)}",
    Raise: _raise,
    Reraise: lambda p, t: f"reraise {p.operand(t.exc)}" + (f" at {p.operand(t.lasti)}" if t.lasti else ""),
    Delegate: lambda p, t: (
        f"delegate {p.operand(t.receiver)} {p.operand(t.value)} {p.edge(t.yielded)} {p.edge(t.done)}"
    ),
}


def argument_stars(signature: Signature) -> list[str]:
    """Per argument in `signature` order: "", "*" or "**"."""
    stars = [""] * (signature.argcount + signature.kwonly)
    return stars + ["*"] * signature.varargs + ["**"] * signature.varkw


def source_line(pos: Position) -> str:
    """`file.py:12: the line's text`, the file by its last name."""
    name = pos.filename.replace("\\", "/").rpartition("/")[2]
    text = linecache.getline(pos.filename, pos.line or 0).strip()
    return f"{name}:{pos.line}: {text}" if text else f"{name}:{pos.line}"
