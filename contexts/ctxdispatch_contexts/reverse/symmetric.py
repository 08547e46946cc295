"""The adjoint of a gradient that is computed within the program.

    h = grad(f)(x), of bar(h)    bar(x) = H(x)^T bar(h) = H(x) bar(h) = the derivative of grad(f) along bar(h)

for the second derivatives of f are symmetric: no sweep is swept, and the derivative along a direction is
forward mode's (Griewank and Walther, "Evaluating Derivatives", 2008, section 5.1: forward over reverse).

A gradient whose program is straight is inlined and swept as any other code, which is cheaper. Not symmetric
is what a user's rule says, which need not be the derivative of anything: then the program is swept, too.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.activity import STORES
from ctxdispatch_contexts.programs.containers import rebuild
from ctxdispatch_contexts.programs.derived import along, entry_of
from ctxdispatch_contexts.programs.entry import Entry
from ctxdispatch_contexts.programs.mode import Program
from ctxdispatch_contexts.programs.scaling import typed
from ctxdispatch_contexts.reverse import cotangents, releasing
from ctxdispatch_contexts.reverse.adjoint import Adjoint
from ctxdispatch_contexts.reverse.bars import is_zero


def gradient_of(op: Op) -> Entry | None:
    """The entry of a gradient that `op` calls, with all its arguments."""
    entry = entry_of(op.fn) if hashable(op.fn) else None
    if entry is None or not (is_gradient(entry) and op.again) or op.kwnames:
        return None
    return entry if len(op.args) == len(entry.signature().names) else None


def is_gradient(entry: Entry) -> bool:
    mode = entry.mode
    return getattr(mode, "seeded", None) is False and not mode.split and not mode.stub and not mode.has_aux  # type: ignore[attr-defined]


def opens(entry: Entry, program: Program, by_rule: Callable[[Any], bool]) -> bool:
    """Whether a program is inlined and swept: unless it is a gradient that is not straight, and symmetric.
    That of a program which calls a user's rule (`by_rule`) need not be."""
    if not is_gradient(entry) or _is_straight(program):
        return True
    return any(by_rule(op.fn) for _, op in program.graph.ops())


def _is_straight(program: Program) -> bool:
    graph = program.graph
    if any(e.target in graph.blocks[: i + 1] for i, b in enumerate(graph.blocks) for e in b.edges()):
        return False
    return not any(map(_is_hard, (op for _, op in graph.ops())))


def _is_hard(op: Op) -> bool:
    """A store, a call at run time, an entry of a container's cotangent."""
    fn = op.fn
    if fn is None or not hashable(fn) or issubclass(type(fn), functools.partial):
        return True
    return fn in STORES or fn in _HELPERS or entry_of(fn) is not None


_HELPERS = frozenset({
    cotangents.add_entry, cotangents.add_own_entry, cotangents.add_index, cotangents.add_array_index,
    cotangents.entry_of, cotangents.take_entry, cotangents.opened, cotangents.whole,
})  # fmt: skip


def reverse_gradient(adjoint: Adjoint, op: Op) -> None:
    """bar(args) += the derivative, along bar(gradient), of the gradient with respect to all of them."""
    entry = gradient_of(op)
    assert entry is not None
    g = adjoint.pullbacks.arrived(adjoint, op.result)
    if is_zero(g):
        return
    mode: Any = entry.mode
    of_value, of_gradient = (_entry(adjoint, g, 0), _entry(adjoint, g, 1)) if mode.value else (None, g)
    wrt = mode.wrt
    moving = [of_gradient] if mode.single else [_entry(adjoint, of_gradient, j) for j in range(len(wrt))]
    args = [adjoint.recall(a) for a in op.args]
    tangents = [
        d if operand_type(d) == operand_type(op.args[i]) else adjoint.call(releasing.finish, d, args[i])
        for i, d in zip(wrt, moving, strict=True)
    ]
    active = tuple(i for i, a in enumerate(op.args) if a in adjoint.active)
    pair = adjoint.call(along(entry, active), *args, *tangents, name="along")
    gradients, second = (typed(adjoint.build, operator.getitem, pair, Const(i)) for i in (0, 1))
    for j, i in enumerate(active):
        found: Operand = _entry(adjoint, second, j)  # None where the gradient is constant
        if of_value is not None:
            first = typed(adjoint.build, operator.getitem, gradients, Const(j))
            found = adjoint.call(plus_scaled, found, of_value, first)
        adjoint.add(op.args[i], found)


def _entry(adjoint: Adjoint, g: Any, i: int) -> Value:
    return adjoint.call(cotangents.entry_of, g, Const(i), type=T.Any)


def plus_scaled(a: Any, scale: Any, b: Any) -> Any:
    """a + scale * b, of cotangents of any form; None is zero."""
    if scale is None or b is None:
        return a
    if isinstance(b, (tuple, list)):
        parts = [None] * len(b) if a is None else a
        return rebuild(b, [plus_scaled(x, scale, y) for x, y in zip(parts, b, strict=True)])
    if isinstance(b, dict):
        return {k: plus_scaled(None if a is None else a.get(k), scale, y) for k, y in b.items()}
    return scale * b if a is None else a + scale * b
