"""Kernels of several results in programs that are differentiated: one kernel per result that is read.

    %t = k(%x); %a = %t[0]; %b = %t[1]      ->      %a = k0(%x); %b = k1(%x)

So every cotangent and tangent is an array, and none a container that only run time knows.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.rewrite import uses
from ctxdispatch.ir.values import Const, Value
from ctxdispatch_contexts.broadcast.kernel import Kernel
from ctxdispatch_contexts.forward import before_push
from ctxdispatch_contexts.reverse import before_sweep


@before_push
@before_sweep
def split_results(graph: Graph, seeds: Sequence[Value]) -> None:
    """Rewrite in place. What is done with a tuple as a whole stays as it is."""
    found = [(block, op) for block, op in graph.ops() if isinstance(op.fn, Kernel) and op.fn.several]
    used = uses(graph) if found else {}
    for block, op in found:
        readers = [use.user for use in used[op.result]]
        if all(_is_reading(reader, len(op.fn.outputs)) for reader in readers):
            for reader in readers:
                _read_one(graph, op, reader)
            block.ops.remove(op)


def _is_reading(user: Any, n: int) -> bool:
    """Of n results, some that there are."""
    if not isinstance(user, Op):
        return False
    if user.fn is primitives.unpack:
        return len(user.results) == n
    index = user.args[1].value if user.fn is operator.getitem and isinstance(user.args[1], Const) else None
    return type(index) is int and -n <= index < n


def _read_one(graph: Graph, op: Op, reader: Op) -> None:
    kernel = op.fn
    if reader.fn is operator.getitem:
        index = reader.args[1].value  # type: ignore[union-attr]
        reader.callee, reader.args, reader.syntax = Const(kernel.output(index)), list(op.args), False
        return
    home = next(block for block, other in graph.ops() if other is reader)
    at = home.ops.index(reader)
    home.ops[at : at + 1] = [
        Op(Const(kernel.output(m)), list(op.args), [y], (), op.pos) for m, y in enumerate(reader.results)
    ]
