"""Which values need a cotangent.

    varied   depends on an active argument, through operations that have a derivative, and has a type that
             carries one
    useful   the result depends on it
    active   both

Everything else stays out of the reverse sweep. (Hascoet, Pascual: "The Tapenade automatic differentiation
tool", 2013, section 3.1.)
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Iterable, Iterator, Mapping, Set
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from ctxdispatch.facts import IMMUTABLE, INPLACE, MERGES, ROUNDING, canonical, fact_of
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Iterate, Op, Return
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.ir.watching import is_undispatched
from ctxdispatch.passes import types as T
from ctxdispatch.passes.expected import Unexpected
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives.table import elementwise, is_zero, linearity, vjp_rule
from ctxdispatch_contexts.programs.primitive import Primitive

_DISCRETE = (
    int, bool, str, bytes, type(None), type(Ellipsis), slice, range, type,
    np.dtype, np.bool_, np.random.Generator,
)  # fmt: skip

PUTS = frozenset({
    primitives.list_append, primitives.set_add, primitives.map_add, primitives.list_extend,
    primitives.set_update, primitives.dict_update, primitives.dict_merge, primitives.cell_set,
    list.append, list.extend,
})  # fmt: skip
"""They add their other operands to the first: what was in it stays."""

SCATTERS = frozenset({np.add.at, np.subtract.at})
"""ufunc.at(x, i, v): what `i` names several times gets as many of the values."""

STORES: dict[Any, int] = dict.fromkeys(
    (*PUTS, *SCATTERS, builtins.setattr, object.__setattr__, operator.setitem, list.insert), 0
)
"""Operations that put their other operands into this one, of which sweeps have a form."""


def sets_entry(op: Op) -> bool:
    """xs[i] = v, d[k] = v: what was there has no part in what comes after."""
    if op.fn is not operator.setitem or len(op.args) != 3:
        return False
    cls, place = (T.cls_of(operand_type(a)) for a in op.args[:2])
    return cls is dict or (cls is list and place is not None and issubclass(place, (int, np.integer)))


ZERO_BY_RULE: set[Any] = set()
"""Functions of this package's own whose derivative is zero."""


def has_zero_derivative(fn: Any) -> bool:
    if not hashable(fn):
        return False
    if is_undispatched(fn) or isinstance(fn, Unexpected):
        return True  # it watches
    fn, _ = canonical(fn)  # a method of a literal is the function of its class
    row = elementwise(fn)  # first: the other tables are larger, and not loaded before they are needed
    return fn in ZERO_BY_RULE or (row.is_zero if row is not None else is_zero(fn))


def has_derivative(fn: Any) -> bool:
    """The derivative table says what the derivative of `fn` is, zero too."""
    if isinstance(fn, Primitive):
        return True
    return bool(elementwise(fn) or vjp_rule(fn) or linearity(fn)) or has_zero_derivative(fn)


def carries(type_: T.Type | None) -> bool:
    """Values of this type may have a derivative."""
    match type_:
        case None:
            return True
        case T.Known(value):
            return not issubclass(type(value), _DISCRETE) and not callable(value) and not _is_module(value)
        case T.ArrayOf(dtype, _):
            return dtype.kind in "fcO"
        case T.TupleOf(items):
            return any(map(carries, items))
        case T.ListOf(item):
            return item is T.Never or carries(item)
        case T.Exact(cls):
            return not issubclass(cls, (*_DISCRETE, np.integer))
        case T.OneOf(classes):
            return any(carries(T.Exact(cls)) for cls in classes)
    return type_ is not T.Never


def _is_module(value: Any) -> bool:
    return type(value).__name__ == "module"


NO_PARTS: Mapping[Value, Value] = {}


def active_values(graph: Graph, seeds: list[Value], part_of: Mapping[Value, Value] = NO_PARTS) -> set[Value]:
    """The active values when `seeds` (parameters) are what is differentiated with respect to. What is stored
    to a part (a view) is stored to what it is a part of."""
    varied = varied_values(graph, seeds, part_of)
    return varied & useful_values(graph, varied, (), part_of)


def varied_values(graph: Graph, seeds: list[Value], part_of: Mapping[Value, Value] = NO_PARTS) -> set[Value]:
    """What depends on the seeds through operations that have a derivative."""
    varied: set[Value] = {s for s in seeds if carries(s.type)}
    kept = _kept_outside(graph)
    size = -1
    while size != len(varied):
        size = len(varied)
        for block in graph.blocks:
            for op in block.ops:
                _vary_op(op, varied, part_of, kept)
            _vary_edges(block, varied)
    return varied


def _kept_outside(graph: Graph) -> set[Op]:
    """Stores of attributes into objects that were there before. What the program reads again it has by the
    stored value (`forwarding.py`; else the store is refused): nothing else of the object varies by them."""
    outside: set[Operand] = {*graph.params, *graph.cells}
    for _, op in graph.ops():
        if op.fn in _FROM_OUTSIDE and (isinstance(op.args[0], Const) or op.args[0] in outside):
            outside.update(op.results)
    stores = [op for _, op in graph.ops() if op.fn is setattr and len(op.args) == 3]
    classes = {op: T.cls_of(operand_type(op.args[0])) for op in stores}
    return {
        op
        for op, cls in classes.items()
        if op.args[0] in outside and cls is not None and not issubclass(cls, (type, ModuleType, FunctionType))
    }


_FROM_OUTSIDE = (getattr, primitives.load_global, primitives.cell_get)


