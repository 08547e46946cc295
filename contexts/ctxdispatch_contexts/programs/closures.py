"""Closures met at run time: one program serves all closures of one code object, what a closure has captured
being arguments of it."""

from __future__ import annotations

from types import CellType, CodeType, FunctionType
from typing import Any

from ctxdispatch.bytecode.original import is_generated
from ctxdispatch.ir.values import Position
from ctxdispatch_contexts.programs.assigned import assigned_free, is_empty
from ctxdispatch_contexts.programs.entry import Entry
from ctxdispatch_contexts.programs.entry_keys import ById, code_key
from ctxdispatch_contexts.programs.errors import DerivativeError, MutationError, user_position
from ctxdispatch_contexts.programs.mode import Mode
from ctxdispatch_contexts.programs.owned import Bounded
from ctxdispatch_contexts.programs.recipes import Recipe
from ctxdispatch_contexts.programs.sources import ClosureSource, Source

_entries = Bounded(1024)


def closure_entry(
    context: Any, mode: Mode, callee: FunctionType, n: int, kwnames: tuple[str, ...], *, bound: bool = True
) -> Entry:
    """The entry for calls callee(*n arguments, **kwnames), of any closure of that code. `bound`: no argument
    is left to defaults."""
    defaults = (None, None) if bound else (callee.__defaults__, callee.__kwdefaults__)
    return code_entry(context, mode, callee.__code__, callee.__globals__, n, kwnames, defaults)


def code_entry(
    context: Any, mode: Mode, code: CodeType, namespace: dict[str, Any], n: int,
    kwnames: tuple[str, ...] = (), defaults: tuple[Any, Any] = (None, None),
    captured: tuple[Recipe | None, ...] = (),
) -> Entry:  # fmt: skip
    """MutationError where the code assigns to what its functions have captured: arguments are copies."""

    def make() -> Entry:
        refuse_assigned(code, user_position())
        return Entry(ClosureSource(code, namespace, n, kwnames, *defaults, captured), mode, context)

    key = (context, mode, code_key(code), ById(namespace), n, kwnames, captured, *map(ById, defaults))
    return _entries.get_or_make(key, make)


def refuse_assigned(code: CodeType, at: Position | None) -> None:
    if (name := assigned_free(code)) is not None:
        raise MutationError(
            f"{code.co_qualname} assigns to {name!r}, a variable of the function around it (`nonlocal`); "
            "return the new value instead",
            at,
        )


def generated_entry(context: Any, mode: Mode, callee: FunctionType) -> Entry:
    """The entry for calls of a generated function with all its arguments, whatever its defaults are: its code
    and pool, which do not change, are all that is kept."""

    def make() -> Entry:
        bare = FunctionType(callee.__code__, callee.__globals__, callee.__name__, None, callee.__closure__)
        return Entry(Source(bare), mode, context)

    return _entries.get_or_make((context, mode, code_key(callee.__code__)), make)


def bind_defaults(
    callee: FunctionType, args: tuple[Any, ...], kwnames: tuple[str, ...]
) -> tuple[tuple[Any, ...], tuple[str, ...], tuple[int, ...]] | None:
    """The values of all parameters, the names of those that go by keyword, and where each argument went.
    None where there are star parameters, or the call does not fit."""
    code = callee.__code__
    n, given = code.co_argcount, len(args) - len(kwnames)
    if is_generated(code):  # its parameters need not have names
        missing = (callee.__defaults__ or ())[given - n :] if given < n else ()
        return (*args, *missing), (), tuple(range(given))
    names = code.co_varnames[: n + code.co_kwonlyargcount]
    if code.co_flags & 0x0C or given > n:
        return None
    defaults = callee.__defaults__ or ()
    values = {
        **dict(zip(names[n - len(defaults) : n], defaults, strict=True)),
        **(callee.__kwdefaults__ or {}),
    }
    taken = (*names[:given], *kwnames)
    if len(set(taken)) < len(taken) or not set(kwnames) <= set(names[code.co_posonlyargcount :]):
        return None
    values = {**values, **dict(zip(taken, args, strict=True))}
    if len(values) < len(names):
        return None
    return tuple([values[k] for k in names]), names[n:], tuple([names.index(k) for k in taken])


def contents(cell: CellType) -> Any:
    """What a closure has captured; DerivativeError where that is not bound."""
    if is_empty(cell):
        raise DerivativeError(
            "a closure with a variable that is not bound yet was called; assign it before the call",
            user_position(),
        )
    return cell.cell_contents
