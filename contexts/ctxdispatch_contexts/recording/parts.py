"""Items of `array.flat` and of records (items of structured arrays): those of an array in the same memory."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch_contexts.recording import arrays, stores


def handler(callee: Any, args: tuple[Any, ...]) -> Any:
    """(context, *args) -> the result, or None."""
    table = _OF_FLAT if isinstance(args[0], np.flatiter) else _OF_RECORD if arrays.is_record(args[0]) else {}
    return next((rule for f, rule in table.items() if f is callee), None)


def _item_of_flat(ctx: Any, flat: Any, index: Any) -> Any:
    return resolve(ctx, operator.getitem)(flat.base, arrays.place(flat, index))


def _next_of_flat(ctx: Any, items: Any, *default: Any) -> Any:
    """next(array.flat): an item of the array."""
    array, at, is_left = items.base, items.coords, items.index < items.base.size
    item = next(items, *default)
    return resolve(ctx, operator.getitem)(array, at) if is_left else item


def _item_of_record(ctx: Any, item: Any, index: Any) -> Any:
    return arrays.read_field(ctx.record, item, index) if ctx.record.any_active(item) else item[index]


def _set_in_record(ctx: Any, item: Any, index: Any, value: Any) -> None:
    resolve(ctx, operator.setitem)(arrays.field(item, index), ..., value)


_OF_FLAT = {operator.getitem: _item_of_flat, operator.setitem: stores.set_in_flat, next: _next_of_flat}
_OF_RECORD = {operator.getitem: _item_of_record, operator.setitem: _set_in_record}
