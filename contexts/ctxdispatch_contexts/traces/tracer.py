"""The context that watches a run, and writes down what it did with numbers and arrays.

A number or array is known by the object that it is (`Run.values`): what moves it about, in whatever container
or object or generator, is no line of the trace. An operation on values is a line; if it gives something that
is no number or array (whether one is less than another, how long an array is), a line tests that it is the
same. An operation on none is no line at all: it is as it was if what was there before is. Where that cannot
be said, by the facts of what is called, the run is no straight line (`Unfit`), and ends before it changes
anything.
"""

from __future__ import annotations

import dis
import functools
import itertools
import types
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ctxdispatch import Context, overdub
from ctxdispatch.dispatch.overdub import beyond_rules
from ctxdispatch.dispatch.plan import KINDS as INTERCEPTED
from ctxdispatch.dispatch.reach import own_way
from ctxdispatch.facts import RUNS_TEXT
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph
from ctxdispatch.ir.leaves import is_ours
from ctxdispatch.ir.names import own_name
from ctxdispatch.ir.values import hashable
from ctxdispatch_contexts.derivatives import table
from ctxdispatch_contexts.programs.arguments import Default
from ctxdispatch_contexts.programs.sources import ClosureSource
from ctxdispatch_contexts.traces.checks import WHOLE, Args, Kwargs
from ctxdispatch_contexts.traces.kinds import LITERALS, has_code, numbers_in
from ctxdispatch_contexts.traces.lines import MAX_LINES, Unfit
from ctxdispatch_contexts.traces.origins import calm
from ctxdispatch_contexts.traces.run import Run


class Trace(NamedTuple):
    """`function` does what the run did, for arguments for which `holds`."""

    function: types.FunctionType
    holds: types.FunctionType
    leaves: types.FunctionType
    """The numbers and arrays among arguments."""
    besides: tuple[Any, ...]
    """Those that it reads besides."""


def _is_closed(module: str) -> bool:
    """It is of this package, but not what does in Python what a function of a library does."""
    return is_ours(module) and not module.startswith(f"{table.__package__}.")


class Own:
    """What a trace itself puts in the place of something."""


class Tracing(Context):
    run: Any
    _looks_everywhere: ClassVar[bool] = True
    _sees_objects: ClassVar[bool] = True
    intercepts: ClassVar[Any] = (*INTERCEPTED, primitives.cell_get, primitives.cell_set, primitives.call_ex)
    ruled: ClassVar[set[int]] = set()
    """What has a rule, by id."""

    def transform(self, graph: Graph) -> Graph:
        if _is_closed((graph.namespace or {}).get("__name__")):
            raise self.run.unfit("code of this package")
        if graph.code is not None and _drops_anything(graph.code):
            raise self.run.unfit("`except:` takes what ends a run that cannot be traced")
        if graph.code is not None:
            LITERALS.update((id(value), value) for value in numbers_in(graph.code))
        return super().transform(graph)

    def prehook(self, f: Any, args: Args, kwargs: Kwargs) -> None:
        """The engine may take calls apart before they are operations."""
        if self.run.closed:
            return
        self.run.check_call(f, args, kwargs)
        if id(f) in self.ruled:
            return
        if type(f) is types.BuiltinFunctionType and f in RUNS_TEXT:
            raise self.run.unfit(f"{f.__name__} of a text")
        if issubclass(type(f), type):
            self.run.origins.of_class(f)
        if type(f) is types.FunctionType:
            if f.__module__ == primitives.__name__:
                return  # which is syntax
            follows = own_way(f) is not None or _is_closed(f.__module__)
        else:
            follows = hasattr(type(f), "__overdub__") and not issubclass(type(f), Own)
        if follows or (hashable(f) and self.run.context.ad_ruled(f)):
            raise self.run.unfit(f"{f!r}, of this package or with a rule")

    def posthook(self, out: Any, f: Any, args: Args, kwargs: Kwargs) -> None:
        if type(out) is types.GeneratorType:
            self.run.generators.append(out)

    def fallback(self, f: Any, args: Args, kwargs: Kwargs) -> Any:
        return f(*args, **kwargs) if self.run.closed else self.run.operate(self, f, args, kwargs)

    def _splat(self, iterable: Any) -> Any:
        return iterable if type(iterable) is not np.ndarray or self.run.closed else self.run.spread(iterable)

    def _new(self, new: Any, cls: type) -> Any:
        if hasattr(cls, "__del__"):
            raise self.run.unfit(f"a {cls.__name__}, which does something when it ends")
        return lambda *args, **kwargs: self.run.made(new(*args, **kwargs))


