"""The fourth table: what rewriting costs, with no rule that makes anything of it.

    round trip          code is lifted and emitted again: plain / faithful, free
    idle context        the class has no rule (bare), or one for what nobody calls (idle); one, and 3 deep
    entry               overdub(ctx, f, x) over f(x)
    operation           every kind of operation dispatched, by classes that leave each what it is: `identity`
                        dispatches calls and operators, `everything` the other kinds too
    identity context    the same of whole programs
    hooks               a call with the hooks that a class overrides, which do nothing; `reading`: with one
                        that looks at the arguments
    counting            CountContext, beside the standard library's profiler and tracer
    transform           the time that rewriting itself takes, over that of CPython's `compile`

Every rewritten program runs once and its result is compared with the plain one's before it is timed. What ran
natively in part has no figure.
"""

from __future__ import annotations

import cProfile
import importlib.util
import itertools
import math
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ctxdispatch import Context, overdub
from ctxdispatch.dispatch.plan import KINDS

from .overhead_programs import OPERATIONS, PROGRAMS, Operation, identity
from .peers import Prepared

Function = Callable[..., Any]
Args = tuple[Any, ...]
Targets = Mapping[str, float]

HOOKED_CALLS = (
    "f()", "f(a)", "f(a, b)", "f(a, b, a)", "f(a, b=b)", "abs(a)", "o.method(a)", "o.method(a, b=b)",
    "d.get(a), builtin", "math.sqrt(a), of a module",
)  # fmt: skip
PREHOOK = {"prehook": 80.0}
SCALAR, LEAST = "scalar loop", {"counting": 12.0}
COPIES = 100
"""How often an operation stands in the function that is timed: entering that counts for nothing."""


# -- contexts ------------------------------------------------------------------------------------------------


class Bare(Context):
    """Has nothing to do anywhere."""


class Idle(Context):
    """Has a rule, for a function that nobody calls."""


@Idle.rule(math.lgamma)
def _(ctx: Idle, x: float) -> float:
    raise AssertionError("nobody calls this")


class Identity(Context):
    """Dispatches every call and operator, and changes nothing."""

    intercepts = ("call", "operator", "compare")


class Everything(Context):
    """Dispatches operations of every kind, and changes nothing."""

    intercepts = tuple(KINDS)


class NoHook(Context):
    """Intercepts what classes with hooks do, and has none."""

    intercepts = ("call", "operator")


class Prehook(NoHook):
    def prehook(self, f: Any, args: Any, kwargs: Any) -> None:
        pass


class ReadingPrehook(NoHook):
    """Looks at what it is given."""

    def prehook(self, f: Any, args: Any, kwargs: Any) -> None:
        f, args, kwargs  # noqa: B018


class Posthook(NoHook):
    def posthook(self, out: Any, f: Any, args: Any, kwargs: Any) -> None:
        pass


class BothHooks(Prehook, Posthook):
    """Both."""


# -- the columns: what is made of a function -----------------------------------------------------------------


def faithful(f: types.FunctionType, args: Args) -> Function:
    from ctxdispatch.bytecode.faithful import round_trip

    return types.FunctionType(round_trip(f.__code__), f.__globals__)


def free(f: types.FunctionType, args: Args) -> Function:
    return types.FunctionType(free_code(f.__code__, f.__globals__), f.__globals__)


def free_code(code: types.CodeType, namespace: dict[str, Any]) -> types.CodeType:
    """Emitted again, with the functions and comprehensions in it."""
    from ctxdispatch.bytecode.emit import emit
    from ctxdispatch.bytecode.lift import lift_code

    emitted = emit(lift_code(code, namespace), namespace=namespace)
    again = (free_code(c, namespace) if isinstance(c, types.CodeType) else c for c in emitted.co_consts)
    return emitted.replace(co_consts=tuple(again))


def under(contexts: Iterable[type[Context]], f: Function, args: Args) -> Function:
    """What runs for `overdub(outer, overdub, inner, f, *args)`."""
    for cls in contexts:
        f = cls().program(f, args, {})
    return f


def plain(f: Function, args: Args) -> Function:
    return f


def counted(f: types.FunctionType, args: Args) -> Function:
    from ctxdispatch.contexts import CountContext

    return CountContext().program(f, args, {})  # type: ignore[no-any-return]


