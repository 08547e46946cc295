"""Programs of contexts further in: what the engine's functions mean in them.

What runs in place of a callee depends on the class of the context and on the callee, or on the classes of the
operands too. Where the program knows them, what the engine would find (`finding.py`) is written in the place
of the search, under a guard on the version of the class:

    %y = overdub(%ctx, f, %x)            %g = resolve(%ctx, f); %y = %g(%x)
    %g = resolve(%ctx, f)                f                                    nothing is to be done about it
    %g = select(mul, %a, %b, %ctx)       partial(rule, %ctx)                  a rule
                                         make_function(code, .., cells)       f's code, rewritten for it
                                         partial(fallback, %ctx, f)           neither, with a fallback

The rest of preparing inlines these as it does others. What is not known stays a search at run time, which
gives a function and has no derivative of its own. So the engine's machinery is no part of a program; nor is
what watches it (`ir.watching`), which runs as it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from ctxdispatch.dispatch import overdub, recurse, rules
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
from ctxdispatch.dispatch.places import reassigned, visible
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Op
from ctxdispatch.ir.leaves import is_ours
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import effects
from ctxdispatch.passes import types as T
from ctxdispatch.passes.guards import AttrIs
from ctxdispatch.passes.resolve import class_attribute
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.activity import ZERO_BY_RULE
from ctxdispatch_contexts.programs.derived import overdub_of_any
from ctxdispatch_contexts.programs.finding import (
    Finder,
    Operands,
    class_of,
    class_of_type,
    is_left_alone,
    is_quiet,
    places_of,
    runs_no_python,
)
from ctxdispatch_contexts.programs.objects import is_made_by_init, method_of_operator, new_object

SEARCHES = (resolve, beyond_rules, select)
"""They give what is to be called, and call nothing."""


def open_dispatched(prepared: Any, block: Block, op: Op) -> bool:
    """Rewrite a call of the engine's, or of what it has found. True where something was changed."""
    meaning = _MEANINGS.get(op.fn) if hashable(op.fn) else None
    if meaning is not None:
        return meaning(prepared, block, op)
    making = prepared.maker.get(op.callee) if isinstance(op.callee, Value) else None
    return making is not None and making.fn in SEARCHES and _open_call(prepared, block, op, making)


def stays(fn: Any) -> bool:
    """Whether it is the engine's: not to be looked into."""
    return hashable(fn) and fn in _LEFT


def is_left_to_engine(fn: Any) -> bool:
    """Whether what `fn` gives is known to the engine alone, at run time."""
    return stays(fn) and fn not in _ASIDE


# -- what is done about it -----------------------------------------------------------------------------------


def _finder(prepared: Any, block: Block, op: Op, ctx: Operand) -> Finder | None:
    cls = class_of(ctx)
    return None if cls is None else Finder(prepared, block, op, ctx, cls)


def _open_search(prepared: Any, block: Block, op: Op) -> bool:
    f, ctx, operands = _search(op)
    finder = _finder(prepared, block, op, ctx)
    found = None if finder is None else finder.target(f, operands, op.fn is not beyond_rules)
    if finder is None or found is None:
        return False
    finder.assume_version()
    block.ops.remove(op)
    substitute(prepared.graph, {op.result: found})
    return True


def _search(op: Op) -> tuple[Operand, Operand, Operands | None]:
    """What it searches for, for which context, and the operands if they are known."""
    if op.fn is select:
        f, *operands, ctx = op.args
        return f, ctx, operands
    ctx, f = op.args
    return f, ctx, None


def _open_call(prepared: Any, block: Block, op: Op, making: Op) -> bool:
    """A call of what was searched for: with these arguments more may be known."""
    f, ctx, _ = _search(making)
    finder = _finder(prepared, block, op, ctx)
    if finder is None or op.kwnames:
        return False
    found = finder.target(f, op.args, making.fn is not beyond_rules)
    if found is not None:
        op.callee = found
    elif not (isinstance(f, Const) and _open_protocol(finder, op, f.value)):
        return _join(finder, op, making, f)
    finder.assume_version()
    return True


# -- what inference knows ------------------------------------------------------------------------------------


def searched_type(prepared: Any, search: Any, types: Sequence[T.Type]) -> T.Type | None:
    """The type of what a search gives, where that is the callee itself. That operands are numbers may be
    known only if the results of operations on them are: so it cannot wait until a round is over."""
    if search not in SEARCHES:
        return None
    (ctx, f), operands = ((types[-1], types[0]), types[1:-1]) if search is select else (types, None)
    cls = class_of_type(ctx)
    if cls is None or not isinstance(f, T.Known) or not is_left_alone(cls, f.value):
        return None
    prepared.assume(AttrIs(cls, "_version", cls._version))
    holds = functools.partial(is_quiet, f.value)
    if operands is not None:
        return T.Known(f.value) if holds(operands) else None
    return T.Known(f.value) if runs_no_python(f.value) else T.Conditional(f.value, holds)


# -- what is not known ---------------------------------------------------------------------------------------


def operate(f: Any, ctx: Any, a: Any, b: Any, /) -> Any:
    """The operation `f` under `ctx`, on operands whose types run time knows."""
    return select(f, a, b, ctx)(a, b)


def operate_on_one(f: Any, ctx: Any, a: Any, /) -> Any:
    return select(f, a, ctx)(a)


def call_under(f: Any, ctx: Any, /, *args: Any) -> Any:
    """The call f(*args) likewise."""
    return resolve(ctx, f)(*args)


