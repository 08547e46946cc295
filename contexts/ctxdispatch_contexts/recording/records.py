"""Arrays of records: the derivative of each field lies where the field does, so that records are stored, read
and copied field by field. What makes other arrays of records out of sight of that is refused.

    r[i] = (a, b)     r["x"][i] = a; r["y"][i] = b
    s = r[[2, 0]]     s["x"][...] = r["x"][[2, 0]]; ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ctxdispatch import facts
from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch.facts import AS_ARRAY
from ctxdispatch_contexts.programs.errors import MissingRuleError, described, user_position
from ctxdispatch_contexts.recording import conversions
from ctxdispatch_contexts.recording.leaves import leaves, snapshot
from ctxdispatch_contexts.recording.record import Record

COPIES = frozenset({*AS_ARRAY, *facts.COPIES, *facts.numpy_rows.named("copy __copy__ __deepcopy__")})
"""Some convert as well, or stack several."""


def has_fields(value: Any) -> bool:
    return issubclass(type(value), (np.ndarray, np.void)) and value.dtype.names is not None


def names_fields(index: Any) -> bool:
    """It says which fields, not which records."""
    first = index[0] if issubclass(type(index), list) and index else index
    return issubclass(type(first), str)


def parts(ctx: Any, array: Any, index: Any, value: Any) -> list[tuple[Any, Any, Any]]:
    """array[index] = value as stores (field, index, value). A tuple, record or array of records has a value
    for each field, a list becomes an array of records; all else goes into all fields."""
    dtype = array.dtype
    if issubclass(type(value), list):
        made = np.array(value, dtype)
        value = resolve(ctx, conversions.filled)(made, value) if ctx.record.any_active(value) else made
    if has_fields(value):
        value = tuple([_part(np.asarray(value), name) for name in value.dtype.names])
    if issubclass(type(value), tuple) and len(value) != len(dtype.names):
        array[index] = value  # NumPy's error
    found = []
    for i, name in enumerate(dtype.names):
        n = dtype[name].ndim
        each = value[i] if issubclass(type(value), tuple) else _broadcast(value, n)
        found.append((array[name], _on_axes_before(index, n), each))
    return found


def _part(array: Any, name: str) -> Any:
    """A field; of no numbers, what is in it."""
    return array[name] if _has_numbers(array.dtype[name]) else array[name].copy()


def _has_numbers(dtype: Any) -> bool:
    return dtype.base.names is not None or dtype.base.kind in "fcO"


def _broadcast(value: Any, n: int) -> Any:
    return value[(..., *(np.newaxis,) * n)] if issubclass(type(value), np.ndarray) and n else value


def _on_axes_before(index: Any, n: int) -> Any:
    """`index` where n axes more come last."""
    parts = index if type(index) is tuple else (index,)
    return (*parts, *(slice(None),) * n) if any(p is ... for p in parts) else index


def copied(made: Any, array: Any, index: Any, /) -> Any:
    """array[index], which is `made`, stored field by field."""
    for name in made.dtype.names:
        if made.dtype[name].base.names is not None:
            copied(made[name], array[name], index)
        elif made.dtype[name].base.kind in "fc":
            made[name][...] = array[name][_on_axes_before(index, made.dtype[name].ndim)]
    return made


def read(ctx: Any, array: Any, index: Any) -> Any:
    """array[index], of an array of records that depends on what is differentiated."""
    out = np.ndarray.__getitem__(array, index)  # a subclass' own code has been run by now
    if not issubclass(type(out), np.ndarray) or ctx.record.is_active(out):
        return out  # it lies in the memory of the array
    return resolve(ctx, copied)(out, array, snapshot(index))


def copy(ctx: Any, callee: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """What `callee`, one of COPIES, makes of an array of records."""
    made, array = callee(*args, **kwargs), args[0]
    if ctx.record.is_active(made):
        return made  # a view
    if (made.shape, made.dtype) != (array.shape, array.dtype):
        raise refusal(callee)
    return resolve(ctx, copied)(made, array, ...)


def check(record: Record, callee: Any, operands: Sequence[Any], y: Any) -> None:
    """Of an array of records that depends on what is differentiated only views are followed."""
    every = y if issubclass(type(y), (list, tuple)) and y else (y,)
    views = all(issubclass(type(each), np.ndarray) and record.is_active(each) for each in every)
    if not views and any(has_fields(leaf) and record.is_active(leaf) for leaf in leaves(operands)):
        raise refusal(callee)


def refusal(callee: Any) -> MissingRuleError:
    return MissingRuleError(
        f"{described(callee)} of an array of records whose fields depend on what is differentiated has no "
        "derivative rule; apply it to the fields (`r['name']`), and store what comes of it into those of "
        "another array",
        user_position(),
    )
