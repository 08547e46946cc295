"""What a kernel does not compute: reads of variables and attributes, done once, before it.

    f(%x):  %s = load_global(.., 'SCALE'); %y = mul(%x, %s)

    host    %s = load_global(.., 'SCALE'); return kernel(%x, %s)
    kernel  (%x, %s): %y = multiply(%x, %s)

So numbers that a function captures, reads off an object, or finds in a variable are operands like any other,
of no dimension: they have derivatives, and may change from call to call.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import CellType
from typing import Any

import numpy as np

from ctxdispatch.ir import primitives
from ctxdispatch.ir.analysis import dominators, reverse_postorder
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.rewrite import uses
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import effects
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.broadcast.errors import KernelError, is_display, no_number, refuse
from ctxdispatch_contexts.broadcast.instructions import instruction
from ctxdispatch_contexts.broadcast.scalars import result_of
from ctxdispatch_contexts.forward import DualContext
from ctxdispatch_contexts.programs.assigned import is_empty
from ctxdispatch_contexts.programs.errors import described
from ctxdispatch_contexts.programs.operands import infer_op, leaf_class
from ctxdispatch_contexts.programs.targets import read_method


@dataclass
class Hoisted:
    """`ops` run before the kernel; `operands` are what it takes, in the order of its parameters."""

    ops: list[Op]
    operands: list[Value]


def hoist(graph: Graph, structs: Mapping[Value, np.dtype[Any]], cells: Mapping[Value, CellType]) -> Hoisted:
    """Take out of `graph`, in place, what is no instruction. Its parameters are then the operands. Fields of
    structured arrays are arrays. `cells`: of the variables of functions around it."""
    params = list(graph.params)
    for _, op in graph.ops():
        dtype = structs.get(op.args[0]) if op.fn in (operator.getitem, getattr) else None  # type: ignore[arg-type]
        if dtype is not None:
            op.result.type = _field_type(op, dtype)
    outside = _Outside(graph, structs, {v for v, cell in cells.items() if not is_empty(cell)})
    read = {v for v, places in uses(graph).items() if places}
    elements = [p for p in params if numeric(operand_type(p))]  # the shape is that of all, read or not
    operands = [*elements, *(v for v in [*params, *outside.values] if v in read and v not in elements)]
    for value in operands:
        _check_number(value, outside)
    graph.entry.params = list(operands)
    return Hoisted(_needed(outside.ops, operands), operands)


def _needed(ops: Sequence[Op], operands: Sequence[Value]) -> list[Op]:
    """Of `ops` those that the operands are made by, and those that check what is taken for granted."""
    read: set[Operand] = set(operands)
    kept = []
    for op in reversed(ops):
        if op.fn is read_method or not read.isdisjoint(op.results):
            kept.append(op)
            read.update(op.operands())
    return kept[::-1]


def _field_type(op: Op, dtype: np.dtype[Any]) -> T.Type:
    name = op.args[1].value if isinstance(op.args[1], Const) else None
    if name not in (dtype.names or ()):
        raise refuse(
            op,
            f"an element has the fields {', '.join(dtype.names or ())}, and {name!r} "
            "is none; read one of these",
        )
    return T.Exact(dtype[name].type)


class _Outside:
    """The ops that are no instructions, removed from the graph, in an order in which they can run."""

    def __init__(self, graph: Graph, structs: Mapping[Value, np.dtype[Any]], bound: set[Value]) -> None:
        """`bound`: variables of functions around it that are there to be read."""
        self.structs, self.bound = structs, bound
        self.ops: list[Op] = []
        self.values: dict[Value, Op] = {}
        available: set[Operand] = {p for p in graph.params if not numeric(operand_type(p))} | {*graph.cells}
        tree, (end, _) = dominators(graph), result_of(graph)
        for block in reverse_postorder(graph):
            kept = []
            for op in block.ops:
                if is_kernel_op(op):
                    kept.append(op)
                    continue
                self._take(op, available, tree.dominates(block, end))
                available.update(op.results)
            block.ops = kept

    def _take(self, op: Op, available: set[Operand], always: bool) -> None:
        """`always`: the op is on every path."""
        known = all(a in available for a in op.operands() if isinstance(a, Value))
        field = op.fn in (operator.getitem, getattr) and op.args[0] in self.structs
        if not known or not (field or op.fn is read_method or _is_reading(op)):
            raise _no_instruction(op)
        there = op.fn is primitives.cell_get and op.args[0] in self.bound
        if not (field or there or always or op.fn is read_method or effects.removable(op)):
            what = "an item of an array" if op.fn is operator.getitem else described(op.fn)
            raise refuse(
                op, f"{what} that may not be there is read on some paths only; read it into a variable before"
            )
        self.ops.append(op)
        self.values.update(dict.fromkeys(op.results, op))


def is_kernel_op(op: Op) -> bool:
    if op.fn is primitives.build_tuple:
        return True  # the outputs
    return instruction(op.fn) is not None and not op.kwnames


def _is_reading(op: Op) -> bool:
    """It has no effect, and gives the same wherever it stands."""
    for result in op.results:
        if result.type in (None, T.Any) and hashable(op.fn):
            result.type = infer_op(op)
    return effects.op_is_pure(op)


def _no_instruction(op: Op) -> KernelError:
    if op.fn is getattr and isinstance(op.args[1], Const):
        return refuse(op, f"the attribute {op.args[1].value!r} cannot be read in a kernel; read it before")
    if op.fn is None:
        return refuse(op, "a kernel calls functions that are known before it runs; this one is not")
    if hashable(op.fn) and DualContext.ad_ruled(op.fn):
        return refuse(
            op, f"{described(op.fn)} has a derivative rule of its own, which kernels do not follow; call it "
            "on the arrays, before or after"
        )  # fmt: skip
    if is_display(op):
        return no_number(op)
    message = _of_variables(op)
    if message is not None:
        return refuse(op, message)
    what = "an item of this" if op.fn is operator.getitem else described(op.fn)
    spelled = "" if not op.kwnames else f" with the keywords {', '.join(op.kwnames)}"
    return refuse(
        op, f"{what}{spelled} cannot be part of a kernel, which computes with numbers; "
        "do it before or after, on the arrays"
    )  # fmt: skip


def _of_variables(op: Op) -> str | None:
    name = op.args[1].value if len(op.args) > 1 and isinstance(op.args[1], Const) else None
    if op.fn is primitives.load_global:
        return f"the name {name!r} is not defined, or is no number, array or function"
    if op.fn in (primitives.store_global, primitives.delete_global):
        return f"a kernel does not assign to the global variable {name!r}; return what it is to be"
    if op.fn in (primitives.cell_set, primitives.cell_delete):
        variable = getattr(op.args[0], "name", "") or "a variable"
        return f"a kernel does not assign to {variable!r} of the function around it; return what it is to be"
    return None


def _check_number(value: Value, outside: _Outside) -> None:
    if numeric(operand_type(value)):
        return
    op = outside.values.get(value)
    fields = outside.structs.get(value)
    if fields is not None:
        raise KernelError(
            f"{value.name!r} has dtype {fields}, and a kernel computes with numbers; read its fields, "
            f"as in {value.name}[{(fields.names or ('',))[0]!r}]"
        )
    what = T.cls_of(operand_type(value))
    kind = "of a type that is not known beforehand" if what is None else f"a {what.__name__}"
    found = f"{value.name!r} is {kind}" if value.name else f"is {kind}"
    if op is None:
        raise KernelError(
            f"a kernel computes with numbers, and {found}; pass an array of numbers, or a number"
        )
    raise refuse(
        op,
        f"a kernel computes with numbers, and {found}; pass it as an argument of broadcast, or compute with "
        "it before",
    )


def numeric(type_: T.Type) -> bool:
    """A real number."""
    cls = leaf_class(T.widen(type_))
    return cls is not None and cls.__name__ != "ndarray" and not issubclass(cls, complex)


def kind_of(type_: T.Type) -> type:
    """float, int or bool."""
    cls = leaf_class(T.widen(type_))
    assert cls is not None
    if issubclass(cls, (bool, np.bool_)):
        return bool
    return int if issubclass(cls, (int, np.integer)) else float
