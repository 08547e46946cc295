"""Graphs of functions, lifted once."""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any

from ctxdispatch.bytecode.errors import UnsupportedSyntax
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
    if is_solver(function):
        raise UnsupportedSyntax("a solver", code.co_filename, code.co_firstlineno, code.co_qualname)
    if is_generated(code):
        return _closures.get_or_make(code_key(code), lambda: lift(function))
    if made_at_run_time(function):
        return lifted_code(code, function.__globals__)
    return generated(function).get_or_make((lifted, ById(code)), lambda: lift(function))


SOLVERS = {
    "scipy.optimize": frozenset(
        "brentq brenth bisect ridder toms748 newton root_scalar root fsolve minimize minimize_scalar".split()
    ),
    "scipy.integrate": frozenset({"quad", "odeint"}),
    "scipy.interpolate": frozenset(
        "PPoly._evaluate PPoly.integrate BSpline.__call__ make_interp_spline".split()
    ),
}
"""Not looked into: their runs are recorded, by rules (`recording/solvers.py`)."""


def is_solver(function: FunctionType) -> bool:
    """A function of SciPy's that finds by iteration what is known by another name."""
    library = str(function.__module__).rpartition(".")[0]
    return library in SOLVERS and function.__qualname__ in SOLVERS[library]


def lifted_code(code: CodeType, namespace: dict[str, Any]) -> Graph:
    """The graph of any function of this code."""
    return _closures.get_or_make((code_key(code), ById(namespace)), lambda: lift_code(code, namespace))


def made_at_run_time(callee: Any) -> bool:
    """A function of the user's that another one makes, maybe anew at each call. One of a library that has a
    rule is none, though a decorator has made it."""
    if type(callee) is not FunctionType or own_way(callee) is not None:
        return False
    return bool(callee.__closure__ or "<locals>" in callee.__qualname__) and vjp_rule(callee) is None
