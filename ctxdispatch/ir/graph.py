"""The data model: SSA with block arguments.

    Graph   blocks, the first is the entry; its parameters are the function's arguments
    Block   parameters, ops, one terminator
    Op      results = callee(*operands), a call whatever the source looked like
    Edge    a target block and the arguments for its parameters

Invariants, checked by `ctxdispatch.ir.verify`:
  * every `Value` is defined once, by one op or as one block's parameter, and its definition dominates its
    uses;
  * an edge passes one operand per parameter of its target (the body edge of `Iterate` one less: the item is
    the first parameter);
  * blocks end in exactly one terminator.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from operator import attrgetter
from types import CodeType
from typing import Any, NamedTuple

from ctxdispatch.ir.frames import Frame, Handler
from ctxdispatch.ir.values import Const, Operand, Position, Value


class Op:
    """results = callee(*args), the last len(kwnames) of args being keyword arguments.

    `syntax` marks a call that the source spells without parentheses (`a + b`, `a.b`, a display, ...): `emit`
    turns it back into its own instruction. `reassoc`, which transforms set for what they add: the result may
    be computed in another way, within rounding, and the sign of a zero is nobody's (LLVM's fast-math flags
    reassoc and nsz). `bare`: the instruction has its first argument where others have NULL (decorators);
    `moves`: where the source copies and swaps operands for it (both in frame form). `exempt`: a pass has put
    it there, and the context whose pass that is does not dispatch it. `caught`: that it raises may be all it
    is for, as something catches it or nobody reads what it gives. `tested`: of what it gives no more is known
    than a test says that comes behind it (`passes.expected`). `contained`: it calls code that has been
    looked at, which reads what it is given and nothing else, and changes and keeps nothing of that: the types
    of its operands then (`programs.contained`). None of others. `again`: what it calls may be called once
    more later, with the same operands: nothing that it reads is another one then, and it changes nothing.
    """

    __slots__ = ("_callee", "fn", "args", "kwnames", "results", "pos", "syntax", "reassoc", "bare", "moves",
                 "exempt", "caught", "tested", "contained", "again")  # fmt: skip

    def __init__(
        self,
        callee: Operand,
        args: list[Operand],
        results: list[Value],
        kwnames: tuple[str, ...] = (),
        pos: Position | None = None,
        syntax: bool = False,
        reassoc: bool = False,
    ) -> None:
        self.callee = callee
        self.args = args
        self.results = results
        self.kwnames = kwnames
        self.pos = pos
        self.syntax = syntax
        self.reassoc = reassoc
        self.bare = False
        self.moves: Position | None = None
        self.exempt = False
        self.caught = False
        self.tested = False
        self.contained: tuple[Any, ...] | None = None
        self.again = False

    @property
    def result(self) -> Value:
        """The only result."""
        return self.results[0]

    def _call(self, callee: Operand) -> None:
        self._callee = callee
        self.fn: Any = callee.value if type(callee) is Const else None
        """The callee when it is known, else None."""

    callee: property = property(attrgetter("_callee"), _call)

    def operands(self) -> list[Operand]:
        """The callee, then the arguments."""
        return [self._callee, *self.args]

    def __repr__(self) -> str:
        return f"{self.results} = {self.callee}({self.args})"


class Edge:
    """Control goes to `target`, whose parameters get `args`: one operand for each, without those that the
    terminator gives itself (the item of `Iterate`)."""

    __slots__ = ("target", "args")

    def __init__(self, target: Block, args: list[Operand] | None = None) -> None:
        self.target = target
        self.args = [] if args is None else args

    def __repr__(self) -> str:
        return f"{self.target!r}({self.args})"


class Jump:
    """To one block. `quiet`: the interpreter handles no signal there; `spelled`: the source's code has an
    instruction for it, which a tracer sees."""

    __slots__ = ("edge", "pos", "quiet", "spelled")

    def __init__(
        self, edge: Edge, pos: Position | None = None, quiet: bool = False, spelled: bool = False
    ) -> None:
        self.edge, self.pos, self.quiet, self.spelled = edge, pos, quiet, spelled

    def operands(self) -> tuple[Operand, ...]:
        """What it reads, the arguments of its edges aside."""
        return ()

    def edges(self) -> tuple[Edge, ...]:
        """Where control goes from here."""
        return (self.edge,)


class Branch:
    """`cond` is an exact bool: the lifter inserts the call of `bool`."""

    __slots__ = ("cond", "then", "orelse", "pos")

    def __init__(self, cond: Operand, then: Edge, orelse: Edge, pos: Position | None = None) -> None:
        self.cond, self.then, self.orelse, self.pos = cond, then, orelse, pos

    def operands(self) -> tuple[Operand, ...]:
        """What it reads, the arguments of its edges aside."""
        return (self.cond,)

    def edges(self) -> tuple[Edge, ...]:
        """Where control goes from here."""
        return (self.then, self.orelse)


class Iterate:
    """Take the next item of `iterator`: to `body`, whose target gets the item as its first parameter, or,
    when it is exhausted, to `exit`."""

    __slots__ = ("iterator", "body", "exit", "pos")

    def __init__(self, iterator: Operand, body: Edge, exit: Edge, pos: Position | None = None) -> None:
        self.iterator, self.body, self.exit, self.pos = iterator, body, exit, pos

    def operands(self) -> tuple[Operand, ...]:
        """What it reads, the arguments of its edges aside."""
        return (self.iterator,)

    def edges(self) -> tuple[Edge, ...]:
        """Where control goes from here."""
        return (self.body, self.exit)


class Return:
    """The function's result."""

    __slots__ = ("value", "pos")

    def __init__(self, value: Operand, pos: Position | None = None) -> None:
        self.value, self.pos = value, pos

    def operands(self) -> tuple[Operand, ...]:
        """What it reads, the arguments of its edges aside."""
        return (self.value,)

    def edges(self) -> tuple[Edge, ...]:
        """Where control goes from here."""
        return ()


