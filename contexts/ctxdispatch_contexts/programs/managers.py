"""`with` of what generators of the user's give that `contextlib.contextmanager` decorates, in attempts
(`lifting.py`): their code goes where the manager is entered and left (`passes/managers.py`). Where that
cannot be there is no program, and the run is recorded."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ctxdispatch.bytecode.lift import is_generator
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.rewrite import definitions, uses
from ctxdispatch.passes.guards import CellIs, CodeIs
from ctxdispatch.passes.managers import DECORATED, ENTER, LEAVE, Scope, enters, open_scope, scope_of, yield_of
from ctxdispatch_contexts.programs.inlining import Opened, from_inside, open_function, open_made
from ctxdispatch_contexts.programs.lifting import leaves_out_handlers
from ctxdispatch_contexts.programs.targets import Target, callee_of

if TYPE_CHECKING:
    from ctxdispatch_contexts.programs.prepare import Prepared

MAX_OPS = 600


def open_managers(prepared: Prepared, has_rule: Callable[[Any], bool]) -> bool:
    """One, in place; whether there was one."""
    if not leaves_out_handlers() or has_rule(ENTER) or has_rule(LEAVE):
        return False
    entering = [op for _, op in prepared.graph.ops() if enters(op)]
    made = dict.fromkeys(prepared.maker.get(op.args[0]) for op in entering)  # type: ignore[arg-type]
    return any(op is not None and _open(prepared, op, has_rule) for op in made)


def _open(prepared: Prepared, made: Op, has_rule: Callable[[Any], bool]) -> bool:
    graph = prepared.graph
    scope = None if prepared.keeps(made.fn) else scope_of(graph, made)
    opened = None if scope is None else _opened(prepared, made, has_rule)
    if scope is None or opened is None or yield_of(opened.graph) is None or _is_large(scope, opened.graph):
        return False
    decorating = prepared.maker.get(made.callee)  # type: ignore[arg-type]
    chain = (*prepared.chain.get(made, ()), opened.given)
    for block in open_scope(graph, scope, opened.graph, opened.args, opened.cells):
        for op in block.ops:
            from_inside(prepared, op, made, chain, opened.graph)
    if decorating is not None and decorating.fn is contextmanager and not uses(graph)[decorating.result]:
        definitions(graph)[decorating.result].ops.remove(decorating)
    return True


def _opened(prepared: Prepared, made: Op, has_rule: Callable[[Any], bool]) -> Opened | None:
    block, decorating = definitions(prepared.graph)[made.result], prepared.maker.get(made.callee)  # type: ignore[arg-type]
    if decorating is not None and decorating.fn is contextmanager:
        making = prepared.maker.get(decorating.args[0])  # type: ignore[arg-type]
        is_made = making is not None and making.fn is primitives.make_function
        if not is_made or not is_generator(making.args[1].value):  # type: ignore[union-attr]
            return None
        return open_made(prepared, block, made, making, ends=True)  # type: ignore[arg-type]
    target = callee_of(made, prepared)
    if target is None or target.function.__code__ is not DECORATED or has_rule(target.function):
        return None
    (cell,) = target.function.__closure__ or ()
    generator = cell.cell_contents
    if type(generator) is not FunctionType or not is_generator(generator.__code__) or has_rule(generator):
        return None
    prepared.assume_all([CodeIs(target.function, DECORATED), CellIs(cell, generator)])
    return open_function(prepared, block, made, Target(generator, target.first), ends=True)


def _is_large(scope: Scope, generator: Graph) -> bool:
    return len(scope.leaves) * sum(len(block.ops) for block in generator.blocks) > MAX_OPS
