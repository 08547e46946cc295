"""The context: what travels, what is watched for."""

from __future__ import annotations

import sys
import threading
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any, ClassVar, NamedTuple, Self

from ctxdispatch.dispatch import Tagging, overdub, recurse, rules
from ctxdispatch.dispatch.rules import name_of
from ctxdispatch.facts import canonical
from ctxdispatch.ir.values import Position
from ctxdispatch_contexts.names import named
from ctxdispatch_contexts.tainting import json_hooks
from ctxdispatch_contexts.tainting.cleaning import Cleaning
from ctxdispatch_contexts.tainting.inputs import INPUTS, sink
from ctxdispatch_contexts.tainting.labels import Labelling, Labels
from ctxdispatch_contexts.tainting.reading import all_labels


class Finding(NamedTuple):
    """`labels` reached `function`, called at `position`."""

    function: Any
    labels: Labels
    position: Position | None

    def __str__(self) -> str:
        return f"{self.position}: {', '.join(sorted(self.labels))} reached {name_of(self.function)}"


class TaintError(Exception):
    """A label reached a sink. `finding` has the parts of the message."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(str(finding))
        self.finding = finding


class TaintContext(Tagging):
    """Labels travel with values.

    `sinks`: functions that some labels must not reach, with these labels ({os.system: {"password"}}), or
    without (all labels). `record=True` adds to `findings` in place of raising TaintError. `sources`:
    functions whose result has a label of its own, a text, or a function of the arguments that returns one.
    `sanitizers`: functions whose result has no label. All these may be builtins, methods or classes.
    """

    sinks: Mapping[Any, Iterable[str] | None] | Iterable[Any] = ()
    sources: Mapping[Any, str | Callable[..., str | None]] = field(default_factory=dict)
    sanitizers: Iterable[Any] = ()
    record: bool = False
    inputs: Iterable[str] = ()
    findings: list[Finding] = field(default_factory=list)
    _made: ClassVar[bool] = False

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """With functions to watch, it is of a class of its own, that has a rule for each."""
        if not cls._made and (args or any(kwargs.get(name) for name in ("sinks", "sources", "sanitizers"))):
            cls = type(cls)(cls.__name__, (cls,), {"__module__": cls.__module__, "_made": True})
        return super().__new__(cls)

    def __post_init__(self) -> None:
        self.__dict__["_naming"] = Naming()
        watched = self.__dict__["_watched"] = _watched(self.sinks, self.sources, self.sanitizers)
        for watch in watched.values():
            if id(watch.function) not in type(self)._rules:
                type(self).rule(watch.function)(_watching(watch.function))

    def combine(self, f: Any, metadata: list[Any], out: Any) -> Any:
        return Labels(frozenset().union(*metadata)) or None

    def _check(self, f: Any, wanted: frozenset[str], operands: Any) -> None:
        reached = all_labels(self, operands)
        found = Labels(x for x in reached if wanted is ANY or _is_part(x, wanted))
        if found:
            finding = Finding(f, found, self.where())
            self.findings.append(finding)
            if not self.record:
                raise TaintError(finding)

    # -- labels ------------------------------------------------------------------------------------

    def label(self, value: Any, name: str, granular: bool = False) -> Any:
        """`value` with the label `name`: a proxy for what cannot be changed, else by its identity. With
        `granular`, each part of it has its path: of lists, dicts and objects these are put in place."""
        return Labelling(self, granular).of(value, name)

    def clean(self, value: Any) -> Any:
        """`value` without labels; containers and objects in place."""
        return Cleaning(self).of(value)

    def enter(self, f: Any, args: Any, kwargs: Any) -> Any:
        if "stdin" in self.inputs:
            self.mark(sys.stdin, Labels({"stdin"}))
        before = [*sys.argv]
        if "argv" in self.inputs:
            sys.argv[1:] = [self.label(x, f"argv[{k}]") for k, x in enumerate(before[1:], 1)]
        try:
            return super().enter(f, args, kwargs)
        finally:
            if "argv" in self.inputs:
                sys.argv[:] = before

    # -- from a command line -----------------------------------------------------------------------

    @classmethod
    def add_options(cls, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--input", action="append", default=[], choices=[*INPUTS],
            help="what has labels (default: all)",
        )  # fmt: skip
        parser.add_argument(
            "--sink", action="append", default=[], metavar="MODULE.NAME[=LABEL,..]",
            help="report when a label reaches this function",
        )  # fmt: skip
        parser.add_argument(
            "--sanitizer", action="append", default=[], metavar="MODULE.NAME", help="its result is clean"
        )
        parser.add_argument("--stop", action="store_true", help="end the program at the first finding")

    @classmethod
    def from_options(cls, options: Namespace) -> Self:
        inputs = options.input or [*INPUTS]
        sources = {f: label for name in inputs for f, label in INPUTS[name].items()}
        sinks = dict(map(sink, options.sink or ["builtins.print"]))
        sanitizers = [named(name) for name in options.sanitizer]
        record, inputs = not options.stop, frozenset(inputs)
        return cls(sinks=sinks, sources=sources, sanitizers=sanitizers, record=record, inputs=inputs)

    def report(self, options: Namespace) -> str:
        return "\n".join(map(str, dict.fromkeys(self.findings))) or "no label reached a sink"


# -- what is watched for ---------------------------------------------------------------------------

ANY: frozenset[str] = frozenset({"*"})
"""All labels."""


class Watch(NamedTuple):
    """What is done where `function` is called. `wanted`: labels that must not reach it; `label`: of what it
    returns, a text or a function of the arguments; `cleans`: what it returns has none."""

    function: Any
    wanted: frozenset[str] = frozenset()
    label: str | Callable[..., str | None] | None = None
    cleans: bool = False


def _watched(sinks: Any, sources: Mapping[Any, Any], sanitizers: Iterable[Any]) -> dict[int, Watch]:
    """By the id of the function."""
    found: dict[int, Watch] = {}

    def add(f: Any, kind: str, **said: Any) -> None:
        if not callable(f):
            raise TypeError(f"{f!r} cannot be called, so it is no {kind}")
        function = canonical(f)[0]
        found[id(function)] = found.get(id(function), Watch(function))._replace(**said)

    pairs = sinks.items() if isinstance(sinks, Mapping) else ((f, None) for f in sinks)
    for f, labels in pairs:
        add(f, "sink", wanted=ANY if labels is None else _names(labels))
    for f, label in sources.items():
        add(f, "source", label=label)
    for f in sanitizers:
        add(f, "sanitizer", cleans=True)
    return found


def _names(labels: Any) -> frozenset[str]:
    return frozenset({labels} if isinstance(labels, str) else labels)


def _is_part(label: str, wanted: Iterable[str]) -> bool:
    """A path is of what it begins with."""
    return any(label == w or label.startswith((f"{w}[", f"{w}.")) for w in wanted)


def _watching(function: Any) -> Callable[..., Any]:
    """The rule for `function`, whoever calls it and however."""

    def rule(ctx: TaintContext, *args: Any, **kwargs: Any) -> Any:
        watch = ctx.__dict__["_watched"].get(id(function), Watch(function))
        if ctx.__dict__["_naming"].active:
            return _unwatched(ctx, function, args, kwargs)
        if watch.wanted:
            ctx._check(function, watch.wanted, (args, kwargs))
        out = _unwatched(ctx, function, args, kwargs)
        out = ctx.clean(out) if watch.cleans else out
        name = _named(ctx, watch.label, args, kwargs) if callable(watch.label) else watch.label
        return out if name is None else ctx.label(out, name)

    return rule


class Naming(threading.local):
    """Whether this thread is in a function that says a label: nothing is watched for there."""

    active = False


def _named(ctx: TaintContext, label: Callable[..., str | None], args: Any, kwargs: Any) -> Any:
    """The label, of operands in which there may be labels: `str(path)` of a path made of labelled text."""
    naming = ctx.__dict__["_naming"]
    naming.active = True
    try:
        return ctx.clean(overdub(ctx, label, *args, **kwargs))
    finally:
        naming.active = False


def _unwatched(ctx: TaintContext, f: Any, args: Any, kwargs: Any) -> Any:
    """What would run in place of `f` if it were not watched."""
    base: Any = next(cls for cls in type(ctx).__mro__ if "_made" in cls.__dict__).__base__
    rule = rules.find(base, f, tuple(map(type, args)))
    return recurse(ctx, f, *args, **kwargs) if rule is None else rule(ctx, *args, **kwargs)


for _function, _rule in json_hooks.RULES.items():
    TaintContext.rule(_function)(_rule)
