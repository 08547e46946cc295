"""Types that values had in a recorded run, for a program to be made of.

What has no program because nothing is known of some value (what C code without a type rule gives, what an
object holds after such code has run) is recorded, and that run notes of which type the value is, by its
place in the source. The next call makes the program with these types, each tested right behind what gives
the value (`passes.expected`): where one is another, the run is recorded from its beginning, notes again, and
the program is made anew, a few times. Only types are taken for granted, and which of a module's functions
and classes values are. Of a place that a run comes by more than once, what all its values have in common is
noted.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, ModuleType
from typing import Any

import numpy as np

from ctxdispatch.ir import frames
from ctxdispatch.ir.graph import Graph, Iterate, Op
from ctxdispatch.ir.leaves import is_ours
from ctxdispatch.ir.values import Const, Operand, Position, Value, hashable
from ctxdispatch.ir.watching import Undispatched
from ctxdispatch.passes import types as T
from ctxdispatch.passes.expected import Misses, is_vague
from ctxdispatch.passes.held import MAX_POSITIONS, closed_type, guardable
from ctxdispatch.passes.samples import KINDS
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.kinds import only_recorded
from ctxdispatch_contexts.programs.lifting import is_installed
from ctxdispatch_contexts.programs.owned import Bounded
from ctxdispatch_contexts.programs.tiers import TOO_LONG, Reason

MAX_ROUNDS = 50
"""So often tests are put into one program: a pass that takes one out again would go on for ever."""
MAX_TIMES = 4
"""So many runs of one function at types note, at most."""
FREE = 20.0
"""Seconds of the processor's time. What takes longer to make, in vain, is made again once recorded runs have
taken as long: all calls together take no more than twice the time of these, or of one attempt."""


class _Thread(threading.local):
    run: object | None = None
    """The run that notes."""
    expects = False
    """Programs that are made now take what was noted for granted."""
    left = 0
    """So often more tests may be put into the one that is made."""


_THREAD = _Thread()


class Place:
    """What the values at a place of the source were in the last run that noted."""

    __slots__ = ("type", "run")

    def __init__(self) -> None:
        self.type: T.Type = T.Never
        self.run: object | None = None


_PLACES = Bounded(1 << 15)


class Rounds:
    """How often runs of one function at types have noted. `ready`: one has since its program was made, or
    tried to be. `owed`: seconds that runs take before one notes again, of what was made in vain. `too_long`:
    making it took too long, and would again."""

    times, ready, owed, too_long = 0, False, 0.0, False

    def noted(self) -> None:
        self.times, self.ready = self.times + 1, True

    def tried(self, made: bool, seconds: float, reason: Reason | None) -> None:
        """There is a program, or not: with what was noted neither, if it was."""
        self.ready, self.too_long = False, reason is TOO_LONG
        self.owed = 0.0 if made or seconds < FREE else seconds
        if not made and (self.times or (reason is not None and reason.lasts)):
            self.times = MAX_TIMES


# -- notes ---------------------------------------------------------------------------------------------------


def observing(
    run: Callable[..., Any], rounds: Rounds, then: Callable[[], None] | None = None
) -> Callable[..., Any]:
    """`run`, whose first few runs note. Afterwards `then` is called."""

    def observed(*args: Any) -> Any:
        if rounds.times >= MAX_TIMES or _THREAD.run is not None:
            return run(*args)
        if rounds.owed > 0.0:
            return _paying(run, args, rounds)
        _THREAD.run = object()
        try:
            found = run(*args)
        finally:
            _THREAD.run = None
        rounds.noted()
        if then is not None:
            then()
        return found

    return observed


def _paying(run: Callable[..., Any], args: tuple[Any, ...], rounds: Rounds) -> Any:
    start = time.thread_time()
    try:
        return run(*args)
    finally:
        rounds.owed -= time.thread_time() - start


def notes() -> bool:
    """Whether the run that begins now is one that does."""
    return _THREAD.run is not None


def with_notes(graph: Graph) -> Graph:
    """In place: what each op gives, and what loops go through, is noted in runs that do."""
    if graph.code is None or is_ours((graph.namespace or {}).get("__name__")):
        return graph
    if not any(True for _, op in graph.ops() for _ in _notes(op)):
        return graph  # it computes nothing: its code is the same under any context
    for block in graph.blocks:
        block.ops = [each for op in block.ops for each in (op, *_notes(op))]
    for block in graph.blocks:
        end = block.terminator
        if isinstance(end, Iterate) and end.pos is not None:
            body = end.body.target
            body.ops[:0] = [_noted(_place(end.pos, _ITEM), body.params[0], end.pos)]
    return graph


def _notes(op: Op) -> Iterator[Op]:
    of_frame = type(op.fn) is frames.Instruction or getattr(op.fn, "__module__", None) == frames.__name__
    if op.pos is None or of_frame or op.exempt:
        return
    for i, result in enumerate(op.results):
        yield _noted(_place(op.pos, _what(op, i)), result, op.pos)


def _noted(place: Place, value: Value, pos: Position) -> Op:
    return Op(Const(Undispatched(_note, place)), [value], [Value()], (), pos)


_ITEM = "item"


def _what(op: Op, i: int) -> Hashable:
    """Which result of what at its place: of an expression several ops have one."""
    named = op.args[1] if op.fn is getattr and len(op.args) > 1 else None
    name = named.value if isinstance(named, Const) else None
    return (op.fn if op.syntax and hashable(op.fn) else None), name, i


def _place(pos: Position, what: Hashable) -> Place:
    return _PLACES.get_or_make((pos, what), Place)


def _note(place: Place, value: Any) -> None:
    run, found = _THREAD.run, _type(value)
    place.type = T.join(place.type, found) if place.run is run else found
    place.run = run


def _type(value: Any) -> T.Type:
    """What a short test can tell, and does not keep alive what a run has made."""
    cls = type(value)
    if cls is tuple:
        short = len(value) <= MAX_POSITIONS
        return T.TupleOf(tuple(map(_type, value))) if short else T.Exact(tuple)
    if _is_of_module(value, cls):
        return T.Known(value)
    found = T.Exact(cls) if callable(value) or cls is str else guardable(closed_type(value))
    return T.Any if _is_local(cls) or only_recorded(found) or _is_odd(found) else found


def _is_odd(type_: T.Type) -> bool:
    """An array of objects, which hold numbers as lists do, of records or texts: programs know of none."""
    return isinstance(type_, T.ArrayOf) and (type_.dtype.kind not in KINDS or type_.dtype.names is not None)


def _is_local(value: Any) -> bool:
    """A class or function that another function makes."""
    name = _NAME(value) if issubclass(type(value), type) else value.__qualname__
    return "<locals>" in name


_NAME = vars(type)["__qualname__"].__get__
"""What a metaclass says of its classes' names is no business of ours."""


