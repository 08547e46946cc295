"""Pullbacks of what builds, reads and walks through containers, objects and cells.

A container's cotangent has entries; building takes them apart, reading adds to one of them. Its forms are in
`cotangents.py`.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Const, Op, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.resolve import class_attribute
from ctxdispatch_contexts.reverse import cotangents
from ctxdispatch_contexts.reverse.adjoint import ZERO, Adjoint, is_zero
from ctxdispatch_contexts.reverse.rules import operand_type

NONE = Const(None)


@dataclass(frozen=True)
class Handler:
    """Reverses the ops of one callee; `accepts` may leave some of them to others."""

    reverse: Callable[[Adjoint, Op], None]
    accepts: Callable[[Op], bool] = lambda op: True


def _arrived(adjoint: Adjoint, op: Op) -> Operand:
    return adjoint.bar(op.result)


def _or_none(cotangent: Operand) -> Operand:
    return NONE if is_zero(cotangent) else cotangent


def _entry(adjoint: Adjoint, g: Operand, key: Operand, to: Operand) -> None:
    """Pass one entry of `g` on."""
    if to in adjoint.active:
        adjoint.add(to, adjoint.call(cotangents.entry_of, g, key))


# -- building ------------------------------------------------------------------------------------------------


def _display(adjoint: Adjoint, op: Op) -> None:
    g = _arrived(adjoint, op)
    if not is_zero(g):
        for i, item in enumerate(op.args):
            _entry(adjoint, g, Const(i), item)


def _map(adjoint: Adjoint, op: Op) -> None:
    g = _arrived(adjoint, op)
    if not is_zero(g):
        for key, value in zip(op.args[::2], op.args[1::2], strict=True):
            _entry(adjoint, g, adjoint.recall(key), value)


def _same(adjoint: Adjoint, op: Op) -> None:
    """The result is its operand: list -> tuple, iter, check_bound, ... A cell may be made empty."""
    if op.args:
        adjoint.add(op.args[0], _arrived(adjoint, op))


def _append(adjoint: Adjoint, op: Op) -> None:
    target, item = op.args
    g = adjoint.bar(target)
    if not is_zero(g) and item in adjoint.active:
        adjoint.add(
            item, adjoint.call(cotangents.take_entry, g, adjoint.recall(adjoint.pullbacks.before[op]))
        )


def _extend(adjoint: Adjoint, op: Op) -> None:
    target, items = op.args
    g = adjoint.bar(target)
    if not is_zero(g) and items in adjoint.active:
        first = adjoint.recall(adjoint.pullbacks.before[op])
        adjoint.add(items, adjoint.call(take_from, g, first, adjoint.shaped(items)))


def take_from(bar: Any, first: int, items: Any) -> Any:
    """The cotangents of what an extend appended from position `first` on."""
    taken = [cotangents.take_entry(bar, first + i) for i in range(len(items))]
    return dict(zip(items, taken, strict=True)) if isinstance(items, dict) else taken


def _map_add(adjoint: Adjoint, op: Op) -> None:
    target, key, value = op.args
    g = adjoint.bar(target)
    if not is_zero(g) and value in adjoint.active:
        adjoint.add(value, adjoint.call(cotangents.take_entry, g, adjoint.recall(key)))


def _map_update(adjoint: Adjoint, op: Op) -> None:
    target, other = op.args[:2]
    g = adjoint.bar(target)
    if not is_zero(g) and other in adjoint.active:
        adjoint.add(other, adjoint.call(take_keys, g, adjoint.shaped(other)))


def take_keys(bar: Any, other: Any) -> dict[Any, Any]:
    return {key: cotangents.take_entry(bar, key) for key in other}


# -- reading -------------------------------------------------------------------------------------------------


def _index(adjoint: Adjoint, op: Op) -> None:
    container, index = op.args
    if isinstance(operand_type(container), T.ArrayOf) and container not in adjoint.pullbacks.indexed:
        adjoint.pullbacks.reverse_structural(adjoint, op)
        return
    g = _arrived(adjoint, op)
    if is_zero(g) or container not in adjoint.active:
        return
    bar = _or_none(adjoint.bar(container))
    index = adjoint.pullbacks.before.get(op, index)
    args = (bar, adjoint.shaped(container), adjoint.recall(index), g)
    _owned(adjoint, container, adjoint.call(cotangents.add_index, *args))


def position(sequence: list[Any], index: Any) -> Any:
    """Which items sequence[index] reads, counted from the beginning: a number, or a range."""
    return range(len(sequence))[index]


def _owned(adjoint: Adjoint, container: Operand, bar: Value) -> None:
    assert isinstance(container, Value)
    adjoint.set_bar(container, bar)


def _attribute(adjoint: Adjoint, op: Op) -> None:
    g = _arrived(adjoint, op)
    target = op.args[0]
    if not is_zero(g) and target in adjoint.active:
        bar = _or_none(adjoint.bar(target))
        _owned(adjoint, target, adjoint.call(cotangents.add_entry, bar, _key(op), g))


def _key(op: Op) -> Const:
    """The entry that an attribute is: a named tuple's fields are its items."""
    name = op.args[1].value  # type: ignore[union-attr]
    fields = getattr(T.cls_of(operand_type(op.args[0])), "_fields", ())
    return Const(fields.index(name) if name in fields else name)


