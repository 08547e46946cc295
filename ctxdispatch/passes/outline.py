"""Parts of a program in frame form as functions: its loops, and a program that has some.

    for i in range(n):            enter(part, n, x, s)  ──▶  True: `s` is what `taken` gives; else as before
        s += x * i                part.graph: (n, x, s) -> (s,), in SSA form

A *part* is entered at one place and left to one place. Its inputs are the variables that it reads before it
assigns to them, its outputs those that it assigns to and that are read later, here or by closures. Where an
exception would go is no matter: who runs a part lets the program itself raise what is raised. So what
handlers do is in no part, though a `try` may be.
"""

from __future__ import annotations

import operator

from ctxdispatch.facts import INPLACE
from ctxdispatch.ir import frames, primitives
from ctxdispatch.ir.builder import Builder
from ctxdispatch.ir.frames import Instruction
from ctxdispatch.ir.graph import Block, Branch, Edge, Graph, Iterate, Jump, Op, Raise, Return, positional
from ctxdispatch.ir.prune import prune
from ctxdispatch.ir.rewrite import mark_caught
from ctxdispatch.ir.sites import Site
from ctxdispatch.ir.values import Const, MethodName, Operand, Value
from ctxdispatch.passes.frame_variables import Variable, Variables, assigned, needed, variable_of, variables
from ctxdispatch.passes.parts import Part, Place, places

MAX_INPUTS = 24
OF_FRAME = frozenset({"super", "locals", "vars", "dir", "globals", "eval", "exec"})
"""Builtins that look at the frame that calls them."""


class Unfit(Exception):
    """There is no such part."""


def outline(graph: Graph) -> list[Place]:
    """Where the parts of `graph` begin, the outer ones before those in them."""
    if not _has_loop(graph) or _looks_at_frame(graph):
        return []
    known = variables(graph)
    return [place for place in places(graph) if _made(graph, known, place)]


def _has_loop(graph: Graph) -> bool:
    number = {block: i for i, block in enumerate(graph.blocks)}
    return any(number[e.target] <= i for i, b in enumerate(graph.blocks) for e in b.edges())


def _looks_at_frame(graph: Graph) -> bool:
    loads = (op for _, op in graph.ops() if op.fn is primitives.load_global)
    return any(isinstance(op.args[1], Const) and op.args[1].value in OF_FRAME for op in loads)


def _made(graph: Graph, known: Variables, place: Place) -> bool:
    try:
        place.part = _Writer(graph, known, place).part()
    except Unfit:
        return False
    return True


