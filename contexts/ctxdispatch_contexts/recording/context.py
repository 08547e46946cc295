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

import builtins
import functools
import operator
import types
from array import array as Buffer
from collections.abc import Callable, Iterable
from dataclasses import field
from typing import Any, ClassVar

import numpy as np

from ctxdispatch.dispatch import moving, rules
from ctxdispatch.dispatch.context import Args, Context, Kwargs
from ctxdispatch.dispatch.overdub import beyond_rules, resolve
from ctxdispatch.dispatch.strip import is_iterator
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph
from ctxdispatch.ir.watching import tell_apart
from ctxdispatch_contexts.derivatives import libraries, table
from ctxdispatch_contexts.recording import (
    arrays,
    buffers,
    by_rule,
    distributions,
    following,
    going_through,
    memory,
    numbers,
    splines,
    stores,
    subclasses,
    surgery,
    suspended,
    trajectories,
)
from ctxdispatch_contexts.recording.callees import (
    Callee,
    holds_bytes,
    is_plain,
    look_at,
    moves,
    of_slot,
    spelled,
)
from ctxdispatch_contexts.recording.record import Record
from ctxdispatch_contexts.reverse.checkpoints import Checkpointed
from ctxdispatch_contexts.reverse.context import ADContext

Run = Callable[..., Any]


class Recording(Context):
    """One run."""

    record: Record
    cached: dict[Any, Any] = field(default_factory=dict)
    _looks_everywhere: ClassVar[bool] = True

    rules_are_shortcuts: ClassVar[bool] = True
    intercepts: ClassVar[Any] = (
        "call", "operator", "compare", "item", "attribute", "iterate", "unpack", "with",
        primitives.list_extend, primitives.dict_update, primitives.dict_merge, primitives.import_name,
        primitives.awaited, primitives.gone_through,
    )  # fmt: skip

    def fallback(self, f: Any, args: Args, kwargs: Kwargs) -> Any:
        return operate(self, f, f, args, kwargs)

    def transform(self, graph: Graph) -> Graph:
        tell_apart(graph)
        return super().transform(graph)

    def array(self, values: Any) -> Any:
        """np.array(values), written down."""
        return by_rule.recorded(self, np.array, look_at(np.array), (values,), {})

    def _splat(self, iterable: Any) -> Any:
        """f(*iterable)"""
        return arrays.spread(self.record, iterable)


def handled(f: Any, ctx: Recording, /, *args: Any, **kwargs: Any) -> Any:
    """The rule for callees that the engine has handlers for, or that have Python code."""
    return operate(ctx, f, functools.partial(_beyond, ctx, f), args, kwargs)


