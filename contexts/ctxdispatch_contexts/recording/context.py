"""`Recording`: a context that writes down what happens to numbers and arrays.

Every operation that the program makes, and that no Python code stands behind, comes to `operate`:

    moves       it moves objects and looks into none (`callees.py`): as it is
    stores      it writes into arrays (`stores.py`)
    zero        its derivative is zero by rule
    reads       an item, a view, an attribute of an array (`arrays.py`)
    ruled       the table, or a user's rule, has its derivative (`record.Record.call`)
    else        refused, if what is differentiated comes in

The engine does the rest: whatever Python code runs, for whatever reason, runs under the context. So this mode
differentiates what has no SSA form: handlers, generators, `with`, changes of whatever is shared.
"""

from __future__ import annotations

import array
import builtins
import functools
import operator
import types
import weakref
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Any, ClassVar

import numpy as np

from ctxdispatch.dispatch import moving
from ctxdispatch.dispatch.context import Args, Context, Kwargs
from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch.facts import canonical
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph
from ctxdispatch.ir.watching import Undispatched, tell_apart
from ctxdispatch_contexts.derivatives import table
from ctxdispatch_contexts.programs import ending
from ctxdispatch_contexts.programs.converting import has_methods_of_arrays
from ctxdispatch_contexts.programs.errors import MissingRuleError, Refused, user_position
from ctxdispatch_contexts.programs.observed import with_notes
from ctxdispatch_contexts.recording import (
    addresses,
    arrays,
    buffers,
    by_rule,
    classes,
    conversions,
    escaped,
    exposing,
    following,
    going_through,
    items,
    left,
    memory,
    numbers,
    overrides,
    particular,
    parts,
    places,
    regions,
    remembered,
    shown,
    stores,
    surgery,
    suspended,
    tagged,
    unknown,
    unseen,
)
from ctxdispatch_contexts.recording.callees import (
    Callee,
    are_numbers,
    goes_through,
    is_number_or_array,
    is_plain,
    look_at,
    moves,
)
from ctxdispatch_contexts.recording.overrides import has_within
from ctxdispatch_contexts.recording.record import Record
from ctxdispatch_contexts.recording.refused import beyond, guarded, refused
from ctxdispatch_contexts.recording.spellings import SLOT, is_call_of_first, spelled

Run = Callable[..., Any]


class Recording(Context):
    """One run."""

    record: Record
    cached: dict[Any, Any] = field(default_factory=dict)
    _looks_everywhere: ClassVar[bool] = True
    _notes: ClassVar[bool] = False
    _new = classes.made_by

    rules_are_shortcuts: ClassVar[bool] = True
    intercepts: ClassVar[Any] = (
        "call", "operator", "compare", "item", "attribute", "iterate", "unpack", "with",
        primitives.list_extend, primitives.dict_update, primitives.dict_merge, primitives.import_name,
        primitives.store_global, primitives.cell_set, primitives.awaited, primitives.gone_through,
        *unseen.FOLLOWED,
    )  # fmt: skip

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Functions that C code is given lead here."""
        raise MissingRuleError(
            "a function is pickled within what is differentiated, of which the copy would be no part; pickle "
            "it beforehand, or afterwards",
            user_position(),
        )

    def fallback(self, f: Any, args: Args, kwargs: Kwargs) -> Any:
        """What only watches comes here by programs of another's (`recurse`)."""
        return f(*args, **kwargs) if type(f) is Undispatched else operate(self, f, f, args, kwargs)

    def transform(self, graph: Graph) -> Graph:
        if graph.code is not None:
            places.remember(graph.code)
        tell_apart(graph)
        graph = regions.with_regions(graph)
        return super().transform(with_notes(graph) if self._notes else graph)

    def array(self, values: Any) -> Any:
        """np.array(values), written down."""
        values = going_through.with_arrays(self, values)
        return by_rule.recorded(self, np.array, look_at(np.array), (values,), {})

    def _splat(self, iterable: Any) -> Any:
        """f(*iterable)"""
        return items.spread(self, iterable)


def handled(f: Any, ctx: Recording, /, *args: Any, **kwargs: Any) -> Any:
    """The rule for callees that the engine has handlers for, or that have Python code."""
    return operate(ctx, f, functools.partial(beyond, ctx, f), args, kwargs)


