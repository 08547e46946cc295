"""Results that an earlier call left, and that a program returns in place of computing them.

    if np.array_equal(p, memo.last): return memo.value
    return np.sum(p**2)

To a program `memo.value` is a constant, which it is not where it was computed from what equals `p`. So
where a program finds what is differentiated equal to numbers that were there before, its run is recorded from
the start: the recorded run knows what it has found equal (`recording/remembered.py`). A program that has
changed something by then, or is part of another one, cannot start again: there all runs are recorded, or,
where there can be no recording, refused where the two are equal.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any

import numpy as np

from ctxdispatch.facts import READS, fact_of
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Branch, Edge, Graph, Iterate, Op, Return
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.expected import Unexpected
from ctxdispatch_contexts.derivatives.table import linearity
from ctxdispatch_contexts.programs.activity import carries, passed
from ctxdispatch_contexts.programs.aliases import Objects, is_outside
from ctxdispatch_contexts.programs.apart import RECORD
from ctxdispatch_contexts.programs.changes import changed_objects, moves_iterator, sets_name
from ctxdispatch_contexts.programs.errors import MissingRuleError, Opaque, Refusing
from ctxdispatch_contexts.programs.journal import NOTES, undo
from ctxdispatch_contexts.programs.out_of_sight import has_effect, runs_python

UNEQUAL = frozenset({operator.ne, np.not_equal})
_COMPARISONS = {
    operator.eq: None, np.equal: None, np.array_equal: None, np.array_equiv: None, np.allclose: None,
    np.isclose: None, math.isclose: None, operator.lt: 0, operator.le: 0, operator.gt: 1, operator.ge: 1,
    np.less: 0, np.less_equal: 0, np.greater: 1, np.greater_equal: 1,
}  # fmt: skip
EQUALITIES = UNEQUAL.union(f for f, at in _COMPARISONS.items() if at is None)
ORDERS = {f: at for f, at in _COMPARISONS.items() if at is not None}
"""By which a distance is found small: the operand that is the smaller one, where that is so."""
_READS = READS | {primitives.load_global, primitives.cell_get}


_CONTAINS = (operator.contains, primitives.not_contains)
LOOK_UPS = frozenset({dict.get, operator.getitem}).union(_CONTAINS)
"""They look for a key."""


def says_equal(callee: Any, out: Any) -> bool:
    """`out`, what a comparison has given, says that its operands are equal: arrays in all elements."""
    if isinstance(out, np.ndarray):
        return bool(out.size) and bool((~out if callee in UNEQUAL else out).all())
    return (not out) if callee in UNEQUAL else bool(out)


def remembered(at: Any) -> MissingRuleError:
    return MissingRuleError(
        "what is differentiated equals what an earlier call has kept, and the result depends on numbers that "
        "were computed then, whose derivatives are not known; differentiate the function that computes them, "
        "or have it forget what it keeps before",
        at,
    )


class Asked(Opaque):
    """Stands for a test, which nobody but `leave_where_equal` uses, until then."""

    __name__ = "asked"

    def __init__(self, test: Callable[..., Any]) -> None:
        self.test = test


class _Says(Opaque):
    """Called with what a comparison has given, and its operands: whether it says that something is equal."""

    def __init__(self, op: Op) -> None:
        self.callee = op.fn
        self.__name__ = "says_equal"

    def __call__(self, out: Any, *operands: Any) -> bool:
        if self.callee in _CONTAINS:
            return bool(out) is (self.callee is operator.contains)
        if self.callee is operator.getitem and issubclass(type(operands[0]), _BY_INDEX):
            return False
        return out is not None if self.callee in LOOK_UPS else says_equal(self.callee, out)


_BY_INDEX = (list, tuple, np.ndarray, np.generic)
"""Of which items are taken by where they are: their index equals nothing."""


class _Unequal(Refusing):
    """The same, and refused if it does."""

    def __init__(self, op: Op) -> None:
        self.says, self.position = _Says(op), op.pos
        self.__name__ = "check_unequal"

    def __call__(self, out: Any, *operands: Any) -> None:
        if self.says(out, *operands):
            raise remembered(self.position)


class _Far(Opaque):
    """Called with what an order has given, and the distance. A program goes on with it: that points are near
    to each other is seldom."""

    def __init__(self, op: Op, near: bool) -> None:
        self.position, self.near = op.pos, near
        self.__name__ = "check_far"

    def __call__(self, out: Any, distance: Any) -> None:
        if bool(np.all(np.equal(out, self.near) & (np.abs(distance) <= TINY))):
            raise remembered(self.position)


TINY = 1e-6
"""A point that is so near to another one is taken for it."""


def refuse_remembered(graph: Graph, varied: Container[Value], objects: Objects, may_leave: bool) -> list[Op]:
    """In place: after each such comparison, and look-up. Those returned are left to `leave_where_equal`."""
    asked = [op for _, op in graph.ops() if _asks(op, varied)]
    if not asked:
        return []
    found = _found(graph, varied)
    differences, distances = _distances(graph, varied, found)
    equal = [op for op in asked if op.fn not in ORDERS and _compares(op, found, differences | distances)]
    near = [op for op in asked if op.fn in ORDERS and any(a in distances for a in op.args)]
    if near and not any(_gives_either(values, found, varied) for values in _meeting(graph)):
        near = []
    leaves = may_leave and all(may_run_again(op, objects) for _, op in graph.ops())
    added = {op: _check(op, distances) for op in (near if leaves else near + equal)}
    for block in graph.blocks:
        block.ops = [each for op in block.ops for each in ([op, added[op]] if op in added else [op])]
    return equal if leaves else []


def _compares(op: Op, found: Container[Operand], apart: Container[Operand]) -> bool:
    """One operand was there before, or is the difference of the two."""
    return any(a in found for a in op.args) or (op.fn in EQUALITIES and any(a in apart for a in op.args))


def may_run_again(op: Op, objects: Objects) -> bool:
    """Nothing outside of the program is another one afterwards."""
    if op.fn in NOTES:
        return True
    if is_cached(op.fn):
        return True
    fact = fact_of(op.fn)
    reads = (hashable(op.fn) and op.fn in _READS) or (fact is not None and fact.repeats)
    if runs_python(op) or (has_effect(op) and not reads):
        return False
    # what is unpacked is an item of a container far more often than an iterator, of which it raises then
    taken = op.fn not in primitives.UNPACKING and moves_iterator(objects, op)
    return not (taken or sets_name(op) or any(map(is_outside, changed_objects(objects, op))))


def is_cached(fn: Any) -> bool:
    """Of `functools.cache`, or an `lru_cache` of the usual size: the second time it only looks up what it
    found the first time."""
    if type(fn) is not functools._lru_cache_wrapper:
        return False
    size = fn.cache_parameters()["maxsize"]  # type: ignore[attr-defined]
    return size is None or size >= _USUAL


_USUAL = 128


def leave_where_equal(graph: Graph, asked: Container[Op], entries: Value | None = None) -> None:
    """Have the run recorded from the start where one of them says that its operands are equal, in place.
    `entries`: the journal of what has been stored by then."""
    result, otherwise = Value(), Block("recorded")
    otherwise.ops = [Op(Const(RECORD), list(graph.params), [result])]
    if entries is not None:
        otherwise.ops.insert(0, Op(Const(undo), [entries], [Value()]))
    otherwise.terminator = Return(result)
    blocks = [each for block in graph.blocks for each in _parted(block, asked, otherwise)]
    graph.blocks[:] = blocks if len(blocks) == len(graph.blocks) else [*blocks, otherwise]


def _parted(block: Block, asked: Container[Op], otherwise: Block) -> Iterator[Block]:
    ops, end = block.ops, block.terminator
    block.ops = []
    for op in ops:
        block.ops.append(op)
        if op in asked:
            rest = Block(block.name)
            ways = (Edge(rest), Edge(otherwise)) if op.fn is operator.ne else (Edge(otherwise), Edge(rest))
            test = op.results[0]
            if isinstance(op.fn, Unexpected):
                pass
            elif isinstance(op.fn, Asked):
                op.callee, op.syntax = Const(op.fn.test), op.fn.test.__module__ == "_operator"
            elif op.fn not in (operator.eq, operator.ne) or test.type != T.Exact(bool):
                test, ways = Value(type=T.Exact(bool)), (Edge(otherwise), Edge(rest))
                block.ops.append(Op(Const(_Says(op)), [op.results[0], *op.args], [test], (), op.pos))
            block.terminator = Branch(test, *ways)
            yield block
            block = rest
    block.terminator = end
    yield block


def _asks(op: Op, varied: Container[Value]) -> bool:
    if not (hashable(op.fn) and op.fn in _ASKING and len(op.args) > 1 and op.results):
        return False
    if op.pos is None:  # of a rule, which keeps nothing
        return False
    return (op.args[0] in varied) is not (op.args[1] in varied)


_ASKING = EQUALITIES | LOOK_UPS | ORDERS.keys()


def _distances(
    graph: Graph, varied: Container[Value], found: set[Operand]
) -> tuple[set[Operand], set[Operand]]:
    """Differences of what is differentiated to what the program has found, and distances, which are computed
    of these alone."""
    differences, distances = set[Operand](), set[Operand]()
    for _ in range(2):  # values that meet are defined before, but for loops
        for param, args in _given(graph).items():
            _pass_on([param], args, False, differences, distances)
        for _, op in graph.ops():
            values: list[Operand] = [a for a in op.args if isinstance(a, Value)]
            fn = op.fn if hashable(op.fn) else None
            if fn in _DIFFERENCES and any(a in varied for a in op.args) and any(a in found for a in values):
                differences.update(op.results)
            elif fn is not None:
                _pass_on(op.results, values, linearity(fn) is None, differences, distances)
    return differences, distances


def _pass_on(
    results: Sequence[Operand],
    values: list[Operand],
    bent: bool,
    differences: set[Operand],
    distances: set[Operand],
) -> None:
    if values and distances.issuperset(values):
        distances.update(results)
    elif values and (differences | distances).issuperset(values):
        (distances if bent else differences).update(results)


_DIFFERENCES = (operator.sub, np.subtract)


def _found(graph: Graph, varied: Container[Value]) -> set[Operand]:
    """What the program reads out of attributes, items and variables, and computes from that alone."""
    found, given, size = set[Operand](), _given(graph), -1
    while size != len(found):
        size = len(found)
        for _, op in graph.ops():
            looks = hashable(op.fn) and op.fn in LOOK_UPS and op.args[0] in found
            own = (hashable(op.fn) and op.fn in _READS) or not found.isdisjoint(op.operands())
            found.update(r for r in op.results if (looks or (own and r not in varied)) and carries(r.type))
        for block in graph.blocks:
            end = block.terminator
            if isinstance(end, Iterate) and end.iterator in found:
                found.add(end.body.target.params[0])
        found.update(p for p, args in given.items() if p not in varied and not found.isdisjoint(args))
    return found


def _meeting(graph: Graph) -> Iterator[list[Operand]]:
    """The values that are one where paths meet, or the function ends."""
    yield [b.terminator.value for b in graph.blocks if isinstance(b.terminator, Return)]
    yield from _given(graph).values()


def _given(graph: Graph) -> dict[Value, list[Operand]]:
    """What parameters of blocks are."""
    given: dict[Value, list[Operand]] = {}
    for block in graph.blocks:
        for edge in block.edges():
            for param, arg in passed(block.terminator, edge):
                given.setdefault(param, []).append(arg)
    return given


def _gives_either(values: list[Operand], found: set[Operand], varied: Container[Value]) -> bool:
    return any(v in found for v in values) and any(v in varied for v in values)


def _check(op: Op, distances: set[Operand]) -> Op:
    if op.fn in ORDERS:
        at = 0 if op.args[0] in distances else 1
        return Op(Const(_Far(op, ORDERS[op.fn] == at)), [op.results[0], op.args[at]], [Value()], (), op.pos)
    return Op(Const(_Unequal(op)), [op.results[0], *op.args], [Value()], (), op.pos)
