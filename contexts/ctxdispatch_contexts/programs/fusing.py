"""Loops over what generators of the user's give: the loop's body goes where they yield
(`passes/generators.py`). Where that cannot be there is no program, and the run is recorded."""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from ctxdispatch.bytecode.lift import is_generator
from ctxdispatch.ir import primitives
from ctxdispatch.ir.analysis import IrreducibleError, Loop, loops
from ctxdispatch.ir.graph import Block, Iterate, Op
from ctxdispatch.ir.rewrite import definitions
from ctxdispatch.ir.values import Value, row_of
from ctxdispatch.passes import types as T
from ctxdispatch.passes.generators import fuse, loop_over, source
from ctxdispatch.passes.inline import emit_before
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives import iterators
from ctxdispatch_contexts.programs.activity import carries
from ctxdispatch_contexts.programs.followed import is_array
from ctxdispatch_contexts.programs.inlining import Opened, from_inside, open_function, open_made
from ctxdispatch_contexts.programs.targets import Target, callee_of, read_method

if TYPE_CHECKING:
    from ctxdispatch_contexts.programs.prepare import Prepared

MAX_OPS = 600
POOLED = (iterators.combinations, iterators.permutations, iterators.combinations_with_replacement)
"""They take all items when they are called, not when the loop begins."""


def fuse_generators(prepared: Prepared, has_rule: Callable[[Any], bool]) -> bool:
    """One, in place; whether there was one."""
    headers = [b for b in prepared.graph.blocks if isinstance(b.terminator, Iterate)]
    return any(_fuse(prepared, header, has_rule) for header in headers)


def _fuse(prepared: Prepared, header: Block, has_rule: Callable[[Any], bool]) -> bool:
    graph, ops = prepared.graph, source(prepared.maker, header.terminator.iterator)  # type: ignore[union-attr]
    if not ops or prepared.keeps(ops[-1].fn) or not _may_be_generator(prepared, ops[-1]):
        return False
    try:
        forest = loops(graph)
    except IrreducibleError:
        return False
    loop = loop_over(graph, header, ops, forest)
    opened = None if loop is None else _opened(prepared, ops[-1], has_rule)
    if loop is None or opened is None or _is_large(loop, opened):
        return False
    chain = (*prepared.chain.get(ops[-1], ()), opened.given)
    fused = fuse(graph, loop, ops, opened.graph, opened.args, opened.cells)
    for op in [op for block in fused.blocks for op in block.ops]:
        from_inside(prepared, op, ops[-1], chain, opened.graph)
    copied = fused.copied.items()
    prepared.chain.update({new: prepared.chain[old] for new, old in copied if old in prepared.chain})
    return True


def _may_be_generator(prepared: Prepared, call: Op) -> bool:
    fn, making = call.fn, prepared.maker.get(call.callee)  # type: ignore[arg-type]
    if making is not None and making.fn is primitives.make_function:
        return is_generator(making.args[1].value)  # type: ignore[union-attr]
    function = fn.__func__ if type(fn) is MethodType else fn
    if type(function) is FunctionType:
        return is_generator(function.__code__)
    if making is not None and making.fn in (getattr, read_method):
        method = prepared.method(making)
        return method is not None and is_generator(method.function.__code__)
    return _stand_in(prepared, call) is not None


def _stand_in(prepared: Prepared, call: Op) -> Any:
    """The generator of ours that gives what `call` gives."""
    if call.fn is None or not any(isinstance(a, Value) and carries(a.type) for a in call.args):
        return None
    if call.fn is builtins.enumerate:
        ops = source(prepared.maker, call.args[0])
        return iterators.enumerated if ops and _may_be_generator(prepared, ops[-1]) else None
    if len(call.args) == 2 and (call.fn is builtins.map or call.fn is builtins.filter):
        return iterators.mapped if call.fn is builtins.map else iterators.filtered
    sized = is_array(call.args[0]) or T.cls_of(operand_type(call.args[0])) is tuple
    if call.fn is builtins.reversed:
        return iterators.backwards if is_array(call.args[0]) else None
    if call.fn is itertools.pairwise and sized:
        return iterators.neighbours
    return row_of(iterators.GENERATORS, call.fn)


def _opened(prepared: Prepared, call: Op, has_rule: Callable[[Any], bool]) -> Opened | None:
    block = definitions(prepared.graph)[call.result]
    making = prepared.maker.get(call.callee)  # type: ignore[arg-type]
    if making is not None and making.fn is primitives.make_function:
        return open_made(prepared, block, call, making)
    ours = _stand_in(prepared, call)
    if ours is not None:
        if prepared.waits(call) or (ours in POOLED and call.kwnames):
            return None
        if ours in POOLED:
            call.args = [emit_before(block, call)(builtins.list, call.args[0]), *call.args[1:]]
        return open_function(prepared, block, call, Target(ours))
    target = callee_of(call, prepared)
    if target is None or target.entry is not None or has_rule(target.function):
        return None
    return open_function(prepared, block, call, target) if is_generator(target.function.__code__) else None


def _is_large(loop: Loop, opened: Opened) -> bool:
    yields = sum(op.fn is primitives.yielded for _, op in opened.graph.ops())
    return yields * sum(len(block.ops) for block in loop.blocks) > MAX_OPS
