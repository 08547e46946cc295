"""Closures and lambdas given to `grad` and its like, again and again: they share one program.

A function that stays is better off with a program of its own, which knows the functions that it captured. So
the first few functions of a code object get one each; who gives `grad` a fresh one at every step gets the
program of the code (`closures.py`) from then on. Except where derivatives are taken within: of functions that
it captured, which the program of the code would not know.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from types import CellType, CodeType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from ctxdispatch.bytecode.pool import Pool
from ctxdispatch.dispatch import recurse
from ctxdispatch.dispatch.reach import natively
from ctxdispatch.ir import primitives
from ctxdispatch.ir.builder import Builder
from ctxdispatch.ir.graph import Graph, Signature
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes.buffers import emit
from ctxdispatch_contexts.programs.arguments import Default, as_gradient, check_apart, left_out
from ctxdispatch_contexts.programs.assigned import Holder, assigned_out_of_sight, is_empty
from ctxdispatch_contexts.programs.closures import closure_entry, contents
from ctxdispatch_contexts.programs.entry import Entry
from ctxdispatch_contexts.programs.entry_keys import ById
from ctxdispatch_contexts.programs.mode import Mode
from ctxdispatch_contexts.programs.nesting import takes_derivatives
from ctxdispatch_contexts.programs.owned import Bounded
from ctxdispatch_contexts.programs.sources import Source

OWN = 8
"""So many functions of one code object get programs of their own."""

_with_own: WeakKeyDictionary[CodeType, int] = WeakKeyDictionary()

Again = Callable[..., Any]


@natively
def takes_own(f: FunctionType, at_once: bool = False) -> bool:
    """Whether a function that has no program yet gets one of its own. It is counted. `at_once`: none does
    that may share."""
    count = _with_own.get(f.__code__, 0)
    unfit = any(map(is_empty, f.__closure__ or ())) or takes_derivatives(f)
    shared = (count >= OWN or at_once) and not unfit and not _changes(f)
    if not shared:
        _with_own[f.__code__] = count + 1
    return not shared


def _changes(f: FunctionType) -> bool:
    """What the functions of this code have captured may change while they run: arguments would be copies. It
    is found out once, for the functions made beside it are of the same codes each time."""
    if f.__code__ not in _changing:
        cells = {id(cell): cell for cell in f.__closure__ or ()}
        holder = Holder(f.__code__, f.__globals__, f.__closure__ or ())
        _changing[f.__code__] = bool(assigned_out_of_sight(cells, [holder]))
    return _changing[f.__code__]


_changing: WeakKeyDictionary[CodeType, bool] = WeakKeyDictionary()


def shared_function(f: FunctionType, mode: Mode, context: Any, again: Again) -> FunctionType:
    """What `grad` and its like return for `f`: it hands what `f` captured to the entry of f's code.
    `again(f, mode, context, *args)` is called where `f` has changed since."""
    code = f.__code__
    shifted = mode.after(len(code.co_freevars), code.co_argcount)
    entry = closure_entry(context, shifted, f, code.co_argcount, ())
    defaults = len(f.__defaults__ or ())
    pool, passing = _passing.get_or_make(
        (context, mode, code, ById(f.__globals__), defaults),
        lambda: _emitted(_passing_graph(f, mode, context, entry.function, again)),
    )
    closure = (*(f.__closure__ or ()), CellType(f), pool.cell)
    function = FunctionType(passing, f.__globals__, f.__name__, None, closure)
    as_gradient(function, f)
    function.__overdub__ = _Under(f, mode, context, entry.function, again)  # type: ignore[attr-defined]
    return function


_passing = Bounded(1024)
"""(pool, code) of the functions that pass on what a closure captured."""


def _emitted(graph: Graph) -> tuple[Pool, CodeType]:
    pool = Pool()
    return pool, emit(graph, pool)


def _passing_graph(f: FunctionType, mode: Mode, context: Any, function: Any, again: Again) -> Graph:
    """(*args): return function(*contents of the cells, *args)"""
    code = f.__code__
    free = code.co_freevars
    graph = Graph(
        f.__qualname__, _signature(code, mode), cellnames=(*free, "wrapped"), namespace=f.__globals__,
        filename=code.co_filename, line=code.co_firstlineno,
    )  # fmt: skip
    build = Builder(graph)
    wrapped = _content(build, graph.cells[-1], "wrapped")
    _unless_changed(build, f, wrapped, [Const(mode), Const(context)], again)
    captured = [_content(build, cell, name) for cell, name in zip(graph.cells, free)]
    y = build.call(function, *captured, *_arguments(build, f, mode, wrapped))
    build.ret(build.call(cut, y, Const(len(free)), Const(code.co_argcount)) if mode.split else y)
    return graph


def _signature(code: CodeType, mode: Mode) -> Signature:
    """The parameters of the code, and those that the mode adds."""
    own = Signature.of(code)
    names = mode.parameters(own.names)
    return own if names == own.names else Signature(names, len(names))


def _unless_changed(
    build: Builder, f: FunctionType, wrapped: Value, how: list[Operand], again: Again
) -> None:
    """Go on where the code of `wrapped`, and the number of its defaults, are those of `f`."""
    code = build.call(getattr, wrapped, Const("__code__"), syntax=True)
    same = build.call(operator.is_, code, Const(f.__code__), syntax=True)
    passed, replaced = build.new_block(), build.new_block()
    if f.__defaults__:
        counted = build.new_block()
        build.branch(same, counted, replaced)
        build.enter(counted)
        same = build.call(_has_defaults, wrapped, Const(len(f.__defaults__)))
    build.branch(same, passed, replaced)
    build.enter(replaced)
    build.ret(build.call(again, wrapped, *how, *build.graph.params))
    build.enter(passed)


def _has_defaults(f: FunctionType, n: int) -> bool:
    return len(f.__defaults__ or ()) == n


def _content(build: Builder, cell: Value, name: str) -> Value:
    return build.call(primitives.cell_get, cell, Const(name), Const(True), syntax=True)


def _arguments(build: Builder, f: FunctionType, mode: Mode, wrapped: Value) -> list[Operand]:
    """The arguments, those that were left out filled in; not those to differentiate with respect to."""
    params, n = build.graph.params, f.__code__.co_argcount
    first = n - len(f.__defaults__ or ())
    found: list[Operand] = list(params[:first])
    for i, param in enumerate(params[first:n], first):
        if mode.needs(i):
            found.append(build.call(_given, param, Const(param.name), Const(i)))
        else:
            found.append(build.call(_or_default, param, wrapped, Const(i - first), *params[:n]))
    return [*found, *params[n:]]


def _or_default(value: Any, f: FunctionType, i: int, *given: Any) -> Any:
    if value is not Default:
        return value
    default = (f.__defaults__ or ())[i]
    check_apart([default], given)
    return default


def _given(value: Any, name: str, i: int) -> Any:
    if value is Default:
        raise left_out(name, i)
    return value


def cut(pair: Any, first: int, n: int) -> Any:
    """(y, pullback), of the cotangents only n from the first-th."""
    y, pullback = pair
    return y, lambda ybar: pullback(ybar)[first : first + n]


class _Under:
    """What another context runs in place of a function that passes on: the program of the code."""

    def __init__(self, f: FunctionType, mode: Mode, context: Any, function: Any, again: Again) -> None:
        self.f, self.mode, self.context, self.function, self.again = f, mode, context, function, again
        self._own: Entry | None = None

    def __call__(self, ctx: Any, *args: Any, **kwargs: Any) -> Any:
        captured, given = tuple(map(contents, self.f.__closure__ or ())), args
        if len(args) <= self.f.__code__.co_argcount:  # else those that the mode adds are among them
            bound = inspect.signature(self.f).bind(*args, **kwargs)
            bound.apply_defaults()
            given = bound.args
        y = recurse(ctx, self.function, *captured, *given)
        return cut(y, len(captured), len(given)) if self.mode.split else y

    def own_entry(self) -> Entry:
        """What is differentiated once more knows the functions that it captured."""
        if self._own is None:
            self._own = Entry(Source(self.f), self.mode, self.context, self.again)
        return self._own
