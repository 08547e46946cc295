"""Puts the stages of forward mode together: primal -> prepared -> with tangents -> optimised.

    f(x, y)      ->      (x, y, dx, dy) -> (f(x, y), df)

A program takes the arguments, then the tangents of those that vary, and, for blocks, how many there are in a
block.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Op, Return, positional
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.buffers import makes_new
from ctxdispatch.passes.companion import Companions, companion_name
from ctxdispatch.passes.held import only_used
from ctxdispatch.passes.snapshots import snapshot
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.forward.duals import Duals, has_form
from ctxdispatch_contexts.forward.releasing import apart
from ctxdispatch_contexts.forward.stores import Stores
from ctxdispatch_contexts.forward.tangents import NONE, Shapes, numeric, zeros_block
from ctxdispatch_contexts.programs import messages
from ctxdispatch_contexts.programs.activity import carries, varied_values
from ctxdispatch_contexts.programs.apart import asks_apart, test_apart
from ctxdispatch_contexts.programs.arguments import check_value, unfit
from ctxdispatch_contexts.programs.by_code import refuse_items_by_code
from ctxdispatch_contexts.programs.errors import DerivativeError, user_position
from ctxdispatch_contexts.programs.kinds import remedy_for
from ctxdispatch_contexts.programs.left_stores import tell_stores
from ctxdispatch_contexts.programs.memory import retain_freed
from ctxdispatch_contexts.programs.mode import Mode, Program, recording
from ctxdispatch_contexts.programs.optimise import loosen, optimise
from ctxdispatch_contexts.programs.other_names import Leaving
from ctxdispatch_contexts.programs.refusing import refuse_early
from ctxdispatch_contexts.programs.regions import Attempt, Region, no_region
from ctxdispatch_contexts.programs.trusting import prepare_trusting
from ctxdispatch_contexts.programs.zeros import ATOMS


@dataclass(frozen=True)
class ForwardMode(Mode):
    """`wrt`: indices of the parameters that have tangents. `block`: tangents have one axis more, the first,
    along which there are several. `inner`: the caller is a program, which changes nothing. `alone`: the
    result's tangent is returned, and nothing computed for the result's sake. `frozen`: the numbers that
    variables hold are constants. `asking`: the caller asks `Program.apart` at each call, and records the run
    where it says no. `tier`: nothing may be recorded. `region`: it is a part of one that is. `last`: of an
    inner one, that nothing of the user's comes after it."""

    wrt: tuple[int, ...]
    block: bool = False
    stub: bool = False
    inner: bool = False
    leading: int = 0
    alone: bool = False
    frozen: bool = False
    asking: bool = False
    tier: str | None = None
    region: Attempt | None = None
    last: bool = False
    early: bool = False

    def after(self, k: int, n: int) -> ForwardMode:
        return replace(self, wrt=tuple(i + k for i in self.wrt), leading=self.leading + k)

    def ending_early(self) -> Mode:
        return replace(self, early=True)

    def attempting(self) -> Mode | None:
        return replace(self, region=self.region or Attempt()) if not (self.stub or self.inner) else None

    def needs(self, i: int) -> bool:
        return i in self.wrt

    def vouches_for(self, i: int) -> bool:
        return self.stub or self.inner or self.needs(i)

    def parameters(self, names: tuple[str, ...]) -> tuple[str, ...]:
        return (*names, *("d" + names[i] for i in self.wrt), *("k",) * self.block)

    def check(self, names: tuple[str, ...], types: Sequence[T.Type]) -> None:
        if not (self.stub or self.inner):
            for i, tangent in zip(self.wrt, types[len(names) :], strict=False):
                check_types(names[i], types[i], tangent, self.block)

    def check_values(self, names: tuple[str, ...], args: Sequence[Any]) -> None:
        if not (self.stub or self.inner):
            for i in self.wrt:
                check_value(names[i], i - self.leading, args[i])

    def recorded(self, function: Callable[..., Any], context: Any) -> Callable[..., Any] | None:
        if self.stub or (self.inner and not self.asking):
            return None
        if type(self.region) is Region:
            return no_region
        if "scipy" in sys.modules:
            recording("runs").follow_imported()
        return lambda *args: recording("api").pushed(function, self, args, context)

    def differentiate(
        self, source: Callable[[], Graph], types: Sequence[T.Type], cells: Sequence[Any], context: Any
    ) -> Program:
        if self.block:
            retain_freed()
        n = len(types) - len(self.wrt) - self.block
        prepared, own_types, own = prepare_trusting(
            source, types[:n], cells, context.ad_has_rule, stub=self.stub, frozen=self.frozen
        )
        graph = messages.print_plainly(prepared)
        primal = {op for _, op in graph.ops()}
        test = push(graph, self, types, context, own, Leaving(prepared.read))
        snapshot("push tangents", graph)
        for guard in optimise(graph, [*own_types, *types[n:]], cells, prepared.untrusted, prepared.held):
            prepared.assume(guard)
        loosen(graph, primal)
        used = (*(only_used(t, prepared.read) for t in own_types), *types[n:])
        guards = prepared.settled()
        return self.of_region(Program(graph, used, guards, prepared.untrusted, prepared.changes, apart=test))