class Raise:
    """`raise exc from cause`; `exc` None is the bare `raise`."""

    __slots__ = ("exc", "cause", "pos")

    def __init__(
        self, exc: Operand | None, cause: Operand | None = None, pos: Position | None = None
    ) -> None:
        self.exc, self.cause, self.pos = exc, cause, pos

    def operands(self) -> tuple[Operand, ...]:
        """What it reads, the arguments of its edges aside."""
        return tuple(v for v in (self.exc, self.cause) if v is not None)

    def edges(self) -> tuple[Edge, ...]:
        """Where control goes from here."""
        return ()


class Reraise:
    """Raise `exc`, which was caught, again; as if where `lasti` (None: here) says. `kept` lies below it on
    the stack."""

    __slots__ = ("exc", "lasti", "kept", "pos")

    def __init__(
        self,
        exc: Operand,
        lasti: Operand | None = None,
        kept: tuple[Operand, ...] = (),
        pos: Position | None = None,
    ) -> None:
        self.exc, self.lasti, self.kept, self.pos = exc, lasti, kept, pos

    def operands(self) -> tuple[Operand, ...]:
        """What it reads, the arguments of its edges aside."""
        return (*self.kept, self.exc)

    def edges(self) -> tuple[Edge, ...]:
        """Where control goes from here."""
        return ()


class Delegate:
    """Send `value` to `receiver`: to `yielded`, or, when it has returned, to `done`; the target gets what it
    yielded or returned as its last parameter."""

    __slots__ = ("receiver", "value", "yielded", "done", "pos")

    def __init__(
        self, receiver: Operand, value: Operand, yielded: Edge, done: Edge, pos: Position | None = None
    ) -> None:
        self.receiver, self.value, self.yielded, self.done, self.pos = receiver, value, yielded, done, pos

    def operands(self) -> tuple[Operand, ...]:
        """What it reads, the arguments of its edges aside."""
        return (self.receiver, self.value)

    def edges(self) -> tuple[Edge, ...]:
        """Where control goes from here."""
        return (self.yielded, self.done)


Terminator = Jump | Branch | Iterate | Return | Raise | Reraise | Delegate


class Block:
    """Straight-line code with parameters, which ends in a terminator."""

    __slots__ = ("name", "params", "ops", "terminator", "handler")

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.params: list[Value] = []
        self.ops: list[Op] = []
        self.terminator: Terminator | None = None
        self.handler: Handler | None = None

    def edges(self) -> tuple[Edge, ...]:
        """Those of the terminator."""
        return self.terminator.edges() if self.terminator is not None else ()

    def successors(self) -> list[Block]:
        """Where control may go, exceptions included."""
        found = [e.target for e in self.edges()]
        return found if self.handler is None else [*found, self.handler.edge.target]

    def implicit(self, edge: Edge) -> int:
        """How many parameters of its target one of the edges does not give: the terminator does."""
        end = self.terminator
        return int(isinstance(end, Delegate) or (isinstance(end, Iterate) and edge is end.body))

    def __repr__(self) -> str:
        return self.name or f"b@{id(self) & 0xFFFF:x}"


