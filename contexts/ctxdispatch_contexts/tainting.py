"""`TaintContext`: which inputs reached which outputs, and which reached where they must not.

    result, labels = taints(f, *args, **kwargs)      labels has the structure of the result

A label is the name of an argument, or the path of a part of it. The result of an operation has the labels of
all its operands, so what depends on an input by the data has its label; what only depends on it by a branch
that was taken has not.
"""

from __future__ import annotations

import builtins
import inspect
import io
import os
import sys
import types
from argparse import ArgumentParser, Namespace
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from importlib import import_module
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ctxdispatch.dispatch import Tagging, overdub, recurse
from ctxdispatch.dispatch.rules import canonical, name_of
from ctxdispatch.ir.values import Position


class Labels(frozenset[str]):
    """A set of labels; prints sorted."""

    def __repr__(self) -> str:
        return f"{{{', '.join(map(repr, sorted(self)))}}}"


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


class Tainted(NamedTuple):
    """What `taints` returns."""

    result: Any
    labels: Any


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
        """With sources or sanitizers, it is of a class of its own, that has a rule for each."""
        if not cls._made and (kwargs.get("sources") or kwargs.get("sanitizers") or len(args) > 1):
            cls = type(cls)(cls.__name__, (cls,), {"__module__": cls.__module__, "_made": True})
        return super().__new__(cls)

    def __post_init__(self) -> None:
        if type(self)._made:
            for f in self.sanitizers:
                type(self).rule(f)(_sanitized(canonical(f)[0]))
            for f, label in self.sources.items():
                type(self).rule(f)(_labelled(canonical(f)[0], label))
        self.__dict__["_wanted"] = _sinks(self.sinks)

    def combine(self, f: Any, metadata: list[Any], out: Any) -> Any:
        return Labels(frozenset().union(*metadata)) or None

    def prehook(self, f: Any, args: Any, kwargs: Any) -> None:
        wanted = self.__dict__["_wanted"]
        if wanted:
            callee = canonical(self.untag(f))[0]
            if id(callee) in wanted:
                self._check(callee, wanted[id(callee)][1], (f, args, kwargs))

    def _check(self, f: Any, wanted: frozenset[str] | None, operands: Any) -> None:
        reached = all_labels(self, operands)
        found = Labels(reached if wanted is None else {x for x in reached if _is_part(x, wanted)})
        if found:
            finding = Finding(f, found, self.where())
            self.findings.append(finding)
            if not self.record:
                raise TaintError(finding)

    # -- labels ------------------------------------------------------------------------------------

    def label(self, value: Any, name: str, granular: bool = False) -> Any:
        """`value` with the label `name`: a proxy for what cannot be changed, else by its identity. With
        `granular`, each part of it has its path: of lists, dicts and objects these are put in place."""
        return _Labelling(self, granular).of(value, name)

    def clean(self, value: Any) -> Any:
        """`value` without labels; containers and objects in place."""
        return _Cleaning(self).of(value)

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
        sinks = dict(map(_sink, options.sink or ["builtins.print"]))
        sanitizers = [_named(name) for name in options.sanitizer]
        record, inputs = not options.stop, frozenset(inputs)
        return cls(sinks=sinks, sources=sources, sanitizers=sanitizers, record=record, inputs=inputs)

    def report(self, options: Namespace) -> str:
        return "\n".join(map(str, dict.fromkeys(self.findings))) or "no label reached a sink"


def _sinks(sinks: Any) -> dict[int, tuple[Any, frozenset[str] | None]]:
    pairs = sinks.items() if isinstance(sinks, Mapping) else ((f, None) for f in sinks)
    found = {}
    for f, labels in pairs:
        if not callable(f):
            raise TypeError(f"{f!r} cannot be called, so it is no sink")
        callee = canonical(f)[0]
        named = {labels} if isinstance(labels, str) else labels
        found[id(callee)] = (callee, None if named is None else frozenset(named))
    return found


def _is_part(label: str, wanted: Iterable[str]) -> bool:
    """A path is of what it begins with."""
    return any(label == w or label.startswith((f"{w}[", f"{w}.")) for w in wanted)


def _sanitized(f: Any) -> Callable[..., Any]:
    return lambda ctx, *args, **kwargs: ctx.clean(recurse(ctx, f, *args, **kwargs))


def _labelled(f: Any, label: Any) -> Callable[..., Any]:
    def rule(ctx: TaintContext, *args: Any, **kwargs: Any) -> Any:
        out = recurse(ctx, f, *args, **kwargs)
        name = label(*args, **kwargs) if callable(label) else label
        return out if name is None else ctx.label(out, name)

    return rule


# -- one call --------------------------------------------------------------------------------------


