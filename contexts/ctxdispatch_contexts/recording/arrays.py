"""What is read of arrays: items, attributes, whatever goes through them, and arrays of objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ctxdispatch.facts import AS_ARRAY, COPIES, VIEWS, Shares, fact_of
from ctxdispatch_contexts.programs.c_objects import ADDRESSES
from ctxdispatch_contexts.programs.errors import MissingRuleError, described, user_position
from ctxdispatch_contexts.programs.kinds import is_of_objects
from ctxdispatch_contexts.recording.callees import Callee
from ctxdispatch_contexts.recording.leaves import is_number, leaves, snapshot
from ctxdispatch_contexts.recording.memory import Array, owner
from ctxdispatch_contexts.recording.record import Record
from ctxdispatch_contexts.recording.shown import check_view

Run = Callable[..., Any]


def read(record: Record, array: Any, index: Any) -> Any:
    """array[index], of an active array."""
    out = np.ndarray.__getitem__(array, index)  # a subclass' own code has been run by now
    view = issubclass(type(out), np.ndarray) and owner(out) is owner(array)
    if not view and array.dtype.kind in "fc":
        record.read(array, snapshot(index), out)
    return out


def are_views(record: Record, out: Any) -> bool:
    """Arrays in memory that the run knows."""
    made = out if type(out) in (list, tuple) and out else [out]
    if not all(issubclass(type(array), np.ndarray) and record.is_active(array) for array in made):
        return False
    for array in made:
        check_view(array, owner(array))
    return True


def shown(record: Record, callee: Any, args: Any, kwargs: Any, run: Run) -> Any:
    """np.frombuffer(..), np.nditer(..): what they give lies in the memory of their operands."""
    out = run(*args, **kwargs)
    made = [*out.operands] if issubclass(type(out), np.nditer) else [out]
    operands = leaves((args[:1], kwargs.get("op")))
    given = [a for a in operands if issubclass(type(a), np.ndarray) and record.is_active(a)]
    apart = [a for a in given if not any(np.may_share_memory(a, b) for b in made)]
    if apart or _is_buffered(out, args, kwargs):
        raise MissingRuleError(
            f"{described(callee)} goes through copies of its operands, where derivatives are not followed; "
            "convert them before (`.astype`), and leave out the flag 'buffered'",
            user_position(),
        )
    for array in filter(record.is_active, made):
        check_view(array, owner(array))
    if issubclass(type(out), np.nditer):
        record.escaped.expose(given)
        record.escaped.views.append(out)
    return out


def _is_buffered(out: Any, args: Any, kwargs: Any) -> bool:
    """NumPy's iterator gives parts of its own memory, not of its operands'."""
    flags = args[1] if len(args) > 1 else kwargs.get("flags")
    return issubclass(type(out), np.nditer) and "buffered" in (flags or ())


def is_record(value: Any) -> bool:
    """An item of a structured array, which lies in the array's memory."""
    return issubclass(type(value), np.void) and value.dtype.names is not None


def of_record(callee: Any) -> MissingRuleError:
    return MissingRuleError(
        f"{described(callee)} of a record of an array whose fields depend on what is differentiated has no "
        "derivative rule; read the fields (`r[i]['name']`)",
        user_position(),
    )


def field(item: Any, index: Any) -> Any:
    """That of a record, by name or number: an array in its memory."""
    return np.asarray(item)[item.dtype.names[index] if issubclass(type(index), int) else index]


def read_field(record: Record, item: Any, index: Any) -> Any:
    """item[index], of an active record."""
    found = field(item, index)
    return item[index] if found.ndim or found.dtype.kind not in "fc" else read(record, found, ())


def place(flat: Any, index: Any) -> Any:
    """The index of the array by which `flat[index]` is read, of a.flat."""
    return np.unravel_index(np.arange(flat.base.size)[index], flat.base.shape)


def spread(record: Record, value: Any, later: bool = False) -> Any:
    """What goes through an array item by item gets items that are written down. `later`: it takes them one by
    one, and what is differentiated may have been stored into the array by then."""
    if issubclass(type(value), np.flatiter) and record.is_active(value.base):
        return (read(record, value.base, np.unravel_index(i, value.base.shape)) for i in _positions(value))
    if is_record(value) and record.any_active(value):
        return (read_field(record, value, name) for name in value.dtype.names)
    if _has_items(value) and (record.is_active(value) or (later and value.dtype.kind in "fc")):
        return map(Items(record, value).__getitem__, range(len(value)))
    return value


