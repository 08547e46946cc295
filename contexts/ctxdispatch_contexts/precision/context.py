"""`PrecisionContext`: rules for what would take a pair for a float (`math`, `np.array`), and a pass that
makes pairs of the floats that are written in a program.

Operators and NumPy's functions ask `Pair` itself.
"""

from __future__ import annotations

import math
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import field
from typing import Any, NamedTuple, Self

import numpy as np

from ctxdispatch.dispatch import Context, Editor, overdub, recurse
from ctxdispatch.facts import CONVERTS
from ctxdispatch.ir.graph import Graph
from ctxdispatch.ir.values import Const
from ctxdispatch_contexts.precision.losses import Losses
from ctxdispatch_contexts.precision.pair import Pair, both, lift, pairs_in, plain

__undispatched__ = True


class PrecisionContext(Context):
    """Runs a program on pairs of floats, one in each precision, and records where digits are lost.

        result, losses = side_by_side(f, x)
        print(losses.text())

    Pairs come from the arguments. The program goes the way of the higher precision; comparisons that differ
    in the lower one are recorded. `losses`: `Losses(low, high, follow)` chooses the precisions.
    """

    losses: Losses = field(default_factory=Losses)

    # -- from a command line -----------------------------------------------------------------------

    @classmethod
    def add_options(cls, parser: ArgumentParser) -> None:
        parser.add_argument("--low", default="float32", metavar="DTYPE", help="the lower precision")
        parser.add_argument("--high", default="float64", metavar="DTYPE", help="the higher one")
        parser.add_argument("--limit", type=int, default=20, help="how many lines; 0: all")

    @classmethod
    def from_options(cls, options: Namespace) -> Self:
        return LiteralPrecisionContext(Losses(options.low, options.high))  # type: ignore[return-value]

    def report(self, options: Namespace) -> str:
        return self.losses.text(options.limit or None)


class LiteralPrecisionContext(PrecisionContext):
    """The same, where also the floats that are written in the program, and what `float` makes, are pairs: for
    programs without arguments.

    C code that takes no pair (a TypeError) is called again with the floats that the program follows."""

    intercepts = ("call",)

    def transform(self, graph: Graph) -> Graph:
        edit = Editor(graph)
        for op in edit.ops():
            for k, operand in enumerate(op.args):
                if isinstance(operand, Const) and type(operand.value) is float:
                    op.args[k] = edit.before(op, lifted, edit.context, operand.value)
        return super().transform(edit.finish())

    def fallback(self, f: Any, args: Any, kwargs: Any) -> Any:
        try:
            return f(*args, **kwargs)
        except TypeError:
            if not pairs_in([*args, *kwargs.values()]):
                raise
        return f(*plain(args), **plain(kwargs))


def lifted(ctx: PrecisionContext, value: float) -> Pair:
    return lift(value, ctx.losses)  # type: ignore[no-any-return]


class Outcome(NamedTuple):
    """`result` is the program's, with pairs in it."""

    result: Any
    losses: Losses


def side_by_side(
    f: Callable[..., Any], *args: Any, low: Any = np.float32, high: Any = np.float64, follow: str = "high"
) -> Outcome:
    """f(*args) in two precisions: floats and arrays of floats among the arguments, and in lists, tuples and
    dicts there, become pairs."""
    losses = Losses(low, high, follow)
    return Outcome(overdub(PrecisionContext(losses), f, *(lift(a, losses) for a in args)), losses)


# -- rules -----------------------------------------------------------------------------------------


def _in_both(f: Callable[..., Any], name: str) -> None:
    @PrecisionContext.rule(f)
    def rule(ctx: PrecisionContext, *args: Any, **kwargs: Any) -> Any:
        return both(name, f, *args, **kwargs) if pairs_in(args) else recurse(ctx, f, *args, **kwargs)


for _name, _f in vars(math).items():
    if callable(_f) and not _name.startswith("_") and _f is not math.trunc:
        _in_both(_f, _name)
for _f in (*CONVERTS, np.arange, np.full):  # they do not ask their operands
    _in_both(_f, _f.__name__)


@PrecisionContext.rule(math.trunc)
def _trunc(ctx: PrecisionContext, x: Any) -> Any:
    """NumPy's floats have no `__trunc__`."""
    return both("trunc", int, x) if isinstance(x, Pair) else recurse(ctx, math.trunc, x)


@PrecisionContext.rule(float)
def _float(ctx: PrecisionContext, *args: Any) -> Any:
    """A pair of numbers is a float already."""
    if len(args) != 1 or not isinstance(args[0], Pair):
        return float(*args)
    return args[0] if isinstance(args[0], float) else both("float", float, args[0])


@LiteralPrecisionContext.rule(float)
def _lifted_float(ctx: PrecisionContext, *args: Any) -> Any:
    return lift(_float(ctx, *args), ctx.losses)
