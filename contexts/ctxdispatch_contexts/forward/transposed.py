"""The forward derivative of a function that has a vjp rule: the rule's transpose.

    rule(g, y, *args) -> (bar(a), bar(b), ...)  is linear in g, so for each argument

    dy = J da = gradient with respect to g of <da, bar(a)>

which reverse mode computes; of the rule's own computation only what does not depend on g is left. Where the
transpose asks for g at all it asks for its shape, and gets y.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import FunctionType
from typing import Any

import numpy as np

from ctxdispatch.bytecode.pool import Pool
from ctxdispatch.ir.builder import Builder
from ctxdispatch.ir.graph import Graph, Op, Return, positional
from ctxdispatch.ir.rewrite import clone
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.buffers import make_function
from ctxdispatch.passes.companion import Companions
from ctxdispatch.passes.lengths import plain
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives.blocks import blocked
from ctxdispatch_contexts.forward.tangents import NONE, Shapes
from ctxdispatch_contexts.programs.errors import DerivativeError, Refusal
from ctxdispatch_contexts.programs.no_derivative import placed
from ctxdispatch_contexts.programs.operands import rule_of
from ctxdispatch_contexts.programs.refusals import no_cotangent, refuse_floats
from ctxdispatch_contexts.programs.rules import (
    arity,
    as_array,
    call_rule,
    entry_of_tuple,
    item_of,
    rule_positions,
    splice_into,
)
from ctxdispatch_contexts.programs.sources import NAMESPACE
from ctxdispatch_contexts.reverse import ADContext, ReverseMode


def transposed_terms(
    shapes: Shapes, run: Companions, op: Op, moving: set[int], filled: Callable[[Operand], Operand]
) -> list[Operand]:
    """The tangent of the result of `op`: one term per argument of those at `moving`. `filled`: the tangent
    of one, with zeros for None in it."""
    rule = rule_of(op)
    assert rule is not None
    given = op.args[:1] if op.fn is getattr else op.args
    args = [as_array(run.build, op, i, a) for i, a in enumerate(given)]
    terms: list[Operand] = []
    for position, arg in rule_positions(rule, list(given), op.kwnames):
        tangent = run.of(arg)
        at = position if position < len(given) - len(op.kwnames) else _keyword_at(op, arg)
        if tangent is not None and at in moving:
            if args[at] is not given[at] and T.cls_of(operand_type(given[at])) in (list, tuple):
                tangent = run.call(blocked if shapes.block else np.asarray, filled(given[at]))
                like = shapes.type(operand_type(args[at]))
                tangent.type = None if like is T.Any else like
            term = _term(shapes, run, op, rule, args, at, position, tangent)
            terms += [] if term is NONE else [term]
    return terms


def _keyword_at(op: Op, arg: Operand) -> int:
    first = len(op.args) - len(op.kwnames)
    return next(i for i, a in enumerate(op.args) if i >= first and a is arg)


def _term(
    shapes: Shapes, run: Companions, op: Op, rule: FunctionType, args: list[Operand], at: int, position: int,
    tangent: Operand,
) -> Operand:  # fmt: skip
    y, arg = _plain_tuple(run, op.result), args[at]
    if position >= (arity(rule) or position + 1):
        refusal = Refusal(DerivativeError, no_cotangent(op, op.args[at]), op, op.args[at])
        run.call(refuse_floats, op.args[at], Const(refusal))
        return NONE
    types = tuple(map(plain, (operand_type(y), *map(operand_type, args))))
    graph = transpose(rule, types, op.kwnames, position, T.widen(plain(operand_type(arg))))
    if isinstance(graph.entry.terminator, Return) and _is_none(graph.entry.terminator.value):
        return NONE
    if shapes.block:
        return _push(shapes, run, graph, [y, y, *args, arg], tangent)
    if isinstance(operand_type(arg), T.ArrayOf):  # the argument may have been a number
        tangent = as_array(run.build, op, 0, tangent)
    return _call(run, graph, [y, y, *args, tangent])


def _plain_tuple(run: Companions, y: Value) -> Operand:
    """Of a named tuple: what tuples hold is known wherever they go."""
    held = operand_type(y)
    if not isinstance(held, T.Held) or not issubclass(held.cls, tuple):
        return y
    return run.call(tuple, y, type=T.TupleOf(tuple(type_ for _, type_ in held.fields)))


def _is_none(operand: Operand) -> bool:
    return isinstance(operand, Const) and operand.value is None


RULES = {**NAMESPACE, "__name__": __name__}
"""Where programs stand that are rules and nothing else."""


@lru_cache(maxsize=4096)
def transpose(
    rule: FunctionType, types: tuple[T.Type, ...], kwnames: tuple[str, ...], position: int, seed: T.Type
) -> Graph:
    """(g, y, *args, v) -> the gradient in g of <v, rule(g, y, *args)[position]>"""

    all_types = (T.widen(types[0]), *types, seed)

    def source() -> Graph:
        return _entry_of_rule(rule, all_types, kwnames, position)

    mode = ReverseMode(wrt=(0,), split=False, single=True, seeded=True, inner=True)
    return mode.differentiate(source, all_types, (), ADContext).graph


def _entry_of_rule(
    rule: FunctionType, types: tuple[T.Type, ...], kwnames: tuple[str, ...], position: int
) -> Graph:
    """(g, y, *args, v) -> rule(g, y, *args)[position]"""
    names = ("g", "y", *(f"a{i}" for i in range(len(types) - 3)), "v")
    graph = Graph("transpose of " + rule.__name__, positional(len(names), names), namespace=RULES)
    for param, type_ in zip(graph.params, types, strict=True):
        param.type = type_
    build = Builder(graph)
    every = call_rule(build, rule, graph.params[:-1], kwnames)
    found = entry_of_tuple(build, every, position)
    build.ret(NONE if found is None else found)
    return graph


def _call(run: Companions, graph: Graph, args: Sequence[Operand]) -> Operand:
    if len(graph.blocks) == 1 and isinstance(graph.entry.terminator, Return):
        return splice_into(run.build.block.ops, graph, args, run.build.pos)
    return run.call(placed(compiled(graph), run.build), *args)


_functions: dict[Graph, Any] = {}


def compiled(graph: Graph) -> Any:
    """A function of the graph, which is kept as long as the program runs: there are few."""
    if graph not in _functions:
        _functions[graph] = make_function(clone(graph), NAMESPACE, (), Pool())
    return _functions[graph]


def _push(shapes: Shapes, run: Companions, graph: Graph, args: list[Operand], tangent: Operand) -> Operand:
    """The transpose is linear in v: its tangent along a block of v is its value for each of them."""
    types = tuple(map(plain, (*map(operand_type, args), operand_type(tangent), T.Exact(int))))
    pushed = _block_form(graph, types, run.algebra)
    return item_of(run.build, _call(run, pushed, [*args, tangent, shapes.count]), 1)


def _block_form(graph: Graph, types: tuple[T.Type, ...], algebra: Any) -> Graph:
    """(g, y, *args, v, dv, k) -> (_, d)"""
    key = (graph, types, algebra.context)
    if key not in _blocks:
        mode = algebra.mode((len(types) - 3,))
        _blocks[key] = mode.differentiate(lambda: clone(graph), types, (), algebra.context).graph
    return _blocks[key]


_blocks: dict[Any, Graph] = {}
