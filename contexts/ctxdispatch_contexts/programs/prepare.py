"""The primal program as the adjoint transform wants it: types inferred, names resolved, calls inlined.

Rounds of infer -> fold -> prune -> inline until nothing is left to inline. Only calls that may carry a
derivative are inlined: any other runs natively, as it stands. A call that would inline a function into
itself, or too much, stays a call and is differentiated at run time (`calls.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.leaves import is_ours
from ctxdispatch.ir.prune import prune
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.ir.values import Const, Value
from ctxdispatch.ir.watching import is_undispatched, tell_apart
from ctxdispatch.passes import types as T
from ctxdispatch.passes.cells import open_cells
from ctxdispatch.passes.clashes import Found
from ctxdispatch.passes.dce import dce
from ctxdispatch.passes.fields import open_fields
from ctxdispatch.passes.fold import fold
from ctxdispatch.passes.guards import AttrIs, CodeIs, DefaultsAre, Guard, OfType
from ctxdispatch.passes.held import has_held, only_used, with_unset
from ctxdispatch.passes.infer import Variable, infer
from ctxdispatch.passes.snapshots import BEGIN, snapshot
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives.namespaces import is_of_ours
from ctxdispatch_contexts.programs.budget import steps
from ctxdispatch_contexts.programs.changes import sets_name
from ctxdispatch_contexts.programs.contained import may_be_contained
from ctxdispatch_contexts.programs.converting import converts
from ctxdispatch_contexts.programs.counts import spell_out_counts
from ctxdispatch_contexts.programs.derived import (
    chain_of,
    is_spelled_out,
    make_known,
    rewriting_of,
)
from ctxdispatch_contexts.programs.dispatched import open_dispatched, searched_type, stays, waits_for_types
from ctxdispatch_contexts.programs.forwarding import forward_stores
from ctxdispatch_contexts.programs.fusing import fuse_generators
from ctxdispatch_contexts.programs.inlining import (
    call_closure_made,
    call_method_made,
    find_makers,
    inline,
    inline_entry,
    inline_made,
    refuse_items_changed,
)
from ctxdispatch_contexts.programs.lifting import lifted
from ctxdispatch_contexts.programs.lookups import as_method, held_names, lookups
from ctxdispatch_contexts.programs.managers import open_managers
from ctxdispatch_contexts.programs.messages import leave_messages
from ctxdispatch_contexts.programs.misfits import end_where_raised, mark_misfits
from ctxdispatch_contexts.programs.objects import (
    construct,
    iterate_by_code,
    may_be_given,
    method_of_operator,
    open_partial,
    open_wrapper,
    set_by_code,
)
from ctxdispatch_contexts.programs.observed import expect, expecting
from ctxdispatch_contexts.programs.operands import make_arrays, make_lists
from ctxdispatch_contexts.programs.refusals import refusal_of
from ctxdispatch_contexts.programs.regions import may_run_later
from ctxdispatch_contexts.programs.replaced import open_replace
from ctxdispatch_contexts.programs.returns import Returns
from ctxdispatch_contexts.programs.ruled import hide_ruled
from ctxdispatch_contexts.programs.spelled_items import spell_out_items
from ctxdispatch_contexts.programs.spelled_namespaces import spell_out_namespaces
from ctxdispatch_contexts.programs.spelled_operators import (
    extends_list,
    plain_operator,
    spell_out_operator,
)
from ctxdispatch_contexts.programs.spelled_parts import spell_out_parts
from ctxdispatch_contexts.programs.spelled_removals import spell_out_removals
from ctxdispatch_contexts.programs.spelled_stores import spell_out_stores
from ctxdispatch_contexts.programs.spreading import open_arguments
from ctxdispatch_contexts.programs.targets import Target, callee_of, keep_promises, method_of
from ctxdispatch_contexts.programs.unrolling import unroll
from ctxdispatch_contexts.programs.versions import Versions
from ctxdispatch_contexts.programs.worth import is_worth_it, may_carry

MAX_OPS = 4000


@dataclass(eq=False)
class Prepared:
    """The graph, what it takes for granted, and which functions were inlined into which op."""

    graph: Graph
    guards: dict[Any, Guard] = field(default_factory=dict)
    chain: dict[Op, tuple[Any, ...]] = field(default_factory=dict)
    has_rule: Callable[[Any], bool] = bool
    returns: Returns = None  # type: ignore[assignment]
    """What is known of functions that stay calls."""
    return_type: T.Type = T.Any
    read: set[Any] = field(default_factory=set)
    """The names that were read off what arguments hold, also where constants took the place of that."""
    foreign: bool = False
    """Code that is not in the graph may change what the arguments hold."""
    changes: bool = False
    """Something may change while it runs, by such code or by stores into what is not its own."""
    unset: set[tuple[type, str]] = field(default_factory=set)
    """The attributes, by class, that objects which arguments hold must not have of their own."""
    untrusted: Set[Variable] = frozenset()
    """Variables: what one holds may be something else a moment later."""
    frozen: bool = False
    """Numbers that variables hold are constants: `infer`."""
    held: bool = True
    """What objects and containers in variables hold is taken for granted, too."""
    cells: dict[Value, Any] = field(default_factory=dict)
    """The function's own, by what stands for them in the graph."""
    maker: dict[Value, Op] = field(default_factory=dict)
    ruled: Any = None
    """The context whose rules come before everything."""
    whole: bool = True
    """Nothing has been inlined since the last round: what values are is seen, not hidden behind jumps."""
    looks_at_items: bool = False
    """Of a generator, all of which are made beforehand, what takes them looks at each."""
    patient: bool = True
    postponed: bool = False
    later: bool = False
    """The sweep is a call of its own, and anything may have changed by then."""
    promised: Set[Op] = frozenset()
    descents: int = 0
    """How often a call was met of a function that it is in."""
    clashes: Found = field(default_factory=dict)
    versions: Versions = field(default_factory=Versions)

    def opens(self, op: Op, entry: Any, program: Any) -> bool:
        """Whether the program of an entry is inlined: the context may know better."""
        opens = getattr(self.ruled, "ad_opens", None)
        own = opens is not None and not opens(entry, program)
        op.again = own and may_run_later(op, program, self.graph, self.later)
        return not op.again

    def keeps(self, callee: Any) -> bool:
        """Whether calls of `callee` stay as they are: the context knows what they mean."""
        keeps = getattr(self.ruled, "ad_keeps", None)
        return keeps is not None and bool(keeps(callee))

    def method(self, reading: Op) -> Target | None:
        """The function, and the object that goes before its arguments, of a method that `reading` reads."""
        return method_of(reading, self)

    def waits(self, op: Op) -> bool:
        """A lowering waits while types of the arguments may still be found out: there may be a rule for
        them."""
        waiting = self.patient and any(operand_type(a) is T.Any for a in op.args)
        self.postponed |= waiting
        return waiting

    def __post_init__(self) -> None:
        if self.returns is None:
            searched = functools.partial(searched_type, self)
            self.returns = Returns(
                lifted, self.assume, self.untrusted, searched, self._prepare,
                lambda f: self.has_rule(f) or self.keeps(f),
            )  # fmt: skip

    def _prepare(
        self, graph: Graph, types: Sequence[T.Type], cells: Sequence[Any], returns: Returns
    ) -> Prepared:
        """Another function that this program calls."""
        with expecting(False):
            return prepare(graph, types, cells, self.has_rule, self.untrusted, self.frozen, False, returns)

    def assume(self, guard: Guard) -> None:
        if _ours(guard):
            return
        self.guards.setdefault((type(guard), guard.key(), getattr(guard, "type", None)), guard)
        of_class = type(guard) is AttrIs and issubclass(type(guard.owner), type)
        if of_class and type(guard.value) is FunctionType:  # type: ignore[union-attr]
            self.assume_all(as_method(guard.owner, guard.name))  # type: ignore[union-attr]

    def settled(self) -> list[Guard]:
        """What it takes for granted; of what variables hold no more than what it reads."""
        return [
            replace(g, type=only_used(with_unset(g.type, self.unset), self.read))
            if isinstance(g, OfType) and has_held(g.type) else g
            for g in self.guards.values()
        ]  # fmt: skip

    def assume_all(self, guards: Iterable[Guard]) -> None:
        for guard in guards:
            self.assume(guard)


