"""Numbers that are read out of what an argument holds out of sight: refused.

    def f(model): return model.weight * model.step.total_seconds()      `model.step` is a timedelta

The gradient with respect to such a part would be lost. What is made of it and is opaque again is a part like
it; text, truth and whole numbers have no derivative.
"""

from __future__ import annotations

import copy
import functools
import numbers
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import beyond_rules
from ctxdispatch_contexts.programs.errors import MissingRuleError, described, user_position
from ctxdispatch_contexts.programs.kinds import remedy
from ctxdispatch_contexts.programs.opaque_values import CODE, is_opaque, parts
from ctxdispatch_contexts.recording.arrays import Items
from ctxdispatch_contexts.recording.callees import Callee, moves
from ctxdispatch_contexts.recording.leaves import NUMBERS
from ctxdispatch_contexts.recording.record import iterator_copied

Args = tuple[Any, ...]

_CALM = (bool, str, bytes, type(None), type(NotImplemented), type)


def check(record: Any, callee: Any, known: Callee, args: Args, kwargs: dict[str, Any], out: Any) -> None:
    """MissingRuleError where `out` has numbers in it that nobody knows the origin of."""
    if type(out) in CODE or issubclass(type(out), _CALM):
        return
    used = next((v for v in _looked_into(callee, known, args, kwargs) if id(v) in record.opaque), None)
    if used is None or (callee is getattr and args[1] in getattr(used, "__dict__", ())):
        return
    for part in parts(out):
        if is_opaque(type(part)):
            record.opaque[id(part)] = part
        elif _is_number(part, used) and not (record.is_active(part) and callee is getattr):
            raise _refusal(callee, type(used))


def _looked_into(callee: Any, known: Callee, args: Args, kwargs: dict[str, Any]) -> list[Any]:
    """What `callee` may read numbers out of: what moves objects, its first operand alone."""
    if moves(known, callee, args):
        return [*args[:1]]
    return [callee, *(item for value in (*args, *kwargs.values()) for item in _items(value))]


def _items(value: Any) -> Any:
    return value if issubclass(type(value), (list, tuple)) else (value,)


def _refusal(callee: Any, cls: type) -> MissingRuleError:
    return MissingRuleError(
        f"{described(callee)} reads numbers out of a part of an argument of type {cls.__name__}, which holds "
        f"them out of sight: their derivative would be lost; {remedy(cls)}, or leave it out of what is "
        "differentiated (as an argument of its own)",
        user_position(),
    )


def _is_number(value: Any, source: Any) -> bool:
    """One that has a derivative; of another number, an integer too (the numerator of a Fraction)."""
    if issubclass(type(value), int):
        return issubclass(type(source), numbers.Number)
    cls = type(value)
    return issubclass(cls, NUMBERS) or (issubclass(cls, np.ndarray) and value.dtype.kind in "fc")


# -- copies --------------------------------------------------------------------------------------------------


def _copied(f: Any, ctx: Any, /, *args: Any, **kwargs: Any) -> Any:
    """It makes its copies of opaque objects by what these say of themselves. A shallow copy of an iterator
    over an array would go on where that goes on."""
    if args and type(args[0]) is map and type(getattr(args[0].__reduce__()[1][0], "__self__", None)) is Items:
        raise iterator_copied()
    out = beyond_rules(ctx, f)(*args, **kwargs)
    if ctx.record.opaque:
        ctx.record.opaque.update({id(part): part for part in parts(out) if is_opaque(type(part))})
    return out


RULES = {f: functools.partial(_copied, f) for f in (copy.copy, copy.deepcopy)}
