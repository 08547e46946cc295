"""Special methods of the user's that C code runs for its own ends, where nothing is written down.

    {c}, d[c]           C.__hash__, C.__eq__            sorted(cs), 1 in [c]      C.__lt__, C.__eq__
    "%r" % c            C.__repr__                      dir(c)                    C.__dir__

What they return is no part of a derivative; what they store may be. So C code that is given an object whose
class has a method that may store runs between two looks at what the run knows, and is refused where that has
become something else.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Iterable, Iterator
from itertools import filterfalse
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import beyond_rules, resolve
from ctxdispatch.dispatch.reach import bind, natively, special
from ctxdispatch.dispatch.strip import is_iterator
from ctxdispatch.ir import matching, primitives
from ctxdispatch_contexts.programs.errors import MissingRuleError, described, user_frame, user_position
from ctxdispatch_contexts.programs.reaching import named
from ctxdispatch_contexts.programs.reading import hooks
from ctxdispatch_contexts.recording import hidden, leaves, looking, memory
from ctxdispatch_contexts.recording.acting import CALM, acting, is_container

Args = tuple[Any, ...]
Kwargs = dict[str, Any]
Run = Callable[..., Any]
Before = tuple[Any, dict[int, Any], bool]

# -- what a call looks at ------------------------------------------------------------------------------------


@natively
def actors(callee: Any, args: Args, kwargs: Kwargs) -> list[type]:
    """The classes of which `callee` may run a method that stores."""
    if looking.makes_class(callee):
        return hooks(args)
    at, inside = looking.looked_at(callee, args, kwargs)
    asked = looking.asks_for_items(callee)
    return acting(at, 0, asked=asked) or acting([*filterfalse(is_container, at), *inside], asked=asked)


MOST = 5000
"""For new numbers operands are looked through that have fewer parts; arrays that are known, all."""


# -- before and after ----------------------------------------------------------------------------------------


def run_watched(ctx: Any, callee: Any, args: Args, kwargs: Kwargs) -> Any:
    """callee(*args, **kwargs), refused where a method has changed what the run knows."""
    if not kwargs and CALM.issuperset(map(type, args)):
        return callee(*args)
    classes = actors(callee, args, kwargs)
    if not classes or ctx.record.still:
        return callee(*args, **kwargs)
    return _between_two_looks(ctx.record, callee, classes, args, kwargs, ())


def _between_two_looks(
    record: Any, callee: Any, classes: list[type], args: Args, kwargs: Kwargs, apart: Iterable[Any]
) -> Any:
    looked_at = [*args, *kwargs.values()]
    if not looking.makes_class(callee):
        at, inside = looking.looked_at(callee, args, kwargs)
        looked_at = [*filterfalse(is_container, at), *inside]
    before, out = _look(record, looked_at, apart), None
    try:
        out = callee(*args, **kwargs)
        return out
    finally:
        made = vars(out).values() if issubclass(type(out), type) else (out,)
        if _has_changed(record, before, [*looked_at, *made]):
            raise _refusal(callee, classes)


def watched(ctx: Any, callee: Any, run: Run, args: Args, kwargs: Kwargs) -> Run:
    """What `run` is, to be run with such operands, where C code may store into arrays among them."""
    classes = actors(callee, args, kwargs) if run is callee else []
    if not classes or ctx.record.still:
        return run

    def run_between(*args: Any, **kwargs: Any) -> Any:
        given = leaves.leaves((args, kwargs))
        return _between_two_looks(ctx.record, callee, classes, args, kwargs, given)

    return run_between


@natively
def _look(record: Any, looked_at: list[Any], apart: Iterable[Any]) -> Before:
    """`apart`: constants of which `stores.constant` sees whether they have changed."""
    but = {id(memory.owner(a)) for a in apart if issubclass(type(a), np.ndarray) and not record.is_active(a)}
    held = {id(part): part for part in _reached(looked_at)}
    copies = [each for each in record.memory.copies() if id(each[0]) not in but]
    known = id(hidden.TOO_MANY) not in held
    active = known and any(map(record.is_active, held.values()))
    arrays = [a for a in held.values() if active and issubclass(type(a), np.ndarray)]
    constant = [a for a in arrays if record.memory.find(a) is None and id(memory.owner(a)) not in but]
    return copies + memory.contents(constant), held, active


@natively
def _has_changed(record: Any, before: Before, looked_at: list[Any]) -> bool:
    copies, held, active = before
    if memory.changed(copies):
        return True
    parts = _reached(looked_at) if active else ()
    return any(_is_new(record, part) for part in parts if id(part) not in held)


def _reached(looked_at: list[Any]) -> Iterable[Any]:
    """What the methods could read, or store to."""
    return hidden.held(named(looked_at), MOST)


def _is_new(record: Any, part: Any) -> bool:
    """A number that was made meanwhile, out of one that may be differentiated."""
    if part is hidden.TOO_MANY:
        return False
    if not issubclass(type(part), np.ndarray):
        return not record.is_active(part)
    return part.dtype.kind in "fc" and record.memory.find(part) is None


_SYNTAX = {
    id(primitives.build_set): "a set", id(primitives.set_add): "a set", id(primitives.set_update): "a set",
    id(primitives.build_map): "a dict", id(primitives.map_add): "a dict", id(operator.contains): "`in`",
    id(primitives.not_contains): "`not in`", id(primitives.format_value): "an f-string",
    id(matching.match_class): "a pattern", id(matching.match_keys): "a pattern",
}  # fmt: skip


def _refusal(callee: Any, classes: list[type]) -> MissingRuleError:
    names = " or ".join(cls.__name__ for cls in classes)
    makes = looking.makes_class(callee)
    what = "making a class" if makes else _SYNTAX.get(id(callee)) or described(callee)
    return MissingRuleError(
        f"{what} runs a special method of the class {names}, which stores into what the derivative reads, "
        "where that is not followed; have the method store nothing, or call it beforehand and give what it "
        "returns",
        user_position(),
    )


# -- methods that are followed -------------------------------------------------------------------------------


def prepared(ctx: Any, callee: Any, args: Args) -> Args:
    """The arguments, with numbers for indices that have `__index__`; with the items of iterators that go into
    a hash table, to be looked at before they do; with its module for a class that is made."""
    if looking.makes_class(callee):
        return _with_module(args)
    if looking.takes_index(callee):
        if len(args) < 2 or issubclass(type(args[0]), dict) or type(args[1]) in CALM:
            return args
        return (args[0], _index(ctx, args[1]), *args[2:])
    return tuple([_taken(ctx, callee, a, i > 0) if is_iterator(a) else a for i, a in enumerate(args)])


def _taken(ctx: Any, callee: Any, items: Any, beside: bool) -> Any:
    """All items of an iterator; if by the first nothing is run, one by one `beside` a table, which may change
    meanwhile, or be enough before the last."""
    steps = _steps(resolve(ctx, next), items)
    found: list[Any] = []
    for item in steps:
        found.append(item)
        if beside and not acting(found):
            return _one_by_one(steps, callee, item)
    return found


def _steps(step: Run, items: Any) -> Iterator[Any]:
    while True:
        try:
            item = step(items)
        except StopIteration:
            return
        yield item


def _one_by_one(steps: Iterator[Any], callee: Any, first: Any) -> Iterator[Any]:
    yield first
    for item in steps:
        if classes := acting([item]):
            raise _refusal(callee, classes)
        yield item


def _with_module(args: Args) -> Args:
    """A class is of the module of the frame that has it made."""
    namespace, frame = args[-1], user_frame()
    if len(args) < 3 or not issubclass(type(namespace), dict) or "__module__" in namespace or not frame:
        return args
    return (*args[:-1], {**namespace, "__module__": frame.f_globals.get("__name__")})


def _index(ctx: Any, index: Any) -> Any:
    if type(index) is tuple:
        return tuple([_index(ctx, i) for i in index])
    if type(index) is slice:
        return slice(*[_index(ctx, i) for i in (index.start, index.stop, index.step)])
    method = None if type(index) in CALM else special(type(index), "__index__")
    return index if method is None else resolve(ctx, bind(method, index))()


def _truth(item: Any) -> bool:
    return bool(item)


def _filtered(ctx: Any, function: Any, items: Any, /) -> Any:
    """filter(None, items) asks for the truth of the items in C."""
    if function is None and not ctx.record.closed:
        function = _truth
    return beyond_rules(ctx, filter)(function, items)


# -- displays ------------------------------------------------------------------------------------------------


def _dir(ctx: Any, *args: Any) -> Any:
    """dir(c), where that does not tell of a frame."""
    return run_watched(ctx, dir, args, {}) if args else beyond_rules(ctx, dir)()


def _rule(f: Any, keys: slice) -> Callable[..., Any]:
    """The rule for what only puts its operands in their places, of which `keys` are looked at."""

    def rule(ctx: Any, *args: Any) -> Any:
        if ctx.record.closed or CALM.issuperset(map(type, args[keys])):
            return f(*args)
        return run_watched(ctx, f, args, {})

    return rule


def _map(ctx: Any, *args: Any) -> Any:
    """{k0: v0, k1: v1, ..}"""
    keys = args[::2]
    if ctx.record.closed or CALM.issuperset(map(type, keys)):
        return dict(zip(keys, args[1::2]))
    return run_watched(ctx, primitives.build_map, args, {})


def _map_add(ctx: Any, target: Any, key: Any, value: Any) -> None:
    if type(key) in CALM or ctx.record.closed:
        target[key] = value
    else:
        run_watched(ctx, primitives.map_add, (target, key, value), {})


ALL = slice(None)
RULES: dict[Any, Callable[..., Any]] = {
    primitives.build_map: _map, primitives.map_add: _map_add, builtins.filter: _filtered, builtins.dir: _dir,
    primitives.set_add: _rule(primitives.set_add, slice(1, None)),
    **{f: _rule(f, ALL) for f in (primitives.build_set, matching.match_class, matching.match_keys)},
}  # fmt: skip
FOLLOWED = (primitives.format_value, primitives.set_update)
