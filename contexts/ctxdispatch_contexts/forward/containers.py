"""Tangents of what builds and changes containers, objects and cells: the same, done to their tangents.

    xs = [x, 2]; xs.append(y); xs[0]       dxs = [dx, None]; dxs.append(dy); dxs[0]

The tangent of a container is a container of its form, with None for what has no tangent. Two names for one
list have one tangent list, so what is stored by one name is read by the other.

    tuple -> tuple    list -> list    dict -> dict    object -> namespace of its attributes    cell -> cell
    function -> namespace of the cells of its closure and of its defaults    iterator -> iterator
"""

from __future__ import annotations

import builtins
import functools
import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ctxdispatch.facts import says
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.companion import Companions
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.forward.reading import READ, Table, always, names_function_part
from ctxdispatch_contexts.forward.tangents import NONE, Shapes, put_result, tangent_or_none
from ctxdispatch_contexts.forward.walking import WALKED, as_many, items, items_of, items_of_block
from ctxdispatch_contexts.programs.containers import (
    all_sequences,
    is_sequence,
    sequence_and_int,
)
from ctxdispatch_contexts.programs.fresh_objects import keeps_attribute, names_of_class


def _mirrored(shapes: Shapes, run: Companions, op: Op) -> None:
    """The very same, of the tangents."""
    put_result(shapes, run, op, op.fn, [tangent_or_none(run, a) for a in op.args])


def _put_in(shapes: Shapes, run: Companions, op: Op) -> None:
    """container.method(item)"""
    _change(shapes, run, op, *(tangent_or_none(run, a) for a in op.args))


def _change(shapes: Shapes, run: Companions, op: Op, tangent: Operand, *rest: Operand) -> None:
    """The same to `tangent`, if there is one: where nothing that varies is put in, there need not be."""
    if _is_there(tangent) or any(run.of(a) is not None for a in op.args[1:]):
        put_result(shapes, run, op, op.fn, [tangent, *rest])
    else:
        put_result(shapes, run, op, change_if_there, [Const(op.fn), tangent, *rest])


def change_if_there(fn: Any, tangent: Any, *rest: Any) -> Any:
    """`unless_none` of what changes the tangent, and so is not removed where its result is not read."""
    return None if tangent is None else fn(tangent, *rest)


def _converted(shapes: Shapes, run: Companions, op: Op) -> None:
    """list -> tuple, a copy."""
    tangent = tangent_or_none(run, op.args[0])
    if _is_there(tangent):
        put_result(shapes, run, op, op.fn, [tangent])
    else:
        run.put(op.result, run.call(unless_none, op.result, Const(op.fn), tangent))


@says(known=False, raises=False)
def unless_none(made: Any, fn: Any, tangent: Any, *rest: Any) -> Any:
    """A new list may be stored to, and so has a tangent of its own."""
    if tangent is None:
        return [None] * len(made) if isinstance(made, list) else None
    return fn(tangent, *rest)


def _is_there(tangent: Operand) -> bool:
    """Certainly not None."""
    return T.cls_of(operand_type(tangent)) not in (None, type(None))


def _extended(shapes: Shapes, run: Companions, op: Op) -> None:
    target, added = op.args
    more = NONE if run.of(added) is None else items_of(shapes, run, added)
    _extend_by(run, target, tangent_or_none(run, target), more)
    for result in op.results:
        run.put(result, NONE)


def _extend_by(run: Companions, extended: Operand, tangents: Operand, more: Operand) -> None:
    if not _is_there(tangents) and more is NONE:
        run.call(extend_by_none, tangents, extended)
        return
    if T.cls_of(operand_type(more)) not in (list, tuple):
        # the items may be gone with an iterator: what was extended says how many they were
        lengths = [run.call(len, a, type=T.Exact(int)) for a in (extended, tangents)]
        more = run.call(as_many, more, run.call(operator.sub, *lengths, type=T.Exact(int)))
    run.build.op(primitives.list_extend, [tangents, more], [], syntax=True)


def extend_by_none(tangents: Any, extended: list[Any]) -> None:
    if tangents is not None:
        tangents += [None] * (len(extended) - len(tangents))


def _updated(shapes: Shapes, run: Companions, op: Op) -> None:
    target, source = op.args[:2]
    entries = run.call(entries_of, tangent_or_none(run, source), source)
    fn = primitives.dict_update  # keys that occur twice are the value's error
    stored = Op(Const(fn), [], op.results, (), op.pos, True)
    put_result(shapes, run, stored, fn, [tangent_or_none(run, target), entries])


@says(result="copies 0..", raises=False)
def entries_of(tangent: Any, mapping: Any) -> dict[Any, Any]:
    """One for each key: what has no tangent takes the place of what had one."""
    return {key: None if tangent is None else tangent.get(key) for key in mapping}


