"""Items of `array.flat` and of records (items of structured arrays): those of an array in the same memory."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch.ir.registry import Registry
from ctxdispatch.ir.values import row_of
from ctxdispatch_contexts.recording import arrays, stores


def handler(callee: Any, args: tuple[Any, ...]) -> Any:
    """(context, *args) -> the result, or None."""
    if issubclass(type(args[0]), np.flatiter):
        return row_of(_OF_FLAT, callee)
    return row_of(_OF_RECORD, callee) if arrays.is_record(args[0]) else None


_OF_FLAT: Registry[Any] = Registry({operator.setitem: stores.set_in_flat})
_OF_RECORD: Registry[Any] = Registry()


@_OF_FLAT.of(operator.getitem)
def _item_of_flat(ctx: Any, flat: Any, index: Any) -> Any:
    return resolve(ctx, operator.getitem)(flat.base, arrays.place(flat, index))


@_OF_FLAT.of(next)
def _next_of_flat(ctx: Any, items: Any, *default: Any) -> Any:
    """next(array.flat): an item of the array."""
    array, at, is_left = items.base, items.coords, items.index < items.base.size
    item = next(items, *default)
    return resolve(ctx, operator.getitem)(array, at) if is_left else item


@_OF_RECORD.of(operator.getitem)
def _item_of_record(ctx: Any, item: Any, index: Any) -> Any:
    return arrays.read_field(ctx.record, item, index) if ctx.record.any_active(item) else item[index]


@_OF_RECORD.of(operator.setitem)
def _set_in_record(ctx: Any, item: Any, index: Any, value: Any) -> None:
    resolve(ctx, operator.setitem)(arrays.field(item, index), ..., value)
