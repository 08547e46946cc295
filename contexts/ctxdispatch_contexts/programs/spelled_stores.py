"""Stores under other names, as what they are: so whoever follows `x[i] = v` follows them.

    np.copyto(x, v)             x[...] = v
    x.fill(v)                   x[...] = v
    np.fill_diagonal(x, v)      x[i, i] = v         of a matrix and a number
    x.sort()                    x[...] = np.sort(x)
    x[i] = [a, b]               x[i] = np.array([a, b])
    y = np.add(a, b, out=x)     t = np.add(a, b);  x[...] = t;  y is x
    y = np.add(a, b, out=(x,))  y = np.add(a, b, out=x)
    put = xs.append; put(v)     list.append(xs, v)
    x /= v                      t = x / v;  x[...] = t      whose partial may be infinite

Of ufuncs with one result, and where it is known that numbers are stored into an array of floats that has all
their axes: the other functions of NumPy that take `out` want its very shape, which `x[...] = t` does not.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Container, Mapping, Sequence
from types import BuiltinMethodType, MethodWrapperType
from typing import Any

import numpy as np

from ctxdispatch.dispatch.rules import canonical
from ctxdispatch.facts import INPLACE, callable_objects, fact
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.rewrite import Use, substitute, uses
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.inline import emit_before
from ctxdispatch.passes.pure import PureFunction
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.activity import ZERO_BY_RULE
from ctxdispatch_contexts.programs.changes import out_of
from ctxdispatch_contexts.programs.following import can_hold, is_of_floats
from ctxdispatch_contexts.programs.operands import infer_op, row_for
from ctxdispatch_contexts.programs.refusals import refusal_of


def spell_out_stores(graph: Graph) -> bool:
    """In place. Whether anything is changed."""
    same: dict[Value, Operand] = {}
    changed = False
    for block in graph.blocks:
        for op in list(block.ops):
            changed |= type(op.fn) in _BOUND and _unbound(op)
            changed |= _has_outs_in_a_tuple(op) and _out_by_itself(block, op)
            changed |= _sets_attribute(op) and _refused(op)
            if not hashable(op.fn):
                continue
            if op.fn in _SPELLED:
                changed |= _SPELLED[op.fn](op)
            elif op.fn in _SPELLED_BEFORE:
                changed |= _SPELLED_BEFORE[op.fn](block, op)
            elif op.fn is operator.setitem:
                changed |= _stored_items(graph, block, op)
            elif type(op.fn) is np.ufunc:
                same.update(_without_out(block, op))
    if same:
        substitute(graph, same)
    return changed or bool(same)


_BOUND = (BuiltinMethodType, MethodWrapperType)
_CHANGE = (list, dict, set, deque, np.ndarray)


def _unbound(op: Op) -> bool:
    """A method that a variable holds, of a container or an array that may change: its own operand."""
    function, bound = canonical(op.fn)
    if not bound or not isinstance(bound[0], _CHANGE):
        return False
    op.callee, op.args = Const(function), [*map(Const, bound), *op.args]
    return True


def _has_outs_in_a_tuple(op: Op) -> bool:
    """Or several of them, one by one."""
    out = out_of(op) if hashable(op.fn) else None
    several = type(op.fn) is np.ufunc and op.fn.nout > 1
    if several and out is None:  # the first may be None
        return len(op.args) - len(op.kwnames) > op.fn.nin
    return out is not None and (several or T.cls_of(operand_type(out)) is tuple)


def _out_by_itself(block: Block, op: Op) -> bool:
    """One is taken out of its tuple. Several are no operand that analyses follow: the program is refused, and
    so recorded."""
    out = out_of(op)
    type_ = None if out is None else operand_type(out)
    if isinstance(type_, T.TupleOf) and len(type_.items) == 1 and out is not None:
        item = emit_before(block, op)(operator.getitem, out, Const(0))
        op.args = [item if a is out else a for a in op.args]
    else:
        _refused(op)
    return True


def _sets_attribute(op: Op) -> bool:
    """`a.shape = s`: types, here and in the sweep, say what `a` is everywhere. `a.flat = v`, `a.real = v`:
    stores, of another order and other axes than the block of their tangents has."""
    return op.fn in (setattr, object.__setattr__) and T.cls_of(operand_type(op.args[0])) is np.ndarray


def _refused(op: Op) -> bool:
    op.callee, op.syntax = Const(refusal_of(op, in_place=True)), False
    return True


def _copied(op: Op) -> bool:
    if op.kwnames or len(op.args) != 2 or not _fits(op.args[0], operand_type(op.args[1])):
        return False
    _store(op, *op.args)
    return True


def _filled(op: Op) -> bool:
    array = len(op.args) != 2 or isinstance(operand_type(op.args[1]), T.ArrayOf)
    return not array and _copied(op)


class _Diagonal(PureFunction):
    """Called with a matrix: the index of its diagonal."""

    __name__ = "diagonal_index"

    def __call__(self, matrix: Any) -> tuple[Any, Any]:
        at = np.arange(min(matrix.shape))
        return at, at

    def result_type(self, args: Any) -> T.Type:
        return T.TupleOf((T.ArrayOf(np.dtype(np.intp), (None,)),) * 2)


class _Along(PureFunction):
    """Called with a matrix and a vector: which elements of the vector its diagonal gets, from the beginning
    again where there are too few."""

    __name__ = "along_diagonal"

    def __call__(self, matrix: Any, vector: Any) -> Any:
        return np.arange(min(matrix.shape)) % vector.size

    def result_type(self, args: Any) -> T.Type:
        return T.ArrayOf(np.dtype(np.intp), (None,))


callable_objects(fact(raises=False), [_Diagonal])
callable_objects(fact(), [_Along])
_DIAGONAL, _ALONG = _Diagonal(), _Along()
ZERO_BY_RULE.update({_DIAGONAL, _ALONG})


def _filled_diagonal(block: Block, op: Op) -> bool:
    if op.kwnames or len(op.args) != 2:
        return False
    matrix, value = map(operand_type, op.args)
    if not _fits(op.args[0], value) or len(matrix.dims) != 2:  # type: ignore[attr-defined]
        return False
    if isinstance(value, T.ArrayOf) and len(value.dims) != 1:
        return False
    stored = op.args[1]
    index = _before(block, op, _DIAGONAL, op.args[0])
    if isinstance(value, T.ArrayOf):
        stored = _before(block, op, operator.getitem, stored, _before(block, op, _ALONG, *op.args))
    op.callee, op.args, op.syntax = Const(operator.setitem), [op.args[0], index, stored], True
    return True


def _before(block: Block, op: Op, fn: Any, *operands: Operand) -> Operand:
    made = _typed(op, fn, operands)
    block.ops.insert(block.ops.index(op), made)
    return made.result


def _typed(op: Op, fn: Any, operands: Sequence[Operand], kwnames: tuple[str, ...] = (), name: str = "") -> Op:
    """What computes something for `op`."""
    made = Op(Const(fn), [*operands], [Value(name)], kwnames, op.pos, fn is operator.getitem)
    made.result.type = infer_op(made)
    return made


def _sorted(block: Block, op: Op) -> bool:
    if not _fits(op.args[0], operand_type(op.args[0])):
        return False
    made = _typed(op, np.sort, op.args, op.kwnames)
    block.ops.insert(block.ops.index(op), made)
    _store(op, op.args[0], made.result)
    return True


def _stored_items(graph: Graph, block: Block, op: Op) -> bool:
    """A list or tuple of numbers, which NumPy makes an array."""
    value = op.args[2]
    if not is_of_floats(op.args[0]) or T.cls_of(operand_type(value)) not in (list, tuple):
        return False
    before = list[Op]()
    items = _as_tuple(value, block, uses(graph), before) if isinstance(value, Value) else value
    array = _typed(op, np.array, [items])
    if not _fits(op.args[0], operand_type(array.result)):
        return False
    at = block.ops.index(op)
    block.ops[at:at] = [*before, array]
    op.args = [*op.args[:2], array.result]
    return True


def _as_tuple(operand: Operand, block: Block, used: Mapping[Value, list[Use]], before: list[Op]) -> Operand:
    """A list display that is used only here as a tuple, which says how long it is; `before` gets the ops."""
    made = next((op for op in block.ops if operand in op.results), None)
    if made is None or made.fn not in (primitives.build_list, primitives.build_tuple):
        return operand
    if len(used[made.result]) > 1:
        return operand
    items = Op(Const(primitives.build_tuple), [], [Value()], (), made.pos, True)
    items.args = [_as_tuple(item, block, used, before) for item in made.args]
    items.result.type = T.TupleOf(tuple(map(operand_type, items.args)))
    before.append(items)
    return items.result


_SPELLED_BEFORE: dict[Any, Callable[[Block, Op], bool]] = {
    np.fill_diagonal: _filled_diagonal, np.ndarray.sort: _sorted,
}  # fmt: skip
_SPELLED: dict[Any, Callable[[Op], bool]] = {np.copyto: _copied, np.ndarray.fill: _filled}


def _without_out(block: Block, op: Op) -> Mapping[Value, Operand]:
    """Whose result it is."""
    out = out_of(op)
    if out is None or op.fn.nout != 1 or not _has_out_alone(op) or not is_of_floats(out):
        return {}
    made = Value(op.result.name)
    plain = Op(op.callee, op.args[: op.fn.nin], [made], (), op.pos)
    made.type = infer_op(plain)
    if not _fits(out, made.type):
        return {}
    result, op.results = op.result, [Value()]
    block.ops.insert(block.ops.index(op), plain)
    _store(op, out, made)
    return {result: out}


def _has_out_alone(op: Op) -> bool:
    return op.kwnames in ((), ("out",)) and len(op.args) == op.fn.nin + 1


def spell_out_products(graph: Graph, active: Container[Value]) -> bool:
    """x /= v, and x *= v where numbers may be infinite, with a factor v that is differentiated: as products,
    whose elements are used or not (`reverse/masks.py`), and stores. In place; whether anything is changed."""
    ops = [(block, op) for block, op in graph.ops() if op.fn in _PRODUCTS and op.args[1] in active]
    if not any(op.fn is operator.itruediv for _, op in ops) and not any(map(_is_unbounded, graph.ops())):
        return False
    made = [_as_product(block, op) for block, op in ops]
    return any(made)


_PRODUCTS = (operator.itruediv, operator.imul)


def _is_unbounded(at: tuple[Block, Op]) -> bool:
    row = row_for(at[1])
    return row is not None and any(row.unbounded)


def _as_product(block: Block, op: Op) -> bool:
    plain = _typed(op, INPLACE[op.fn], op.args, name=op.result.name)
    made = plain.result
    dtype = getattr(operand_type(op.args[0]), "dtype", None)
    if getattr(made.type, "dtype", None) != dtype or not _fits(op.args[0], made.type):
        return False
    block.ops.insert(block.ops.index(op), plain)
    _store(op, op.args[0], made)
    return True


def _store(op: Op, target: Operand, value: Operand) -> None:
    op.callee, op.args, op.kwnames = Const(operator.setitem), [target, Const(...), value], ()
    op.syntax = True


def _fits(target: Operand, stored: T.Type) -> bool:
    """Numbers of this type are stored into an array of floats, which has all their axes."""
    if not is_of_floats(target) or not can_hold(target, stored):
        return False
    array = operand_type(target)
    assert isinstance(array, T.ArrayOf)
    return not isinstance(stored, T.ArrayOf) or len(stored.dims) <= len(array.dims)


__all__ = ["spell_out_products", "spell_out_stores"]