def taints(f: Callable[..., Any], /, *args: Any, granular: bool = False, **kwargs: Any) -> Tainted:
    """(result, labels) of f(*args, **kwargs): which arguments reached which part of the result.

    `labels` is a set for a number or text, a list for a list, an array of sets for an array, a dict by name
    for an object. An argument's label is its name; with `granular` each element, item and attribute has its
    path (`x[0]`, `opts['k']`). What functions raise is raised.
    """
    ctx = TaintContext()
    marked = _by_name(f, args, kwargs)
    try:
        args = tuple(ctx.label(a, name, granular) for a, name in zip(args, marked))
        kwargs = {k: ctx.label(v, k, granular) for k, v in kwargs.items()}
        out = overdub(ctx, f, *args, **kwargs)
        labels = labels_of(ctx, out)
        return Tainted(ctx.clean(out), labels)
    finally:
        ctx.clean([*args, *kwargs.values()])


def sources(f: Callable[..., Any], granular: bool = False) -> Callable[..., Labels]:
    """The function that returns all labels that reached the result of `f`."""

    def run(*args: Any, **kwargs: Any) -> Labels:
        return _union(taints(f, *args, granular=granular, **kwargs).labels)

    return run


def _by_name(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[str]:
    """The name of each positional argument."""
    try:
        parameters = [*inspect.signature(f).parameters.values()]
    except (TypeError, ValueError):
        return [f"args[{k}]" for k in range(len(args))]
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    return [*names[: len(args)], *(f"{rest}[{k}]" for k in range(len(args) - len(names)))]


def _union(labels: Any) -> Labels:
    if isinstance(labels, Labels):
        return labels
    each: Iterable[Any] = labels.values() if isinstance(labels, dict) else labels
    parts = each.flat if isinstance(each, np.ndarray) else each
    return Labels(frozenset().union(*map(_union, parts)))


# -- putting labels on, reading them, taking them off ----------------------------------------------

PLAIN = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, type, types.ModuleType, np.ufunc,
    np.random.Generator,
)  # fmt: skip
"""What is no data."""

ATOMS = (int, float, complex, str, bytes, type(None), tuple, frozenset, range, np.generic)


def attributes(value: Any) -> dict[str, Any]:
    """What an object holds, in its `__dict__` and its slots; nothing of what is no data."""
    if isinstance(value, (*PLAIN, *ATOMS)):
        return {}
    own = dict(getattr(value, "__dict__", ()))
    for name in [n for cls in type(value).__mro__ for n in _slots(cls)]:
        if hasattr(value, name):
            own[name] = getattr(value, name)
    return own


def _slots(cls: type) -> list[str]:
    return [n for n, held in vars(cls).items() if type(held) is types.MemberDescriptorType and _is_own(cls)]


def _is_own(cls: type) -> bool:
    """Made by a `class` statement: what C code shows as a member is not to be assigned to."""
    return bool(cls.__flags__ & 1 << 9) and "__slots__" in vars(cls)


def put(value: Any, name: str, item: Any) -> None:
    if name in getattr(value, "__dict__", ()):
        value.__dict__[name] = item
    elif getattr(value, name) is not item:
        object.__setattr__(value, name, item)


class _Walk:
    """Each object once."""

    def __init__(self, ctx: TaintContext, granular: bool = False) -> None:
        self.ctx, self.granular = ctx, granular
        self.seen: dict[int, Any] = {}

    def again(self, value: Any) -> bool:
        known = id(value) in self.seen
        self.seen[id(value)] = value
        return known


class _Labelling(_Walk):
    def of(self, value: Any, name: str) -> Any:
        if isinstance(value, PLAIN):
            return value
        if self.granular:
            parts = next((put for cls, put in self.PARTS if isinstance(value, cls)), None)
            if parts is not None:
                known = self.again(value) and not isinstance(value, tuple)
                return value if known else parts(self, value, name)
        if isinstance(value, ATOMS):
            return self.ctx.tag(value, Labels({name, *(self.ctx.metadata(value) or ())}))
        own = attributes(value) if self.granular else {}
        if own and not self.again(value):
            for k, item in own.items():
                put(value, k, self.of(item, f"{name}.{k}"))
            return value
        self.ctx.mark(value, Labels({name}))
        return value

    def _list(self, value: list[Any], name: str) -> Any:
        value[:] = [self.of(item, f"{name}[{k}]") for k, item in enumerate(value)]
        return value

    def _tuple(self, value: Any, name: str) -> Any:
        return tuple.__new__(type(value), [self.of(item, f"{name}[{k}]") for k, item in enumerate(value)])

    def _dict(self, value: dict[Any, Any], name: str) -> Any:
        for k, item in [*value.items()]:
            value[k] = self.of(item, f"{name}[{k!r}]")
        return value

    def _array(self, value: Any, name: str) -> Any:
        if value.dtype == object:
            self.ctx.mark(value, Labels({name}))
            return value
        for index in np.ndindex(value.shape):
            path = f"{name}[{', '.join(map(str, index))}]" if index else name
            self.ctx.mark_element(value, index, Labels({path}))
        return value

    PARTS = ((list, _list), (tuple, _tuple), (dict, _dict), (np.ndarray, _array))


def labels_of(ctx: TaintContext, value: Any, above: frozenset[str] = frozenset()) -> Any:
    """The labels of `value`, in its structure."""
    return _Reading(ctx).of(value, above)


