"""`MockContext`: other functions in the place of some, for one run, without touching a global.

    with_fakes = MockContext.of({time.time: lambda: 0.0, random.random: Mock(return_value=0.5)})
    overdub(with_fakes, f)

Each mapping makes a class with one rule per function, which goes when its instances do. So other threads, and
whoever else calls the function, are not concerned, and classes, methods and builtins are replaced like any
function.
"""

from __future__ import annotations

import datetime
import threading
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

from ctxdispatch.dispatch import Context, recurse
from ctxdispatch.dispatch.rules import name_of
from ctxdispatch.facts import canonical
from ctxdispatch_contexts.names import named, of_module

Function = Callable[..., Any]


class Call(NamedTuple):
    """A call that was replaced; `exception` is what the replacement raised, if it did."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any = None
    exception: BaseException | None = None


class Calls:
    """What was called in the place of each function, in order; by the function. `calls[instance.method]` are
    those of that instance, which is not among the arguments; `calls[Class.method]` those of all, with it."""

    def __init__(self) -> None:
        self._of: dict[int, list[Call]] = {}
        self._lock = threading.Lock()

    def add(self, function: Any, call: Call) -> None:
        with self._lock:
            self._of.setdefault(id(function), []).append(call)

    def __getitem__(self, f: Any) -> list[Call]:
        function, bound = canonical(f)
        with self._lock:
            made = [*self._of.get(id(function), ())]
        return [c._replace(args=c.args[len(bound) :]) for c in made if _begins_with(c.args, bound)]


class Around(NamedTuple):
    """A replacement that is given the original as its first argument: `Around(lambda f, x: f(x) + 1)`. The
    original runs under the context, also if it is called with other arguments, several times or never."""

    function: Function


class Replacement(NamedTuple):
    """What is called in the place of a function, where it is called with these first arguments (`bound`)."""

    bound: tuple[Any, ...]
    value: Any

    def __call__(self, original: Function, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self.value, Around):
            return self.value.function(original, *args, **kwargs)
        return self.value(*args, **kwargs) if callable(self.value) else self.value


class MockContext(Context):
    """Runs a program with some functions replaced. Make one by `of` or `spying`.

    `calls[f]` lists the calls that were replaced: (args, kwargs, result, exception). A replacement gets the
    arguments of the call; of a method, the instance first. It is called as it is: what it calls is not
    replaced, so it may call the function that it replaces.
    """

    calls: Calls = field(default_factory=Calls)
    replaced: ClassVar[tuple[Any, ...]] = ()
    intercepts = (
        "call", "operator", "compare", "item", "attribute", "iterate", "with", "truth", "display", "format",
        "unpack",
    )  # fmt: skip

    def __post_init__(self) -> None:
        if not isinstance(self.calls, Calls):
            raise TypeError("to replace functions write MockContext.of({function: replacement, ...})")

    @classmethod
    def of(
        cls, replacements: Mapping[Any, Any], *, spies: Iterable[Any] = (), intercepts: Iterable[str] = ()
    ) -> MockContext:
        """`replacements`: function, method, class or builtin -> what to call in its place; a value that
        cannot be called is what it returns, an `Around` is given the original. To replace calls on some types
        of arguments only, the key is a tuple: (function, type, ...). A bound method is replaced for its
        instance, without which the replacement is called; the function of a class for all instances.

        `spies`: functions whose calls are recorded only. `intercepts`: the kinds of operation through which
        the program is followed; ("call",) is faster, and goes without what attributes, operators, items and
        loops run.

        Each call makes a class, for which programs are rewritten: keep the context, or `replace` its `calls`,
        where one mapping serves many runs.

        Raises TypeError for a key that nothing can call.
        """
        spies = (*spies,)
        made = cls._subclass((*replacements, *spies), intercepts)
        for (_, types), (function, entries) in _by_function(replacements).items():
            made.rule(function, *types)(_recorded(function, entries))
        for function, _ in map(canonical, map(_callable, spies)):
            if not made.has_rules(function):
                made.rule(function)(_recorded(function, (SPY,)))
        return made()

    @classmethod
    def spying(cls, *functions: Any) -> MockContext:
        """Only records the calls of these functions, which run as ever (under the context)."""
        return cls.of({}, spies=functions)

    @classmethod
    def _subclass(cls, replaced: tuple[Any, ...], intercepts: Iterable[str]) -> type[Self]:
        namespace = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "replaced": replaced}
        if intercepts:
            namespace["intercepts"] = (*intercepts,)
        return type(cls)(cls.__name__, (cls,), namespace)

    # -- from a command line -----------------------------------------------------------------------

    @classmethod
    def add_options(cls, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("--replace", action="append", default=[], metavar="MODULE.NAME=MODULE:NAME",
            help="call the second in place of the first; after `=` also a Python literal, which is returned "
            "(repeatable)")  # fmt: skip
        add("--freeze-time", metavar="WHEN",
            help="what `time` and `datetime` tell: seconds since the epoch, or a date as 2026-01-31T12:00"
        )  # fmt: skip
        add("--spy", action="append", default=[], metavar="MODULE.NAME",
            help="report how often it is called (repeatable)")  # fmt: skip

    @classmethod
    def from_options(cls, options: Namespace) -> Self:
        frozen = {} if options.freeze_time is None else frozen_time(_moment(options.freeze_time))
        replacements = frozen | dict(map(_replacement, options.replace))
        return cls.of(replacements, spies=map(named, options.spy))  # type: ignore[return-value]

    def report(self, options: Namespace) -> str:
        functions = [key[0] if isinstance(key, tuple) else key for key in type(self).replaced]
        counts = {name_of(f): len(self.calls[f]) for f in functions}
        frozen = [*map(name_of, frozen_time(0.0))]
        said = [(name, n) for name, n in counts.items() if n or name not in frozen]
        return "\n".join(f"{name}: {n} call{'' if n == 1 else 's'}" for name, n in said)


SPY = Replacement((), Around(lambda original, *args, **kwargs: original(*args, **kwargs)))


def frozen_time(seconds: float) -> dict[Any, Any]:
    """Replacements by which time stands still: `time.time`, `time_ns`, `localtime`, `gmtime`, `ctime`,
    `asctime` and `strftime` of now, `clock_gettime` of the wall clock, `datetime.now`, `utcnow` and `today`,
    `date.today`. `sleep`, `monotonic` and `perf_counter`, by which programs wait, go on."""

    def at(*moment: Any) -> Any:
        return moment[0] if moment and moment[0] is not None else seconds

    def text(original: Any, *given: Any, takes: int) -> Any:
        """Of a moment that is the last operand of `takes`, or left out."""
        return original(*given, *[time.localtime(seconds)][: takes - len(given)])

    def clock(original: Any, which: int, *, now: Any) -> Any:
        return now if which == time.CLOCK_REALTIME else original(which)

    def utc(cls: Any) -> Any:
        return cls.fromtimestamp(seconds, datetime.UTC).replace(tzinfo=None)

    return {
        time.time: seconds,
        time.time_ns: int(seconds * 10**9),
        time.localtime: Around(lambda original, *t: original(at(*t))),
        time.gmtime: Around(lambda original, *t: original(at(*t))),
        time.ctime: Around(lambda original, *t: original(at(*t))),
        time.asctime: Around(partial(text, takes=1)),
        time.strftime: Around(partial(text, takes=2)),
        **{f: Around(partial(clock, now=now)) for f, now in _clocks(seconds)},
        _of_all(datetime.datetime, "now"): lambda cls, tz=None: cls.fromtimestamp(seconds, tz),
        _of_all(datetime.datetime, "utcnow"): utc,
        _of_all(datetime.date, "today"): lambda cls: cls.fromtimestamp(seconds),
    }


def _clocks(seconds: float) -> list[tuple[Any, Any]]:
    """Not on every system: a function, and what it tells of the wall clock."""
    now = {"clock_gettime": seconds, "clock_gettime_ns": int(seconds * 10**9)}
    return [(getattr(time, name), value) for name, value in now.items() if hasattr(time, name)]


def _of_all(cls: type, name: str) -> Any:
    """The class method for subclasses too, which are the first argument."""
    return next(base.__dict__[name] for base in cls.__mro__ if name in base.__dict__)


# -- rules -----------------------------------------------------------------------------------------


def _by_function(replacements: Mapping[Any, Any]) -> dict[Any, tuple[Any, list[Replacement]]]:
    """(id of the function, types) -> the function and what is called in its place: first for instances, then
    for all."""
    found: dict[Any, tuple[Any, list[Replacement]]] = {}
    for key, value in replacements.items():
        f, *types = key if isinstance(key, tuple) else (key,)
        function, bound = canonical(_callable(f))
        types_ = (*(type(b) for b in bound), *types) if types else ()
        found.setdefault((id(function), types_), (function, []))[1].append(Replacement(bound, value))
    for _, entries in found.values():
        entries.sort(key=lambda entry: -len(entry.bound))
    return found


def _callable(f: Any) -> Any:
    if not callable(f):
        raise TypeError(f"{f!r} cannot be called, so it cannot be replaced: the keys are functions")
    return f


def _recorded(function: Any, entries: Iterable[Replacement]) -> Function:
    """The rule for `function`. Calls that no entry is for run as ever."""
    entries = (*entries,)

    def rule(ctx: MockContext, *args: Any, **kwargs: Any) -> Any:
        entry = next((e for e in entries if _begins_with(args, e.bound)), None)
        if entry is None:
            return recurse(ctx, function, *args, **kwargs)
        bound = entry.bound

        def original(*others: Any, **named: Any) -> Any:
            return recurse(ctx, function, *bound, *others, **named)

        try:
            result = entry(original, *args[len(bound) :], **kwargs)
        except BaseException as error:
            ctx.calls.add(function, Call(args, kwargs, None, error))
            raise
        ctx.calls.add(function, Call(args, kwargs, result))
        return result

    return rule


def _begins_with(args: tuple[Any, ...], bound: tuple[Any, ...]) -> bool:
    return len(args) >= len(bound) and all(a is b for a, b in zip(args, bound))


# -- what is written on a command line -------------------------------------------------------------


def _replacement(text: str) -> tuple[Any, Any]:
    from ast import literal_eval

    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--replace takes MODULE.NAME=MODULE:NAME, not {text!r}")
    module, colon, path = value.partition(":")
    if colon and all(part.isidentifier() for part in (*module.split("."), *path.split("."))):
        return named(name), of_module(module, path)
    try:
        return named(name), literal_eval(value)
    except (SyntaxError, ValueError) as error:
        if isinstance(error, SyntaxError) or "malformed" in str(error):
            raise ValueError(f"{value!r} is neither MODULE:NAME nor a Python literal") from None
        raise


def _moment(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        try:
            return datetime.datetime.fromisoformat(text).timestamp()
        except ValueError:
            takes = "seconds since the epoch, or a date as 2026-01-31T12:00"
            raise ValueError(f"--freeze-time takes {takes}, not {text!r}") from None