def prepare(
    graph: Graph, types: Sequence[T.Type], cells: Sequence[Any], has_rule: Callable[[Any], bool],
    untrusted: Set[Variable] = frozenset(), frozen: bool = False, held: bool = True,
    returns: Returns | None = None, later: bool = False,
) -> Prepared:  # fmt: skip
    """`graph` is changed in place. `has_rule(callee)`: leave its calls alone, they have a derivative.
    `untrusted`: the variables that change while it runs."""
    own = dict(zip(graph.cells, cells, strict=False))
    prepared = Prepared(
        graph, untrusted=untrusted, frozen=frozen, held=held, cells=own, has_rule=has_rule,
        returns=returns, later=later,  # type: ignore[arg-type]
    )  # fmt: skip
    prepared.ruled = getattr(has_rule, "__self__", None)
    snapshot(BEGIN, graph)
    open_cells(graph)
    snapshot("open cells", graph)
    for _ in steps(200):
        _infer(prepared, types, cells)
        changed = _round(prepared, has_rule) or (prepared.postponed and _round(prepared, has_rule, False))
        if not (changed or unroll(graph, prepared.chain) or _looks(prepared) or expect(graph)):
            break
        dce(graph, written=True)
        prune(graph)
        open_cells(graph)
        snapshot("dce, prune", graph)
    dce(graph, written=True)
    prune(graph)
    snapshot("dce, prune", graph)
    keep_promises(graph, prepared.promised)
    prepared.read |= held_names(graph)
    prepared.changes = prepared.foreign or any(sets_name(op) for _, op in graph.ops())
    if prepared.looks_at_items:
        refuse_items_changed(graph)
    return prepared


