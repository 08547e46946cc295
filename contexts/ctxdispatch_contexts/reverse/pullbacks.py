"""How each kind of op is reversed. In the order in which they are asked:

stores and containers      `containers.REVERSED`
elementwise operations     `elementwise.reverse_elementwise`, from the derivative table
structural rules           a vjp rule, inlined
everything else            was replaced before the transform by a call that returns (y, pullback):
                           `calls.py`
"""

from __future__ import annotations

import operator
from collections.abc import Set
from typing import Any

from ctxdispatch.ir.graph import Block, Op
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives.table import linearity
from ctxdispatch_contexts.programs.activity import STORES, is_flat
from ctxdispatch_contexts.programs.changes import out_of
from ctxdispatch_contexts.programs.errors import DerivativeError, Ending, user_position
from ctxdispatch_contexts.programs.followed import Followed
from ctxdispatch_contexts.programs.operands import may_apply, row_for, rule_of
from ctxdispatch_contexts.programs.primitive import Primitive
from ctxdispatch_contexts.reverse import cotangents, fitting, releasing
from ctxdispatch_contexts.reverse.adjoint import Adjoint
from ctxdispatch_contexts.reverse.bars import cotangent_type, is_zero
from ctxdispatch_contexts.reverse.containers import INDEXED_BY, REVERSED
from ctxdispatch_contexts.reverse.elementwise import fit, is_lazy, reverse_elementwise, strict
from ctxdispatch_contexts.reverse.lazy import SUMS, arguments, reverse_sum
from ctxdispatch_contexts.reverse.masks import ONE
from ctxdispatch_contexts.reverse.structural import reverse_structural
from ctxdispatch_contexts.reverse.structure import Shape
from ctxdispatch_contexts.reverse.symmetric import gradient_of, reverse_gradient
from ctxdispatch_contexts.reverse.through import masks_through


def static_rule(op: Op, active: set[Value], *, certain: bool = True) -> Any:
    """The function (adjoint, op) that reverses `op`, decided on types alone; None: only run time can tell.

    With `certain` false this is run time: a structural rule then takes what it gets.
    """
    fn = op.fn
    handler = REVERSED.get(fn) if hashable(fn) else None
    if handler is not None and handler.accepts(op):
        return handler.reverse
    if isinstance(fn, Primitive):
        return fn.reverse
    if row_for(op) is not None:
        return _reverse_row
    if gradient_of(op) is not None:
        return reverse_gradient
    if hashable(fn) and fn in SUMS and arguments(op) is not None:
        return reverse_sum
    if rule_of(op) is not None and may_apply(op, certain) and out_of(op) is None:
        return reverse_structural
    return None


def is_handled(op: Op) -> bool:
    """It builds, reads or changes a container or an object."""
    handler = REVERSED.get(op.fn) if hashable(op.fn) else None
    return handler is not None and handler.accepts(op)


def only_reads(op: Op, active: set[Value]) -> bool:
    """A rule reverses it, and it makes no container."""
    return not is_handled(op) and static_rule(op, active) is not None


