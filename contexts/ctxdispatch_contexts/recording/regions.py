"""Regions: loops of a recorded run that are one entry of the tape, with a program for their derivative.

    enter(token, *inputs)    where a part of a program begins: True where it has been done
    taken()                  what it has computed then

The program of a region is found by the types of its inputs. It changes nothing from outside, so where it
raises (the program itself says what, and where), where something turns out to be no region, and where
anything that it reads besides its inputs is differentiated, the part is recorded as everything else.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextvars import copy_context
from types import FunctionType
from typing import Any

import numpy as np

from ctxdispatch.bytecode.emit import make_function
from ctxdispatch.ir.graph import Graph
from ctxdispatch.ir.leaves import is_leaf, is_ours
from ctxdispatch.ir.values import Value
from ctxdispatch.passes.outline import outline
from ctxdispatch.passes.part_calls import insert
from ctxdispatch.passes.parts import Part
from ctxdispatch_contexts.forward.program import ForwardMode
from ctxdispatch_contexts.programs.entry import Entry
from ctxdispatch_contexts.programs.errors import place
from ctxdispatch_contexts.programs.lifting import is_installed
from ctxdispatch_contexts.programs.owned import Bounded
from ctxdispatch_contexts.programs.regions import Answer, PartSource, Region, is_still
from ctxdispatch_contexts.programs.specialised import Patience
from ctxdispatch_contexts.recording.entries import Again
from ctxdispatch_contexts.recording.entries import Entry as Entered
from ctxdispatch_contexts.recording.leaves import another, is_number, snapshots
from ctxdispatch_contexts.recording.memory import owner
from ctxdispatch_contexts.recording.pushing import Pushing
from ctxdispatch_contexts.recording.tape import Tape, _step_of_masks, _step_with_masks
from ctxdispatch_contexts.recording.trees import tree_of
from ctxdispatch_contexts.reverse.program import ReverseMode

MAX_ITEMS = 64


class Token:
    """What stands for a part in the program: it leads to nothing, for the collector does not see it there."""

    __slots__ = ("__weakref__",)


class Known:
    """What is known of one part."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.cells = [i for i, name in enumerate(part.inputs) if issubclass(type(name), Value)]
        self.found: dict[Any, tuple[Region, Entry]] = {}
        self.stored: set[int] = set()
        self.patience = Patience()

    def entry(self, record: Any, active: tuple[int, ...], copied: tuple[int, ...]) -> tuple[Region, Entry]:
        key = (record.context, record.sweeps, record.count is not None, active, copied)
        if key not in self.found:
            region = Region()
            mode: Any = ReverseMode(wrt=active, split=True, inner=True, region=region)
            if not record.sweeps:
                mode = ForwardMode(wrt=active, block=record.count is not None, region=region)
            self.found[key] = region, Entry(PartSource(self.part, copied), mode, record.context)
        return self.found[key]


_PARTS = Bounded(4096)
"""By token."""


def with_regions(graph: Graph) -> Graph:
    """In place: its parts are asked for where they begin."""
    if graph.frame is None or is_ours((graph.namespace or {}).get("__name__")):
        return graph
    if graph.code is None or is_installed(graph.code):
        return graph
    insert(graph, outline(graph), _token, enter, taken)
    return graph


def _token(part: Part) -> Token:
    token = Token()
    _PARTS.get_or_make(token, lambda: Known(part))
    return token


def enter(token: Token, *inputs: Any) -> bool:
    """Of a run whose program another run sees."""
    return False


def taken() -> Any:
    """Only asked for where a part has been done."""
    raise NotImplementedError


def _enter(ctx: Any, token: Token, *inputs: Any) -> bool:
    record, known = ctx.record, _PARTS.get(token)
    if known is None or type(record) not in (Tape, Pushing) or record.closed:
        return False
    if record.opaque or record.escaped:
        return False
    given = _contents(known, inputs)
    if given is None or not all(map(_is_plain, given)):
        return False
    active = tuple([i for i, value in enumerate(given) if record.any_active((value,))])
    return bool(active) and known.patience.tries() and _run(ctx, known, given, active)


def _taken(ctx: Any) -> Any:
    found, ctx.record.outputs = ctx.record.outputs, None
    return found


def _contents(known: Known, inputs: Sequence[Any]) -> list[Any] | None:
    given = list(inputs)
    for i in known.cells:
        try:
            given[i] = given[i].cell_contents
        except ValueError:  # not bound
            return None
    return given


_KEYS = (str, int, bool, type(None))
_NUMBERS = (float, complex, int, bool)