def operate(ctx: Recording, f: Any, run: Run, args: Args, kwargs: Kwargs) -> Any:
    """f(*args, **kwargs), written down; `run` does it where there is nothing to write."""
    record = ctx.record
    if record.closed:
        record.refusals.again(f)
        return surgery.paused(ctx, f, run, args, kwargs) if record.still else run(*args, **kwargs)
    try:
        return _written_down(ctx, f, run, args, kwargs)
    except Refused as error:
        return refused(ctx, error, run, args, kwargs)


def _written_down(ctx: Recording, f: Any, run: Run, args: Args, kwargs: Kwargs) -> Any:
    record = ctx.record
    if type(f) in following.OBJECTS:
        return following.OBJECTS[type(f)](ctx, f, args, kwargs)
    callee, bound = canonical(f)
    if bound and type(bound[0]) is np.ufunc and f.__name__ != "at":
        callee, bound = (bound[0] if f.__name__ == "__call__" else f), ()  # the table knows np.add.reduce
    args = (*bound, *args) if bound else args
    if type(callee) is SLOT and is_call_of_first(callee, args):
        return resolve(ctx, args[0])(*args[1:], **kwargs)
    run = callee if run is f else run
    slot, callee = callee, spelled(callee)
    if run is slot and type(slot) is SLOT and (slot is callee or not all(map(is_plain, args))):
        constant = all(map(is_number_or_array, args)) and not record.any_active((args, kwargs))
        if slot is not callee and constant:
            return stores.constant(ctx, callee, args, kwargs, slot)  # the operator would be the class's own
        found = overrides.slot(record, slot, callee, args)
        if found is None:
            return NotImplemented
        callee, args = found
        run = slot if callee is slot else callee
    if record.memory.written or record.escaped:
        given = (callee, getattr(callee, "__self__", None), *args, *kwargs.values())
        if not buffers.follows(callee, args, kwargs) and (showing := escaped.concerned(record, given)):
            then = functools.partial(_looked_at, ctx, callee, run, args, kwargs)
            return escaped.checked(record, callee, goes_through(look_at(callee), args), then, showing, given)
    return _looked_at(ctx, callee, run, args, kwargs)


def _looked_at(ctx: Recording, callee: Any, run: Run, args: Args, kwargs: Kwargs) -> Any:
    known = look_at(callee)
    if known.ends:
        raise ending.out_of_sight(callee)
    fails = len(args) + len(kwargs) < known.least
    out = run(*args, **kwargs) if fails else _by_kind(ctx, callee, known, run, args, kwargs)
    if ctx.record.opaque and not ctx.record.closed:
        exposing.check(ctx.record, callee, known, args, kwargs, out)
    return out


def _by_kind(ctx: Recording, callee: Any, known: Callee, run: Run, args: Args, kwargs: Kwargs) -> Any:
    if tagged.Tagged.alive and tagged.are_there(args, kwargs):
        return _on_tagged(ctx, callee, known, run, args, kwargs)
    if buffers.are_here(callee, args):
        return _on_buffers(ctx, callee, known, run, args, kwargs)
    return _operated(ctx, callee, known, run, args, kwargs)


def _on_tagged(ctx: Recording, callee: Any, known: Callee, run: Run, args: Args, kwargs: Kwargs) -> Any:
    """A call that is given values with tags."""
    if tagged.is_of_proxy(callee, args):
        return run(*args, **kwargs)
    given, named = tagged.operands(callee, known, args, kwargs)
    on = _on_buffers if buffers.are_here(callee, given) else _operated
    return tagged.returned(callee, args, on(ctx, callee, known, run, given, named))


def _on_buffers(ctx: Recording, callee: Any, known: Callee, run: Run, args: Args, kwargs: Kwargs) -> Any:
    """A call that is given what shows memory, or makes such an object."""
    if ctx.record.context.ad_ruled(callee):
        return _operated(ctx, callee, known, run, args, kwargs)
    if buffers.concerned(ctx.record, callee, (*args, *kwargs.values())) and not kwargs.keys() & {"out"}:
        out = buffers.handle(ctx, callee, args, kwargs)
        if out is not buffers.AS_IT_IS:
            return out
        args = buffers.operands(ctx, callee, args, moves(known, callee, args))
    return _operated(ctx, callee, known, run, args, kwargs)


