"""One program for vectors of one element and of more: what is broadcast decides whether there is one."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ctxdispatch.bytecode.original import Original
from ctxdispatch.bytecode.pool import Pool
from ctxdispatch.ir.graph import Graph
from ctxdispatch.passes import buffers
from ctxdispatch.passes import types as T
from ctxdispatch_contexts.programs.errors import Refused
from ctxdispatch_contexts.programs.mode import Program
from ctxdispatch_contexts.programs.sizes import Types

if TYPE_CHECKING:
    from ctxdispatch_contexts.programs.entry import Entry


def other_length(types: tuple[T.Type, ...]) -> tuple[T.Type, ...] | None:
    """For a vector as the one argument: the other of the two cases, length 1 or not. With more arrays than
    one, lengths decide what is broadcast."""
    if len(types) == 1 and isinstance(types[0], T.ArrayOf) and len(types[0].dims) == 1:
        return (T.ArrayOf(types[0].dtype, (not types[0].dims[0],)),)
    return None


def any_length(types: tuple[T.Type, ...]) -> tuple[T.Type, ...]:
    return tuple(T.ArrayOf(t.dtype, (None,)) for t in types if isinstance(t, T.ArrayOf))


def same_program(a: Program, b: Program) -> bool:
    """The very same code comes of both: one serves for the argument types of either."""
    if len(a.guards) != len(b.guards) or str(a.graph) != str(b.graph):
        return False
    of_a, of_b = Pool(), Pool()
    x, y = buffers.emit(a.graph, of_a), buffers.emit(b.graph, of_b)
    return x.co_code == y.co_code and all(
        map(_same_constant, (*x.co_consts, *of_a.items), (*y.co_consts, *of_b.items))
    )


def _same_constant(a: Any, b: Any) -> bool:
    return type(a) is type(b) and (isinstance(a, (Graph, Original)) or T.Known(a) == T.Known(b))


def for_any_length(entry: Entry, program: Program, types: Types) -> None:
    """In place: where it serves for vectors of another length as well (there may be no derivative)."""
    other = other_length(types)
    if other is None:
        return
    with suppress(Refused):
        if same_program(program, entry.differentiated(other)):
            program.types = any_length(types)
