"""What each operation does to blocks that are given by their nonzeros: see `nonzeros.py`.

A form, form(run, op), gives the block that the op makes, a tuple of blocks, or None for what is no block; it
raises Dense where it has none.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.registry import Registry
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes.conform import conform
from ctxdispatch_contexts.derivatives.blocks import blocks_in, shape_of
from ctxdispatch_contexts.derivatives.table import block_rule
from ctxdispatch_contexts.forward.tangents import expand_block
from ctxdispatch_contexts.sparsity.movement import METHOD_MOVES, MOVES, of

if TYPE_CHECKING:
    from ctxdispatch_contexts.sparsity.nonzeros import Rewriting


class Dense(Exception):
    """The program does something with a block that has no form here."""


@dataclass
class Term:
    """`values` at the flat places `at` of a block, which are sorted: a vector, constant or of the program."""

    at: Any
    values: Any

    @property
    def is_constant(self) -> bool:
        return not isinstance(self.values, Value)


@dataclass
class Nonzeros:
    """A block of tangents: the sum of its terms."""

    shape: tuple[int, ...]
    terms: list[Term]

    @property
    def size(self) -> int:
        return math.prod(self.shape)


FORMS: Registry[Callable[[Rewriting, Op], Any]] = Registry()

QUOTIENTS = frozenset({operator.truediv, np.true_divide})
MINUS = frozenset({operator.sub, np.subtract})

MOVERS = [operator.getitem, *of(np, MOVES), *of(np.ndarray, METHOD_MOVES)]
MOVERS += [form for f in MOVERS if (form := block_rule(f)) is not None]
"""And what does the same with blocks."""


def nonzeros_of(block: Any) -> Nonzeros:
    at = np.flatnonzero(block)
    return Nonzeros(block.shape, [Term(at, block.reshape(-1)[at])])


# -- arithmetic ----------------------------------------------------------------------------------------------


@FORMS.of(operator.mul, np.multiply)
def _product(run: Rewriting, op: Op) -> Any:
    a, b = op.args
    if a in run.sparse and b in run.sparse:
        raise Dense
    return _times(run, op, *((a, b) if a in run.sparse else (b, a)))


@FORMS.of(*QUOTIENTS)
def _quotient(run: Rewriting, op: Op) -> Any:
    a, b = op.args
    if b in run.sparse:
        raise Dense
    return _times(run, op, a, b)


def _times(run: Rewriting, op: Op, block: Operand, factor: Operand) -> Nonzeros:
    shape = np.shape(run.env[op.result])
    found = _broadcast(run, run.block(block), shape)
    divide = op.fn in QUOTIENTS
    terms = []
    for term in found.terms:
        by = run.pick(factor, term.at, shape)
        ones = term.is_constant and not divide and (term.values == 1.0).all() and by is not factor
        ones = ones and np.result_type(run.concrete(factor)) == term.values.dtype
        terms.append(Term(term.at, by if ones else run.emit(op.fn, term.values, by)))
    return Nonzeros(shape, terms)


@FORMS.of(operator.add, np.add, *MINUS)
def _sum(run: Rewriting, op: Op) -> Any:
    a, b = op.args
    shape = np.shape(run.env[op.result])
    left, right = (_broadcast(run, run.block(x), shape).terms for x in (a, b))
    return Nonzeros(shape, _merged(run, left, _negated(run, right) if op.fn in MINUS else right))


def _merged(run: Rewriting, left: list[Term], right: list[Term]) -> list[Term]:
    found = list(left)
    for term in right:
        same = (i for i, t in enumerate(found) if np.array_equal(t.at, term.at))
        i = next((i for i in same if found[i].is_constant == term.is_constant), None)
        if i is None:
            found.append(term)
        elif term.is_constant:
            found[i] = Term(term.at, found[i].values + term.values)
        else:
            found[i] = Term(term.at, run.emit(operator.add, found[i].values, term.values))
    return found


@FORMS.of(operator.neg, np.negative)
def _negation(run: Rewriting, op: Op) -> Any:
    found = run.block(op.args[0])
    return Nonzeros(found.shape, _negated(run, found.terms))


def _negated(run: Rewriting, terms: list[Term]) -> list[Term]:
    return [Term(t.at, -t.values if t.is_constant else run.emit(operator.neg, t.values)) for t in terms]


@FORMS.of(operator.pos, blocks_in)
def _same(run: Rewriting, op: Op) -> Any:
    return run.sparse[op.args[0]]


@FORMS.of(getattr)
def _attribute(run: Rewriting, op: Op) -> Any:
    block, (name,) = run.block(op.args[0]), run.others(op, 1)
    if name == "T":
        return moved(run, [block], lambda numbers: numbers.T)
    if name not in ("shape", "ndim", "size", "dtype") and run.used.get(op.result):
        raise Dense
    return _shape(run, op)


@FORMS.of(shape_of, np.shape, np.size, np.ndim, len)
def _shape(run: Rewriting, op: Op) -> None:
    """What depends on the shape of a block alone."""
    run.fixed.add(op.result)


@FORMS.of(primitives.build_tuple, primitives.build_list)
def _several(run: Rewriting, op: Op) -> Any:
    return tuple([run.block(a) for a in op.args])


@FORMS.of(expand_block)
def _expanded(run: Rewriting, op: Op) -> Any:
    return _broadcast(run, run.block(op.args[0]), np.shape(run.env[op.result]))


@FORMS.of(*MOVERS)
def _move(run: Rewriting, op: Op) -> Any:
    """By a function that puts elements elsewhere: numbers of places tell where."""
    first, rest = run.sparse[op.args[0]], run.others(op, 1)
    n = len(rest) - len(op.kwnames)
    named = {k: v for k, v in zip(op.kwnames, rest[n:], strict=True) if k not in ("dtype", "casting")}
    if isinstance(first, tuple):
        return moved(run, list(first), lambda *numbers: op.fn(numbers, *rest[:n], **named))
    return moved(run, [first], lambda numbers: op.fn(numbers, *rest[:n], **named))


def _broadcast(run: Rewriting, block: Nonzeros, shape: tuple[int, ...]) -> Nonzeros:
    if block.shape == shape:
        return block
    return moved(run, [block], lambda numbers: np.broadcast_to(numbers, shape))


def moved(run: Rewriting, blocks: list[Nonzeros], function: Callable[..., Any]) -> Nonzeros:
    """Places are numbered from 1, block after block; 0 is where nothing comes from."""
    first = np.cumsum([1, *(b.size for b in blocks)])
    numbers = [np.arange(s, s + b.size).reshape(b.shape) for s, b in zip(first, blocks, strict=False)]
    sources = np.asarray(function(*numbers))
    terms = []
    for start, block in zip(first, blocks, strict=False):
        for term in block.terms:
            of_term = np.full(int(first[-1]), -1)
            of_term[start + term.at] = np.arange(len(term.at))
            which = of_term[sources.reshape(-1)]
            at = np.flatnonzero(which >= 0)
            terms.append(Term(at, run.taken(term.values, which[at], len(term.at))))
    return Nonzeros(sources.shape, terms)


@FORMS.of(np.where, block_rule(np.where))
def _where(run: Rewriting, op: Op) -> Any:
    condition, *branches = op.args
    shape = np.shape(run.env[op.result])
    terms: list[Term] = []
    for i, branch in enumerate(branches):
        if branch not in run.sparse:
            if np.any(run.concrete(branch)) or not (isinstance(branch, Const) or branch in run.fixed):
                raise Dense
            continue
        for term in _broadcast(run, run.block(branch), shape).terms:
            here = run.pick(condition, term.at, shape)
            arms = (term.values, 0.0) if i == 0 else (0.0, term.values)
            terms = _merged(run, terms, [Term(term.at, run.emit(np.where, here, *arms))])
    return Nonzeros(shape, terms)


COMPUTE = frozenset({conform, operator.pow, math.prod, *FORMS})
DATA = (np.ndarray, int, float, bool, str, slice, type(None), np.dtype, np.float64, np.int64)