class _Writer:
    """Writes one part in SSA form."""

    def __init__(self, graph: Graph, known: Variables, place: Place) -> None:
        self.source, self.known, self.place = graph, known, place
        self.blocks = [self._rest(), *place.inside]
        self.env: dict[Value, Operand] = {}
        self.outputs = self._outputs()
        self.inputs = self._inputs()
        self.graph = self._bare()
        self.build = Builder(self.graph)
        self.cells: dict[Value, Operand] = {}

    def _rest(self) -> Block:
        """What of the block where the part begins is in it."""
        place = self.place
        rest = Block()
        rest.ops = place.block.ops[place.at :]
        whole = place.target is None or isinstance(place.block.terminator, Jump)
        rest.terminator = place.block.terminator if whole else Jump(place.edge)
        return rest

    def part(self) -> Part:
        self._write()
        prune(self.graph)
        if any(block.handler is not None for block in (self.place.block, *self.place.inside)):
            mark_caught(self.graph)
        whole = self.place.target is None
        if not (whole or self.outputs or any(_stores(op) for _, op in self.graph.ops())):
            raise Unfit
        return Part(self.graph, self.inputs, self.outputs)

    def _outputs(self) -> tuple[Variable, ...]:
        target = self.place.target
        live = set(self.source.cells) if target is None else self.known.live_in[target]
        changed = assigned(op for block in self.blocks for op in block.ops)
        return tuple(sorted(live & changed, key=str))

    def _inputs(self) -> tuple[Variable, ...]:
        bound = self.known.bound_at(self.place.block, self.place.at)
        read, aside = needed(self.blocks, self.outputs)
        if not read <= bound or len(read) > MAX_INPUTS:
            raise Unfit
        if not (aside - bound).isdisjoint(self.outputs):
            raise Unfit
        return tuple(sorted(read | (aside & bound), key=str))

    def _bare(self) -> Graph:
        names = tuple(getattr(name, "name", None) or str(name) for name in self.inputs)
        source = self.source
        return Graph(
            source.name, positional(len(names), names), namespace=source.namespace,
            filename=source.filename, line=source.line,
        )  # fmt: skip

    def _is_of_frame(self, cell: Value) -> bool:
        frame = self.source.frame
        return cell in self.source.cells or (frame is not None and cell in frame.cells.values())

    # -- blocks ----------------------------------------------------------------------------------------------

    def _write(self) -> None:
        build = self.build
        for name, param in zip(self.inputs, self.graph.params, strict=True):
            if isinstance(name, Value):
                self.cells[name] = build.call(primitives.make_cell, param, name=name.name)
            else:
                build.write(name, param)
        for cell in {variable_of(op): None for block in self.blocks for op in block.ops}:
            if isinstance(cell, Value) and cell not in self.cells and self._is_of_frame(cell):
                self.cells[cell] = build.call(primitives.make_cell, name=cell.name)
        new = {block: build.new_block() for block in self.blocks[1:]}
        done = build.new_block() if self.place.target is not None else None
        for block, made in new.items():
            self._params(block, made)
        for block in self.blocks:
            if block in new:
                build.enter(new[block])
            for op in block.ops:
                self._op(op)
            self._end(block, new, done)
        for made in new.values():
            build.seal(made)
        if done is not None:
            build.seal(done)
            build.enter(done)
            self._return()

    def _return(self, *returned: Operand) -> None:
        outputs = [*returned, *map(self._output, self.outputs)]
        self.build.ret(self.build.call(primitives.build_tuple, *outputs, syntax=True))

    def _output(self, name: Variable) -> Operand:
        if isinstance(name, Value):
            return self.build.call(primitives.cell_get, self._cell(name), Const(name.name), syntax=True)
        return self.build.read(name)

    def _params(self, block: Block, made: Block) -> None:
        """Those that lie above what stays on the stack: the item of a loop is the first one."""
        ends = [b.terminator for b in self.blocks]
        item = any(isinstance(end, Iterate) and end.body.target is block for end in ends)
        own = [*block.params[:item], *block.params[item + self.place.through :]]
        made.params = [Value(p.name) for p in own]
        self.env.update(zip(own, made.params, strict=True))

    def _end(self, block: Block, new: dict[Block, Block], done: Block | None) -> None:
        end = block.terminator
        build = self.build
        build.pos = getattr(end, "pos", None)
        if isinstance(end, Jump):
            build.terminate(Jump(self._edge(end.edge, new, done), end.pos))
        elif isinstance(end, Branch):
            then, orelse = self._edge(end.then, new, done), self._edge(end.orelse, new, done)
            build.terminate(Branch(self._operand(end.cond), then, orelse, end.pos))
        elif isinstance(end, Iterate):
            body, exit = self._edge(end.body, new, done), self._edge(end.exit, new, done)
            build.terminate(Iterate(self._operand(end.iterator), body, exit, end.pos))
        elif isinstance(end, Return) and done is None:
            self._return(self._operand(end.value))
        elif isinstance(end, Raise) and end.exc is not None:
            cause = None if end.cause is None else self._operand(end.cause)
            build.terminate(Raise(self._operand(end.exc), cause, end.pos))
        else:
            raise Unfit

    def _edge(self, edge: Edge, new: dict[Block, Block], done: Block | None) -> Edge:
        above = edge.args[self.place.through :]
        if edge.target in new:
            return Edge(new[edge.target], [self._operand(a) for a in above])
        if done is None or edge.target is not self.place.target or above:
            raise Unfit
        return Edge(done)

    # -- ops -------------------------------------------------------------------------------------------------

    def _operand(self, operand: Operand) -> Operand:
        if isinstance(operand, Const):
            return Const(operand.value) if isinstance(operand, MethodName) else operand
        if operand not in self.env:
            raise Unfit
        return self.env[operand]

    def _op(self, op: Op) -> None:
        fn = op.fn
        name = variable_of(op)
        if name is not None:
            self._of_variable(op, name)
        elif isinstance(fn, Instruction):
            self._instruction(op, fn)
        elif fn is frames.load_constant:
            self.env[op.result] = op.args[0]
        elif fn is frames.drop:
            pass
        elif type(fn) is Site or fn is frames.load_builtin:
            raise Unfit
        else:
            callee = op.callee if isinstance(op.callee, Const) else self._operand(op.callee)
            self._copy(op, callee, [self._operand(a) for a in op.args])

    def _copy(self, op: Op, callee: Operand, args: list[Operand]) -> None:
        results = [Value(r.name) for r in op.results]
        self.build.op(callee, args, results, op.kwnames, op.syntax, op.pos)
        self.env.update(zip(op.results, results, strict=True))

    def _cell(self, cell: Value) -> Operand:
        return self.env[cell] if cell in self.env else self.cells[cell]

    def _of_variable(self, op: Op, name: Variable) -> None:
        fn, build = op.fn, self.build
        if fn is frames.load_closure:
            assert isinstance(name, Value)
            self.env[op.result] = self._cell(name)
        elif fn is frames.delete_local or fn is primitives.cell_delete:
            raise Unfit
        elif isinstance(name, Value):
            self._copy(op, op.callee, [self._cell(name), *map(self._operand, op.args[1:])])
        elif fn is frames.store_local:
            build.write(name, self._operand(op.args[1]))
        else:
            self.env[op.result] = build.read(name)

    def _instruction(self, op: Op, fn: Instruction) -> None:
        if fn.name == "LOAD_ASSERTION_ERROR":
            self.env[op.results[0]] = Const(AssertionError)
        elif fn.name not in ("NOP", "RESUME", "NOT_TAKEN"):
            raise Unfit


def _stores(op: Op) -> bool:
    return op.fn in INPLACE or op.fn is operator.setitem
