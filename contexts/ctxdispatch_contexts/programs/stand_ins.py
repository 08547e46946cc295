"""Calls that generated callees stand for.

What a derivative program calls at run time, and the functions of entries, do what the callee that they are
for does, to the same operands: so they may change what it may change (and the tangent of that), and run what
it may run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch_contexts.programs.derived import entry_of
from ctxdispatch_contexts.programs.entry_keys import HOLE
from ctxdispatch_contexts.programs.errors import RunTime

Meaning = tuple[Any, tuple[Any, ...] | None, tuple[str, ...]]
"""callee (None where only run time knows it), template (None for the operands as they come), names of the
keywords."""

_partials: dict[Any, Callable[[tuple[Any, ...]], Meaning]] = {}


def stands_for(function: Any, meaning: Callable[[tuple[Any, ...]], Meaning]) -> None:
    """functools.partial(function, *args) stands for the call meaning(args)."""
    _partials[function] = meaning


def call_behind(op: Op) -> Op:
    """The call that `op` stands for, of operands of its own; `op` itself, if it stands for none."""
    found = _meaning(op.fn)
    return op if found is None else call_behind(_call(op, *found))


def stands_in(op: Op) -> bool:
    return _meaning(op.fn) is not None


def _meaning(fn: Any) -> Meaning | None:
    if isinstance(fn, RunTime):
        return fn.callee, fn.template if fn.callee is not None else None, fn.kwnames
    if type(fn) is functools.partial and fn.func in _partials:
        return _partials[fn.func](fn.args)
    entry = entry_of(fn)
    source = getattr(entry, "source", None)
    while hasattr(source, "inner"):
        source = source.inner.source
    if source is None:
        return None
    if hasattr(source, "template"):
        return source.callee, source.template, source.kwnames
    return getattr(source, "function", None), None, ()


def _call(op: Op, callee: Any, template: Sequence[Any] | None, kwnames: tuple[str, ...]) -> Op:
    """Operands beyond those of the call are tangents."""
    given = list(op.args)
    if callee is None:
        return Op(Value(), given, [], kwnames, op.pos)
    if template is None:
        return Op(Const(callee), given, [], kwnames, op.pos)
    rest = iter(given)
    args: list[Operand] = [next(rest, Const(None)) if t is HOLE else Const(t) for t in template]
    return Op(Const(callee), args, [], kwnames, op.pos)


__all__ = ["call_behind", "stands_for", "stands_in"]