def _is_plain(value: Any, depth: int = 3) -> bool:
    """Numbers, arrays and short containers of them; functions, which hold what they hold in variables."""
    cls = type(value)
    if cls is np.ndarray:
        return bool(value.dtype.kind in "fcbiu")
    if cls in _NUMBERS or issubclass(cls, (np.number, np.bool_, type)):
        return True
    if cls not in (list, tuple, dict):
        return cls is FunctionType or is_leaf(value)
    if depth == 0 or len(value) > MAX_ITEMS or (cls is dict and not all(type(key) in _KEYS for key in value)):
        return False
    return all(_is_plain(item, depth - 1) for item in (value.values() if cls is dict else value))


def _run(ctx: Any, known: Known, given: list[Any], active: tuple[int, ...]) -> bool:
    """Whether a program has done the part, and what it computes has been written down."""
    record = ctx.record
    copied = tuple([i for i in sorted(known.stored) if type(given[i]) is np.ndarray])
    if copied and not _lie_apart(given, copied):
        return False
    region, entry = known.entry(record, active, copied)
    live = snapshots(given)  # the pullback reads them when the program may have changed them
    args = [*live, *_tangents(record, [given[i] for i in active])]
    if not entry.specialised:
        entry.prepare(*args)
    try:
        found = copy_context().run(entry.function, *args)
    except Exception:  # the program itself is to raise it, at its line
        known.patience.failed()
        return False
    if found is not None:
        done = _finished(ctx, known, given, live, copied, *found)
        known.patience.succeeded() if done else known.patience.failed()
        return done
    if region.stored <= known.stored:
        known.patience.failed()
        return False
    known.stored |= region.stored  # it has to be another program, with copies
    return _run(ctx, known, given, active)


def _tangents(record: Any, active: Sequence[Any]) -> Sequence[Any]:
    """What forward mode's programs are given besides."""
    if record.sweeps:
        return ()
    tangents = map(record.of, active)
    return [*tangents] if record.count is None else [*tangents, record.count]


def _finished(
    ctx: Any, known: Known, given: list[Any], live: list[Any], copied: tuple[int, ...], outputs: Any,
    derivative: Any, answer: Answer,
) -> bool:  # fmt: skip
    """Whether the outputs are what the program itself would have computed: then they are written down."""
    record = ctx.record
    outside = [read() for read in answer.reads]
    if not all(_is_constant(record, value, given, copied) for value in outside):
        return False
    if not _containers(given).isdisjoint(_containers(outside)):
        return False  # by `is` they would not be the same, as copies
    try:
        own = Owned([*given, *live, *outside]).each(outputs, len(outputs) - len(copied))
    except Shared:
        return False
    record.note((given, outside))
    _write_down(ctx, known, given, live, copied, own, derivative, answer)
    return True


def _containers(values: Sequence[Any]) -> set[int]:
    parts = (part for value in values for part in _parts(value))
    return {id(part) for part in parts if type(part) in (list, tuple, dict)}


def _is_constant(record: Any, value: Any, given: Sequence[Any], copied: Sequence[int]) -> bool:
    """It does not depend on what is differentiated, and none of the arrays that are stored into is in it."""
    if is_still(value):
        return True
    if not _is_plain(value) or record.any_active((value,)):
        return False
    arrays = [part for part in _parts(value) if type(part) is np.ndarray]
    return not any(np.may_share_memory(array, given[i]) for array in arrays for i in copied)


def _lie_apart(given: Sequence[Any], copied: Sequence[int]) -> bool:
    """Each of the arrays that are stored into is in no other's memory."""
    for i in copied:
        parts = [part for j, value in enumerate(given) if j != i for part in _parts(value)]
        others = [part for part in parts if type(part) is np.ndarray]
        if not given[i].flags.writeable or any(np.may_share_memory(given[i], other) for other in others):
            return False
    return True


def _parts(value: Any) -> Iterator[Any]:
    """It, and what containers in it hold."""
    yield value
    if type(value) in (list, tuple, dict):
        for item in value.values() if type(value) is dict else value:
            yield from _parts(item)


class Shared(Exception):
    """What a region has computed has another name, or may hold what has."""


