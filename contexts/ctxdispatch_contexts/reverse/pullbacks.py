"""How each kind of op is reversed. In the order in which they are asked:

    stores and containers      `containers.REVERSED`
    elementwise operations     `elementwise.reverse_elementwise`, from the derivative table
    structural rules           a vjp rule, inlined
    everything else            was replaced before the transform by a call that returns (y, pullback): `calls.py`
"""

from __future__ import annotations

from typing import Any

from ctxdispatch.ir.graph import Block, Const, Op, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch_contexts.derivatives.linear import spread
from ctxdispatch_contexts.derivatives.table import array_arguments, vjp_rule
from ctxdispatch_contexts.reverse import cotangents
from ctxdispatch_contexts.reverse.activity import STORES
from ctxdispatch_contexts.reverse.adjoint import Adjoint, cotangent_type, is_zero
from ctxdispatch_contexts.reverse.containers import INDEXED_BY, REVERSED
from ctxdispatch_contexts.reverse.elementwise import cast, leaf_class, reverse_elementwise, row_for, strict
from ctxdispatch_contexts.reverse.lazy import SUMS, arguments, reverse_sum
from ctxdispatch_contexts.reverse.rules import call_rule, infer_op, items_of, operand_type
from ctxdispatch_contexts.reverse.structure import Shape


def static_rule(op: Op, active: set[Value], *, certain: bool = True) -> Any:
    """The function (adjoint, op) that reverses `op`, decided on types alone; None: only run time can tell.

    With `certain` false this is run time: a structural rule then takes what it gets.
    """
    fn = op.fn
    handler = REVERSED.get(fn) if _hashable(fn) else None
    if handler is not None and handler.accepts(op):
        return handler.reverse
    if row_for(op) is not None:
        return _reverse_row
    if _hashable(fn) and fn in SUMS and arguments(op) is not None:
        return reverse_sum
    if _hashable(fn) and vjp_rule(fn) is not None and (_rule_applies(op) or not certain) and "out" not in op.kwnames:
        return _reverse_structural
    return None


def _rule_applies(op: Op) -> bool:
    """The arguments that the rule takes for arrays are arrays or numbers (or displays of such), and known to be."""
    arrays = op.args[: array_arguments(op.fn) or 1]
    return all(_array_like(operand_type(a)) for a in arrays)


def _array_like(type_: T.Type) -> bool:
    if isinstance(type_, T.Known) and isinstance(type_.value, str):
        return True  # the subscripts of an einsum
    if isinstance(type_, T.TupleOf):
        return all(map(_array_like, type_.items))
    if isinstance(type_, T.ListOf):
        return _array_like(type_.item)
    return leaf_class(type_) is not None


def _hashable(fn: Any) -> bool:
    try:
        hash(fn)
    except TypeError:
        return False
    return fn is not None


class Pullbacks:
    """`replaced` are the ops whose pullback is found at run time: op -> (pullback, operands it has cotangents for)."""

    def __init__(self, replaced: dict[Op, tuple[Value, list[Operand]]], before: dict[Op, Operand], shape: Shape, own: Op | None) -> None:
        self.own = own
        self.replaced = replaced
        self.before = before  # the length of a list before an append, by op
        self.indexed = _indexed_values(shape)
        self._lazy: dict[Value, None] = {}

    # -- the interface that Adjoint uses ------------------------------------------------------------------------

    def stores(self, op: Op, active: set[Value]) -> bool:
        """A store of an active value: to be reversed though it has no result."""
        fn = op.fn
        if not _hashable(fn) or fn not in STORES:
            return False
        target = op.args[STORES[fn]]
        return target in active

    def reverse_op(self, adjoint: Adjoint, op: Op) -> None:
        if op in self.replaced:
            self._reverse_call(adjoint, op)
            return
        rule = static_rule(op, adjoint.active, certain=op is not self.own)
        if rule is not None:
            rule(adjoint, op)

    def end_block(self, adjoint: Adjoint, block: Block) -> None:
        """Lazy cotangents do not leave the block they arose in: elsewhere they may meet others in a merge."""
        for value in self._lazy:
            bar = adjoint.bar(value)
            if adjoint.home[value] is not block or value in block.params:
                adjoint.set_bar(value, strict(adjoint, bar, value))
        self._lazy.clear()

    # -- helpers ------------------------------------------------------------------------------------------------

    def typed(self, adjoint: Adjoint, fn: Any, *args: Operand) -> Value:
        """Emit fn(*args), spelled as syntax, with the type that inference gives it."""
        value = adjoint.build.call(fn, *args, syntax=True)
        value.type = infer_op(adjoint.build.block.ops[-1])
        return value

    def mark_lazy(self, value: Operand) -> None:
        if isinstance(value, Value):
            self._lazy[value] = None

    def arrived(self, adjoint: Adjoint, value: Value) -> Operand:
        """bar(value), for the rule of the op that defines it."""
        bar = adjoint.bar(value)
        if is_zero(bar) or value not in self.indexed:
            return bar
        return adjoint.call(cotangents.whole, bar, adjoint.recall(value))

    def in_full(self, adjoint: Adjoint, value: Value) -> Operand:
        """bar(value) for a rule that looks at its shape."""
        bar = self.arrived(adjoint, value)
        if isinstance(bar, Value) and isinstance(value.type, T.ArrayOf) and self.may_be_scalar(adjoint, bar):
            return adjoint.call(cotangents.full, bar, adjoint.recall(value), type=value.type)
        return bar if is_zero(bar) else strict(adjoint, bar, value)

    is_zero = staticmethod(is_zero)

    @staticmethod
    def reverse_structural(adjoint: Adjoint, op: Op) -> None:
        _reverse_structural(adjoint, op)

    @staticmethod
    def may_be_scalar(adjoint: Adjoint, bar: Operand) -> bool:
        """A merge of cotangents, one of which may be the zero 0.0."""
        return bar in adjoint.build.variable_of

    def _reverse_call(self, adjoint: Adjoint, op: Op) -> None:
        pullback, operands = self.replaced[op]
        g = self.in_full(adjoint, op.results[0])
        if is_zero(g):
            return
        wanted = [(i, a) for i, a in enumerate(operands) if a in adjoint.active]
        given = adjoint.call(pull, adjoint.recall(pullback), g, Const(len(operands)))
        for i, operand in wanted:
            adjoint.add(operand, items_of(adjoint.build, given, i + 1)[i])

    @staticmethod
    def definite(adjoint: Adjoint, value: Value, cotangent: Operand) -> Operand:
        """Where cotangents add with `+` there is no None among them."""
        if isinstance(value.type, T.ArrayOf):
            return adjoint.call(cotangents.finish, cotangent, adjoint.recall(value), type=value.type)
        return adjoint.call(or_zero, cotangent, type=cotangent_type(value))


