"""Tangents of what goes through the items of containers: iterators of tangents, in step with the values'.

An iterator over things that have no tangents gives None as often as it is asked.
"""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.facts import says
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.companion import Companions
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.forward.reading import ABSENT, ask
from ctxdispatch_contexts.forward.tangents import NONE, Shapes, of_list, tangent_or_none
from ctxdispatch_contexts.programs.containers import any_iterable
from ctxdispatch_contexts.programs.objects import unpacked
from ctxdispatch_contexts.programs.operands import infer_op

Handler = Callable[[Shapes, Companions, Op], None]


def items_of(shapes: Shapes, run: Companions, operand: Operand) -> Operand:
    """An iterable of the tangents of the items of `operand`."""
    tangent = run.of(operand)
    if tangent is None:
        return run.call(itertools.repeat, NONE)
    type_ = operand_type(operand)
    if isinstance(type_, T.ArrayOf):
        return run.call(rows_of_block, tangent) if shapes.block else tangent
    if T.cls_of(operand_type(tangent)) in (tuple, list):
        return tangent
    if T.cls_of(type_) in OF_VIEW:
        return run.call(OF_VIEW[T.cls_of(type_)], tangent, operand)
    return run.call(items_of_block if shapes.block else items, tangent, operand)


@says(known=False, raises=False)
def rows_of_block(tangent: Any) -> Any:
    return np.moveaxis(tangent, 1, 0)


@says(result="itself 0", raises=False)
def items(tangent: Any, iterable: Any) -> Any:
    if tangent is None or isinstance(iterable, _WITHOUT):
        return itertools.repeat(None)
    of_view = OF_VIEW.get(type(iterable))
    return tangent if of_view is None else of_view(tangent, iterable)


@says(result="itself 0", raises=False)
def items_of_block(tangent: Any, iterable: Any) -> Any:
    if isinstance(iterable, np.ndarray) and isinstance(tangent, np.ndarray):
        return rows_of_block(tangent)
    return items(tangent, iterable)


def _put(
    shapes: Shapes, run: Companions, op: Op, fn: Any, *args: Operand, kwnames: tuple[str, ...] = ()
) -> None:
    value = run.call(fn, *args, kwnames=kwnames, name="d" + op.result.name)
    value.type = of_list(infer_op(run.build.block.ops[-1]))
    run.put(op.result, value)


def _iter(shapes: Shapes, run: Companions, op: Op) -> None:
    _put(shapes, run, op, iter, items_of(shapes, run, op.args[0]))


def _collect(shapes: Shapes, run: Companions, op: Op) -> None:
    """list(iterable), tuple(iterable)"""
    found = items_of(shapes, run, op.args[0])
    length = run.call(len, op.result, type=T.Exact(int))
    _put(shapes, run, op, op.fn, run.call(as_many, found, length))


@says(result="copies 0..", raises=False)
def as_many(tangents: Any, n: int) -> Any:
    """As many as there are values: what gives None for ever must end."""
    found = [None] * n if tangents is None else list(itertools.islice(tangents, n))
    if len(found) != n:
        raise AssertionError(f"{len(found)} tangents of {n} items")
    return found


def _enumerate(shapes: Shapes, run: Companions, op: Op) -> None:
    _put(shapes, run, op, zip, run.call(itertools.repeat, NONE), items_of(shapes, run, op.args[0]))


def _zip(shapes: Shapes, run: Companions, op: Op) -> None:
    n = len(op.args) - len(op.kwnames)
    _put(shapes, run, op, zip, *(items_of(shapes, run, a) for a in op.args[:n]))


def _reversed(shapes: Shapes, run: Companions, op: Op) -> None:
    tangent = run.of(op.args[0])
    there = tangent is not None and T.cls_of(operand_type(tangent)) in (tuple, list)
    _put(shapes, run, op, reversed if there else backwards, NONE if tangent is None else tangent)


@says(known=False, raises=False)
def backwards(tangents: Any) -> Any:
    return itertools.repeat(None) if tangents is None else reversed(tangents)


def _view(shapes: Shapes, run: Companions, op: Op) -> None:
    """The tangents are looked up when it is gone through: the mapping may have changed by then."""
    run.put(op.result, tangent_or_none(run, op.args[0]))


@says(result="copies 0..", raises=False)
def values_of(tangent: Any, view: Any) -> Any:
    return itertools.repeat(None) if tangent is None else map(tangent.get, view.mapping)


