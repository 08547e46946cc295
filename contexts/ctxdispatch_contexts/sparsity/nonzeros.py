"""Compressed derivatives at their nonzeros alone.

The seeds of a compressed Jacobian are zero almost everywhere, and a program is linear in its tangents: it
multiplies blocks of them by arrays, adds and moves them. Where each block has its nonzeros is known once the
seeds are, so the program runs on these instead of on blocks:

    block          places in it, and a vector of what stands there: constant, or computed at each call
    block * a      the vector times a at the places
    block + block  both
    moved          the same vector at other places (of what moves, an array of numbers of places tells)

This is vertex elimination restricted to tangents (Griewank, Walther: "Evaluating Derivatives", 2008, chapter
7: sparse forward mode), with all index work done beforehand. What is not of these forms stays dense.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ctxdispatch.ir.graph import Graph, Op, Return
from ctxdispatch.ir.rewrite import clone, substitute, uses
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch_contexts.programs.changes import out_of
from ctxdispatch_contexts.programs.staging import READS, Online, are_static, has_static_operands, is_quiet
from ctxdispatch_contexts.sparsity.nonzero_forms import (
    COMPUTE,
    DATA,
    FORMS,
    MOVERS,
    Dense,
    Nonzeros,
    moved,
    nonzeros_of,
)

KEYWORDS = frozenset({"axis", "dtype", "casting"})
"""Of functions that move elements: these do not say what else there is in the result."""

MOST_TERMS = 32
"""Of one block."""


class ShapesChanged(Exception):
    """An array is of another shape than when the places were found."""


# -- at run time ---------------------------------------------------------------------------------------------


def flat(array: Any, shape: tuple[int, ...]) -> Any:
    check_shape(array, shape)
    return array.reshape(-1)


def check_shape(array: Any, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ShapesChanged


# -- the rewriting -------------------------------------------------------------------------------------------


def at_nonzeros(online: Online, size: int, places: Any) -> Any:
    """(*args, *kept) -> the entries of the block of that size that the program returns, at the flat `places`;
    None where that has no sparse form. It raises ShapesChanged where something that is no argument has
    another shape than now; the arguments' shapes the caller looks at."""
    graph = clone(online.graph)
    if len(graph.blocks) != 1 or not isinstance(graph.entry.terminator, Return):
        return None
    try:
        rewriting = Rewriting(graph, online)
        rewriting.run()
        block = rewriting.result
        if not isinstance(block, np.ndarray) or block.size != size:
            return None
        rewriting.close(places)
    except Dense:
        return None
    found = online.function(graph)
    expected = block.reshape(-1)[places]
    try:
        same = np.allclose(found(*online.args, *online.kept), expected, 1e-9, equal_nan=True)
    except ShapesChanged:
        return None
    return found if same else None


