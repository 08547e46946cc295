"""What writes into arrays: written down, so that the way back can undo it.

    find(callee, args, kwargs)     store(ctx, callee, args, kwargs, run), None where it writes into none

items, attributes      here
`out`, in-place        `outs.py`
by indices, masks      `moved.py`
"""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch.facts import INPLACE
from ctxdispatch.ir.registry import Registry
from ctxdispatch.ir.values import row_of
from ctxdispatch.passes import outputs
from ctxdispatch_contexts.programs.c_objects import shows
from ctxdispatch_contexts.programs.errors import MissingRuleError, MutationError, described, user_position
from ctxdispatch_contexts.programs.overlapping import runs_over
from ctxdispatch_contexts.recording import halfway, outs, records, windows
from ctxdispatch_contexts.recording.arrays import place
from ctxdispatch_contexts.recording.blocks import part_of
from ctxdispatch_contexts.recording.callees import holds_bytes, is_native_attribute
from ctxdispatch_contexts.recording.leaves import leaves, snapshot
from ctxdispatch_contexts.recording.memory import WRITEABLE, differ
from ctxdispatch_contexts.recording.moved import (
    activated,
    as_stored,
    check_dtype,
    moved,
    put_in_flat,
    put_objects,
    sorted_along,
)
from ctxdispatch_contexts.recording.record import Record

Run = Callable[..., Any]
Handler = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], Any]
_HANDLERS: Registry[Handler] = Registry()


_HANDLERS.of(*INPLACE)(outs.in_place)
_HANDLERS.of(np.copyto, np.fill_diagonal)(functools.partial(moved, 0))
_HANDLERS.of(np.put, np.ndarray.put, np.place, np.putmask)(functools.partial(moved, 1))
_HANDLERS.of(np.ndarray.sort, np.ndarray.partition)(sorted_along)


def find(callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Handler | None:
    if outputs.takes_out(callee):
        _, named = outputs.out_by_name(callee, args, kwargs)
        out = named.get("out")
        given = out if type(out) is tuple else (out,)
        return outs.into if any(issubclass(type(o), np.ndarray) for o in given) else None
    if callee is np.ufunc.at:
        return outs.at
    if not args or not issubclass(type(args[0]), np.ndarray):
        return None
    if outputs.may_overwrite(callee, len(args), tuple(kwargs)):
        return outs.overwritten
    found = row_of(_HANDLERS, callee)
    items = found is None or found is _set_item or args[0].dtype.names is None
    return found if items else _change_records


def constant(ctx: Any, callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any], run: Run) -> Any:
    """A call that nothing active comes into: it may change arrays that are read once more."""
    record: Record = ctx.record
    shown = (windows.opened(record, a) if shows(type(a)) else a for a in leaves((*args, *kwargs.values())))
    given = (a for a in shown if issubclass(type(a), np.ndarray))
    if callee is setattr and issubclass(type(args[0]), np.ndarray) and record.memory.find(args[0]):
        _refuse_layout(args[1])
    seen = [a for a in given if record.memory.find(a) and a.flags.num & WRITEABLE]
    if record.copies and find(callee, args, kwargs) is not None:
        check_alias(ctx, callee, args, kwargs)
    store = find(callee, args, kwargs) if any(map(record.memory.is_of_argument, seen)) else None
    if store is not None:
        for target in _targets(callee, args, kwargs):
            record.join(target, args[1] if callee is operator.setitem else ...)
        if record.any_active((args, kwargs)):
            return store(ctx, callee, args, kwargs)
    kept = [(a, a.copy(), record.keep(a, ...)) for a in seen]
    try:
        return run(*args, **kwargs)
    finally:
        for array, before, each in kept:
            if differ(array, before):
                _check_apart(record, callee, array)
                record.unchanged(each)


def done(store: Handler, ctx: Any, callee: Any, args: Any, kwargs: Any, run: Run) -> Any:
    """store(..), or the error of run(..)."""
    if store is outs.into and outs.is_looked_into(ctx, callee):
        return store(ctx, callee, args, kwargs)
    places = _targets(callee, args, kwargs)
    if callee is operator.setitem and type(args[0]) is np.ndarray:
        with contextlib.suppress(IndexError):  # it says so itself
            places = [part_of(args[0], args[1])]
    written = functools.partial(store, ctx, callee, args, kwargs)
    return halfway.as_plain(ctx.record, callee, places, written, functools.partial(run, *args, **kwargs))


def _check_apart(record: Record, callee: Any, array: Any) -> None:
    """After a change of nobody knows which elements."""
    if record.memory.about_to_join(array):
        raise MutationError(
            f"{described(callee)} changed an array that is an argument, which it was given by another name; "
            "give the argument as a copy (`x.copy()`)",
            user_position(),
        )