def pull(pullback: Any, g: Any, n: int) -> Any:
    """The pullback's n cotangents; where nothing arrived there is nothing to pull."""
    return (None,) * n if g is None else pullback(g)


def or_zero(cotangent: Any) -> Any:
    return 0.0 if cotangent is None else cotangent


def _reverse_row(adjoint: Adjoint, op: Op) -> None:
    g = adjoint.pullbacks.arrived(adjoint, op.result)
    row = row_for(op)
    if is_zero(g) or row is None:
        return
    if isinstance(g, Value) and g in adjoint.build.variable_of and isinstance(op.result.type, T.ArrayOf):
        g = adjoint.pullbacks.in_full(adjoint, op.result)
    reverse_elementwise(adjoint, op, row, g)
    for arg in op.args:
        if arg in adjoint.active and isinstance(operand_type(arg), T.ArrayOf):
            adjoint.pullbacks.mark_lazy(arg)


def _reverse_structural(adjoint: Adjoint, op: Op) -> None:
    g = adjoint.pullbacks.in_full(adjoint, op.result)
    if is_zero(g):
        return
    rule = vjp_rule(op.fn)
    assert rule is not None
    args = [g, adjoint.recall(op.result), *map(adjoint.recall, op.args)]
    given = call_rule(adjoint.build, rule, args, op.kwnames)
    count = len(op.args)
    for arg, cotangent in zip(op.args, items_of(adjoint.build, given, count), strict=True):
        if arg in adjoint.active and not (isinstance(cotangent, Const) and cotangent.value is None):
            adjoint.add(arg, _as_cotangent_of(adjoint, op, cotangent, arg))
            adjoint.pullbacks.mark_lazy(arg)


def _as_cotangent_of(adjoint: Adjoint, op: Op, cotangent: Operand, arg: Operand) -> Operand:
    """A structural rule's cotangent has the shape of its argument; its dtype is made so here."""
    cotangent = _without_spread(adjoint, cotangent)
    mine, now = operand_type(arg), operand_type(cotangent)
    if not isinstance(cotangent, Value) or not isinstance(mine, (T.ArrayOf, T.Exact)):
        return cotangent
    if isinstance(now, T.ArrayOf) and isinstance(mine, T.ArrayOf):
        return cotangent if now.dtype == mine.dtype else cast(adjoint, cotangent, mine, now)
    if now is not T.Any or leaf_class(mine) is None:
        return cotangent
    if _one_dtype(op):
        cotangent.type = mine
        return cotangent
    return adjoint.call(cotangents.project, cotangent, adjoint.recall(arg), type=mine)


def _one_dtype(op: Op) -> bool:
    """All arrays of `op` and its result are of one dtype: then so are the cotangents."""
    found = {getattr(operand_type(a), "dtype", None) for a in (*op.args, op.result)} - {None}
    kinds = all(leaf_class(operand_type(a)) not in (int, bool, float, complex) for a in op.args)
    return len(found) == 1 and kinds and isinstance(operand_type(op.result), T.ArrayOf)


def _without_spread(adjoint: Adjoint, cotangent: Operand) -> Operand:
    """spread(g, shape, dtype) is g, lazily."""
    ops = adjoint.build.block.ops
    if ops and cotangent in ops[-1].results and ops[-1].fn is spread and operand_type(ops[-1].args[0]) is not T.Any:
        return ops.pop().args[0]
    return cotangent


def _indexed_values(shape: Shape) -> set[Value]:
    """Values of which parts are read: their cotangents are collected entry by entry. Of arrays only those that a loop
    reads parts of; elsewhere the derivative table has the cheaper rule."""
    found: set[Value] = set()
    for block, op in shape.graph.ops():
        fn = op.fn
        if _hashable(fn) and fn in INDEXED_BY and isinstance(op.args[0], Value):
            if not isinstance(op.args[0].type, T.ArrayOf) or shape.loop(block) is not None:
                found.add(op.args[0])
    return found
