"""Iterators that a program makes all items of at once: where that is done.

    g = (v * v for v in xs)                    xs.append(y)
    xs.append(y)                      ->       g = [v * v for v in xs]
    s = sum(g)                                 s = sum(g)

Nothing of a generator, of `map` or of `filter` runs before the first item is taken. So the list of all items
stands for it right where they are taken (`bring`), and only if whoever takes them takes all, and changes
nothing between two of them that is read for the next.
"""

from __future__ import annotations

import builtins
from typing import NamedTuple

from ctxdispatch.dispatch.reach import HEAPTYPE
from ctxdispatch.facts import fact_of
from ctxdispatch.ir import primitives
from ctxdispatch.ir.analysis import IrreducibleError, loops
from ctxdispatch.ir.graph import Block, Graph, Iterate, Op
from ctxdispatch.ir.leaves import is_ours
from ctxdispatch.ir.rewrite import definitions, uses
from ctxdispatch.ir.values import Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.aliases import NOTHING, Objects, Sites

PASSES_ON = (builtins.enumerate, builtins.zip, builtins.iter)
"""They take items of their operand when they are asked for theirs."""
_PARTS = frozenset({builtins.iter, primitives.make_function, primitives.build_tuple})
"""What a call of such reads, its result may read."""
_DISPLAYS = (primitives.list_append, primitives.set_add, primitives.map_add)
"""What puts items into containers that are being displayed, which nobody else has yet."""


def may_change(op: Op) -> bool:
    """It may change something, or do what is seen elsewhere, as far as its callee says."""
    if op.fn in _DISPLAYS or op.fn is primitives.make_function:
        return False
    if op.fn is builtins.iter and len(op.args) == 1:  # of two it calls the first
        cls = T.cls_of(operand_type(op.args[0]))
        return cls is None or bool(cls.__flags__ & HEAPTYPE)
    fact = fact_of(op.fn)
    if fact is None:
        return op.fn is None or not is_ours(getattr(op.fn, "__module__", None))
    return bool(fact.stores or fact.effect or fact.calls)


class Way(NamedTuple):
    """Which ops pass the items of an iterator on, and who takes them, in which block. None: nobody knows."""

    passing: list[Op]
    taker: Op | Iterate | None = None
    block: Block | None = None


def way_of(graph: Graph, op: Op) -> Way:
    """Of what `op` gives."""
    passing: list[Op] = []
    known, value = uses(graph), op.result
    while True:
        users = {use.user: use.block for use in known[value]}
        if len(users) != 1:
            return Way(passing)
        [(user, block)] = users.items()
        if not isinstance(user, (Op, Iterate)):
            return Way(passing)  # it goes on along an edge, or out of the program
        if isinstance(user, Iterate) or user.fn not in PASSES_ON:
            return Way(passing, user, block)
        passing.append(user)
        value = user.result


class Taken(NamedTuple):
    """`here`: the items can be made where their maker stands now. `moved`: it has come to where they are
    taken."""

    here: bool
    moved: bool = False


def bring(graph: Graph, op: Op, way: Way, in_turn: bool = False) -> Taken:
    """In place: `op` comes to stand where its items are taken. `in_turn`: between two of them something of
    the user's runs."""
    passing, found, end = way
    if in_turn and _is_disturbed(graph, op, passing, [each for _, each in graph.ops()]):
        return Taken(False)
    start = definitions(graph)[op.result]
    if end is None or not isinstance(found, Op):  # they are taken somewhere, and one by one
        return Taken(not _is_disturbed(graph, op, passing, _after(graph, start, op)))
    if start is end:
        between = end.ops[end.ops.index(op) + 1 : end.ops.index(found)]
        if not any(may_change(each) for each in between if each not in passing):
            return Taken(True)
    elif not _as_often(graph, start, end):
        return Taken(False)
    home = definitions(graph)
    for each in (op, *passing):
        home[each.result].ops.remove(each)
        end.ops.insert(end.ops.index(found), each)
    return Taken(True, moved=True)


def sees_target(graph: Graph, op: Op, way: Way) -> bool:
    """Whether the code that gives the items may look at the list that grows by them: `list.extend` puts each
    there before it takes the next one."""
    found = way.taker
    if isinstance(found, Op) and found.fn is builtins.list:
        found = way_of(graph, found).taker
    if not isinstance(found, Op) or found.fn not in (list.extend, primitives.list_extend):
        return False
    objects = Objects(graph)
    return bool(objects.of(found.args[0]) & _read(graph, objects, op, way.passing))


def _is_disturbed(graph: Graph, op: Op, passing: list[Op], ops: list[Op]) -> bool:
    """Whether one of `ops` may change what the code that gives the items reads."""
    changing = [each for each in ops if each is not op and each not in passing and may_change(each)]
    if not changing:
        return False
    objects = Objects(graph)
    read = objects.loose(_read(graph, objects, op, passing))
    return any(_disturbs(objects, read, each) for each in changing)


def _disturbs(objects: Objects, read: Sites, op: Op) -> bool:
    fact = fact_of(op.fn)
    if fact is None or fact.effect or fact.calls:
        return True
    return any(objects.loose(objects.of(a)) & read for a in fact.stores.of(op.args, op.kwnames))


def _read(graph: Graph, objects: Objects, op: Op, passing: list[Op]) -> Sites:
    """What the code that gives the items may look at: what it is given, and what it has captured."""
    makers = {r: each for _, each in graph.ops() for r in each.results}
    given = [op.callee, *(a for each in (op, *passing) for a in each.args)]
    for value in given:
        maker = makers.get(value)  # type: ignore[arg-type]
        if maker is not None and maker.fn in _PARTS:
            given += maker.args
    return NOTHING.union(*[objects.reach(a) for a in given if isinstance(a, Value) and a is not op.result])


def _after(graph: Graph, start: Block, op: Op) -> list[Op]:
    """What may be done after `op`, which stands in `start`."""
    reached: set[Block] = set()
    work = [*start.successors()]
    while work:
        block = work.pop()
        if block not in reached:
            reached.add(block)
            work.extend(block.successors())
    rest = () if start in reached else start.ops[start.ops.index(op) + 1 :]
    return [*rest, *(each for block in graph.blocks if block in reached for each in block.ops)]


def _as_often(graph: Graph, start: Block, end: Block) -> bool:
    """They lie in the same loops."""
    try:
        forest = loops(graph)
    except IrreducibleError:
        return False
    return forest.loop_of.get(start) is forest.loop_of.get(end)