def _operated(ctx: Recording, callee: Any, known: Callee, run: Run, args: Args, kwargs: Kwargs) -> Any:
    if (callee is getattr or callee is setattr) and moves(known, callee, args):
        return _of_attribute(ctx, callee, known, run, args, kwargs)
    if any(map(suspended.go_on, map(type, args))):
        suspended.check(ctx, args)
    args = conversions.with_pairs(ctx, args) if callee is dict else args
    if args and type(args[0]) in (array.array, memoryview):
        args, kwargs = conversions.converted(ctx, callee, known, args, kwargs)
    args = going_through.listed(ctx, callee, known, args)
    args = unseen.prepared(ctx, callee, args) if known.prepared else args
    if moves(known, callee, args):
        return _moved(ctx, callee, known, run, args, kwargs)
    if are_numbers(args) and not kwargs:
        return _computed(ctx, callee, known, run, args, kwargs)
    if callee is float or callee is complex:  # what a method returns is made one by C code
        args, kwargs = conversions.converted(ctx, callee, known, args, kwargs)
    beyond = run is not callee and type(run) is not SLOT
    if beyond and not (all(map(is_plain, args)) and not has_within(args, conversions.is_object)):
        return run(*args, **kwargs)  # there may be Python code behind it; where not, it comes again
    if known.asks and overrides.asks(known.asks, args, kwargs):
        found = overrides.answered(ctx, callee, known.asks, args, kwargs)
        if found is not NotImplemented:
            return found
    if known.code is not None and _asks_its_operands(known, args, kwargs):
        return resolve(ctx, known.code)(*args, **kwargs)
    if (code := conversions.as_code(callee, args)) is not None:
        return resolve(ctx, code)(*args, **kwargs)
    args, kwargs = conversions.converted(ctx, callee, known, args, kwargs)
    run = unknown.watched(ctx, callee, known, run, args, kwargs)
    return _computed(ctx, callee, known, run, args, kwargs)


def _asks_its_operands(known: Callee, args: Args, kwargs: Kwargs) -> bool:
    """Its code in Python asks what objects are, or for methods that they have."""
    if known.followed and has_within((args, kwargs), conversions.is_object):
        return True
    return any(map(has_methods_of_arrays, map(type, (*args, *kwargs.values()))))


def _of_attribute(ctx: Recording, callee: Any, known: Callee, run: Run, args: Args, kwargs: Kwargs) -> Any:
    record = ctx.record
    if callee is setattr:
        stores.refuse_native(record, args)
        record.escaped.given_to(args[0], args[2:])
        if run is callee:
            left.note(record, known.keeps, args, kwargs)
    out = run(*args, **kwargs)
    if callee is getattr and run is not callee:
        left.cached(record, args, out)
    return out


def _moved(ctx: Recording, callee: Any, known: Callee, run: Run, args: Args, kwargs: Kwargs) -> Any:
    """Of a callee that moves objects."""
    record = ctx.record
    if known.by_key:
        remembered.looked_up(record, args)
    if callee is operator.setitem:
        stores.refuse_bytes(record, args)
    if known.keeps:
        left.note(record, known.keeps, args, kwargs)
    args = items.all_spread(ctx, callee, args) if goes_through(known, args) else args
    looks = known.looks and run is callee  # else it may be followed, or comes again
    out = unseen.run_watched(ctx, callee, args, kwargs) if looks else run(*args, **kwargs)
    if known.iterates and suspended.is_made(callee, args, out):
        record.iterators.add(id(out))
    return remembered.seen(record, callee, known, args, out)


def _computed(ctx: Recording, callee: Any, known: Callee, run: Run, args: Args, kwargs: Kwargs) -> Any:
    """Of a callee that does not only move objects."""
    record = ctx.record
    if args and (of_part := parts.handler(callee, args)) is not None:
        return of_part(ctx, *args)
    if going_through.goes_by_item(callee, args):
        code, args = going_through.by_code(ctx, callee, args, kwargs)
        if code is not None:
            return resolve(ctx, code)(*args, **kwargs)
    if known.follows is not None and has_within((args, kwargs), following.is_code):
        return resolve(ctx, known.follows)(*args, **kwargs)  # what is differentiated may be within that
    ruled = known.known or bool(record.context.ad_ruled(callee))
    functions = any(map(following.is_function, args)) or any(map(following.is_function, kwargs.values()))
    if (
        functions
        and type(callee) is not types.FunctionType
        and not (ruled and _knows_functions(ctx, callee))
    ):
        if known.code is not None:
            return resolve(ctx, known.code)(*args, **kwargs)
        args, kwargs = following.watched(ctx, callee, args, kwargs)
    if not known.zero and any(map(going_through.holds_iterator, args)):
        args, kwargs, copied = going_through.operands(ctx, callee, known, ruled, args, kwargs)
        if copied:
            return going_through.picked(copied, _done(ctx, callee, known, run, args, kwargs, ruled))
    return _done(ctx, callee, known, run, args, kwargs, ruled)


