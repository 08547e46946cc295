"""Programs of other contexts: the engine's functions in them, which find what is called.

They are asked with samples: what runs in place of a callee goes by classes at most. What they find is
executed; what watches a program (`ir.watching`) is told of samples.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from ctxdispatch.dispatch import Context, memory, overdub, protocols, recurse, rules
from ctxdispatch.dispatch.overdub import (
    beyond_rules,
    by_types,
    fallback,
    inherits_fallback,
    resolve,
    seen,
    select,
    splatted,
    stepping,
)
from ctxdispatch.dispatch.places import reassigned
from ctxdispatch.dispatch.protocols import iteration
from ctxdispatch.dispatch.reach import HEAPTYPE, Engine, special
from ctxdispatch.facts import canonical
from ctxdispatch_contexts.sparsity.calls import ENGINE, GENERATED, Bound, Handled, Rule
from ctxdispatch_contexts.sparsity.journal import Cursor

Args = list[Any]
Kwargs = dict[str, Any]


def _overdub(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    ctx, function, *rest = args
    if not isinstance(ctx, Context) or type(ctx).program is not Context.program:
        return run.opaque(f, args, kwargs, GENERATED)
    return run.call(ctx.program(function, tuple(rest), kwargs), rest, kwargs)


def _recurse(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    ctx, function, *rest = args
    return run.call(found(beyond_rules, ctx, function), rest, kwargs)


def found(search: Any, ctx: Any, f: Any) -> Any:
    """What runs in place of `f`. That a method is one of a tracked value does not matter."""
    callee, bound = (f.descriptor, (f.owner,)) if isinstance(f, Bound) else canonical(f)
    ruled = search is resolve and rules.sets(type(ctx), callee)
    if not ruled and id(callee) in protocols.BY_IDENTITY:
        return _with(_Protocol(ctx, callee), bound)
    target = search(ctx, callee)
    return f if target is callee else _with(target, bound)


def _with(target: Any, bound: tuple[Any, ...]) -> Any:
    return functools.partial(target, *bound) if bound else target


class _Protocol(Handled):
    """A callee that the engine has a handler for, which goes by what it is called with."""

    def __init__(self, ctx: Any, callee: Any) -> None:
        self.ctx, self.callee = ctx, callee

    def run(self, run: Any, args: Args, kwargs: Kwargs) -> Any:
        if all(_has_no_python(run.sampled(a)) for a in args):
            return run.call(_plainly(self.ctx, self.callee), args, kwargs)
        handler = protocols.BY_IDENTITY[id(self.callee)]
        target = handler(_engine(run), self.ctx, self.callee)
        if target is None:
            return run.call(_plainly(self.ctx, self.callee), args, kwargs)
        return target(*args, **kwargs)


def _plainly(ctx: Any, f: Any) -> Any:
    return f if inherits_fallback(type(ctx)) else functools.partial(fallback, ctx, f)


def _engine(run: Any) -> Engine:
    """What a handler needs: what it finds for the other context, this run executes."""

    def resolved(ctx: Any, f: Any) -> Any:
        return ENGINE.resolve(run, found(resolve, ctx, f))

    return Engine(resolved, resolved, resolved, lambda ctx, f: ENGINE.resolve(run, _plainly(ctx, f)))


def _has_no_python(value: Any) -> bool:
    if type(value) in (list, tuple):
        return all(map(_has_no_python, value))
    return not type(value).__flags__ & HEAPTYPE


def _search(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    return found(f, *args)


def _select(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    operation, *operands, ctx = args
    samples = [run.sampled(a) for a in operands]
    kinds = tuple(map(type, samples))
    rule = rules.find(type(ctx), canonical(operation)[0], kinds)
    if rule is not None:
        return functools.partial(rule, ctx)
    if id(operation) not in protocols.BY_IDENTITY:
        return _plainly(ctx, operation)
    if memory.is_native(operation, kinds) and not _is_computed(operation, samples):
        return _plainly(ctx, operation)
    return _Protocol(ctx, operation)


def _is_computed(operation: Any, operands: Args) -> bool:
    """An attribute that a module's `__getattr__` may give."""
    module = operands[0]
    return operation is getattr and issubclass(type(module), ModuleType) and operands[1] not in vars(module)


def _by_types(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    ctx, callee, *rest = args
    rule = rules.find(type(ctx), callee, tuple([type(run.sampled(a)) for a in rest]))
    if rule is None:
        return run.call(found(beyond_rules, ctx, callee), rest, kwargs)
    return run.call(rule, [ctx, *rest], kwargs)


def _stepping(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    iterable, iterator, ctx = args
    if isinstance(iterator, Cursor) or special(type(iterator), "__next__") is None:
        return iterator
    return iteration.stepping(_engine(run), ctx, iterable, iterator)


def _splatted(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    items, callee, ctx = args
    if not type(run.sampled(items)).__flags__ & HEAPTYPE:
        return items
    return iteration.splat(_engine(run), ctx, callee, items)


def _beside(run: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    return f(*args)


def dispatch_rules() -> dict[Any, Rule]:
    return {
        overdub: _overdub,
        recurse: _recurse,
        resolve: _search,
        beyond_rules: _search,
        select: _select,
        by_types: _by_types,
        stepping: _stepping,
        splatted: _splatted,
        seen: _beside,
        reassigned: _beside,
    }
