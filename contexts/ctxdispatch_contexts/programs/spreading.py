"""f(*args, **kwargs) as a plain call, where the arguments are known one by one, and the keywords by name."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.ir.watching import is_undispatched
from ctxdispatch.passes import types as T
from ctxdispatch.passes.container_types import by_position
from ctxdispatch.passes.inline import emit_before
from ctxdispatch.passes.types import operand_type


def spread(block: Block, op: Op) -> bool:
    """call_ex(f, args, kwargs) with a tuple of known length and keywords of known names is a plain call."""
    f, args, *rest = op.args
    names = _keywords(rest[0], block, op) if rest else {}
    items = None if names is None else _items(args, block, op)
    if names is None or items is None:
        return False
    op.callee, op.args, op.kwnames = f, [*items, *names.values()], tuple(names)
    op.syntax = False
    return True


def open_arguments(graph: Graph, block: Block, op: Op) -> bool:
    """Of f(*args), f(**kwargs). True where something was changed."""
    if op.fn is primitives.call_ex:
        return spread(block, op)
    if op.fn is primitives.list_to_tuple:
        return display(block, op)
    return op.fn is primitives.dict_merge and merge(graph, block, op)


def display(block: Block, op: Op) -> bool:
    """(a, *b): what is made as a list is a tuple display, where it is known what there is in `b`."""
    target, before = op.args[0], block.ops[: block.ops.index(op)]
    making = next((o for o in before if target in o.results and o.fn is primitives.build_list), None)
    adding = [o for o in before if target in o.operands()]
    if making is None or not all(o.args[0] is target and o.fn in _ADDS for o in adding):
        return False
    found = [o.args[1:] if o.fn is primitives.list_append else _items(o.args[1], block, o) for o in adding]
    if None in found:
        return False
    op.callee, op.args = Const(primitives.build_tuple), [*making.args, *(a for each in found for a in each)]  # type: ignore[union-attr]
    op.result.type = T.TupleOf(tuple(map(operand_type, op.args)))
    return True


_ADDS = (primitives.list_append, primitives.list_extend)


def _items(operand: Operand, block: Block, reader: Op) -> Sequence[Operand] | None:
    """What there is in it where `reader` goes through it; None where that is not known one by one."""
    types = by_position(operand_type(operand))
    if types is not None:
        return _read(operand, enumerate(types), block, reader)
    before = block.ops[: block.ops.index(reader)]
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
