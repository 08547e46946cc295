"""A prepared graph as a *scalar program*: every value a number, every op an instruction of `instructions.py`.

    inlined      calls of Python functions, and of what is spelled out in Python
    exploded     tuples are their items, also where control flow merges
    counted      loops over range(...), and over tuples of numbers, count
    returned     one block returns; its parameters are the outputs

What stands in the graph that is no instruction, and does not depend on the elements, is left where it is: it
is computed before the kernel (`hoist.py`).
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from types import CellType, FunctionType
from typing import Any

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Edge, Graph, Jump, Op, Raise, Return
from ctxdispatch.ir.prune import prune
from ctxdispatch.ir.rewrite import clone, substitute, uses
from ctxdispatch.ir.values import UNDEF, Const, Operand, Value, hashable, row_of
from ctxdispatch.passes import types as T
from ctxdispatch.passes.guards import CodeIs, DefaultsAre
from ctxdispatch.passes.inline import BindError, bind, emit_before, inline_call
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.broadcast.errors import KernelError, refuse, unsupported
from ctxdispatch_contexts.broadcast.instructions import (
    BY_ARITY,
    FOLDED,
    OPERATORS,
    SPELLED,
    canonical,
)
from ctxdispatch_contexts.broadcast.lists import gather_lists
from ctxdispatch_contexts.broadcast.literals import fold_literals
from ctxdispatch_contexts.broadcast.loops import count_loops, unroll_loops
from ctxdispatch_contexts.broadcast.names import Assume, resolve_names, see_through
from ctxdispatch_contexts.forward import DualContext
from ctxdispatch_contexts.programs.errors import described
from ctxdispatch_contexts.programs.lifting import lifted
from ctxdispatch_contexts.programs.operands import leaf_class
from ctxdispatch_contexts.programs.spreading import open_arguments
from ctxdispatch_contexts.programs.targets import read_method

MAX_OPS = 20_000


def to_scalars(graph: Graph, assume: Assume, cells: Mapping[Value, CellType] | None = None) -> None:
    """Rewrite `graph` in place. `assume(guard)` is told what that takes for granted. `cells`: what those of
    the graph are."""
    within: dict[Op, tuple[Any, ...]] = {}
    while (
        resolve_names(graph, assume, cells or {})
        or _inline_all(graph, assume, within)
        or _explode(graph)
        or fold_literals(graph)
        or unroll_loops(graph)
        or gather_lists(graph)
    ):
        prune(graph)
    count_loops(graph)
    for _, op in list(graph.ops()):
        _canonicalise(op)
    prune(graph)


# -- inlined -------------------------------------------------------------------------------------------------


def _inline_all(graph: Graph, assume: Assume, within: dict[Op, tuple[Any, ...]]) -> bool:
    """`within`: the codes of the functions that an op came from."""
    changed = False
    makers = {r: op for _, op in graph.ops() for r in op.results}
    for block in list(graph.blocks):
        at = block
        for op in list(block.ops):
            changed |= _fold_left(at, op, makers)
            changed |= open_arguments(graph, at, op)
            see_through(at, op, assume)
            function = _function(op)
            rest = None if function is None else _inline(graph, at, op, function, assume, within)
            if rest is not None:
                changed, at = True, rest
    return changed


def _fold_left(block: Block, op: Op, makers: dict[Value, Op]) -> bool:
    """max(a, b, c) is larger(larger(a, b), c); so is max((a, b, c))."""
    step = row_of(FOLDED, op.fn)
    if step is None or op.kwnames:
        return False
    items, start = list(op.args), []
    if step.takes_tuple:
        found = _items(op.args[0], makers) if len(op.args) <= 2 else None
        if found is None and (len(op.args) == 1 or step.start is not None):
            return False
        items, start = (items, []) if found is None else (list(found), list(op.args[1:]))
    if step.start is not None:
        items = [*(start or [Const(step.start)]), *items]
    if len(items) == 1 and op.fn is math.hypot:
        op.callee, op.args = Const(abs), items
        return True
    emit = emit_before(block, op)
    last = items[0]
    for item in items[1:-1]:
        last = emit(step.function, last, item)
    op.callee, op.args = Const(step.function), [last, items[-1]] if len(items) > 1 else [last, last]
    return True


def _function(op: Op) -> FunctionType | None:
    """The Python code that says what `op` does."""
    fn = op.fn
    if not hashable(fn):
        return None
    spelled = SPELLED.get(fn)
    if spelled is None and fn in BY_ARITY and len(op.args) != getattr(canonical(fn), "nin", 1):
        spelled = BY_ARITY[fn]
    if spelled is not None:
        return spelled  # type: ignore[return-value]
    ours = canonical(fn) is not None or fn in vars(primitives).values() or fn in (getattr, read_method)
    apart = ours or is_of_library(fn) or DualContext.ad_ruled(fn)
    return fn if type(fn) is FunctionType and not apart else None


def is_of_library(fn: object) -> bool:
    """A Python function of NumPy's or SciPy's: it is for arrays."""
    module = fn.__module__ if type(fn) is FunctionType else None
    return (module or "").partition(".")[0] in ("numpy", "scipy")


def _inline(
    graph: Graph, block: Block, op: Op, function: FunctionType, assume: Assume,
    within: dict[Op, tuple[Any, ...]],
) -> Block | None:  # fmt: skip
    chain = within.get(op, ())
    if function.__code__ in chain:
        raise refuse(op, f"{described(op.fn)} calls itself; a kernel has no recursion: write it as a loop")
    if sum(len(b.ops) for b in graph.blocks) > MAX_OPS:
        raise refuse(op, f"with {described(op.fn)} the kernel is too large; call it before or after")
    try:
        callee = clone(lifted(function))
        emit = emit_before(block, op)
        args = bind(
            callee.signature, op.args, op.kwnames, function.__defaults__, function.__kwdefaults__, emit
        )
    except UnsupportedSyntax as error:
        raise unsupported(error) from error
    except BindError as error:
        raise refuse(op, f"{described(op.fn)} {error}; call it with the arguments that it takes") from error
    assume(CodeIs(function, function.__code__))
    if function.__defaults__ or function.__kwdefaults__:
        assume(DefaultsAre(function, function.__defaults__, dict(function.__kwdefaults__ or {})))
    index = next(i for i, other in enumerate(block.ops) if other is op)
    cells: list[Operand] = [Const(c) for c in function.__closure__ or ()]
    blocks, rest = inline_call(graph, block, index, callee, args, cells)
    for inlined in blocks:
        within.update(dict.fromkeys(inlined.ops, (*chain, function.__code__)))
    if function in SPELLED.values() or function in BY_ARITY.values():
        for inlined in blocks:
            for inner in inlined.ops:
                inner.pos = op.pos
    return rest


# -- exploded ------------------------------------------------------------------------------------------------


def _explode(graph: Graph) -> bool:
    """Read items off the tuples they were put in; where tuples merge, their items do."""
    makers = {r: op for _, op in graph.ops() for r in op.results}
    mapping: dict[Value, Operand] = {}
    for block in graph.blocks:
        for op in list(block.ops):
            if _read_items(op, makers, mapping):
                block.ops.remove(op)
    substitute(graph, mapping)
    return _split_parameters(graph, makers) or bool(mapping)


def _items(operand: Operand, makers: dict[Value, Op]) -> Sequence[Operand] | None:
    if isinstance(operand, Const):
        return [Const(v) for v in operand.value] if type(operand.value) is tuple else None
    making = makers.get(operand)
    return making.args if making is not None and making.fn is primitives.build_tuple else None


def _read_items(op: Op, makers: dict[Value, Op], mapping: dict[Value, Operand]) -> bool:
    """Whether `op` reads from a tuple that is known: then `mapping` says what."""
    items = _items(op.args[0], makers) if op.args else None
    if items is None:
        return False
    if op.fn is primitives.unpack and len(items) == len(op.results):
        mapping.update(zip(op.results, items, strict=True))
        return True
    if op.fn is builtins.len and len(op.args) == 1:
        mapping[op.result] = Const(len(items))
        return True
    index = op.args[1] if op.fn is operator.getitem else None
    if not isinstance(index, Const) or not isinstance(index.value, (int, slice)):
        return False
    if isinstance(index.value, slice):
        op.callee, op.args = Const(primitives.build_tuple), list(items[index.value])
        return False
    if not -len(items) <= index.value < len(items):
        raise refuse(
            op, f"index {index.value} is out of range for a tuple of {len(items)}; use a smaller index"
        )
    mapping[op.result] = items[index.value]
    return True


def _split_parameters(graph: Graph, makers: dict[Value, Op]) -> bool:
    preds = graph.predecessors()
    for block in graph.blocks[1:]:
        for k, param in enumerate(block.params):
            edges = [edge for _, edge in preds[block]]
            if any(len(edge.args) != len(block.params) for edge in edges):
                continue  # the item of a loop
            given = [_items(edge.args[k], makers) for edge in edges if edge.args[k] is not param]
            if given and all(g is not None for g in given) and len({len(g) for g in given}) == 1:  # type: ignore[arg-type]
                _split(block, k, edges, makers, len(given[0]))  # type: ignore[arg-type]
                return True
    return False


def _split(block: Block, k: int, edges: list[Edge], makers: dict[Value, Op], n: int) -> None:
    """Parameter k, a tuple of n, becomes n parameters, of which the block makes the tuple again."""
    param = block.params[k]
    parts = [Value(param.name) for _ in range(n)]
    block.params[k : k + 1] = parts
    for edge in edges:
        items = parts if edge.args[k] is param else _items(edge.args[k], makers)
        edge.args[k : k + 1] = list(items or ())
    block.ops.insert(0, Op(Const(primitives.build_tuple), list(parts), [param], (), None, True))


# -- instructions --------------------------------------------------------------------------------------------


def _reads_real(op: Op) -> bool:
    """x.real of a number"""
    named = op.fn is getattr and isinstance(op.args[1], Const) and op.args[1].value == "real"
    return named and leaf_class(T.widen(operand_type(op.args[0]))) in (float, int)


def _canonicalise(op: Op) -> None:
    if _reads_real(op):
        op.callee, op.args, op.syntax = Const(operator.pos), op.args[:1], True
    found = canonical(op.fn)
    if found is None or op.kwnames:
        return
    op.callee, op.syntax = Const(found), found in _SYNTAX


_SYNTAX = frozenset(OPERATORS.values())


def one_return(graph: Graph) -> bool:
    """Make one block return, a tuple of the outputs, in place; whether `graph` returned a tuple."""
    makers = {r: op for _, op in graph.ops() for r in op.results}
    returns = [b for b in graph.blocks if isinstance(b.terminator, Return)]
    if not returns:
        raise KernelError("a kernel must return a number; return nan where there is none")
    given = [_flat(b.terminator.value, makers, b) for b in returns]  # type: ignore[union-attr]
    if len({len(items) for items, _ in given}) != 1 or len({several for _, several in given}) != 1:
        raise KernelError(
            "a kernel returns one number, or a tuple of numbers of one length, on all of its paths; "
            "return as many everywhere",
            returns[-1].terminator.pos,  # type: ignore[union-attr]
        )
    end = graph.new_block()
    end.params = [Value("y") for _ in given[0][0]]
    for block, (items, _) in zip(returns, given, strict=True):
        block.terminator = Jump(Edge(end, list(items)), block.terminator.pos)  # type: ignore[union-attr]
    set_outputs(end, list(end.params))
    _drop_dead_tuples(graph)
    return given[0][1]


def set_outputs(end: Block, outputs: list[Operand]) -> None:
    """`end` returns them."""
    y = Value("y")
    end.ops.append(Op(Const(primitives.build_tuple), outputs, [y], (), None, True))
    end.terminator = Return(y)


def result_of(graph: Graph) -> tuple[Block, Op]:
    """The block that returns, and the op whose operands are the outputs."""
    for block in graph.blocks:
        if isinstance(block.terminator, Return):
            return block, next(op for op in block.ops if block.terminator.value in op.results)
    raise KernelError("a kernel must return a number; return nan where there is none")


def _flat(value: Operand, makers: dict[Value, Op], block: Block) -> tuple[Sequence[Operand], bool]:
    items = _items(value, makers)
    if items is None:
        return [value], False
    if any(_items(item, makers) is not None for item in items):
        raise KernelError(
            "a kernel returns numbers, not tuples within a tuple; return one flat tuple", block.terminator.pos
        )  # type: ignore[union-attr]
    return items, True


def _drop_dead_tuples(graph: Graph) -> None:
    read = uses(graph)
    for block in graph.blocks:
        block.ops = [
            op for op in block.ops if op.fn is not primitives.build_tuple or any(read[r] for r in op.results)
        ]


def check_terminators(graph: Graph) -> None:
    """KernelError where a kernel would raise, or read what may be unbound."""
    for block in graph.blocks:
        if isinstance(block.terminator, Raise):
            raise KernelError(
                "a kernel cannot raise; return nan there, or check the arrays before", block.terminator.pos
            )
        for operand in _read(block):
            if operand is UNDEF:
                raise KernelError(
                    "a variable of the kernel may be unbound; give it a value on every path",
                    block.terminator.pos if block.terminator else None,
                )


def _read(block: Block) -> Iterator[Operand]:
    for op in block.ops:
        yield from op.args
    if block.terminator is not None:
        yield from block.terminator.operands()
