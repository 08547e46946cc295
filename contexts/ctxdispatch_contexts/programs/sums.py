"""Sums of products of Python floats with fewer operations, in derivatives alone:

    s * x * g, later s * g * x      one product
    a + b + a + a                   3.0 * a + b
    a * g + b * g                   (a + b) * g
    a + b + c, later a + b + d      a + b once

What the chain rule makes of a formula says most things several times, in another order each time. Products
are never multiplied out, and like terms are joined where their signs are alike. A product is only replaced by
one that the program computes as well: where that overflows it did so before. Sums are added in another order,
which is as good within rounding of their largest term; terms beyond 1e307 may overflow in it.

Common factors and common pairs of terms are chosen greedily, as in Hosangadi, Fallah and Kastner (2006),
*Optimizing polynomial expressions by algebraic factorization and common subexpression elimination*.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations

from ctxdispatch.facts import SUMS
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.rewrite import substitute, uses
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.dce import dce
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.terms import Pair, Sum, Term, Writer, gain, put_together

MAX_FACTORS = 8
"""A product of more factors counts as one number."""

MAX_COUNT = 8
"""n * a with a whole number n up to this counts as so many terms."""

MAX_PAIRS = 1000
"""Where a block has more pairs of terms than this, those that sums have in common are not looked for."""


def collect_terms(graph: Graph) -> bool:
    """Rewrite, in place, what is not the user's own. Whether anything came of it."""
    blocks = [block for block in graph.blocks if _may_pay(block)]
    for block in blocks:
        substitute(graph, dict(_equal_products(block)))
    if blocks:
        dce(graph)
    used = Counter({value: len(places) for value, places in uses(graph).items()} if blocks else {})
    found = [_Collector(block, used).run() for block in blocks]
    same = {value: other for each in found if each is not None for value, other in each.items()}
    substitute(graph, same)
    changed = any(each is not None for each in found)
    if changed:
        dce(graph)
    return changed


def _may_pay(block: Block) -> bool:
    return sum(op.fn in (*SUMS, operator.mul) for op in block.ops) > 1


# -- products ------------------------------------------------------------------------------------------------

Factors = frozenset[tuple["Operand | float | str", int]]
"""How often each factor occurs; numbers that the program writes out, as numbers."""


def _factors(op: Op, known: Mapping[Value, Counter[Operand | float | str]]) -> Counter[Operand | float | str]:
    """Of a product, those of its operands that are products, too."""
    found: Counter[Operand | float | str] = Counter()
    for a in op.args:
        found.update([_number(a.value)] if isinstance(a, Const) else known.get(a, [a]))
    return found if found.total() <= MAX_FACTORS else Counter(op.args)


def _number(value: float) -> float | str:
    """A number as a factor: 0.0 and -0.0 are two."""
    return float(value) or str(float(value))


def _equal_products(block: Block) -> Iterator[tuple[Value, Operand]]:
    """Each product that has the factors of an earlier one, and that one."""
    known: dict[Value, Counter[Operand | float | str]] = {}
    first: dict[Factors, Value] = {}
    for op in block.ops:
        if op.fn is operator.mul and _is_float(op):
            known[op.result] = _factors(op, known)
            same = first.setdefault(frozenset(known[op.result].items()), op.result)
            if same is not op.result and op.reassoc:
                yield op.result, same


def _is_float(op: Op) -> bool:
    """Floats of Python's, and numbers that the program writes out."""
    return len(op.results) == 1 and all(
        _is_number(a.value) if isinstance(a, Const) else T.cls_of(T.widen(operand_type(a))) is float
        for a in (*op.args, op.result)
    )


def _is_number(value: object) -> bool:
    return type(value) is float or (type(value) is int and abs(value) <= EXACT)


EXACT = 2**53
"""Whole numbers up to this are floats."""


# -- sums ----------------------------------------------------------------------------------------------------

_TERMS = (*SUMS, operator.neg)


