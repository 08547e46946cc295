"""`MockContext`: other functions in the place of some, for one run, without touching a global.

    with_fakes = MockContext.of({time.time: lambda: 0.0, random.random: Mock(return_value=0.5)})
    overdub(with_fakes, f)

Each mapping makes a class with one rule per function. So other threads, and whoever else calls the function,
are not concerned, and classes, methods and builtins are replaced like any function.
"""

from __future__ import annotations

import threading
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from dataclasses import field
from importlib import import_module
from typing import Any, ClassVar, NamedTuple, Self

from ctxdispatch.dispatch import Context, recurse
from ctxdispatch.dispatch.rules import canonical, name_of

Function = Callable[..., Any]


class Call(NamedTuple):
    """A call that was replaced; `exception` is what the replacement raised, if it did."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any = None
    exception: BaseException | None = None


class Calls:
    """What was called in the place of each function, in order; by the function."""

    def __init__(self) -> None:
        self._of: dict[int, list[Call]] = {}
        self._lock = threading.Lock()

    def add(self, f: Any, call: Call) -> None:
        with self._lock:
            self._of.setdefault(id(canonical(f)[0]), []).append(call)

    def __getitem__(self, f: Any) -> list[Call]:
        return [*self._of.get(id(canonical(f)[0]), ())]


class MockContext(Context):
    """Runs a program with some functions replaced. Make one by `of` or `spying`.

    `calls[f]` lists the calls that were replaced: (args, kwargs, result, exception). A replacement gets the
    arguments of the call; of a method, the instance first. It is called as it is: what it calls is not
    replaced.
    """

    calls: Calls = field(default_factory=Calls)
    replaced: ClassVar[Mapping[Any, Function]] = {}

    @classmethod
    def of(cls, replacements: Mapping[Any, Any]) -> MockContext:
        """`replacements`: function, method, class or builtin -> what to call in its place; a value that
        cannot be called is what it returns. To replace calls on some types of arguments only, the key is a
        tuple: (function, type, ...). A bound method is replaced for its instance, without which the
        replacement is called; the function of a class for all instances.

        Raises TypeError for a key that nothing can call.
        """
        made = cls._subclass(replacements)
        for key, replacement in replacements.items():
            f, *types = key if isinstance(key, tuple) else (key,)
            if not callable(f):
                raise TypeError(f"{f!r} cannot be called, so it cannot be replaced: the keys are functions")
            made.rule(f, *types)(_recorded(f, _replacing(f, replacement)))
        return made()

    @classmethod
    def spying(cls, *functions: Any) -> MockContext:
        """Only records the calls of these functions, which run as ever (under the context)."""
        made = cls._subclass({})
        for f in functions:
            made.rule(f)(_recorded(f, _original(f)))
        return made()

    @classmethod
    def _subclass(cls, replacements: Mapping[Any, Any]) -> type[Self]:
        return type(cls)(cls.__name__, (cls,), {"__module__": cls.__module__, "replaced": replacements})

    # -- from a command line -----------------------------------------------------------------------

    @classmethod
    def add_options(cls, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--replace", action="append", default=[], metavar="MODULE.NAME=MODULE:NAME",
            help="call the second in place of the first; after `=` also a Python literal, which is returned",
        )  # fmt: skip
        parser.add_argument("--freeze-time", type=float, metavar="SECONDS", help="what time.time() returns")
        parser.add_argument(
            "--spy", action="append", default=[], metavar="MODULE.NAME", help="report how often it is called"
        )

    @classmethod
    def from_options(cls, options: Namespace) -> Self:
        replacements = dict(map(_replacement, options.replace))
        if options.freeze_time is not None:
            replacements[time.time] = options.freeze_time
        made = cls.of(replacements)
        for f in map(_named, options.spy):
            type(made).rule(f)(type(cls.spying(f)).find_rule(f))
        return made  # type: ignore[return-value]

    def report(self, options: Namespace) -> str:
        asked = [*type(self).replaced, *map(_named, options.spy)]
        return "\n".join(f"{name_of(f)}: {len(self.calls[f])} calls" for f in asked)


def _replacing(f: Any, replacement: Any) -> Function:
    bound = canonical(f)[1]
    original = _original(f)

    def run(ctx: MockContext, *args: Any, **kwargs: Any) -> Any:
        if any(a is not b for a, b in zip(args, bound)):
            return original(ctx, *args, **kwargs)
        return replacement(*args[len(bound) :], **kwargs) if callable(replacement) else replacement

    return run


def _original(f: Any) -> Function:
    function = canonical(f)[0]
    return lambda ctx, *args, **kwargs: recurse(ctx, function, *args, **kwargs)


def _recorded(f: Any, run: Function) -> Function:
    def rule(ctx: MockContext, *args: Any, **kwargs: Any) -> Any:
        try:
            result = run(ctx, *args, **kwargs)
        except BaseException as error:
            ctx.calls.add(f, Call(args, kwargs, None, error))
            raise
        ctx.calls.add(f, Call(args, kwargs, result))
        return result

    return rule


# -- names on a command line -----------------------------------------------------------------------


def _replacement(text: str) -> tuple[Any, Any]:
    from ast import literal_eval

    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--replace takes MODULE.NAME=MODULE:NAME, not {text!r}")
    if ":" in value and all(part.replace(".", "_").isidentifier() for part in value.split(":", 1)):
        module, _, attribute = value.partition(":")
        return _named(name), _attribute(import_module(module), attribute)
    return _named(name), literal_eval(value)


def _named(name: str) -> Any:
    """What a dotted name means: as much of it as can be imported is the module."""
    parts = name.split(".") if "." in name else ["builtins", name]
    for k in range(len(parts) - 1, 0, -1):
        try:
            module = import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        return _attribute(module, ".".join(parts[k:]))
    raise ValueError(f"there is no module for {name!r}")


def _attribute(owner: Any, path: str) -> Any:
    for name in path.split("."):
        try:
            owner = getattr(owner, name)
        except AttributeError:
            raise ValueError(f"{getattr(owner, '__name__', owner)!r} has no {name!r}") from None
    return owner