class Owned:
    """The outputs of a region, of which the arrays are in memory of their own."""

    def __init__(self, known: Sequence[Any]) -> None:
        """`known`: what it was given, and what it reads."""
        parts = [part for value in known for part in _parts(value)]
        self._inputs = {id(part) for part in parts}
        self._memory = {id(owner(part)) for part in parts if type(part) is np.ndarray}
        self._made: dict[int, tuple[Any, Any]] = {}

    def each(self, outputs: Sequence[Any], n: int) -> list[Any]:
        """From the n-th on they are what copies of inputs hold by now."""
        copies = [self._of(value) for value in outputs[n:]]
        return [*map(self._of, outputs[:n]), *copies]

    def _of(self, value: Any, depth: int = 4) -> Any:
        if type(value) is np.ndarray and id(value) in self._inputs:
            return value
        if type(value) in (*_NUMBERS, *_KEYS) or issubclass(type(value), (np.number, np.bool_)):
            return value
        if id(value) in self._inputs or depth == 0:
            raise Shared
        if id(value) not in self._made:
            self._made[id(value)] = value, self._another(value, depth - 1)
        return self._made[id(value)][1]

    def _another(self, value: Any, depth: int) -> Any:
        if type(value) in (list, tuple):
            return type(value)([self._of(item, depth) for item in value])
        if type(value) is dict:
            return {key: self._of(item, depth) for key, item in value.items()}
        if type(value) is not np.ndarray or not (value.dtype.kind in "fcbiu" and value.flags.writeable):
            raise Shared
        if id(owner(value)) in self._memory:
            raise Shared
        self._memory.add(id(owner(value)))
        return value if value.base is None else value.copy(order="K")


def _write_down(
    ctx: Any, known: Known, given: Sequence[Any], live: Sequence[Any], copied: Sequence[int], own: list[Any],
    derivative: Any, answer: Answer,
) -> None:  # fmt: skip
    from ctxdispatch_contexts.recording.context import operate

    record = ctx.record
    own = [_fresh(record, value) for value in own]
    inputs = set(map(id, given))
    varied = [v and id(value) not in inputs for value, v in zip(own, answer.varied, strict=True)]
    made = tuple([record.made(value) if v else None for value, v in zip(own, varied, strict=True)])
    if not record.sweeps:
        record.give(made, derivative)
    elif any(part is not None for part in made):
        record.entries.append(Done(known, copied, made, derivative, live, place()))
    n = len(own) - len(copied)
    for i, after in zip(copied, own[n:], strict=True):
        operate(ctx, operator.setitem, operator.setitem, (given[i], ..., after), {})
    named = {id(after): given[i] for i, after in zip(copied, own[n:], strict=True)}
    outputs = [named.get(id(value), value) for value in own[:n]]
    record.outputs = tuple(outputs)


def _fresh(record: Any, value: Any) -> Any:
    """A number that is no other object's."""
    return another(value) if is_number(value) and not record.is_active(value) else value


class Done(Entered):
    """The outputs of a region, of its inputs."""

    __slots__ = ("known", "copied", "made", "pullback", "args", "at", "again")

    def __init__(
        self, known: Known, copied: Sequence[int], made: Any, pullback: Any, args: Any, at: Any
    ) -> None:
        self.known, self.copied = known, tuple(copied)
        self.made, self.pullback, self.args, self.at = made, pullback, args, at
        self.again: Any = None

    def back(self, bars: Any, again: list[Again]) -> None:
        bar = bars.take(self.made)
        if bar is None:
            return
        if self.again is None:
            cotangents = dict(enumerate(self.pullback(bar)))
        else:  # its masks are known to the run that has found them
            run, self.again = self.again, None
            cotangents = self._through(run, bar, _step_with_masks)
        self._add(bars, cotangents)

    @staticmethod
    def _through(run: Any, bar: Any, step: Any) -> dict[int, Any]:
        tree = tree_of(run.y)
        found: dict[int, Any] = run.tape._back(lambda: tree.add(run.tape, bar), run._bars, step)
        return found

    def _add(self, bars: Any, cotangents: dict[int, Any]) -> None:
        for i, cotangent in cotangents.items():
            bars.add(self.args[i], cotangent)

    def back_masks(self, bars: Any, again: list[Again]) -> None:
        mask = bars.take(self.made)
        if mask is None:
            return
        from ctxdispatch_contexts.recording.api import Recorded

        source = PartSource(self.known.part, self.copied)
        function = make_function(source.graph(), source.namespace, ())
        wrt = [i for i, arg in enumerate(self.args) if bars.any_active((arg,))]
        run = self.again = Recorded(function, self.args, wrt, _Recorded(bars.context), 0)
        self._add(bars, self._through(run, mask, _step_of_masks))


class _Recorded(Tape):
    """Of a run without regions."""


_enter.__overdub__ = lambda ctx, *args: False  # type: ignore[attr-defined]  # of a run within a run
RULES = {enter: _enter, taken: _taken}
