"""`Tagging`: a context in whose programs values carry tags.

    y = f(x, z)          y = f(x', z') without this run's tags; its tag: combine(f, [metadata of x, of z], y)
    xs.append(x)         as it is: x is in xs with its tag (`moving.ROWS`)
    a[i] = x             a[i] = x' and the metadata of x beside the array (`shadows.Shadows`)

Invariants: C code never gets a tag of this run but where it only moves it; a value that C code cannot carry a
tag in (what it writes into, what must keep its identity) has its metadata beside it, by identity (`Marks`);
tags of other runs are left where they are.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, ClassVar

from ctxdispatch.dispatch import moving, nested, protocols
from ctxdispatch.dispatch.context import Args, Context, Kwargs
from ctxdispatch.dispatch.instructions import PATTERNS
from ctxdispatch.dispatch.moving import RULED
from ctxdispatch.dispatch.opaque import run_opaque, tell
from ctxdispatch.dispatch.overdub import ENGINE, beyond_rules, callback, resolve, stepping
from ctxdispatch.dispatch.reach import CMETHOD, Engine, composed
from ctxdispatch.dispatch.shadows import Marks, Shadows, boxed, is_array
from ctxdispatch.dispatch.strip import Strip
from ctxdispatch.dispatch.tags import Tagged, called, without
from ctxdispatch.facts import canonical
from ctxdispatch.ir import primitives
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

Row = Callable[["Call", Args, Kwargs], Any]


class Tagging(Context):
    """Subclass it and say in `combine` what the tag of a result is; or give operations rules that `tag` what
    they return.

    `untag`, `metadata` and `tag` find this run's tag also within tags of other runs.
    """

    intercepts: ClassVar[Any] = (
        "call", "operator", "compare", "item", "attribute", "iterate", "truth", "format", "unpack", "with",
        primitives.build_set, primitives.build_map, primitives.set_add, primitives.map_add,
        primitives.list_extend, primitives.set_update, primitives.dict_update, primitives.dict_merge,
        *PATTERNS.values(),
    )  # fmt: skip

    _carries_tags: ClassVar[bool] = True
    """`fallback` is told of callees with tags."""

    def combine(self, f: Any, metadata: list[Any], out: Any) -> Any:
        """The metadata of `out`, which f returned for operands whose tags hold `metadata` (some may be there
        more than once); None: no tag."""
        return None

    def fallback(self, f: Any, args: Args, kwargs: Kwargs) -> Any:
        return carry(self, _itself, _itself, f, args, kwargs)

    def untag(self, value: Any) -> Any:
        """`value` without the tag of this run, also where that lies within those of other runs."""
        return without(self._run, value)

    def metadata(self, value: Any, default: Any = None) -> Any:
        """What the tag of this run on `value` holds, wherever it lies; `default` where there is none."""
        tagged = own(self, value)
        return default if tagged is None else tagged._self_metadata

    def mark(self, value: Any, metadata: Any) -> None:
        """Give `value` metadata without a proxy: by its identity, for the rest of the run. Reading its items
        and attributes, and opaque calls, see it like a tag."""
        self._marks.add(self.untag(value), metadata)

    def marks(self, value: Any) -> list[Any]:
        """What `mark` was given for `value`."""
        return self._marks.of(self.untag(value))

    def unmark(self, value: Any) -> None:
        """Forget what `mark` and `mark_element` were given for `value`, its elements included."""
        self._marks.drop(value)
        if is_array(value):
            self._shadows.write(value, ..., None)

    def mark_element(self, array: Any, index: Any, metadata: Any) -> None:
        """Give `array[index]`, of a NumPy array, metadata; `index` may be any that NumPy takes."""
        self._shadows.write(array, index, boxed(metadata))

    def elements(self, array: Any) -> list[list[Any]]:
        """What each element of a NumPy array has, in the order of `array.flat`."""
        shadow = self._shadows.of(array)
        if shadow is None:
            return [[]] * array.size
        return [[] if box is None else [*box.metadata] for box in shadow.flat]

    @property
    def _marks(self) -> Marks:
        found: Marks = self._run.__dict__.get("marks") or self._run.__dict__.setdefault("marks", Marks())
        return found

    @property
    def _shadows(self) -> Shadows:
        found = self._run.__dict__.get("shadows")
        return found or self._run.__dict__.setdefault("shadows", Shadows())  # type: ignore[no-any-return]

    def _new(self, new: Any, cls: type) -> Any:
        """What makes an instance in place of `new`, which is C code; the tags of what it is given are beside
        what it made."""
        return functools.partial(_made, Call(self, _itself, _itself, new))

    @property
    def _told(self) -> Marks:
        """What exceptions were told: (their `args`, the same with tags)."""
        found: Marks = self._run.__dict__.get("told") or self._run.__dict__.setdefault("told", Marks())
        return found

    def _splat(self, iterable: Any) -> Any:
        """f(*iterable): what is gone through in place of `iterable`."""
        return Call(self, _itself, _itself, tuple).spread(iterable)


def _made(call: Call, cls: type, /, *args: Any, **kwargs: Any) -> Any:
    strip = Strip(call)
    given = [strip.value(a) for a in args]
    out = call.f(cls, *given, **{name: strip.value(value) for name, value in kwargs.items()})
    if strip.metadata and call.f is not object.__new__:
        call.mark(out, strip.metadata)
        tell(call, out, args)
    return out


def own(ctx: Context, value: Any) -> Any:
    """The proxy of this run in `value`, None if there is none."""
    while type(value) is Tagged:
        if value._self_run is ctx._run:
            return value
        value = value.__wrapped__
    return None


# -- one call --------------------------------------------------------------------------------------


class Call:
    """One call of `f`. `find` finds out what to call in its place, `ask` runs `combine`; `engine` is what the
    handler of `f` gets, if it has one."""

    __slots__ = ("ctx", "find", "ask", "f", "engine")

    def __init__(self, ctx: Any, find: Any, ask: Any, f: Any, engine: Engine | None = None) -> None:
        self.ctx, self.find, self.ask, self.f, self.engine = ctx, find, ask, f, engine

    def native(self, *args: Any, **kwargs: Any) -> Any:
        return self.find(self.f)(*args, **kwargs)

    def checked(self, f: Any, strip: Strip, args: Any, kwargs: Any) -> Any:
        """f(*args, **kwargs), where C code looks at what the Python code that it runs returns: that loses its
        tags, and `strip` has what they held."""
        handler = protocols.BY_IDENTITY.get(id(f))
        target = None
        if self.engine is not None and handler is not None:
            target = handler(catching(self.engine, strip), self.ctx, f)
        return (target or self.find(f))(*args, **kwargs)

    def catching(self, f: Any, strip: Strip) -> Any:
        """What calls `f` under the context for C code, and takes the tags off what it returns."""
        return functools.partial(_caught, strip, self.ask(callback(self.ctx, f)))

    def bare(self, value: Any) -> Any:
        return self.ctx.untag(value) if type(value) is Tagged else value

    def held(self, *values: Any) -> list[Any]:
        """The metadata that the values themselves have."""
        found = []
        for value in values:
            if type(value) is Tagged:
                tagged = own(self.ctx, value)
                if tagged is not None:
                    found.append(tagged._self_metadata)
                    value = self.bare(value)
            found += self.ctx._marks.of(value)
        return found

    def give(self, out: Any, metadata: list[Any]) -> Any:
        """`out` with the tag that `combine` makes of `metadata`, and of the one that it has."""
        if not metadata or out is NotImplemented:
            return out
        if issubclass(type(out), BaseException):  # a proxy cannot be raised
            self.mark(out, metadata)
            return out
        made = self.combined([*self.held(out), *metadata], out)
        return out if made is None else self.ctx.tag(out, made)

    def combined(self, metadata: list[Any], out: Any = None) -> Any:
        return self.ask(self.ctx.combine)(self.f, metadata, self.bare(out)) if metadata else None

    def spread(self, value: Any) -> Any:
        return moving.spread(self, value)

    def resolved(self, f: Any) -> Any:
        """What calls `f` under the context, and those further out."""
        return self.ask(resolve(self.ctx, f))

    def iter(self, value: Any) -> Any:
        """iter(value), its steps under the context; the marks of `value` are not on the items."""
        return stepping(value, self.find(iter)(value), self.ctx)

    def mark(self, value: Any, metadata: list[Any]) -> None:
        """`value` was written into."""
        made = self.combined([*metadata, *self.held(value)], value)
        if made is not None:
            self.ctx._marks.put(self.bare(value), made)


def carry(
    ctx: Tagging, find: Any, ask: Any, f: Any, args: Args, kwargs: Kwargs, engine: Engine | None = None
) -> Any:
    """f(*args, **kwargs), tags taken off where they must be."""
    if type(f) is Tagged:
        return _tagged_callee(ctx, find, ask, f, args, kwargs)
    callee, bound = canonical(f)
    if not (bound or args or kwargs):
        return find(f)()  # no row is for that
    if bound and type(bound[0]) is Tagged and getattr(callee, "__objclass__", object) in _OF_PROXIES:
        raw = getattr(ctx.untag(bound[0]), callee.__name__)  # found in the class of the proxy
        call = Call(ctx, find, ask, raw)
        return call.give(call.resolved(raw)(*args, **kwargs), call.held(bound[0]))
    row: Row | None = moving.row_of(callee)
    call = Call(ctx, find, ask, f if row is None else callee, engine)
    try:
        if row is None:
            return run_opaque(call, (callee, bound), args, kwargs)
        return row(call, (*bound, *args), kwargs)
    except BaseException as error:
        whole, others = ((), (*bound, *args)) if row is None else ((*bound, *args)[:1], (*bound, *args)[1:])
        _says(call, error, whole, (*others, *kwargs.values()))
        raise


def _says(call: Call, error: BaseException, whole: Args, others: Args) -> None:
    """An exception tells of the operands, of those that are only looked into by themselves."""
    strip = Strip(call)
    for value in others:
        strip.value(value)
    metadata = [*call.held(*whole), *strip.metadata]
    if metadata:
        call.mark(error, metadata)


def _tagged_callee(ctx: Tagging, find: Any, ask: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """A tagged function: its result has that tag too. Of a bound C method the tag is the receiver's."""
    raw, tagged = ctx.untag(f), own(ctx, f)
    call = Call(ctx, find, ask, raw)
    if tagged is None:
        return find(f)(*args, **kwargs)
    callee, bound = canonical(raw)
    if bound and type(raw) in _BOUND:
        receiver = ctx.tag(bound[0], tagged._self_metadata)
        return ask(resolve(ctx, callee))(receiver, *bound[1:], *args, **kwargs)
    out = ask(resolve(ctx, raw))(*args, **kwargs)
    return call.give(out, [tagged._self_metadata])


