"""Operations that a trace has a way of its own for: copies, what goes by classes, displays, texts, caches."""

from __future__ import annotations

import _abc
import builtins
import functools
import operator
import re
import types
import weakref
from abc import get_cache_token
from collections.abc import Iterable
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import beyond_rules, resolve
from ctxdispatch.dispatch.reach import lookup
from ctxdispatch.facts import fact, has_row
from ctxdispatch.ir import primitives
from ctxdispatch_contexts.derivatives import table
from ctxdispatch_contexts.derivatives.vectorizing import VECTORIZE_CALL, vectorize_call
from ctxdispatch_contexts.recording.callees import CONVERTER, CONVERTS
from ctxdispatch_contexts.traces import names  # noqa: F401  # which has more of them
from ctxdispatch_contexts.traces.checks import (
    OF_TEXTS,
    RULES,
    SEES_METHODS,
    WHOLE,
    Args,
    Kwargs,
    has_method,
    refuse,
)
from ctxdispatch_contexts.traces.kinds import (
    KINDS,
    NUMBER,
    fields_of,
    is_container,
    is_iterator,
    is_number,
    is_plain,
    within,
)
from ctxdispatch_contexts.traces.run import Run
from ctxdispatch_contexts.traces.tracer import Own, operates, ruled


def take_whole(functions: Iterable[Any]) -> None:
    """Functions with Python code that a trace calls as they are."""
    for f in functions:
        if type(f) in (types.FunctionType, type(np.sum)) and id(f) not in WHOLE:
            WHOLE.add(id(f))
            operates(f)


def _has_rule(f: Any) -> bool:
    return has_row(f) or table.vjp_rule(f) is not None or table.lowering(f) is not None


take_whole(f for _, f in table.names() if _has_rule(f))
take_whole(f for space in (np, np.linalg, np.fft) for f in vars(space).values() if callable(f) and has_row(f))
ruled(VECTORIZE_CALL)(lambda ctx, /, *args, **kwargs: beyond_rules(ctx, vectorize_call)(*args, **kwargs))
take_whole(getattr(re, name) for name in re.__all__)

_ASKED_FOR_STATE = fact(methods="reduce getstate getnewargs getnewargs_ex").methods


