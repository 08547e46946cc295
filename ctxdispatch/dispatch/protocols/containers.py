"""Items and members, mappings, and `with`.

Exact dicts, sets and lists ask `__hash__` and `__eq__` of what is in them when they see fit, in the middle of
their own work: that cannot be done from outside and stays native.
"""

from __future__ import annotations

import collections
import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ctxdispatch.dispatch.protocols.conversions import first_operand, truth
from ctxdispatch.dispatch.protocols.standins import MAPPING, ORDERED_MAPPING, mapping, stand_in
from ctxdispatch.dispatch.reach import (
    ABSENT,
    HEAPTYPE,
    Engine,
    Handlers,
    Total,
    invoke,
    is_python,
    lookup,
    running,
    special,
)
from ctxdispatch.dispatch.tags import bare, kind
from ctxdispatch.facts import fact_of
from ctxdispatch.ir import primitives
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401
from ctxdispatch.ir.registry import Registry

# -- x[k] ------------------------------------------------------------------------------------------


OPERATIONS = Handlers()
HANDLERS = Handlers()


@OPERATIONS.runs(operator.getitem)
def _getitem(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    if len(args) != 2 or kwargs:
        return engine.native(ctx, f)(*args, **kwargs)
    container, key = bare(args[0]), args[1]
    cls = type(container)
    if special(cls, "__getitem__") is not None:
        return invoke(engine, ctx, container, "__getitem__", key)
    if lookup(cls, "__getitem__") is dict.__getitem__:
        return _get_or_make(engine, ctx, f, container, key)
    if issubclass(type(container), type):
        return _of_class(engine, ctx, f, container, key)
    return engine.native(ctx, f)(*args)


@HANDLERS.runs(dict.__getitem__)
def _item_of_dict(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """By name: what a class says of its items itself is not asked."""
    if len(args) != 2 or kwargs or not issubclass(type(bare(args[0])), dict):
        return engine.native(ctx, f)(*args, **kwargs)
    return _get_or_make(engine, ctx, f, bare(args[0]), args[1])


def _get_or_make(engine: Engine, ctx: Any, f: Any, mapping: Any, key: Any) -> Any:
    """An item of a dict whose class has a `__missing__`, or of a defaultdict."""
    run = engine.native(ctx, f)
    make = None if type(mapping) is dict else _maker(engine, ctx, mapping)
    if make is None:
        return run(mapping, key)
    value = dict.get(mapping, key, ABSENT)
    if value is ABSENT:
        return make(key)
    return value if run is f else run(mapping, key)


def _maker(engine: Engine, ctx: Any, mapping: Any) -> Any:
    if special(type(mapping), "__missing__") is not None:
        return functools.partial(invoke, engine, ctx, mapping, "__missing__")
    if lookup(type(mapping), "__missing__") is not collections.defaultdict.__missing__:
        return None
    factory = mapping.default_factory
    return None if factory is None else functools.partial(_made, engine, ctx, mapping, factory)


def _made(engine: Engine, ctx: Any, mapping: Any, factory: Any, key: Any) -> Any:
    """defaultdict.__missing__"""
    value = engine.resolve(ctx, factory)()
    if not STORES_BY_METHOD:
        return dict.setdefault(mapping, key, value)
    HANDLERS[operator.setitem](engine, ctx, operator.setitem)(mapping, key, value)
    return value


@HANDLERS.runs(collections.defaultdict.__missing__)
def _missing(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    factory = bare(args[0]).default_factory if len(args) == 2 and _has_factory(args[0]) else None
    if factory is None or kwargs:
        return engine.native(ctx, f)(*args, **kwargs)
    return _made(engine, ctx, bare(args[0]), factory, args[1])


def _has_factory(mapping: Any) -> bool:
    return issubclass(kind(mapping), collections.defaultdict)


def _stores_by_method() -> bool:
    """Whether a defaultdict puts what it made where its class's `__setitem__` says, as it did up to 3.13."""
    asked = []

    class Probe(collections.defaultdict[Any, Any]):
        def __setitem__(self, key: Any, value: Any) -> None:
            asked.append(key)

    Probe(int)[0]
    return bool(asked)


STORES_BY_METHOD = _stores_by_method()


def _of_class(engine: Engine, ctx: Any, f: Any, cls: type, key: Any) -> Any:
    """C[k]: `__class_getitem__`, where the metaclass has no say."""
    found = lookup(cls, "__class_getitem__")
    if lookup(type(cls), "__getitem__") is not None or not is_python(found):
        return engine.native(ctx, f)(cls, key)
    return engine.resolve(ctx, getattr(cls, "__class_getitem__"))(key)  # noqa: B009 (mypy: it is of any class)


NATIVELY: Registry[Callable[[Sequence[Any]], bool]] = Registry()


@NATIVELY.of(operator.setitem, operator.delitem)
def _is_written_natively(args: Sequence[Any]) -> bool:
    if not args or type(args[0]).__flags__ & HEAPTYPE:
        return False
    return len(args) != 3 or type(args[1]) is not slice


@HANDLERS.runs(list.__setitem__, bytearray.__setitem__)
@OPERATIONS.runs(operator.setitem)
def _setitem(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A slice of a list gets the items of what it is assigned."""
    if len(args) == 3 and issubclass(type(args[1]), slice) and _has_slices(kind(args[0])):
        args = (*args[:2], stand_in(engine, ctx, args[2]))
    return _STORE(engine, ctx, f)(*args, **kwargs)


_STORE = first_operand("__setitem__")
OPERATIONS[operator.delitem] = first_operand("__delitem__")


def _has_slices(cls: type) -> bool:
    return lookup(cls, "__setitem__") in (list.__setitem__, bytearray.__setitem__)


# -- k in x ----------------------------------------------------------------------------------------


def _contains(engine: Engine, ctx: Any, container: Any, item: Any) -> Any:
    """A bool; NotImplemented where no Python code takes part."""
    cls = type(container)
    if special(cls, "__contains__") is not None:
        return truth(engine, ctx, invoke(engine, ctx, container, "__contains__", item))
    iterated = lookup(cls, "__contains__", ABSENT) is ABSENT
    through = stand_in(engine, ctx, container) if iterated else container
    return NotImplemented if through is container else item in through


@OPERATIONS.runs(operator.contains, primitives.not_contains)
def _in(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    if len(args) != 2 or kwargs:
        return engine.native(ctx, f)(*args, **kwargs)
    container, item = args
    found = _contains(engine, ctx, bare(container), item)
    if found is NotImplemented:
        return engine.native(ctx, f)(container, item)
    return found if f is operator.contains else not found


# -- mappings --------------------------------------------------------------------------------------


def _update(position: int, names: tuple[str, ...] = MAPPING) -> Total:
    def run(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        others = [mapping(engine, ctx, other, names) for other in args[position : position + 1]]
        return engine.native(ctx, f)(*args[:position], *others, *args[position + 1 :], **kwargs)

    return running(run)


def _updating(cls: type) -> Iterator[Any]:
    """Calls of a class of dicts, and its methods that take a mapping."""
    yield cls
    yield from (vars(cls)[name] for name in ("__init__", "update", "__ior__") if name in vars(cls))


for _cls in (dict, collections.OrderedDict, collections.defaultdict):
    for _f in _updating(_cls):
        _at = fact_of(_f).iterates.positions[0]  # type: ignore[union-attr]
        HANDLERS[_f] = _update(_at, ORDERED_MAPPING if _cls is collections.OrderedDict else MAPPING)


@HANDLERS.runs(dict.copy)
def _copied(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A new dict is updated with it."""
    is_call = len(args) == 1 and not kwargs and issubclass(type(args[0]), dict)
    other = mapping(engine, ctx, args[0]) if is_call else None
    if other is None or other is args[0]:
        return engine.native(ctx, f)(*args, **kwargs)
    made: dict[Any, Any] = {}
    engine.native(ctx, dict.update)(made, other)
    return made


HANDLERS.of(primitives.dict_update, primitives.dict_merge)(_update(1))


# -- with ------------------------------------------------------------------------------------------


def _entering(method: str, methods: Callable[[Any], tuple[Any, Any]]) -> Total:
    """The exit is returned as it is: leaving calls it, and that is dispatched like any call."""

    def run(engine: Engine, ctx: Any, f: Any, manager: Any, /) -> Any:
        if special(kind(manager), method) is None:
            return engine.native(ctx, f)(manager)
        begin, end = methods(bare(manager))
        return end, engine.resolve(ctx, begin)()

    return running(run)


HANDLERS |= OPERATIONS
HANDLERS[primitives.enter] = _entering("__enter__", primitives.with_methods)
HANDLERS[primitives.enter_async] = _entering("__aenter__", primitives.async_with_methods)
