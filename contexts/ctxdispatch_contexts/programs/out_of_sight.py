"""Which ops may run code that the program does not show."""

from __future__ import annotations

from types import FunctionType, MethodType

from ctxdispatch.facts import Fact, fact_of
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.leaves import is_ours
from ctxdispatch.ir.values import Operand, hashable
from ctxdispatch.passes import effects
from ctxdispatch.passes import types as T
from ctxdispatch.passes.pure import PureFunction
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives.table import elementwise, vjp_rule
from ctxdispatch_contexts.programs.activity import carries, has_zero_derivative
from ctxdispatch_contexts.programs.special_methods import LIBRARIES, runs_method
from ctxdispatch_contexts.programs.stand_ins import call_behind


def runs_python(op: Op) -> bool:
    """May run code that we do not see, which may keep its operands or change them."""
    if op.contained is not None:
        return False
    op = call_behind(op)
    if op.fn is None or runs_method(op):
        return True
    fact = fact_of(op.fn)
    if fact is not None:
        return _calls(op, fact)
    if hashable(op.fn) and (elementwise(op.fn) or vjp_rule(op.fn) or has_zero_derivative(op.fn)):
        return False
    if is_ours(getattr(op.fn, "__module__", None)):
        return False
    return not (_is_of_library(op.fn) and all(map(_cannot_change, op.args)))


def has_effect(op: Op) -> bool:
    """It does what is not seen in its operands, as far as is known: C code without a row may draw a random
    number, or write to a file."""
    fact = fact_of(op.fn)
    if fact is not None or op.contained is not None:
        return fact is not None and fact.effect
    return not (only_computes(op.fn) or is_ours(getattr(op.fn, "__module__", None)))


def only_computes(fn: object) -> bool:
    """Whatever its row says: it has a rule, or is a program that has no effect."""
    return isinstance(fn, PureFunction) or (hashable(fn) and bool(elementwise(fn) or vjp_rule(fn)))


def _calls(op: Op, fact: Fact) -> bool:
    """It calls an operand that is a function of Python's, as far as is known."""
    return any(map(_is_function, fact.calls.of(op.args, op.kwnames)))


def _is_function(operand: Operand) -> bool:
    cls = T.cls_of(operand_type(operand))
    return cls is not None and issubclass(cls, (FunctionType, MethodType))


def _is_of_library(fn: object) -> bool:
    """Code that assigns to no variable of the user's: it can change what it is given, and nothing else."""
    owner = getattr(fn, "__objclass__", None) or getattr(fn, "__self__", None)
    module = getattr(fn, "__module__", None) or getattr(owner, "__module__", None)
    return str(module).partition(".")[0] in _LIBRARIES


_LIBRARIES = LIBRARIES - {"scipy"}
"""What SciPy's classes and solvers make of numbers is found out in a recorded run."""


def _cannot_change(operand: Operand) -> bool:
    """Nor has it a derivative."""
    type_ = operand_type(operand)
    return effects.immutable(type_) and not carries(type_)
