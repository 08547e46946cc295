"""`explain`: which tier each part of a call runs on, what it cost, and why it is not a better one.

    explain(g)(*args)       g: what `grad value_and_grad jacobian hessian` return, or `jvp`, `vjp`, `hvp`,
                            or any function that calls them

A region is what has, or could have, a program of its own: a derivative that is called, a loop of one that is
recorded, a kernel. What was inlined is part of the region around it.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ctxdispatch.dispatch.reach import natively
from ctxdispatch.dispatch.tracebacks import show_users_frames
from ctxdispatch_contexts.programs.entry import Entry
from ctxdispatch_contexts.programs.errors import OWN_FILES
from ctxdispatch_contexts.programs.live import live
from ctxdispatch_contexts.programs.regions import no_region
from ctxdispatch_contexts.programs.specialised import Recorder, compiling
from ctxdispatch_contexts.programs.tiers import (
    LEFT,
    OTHERWISE,
    RAISED,
    SHARED,
    TRACED,
    WATCHED,
    Ran,
    Reason,
    RecordedWarning,
    Watch,
    joined,
)

__all__ = ["Explanation", "RecordedWarning", "Region", "explain"]

COMPILED, ATTEMPT, KERNEL = "compiled whole", "compiled as an attempt", "kernel"
TRACE = "compiled as a trace"
RECORDED, WITH_REGIONS = "recorded", "recorded with compiled regions"

_UNLESS_RAISED = "what is done where nothing is raised has one"


@dataclass(frozen=True)
class Region:
    """`name` and `place` (file:line) of the function; `mode` (reverse, forward, jacobian, broadcast); `tier`;
    `calls` and `seconds`, those of regions inside included, those of making programs not; `depth`: inside how
    many regions, whose time has that of parts recorded with them; `line` (file:line in function), `reason`
    and `remedy` where the tier is not the best, with the `column` (from 0 on) of what is meant in the line,
    where that is known."""

    name: str
    place: str
    mode: str
    tier: str
    calls: int
    seconds: float
    depth: int
    line: str | None = None
    reason: str = ""
    remedy: str = ""
    column: int | None = None

    def _texts(self) -> Iterator[str]:
        if self.reason:
            yield f"{self.line or self.place}: {self.reason}"
        if self.remedy:
            yield f"instead: {self.remedy}"


@dataclass(frozen=True)
class Explanation:
    """The `regions` of one call, in the order in which they began; `seconds` that making programs took."""

    regions: tuple[Region, ...]
    making: float

    def __str__(self) -> str:
        if not self.regions:
            return "no derivative was called"
        lines = [line for region in self.regions for line in _lines(region)]
        return "\n".join([*lines, f"programs made in {_time(self.making)}"] if self.making else lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "<tr><th>region</th><th>mode</th><th>tier</th><th>calls</th><th>time</th><th>why</th></tr>"
        return f"<table>{head}{''.join(map(_row, self.regions))}</table>"


def explain(g: Callable[..., Any]) -> Callable[..., Explanation]:
    """`explain(g)(*args, **kwargs)` calls `g` once, and says for each region of the call which tier ran
    (compiled whole, compiled as an attempt or a trace, recorded with compiled regions, recorded, kernel),
    what it cost, and where it is not the best, the line, the reason and what to write instead.

    `g` is what `grad`, `value_and_grad`, `jacobian` or `hessian` return, or any function in whose call
    derivatives are taken: `explain(jvp)(f, (x,), (v,))`, `explain(step)(params)`. Regions called from other
    threads, and the compressed matrices of `sparse_jacobian`, are not seen. Programs are made as by any call,
    and stay. Raises what the call raises.

    >>> import numpy as np
    >>> from ctxdispatch import explain, grad
    >>> report = explain(grad(lambda x: (x * x).sum()))(np.ones(3))
    >>> [(region.mode, region.tier, region.reason) for region in report.regions]
    [('reverse', 'compiled whole', '')]
    """

    def explained(*args: Any, **kwargs: Any) -> Explanation:
        watch = Watch()
        token = WATCHED.set(watch)
        try:
            with compiling:
                watch.stub(tuple(live))
            g(*args, **kwargs)
        except BaseException as error:
            show_users_frames(error)
            raise
        finally:
            WATCHED.reset(token)
            with compiling:
                watch.put_back()
        return Explanation(tuple(_regions(watch.ran)), watch.making)

    return explained


natively(explain)


# -- of what was seen ----------------------------------------------------------------------------------------


def _regions(ran: list[Ran]) -> Iterator[Region]:
    """Calls of the same program inside the same number of regions are one."""
    same: dict[Any, list[Ran]] = {}
    parts = {id(each) for each in _with_parts(ran)}
    for each in filter(_is_region, ran):
        key = each.entry, each.made, each.depth, each.recorded, id(each) in parts
        same.setdefault(key, []).append(each)
    for (entry, _, depth, _, has_parts), calls in same.items():
        tier, why = _tier(calls[0], has_parts)
        asked = getattr(calls[0].made, "body", None) is no_region  # its run is part of that around it
        seconds = 0.0 if asked else sum(call.seconds for call in calls)
        yield Region(
            *_named(entry), _mode(entry), tier, len(calls), seconds, depth,
            *(() if why is None else (why.position, why.what, why.remedy, why.column)),
        )  # fmt: skip


def _is_region(call: Ran) -> bool:
    """No operation of a run that is recorded, nor a rule of ours."""
    return not (call.depth and call.entry.bare().filename.startswith(("<generated", *OWN_FILES)))


def _named(entry: Entry) -> tuple[str, str]:
    """Name and place; of a part, what it is and where it begins."""
    bare, part = entry.bare(), getattr(entry.source, "part", None)
    if part is None:
        return bare.name, f"{bare.filename}:{bare.line}"
    line = min((op.pos.line for _, op in part.graph.ops() if op.pos and op.pos.line), default=bare.line)
    kind = "rest" if part.outputs is None else "loop"
    return f"{bare.name}, {kind} from line {line}", f"{bare.filename}:{line}"


def _with_parts(ran: list[Ran]) -> Iterator[Ran]:
    """Those in which a part of what is recorded ran as a program."""
    around: list[Ran] = []
    for each in ran:
        del around[each.depth :]
        if each.entry.mode.region is not None and not isinstance(each.made, Recorder):
            yield from around[-1:]
        around.append(each)


def _tier(call: Ran, has_parts: bool) -> tuple[str, Reason | None]:
    made, mode = call.made, _mode(call.entry)
    recorded = WITH_REGIONS if has_parts else RECORDED
    if isinstance(made, Recorder) and made.reason is TRACED:
        return (recorded, OTHERWISE) if call.recorded else (TRACE, TRACED)
    if isinstance(made, Recorder):
        return recorded, made.reason
    if call.recorded and made.asks and made.reading.may_find():
        at = made.reading.position()
        return recorded, LEFT if at is None else replace(LEFT, position=str(at), column=at.column)
    if call.recorded:
        return recorded, joined(RAISED, made.reason) if made.attempt else SHARED
    if made.attempt and made.reason is not None:
        return ATTEMPT, replace(made.reason, what=f"{made.reason.what}; {_UNLESS_RAISED}")
    return (KERNEL if mode == "broadcast" else COMPILED), made.reason


def _mode(entry: Entry) -> str:
    return type(entry.mode).__name__.removesuffix("Mode").lower()


# -- as text -------------------------------------------------------------------------------------------------


def _lines(region: Region) -> Iterator[str]:
    indent = "  " * region.depth
    times = "" if region.calls == 1 else f", {region.calls} calls"
    seconds = f", {_time(region.seconds)}" if region.seconds else ""
    yield f"{indent}{region.name} ({region.mode}): {region.tier}{seconds}{times}"
    for text in region._texts():
        yield f"{indent}    {text}"


def _row(region: Region) -> str:
    name = "&nbsp;" * 4 * region.depth + html.escape(region.name)
    why = "<br>".join(map(html.escape, region._texts()))
    cells = (name, region.mode, region.tier, str(region.calls), _time(region.seconds), why)
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _time(seconds: float) -> str:
    for factor, unit in ((1.0, "s"), (1e3, "ms")):
        if seconds * factor >= 1.0:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"
