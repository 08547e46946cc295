"""What the engine finds in place of a callee for a context further in, as operands of the program: see
`dispatched.py`.

It goes by the class of the context, the callee, and the types of what that is called with; what these do not
decide is None.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.dispatch import Context, memory, protocols, reach, rules
from ctxdispatch.dispatch.compiling import code_for, is_machinery
from ctxdispatch.dispatch.nested import UNDER
from ctxdispatch.dispatch.overdub import (
    OF_FRAME,
    fallback,
    inherits_fallback,
    resolve,
    twin,
)
from ctxdispatch.facts import canonical, says
from ctxdispatch.ir import primitives, sites
from ctxdispatch.ir.graph import Block, Op
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.ir.wrappers import called
from ctxdispatch.passes import effects
from ctxdispatch.passes import types as T
from ctxdispatch.passes.cells import items_of
from ctxdispatch.passes.guards import AttrIs, CodeIs, DefaultsAre, PathIs
from ctxdispatch.passes.resolve import call_guard
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.lookups import state_of
from ctxdispatch_contexts.programs.recipes import is_none, parts_of
from ctxdispatch_contexts.programs.watching import looks_at_frames

Found = Operand | None
Operands = Sequence[Operand]


def class_of(context: Operand) -> Any:
    """The class of a context whose programs can be opened here; None where it is not known, and where hooks
    ask which frames there are: those of the program are not there once it is inlined."""
    return class_of_type(operand_type(context))


def class_of_type(type_: T.Type) -> Any:
    cls = T.cls_of(type_)
    if cls is None or not issubclass(cls, Context) or cls.program is not Context.program:
        return None
    return None if cls.enter is not Context.enter or looks_at_frames(cls) else cls


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
        syntax = type(callee) is FunctionType and callee in _SYNTAX
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
            callee, bound = canonical(f.value)
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
        if type(callee) is FunctionType:
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
            return self._native(Const(f)) if args is not None and is_quiet(f, _types(args)) else None
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
        call = called(type(callee))
        if call is not None and not issubclass(type(callee), type):
            self.prepared.assume(call_guard(type(callee)))
            return self.bound(self.search(Const(call)), f)
        if callee is getattr and args and _computes_attributes(args[0]):
            return f
        quiet = args is not None and is_quiet(callee, _types([*first, *args]))
        return self._native(f) if quiet or runs_no_python(callee) else None

    def _partial(self, callee: functools.partial[Any]) -> Found:
        if callee.args and type(callee.args[0]) is reach.Engine:
            return None
        self.prepared.assume_all(state_of(callee))
        self.prepared.assume_all(PathIs(callee.keywords, (name,), v) for name, v in callee.keywords.items())
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


@says(known=False, raises=False)
def places_of(ctx: Any, code: CodeType, places: int) -> CellType:
    """The hidden cell with what `code` remembers."""
    return ctx._memory.cell(code, places)  # type: ignore[no-any-return]


def _types(operands: Operands) -> list[T.Type]:
    return [operand_type(a) for a in operands]


def _classes(types: Iterable[T.Type]) -> tuple[type, ...] | None:
    found = [T.cls_of(t) for t in types]
    return None if None in found else tuple(found)  # type: ignore[arg-type]


def is_quiet(callee: Any, types: Sequence[T.Type]) -> bool:
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
    return issubclass(type(module), ModuleType) and reach.is_python(vars(module).get("__getattr__"))


def runs_no_python(callee: Any) -> bool:
    """C code that the engine leaves alone, whatever it is called with."""
    if id(callee) in protocols.BY_IDENTITY or id(callee) in memory.ASSIGNS:
        return False
    if issubclass(type(callee), type):
        return not any(reach.is_python(reach.lookup(callee, name)) for name in ("__new__", "__init__"))
    return reach.special(type(callee), "__call__") is None and type(callee) not in _BOUND


_BOUND = frozenset(protocols.BY_TYPE) - memory.STABLE


def is_left_alone(cls: Any, f: Any) -> bool:
    """The class has no say in what C code does."""
    if type(f) is FunctionType or not inherits_fallback(cls):
        return False
    return id(canonical(f)[0]) not in rules.table(cls) and f is not functools.partial