def _plain_attribute(op: Op) -> bool:
    """Read off an instance of a known class of no array kind, and by no code: no property, no __getattr__."""
    cls = T.cls_of(operand_type(op.args[0]))
    name = op.args[1]
    if cls is None or not isinstance(name, Const) or len(op.args) != 2:
        return False
    return plain_attribute(cls, name.value)


def plain_attribute(cls: type, name: str) -> bool:
    """Reading `name` off an instance runs no Python code and computes nothing."""
    import numpy as np

    if issubclass(cls, (np.ndarray, np.generic, int, float, complex)):
        return False
    if "__getattribute__" in _python_names(cls) or hasattr(cls, "__getattr__"):
        return False
    found = getattr(cls, name, None)
    return (not isinstance(found, property) and not hasattr(type(found), "__get__")) or _is_slot(found)


def _is_slot(found: Any) -> bool:
    return type(found).__name__ in ("member_descriptor", "_tuplegetter")


def _python_names(cls: type) -> set[str]:
    """What Python classes among the bases define."""
    return {name for base in cls.__mro__ if base.__module__ != "builtins" for name in vars(base)}


def _setattr(adjoint: Adjoint, op: Op) -> None:
    target, name, value = op.args
    g = adjoint.bar(target)
    if not is_zero(g) and value in adjoint.active:
        adjoint.add(value, adjoint.call(cotangents.take_entry, g, name))


def _new_tuple(adjoint: Adjoint, op: Op) -> None:
    """tuple.__new__(cls, items)"""
    if len(op.args) > 1:
        adjoint.add(op.args[1], _arrived(adjoint, op))


def _nothing(adjoint: Adjoint, op: Op) -> None:
    """A new object has no parts yet."""


def _unpack(adjoint: Adjoint, op: Op) -> None:
    bars = [_or_none(adjoint.bar(r)) if r in adjoint.active else NONE for r in op.results]
    if all(b is NONE for b in bars) or op.args[0] not in adjoint.active:
        return
    given = adjoint.call(primitives.build_list, *bars, syntax=True)
    adjoint.add(op.args[0], adjoint.call(from_items, given, adjoint.shaped(op.args[0])))