BEFORE_PUSH: list[Callable[[Graph, Sequence[Value]], None]] = []
"""Rewrite a prepared graph, given its parameters, in place."""


def before_push(rewrite: Callable[..., None]) -> Callable[..., None]:
    """Decorator: the function below is one of them."""
    BEFORE_PUSH.append(rewrite)
    return rewrite


def push(
    graph: Graph, mode: ForwardMode, types: Sequence[T.Type], context: Any, own: Op | None, leaving: Leaving
) -> Graph | None:
    """Give the prepared graph tangents, in place. The test that its caller has to make."""
    params = list(graph.params)
    for rewrite in BEFORE_PUSH:
        rewrite(graph, params)
    shapes = Shapes(mode.block, Value("k", T.Exact(int)) if mode.block else NONE)
    given = zip(mode.wrt, types[len(params) :], strict=False)
    tangents = [Value(companion_name(params[i]), _tangent_type(shapes, params[i], t)) for i, t in given]
    seeds: dict[Value, Operand] = {
        params[i]: t for i, t in zip(mode.wrt, tangents, strict=True) if T.cls_of(t.type) is not type(None)
    }
    cast = _of_dtype(shapes, seeds)
    varying = list(seeds)
    tested = not (mode.inner or mode.stub)
    whole = tested or mode.asking
    stores = Stores(graph, varying, has_form, inner=not (whole or mode.last), tested=whole)
    within = functools.partial(ForwardMode, block=mode.block, inner=True)
    tracked = stores.active | set(varying)
    varied = tracked | varied_values(graph, varying)
    mode.check_region(graph, stores.lost.objects, varied)
    refuse_items_by_code(graph, tracked, varied)
    leaving.find(graph, varying, mode.leading, varied, stores.lost.objects, tested, mode.asking)
    if whole or mode.last:
        tell_stores(graph, varied, stores.lost.objects)
    duals = Duals(shapes, context, within, own, stores.refused, stores.arrays)
    run = Companions(graph, tracked, duals)
    fresh = _of_their_own(shapes, stores.given, seeds)
    run.run(seeds)
    if mode.early:
        refuse_early(graph)
    graph.entry.ops[:0] = [*cast, *fresh]
    _return_pairs(run, shapes, mode)
    names = mode.parameters(graph.signature.names)
    graph.signature = positional(len(names), names)
    graph.entry.params += [*tangents, *([shapes.count] if isinstance(shapes.count, Value) else [])]
    leaving.leave(graph)
    return _apart(graph, mode, stores)


def _apart(graph: Graph, mode: ForwardMode, stores: Stores) -> Graph | None:
    """That arguments lie apart is tested, by the caller or in place."""
    if not stores.given:
        return None
    assert stores.strangers is not None
    if mode.asking:
        return asks_apart(graph, stores.given, stores.strangers)
    test_apart(graph, stores.given, stores.strangers)
    return None