def _looks(prepared: Prepared) -> bool:
    """Whether to find out now which calls that stay are contained, where there are some."""
    returns = prepared.returns
    functions = (op.fn for _, op in prepared.graph.ops() if type(op.fn) is FunctionType)
    if returns.looks or not any(map(may_be_contained, functions)):
        return False
    returns.looks = True
    returns.known.clear()
    return True


def _round(prepared: Prepared, has_rule: Callable[[Any], bool], patient: bool = True) -> bool:
    """Whether something was inlined or spelled out. Not `patient`: nothing more is found out by waiting."""
    graph = prepared.graph
    prepared.patient, prepared.postponed = patient, False
    if unroll(graph, prepared.chain, prepared.clashes):
        snapshot("unroll", graph)
        return True
    if prepared.versions.split(graph, prepared.clashes, prepared.chain):
        snapshot("versions", graph)
        return True
    made = find_makers(prepared)
    if fuse_generators(prepared, has_rule) or open_managers(prepared, has_rule) or leave_messages(graph):
        snapshot("generators, messages", graph)
        return True
    changed = _rewrite_calls(prepared, made, has_rule)
    snapshot("inline", graph)
    prepared.assume_all(lookups(graph))
    if open_fields(graph):
        changed = True
        snapshot("open fields", graph)
    if forward_stores(graph):
        changed = True
        snapshot("forward stores", graph)
    if spell_out_counts(graph) | spell_out_namespaces(graph):
        changed = True
        snapshot("spell out counts and namespaces", graph)
    if spell_out_stores(graph) | spell_out_items(graph) | spell_out_removals(graph) | spell_out_parts(graph):
        changed = True
        snapshot("spell out stores, items, removals and parts", graph)
    return changed


def _infer(prepared: Prepared, types: Sequence[T.Type], cells: Sequence[Any]) -> None:
    graph, records = prepared.graph, getattr(prepared.ruled, "records", True)
    tell_apart(graph)
    inference = infer(
        graph, types, cells=cells, call_type=prepared.returns, trust=True, untrusted=prepared.untrusted,
        frozen=prepared.frozen, held=prepared.held, promises=True,
    )  # fmt: skip
    snapshot("infer", graph)
    prepared.returns.refuse_calls(graph)
    if records:
        end_where_raised(graph)
        mark_misfits(graph)
    prepared.read |= held_names(graph)
    if prepared.ruled is not None:
        hide_ruled(graph, prepared.ruled.ad_ruled)
    fold(graph, inference, wraps=getattr(prepared.ruled, "wraps", False))
    prune(graph)
    snapshot("fold, prune", graph)
    prepared.assume_all(inference.guards)
    prepared.unset |= inference.unset
    prepared.promised, prepared.clashes = inference.promised, inference.clashes if records else {}
    prepared.foreign, prepared.return_type = inference.foreign, inference.return_type


