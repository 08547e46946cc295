"""Passes of a context: `Editor`, with which `transform` changes a program before its calls are dispatched.

    class Silent(Context):
        intercepts = ("call",)                            # follow what the program calls

        def transform(self, graph):
            edit = Editor(graph)
            for op in edit.calls("call"):
                if edit.callee(op) is print:
                    edit.replace(op, log, edit.context, *op.args)
            return super().transform(edit.finish())

What is inserted stands where the op that it is inserted at stands in the source. The result of `transform` is
for all instances of the class: what depends on the instance is reached by way of `context`, an operand.

Invariant: the graph that was given is not changed; the one that `finish` returns passes `ir.verify`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from ctxdispatch.dispatch.checks import check_kind
from ctxdispatch.dispatch.hooks import undispatched
from ctxdispatch.dispatch.linestarts import starts
from ctxdispatch.dispatch.overdub import resolve, select
from ctxdispatch.dispatch.plan import CALL, KINDS
from ctxdispatch.dispatch.transform import context_read, is_of_engine, resolved
from ctxdispatch.ir import frames, primitives
from ctxdispatch.ir.frames import Handler, Instruction
from ctxdispatch.ir.graph import Block, Edge, Graph, Op, Reraise, Return
from ctxdispatch.ir.rewrite import clone, substitute
from ctxdispatch.ir.sites import Site
from ctxdispatch.ir.values import Const, Operand, Position, Value
from ctxdispatch.ir.verify import verify

UNKNOWN: Any = None


class Editor:
    """A copy of `graph`, and what becomes of its ops."""

    def __init__(self, graph: Graph) -> None:
        self._graph = clone(graph)
        self._definitions = {result: op for _, op in self._graph.ops() for result in op.results}
        self._block = {op: block for block, op in self._graph.ops()}
        self._before: dict[Op, list[Op]] = {}
        self._after: dict[Op, list[Op]] = {}
        self._instead: dict[Op, list[Op]] = {}
        self._first: list[Op] = []
        self._last: dict[Block, list[Op]] = {}
        self._renamed: dict[Value, Operand] = {}
        self._context: Value | None = None
        self._undispatched: dict[int, Const] = {}

    # -- looking -----------------------------------------------------------------------------------

    def ops(self) -> Iterator[Op]:
        """All ops, those that load and store variables included. Their operands may be assigned to."""
        yield from [*self._block]

    def calls(self, *kinds: str) -> Iterator[Op]:
        """The ops of these kinds (`plan.KINDS`; none: of all), in the order of the source. "call" is every
        call that is written as one."""
        for kind in kinds:
            check_kind(kind, "Editor.calls")
        wanted = kinds or tuple(KINDS)
        syntax = frozenset().union(*(KINDS[kind] for kind in wanted))
        for op in [*self._block]:
            operation = self._operation(op)
            if operation in syntax or (operation is CALL and CALL in wanted):
                yield op

    def _operation(self, op: Op) -> Any:
        """What the source spells with `op`: an operation, CALL, or None where it is the engine's own."""
        fn = op.fn
        if type(fn) is Site:
            return CALL if fn.calls else fn.operation
        if op.syntax and fn is not primitives.call_ex:
            return fn
        callee = op.args[0] if fn is primitives.call_ex else op.callee
        made = self._definitions.get(callee) if isinstance(callee, Value) else None
        if made is not None and made.fn is frames.load_constant:
            callee = made.args[0]
        if isinstance(callee, Const):
            return None if is_of_engine(callee.value) else CALL
        while made is not None and (found_for := resolved(made)) is not None:
            made = self._definitions.get(found_for) if isinstance(found_for, Value) else None
        return self._value(made.args[0]) if made is not None and made.fn is select else CALL

    def operands(self, op: Op) -> list[Operand]:
        """What `op` calls its callee with: the keywords come last (`op.kwnames`). Of f(*args, **kwargs) it is
        the two."""
        if type(op.fn) is Site:
            return op.args[op.fn.depth + op.fn.calls :]
        return op.args[1:] if op.fn is primitives.call_ex else op.args

    def called(self, op: Op) -> Operand:
        """What `op` calls, as an operand."""
        if type(op.fn) is Site and op.fn.calls:
            return op.args[op.fn.depth]
        return op.args[0] if op.fn is primitives.call_ex else op.callee

    def callee(self, op: Op) -> Any:
        """What `op` calls, where that is known without running the program: an operator, a global name or
        builtin, an attribute of a module or class. None where it is not. It is what the name means when the
        function is rewritten: use a rule where that may change."""
        if type(op.fn) is Site:
            return self._value(op.args[op.fn.depth]) if op.fn.calls else op.fn.operation
        return self._value(op.args[0] if op.fn is primitives.call_ex else op.callee)

    def lines(self) -> Iterator[tuple[Op, Position]]:
        """The first op of each line, as often as a block comes to it."""
        for block in self._graph.blocks:
            line = None
            for op in block.ops[_begins(block) :]:
                if op.pos is not None and op.pos.line not in (None, line):
                    line = op.pos.line
                    yield op, op.pos

    @property
    def context(self) -> Operand:
        """The context instance that the program runs under, as an operand of what is inserted."""
        if self._context is None:
            read = context_read(self._graph)
            self._first.insert(0, read)
            self._context = read.result
        return self._context

    @property
    def _head(self) -> Position:
        return Position(self._graph.filename, self._graph.name, self._graph.line)

    @property
    def params(self) -> list[Value]:
        """The arguments of the function, at its entry: `*args` is one, a tuple."""
        return self._graph.params

    # -- changing ----------------------------------------------------------------------------------

    def before(self, op: Op, f: Callable[..., Any], *args: Any, dispatch: bool = False) -> Value:
        """Insert f(*args) before `op`; its value. Operands of `op` may be among `args`; what is no operand is
        a constant. Unless `dispatch`, no context is asked about that call, or about what it calls."""
        made = self._call(f, args, op.pos, dispatch)
        self._before.setdefault(op, []).append(made)
        return made.result

    def after(self, op: Op, f: Callable[..., Any], *args: Any, dispatch: bool = False) -> Value:
        """Insert f(*args) after `op`, whose results may be among `args`. Not where `op` raises."""
        made = self._call(f, args, op.pos, dispatch)
        self._after.setdefault(op, []).append(made)
        return made.result

    def replace(self, op: Op, f: Callable[..., Any], *args: Any, dispatch: bool = True) -> Value:
        """Put f(*args) in the place of `op`, which has one result; its value is the op's."""
        (result,) = op.results
        made = self._call(f, args, op.pos, dispatch)
        made.results = [result]
        self._instead[op] = [made]
        return result

    def remove(self, op: Op, value: Any = None) -> None:
        """Leave `op` out: each of its results is `value`, a constant or an operand. What made its operands
        stays."""
        self._instead[op] = []
        self._renamed |= dict.fromkeys(op.results, _operand(value))

    def at_entry(self, f: Callable[..., Any], *args: Any, dispatch: bool = False) -> Value:
        """Insert f(*args) where the function is entered; a generator is when it is first resumed."""
        made = self._call(f, args, self._head, dispatch)
        self._first.append(made)
        return made.result

    def at_return(self, f: Callable[..., Any], *args: Any, dispatch: bool = False) -> None:
        """Insert f(*args, value) before each return of a value."""
        for block in self._graph.blocks:
            end = block.terminator
            if isinstance(end, Return):
                made = self._call(f, (*args, end.value), end.pos, dispatch)
                self._last.setdefault(block, []).append(made)

    def at_lines(self, f: Callable[..., Any], *args: Any, dispatch: bool = False) -> None:
        """Insert f(*args, line) wherever control comes to a line, as the interpreter tells a tracer: once
        until it leaves the line or jumps back, also where nothing but `continue` or `return 1` is on it. Call
        it before other insertions, and it comes before them."""
        for block, op, pos in starts(self._graph, _begins(self._graph.entry)):
            made = self._call(f, (*args, pos.line), pos, dispatch)
            if op is None:
                self._last.setdefault(block, []).append(made)
            else:
                self._before.setdefault(op, []).append(made)

    def at_exception(self, f: Callable[..., Any], *args: Any, dispatch: bool = False) -> None:
        """Insert f(*args, exception) where an exception leaves the function. It leaves it still, unless `f`
        raises another. In SSA form (what is generated, such as derivatives) nothing is inserted."""
        graph = self._graph
        if graph.frame is None:
            return
        lasti, exc = Value("lasti"), Value("exc")
        leaving = Block(f"b{len(graph.blocks)}")
        leaving.params = [lasti, exc]
        leaving.ops = [self._call(f, (*args, exc), None, dispatch)]
        leaving.terminator = Reraise(exc, lasti)
        for block in graph.blocks:
            if block.handler is None:
                block.handler = Handler(Edge(leaving), True)
        graph.blocks.append(leaving)

    def at_caught(self, f: Callable[..., Any], *args: Any, dispatch: bool = False) -> None:
        """Insert f(*args, exception) where an exception comes to an `except`, a `finally` or the end of a
        `with` of the function."""
        for op in self._block:
            if type(op.fn) is Instruction and op.fn.name == "PUSH_EXC_INFO":
                self.before(op, f, *args, op.args[0], dispatch=dispatch)

    def variable(self, initial: Any = None) -> Variable:
        """A value of each call of the function that the program is given besides its own: it is threaded
        through."""
        made = Op(Const(primitives.build_list), [_operand(initial)], [Value("held")], syntax=True)
        self._first.append(_exempt(made))
        return Variable(self, made.result)

    def body(self, f: Callable[..., Any], *, dispatch: bool = True) -> None:
        """Make the function return what `f` does, called with the same arguments. ValueError for generators
        and coroutines: calling them does not run their body."""
        code = self._graph.code
        if code is not None and code.co_flags & GENERATES:
            raise ValueError(f"calling {self._graph.name} does not run its body: it makes a generator")
        entry = self._graph.entry
        begins = _begins(entry)
        pos = self._head
        given, args = self._given()
        result = Value()
        callee = _operand(f) if dispatch else self._exempt(f)
        call = Op(Const(primitives.call_ex), [callee, *args], [result], pos=pos, syntax=True)
        entry.ops[begins:] = [*given, call]
        entry.terminator, entry.handler = Return(result, pos), None
        self._graph.blocks[:] = [entry]
        self._block, self._last = dict.fromkeys(entry.ops, entry), {}

    def _given(self) -> tuple[list[Op], list[Operand]]:
        """What makes a tuple and a dict of all that the function was called with."""
        signature, ops = self._graph.signature, []

        def add(fn: Any, *args: Operand) -> Value:
            ops.append(_exempt(Op(Const(fn), [*args], [Value()], syntax=True)))
            return ops[-1].result

        def parameter(k: int) -> Operand:
            return self._parameter(add, self.params[k], signature.names[k])

        plain, named = signature.argcount, signature.argcount + signature.kwonly
        args = add(primitives.build_tuple, *map(parameter, range(plain)))
        pairs = [o for k in range(plain, named) for o in (Const(signature.names[k]), parameter(k))]
        kwargs = add(primitives.build_map, *pairs)
        if signature.varargs:
            args = add(operator.add, args, parameter(named))
        if signature.varkw:
            kwargs = add(operator.or_, kwargs, parameter(named + signature.varargs))
        return ops, [args, kwargs]

    def _parameter(self, add: Callable[..., Value], param: Value, name: str) -> Operand:
        frame = self._graph.frame
        if frame is None:
            return param
        if name in frame.cells:
            return add(primitives.cell_get, frame.cells[name], Const(name), Const(False))
        return add(frames.load_local, Const(name))

    def finish(self) -> Graph:
        """The edited program."""
        graph = self._graph
        for block in graph.blocks:
            ops = [new for op in block.ops for new in self._edited(op)]
            block.ops = [*ops, *self._last.get(block, ())]
        begins = _begins(graph.entry)
        graph.entry.ops[begins:begins] = self._first
        if self._renamed:
            substitute(graph, self._renamed)
        return verify(graph)

    def _edited(self, op: Op) -> list[Op]:
        return [*self._before.get(op, ()), *self._instead.get(op, [op]), *self._after.get(op, ())]

    def _call(self, f: Any, args: Any, pos: Position | None, dispatch: bool) -> Op:
        operands = [_operand(arg) for arg in args]
        callee = _operand(f) if dispatch else self._exempt(f)
        return Op(callee, operands, [Value()], pos=pos)

    def _exempt(self, f: Any) -> Const:
        known = self._undispatched.get(id(f))
        if known is None:
            known = self._undispatched[id(f)] = Const(undispatched(f))
        return known

    # -- what is known -----------------------------------------------------------------------------

    def _value(self, operand: Operand) -> Any:
        if isinstance(operand, Const):
            return operand.value
        made = self._definitions.get(operand)
        if made is None:
            return UNKNOWN
        if made.fn is primitives.load_global:
            return self._global(made)
        if made.fn in (frames.load_builtin, frames.load_constant, select):
            return self._value(made.args[0])
        if made.fn is resolve:
            return self._value(made.args[1])
        if type(made.fn) is Site:
            return self._found_by(made)
        if made.fn is getattr and isinstance(made.args[1], Const):
            owner = self._value(made.args[0])
            return getattr(owner, made.args[1].value, UNKNOWN) if _is_scope(owner) else UNKNOWN
        return UNKNOWN

    def _found_by(self, made: Op) -> Any:
        """What a context further in calls: what it has found of a callee, or of an attribute."""
        site: Site = made.fn
        owner = self._value(made.args[site.depth])
        return getattr(owner, site.attribute, UNKNOWN) if site.attribute and _is_scope(owner) else owner

    def _global(self, read: Op) -> Any:
        namespace, name = read.args
        known = namespace.value if isinstance(namespace, Const) else None
        try:
            return primitives.load_global(known or self._graph.namespace or {}, name.value)  # type: ignore[union-attr]
        except NameError:
            return UNKNOWN


