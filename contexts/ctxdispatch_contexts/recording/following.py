"""Python code that runs in C: functions that C code is given, caches, code in strings."""

from __future__ import annotations
import __future__

import builtins
import functools
import gc
import operator
import types
import weakref
from typing import Any

from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch.dispatch.reach import HEAPTYPE, natively
from ctxdispatch.facts import Fact
from ctxdispatch.ir.leaves import is_ours
from ctxdispatch_contexts.programs.errors import MissingRuleError, described, user_frame, user_position
from ctxdispatch_contexts.recording.hidden import reaches_active

Args = tuple[Any, ...]
Kwargs = dict[str, Any]


def is_function(f: Any) -> bool:
    return issubclass(type(f), (types.FunctionType, types.MethodType, functools.partial))


def is_code(value: Any) -> bool:
    """A function, or an object of the user's that can be called."""
    return is_function(value) or (bool(type(value).__flags__ & HEAPTYPE) and callable(value))


def watched(ctx: Any, callee: Any, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments for C code that calls functions among them: those run under the context, and what is
    differentiated must not come out of them, for what C code makes of it is out of sight."""

    def watch(f: Any) -> Any:
        return functools.partial(_inside, ctx, callee, f) if is_function(f) else f

    return tuple(map(watch, args)), {name: watch(value) for name, value in kwargs.items()}


def _inside(ctx: Any, callee: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    out = (f if _runs_under(f) else resolve(ctx, f))(*args, **kwargs)
    if not ctx.record.closed and ctx.record.any_active((out,)):
        error = MissingRuleError(
            f"{described(callee)} has no derivative rule, and calls {described(f)}, whose result depends on "
            "what is differentiated; give it one with `custom_rule`, or have the function return "
            "`stop_gradient`",
            user_position(),
        )
        ctx.record.refuse(error)  # C code may lose it
        raise error
    return out


def _runs_under(f: Any) -> bool:
    """It is what a run gave C code in the place of a function."""
    made = type(f) is functools.partial and type(f.func) is types.FunctionType
    return made and is_ours(f.func.__module__)


def takes_items(callee: Any, row: Fact | None) -> bool:
    """A C function that may take items from an iterator that it is given."""
    return type(callee) is types.BuiltinFunctionType and (row is None or bool(row.iterates))


def watched_items(ctx: Any, callee: Any, iterator: Any) -> Any:
    """A generator in the place of one, for code that asks."""
    items = _ItemsWatched(ctx, callee, iterator)
    return (item for item in items) if type(iterator) is types.GeneratorType else items


class _ItemsWatched:
    """The items of an iterator for C code: what that makes of one that is differentiated is out of sight, and
    so is what it makes of the iterator (pickles, copies)."""

    def __init__(self, ctx: Any, callee: Any, iterator: Any) -> None:
        self._ctx, self._callee, self._iterator = ctx, callee, iterator

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        item = next(self._iterator)
        self._check(self._ctx.record.any_active((item,)))
        return item

    def __length_hint__(self) -> int:
        return operator.length_hint(self._iterator)

    def __reduce_ex__(self, protocol: Any) -> Any:
        self._check(reaches_active(self._ctx.record, [self._iterator]))
        return self._iterator.__reduce_ex__(protocol)

    def _check(self, active: bool) -> None:
        if active and not self._ctx.record.closed:
            raise MissingRuleError(
                f"{described(self._callee)} has no derivative rule for the items of an iterator, which "
                "depend on what is differentiated; make a list of them, and an array of that "
                "(`np.array([*items])`)",
                user_position(),
            )


class Later:
    """A function that C code calls later: under the context while the run goes on."""

    def __init__(self, ctx: Any, function: Any) -> None:
        self.ctx, self.function = weakref.ref(ctx), function

    def __call__(self, *args: Any) -> Any:
        ctx = self.ctx()
        return (self.function if ctx is None or ctx.record.ended else resolve(ctx, self.function))(*args)


def referring(make: Any, ctx: Any, referent: Any, function: Any = None, /) -> Any:
    """weakref.ref, weakref.proxy"""
    return make(referent, function if function is None or ctx.record.ended else Later(ctx, function))


def cached(ctx: Any, function: Any, args: Args, kwargs: Kwargs) -> Any:
    """functools.cache. It is read and filled where nothing that is differentiated can be reached from what
    it is given and from the function. Else what it kept is no part of this run, and what this run makes must
    not stay in it: the run has results of its own."""
    if _is_apart(ctx.record, function, args, kwargs):
        return function(*args, **kwargs)
    hash(functools._make_key(args, kwargs, typed=True))  # type: ignore[attr-defined]
    told = tuple([_told_apart(ctx.record, a) for a in (*args, *kwargs.values())])
    key = (id(function), functools._make_key(told, dict.fromkeys(kwargs), typed=True))  # type: ignore[attr-defined]
    if key not in ctx.cached:
        ctx.cached[key] = (resolve(ctx, function.__wrapped__)(*args, **kwargs), function, args, kwargs)
    return ctx.cached[key][0]


@natively  # a run around this one follows the function
def _is_apart(record: Any, function: Any, args: Args, kwargs: Kwargs) -> bool:
    """Our own are tables of functions and types, which a run of a run reads."""
    given = [*args, *kwargs.values()]
    if is_ours(function.__module__):
        return True
    if reaches_active(record, given):
        return False
    return not reaches_active(record, [function.__wrapped__]) or (not kwargs and _is_kept(function, args))


def _is_kept(function: Any, args: Args) -> bool:
    """There is a result of an earlier call, from before this run: the function does not run."""
    typed = function.cache_parameters()["typed"]
    key = (*args, *map(type, args)) if typed else args[0] if [*map(type, args)] in _ALONE else args
    tables = [d for d in gc.get_referents(function) if type(d) is dict and d is not vars(function)]
    return any(key in kept for kept in tables)


_ALONE = [[int], [str]]
"""Of one such operand C code makes no tuple."""


@natively
def _told_apart(record: Any, value: Any) -> Any:
    """What is differentiated is not the same as what has the same value."""
    if type(value) in _NUMBERS or type(value).__eq__ is object.__eq__:
        active = record.any_active((value,))
    else:
        active = reaches_active(record, [value])
    return (_told_apart, id(value)) if active else value


_NUMBERS = frozenset({float, int, bool, str, bytes, type(None)})


def evaluated(f: Any, ctx: Any, source: Any, /, *namespaces: Any, **kwargs: Any) -> Any:
    """eval, exec: with variables of its own the code runs under the context, as that of a module would."""
    given = (*namespaces, *kwargs.values())
    if ctx.record.closed or (given and not _reaches_active(ctx.record, given)):
        return f(source, *namespaces, **kwargs)
    if _is_module(namespaces, kwargs):
        f("None", namespaces[0])  # it enters the builtins
        code = _compiled(f, source, user_frame())
        if not code.co_freevars and not code.co_argcount:
            return resolve(ctx, types.FunctionType(code, namespaces[0]))()
    raise MissingRuleError(
        f"{f.__name__} has no derivative rule where its code has local variables, or those of its caller; "
        "give it one dict of variables, write its code out, give it a rule with `custom_rule`, or keep its "
        "arguments out of the derivative with `stop_gradient`",
        user_position(),
    )


def _reaches_active(record: Any, namespaces: Args) -> bool:
    values = [v for space in namespaces for v in (space.values() if type(space) is dict else (space,))]
    return record.any_active(values) or reaches_active(record, values)


def _is_module(namespaces: Args, kwargs: Kwargs) -> bool:
    """There is one dict, of variables of its own."""
    if kwargs or not namespaces or type(namespaces[0]) is not dict:  # None: those of the caller
        return False
    return all(space is None or space is namespaces[0] for space in namespaces)


def _compiled(f: Any, source: Any, frame: types.FrameType | None) -> types.CodeType:
    """With the features that the file of the caller asks for."""
    if type(source) is types.CodeType:
        return source
    flags = 0 if frame is None else frame.f_code.co_flags & _FEATURES
    text = source.lstrip(" \t") if f is builtins.eval and issubclass(type(source), str) else source
    made: types.CodeType = compile(text, "<string>", f.__name__, flags, dont_inherit=True)
    return made


_FLAGS = [getattr(__future__, name).compiler_flag for name in __future__.all_feature_names]
_FEATURES = functools.reduce(operator.or_, _FLAGS)


def items(ctx: Any, getter: Any, args: Args, kwargs: Kwargs) -> Any:
    """operator.itemgetter(..)(x)"""
    if len(args) != 1 or kwargs:
        return getter(*args, **kwargs)
    read = resolve(ctx, operator.getitem)
    return _one_or_all([read(args[0], key) for key in getter.__reduce__()[1]])


def attributes(ctx: Any, getter: Any, args: Args, kwargs: Kwargs) -> Any:
    """operator.attrgetter(..)(x)"""
    if len(args) != 1 or kwargs:
        return getter(*args, **kwargs)
    read = resolve(ctx, getattr)
    return _one_or_all([functools.reduce(read, path.split("."), args[0]) for path in getter.__reduce__()[1]])


def _one_or_all(found: list[Any]) -> Any:
    return found[0] if len(found) == 1 else tuple(found)


OBJECTS = {functools._lru_cache_wrapper: cached, operator.itemgetter: items, operator.attrgetter: attributes}
"""Objects of C that call, or read their argument: by their type."""