def _ours(guard: Guard) -> bool:
    """Names and code of this package do not change."""
    if isinstance(guard, (CodeIs, DefaultsAre)):
        return is_ours(guard.function.__module__)
    space = getattr(guard, "namespace", None)
    return space is not None and is_of_ours(space)


def _rewrite_calls(prepared: Prepared, made: dict[Value, Op], has_rule: Callable[[Any], bool]) -> bool:
    graph, changed = prepared.graph, False
    prepared.whole = True
    size = _size(graph)
    for block in list(graph.blocks):
        at: Block = block
        for op in list(block.ops):
            rest = _rewrite(prepared, at, op, made, has_rule) if size <= MAX_OPS else None
            if rest is not None:
                prepared.whole &= rest is at
                changed, at, size = True, rest, _size(graph)
    return changed


def _size(graph: Graph) -> int:
    return sum(len(block.ops) for block in graph.blocks)


def _rewrite(
    prepared: Prepared, block: Block, op: Op, made: dict[Value, Op], has_rule: Callable[[Any], bool]
) -> Block | None:
    """Rewrite one call; the block in which the ops after it stand now, or None when it is left alone."""
    plain_operator(op)
    if extends_list(prepared.graph, op):
        return block
    if prepared.keeps(op.fn):
        return block if open_arguments(prepared.graph, block, op) else None
    if is_spelled_out(op.fn) or is_undispatched(op.fn):
        return None
    if open_dispatched(prepared, block, op):
        return block
    if stays(op.fn) or waits_for_types(op):
        return None
    if open_partial(prepared, block, op) or open_wrapper(prepared.assume, block, op):
        return block
    if isinstance(op.callee, Value) and op.callee in made:
        return inline_made(prepared, block, op, made[op.callee])
    if open_arguments(prepared.graph, block, op) or _call_derivative(prepared, block, op):
        return block
    if (may_carry(op.args) or may_be_given(op, prepared.graph)) and construct(prepared, block, op):
        return block
    if may_carry(op.args) and (iterate_by_code(prepared, block, op) or set_by_code(prepared, op)):
        return block
    if may_carry(op.args) and spell_out_operator(prepared, block, op):
        return block
    if may_carry(op.args) and open_replace(prepared, block, op):
        return block
    if _refuse_conversion(prepared, op) or make_arrays(block, op) or make_lists(block, op):
        return block
    target = callee_of(op, prepared)
    if target is None or not is_worth_it(op, target):
        return None
    if has_rule(target.function):
        op.callee, op.args = Const(target.function), [*target.first, *op.args]
        return None
    if target.entry is not None:
        return None if prepared.waits(op) else inline_entry(prepared, block, op, target.entry)
    return inline(prepared, block, op, target)


def _refuse_conversion(prepared: Prepared, op: Op) -> bool:
    """Of an object, by C code (`converting.py`). True where something was changed."""
    if not converts(op, prepared.maker) or method_of_operator(prepared, op) is not None:
        return False
    op.callee, op.syntax = Const(refusal_of(op)), False
    return True


def _call_derivative(prepared: Prepared, block: Block, op: Op) -> bool:
    """Calls of `grad` and its like, and of what they make. True where something was changed."""
    made = make_known(op)
    if made is not None:
        block.ops.remove(op)
        substitute(prepared.graph, {op.result: Const(made)})
        return True
    spelled = rewriting_of(prepared, op)
    if spelled is not None and spelled(prepared, block, op):
        return True
    find = getattr(op.fn, "__entry_function__", None) if type(op.fn) is FunctionType else None
    if find is not None and not op.kwnames:
        op.callee = Const(find(len(op.args)))
        return True
    chain = chain_of(op.callee, prepared.maker)
    if chain is None or op.kwnames or not prepared.whole:
        return False
    if chain.making.fn is primitives.make_function:
        return call_closure_made(prepared, block, op, chain)
    method = prepared.method(chain.making)
    return method is not None and call_method_made(prepared, op, chain, method)
