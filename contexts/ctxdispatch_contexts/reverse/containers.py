"""Pullbacks of what builds and reads containers, objects and cells. (What goes through their items is in
`walking.py`.)

A container's cotangent has entries; building takes them apart, reading adds to one of them. Its forms are in
`cotangents.py`.
"""

from __future__ import annotations

import builtins
import functools
import operator
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from ctxdispatch.facts import READS, says
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.activity import SCATTERS, STORES, sets_entry
from ctxdispatch_contexts.programs.containers import (
    any_iterable,
    attribute_key,
    indexable,
    is_sequence,
    plain_attribute_of,
)
from ctxdispatch_contexts.programs.errors import DerivativeError, user_position
from ctxdispatch_contexts.reverse import cotangents
from ctxdispatch_contexts.reverse.adjoint import Adjoint
from ctxdispatch_contexts.reverse.bars import ZERO, is_zero
from ctxdispatch_contexts.reverse.defaults import DEFAULTS, KWDEFAULTS, defaults_of
from ctxdispatch_contexts.reverse.handlers import Handler, arrived, or_none, own_bar
from ctxdispatch_contexts.reverse.walking import WALKED, from_items


def _entry(adjoint: Adjoint, g: Operand, key: Operand, to: Operand) -> None:
    """Pass one entry of `g` on."""
    if to in adjoint.active:
        adjoint.add(to, adjoint.call(cotangents.entry_of, g, key))


# -- building ------------------------------------------------------------------------------------------------


def _display(adjoint: Adjoint, op: Op) -> None:
    g = arrived(adjoint, op)
    if not is_zero(g):
        for i, item in enumerate(op.args):
            _entry(adjoint, g, Const(i), item)


def _map(adjoint: Adjoint, op: Op) -> None:
    g = arrived(adjoint, op)
    if not is_zero(g):
        for key, value in zip(op.args[::2], op.args[1::2], strict=True):
            _entry(adjoint, g, adjoint.recall(key), value)


def _same(adjoint: Adjoint, op: Op) -> None:
    """The result is its operand: list -> tuple, iter, check_bound, ... A cell may be made empty."""
    if op.args:
        adjoint.add(op.args[0], arrived(adjoint, op))


def _opened(adjoint: Adjoint, target: Operand) -> Operand:
    """bar(target) as what entries can be taken out of: a store ends what was there before it."""
    g = adjoint.bar(target)
    if is_zero(g) or not isinstance(target, Value):
        return g
    opened = adjoint.call(cotangents.opened, g)
    adjoint.set_bar(target, opened)
    return opened


def _append(adjoint: Adjoint, op: Op) -> None:
    target, item = op.args
    g = _opened(adjoint, target)
    if not is_zero(g):  # taken also where nothing goes to `item`: before, there was no such entry
        at = adjoint.recall(adjoint.pullbacks.before[op])
        adjoint.add(item, adjoint.call(cotangents.take_entry, g, at))


def _extend(adjoint: Adjoint, op: Op) -> None:
    target, items = op.args
    g = _opened(adjoint, target)
    if not is_zero(g):
        first = adjoint.recall(adjoint.pullbacks.before[op])
        taken = adjoint.call(take_from, g, first, adjoint.shaped(items))
        if not is_sequence(items):
            taken = adjoint.call(from_items, taken, adjoint.shaped(items))
        adjoint.add(items, taken)


def take_from(bar: Any, first: int, items: Any) -> list[Any]:
    """The cotangents of what an extend appended from position `first` on."""
    if not hasattr(items, "__len__"):
        raise DerivativeError(
            f"a list is extended by a {type(items).__name__}, whose items are gone afterwards; make a list "
            "of them first (`xs.extend(list(items))`)",
            user_position(),
        )
    return [cotangents.take_entry(bar, first + i) for i in range(len(items))]


def _map_add(adjoint: Adjoint, op: Op) -> None:
    target, key, value = op.args
    g = _opened(adjoint, target)
    if not is_zero(g):
        adjoint.add(value, adjoint.call(cotangents.take_entry, g, adjoint.recall(key)))