@says(result="copies 0..", raises=False)
def items_of_mapping(tangent: Any, view: Any) -> Any:
    return zip(itertools.repeat(None), values_of(tangent, view), strict=False)


_WITHOUT = (dict, str, set, frozenset, type({}.keys()))
"""Their items have no tangents."""

OF_VIEW: dict[Any, Callable[[Any, Any], Any]] = {
    type({}.values()): values_of,
    type({}.items()): items_of_mapping,
}


def _next(shapes: Shapes, run: Companions, op: Op) -> None:
    tangent = run.of(op.args[0])
    if len(op.args) == 1:
        if tangent is not None:
            run.put(op.result, shapes.definite(run, run.call(next, tangent), op.result))
        return
    found = ask(run, op)
    args = [found, NONE if tangent is None else tangent, tangent_or_none(run, op.args[1])]
    run.put(op.result, shapes.definite(run, run.call(next_or, *args), op.result))


def next_or(found: Any, tangents: Any, default: Any) -> Any:
    """The tangent of next(iterator, default), `found` being what the iterator gave."""
    if found is ABSENT:
        return default
    return next(tangents) if tangents is not None else None


# -- unpacking -----------------------------------------------------------------------------------------------


def _unpack(shapes: Shapes, run: Companions, op: Op) -> None:
    source, *counts = op.args
    tangent = run.of(source)
    known = operand_type(tangent) if tangent is not None else T.Any
    results = [Value("d" + r.name if r.name else "") for r in op.results]
    if isinstance(known, T.TupleOf) and op.fn is primitives.unpack:
        assert tangent is not None
        run.build.op(op.fn, [tangent, *counts], results, syntax=True)
        for result, type_ in zip(results, known.items, strict=False):
            result.type = type_
    else:
        found = items_of(shapes, run, source)
        shaped = run.call(primitives.build_tuple, *op.results, syntax=True)
        flat = run.call(like_unpacked, found, shaped, *counts)
        run.build.op(primitives.unpack, [flat, Const(len(results))], results, syntax=True)
    for value, result in zip(op.results, results, strict=True):
        run.put(value, shapes.definite(run, result, value))


@says(result="copies 0..", raises=False)
def like_unpacked(
    tangents: Any, values: tuple[Any, ...], before: int, after: int | None = None
) -> tuple[Any, ...]:
    """The tangents of the values of an unpacking, the starred one being a list."""
    rest = itertools.repeat(None) if tangents is None else iter(tangents)
    if after is None:
        return tuple(itertools.islice(rest, len(values)))
    first = list(itertools.islice(rest, before))
    middle = list(itertools.islice(rest, len(values[before])))
    return (*first, middle, *itertools.islice(rest, after))


def _unpacked(shapes: Shapes, run: Companions, op: Op) -> None:
    found = items_of(shapes, run, op.args[0])
    run.put(op.result, run.call(like_unpacked, found, op.result, *op.args[1:]))


ITERATORS = frozenset(map(type, (
    iter([]), iter(()), reversed([]), iter(range(0)), zip(), enumerate(()), itertools.repeat(None), iter({}),
    iter({}.values()), iter({}.items()), iter(""), iter(np.zeros(0)),
)))  # fmt: skip


def _walks(op: Op) -> bool:
    return bool(op.args) and any_iterable(op)


def _of_sequence(op: Op) -> bool:
    return T.cls_of(operand_type(op.args[0])) in (list, tuple)


def _always(op: Op) -> bool:
    return True


def _is_iterator(op: Op) -> bool:
    type_ = operand_type(op.args[0])
    return isinstance(type_, T.IterOf) or T.cls_of(type_) in ITERATORS


WALKED: dict[Any, tuple[Handler, Callable[[Op], bool]]] = {
    primitives.unpack: (_unpack, any_iterable),
    primitives.unpack_ex: (_unpack, any_iterable),
    unpacked: (_unpacked, any_iterable),
    builtins.iter: (_iter, _walks),
    builtins.list: (_collect, _walks),
    builtins.tuple: (_collect, _walks),
    builtins.enumerate: (_enumerate, _walks),
    builtins.zip: (_zip, _always),
    builtins.reversed: (_reversed, _of_sequence),
    builtins.next: (_next, _is_iterator),
    dict.values: (_view, _always),
    dict.items: (_view, _always),
}