def _beyond(ctx: Recording, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    return beyond_rules(ctx, f)(*args, **kwargs)


def operate(ctx: Recording, f: Any, run: Run, args: Args, kwargs: Kwargs) -> Any:
    """f(*args, **kwargs), written down; `run` does it where there is nothing to write."""
    record = ctx.record
    if record.closed:
        return surgery.paused(ctx, f, run, args, kwargs) if record.still else run(*args, **kwargs)
    if type(f) in following.OBJECTS:
        return following.OBJECTS[type(f)](ctx, f, args, kwargs)
    callee, bound = rules.canonical(f)
    if bound and isinstance(bound[0], np.ufunc) and f.__name__ != "at":
        callee, bound = f, ()  # the table knows np.add.reduce
    if bound:
        args = (*bound, *args)
        run = callee if run is f else run
    slot, callee = callee, spelled(callee)
    if run is slot is not callee and not all(map(is_plain, args)):
        run = callee = of_slot(record, callee, args)
    known = look_at(callee)
    if Buffer in map(type, args) or callee is Buffer:
        return _on_buffers(ctx, callee, known, run, args, kwargs)
    return _operated(ctx, callee, known, run, args, kwargs)


def _on_buffers(ctx: Recording, callee: Any, known: Callee, run: Run, args: Args, kwargs: Kwargs) -> Any:
    """A call that is given array.arrays, or makes one."""
    if buffers.concerned(ctx.record, callee, args) and not kwargs.keys() & {"out"}:
        out = buffers.handle(ctx, callee, args)
        if out is not buffers.AS_IT_IS:
            return out
        if not moves(known, callee, args):
            args = buffers.operands(ctx, callee, args)
    return _operated(ctx, callee, known, run, args, kwargs)


def _operated(ctx: Recording, callee: Any, known: Callee, run: Run, args: Args, kwargs: Kwargs) -> Any:
    record = ctx.record
    if not suspended.KINDS.isdisjoint(map(type, args)):
        suspended.check(record, args)
    args = going_through.listed(ctx, callee, args)
    if moves(known, callee, args):
        if callee is operator.setitem and holds_bytes(args[0]):
            stores.refuse_bytes(record, args)
        return run(*going_through.spread(record, known, callee, args), **kwargs)
    if run is not callee and not all(map(is_plain, args)):
        return run(*args, **kwargs)  # there may be Python code behind it; where not, it comes again
    if (known.known or known.code) and not all(map(is_plain, args)):
        args = tuple([a if is_plain(a) else _as_number(ctx, known, a, i) for i, a in enumerate(args)])
    return _computed(ctx, callee, known, run, args, kwargs)


def _computed(ctx: Recording, callee: Any, known: Callee, run: Run, args: Args, kwargs: Kwargs) -> Any:
    """Of a callee that does not only move objects."""
    record = ctx.record
    if args and isinstance(args[0], np.flatiter) and callee in _OF_FLAT:
        return _OF_FLAT[callee](ctx, *args)
    ruled = known.known or bool(record.context.ad_ruled(callee))
    functions = any(map(following.is_function, args)) or any(map(following.is_function, kwargs.values()))
    if (
        functions
        and not isinstance(callee, types.FunctionType)
        and not (ruled and _knows_functions(ctx, callee))
    ):
        if known.code is not None:
            return resolve(ctx, known.code)(*args, **kwargs)
        args, kwargs = following.watched(ctx, callee, args, kwargs)
    if ruled and not known.zero and any(through := [*map(going_through.is_gone_through, args)]):
        args = tuple([[*arrays.spread(record, a)] if gone else a for a, gone in zip(args, through)])
    if not ruled and not known.zero and following.takes_items(callee) and any(map(is_iterator, args)):
        args = tuple([following.items_watched(ctx, callee, a) if is_iterator(a) else a for a in args])
    if not (record.any_active(args) or (kwargs and record.any_active(kwargs))):
        return stores.constant(ctx, callee, args, kwargs, run)
    store = stores.find(callee, args, kwargs)
    if store is not None:
        stores.check_alias(ctx, args, kwargs)
        return store(ctx, callee, args, kwargs)
    if known.zero and not (known.real and any(map(np.iscomplexobj, args))):
        return surgery.detached(record, run(*args, **kwargs))
    if known.view:
        out = run(*args, **kwargs)
        if isinstance(out, np.ndarray) and record.is_active(out):
            return out
    if not ruled:
        return by_rule.opaque(ctx, callee, known, args, kwargs, run)
    return by_rule.computed(ctx, callee, known, args, kwargs, run)


def _knows_functions(ctx: Recording, callee: Any) -> bool:
    """Its derivative takes functions among its arguments: vjp rules call none (np.pad with one as mode)."""
    return bool(ctx.record.context.ad_ruled(callee)) or table.vjp_rule(callee) is None


def _item_of_flat(ctx: Recording, flat: Any, index: Any) -> Any:
    return operate(ctx, operator.getitem, operator.getitem, (flat.base, arrays.place(flat, index)), {})


def _next_of_flat(ctx: Recording, items: Any, *default: Any) -> Any:
    """next(array.flat): an item of the array."""
    array, at, is_left = items.base, items.coords, items.index < items.base.size
    item = next(items, *default)
    return operate(ctx, operator.getitem, operator.getitem, (array, at), {}) if is_left else item


_OF_FLAT = {operator.getitem: _item_of_flat, operator.setitem: stores.set_in_flat, next: _next_of_flat}


def _as_number(ctx: Recording, known: Callee, value: Any, i: int) -> Any:
    """What C code makes of an object of the user's, argument `i`."""
    cls = type(value)
    if isinstance(value, (np.ndarray, np.generic, float, complex)):
        return value
    if not known.of_math and hasattr(cls, "__array__"):
        return resolve(ctx, value.__array__)()
    if not known.of_math and i < max(known.arrays, 1) and going_through.is_sequence(cls):
        return going_through.as_list(ctx, value)
    methods = {f: getattr(cls, name, None) for name, f in _NUMBERS.items()}
    of_python = [f for f, method in methods.items() if isinstance(method, types.FunctionType)]
    return resolve(ctx, of_python[0])(value) if known.of_math and of_python else value


_NUMBERS = {"__float__": float, "__complex__": complex}


# -- rules ---------------------------------------------------------------------------------------------------


_UFUNC_OF = np.vectorize._get_ufunc_and_otypes  # type: ignore[attr-defined]


@Recording.rule(_UFUNC_OF)
def _vectorized(ctx: Recording, self: Any, *args: Any, **kwargs: Any) -> Any:
    """Without the ufuncs that it keeps: those call its function where nothing is written down."""
    kept = self.__dict__.get("_ufunc")
    if not ctx.record.closed:
        self._ufunc = {}
    try:
        return beyond_rules(ctx, _UFUNC_OF)(self, *args, **kwargs)
    finally:
        self._ufunc = kept


def follow(cls: type[Recording], functions: Iterable[Any]) -> None:
    """Calls of these come to `operate`, though there is Python code behind them."""
    for f in functions:
        if not cls.has_rules(f):
            cls.rule(f)(types.MethodType(handled, f))


def _as_they_are(f: Any, ctx: Recording, /, *args: Any, **kwargs: Any) -> Any:
    return f(*args, **kwargs)


for _f in (builtins.eval, builtins.exec):
    Recording.rule(_f)(types.MethodType(following.evaluated, _f))
Recording.rule(np.lib.stride_tricks.as_strided)(  # a view, by addresses
    types.MethodType(_as_they_are, np.lib.stride_tricks.as_strided)
)
for _f in (memory.address, memory.bounds, memory.owner, memory.overlaps, memory.stand_in):  # of runs in runs
    Recording.rule(_f)(types.MethodType(_as_they_are, _f))
follow(Recording, moving.RULED)
for _f, _rule in (
    numbers.rules(lambda f: functools.partial(handled, f)) | surgery.RULES | going_through.RULES
).items():
    Recording.rule(_f)(_rule)


def _solved(f: Any, rule: Any, ctx: Recording, /, *args: Any, **kwargs: Any) -> Any:
    if ctx.record.closed:
        return f(*args, **kwargs)
    return rule(ctx, f, args, kwargs)


@functools.cache
def _follow_table(loaded: tuple[str, ...]) -> None:
    """The functions with Python code that have derivatives, those of the libraries loaded by now too."""
    follow(Recording, [f for _, f in table.names() if isinstance(f, types.FunctionType)])


def follow_imported() -> None:
    """What has rules in the libraries that have been imported is recorded from now on."""
    _follow_table(libraries.loaded())
    ruled = {**splines.imported(), **distributions.imported(), **trajectories.imported()}
    for f, rule in ruled.items():
        if not Recording.has_rules(f):
            Recording.rule(f)(functools.partial(_solved, f, rule))


def recording(context: Any) -> type[Recording]:
    """The class of runs whose derivatives go by the rules of `context`."""
    follow_imported()
    return _class_for(context)


for _f in (recording, follow_imported, trajectories.mesh_of):  # their results are constants of a run around
    Recording.rule(_f)(types.MethodType(_as_they_are, _f))


@Recording.rule(memory.view_of)
def _view_of(ctx: Recording, buffer: Any) -> Any:
    """A run around another knows the memory by the same array."""
    return memory.view_of(buffer) if ctx.record.ended else ctx.record.view(buffer)


@Recording.rule(np.matrix.__getitem__)
def _item_of_matrix(ctx: Recording, matrix: Any, index: Any) -> Any:
    """It gives its result two axes by setting its shape, which nobody has seen by then."""
    return subclasses.formed(resolve(ctx, operator.getitem)(subclasses.plain(matrix), index), matrix[index])


Recording.rule(primitives.awaited)(suspended.awaited)
Recording.rule(primitives.gone_through)(suspended.gone_through)


@Recording.rule(primitives.import_name)
def _imported(ctx: Recording, *args: Any) -> Any:
    """An import in the midst of a run may bring functions that have rules."""
    found = primitives.import_name(*args)
    follow_imported()
    return found


@functools.cache
def _class_for(context: Any) -> type[Recording]:
    class Of(Recording):
        pass

    _follow_rules(context, Of)
    _made.append((context, Of))
    return Of


_made: list[tuple[Any, type[Recording]]] = []


def _follow_rules(context: Any, cls: type[Recording]) -> None:
    """What has a user's rule is not looked into."""
    ruled = {id(f): f for base in (context, ADContext) for f in rules.callees(base) if context.ad_ruled(f)}
    follow(cls, (f for f in ruled.values() if f is not Checkpointed.__call__))


def _rules_changed(changed: Any, callee: Any) -> None:
    for context, cls in _made:
        if not issubclass(changed, Recording):
            _follow_rules(context, cls)


rules.subscribe(_rules_changed)
