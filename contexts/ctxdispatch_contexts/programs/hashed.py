"""What goes into hash tables: items of sets, keys of dicts.

A derivative program has no tangent or cotangent for such: it knows items by their places, and these have none
that lasts. So a program in which what is differentiated goes there is refused, and is recorded, where an
object is known by its identity wherever it lies.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterable

from ctxdispatch.facts import fact_of
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Operand, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.container_types import item_of
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.activity import carries, has_zero_derivative

SETS = (set, frozenset)


def is_hashed(op: Op, varies: Callable[[Operand], bool]) -> bool:
    """`op` makes an item of a set, or a key of a dict, of what varies, or reads such an item."""
    if has_zero_derivative(op.fn):
        return False
    if any(map(varies, _keys(op))):
        return True
    of_sets = any(T.cls_of(operand_type(v)) in SETS for v in (*op.operands(), *op.results))
    return of_sets and any(map(varies, op.operands()))


def _keys(op: Op) -> Iterable[Operand]:
    if not hashable(op.fn):
        return ()
    if op.fn is operator.setitem and T.cls_of(operand_type(op.args[0])) is dict:
        return op.args[1:2]
    if op.fn is builtins.dict and len(op.args) > len(op.kwnames):
        return op.args[:1] if _has_keys(operand_type(op.args[0])) else ()
    if op.fn is primitives.build_map:
        return op.args[::2]
    row = fact_of(op.fn)
    if row is None or "__hash__" not in row.methods or (row.iterates and op.fn != dict.fromkeys):
        return ()
    return row.inside.of(op.args) if row.keeps or row.iterates else ()


def _has_keys(pairs: T.Type) -> bool:
    """Pairs whose first entry may have a derivative."""
    pair = item_of(pairs) if isinstance(pairs, (T.IterOf, T.ListOf, T.TupleOf)) else None
    return isinstance(pair, T.TupleOf) and len(pair.items) == 2 and carries(pair.items[0])
