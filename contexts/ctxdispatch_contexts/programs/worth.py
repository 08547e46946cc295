"""Which calls are worth opening: those of what may carry a derivative."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Operand, Value
from ctxdispatch.passes.managers import DECORATED
from ctxdispatch_contexts.programs.activity import carries
from ctxdispatch_contexts.programs.observed import expects, is_short
from ctxdispatch_contexts.programs.rules import PACKAGE
from ctxdispatch_contexts.programs.targets import Target


def is_worth_it(op: Op, target: Target) -> bool:
    """Something that carries a derivative goes in: an argument, or what the function has captured. What makes
    a manager of a generator is opened where that is entered (`managers.py`)."""
    if target.function.__code__ is DECORATED:
        return False
    if may_carry([*op.args, *target.first]) or (target.function.__module__ or "").startswith(PACKAGE):
        return True
    if expects() and is_short(target.function):  # what it does can be seen then, and done again
        return True
    return any(_captures(cell) for cell in target.function.__closure__ or ())


def may_carry(operands: Sequence[Operand]) -> bool:
    return any(_may_be(a) for a in operands)


def _may_be(operand: Operand) -> bool:
    return isinstance(operand, Value) and carries(operand.type)


def _captures(cell: Any) -> bool:
    try:
        return type(cell.cell_contents) is FunctionType
    except ValueError:
        return False
