"""What the results of a call have to do with its operands, as far as rows and types say."""

from __future__ import annotations

import numpy as np

from ctxdispatch.facts import COPIES, INPLACE, MATRIX_PRODUCTS, Fact, Shares
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Operand, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.buffers import copy_is_asked, is_new
from ctxdispatch.passes.samples import KINDS, SCALARS
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives.table import elementwise
from ctxdispatch_contexts.programs.containers import CONTAINERS


def computes(op: Op, fact: Fact | None) -> bool:
    """Numbers and new arrays from numbers and arrays, or in place."""
    if op.kwnames or not hashable(op.fn) or not all(map(_of_numbers, op.args)):
        return False
    if is_in_place(op) or (op.fn in MATRIX_PRODUCTS and len(op.args) == 2):
        return True
    computes = elementwise(op.fn) is not None and not may_share(op)
    return computes and (fact is None or not fact.stores.of(op.args))


def is_in_place(op: Op) -> bool:
    return op.fn in INPLACE and isinstance(operand_type(op.args[0]), T.ArrayOf)


def _of_numbers(operand: Operand) -> bool:
    """A number or an array of numbers, whose methods are known."""
    type_ = operand_type(operand)
    if isinstance(type_, T.ArrayOf):
        return type_.dtype.kind in KINDS
    return T.cls_of(type_) in SCALARS


def makes_array(op: Op, fact: Fact) -> bool:
    """A function of NumPy's or an operator on arrays whose result is new."""
    if (elementwise(op.fn) is not None and not fact.result) or op.fn in COPIES:
        return True
    return is_new(fact, op.args) and "__array_function__" in fact.methods


def may_be(op: Op, operand: Operand) -> bool:
    """The result may be the operand: `tuple(xs)` is no list."""
    known = [T.cls_of(operand_type(v)) for v in (*op.results, operand)]
    return None in known or len(set(known)) == 1


def makes(fact: Fact) -> bool:
    """The result may be a new object: what is no item may be, whatever it shares."""
    return not any(s.shares is Shares.ITEM for s in fact.result) or any(s.shares in _NEW for s in fact.result)


_NEW = (Shares.HOLDS, Shares.COPIES, Shares.VIEW)


def calls_later(op: Op, fact: Fact) -> bool:
    """map(f, xs) runs f when it is asked."""
    called = fact.calls.of(op.args, op.kwnames)
    return any(a in called for s in fact.result if s.shares is Shares.HOLDS for a in s.operands.of(op.args))


def gives_later(op: Op) -> bool:
    return not all(T.cls_of(operand_type(r)) in CONTAINERS for r in op.results)


def may_share(op: Op) -> bool:
    """The new array may be an operand after all, or a view of one."""
    return not copy_is_asked(op) or op.fn in (np.real, np.einsum) or len(op.args) > MOST_OF_ASTYPE


MOST_OF_ASTYPE = 5  # x.astype(dtype, order, casting, subok, copy): with more, `copy` is among them