class Rewriting:
    """`sparse`: the blocks, and tuples of them; `fixed`: values that are the same at each call. All values
    are also computed as they are, for the arguments given: for their shapes."""

    def __init__(self, graph: Graph, online: Online) -> None:
        self.graph = graph
        given, kept = graph.entry.params[: len(online.args)], graph.entry.params[len(online.args) :]
        self.env: dict[Value, Any] = dict(zip(given, online.args, strict=True))
        self.env |= dict(zip(kept, online.kept, strict=True)) | dict(zip(graph.cells, online.cells))
        self.fixed: set[Value] = set(kept)
        self.sparse: dict[Operand, Any] = {
            p: nonzeros_of(self.env[p])
            for p, made in zip(kept, online.made, strict=True)
            if made and isinstance(self.env[p], np.ndarray)
        }
        self.ops: list[Op] = []
        self.flats: dict[Any, Value] = {}
        self.picks: dict[Any, Operand] = {}
        self.used = uses(graph)

    def run(self) -> None:
        for op in self.graph.entry.ops:
            self._evaluate(op)
            if any(a in self.sparse for a in op.args):
                self._reform(op)
            elif op.result not in self.fixed:
                self.ops.append(op)
                self._check_shape(op)

    def _evaluate(self, op: Op) -> None:
        n = len(op.args) - len(op.kwnames)
        args = [self.concrete(a) for a in op.args]
        if len(op.results) != 1 or not (is_quiet(op) or _only_computes(op, args)):
            raise Dense  # nothing may be done twice
        self.env[op.result] = op.fn(*args[:n], **dict(zip(op.kwnames, args[n:], strict=True)))
        if has_static_operands(op, self.fixed):
            self.fixed.add(op.result)

    def _check_shape(self, op: Op) -> None:
        """Where an array comes from that is no argument: another may be there at the next call."""
        found = self.env[op.result]
        given = op.fn in READS or not all(_is_plain(self.concrete(a)) for a in op.args)
        if isinstance(found, np.ndarray) and given:
            self.emit(check_shape, op.result, found.shape)

    def concrete(self, operand: Operand) -> Any:
        return operand.value if isinstance(operand, Const) else self.env[operand]

    @property
    def result(self) -> Any:
        """What the program as it was returns, for the arguments given."""
        return self.concrete(self._returned())

    def _returned(self) -> Operand:
        terminator = self.graph.entry.terminator
        assert isinstance(terminator, Return)
        return terminator.value

    def _reform(self, op: Op) -> None:
        form = FORMS.get(op.fn) if hashable(op.fn) else None
        if form is None or (op.kwnames and not (op.fn in MOVERS and KEYWORDS.issuperset(op.kwnames))):
            raise Dense
        found = form(self, op)
        if isinstance(found, Nonzeros):
            if found.shape != np.shape(self.env[op.result]) or len(found.terms) > MOST_TERMS:
                raise Dense
            self.sparse[op.result] = found
        elif isinstance(found, tuple):
            self.sparse[op.result] = found

    def block(self, operand: Operand) -> Nonzeros:
        found = self.sparse.get(operand)
        if not isinstance(found, Nonzeros):
            raise Dense
        return found

    def others(self, op: Op, first: int) -> list[Any]:
        """The arguments from the first-th on, which must be the same at each call."""
        args = op.args[first:]
        if not are_static(args, self.fixed) or any(a in self.sparse for a in args):
            raise Dense
        return [self.concrete(a) for a in args]

    def emit(self, callee: Any, *args: Any) -> Value:
        result = Value()
        operands = [a if isinstance(a, (Value, Const)) else Const(a) for a in args]
        self.ops.append(Op(Const(callee), operands, [result], (), None, True))
        return result

    def pick(self, operand: Operand, at: Any, shape: tuple[int, ...]) -> Operand:
        """The values of an operand, broadcast to `shape`, at flat places."""
        value = self.concrete(operand)
        if np.ndim(value) == 0:
            return operand
        key = (operand, value.shape, shape, at.tobytes())
        if key not in self.picks:
            where = np.broadcast_to(np.arange(value.size).reshape(value.shape), shape).reshape(-1)[at]
            if operand not in self.flats:
                self.flats[operand] = self.emit(flat, operand, value.shape)
            self.picks[key] = self.taken(self.flats[operand], where, value.size)
        return self.picks[key]

    def taken(self, vector: Any, where: Any, size: int) -> Any:
        """vector[where], of a vector of that size."""
        if isinstance(vector, np.ndarray):
            return vector[where]
        if len(where) and np.array_equal(where, np.arange(where[0], where[0] + len(where))):
            whole = where[0] == 0 and len(where) == size
            part = slice(int(where[0]), int(where[0]) + len(where))
            return vector if whole else self.emit(operator.getitem, vector, part)
        return self.emit(np.ndarray.take, vector, where)

    # -- the result ------------------------------------------------------------------------------------------

    def close(self, places: Any) -> None:
        """Return a vector of the entries at `places`."""
        entries = moved(self, [self.block(self._returned())], lambda numbers: numbers.reshape(-1)[places])
        constant, stores = np.zeros(len(places), np.result_type(self.result)), []
        for term in entries.terms:
            if term.is_constant:
                constant[term.at] += term.values
            elif len(term.at):
                stores.append(term)
        times = sum((np.bincount(t.at, minlength=len(places)) for t in stores), start=np.zeros(1))
        data = self.emit(np.ndarray.copy, constant)
        for term in stores:
            values, before = term.values, constant[term.at]
            if (times[term.at] > 1).any():
                before = self.emit(operator.getitem, data, term.at)
            if isinstance(before, Value) or before.any():
                values = self.emit(operator.add, values, before)
            self.emit(operator.setitem, data, term.at, values)
        self.graph.entry.ops = _needed(self.ops, data)
        self.graph.entry.terminator = Return(data)
        params = self.graph.entry.params
        substitute(self.graph, {v: Const(self.env[v]) for v in self.fixed if v not in params})


def _only_computes(op: Op, args: list[Any]) -> bool:
    """A function that has no effect on arguments like these, whatever is known of them beforehand."""
    if out_of(op) is not None:
        return False
    return hashable(op.fn) and op.fn in COMPUTE and all(_is_plain(a) or callable(a) for a in args)


def _is_plain(value: Any) -> bool:
    return type(value) in DATA or (type(value) in (list, tuple) and all(map(_is_plain, value)))


def _needed(ops: list[Op], data: Value) -> list[Op]:
    """The ops that `data` is made with, and the checks of shapes. The others change nothing; what they raise
    for arrays of these shapes they have raised before."""
    needed: set[Operand] = {data}
    found = []
    for op in reversed(ops):
        stores = op.fn is operator.setitem and op.args[0] is data
        if op.result in needed or stores or op.fn is check_shape:
            needed.update(op.operands())
            found.append(op)
    return found[::-1]
