"""How masks go through calls at run time: what the derivative table says of structural zeros
(`masks.py` says what they are), for recorded runs and for calls that programs do not know beforehand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ctxdispatch.facts import says
from ctxdispatch.ir.values import hashable
from ctxdispatch_contexts.derivatives.namespaces import NUMPY
from ctxdispatch_contexts.derivatives.table import array_arguments, elementwise, flow, linearity, mask_rule
from ctxdispatch_contexts.reverse.cotangents import ones_of
from ctxdispatch_contexts.reverse.fitting import LEAVES, unbroadcast


@says(known=False, raises=False)
def masks_through(
    callee: Any, kwnames: tuple[str, ...], operands: tuple[int, ...], mask: Any, y: Any, *args: Any
) -> list[Any]:
    """The masks of those operands of y = callee(*args), from that of y."""
    found = [*through(callee, y, args, kwnames, mask)]
    return [found[i] for i in operands]


def through(callee: Any, y: Any, args: Sequence[Any], kwnames: tuple[str, ...], mask: Any) -> Iterable[Any]:
    """The masks of the operands of y = callee(*args), from that of y; None is zero."""
    if mask is None:
        return [None] * len(args)
    row = elementwise(callee) if hashable(callee) else None
    if row is not None and len(args) == len(row.params) and not kwnames:
        return _through_elements(row, y, args, mask)
    if not flows(callee, y, args, kwnames):
        return map(ones_of, args)
    rule: Any = mask_rule(callee)
    at = places(rule, len(args), kwnames)
    given = [_as_factor(callee, i, place, arg) for i, (place, arg) in enumerate(zip(at, args, strict=True))]
    n = len(args) - len(kwnames)
    found = dict(enumerate(rule(mask, y, *given[:n], **dict(zip(kwnames, given[n:], strict=True)))))
    return [found.get(place) for place in at]


def flows(callee: Any, y: Any, args: Sequence[Any], kwnames: tuple[str, ...]) -> bool:
    """The mask of the result tells those of the operands: a rule says so, which is about real numbers, and of
    products of arrays (a list may be one, or the subscripts of one)."""
    if not hashable(callee) or flow(callee, len(args) - len(kwnames), kwnames) is None:
        return False
    if any(map(_is_complex, (y, *args))):
        return False
    at = places(mask_rule(callee), len(args), kwnames)
    lists = [isinstance(arg, (list, tuple)) and i >= array_arguments(callee) for i, arg in enumerate(args)]
    return not any(listed and is_factor(callee, place) for place, listed in zip(at, lists, strict=True))


def _is_complex(value: Any) -> bool:
    return any(map(_is_complex, value)) if isinstance(value, (list, tuple)) else np.iscomplexobj(value)


def _through_elements(row: Any, y: Any, args: Sequence[Any], mask: Any) -> Iterable[Any]:
    for arg, partial, kind, picks in zip(args, row.partials(NUMPY), row.kinds, row.picks, strict=True):
        if kind == "zero":
            yield None
        elif isinstance(y, LEAVES) and isinstance(arg, LEAVES) and not np.iscomplexobj(y):
            yield unbroadcast(mask * partial(*args, y) if picks else mask, arg, y)
        else:
            yield ones_of(arg)


def places(rule: Any, count: int, kwnames: tuple[str, ...]) -> list[int]:
    """Which entry of the rule's tuple belongs to each of so many arguments, -1 where it has none."""
    code = rule.__code__
    names = code.co_varnames[2 : code.co_argcount + code.co_kwonlyargcount]
    named = [names.index(name) if name in names else -1 for name in kwnames]
    return [*range(count - len(kwnames)), *named]


def is_factor(callee: Any, place: int) -> bool:
    """The argument there is a factor of a product."""
    linear = linearity(callee)
    return linear is not None and not linear.joint and is_linear(callee, place)


def is_linear(callee: Any, place: int) -> bool:
    """The result is linear in the argument there."""
    linear = linearity(callee)
    if linear is None or place < 0:
        return False
    return isinstance(linear.positions, slice) or place in linear.positions


def _as_factor(callee: Any, i: int, place: int, arg: Any) -> Any:
    """An argument as the rule takes it; the factors of a product are 1."""
    arg = np.asarray(arg) if i < array_arguments(callee) else arg
    return as_one(arg) if is_factor(callee, place) else arg


@says(known=False, raises=False)
def as_one(factor: Any) -> Any:
    if isinstance(factor, np.ndarray):
        return np.ones_like(factor)
    return type(factor)(1) if isinstance(factor, (int, float, complex, np.number)) else factor
