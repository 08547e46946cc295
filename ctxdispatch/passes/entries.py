"""Entries of dicts that the program makes itself and that are there by the time they are asked for, or not:

    d.setdefault('k', %v)      %v, and setitem(%d, 'k', %v)      or what the entry holds
    d.get('k', %v)             %v                                or what the entry holds
    defaultdict(list)['k']     %v = list(), and setitem(..)      or what the entry holds
    d.pop('k', %v)             %v                                or what the entry held, which is gone
    d.items(), iter(d), ..     a tuple of what there is, in its order, where it is gone through
    dict(d), f(**d)            the entries one by one

Where a call may or may not make an entry, it stays, and nothing is known of the entry behind it.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

from ctxdispatch.ir import primitives as prim
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes.aggregates import COPIES, REMOVES, SIZES, VIEWS, Key, Use, Web
from ctxdispatch.passes.types import cls_of, operand_type


class Rewriting(NamedTuple):
    """What comes of the graph: results that are replaced, ops that are gone, and what goes before ops."""

    replaced: dict[Value, Operand]
    gone: set[Op]
    before: dict[Op, list[Op]]

    def emit(self, at: Op, callee: Any, *args: Operand) -> Value:
        made = Op(Const(callee), list(args), [Value()], (), at.pos, True)
        self.before.setdefault(at, []).append(made)
        return made.result


def answer_entries(web: Web, fields: Any, exposed: Any, rewriting: Rewriting) -> None:
    """The calls, in the order in which they are made; those of which nothing is known stay in `web.asks`."""
    size = -1
    while size != len(web.asks):
        size = len(web.asks)
        for use in [*web.asks]:
            if not exposed.at(use.op) and _answer(web, use, fields, rewriting):
                web.asks.remove(use)
    for use in [*web.looks_through]:
        if not exposed.at(use.op) and _look_through(web, use, fields, rewriting):
            web.looks_through.remove(use)


def _answer(web: Web, use: Use, fields: Any, rewriting: Rewriting) -> bool:
    op = use.op
    if op.fn in REMOVES:
        return _remove(web, use, fields, rewriting)
    if fields.is_set(use):
        found = fields.before(use)
    elif not fields.is_unset(use):
        return False
    elif op.fn is dict.get:
        found = _default(op)
    else:
        found = _default(op) if op.fn is dict.setdefault else rewriting.emit(op, web.kind.factory)
        rewriting.emit(op, operator.setitem, op.args[0], op.args[1], found)
        web.writes.append(Use(rewriting.before[op][-1], use.name, use.key))
        fields.add(web.writes[-1], fields.place[op])
    fields.settle(use)
    rewriting.replaced[op.result] = found
    rewriting.gone.add(op)
    return True


def _remove(web: Web, use: Use, fields: Any, rewriting: Rewriting) -> bool:
    """The op stays as long as the dict does."""
    op = use.op
    if fields.is_set(use):
        gives = fields.before(use) if op.fn is dict.pop else Const(None)
        rewriting.replaced.update(dict.fromkeys(op.results, gives))
        fields.remove(use)
        web.writes.append(use)
        return True
    if len(op.args) < 3 or not fields.is_unset(use):
        return False  # it raises, or may do so
    fields.settle(use)
    rewriting.replaced[op.result] = op.args[2]
    rewriting.gone.add(op)
    return True


def _default(op: Op) -> Operand:
    return op.args[2] if len(op.args) > 2 else Const(None)


# -- gone through --------------------------------------------------------------------------------------------


def _look_through(web: Web, use: Use, fields: Any, rewriting: Rewriting) -> bool:
    """A tuple of what there is, in the place of what `use.op` gives, or of the dict it goes through."""
    op, keys = use.op, _keys(web, use, fields)
    if keys is None:
        return False
    entries = [Use(op, use.name, key) for key in keys]
    if op.fn in COPIES:
        return all(map(fields.is_set, entries)) and _copy(use, entries, fields, rewriting)
    if op.fn in SIZES:
        rewriting.replaced[op.result] = Const(SIZES[op.fn](len(keys)))
        rewriting.gone.add(op)
        return True
    if not fields.stays(web, op):
        return False
    if op.fn not in VIEWS:
        tuple_ = rewriting.emit(op, prim.build_tuple, *map(Const, keys))
        op.args = [tuple_ if a is use.name else a for a in op.args]
        return True
    if not all(map(fields.is_set, entries)):
        return False
    given = [
        rewriting.emit(op, prim.build_tuple, *item) if isinstance(item, tuple) else item
        for item in VIEWS[op.fn]([*map(Const, keys)], [*map(fields.before, entries)])
    ]
    rewriting.replaced[op.result] = rewriting.emit(op, prim.build_tuple, *given)
    rewriting.gone.add(op)
    return True


def _copy(use: Use, entries: list[Use], fields: Any, rewriting: Rewriting) -> bool:
    """The entries one by one, in the place of the dict that they are copied from."""
    if COPIES[use.op.fn] == 1 and cls_of(operand_type(use.op.args[0])) is not dict:
        return False  # it may do something else with them
    op, pairs = use.op, [(Const(entry.key), fields.before(entry)) for entry in entries]
    if op.fn in (dict, dict.copy, prim.dict_merge):
        made = rewriting.emit(op, prim.build_map, *[operand for pair in pairs for operand in pair])
        if op.fn is prim.dict_merge:
            op.args = [made if a is use.name else a for a in op.args]
            return True
    else:
        made = op.args[0]  # type: ignore[assignment]
        for pair in pairs:
            rewriting.emit(op, operator.setitem, made, *pair)
    rewriting.replaced.update((r, made if op.fn not in _OF_NONE else Const(None)) for r in op.results)
    rewriting.gone.add(op)
    return True


_OF_NONE = (dict.update, prim.dict_update)


def _keys(web: Web, use: Use, fields: Any) -> list[Key] | None:
    """In the order in which they were put in, where there is one way from where the dict is made."""
    keys: dict[Key, None] = {}
    for part in fields.way(web, use):
        if part is None:
            return None
        for key, is_there in part:
            if is_there:
                keys[key] = None
            else:
                keys.pop(key, None)
    return [*keys]


__all__ = ["Rewriting", "answer_entries"]
