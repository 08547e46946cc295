"""Fold: what inference knows is put into the graph.

    values of a Known literal or callable      become constants, and their pure ops go
    branches on a Known condition              become jumps
    x.sum(axis=0), x an array                  np.ndarray.sum(x, axis=0): the class's function with x first
    x.area, a Python property                  its getter called with x
    getitem(build_tuple(a, b), 1)              b;  likewise unpack
    f(*(a, b))                                 f(a, b)
    1.0 * x, x / 1.0, -(-x), ...               x, where that is exact (`passes.strength`)

Invariant: nothing changes that `inference.guards` does not vouch for; `fold` adds the guards it needs to
them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any as Anything

import numpy as np

from ctxdispatch.facts import INPLACE
from ctxdispatch.ir import primitives as prim
from ctxdispatch.ir.graph import Block, Branch, Edge, Graph, Jump, Op
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import effects, named_tuples, python_types, resolve
from ctxdispatch.passes.expected import Unexpected
from ctxdispatch.passes.held import MAX_POSITIONS
from ctxdispatch.passes.infer import Inference
from ctxdispatch.passes.strength import strengthen
from ctxdispatch.passes.types import Any, Bound, Known, TupleOf, Type, cls_of, is_literal, operand_type


def fold(graph: Graph, inference: Inference, *, wraps: bool = False) -> Graph:
    """In place. `ir.prune` and `passes.dce` sweep up afterwards. `wraps`: an int stands for whole numbers of
    any dtype, of which -a + b need not be b - a."""
    folder = _Folder(graph, inference, wraps)
    tests = [(op, op.args) for _, op in graph.ops() if isinstance(op.fn, Unexpected)]
    for block in graph.blocks:
        if block in inference.reachable:
            folder.block(block)
    substitute(graph, folder.replaced)
    for op, args in tests:
        if args[0] in folder.tested:
            op.args = args  # it tests whether the value is that constant
    return graph


class _Folder:
    def __init__(self, graph: Graph, inference: Inference, wraps: bool) -> None:
        self.graph, self.wraps = graph, wraps
        self.inference = inference
        self.replaced: dict[Value, Operand] = {}
        self.tested: set[Operand] = set()
        self.maker: dict[Value, Op] = {}
        self.settled: dict[Value, Op] = {}  # of `maker`: what they read has not changed since
        self.writes = any(effects.writes(op) for _, op in graph.ops())

    def block(self, block: Block) -> None:
        for param in block.params:
            if block is not self.graph.entry or _is_function(param.type):
                self._constant(param)
        self.tested.update(block.params)
        kept = []
        for op in block.ops:
            if not self._op(op):
                kept.append(op)
                self.tested.update(op.results if op.tested else ())
            self.maker.update(dict.fromkeys(op.results, op))
            if not self.writes or all(effects.immutable(operand_type(a)) for a in op.args):
                self.settled.update(dict.fromkeys(op.results, op))
        block.ops = kept
        self._branch(block)

    def _branch(self, block: Block) -> None:
        terminator = block.terminator
        if isinstance(terminator, Branch):
            truth = python_types.truth(operand_type(terminator.cond))
            if truth is not None:
                block.terminator = Jump(terminator.then if truth else terminator.orelse, terminator.pos)
            elif _same_edge(terminator.then, terminator.orelse):
                block.terminator = Jump(terminator.then, terminator.pos)

    def current(self, operand: Operand) -> Operand:
        while isinstance(operand, Value) and operand in self.replaced:
            operand = self.replaced[operand]
        return operand

    # -- ops: True where the op goes -------------------------------------------------------------------------

    def _op(self, op: Op) -> bool:
        removable = effects.removable(op)
        constant = [self._constant(r) for r in op.results]
        if removable and constant and all(constant):
            return True
        if op.callee in self.replaced:
            op.callee = self.current(op.callee)
        op.args = [self.current(a) for a in op.args]
        self._spread(op)
        self._unbind(op)
        self._out_of_place(op)
        if self._forward(op):
            return True
        whole = self.wraps and any(cls_of(operand_type(a)) is int for a in op.args)
        same = None if whole else strengthen(op, self.settled)
        if same is not None:
            self.replaced[op.result] = same
        return same is not None

    def _constant(self, value: Value) -> bool:
        """Have every use of `value` see the constant it is."""
        constant = constant_of(value.type) if value not in self.inference.maybe_unbound else None
        if constant is not None:
            self.replaced[value] = constant
        return constant is not None

    def _out_of_place(self, op: Op) -> None:
        """x += 1 of a number. Where it raises, the message would tell the difference."""
        plain = hashable(op.fn) and INPLACE.get(op.fn)
        if plain and effects.immutable(operand_type(op.args[0])) and op.result.type is not Any:
            op.callee = Const(plain)

    def _spread(self, op: Op) -> None:
        """f(*args) where the arguments are known one by one."""
        if op.fn is not prim.call_ex or len(op.args) != 2:
            return
        args = self._items(op.args[1])
        if args is not None:
            op.callee, op.args, op.syntax = op.args[0], list(args), False

    def _unbind(self, op: Op) -> None:
        """A method call becomes the call of the class's function; a property its getter's."""
        maker = self.maker.get(op.callee) if isinstance(op.callee, Value) else None
        if maker in self.inference.promised:
            maker = None  # whoever made the promise keeps it
        if maker is not None and maker.fn in _BINDS and isinstance(op.callee.type, Bound):
            op.args.insert(0, maker.args[0])
            op.callee, op.syntax = Const(op.callee.type.function), False
        if op.fn is getattr and len(op.args) == 2 and isinstance(op.args[1], Const):
            self._unproperty(op, op.args[1].value)

    def _unproperty(self, op: Op, name: str) -> None:
        found = resolve.property_getter(operand_type(op.args[0]), name)
        if found is not None:
            op.callee, op.args, op.syntax = Const(found[0]), op.args[:1], False
            self.inference.guards.append(found[1])

    # -- tuples that are taken apart again -------------------------------------------------------------------

    def _forward(self, op: Op) -> bool:
        rule = _FORWARD.get(op.fn) if hashable(op.fn) else None
        found = rule(self, op) if rule is not None else None
        if found is not None:
            self.replaced.update(zip(op.results, found))
        return found is not None

    def _items(self, operand: Operand) -> list[Operand] | None:
        """The items of a tuple made in this graph, or of a constant one."""
        if isinstance(operand, Const):
            return [Const(v) for v in operand.value] if type(operand.value) is tuple else None
        maker = self.maker.get(operand)
        if maker is not None and maker.fn is tuple.__new__ and named_tuples.names_of(_class_made(maker)):
            return self._items(self.current(maker.args[1]))
        return (
            list(map(self.current, maker.args))
            if maker is not None and maker.fn is prim.build_tuple
            else None
        )


def _forward_item(folder: _Folder, op: Op) -> list[Operand] | None:
    items = folder._items(op.args[0])
    index = op.args[1].value if isinstance(op.args[1], Const) else None
    if items is None or type(index) is not int or not -len(items) <= index < len(items):
        return None
    return [items[index]]


def _forward_field(folder: _Folder, op: Op) -> list[Operand] | None:
    """Of a named tuple that is made here."""
    maker = folder.maker.get(op.args[0]) if isinstance(op.args[0], Value) else None
    if maker is None or maker.fn is not tuple.__new__ or len(op.args) != 2:
        return None
    names, name = named_tuples.names_of(_class_made(maker)), op.args[1]
    items = folder._items(op.args[0])
    if items is None or not isinstance(name, Const) or name.value not in names:
        return None
    return [items[names.index(name.value)]]


def _class_made(maker: Op) -> Anything:
    return maker.args[0].value if isinstance(maker.args[0], Const) else None


def _forward_unpack(folder: _Folder, op: Op) -> list[Operand] | None:
    items = folder._items(op.args[0])
    return items if items is not None and len(items) == len(op.results) else None


def _forward_tuple(folder: _Folder, op: Op) -> list[Operand] | None:
    """tuple(t) is t; tuple(range(2)) is (0, 1)."""
    alike = len(op.args) == 1 and isinstance(operand_type(op.args[0]), TupleOf)
    made = folder.maker.get(op.args[0]) if len(op.args) == 1 and isinstance(op.args[0], Value) else None
    if made is None or made.fn is not range or not all(isinstance(a, Const) for a in made.args):
        return [op.args[0]] if alike else None
    known = python_types.range_of([a.value for a in made.args])  # type: ignore[union-attr]
    return [Const(tuple(known))] if known is not None and len(known) <= MAX_POSITIONS else None


def _forward_bool(folder: _Folder, op: Op) -> list[Operand] | None:
    """bool(b) is b."""
    return [op.args[0]] if len(op.args) == 1 and cls_of(operand_type(op.args[0])) is bool else None


_BINDS = (getattr, prim.special_method)

_FORWARD: dict[Anything, Callable[[_Folder, Op], list[Operand] | None]] = {
    operator.getitem: _forward_item,
    prim.unpack: _forward_unpack,
    getattr: _forward_field,
    tuple: _forward_tuple,
    bool: _forward_bool,
}


# -- constants -----------------------------------------------------------------------------------------------


def constant_of(type_: Type | None) -> Const | None:
    """The constant that stands for every value of this type: a literal, a part of a program, a tuple of
    them."""
    value = python_types.known(type_) if type_ is not None else python_types.UNKNOWN
    return Const(value) if value is not python_types.UNKNOWN and _may_be_constant(value) else None


def _may_be_constant(value: Anything) -> bool:
    if type(value) is tuple:
        return all(map(_may_be_constant, value))
    return is_literal(value) or resolve.is_code(value) or isinstance(value, (slice, np.dtype, np.generic))


def _is_function(type_: Type | None) -> bool:
    """An argument that the program calls: what data are, it may test."""
    return isinstance(type_, Known) and resolve.is_code(type_.value)


def _same_edge(a: Edge, b: Edge) -> bool:
    return a.target is b.target and len(a.args) == len(b.args) and all(map(_same_operand, a.args, b.args))


def _same_operand(a: Operand, b: Operand) -> bool:
    if isinstance(a, Const) and isinstance(b, Const):
        return a.value is b.value or Known(a.value) == Known(b.value)
    return a is b
