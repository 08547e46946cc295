"""Operations that a trace has a way of its own for: names, attributes, what goes through items, texts."""

from __future__ import annotations

import _abc
import builtins
import functools
import operator
import sys
import types
import weakref
from abc import get_cache_token
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import beyond_rules, resolve
from ctxdispatch.facts import fact, has_row
from ctxdispatch.ir import primitives
from ctxdispatch_contexts.derivatives import table
from ctxdispatch_contexts.recording.callees import CONVERTER, CONVERTS
from ctxdispatch_contexts.traces.kinds import (
    FIXED,
    KINDS,
    NUMBER,
    fields_of,
    fixed,
    is_container,
    is_iterator,
    is_number,
)
from ctxdispatch_contexts.traces.run import RULES, WHOLE, Run, has_method
from ctxdispatch_contexts.traces.tracer import Own, operates, ruled

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


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

# -- names ---------------------------------------------------------------------------------------------------


@RULES.of(primitives.load_global)
def load_global(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    namespace, name = args
    out, where = f(*args), run.lines.name(namespace)
    if name in namespace:
        run.origins.found(out, f"{where}[{name!r}]")
    else:
        run.origins.tests.append(f"{name!r} not in {where}")
    return out


@RULES.of(primitives.cell_get)
def cell_get(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    out = f(*args)
    if id(args[0]) in run.origins.cells and not run.is_known(out):
        run.origins.found(out, f"{run.lines.name(args[0])}.cell_contents")
    return out


@RULES.of(primitives.import_name, primitives.import_from)
def imported(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    if f is primitives.import_from:
        out = f(*args)
        run.origins.found(out, f"getattr({run.lines.name(args[0])}, {args[1]!r})")
        return out
    if args[1] not in sys.modules:
        raise run.unfit(f"the module {args[1]} is imported")
    return f(*args)


def _refuses(f: Any, what: str, may: Callable[[Any, Any], bool] = lambda run, first: False) -> None:
    def rule(ctx: Any, /, *args: Any) -> Any:
        if not ctx.run.closed and not may(ctx.run, args[0]):
            raise ctx.run.unfit(what)
        return f(*args)

    ruled(f)(rule)


def _is_inner(run: Run, cell: Any) -> bool:
    return id(cell) not in run.origins.cells


for _f in (primitives.cell_set, primitives.cell_delete):
    _refuses(_f, "a variable of a function that was there before changes", _is_inner)
for _f in (primitives.store_global, primitives.delete_global):
    _refuses(_f, "a global variable changes")

# -- attributes ----------------------------------------------------------------------------------------------

_OF_C = (types.BuiltinMethodType, types.MethodWrapperType)
_AS_IT_IS = (*_OF_C, types.MethodType, types.GeneratorType)
_SIZES = ("shape", "size", "strides", "nbytes")


@RULES.of(getattr)
def get_attribute(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    owner, out = args[0], f(*args)
    if not is_number(owner) or id(out) in run.values:
        return out
    if type(out) in NUMBER or type(out) is np.ndarray:
        if run.holds_values(owner):
            run.register(out, run.call(f, args, kwargs))
        else:
            run.constant(out)
    elif type(out) in (tuple, int):
        if type(owner) is np.ndarray and args[1] in _SIZES:
            run.lines.add(f"if {run.expression(owner)}.{args[1]} != {out!r}: raise Left")
    elif not fixed(out) and type(out) not in _OF_C:
        raise run.unfit(f"the attribute {args[1]} of an array")
    return out


@ruled(getattr)
def attribute(ctx: Any, /, *args: Any) -> Any:
    """The way to what is found is noted."""
    out = beyond_rules(ctx, getattr)(*args)
    run, owner = ctx.run, args[0]
    if run.closed or is_number(owner):
        return out
    if args[1] == "__dict__" and not issubclass(type(owner), type):
        if id(owner) not in run.inside:
            raise run.unfit("what an object that was there before holds, as a dict")
        return run.made(out)
    if run.is_known(out) or id(out) in run.origins.paths or type(out) in _AS_IT_IS:
        return out
    if issubclass(type(owner), type) or type(owner) in FIXED:
        run.origins.found(out, f"getattr({run.lines.name(owner)}, {args[1]!r})")
    elif fixed(out):
        return out  # what its object and class hold is tested, or made by the run
    elif any(vars(cls).get(args[1]) is out for cls in type(owner).__mro__):
        run.origins.beside(out)
    elif type(out) in NUMBER or type(out) is np.ndarray:
        raise run.unfit("a number of which it is not known where it is from")
    else:
        run.made(out)  # what was there is known: the interpreter has made it
    return out


@RULES.of(setattr, delattr)
def set_attribute(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    if id(args[0]) not in run.inside:
        run.changes(args[0])
    return f(*args)


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
    out = f(*args)
    if args and (type(args[0]) in NUMBER or type(args[0]) is np.ndarray) and run.holds_values(args[0]):
        run.decided(out, f"{'not ' if f is operator.not_ else 'bool'}({run.expression(args[0])})")
    elif args and id(args[0]) in run.texts:
        raise run.unfit("whether a text of a number is empty")
    elif args and is_iterator(args[0]):
        raise run.unfit("whether an iterator is true")
    return out


@RULES.of(len)
def length(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    if args and id(args[0]) in run.texts:
        raise run.unfit("how long a text of a number is")
    return run.length(args[0]) if args and type(args[0]) is np.ndarray else f(*args)


@RULES.of(operator.is_, operator.is_not)
def identity(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    out, origins = f(*args), run.origins
    given = any(id(a) in origins.of_arguments for a in args)
    if given and not any(id(a) in run.inside for a in args):
        first, second = (origins.paths.get(id(a)) or run.lines.name(a) for a in args)
        origins.tests.append(f"{first} {'is' if out is (f is operator.is_) else 'is not'} {second}")
    return out


@RULES.of(
    isinstance, issubclass, callable, hasattr, type, id, np.ndim, np.isscalar, _abc._abc_instancecheck,
    _abc._abc_subclasscheck, *(vars(object)[f"__{name}__"] for name in "lt le gt ge eq ne".split()),
)  # fmt: skip
def of_class(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    """What goes by classes, or by who it is, does not depend on values."""
    if f in (_abc._abc_instancecheck, _abc._abc_subclasscheck):
        run.lines.namespace["get_cache_token"] = get_cache_token
        run.origins.tests.append(f"get_cache_token() == {get_cache_token()}")
    return run.moved(f(*args, **kwargs))


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
    if any(is_container(a) and not all(fixed(item) or is_number(item) for item in a) for a in args):
        raise run.unfit("a text of a container of objects, whose methods may run")
    out = f(*args, **kwargs)
    if any(map(run.holds_values, (*args, *kwargs.values()))):
        run.texts.add(id(out))
    run.alive.append(out)
    return out


@RULES.of(types.GeneratorType.send, types.GeneratorType.close, types.GeneratorType.throw)
def sent(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    return f(*args)


@RULES.of(weakref.ref, weakref.proxy)
def referred(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    raise run.unfit("a weak reference")


class Cache(Own):
    """A `functools.lru_cache` that the run makes, of what has no values among its arguments."""

    def __init__(self, run: Run, ctx: Any, function: Any) -> None:
        self.run, self.ctx, self.function = run, ctx, function
        self.found: dict[Any, Any] = {}

    def __overdub__(self, ctx: Any, *args: Any, **kwargs: Any) -> Any:
        return self(*args, **kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        key = (args, *kwargs.items())
        if not all(map(self.run.is_key, (*args, *kwargs.values()))):
            raise self.run.unfit("a cache by numbers")
        if key not in self.found:
            self.found[key] = resolve(self.ctx, self.function)(*args, **kwargs)
        return self.found[key]


@ruled(functools.update_wrapper)
def wraps(ctx: Any, /, wrapper: Any, *args: Any, **kwargs: Any) -> Any:
    if type(wrapper) is Cache:
        return wrapper
    return beyond_rules(ctx, functools.update_wrapper)(wrapper, *args, **kwargs)


@RULES.of(type(functools.lru_cache(len)))
def cached(run: Run, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
    return run.made(Cache(run, ctx, args[0]))


operates(
    primitives.load_global, primitives.cell_get, primitives.list_extend, primitives.build_list,
    primitives.build_tuple, primitives.build_map, primitives.build_set, primitives.format_value,
    primitives.build_string, primitives.not_contains, primitives.import_name, primitives.import_from,
    *_GROWING,
)  # fmt: skip