def _is_of_module(value: Any, cls: type) -> bool:
    """A function or class of a module, or a module."""
    if issubclass(cls, type) or cls is FunctionType:
        return not (_is_local(value) or (cls is FunctionType and value.__closure__))
    return cls in _PARTS or (cls is BuiltinFunctionType and type(value.__self__) in (ModuleType, type(None)))


_PARTS = (ModuleType, np.ufunc, type(np.reshape), MethodDescriptorType)


# -- expectations --------------------------------------------------------------------------------------------


@contextmanager
def expecting(expects: bool) -> Iterator[None]:
    """Whether programs that are made within take for granted what was noted."""
    before, _THREAD.expects, _THREAD.left = _THREAD.expects, expects, MAX_ROUNDS
    try:
        yield
    finally:
        _THREAD.expects = before


def expects() -> bool:
    return _THREAD.expects


SHORT = 400
"""Bytes of code."""


def is_short(function: Any) -> bool:
    """A user's function of few instructions."""
    code = function.__code__
    return len(code.co_code) <= SHORT and not (is_ours(function.__module__) or is_installed(code))


def expect(graph: Graph) -> bool:
    """Put tests behind values of which nothing is known but what was noted, in place; not where more may be
    known of them once more is known of what they are made of. Whether there were any."""
    if not _THREAD.expects or not _THREAD.left:
        return False
    _THREAD.left -= 1
    found = False
    waiting: set[Operand] = set()
    for block in graph.blocks:
        end = block.terminator
        if isinstance(end, Iterate) and end.pos is not None:
            item = end.body.target.params[0]
            if (type_ := _noted_of(end.pos, _ITEM, item)) is not None and end.iterator not in waiting:
                end.body.target.ops[:0] = [_test(item, type_)]
                found = True
                waiting.add(item)
    for block in graph.blocks:
        kept = []
        for op in block.ops:
            tests = [_test(r, t) for i, r in enumerate(op.results) if (t := _expected(op, i, r)) is not None]
            kept.append(op)
            if tests:
                waiting.update(test.args[0] for test in tests)
                if waiting.isdisjoint(op.operands()):
                    kept += tests
                    found = True
        block.ops = kept
    return found


def _expected(op: Op, i: int, result: Value) -> T.Type | None:
    return None if op.pos is None else _noted_of(op.pos, _what(op, i), result)


def _noted_of(pos: Position, what: Hashable, value: Value) -> T.Type | None:
    """The type to expect of the value; None where enough is known, or nothing was noted."""
    if not is_vague(operand_type(value)):
        return None
    place: Place | None = _PLACES.get((pos, what))
    return None if place is None or is_vague(place.type) or not _is_testable(place.type) else place.type


def _is_testable(type_: T.Type) -> bool:
    """Of an iterator, whose items come one by one, its class says nothing; a test would be one more use."""
    if isinstance(type_, T.Exact):
        return not hasattr(type_.cls, "__next__")
    return isinstance(type_, (T.TupleOf, T.ArrayOf, T.Known))


def _test(value: Value, type_: T.Type) -> Op:
    return Op(Const(Misses(type_)), [value], [Value(type=T.Exact(bool))])
