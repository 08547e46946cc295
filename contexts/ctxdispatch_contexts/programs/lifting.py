"""Graphs of functions, lifted once.

A function with `try` has no graph. What it does where nothing is raised has one: a program of that may be run
(`regions.Attempt`), and where it raises, the function itself is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import CellType, CodeType, FunctionType
from typing import Any

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.bytecode.lift import lift, lift_code, lift_generator
from ctxdispatch.bytecode.original import is_generated
from ctxdispatch.dispatch.reach import own_way
from ctxdispatch.ir import leaves
from ctxdispatch.ir.graph import Graph, Raise
from ctxdispatch.ir.prune import prune
from ctxdispatch.ir.rewrite import mark_caught
from ctxdispatch.ir.values import Const, Position
from ctxdispatch_contexts.derivatives.table import vjp_rule
from ctxdispatch_contexts.programs.entry_keys import ById, code_key
from ctxdispatch_contexts.programs.owned import Bounded, generated

_closures = Bounded(1024)


class Handlers:
    """Whether some were `met`, or other things that are rarely done, and are left out."""

    def __init__(self, out: bool) -> None:
        self.met, self.out = False, out


_HANDLERS: ContextVar[Handlers | None] = ContextVar("handlers", default=None)


@contextmanager
def handlers(*, out: bool = False) -> Iterator[Handlers]:
    """Handlers that code has are noted; `out`: left out."""
    noted = Handlers(out)
    token = _HANDLERS.set(noted)
    try:
        yield noted
    finally:
        _HANDLERS.reset(token)


def leaves_out_handlers() -> bool:
    """What is lifted now is for an attempt."""
    noted = _HANDLERS.get()
    return noted is not None and noted.out


def gives_up() -> bool:
    """Whether what is rarely done may be left to a recorded run: the program is an attempt. If not, another
    try may be."""
    noted = _HANDLERS.get()
    if noted is not None:
        noted.met = True
    return leaves_out_handlers()


class Raised(Exception):
    """In the place of what a program raises that is attempted: the run will be recorded, and raise it."""


def giving_up(pos: Position) -> Raise:
    return Raise(Const(Raised), None, pos)


def _giving_up(graph: Graph) -> Graph:
    """In place: what is done only to raise something is left to that run."""
    for block in graph.blocks:
        if isinstance(block.terminator, Raise):
            block.ops, block.terminator = [], giving_up(block.terminator.pos)
    return prune(graph)


def is_installed(code: CodeType) -> bool:
    """Installed, or Python's own: there are handlers nearly everywhere, and behind them is no end of code, of
    which a program would take minutes to make."""
    return leaves.is_installed(code.co_filename)


def form_of(code: CodeType, namespace: dict[str, Any], closure: tuple[CellType, ...] = ()) -> Graph:
    """The graph of a function's code. UnsupportedSyntax where it has none."""
    if leaves_out_handlers() and not is_installed(code):
        return mark_caught(_giving_up(lift_code(code, namespace, closure, handlers=False)))
    try:
        return lift_code(code, namespace, closure)
    except UnsupportedSyntax as error:
        noted = _HANDLERS.get()
        handled = error.construct in ("try/except", "try/finally", "with") and not is_installed(code)
        if noted is not None and handled:
            noted.met = True
        raise


def generator_of(code: CodeType, namespace: dict[str, Any], *, ends: bool = False) -> Graph:
    """The graph of a generator. `ends`: it is resumed until it does."""
    if ends and leaves_out_handlers() and not is_installed(code):
        return mark_caught(_giving_up(lift_generator(code, namespace, handlers=False)))
    return lift_generator(code, namespace)


def lifted(function: FunctionType) -> Graph:
    """The graph of a function as its code is now. Clone it before you change it."""
    code = function.__code__
    if is_solver(function):
        raise UnsupportedSyntax("a solver", code.co_filename, code.co_firstlineno, code.co_qualname)
    if is_generated(code):
        return _closures.get_or_make(code_key(code), lambda: lift(function))
    if made_at_run_time(function):
        return lifted_code(code, function.__globals__)
    key = (lifted, ById(code), leaves_out_handlers())
    return generated(function).get_or_make(key, lambda: form_of(code, function.__globals__))


SOLVERS = {
    "scipy.optimize": frozenset(
        "brentq brenth bisect ridder toms748 newton root_scalar root fsolve minimize minimize_scalar".split()
    ),
    "scipy.integrate": frozenset({"quad", "odeint", "solve_ivp"}),
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
    key = (code_key(code), ById(namespace), leaves_out_handlers())
    return _closures.get_or_make(key, lambda: form_of(code, namespace))


def made_at_run_time(callee: Any) -> bool:
    """A function of the user's that another one makes, maybe anew at each call. One of a library that has a
    rule is none, though a decorator has made it."""
    if type(callee) is not FunctionType or own_way(callee) is not None:
        return False
    return bool(callee.__closure__ or "<locals>" in callee.__qualname__) and vjp_rule(callee) is None
