"""Entries: functions that specialise themselves on the types they are called with.

An entry's `function` is what `grad(f)` returns. Its code starts as a stub that calls `miss`; the first call
compiles the derivative program for the types at hand, and the function's own `__code__` becomes: guards, then
the program. So a call costs the guards and no more. A program for further types goes before it, and a call
that fails its guards goes on to the older ones; the last resort is `miss`, which looks into a dictionary. A
change of the rules puts the stub back.
"""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from ctxdispatch.dispatch import recurse
from ctxdispatch.dispatch import rules as context_rules
from ctxdispatch.ir.graph import Const, Graph, Op, Operand, Return, Signature, Value, positional
from ctxdispatch.ir.rewrite import clone, substitute
from ctxdispatch.passes import types as T
from ctxdispatch.passes.buffers import make_function
from ctxdispatch.passes.guards import CodeIs, DefaultsAre, Guard
from ctxdispatch.passes.held import held_type
from ctxdispatch_contexts.reverse.activity import carries
from ctxdispatch_contexts.reverse.entry_keys import HOLE
from ctxdispatch_contexts.reverse.errors import DerivativeError, user_position
from ctxdispatch_contexts.reverse.guarding import add_guards, guardable, holds
from ctxdispatch_contexts.reverse.inlining import lifted
from ctxdispatch_contexts.reverse.program import Mode, Program, differentiate

_compiling = threading.RLock()

MAX_CHAIN = 8
"""So many programs are asked one after the other whether a call is theirs; more are looked up by the
types."""

_live: weakref.WeakSet[Entry]


class Default:
    """Stands for an argument that the caller left out."""