def _targets(callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arrays that a store writes into."""
    if callee is np.ufunc.at:
        return [args[1]]
    out = None
    if outputs.takes_out(callee):
        out = outputs.out_by_name(callee, args, kwargs)[1].get("out")
    out = args[0] if out is None else out
    return [a for a in (out if type(out) is tuple else (out,)) if issubclass(type(a), np.ndarray)]


# -- items ---------------------------------------------------------------------------------------------------


@_HANDLERS.of(operator.setitem, np.ndarray.__setitem__)
def _set_item(ctx: Any, callee: Any, args: Any, kwargs: Any) -> None:
    array, index, value = args
    record: Record = ctx.record
    if type(array) is not np.ndarray:  # a subclass' own code has been run by now
        if _by_own_item(array, index):
            array, index = resolve(ctx, operator.getitem)(array, index), ...
        array, callee = np.ndarray.view(array, np.ndarray), operator.setitem
    if array.dtype.names is not None and records.names_fields(index):
        array, index = array[index], ...
    index = snapshot(index)
    if array.dtype.names is not None:
        for part in records.parts(ctx, array, index, value):
            _set_item(ctx, callee, part, {})
        return
    if array.dtype == object:  # one object of an array is any
        depth = np.ndim(np.broadcast_to(False, array.shape)[index])
        put_objects(ctx, callee, (array, index, value), {}, depth)
        return
    value = as_stored(ctx, array, value)
    if record.is_active(value):
        check_dtype(callee, array)
    if _may_repeat(index) or runs_over(array, index, value):
        moved(1, ctx, callee, (array, index, value), kwargs)
        return
    kept = record.before(array, index)
    callee(array, index, value)
    activated(record, array, record.is_active(value), index)
    record.store(array, index, value, kept)


@_HANDLERS.of(np.ndarray.fill)
def _fill(ctx: Any, callee: Any, args: Any, kwargs: Any) -> None:
    array, value = args
    if array.dtype != object:
        moved(0, ctx, callee, args, kwargs)
        return
    for index in np.ndindex(array.shape):  # each element is that object, be it a list
        _set_item(ctx, operator.setitem, (array, index, value), {})


def _by_own_item(array: Any, index: Any) -> bool:
    """Of an array of a subclass NumPy gets the part that it stores into by the subclass' own `__getitem__`:
    where it is a part, and not elements that are apart, one element, or all (`...`)."""
    parts = index if type(index) is tuple else (index,)
    if any(issubclass(type(p), (list, np.ndarray, bool, np.bool_)) for p in parts) or parts == (...,):
        return False
    whole = [p for p in parts if p is not None and p is not ...]
    return not (len(whole) == len(parts) == array.ndim and not any(issubclass(type(p), slice) for p in whole))


def _change_records(ctx: Any, callee: Any, args: Any, kwargs: Any) -> None:
    """What writes into an array of records, and is no store of items."""
    if callee not in (np.copyto, np.ndarray.fill) or kwargs or len(args) != 2:
        raise records.refusal(callee)
    _set_item(ctx, operator.setitem, (args[0], ..., args[1]), {})


def refuse_bytes(record: Record, args: tuple[Any, ...]) -> None:
    """container[index] = value, where the container has bytes and no objects."""
    container, _, value = args
    if holds_bytes(container) and not record.closed and record.any_active((value,)):
        raise MissingRuleError(
            f"an item of ({described(type(container))}) is given a value that depends on what is "
            "differentiated, which is lost there; use a list or an array of floats",
            user_position(),
        )


def refuse_native(record: Record, args: tuple[Any, ...]) -> None:
    """obj.name = value, where C code makes of the value what it keeps."""
    obj, name, value = args
    if is_native_attribute(type(obj), name) and not record.closed and record.any_active((value,)):
        raise MissingRuleError(
            f"the attribute {name!r} of ({described(type(obj))}) is given a value that depends on what is "
            "differentiated, which C code makes something else of; keep it in an object of Python's, or give "
            "it `stop_gradient`",
            user_position(),
        )


def _may_repeat(index: Any) -> bool:
    """An element may be named twice: the last one counts."""
    parts = index if type(index) is tuple else (index,)
    return any(
        issubclass(type(p), (list, np.ndarray)) and np.asarray(p).dtype != bool and np.size(p) > 1
        for p in parts
    )


def check_alias(ctx: Any, callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """What a rule returned of its own arguments is a copy, which the argument would not see change."""
    if not ctx.record.copies:
        return
    every = _targets(callee, args, kwargs)
    if any(np.may_share_memory(target, copy) for target in every for copy in ctx.record.copies):
        raise MutationError(
            "`stop_gradient` or a rule returned its argument, and one of the two is changed in place; give "
            "it a copy (`x.copy()`)",
            user_position(),
        )


# -- attributes ----------------------------------------------------------------------------------------------


@_HANDLERS.of(setattr)
def _set_attribute(ctx: Any, callee: Any, args: Any, kwargs: Any) -> None:
    array, name, value = args
    _refuse_layout(name)
    if name == "flat":
        moved(1, ctx, setattr, args, {})
    elif name == "real" or (name == "imag" and array.dtype.kind == "c"):
        _set_item(ctx, operator.setitem, (getattr(array, name), ..., value), {})
    else:
        callee(array, name, value)  # of a subclass; or NumPy's own error


def set_in_flat(ctx: Any, flat: Any, index: Any, value: Any) -> None:
    """flat[index] = value, of an array.flat: a store to the array."""
    args, record = (flat.base, snapshot(index), value), ctx.record
    if flat.base.dtype == object and issubclass(type(index), (int, np.integer)):
        _set_item(ctx, operator.setitem, (flat.base, place(flat, index), value), {})
        return
    if record.any_active(args):
        check_alias(ctx, operator.setitem, args, {})
        done(functools.partial(moved, 1), ctx, put_in_flat, args, {}, put_in_flat)
    else:
        constant(ctx, put_in_flat, args, {}, put_in_flat)


def _refuse_layout(name: str) -> None:
    """What was written down before of an array has the shape that it had."""
    if name in outputs.LAYOUT:
        raise MutationError(
            f"the {name} of an array that the derivative knows is set in place; make another array, with "
            f"`a = {outputs.LAYOUT[name]}`",
            user_position(),
        )


@_HANDLERS.of(np.ndarray.resize)
def _resized(ctx: Any, callee: Any, args: Any, kwargs: Any) -> None:
    """Derivatives are known by the memory that an array lies in, which this gives back."""
    raise MutationError(
        "ndarray.resize moves an array whose elements depend on what is differentiated to other memory; use "
        "np.pad, np.concatenate or np.reshape, which make another array",
        user_position(),
    )