def _concatenated(shapes: Shapes, run: Companions, op: Op) -> None:
    a, b = op.args
    da, db = tangent_or_none(run, a), tangent_or_none(run, b)
    if op.fn is operator.iadd and T.cls_of(operand_type(a)) is list:
        _extend_by(run, op.result, da, db)
        run.put(op.result, da)
        return
    if _is_there(da) and _is_there(db):
        put_result(shapes, run, op, op.fn, [da, db])
    else:
        put_result(shapes, run, op, concatenated, [Const(op.fn), a, da, b, db])


@says(result="copies 0..", raises=False)
def concatenated(fn: Any, a: Any, da: Any, b: Any, db: Any) -> Any:
    return fn(_nothing(a) if da is None else da, _nothing(b) if db is None else db)


def _nothing(sequence: Any) -> Any:
    return (None,) * len(sequence) if isinstance(sequence, tuple) else [None] * len(sequence)


def _repeated(shapes: Shapes, run: Companions, op: Op) -> None:
    """A sequence times a number, in either order."""
    args = [tangent_or_none(run, a) if is_sequence(a) else a for a in op.args]
    if any(is_sequence(a) and not _is_there(d) for a, d in zip(op.args, args, strict=True)):
        args = [d for a, d in zip(op.args, args, strict=True) if is_sequence(a)] + [
            a for a in op.args if not is_sequence(a)
        ]
        run.put(op.result, run.call(unless_none, op.result, Const(op.fn), *args))
    else:
        put_result(shapes, run, op, op.fn, args)


def _passed(shapes: Shapes, run: Companions, op: Op) -> None:
    """The result is the operand."""
    if op.args:
        run.put(op.result, tangent_or_none(run, op.args[0]))


def _map(shapes: Shapes, run: Companions, op: Op) -> None:
    args = [a if i % 2 == 0 else tangent_or_none(run, a) for i, a in enumerate(op.args)]
    put_result(shapes, run, op, op.fn, args)


def _keyed(shapes: Shapes, run: Companions, op: Op) -> None:
    """target, key, value: the key as it is."""
    target, *keys, value = op.args
    _change(shapes, run, op, tangent_or_none(run, target), *keys, tangent_or_none(run, value))


def _set_item(shapes: Shapes, run: Companions, op: Op) -> None:
    target, place, value = op.args
    if T.cls_of(operand_type(target)) is list and T.cls_of(operand_type(place)) in (slice, None):
        replace = replace_in_block if shapes.block else replace_in
        run.call(replace, *(tangent_or_none(run, a) for a in (target, value)), *op.args)
    else:
        _keyed(shapes, run, op)


def replace_in(tangents: Any, tangent: Any, target: list[Any], place: Any, value: Any) -> None:
    """target[place] = value has been done: the same to the tangents, of a slice with those of the items."""
    _replace(tangents, tangent, target, place, value, items)


def replace_in_block(tangents: Any, tangent: Any, target: list[Any], place: Any, value: Any) -> None:
    _replace(tangents, tangent, target, place, value, items_of_block)


def _replace(
    tangents: Any, tangent: Any, target: list[Any], place: Any, value: Any, items: Callable[[Any, Any], Any]
) -> None:
    if tangents is None:
        return
    if isinstance(place, slice):
        replaced = len(range(len(tangents))[place])
        tangent = as_many(items(tangent, value), len(target) - len(tangents) + replaced)
    tangents[place] = tangent


def _changed(shapes: Shapes, run: Companions, op: Op) -> None:
    """target.method(places): the places as they are."""
    target, *places = op.args
    _change(shapes, run, op, tangent_or_none(run, target), *places)


def _namespace(shapes: Shapes, run: Companions, op: Op) -> None:
    """SimpleNamespace(**fields)"""
    tangents = [tangent_or_none(run, a) for a in op.args]
    run.put(op.result, run.call(SimpleNamespace, *tangents, kwnames=op.kwnames))


def _is_namespace(op: Op) -> bool:
    return len(op.args) == len(op.kwnames)


def _new_object(shapes: Shapes, run: Companions, op: Op) -> None:
    run.put(op.result, run.call(SimpleNamespace))


def _new_tuple(shapes: Shapes, run: Companions, op: Op) -> None:
    """tuple.__new__(cls, items)"""
    run.put(op.result, tangent_or_none(run, op.args[1]) if len(op.args) > 1 else NONE)


def _function(shapes: Shapes, run: Companions, op: Op) -> None:
    """A namespace of the tangents of defaults and of the cells of the closure."""
    parts = [tangent_or_none(run, a) for a in op.args]
    parts += [NONE] * (6 - len(parts))
    run.put(op.result, run.call(function_tangent, parts[2], parts[3], parts[5]))


@says(known=False, raises=False)
def function_tangent(defaults: Any, kwdefaults: Any, cells: Any) -> Any:
    return SimpleNamespace(defaults=defaults, kwdefaults=kwdefaults, cells=cells)