@RULES.of(object.__reduce_ex__)
def reduced(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """By which `copy` asks for what an object holds; it may not change that."""
    if fields_of(args[0]) is None or has_method(type(args[0]), _ASKED_FOR_STATE):
        raise run.unfit(f"how a {type(args[0]).__name__} is copied")
    make, given, state, *rest = f(*args)
    parts = state if type(state) is tuple else (state,)
    copies = [part if part is None else run.made(dict(part)) for part in parts]
    return run.made((make, run.made(given), copies[0] if parts[0] is state else run.made((*copies,)), *rest))


@RULES.of(np.ndarray.__deepcopy__, np.generic.__deepcopy__)
def copied(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """Of numbers: what else was copied is not asked for."""
    if type(args[0]) in NUMBER:
        return run.done(operator.pos, (args[0],), {})
    if type(args[0]) is not np.ndarray or args[0].dtype.char not in KINDS:
        raise run.unfit(f"how a {type(args[0]).__name__} is copied")
    return run.done(np.ndarray.copy, (args[0], "K"), {})


# -- decisions -----------------------------------------------------------------------------------------------


@RULES.of(bool, operator.truth, operator.not_)
def truth(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    if not all(map(is_number, args)):
        run.check_looked_at(f, args, kwargs)
    out = f(*args)
    if args and (type(args[0]) in NUMBER or type(args[0]) is np.ndarray) and run.holds_values(args[0]):
        asked = "not " if f is operator.not_ else run.lines.name(bool)
        run.decided(out, f"{asked}({run.expression(args[0])})")
    elif args and is_iterator(args[0]):
        raise run.unfit("whether an iterator is true")
    return out


@RULES.of(len)
def length(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    return run.length(args[0]) if args and type(args[0]) is np.ndarray else f(*args)


@RULES.of(operator.is_, operator.is_not)
def identity(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """Of arguments the run has copies."""
    out, origins = f(*args), run.origins
    if args[0] is args[1]:
        return out
    if all(id(a) in origins.given or type(a) in NUMBER for a in args):
        if any(id(a) in origins.given for a in args):
            raise run.unfit("which number of an argument it is")
    elif any(id(a) in origins.of_arguments for a in args) and not any(id(a) in run.inside for a in args):
        first, second = (origins.paths.get(id(a)) or run.lines.name(a) for a in args)
        origins.tests.append(f"{first} {'is' if out is (f is operator.is_) else 'is not'} {second}")
    return out


@RULES.of(id)
def identifier(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    out = f(*args)
    run.ids.add(id(out))
    run.alive.append(out)
    return out


@RULES.of(
    isinstance, issubclass, callable, type, _abc._abc_instancecheck, _abc._abc_subclasscheck,
    *(vars(object)[f"__{name}__"] for name in "lt le gt ge eq ne".split()),
)  # fmt: skip
def of_class(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """What goes by classes, or by who it is."""
    if f is type and len(args) != 1:
        raise run.unfit("a class is made")
    for a in args:
        if issubclass(type(a), Own):
            raise run.unfit("what stands for something else")
        if is_number(a):
            run.of_its_class(a)
        elif "__class__" in vars(type(a)) or lookup(type(a), "__class__") is not _CLASS:
            raise run.unfit(f"a {type(a).__name__}, which has a class besides its own")
    if f in (_abc._abc_instancecheck, _abc._abc_subclasscheck):
        run.lines.namespace["get_cache_token"] = get_cache_token
        run.origins.tests.append(f"get_cache_token() == {get_cache_token()}")
    return run.moved(f(*args, **kwargs))


_CLASS = vars(object)["__class__"]


@RULES.of(np.ndim, np.isscalar, np.shape, np.size)
def of_shape(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    out = f(*args, **kwargs)
    if args and is_number(args[0]) and run.holds_values(args[0]):
        call = f"{run.lines.name(f)}({run.expression(args[0])})"
        if len(args) > 1 or kwargs:
            raise run.unfit(f"{f.__name__} along an axis")
        run.lines.add(f"if {call} != {run.lines.name(out)}: raise Left")
    elif not all(map(is_plain, args)):
        raise run.unfit(f"{f.__name__} of an object")
    return out


@RULES.of(CONVERTER, *CONVERTS)
def converted(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """By which NumPy's own Python code takes its arguments for arrays: of arrays it is those."""
    if f is CONVERTER and not all(type(a) is np.ndarray for a in args):
        raise run.unfit("arrays that are made of something in NumPy's code")
    return run.moved(f(*args, **kwargs))


# -- displays, texts, generators, caches ---------------------------------------------------------------------


@RULES.of(
    primitives.build_list, primitives.build_tuple, primitives.build_map, primitives.build_set, builtins.slice
)
def display(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    keys = args[::2] if f is primitives.build_map else args if f is primitives.build_set else ()
    if not all(map(run.is_key, keys)):
        raise run.unfit("keys, or members of a set, that depend on numbers")
    return run.made(f(*args))


_GROWING = (
    primitives.list_append, primitives.map_add, primitives.set_add, primitives.list_to_tuple,
    primitives.dict_update, primitives.dict_merge, primitives.set_update,
)  # fmt: skip


@RULES.of(*_GROWING, primitives.list_extend)
def grown(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """Of displays that are being made."""
    if f is primitives.map_add and not run.is_key(args[1]):
        raise run.unfit("keys that depend on numbers")
    given = [run.spread(a) if type(a) is np.ndarray and f is primitives.list_extend else a for a in args]
    for a in given[1:]:
        if f is not primitives.list_append:
            run.check_gone_through(a)
    out = f(*given)
    run.made(args[0])
    if f in (primitives.set_add, primitives.set_update) and not all(map(run.is_key, args[0])):
        raise run.unfit("members of a set that depend on numbers")
    return out if out is None else run.made(out)


@RULES.of(primitives.format_value, primitives.build_string, str, repr, str.format, str.join)
def text(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    if any(is_iterator(a) for a in args):
        args = tuple([[*a] if is_iterator(a) else a for a in args])
    operands = (*args, *kwargs.values())
    if not all(map(_is_data, operands)):
        raise run.unfit("a text of an object, whose methods and attributes may be read")
    out = f(*args, **kwargs)
    if any(map(run.holds_values, operands)) or any(map(_is_numpys, operands)):  # which options of NumPy's say
        run.texts.add(id(out))
    run.alive.append(out)
    return out


OF_TEXTS.add(text)
SEES_METHODS.update({truth, copied})


def _is_data(value: Any) -> bool:
    if is_container(value):
        return all(map(_is_data, within(value)))
    return is_number(value) or type(value) in (str, bytes, type(None)) or value in (str, repr, ascii)


def _is_numpys(value: Any) -> bool:
    if is_container(value):
        return any(map(_is_numpys, within(value)))
    return isinstance(value, (np.generic, np.ndarray))


@RULES.of(types.GeneratorType.send, types.GeneratorType.close, types.GeneratorType.throw)
def sent(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    return f(*args)


refuse(weakref.ref, weakref.proxy, dir, builtins.__build_class__, type.__new__)
refuse(type.__getattribute__, object.__getattribute__)


class Cache(Own):
    """A `functools.lru_cache` that the run makes, of what has no values among its arguments."""

    def __init__(self, run: Run, ctx: Any, function: Any, most: Any = 128, typed: Any = False) -> None:
        self.run, self.ctx, self.function, self.most, self.typed = run, ctx, function, most, bool(typed)
        self.found: dict[Any, Any] = {}

    def __overdub__(self, ctx: Any, *args: Any, **kwargs: Any) -> Any:
        return self(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not all(map(self.run.is_key, (*args, *kwargs.values()))):
            raise self.run.unfit("a cache by numbers")
        key = _KEY(args, kwargs, self.typed)
        if key not in self.found:
            if self.most is not None and len(self.found) >= self.most:
                raise self.run.unfit("a cache that is full")
            self.found[key] = resolve(self.ctx, self.function)(*args, **kwargs)
        return self.found[key]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("cache"):
            raise self.run.unfit(f"{name} of a cache")
        raise AttributeError(name)


_KEY: Any = functools._make_key  # type: ignore[attr-defined]


@ruled(functools.update_wrapper)
def wraps(ctx: Any, /, wrapper: Any, *args: Any, **kwargs: Any) -> Any:
    if type(wrapper) is Cache:
        return wrapper
    return beyond_rules(ctx, functools.update_wrapper)(wrapper, *args, **kwargs)


@RULES.of(type(functools.lru_cache(len)))
def cached(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    return run.made(Cache(run, ctx, *args[:3]))


operates(
    primitives.load_global, primitives.cell_get, primitives.list_extend, primitives.build_list,
    primitives.build_tuple, primitives.build_map, primitives.build_set, primitives.format_value,
    primitives.build_string, primitives.not_contains, primitives.import_name, primitives.import_from,
    *_GROWING,
)  # fmt: skip
