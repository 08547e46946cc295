"""Entries: functions that specialise themselves on the types they are called with.

An entry's `function` is what `grad(f)` returns. Its code starts as a stub that calls `miss`; the first call
compiles the derivative program for the types at hand, and the function's own `__code__` becomes: guards, then
the program. So a call costs the guards and no more. A program for further types goes before it, and a call
that fails its guards goes on to the older ones; the last resort is `miss`, which looks into a dictionary. A
change of the rules puts the stub back.
"""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable, Hashable
from types import CodeType, FunctionType
from typing import Any

from ctxdispatch.bytecode.pool import Pool
from ctxdispatch.dispatch import recurse
from ctxdispatch.dispatch import rules as context_rules
from ctxdispatch.dispatch.reach import natively
from ctxdispatch.dispatch.tracebacks import show_users_frames
from ctxdispatch.ir.graph import Graph, Signature
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.ir.values import Const
from ctxdispatch.passes import types as T
from ctxdispatch.passes.buffers import make_function
from ctxdispatch.passes.held import guardable, held_type
from ctxdispatch_contexts.programs import budget, tiers
from ctxdispatch_contexts.programs.any_length import for_any_length
from ctxdispatch_contexts.programs.apart import records
from ctxdispatch_contexts.programs.arguments import Default, as_gradient
from ctxdispatch_contexts.programs.derived import DerivedSource
from ctxdispatch_contexts.programs.errors import DerivativeError, Refused, recorded_only
from ctxdispatch_contexts.programs.kinds import fits, only_recorded
from ctxdispatch_contexts.programs.lifting import handlers, leaves_out_handlers
from ctxdispatch_contexts.programs.live import live
from ctxdispatch_contexts.programs.making import Making, variables_opened
from ctxdispatch_contexts.programs.mode import Mode, Program
from ctxdispatch_contexts.programs.observed import Rounds, expecting, observing
from ctxdispatch_contexts.programs.seen_types import for_any, lasting
from ctxdispatch_contexts.programs.short_arrays import WORTH_COUNTING, for_lengths, with_lengths
from ctxdispatch_contexts.programs.sizes import (
    Counted,
    is_counted,
    is_large,
    resized,
    small,
    unsized,
)
from ctxdispatch_contexts.programs.sources import AnySource, ClosureSource, Source
from ctxdispatch_contexts.programs.specialised import Recorder, Specialised, call_of, compiling
from ctxdispatch_contexts.programs.without_program import PUT_OFF, WITHOUT_PROGRAM, kind_of
from ctxdispatch_contexts.traces.straight import again, may_be_traced, recorder, straightened

_making = Making()

MAX_CHAIN = 8
"""So many programs are asked one after the other whether a call is theirs; more are looked up by the
types."""

MAX_STATES = 4
"""So many programs for the same argument types are kept, of globals that go to and fro between types."""

MAX_FUNCTIONS = 4
"""So many functions or texts given as arguments are known to programs of their own."""