def _unpack_ex(adjoint: Adjoint, op: Op) -> None:
    bars = [_or_none(adjoint.bar(r)) if r in adjoint.active else NONE for r in op.results]
    if all(b is NONE for b in bars) or op.args[0] not in adjoint.active:
        return
    before = op.args[1]
    given = adjoint.call(primitives.build_list, *bars, syntax=True)
    starred = adjoint.shaped(op.results[before.value])  # type: ignore[union-attr]
    flat = adjoint.call(flatten_star, given, before, starred)
    adjoint.add(op.args[0], adjoint.call(from_items, flat, adjoint.shaped(op.args[0])))


def flatten_star(bars: list[Any], before: int, starred: list[Any]) -> list[Any]:
    middle = cotangents.whole(bars[before], starred)
    middle = [None] * len(starred) if middle is None else list(middle)
    return [*bars[:before], *middle, *bars[before + 1 :]]


# -- concatenation and repetition ----------------------------------------------------------------------------


def _concat(adjoint: Adjoint, op: Op) -> None:
    g = _arrived(adjoint, op)
    if not is_zero(g):
        length = adjoint.recall(adjoint.pullbacks.before[op])
        adjoint.add(op.args[0], adjoint.call(entries_before, g, length))
        adjoint.add(op.args[1], adjoint.call(entries_from, g, length))


def entries_before(bar: Any, length: int) -> Any:
    return cotangents.partial_of({k: b for k, b in cotangents.entries_of(bar) if k < length})


def entries_from(bar: Any, length: int) -> Any:
    return cotangents.partial_of({k - length: b for k, b in cotangents.entries_of(bar) if k >= length})


def _repeat(adjoint: Adjoint, op: Op) -> None:
    g = _arrived(adjoint, op)
    sequence = next((a for a in op.args if _is_sequence(a)), op.args[0])
    if not is_zero(g):
        adjoint.add(sequence, adjoint.call(entries_modulo, g, adjoint.recall(adjoint.pullbacks.before[op])))


def entries_modulo(bar: Any, length: int) -> Any:
    out: Any = None
    for k, b in cotangents.entries_of(bar):
        out = cotangents.add_entry(out, k % length, b)
    return out


# -- walking through -----------------------------------------------------------------------------------------


def _iter(adjoint: Adjoint, op: Op) -> None:
    g = _arrived(adjoint, op)
    if not is_zero(g):
        adjoint.add(op.args[0], adjoint.call(from_items, g, adjoint.shaped(op.args[0])))


def from_items(bars: Any, iterable: Any) -> Any:
    """The cotangent of `iterable` whose items, in order, have the cotangents `bars` (maybe fewer than
    items)."""
    import numpy as np

    if bars is None or isinstance(iterable, (dict, set, frozenset, str, range)):
        return None
    if isinstance(iterable, np.ndarray):
        out = np.zeros(iterable.shape, iterable.dtype)
        for row, bar in cotangents.entries_of(bars):
            if bar is not None:
                out[row] += cotangents.whole(bar, iterable[row])
        return out
    return bars


# -- unpacking what only run time knows ----------------------------------------------------------------------


def unpacked(sequence: Any, before: int, after: int | None) -> tuple[Any, ...]:
    """The items that an unpacking gives: as many as `before`, or, with `after`, a list of the rest
    between."""
    if after is None:
        return primitives.unpack(sequence, before)
    return primitives.unpack_ex(sequence, before, after)


def _unpacked(adjoint: Adjoint, op: Op) -> None:
    g = _arrived(adjoint, op)
    if not is_zero(g):
        args = [adjoint.shaped(op.result), *op.args[1:]]
        flat = adjoint.call(flat_items, g, *args)
        adjoint.add(op.args[0], adjoint.call(from_items, flat, adjoint.shaped(op.args[0])))


def flat_items(bar: Any, items: tuple[Any, ...], before: int, after: int | None) -> Any:
    """The cotangents of a sequence's items, from those of what it was unpacked to."""
    bars = [cotangents.entry_of(bar, i) for i in range(len(items))]
    return bars if after is None else flatten_star(bars, before, items[before])