class _Collector:
    """The sums of a block. `makers`: ops that may be written anew; `used`: how often a value is read;
    `index`: where it is computed; `made`: values that are new, and what they are: a sum, or a factor times a
    sum."""

    def __init__(self, block: Block, used: Counter[Value]) -> None:
        self.block, self.used = block, used
        self.index = {r: i for i, op in enumerate(block.ops) for r in op.results}
        floats = [op for op in block.ops if op.fn in (*_TERMS, operator.mul) and _is_float(op)]
        self.makers = {op.result: op for op in floats if op.reassoc}
        self.factors: dict[Value, Counter[Operand | float | str]] = {}
        self.products: dict[Factors, Value] = {}
        for op in floats:
            if op.fn is operator.mul:
                self.factors[op.result] = _factors(op, self.factors)
                self.products.setdefault(frozenset(self.factors[op.result].items()), op.result)
        self.made: dict[Value, Sum | tuple[Operand, Value]] = {}
        self.numbers: dict[Operand, int] = {}
        self.sums = list(self._sums())

    def run(self) -> dict[Value, Operand] | None:
        """Write the block anew. What values turn out to be; None where nothing is changed."""
        for each in list(self.sums):
            self._factor(each)
        self._share_pairs()
        roots = {s.result: s for s in self.sums if s.changed and s.result in self.index}
        if not roots:
            return None
        writer = Writer(self.made)
        self.block.ops = list(writer.ops(self.block.ops, roots))
        return writer.same

    def _sums(self) -> Iterator[Sum]:
        """Those that are no terms of others."""
        inside: set[Operand] = set()
        for op in reversed(self.makers.values()):
            if op.fn in _TERMS and op.result not in inside:
                found = Sum(op.result, op.pos, self.index[op.result])
                before = self._terms(found, op, inside)
                found.changed = found.cost() < before
                yield found

    def _terms(self, found: Sum, root: Op, inside: set[Operand]) -> int:
        """Of the sum that `root` makes. How many operations compute it."""
        count, work = 0, [(root, True)]
        while work:
            op, positive = work.pop()
            count += 1
            for a, sign in zip(op.args, _signs(op, positive), strict=True):
                maker = self._own(a)
                if maker is not None and maker.fn in _TERMS:
                    inside.add(a)
                    work.append((maker, sign))
                    continue
                times = _times(maker) if maker is not None else None
                operand, n = times or (Const(float(a.value)) if isinstance(a, Const) else a, 1)
                found.add((operand, sign == (n > 0)), abs(n))
                count += times is not None
        return count

    def _own(self, operand: Operand) -> Op | None:
        """What makes the operand, where nothing else reads it."""
        return self.makers.get(operand) if self.used.get(operand) == 1 else None  # type: ignore[call-overload]

    # -- common factors

    def _factor(self, within: Sum) -> None:
        """a * g + b * g is (a + b) * g, as long as two terms have a factor in common."""
        while True:
            found: dict[Operand, dict[Term, Operand]] = {}
            for term in within.terms:
                for factor, rest in self._quotients(term[0], within.index):
                    found.setdefault(factor, {})[term] = rest
            common = max(found, key=lambda f: len(found[f]), default=None)
            if common is None or len(found[common]) == 1:
                return
            self._factor(self._take_out(within, common, found[common]))

    def _quotients(self, product: Operand, before: int) -> Iterator[tuple[Operand, Operand]]:
        """(factor, what it is multiplied with) of a product that nothing else reads: the ways to compute it
        with one multiplication."""
        maker = self._own(product)
        if maker is None or maker.fn is not operator.mul or any(isinstance(a, Const) for a in maker.args):
            return
        a, b = maker.args
        yield a, b
        if a is not b:
            yield b, a
        factors = self.factors[maker.result]
        for factor in factors:
            rest = self.products.get(frozenset((factors - Counter([factor])).items()))
            known = isinstance(factor, Value) and factor not in (a, b)
            if known and rest is not None and self.index[rest] < before:
                yield factor, rest  # type: ignore[misc]

    def _take_out(self, within: Sum, factor: Operand, rests: Mapping[Term, Operand]) -> Sum:
        inner = Sum(Value("", within.result.type), within.pos, within.index)
        product = Value("", within.result.type)
        positive = next(iter(rests))[1]
        for term, rest in rests.items():
            if rest not in self.makers[term[0]].args:  # type: ignore[index]
                self.used[rest] += 1  # type: ignore[index]
            n = within.terms[term]
            within.take(term, n)
            inner.add((rest, term[1] == positive), n)
        within.add((product, positive), 1)
        within.changed = inner.changed = True
        self.made[inner.result], self.made[product] = inner, (factor, inner.result)
        self.sums.append(inner)
        return inner

    # -- common pairs of terms

    def _share_pairs(self) -> None:
        """What two sums have in common is computed once, the pair that saves most first."""
        while sum(math.comb(len(each.terms), 2) for each in self.sums) <= MAX_PAIRS:
            places: dict[Pair, dict[Sum, None]] = {}
            for each in self.sums:
                for pair in self._pairs(each):
                    places.setdefault(pair, {})[each] = None
            gains = {p: gain(p, sums) for p, sums in places.items() if len(sums) > 1}
            best = max(gains, key=lambda p: gains[p], default=None)
            if best is None or gains[best] <= 0:
                return
            self._share(best, list(places[best]))

    def _pairs(self, each: Sum) -> Iterator[Pair]:
        for first, second in combinations(each.terms, 2):
            (a, plus), (b, other) = sorted((first, second), key=self._number)
            if a is not b:
                yield a, b, plus == other
            if a is not b and plus != other:
                yield b, a, False

    def _number(self, term: Term) -> int:
        return self.numbers.setdefault(term[0], len(self.numbers))

    def _share(self, pair: Pair, sums: list[Sum]) -> None:
        a, b, alike = pair
        shared = Sum(Value("", sums[0].result.type), sums[0].pos, -1)
        shared.terms = {(a, True): 1, (b, alike): 1}
        for each in sums:
            put_together(each, pair, shared.result)
        self.made[shared.result] = shared
        self.sums.append(shared)


def _signs(op: Op, positive: bool) -> tuple[bool, ...]:
    """Which operands of a sum that counts positive or negative count positive."""
    if op.fn is operator.neg:
        return (not positive,)
    return positive, positive == (op.fn is operator.add)


def _times(op: Op) -> tuple[Operand, int] | None:
    """(a, n) where `op` is n * a with a whole number n that is not large."""
    if op.fn is operator.mul:
        for number, a in (op.args, op.args[::-1]):
            if isinstance(number, Const) and number.value in WHOLE and isinstance(a, Value):
                return a, int(number.value)
    return None


WHOLE = frozenset(range(-MAX_COUNT, MAX_COUNT + 1)) - {0}