def _map_update(adjoint: Adjoint, op: Op) -> None:
    target, other = op.args[:2]
    g = _opened(adjoint, target)
    if not is_zero(g):
        adjoint.add(other, adjoint.call(take_keys, g, adjoint.shaped(other)))


def take_keys(bar: Any, other: Any) -> dict[Any, Any]:
    return {key: cotangents.take_entry(bar, key) for key in other}


# -- reading -------------------------------------------------------------------------------------------------


def _index(adjoint: Adjoint, op: Op) -> None:
    container, index = op.args
    if adjoint.shadows.has(container):
        adjoint.shadows.read(adjoint, op)
        return
    if isinstance(operand_type(container), T.ArrayOf) and container not in adjoint.pullbacks.indexed:
        adjoint.pullbacks.reverse_structural(adjoint, op)
        return
    g = arrived(adjoint, op)
    if is_zero(g) or container not in adjoint.active:
        return
    bar = or_none(adjoint.bar(container))
    index = adjoint.pullbacks.before.get(op, index)
    args = (bar, adjoint.shaped(container), adjoint.recall(index), g)
    own_bar(adjoint, container, adjoint.call(cotangents.add_index, *args))


def position(sequence: list[Any], index: Any) -> Any:
    """Which items sequence[index] reads, counted from the beginning: a number, or a range."""
    return range(len(sequence))[index]


def _attribute(adjoint: Adjoint, op: Op) -> None:
    g = arrived(adjoint, op)
    target = op.args[0]
    if not is_zero(g) and target in adjoint.active:
        bar = or_none(adjoint.bar(target))
        own_bar(adjoint, target, adjoint.call(cotangents.add_entry, bar, attribute_key(op), g))


def _set_item(adjoint: Adjoint, op: Op) -> None:
    target, key, value = op.args
    g = _opened(adjoint, target)
    if not is_zero(g):
        key = adjoint.recall(adjoint.pullbacks.before.get(op, key))
        adjoint.add(value, adjoint.call(cotangents.take_entry, g, key))


def _setattr(adjoint: Adjoint, op: Op) -> None:
    target, name, value = op.args
    g = _opened(adjoint, target)
    # also where nothing goes to `value`: what was there before has no part in what came after
    if not is_zero(g):
        adjoint.add(value, adjoint.call(cotangents.take_entry, g, name))


def _new_tuple(adjoint: Adjoint, op: Op) -> None:
    """tuple.__new__(cls, items)"""
    if len(op.args) > 1:
        adjoint.add(op.args[1], arrived(adjoint, op))


def _namespace(adjoint: Adjoint, op: Op) -> None:
    """SimpleNamespace(**fields)"""
    g = arrived(adjoint, op)
    if not is_zero(g):
        for name, value in zip(op.kwnames, op.args, strict=True):
            _entry(adjoint, g, Const(name), value)


def _has_fields_only(op: Op) -> bool:
    return len(op.args) == len(op.kwnames)


def _reads_plainly(op: Op) -> bool:
    """Also a namespace's attribute, or None."""
    if len(op.args) == 2:
        return plain_attribute_of(op)
    default = op.args[2]
    none = isinstance(default, Const) and default.value is None
    return none and T.cls_of(operand_type(op.args[0])) is SimpleNamespace


def _nothing(adjoint: Adjoint, op: Op) -> None:
    """A new object has no parts yet."""


# -- cells and functions -------------------------------------------------------------------------------------


def _cell_get(adjoint: Adjoint, op: Op) -> None:
    adjoint.add(op.args[0], arrived(adjoint, op))


def _cell_set(adjoint: Adjoint, op: Op) -> None:
    cell, value = op.args
    g = adjoint.bar(cell)
    if isinstance(cell, Value) and not is_zero(g):
        adjoint.set_bar(cell, ZERO)
        adjoint.add(value, g)


