"""Programs of contexts further in: what the engine's functions mean in them.

What runs in place of a callee depends on the class of the context and on the callee, or on the classes of the
operands too. Where the program knows them, what the engine would find is written in the place of the search,
under a guard on the version of the class:

    %y = overdub(%ctx, f, %x)            %g = resolve(%ctx, f); %y = %g(%x)
    %g = resolve(%ctx, f)                f                                    nothing is to be done about it
    %g = select(mul, %a, %b, %ctx)       partial(rule, %ctx)                  a rule
                                         make_function(code, .., (%ctx, ..))  f's code, rewritten for the class
                                         partial(fallback, %ctx, f)           neither, with a fallback

The rest of preparing inlines these as it does others. What is not known stays a search at run time: it gives a
function, and has no derivative of its own. So the engine's machinery is no part of a program; nor is what
watches it (`ir.watching`), which runs as it is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.dispatch import Context, memory, overdub, protocols, reach, recurse, rules
from ctxdispatch.dispatch.nested import UNDER
from ctxdispatch.dispatch.overdub import (
    OF_FRAME,
    beyond_rules,
    by_types,
    code_for,
    fallback,
    inherits_fallback,
    is_machinery,
    resolve,
    seen,
    select,
    splatted,
    stepping,
    twin,
)
from ctxdispatch.dispatch.places import reassigned, visible
from ctxdispatch.ir import primitives, sites
from ctxdispatch.ir.graph import Block, Op
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import effects
from ctxdispatch.passes import types as T
from ctxdispatch.passes.cells import items_of
from ctxdispatch.passes.guards import AttrIs, CodeIs, DefaultsAre
from ctxdispatch.passes.resolve import class_attribute
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.activity import ZERO_BY_RULE
from ctxdispatch_contexts.programs.derived import overdub_of_any
from ctxdispatch_contexts.programs.objects import either, is_made_by_init, method_of_operator, new_object
from ctxdispatch_contexts.programs.recipes import is_none, parts_of
from ctxdispatch_contexts.programs.watching import looks_at_frames

SEARCHES = (resolve, beyond_rules, select)
"""They give what is to be called, and call nothing."""

Found = Operand | None
Operands = Sequence[Operand]


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


def class_of(context: Operand) -> Any:
    """The class of a context whose programs can be opened here; None where it is not known, and where hooks
    ask which frames there are: those of the program are not there once it is inlined."""
    return class_of_type(operand_type(context))


def class_of_type(type_: T.Type) -> Any:
    cls = T.cls_of(type_)
    if cls is None or not issubclass(cls, Context) or cls.program is not Context.program:
        return None
    return None if cls.enter is not Context.enter or looks_at_frames(cls) else cls


# -- what is found -----------------------------------------------------------------------------------------


class Finder:
    """What the engine finds for the context `ctx` at `op`. Operands that the program does not know are asked
    for their types; what is found is None where that does not decide."""

    def __init__(self, prepared: Any, block: Block, op: Op, ctx: Operand, cls: Any) -> None:
        self.prepared, self.block, self.op = prepared, block, op
        self.ctx, self.cls = ctx, cls

    def assume_version(self) -> None:
        self.prepared.assume(AttrIs(self.cls, "_version", self.cls._version))

    def emit(self, callee: Any, *operands: Operand, kwnames: tuple[str, ...] = ()) -> Value:
        result = Value()
        syntax = isinstance(callee, FunctionType) and callee in _SYNTAX
        at = next(i for i, other in enumerate(self.block.ops) if other is self.op)
        self.block.ops.insert(at, Op(Const(callee), [*operands], [result], kwnames, self.op.pos, syntax))
        return result

    def search(self, f: Operand) -> Value:
        return self.emit(resolve, self.ctx, f)

    def bound(self, f: Operand, *first: Operand, kwnames: tuple[str, ...] = ()) -> Operand:
        return self.emit(functools.partial, f, *first, kwnames=kwnames) if first else f

    # -- by callee -----------------------------------------------------------------------------------------

    def target(self, f: Operand, args: Operands | None, ruled: bool = True) -> Found:
        """What runs in place of `f`; of rules and handlers that go by the arguments where these are known.
        `ruled`: its rules are asked."""
        if isinstance(f, Const):
            callee, bound = rules.canonical(f.value)
            return self._known(f, callee, [Const(b) for b in bound], args, ruled)
        making = self.prepared.maker.get(f)
        if isinstance(f.type, T.Bound) and making is not None and making.fn is getattr:
            return self._known(f, f.type.function, making.args[:1], args, ruled)
        by_maker = _MADE.get(making.fn) if making is not None and hashable(making.fn) else None
        return None if by_maker is None else by_maker(self, making)

    def _known(
        self, f: Operand, callee: Any, first: list[Operand], args: Operands | None, ruled: bool
    ) -> Found:
        if ruled and id(callee) in rules.table(self.cls):
            return self._by_rule(f, callee, first, args)
        if isinstance(callee, FunctionType):
            found = self._function(callee, args)
            return None if found is None else self.bound(found, *first)
        return self._other(f, callee, first, args)

    def _by_rule(self, f: Operand, callee: Any, first: list[Operand], args: Operands | None) -> Found:
        own = rules.sets(self.cls, callee)[0]
        if own.default is not None and not own.typed:
            return self.bound(Const(own.default), self.ctx, *first)
        kinds = None if args is None else _classes(_types([*first, *args]))
        if kinds is None:
            return None
        try:
            rule = rules.find(self.cls, callee, kinds)
        except rules.AmbiguousRule:
            return None  # the call says so, if it comes to it
        if rule is None:
            return self._known(f, callee, first, args, ruled=False)
        return self.bound(Const(rule), self.ctx, *first)

    def _function(self, f: FunctionType, args: Operands | None) -> Found:
        if protocols.of_function(f) is not None:
            return self._native(Const(f)) if args is not None and _is_quiet(f, _types(args)) else None
        if reach.own_way(f) is not None or f in UNDER:
            return None
        if is_machinery(self.cls, f):
            return Const(f)
        return self._rewritten(f)

    def _rewritten(self, f: FunctionType) -> Found:
        found = code_for(self.instance, f)
        if isinstance(found, UnsupportedSyntax):
            return None
        self.prepared.assume(CodeIs(f, f.__code__))
        if found is None:
            return Const(f)
        if isinstance(self.ctx, Const):
            return Const(twin(self.ctx.value, f))
        if f.__defaults__ or f.__kwdefaults__:
            self.prepared.assume(DefaultsAre(f, f.__defaults__, dict(f.__kwdefaults__ or {})))
        cells = [Const(cell) for cell in f.__closure__ or ()]
        defaults = Const(f.__defaults__), Const(f.__kwdefaults__), Const(None)
        return self._make(Const(f.__globals__), f.__code__, found, defaults, cells)

    @property
    def instance(self) -> Any:
        """Of the class: which one does not matter to the code."""
        return self.ctx.value if isinstance(self.ctx, Const) else self.cls.__new__(self.cls)

    def _make(
        self, namespace: Operand, code: CodeType, found: Any, defaults: Iterable[Operand], cells: Operands
    ) -> Value:
        """The function of the rewritten code, with the hidden cells beside its own."""
        added = [self._hidden(name, found) for name in found.code.co_freevars[len(code.co_freevars) :]]
        closure = self.emit(primitives.build_tuple, *cells, *added)
        return self.emit(primitives.make_function, namespace, Const(found.code), *defaults, closure)

    def _hidden(self, name: str, found: Any) -> Value:
        if name.startswith(sites.CELL):
            return self.emit(places_of, self.ctx, Const(found.code), Const(found.places))
        return self.emit(primitives.make_cell, self.ctx)

    def _other(self, f: Operand, callee: Any, first: list[Operand], args: Operands | None) -> Found:
        """Of what is no Python function."""
        if type(callee) is functools.partial:
            return self._partial(callee)
        call = class_attribute(type(callee), "__call__")
        if isinstance(call, FunctionType) and not isinstance(callee, type):
            self.prepared.assume(AttrIs(type(callee), "__call__", call))
            return self.bound(self.search(Const(call)), f)
        if callee is getattr and args and _computes_attributes(args[0]):
            return f
        quiet = args is not None and _is_quiet(callee, _types([*first, *args]))
        return self._native(f) if quiet or _runs_no_python(callee) else None

    def _partial(self, callee: functools.partial[Any]) -> Found:
        if callee.args and type(callee.args[0]) is reach.Engine:
            return None
        named = [Const(v) for v in callee.keywords.values()]
        given = [Const(a) for a in callee.args]
        return self.bound(self.search(Const(callee.func)), *given, *named, kwnames=tuple(callee.keywords))

    def _native(self, f: Operand) -> Operand:
        known = f.value if isinstance(f, Const) else None
        if inherits_fallback(self.cls) or any(known is looks for looks in OF_FRAME):
            return f
        return self.bound(Const(fallback), self.ctx, f)

    # -- of callees that the program makes -----------------------------------------------------------------

    def made(self, making: Op) -> Found:
        parts = parts_of(making)
        cells = [] if is_none(parts.closure) else items_of(parts.closure, self.prepared.maker)
        namespace = making.args[0]
        if cells is None or not isinstance(namespace, Const):
            return None
        empty = tuple([CellType() for _ in parts.code.co_freevars])
        found = code_for(self.instance, FunctionType(parts.code, namespace.value, closure=empty or None))
        if isinstance(found, UnsupportedSyntax):
            return None
        return making.result if found is None else self._make(
            namespace, parts.code, found, making.args[2:5], cells
        )  # fmt: skip

    def made_partial(self, making: Op) -> Found:
        f, *first = making.args
        return self.bound(self.search(f), *first, kwnames=making.kwnames)

    def method(self, making: Op) -> Found:
        found = self.prepared.method(making)
        return None if found is None else self.bound(self.search(Const(found.function)), *found.first)


_MADE: dict[Any, Callable[[Finder, Op], Found]] = {
    primitives.make_function: Finder.made,
    functools.partial: Finder.made_partial,
    getattr: Finder.method,
}

_SYNTAX = frozenset({primitives.build_tuple, primitives.make_function, primitives.make_cell})


def places_of(ctx: Any, code: CodeType, places: int) -> CellType:
    """The hidden cell with what `code` remembers."""
    return ctx._memory.cell(code, places)  # type: ignore[no-any-return]


def _types(operands: Operands) -> list[T.Type]:
    return [operand_type(a) for a in operands]


def _classes(types: Iterable[T.Type]) -> tuple[type, ...] | None:
    found = [T.cls_of(t) for t in types]
    return None if None in found else tuple(found)  # type: ignore[arg-type]


def _is_quiet(callee: Any, types: Sequence[T.Type]) -> bool:
    """On operands of these types it runs no Python code that a context follows."""
    if all(map(effects.plain, types)):
        return True
    kinds = _classes(types)
    if not kinds or not hashable(callee):
        return False
    return memory.is_native_call(callee, kinds) or (
        callee in memory.GUARDED and memory.is_native(callee, kinds)
    )


def _computes_attributes(operand: Operand) -> bool:
    """A module with a `__getattr__`: reading what it has is no call of C code."""
    type_ = operand_type(operand)
    module = type_.value if isinstance(type_, T.Known) else None
    return isinstance(module, ModuleType) and reach.is_python(vars(module).get("__getattr__"))


def _runs_no_python(callee: Any) -> bool:
    """C code that the engine leaves alone, whatever it is called with."""
    if id(callee) in protocols.BY_IDENTITY or id(callee) in memory.ASSIGNS:
        return False
    if isinstance(callee, type):
        return not any(reach.is_python(reach.lookup(callee, name)) for name in ("__new__", "__init__"))
    return reach.special(type(callee), "__call__") is None and type(callee) not in _BOUND


_BOUND = frozenset(protocols.BY_TYPE) - memory.STABLE

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
    """The type of what a search gives, where that is the callee itself. That operands are numbers may be known
    only if the results of operations on them are: so it cannot wait until a round is over."""
    if search not in SEARCHES:
        return None
    (ctx, f), operands = ((types[-1], types[0]), types[1:-1]) if search is select else (types, None)
    cls = class_of_type(ctx)
    if cls is None or not isinstance(f, T.Known) or not _is_left_alone(cls, f.value):
        return None
    prepared.assume(AttrIs(cls, "_version", cls._version))
    holds = functools.partial(_is_quiet, f.value)
    if operands is not None:
        return T.Known(f.value) if holds(operands) else None
    return T.Known(f.value) if _runs_no_python(f.value) else T.Conditional(f.value, holds)


def _is_left_alone(cls: Any, f: Any) -> bool:
    """The class has no say in what C code does."""
    if isinstance(f, FunctionType) or not inherits_fallback(cls):
        return False
    return id(rules.canonical(f)[0]) not in rules.table(cls) and f is not functools.partial


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
    if not _is_left_alone(finder.cls, f.value) or finder.prepared.waits(op):
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
    if isinstance(f, type) and is_made_by_init(f):
        prepared.assume(AttrIs(f, "__init__", f.__init__))
        op.callee = finder.search(Const(new_object(prepared.graph, finder.block, op, f)))
        return True
    method = method_of_operator(prepared, Op(Const(f), op.args, op.results, (), op.pos))
    if method is None or method[0].__module__ == either.__module__:
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
    if finder is None or not isinstance(own, FunctionType):
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
effects.assume_removable(*SEARCHES, seen, places_of)