def _enumerate(adjoint: Adjoint, op: Op) -> None:
    g = _arrived(adjoint, op)
    if not is_zero(g):
        bars = adjoint.call(unzip, g, Const(1))
        adjoint.add(op.args[0], adjoint.call(from_items, bars, adjoint.shaped(op.args[0])))


def _zip(adjoint: Adjoint, op: Op) -> None:
    g = _arrived(adjoint, op)
    if is_zero(g):
        return
    for k, arg in enumerate(op.args[: len(op.args) - len(op.kwnames)]):
        if arg in adjoint.active:
            bars = adjoint.call(unzip, g, Const(k))
            adjoint.add(arg, adjoint.call(from_items, bars, adjoint.shaped(arg)))


def unzip(bars: Any, k: int) -> Any:
    """Entry k of each item's cotangent."""
    return None if bars is None else [cotangents.entry_of(bar, k) for bar in bars]


def _reversed(adjoint: Adjoint, op: Op) -> None:
    g = _arrived(adjoint, op)
    if not is_zero(g):
        adjoint.add(op.args[0], adjoint.call(backwards, g, adjoint.shaped(op.args[0])))


def backwards(bars: Any, sequence: Any) -> Any:
    if bars is None:
        return None
    bars = [None] * (len(sequence) - len(bars)) + list(bars)[::-1]
    return from_items(bars, sequence)


def _values(adjoint: Adjoint, op: Op) -> None:
    g = _arrived(adjoint, op)
    if not is_zero(g):
        adjoint.add(op.args[0], adjoint.call(by_key, g, adjoint.shaped(op.args[0])))


def by_key(bars: Any, mapping: dict[Any, Any]) -> Any:
    return None if bars is None else dict(zip(mapping, bars, strict=False))


def _items(adjoint: Adjoint, op: Op) -> None:
    g = _arrived(adjoint, op)
    if not is_zero(g):
        adjoint.add(
            op.args[0], adjoint.call(by_key, adjoint.call(unzip, g, Const(1)), adjoint.shaped(op.args[0]))
        )


def _get(adjoint: Adjoint, op: Op) -> None:
    g = _arrived(adjoint, op)
    if is_zero(g):
        return
    mapping, key, *default = op.args
    if mapping in adjoint.active:
        bar = _or_none(adjoint.bar(mapping))
        args = (bar, adjoint.shaped(mapping), adjoint.recall(key), g)
        _owned(adjoint, mapping, adjoint.call(add_present, *args))
    if default and default[0] in adjoint.active:
        args = (adjoint.shaped(mapping), adjoint.recall(key), g)
        adjoint.add(default[0], adjoint.call(if_absent, *args))


def add_present(bar: Any, mapping: dict[Any, Any], key: Any, g: Any) -> Any:
    return cotangents.add_entry(bar, key, g) if key in mapping else bar


def if_absent(mapping: dict[Any, Any], key: Any, g: Any) -> Any:
    return None if key in mapping else g


# -- cells and functions -------------------------------------------------------------------------------------


def _cell_get(adjoint: Adjoint, op: Op) -> None:
    adjoint.add(op.args[0], _arrived(adjoint, op))


def _cell_set(adjoint: Adjoint, op: Op) -> None:
    cell, value = op.args
    g = adjoint.bar(cell)
    if isinstance(cell, Value) and not is_zero(g):
        adjoint.set_bar(cell, ZERO)
        adjoint.add(value, g)


def _function(adjoint: Adjoint, op: Op) -> None:
    """A function's cotangent has an attribute per free variable."""
    g = _arrived(adjoint, op)
    closure = op.args[5] if len(op.args) > 5 else NONE
    if not is_zero(g) and closure in adjoint.active:
        names = op.args[1].value.co_freevars  # type: ignore[union-attr]
        adjoint.add(closure, adjoint.call(by_position, g, Const(names)))


