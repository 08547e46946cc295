"""f(*args, **kwargs) as a plain call, where the arguments are known one by one, and the keywords by name."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Iterable, Mapping, Sequence
from types import FunctionType
from typing import Any

from ctxdispatch.facts import says
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.ir.watching import is_undispatched
from ctxdispatch.passes import types as T
from ctxdispatch.passes.container_types import by_position
from ctxdispatch.passes.effects import op_is_pure, plain
from ctxdispatch.passes.inline import emit_before
from ctxdispatch.passes.resolve import class_attribute
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.activity import ZERO_BY_RULE
from ctxdispatch_contexts.programs.counts import counts
from ctxdispatch_contexts.programs.objects import is_plain


def spread(graph: Graph, block: Block, op: Op) -> bool:
    """call_ex(f, args, kwargs) with a tuple of known length and keywords of known names is a plain call."""
    f, args, *rest = op.args
    names = _keywords(rest[0], block, op) if rest else {}
    items = None if names is None else _items(args, graph, block, op)
    if items is None and names is not None:
        items = _as_many_as_taken(graph, block, op, args, names)
    if names is None or items is None:
        return False
    op.callee, op.args, op.kwnames = f, [*items, *names.values()], tuple(names)
    op.syntax = False
    return True


def _as_many_as_taken(
    graph: Graph, block: Block, op: Op, args: Operand, names: Mapping[str, Operand]
) -> Sequence[Operand] | None:
    """Of one array or list among them it is not known how many items it has: all that the callee takes are
    given, so it has the rest, or the call raises."""
    parts = _parts(args, graph, block, op)
    open_ = [part for part in parts or () if isinstance(part, Value)]
    takes = taken_by(op.args[0].value, tuple(names)) if isinstance(op.args[0], Const) else None
    if parts is None or len(open_) != 1 or takes is None or not _is_sized(operand_type(open_[0])):
        return None
    known = sum(len(part) for part in parts if not isinstance(part, Value))
    if takes < known:
        return None
    emit = emit_before(block, op)
    emit(check_count, open_[0], Const(takes - known), op.args[0], Const(known), Const(tuple(names)))
    items: list[Operand] = []
    for part in parts:
        if isinstance(part, Value):
            items += [emit(operator.getitem, part, Const(i)) for i in range(takes - known)]
        else:
            items += part
    return items


def _parts(args: Operand, graph: Graph, block: Block, op: Op) -> Sequence[Sequence[Operand] | Value] | None:
    """What is given one by one, and what has all its items given."""
    before = block.ops[: block.ops.index(op)]
    turned = next((o for o in before if args in o.results), None)
    if turned is None or turned.fn is not primitives.list_to_tuple:
        return [args] if isinstance(args, Value) else None
    target = turned.args[0]
    making = next((o for o in before if target in o.results and o.fn is primitives.build_list), None)
    adding = [o for o in before if target in o.operands() and o is not turned]
    if making is None or not all(o.args[0] is target and o.fn in _ADDS for o in adding):
        return None
    parts: list[Sequence[Operand] | Value | None] = [making.args]
    for each in adding:
        items = _added(each, graph, block)
        later = before[before.index(each) + 1 :]
        kept = items is None and all(o in adding or o is turned or op_is_pure(o) for o in later)
        parts.append(each.args[1] if kept and isinstance(each.args[1], Value) else items)
    return None if None in parts else parts  # type: ignore[return-value]


def _is_sized(type_: T.Type) -> bool:
    if isinstance(type_, T.ArrayOf):
        return bool(type_.dims) and plain(type_)
    return isinstance(type_, (T.ListOf, T.Held)) and T.cls_of(type_) in (list, tuple)


def taken_by(function: Any, names: tuple[str, ...]) -> int | None:
    """By how many positions a call gives arguments that gives others by these names; None if that is not
    said by the function, or the `__init__` or `__new__` of a class."""
    own = 0
    if issubclass(type(function), type):
        if not is_plain(function):
            return None
        new, init, own = class_attribute(function, "__new__"), class_attribute(function, "__init__"), 1
        function = init if new is object.__new__ else getattr(new, "__func__", None)
    if type(function) is not FunctionType or function.__code__.co_flags & inspect.CO_VARARGS:
        return None
    code = function.__code__
    if not {*names}.isdisjoint(code.co_varnames[: code.co_posonlyargcount]):
        return None  # a keyword of `**` that is called as one of these
    positional = code.co_varnames[own : code.co_argcount]
    defaulted = positional[len(positional) - len(function.__defaults__ or ()) :]
    return len([n for n in positional if n not in names]) if set(defaulted) <= set(names) else None


@says(looks="0")
def check_count(items: Any, count: int, function: Any, before: int, names: tuple[str, ...]) -> None:
    """What the call raises where there are not so many: it takes just so many, so none of its code runs."""
    if len(items) == count:
        return
    if taken_by(function, names) == before + count:
        function(*[None] * (before + len(items)), **dict.fromkeys(names))
    raise TypeError(f"{function.__qualname__} takes other arguments than when its program was made")


ZERO_BY_RULE.add(check_count)


def open_arguments(graph: Graph, block: Block, op: Op) -> bool:
    """Of f(*args), f(**kwargs). True where something was changed."""
    if op.fn is primitives.call_ex:
        return spread(graph, block, op)
    if op.fn is primitives.list_to_tuple:
        return display(graph, block, op)
    return op.fn is primitives.dict_merge and merge(graph, block, op)


def display(graph: Graph, block: Block, op: Op) -> bool:
    """(a, *b): what is made as a list is a tuple display, where it is known what there is in `b`."""
    target, before = op.args[0], block.ops[: block.ops.index(op)]
    making = next((o for o in before if target in o.results and o.fn is primitives.build_list), None)
    adding = [o for o in before if target in o.operands()]
    if making is None or not all(o.args[0] is target and o.fn in _ADDS for o in adding):
        return False
    found = [_added(o, graph, block) for o in adding]
    if None in found:
        return False
    op.callee, op.args = Const(primitives.build_tuple), [*making.args, *(a for each in found for a in each)]  # type: ignore[union-attr]
    op.result.type = T.TupleOf(tuple(map(operand_type, op.args)))
    return True


def _added(op: Op, graph: Graph, block: Block) -> Sequence[Operand] | None:
    return op.args[1:] if op.fn is primitives.list_append else _items(op.args[1], graph, block, op)


_ADDS = (primitives.list_append, primitives.list_extend)


def _items(operand: Operand, graph: Graph, block: Block, reader: Op) -> Sequence[Operand] | None:
    """What there is in it where `reader` goes through it; None where that is not known one by one."""
    types = by_position(operand_type(operand))
    if types is None and (count := counts(graph).get(operand)) is not None:
        types = [T.Any] * count
    if types is not None:
        return _read(operand, enumerate(types), block, reader)
    before = block.ops[: block.ops.index(reader)]
    making = next((o for o in before if operand in o.results and o.fn is primitives.build_list), None)
    if making is not None:
        used = [o for o in before if operand in o.operands()]
        return making.args if all(o.fn in (operator.getitem, len) for o in used) else None
    taking = next((o for o in before if operand in o.results and o.fn is operator.getitem), None)
    part = operand_type(taking.args[1]) if taking is not None else None
    if taking is None or not isinstance(part, T.Known) or type(part.value) is not slice:
        return None
    types = by_position(operand_type(taking.args[0]))
    if types is None or any(operand in o.operands() for o in before):  # the list may be another one by now
        return None
    return _read(taking.args[0], [*enumerate(types)][part.value], block, taking)


def _read(
    container: Operand, fields: Iterable[tuple[int | str, T.Type]], block: Block, reader: Op
) -> list[Operand]:
    emit, items = emit_before(block, reader), []
    for key, type_ in fields:
        items.append(emit(operator.getitem, container, Const(key)))
        items[-1].type = type_
    return items


def merge(graph: Graph, block: Block, op: Op) -> bool:
    """f(k=a, **m) of such keywords: one display."""
    target, other = op.args[:2]
    type_ = operand_type(other)
    fields = type_.fields if isinstance(type_, T.Held) and type_.cls is dict else None
    own = _keywords(target, block, op)
    given = _keywords(other, block, op) if fields is None else {str(k): other for k, _ in fields}
    if own is None or given is None or not own.keys().isdisjoint(given) or not isinstance(target, Value):
        return False
    if fields is not None:
        given = dict(zip(given, _read(other, fields, block, op), strict=True))
    merged = Value(target.name)
    substitute(graph, {target: merged})  # only what is merged reads it before
    op.callee, op.results, op.syntax = Const(primitives.build_map), [merged], True
    op.args = [operand for name, value in (own | given).items() for operand in (Const(name), value)]
    return True


def _keywords(operand: Operand, block: Block, reader: Op) -> dict[str, Operand] | None:
    """The keywords in a dict that is made in this block, and that nothing before `reader` changes."""
    if isinstance(operand, Const):
        return {} if not operand.value else None
    before = block.ops[: block.ops.index(reader)]
    making = next((o for o in before if operand in o.results and o.fn is primitives.build_map), None)
    if making is None or not all(isinstance(k, Const) for k in making.args[::2]):
        return None
    if not all(_only_reads(o, operand) for o in before if operand in o.operands()):
        return None
    keys = [k.value for k in making.args[::2]]  # type: ignore[union-attr]
    return dict(zip(keys, making.args[1::2], strict=True))


def _only_reads(op: Op, operand: Operand) -> bool:
    merges = op.fn is primitives.dict_merge and operand is not op.args[0]
    return merges or op.fn is primitives.call_ex or is_undispatched(op.fn)
