"""Calls whose pullback is found at run time.

    before    %y = f(%a, %b)
    after     %t = call_f(%a, %b);  %y, %pullback = unpack(%t, 2)       and in the sweep: %pullback(bar(%y))

`call_f` is an entry (see `entry.py`) for this callee, which specialises itself on the types it meets. A
callee without Python code and without a rule is replaced by its refusal.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Sequence
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.facts import DICT_VIEWS, INPLACE, READS
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.ir.wrappers import called
from ctxdispatch.passes import types as T
from ctxdispatch.passes.snapshots import snapshot
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives.table import elementwise, lowering, vjp_rule
from ctxdispatch_contexts.programs.activity import STORES, is_flat, sets_entry
from ctxdispatch_contexts.programs.aliases import Objects, Sites
from ctxdispatch_contexts.programs.changes import may_rebind
from ctxdispatch_contexts.programs.contained import contained_with
from ctxdispatch_contexts.programs.derived import entry_of, is_found_at_run_time, makes_derivatives
from ctxdispatch_contexts.programs.entry_keys import HOLE
from ctxdispatch_contexts.programs.errors import (
    DerivativeError,
    Ending,
    MissingRuleError,
    MutationError,
    Refusal,
    Refusing,
    described,
)
from ctxdispatch_contexts.programs.hashed import is_hashed
from ctxdispatch_contexts.programs.left_stores import tell_stores
from ctxdispatch_contexts.programs.lifting import lifted
from ctxdispatch_contexts.programs.misfits import Misfit
from ctxdispatch_contexts.programs.objects import unpacked
from ctxdispatch_contexts.programs.refusals import (
    REMEDY,
    UNSEEN,
    looks_at_frame,
    missing_message,
    mutation_message,
    refusal_of,
    refusal_of_frame,
    store_name,
    unknown_message,
)
from ctxdispatch_contexts.programs.refusing import finds_at_run_time, refuse_early
from ctxdispatch_contexts.programs.ruled import Ruled
from ctxdispatch_contexts.reverse import containers, stores
from ctxdispatch_contexts.reverse.containers import REVERSED
from ctxdispatch_contexts.reverse.pullbacks import static_rule
from ctxdispatch_contexts.reverse.stale import stale_stores
from ctxdispatch_contexts.reverse.structure import Shape

Entries = Callable[[Any, tuple[Any, ...], tuple[str, ...], tuple[int, ...] | None], Any]
"""entries(callee, template, keyword names, wrt): the entry for such calls; callee None where it is the
entry's own first argument. The template has a literal, or HOLE for an argument of the entry, per argument of
the call. `wrt`: the arguments of the entry whose cotangents are asked for, None for all."""


class Instrumented:
    """What `instrument` found: `replaced` and `before` as `Pullbacks` wants them."""

    def __init__(self) -> None:
        self.replaced: dict[Op, tuple[Value, list[Operand]]] = {}
        self.before: dict[Op, Operand] = {}
        self.keywords: set[Op] = set()
        self.contained: set[Op] = set()
        self.callees: dict[Op, Op] = {}  # the calls as they were


def instrument(
    shape: Shape, active: set[Value], entries: Entries, own: Op | None, kept: Container[Op] = (), *,
    early: bool = False,
) -> Instrumented:  # fmt: skip
    """Replace, in place, every active op that has no static rule, and those of `kept`. `own` is the one call
    of an entry made for it: if that is still there, nothing more will be found out about it later. `early`:
    raise where every run comes by what is refused."""
    found = _instrumented(shape, active, entries, own, kept)
    snapshot("instrument", shape.graph)
    if early:
        refuse_early(shape.graph)
    return found


def _instrumented(
    shape: Shape, active: set[Value], entries: Entries, own: Op | None, kept: Container[Op]
) -> Instrumented:
    """What only leads to an exception (the message of an assertion) may look at what it likes."""
    found = Instrumented()
    for block in shape.graph.blocks:
        for op in list(block.ops):
            if looks_at_frame(op) and block in shape.live:
                op.callee = Const(refusal_of_frame(op))
                continue
            unpacks = op.fn in primitives.UNPACKING and active.intersection(op.results)
            if unpacks and static_rule(op, active) is None:
                op = _unpack_items(block, op, active)
            if is_hashed(op, active.__contains__) and (_depends(op, active) or op.fn in STORES):
                op.callee = Const(refusal_of(op))
            elif op.fn in _APPENDS and op.args[0] in active:
                _remember_length(block, op, found)
            elif op in kept and op is not own:
                _replace(block, op, active, entries, own, found)
            elif _depends(op, active) and static_rule(op, active, certain=op is not own) is None:
                _replace(block, op, active, entries, own, found)
            elif sets_entry(op):
                if op.args[0] in active:
                    _remember(block, op, found)
            elif op.fn in (operator.add, operator.mul, operator.getitem) and not active.isdisjoint(
                op.results
            ):
                _remember(block, op, found)
    return found


def _depends(op: Op, active: set[Value]) -> bool:
    """An active result that comes of active operands; one that is stored to later may come of none."""
    if isinstance(op.fn, (Ending, Unless)) or is_flat(op):
        return False
    return not active.isdisjoint(op.results) and not active.isdisjoint(op.operands())  # type: ignore[arg-type]


def _remember(block: Block, op: Op, found: Instrumented) -> None:
    """What the sweep asks of a list that may have changed by then: which item was read, how long it was."""
    sequences = [a for a in op.args if T.cls_of(operand_type(a)) in (list, tuple)]
    if (
        op.fn in (operator.getitem, operator.setitem)
        and T.cls_of(operand_type(op.args[0])) is list
        and not _is_position(op.args[1])
    ):
        type_ = T.Exact({int: int, slice: range}.get(T.cls_of(operand_type(op.args[1])), object))  # type: ignore[arg-type]
        added = Op(
            Const(containers.position),
            list(op.args[:2]),
            [Value("at", type_ if type_.cls is not object else T.Any)],
            (),
            op.pos,
        )
    elif op.fn in (operator.add, operator.mul) and sequences:
        added = Op(Const(len), sequences[:1], [Value("n", T.Exact(int))], (), op.pos)
    else:
        return
    block.ops.insert(_index(block, op) + 1, added)
    found.before[op] = added.result


def _is_position(index: Operand) -> bool:
    return isinstance(index, Const) and type(index.value) is int and index.value >= 0


_APPENDS = (primitives.list_append, primitives.list_extend, list.append, list.extend)


def _remember_length(block: Block, op: Op, found: Instrumented) -> None:
    length = Value("n", T.Exact(int))
    block.ops.insert(_index(block, op), Op(Const(len), [op.args[0]], [length], (), op.pos))
    found.before[op] = length


def _unpack_items(block: Block, op: Op, active: set[Value]) -> Op:
    """Unpack what only run time knows in two steps: its items as a tuple, by a call that is returned, and
    these."""
    items = Value("items", T.Exact(tuple))
    active.add(items)
    source, before, *after = op.args
    call = Op(Const(unpacked), [source, before, *(after or [Const(None)])], [items], (), op.pos)
    block.ops.insert(_index(block, op), call)
    op.callee, op.args = Const(primitives.unpack), [items, Const(len(op.results))]
    return call


def _index(block: Block, op: Op) -> int:
    return next(i for i, other in enumerate(block.ops) if other is op)


# -- mutation ------------------------------------------------------------------------------------------------


def refuse_lost_stores(
    graph: Graph, found: stores.LostStores, inner: bool, followed: Container[Op] = ()
) -> list[Op]:
    """Refuse stores of differentiated data that the sweep would not see; those `followed` it does. `inner`:
    this is a call's program, and its caller goes on with the objects that it stores to; else later runs are
    told of them. The result: calls that may do such a thing, to be looked into when they are made."""
    kept: list[Op] = []
    for block, op in list(graph.ops()):
        if op in followed:
            continue
        if found.gives_address(op):
            _refuse(op, MissingRuleError, missing_message(op))
        elif found.lost(op):
            _refuse(op, MutationError, mutation_message(op))
        elif inner and found.changes_callers_array(op):
            refusal = Refusal(MutationError, mutation_message(op), op)
            _refuse_unless(np.ndarray, refusal, block, op)  # a number's `+=` is differentiated as it is
        elif found.kept(op):
            if found.objects.runs_method(op):
                _refuse(op, MutationError, mutation_message(op))
            else:
                kept.append(op)
    if not inner:
        tell_stores(graph, found.varied, found.objects)
    return kept


def refuse_stale_stores(
    graph: Graph, objects: Objects, changing: Sequence[tuple[Op, Sites]], reads: list[tuple[Operand, Op]]
) -> None:
    """Refuse stores into what the sweep reads later."""
    stale = stale_stores(graph, objects, changing, reads)
    for block, store in [(block, op) for block, op in graph.ops() if op in stale]:
        refusal = Refusal(MutationError, stale_message(store, stale[store]), store)
        if may_rebind(store):
            _refuse_unless((np.ndarray, list), refusal, block, store)
        else:
            store.callee, store.syntax = Const(refusal), False


def _refuse_unless(classes: Any, refusal: Refusal, block: Block, op: Op) -> None:
    """`op` stays, but is refused where its first operand is of these classes."""
    check = Op(Const(Unless(classes, refusal)), list(op.args), [], (), op.pos)
    block.ops.insert(_index(block, op), check)


class Unless(Refusing):
    """Refuses where its first argument is an instance of these classes."""

    def __init__(self, classes: Any, refusal: Refusal) -> None:
        self.classes, self.refusal = classes, refusal
        self.__name__ = "check"

    def __call__(self, *args: Any) -> None:
        if isinstance(args[0], self.classes):
            self.refusal(*args)


def stale_message(store: Op, reader: Op) -> str:
    if store.fn is None or finds_at_run_time(store.fn):
        return (
            f"{UNSEEN} may change data ({{operands}}) in place that the derivative of line {_line(reader)} "
            "still needs as it was; write the calls out one by one, of functions that the program knows"
        )
    return (
        f"{store_name(store)} changes data ({{operands}}) in place that the derivative of line "
        f"{_line(reader)} still needs as it was; store into a copy (`x = x.copy()`) made before"
    )


def _line(op: Op) -> Any:
    return op.pos.line if op.pos is not None else "?"


def _refuse(op: Op, error: type[DerivativeError], message: str) -> None:
    op.callee = Const(Refusal(error, message, op))
    op.syntax = False


# -- calls ---------------------------------------------------------------------------------------------------


def _replace(
    block: Block, op: Op, active: set[Value], entries: Entries, own: Op | None, found: Instrumented
) -> None:
    fn = op.fn
    if type(fn) is FunctionType and fn not in REVERSED and (reason := _unsupported(fn)):
        _refuse(op, DerivativeError, reason)
        return
    if type(fn) is FunctionType and op is own:
        op.callee = Const(Misfit(fn, Refusal(MissingRuleError, missing_message(op), op)))
        return
    if op is own or (fn is not None and not _at_run_time(fn) and not _uncertain(op, active)):
        _refuse(op, MissingRuleError, missing_message(op))
        return
    operands, entry = _entry_for(op, active, entries)
    was = Op(op.callee, list(op.args), list(op.results), op.kwnames)
    pair, pullback = Value("pair"), Value("pullback")
    call = Op(Const(entry), operands, [pair], (), op.pos)
    opening = Op(Const(primitives.unpack), [pair, Const(2)], [op.results[0], pullback], (), op.pos, True)
    at = _index(block, op)
    block.ops[at : at + 1] = [call, opening]
    call.contained = contained_with(op, operands)
    if op.contained is not None:
        found.contained.add(opening)
    found.replaced[opening] = (pullback, operands)
    found.callees[opening] = was
    if op.kwnames:
        found.keywords.add(opening)


def _uncertain(op: Op, active: set[Value]) -> bool:
    """At run time it may turn out that no argument of `op` carries a derivative."""
    return all(operand_type(a) is T.Any for a in op.args if a in active)


def _entry_for(op: Op, active: set[Value], entries: Entries) -> tuple[list[Operand], Any]:
    """The entry for `op` and the operands it takes: literals are part of the entry, not among its
    arguments."""
    if op.fn is None:
        return list(op.operands()), entries(None, tuple(HOLE for _ in op.args), op.kwnames, None)
    template = tuple(a.value if isinstance(a, Const) and T.is_literal(a.value) else HOLE for a in op.args)
    operands = [a for a, t in zip(op.args, template, strict=True) if t is HOLE]
    wrt = tuple(i for i, a in enumerate(operands) if a in active)
    return operands, entries(op.fn, template, op.kwnames, wrt if len(wrt) < len(operands) else None)


def _at_run_time(fn: Any) -> bool:
    """Types that are known only then may decide: there is Python code, or a rule."""
    if isinstance(fn, Ruled):
        return True
    if issubclass(type(fn), (FunctionType, MethodType, type)) or not callable(fn):
        return True
    if not hashable(fn):
        return True
    known = elementwise(fn) or vjp_rule(fn) or lowering(fn) or fn in _STRUCTURAL
    return bool(known) or called(type(fn)) is not None or _is_partial(fn)


def _unsupported(fn: FunctionType) -> str:
    """Why a Python function cannot be read, or nothing. One that has a rule need not be."""
    if entry_of(fn) is not None or is_found_at_run_time(fn) or vjp_rule(fn) is not None:
        return ""
    if makes_derivatives(fn):
        return unknown_message(fn)
    try:
        lifted(fn)
    except UnsupportedSyntax as error:
        return f"{described(fn)} cannot be differentiated: {error}; or {REMEDY}".replace("{", "{{").replace(
            "}", "}}"
        )
    return ""


def _is_partial(fn: Any) -> bool:
    return type(fn).__name__ == "partial"


_STRUCTURAL = frozenset({
    *READS, *DICT_VIEWS[1:], iter, enumerate, zip, reversed, list, tuple,
    primitives.unpack, primitives.unpack_ex, primitives.call_ex, *INPLACE, *INPLACE.values(),
})  # fmt: skip