def _of_dtype(shapes: Shapes, seeds: dict[Value, Operand]) -> list[Op]:
    """The casts of tangents that have another dtype than their values."""
    made = []
    for param, given in seeds.items():
        own = shapes.type(param.type)
        if is_cast(operand_type(given), own):
            seeds[param] = cast = Value(companion_name(param), own)
            made.append(Op(Const(np.ndarray.astype), [given, Const(own.dtype)], [cast]))
    return made


def is_cast(given: T.Type, own: T.Type) -> bool:
    return isinstance(given, T.ArrayOf) and isinstance(own, T.ArrayOf) and given.dtype != own.dtype


def _of_their_own(shapes: Shapes, given: list[Value], seeds: dict[Value, Operand]) -> list[Op]:
    """The making of tangents for arguments that are stored to: copies of the caller's, or zeros."""
    made = []
    for param in given:
        own = Value(companion_name(param), shapes.type(param.type))
        if param in seeds:
            made.append(Op(Const(np.ndarray.copy), [seeds[param]], [own]))
        elif shapes.block:
            made.append(Op(Const(zeros_block), [param, shapes.count], [own]))
        else:
            made.append(Op(Const(np.zeros_like), [param], [own]))
        seeds[param] = own
    return made


def _tangent_type(shapes: Shapes, param: Value, given: T.Type) -> T.Type:
    """That of the value's tangent, where it is a number's or array's; what is given may be None, or an array
    of another dtype."""
    own = shapes.type(param.type)
    as_given = T.cls_of(given) is type(None) or is_cast(given, own)
    return own if numeric(param.type) and not as_given else given


def _return_pairs(run: Companions, shapes: Shapes, mode: ForwardMode) -> None:
    """Return (y, dy) where y was returned."""
    for block in run.graph.blocks:
        terminator = block.terminator
        if isinstance(terminator, Return):
            run.build.enter(block)
            y = terminator.value
            dy = run.of(y)
            dy = (shapes.zero(run, y) if numeric(operand_type(y)) else NONE) if dy is None else dy
            if not (mode.stub or mode.inner):
                dy = released(run, shapes, dy, y)
            terminator.value = dy if mode.alone else run.call(primitives.build_tuple, y, dy, syntax=True)


def released(run: Companions, shapes: Shapes, dy: Operand, y: Operand) -> Operand:
    """The tangent for the caller, who may change it: of memory of its own."""
    cls, still = T.cls_of(operand_type(y)), isinstance(dy, Const) and dy.value is None
    if (isinstance(dy, Const) and not still) or (cls in (float, complex) and not shapes.block):
        return dy
    if cls in ATOMS or (still and cls is np.ndarray):
        return dy
    maker = next((op for b in run.graph.blocks for op in b.ops if dy in op.results), None)
    if maker is not None and isinstance(operand_type(dy), T.ArrayOf) and makes_new(maker):
        return dy
    counted = [shapes.count] if shapes.block else []
    return run.call(apart, dy, y, *counted, type=T.Any if still else operand_type(dy))


def check_types(name: str, type_: T.Type, tangent: T.Type, block: bool) -> None:
    """DerivativeError where a value of `type_` cannot have a tangent of the type given."""
    if not carries(type_) or remedy_for(T.cls_of(type_)) is not None:
        raise DerivativeError(f"argument {name!r} {unfit(type_)}", user_position())
    if isinstance(type_, T.ArrayOf) and isinstance(tangent, T.ArrayOf):
        rank = len(type_.dims) + block
        if len(tangent.dims) != rank or not np.can_cast(tangent.dtype, type_.dtype, "same_kind"):
            raise DerivativeError(
                f"the tangent of argument {name!r} has {len(tangent.dims)} dimensions and dtype "
                f"{tangent.dtype}, "
                f"the argument {len(type_.dims)} and {type_.dtype}; a tangent has shape and dtype of "
                "its value",
                user_position(),
            )
        if any(one and only is False for one, only in zip(tangent.dims[block:], type_.dims, strict=True)):
            raise DerivativeError(
                f"the tangent of argument {name!r} has length 1 where the argument is longer, and would be "
                "broadcast; a tangent has the shape of its value",
                user_position(),
            )
