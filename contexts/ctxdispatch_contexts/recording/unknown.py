"""C code of which nothing is known, given containers or objects that reach what is differentiated: it runs
between two looks at what it could reach.

    changed                                                                      refused
    unchanged, and what it returns holds nothing (text, truth, a type), or
        only what it was given                                                   as it is
    unchanged, and what it returns holds numbers, or may (bytes, objects of C)   refused
    given an object of C, which may keep what nobody sees                        refused, too
"""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from ctxdispatch.dispatch.reach import HEAPTYPE, natively
from ctxdispatch_contexts.programs.errors import MissingRuleError, described, given, user_position
from ctxdispatch_contexts.recording import hidden, memory, remembered, unseen
from ctxdispatch_contexts.recording.acting import CALM, is_container

_HOLD_NOTHING = (
    bool, str, type, types.NoneType, types.ModuleType, types.FunctionType, types.NotImplementedType,
    types.EllipsisType,
)  # fmt: skip
_CONTAINERS = (list, tuple, dict, set, frozenset, deque)


def watched(ctx: Any, callee: Any, known: Any, run: Any, args: Any, kwargs: Any) -> Any:
    """What `run` is, to be run with such operands."""
    unknown = hidden.check(ctx.record, callee, known, args, kwargs)
    if unknown and not ctx.record.any_active((args, kwargs)):
        return functools.partial(between_two_looks, ctx, callee, run)
    return unseen.watched(ctx, callee, run, args, kwargs)


def lies_within(record: Any, operands: Iterable[Any]) -> bool:
    """What is differentiated is among what containers hold, and is no operand itself."""
    return not any(record.any_active((v,)) for v in operands if not is_container(v))


def between_two_looks(ctx: Any, callee: Any, run: Any, /, *args: Any, **kwargs: Any) -> Any:
    """run(*args, **kwargs), which is callee(*args, **kwargs); no operand is itself what is differentiated."""
    record, operands = ctx.record, [*args, *kwargs.values()]
    record.escaped.by(callee, args, kwargs)
    if not all(_is_seen(type(operand)) for operand in operands):
        raise _refusal(callee, operands, "and may keep that out of sight")
    before, arrays = _look(record, operands)
    out: Any = None
    try:
        out = run(*args, **kwargs)
    finally:
        known = id(hidden.TOO_MANY) not in before
        if memory.changed(arrays) or (known and _holds_others(record, operands, before)):
            raise _refusal(callee, operands, "and what that holds has changed")
    if not _holds_nothing(record, out, before):
        raise _refusal(callee, operands, "and what it returns may hold numbers made of that")
    remembered.texts(record, ("", *operands), out)
    return out


@natively
def _look(record: Any, operands: list[Any]) -> tuple[dict[int, Any], list[tuple[Any, bytes]]]:
    """What the operands reach, by identity, and what is in the arrays that these are and the run knows."""
    before = {id(part): part for part in (*hidden.held(operands, unseen.MOST), *operands)}
    arrays = [p for p in before.values() if issubclass(type(p), np.ndarray) and p.dtype.kind in "fc"]
    return before, [*record.memory.copies(), *((a, a.tobytes()) for a in arrays)]


@natively
def _holds_others(record: Any, values: list[Any], before: dict[int, Any]) -> bool:
    """Numbers that were made meanwhile, and nobody knows of what."""
    reached = hidden.held(values, unseen.MOST)
    return any(id(part) not in before and not record.is_active(part) for part in reached)


@natively
def _holds_nothing(record: Any, out: Any, before: dict[int, Any]) -> bool:
    if id(out) in before or issubclass(type(out), _HOLD_NOTHING):
        return True
    if type(out) in _CONTAINERS:
        return all(_holds_nothing(record, item, before) for item in _items(out))
    return _is_seen(type(out)) and type(out) not in CALM and not _holds_others(record, [out], before)


@functools.lru_cache(1024)
def _is_seen(cls: type) -> bool:
    """What such an object holds is what the collector says, and numbers by identity."""
    return cls in CALM or all(map(_is_transparent, cls.__mro__))


def _is_transparent(cls: type) -> bool:
    """A container, an array, an exception, or a class that was made by Python code."""
    if issubclass(cls, (*_CONTAINERS, np.ndarray, np.generic, BaseException)) or cls is object:
        return True
    return bool(cls.__flags__ & HEAPTYPE) and not {"__dict__", "__slots__"}.isdisjoint(vars(cls))


def _items(container: Any) -> Iterable[Any]:
    return (*container, *container.values()) if type(container) is dict else container


def _refusal(callee: Any, operands: list[Any], what: str) -> MissingRuleError:
    return MissingRuleError(
        f"{described(callee)} has no derivative rule for ({given(operands)}), which reach what is "
        f"differentiated, {what}; give it a rule with `custom_rule`, or `stop_gradient` of its arguments",
        user_position(),
    )
