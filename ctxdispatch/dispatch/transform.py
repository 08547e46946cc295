"""The default pass: calls that a context class intercepts become calls of the engine.

    %y = f(%x)          %g = resolve(%ctx, f); %y = %g(%x)      nothing needs the arguments
    %y = f(%x)          %y = dispatch(%ctx, f, %x)              a hook does
    %y = mul(%a, %b)    %y = rule(%ctx, %a, %b)                 an operator that has a rule for any types
    %y = mul(%a, %b)    %y = operate(%ctx, mul, %a, %b)         another one that is intercepted

Invariants: what the class neither rules nor hooks stays the native instruction; `%ctx` comes from a cell,
the last, so one code object serves all instances of the class.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ctxdispatch.dispatch.context import Context
from ctxdispatch.dispatch.overdub import dispatch, hooking, is_stub, operate, resolve
from ctxdispatch.dispatch.plan import Plan, plan
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Const, Graph, Op, Operand, Value
from ctxdispatch.ir.rewrite import clone

FRAME = frozenset({"super", "locals", "globals", "vars", "dir", "eval", "exec"})
"""Builtins that look at the frame that calls them: their calls stay where they are."""

COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>"})
"""Functions that are no functions to the user, and since 3.12 not to the interpreter either."""


# -- the pass --------------------------------------------------------------------------------------


def dispatch_calls(graph: Graph, cls: type[Context]) -> Graph:
    """`graph` with what `cls` intercepts dispatched; `graph` itself where that is nothing."""
    rewriter = _Rewriter(graph, plan(cls))
    if not any(rewriter.intercepts(op) for _, op in graph.ops()):
        return graph
    twin = clone(graph)
    rewriter = _Rewriter(twin, plan(cls))
    read = context_read(twin)
    ctx = read.result
    for block in twin.blocks:
        block.ops = [new for op in block.ops for new in rewriter.rewrite(op, ctx)]
    twin.entry.ops.insert(0, read)
    return twin


def context_read(graph: Graph) -> Op:
    """Give `graph` the hidden cell; the op reads the context instance that it holds at run time."""
    name = "$ctx" + "'" * sum(n.startswith("$ctx") for n in graph.cellnames)
    cell, ctx = Value(name), Value("ctx")
    graph.cellnames = (*graph.cellnames, name)
    graph.cells.append(cell)
    return Op(Const(primitives.cell_get), [cell, Const(name), Const(True)], [ctx], syntax=True)


class _Rewriter:
    def __init__(self, graph: Graph, plan: Plan) -> None:
        self.plan = plan
        self.definitions = {op.results[0]: op for _, op in graph.ops() if op.results}

    # -- which -------------------------------------------------------------------------------------

    def intercepts(self, op: Op) -> bool:
        if not op.syntax or op.fn is primitives.call_ex:
            return self.plan.calls and not self._of_frame(op)
        return op.fn in self.plan.syntax

    def _of_frame(self, op: Op) -> bool:
        callee = _callee(op)
        if isinstance(callee, Const):
            return callee.value is resolve
        return self._global_name(callee) in FRAME

    def _global_name(self, callee: Operand) -> Any:
        read = self._definition(callee)
        named = read is not None and read.fn is primitives.load_global
        return read.args[1].value if named and isinstance(read.args[1], Const) else None  # type: ignore[union-attr]

    def _definition(self, operand: Operand) -> Op | None:
        return self.definitions.get(operand) if isinstance(operand, Value) else None

    # -- how ---------------------------------------------------------------------------------------

    def rewrite(self, op: Op, ctx: Value) -> Iterable[Op]:
        if not self.intercepts(op):
            return [op]
        if op.fn in primitives.MULTIPLE_RESULTS and op.syntax:
            return self._unpack(op, ctx)
        if op.syntax and op.fn in self.plan.direct:
            return [_with(op, self.plan.direct[op.fn], [ctx, *op.args])]
        if op.syntax and op.fn is not primitives.call_ex:
            hooked = op.fn in self.plan.hooked_syntax
            return [_with(op, dispatch if hooked else operate, [ctx, op.callee, *op.args])]
        return self._call(op, ctx)

    def _call(self, op: Op, ctx: Value) -> Iterable[Op]:
        if op.fn is primitives.call_ex:
            return self._call_ex(op, ctx)
        if self._hooked(op.callee):
            return [_with(op, dispatch, [ctx, op.callee, *op.args])]
        target = Value("resolved")
        call = Op(target, op.args, op.results, op.kwnames, op.pos)
        return [Op(Const(resolve), [ctx, op.callee], [target], pos=op.pos), call]

    def _call_ex(self, op: Op, ctx: Value) -> Iterable[Op]:
        """f(*args, **kwargs): only the callee changes."""
        target = Value("resolved")
        mapped = hooking if self._hooked(op.args[0]) else resolve
        call = Op(op.callee, [target, *op.args[1:]], op.results, op.kwnames, op.pos, syntax=True)
        return [Op(Const(mapped), [ctx, op.args[0]], [target], pos=op.pos), call]

    def _hooked(self, callee: Operand) -> bool:
        if isinstance(callee, Const) and is_stub(callee.value):
            return False  # the engine's own, of a context further in
        made = self._definition(callee)
        if made is not None and made.fn is primitives.make_function and isinstance(made.args[1], Const):
            return self.plan.hooked and made.args[1].value.co_name not in COMPREHENSIONS
        return self.plan.hooked

    def _unpack(self, op: Op, ctx: Value) -> Iterable[Op]:
        """The engine returns one value, a tuple: unpack that."""
        items = Value("items")
        run = dispatch if op.fn in self.plan.hooked_syntax else operate
        yield Op(Const(run), [ctx, op.callee, *op.args], [items], pos=op.pos)
        count = Const(len(op.results))
        yield Op(Const(primitives.unpack), [items, count], op.results, pos=op.pos, syntax=True)


def _callee(op: Op) -> Operand:
    return op.args[0] if op.fn is primitives.call_ex else op.callee


def _with(op: Op, stub: Any, args: list[Operand]) -> Op:
    return Op(Const(stub), args, op.results, op.kwnames, op.pos)
