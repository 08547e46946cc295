"""A graph as Python source that reads as if a person had written it and does what the graph does.

    trees        calls nested into expressions, in an order of evaluation that cannot be told from the graph's
    reduce       and, or, x if c else y; `while` loops with their test on top
    structure    blocks nested into if, while and for
    variables    values that share a variable, and its name
    text         expressions and statements as text
    layout       lines
    source       here: jumps as break, continue or a flag

The text defines one function. What its free names mean is `Source.namespace`. Where control leaves several
loops, or skips code that no `if` or loop surrounds, a flag says so: `done = True`, tested where ways part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CellType
from typing import Any, NamedTuple

from ctxdispatch.ir.constants import Constants
from ctxdispatch.ir.expressions import INPLACE, Expr, Part, leaves, listed
from ctxdispatch.ir.graph import Graph, Iterate, Return, Signature
from ctxdispatch.ir.layout import Line, Out, if_lines, indent, render
from ctxdispatch.ir.names import Names
from ctxdispatch.ir.primitives import load_global, unpack, unpack_ex
from ctxdispatch.ir.reduce import Program, reduce
from ctxdispatch.ir.structure import Code, Goto, If, Leave, Moves, Repeat, Seq, Statement, structure
from ctxdispatch.ir.text import Text
from ctxdispatch.ir.trees import Item, Node, nodes_of
from ctxdispatch.ir.values import Position, Value
from ctxdispatch.ir.variables import Variables, clean


class Source(NamedTuple):
    """Source of the function `name`, what its free names mean, and the names of its closure's cells."""

    text: str
    name: str
    namespace: dict[str, Any]
    cells: tuple[str, ...] = ()

    def function(self, cells: Sequence[CellType] = ()) -> Callable[..., Any]:
        """Compile it. Arguments are the graph's, by position where the signature allows."""
        scope = {**self.namespace, **dict(zip(self.cells, cells, strict=True))}
        exec(compile(self.text, f"<source of {self.name}>", "exec"), scope)
        function: Callable[..., Any] = scope[self.name]
        return function


def to_python(graph: Graph, *, comments: bool = True) -> str:
    """Readable source of `graph`; `comments` puts the user's lines above what comes from them."""
    return to_source(graph, comments=comments).text


def to_source(graph: Graph, *, comments: bool = True) -> Source:
    """Raises IrreducibleError for a graph with a loop of two entries."""
    program = reduce(nodes_of(graph))
    names = Names(["print"])
    for name in graph.signature.names:
        names.taken.add(clean(name))
    constants = Constants(graph, names)
    constants.reserve(graph)
    for name in graph.signature.names:
        names.taken.discard(clean(name))
    variables = Variables(graph, program, names)
    writer = _Writer(graph, program, _Text(variables, constants), names)
    name = Names(constants.namespace).fresh(clean(graph.name.rpartition(".")[2]))
    head = f"def {name}({', '.join(_arguments(graph.signature, [variables[p] for p in graph.params]))}):"
    lines = [head, *render(writer.lines(), comments)]
    imports = [*sorted(constants.imports), "", ""] if constants.imports else []
    top = [*imports, *(f"# {n}: {what}" for n, what in constants.listed.items())]
    return Source(
        "\n".join([*top, *lines, ""]), name, constants.namespace, tuple(variables[c] for c in graph.cells)
    )


def _arguments(signature: Signature, names: list[str]) -> list[str]:
    """The parameter list; `names` in the order of the signature."""
    end = signature.argcount + signature.kwonly
    plain, keyword, stars = names[: signature.argcount], names[signature.argcount : end], names[end:]
    if signature.posonly:
        plain.insert(signature.posonly, "/")
    if signature.varargs:
        plain.append("*" + stars.pop(0))
    elif keyword:
        plain.append("*")
    return [*plain, *keyword, *("**" + s for s in stars)]


class _Loop:
    """The innermost loop around a statement: what `continue` and `break` mean there."""

    def __init__(self, header: Node, after: Node | None) -> None:
        self.header = header
        self.after = after
        self.breaks = False
        self.pending: set[Node] = set()


