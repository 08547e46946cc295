"""Instructions that back ends do not have: scalar programs, which take their place where a kernel is lowered.

    %y = polygamma(1, %x)      ->      the loop that `polygamma` below is, with n = 1

Only there, so that derivatives are those of the table's rows. What the functions say here is meant as kernels
mean it: 1 / 0 is inf. They compute in float64, whatever the dtype is.

Both are Euler and Maclaurin's sums (DLMF 5.11.2, 25.11.43), from an argument that recurrence has made large.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.values import Const, Value
from ctxdispatch_contexts.broadcast.dtypes import FLOAT64, DType, Typing, storage
from ctxdispatch_contexts.broadcast.instructions import SPECIAL, instruction
from ctxdispatch_contexts.broadcast.scalars import to_scalars

_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330,
)  # fmt: skip

DIGAMMA_SERIES = tuple(b / (2 * k) for k, b in enumerate(_BERNOULLI, 1))
ZETA_SERIES = tuple((2 * k, b / math.factorial(2 * k)) for k, b in enumerate(_BERNOULLI, 1))
DIGAMMA_FROM, ZETA_FROM = 12.0, 14.0


def digamma(x: Any) -> Any:
    """The derivative of log |gamma(x)|, within 1e-14 of the larger of |result| and 1. As scipy.special's, it
    is the infinity of the side it comes from at 0, and NaN at the negative integers and -inf."""
    y = 1.0 - x if x < 0.0 else x
    total = 0.0
    while y < DIGAMMA_FROM:
        total -= 1.0 / y
        y += 1.0
    inverse = 1.0 / (y * y)
    series = 0.0
    for coefficient in reversed(DIGAMMA_SERIES):
        series = (series + coefficient) * inverse
    total += np.log(y) - 0.5 / y - series
    if x < 0.0:
        past = x - np.rint(x)
        total = math.nan if past == 0.0 else total - math.pi / np.tan(math.pi * past)
    return total


def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of digamma, within 1e-13 of the larger of |result| and 1; infinite at the poles."""
    if n == 0:
        return digamma(x)
    scale = math.gamma(n + 1.0)
    return zeta(n + 1.0, x) * (scale if n % 2 == 1 else -scale)


def zeta(s: Any, x: Any) -> Any:
    """Hurwitz's: the sum of (x + k)**-s over k >= 0, of a whole number s >= 2.

    Of x < 0 the terms that are above 0 are zeta(s, x - floor(x)). Those below are a finite sum, zeta(s,
    ceil(x) - x) less zeta(s, 1 - x), with the sign of (-1)**s.
    """
    total, q = 0.0, x if x > 0.0 else x - np.floor(x)
    sign = -1.0 if s % 2.0 == 1.0 else 1.0
    for part in range(1 if x > 0.0 else 3):
        if part == 1:
            q = np.ceil(x) - x
        if part == 2:
            q, sign = 1.0 - x, -sign
        start = q
        found = 0.0
        while q < ZETA_FROM + 0.5 * s:
            found += 1.0 / q**s
            q += 1.0
        found += tail(s, q)
        total += found if part == 0 else sign * found
        q = start
    return math.inf if x <= 0.0 and x == np.floor(x) else total


def tail(s: Any, q: Any) -> Any:
    """zeta(s, q) of a large q."""
    inverse = 1.0 / (q * q)
    factor, series = s / q, 0.5
    for twice, coefficient in ZETA_SERIES:
        series += coefficient * factor
        factor *= (s + (twice - 1.0)) * (s + twice) * inverse
    rest = (q / (s - 1.0) + series) / q**s
    return 0.0 if q == math.inf else rest


WRITTEN: dict[Any, Callable[..., Any]] = {SPECIAL["digamma"]: digamma, SPECIAL["polygamma"]: polygamma}


# -- written out ---------------------------------------------------------------------------------------------


def write_out(graph: Graph, types: Sequence[DType]) -> None:
    """Put the programs in the place of the instructions, in place, for parameters of these types."""
    calls = [(block, op) for block, op in graph.ops() if instruction(op.fn) in WRITTEN]
    if not calls:
        return
    typing = Typing(graph, types)
    for block, op in calls:
        if storage(typing.of(op.result) or float) != FLOAT64:
            _widen(block, op, storage(typing.of(op.result)))
        op.callee = Const(WRITTEN[instruction(op.fn)])
    to_scalars(graph, lambda guard: None)


def _widen(block: Block, op: Op, dtype: np.dtype[Any]) -> None:
    """Around a call of that dtype: to float64, and back."""
    at, result = block.ops.index(op), op.result
    wide, narrow = Value(), Value()
    before = Op(Const(np.float64), [op.args[-1]], [wide], (), op.pos)
    op.args, op.results = [*op.args[:-1], wide], [narrow]
    after = Op(Const(dtype.type), [narrow], [result], (), op.pos)
    block.ops[at : at + 1] = [before, op, after]
