"""What an entry has for arguments of some types: a program, or what records the run."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ctxdispatch.dispatch.hidden import INLINED
from ctxdispatch.ir.graph import Graph
from ctxdispatch.ir.rewrite import clone
from ctxdispatch.passes import types as T
from ctxdispatch.passes.buffers import make_function
from ctxdispatch.passes.guards import CodeIs
from ctxdispatch_contexts.programs import left_names
from ctxdispatch_contexts.programs.apart import record_with
from ctxdispatch_contexts.programs.guarding import Lasting, add_guards, add_last_check, asking
from ctxdispatch_contexts.programs.mode import Program

if TYPE_CHECKING:
    from ctxdispatch_contexts.programs.entry import Entry

compiling = threading.RLock()
"""Programs are made one at a time."""


class Specialised:
    """One compiled program: `function` tests its guards first and calls `otherwise` where one fails, `body`
    does not. `run` records, for those calls that the program finds it is not for."""

    def __init__(
        self, entry: Entry, program: Program, otherwise: Callable[..., Any], run: Callable[..., Any] | None
    ) -> None:
        self.types, self.guards = program.types, program.guards
        self._plain = program.graph
        self._foreign, self._run = program.foreign, run
        self._entry = entry
        self._body: Callable[..., Any] | None = None
        self._asked: Callable[[], bool] | None = None
        graph = self._lasting()
        add_guards(graph, self.types, self.guards, otherwise)
        self.function = make_function(graph, entry.namespace, entry.source.cells, entry.pool)

    @property
    def body(self) -> Callable[..., Any]:
        if self._body is None:
            with compiling:  # programs of one entry share a pool
                self._body = self._body or self._make_body()
        return self._body

    def _make_body(self) -> Callable[..., Any]:
        entry = self._entry
        made = make_function(self._lasting(), entry.namespace, entry.source.cells, entry.pool)
        functions = (guard.function for guard in self.guards if isinstance(guard, CodeIs))
        made.__dict__[INLINED] = tuple([function.__code__ for function in functions])
        return made

    def _lasting(self) -> Graph:
        graph = clone(self._plain)
        if self._run is not None:
            record_with(graph, self._run)
        if self._foreign and self.guards:
            add_last_check(graph, Lasting(self.guards))
        return graph

    def holds(self) -> bool:
        if self._asked is None:
            self._asked = asking(self.guards)
        return self._asked()


    @functools.cached_property
    def reads(self) -> left_names.Names:
        return left_names.reads(self._plain)

    def finds_left(self, outside: Iterable[Any]) -> bool:
        """What an earlier run has left is in what it reads, or in what is `outside` the function."""
        return left_names.is_reached([*outside, *left_names.found_by(self._plain)])


class Recorder:
    """In the place of a program, where there can be none: `body` records what the function does. `reads`:
    there is one, which reads what earlier runs may have left under these names."""

    def __init__(
        self, types: tuple[T.Type, ...], body: Callable[..., Any], reads: left_names.Names = frozenset()
    ) -> None:
        self.types, self.body, self.reads = types, body, reads
        self.function = body

    def holds(self) -> bool:
        return not self.reads or left_names.are_left(self.reads)

    def finds_left(self, outside: Iterable[Any]) -> bool:
        return False  # its runs know