class _Text(Text):
    """Text that knows this function's global names."""

    def __init__(self, variables: Variables, constants: Constants) -> None:
        super().__init__(variables.__getitem__, constants.show)
        self.constants = constants

    def show(self, part: Part) -> tuple[str, int]:
        if isinstance(part, Expr) and part.fn is load_global and self.constants.is_global(part.args):
            name = self.constants.global_name(part.args[1].value)  # type: ignore[union-attr]
            if name is not None:
                return name, 99
        return super().show(part)


class _Writer:
    def __init__(self, graph: Graph, program: Program, text: _Text, names: Names) -> None:
        self.program = program
        self.text = text
        self.names = names
        self.flags: dict[Node, str] = {}
        self.place: dict[Node, _Loop | None] = {}  # the loop that each label stands in
        self.reached: set[Node] = set()

    def lines(self) -> list[Line]:
        lines = self.seq(structure(self.program), None, None).lines
        if len(lines) > 1 and lines[-1][:2] == (0, "return None"):
            lines.pop()
        return lines or [Line(0, "pass")]

    # -- sequences and jumps -----------------------------------------------------------------------

    def seq(self, seq: Seq, fall: Node | None, loop: _Loop | None) -> Out:
        """`fall` is where control gets that runs off the end; None is the end of the function."""
        labels = [label for label, _ in seq.labels]
        self.place.update(dict.fromkeys(labels, loop))
        targets = [*labels, fall]
        out = self.statements(seq.head, targets[0], loop)
        for (label, statements), after in zip(seq.labels, targets[1:], strict=True):
            out.pending.discard(label)
            if label in self.reached:
                self.label(out, self.statements(statements, after, loop))
        self.reset(out, labels)
        return out

    def label(self, out: Out, code: Out) -> None:
        """Code that those who are bound for a later label skip."""
        if not out.pending:
            out.add(code)
            return
        flags = " or ".join(self.flags[p] for p in self.ordered(out.pending))
        test = f"not {flags}" if len(out.pending) == 1 else f"not ({flags})"
        if code.lines:
            out.lines += [Line(0, f"if {test}:"), *indent(code.lines)]
        out.pending |= code.pending
        out.ends = False

    def reset(self, out: Out, labels: list[Node]) -> None:
        out.lines[:0] = [Line(0, f"{self.flags[n]} = False") for n in labels if n in self.flags]

    def ordered(self, nodes: set[Node]) -> list[Node]:
        return [n for n in self.flags if n in nodes]

    def statements(self, statements: list[Statement], fall: Node | None, loop: _Loop | None) -> Out:
        out = Out()
        for statement in statements:
            out.add(_WRITERS[type(statement)](self, statement, fall, loop))
        return out

    def goto(self, goto: Goto, fall: Node | None, loop: _Loop | None) -> Out:
        if goto.target is not fall and self.is_exit(goto.target):
            return self.leave_at_once(goto)
        out = self.moves(Moves(goto.pairs, goto.pos), fall, loop)
        out.add(self.jump(goto.target, fall, loop))
        return out

    def jump(self, target: Node, fall: Node | None, loop: _Loop | None, *, flagged: bool = False) -> Out:
        self.reached.add(target)
        if target is fall:
            return Out()
        if loop and target is loop.header:
            return Out([Line(0, "continue")], ends=True)
        if loop and target is loop.after:
            loop.breaks = True
            return Out([Line(0, "break")], ends=True)
        return self.flagged_jump(target, loop, flagged)

    def flagged_jump(self, target: Node, loop: _Loop | None, flagged: bool) -> Out:
        """No statement leads to `target`: a flag says that control is bound for it."""
        flag = self.flags.get(target) or self.flags.setdefault(target, self.names.fresh("done"))
        out = Out([] if flagged else [Line(0, f"{flag} = True")])
        if self.place.get(target) is loop:
            out.pending.add(target)
        else:
            assert loop is not None
            loop.breaks = out.ends = True
            loop.pending.add(target)
            out.lines.append(Line(0, "break"))
        return out

    # -- leaving -----------------------------------------------------------------------------------

    def is_exit(self, node: Node) -> bool:
        """Merely returns or raises: better said twice than jumped to."""
        built = node.built
        simple = (
            built is not None and not built.statements and not any(isinstance(p, Expr) for p in built.parts)
        )
        return simple and not node.arcs

    def leave_at_once(self, goto: Goto) -> Out:
        mapping = dict(goto.pairs)
        parts = [mapping.get(p, p) if isinstance(p, Value) else p for p in _parts(goto.target)]
        used = {id(p) for p in parts}
        out = self.moves(
            Moves([(v, a) for v, a in goto.pairs if isinstance(a, Expr) and id(a) not in used], goto.pos)
        )
        out.add(Out([Line(0, self.exit_text(goto.target, parts), goto.target.pos)], ends=True))
        return out

    def leave(self, leave: Leave, *_: Any) -> Out:
        text = self.exit_text(leave.node, _parts(leave.node))
        return Out([Line(0, text, leave.node.pos)], ends=True)

    def exit_text(self, node: Node, parts: list[Part]) -> str:
        if node.kind is Return:
            return f"return {self.text.bare(parts[0])}"
        return " ".join(["raise", " from ".join(map(self.text, parts))]).strip()

    # -- if ----------------------------------------------------------------------------------------

    def branch(self, branch: If, fall: Node | None, loop: _Loop | None) -> Out:
        part = _parts(branch.node)[0]
        test, negated = self.text.condition(part), self.text.condition(part, negate=True)
        then, orelse = self.seq(branch.then, fall, loop), self.seq(branch.orelse, fall, loop)
        lines = if_lines(test, negated, then, orelse, branch.node.pos)
        return Out(lines, then.pending | orelse.pending, then.ends and orelse.ends)

    # -- loops -------------------------------------------------------------------------------------

    def repeat(self, repeat: Repeat, fall: Node | None, outer: _Loop | None) -> Out:
        loop = _Loop(repeat.node, fall)
        self.place[repeat.node] = loop
        head = self.loop_head(repeat)
        body = self.seq(repeat.body, repeat.node, loop)
        self.reset(body, [repeat.node])
        out = Out([Line(0, head, repeat.node.pos), *indent(body.lines)])
        self.after_loop(out, repeat, loop, fall, outer)
        return out

    def after_loop(
        self, out: Out, repeat: Repeat, loop: _Loop, fall: Node | None, outer: _Loop | None
    ) -> None:
        exit = self.seq(repeat.exit, fall, outer)
        out.pending |= exit.pending
        out.ends = not loop.breaks and (repeat.test is None or exit.ends)
        if exit.lines:
            out.lines += [Line(0, "else:"), *indent(exit.lines)] if loop.breaks else exit.lines
        for target in self.ordered(loop.pending):
            onward = self.jump(target, fall, outer, flagged=True)
            if onward.lines:
                out.lines += [Line(0, f"if {self.flags[target]}:"), *indent(onward.lines)]
            out.pending |= onward.pending

    def loop_head(self, repeat: Repeat) -> str:
        if repeat.test is None:
            return "while True:"
        if repeat.node.kind is Iterate:
            return f"for {self.target(repeat)} in {self.iterable(repeat)}:"
        return f"while {self.text.condition(_parts(repeat.node)[0], negate=repeat.test == 1)}:"

    def iterable(self, repeat: Repeat) -> str:
        part = repeat.iterable if repeat.iterable is not None else _parts(repeat.node)[0]
        if isinstance(part, Expr) and part.fn is iter and len(part.parts) == 2 and not part.op.kwnames:
            part = part.parts[1]
        return self.text.bare(part)

    def target(self, repeat: Repeat) -> str:
        """The item's variable, or those that the body unpacks it to at once."""
        node = repeat.node.arcs[0].target
        code = next((s for s in repeat.body.head if not (isinstance(s, Moves) and not s.pairs)), None)
        first = code.items[0] if isinstance(code, Code) and code.items else None
        item = node.params[0]
        if isinstance(code, Code) and first is not None and self.unpacks(first, item):
            code.items = code.items[1:]
            return self.targets(first).strip("()")
        return self.text.name(item) if item.name or self.program.reads_of[item] else "_"

    def unpacks(self, first: Item, item: Value) -> bool:
        """It unpacks `item`, which nothing else reads."""
        here = listed(first.expr.fn, _TARGETS) and first.expr.parts[1] is item
        return here and self.program.reads_of[item] == 1 and bool(first.results)

    # -- statements --------------------------------------------------------------------------------

    def code(self, code: Code, *_: Any) -> Out:
        return Out([Line(0, text, item.expr.pos) for item in code.items for text in self.item(item)])

    def item(self, item: Item) -> list[str]:
        used = [r for r in item.results if self.program.reads_of[r]]
        if listed(item.expr.fn, _TARGETS):
            return [f"{self.targets(item)} = {self.text.bare(item.expr.parts[1])}"]
        if not used:
            return [self.text.statement(item.expr) or self.text(item.expr)]
        name = self.text.name(item.results[0])
        if listed(item.expr.fn, INPLACE) and len(item.expr.parts) == 3 and not item.expr.op.kwnames:
            start = self.assign(name, item.expr.parts[1])
            return [*start, f"{name} {INPLACE[item.expr.fn]} {self.text.bare(item.expr.parts[2])}"]
        return [f"{', '.join(map(self.text.name, item.results))} = {self.text.bare(item.expr)}"]

    def assign(self, name: str, part: Part) -> list[str]:
        text = self.text.bare(part)
        return [] if text == name else [f"{name} = {text}"]

    def targets(self, item: Item) -> str:
        names = [self.text.name(r) if self.program.reads_of[r] else "_" for r in item.results]
        if item.expr.fn is unpack_ex:
            star = item.expr.parts[2].value  # type: ignore[union-attr]
            names[star] = f"*{names[star]}"
        return ", ".join(names) if len(names) > 1 else f"({', '.join(names)}{',' if names else ''})"

    def moves(self, moves: Moves, *_: Any) -> Out:
        named = [(self.text.name(v), part) for v, part in moves.pairs]
        todo = [(n, p) for n, p in named if not (isinstance(p, Value) and self.text.name(p) == n)]
        return Out([Line(0, text, pos or None) for text, pos in self.sequential(todo)])

    def sequential(self, moves: list[tuple[str, Part]]) -> list[tuple[str, Position | None]]:
        """Assignments one after the other, in an order in which none destroys what a later one reads; as one
        parallel assignment where there is none."""
        done: list[tuple[str, Position | None]] = []
        while moves:
            index = next((i for i in range(len(moves)) if self.harmless(moves, i)), None)
            if index is None:
                left, right = zip(*moves, strict=True)
                return [*done, (f"{', '.join(left)} = {self.text.items(right)}", _pos(right[0]))]
            name, part = moves.pop(index)
            done.append((f"{name} = {self.text.bare(part)}", _pos(part)))
        return done

    def harmless(self, moves: list[tuple[str, Part]], index: int) -> bool:
        """No other move reads what this one sets, and computations stay in order."""
        name, part = moves[index]
        others = [p for i, (_, p) in enumerate(moves) if i != index]
        ahead = [p for _, p in moves[:index] if isinstance(p, Expr)]
        reads = {self.text.name(v) for p in others for v in leaves(p) if isinstance(v, Value)}
        return name not in reads and not (isinstance(part, Expr) and ahead)


_TARGETS = frozenset({unpack, unpack_ex})

_WRITERS: dict[type, Callable[..., Out]] = {
    Code: _Writer.code,
    Moves: _Writer.moves,
    Goto: _Writer.goto,
    Leave: _Writer.leave,
    If: _Writer.branch,
    Repeat: _Writer.repeat,
}


def _parts(node: Node) -> list[Part]:
    assert node.built is not None
    return node.built.parts


def _pos(part: Part) -> Position | None:
    return part.pos if isinstance(part, Expr) else None
