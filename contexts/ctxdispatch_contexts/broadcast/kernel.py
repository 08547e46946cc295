"""A kernel: a scalar program that is run on every element of arrays that broadcast, and what is made of it.

    y = k(x, a)                      the program
    k.partials(wrt)                  (x, a) -> y and its partial derivatives
    k.pullback(wrt)                  (x, a, ybar) -> xbar, abar     by way of the partials: "recompute"
    k.pushforward(wrt)               (x, a, xdot) -> ydot

Each is a kernel again, so derivatives of every order are one pass over the arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ctxdispatch.ir.graph import Graph, Op, positional
from ctxdispatch.ir.prune import prune
from ctxdispatch.ir.rewrite import clone
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes.cse import cse
from ctxdispatch.passes.dce import dce
from ctxdispatch_contexts.broadcast import dual, rules
from ctxdispatch_contexts.broadcast.backends import run
from ctxdispatch_contexts.broadcast.errors import KernelError
from ctxdispatch_contexts.broadcast.forks import making
from ctxdispatch_contexts.broadcast.scalars import result_of, to_scalars
from ctxdispatch_contexts.derivatives.table import elementwise
from ctxdispatch_contexts.programs.optimise import loosen
from ctxdispatch_contexts.programs.primitive import Primitive


@dataclass(frozen=True)
class Options:
    """`partials`: "recompute" them in the reverse sweep, or "store" them in the forward one. `fastmath`: LLVM
    may take sums apart and has no inf and nan. `backend`: "auto", "compiled", "reference". `threads`: None
    for as many as there are processors, where that pays. `python`: elements are Python's numbers, of 64 bits,
    as `np.vectorize` has it."""

    partials: str = "recompute"
    fastmath: bool = False
    backend: str = "auto"
    threads: int | None = None
    python: bool = False

    def __post_init__(self) -> None:
        for name, allowed in ALLOWED.items():
            given = getattr(self, name)
            if type(given) is not type(allowed[0]) or given not in allowed:
                raise KernelError(
                    f"{name} is one of {', '.join(map(repr, allowed))}, not {given!r}; choose one of these"
                )
        if self.threads is not None and (type(self.threads) is not int or self.threads < 1):
            raise KernelError(
                f"threads is a whole number from 1 on, or None, not {self.threads!r}; "
                "leave it out for as many as there are cores"
            )


ALLOWED: dict[str, tuple[Any, ...]] = {
    "partials": ("recompute", "store"), "backend": ("auto", "compiled", "reference"),
    "fastmath": (False, True),
}  # fmt: skip
"""What options may be."""


class Kernel(Primitive):
    """`graph`: a scalar program with one parameter per operand, each of kind float, int or bool. `several`:
    the result is a tuple of arrays, not one."""

    def __init__(
        self, graph: Graph, kinds: Sequence[type], several: bool, name: str, options: Options
    ) -> None:
        self.graph, self.kinds, self.several = graph, tuple(kinds), several
        self.name, self.options = name, options
        self.__name__ = self.__qualname__ = name
        self.compiled: dict[Any, Any] = {}
        self.plans: dict[Any, Any] = {}
        self._derived: dict[Any, Kernel] = {}

    result_type, reverse, push = rules.result_type, rules.reverse, rules.push

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"

    @property
    def pointwise(self) -> bool:  # type: ignore[override]
        return not self.several

    @cached_property
    def unbounded(self) -> bool:  # type: ignore[override]
        rows = (elementwise(op.fn) for _, op in self.graph.ops() if hashable(op.fn))
        return any(row is not None and any(row.unbounded) for row in rows)

    @property
    def arity(self) -> int:
        return len(self.kinds)

    @property
    def outputs(self) -> list[Operand]:
        return result_of(self.graph)[1].args

    def __call__(self, *operands: Any) -> Any:
        found = run(self, operands, None)
        return tuple(found) if self.several else found[0]

    def into(self, out: Any, *operands: Any) -> Any:
        """The same with the results stored in `out`: an array, or a tuple of arrays."""
        run(self, operands, out if self.several else (out,))
        return out

    # -- derived ---------------------------------------------------------------------------------------------

    def derive(self, key: Any, make: Callable[[], Kernel]) -> Kernel:
        with making:
            if key not in self._derived:
                self._derived[key] = make()
            return self._derived[key]

    def moved_by(self, wrt: Sequence[int]) -> tuple[int, ...]:
        """Those of the parameters `wrt` with which an output moves."""
        return tuple(i for i, moves in zip(wrt, self.moving(wrt), strict=True) if any(moves))

    def moving(self, wrt: Sequence[int]) -> list[list[bool]]:
        """Per parameter of `wrt` and output: whether the output moves with it."""
        return dual.moving(self.graph, wrt)

    def partials(self, wrt: Sequence[int]) -> Kernel:
        """(operands) -> the outputs, then per parameter of `wrt` its partial derivatives that are not zero by
        structure, one per output (`moving`)."""
        return self.derive(("partials", tuple(wrt)), lambda: self._partials(tuple(wrt)))

    def _partials(self, wrt: tuple[int, ...]) -> Kernel:
        graph, own = self._copy()
        found = dual.partials(graph, wrt)
        _, result = result_of(graph)
        result.args = [*result.args, *(p for each in found for p in each if p is not None)]
        return self._made(graph, own, self.kinds, True, "partials")

    def output(self, m: int) -> Kernel:
        """(operands) -> result m alone."""
        return self.derive(("output", m % len(self.outputs)), lambda: self._output(m))

    def _output(self, m: int) -> Kernel:
        graph, own = self._copy()
        _, result = result_of(graph)
        result.args = [result.args[m]]
        made = self._made(graph, own, self.kinds, False, f"result_{m % len(self.outputs)}")
        made.linear = self.linear
        return made

    def pullback(self, wrt: Sequence[int], pulled: Sequence[int]) -> Kernel:
        """(operands, cotangents of the outputs `pulled`) -> cotangents of the parameters `wrt`."""
        return self.derive(
            ("pullback", tuple(wrt), tuple(pulled)), lambda: self._pullback(tuple(wrt), tuple(pulled))
        )

    def _pullback(self, wrt: tuple[int, ...], pulled: tuple[int, ...]) -> Kernel:
        graph, own = self._copy()
        given = _with_parameters(graph, len(pulled), "g")
        found = dual.partials(graph, wrt)
        build = _End(graph)
        cotangents = []
        for each in found:
            terms = [build.product(g, each[m]) for g, m in zip(given, pulled, strict=True)]
            cotangents.append(build.total([t for t in terms if t is not None]))
        build.returns(cotangents)
        kinds = (*self.kinds, *[float] * len(given))
        return self._made(graph, own, kinds, True, "pullback", self.arity)

    def pushforward(self, wrt: Sequence[int]) -> Kernel:
        """(operands, tangents of the parameters `wrt`) -> tangents of the outputs."""
        return self.derive(("pushforward", tuple(wrt)), lambda: self._pushforward(tuple(wrt)))

    def _pushforward(self, wrt: tuple[int, ...]) -> Kernel:
        graph, own = self._copy()
        params = list(graph.params)
        given = _with_parameters(graph, len(wrt), "d")
        found = dual.push(graph, {params[i]: d for i, d in zip(wrt, given, strict=True)})
        _End(graph).returns([Const(0.0) if d is None else d for d in found])
        kinds = (*self.kinds, *[float] * len(given))
        return self._made(graph, own, kinds, self.several, "pushforward", self.arity)

    def _copy(self) -> tuple[Graph, set[Op]]:
        """The program, and its ops, which a derivative leaves as they are."""
        graph = clone(self.graph)
        return graph, {op for _, op in graph.ops()}

    def _made(
        self,
        graph: Graph,
        own: Set[Op],
        kinds: Sequence[type],
        several: bool,
        what: str,
        fixed: int | None = None,
    ) -> Kernel:
        """Linear in the operands after the first `fixed`."""
        finish(graph, kinds)
        loosen(graph, own)
        dce(graph)
        made = Kernel(graph, kinds, several, f"{what}_of_{self.name}", self.options)
        made.linear = () if fixed is None else tuple(range(fixed, len(kinds)))
        return made


def finish(graph: Graph, kinds: Sequence[type]) -> None:
    """Bring what transforms added into the form of a scalar program, with no operation too many."""
    to_scalars(graph, lambda function: None)
    settle(graph, kinds)


def settle(graph: Graph, kinds: Sequence[type]) -> None:
    """Give every value of a scalar program its type, with no operation too many."""
    dual.as_numbers(graph, kinds)
    cse(graph)
    dce(graph)
    prune(graph)


def _with_parameters(graph: Graph, n: int, name: str) -> list[Value]:
    """n more of them, floats."""
    added = [Value(f"{name}{i}", dual.FLOAT) for i in range(n)]
    graph.entry.params += added
    rename(graph)
    return added


def rename(graph: Graph) -> None:
    """Give the parameters names of their own in the signature."""
    names = [p.name or "a" for p in graph.params]
    unique = tuple(name if names.count(name) == 1 else f"{name}_{i}" for i, name in enumerate(names))
    graph.signature = positional(len(names), unique)


class _End:
    """Writes at the end of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.block, self.result = result_of(graph)
        self.at = self.block.ops.index(self.result)

    def _emit(self, fn: Any, *args: Operand) -> Value:
        value = Value("", dual.FLOAT)
        self.block.ops.insert(self.at, Op(Const(fn), list(args), [value], syntax=True, reassoc=True))
        self.at += 1
        return value

    def product(self, g: Operand, partial: Operand | None) -> Operand | None:
        if partial is None:
            return None
        if isinstance(partial, Const) and partial.value == 1.0:
            return g
        return self._emit(operator.mul, g, partial)

    def total(self, terms: Sequence[Operand]) -> Operand:
        if not terms:
            return Const(0.0)
        total = terms[0]
        for term in terms[1:]:
            total = self._emit(operator.add, total, term)
        return total

    def returns(self, outputs: Sequence[Operand]) -> None:
        self.result.args = list(outputs)