def _function(adjoint: Adjoint, op: Op) -> None:
    """A function's cotangent has an attribute per free variable, and one for its defaults."""
    g = arrived(adjoint, op)
    if is_zero(g):
        return
    for part, defaults in zip((DEFAULTS, KWDEFAULTS), op.args[2:4], strict=False):
        if defaults in adjoint.active:
            adjoint.add(defaults, adjoint.call(defaults_of, g, Const(part)))
    closure = op.args[5] if len(op.args) > 5 else Const(None)
    if closure in adjoint.active:
        names = op.args[1].value.co_freevars  # type: ignore[union-attr]
        adjoint.add(closure, adjoint.call(by_position, g, Const(names)))


@says(known=False, raises=False)
def by_position(bar: Any, names: tuple[str, ...]) -> Any:
    return None if bar is None else tuple([cotangents.entry_of(bar, name) for name in names])


# -- the table -----------------------------------------------------------------------------------------------


def _partial(adjoint: Adjoint, op: Op) -> None:
    """functools.partial(f, a, k=b): a namespace of `func`, `args` and `keywords`."""
    g = arrived(adjoint, op)
    if is_zero(g):
        return
    n = len(op.args) - len(op.kwnames)
    _entry(adjoint, g, Const("func"), op.args[0])
    for part, first, keys in (("args", 1, range(n - 1)), ("keywords", n, op.kwnames)):
        held = adjoint.call(cotangents.entry_of, g, Const(part))
        for i, key in enumerate(keys):
            _entry(adjoint, held, Const(key), op.args[first + i])


def _dict(adjoint: Adjoint, op: Op) -> None:
    """dict(mapping or pairs, **entries)"""
    g = arrived(adjoint, op)
    if is_zero(g):
        return
    n = len(op.args) - len(op.kwnames)
    for key, arg in zip(op.kwnames, op.args[n:], strict=True):
        _entry(adjoint, g, Const(key), arg)
    if n:
        args = (g, adjoint.shaped(op.args[0]), Const(op.kwnames))
        adjoint.add(op.args[0], adjoint.call(of_pairs, *args))


def of_pairs(bar: Any, source: Any, others: tuple[str, ...]) -> Any:
    """The cotangent of what a dict was made of, but for the entries that `others` came in the place of. Of
    the pairs of one key the last one counts."""
    if bar is None:
        return None
    entries = {k: b for k, b in cotangents.entries_of(bar) if k not in others}
    if hasattr(source, "keys"):
        return entries
    return [(None, entries.get(k)) if last else None for k, last in last_of_keys(source)]


def last_of_keys(pairs: Sequence[Any]) -> list[tuple[Any, bool]]:
    """The key of each pair, and whether it is the last pair of that key."""
    last = {key: i for i, (key, _) in enumerate(pairs)}
    return [(key, last[key] == i) for i, (key, _) in enumerate(pairs)]


def _makes_dict(op: Op) -> bool:
    """Of an iterator, the pairs would be gone: `programs/spelled_items.py` makes lists of those."""
    if len(op.args) == len(op.kwnames):
        return True
    cls = T.cls_of(operand_type(op.args[0]))
    return any_iterable(op) and (cls in (list, tuple) or hasattr(cls, "keys"))


REVERSED: dict[Any, Handler] = {
    functools.partial: Handler(_partial),
    builtins.dict: Handler(_dict, _makes_dict),
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
    primitives.make_cell: Handler(_same),
    primitives.cell_get: Handler(_cell_get),
    primitives.cell_set: Handler(_cell_set),
    primitives.make_function: Handler(_function),
    **WALKED,
    operator.getitem: Handler(_index, indexable),
    builtins.getattr: Handler(_attribute, _reads_plainly),
    operator.setitem: Handler(_set_item, sets_entry),
    builtins.setattr: Handler(_setattr),
    object.__setattr__: Handler(_setattr),
    object.__new__: Handler(_nothing),
    SimpleNamespace: Handler(_namespace, _has_fields_only),
    tuple.__new__: Handler(_new_tuple),
    list.copy: Handler(_same),
    dict.copy: Handler(_same),
}

INDEXED_BY = READS | STORES.keys() - SCATTERS
"""Ops after which the cotangent of the first operand may be in parts."""
