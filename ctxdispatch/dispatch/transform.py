"""The default pass: calls that a context class intercepts become calls of the engine, and of what it returns.

    %y = f(%x)        %g = resolve(%ctx, f); %y = %g(%x)                  nothing needs the arguments
    %y = f(%x)        %t = (%x,); %k = {}; prehook(%ctx, f, %t, %k)       hooks do
                      %g = resolve(%ctx, f); %y = %g(%x)
                      posthook(%ctx, %y, f, %t, %k)
    %y = mul(%a, %b)  %y = rule(%ctx, %a, %b)                             a rule for any types
    %y = mul(%a, %b)  %g = select(mul, %a, %b, %ctx); %y = %g(%a, %b)     another operator that is intercepted

Invariants: what the class neither rules nor hooks stays the native instruction; while the user's code runs,
no frame of the engine is on the stack; `%ctx` comes from a cell, the last, so one code object serves all
instances of the class.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType
from typing import Any

from ctxdispatch.dispatch import memory
from ctxdispatch.dispatch.around import Around
from ctxdispatch.dispatch.conditions import exact_conditions
from ctxdispatch.dispatch.context import Context
from ctxdispatch.dispatch.instructions import HELPERS, is_spelled_out, spell_out
from ctxdispatch.dispatch.overdub import (
    dispatch,
    gathered,
    hooking,
    resolve,
    seen,
    select,
    splatted,
    stepping,
)
from ctxdispatch.dispatch.places import reassigned, visible
from ctxdispatch.dispatch.plan import Plan, is_syntax, plan
from ctxdispatch.dispatch.remembering import Sites
from ctxdispatch.dispatch.starred import Starred
from ctxdispatch.facts import SETS_ATTRIBUTE
from ctxdispatch.ir import frames, primitives
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.rewrite import clone
from ctxdispatch.ir.sites import CONTEXT, Site
from ctxdispatch.ir.values import Const, MethodName, Operand, Reread, Value
from ctxdispatch.ir.watching import is_undispatched

FRAME = frozenset({"super", "locals", "globals", "vars", "dir", "eval", "exec"})
"""Builtins that look at the frame that calls them: in SSA form, where that is another one, their calls
stay."""

LISTS_NAMES = frozenset({"locals", "vars", "dir"})
"""Builtins that would tell of the hidden cells."""

COMPREHENSIONS = frozenset({"<listcomp>", "<setcomp>", "<dictcomp>"})
"""Functions that are no functions to the user, and since 3.12 not to the interpreter either."""


# -- the pass --------------------------------------------------------------------------------------


def dispatch_calls(graph: Graph, cls: type[Context], ctx: Const | None = None) -> Graph:
    """`graph` with what `cls` intercepts dispatched; `graph` itself where that is nothing. `ctx` is the
    instance, for code of which nothing is left to be rewritten at run time (`static`)."""
    rewriter = Rewriter(graph, plan(cls), ctx)
    if not any(rewriter.concerns(op) for _, op in graph.ops()):
        return graph
    if ctx is not None:  # lifted for this: nobody else has the graph
        rewriter.blocks(graph)
        return graph
    twin = clone(graph)
    if any(rewriter.spells_out(op) for _, op in twin.ops()):
        spell_out(twin, plan(cls).syntax, plan(cls).calls)
    rewriter = Rewriter(twin, plan(cls), None)
    read = context_read(twin)
    rewriter.read(read.result)
    rewriter.blocks(twin)
    rewriter.sites.add_to(twin)
    twin.entry.ops.insert(0, read)
    return twin


def context_read(graph: Graph) -> Op:
    """Give `graph` the hidden cell; the op reads the context instance that it holds at run time."""
    name = CONTEXT + "'" * sum(n.startswith(CONTEXT) for n in graph.cellnames)
    cell = Value(name)
    ctx = Value("ctx") if graph.frame is None else Reread(cell, "ctx")
    graph.cellnames = (*graph.cellnames, name)
    graph.cells.append(cell)
    return Op(Const(primitives.cell_get), [cell, Const(name), Const(True)], [ctx], syntax=True)


class Rewriter:
    """Rewrites blocks in place. `ctx` is the operand that is the context."""

    def __init__(self, graph: Graph, plan: Plan, static: Const | None) -> None:
        self.plan = plan
        self.static = static is not None
        self.ctx: Operand = static or Const(None)
        self.framed = graph.frame is not None
        self.definitions = {op.results[0]: op for _, op in graph.ops() if op.results}
        self.around = Around(self.plan, self.ctx, self.framed)
        self.sites = Sites(graph, plan, self.ctx, self.framed and not self.static)
        self.starred = Starred(graph, self.definitions, self.ctx, self.static)
        self._early: dict[Op, list[Op]] = {}  # what comes right after an op
        self._gone: set[Op] = set()
        self._inserted: list[Op] = []

    def read(self, ctx: Operand) -> None:
        """The context is what the operand `ctx` is at run time."""
        self.ctx = self.sites.ctx = self.around.ctx = self.starred.ctx = ctx

    # -- which -------------------------------------------------------------------------------------

    def intercepts(self, op: Op) -> bool:
        if op.exempt:
            return False
        if type(op.fn) is Site:
            return self.plan.calls if op.fn.calls else op.fn.operation in self.plan.syntax
        if not op.syntax or op.fn is primitives.call_ex:
            operation = self._operation(_callee(op))
            if operation is not None:
                return operation in self.plan.syntax
            return self.plan.calls and not self._of_frame(op)
        return op.fn in self.plan.syntax and not self._namespace_unknown(op)

    def concerns(self, op: Op) -> bool:
        """Whether anything is done about `op`."""
        return self.intercepts(op) or self.spells_out(op) or self._reassigns(op)

    def spells_out(self, op: Op) -> bool:
        """Code that is all rewritten beforehand has nothing to follow."""
        return is_spelled_out(op, self.plan.syntax, self.plan.calls) and not self.static

    def _of_frame(self, op: Op) -> bool:
        callee = self._known(_callee(op))
        if isinstance(callee, Const):
            return _is_out_of_sight(callee.value)
        return not self.framed and self._global_name(callee) in FRAME

    def _operation(self, callee: Operand) -> Any:
        """What a context further in calls `callee` for, where that is an operation that is no call."""
        made = self._definition(callee)
        while made is not None and (found_for := resolved(made)) is not None:
            made = self._definition(found_for)
        if made is None or made.fn is not select:
            return None
        f = made.args[0]
        return f.value if isinstance(f, Const) and is_syntax(f.value) else None

    def _namespace_unknown(self, op: Op) -> bool:
        first = op.args[0] if op.args else None
        return isinstance(first, Const) and first.value is None and op.fn in NAMESPACED

    def _global_name(self, callee: Operand) -> Any:
        read = self._definition(callee)
        named = read is not None and read.fn is primitives.load_global
        return read.args[1].value if named and isinstance(read.args[1], Const) else None  # type: ignore[union-attr]

    def _known(self, callee: Operand) -> Operand:
        """The constant, where that was put on the stack before other things were done."""
        made = self._definition(callee)
        return made.args[0] if made is not None and made.fn is frames.load_constant else callee

    def _definition(self, operand: Operand) -> Op | None:
        return self.definitions.get(operand) if isinstance(operand, Value) else None

    # -- how ---------------------------------------------------------------------------------------

    def blocks(self, graph: Graph) -> None:
        others = [op for block in graph.blocks for op in self.block(block)]
        if others:
            exact_conditions(graph, {result: op.pos for op in others for result in op.results})

    def block(self, block: Block) -> list[Op]:
        """Returns the ops that became others."""
        here = {result: op for op in block.ops for result in op.results}
        self._inserted = [op for op in block.ops if not op.syntax and is_undispatched(op.fn)]
        made = [(op, [*self.rewrite(op, here)]) for op in block.ops]
        kept = [(op, [] if op in self._gone else ops) for op, ops in made]
        block.ops = [new for op, ops in kept for new in (*ops, *self._early.get(op, ()))]
        return [op for op, ops in made if ops != [op]]

    def rewrite(self, op: Op, here: dict[Value, Op]) -> Iterable[Op]:
        if op.fn is frames.load_builtin and self.plan.calls:
            return [Op(op.callee, [NO_BUILTIN], op.results, pos=op.pos, syntax=True)]
        if not self.intercepts(op):
            return [*self._visible(op, lambda op: [op]), *self._reassigned(op)]
        if type(op.fn) is Site:
            return self._of_inner(op, here)
        if not op.syntax or op.fn is primitives.call_ex:
            return self._visible(op, lambda op: self._call(op, here))
        if op.fn in primitives.MULTIPLE_RESULTS:
            return self._unpack(op)
        if op.fn is builtins.iter and not self.static:
            return self._loop(op)
        return [*self._operate(op), *self._reassigned(op)]

    def _of_inner(self, op: Op, here: dict[Value, Op]) -> list[Op]:
        """A site of a context further in whose operation, or call, this one intercepts."""
        stacked = self.sites.stacked(op, self._global_name(op.args[op.fn.depth]))
        if stacked:
            return stacked
        ops = self.sites.without_memory(op)
        self.definitions |= {each.results[0]: each for each in ops}
        return [new for each in ops for new in self.rewrite(each, here)]

    def _reassigned(self, op: Op) -> list[Op]:
        """What follows where an attribute is assigned to that may be a function's."""
        return [Op(Const(reassigned), [self.ctx], [Value()], pos=op.pos)] if self._reassigns(op) else []

    def _reassigns(self, op: Op) -> bool:
        if not op.syntax or not self.sites.remembers or op.fn not in SETS_ATTRIBUTE or not self.plan.calls:
            return False
        name = op.args[1]
        return isinstance(name, Const) and name.value in memory.ASSIGNED

    def _loop(self, op: Op) -> Iterator[Op]:
        """A loop takes an item in one instruction: of an iterator that steps under the context."""
        iterator = Value("iterator")
        yield from self._operate(Op(op.callee, op.args, [iterator], pos=op.pos, syntax=True))
        yield Op(Const(stepping), [*op.args, iterator, self.ctx], op.results, pos=op.pos)

    def _operate(self, op: Op) -> Iterable[Op]:
        if op.fn in self.plan.direct:
            return [_with(op, Const(self.plan.direct[op.fn]), [self.ctx, *op.args])]
        if op.fn in self.plan.hooked_syntax:
            return self.around.call(op, self._operation_itself(op))
        return self._operation_itself(op)

    def _operation_itself(self, op: Op) -> list[Op]:
        if self.static and op.fn not in self.plan.ruled:
            if op.fn in primitives.MULTIPLE_RESULTS:  # one result, where the instruction leaves several
                function = Value("function")
                found = Op(Const(ITSELF), [Const(None), op.callee], [function], pos=op.pos)
                return [found, _with(op, function, op.args)]
            return [op if type(op.fn) is FunctionType else _with(op, op.callee, op.args)]
        return self.sites.select(op)

    def _visible(self, op: Op, call: Callable[[Op], Iterable[Op]]) -> Iterable[Op]:
        """An op, made by `call`; where it asks for the names here, its result does not tell of ours."""
        is_call = not op.syntax or op.fn is primitives.call_ex
        listed = is_call and not self.static and self._global_name(_callee(op)) in LISTS_NAMES
        if not listed or len(op.results) != 1:
            return call(op)
        names = Value("names")
        asked = Op(op.callee, op.args, [names], op.kwnames, op.pos, op.syntax)
        asked.bare = op.bare
        return [*call(asked), Op(Const(visible), [names], op.results, pos=op.pos)]

    def _call(self, op: Op, here: dict[Value, Op]) -> Iterable[Op]:
        callee = _callee(op)
        if self._hooked(callee):
            return self._hooked_call(op, here)
        return self._call_itself(op, here)

    def _call_itself(self, op: Op, here: dict[Value, Op], told: Value | None = None) -> list[Op]:
        """`told`: what is to be the callee as hooks are told of it, where that is a method of an object."""
        callee = _callee(op)
        if by_type := self.sites.call(op, self._global_name(callee)):
            return by_type
        target = Value("resolved")
        made = here.get(callee) if self.framed else None  # type: ignore[arg-type]
        method = self._method(op, made)
        if self.static and not self.plan.rules_on_calls:
            resolved = [Op(Const(ITSELF), [Const(None), callee], [target], pos=op.pos)]
        elif made is not None and method:
            resolved = self.sites.method(made, method, [target] if told is None else [target, told])
        else:
            resolved = self.sites.resolve(callee, made, target, op.pos)
        if op.fn is primitives.call_ex:
            items, through = self.starred.through(op)
            args = [target, items, *op.args[2:]]
            call = Op(op.callee, args, op.results, op.kwnames, op.pos, syntax=True)
        else:
            through = []
            call = _with(op, target, op.args)
            call.bare = op.bare
        if made is None:
            return [*resolved, *through, call]
        if method:
            self._gone.add(made)
        self._early.setdefault(made, []).extend(resolved)  # where its place on the stack is
        return [*through, call]

    def _method(self, op: Op, made: Op | None) -> str:
        """The attribute that `op` calls and nothing else reads, where the code can look for it itself."""
        if made is None or not self.sites.remembers or op.fn is primitives.call_ex or self.intercepts(made):
            return ""
        if self._also_read(made.results[0], op):
            return ""
        name = made.args[-1] if made.syntax and made.fn is builtins.getattr else None
        return name.value if type(name) is MethodName else ""

    def _also_read(self, callee: Value, op: Op) -> bool:
        """Whether another op of the block reads what `op` calls: a pass has put it there."""
        readers = (each for each in self._inserted if callee in each.args)
        return any(each is not op for each in readers)

    def _hooked(self, callee: Operand) -> bool:
        callee = self._known(callee)
        if isinstance(callee, Const) and is_of_engine(callee.value):
            return False  # the engine's own, of a context further in
        operation = self._operation(callee)
        if operation is not None:
            return operation in self.plan.hooked_syntax
        made = self._definition(callee)
        if made is not None and made.fn is primitives.make_function and isinstance(made.args[1], Const):
            return self.plan.hooked and made.args[1].value.co_name not in COMPREHENSIONS
        return self.plan.hooked

    def _hooked_call(self, op: Op, here: dict[Value, Op]) -> Iterable[Op]:
        shown = self._definition(_callee(op))
        of_engine = shown is not None and (type(shown.fn) is Site or shown.fn in (resolve, select))
        if op.fn is not primitives.call_ex:
            if self._method(op, here.get(op.callee)):
                return self._hooked_method(op, here)
            return self.around.call(op, self._call_itself(op, {}), of_engine=of_engine)
        callee, _, *keywords = op.args
        args, checked = self.starred.as_tuple(op)
        call = Op(op.callee, [callee, args, *keywords], op.results, op.kwnames, op.pos, op.syntax)
        return [*checked, *self.around.call_ex(call, self._call_itself(call, here), of_engine)]

    def _hooked_method(self, op: Op, here: dict[Value, Op]) -> list[Op]:
        """It is found where its attribute is read; what hooks are told of it, if they ask, is made there."""
        if not self.plan.hooks_read.callee:
            return self.around.call(op, self._call_itself(op, here), Const(None))
        told = Value("told")
        gone = Op(Const(frames.drop), [told], [], pos=op.pos, syntax=True)
        return [*self.around.call(op, self._call_itself(op, here, told), told), gone]

    def _unpack(self, op: Op) -> Iterable[Op]:
        """The engine returns one value, a tuple: unpack that."""
        if self.static and op.fn not in self.plan.ruled and op.fn not in self.plan.hooked_syntax:
            return [op]
        items = Value("items")
        one = Op(op.callee, op.args, [items], pos=op.pos, syntax=True)
        return [*self._operate(one), _unpacked(op, items)]