def profiled(f: types.FunctionType, args: Args) -> Function:
    return lambda *args: cProfile.Profile().runcall(f, *args)


def traced(f: types.FunctionType, args: Args) -> Function:
    """With a tracer that is told of every line, and counts it."""

    def run(*args: Any) -> Any:
        lines = 0

        def tracer(frame: Any, event: str, arg: Any) -> Any:
            nonlocal lines
            lines += 1
            return tracer

        before = sys.gettrace()
        sys.settrace(tracer)
        try:
            return f(*args)
        finally:
            sys.settrace(before)

    return run


CONTEXTS: dict[str, tuple[type[Context], ...]] = {
    "bare": (Bare,), "idle": (Idle,), "3 bare": 3 * (Bare,), "3 idle": 3 * (Idle,),
    "identity": (Identity,), "everything": (Everything,),
    "2 identity": 2 * (Identity,), "3 identity": 3 * (Identity,),
    "no hook": (NoHook,), "prehook": (Prehook,), "reading": (ReadingPrehook,),
    "posthook": (Posthook,), "both": (BothHooks,),
}  # fmt: skip
REWRITES: dict[str, Callable[[Any, Args], Function]] = {
    "plain": plain, "faithful": faithful, "free": free,
    "counting": counted, "cProfile": profiled, "settrace": traced,
    **{name: partial(under, contexts) for name, contexts in CONTEXTS.items()},
}  # fmt: skip
EMISSION = ("plain", "faithful", "free")
IDLE = ("plain", "bare", "idle", "3 bare", "3 idle")
HOOKS = ("plain", "no hook", "prehook", "reading", "posthook", "both")
COUNTING = ("plain", "counting", "cProfile", "settrace")
IDENTITY = ("plain", "identity", "everything", "2 identity", "3 identity")


def rewritten(column: str, f: types.FunctionType, args: Args) -> Prepared:
    return Prepared(REWRITES[column](fresh(f), args), args, None)


def fresh(f: types.FunctionType) -> types.FunctionType:
    """`f` with code that equals no other: no column sees what was found out for another, be it by the
    interpreter, be it by us, who warn once for all codes that are equal of what runs natively."""
    return types.FunctionType(marked(f.__code__), f.__globals__, f.__name__)


_marks = itertools.count(1_000_000)


