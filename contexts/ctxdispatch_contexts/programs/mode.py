"""What an entry makes of the program it is for: a mode turns a graph into another program.

A mode is hashable and knows nothing of functions, calls or caches: `reverse/program.py` and `forward/` have
one each. That a mode's result is a graph again is what lets modes stack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ctxdispatch.dispatch.reach import natively
from ctxdispatch.ir.graph import Graph, Return
from ctxdispatch.passes import types as T
from ctxdispatch.passes.guards import Guard
from ctxdispatch.passes.infer import Variable
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs import debugging
from ctxdispatch_contexts.programs.sizes import any_large, large_where

if TYPE_CHECKING:
    from ctxdispatch.ir.values import Value
    from ctxdispatch_contexts.programs.aliases import Objects
    from ctxdispatch_contexts.programs.regions import Attempt


@natively
def recording(module: str) -> Any:
    """A module of runs that are recorded: they are loaded when the first is, which is never in most."""
    return import_module(f"ctxdispatch_contexts.recording.{module}")


@dataclass(eq=False)
class Program:
    """The optimised graph, and what it takes for granted: its argument types, as far as they matter, and the
    rest. `untrusted`: the variables of which it takes nothing for granted. `foreign`: something may change
    while it runs: it calls code out of sight, or stores into what is not its own. `grows`: for large arrays
    there is a better one. `apart`: (*arguments) -> whether they lie apart as the program takes for granted,
    which its caller has to ask. `attempt`: where it raises, the run is recorded."""

    graph: Graph
    types: tuple[T.Type, ...]
    guards: list[Guard]
    untrusted: Set[Variable] = frozenset()
    foreign: bool = False
    grows: bool = False
    apart: Graph | None = None
    attempt: bool = False

    @property
    def result(self) -> T.Type:
        """The type of what it returns."""
        found: T.Type = T.Never
        for block in self.graph.blocks:
            if isinstance(block.terminator, Return):
                found = T.join(found, operand_type(block.terminator.value))
        return found


class Mode:
    """`split`: the program returns (y, pullback), the pullback's result one entry per parameter. `stub`: the
    graph is one call, met at run time. `leading`: so many parameters come before the caller's own. `shared`:
    closures of one code have one program from the first on. `region`: the program may be run in
    vain, as that of a part of one that is recorded. `tier`: nothing may be recorded where it is given."""

    split: bool = False
    stub: bool = False
    leading: int = 0
    shared: bool = False
    debug: bool = False
    tier: str | None = None
    region: Attempt | None = None

    def ending_early(self) -> Mode:
        """The mode for programs in whose place the run may be recorded: NO_PROGRAM is raised as soon as it is
        known that there is none."""
        return self

    def attempting(self) -> Mode | None:
        """The mode for programs that may be run in vain."""
        return None

    def check_region(self, graph: Graph, objects: Objects, varied: set[Value]) -> None:
        """UnsupportedSyntax where the program may be run in vain and its graph does what none may."""
        if self.region is not None:
            self.region.check(graph, objects, varied)

    def of_region(self, program: Program) -> Program:
        return program if self.region is None else self.region.finish(program)

    @property
    def checks(self) -> bool:
        """Rules are checked where they are used: the run is recorded."""
        return self.debug or debugging.is_on()

    def for_large(self) -> Mode | None:
        """The mode for large arrays, where that is another one."""
        return None

    def seen(self, types: tuple[T.Type, ...], args: tuple[Any, ...]) -> tuple[T.Type, ...]:
        """The types of arguments, with what more there is to see of them that matters."""
        return large_where(types, args) if any_large(args) and self.for_large() is not None else types

    def after(self, k: int, n: int) -> Mode:
        """The same for the last n of k + n parameters."""
        raise NotImplementedError

    def pulling(self, first: int, n: int) -> Mode:
        """Where a pullback is returned: one that gives the cotangents of n parameters from `first` on."""
        return self

    def needs(self, i: int) -> bool:
        """Parameter i may not be left to its default."""
        return False

    def vouches_for(self, i: int) -> bool:
        """What argument i holds is meant to be what it is: it is differentiated, or the caller is a program,
        which has looked at what it reads."""
        return self.needs(i)

    def parameters(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The parameters of the program, given those of what it is made of."""
        return names

    def open_to(self, types: Sequence[T.Type]) -> bool:
        """Within a program: enough is known of the arguments; else the program is made at run time."""
        return not self.stub or T.Any not in types

    def check(self, names: tuple[str, ...], types: Sequence[T.Type]) -> None:
        """DerivativeError where nothing can be made for arguments of these types."""

    def check_values(self, names: tuple[str, ...], args: Sequence[Any]) -> None:
        """DerivativeError where what is differentiated with respect to holds its numbers out of sight."""

    def recorded(self, function: Callable[..., Any], context: Any) -> Callable[..., Any] | None:
        """(*args) -> what a program for `function` would return, by recording what it does, with the rules of
        `context`; None where a program it must be."""
        return None

    def differentiate(
        self, source: Callable[[], Graph], types: Sequence[T.Type], cells: Sequence[Any], context: Any
    ) -> Program:
        """The program made of the graph that `source` gives (a fresh one each time)."""
        raise NotImplementedError
