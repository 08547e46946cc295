"""Tests of types as IR: what the entry of a specialised function asks of its arguments."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Branch, Edge, Graph, Iterate, Jump, Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.held import longest
from ctxdispatch.passes.resolve import class_attribute
from ctxdispatch_contexts.programs.sizes import LIMIT, Counted, OfDevice, Sized


class Tests:
    """Appends one test after another; whichever fails goes to `miss`."""

    def __init__(self, graph: Graph, entry: Block, miss: Block) -> None:
        self.graph, self.block, self.miss = graph, entry, miss
        self.same: set[tuple[int, tuple[str, ...]]] = set()  # names known to mean what they meant
        self.blocks = [entry]

    def op(self, fn: Any, *args: Operand, syntax: bool = True) -> Value:
        result = Value()
        self.block.ops.append(Op(Const(fn), list(args), [result], (), None, syntax))
        return result

    def require(self, cond: Operand) -> None:
        following = self._new_block()
        self.block.terminator = Branch(cond, Edge(following), Edge(self.miss))
        self.block = following

    def _new_block(self) -> Block:
        block = self.graph.new_block()
        self.blocks.append(block)
        return block

    def is_(self, a: Operand, value: Any) -> None:
        self.require(self.op(operator.is_, a, Const(value)))

    def equal(self, a: Operand, value: Any) -> None:
        self.require(self.op(operator.eq, a, Const(value)))

    def attribute(self, a: Operand, name: str) -> Value:
        return self.op(getattr, a, Const(name))

    def each(self, items: Operand, test: Callable[[Value], None]) -> None:
        """`test` what is in a sequence, one after the other."""
        iterator = self.op(iter, items, syntax=False)
        header, body, after = (self._new_block() for _ in range(3))
        self.block.terminator = Jump(Edge(header))
        item = Value()
        body.params = [item]
        header.terminator = Iterate(iterator, Edge(body), Edge(after))
        self.block = body
        test(item)
        self.block.terminator = Jump(Edge(header))
        self.block = after


def check_type(tests: Tests, a: Operand, type_: T.Type) -> None:
    """Append the tests that `a` is of this type. Any, and what `guardable` leaves out, needs none."""
    match type_:
        case T.Known(str() as value):
            tests.is_(tests.op(type, a, syntax=False), str)
            tests.equal(a, value)
        case T.Known(value):
            tests.is_(a, value)
        case T.Exact(cls):
            tests.is_(tests.op(type, a, syntax=False), cls)
        case T.Held():
            _check_held(tests, a, type_)
        case T.ArrayOf(dtype, dims):
            _check_array(tests, a, dtype, dims)
        case OfDevice(cls, dtype):
            tests.is_(tests.op(type, a, syntax=False), cls)
            tests.equal(tests.attribute(a, "dtype"), dtype)
        case Sized(array, large):
            check_type(tests, a, array)
            size = tests.attribute(a, "size")
            tests.require(tests.op(operator.ge if large else operator.lt, size, Const(LIMIT)))
        case Counted(array, count):
            check_type(tests, a, array)
            tests.equal(tests.op(len, a, syntax=False), count)
        case T.TupleOf(items):
            tests.is_(tests.op(type, a, syntax=False), tuple)
            tests.equal(tests.op(len, a, syntax=False), len(items))
            for i, item in enumerate(items):
                if item is not T.Any:
                    check_type(tests, tests.op(operator.getitem, a, Const(i)), item)


def _check_array(tests: Tests, a: Operand, dtype: Any, dims: tuple[bool | None, ...]) -> None:
    tests.is_(tests.op(type, a, syntax=False), np.ndarray)
    if dtype is np.dtype(dtype.char):
        tests.is_(tests.attribute(a, "dtype"), dtype)
    else:  # of another byte order, with fields, ...: there is a new object each time
        tests.equal(tests.attribute(a, "dtype"), dtype)
    if all(one is None for one in dims):
        tests.equal(tests.attribute(a, "ndim"), len(dims))
        return
    if dims == (False,):  # cheaper than the shape
        tests.equal(tests.attribute(a, "ndim"), 1)
        tests.require(tests.op(operator.ne, tests.op(len, a, syntax=False), Const(1)))
        return
    shape = tests.attribute(a, "shape")
    tests.equal(tests.op(len, shape, syntax=False), len(dims))
    if all(one is False for one in dims):
        tests.require(tests.op(primitives.not_contains, shape, Const(1)))
        return
    for i, one in enumerate(dims):
        if one is not None:
            length = tests.op(operator.getitem, shape, Const(i))
            tests.require(tests.op(operator.eq if one else operator.ne, length, Const(1)))


def _check_held(tests: Tests, a: Operand, type_: T.Held) -> None:
    """What an object, a dict, a named tuple or a list holds."""
    tests.is_(tests.op(type, a, syntax=False), type_.cls)
    if type_.item is not None:
        size = tests.op(len, a, syntax=False)
        tests.require(tests.op(operator.le, size, Const(longest(type_.item))))
        if type_.item is not T.Any:
            tests.each(a, lambda item: check_type(tests, item, type_.item or T.Any))
        return
    if type_.cls is list:
        tests.equal(tests.op(len, a, syntax=False), len(type_.fields))
    if type_.whole:
        tests.equal(tests.op(tuple, a, syntax=False), tuple(name for name, _ in type_.fields))
    for name, held in type_.fields:
        if held is T.Unset:
            own = tests.attribute(a, "__dict__")
            tests.is_(tests.op(dict.__contains__, own, Const(name), syntax=False), False)
            continue
        if held is not T.Any or not (type_.whole or type_.cls is list):
            check_type(tests, _field(tests, a, type_.cls, name), held)


def _field(tests: Tests, a: Operand, cls: type, name: str | int) -> Value:
    """What the object itself holds under that name; where there is no such thing the test raises, and fails.
    An attribute of the object is read as such where the class has nothing to say on it."""
    if cls in (dict, list):
        return tests.op(operator.getitem, a, Const(name))
    silent = class_attribute(cls, name) is None and class_attribute(cls, "__getattr__") is None
    if issubclass(cls, tuple) or silent:
        return tests.attribute(a, name)
    return tests.op(operator.getitem, tests.attribute(a, "__dict__"), Const(name))
