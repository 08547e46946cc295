"""Sums of terms, and the ops that compute them. `sums` says which sums."""

from __future__ import annotations

import operator
from collections.abc import Generator, Iterable, Iterator, Mapping

from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, Position, Value

Term = tuple[Operand, bool]
"""What is added (True) or subtracted."""


class Sum:
    """`terms`: how often each occurs. `index`: the op that it is written in place of. `changed`: it is to be
    written anew."""

    def __init__(self, result: Value, pos: Position | None, index: int) -> None:
        self.result, self.pos, self.index = result, pos, index
        self.terms: dict[Term, int] = {}
        self.changed = False

    def add(self, term: Term, n: int) -> None:
        self.terms[term] = self.terms.get(term, 0) + n

    def take(self, term: Term, n: int) -> None:
        self.terms[term] -= n
        if not self.terms[term]:
            del self.terms[term]

    def cost(self) -> int:
        """How many operations `Writer` makes of it: terms that occur equally often are added first, then
        multiplied."""
        multiples = set(self.terms.values()) - {1}
        return len(self.terms) - 1 + len(multiples) + (not any(positive for _, positive in self.terms))


# -- common pairs of terms -----------------------------------------------------------------------------------

Pair = tuple[Operand, Operand, bool]
"""Two terms, and whether their signs are alike."""


def put_together(each: Sum, pair: Pair, shared: Value) -> None:
    """Terms a and b of a sum become the one that is their sum, as often as both occur."""
    a, b, alike = pair
    plus = (a, True) in each.terms and (b, alike) in each.terms
    first, second = (a, plus), (b, plus == alike)
    n = min(each.terms[first], each.terms[second])
    each.take(first, n)
    each.take(second, n)
    each.add((shared, plus), n)
    each.changed = True


def gain(pair: Pair, sums: Iterable[Sum]) -> int:
    """How many operations fewer there are where the pair is computed once."""
    saved = -1
    for each in sums:
        after = Sum(each.result, each.pos, each.index)
        after.terms = dict(each.terms)
        put_together(after, pair, each.result)
        saved += each.cost() - after.cost()
    return saved


# -- writing -------------------------------------------------------------------------------------------------


class Writer:
    """Ops for sums; what is new goes before the first that reads it."""

    def __init__(self, made: Mapping[Value, Sum | tuple[Operand, Value]]) -> None:
        self.made = made
        self.written: set[Operand] = set()
        self.same: dict[Value, Operand] = {}

    def ops(self, ops: Iterable[Op], sums: Mapping[Value, Sum]) -> Iterator[Op]:
        for op in ops:
            if op.results and op.results[0] in sums:
                yield from self._sum(sums[op.results[0]])
            else:
                yield op

    def _sum(self, each: Sum) -> Iterator[Op]:
        for operand, _ in each.terms:
            yield from self._new(operand, each)
        terms: list[Term] = []
        for n in dict.fromkeys(each.terms.values()):
            alike = [term for term, count in each.terms.items() if count == n]
            if n == 1:
                terms += alike
                continue
            positive = any(plus for _, plus in alike)
            one = yield from self._chain([(a, s == positive) for a, s in alike], each, None)
            times = [one, one] if n == 2 else [Const(float(n)), one]
            fn = operator.add if n == 2 else operator.mul
            last = each.result if len(alike) == len(each.terms) and positive else None
            terms.append(((yield from self._op(fn, times, each, last)), positive))
        if terms[0][0] is not each.result:
            total = yield from self._chain(terms, each, each.result)
            if total is not each.result:
                self.same[each.result] = total

    def _new(self, operand: Operand, reader: Sum) -> Iterator[Op]:
        made = self.made.get(operand) if operand not in self.written else None  # type: ignore[call-overload]
        if made is None:
            return
        self.written.add(operand)
        if isinstance(made, Sum):
            made.pos = reader.pos
            yield from self._sum(made)
        else:
            factor, inner = made
            yield from self._new(inner, reader)
            yield from self._op(operator.mul, [inner, factor], reader, operand)  # type: ignore[arg-type]

    def _chain(self, terms: list[Term], of: Sum, last: Value | None) -> Generator[Op, None, Operand]:
        """Add the terms up, beginning with one that is not subtracted; `last` is what comes out."""
        start = next((i for i, (_, positive) in enumerate(terms) if positive), None)
        if start is None:
            total = yield from self._chain([(a, True) for a, _ in terms], of, None)
            return (yield from self._op(operator.neg, [total], of, last))
        (total, _), *rest = terms[start], *terms[:start], *terms[start + 1 :]
        for i, (operand, positive) in enumerate(rest):
            fn = operator.add if positive else operator.sub
            result = last if i == len(rest) - 1 else None
            total = yield from self._op(fn, [total, operand], of, result)
        return total

    def _op(
        self, fn: object, args: list[Operand], of: Sum, result: Value | None
    ) -> Generator[Op, None, Value]:
        result = result or Value("", of.result.type)
        yield Op(Const(fn), args, [result], (), of.pos, True, True)
        return result