@functools.lru_cache
def _drops_anything(code: types.CodeType) -> bool:
    """It has a handler of whatever is raised."""
    names = [instruction.opname for instruction in dis.get_instructions(code)]
    return any(pair == ("PUSH_EXC_INFO", "POP_TOP") for pair in itertools.pairwise(names))


def ruled(f: Any) -> Callable[[Any], Any]:
    """Decorator: a rule for `f`, which is asked for whatever its operands are."""
    Tracing.ruled.add(id(f))
    return Tracing.rule(f)


def operates(*functions: Any) -> None:
    """Functions with code in Python whose calls are operations."""

    def make(f: Any) -> None:
        def rule(ctx: Any, /, *args: Any, **kwargs: Any) -> Any:
            if id(f) in WHOLE and any(map(has_code, (*args, *kwargs.values()))):
                code = getattr(f, "_implementation", f)  # of a function of NumPy's
                return beyond_rules(ctx, code)(*args, **kwargs)  # so that what it calls is seen
            return f(*args, **kwargs) if ctx.run.closed else ctx.run.operate(ctx, f, args, kwargs)

        ruled(f)(rule)

    for f in functions:
        make(f)


def trace(
    source: Any, args: Sequence[Any], context: Any, wrt: Sequence[int] | None, most: int = MAX_LINES
) -> Trace:
    """A trace of source.call(*args), for derivatives with respect to the arguments `wrt` by the rules of
    `context`, of so many lines at most. Raises Unfit where there is none: then nothing has happened."""
    if not calm():
        raise Unfit("NumPy is to raise (np.seterr), or warnings are errors")
    names = [f"a{i}" for i in range(len(args))]
    left_out = [value is Default for value in args]
    if left_out != sorted(left_out):
        raise Unfit("an argument that is left out before one that is given")
    run = Run(context, None if wrt is None else {names[i] for i in wrt}, most)
    try:
        return _traced(run, source, args[: left_out.count(False)], names)
    except RecursionError:
        raise Unfit("what is given lies too deep") from None
    finally:
        run.forget()


def _traced(run: Run, source: Any, args: Sequence[Any], names: list[str]) -> Trace:
    origins = run.origins
    given = [origins.argument(value, name) for name, value in zip(names, args)]
    origins.tests += [f"{name} is {run.lines.name(Default)}" for name in names[len(given) :]]
    callee, filled, named = source.filled(given)
    derives = type(callee) is types.FunctionType and own_way(callee) is not None
    if derives or (hashable(callee) and run.context.ad_ruled(callee)):
        raise Unfit("a derivative, or a function with a rule")
    lasting = [callee]
    if isinstance(source, ClosureSource):  # which makes it, and what it captured is given
        lasting = source.lasting()
        run.made(callee)
    for value in (*lasting, *filled, *named.values()):
        if id(value) not in origins.paths and id(value) not in origins.values:
            origins.beside(value)
    try:
        with np.errstate(all="ignore"):  # the run that counts is another one
            result = overdub(Tracing(run), callee, *filled, **named)
    except Exception as error:  # which that one raises as well
        raise Unfit(f"the run raised {type(error).__name__}") from None
    finally:
        run.end()
    if run.why is not None:
        raise Unfit(run.why)
    run.check_result(result, set())
    parameters = ", ".join(names)
    function = run.lines.function("traced", parameters, run.expression(result))
    function.__defaults__ = (None,) * (len(names) - len(given)) or None
    function.__name__ = function.__qualname__ = own_name(callee, "call")
    return Trace(function, origins.holds(parameters), origins.looked(parameters), tuple(origins.besides))


from ctxdispatch_contexts.traces import going_through, messages, rules  # noqa: E402, F401  # which need the context
