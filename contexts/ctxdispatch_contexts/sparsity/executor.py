"""The abstract executor: a function's graph, run on values of which the index sets are known.

A branch on a known value is followed. A branch on one that is not known is a fork:

    meet = immediate postdominator of the branch
    both arms run from the branch to `meet`, on the same objects (`journal`), and are joined there
    (`branches`)

Arms that only raise do not contribute. An arm that stays in a loop, where the other leaves it, comes back to
the branch: a `for` loop, or one that a known condition bounds too, is so unrolled; any other is run from its
header to its header until joining changes nothing any more. Sets only grow, and there are finitely many.
"""

from __future__ import annotations

import types
from collections.abc import Collection
from contextlib import nullcontext
from typing import Any

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.ir.analysis import Loop
from ctxdispatch.ir.graph import Block, Branch, Edge, Iterate, Jump, Raise, Return
from ctxdispatch.ir.interpret import _several
from ctxdispatch_contexts.sparsity.branches import Joiner, State
from ctxdispatch_contexts.sparsity.callees import of_library
from ctxdispatch_contexts.sparsity.calls import Calls
from ctxdispatch_contexts.sparsity.errors import REMEDY, SparsityError
from ctxdispatch_contexts.sparsity.journal import Cursor, Delta
from ctxdispatch_contexts.sparsity.opaque import is_own
from ctxdispatch_contexts.sparsity.programs import Program, bound, counted, program
from ctxdispatch_contexts.sparsity.values import Either, Tracked

Outcomes = dict[Block | None, State]
"""Per block where paths stopped, the join of their states. None: they returned."""

UNROLLED, UNROLLED_WHILE = 5_000, 200
"""Iterations after which a loop that a branch on a tracked value may leave is given up (`for`), or run to a
fixpoint (`while`, of which the known condition may be one that never changes)."""
WIDEN = 60
"""Passes after which what still grows becomes dense."""
DEPTH = 12
"""Branches on tracked values between calls of one function within each other: then it is opaque."""


class Frame:
    """One call. `values` are those of the path that is being run. In code of a library the position stays at
    the user's line."""

    def __init__(self, program: Program, library: bool) -> None:
        self.program, self.library = program, library
        self.values: dict[Any, Any] = {}
        self.converging: set[Loop] = set()
        self.bounded: set[Loop] = set()
        self.unrolled: dict[Loop, int] = {}

    def get(self, operand: Any) -> Any:
        try:
            return self.values[operand]
        except KeyError:
            return operand.value


