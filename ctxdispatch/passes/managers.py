"""Generators as context managers, as programs without frames of their own: what is done where nothing is
raised.

    with g(v) as x:                   a, v.k = v.k, 0
        body                          x = v
    def g(v):                  ->     body
        a, v.k = v.k, 0               v.k = a
        yield v
        v.k = a

The code of the generator to its only `yield` comes where the manager is entered; what follows comes wherever
it is left.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Edge, Graph, Jump, Op, Raise, Return
from ctxdispatch.ir.rewrite import clone_into, copy_blocks, split_block, uses
from ctxdispatch.ir.values import Const, Operand

ENTER: Any = vars(contextlib._GeneratorContextManager)["__enter__"]
LEAVE: Any = vars(contextlib._GeneratorContextManager)["__exit__"]
DECORATED = contextlib.contextmanager(lambda: iter(())).__code__
"""Of what generator functions become: `func` is in its closure."""
_METHODS = {"__enter__": ENTER, "__exit__": LEAVE}


class Scope(NamedTuple):
    """The calls that make a manager, enter it and leave it, and what reads the methods."""

    made: Op
    enter: Op
    leaves: list[Op]
    reading: list[Op]


def enters(op: Op) -> bool:
    """It enters its first operand, or reads what does."""
    return op.fn is ENTER or (op.fn is primitives.special_method and _name(op) == "__enter__")


def _name(reading: Op) -> Any:
    return reading.args[1].value if isinstance(reading.args[1], Const) else None


def scope_of(graph: Graph, made: Op) -> Scope | None:
    """None where more is done with the manager, or it may be entered or left other than once, one after the
    other."""
    known = uses(graph)
    found: dict[Any, list[Op]] = {ENTER: [], LEAVE: []}
    reading: list[Op] = []
    for use in known[made.result]:
        op = use.user
        if not isinstance(op, Op):
            return None
        if op.fn in found:
            method, calls, first = op.fn, [op], 1
        elif op.fn is primitives.special_method and _name(op) in _METHODS:
            reading.append(op)
            method, first = _METHODS[_name(op)], 0
            users = [each.user for each in known[op.result]]
            calls = [user for user in users if isinstance(user, Op)]
            if len(calls) < len(users):
                return None
        else:
            return None
        if not all(_is_plain(call, method, first) for call in calls):
            return None
        found[method] += calls
    if len(found[ENTER]) != 1:
        return None
    scope = Scope(made, found[ENTER][0], found[LEAVE], reading)
    return scope if _is_in_order(graph, scope) else None


def _is_plain(call: Op, method: Any, first: int) -> bool:
    """Behind the manager, if that is the `first` operand, it has those that `with` gives where nothing is
    raised."""
    rest = call.args[first:]
    nones = all(isinstance(a, Const) and a.value is None for a in rest)
    return nones and len(rest) == (3 if method is LEAVE else 0) and not call.kwnames


def _is_in_order(graph: Graph, scope: Scope) -> bool:
    steps, leaves = {scope.made, scope.enter, *scope.leaves}, {*scope.leaves}
    if _next(graph, scope.made, steps) & leaves or not _next(graph, scope.enter, steps) <= leaves:
        return False
    return all(_next(graph, leave, steps) <= {scope.made, None} for leave in leaves)


def _next(graph: Graph, op: Op, steps: set[Op]) -> set[Op | None]:
    """Which of the steps may come first after `op`; None for the end of the program."""
    home = next(block for block, other in graph.ops() if other is op)
    found: set[Op | None] = set()
    work, seen = [(home, home.ops.index(op) + 1)], set[Block]()
    while work:
        block, at = work.pop()
        step = next((other for other in block.ops[at:] if other in steps), None)
        if step is not None or isinstance(block.terminator, Return):
            found.add(step)
            continue
        for target in {edge.target for edge in block.edges()} - seen:
            seen.add(target)
            work.append((target, 0))
    return found


# -- in the place of the manager -----------------------------------------------------------------------------


def yield_of(generator: Graph) -> tuple[Block, Op] | None:
    """The only one, if it is in no loop."""
    found = [(block, op) for block, op in generator.ops() if op.fn is primitives.yielded]
    if len(found) != 1 or found[0][0] in _reached(edge.target for edge in found[0][0].edges()):
        return None
    return found[0]


def _reached(blocks: Iterable[Block]) -> list[Block]:
    found = list(dict.fromkeys(blocks))
    for block in found:  # grows
        found += dict.fromkeys(e.target for e in block.edges() if e.target not in found)
    return found


def open_scope(
    graph: Graph, scope: Scope, generator: Graph, args: Sequence[Operand], cells: Sequence[Operand]
) -> list[Block]:
    """In place of the manager: the blocks of the generator, which has a `yield_of`."""
    block, op = yield_of(generator)  # type: ignore[misc]
    copy = clone_into(graph, generator, dict(zip(generator.cells, cells, strict=True)))
    start, at = copy.blocks[0], copy.block(block)
    rest = split_block(graph, at, block.ops.index(op) + 1)
    item, pos = at.ops.pop().args[0], scope.enter.pos
    tail = _reached([rest])
    made = [each for leave in scope.leaves for each in _leave(graph, leave, tail)]
    before, after = _cut(graph, scope.enter)
    before.terminator, at.terminator = Jump(Edge(start, [*args]), pos), Jump(Edge(after, [item]), pos)
    reached = _reached([start])
    first = [each for each in copy.blocks if each in reached]
    for each in first:
        if isinstance(each.terminator, Return):  # it has not yielded
            each.terminator = Raise(Const(RuntimeError), None, each.terminator.pos)
    _drop(graph, scope, {*copy.blocks, rest} - {*first})
    return [*first, *made]


def _leave(graph: Graph, leave: Op, tail: Sequence[Block]) -> Iterator[Block]:
    """What follows the yield, in the place of what leaves the manager."""
    before, after = _cut(graph, leave)
    copy = copy_blocks(tail)
    before.terminator = Jump(Edge(copy.blocks[0], []), leave.pos)
    for block in copy.blocks:
        block.name = f"b{len(graph.blocks)}"
        graph.blocks.append(block)
        if isinstance(block.terminator, Return):
            block.terminator = Jump(Edge(after, [Const(False)]), block.terminator.pos)
        yield block


def _cut(graph: Graph, call: Op) -> tuple[Block, Block]:
    """Take a call out: the blocks before and after it. What it gave is a parameter of the latter."""
    before = next(block for block, op in graph.ops() if op is call)
    after = split_block(graph, before, before.ops.index(call) + 1)
    before.ops.pop()
    after.params = [call.result]
    return before, after


def _drop(graph: Graph, scope: Scope, unreached: set[Block]) -> None:
    graph.blocks = [block for block in graph.blocks if block not in unreached]
    gone = {scope.made, *scope.reading}
    for block in graph.blocks:
        block.ops = [op for op in block.ops if op not in gone]