_LATER: dict[Any, dict[int, Any]] = {
    select: {1: operate_on_one, 2: operate},
    resolve: dict.fromkeys(range(8), call_under),
}
"""By how many operands there are."""

_WAITING = frozenset({operate, operate_on_one, call_under})


def waits_for_types(op: Op) -> bool:
    """Whether it is a call for which an entry at run time is better than what is known now."""
    return hashable(op.fn) and op.fn in _WAITING and _unknown(op.args)


def _unknown(operands: Operands) -> bool:
    return any(operand_type(a) is T.Any for a in operands)


def _join(finder: Finder, op: Op, making: Op, f: Operand) -> bool:
    """The search and the call as one call: it is differentiated by an entry, which knows the types. (Where a
    rule or a fallback may run, that may change what the program has: such a run is recorded.)"""
    later = _LATER.get(making.fn, {}).get(len(op.args))
    if later is None or op.kwnames or not isinstance(f, Const) or not _unknown(op.args):
        return False
    if not is_left_alone(finder.cls, f.value) or finder.prepared.waits(op):
        return False
    op.callee, op.args, op.syntax = Const(later), [f, finder.ctx, *op.args], False
    return True


def _open_protocol(finder: Finder, op: Op, f: Any) -> bool:
    """What comes to other calls: constructors and operators of user classes, contexts further in."""
    search = _WITHIN.get(f) if hashable(f) else None
    if search is not None and len(op.args) >= FIRST and class_of(op.args[0]) is not None:
        ctx, function, *args = op.args
        op.callee, op.args = finder.search(finder.emit(search, ctx, function)), args
        return True
    if id(f) in rules.table(finder.cls) or not inherits_fallback(finder.cls):
        return False
    prepared = finder.prepared
    if issubclass(type(f), type) and is_made_by_init(f):
        prepared.assume(AttrIs(f, "__init__", f.__init__))
        op.callee = finder.search(Const(new_object(prepared.graph, finder.block, op, f)))
        return True
    method = method_of_operator(prepared, Op(Const(f), op.args, op.results, (), op.pos))
    if method is None or is_ours(method[0].__module__):
        return False
    op.callee, op.args = finder.search(Const(method[0])), method[1]
    return True


@overdub_of_any
def _open_overdub(prepared: Any, block: Block, op: Op) -> bool:
    """overdub(ctx, f, *args): as where a context further out meets it."""
    return _open_run(prepared, block, op, resolve)


def _open_recurse(prepared: Any, block: Block, op: Op) -> bool:
    return _open_run(prepared, block, op, beyond_rules)


def _open_run(prepared: Any, block: Block, op: Op, search: Any) -> bool:
    if len(op.args) - len(op.kwnames) < FIRST:
        return False
    ctx, f, *args = op.args
    finder = _finder(prepared, block, op, ctx)
    if finder is None:
        return False
    op.callee, op.args, op.syntax = finder.emit(search, ctx, f), args, False
    return True


FIRST = 2
"""The context and the function."""

_WITHIN = {overdub: resolve, recurse: beyond_rules}
"""What searches for these, as a context further out meets them."""


def _open_by_types(prepared: Any, block: Block, op: Op) -> bool:
    ctx, f, *args = op.args
    finder = _finder(prepared, block, op, ctx)
    found = None if finder is None or op.kwnames else finder.target(f, args)
    if finder is None or found is None:
        return False
    finder.assume_version()
    op.callee, op.args = found, args
    return True


def _open_fallback(prepared: Any, block: Block, op: Op) -> bool:
    ctx, f, *args = op.args
    finder = _finder(prepared, block, op, ctx)
    own = None if finder is None else class_attribute(finder.cls, "fallback")
    if finder is None or type(own) is not FunctionType:
        return False
    finder.assume_version()
    n = len(args) - len(op.kwnames)
    pairs = [o for name, value in zip(op.kwnames, args[n:]) for o in (Const(name), value)]
    given, named = finder.emit(primitives.build_tuple, *args[:n]), finder.emit(primitives.build_map, *pairs)
    op.callee, op.args, op.kwnames = Const(own), [ctx, f, given, named], ()
    return True


def _open_through(at: int) -> Callable[[Any, Block, Op], bool]:
    """What a loop, or f(*items), goes through: the operand number `at`, where the first is no code's of the
    user's."""

    def rewrite(prepared: Any, block: Block, op: Op) -> bool:
        if not effects.plain_container(operand_type(op.args[0])):
            return False
        block.ops.remove(op)
        substitute(prepared.graph, {op.result: op.args[at]})
        return True

    return rewrite


def _open_seen(prepared: Any, block: Block, op: Op) -> bool:
    (f,) = op.args
    if not isinstance(f, Const):
        return False
    block.ops.remove(op)
    substitute(prepared.graph, {op.result: Const(seen(f.value))})
    return True


_MEANINGS: dict[Any, Callable[[Any, Block, Op], bool]] = {
    resolve: _open_search,
    beyond_rules: _open_search,
    select: _open_search,
    recurse: _open_recurse,
    by_types: _open_by_types,
    fallback: _open_fallback,
    stepping: _open_through(1),
    splatted: _open_through(0),
    seen: _open_seen,
}

_ASIDE = frozenset({seen, reassigned, visible, places_of})
"""What a program calls beside what it computes."""

_LEFT = frozenset({*SEARCHES, by_types, fallback, stepping, splatted, *_ASIDE})

ZERO_BY_RULE.update((*SEARCHES, *_ASIDE))
