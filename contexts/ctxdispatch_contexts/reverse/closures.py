"""Closures made again and again: one program serves all closures of one code object, what a closure has
captured being arguments of it.

A closure that stays is better off with a program of its own, which knows the functions that it captured. So
the first few closures of a code object get one each; who gives `grad` a fresh one at every step gets the
shared program from then on.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from types import CellType, CodeType, FunctionType, SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

from ctxdispatch.bytecode.pool import Pool
from ctxdispatch.dispatch import recurse
from ctxdispatch.ir import primitives
from ctxdispatch.ir.builder import Builder
from ctxdispatch.ir.graph import Const, Graph, Operand, Signature, Value
from ctxdispatch.passes.buffers import emit
from ctxdispatch_contexts.reverse.assigned import assigned_free
from ctxdispatch_contexts.reverse.entry import Entry
from ctxdispatch_contexts.reverse.entry_keys import ById
from ctxdispatch_contexts.reverse.errors import DerivativeError, user_position
from ctxdispatch_contexts.reverse.owned import Bounded
from ctxdispatch_contexts.reverse.program import CALL, Mode
from ctxdispatch_contexts.reverse.sources import ClosureSource, Default

_entries = Bounded(1024)


def closure_entry(
    context: Any, mode: Mode, callee: FunctionType, n: int, kwnames: tuple[str, ...], *, bound: bool = True
) -> Entry:
    """The entry for calls callee(*n arguments, **kwnames), of any closure of that code. `bound`: no argument
    is left to defaults."""
    code, namespace = callee.__code__, callee.__globals__
    defaults = (None, None) if bound else (callee.__defaults__, callee.__kwdefaults__)
    key = (context, mode, code, ById(namespace), n, kwnames, *map(ById, defaults))
    return _entries.get_or_make(
        key, lambda: Entry(ClosureSource(code, namespace, n, kwnames, *defaults), mode, context)
    )


# -- met at run time -----------------------------------------------------------------------------------------


def call_closure(context: Any, callee: FunctionType, args: tuple[Any, ...], kwnames: tuple[str, ...]) -> Any:
    """(y, pullback) of callee(*args): what the function captured, and its defaults, are arguments."""
    if (name := assigned_free(callee.__code__)) is not None:
        raise DerivativeError(
            f"{callee.__qualname__} assigns to {name!r}, a variable of the function around it (`nonlocal`); "
            "return the new value instead",
            user_position(),
        )
    contents = tuple(map(_contents, callee.__closure__ or ()))
    found = _bind(callee, args, kwnames)
    values, names, places = found or (args, kwnames, tuple(range(len(args))))
    entry = closure_entry(context, CALL, callee, len(values) - len(names), names, bound=found is not None)
    y, pullback = entry.function(*contents, *values)
    return y, functools.partial(_as_closure, pullback, callee.__code__.co_freevars, places)


def _bind(
    callee: FunctionType, args: tuple[Any, ...], kwnames: tuple[str, ...]
) -> tuple[tuple[Any, ...], tuple[str, ...], tuple[int, ...]] | None:
    """The values of all parameters, the names of those that go by keyword, and where each argument went.
    None where there are star parameters, or the call does not fit."""
    code = callee.__code__
    n, given = code.co_argcount, len(args) - len(kwnames)
    names = code.co_varnames[: n + code.co_kwonlyargcount]
    if code.co_flags & 0x0C or given > n:
        return None
    defaults = callee.__defaults__ or ()
    values = dict(zip(names[n - len(defaults) : n], defaults, strict=True)) | (callee.__kwdefaults__ or {})
    taken = (*names[:given], *kwnames)
    if len(set(taken)) < len(taken) or not set(kwnames) <= set(names[code.co_posonlyargcount :]):
        return None
    values |= dict(zip(taken, args, strict=True))
    if len(values) < len(names):
        return None
    return tuple([values[k] for k in names]), names[n:], tuple([names.index(k) for k in taken])


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        raise DerivativeError(
            "a closure with a variable that is not bound yet was called", user_position()
        ) from None


def _as_closure(pullback: Any, names: tuple[str, ...], places: tuple[int, ...], g: Any) -> Any:
    given = pullback(g)
    n = len(names)
    captured = given[:n]
    mine = (
        None
        if all(c is None for c in captured)
        else SimpleNamespace(**dict(zip(names, captured, strict=True)))
    )
    return (mine, *[given[n + place] for place in places])


# -- given to `grad` and its like ----------------------------------------------------------------------------

OWN = 8
"""So many closures of one code object get programs of their own."""

_own: WeakKeyDictionary[CodeType, int] = WeakKeyDictionary()


def is_shared(f: FunctionType) -> bool:
    """Whether a closure that has no program yet gets the one of its code."""
    seen = _own[f.__code__] = _own.get(f.__code__, 0) + 1
    return seen > OWN and assigned_free(f.__code__) is None and not any(map(_is_empty, f.__closure__ or ()))


def _is_empty(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


Again = Callable[..., Any]


def closure_function(f: FunctionType, mode: Mode, context: Any, again: Again) -> FunctionType:
    """What `grad` and its like return for `f`: it hands what `f` captured to the entry of f's code.
    `again(f, mode, context, *args)` is called where that is no longer f's code."""
    code, n, k = f.__code__, f.__code__.co_argcount, len(f.__code__.co_freevars)
    entry = closure_entry(context, mode.after(k, n), f, n, ())
    key = (context, mode, code, ById(f.__globals__))
    pool, passing = _passing.get_or_make(
        key, lambda: _emitted(_passes(f, mode, context, entry.function, again))
    )
    closure = (*(f.__closure__ or ()), CellType(f), pool.cell)
    function = FunctionType(passing, f.__globals__, f.__name__, None, closure)
    function.__qualname__, function.__doc__ = f.__qualname__, f.__doc__
    function.__defaults__ = (Default,) * len(f.__defaults__ or ()) or None
    function.__wrapped__ = f  # type: ignore[attr-defined]
    function._is_gradient = True  # type: ignore[attr-defined]
    function.__overdub__ = functools.partial(_under, f, mode, entry.function)  # type: ignore[attr-defined]
    return function