def _partial(shapes: Shapes, run: Companions, op: Op) -> None:
    """functools.partial(f, a, k=b): a namespace of `func`, `args` and `keywords`."""
    n = len(op.args) - len(op.kwnames)
    tangents = [tangent_or_none(run, a) for a in op.args]
    args = run.call(primitives.build_tuple, *tangents[1:n], syntax=True)
    named = (x for k, d in zip(op.kwnames, tangents[n:], strict=True) for x in (Const(k), d))
    keywords = run.call(primitives.build_map, *named, syntax=True)
    run.put(op.result, run.call(partial_tangent, tangents[0], args, keywords))


@says(known=False, raises=False)
def partial_tangent(func: Any, args: Any, keywords: Any) -> Any:
    return SimpleNamespace(func=func, args=args, keywords=keywords)


def _cell_set(shapes: Shapes, run: Companions, op: Op) -> None:
    cell = run.of(op.args[0])
    if cell is not None:
        run.build.op(primitives.cell_set, [cell, tangent_or_none(run, op.args[1])], [], syntax=True)


def _dict(shapes: Shapes, run: Companions, op: Op) -> None:
    """dict(mapping or pairs, **entries)"""
    n = len(op.args) - len(op.kwnames)
    tangents = [tangent_or_none(run, a) for a in op.args]
    first = [op.args[0], tangents[0], _at_hand(run, op)] if n else [NONE, NONE, NONE]
    entries = run.call(
        primitives.build_map,
        *(x for k, d in zip(op.kwnames, tangents[n:], strict=True) for x in (Const(k), d)),
        syntax=True,
    )
    run.put(op.result, run.call(dict_of, *first, entries))


def _at_hand(run: Companions, op: Op) -> Operand:
    """What the dict, just emitted, is made of: of an iterator's pairs the keys would be gone."""
    source, *more = op.args
    if T.cls_of(operand_type(source)) in (list, tuple, dict):
        return source
    given = Value("given")
    listing = Op(Const(at_hand), [source], [given], (), op.pos)
    at = run.build.block.ops.index(op)
    run.build.block.ops[at:] = [listing, Op(op.callee, [given, *more], op.results, op.kwnames, op.pos)]
    return given


def at_hand(source: Any) -> Any:
    return source if hasattr(source, "keys") else list(source)


@says(result="copies 0..", raises=False)
def dict_of(source: Any, tangent: Any, given: Any, entries: dict[Any, Any] | None) -> dict[Any, Any]:
    """`given`: the mapping or its pairs, of which the last one of a key counts."""
    entries = {} if entries is None else entries
    if source is None or tangent is None:
        return entries
    if hasattr(source, "keys"):
        return {**tangent, **entries}
    beside = zip(given, as_many(items(tangent, source), len(given)), strict=True)
    return {**{key: None if d is None else d[1] for (key, _), d in beside}, **entries}


# -- the table -----------------------------------------------------------------------------------------------


def _is_list(op: Op) -> bool:
    return T.cls_of(operand_type(op.args[0])) is list


def _is_mapping(op: Op) -> bool:
    return T.cls_of(operand_type(op.args[0])) in (list, dict)


def _keeps(op: Op) -> bool:
    """The object holds what is stored, as far as its class is known."""
    cls = T.cls_of(operand_type(op.args[0]))
    if cls is None:
        return True
    names = [op.args[1].value] if isinstance(op.args[1], Const) else names_of_class(cls)
    return all(keeps_attribute(cls, name, op.fn) for name in names)


MIRRORED: Table = {
    primitives.build_tuple: (_mirrored, always),
    primitives.build_list: (_mirrored, always),
    primitives.build_map: (_map, always),
    primitives.list_to_tuple: (_converted, always),
    primitives.list_append: (_put_in, always),
    primitives.list_extend: (_extended, always),
    primitives.map_add: (_keyed, always),
    primitives.dict_update: (_updated, always),
    primitives.dict_merge: (_updated, always),
    primitives.check_bound: (_passed, always),
    primitives.make_cell: (_mirrored, always),
    primitives.cell_set: (_cell_set, always),
    primitives.make_function: (_function, always),
    functools.partial: (_partial, always),
    list.append: (_put_in, _is_list),
    list.extend: (_extended, _is_list),
    list.insert: (_keyed, _is_list),
    list.pop: (_changed, _is_list),
    list.copy: (_converted, _is_list),
    list.reverse: (_changed, _is_list),
    dict.copy: (_converted, always),
    builtins.dict: (_dict, always),
    operator.setitem: (_set_item, _is_mapping),
    operator.delitem: (_changed, _is_mapping),
    operator.add: (_concatenated, all_sequences),
    operator.iadd: (_concatenated, all_sequences),
    operator.mul: (_repeated, sequence_and_int),
    SimpleNamespace: (_namespace, _is_namespace),
    builtins.setattr: (_keyed, lambda op: not names_function_part(op) and _keeps(op)),
    object.__setattr__: (_keyed, _keeps),
    object.__new__: (_new_object, always),
    tuple.__new__: (_new_tuple, always),
    **READ,
    **WALKED,
}
"""handler, and which ops of the callee are its: what it does not accept is differentiated at run time."""


