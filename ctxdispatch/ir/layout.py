"""Lines of generated source: depth, the user's lines as comments, `if` statements as people write them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from ctxdispatch.ir.printer import source_line
from ctxdispatch.ir.trees import Node
from ctxdispatch.ir.values import Position

SHORT = 4
"""Lines before an `else` that leaves at which `if ...: ... else: return` still reads better than `if not`."""


class Line(NamedTuple):
    depth: int
    text: str
    pos: Position | None = None


def render(lines: list[Line], comments: bool) -> list[str]:
    """The lines of source, with the user's line as a comment over what it became."""
    out: list[str] = []
    last: tuple[str, int | None] | None = None
    for line in lines:
        indent = "    " * (line.depth + 1)
        here = (line.pos.filename, line.pos.line) if line.pos and line.pos.line else last
        if comments and line.pos and here != last:
            out.append(f"{indent}# {source_line(line.pos)}")
        last = here
        out.append(indent + line.text)
    return out


def indent(lines: list[Line]) -> list[Line]:
    return [line._replace(depth=line.depth + 1) for line in lines] or [Line(1, "pass")]


@dataclass
class Out:
    """Lines; `pending` are labels that control may be bound for, by a flag, when it runs off their end;
    `ends` says that it never does."""

    lines: list[Line] = field(default_factory=list)
    pending: set[Node] = field(default_factory=set)
    ends: bool = False

    def add(self, other: Out) -> None:
        self.lines += other.lines
        self.pending |= other.pending
        self.ends = other.ends


def if_lines(test: str, negated: str, then: Out, orelse: Out, pos: Position | None) -> list[Line]:
    """An `if` as people write it: no empty branch, no `else` after one that leaves, `elif` for a chain."""
    if not then.lines and not orelse.lines:
        return [Line(0, test, pos)]
    clean_test = not negated.startswith("not ") or len(then.lines) > SHORT
    swap = not then.lines or (orelse.ends and not then.ends and clean_test)
    if swap:
        test, then, orelse = negated, orelse, then
    lines = [Line(0, f"if {test}:", pos), *indent(then.lines)]
    if then.ends:
        return lines + orelse.lines
    if _is_chain(orelse.lines):
        first = orelse.lines[0]
        return [*lines, first._replace(text=f"el{first.text}"), *orelse.lines[1:]]
    return lines + ([Line(0, "else:"), *indent(orelse.lines)] if orelse.lines else [])


def _is_chain(lines: list[Line]) -> bool:
    """One `if` statement and nothing else."""
    top = [line.text for line in lines if line.depth == 0]
    return bool(top) and top[0].startswith("if ") and all(t.startswith(("elif ", "else:")) for t in top[1:])