class _Reading(_Walk):
    def of(self, value: Any, above: frozenset[str]) -> Any:
        bare = self.ctx.untag(value)
        labels = Labels(above.union(self.ctx.metadata(value) or (), *self.ctx.marks(bare)))
        read = next((read for cls, read in self.PARTS if isinstance(bare, cls)), None)
        if read is not None and not (isinstance(bare, list | dict) and self.again(bare)):
            return read(self, bare, labels)
        own = attributes(bare)
        return {k: self.of(v, labels) for k, v in own.items()} if own and not self.again(bare) else labels

    def _sequence(self, value: Any, labels: Labels) -> Any:
        if not value:
            return labels
        made = [self.of(item, labels) for item in value]
        return made if isinstance(value, list | deque) else tuple.__new__(type(value), made)

    def _array(self, value: Any, labels: Labels) -> Any:
        if value.dtype == object:
            each = [self.of(item, labels) for item in value.flat]
        else:
            shadow = self.ctx.elements(value)
            each = [Labels(labels.union(*boxes)) for boxes in shadow]
        made = np.empty(value.shape, dtype=object)
        for index, found in zip(np.ndindex(value.shape), each):
            made[index] = found
        return made if value.ndim else made[()]

    def _dict(self, value: Any, labels: Labels) -> Any:
        if not value:
            return labels
        return {self.ctx.untag(k): self.of(v, labels | self.of(k, frozenset())) for k, v in value.items()}

    def _set(self, value: Any, labels: Labels) -> Any:
        return Labels(labels.union(*(_union(self.of(item, frozenset())) for item in value)))

    PARTS: tuple[Any, ...] = (
        (list, _sequence), (deque, _sequence), (tuple, _sequence), (np.ndarray, _array), (dict, _dict),
        (set, _set), (frozenset, _set),
    )  # fmt: skip


def all_labels(ctx: TaintContext, value: Any) -> Labels:
    return _union(labels_of(ctx, value))


class _Cleaning(_Walk):
    def of(self, value: Any) -> Any:
        bare = self.ctx.untag(value)
        self.ctx.unmark(bare)
        clean = next((clean for cls, clean in self.PARTS if isinstance(bare, cls)), None)
        if clean is not None:
            return bare if self.again(bare) and not isinstance(bare, tuple) else clean(self, bare)
        if not self.again(bare):
            for name, old in attributes(bare).items():
                put(bare, name, self.of(old))
        return bare

    def _list(self, value: Any) -> Any:
        for k, item in enumerate(value):
            clean = self.of(item)
            if clean is not item:
                value[k] = clean
        return value

    def _array(self, value: Any) -> Any:
        if value.dtype == object:
            self._list(value.reshape(-1) if value.flags.c_contiguous else value.flat)
        return value

    def _tuple(self, value: Any) -> Any:
        made = [*map(self.of, value)]
        return value if all(a is b for a, b in zip(made, value)) else tuple.__new__(type(value), made)

    def _dict(self, value: Any) -> Any:
        items = [(k, v, self.of(k), self.of(v)) for k, v in value.items()]
        renamed = any(k is not clean for k, _, clean, _ in items)
        if renamed:
            value.clear()  # in its order again
        for _, v, key, item in items:
            if renamed or item is not v:
                value[key] = item
        return value

    def _set(self, value: Any) -> Any:
        made = [*map(self.of, value)]
        if all(a is b for a, b in zip(made, value)):
            return value
        if isinstance(value, frozenset):
            return type(value)(made)
        value.clear()
        value.update(made)
        return value

    PARTS: tuple[Any, ...] = (
        (list, _list), (deque, _list), (tuple, _tuple), (dict, _dict), (set, _set), (frozenset, _set),
        (np.ndarray, _array),
    )  # fmt: skip


# -- on a command line -----------------------------------------------------------------------------


def _file(name: Any, mode: str = "r", *args: Any, **kwargs: Any) -> str | None:
    return f"file {str(name)!r}" if set("r+") & set(mode) else None


INPUTS: dict[str, dict[Any, Any]] = {
    "argv": {},
    "stdin": {builtins.input: "stdin"},
    "environ": {type(os.environ).__getitem__: lambda environ, key: f"environ[{str(key)!r}]"},
    "files": {io.open: _file},
}
"""What a program is told from outside: the functions by which it reads that, with their labels."""


def _sink(text: str) -> tuple[Any, frozenset[str] | None]:
    name, equals, labels = text.partition("=")
    return _named(name), frozenset(labels.split(",")) if equals else None


def _named(name: str) -> Any:
    """What a dotted name means: as much of it as can be imported is the module."""
    parts = name.split(".") if "." in name else ["builtins", name]
    for k in range(len(parts) - 1, 0, -1):
        try:
            found: Any = import_module(".".join(parts[:k]))
        except ModuleNotFoundError:
            continue
        for part in parts[k:]:
            if not hasattr(found, part):
                raise ValueError(f"{getattr(found, '__name__', found)!r} has no {part!r}")
            found = getattr(found, part)
        return found
    raise ValueError(f"there is no module for {name!r}")