def _vary_op(op: Op, varied: set[Value], part_of: Mapping[Value, Value], kept: Set[Op]) -> None:
    operands = [v for v in op.operands() if isinstance(v, Value)]
    if varied.isdisjoint(operands):
        return
    if op not in kept:
        varied.update(_stored_to(op, part_of))
    if not is_flat(op):
        varied.update(r for r in op.results if carries(r.type))


def is_flat(op: Op) -> bool:
    """The derivative of what it gives is zero. (That of `np.zeros_like(x)` may vary later: by stores.)"""
    zero = has_zero_derivative(op.fn) and not may_turn(op) and not _may_ask(op)
    return not _merges(op) and (zero or _zero_attribute(op))


def is_numeric(type_: T.Type) -> bool:
    """A number, or an array of such."""
    if isinstance(type_, T.ArrayOf):
        return type_.dtype.kind != "O"
    return issubclass(T.cls_of(type_) or object, (int, float, complex, np.generic))


def _stored_to(op: Op, part_of: Mapping[Value, Value]) -> Iterator[Value]:
    """What `op` puts its other operands into, and what that is a part of."""
    fact = fact_of(op.fn)
    for target in () if fact is None else fact.stores.of(op.args, op.kwnames):
        if fact.twin is None or not _is_number(operand_type(target)):  # type: ignore[union-attr]
            yield from (whole for whole in _wholes(target, part_of) if carries(whole.type))


def _is_number(type_: T.Type) -> bool:
    """`a += b` makes another number of it."""
    cls = T.cls_of(type_)
    return isinstance(type_, T.OneOf) or (cls is not None and issubclass(cls, (*IMMUTABLE, np.generic)))


def _wholes(target: Operand | None, part_of: Mapping[Value, Value]) -> Iterator[Value]:
    while isinstance(target, Value):
        yield target
        target = part_of.get(target)


def may_turn(op: Op) -> bool:
    """A row for real arguments, of an argument that may be complex: np.sign(z) is z / |z|."""
    row = elementwise(op.fn) if hashable(op.fn) else None
    return row is not None and not row.holomorphic and not all(map(_is_real, op.args))


def _may_ask(op: Op) -> bool:
    """round(x) is what `__round__` of x returns, where x may be an object of the user's."""
    return hashable(op.fn) and op.fn in ROUNDING and bool(op.args) and operand_type(op.args[0]) is T.Any


def _is_real(operand: Any) -> bool:
    type_ = operand_type(operand)
    if isinstance(type_, T.ArrayOf):
        return type_.dtype.kind != "c"
    cls = T.cls_of(type_)
    return cls is not None and issubclass(cls, (int, float, np.integer, np.floating, np.bool_))


def _merges(op: Op) -> bool:
    """`a | b` of dicts or sets, or of what may be such: no bit operation."""
    if not hashable(op.fn) or INPLACE.get(op.fn, op.fn) not in MERGES:
        return False
    classes = [T.cls_of(operand_type(a)) for a in op.args]
    return not all(cls is not None and issubclass(cls, (int, np.generic, np.ndarray)) for cls in classes)


def _zero_attribute(op: Op) -> bool:
    """`x.shape` of an array, and the like."""
    if op.fn is not getattr or not isinstance(op.args[1], Const):
        return False
    cls = T.cls_of(operand_type(op.args[0]))
    array = cls is not None and issubclass(cls, (np.ndarray, np.generic))
    return array and has_zero_derivative(getattr(cls, op.args[1].value, None))


def _vary_edges(block: Any, varied: set[Value]) -> None:
    terminator = block.terminator
    if isinstance(terminator, Iterate) and terminator.iterator in varied:
        item = terminator.body.target.params[0]
        if carries(item.type):
            varied.add(item)
    for edge in block.edges():
        for param, arg in passed(terminator, edge):
            if arg in varied and carries(param.type):
                varied.add(param)


def passed(terminator: Any, edge: Any) -> list[tuple[Value, Operand]]:
    """(parameter, argument) pairs of an edge; the item of an `Iterate` is not among them."""
    skip = 1 if isinstance(terminator, Iterate) and edge is terminator.body else 0
    return list(zip(edge.target.params[skip:], edge.args, strict=True))


def useful_values(
    graph: Graph, varied: set[Value], roots: Iterable[Value] = (), part_of: Mapping[Value, Value] = NO_PARTS
) -> set[Value]:
    """What the result, or one of the `roots`, is computed from by way of what varies."""
    useful: set[Value] = set(roots)
    for block in graph.blocks:
        if isinstance(block.terminator, Return) and isinstance(block.terminator.value, Value):
            useful.add(block.terminator.value)
    kept = _kept_outside(graph)
    size = -1
    while size != len(useful):
        size = len(useful)
        for block in reversed(graph.blocks):
            _use_edges(block, useful)
            for op in reversed(block.ops):
                _use_op(op, useful, varied, part_of, kept)
    return useful


def _use_op(
    op: Op, useful: set[Value], varied: set[Value], part_of: Mapping[Value, Value], kept: Set[Op]
) -> None:
    store = op not in kept and any(whole in useful for whole in _stored_to(op, part_of))
    if store or any(r in useful and r in varied for r in op.results):
        useful.update(v for v in op.operands() if isinstance(v, Value))


def _use_edges(block: Any, useful: set[Value]) -> None:
    terminator = block.terminator
    for edge in block.edges():
        for param, arg in passed(terminator, edge):
            if param in useful and isinstance(arg, Value):
                useful.add(arg)
    if isinstance(terminator, Iterate):
        item = terminator.body.target.params[0]
        if item in useful and isinstance(terminator.iterator, Value):
            useful.add(terminator.iterator)
