"""A graph as it is after each pass, for those who look.

    with recording(see): ...          see(name, graph), there, after each pass
    snapshot("fold", graph)           said where passes are run, after each of them; `BEGIN` before the first

Invariant: who looks changes nothing; where nobody does, a snapshot is a look at a context variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ctxdispatch.ir.graph import Graph

See = Callable[[str, Graph], None]

BEGIN = "lift"
"""The name of the first snapshot of a graph."""

_see: ContextVar[See | None] = ContextVar("snapshots", default=None)


def snapshot(name: str, graph: Graph) -> None:
    """`graph` has been through the pass `name`."""
    see = _see.get()
    if see is not None:
        see(name, graph)


@contextmanager
def recording(see: See) -> Iterator[None]:
    """`see` is called for the snapshots of this thread in the block. It must not keep the graph as it is: the
    next pass may change that in place."""
    token = _see.set(see)
    try:
        yield
    finally:
        _see.reset(token)
