"""All that `ir` shows of a function, found out once: texts, bytecode, and what each pass did."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

import ctxdispatch
from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.bytecode.frame import lift_frame
from ctxdispatch.bytecode.lift import lift
from ctxdispatch.command.parsing import UsageError
from ctxdispatch.command.selection import choose
from ctxdispatch.command.stages import Part, Pipeline, Recorder, StablePrinter, bytecode
from ctxdispatch.dispatch.context import Context
from ctxdispatch.dispatch.overdub import program
from ctxdispatch.dispatch.show import infer_types, unwrap
from ctxdispatch.ir.names import Names, describe
from ctxdispatch.passes.snapshots import BEGIN, recording

PLAIN = "plain"


@dataclass
class Examined:
    """`errors`: why a text is not there, by its key."""

    title: str
    call: str
    filename: str
    first_line: int
    source: list[str]
    texts: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    bytecodes: dict[str, list[Part]] = field(default_factory=dict)
    pipelines: list[Pipeline] = field(default_factory=list)

    def attempt(self, key: str, make: Callable[[], str]) -> None:
        try:
            self.texts[key] = make()
        except Exception as error:
            self.errors[key] = f"{type(error).__name__}: {error}"


def examine(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], contexts: Sequence[str], argnums: tuple[int, ...]
) -> Examined:
    """`contexts`: names, the first is the innermost. UsageError where `f` has no Python code."""
    try:
        function, _, _ = unwrap(f)
    except TypeError as error:
        raise UsageError(error) from error
    instances = [choose(name).make() for name in contexts]
    found = _started(function, args, kwargs)
    recorder = Recorder()
    found.attempt("ir", lambda: _untyped(f, function))
    if args or kwargs:
        found.attempt("typed", lambda: repr(ctxdispatch.ir(f)(*args, **kwargs)))
    else:
        found.errors["typed"] = "the types of what? give arguments"
    _lifted(recorder, f, args, kwargs)
    found.bytecodes[PLAIN] = bytecode(function.__code__)
    if instances:
        found.attempt("transformed", lambda: _transformed(found, recorder, function, instances))
    else:
        found.errors["transformed"] = "by what? give --context NAME"
    if args or kwargs:
        found.attempt("adjoint", lambda: _adjoint(found, recorder, f, args, argnums, kwargs))
    else:
        found.errors["adjoint"] = "of what? give arguments"
    found.pipelines = [p for p in recorder.pipelines if p.stages]
    return found


def _untyped(f: Any, function: FunctionType) -> str:
    """In SSA form, else in the form that contexts rewrite: that one has all of Python."""
    try:
        return repr(ctxdispatch.ir(f)())
    except UnsupportedSyntax as error:
        graph = lift_frame(function.__code__, function.__globals__)
        return f"# with variables, not in SSA form: {error}\n{StablePrinter(graph, Names(), {}).text()}"


def _started(function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Examined:
    code = function.__code__
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError):
        lines, first = [], code.co_firstlineno
    shown = ", ".join([*map(describe, args), *(f"{k}={describe(v)}" for k, v in kwargs.items())])
    source = [line.rstrip("\n") for line in lines]
    return Examined(code.co_qualname, shown, code.co_filename, first, source)


# -- what passes do --------------------------------------------------------------------------------


def _lifted(recorder: Recorder, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    function, prefix, keywords = unwrap(f)
    try:
        graph = lift(function)
        recorder(BEGIN, graph)
        if args or kwargs:
            infer_types(graph, function, (*prefix, *args), {**keywords, **kwargs})
            recorder("infer", graph)
    except UnsupportedSyntax:
        if not recorder.pipelines:
            recorder(BEGIN, lift_frame(function.__code__, function.__globals__))
    except Exception:  # why, `texts` and `errors` say
        return


def _transformed(
    found: Examined, recorder: Recorder, function: FunctionType, contexts: Sequence[Context]
) -> str:
    """The IR after the last transform; the rewritten bytecode after each."""
    target: Any = function
    first = len(recorder.pipelines)
    for ctx in contexts:
        name = type(ctx).__name__
        recorder.prefix = f"{name}: "
        with recording(recorder):
            target = program(ctx, target)
        code = _code(target)
        if code is None:
            raise TypeError(f"{name} runs something else in its place: {target!r}")
        shown = name if name not in found.bytecodes else f"{name} ({len(found.bytecodes)})"
        found.bytecodes[shown] = bytecode(code)
    recorder.prefix = ""
    made = recorder.pipelines[first:]
    if not made or not any(stage.new for p in made for stage in p.stages):
        return "nothing to do in this function"
    return made[-1].stages[-1].text


def _code(target: Any) -> CodeType | None:
    code = getattr(target, "__code__", None)
    return code if type(code) is CodeType else None


def _adjoint(
    found: Examined, recorder: Recorder, f: Any, args: tuple[Any, ...], argnums: tuple[int, ...], kwargs: Any
) -> str:
    from ctxdispatch.bytecode.pool import Pool
    from ctxdispatch.passes import buffers

    if kwargs:
        bound = inspect.signature(f).bind(*args, **kwargs)
        args, kwargs = bound.args, bound.kwargs
    if kwargs:
        raise TypeError("derivatives are taken of positional arguments")
    recorder.prefix, before = "adjoint: ", len(recorder.pipelines)
    with recording(recorder):
        text = str(ctxdispatch.code_adjoint(f, argnums[0] if len(argnums) == 1 else argnums)(*args))
        made = [p for p in recorder.pipelines[before:] if p.graph is not None]
        if made and made[0].graph is not None:
            code = buffers.emit(made[0].graph, Pool(), made[0].graph.namespace)
            found.bytecodes["adjoint"] = bytecode(code)
    return text