class Source:
    """What is differentiated: `graph()` gives a fresh copy of its IR, `guards` what that copy takes for
    granted."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self.cells = function.__closure__ or ()

    def graph(self) -> Graph:
        return clone(lifted(self.function))

    def guards(self) -> list[Guard]:
        f = self.function
        defaults: list[Guard] = [DefaultsAre(f, f.__defaults__, None)] if f.__defaults__ else []
        return [CodeIs(f, f.__code__), *defaults]

    def default(self, i: int) -> Any:
        """The default of parameter i, as it is now."""
        defaults = self.function.__defaults__ or ()
        at = i - self.function.__code__.co_argcount
        if at < -len(defaults):
            name = self.signature().names[i]
            raise TypeError(
                f"{self.function.__qualname__}() missing 1 required positional argument: {name!r}"
            )
        return defaults[at]

    def signature(self) -> Signature:
        return Signature.of(self.function.__code__)

    def bare(self) -> Graph:
        """A graph with the parameters and nothing in it."""
        code = self.function.__code__
        return Graph(
            code.co_qualname,
            self.signature(),
            cellnames=code.co_freevars,
            namespace=self.function.__globals__,
            filename=code.co_filename,
            line=code.co_firstlineno,
        )


class CallSource:
    """One call of `callee`. `template` has a literal or HOLE per argument; the last len(kwnames) go by
    keyword."""

    def __init__(self, callee: Any, template: tuple[Any, ...], kwnames: tuple[str, ...] = ()) -> None:
        self.callee, self.template, self.kwnames = callee, template, kwnames
        self.cells = ()

    def signature(self) -> Signature:
        return positional(sum(t is HOLE for t in self.template))

    def bare(self) -> Graph:
        return Graph(
            getattr(self.callee, "__name__", "call"), self.signature(), namespace={"__name__": __name__}
        )

    def graph(self) -> Graph:
        graph = self.bare()
        params = iter(graph.params)
        args: list[Operand] = [next(params) if t is HOLE else Const(t) for t in self.template]
        y = Value("y")
        graph.entry.ops.append(Op(Const(self.callee), args, [y], self.kwnames))
        graph.entry.terminator = Return(y)
        return graph

    def guards(self) -> list[Guard]:
        return []


class Specialised:
    """One compiled program: `function` tests its guards first and calls `otherwise` where one fails, `body`
    does not."""

    def __init__(self, entry: Entry, program: Program, otherwise: Callable[..., Any]) -> None:
        self.types, self.guards = program.types, program.guards
        self._plain = program.graph
        self._entry = entry
        self._body: Callable[..., Any] | None = None
        graph = clone(program.graph)
        add_guards(graph, self.types, self.guards, otherwise)
        self.function = make_function(graph, entry.namespace, entry.closure)

    @property
    def body(self) -> Callable[..., Any]:
        if self._body is None:
            self._body = make_function(self._plain, self._entry.namespace, self._entry.closure)
        return self._body

    def holds(self) -> bool:
        return all(map(holds, self.guards))


class Entry:
    """`function` is what grad and its like return: its code is a stub, or the last types' program."""

    def __init__(self, source: Source | CallSource, mode: Mode, context: Any) -> None:
        self.source, self.mode, self.context = source, mode, context
        function = source.function if isinstance(source, Source) else None
        self.closure = tuple(source.cells)
        self.namespace = function.__globals__ if function is not None else {"__name__": __name__}
        self.specialised: dict[tuple[T.Type, ...], Specialised] = {}
        self.function = make_function(self._stub_graph(), self.namespace, self.closure)
        self._stub: CodeType = self.function.__code__
        self.function.__overdub__ = self.under  # type: ignore[attr-defined]
        if function is not None:
            self.function.__defaults__ = (Default,) * len(function.__defaults__ or ()) or None
            self.function.__wrapped__ = function  # type: ignore[attr-defined]
            self.function._is_gradient = True  # type: ignore[attr-defined]
            self.function.__doc__ = function.__doc__
        _live.add(self)

    def _stub_graph(self) -> Graph:
        """(*arguments): return miss(*arguments)"""
        graph = self.source.bare()
        result = Value()
        entry = graph.entry
        entry.ops = [Op(Const(self.miss), list(graph.params), [result])]
        entry.terminator = Return(result)
        graph.blocks = [entry]
        return graph

    def miss(self, *args: Any) -> Any:
        """The installed program does not fit these arguments: find or compile one that does, and run it."""
        types = tuple([guardable(held_type(a)) for a in args])
        found = self.specialised.get(types)
        if found is None or not found.holds():
            found = self._compile(types)
            return found.function(*args)
        return found.body(*args)

    def under(self, ctx: Any, *args: Any, **kwargs: Any) -> Any:
        """What another context runs in place of `function`: the program, not the finding of it."""
        bound = inspect.signature(self.function, follow_wrapped=False).bind(*args, **kwargs)
        bound.apply_defaults()
        types = tuple([guardable(held_type(a)) for a in bound.args])
        found = self.specialised.get(types)
        if found is None or not found.holds():
            found = self._compile(types)
        return recurse(ctx, found.body, *bound.args)

    def _compile(self, types: tuple[T.Type, ...]) -> Specialised:
        with _compiling:
            found = self.specialised.get(types)
            if found is not None and found.holds():  # another thread was first
                return found
            version = context_rules.version()
            stale = any(not each.holds() for each in self.specialised.values())
            found = Specialised(self, self.program(types), self._otherwise(stale))
            _count(self)
            if version == context_rules.version():
                self.specialised[types] = found
                self.function.__code__ = found.function.__code__
            return found

    def _otherwise(self, stale: bool) -> Callable[..., Any]:
        """Where calls go that the next program does not fit: to the programs there are, newest first."""
        if stale or len(self.specialised) % MAX_CHAIN == 0:
            return self.miss
        return FunctionType(
            self.function.__code__, self.namespace, self.function.__name__, None, self.closure
        )

    def program(self, types: tuple[T.Type, ...]) -> Program:
        self._check_arguments(types)
        program = self._differentiated(types)
        weaker = _any_length(types)
        if weaker is not None:
            other = self._differentiated(weaker)
            # whether it has length 1 does not matter: do not test it
            if str(other.graph) == str(program.graph):
                program = other
        program.guards[:0] = self.source.guards()
        return program

    def _differentiated(self, types: tuple[T.Type, ...]) -> Program:
        return differentiate(
            lambda: self._graph(types), types, self.source.cells, self.mode,
            self.context.ad_has_rule, self.context.ad_entries,
        )  # fmt: skip

    def _graph(self, types: tuple[T.Type, ...]) -> Graph:
        """The source's, with the defaults of arguments that were left out."""
        graph = self.source.graph()
        left_out = [i for i, type_ in enumerate(types) if type_ == T.Known(Default)]
        if left_out and isinstance(self.source, Source):
            substitute(graph, {graph.params[i]: Const(self.source.default(i)) for i in left_out})
        return graph

    def _check_arguments(self, types: tuple[T.Type, ...]) -> None:
        if self.mode.split or self.mode.wrt is None:
            return
        names = self.source.signature().names
        for i in self.mode.wrt:
            if not carries(types[i]):
                raise DerivativeError(
                    f"argument {names[i]!r} (argnums {i}) {_unfit(types[i])}", user_position()
                )

    def forget(self) -> None:
        self.specialised.clear()
        self.function.__code__ = self._stub


def _any_length(types: tuple[T.Type, ...]) -> tuple[T.Type, ...] | None:
    """For a vector as the one argument: the same of any length. With more arrays than one, lengths decide
    what is broadcast."""
    if len(types) == 1 and isinstance(types[0], T.ArrayOf) and types[0].dims == (False,):
        return (T.ArrayOf(types[0].dtype, (None,)),)
    return None


def _unfit(type_: T.Type) -> str:
    """Why nothing can be differentiated with respect to an argument of this type, and what to do."""
    if type_ == T.Known(Default):
        return "was left out of the call; pass it, or leave it out of argnums"
    if isinstance(type_, T.ArrayOf):
        return f"is an array of dtype {type_.dtype}, which has no derivative; pass it `.astype(float)`"
    cls = T.cls_of(type_)
    return (
        f"is of type {cls.__name__ if cls else type_}, which has no derivative; pass a float (or an array of "
        "floats), or leave it out of argnums"
    )


_live = weakref.WeakSet()
compiled: dict[str, int] = {}
"""How many programs were compiled, by the name of what was differentiated."""


def _count(entry: Entry) -> None:
    name = entry.function.__qualname__
    compiled[name] = compiled.get(name, 0) + 1


def _rules_changed(context: type, callee: Any) -> None:
    if hasattr(context, "ad_entries"):
        for entry in tuple(_live):
            entry.forget()


context_rules.subscribe(_rules_changed)