class Pullbacks:
    """`replaced` are the ops whose pullback is found at run time: op -> (pullback, operands it has cotangents
    for)."""

    def __init__(
        self,
        replaced: dict[Op, tuple[Value, list[Operand]]],
        before: dict[Op, Operand],
        shape: Shape,
        followed: Followed,
        own: Op | None,
        keywords: Set[Op] = frozenset(),
        contained: Set[Op] = frozenset(),
    ) -> None:
        self.own = own
        self.followed = followed.stores  # their targets have shadows
        self.replaced = replaced
        self.keywords = keywords  # those of them that are called with keyword arguments
        self.contained = contained  # and those that are `Op.contained`: so is the call of the pullback
        self.before = before  # the length of a list before an append, by op
        self.indexed = {v for v in _indexed_values(shape) if followed.root(v) is None}
        self._lazy: dict[Value, None] = {}

    # -- the interface that Adjoint uses ---------------------------------------------------------------------

    def stores(self, op: Op, active: set[Value]) -> bool:
        """A store of an active value: to be reversed though it has no result."""
        if op in self.followed:
            return True
        fn = op.fn
        if not hashable(fn) or fn not in STORES:
            return False
        target = op.args[STORES[fn]]
        return target in active

    def reverse_op(self, adjoint: Adjoint, op: Op) -> None:
        if op in self.followed:
            adjoint.shadows.reverse_store(adjoint, op)
            return
        if op in self.replaced:
            self._reverse_call(adjoint, op)
            return
        rule = static_rule(op, adjoint.active, certain=op is not self.own)
        if rule is not None:
            rule(adjoint, op)
        elif not (isinstance(op.fn, Ending) or is_flat(op)) and self._passes_on(adjoint, op):
            raise AssertionError(f"{op} is neither ruled nor replaced: its cotangent would be lost")

    def reverse_mask(self, adjoint: Adjoint, op: Op) -> None:
        """The masks of the operands of `op`, which has been reversed."""
        if op in self.followed:
            adjoint.shadows.reverse_store(adjoint, op)
        elif isinstance(op.fn, Primitive) and op.fn.pointwise:
            _mask_pointwise(adjoint, op)
        elif op in self.replaced and adjoint.masks.flows(op):
            masks = self._masks_through(adjoint, op)
            for i, operand in enumerate(self.replaced[op][1]):
                if operand in adjoint.masks.values:
                    adjoint.add(operand, _item(adjoint, masks, i))
        elif adjoint.masks.flows(op):
            rule = static_rule(op, adjoint.active)
            assert rule is not None
            rule(adjoint, op)
        elif not op.results or any(not is_zero(adjoint.bar(r)) for r in op.results):
            for operand in adjoint.masks.operands(op):
                if operand in adjoint.masks.values:
                    adjoint.add(operand, adjoint.ones(operand))

    @staticmethod
    def _passes_on(adjoint: Adjoint, op: Op) -> bool:
        return not is_zero(adjoint.bar(op.results[0])) and not adjoint.active.isdisjoint(op.operands())  # type: ignore[arg-type]

    def end_block(self, adjoint: Adjoint, block: Block) -> None:
        """Lazy cotangents do not leave the block they arose in: elsewhere they may meet others in a merge."""
        for _ in adjoint.passes():
            for value in self._lazy:
                if value in self.indexed or adjoint.shadows.has(value):
                    continue  # its cotangent is collected in an array of its own
                bar = adjoint.bar(value)
                if adjoint.home[value] is not block or value in block.params:
                    adjoint.set_bar(value, bar if is_zero(bar) else strict(adjoint, bar, value))
        self._lazy.clear()

    # -- helpers ---------------------------------------------------------------------------------------------

    def mark_lazy(self, value: Operand) -> None:
        if isinstance(value, Value):
            self._lazy[value] = None

    @staticmethod
    def full_for_sum(adjoint: Adjoint, value: Value, old: Operand, cotangent: Operand) -> Operand:
        """Of two terms one at least has the shape of `value`; a merge may be the zero 0.0."""
        merges = adjoint.build.variable_of
        if not (is_lazy(old, value) or old in merges):
            return cotangent
        if cotangent in merges and not is_lazy(cotangent, value):
            return adjoint.call(fitting.full, cotangent, adjoint.shaped(value), type=value.type)
        return strict(adjoint, cotangent, value)

    def arrived(self, adjoint: Adjoint, value: Value) -> Operand:
        """bar(value), for the rule of the op that defines it."""
        bar = adjoint.bar(value)
        if is_zero(bar) or value not in self.indexed:
            return bar
        return adjoint.call(cotangents.whole, bar, adjoint.shaped(value))

    def in_full(self, adjoint: Adjoint, value: Value) -> Operand:
        """bar(value) for a rule that looks at its shape."""
        bar = self.arrived(adjoint, value)
        merges = isinstance(value.type, T.ArrayOf) and self.may_be_scalar(adjoint, bar)
        # a number that the primal has left is among the variables, too: `tidy` finds no zero there
        if merges and not (value in self._lazy and is_lazy(bar, value)):
            return adjoint.call(fitting.full, bar, adjoint.shaped(value), type=value.type)
        return bar if is_zero(bar) else strict(adjoint, bar, value)

    is_zero = staticmethod(is_zero)

    @staticmethod
    def reverse_structural(adjoint: Adjoint, op: Op) -> None:
        reverse_structural(adjoint, op)

    @staticmethod
    def may_be_scalar(adjoint: Adjoint, bar: Operand) -> bool:
        """A merge of cotangents, one of which may be the zero 0.0."""
        return bar in adjoint.build.variable_of

    def _reverse_call(self, adjoint: Adjoint, op: Op) -> None:
        pullback, operands = self.replaced[op]
        adjoint.reads += [(operand, op) for operand in operands]
        g = self.in_full(adjoint, op.results[0])
        if is_zero(g):
            return
        wanted = [(i, a) for i, a in enumerate(operands) if a in adjoint.active]
        if cotangent_type(op.results[0]) is T.Any:
            given = adjoint.call(pull, adjoint.recall(pullback), g, Const(len(operands)))
        else:  # it is no None
            given = adjoint.call(adjoint.recall(pullback), g)
        if op in self.contained:
            adjoint.build.block.ops[-1].contained = ()
        masks = self._masks_through(adjoint, op) if op in adjoint.masks.poles else None
        for i, operand in wanted:
            item = _item(adjoint, given, i)
            if masks is not None:
                item = adjoint.call(cotangents.kept, item, _item(adjoint, masks, i))
            adjoint.add(operand, adjoint.call(supplied, item) if op in self.keywords else item)

    def _masks_through(self, adjoint: Adjoint, op: Op) -> Operand:
        """Those of the operands of a call of which only run time knows the types. What a rule is linear in,
        or goes element by element, does not depend on the values of the result."""
        call, y, row = adjoint.masks.calls[op], op.results[0], adjoint.masks.row(op)
        by_form = not any(row.picks) if row is not None else linearity(call.fn) is not None
        masking, adjoint.masking = adjoint.masking, True
        mask = self.in_full(adjoint, y)
        adjoint.masking = masking
        result = adjoint.shaped(y) if by_form else adjoint.recall(y)
        places = _places(self.replaced[op][1], call.args)
        given = [Const(call.fn), Const(call.kwnames), Const(places), mask, result]
        return adjoint.call(masks_through, *given, *map(adjoint.shaped, call.args))

    @staticmethod
    def definite(adjoint: Adjoint, value: Value, cotangent: Operand) -> Operand:
        """Where cotangents add with `+` there is no None among them."""
        if isinstance(value.type, T.ArrayOf):
            return adjoint.call(releasing.finish, cotangent, adjoint.shaped(value), type=value.type)
        return adjoint.call(or_zero, cotangent, type=cotangent_type(value))