_passing = Bounded(1024)


def _emitted(graph: Graph) -> tuple[Pool, CodeType]:
    pool = Pool()
    return pool, emit(graph, pool)


def _passes(f: FunctionType, mode: Mode, context: Any, function: Any, again: Again) -> Graph:
    """(*args): return function(*contents of the cells, *args)"""
    code = f.__code__
    free = code.co_freevars
    graph = Graph(
        f.__qualname__, Signature.of(code), cellnames=(*free, "wrapped"), namespace=f.__globals__,
        filename=code.co_filename, line=code.co_firstlineno,
    )  # fmt: skip
    build = Builder(graph)
    wrapped = _content(build, graph.cells[-1], "wrapped")
    same = build.call(operator.is_, build.call(getattr, wrapped, Const("__code__"), syntax=True), Const(code),
                      syntax=True)  # fmt: skip
    passed, replaced = build.new_block(), build.new_block()
    build.branch(same, passed, replaced)
    build.enter(replaced)
    build.ret(build.call(again, wrapped, Const(mode), Const(context), *graph.params))
    build.enter(passed)
    contents = [_content(build, cell, name) for cell, name in zip(graph.cells, free)]
    y = build.call(function, *contents, *_given(build, graph, wrapped, len(f.__defaults__ or ())))
    build.ret(build.call(cut, y, Const(len(free)), Const(code.co_argcount)) if mode.split else y)
    return graph


def _content(build: Builder, cell: Value, name: str) -> Value:
    return build.call(primitives.cell_get, cell, Const(name), Const(True), syntax=True)


def _given(build: Builder, graph: Graph, wrapped: Value, defaults: int) -> list[Operand]:
    """The arguments, those that were left out filled in."""
    first = len(graph.params) - defaults
    return [
        build.call(or_default, p, wrapped, Const(i - first)) if i >= first else p
        for i, p in enumerate(graph.params)
    ]


def or_default(value: Any, f: FunctionType, i: int) -> Any:
    return (f.__defaults__ or ())[i] if value is Default else value


def cut(pair: Any, first: int, n: int) -> Any:
    """(y, pullback), of the cotangents only n from the first-th."""
    y, pullback = pair
    return y, lambda ybar: pullback(ybar)[first : first + n]


def _under(f: FunctionType, mode: Mode, function: Any, ctx: Any, *args: Any, **kwargs: Any) -> Any:
    """What another context runs: the program of the code."""
    bound = inspect.signature(f).bind(*args, **kwargs)
    bound.apply_defaults()
    y = recurse(ctx, function, *map(_contents, f.__closure__ or ()), *bound.args)
    return cut(y, len(f.__closure__ or ()), len(bound.args)) if mode.split else y
