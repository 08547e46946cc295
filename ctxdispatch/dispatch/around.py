"""Hooks around a call, as ops: those that a class overrides, and nothing for the others.

    %h = prehook; %c = %ctx; %s = f; %t = (%x,); %k = {}; %h(%c, %s, %t, %k)
    .. the call ..
    posthook(%ctx, %y, f, %t, %k)

They are called by the user's own code. In frame form what the hook is called with is loaded in the order of
the stack, so that nothing has to be moved.
"""

from __future__ import annotations

from typing import Any

from ctxdispatch.dispatch.overdub import seen
from ctxdispatch.dispatch.plan import Plan
from ctxdispatch.ir import frames, primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, Value

NOTHING = ()
"""In the place of arguments, or keywords, that no hook reads."""


class Around:
    """The hooks of a class with this plan. `ctx` is the operand that is the context."""

    def __init__(self, plan: Plan, ctx: Operand, framed: bool) -> None:
        self.before, self.after = plan.prehook, plan.posthook
        self.reads = plan.hooks_read
        self.ctx = ctx
        self.framed = framed

    def call(
        self, op: Op, itself: list[Op], callee: Operand | None = None, of_engine: bool = False
    ) -> list[Op]:
        """`itself`, what `op` became, between the hooks, which are told of `callee` (none given: what is
        called). `of_engine`: a context further in has found that."""
        plain = len(op.args) - len(op.kwnames)
        pairs = [o for name, value in zip(op.kwnames, op.args[plain:]) for o in (Const(name), value)]
        made: list[Op] = []
        args = self._packed(made, op, self.reads.args, primitives.build_tuple, op.args[:plain])
        kwargs = self._packed(made, op, self.reads.kwargs, primitives.build_map, pairs)
        return self._around(op, callee or op.callee, [args, kwargs], made, itself, of_engine)

    def call_ex(self, op: Op, itself: list[Op], of_engine: bool = False) -> list[Op]:
        """The same of f(*args, **kwargs), where `args` is a tuple."""
        callee, args, *keywords = op.args
        if keywords:
            return self._around(op, callee, [args, *keywords], [], itself, of_engine)
        made: list[Op] = []
        kwargs = self._packed(made, op, self.reads.kwargs, primitives.build_map, [])
        return self._around(op, callee, [args, kwargs], made, itself, of_engine)

    def _packed(self, made: list[Op], op: Op, read: bool, build: Any, operands: list[Operand]) -> Operand:
        """What hooks are given; what none of them reads is not made."""
        if not read:
            return Const(NOTHING)
        made.append(Op(Const(build), operands, [Value("given")], pos=op.pos, syntax=True))
        return made[-1].result

    def _around(
        self,
        op: Op,
        callee: Operand,
        given: list[Operand],
        packed: list[Op],
        itself: list[Op],
        of_engine: bool,
    ) -> list[Op]:
        """`packed` makes of the operands what hooks are `given`."""
        if self.before is None and self.after is None:
            return itself
        made: list[Op] = []
        if of_engine:
            shown = Value("seen")
            made.append(Op(Const(seen), [callee], [shown], pos=op.pos))
            callee = shown
        made += packed if self.before is None else self._prehook(op, callee, given, packed)
        made += itself
        if self.after is not None:
            operands = [self.ctx, *op.results, callee, *given]
            made.append(Op(Const(self.after), operands, [Value()], pos=op.pos))
        return made

    def _prehook(self, op: Op, callee: Operand, given: list[Operand], packed: list[Op]) -> list[Op]:
        hook = Const(self.before)
        if not self.framed:
            return [*packed, Op(hook, [self.ctx, callee, *given], [Value()], pos=op.pos)]
        first = [hook, self.ctx, callee]
        copies = [Value() for _ in first]
        loads = [self._load(op, operand, copy) for operand, copy in zip(first, copies)]
        call = Op(copies[0], [*copies[1:], *given], [Value()], pos=op.pos)
        call.bare = True
        return [*loads, *packed, call]

    def _load(self, op: Op, operand: Any, copy: Value) -> Op:
        return Op(Const(frames.load_constant), [operand], [copy], pos=op.pos, syntax=True)