class Variable:
    """Reads are before an op, writes after one; both are native."""

    def __init__(self, edit: Editor, held: Value) -> None:
        self._edit, self._held = edit, held

    def read(self, op: Op) -> Value:
        """Its value, right before `op`."""
        value = Value("carried")
        read = Op(Const(operator.getitem), [self._held, Const(0)], [value], pos=op.pos, syntax=True)
        self._edit._before.setdefault(op, []).append(_exempt(read))
        return value

    def write(self, op: Op, value: Any) -> None:
        """Right after `op`, it is `value`."""
        operands: list[Operand] = [self._held, Const(0), _operand(value)]
        write = Op(Const(operator.setitem), operands, [Value()], pos=op.pos, syntax=True)
        self._edit._after.setdefault(op, []).append(_exempt(write))


GENERATES = 0x20 | 0x80 | 0x200
"""CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR"""


def _begins(block: Block) -> int:
    """Where in the entry the body begins: a frame is entered by an instruction, in generators for the second
    time."""
    resumed = (k for k, op in enumerate(block.ops) if type(op.fn) is Instruction and op.fn.name == "RESUME")
    return next(resumed, -1) + 1


def _is_scope(owner: Any) -> bool:
    return issubclass(type(owner), ModuleType | type)


def _operand(value: Any) -> Operand:
    return value if isinstance(value, Value | Const) else Const(value)


def _exempt(op: Op) -> Op:
    op.exempt = True
    return op