class Signature(NamedTuple):
    """The argument part of a code object; `names` in the order of `co_varnames`."""

    names: tuple[str, ...]
    argcount: int
    posonly: int = 0
    kwonly: int = 0
    varargs: bool = False
    varkw: bool = False

    @classmethod
    def of(cls, code: CodeType) -> Signature:
        """That of a code object, `*args` and `**kwargs` last."""
        star = bool(code.co_flags & inspect.CO_VARARGS)
        stars = bool(code.co_flags & inspect.CO_VARKEYWORDS)
        total = code.co_argcount + code.co_kwonlyargcount + star + stars
        return cls(
            code.co_varnames[:total],
            code.co_argcount,
            code.co_posonlyargcount,
            code.co_kwonlyargcount,
            star,
            stars,
        )


class Trap(NamedTuple):
    """An `Exception` in one of the `blocks` is dropped, and control goes to `target`."""

    blocks: tuple[Block, ...]
    target: Block


class Graph:
    """A function. `params` are its arguments in `signature` order, `cells` its closure (one cell object each,
    in `co_freevars` order); both are defined at the entry.

    `namespace` is the `__globals__` that the function's global names mean; `code` the code object it was
    lifted from, or None for a generated one. With a `pool`, constants that may lead anywhere are read from
    that (`bytecode.pool`), by way of the cell `pool_cell`. `frame` is there in frame form (`ir.frames`) only.
    `lengths`: of parameters that are arrays of one dimension, where a program is for just that length.
    """

    __slots__ = (
        "name", "blocks", "cells", "cellnames", "signature", "namespace", "code", "filename", "line",
        "pool", "pool_cell", "trap", "frame", "lengths",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        signature: Signature,
        *,
        cellnames: tuple[str, ...] = (),
        namespace: dict[str, Any] | None = None,
        code: CodeType | None = None,
        filename: str = "<generated>",
        line: int = 1,
    ) -> None:
        self.name = name
        self.signature = signature
        self.cellnames = cellnames
        self.cells = [Value(n) for n in cellnames]
        self.namespace = namespace
        self.code = code
        self.filename = filename
        self.line = line
        self.lengths: dict[Value, int] = {}
        self.pool: Any = None
        self.pool_cell: Value | None = None
        self.trap: Trap | None = None
        self.frame: Frame | None = None
        entry = Block("b0")
        entry.params = [Value(n) for n in signature.names]
        self.blocks: list[Block] = [entry]

    def use_pool(self, pool: Any) -> None:
        """The function has one cell more, that of the pool."""
        self.pool, self.pool_cell = pool, Value(pool.NAME)
        self.cellnames = (*self.cellnames, pool.NAME)
        self.cells.append(self.pool_cell)

    @property
    def entry(self) -> Block:
        """The first block."""
        return self.blocks[0]

    @property
    def params(self) -> list[Value]:
        """The function's arguments."""
        return self.entry.params

    def new_block(self) -> Block:
        """An empty block, the last one."""
        block = Block(f"b{len(self.blocks)}")
        self.blocks.append(block)
        return block

    def ops(self) -> Iterator[tuple[Block, Op]]:
        """Each op with its block, in the order of `blocks`."""
        for block in self.blocks:
            for op in block.ops:
                yield block, op

    def predecessors(self) -> dict[Block, list[tuple[Block, Edge]]]:
        """Per block the (block, edge) pairs that lead to it."""
        preds: dict[Block, list[tuple[Block, Edge]]] = {b: [] for b in self.blocks}
        for block in self.blocks:
            for edge in block.edges():
                preds[edge.target].append((block, edge))
        return preds

    def __str__(self) -> str:
        from ctxdispatch.ir.printer import print_graph

        return print_graph(self)


def positional(n: int, names: tuple[str, ...] | None = None) -> Signature:
    """The signature of a generated function of n positional arguments."""
    return Signature(names or tuple(f"a{i}" for i in range(n)), n)
