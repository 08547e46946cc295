"""Lists in kernels: one that is filled on every path, and outside of loops, is a tuple where it is read.

    %l = build_list(); list_append(%l, %a); list_append(%l, %b); sum(%l)      ->      sum((%a, %b))

Loops that fill lists (comprehensions, generator expressions) are unrolled before: `loops.py`.
"""

from __future__ import annotations

from ctxdispatch.ir import primitives
from ctxdispatch.ir.analysis import DominatorTree, dominators, loops
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.rewrite import Use, uses
from ctxdispatch.ir.values import Const, Operand, Value, hashable


def gather_lists(graph: Graph) -> bool:
    """In place; whether there was such a list."""
    used = uses(graph)
    lists = [op for _, op in graph.ops() if op.fn is primitives.build_list]
    if not lists:
        return False
    return any(_gather(graph, op, used) for op in lists)


def _gather(graph: Graph, made: Op, used: dict[Value, list[Use]]) -> bool:
    places = used[made.result]
    if any(not isinstance(use.user, Op) for use in places):
        return False  # passed on, where several may meet
    appends = [u for u in places if is_append(u.user) and not used[u.user.result]]  # type: ignore[union-attr]
    readers = [u for u in places if u not in appends]
    forest, tree = loops(graph), dominators(graph)
    if not readers or any(use.block in forest.loop_of for use in places):
        return False
    items = {}
    for reader in readers:
        before = [a for a in appends if _precedes(a, reader, tree)]
        if any(a not in before and not _precedes(reader, a, tree) for a in appends):
            return False  # on some paths only
        items[reader.user] = [*made.args, *_in_order(before, tree)]
    for reader in readers:
        _read_tuple(reader.block, reader.user, made.result, items[reader.user])  # type: ignore[arg-type]
    gone = {made, *(a.user for a in appends)}
    for block in graph.blocks:
        block.ops = [op for op in block.ops if op not in gone]
    return True


def is_append(op: Op) -> bool:
    return hashable(op.fn) and op.fn in APPENDS and len(op.args) == 2


APPENDS = frozenset({primitives.list_append, list.append})


def _precedes(first: Use, second: Use, tree: DominatorTree[Block]) -> bool:
    """On every path to the second, the first is reached before."""
    if first.block is second.block:
        ops = first.block.ops
        return ops.index(first.user) < ops.index(second.user)  # type: ignore[arg-type]
    return tree.dominates(first.block, second.block)


def _in_order(appends: list[Use], tree: DominatorTree[Block]) -> list[Operand]:
    """What was appended, the first first."""
    earlier = {a: sum(_precedes(b, a, tree) for b in appends if b is not a) for a in appends}
    return [a.user.args[1] for a in sorted(appends, key=lambda a: earlier[a])]  # type: ignore[union-attr]


def _read_tuple(block: Block, op: Op, made: Value, items: list[Operand]) -> None:
    made_here = Value(made.name)
    at = block.ops.index(op)
    block.ops.insert(at, Op(Const(primitives.build_tuple), list(items), [made_here], (), op.pos, True))
    op.args = [made_here if a is made else a for a in op.args]