def marked(code: types.CodeType) -> types.CodeType:
    """With one constant more, which nothing reads."""
    consts = (marked(c) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    return code.replace(co_consts=(*consts, next(_marks)))


# -- the workloads -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Group:
    """What stands in one table. `over`: seconds over plain, not multiples of it. `means`: column -> what its
    geometric mean may be."""

    title: str
    over: bool = False
    means: Targets = field(default_factory=dict)


@dataclass(frozen=True)
class Cost:
    """`columns` are made when their turn comes. `targets`: column -> multiple of plain, or ns over it.
    `count`: operations in a call."""

    group: Group
    what: str
    columns: Mapping[str, Callable[[], Prepared]]
    targets: Targets
    count: int = 1

    @property
    def name(self) -> str:
        return f"{self.group.title}: {self.what}"


ROUND_TRIP = Group("round trip", means={"faithful": 1.05, "free": 1.02})
IDLE_CONTEXT = Group("idle context", means={"bare": 1.05, "idle": 1.05, "3 bare": 1.15, "3 idle": 1.15})
IDENTITY_CONTEXT = Group("identity context")
ENTRY = Group("entry", over=True)
OPERATION = Group("operation", over=True)
HOOKED = Group("hooks", over=True)
COUNTED = Group("counting")
TRANSFORM = Group("transform")


def all_workloads() -> list[Cost]:
    return [
        *(program(ROUND_TRIP, what, EMISSION, {"faithful": 1.15}) for what in PROGRAMS),
        *(program(IDLE_CONTEXT, what, IDLE, IDLE_CONTEXT.means) for what in PROGRAMS),
        entry(),
        *map(operation, OPERATIONS),
        *(program(IDENTITY_CONTEXT, what, IDENTITY, {}) for what in PROGRAMS),
        *map(hooked, OPERATIONS),
        *(program(COUNTED, what, COUNTING, LEAST if what == SCALAR else {}) for what in PROGRAMS),
        *map(transform, ("json", "statistics", "argparse")),
    ]


def program(group: Group, what: str, columns: Iterable[str], targets: Targets) -> Cost:
    f, args = PROGRAMS[what]
    return Cost(group, what, {c: partial(rewritten, c, f, args) for c in columns}, targets)


def operation(operation: Operation) -> Cost:
    f, args = operation.unrolled(COPIES)
    columns = {c: partial(rewritten, c, f, args) for c in IDENTITY}
    return Cost(OPERATION, operation.what, columns, operation.targets, COPIES)


def hooked(operation: Operation) -> Cost:
    """Of calls and operators, which the classes intercept. A prehook alone has a target, for calls, but for
    those whose dispatch takes longer without a hook: there its cost is the difference of the two columns."""
    f, args = operation.unrolled(COPIES)
    columns = {c: partial(rewritten, c, f, args) for c in HOOKS}
    return Cost(HOOKED, operation.what, columns, PREHOOK if operation.what in HOOKED_CALLS else {}, COPIES)


def entry() -> Cost:
    columns = {name: partial(entered, contexts, identity) for name, contexts in CONTEXTS.items()}
    return Cost(ENTRY, "overdub(ctx, f, x)", {"plain": partial(entered, (), identity), **columns}, {})


def entered(contexts: Iterable[type[Context]], f: Function) -> Prepared:
    call, args = f, (1.5,)
    for cls in contexts:
        call, args = overdub, (cls(), call, *args)
    return Prepared(call, args, None)


# -- the time that rewriting takes ---------------------------------------------------------------------------


def transform(package: str) -> Cost:
    columns = {
        "plain": lambda: Prepared(compile_all, (sources(package),), None),
        "faithful": lambda: rewriting(package, round_trips()),
        "identity": lambda: rewriting(package, dispatches(Identity())),
        "everything": lambda: rewriting(package, dispatches(Everything())),
    }
    return Cost(TRANSFORM, package, columns, {"faithful": 15.0, "identity": 15.0})


def round_trips() -> Function:
    from ctxdispatch.bytecode.faithful import round_trip

    return round_trip


def dispatches(ctx: Context) -> Function:
    from ctxdispatch.dispatch.static import dispatch_code

    return partial(dispatch_code, ctx)


def sources(package: str) -> list[tuple[str, str]]:
    """Text and name of all source files."""
    spec = importlib.util.find_spec(package)
    folders = spec.submodule_search_locations
    files = [file for folder in folders for file in sorted(Path(folder).glob("*.py"))] if folders else []
    return [(Path(file).read_text("utf-8"), str(file)) for file in files or [spec.origin]]


def compile_all(sources: list[tuple[str, str]]) -> None:
    for text, name in sources:
        compile(text, name, "exec", dont_inherit=True)


def rewriting(package: str, rewrite: Function) -> Prepared:
    codes = [compile(text, name, "exec", dont_inherit=True) for text, name in sources(package)]
    return Prepared(rewrite_all, (codes, rewrite), None)


def rewrite_all(codes: list[types.CodeType], rewrite: Function) -> None:
    """Of copies that equal no other, so that none is remembered; making them is next to nothing."""
    for code in codes:
        rewrite(marked(code))


# -- measuring -----------------------------------------------------------------------------------------------


def prepare(column: str, cost: Cost) -> Prepared | str:
    """The column, run once and found to do what the plain one does; or why there is none."""
    if column not in cost.columns:
        return "-"
    expected = cost.columns["plain"]()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            prepared = cost.columns[column]()
            found = prepared.call(*prepared.args)
    except Exception as error:
        return f"refused: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    return prepared if same(found, expected.call(*expected.args)) else "wrong"


def same(found: Any, expected: Any) -> bool:
    return type(found) is type(expected) and bool(np.all(found == expected))


def per_operation(costs: Iterable[Cost], results: dict[str, Any]) -> dict[str, Any]:
    """Seconds per operation, of seconds per call."""
    return {
        cost.name: {
            column: times if isinstance(times, str) else [t / cost.count for t in times]
            for column, times in results[cost.name].items()
        }
        for cost in costs
    }