def _item(adjoint: Adjoint, items: Operand, i: int) -> Value:
    return adjoint.call(operator.getitem, items, Const(i), syntax=True, type=T.Any)


def _places(operands: list[Operand], args: list[Operand]) -> tuple[int, ...]:
    """Where in `args` each of the operands is: all of them but for literals."""
    rest = iter(enumerate(args))
    return tuple([next(i for i, arg in rest if arg is operand) for operand in operands])


def _mask_pointwise(adjoint: Adjoint, op: Op) -> None:
    mask = adjoint.pullbacks.arrived(adjoint, op.result)
    for arg in op.args:
        if arg in adjoint.masks.values and not is_zero(mask):
            adjoint.add(arg, mask if mask is ONE else fit(adjoint, mask, arg, op.result))


def pull(pullback: Any, g: Any, n: int) -> Any:
    """The pullback's n cotangents; where nothing arrived there is nothing to pull."""
    return (None,) * n if g is None else pullback(g)


def supplied(cotangent: Any) -> Any:
    """What a rule gave for an argument that it may have forgotten."""
    if type(cotangent) is cotangents.Missing:
        raise DerivativeError(
            f"the pullback of the rule for {cotangent.rule} gave no cotangent for a differentiated keyword "
            "argument; give one per argument, those of keyword arguments last, or pass the argument by "
            "position",
            user_position(),
        )
    return cotangent


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


def _indexed_values(shape: Shape) -> set[Value]:
    """Values of which parts are read: their cotangents are collected entry by entry. Of arrays only those
    that a loop reads parts of; elsewhere the derivative table has the cheaper rule."""
    found: set[Value] = set()
    for block, op in shape.graph.ops():
        fn = op.fn
        if not (hashable(fn) and fn in INDEXED_BY and isinstance(op.args[0], Value)):
            continue
        if not isinstance(op.args[0].type, T.ArrayOf) or shape.loop(block) is not None:
            found.add(op.args[0])
    return found
