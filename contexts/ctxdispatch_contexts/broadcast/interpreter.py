"""The reference back end: a lowered kernel, block by block, on arrays of those elements that are there.

Elements wait at blocks. The first block, in reverse postorder, at which any wait is run on these and passes
them on: so a loop goes on until none is left in it. Nothing is computed for elements that do not get there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ctxdispatch.ir.analysis import reverse_postorder
from ctxdispatch.ir.graph import Block, Branch, Edge, Jump, Op
from ctxdispatch.ir.values import Operand, Value
from ctxdispatch_contexts.broadcast.instructions import ANY, CAST, SELECT
from ctxdispatch_contexts.broadcast.lowering import Lowered

Array = Any


def interpret(lowered: Lowered, operands: Sequence[Array], n: int) -> list[Array]:
    """The outputs as flat arrays of n elements; so are the operands, of the dtypes of the parameters."""
    run = _Run(lowered, n)
    with np.errstate(all="ignore"):
        return run.outputs(operands)


class _Run:
    def __init__(self, lowered: Lowered, n: int) -> None:
        self.lowered, self.n = lowered, n
        self.env: dict[Value, Array] = {}
        self.waiting: dict[Block, Array] = {}

    def outputs(self, operands: Sequence[Array]) -> list[Array]:
        graph = self.lowered.graph
        every = np.arange(self.n)
        self.env.update(zip(graph.params, operands, strict=True))
        order = reverse_postorder(graph)
        self.waiting[graph.entry] = every
        if not self.n:
            return [np.zeros(0, dtype) for dtype in self.lowered.results]
        while self.waiting:
            block = next(b for b in order if b in self.waiting)
            self._block(block, self.waiting.pop(block))
        return [np.array(self.read(y, every)) for y in self.lowered.outputs]

    def read(self, operand: Operand, at: Array) -> Array:
        if isinstance(operand, Value):
            return self.env[operand][at]
        return np.broadcast_to(operand.value, at.shape)

    def write(self, value: Value, at: Array, what: Array) -> None:
        if value not in self.env:
            self.env[value] = np.zeros(self.n, value.type)
        self.env[value][at] = what

    def _block(self, block: Block, at: Array) -> None:
        for op in block.ops:
            self.write(op.result, at, evaluate(op, [self.read(a, at) for a in op.args]))
        terminator = block.terminator
        if isinstance(terminator, Jump):
            self._pass(terminator.edge, at)
        elif isinstance(terminator, Branch):
            taken = self.read(terminator.cond, at)
            self._pass(terminator.then, at[taken])
            self._pass(terminator.orelse, at[~taken])

    def _pass(self, edge: Edge, at: Array) -> None:
        if not at.size:
            return
        arguments = [self.read(a, at) for a in edge.args]
        for param, argument in zip(edge.target.params, arguments, strict=True):
            self.write(param, at, argument)
        before = self.waiting.get(edge.target)
        self.waiting[edge.target] = at if before is None else np.concatenate([before, at])


def evaluate(op: Op, args: Sequence[Array]) -> Array:
    """What `op` is, on arrays."""
    if op.fn is SELECT:
        return np.where(*args)
    if op.fn is ANY:  # elements are run one by one, as far as anyone can tell
        return args[0]
    if op.fn is CAST:
        return cast(args[0], op.result.type)
    if type(op.fn) is np.ufunc:
        return op.fn(*args)
    return special(op.fn.name)(*args).astype(op.result.type)


def cast(x: Array, dtype: np.dtype[Any]) -> Array:
    """`x` in that dtype. Floats that do not fit become the nearest whole number that does, and nan 0."""
    if x.dtype.kind != "f" or dtype.kind not in "iu":
        return x.astype(dtype)
    info = np.iinfo(dtype)
    whole = np.trunc(x.astype(np.float64))
    above, below = whole >= float(info.max + 1), whole < float(info.min)  # both ends are powers of two
    inside = np.where(above | below | np.isnan(whole), 0.0, whole).astype(dtype)
    return np.where(above, dtype.type(info.max), np.where(below, dtype.type(info.min), inside))


@cache
def special(name: str) -> Callable[..., Any]:
    """The function of arrays: SciPy's, where it is there."""
    if name == "expit":
        return _expit
    if name == "fma":
        return _fma
    if name in ("sinc", "i0"):
        return getattr(np, name)  # type: ignore[no-any-return]
    try:
        from scipy import special as scipy_special
    except ImportError:
        return _one_by_one(name)
    names = {"lgamma": "gammaln"}
    return getattr(scipy_special, names.get(name, name))  # type: ignore[no-any-return]


def _expit(x: Array) -> Array:
    """1 / (1 + exp(-x)) without overflow."""
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small)).astype(x.dtype)


def _fma(a: Array, b: Array, c: Array) -> Array:
    """Rounded twice where this Python has no `math.fma`."""
    fma = getattr(math, "fma", None)
    if fma is None:
        return a * b + c

    def rounded(x: float, y: float, z: float) -> float:
        try:
            return float(fma(x, y, z))
        except (ValueError, OverflowError):  # nan, or too large
            return x * y + z

    return np.vectorize(rounded, otypes=[float])(a, b, c)


def _one_by_one(name: str) -> Callable[..., Any]:
    """The standard library's, which raises at poles and where results are too large."""
    function = getattr(math, name)

    def safe(x: float) -> float:
        try:
            return float(function(x))
        except OverflowError:
            return math.inf
        except ValueError:
            return math.inf if name == "lgamma" else math.copysign(math.inf, x) if x == 0.0 else math.nan

    return np.vectorize(safe, otypes=[float])
