"""What an entry has for arguments of some types: a program, or what records the run."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from contextvars import copy_context
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from ctxdispatch.dispatch.hidden import INLINED
from ctxdispatch.dispatch.tracebacks import show_users_frames
from ctxdispatch.ir.graph import Graph, Op, Return
from ctxdispatch.ir.rewrite import clone
from ctxdispatch.ir.values import Const, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.buffers import make_function
from ctxdispatch.passes.guards import CodeIs
from ctxdispatch.passes.resolve import not_imported
from ctxdispatch_contexts.programs import left_names, left_reads
from ctxdispatch_contexts.programs.apart import record_with
from ctxdispatch_contexts.programs.errors import Refusal, left_here, user_position
from ctxdispatch_contexts.programs.guarding import Lasting, add_checks, add_guards, asking
from ctxdispatch_contexts.programs.journal import Recorded, finally_run, put_back, trial
from ctxdispatch_contexts.programs.mode import Program
from ctxdispatch_contexts.programs.observed import Rounds, observing
from ctxdispatch_contexts.programs.regions import is_scoped, no_region
from ctxdispatch_contexts.programs.tiers import Reason

if TYPE_CHECKING:
    from ctxdispatch_contexts.programs.entry import Entry

compiling = threading.RLock()
"""Programs are made one at a time."""


class Specialised:
    """One compiled program: `function` tests its guards first and calls `otherwise` where one fails, `body`
    does not. `run` records, for those calls that the program finds it is not for. `reason`: why it is no more
    than an attempt. `asks`: what earlier runs have left could be what it reads, so each call asks."""

    def __init__(
        self, entry: Entry, program: Program, otherwise: Callable[..., Any], run: Callable[..., Any] | None,
        reason: Reason | None,
    ) -> None:  # fmt: skip
        self.types, self.guards = program.types, program.guards
        self._plain, self.reason = program.graph, reason
        self._foreign, self._run, self.attempt = program.foreign, run, program.attempt
        self._entry = entry
        self._body: Callable[..., Any] | None = None
        self._asked: Callable[[], bool] | None = None
        self.asks = left_names.was_left() and self.reading.looks
        graph = self._graph()
        add_guards(graph, self.types, self.guards, otherwise)
        self.function = make_function(graph, entry.namespace, entry.source.cells, entry.pool)
        self.installed = self.function.__code__

    @property
    def body(self) -> Callable[..., Any]:
        if self._body is None:
            with compiling:  # programs of one entry share a pool
                self._body = self._body or self._make_body(self._graph())
        return self._body

    def _make_body(self, graph: Graph) -> Callable[..., Any]:
        entry = self._entry
        made = make_function(graph, entry.namespace, entry.source.cells, entry.pool)
        functions = (guard.function for guard in self.guards if isinstance(guard, CodeIs))
        made.__dict__[INLINED] = tuple([function.__code__ for function in functions])
        return made

    def _lasting(self) -> Graph:
        graph = clone(self._plain)
        if self._run is not None:
            record_with(graph, finally_run(self._run) if self.attempt else self._run)
        if self._foreign and self.guards:
            add_checks(graph, Lasting(self.guards))
        return graph

    def _graph(self) -> Graph:
        if not (self.attempt or self.asks):
            return self._lasting()
        entry, plain = self._entry, self._plain
        program = make_function(self._lasting(), entry.namespace, entry.source.cells, entry.pool)
        if self.attempt:
            patience = Patience() if entry.mode.tier is None else Patience(0)
            program = attempting(_apart(_put_back(program, plain), plain), self._run, patience)
        if self.asks:
            program = unless_left(program, self._run, self.reading)
        return call_of(program, plain)

    def followed(self, args: tuple[Any, ...]) -> Callable[..., Any]:
        """What another context runs: it sees nothing that is done in vain."""
        if self._run is None or not (self.attempt or self.asks):
            return self.body
        return self._run if self.attempt or self.reading.finds(args, True) else self._unasked

    @functools.cached_property
    def _unasked(self) -> Callable[..., Any]:
        with compiling:
            return self._make_body(self._lasting())

    @property
    def refuses(self) -> bool:
        """Somewhere it ends with a refusal."""
        return any(isinstance(op.fn, Refusal) for _, op in self._plain.ops())

    def holds(self) -> bool:
        if self._asked is None:
            self._asked = asking(self.guards)
        return self._asked()

    @functools.cached_property
    def reading(self) -> left_reads.Reading:
        return left_reads.Reading(self._plain, self, self._entry)


def call_of(program: Callable[..., Any], plain: Graph) -> Graph:
    """In the place of a program, a call of what runs it."""
    graph = Graph(
        plain.name, plain.signature, cellnames=plain.cellnames, namespace=plain.namespace,
        filename=plain.filename, line=plain.line,
    )  # fmt: skip
    result = Value()
    graph.entry.ops = [Op(Const(program), [*graph.params], [result])]
    graph.entry.terminator = Return(result)
    return graph


class Patience:
    """When what failed is tried again: after as many times, and twice as many the next time, but not more
    than `most`."""

    def __init__(self, most: int = 64) -> None:
        self._wait = self._left = 0
        self._most = most

    def tries(self) -> bool:
        """Whether it is to be tried this time."""
        self._left -= 1
        return self._left < 0 and not raises_floating_point_errors()

    def succeeded(self) -> None:
        self._wait = 0

    def failed(self) -> None:
        self._wait = min(2 * self._wait + 1, self._most)
        self._left = self._wait


def _apart(program: Callable[..., Any], graph: Graph) -> Callable[..., Any]:
    """In a context of its own, where it sets variables of that: they are as before also where it raises."""
    if not any(is_scoped(op) for _, op in graph.ops()):
        return program
    return lambda *args: copy_context().run(program, *args)


def _put_back(program: Callable[..., Any], graph: Graph) -> Callable[..., Any]:
    """It stores into what was there before: that is undone where it raises."""
    return put_back(program) if any(op.fn is trial for _, op in graph.ops()) else program


def attempting(program: Callable[..., Any], run: Any, patience: Patience) -> Callable[..., Any]:
    """`program`, and where that raises, `run`."""

    def attempted(*args: Any) -> Any:
        if patience.tries():
            raised = None
            try:
                found = program(*args)
            except Recorded as left:
                raised = left.error
            except Exception:  # the program itself handles it, or raises it at its line
                patience.failed()
            else:
                patience.succeeded()
                return found
            if raised is not None:
                show_users_frames(raised)
                raise raised
        try:
            return run(*args)
        except BaseException as error:
            show_users_frames(error)
            raise

    return attempted


def unless_left(program: Callable[..., Any], run: Any, reading: left_reads.Reading) -> Callable[..., Any]:
    """`program`; where that may reach what an earlier run has left, `run`, which knows, or an error."""

    def asking(*args: Any) -> Any:
        try:
            given = None if run is None and left_reads.are_followed() else args
            if not reading.finds(given, run is not None):
                return program(*args)
            if run is None:
                raise left_here(reading.position() or user_position())
            return run(*args)
        except BaseException as error:
            show_users_frames(error)
            raise

    return asking


def raises_floating_point_errors() -> bool:
    """Operations that programs leave out, for nobody uses their results, may raise too."""
    return not {"raise", "call"}.isdisjoint(np.geterr().values())


def note_run(entry: Entry, types: tuple[T.Type, ...]) -> None:
    """One was recorded: the next may be traced, or, of a long one, the one after some more."""
    entry.ran.add(types)
    left = entry.waits.get(types, 0)
    if left:
        entry.waits[types] = left - 1
        if left == 1:
            entry.untraced.discard(types)


class Recorder:
    """In the place of a program, where there is none: `body` records what the function does, by `run`, and
    notes for a program, if there are `rounds`."""

    def __init__(
        self, types: tuple[T.Type, ...], run: Callable[..., Any], reason: Reason,
        rounds: Rounds | None = None, entry: Entry | None = None,
    ) -> None:  # fmt: skip
        self.types, self._run, self.reason, self._rounds, self._entry = types, run, reason, rounds, entry
        body = run if rounds is None or run is no_region else observing(run, rounds)
        self.body = self.function = body if entry is None or run is no_region else self._noting(body, entry)
        self._missing = not_imported()

    attempt, asks = False, True
    """Its runs know what was left."""
    installed: CodeType | None = None

    @property
    def first(self) -> Callable[..., Any] | None:
        """What calls may begin with, whatever their types."""
        return getattr(self._run, "first", None)

    def install(self, function: FunctionType) -> CodeType:
        self.installed = function.__code__
        return function.__code__

    def _noting(self, body: Callable[..., Any], entry: Entry) -> Callable[..., Any]:
        def ran(*args: Any) -> Any:
            found = body(*args)
            note_run(entry, self.types)
            return found

        return ran

    def followed(self, args: tuple[Any, ...]) -> Callable[..., Any]:
        return getattr(self._run, "recording", self._run)

    def stands(self) -> bool:
        """Not once there are modules that were not there: their functions are known now."""
        return self._missing <= not_imported()

    def holds(self) -> bool:
        """Nor once types have been noted."""
        entry = self._entry
        untried = entry is not None and self.types in entry.ran and self.types not in entry.untraced
        return self.stands() and not untried and not (self._rounds is not None and self._rounds.ready)