_OF_PROXIES = frozenset(Tagged.__mro__) - {object}
_BOUND = (types.BuiltinMethodType, types.MethodWrapperType, CMETHOD)


def _itself(f: Any) -> Any:
    return f


# -- what the engine has handlers for --------------------------------------------------------------


def handled(f: Any, ctx: Tagging, /, *args: Any, **kwargs: Any) -> Any:
    """The rule for callees whose handlers look at the arguments: tags come off before that."""
    return carry(ctx, lambda g: beyond_rules(ctx, g), _itself, f, args, kwargs, ENGINE)


def catching(engine: Engine, strip: Strip) -> Engine:
    """`engine`, but what it runs returns values without tags."""

    def caught(find: Any) -> Any:
        return lambda ctx, f: functools.partial(_caught, strip, find(ctx, f))

    find, callback, handed = caught(engine.resolve), caught(engine.callback), caught(engine.handed)
    return Engine(find, callback, handed, engine.native)


def _caught(strip: Strip, target: Any, /, *args: Any, **kwargs: Any) -> Any:
    return strip.value(target(*args, **kwargs))


for _f in RULED:
    Tagging.rule(_f)(types.MethodType(handled, _f))


# -- under a context further out -------------------------------------------------------------------


def _handled_under(engine: Engine, outer: Any, f: Any, ctx: Tagging, /, *args: Any, **kwargs: Any) -> Any:
    def find(g: Any) -> Any:
        return engine.resolve(outer, beyond_rules(ctx, g))

    within = composed(engine, outer, ENGINE)
    return carry(ctx, find, lambda g: engine.resolve(outer, g), f, args, kwargs, within)


def _fallback_under(engine: Engine, outer: Any, ctx: Tagging, f: Any, args: Args, kwargs: Kwargs) -> Any:
    def find(g: Any) -> Any:
        return engine.resolve(outer, g)

    return carry(ctx, find, find, f, args, kwargs)


def _called_under(engine: Engine, outer: Any, f: Any, ctx: Any, /, *args: Any, **kwargs: Any) -> Any:
    out = engine.resolve(outer, called(f, ctx))(*args, **kwargs)
    tagged = own(outer, f) if issubclass(type(outer), Tagging) else None
    return out if tagged is None else Call(outer, _itself, _itself, f).give(out, [tagged._self_metadata])


nested.UNDER[handled] = _handled_under
nested.UNDER[Tagging.fallback] = _fallback_under
nested.UNDER[Tagged.__dict__["__overdub__"]] = _called_under