def _positions(flat: Any) -> Iterator[int]:
    """Those that are left; the iterator goes on with them."""
    while (i := flat.index) < flat.base.size:
        next(flat)
        yield i


def _has_items(value: Any) -> bool:
    return issubclass(type(value), np.ndarray) and value.ndim > 0


class Items:
    """Those of an array, as a sequence: each is written down when it is read, if it has to be by then."""

    def __init__(self, record: Record, array: Array) -> None:
        self.record, self.array = record, array

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, index: int) -> Any:
        record, array = self.record, self.array
        return read(record, array, index) if record.is_active(array) else array[index]


def backwards(record: Record, value: Any) -> Any:
    """What `reversed` gets in place of `value`."""
    if _has_items(value) and (type(value) is np.ndarray or record.is_active(value)):
        return Items(record, value)
    through = spread(record, value)
    return through if through is value else [*through]


ONE_BY_ONE = frozenset(f for f in VIEWS if (row := fact_of(f)) and row.may_share(Shares.VIEW, 2))
ONE_BY_ONE |= {np.broadcast_arrays}
"""What comes of one of their operands depends on that one alone."""


def one_by_one(callee: Any, args: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """callee(*args) as calls (function, arguments), of which each gives one of the results."""
    if callee is not np.broadcast_arrays:
        return [(callee, a) for a in args]
    shape = np.broadcast_shapes(*map(np.shape, args))
    return [(np.asarray, a) if np.shape(a) == shape else (np.broadcast_to, a, shape) for a in args]


# -- attributes ----------------------------------------------------------------------------------------------


def attribute(record: Record, obj: Any, name: Any, run: Run, *default: Any) -> Any:
    """An attribute of an active number or array."""
    out = run(obj, name, *default)
    if name in ADDRESSES and issubclass(type(obj), np.ndarray):
        record.escaped.expose(obj)
    if issubclass(type(out), np.ndarray) and issubclass(type(obj), np.ndarray) and owner(out) is owner(obj):
        return out
    same = out is obj or any(out is each for each in default)
    if same or not (is_number(out) or issubclass(type(out), np.ndarray)) or _is_held(obj, name):
        return out
    return record.call(getattr, (obj, name), ())


def _is_held(obj: Any, name: str) -> bool:
    """`name` is what somebody put there, in the object's `__dict__` or as a variable of its class (the user's
    classes of arrays have such): it only moves, while descriptors may compute."""
    for cls in type(obj).__mro__:
        if name in vars(cls):
            return not hasattr(type(vars(cls)[name]), "__get__")
    return name in getattr(obj, "__dict__", ())


# -- arrays of objects ---------------------------------------------------------------------------------------

_CONVERSIONS = AS_ARRAY | COPIES


def are_objects(callee: Any, known: Callee, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Arrays of objects go in, or come out."""
    if any(map(holds_objects, args)):
        return True
    if not known.known or callee not in _CONVERSIONS:
        return False
    dtype = kwargs.get("dtype", args[1] if len(args) > 1 else None)
    return is_of_objects(dtype)


def of_objects(
    record: Record, callee: Any, known: Callee, args: tuple[Any, ...], kwargs: dict[str, Any], run: Run
) -> Any:
    """To arrays of objects, and on them: they hold numbers as lists do."""
    if known.known and callee in _CONVERSIONS:
        dtype = kwargs.get("dtype", args[1] if len(args) > 1 else None)
        if issubclass(type(args[0]), np.ndarray):
            return _converted(record, args[0], dtype)
        if is_of_objects(dtype):
            return _of_items(record, callee, args, kwargs, run)
    of_python = id(callee) in record.ufuncs
    if type(callee) is np.ufunc and not of_python and all({*t} <= {*"O->"} for t in callee.types):
        raise MissingRuleError(
            f"{described(callee)} calls its function out of sight; make it where it is used, by "
            "`np.frompyfunc`, or use `np.vectorize`",
            user_position(),
        )
    if not (of_python or known.view):
        raise out_of_sight(callee)
    out = run(*args, **kwargs)
    if of_python or not issubclass(type(out), np.ndarray) or out.dtype == object:
        return out
    if out.shape != args[0].shape:  # no conversion, and the numbers lie elsewhere
        raise out_of_sight(callee)
    return as_numbers(record, args[0], out.dtype)


def _of_items(record: Record, callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any], run: Run) -> Any:
    """An array of the objects that are given; where NumPy has made others of them, nobody knows these."""
    known, out = set(map(id, leaves(args[0]))), run(*args, **kwargs)
    if all(id(leaf) in known for leaf in leaves(out) if leaf is not out):
        return out
    out = run(_with_objects(record, args[0]), *args[1:], **kwargs)
    if all(is_number(item) and (id(item) in known or record.is_active(item)) for item in out.flat):
        return out
    raise out_of_sight(callee)


def _with_objects(record: Record, value: Any) -> Any:
    """With arrays of objects in place of the arrays in lists that are written down."""
    if type(value) in (list, tuple):
        items = [_with_objects(record, item) for item in value]
        return value if all(a is b for a, b in zip(items, value)) else type(value)(items)
    written = issubclass(type(value), np.ndarray) and value.dtype != object and record.is_active(value)
    return _converted(record, value, object) if written else value


def without_objects_within(
    record: Record, callee: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]:
    """With arrays of numbers in place of arrays of objects in lists, of which an array of numbers is made."""
    if not any(type(a) in (list, tuple) and _has_objects(record, a) for a in args):
        return args
    dtype = kwargs.get("dtype", args[1] if callee in AS_ARRAY and len(args) > 1 else None)
    if dtype is None or is_of_objects(dtype):
        raise out_of_sight(callee)
    return tuple([_with_numbers(record, a) for a in args])


def holds_objects(value: Any) -> bool:
    return issubclass(type(value), np.ndarray) and value.dtype == object


def _has_objects(record: Record, value: Any) -> bool:
    """An array of objects, some of which are written down, or a list of such."""
    if type(value) in (list, tuple):
        return any(_has_objects(record, item) for item in value)
    return holds_objects(value) and record.any_active((value,))


def _with_numbers(record: Record, value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)([_with_numbers(record, item) for item in value])
    return as_numbers(record, value) if _has_objects(record, value) else value


def without_objects(callee: Any, out: Any, dtype: Any = None) -> Any:
    """`out`, refused where NumPy has put numbers into an array of objects: nobody knows these."""
    made = is_of_objects(out.dtype if issubclass(type(out), np.ndarray) else dtype)
    if made and any(leaf is not out or is_number(out) for leaf in leaves(out)):
        raise out_of_sight(callee)
    return out


def out_of_sight(callee: Any) -> MissingRuleError:
    return MissingRuleError(
        f"{described(callee)} on an array of objects computes out of sight; make it an array of floats "
        "(`.astype(float)`) first",
        user_position(),
    )


def as_objects(record: Record, value: Any, depth: int) -> Any:
    """What is written down as an array of objects, for a store into one: NumPy would make new numbers, which
    nobody knows. Lists are gone into so deep."""
    if not issubclass(type(value), (np.ndarray, list, tuple)) or not record.any_active(value) or not depth:
        return value
    if issubclass(type(value), np.ndarray):
        return value if value.dtype == object else _converted(record, value, object)
    items = [as_objects(record, item, depth - 1) for item in value]
    if any(issubclass(type(item), np.ndarray) for item in items):
        return np.array(items, object)
    made = np.empty(len(items), object)
    for i, item in enumerate(items):
        made[i] = item
    return made


def as_numbers(record: Record, array: Any, dtype: Any = None) -> Any:
    """The numbers that an array of objects holds as an array of them, written down."""
    items = record.call(np.array, ([*array.flat],), ()) if array.size else np.zeros(0)
    made = record.call(np.reshape, (items, array.shape), ())
    if dtype is None or np.dtype(dtype) == made.dtype:
        return made
    return record.call(np.ndarray.astype, (made, np.dtype(dtype)), ())


def _converted(record: Record, array: Any, dtype: Any) -> Any:
    if array.dtype == object:
        return as_numbers(record, array, dtype)
    made = np.empty(array.shape, object)
    for at in np.ndindex(array.shape):
        made[at] = read(record, array, at)
    return made
