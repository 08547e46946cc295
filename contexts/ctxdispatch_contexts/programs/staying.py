"""Calls that stay, for they are calls of a function in itself: one program is to serve all of them.

bisect(f, a, m, 0.5 * tol)      of a literal `tol`: another literal in each call, so a value
bisect(lambda x: x * x, a, m)   the function is made once, and a constant, where nobody can tell
"""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Op
from ctxdispatch.ir.values import Const, Operand
from ctxdispatch.passes import types as T
from ctxdispatch.passes.inline import emit_before
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.entry_keys import ById, code_key
from ctxdispatch_contexts.programs.helper_types import varying
from ctxdispatch_contexts.programs.owned import Bounded
from ctxdispatch_contexts.programs.recipes import is_none, parts_of

if TYPE_CHECKING:
    from ctxdispatch_contexts.programs.prepare import Prepared
    from ctxdispatch_contexts.programs.targets import Target

MOST_COUNTED = 6
"""Down from here, a recursion has a program for each depth: others can be made of these."""


def make_alike(
    prepared: Prepared, block: Block, op: Op, target: Target, around: Sequence[Operand]
) -> bool:  # fmt: skip
    """In place; `around`: the parameters of the call that this one is in. True where it was changed."""
    return _vary_literals(block, op, target, around) | _hand_on_functions(prepared, op, target)


def _vary_literals(block: Block, op: Op, target: Target, around: Sequence[Operand]) -> bool:
    """Literals that are others than those of the call around would be others again in each further one, and
    each would have a program of its own."""
    names = target.function.__code__.co_varnames
    n = len(op.args) - len(op.kwnames)
    own = (*names[len(target.first) :][:n], *op.kwnames)
    before = dict(zip(names, around))
    found = [i for i, (a, name) in enumerate(zip(op.args, own)) if _differ(a, before.get(name))]
    for i in found:
        op.args[i] = emit_before(block, op, syntax=False)(varying, op.args[i])
    return bool(found)


def _differ(a: Operand, b: Operand | None) -> bool:
    if not (isinstance(a, Const) and isinstance(b, Const) and T.is_literal(a.value)):
        return False
    few = type(a.value) is int and abs(a.value) <= MOST_COUNTED
    return not few and T.Known(a.value) != T.Known(b.value)


def _hand_on_functions(prepared: Prepared, op: Op, target: Target) -> bool:
    """Functions that are made here and capture nothing: all that are made are alike, and a contained call
    neither keeps them nor tells one from the other."""
    alike = [_alike(prepared.maker.get(a)) for a in op.args]  # type: ignore[arg-type]
    if target.first or not any(alike):
        return False
    args = [a if f is None else Const(f) for a, f in zip(op.args, alike)]
    if not prepared.returns.is_contained(target.function, list(map(operand_type, args)), op.kwnames):
        return False
    op.args = args
    return True


def _alike(making: Op | None) -> FunctionType | None:
    if making is None or making.fn is not primitives.make_function:
        return None
    namespace, code, *held = parts_of(making)
    if code.co_freevars or not all(map(is_none, held)):
        return None
    return _functions.get_or_make((code_key(code), ById(namespace)), lambda: _made(code, namespace))


def _made(code: CodeType, namespace: dict[str, Any]) -> FunctionType:
    return FunctionType(code, namespace, code.co_name)


_functions = Bounded(1024)