def _done(
    ctx: Recording, callee: Any, known: Callee, run: Run, args: Args, kwargs: Kwargs, ruled: bool
) -> Any:
    """With the operands as they are computed with."""
    record = ctx.record
    if ruled and tagged.Tagged.alive:
        args, kwargs = tagged.without(args), tagged.without(kwargs)
    if not (record.any_active(args) or (kwargs and record.any_active(kwargs))):
        return _of_constants(ctx, callee, known, run, args, kwargs, ruled)
    store = stores.find(callee, args, kwargs)
    if store is not None:
        stores.check_alias(ctx, callee, args, kwargs)
        return stores.done(store, ctx, callee, args, kwargs, run)
    if known.zero and not (known.real and any(map(np.iscomplexobj, args))):
        out = arrays.without_objects(callee, run(*args, **kwargs), kwargs.get("dtype"))
        return remembered.seen(record, callee, known, args, surgery.detached(record, out))
    if known.view:
        out = run(*args, **kwargs)
        if arrays.are_views(record, out):
            return out
    if not ruled:
        return by_rule.opaque(ctx, callee, known, args, kwargs, run)
    return by_rule.computed(ctx, callee, known, args, kwargs, run)


def _of_constants(
    ctx: Recording, callee: Any, known: Callee, run: Run, args: Args, kwargs: Kwargs, ruled: bool
) -> Any:
    if not ruled and not known.zero:
        ctx.record.escaped.by(callee, args, kwargs)
    out = stores.constant(ctx, callee, args, kwargs, run)
    if known.view:
        ctx.record.memory.show(out)
    elif type(out) is np.ndarray:
        ctx.record.memory.made(out)
    return out


def _knows_functions(ctx: Recording, callee: Any) -> bool:
    """Its derivative takes functions among its arguments: vjp rules call none (np.pad with one as mode)."""
    return bool(ctx.record.context.ad_ruled(callee)) or table.vjp_rule(callee) is None


# -- rules ---------------------------------------------------------------------------------------------------


def ruled_by(f: Any) -> Callable[[Run], Run]:
    """The rule for `f`, which may refuse."""
    return lambda rule: Recording.rule(f)(guarded(f, rule))


def follow(cls: type[Recording], functions: Iterable[Any]) -> None:
    """Calls of these come to `operate`, though there is Python code behind them."""
    for f in functions:
        if not cls.has_rules(f):
            cls.rule(f)(types.MethodType(handled, f))


def as_it_is(f: Any, ctx: Recording, /, *args: Any, **kwargs: Any) -> Any:
    return f(*args, **kwargs)


for _f in (builtins.eval, builtins.exec):
    ruled_by(_f)(types.MethodType(following.evaluated, _f))
for _f in (weakref.ref, weakref.proxy):
    ruled_by(_f)(types.MethodType(following.referring, _f))
_OF_RUNS = (*addresses.OF_RUNS, memory.owner, memory.stand_in, memory.unfrozen)
for _f in (*_OF_RUNS, np.lib.stride_tricks.as_strided, shown.is_other, *tagged.FUNCTIONS):  # of runs in runs
    Recording.rule(_f)(types.MethodType(as_it_is, _f))
follow(Recording, moving.RULED)
for _f, _rule in numbers.rules(lambda f: functools.partial(handled, f)).items():
    Recording.rule(_f)(_rule)
for _f, _rule in regions.RULES.items():
    Recording.rule(_f)(_rule)
_RULES = surgery.RULES | going_through.RULES | unseen.RULES | exposing.RULES | particular.RULES | left.RULES
for _f, _rule in (_RULES | classes.RULES).items():
    ruled_by(_f)(_rule)
