"""Closures met at run time: their captured values become leading parameters, so one program serves all
closures of one code object."""

from __future__ import annotations

from types import FunctionType

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Const, Graph, Op, Operand, Return, Signature, Value
from ctxdispatch.passes.guards import Guard
from ctxdispatch_contexts.reverse.inlining import lifted


class ClosureSource:
    """(*contents, *args) -> callee(*args) for a callee with this code that has captured `contents`.

    The program makes cells of the contents and a function of the code, and calls it: inlining leaves nothing
    of both.
    """

    def __init__(self, callee: FunctionType, n: int, kwnames: tuple[str, ...]) -> None:
        self.function, self.n, self.kwnames = callee, n, kwnames
        self.cells = ()

    def signature(self) -> Signature:
        free = self.function.__code__.co_freevars
        names = [
            *(f"c_{name}" for name in free),
            *(f"a{i}" for i in range(self.n)),
            *(f"k_{k}" for k in self.kwnames),
        ]
        return Signature(tuple(names), len(names))

    def bare(self) -> Graph:
        return Graph(self.function.__qualname__, self.signature(), namespace=self.function.__globals__)

    def graph(self) -> Graph:
        graph = self.bare()
        free = len(self.function.__code__.co_freevars)
        ops = graph.entry.ops
        cells: list[Operand] = [_op(ops, primitives.make_cell, p) for p in graph.params[:free]]
        closure = _op(ops, primitives.build_tuple, *cells)
        made = _op(
            ops, primitives.make_function, Const(self.function.__globals__), Const(self.function.__code__),
            Const(self.function.__defaults__), Const(self.function.__kwdefaults__), Const(None), closure,
        )  # fmt: skip
        y = Value("y")
        ops.append(Op(made, list(graph.params[free:]), [y], self.kwnames))
        graph.entry.terminator = Return(y)
        return graph

    def guards(self) -> list[Guard]:
        lifted(self.function)  # fails here, not later, where it cannot be lifted
        return []


def _op(ops: list[Op], fn: object, *args: Operand) -> Value:
    result = Value()
    ops.append(Op(Const(fn), list(args), [result], syntax=True))
    return result
