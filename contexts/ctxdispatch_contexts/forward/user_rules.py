"""Tangents by the rules that users give: a rule of `DualContext` says it itself; one of `ADContext`
(`custom_rule`) gives a pullback, which is linear, and its transpose is the tangent:

    y, pullback = rule(ctx, *args)      dy = J da      where     ga = J^T gy = pullback(gy)

J is reverse mode's derivative of the pullback, the same everywhere: taken at a cotangent that is not zero,
for pullbacks may have a shorter way for zeros. Where reverse mode cannot differentiate the pullback (it
writes into an array of its own), J^T is computed row by row. Either way <gy, dy> = <da, pullback(gy)>,
which is checked.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ctxdispatch.dispatch import overdub
from ctxdispatch.dispatch import rules as context_rules
from ctxdispatch_contexts.forward.dual import Dual
from ctxdispatch_contexts.programs.containers import rebuild
from ctxdispatch_contexts.programs.errors import DerivativeError, user_position
from ctxdispatch_contexts.reverse import ADContext
from ctxdispatch_contexts.reverse.calling import by_rule

Arguments = tuple[Any, ...]
Pair = tuple[Any, Any]

SEED = 2.0**-10
"""The cotangent at which pullbacks are differentiated: neither zero nor large enough to be clipped."""


def by_dual_rule(
    rule: Any, context: Any, args: Arguments, tangents: Arguments, kwnames: tuple[str, ...]
) -> Pair:
    """A rule of DualContext takes Duals where there are tangents, and returns one."""
    duals = [a if d is None else Dual(a, d) for a, d in zip(args, tangents, strict=True)]
    n = len(args) - len(kwnames)
    result = rule(context(), *duals[:n], **dict(zip(kwnames, duals[n:], strict=True)))
    return (result.value, result.partials) if isinstance(result, Dual) else (result, None)


def by_ad_rule(
    rule: Any, callee: Any, args: Arguments, tangents: Arguments, kwnames: tuple[str, ...], k: int | None
) -> Pair:
    """(y, dy) by a rule that gives (y, pullback); `k` is the length of blocks, None for single tangents."""
    n = len(args) - len(kwnames)
    y, pullback = by_rule(rule, ADContext(), callee, args[:n], dict(zip(kwnames, args[n:], strict=True)))
    transpose = Transpose(callee, pullback, y, n, len(args))
    if k is None:
        return y, transpose(tangents)
    return y, stacked([transpose(at(tangents, i)) for i in range(k)])


class Transpose:
    """tangents of the arguments -> the tangent of the result"""

    def __init__(self, callee: Any, pullback: Any, y: Any, positional: int, count: int) -> None:
        self.callee, self.pullback, self.y = callee, pullback, y
        self.positional, self.count = positional, count
        self.seed = filled(y, SEED)

    def __call__(self, tangents: Arguments) -> Any:
        try:
            cotangents, back = overdub(ADContext(), self.pullback, self.seed)
        except DerivativeError:
            return self._row_by_row(tangents)
        moving = self._per_argument(cotangents, tangents)
        given = tuple(
            [None if c is None else d for c, d in zip(self._every(cotangents), moving, strict=False)]
        )
        dy = back(given if isinstance(cotangents, tuple) else given[0])[0]
        self._check(cotangents, moving, dy)
        return dy

    def _every(self, cotangents: Any) -> Arguments:
        found = cotangents if isinstance(cotangents, tuple) else (cotangents,)
        return tuple([None if c is NotImplemented else c for c in found])

    def _per_argument(self, cotangents: Any, tangents: Arguments) -> Arguments:
        """The tangents of those arguments that the pullback gives cotangents for."""
        given = len(self._every(cotangents))
        if given not in (self.positional, self.count):
            raise DerivativeError(
                f"the pullback of the rule for {context_rules.name_of(self.callee)} gave {given} cotangents "
                f"for {self.positional} arguments; give one per positional argument, None where there "
                "is none",
                user_position(),
            )
        if any(d is not None for d in tangents[given:]):
            raise DerivativeError(
                f"the rule for {context_rules.name_of(self.callee)} gives no derivative for keyword "
                "arguments, "
                "and one of them varies; let its pullback return one cotangent per keyword argument, too",
                user_position(),
            )
        return tangents[:given]

    def _row_by_row(self, tangents: Arguments) -> Any:
        def entry(unit: Any) -> Any:
            cotangents = self.pullback(unit)
            return paired(self._every(cotangents), self._per_argument(cotangents, tangents))

        return by_units(self.y, entry)

    def _check(self, cotangents: Any, tangents: Arguments, dy: Any) -> None:
        there, scale = paired(self._every(cotangents), tangents), size(self._every(cotangents), tangents)
        here = paired(self.seed, dy)
        if abs(there - here) > 1e-3 * max(scale, size(self.seed, dy)):
            raise DerivativeError(
                f"the pullback of the rule for {context_rules.name_of(self.callee)} is not linear in its "
                "cotangent, so forward mode cannot transpose it; give forward mode a rule of its own with "
                "@DualContext.rule",
                user_position(),
            )


# -- trees of numbers and arrays -----------------------------------------------------------------------------


def mapped(leaf: Any, *trees: Any) -> Any:
    """`leaf` of the leaves; the first tree says what is a leaf. None where there is None."""
    first, *others = trees
    if any(t is None for t in others) or first is None:
        return None
    if isinstance(first, (tuple, list)):
        return rebuild(first, [mapped(leaf, *each) for each in zip(*trees, strict=True)])
    if isinstance(first, dict):
        return {key: mapped(leaf, *(t.get(key) for t in trees)) for key in first}
    if isinstance(first, SimpleNamespace):
        return SimpleNamespace(**{
            name: mapped(leaf, *(getattr(t, name, None) for t in trees)) for name in vars(first)
        })  # fmt: skip
    return leaf(*trees)


def leaves(tree: Any) -> list[Any]:
    found: list[Any] = []
    mapped(found.append, tree)
    return found


def filled(tree: Any, value: float) -> Any:
    """A cotangent with `value` everywhere, None where there is none."""

    def leaf(y: Any) -> Any:
        if (
            np.result_type(y).kind not in "fc"
            if isinstance(y, (float, complex, np.ndarray, np.generic))
            else True
        ):
            return None
        return np.full_like(y, value) if isinstance(y, np.ndarray) else type(y)(value)

    return mapped(leaf, tree)


def paired(a: Any, b: Any) -> float:
    """<a, b>, the real part of the sum of a b."""
    return _summed(lambda x, y: float(np.sum(np.real(np.multiply(x, y)))), a, b)


def size(a: Any, b: Any) -> float:
    """The sum of |a b|: what rounding errors of <a, b> are relative to."""
    return _summed(lambda x, y: float(np.sum(np.abs(np.multiply(x, y)))), a, b)


def _summed(leaf: Any, a: Any, b: Any) -> float:
    return sum(leaves(mapped(leaf, a, b)), 0.0)


def by_units(y: Any, entry: Any) -> Any:
    """A tangent of the form of `y`: entry(unit cotangent) for each of its numbers."""
    zero = filled(y, 0.0)
    flat = leaves(zero)
    return rebuilt(zero, [_row(zero, flat, i, entry) for i in range(len(flat))])


def _row(zero: Any, flat: list[Any], i: int, entry: Any) -> Any:
    """The tangent of leaf i. That of a complex number pairs with 1 to its real part, with i to minus its
    imaginary part."""

    def at_unit(index: Any, value: Any) -> Any:
        unit = np.array(flat[i])
        unit[index] = value
        return entry(rebuilt(zero, [*flat[:i], like(flat[i], unit), *flat[i + 1 :]]))

    out = np.zeros(np.shape(flat[i]), np.result_type(flat[i]))
    for index in np.ndindex(out.shape):
        real = at_unit(index, 1.0)
        out[index] = real - 1j * at_unit(index, 1j) if out.dtype.kind == "c" else real
    return like(flat[i], out)


def like(leaf: Any, array: Any) -> Any:
    return array if isinstance(leaf, np.ndarray) else type(leaf)(array[()])


def rebuilt(tree: Any, items: list[Any]) -> Any:
    """A tree of the form of `tree` with these leaves."""
    following = iter(items)
    return mapped(lambda leaf: next(following), tree)


def at(tangents: Any, i: int) -> Any:
    """Tangent i of blocks."""
    return mapped(lambda block: block[i], tangents)


def stacked(each: list[Any]) -> Any:
    """The block of tangents of one form."""
    return mapped(lambda *parts: np.stack(parts), *each)
