"""Graphs of functions, lifted once."""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any

from ctxdispatch.bytecode.lift import lift, lift_code
from ctxdispatch.bytecode.original import is_generated
from ctxdispatch.dispatch.reach import own_way
from ctxdispatch.ir.graph import Graph
from ctxdispatch_contexts.derivatives.table import vjp_rule
from ctxdispatch_contexts.programs.entry_keys import ById, code_key
from ctxdispatch_contexts.programs.owned import Bounded, generated

_closures = Bounded(1024)


def lifted(function: FunctionType) -> Graph:
    """The graph of a function as its code is now. Clone it before you change it."""
    code = function.__code__
    if is_generated(code):
        return _closures.get_or_make(code_key(code), lambda: lift(function))
    if made_at_run_time(function):
        return lifted_code(code, function.__globals__)
    return generated(function).get_or_make((lifted, ById(code)), lambda: lift(function))


def lifted_code(code: CodeType, namespace: dict[str, Any]) -> Graph:
    """The graph of any function of this code."""
    return _closures.get_or_make((code, ById(namespace)), lambda: lift_code(code, namespace))


def made_at_run_time(callee: Any) -> bool:
    """A function of the user's that another one makes, maybe anew at each call. One of a library that has a
    rule is none, though a decorator has made it."""
    if type(callee) is not FunctionType or own_way(callee) is not None:
        return False
    return bool(callee.__closure__ or "<locals>" in callee.__qualname__) and vjp_rule(callee) is None
