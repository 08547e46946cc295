"""Puts the stages together: primal -> prepared -> normalised -> adjoint -> optimised -> one program or two.

    joint   one function: the primal, the seed 1.0, the sweep; returns what `grad` or `value_and_grad` give
    split   the primal returns (y, pullback); the pullback is the sweep, its residuals bound to it

Both come of one graph. The split is a cut at the op `cut` that stands for the seed: what is live across it
are the residuals (`splitting.py`).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Op, Return
from ctxdispatch.ir.rewrite import definitions
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.held import only_used
from ctxdispatch.passes.snapshots import snapshot
from ctxdispatch_contexts.programs import apart, budget, messages
from ctxdispatch_contexts.programs.activity import active_values, carries, varied_values
from ctxdispatch_contexts.programs.apart import Strangers
from ctxdispatch_contexts.programs.arguments import check_argument, check_memory, check_value
from ctxdispatch_contexts.programs.by_code import refuse_items_by_code
from ctxdispatch_contexts.programs.followed import Followed, is_array, name_updates, parts, whole
from ctxdispatch_contexts.programs.following import Stored, find_followed, stores_numbers
from ctxdispatch_contexts.programs.kinds import out_of_sight
from ctxdispatch_contexts.programs.left_stores import keep_given, stored_to
from ctxdispatch_contexts.programs.methods import join_methods
from ctxdispatch_contexts.programs.mode import Mode, Program, recording
from ctxdispatch_contexts.programs.operands import numeric
from ctxdispatch_contexts.programs.optimise import loosen, optimise
from ctxdispatch_contexts.programs.other_names import Leaving
from ctxdispatch_contexts.programs.regions import Attempt, Region, no_region
from ctxdispatch_contexts.programs.sizes import has_compiler
from ctxdispatch_contexts.programs.spelled_stores import spell_out_products
from ctxdispatch_contexts.programs.trusting import prepare_trusting
from ctxdispatch_contexts.reverse import fitting, releasing
from ctxdispatch_contexts.reverse.adjoint import Adjoint
from ctxdispatch_contexts.reverse.bars import NONE, ZERO, is_zero
from ctxdispatch_contexts.reverse.calls import Entries, instrument, refuse_lost_stores, refuse_stale_stores
from ctxdispatch_contexts.reverse.elementwise import strict
from ctxdispatch_contexts.reverse.fusing import fuse_if_large
from ctxdispatch_contexts.reverse.iterators import refuse_shared_iterators
from ctxdispatch_contexts.reverse.last import skip_last
from ctxdispatch_contexts.reverse.masks import Masks
from ctxdispatch_contexts.reverse.overwritten import Overwritten
from ctxdispatch_contexts.reverse.peephole import improve
from ctxdispatch_contexts.reverse.primal import COTANGENTS
from ctxdispatch_contexts.reverse.pullbacks import Pullbacks, is_handled, only_reads
from ctxdispatch_contexts.reverse.seeds import (
    check_cotangent,
    scalar_seed,
    signature_of,
    value_of_pair,
)
from ctxdispatch_contexts.reverse.shadows import Shadows
from ctxdispatch_contexts.reverse.splitting import cut, split
from ctxdispatch_contexts.reverse.stores import LostStores
from ctxdispatch_contexts.reverse.structure import Shape, normalise
from ctxdispatch_contexts.reverse.tidy import tidy


@dataclass(frozen=True)
class ReverseMode(Mode):
    """What the program returns. `wrt`: indices of the parameters to differentiate with respect to, None for
    all."""

    wrt: tuple[int, ...] | None = None
    split: bool = True
    value: bool = False
    has_aux: bool = False
    single: bool = False  # one gradient, not a tuple of them
    checked: bool = False  # the pullback checks the cotangent that it is given
    stub: bool = False  # the graph is one call, met at run time
    inner: bool = False  # the caller is a program, which changes nothing
    shown: bool = False  # .. and is the user's, who looks at the cotangents
    seeded: bool = False  # the cotangent of the result is the last parameter
    leading: int = 0  # so many parameters come before the caller's own arguments
    pulled: tuple[int, int] | None = None  # the pullback gives cotangents of so many parameters from the i-th
    fuse: bool = True  # elementwise operations on large arrays become kernels
    debug: bool = False  # rules are checked where they are used
    tier: str | None = None  # nothing may be recorded
    large: bool = False  # there are large arrays among the arguments
    region: Attempt | None = None  # a part of a program that is recorded
    early: bool = False  # no program is made where every run comes by a refusal

    def after(self, k: int, n: int) -> ReverseMode:
        """The same with respect to the last n of k + n parameters."""
        wrt = tuple(i + k for i in (range(n) if self.wrt is None else self.wrt))
        return replace(self, wrt=wrt, leading=self.leading + k)

    def pulling(self, first: int, n: int) -> ReverseMode:
        return replace(self, pulled=(first, n)) if self.split else self

    def for_large(self) -> ReverseMode | None:
        return replace(self, large=True) if self.fuse and not self.within and has_compiler() else None

    @property
    def within(self) -> bool:
        """The caller is a program of ours, not the user."""
        return self.stub or self.inner

    @property
    def may_record(self) -> bool:
        """The run may be recorded where there can be no program."""
        return self.region is not None or not (self.within or self.seeded)

    def ending_early(self) -> Mode:
        return replace(self, early=self.may_record)

    def attempting(self) -> Mode | None:
        return replace(self, region=self.region or Attempt()) if self.may_record else None

    def needs(self, i: int) -> bool:
        return not self.split and self.wrt is not None and i in self.wrt

    def vouches_for(self, i: int) -> bool:
        return self.within or self.needs(i)

    def check(self, names: tuple[str, ...], types: Sequence[T.Type]) -> None:
        if self.split or self.wrt is None:
            check_memory(names, types[self.leading :])
            return
        for i in self.wrt:
            check_argument(names[i], i - self.leading, types[i])

    def check_values(self, names: tuple[str, ...], args: Sequence[Any]) -> None:
        own = args[self.leading : len(names)]
        whole = self.wrt is None or self.split  # one argument of all that there are
        if self.within or self.seeded or (whole and out_of_sight(own) is None):
            return
        for i in range(self.leading, len(args)) if self.wrt is None else self.wrt:
            check_value(names[i], i - self.leading, args[i])

    def recorded(self, function: Callable[..., Any], context: Any) -> Callable[..., Any] | None:
        if not self.may_record:
            return None
        if type(self.region) is Region:
            return no_region
        if self.split:
            return lambda *args: recording("api").split(function, self, args, context)
        return lambda *args: recording("api").joint(function, self, args, context)

    def differentiate(
        self, source: Callable[[], Graph], types: Sequence[T.Type], cells: Sequence[Any], context: Any
    ) -> Program:
        program = differentiate(source, types, cells, self, context.ad_has_rule, context.ad_entries)
        return self.of_region(program)


BEFORE_SWEEP: list[Callable[[Graph, Sequence[Value]], None]] = []
"""Rewrite a prepared graph, given the parameters it is differentiated with respect to, in place."""


def before_sweep(rewrite: Callable[[Graph, Sequence[Value]], None]) -> Callable[..., None]:
    """Decorator: the function below is one of them."""
    BEFORE_SWEEP.append(rewrite)
    return rewrite


CALL = ReverseMode(stub=True)
WITHIN = ReverseMode(inner=True)


def differentiate(
    source: Callable[[], Graph], types: Sequence[T.Type], cells: Sequence[Any], mode: ReverseMode,
    has_rule: Callable[[Any], bool], entries: Entries,
) -> Program:  # fmt: skip
    """The derivative program of the graph that `source` gives, for arguments of these types."""
    prepared, types, own = prepare_trusting(
        source, types, cells, has_rule, stub=mode.stub, later=mode.split
    )
    graph = messages.print_plainly(prepared)
    wrt = [graph.params[i] for i in (range(len(types)) if mode.wrt is None else mode.wrt)]
    grows = fuse_if_large(graph, mode)
    for rewrite in BEFORE_SWEEP:
        rewrite(graph, wrt)
    snapshot("before the sweep", graph)
    primal = {op for _, op in graph.ops()}
    leaving = Leaving(prepared.read)
    adjoint = _adjoint(graph, wrt, mode, entries, own, leaving)
    snapshot("adjoint", graph)
    budget.check()
    if adjoint is not None:
        tidy(adjoint)
        snapshot("tidy", graph)
    leaving.leave(graph)
    for guard in optimise(graph, types, cells, prepared.untrusted, prepared.held):
        prepared.assume(guard)
    loosen(graph, primal)
    improve(graph)
    snapshot("peephole", graph)
    skip_last(graph)
    snapshot("skip last", graph)
    if mode.split and adjoint is not None:
        split(graph, mode.checked)
        snapshot("split", graph)
    used = tuple(only_used(t, prepared.read) for t in types)
    return Program(graph, used, prepared.settled(), prepared.untrusted, prepared.changes, grows)


def _adjoint(
    graph: Graph, wrt: list[Value], mode: ReverseMode, entries: Entries, own: Op | None, leaving: Leaving
) -> Adjoint | None:
    """In place. `leaving` gets the places where the run may turn out to need recording."""
    name_updates(graph)
    shape = normalise(graph)
    snapshot("normalise", graph)
    if shape is None:
        return None  # it never returns
    part_of = parts(graph)
    active = active_values(graph, wrt, part_of)
    if spell_out_products(graph, active):
        active = active_values(graph, wrt, part_of)
    varied = varied_values(graph, wrt, part_of)
    refuse_items_by_code(graph, active, varied)
    refuse_shared_iterators(graph, active)
    join_methods(graph, active)
    looked = LostStores(graph, varied, inner=mode.within, active=active)
    changed = stored_to(graph, wrt, looked.objects)
    mode.check_region(graph, looked.objects, varied)
    leaving.find(graph, wrt, mode.leading, varied, looked.objects, mode.may_record)
    strangers = Strangers(graph, looked.objects) if mode.may_record else None
    testable = strangers is not None and strangers.known
    followed = _followed(shape, looked, active, part_of, strangers)
    exposed = apart.exposed(graph, looked.objects, active, followed.stores) if testable else []
    kept = refuse_lost_stores(graph, looked, mode.within, followed.stores)
    found = instrument(shape, active, entries, own, kept, early=mode.early)
    pullbacks = Pullbacks(found.replaced, found.before, shape, followed, own, found.keywords, found.contained)
    overwritten = Overwritten(graph, looked.objects)
    masks = Masks(shape, active, followed, found.callees, is_handled)
    adjoint = Adjoint(shape, active, pullbacks, Shadows(followed), overwritten, masks)
    y = _open_sweep(adjoint, shape, mode)
    if not (isinstance(y, Const) or y not in active):
        adjoint.reverse()
        refuse_stale_stores(graph, looked.objects, overwritten.stores, adjoint.reads)
    _close_sweep(adjoint, wrt, mode, y, keep_given(graph, changed))
    stored = [*dict.fromkeys([*followed.given, *exposed])]
    if strangers is not None and stored:
        apart.test_apart(graph, stored, strangers)
    return adjoint


def _followed(
    shape: Shape,
    looked: LostStores,
    active: set[Value],
    part_of: Mapping[Value, Value],
    strangers: Strangers | None,
) -> Followed:
    reads = functools.partial(only_reads, active=active)
    found = find_followed(
        Stored(shape.graph, looked.objects, looked.order, active, part_of, strangers, reads, stores_numbers)
    )
    if found.stores:
        found.roots.update(dict.fromkeys(whole(array, part_of) for array in _read_in_loops(shape, active)))
    return found


def _read_in_loops(shape: Shape, active: set[Value]) -> Iterator[Value]:
    """Arrays of which a loop inside of theirs reads elements and parts: their cotangents are collected in
    place too."""
    home = definitions(shape.graph)
    for block, op in shape.graph.ops():
        array = op.args[0] if op.fn is operator.getitem else None
        if not isinstance(array, Value) or array not in active or not is_array(array):
            continue
        if numeric(array.type) and shape.loop(home[array]) is not shape.loop(block):
            yield array


# -- from the result to its cotangent ------------------------------------------------------------------------


def _open_sweep(adjoint: Adjoint, shape: Shape, mode: ReverseMode) -> Operand:
    """End the primal with the seed of its result; the sweep begins in a block of its own."""
    build = adjoint.build
    terminator = shape.end.terminator
    assert isinstance(terminator, Return)
    y = terminator.value
    shape.end.terminator = None
    build.enter(shape.end)
    build.pos = terminator.pos
    if mode.seeded:
        seed: Operand = shape.graph.params[-1]
    else:
        seed = _split_seed(adjoint, y, mode) if mode.split else _joint_seed(adjoint, y, mode)
    sweep = build.new_block(sealed=False)
    build.jump(sweep)
    build.start_variables(sweep, lambda key: ZERO if key[0] in COTANGENTS else None)
    build.seal(sweep)
    build.enter(sweep)
    if isinstance(y, Value) and y in adjoint.active:
        adjoint.start(y, seed)
    return y


def _split_seed(adjoint: Adjoint, y: Operand, mode: ReverseMode) -> Operand:
    y_type = y.type if isinstance(y, Value) else None
    described = adjoint.call(signature_of, y) if mode.checked else NONE  # y itself is not kept for it
    g = adjoint.call(cut, y, type=y_type if numeric(y_type) else T.Any, name="ybar")
    if not mode.checked:
        return g
    return adjoint.call(check_cotangent, g, described, type=y_type if numeric(y_type) else T.Any)


def _joint_seed(adjoint: Adjoint, y: Operand, mode: ReverseMode) -> Operand:
    if not mode.has_aux:
        return _scalar_seed(adjoint, y)
    if isinstance(y, Value) and isinstance(y.type, T.TupleOf) and len(y.type.items) == 2:
        value = adjoint.call(operator.getitem, y, Const(0), syntax=True, type=_item_type(y, 0))
    else:
        value = adjoint.call(value_of_pair, y)
    seed = _scalar_seed(adjoint, value)
    return adjoint.call(primitives.build_tuple, seed, NONE, syntax=True)


def _item_type(y: Operand, i: int) -> T.Type:
    type_ = y.type if isinstance(y, Value) else None
    return type_.items[i] if isinstance(type_, T.TupleOf) and len(type_.items) > i else T.Any


def _scalar_seed(adjoint: Adjoint, y: Operand) -> Operand:
    if isinstance(y, Value) and isinstance(y.type, T.Exact) and issubclass(y.type.cls, (float, np.floating)):
        return Const(1.0)
    return adjoint.call(scalar_seed, y, type=y.type if isinstance(y, Value) and numeric(y.type) else T.Any)


# -- from the sweep to what is returned ----------------------------------------------------------------------


def _close_sweep(
    adjoint: Adjoint, wrt: list[Value], mode: ReverseMode, y: Operand, given: dict[Value, Value]
) -> None:
    params = _pulled(adjoint.graph, mode) if mode.split else wrt
    inner = mode.within and not mode.shown
    out = [_finished(adjoint, p, given.get(p, p), inner=inner) if p in wrt else NONE for p in params]
    alone = mode.single and not mode.split
    result: Operand = out[0] if alone else adjoint.build.call(primitives.build_tuple, *out, syntax=True)
    if mode.value or mode.has_aux:
        result = _with_value(adjoint, y, result, mode)
    adjoint.build.ret(result)


def _pulled(graph: Graph, mode: ReverseMode) -> list[Value]:
    """The parameters that the pullback gives cotangents for."""
    if mode.pulled is None:
        return graph.params
    first, n = mode.pulled
    return graph.params[first : first + n]


def _with_value(adjoint: Adjoint, y: Operand, gradient: Operand, mode: ReverseMode) -> Operand:
    y = adjoint.recall(y)
    if mode.has_aux and not mode.value:
        aux = adjoint.call(operator.getitem, y, Const(1), syntax=True)
        return adjoint.call(primitives.build_tuple, gradient, aux, syntax=True)
    return adjoint.call(primitives.build_tuple, y, gradient, syntax=True)


def _finished(adjoint: Adjoint, param: Value, given: Value, *, inner: bool) -> Operand:
    """The cotangent of a parameter as the caller gets it. `given`: as it was when the run began. `inner`: the
    caller is a sweep, which changes nothing."""
    if not carries(param.type):
        return NONE
    bar = adjoint.bar(param) if param in adjoint.active else ZERO
    if is_zero(bar):
        if param.type == T.Exact(float):
            return Const(0.0)
        finish = releasing.finish if inner or numeric(param.type) else releasing.released
        return adjoint.call(finish, NONE, given)
    if param.type == T.Exact(float) and bar_is(bar, param.type):
        return bar if isinstance(bar, Const) else adjoint.call(releasing.number, bar, type=param.type)
    # what has none may have become a NumPy scalar
    axes = isinstance(param.type, T.ArrayOf) and param.type.dims and param not in adjoint.pullbacks.indexed
    if axes:
        if adjoint.pullbacks.may_be_scalar(adjoint, bar):
            bar = adjoint.call(fitting.full, bar, adjoint.shaped(param), type=param.type)
        bar = strict(adjoint, bar, param)
        if bar_is(bar, param.type):
            if adjoint.shadows.has(param):
                return bar  # nobody else's
            bar = adjoint.call(fitting.full_result, bar, adjoint.shaped(param), type=param.type)
            return bar if inner else adjoint.call(releasing.own, bar, type=param.type)
    return adjoint.call(releasing.finish if inner else releasing.released, bar, given)


def bar_is(bar: Operand, type_: T.Type) -> bool:
    if isinstance(bar, Const) or isinstance(bar.type, T.Known):
        value = bar.value if isinstance(bar, Const) else bar.type.value
        return T.const_type(value) == type_ or (type_ == T.Exact(float) and type(value) is float)
    return bar.type == type_