MACHINERY = (resolve, select, seen, reassigned, visible)
"""What contexts further out do not see: it finds what is run, and runs nothing."""

STUBS = (*MACHINERY, dispatch, hooking, stepping, splatted, gathered)
"""The functions by which rewritten code reaches the engine."""

ITSELF = {}.get  # type: ignore[var-annotated]
"""`ITSELF(None, f)` is f: no frame, and nothing of `f` is looked at."""

NO_BUILTIN = Const(frames.load_builtin)
"""No name means it: so what is called is called."""

NAMESPACED = frozenset({
    primitives.load_global, primitives.store_global, primitives.delete_global, primitives.import_name,
})  # fmt: skip
"""What has the namespace for its first operand."""


def _is_out_of_sight(f: Any) -> bool:
    return is_undispatched(f) or any(f is own for own in (*MACHINERY, *HELPERS))


def is_of_engine(f: Any) -> bool:
    """Whether calls of `f` are the engine's, or a context's further in: no hook is told of them."""
    return is_undispatched(f) or any(f is own for own in (*STUBS, *HELPERS))


def resolved(op: Op) -> Operand | None:
    """The callee that `op` finds a target for, which may be what a context further in has found."""
    if op.fn is resolve:
        return op.args[1]
    site = op.fn
    if type(site) is not Site or site.calls or site.attribute or site.operation is not None:
        return None
    return op.args[site.depth]


def _callee(op: Op) -> Operand:
    return op.args[0] if op.fn is primitives.call_ex else op.callee


def _with(op: Op, callee: Operand, args: list[Operand]) -> Op:
    return Op(callee, args, op.results, op.kwnames, op.pos)


def _unpacked(op: Op, items: Value) -> Op:
    count = Const(len(op.results))
    return Op(Const(primitives.unpack), [items, count], op.results, pos=op.pos, syntax=True)