class Entry:
    """`function` is what grad and its like return: its code is a stub, or the last types' program."""

    def __init__(
        self, source: AnySource, mode: Mode, context: Any, again: Callable[..., Any] | None = None
    ) -> None:
        """`again(f, mode, context, *args)` finds another entry for what has become another function."""
        self.source, self.mode, self.context, self._again = source, mode, context, again
        function = source.function if isinstance(source, (Source, DerivedSource)) else None
        self.pool = Pool()
        self.namespace = source.namespace
        self._siblings: dict[Mode, Entry] = {}
        self._asked: set[tuple[T.Type, ...]] = set()
        self._wanted: dict[tuple[T.Type, ...], None] = {}
        self.specialised: dict[tuple[T.Type, ...], list[Specialised]] = {}
        self._rounds: dict[tuple[T.Type, ...], Rounds] = {}
        self.counted: set[tuple[T.Type, ...]] = set()
        self.ran, self.untraced = set[tuple[T.Type, ...]](), set[tuple[T.Type, ...]]()
        self.waits: dict[tuple[T.Type, ...], int] = {}  # by how many recorded calls, for long traces
        self.function = self.calling(self.miss)
        self.stub: CodeType = self.function.__code__
        self.function.__overdub__ = self.under  # type: ignore[attr-defined]
        if function is not None:
            as_gradient(self.function, function)
        live.add(self)

    def calling(self, target: Callable[..., Any]) -> FunctionType:
        """(*arguments): return target(*arguments)"""
        return make_function(call_of(target, self.bare()), self.namespace, self.source.cells, self.pool)

    def miss(self, *args: Any) -> Any:
        """The installed program does not fit these arguments: find or compile one that does, and run it."""
        if self._again is not None and self.changed():
            assert isinstance(self.source, (Source, DerivedSource))
            return self._again(self.source.function, self.mode, self.context, *args)
        try:
            types = self.types_of(args)
            found = self._find(types)
            made = found or self._compile(types, args)
            return tiers.watched(self, made, made.function if found is None else made.body, args)
        except BaseException as error:
            show_users_frames(error)
            raise

    def prepare(self, *args: Any) -> None:
        """Make the program for these arguments, if there is none."""
        types = self.types_of(args)
        self._find(types) or self._compile(types, args)

    def sibling(self, mode: Mode) -> Entry:
        """The entry that makes something else of the same source."""
        if mode not in self._siblings:
            self._siblings[mode] = Entry(self.source, mode, self.context, self._again)
        return self._siblings[mode]

    def changed(self) -> bool:
        """What is differentiated takes other arguments now, or has a rule."""
        return isinstance(self.source, (Source, DerivedSource)) and self.source.changed(self.context)

    def signature(self) -> Signature:
        """That of `function`."""
        own = self.source.signature()
        names = self.mode.parameters(own.names)
        return own if names == own.names else Signature(names, len(names))

    def bare(self) -> Graph:
        """A graph with the parameters of `function` and nothing in it."""
        bare = self.source.bare()
        if self.signature() == bare.signature:
            return bare
        return Graph(
            bare.name, self.signature(), cellnames=bare.cellnames, namespace=bare.namespace,
            filename=bare.filename, line=bare.line,
        )  # fmt: skip

    def derivative(self, types: tuple[T.Type, ...]) -> Program:
        """The program for arguments of these types, for another one to be made of it, which clones it."""
        with compiling:
            recorders = (made for made in self.specialised.get(types, ()) if isinstance(made, Recorder))
            found = next((made for made in recorders if made.stands()), None) or self._find(types)
            if isinstance(found, Recorder) or (found is not None and found.attempt):
                raise recorded_only(self.function.__qualname__, found.reason)
            if found is not None:
                program = Program(found._plain, found.types, found.guards)
            else:
                key = (self, types, leaves_out_handlers())
                with expecting(False):
                    program = _making.get_or_make(key, lambda: self.program(types))
            if records(program.graph):
                raise recorded_only(self.function.__qualname__)
            self._wanted[types] = None
            return program

    def result(self, types: tuple[T.Type, ...]) -> T.Type:
        """What calls with arguments of these types return."""
        if self.mode.stub or T.Any in types or T.Never in types or not self.mode.open_to(types):
            return T.Any
        if types in self._asked:
            _making.cut()
            return T.Any
        self._asked.add(types)  # a recursive function is asked for its own
        try:
            return self.derivative(tuple(map(guardable, types))).result
        finally:
            self._asked.remove(types)

    def _find(self, types: tuple[T.Type, ...]) -> Specialised | None:
        return next((each for each in self.specialised.get(types, ()) if each.holds()), None)

    def types_of(self, args: tuple[Any, ...]) -> tuple[T.Type, ...]:
        """What a program for these arguments is specialised to. One that gets other functions each time
        (lambdas made for the call, classes), or other texts, is compiled for a few of them, and then for
        any."""
        types = self.mode.seen(tuple([guardable(held_type(a)) for a in args]), args)
        if types in self.counted:
            types = with_lengths(self, types, args)
        if types in self.specialised:
            return types
        if any(type(a) is list for a in args):
            wanted = next((each for each in self._wanted if all(map(fits, each, types, args))), types)
            if wanted in self._wanted:
                return wanted
        if isinstance(self.source, ClosureSource):  # it outlives what it is called with
            types = lasting(types)
        general = for_any(types)
        if types == general:
            return types
        same = [t for t in self.specialised if for_any(t) == general]
        return general if len(same) >= MAX_FUNCTIONS else types

    def under(self, ctx: Any, *args: Any, **kwargs: Any) -> Any:
        """What another context runs in place of `function`: the program, not the finding of it."""
        try:
            return self._under(ctx, args, kwargs)
        except BaseException as error:
            if isinstance(error, Refused):
                error.apart_from(ctx)
            show_users_frames(error)
            raise

    def _under(self, ctx: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if kwargs or len(args) != len(self.signature().names):
            bound = inspect.signature(self.function, follow_wrapped=False).bind(*args, **kwargs)
            bound.apply_defaults()
            args = bound.args
        types = self.types_of(args)
        found = self._find(types) or self._compile(types, args)
        return tiers.watched(self, found, recurse, (ctx, found.followed(args), *args))

    @natively  # a run around the run that makes a program follows the program
    def _compile(self, types: tuple[T.Type, ...], args: tuple[Any, ...]) -> Specialised:
        self.mode.check_values(self.source.signature().names, args)
        with compiling:
            found = self._find(types)
            if found is not None:  # another thread was first
                return found
            run = self.mode.recorded(self._call, self.context)  # which may load rules
            version = context_rules.version()
            stale = any(not each.holds() for same in self.specialised.values() for each in same)
            states = len(self.specialised.get(types, ()))
            with _making, tiers.making(), variables_opened(states < MAX_STATES):
                made, types = self._made(types, args, stale, run)
            if isinstance(made, Recorder):
                if run:
                    tiers.check_recorder(self.mode, made.reason)
                self.specialised[types] = [made]
                if made.first is not None:
                    tiers.install(self, made.install(self.calling(made.first)))
                if not self.mode.region:
                    tiers.warn(made.reason)
                return made
            compiled[self.function.__qualname__] = compiled.get(self.function.__qualname__, 0) + 1
            if version == context_rules.version():
                self.specialised[types] = [made, *self.specialised.get(types, ())][:MAX_STATES]
                if not made.refuses:  # of arguments of which more is known there may be another
                    tiers.install(self, made.function.__code__)
            return made

    def _made(
        self, types: tuple[T.Type, ...], args: tuple[Any, ...], stale: bool, run: Callable[..., Any] | None
    ) -> tuple[Specialised | Recorder, tuple[T.Type, ...]]:
        """The program, and for which types; where there is none, `run`, what records the run."""
        if run is not None and self.mode.checks:
            return Recorder(types, run, tiers.CHECKED), types
        if any(map(only_recorded, types)):
            self.mode.check(self.source.signature().names, unsized(types))
            if run is not None:
                return Recorder(types, run, tiers.OF_KIND), types
        traced = straightened(self, types, args, tiers.run_of(self.mode, run, tiers.TRACED))
        if traced is not None:
            return Recorder(types, traced, tiers.TRACED), types
        kind = None if run is None else kind_of(self.source, self.mode, types)
        known = WITHOUT_PROGRAM.get(kind)
        if run is not None and kind is not None and known is not None and types not in self._rounds:
            program, reason, counted = for_lengths(self, types, args, known, others=True)
            if program is None:
                return recorder(self, types, args, run, known), types
            run = tiers.run_of(self.mode, run, reason)
            return Specialised(self, program, self._otherwise(stale), run, reason), counted
        if self._rounds.setdefault(types, Rounds()).too_long:
            return recorder(self, types, args, run, tiers.TOO_LONG), types
        return self._made_in_time(types, args, stale, run, kind)

    def _made_in_time(
        self, types: tuple[T.Type, ...], args: tuple[Any, ...], stale: bool, run: Callable[..., Any] | None,
        kind: Hashable,
    ) -> tuple[Specialised | Recorder, tuple[T.Type, ...]]:  # fmt: skip
        rounds, start = self._rounds[types], time.thread_time()
        first = run is not None and may_be_traced(self, types) and None is not kind not in PUT_OFF
        seconds = None if run is None else budget.seconds(first or self.mode.region is not None)
        with expecting(rounds.times > 0):
            found = budget.in_time(seconds, self.program_or_reason, types, run is None)
            program, reason = found or (None, tiers.TOO_LONG)
            if program is None and time.thread_time() - start < WORTH_COUNTING:
                program, reason, types = for_lengths(self, types, args, reason)
        put_off = first and found is None
        if not put_off:
            rounds.tried(program is not None, time.thread_time() - start, reason)
        if program is None:
            assert run is not None and reason is not None
            kind = None if kind is None else kind_of(self.source, self.mode, types)  # lacking other modules
            (PUT_OFF if put_off else WITHOUT_PROGRAM).get_or_make(kind, lambda: reason)
            return recorder(self, types, args, run, reason, None if put_off else rounds), types
        if run is not None and rounds.times:
            run = observing(run, rounds, functools.partial(self.drop, types))
        run = again(self, program, types, tiers.run_of(self.mode, run, reason))
        return Specialised(self, program, self._otherwise(stale), run, reason), types

    def drop(self, types: tuple[T.Type, ...]) -> None:
        """The program for these types is to be made anew."""
        with compiling:
            self.specialised.pop(types, None)
            self.function.__code__ = self.stub

    def program_or_reason(
        self, types: tuple[T.Type, ...], must_be: bool
    ) -> tuple[Program | None, tiers.Reason | None]:
        """Why there is none, or one that refuses somewhere, and the run is recorded; why it is an attempt."""
        if must_be:
            return self.program(types), None
        with handlers() as noted:
            program, reason = self._tried(types, self.mode)
        again = noted.met and reason is not None and not reason.lasts
        mode = self.mode.attempting() if again else None
        if mode is not None:
            with handlers(out=True):  # what is done where nothing is raised
                program, further = self._tried(types, mode)
            reason = further or reason
        return program, reason

    def _tried(self, types: tuple[T.Type, ...], mode: Mode) -> tuple[Program | None, tiers.Reason | None]:
        from ctxdispatch_contexts.programs.refusing import refuses

        try:
            program = self._for_one_length(types, mode.ending_early())
            reason = refuses(program.graph)
            if reason is not None:
                return None, reason
            if not program.attempt:
                for_any_length(self, program, types)
            return self._guarded(program, types), None
        except tiers.NO_PROGRAM as error:
            return None, tiers.reason_of(error, self.source.bare())
        except DerivativeError as error:
            if mode.region is None:
                raise
            return None, tiers.reason_of(error, self.source.bare())

    def defaults(self) -> list[Any]:
        """Those of the function."""
        return [getattr(self.function, name, None) for name in ("__defaults__", "__kwdefaults__")]

    def _call(self, *args: Any) -> Any:
        """What is differentiated, itself."""
        return self.source.call(*[a for a in args if a is not Default])

    def _otherwise(self, stale: bool) -> Callable[..., Any]:
        """Where calls go that the next program does not fit: to the programs there are, newest first."""
        if stale or len(self.specialised) % MAX_CHAIN == 0:
            return self.miss
        now = self.function
        return FunctionType(now.__code__, self.namespace, now.__name__, None, now.__closure__)

    def program(self, types: tuple[T.Type, ...]) -> Program:
        for_any_length(self, program := self._for_one_length(types), types)
        return self._guarded(program, types)

    def _for_one_length(self, types: tuple[T.Type, ...], mode: Mode | None = None) -> Program:
        self.mode.check(self.source.signature().names, unsized(types))
        return self.differentiated(types, mode)

    def _guarded(self, program: Program, types: tuple[T.Type, ...]) -> Program:
        grows = program.grows and not is_counted(types)
        program.types = small(program.types) if grows else resized(program.types, types)
        program.guards[:0] = self.source.guards(self.own_types(types))
        return program

    def own_types(self, types: tuple[T.Type, ...]) -> tuple[T.Type, ...]:
        """Those of the source's parameters: a mode may add others."""
        return types[: len(self.source.signature().names)]

    def differentiated(self, types: tuple[T.Type, ...], mode: Mode | None = None) -> Program:
        mode = mode or self.mode
        mode = (mode.for_large() if is_large(types) else None) or mode
        plain = unsized(types)
        return mode.differentiate(lambda: self._graph(types), plain, self.source.cells, self.context)

    def _graph(self, types: tuple[T.Type, ...]) -> Graph:
        """The source's, with the defaults of arguments that were left out, and the lengths that are known."""
        graph = self.source.graph(self.own_types(unsized(types)))
        graph.lengths = {p: t.count for p, t in zip(graph.params, types) if isinstance(t, Counted)}
        left_out = [i for i, type_ in enumerate(types) if type_ == T.Known(Default)]
        if left_out and isinstance(self.source, Source):
            substitute(graph, {graph.params[i]: Const(self.source.default(i)) for i in left_out})
        return graph

    def programs(self) -> list[Specialised]:
        return [each for same in [*self.specialised.values()] for each in same]

    def forget(self) -> None:
        self.specialised.clear()
        self._rounds.clear()
        self.counted.clear()
        self.function.__code__ = self.stub


compiled: dict[str, int] = {}
"""How many programs were compiled, by the name of what was differentiated."""