def by_position(bar: Any, names: tuple[str, ...]) -> Any:
    return None if bar is None else tuple([cotangents.entry_of(bar, name) for name in names])


# -- the table -----------------------------------------------------------------------------------------------


def _of(*classes: type) -> Callable[[Op], bool]:
    """The first operand is of one of these builtin classes, or it does not matter which."""

    def accepts(op: Op) -> bool:
        return T.cls_of(operand_type(op.args[0])) in classes

    return accepts


def _any_iterable(op: Op) -> bool:
    """Iterating runs no Python code of the user's."""
    type_ = operand_type(op.args[0])
    if isinstance(type_, T.IterOf):
        return type_.plain
    cls = T.cls_of(type_)
    method = class_attribute(cls, "__iter__") if cls is not None else None
    return method is not None and not isinstance(method, FunctionType)


def _is_sequence(operand: Operand) -> bool:
    return T.cls_of(operand_type(operand)) in (list, tuple)


def _sequences(op: Op) -> bool:
    return all(map(_is_sequence, op.args))


def _sequence_and_int(op: Op) -> bool:
    a, b = op.args
    return any(_is_sequence(s) and T.cls_of(operand_type(n)) in (int, bool) for s, n in ((a, b), (b, a)))


def _indexable(op: Op) -> bool:
    import numpy as np

    cls = T.cls_of(operand_type(op.args[0]))
    return cls in (list, tuple, dict, np.ndarray) or (cls is not None and issubclass(cls, tuple))


REVERSED: dict[Any, Handler] = {
    primitives.build_tuple: Handler(_display),
    primitives.build_list: Handler(_display),
    primitives.build_map: Handler(_map),
    primitives.list_to_tuple: Handler(_same),
    primitives.list_append: Handler(_append),
    list.append: Handler(_append),
    primitives.list_extend: Handler(_extend),
    list.extend: Handler(_extend),
    primitives.map_add: Handler(_map_add),
    primitives.dict_update: Handler(_map_update),
    primitives.dict_merge: Handler(_map_update),
    primitives.check_bound: Handler(_same),
    primitives.unpack: Handler(_unpack, _any_iterable),
    primitives.unpack_ex: Handler(_unpack_ex, _any_iterable),
    unpacked: Handler(_unpacked, _any_iterable),
    primitives.make_cell: Handler(_same),
    primitives.cell_get: Handler(_cell_get),
    primitives.cell_set: Handler(_cell_set),
    primitives.make_function: Handler(_function),
    operator.getitem: Handler(_index, _indexable),
    operator.add: Handler(_concat, _sequences),
    operator.mul: Handler(_repeat, _sequence_and_int),
    builtins.getattr: Handler(_attribute, _plain_attribute),
    builtins.setattr: Handler(_setattr),
    object.__setattr__: Handler(_setattr),
    object.__new__: Handler(_nothing),
    tuple.__new__: Handler(_new_tuple),
    builtins.iter: Handler(_iter, _any_iterable),
    builtins.enumerate: Handler(_enumerate, _any_iterable),
    builtins.zip: Handler(_zip),
    builtins.reversed: Handler(_reversed, _of(list, tuple)),
    builtins.list: Handler(_iter, lambda op: bool(op.args) and _any_iterable(op)),
    builtins.tuple: Handler(_iter, lambda op: bool(op.args) and _any_iterable(op)),
    dict.values: Handler(_values),
    dict.items: Handler(_items),
    dict.get: Handler(_get),
    list.copy: Handler(_same),
    dict.copy: Handler(_same),
}

INDEXED_BY = frozenset(
    {operator.getitem, builtins.getattr, dict.get, primitives.list_append, primitives.list_extend,
     list.append, list.extend, primitives.map_add, primitives.dict_update, primitives.dict_merge,
     builtins.setattr, object.__setattr__}
)  # fmt: skip
"""Ops after which the cotangent of the first operand may be in parts."""