class Executor(Calls):
    """A run, with the means to execute Python functions."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.active: dict[int, list[int]] = {}  # by the id of the code
        self.raised: Exception | None = None

    # -- functions -------------------------------------------------------------------------------------------

    def function(self, f: types.FunctionType, args: Any, kwargs: dict[str, Any]) -> Any:
        try:
            found = program(f)
        except UnsupportedSyntax as error:
            if not self.touched(f, args, kwargs, self.outside()):
                run = self.run_natively if of_library(f) else self.run_unseen
                return run(f, args, kwargs)
            return self.opaque(f, args, kwargs, f"{error.construct} is not supported")
        levels = self.active.setdefault(id(f.__code__), [])
        if len(set(levels)) > DEPTH:
            return self.opaque(f, args, kwargs, "it calls itself under branches that depend on the inputs")
        frame = Frame(found, self.position is not None and (of_library(f) or is_own(f)))
        frame.values.update(zip(found.graph.params, bound(f, args, kwargs), strict=True))
        frame.values.update(zip(found.graph.cells, f.__closure__ or ()))
        levels.append(len(self.journal.levels))
        position = self.position
        try:
            with self.journal.noting() if found.eager else nullcontext() as read:
                self.journal.read(args)
                outcomes = self.walk(frame, found.graph.entry, ())
        finally:
            levels.pop()
        self.position = position
        value = outcomes[None].values[None]
        return value if read is None else self.journal.ahead(Cursor(value, args), read)

    # -- paths -----------------------------------------------------------------------------------------------

    def walk(
        self, frame: Frame, block: Block, stops: Collection[Block | None], enter: bool = False
    ) -> Outcomes:
        """From `block` to one of `stops`. Where paths ended at several, their deltas are from the innermost
        level's start, and the objects are in any state: the caller closes that level."""
        pending: Outcomes = {}
        while enter or block not in stops:
            enter = False
            for op in block.ops:
                self.op(frame, op)
            end = block.terminator
            if isinstance(end, Return):
                returned = self.own(frame.get(end.value))
                return self._with(pending, {None: State({None: returned}, None)}, frame)
            if isinstance(end, Raise):
                self.throw(frame, end)
            if isinstance(end, Branch) and not self._known(frame, end):
                outcomes = self.fork(frame, block, end, stops)
                if len(outcomes) == 1 and not pending:
                    ((place, state),) = outcomes.items()
                    self._enter(frame, state)
                    if place is None or place in stops:
                        return {place: State(frame.values, None)}
                    block = place
                    continue
                meet = self._next(outcomes, stops)
                here = None if meet is None else outcomes.pop(meet)
                base = self.journal.collect()
                for state in outcomes.values():
                    state.delta = {**base, **(state.delta or {})}
                pending = self._pended(frame, pending, outcomes)
                if here is None:
                    return pending
                self._enter(frame, here)
                assert meet is not None
                block = meet
                continue
            block = self._follow(frame, block, end)
        return self._with(pending, {block: State(frame.values, None)}, frame)

    def _next(self, outcomes: Outcomes, stops: Collection[Block | None]) -> Block | None:
        """Of the places where arms ended the one to go on from."""
        return next((place for place in outcomes if place is not None and place not in stops), None)

    def _enter(self, frame: Frame, state: State) -> None:
        frame.values = {**frame.values, **state.values}
        self.journal.apply(state.delta or {})

    def _with(self, pending: Outcomes, last: Outcomes, frame: Frame) -> Outcomes:
        if not pending:
            return last
        for state in last.values():
            state.delta = self.journal.collect()
        return self._pended(frame, pending, last)

    def _pended(self, frame: Frame, a: Outcomes, b: Outcomes) -> Outcomes:
        level = self.journal.levels[-1]
        return self.joined(frame, a, b, level.clock - 1, level.saved)

    def _known(self, frame: Frame, end: Branch) -> bool:
        cond = frame.get(end.cond)
        if isinstance(cond, Either):
            self.refuse(cond.what)
        if self.local and isinstance(cond, Tracked):
            frame.values[end.cond] = cond.sample
        return not isinstance(frame.get(end.cond), Tracked)

    def _follow(self, frame: Frame, block: Block, end: Any) -> Block:
        if isinstance(end, Jump):
            return self.bind(frame, end.edge, [])
        if isinstance(end, Branch):
            self._note_bound(frame, block, end)
            return self.bind(frame, end.then if frame.get(end.cond) else end.orelse, [])
        assert isinstance(end, Iterate)
        if not frame.library:
            self.position = end.pos or self.position
        try:
            item = self.advance(frame.get(end.iterator))
        except StopIteration:
            return self.bind(frame, end.exit, [])
        return self.bind(frame, end.body, [item])

    def _note_bound(self, frame: Frame, block: Block, end: Branch) -> None:
        """A known condition decides whether the loop goes on."""
        if self.local:
            return
        for loop in frame.program.loops_around(block):
            if end.then.target not in loop.blocks or end.orelse.target not in loop.blocks:
                frame.bounded.add(loop)

    def bind(self, frame: Frame, edge: Edge, extra: list[Any]) -> Block:
        args = extra + [frame.get(a) for a in edge.args]
        frame.values.update(zip(edge.target.params, args, strict=True))
        return edge.target

    def throw(self, frame: Frame, end: Raise) -> Any:
        if not frame.library:
            self.position = end.pos or self.position
        exc: Any = None if end.exc is None else frame.get(end.exc)
        cause: Any = None if end.cause is None else frame.get(end.cause)
        if isinstance(exc, (Tracked, Either)):
            self.refuse("what is raised here depends on the inputs; raise an exception made of plain values")
        try:
            if end.cause is None:
                raise exc
            raise exc from cause
        except Exception as error:
            self.raised = error
            raise

    def op(self, frame: Frame, op: Any) -> None:
        get = frame.get
        if op.pos is not None and not frame.library:
            self.position = op.pos
        args = [get(a) for a in op.args]
        args = [*map(self.own, args)] if self.given else args
        self.journal.read(args)
        plain = len(args) - len(op.kwnames)
        named = dict(zip(op.kwnames, args[plain:], strict=True)) if op.kwnames else {}
        try:
            if self.refusals.first is not None:
                self.refusals.again(op.fn)
            out = self.call(get(op.callee), args[:plain], named)
        except SparsityError as error:
            self.place(error)
            self.refusals.remember(error)
            raise
        if len(op.results) == 1 and not _several(op):
            frame.values[op.results[0]] = out
        else:
            results = tuple(out) if _several(op) else (out,) * len(op.results)
            frame.values.update(zip(op.results, results, strict=True))

    def place(self, error: SparsityError) -> None:
        if not error.placed:
            error.placed = True
            error.place(self.position)

    # -- forks -----------------------------------------------------------------------------------------------

    def fork(self, frame: Frame, block: Block, end: Branch, stops: Collection[Block | None]) -> Outcomes:
        """The outcomes of both arms; the objects are as they were."""
        meet = frame.program.meeting(block)
        loop = self._unbounded(frame, block, meet)
        clock = self.journal.clock
        if loop is None:
            return self.arms(frame, end, {*stops, meet}, clock)
        frame.converging.add(loop)
        try:
            return self.converge(frame, end, loop, stops, clock)
        finally:
            frame.converging.discard(loop)

    def _unbounded(self, frame: Frame, block: Block, meet: Block | None) -> Loop | None:
        """The loop around `block` that its branch may leave, if it cannot be unrolled."""
        for loop in frame.program.loops_around(block):
            if meet in loop.blocks or loop in frame.converging:
                continue
            times = frame.unrolled[loop] = frame.unrolled.get(loop, 0) + 1
            if counted(loop):
                if times > UNROLLED:
                    self.refuse(f"this `for` loop did not end within {UNROLLED} iterations; {REMEDY}")
            elif loop not in frame.bounded or times > UNROLLED_WHILE:
                return loop
        return None

    def arms(self, frame: Frame, end: Branch, stops: set[Block | None], clock: int) -> Outcomes:
        found: Outcomes = {}
        dead: Exception | None = None
        # The arm that the values at hand take comes first: its samples are those that are kept.
        taken = bool(frame.get(end.cond).sample)
        edges = (end.then, end.orelse) if taken else (end.orelse, end.then)
        for edge in [e for e in edges if frame.program.returns(e.target)] or edges:
            try:
                outcomes = self.arm(frame, edge, stops)
            except SparsityError:
                raise
            except Exception as error:
                if error is not self.raised:
                    raise SparsityError(
                        f"an operation fails in a branch that depends on the inputs ({type(error).__name__}: "
                        f"{error}); only `raise` and `assert` end a path",
                        self.failed or self.position,
                    ) from error
                dead = dead or error
                continue
            found = self.joined(frame, found, outcomes, clock)
        if not found and dead is not None:
            raise dead
        return found

    def arm(self, frame: Frame, edge: Edge, stops: set[Block | None]) -> Outcomes:
        values, bounded, position = frame.values, set(frame.bounded), self.position
        frame.values = dict(values)
        self.journal.open()
        try:
            outcomes = self.walk(frame, self.bind(frame, edge, []), stops)
            for state in outcomes.values():
                if state.delta is None:
                    state.delta = self.journal.collect()
            return outcomes
        except Exception:
            self.failed = self.position
            raise
        finally:
            self.journal.close()
            frame.values, frame.bounded, self.position = values, bounded, position

    def converge(
        self, frame: Frame, end: Branch, loop: Loop, stops: Collection[Block | None], clock: int
    ) -> Outcomes:
        """The states in which the loop may be left, from this branch on."""
        header = loop.header
        inner = {*stops, header, frame.program.leaving(loop)}
        total = self.arms(frame, end, inner, clock)
        state = total.pop(header, None)
        passes = 0
        while state is not None:
            outcomes = self.iteration(frame, header, state, inner)
            back = outcomes.pop(header, None)
            total = self.joined(frame, total, outcomes, clock)
            if back is None:
                break
            joiner = Joiner(self, clock, widen=passes > WIDEN)
            state = joiner.states(state, back, frame.program.live(header))
            passes += 1
            if not joiner.changed:
                break
        return total

    def iteration(self, frame: Frame, header: Block, state: State, stops: set[Block | None]) -> Outcomes:
        values = frame.values
        self.journal.open()
        try:
            self._enter(frame, state)
            outcomes = self.walk(frame, header, stops, enter=True)
            for out in outcomes.values():
                if out.delta is None:
                    out.delta = self.journal.collect()
            return outcomes
        except Exception:
            self.failed = self.position
            raise
        finally:
            self.journal.close()
            frame.values = values

    def joined(
        self, frame: Frame, a: Outcomes, b: Outcomes, clock: int, earlier: Delta | None = None
    ) -> Outcomes:
        out = dict(a)
        for place, state in b.items():
            if place in out:
                names = frame.program.live(place)
                out[place] = Joiner(self, clock).states(out[place], state, names, earlier)
            else:
                out[place] = state
        return out


__all__ = ["Executor"]
