"""Where a callable's Python code is: what of it can be rewritten, by the type of the callable.

Each entry of `BY_TYPE` maps (engine, ctx, f) to a callable that does what `f` does with its Python code
under `ctx`, or to None where there is none and `f` runs as it is. Plain functions are the engine's own
business (`overdub.twin`).
"""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from ctxdispatch.dispatch.tags import Tagged, bare
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401
from ctxdispatch.ir.registry import Registry
from ctxdispatch.ir.wrappers import FORMS, WRAPPERS, called

Target = Callable[..., Any]
F = TypeVar("F", bound=Callable[..., Any])
ABSENT: Any = object()


class Engine(NamedTuple):
    """What handlers need of the engine; handed to them, so that imports point one way."""

    resolve: Callable[[Any, Any], Target]
    """What runs in place of a callee: its rule, or its rewritten code, or the fallback."""
    callback: Callable[[Any, Any], Target]
    """What to call in place of a function that C code would call: a dispatched call, hooks included."""
    handed: Callable[[Any, Any], Target]
    """The same, to hand to what `native` gives: that does as much for contexts further out."""
    native: Callable[[Any, Any], Target]
    """The callee as it is, by way of the context's fallback."""

Handler = Callable[[Engine, Any, Any], Target | None]
Total = Callable[[Engine, Any, Any], Target]
"""A handler of whose callee there always is something to run in its place."""


def lookup(cls: type, name: str, default: Any = None) -> Any:
    """What the MRO holds under `name`, unbound, or `default`: so the interpreter looks up special methods."""
    for base in cls.__mro__:
        found = base.__dict__.get(name, ABSENT)
        if found is not ABSENT:
            return found
    return default


CMETHOD: type = type(re.compile("").sub)
"""Of bound C methods that are told the class that defines them."""

_C_CODE = (
    CMETHOD,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.BuiltinFunctionType,
    types.MethodWrapperType,
    types.ClassMethodDescriptorType,
    types.NoneType,
)


def is_python(attribute: Any) -> bool:
    """Whether what a class's `__dict__` holds may run Python code when it is called."""
    if issubclass(type(attribute), staticmethod | classmethod):
        attribute = attribute.__func__
    return type(attribute) not in _C_CODE


HEAPTYPE = 1 << 9
"""The flag of classes made at run time: others have no method written in Python."""


def special(cls: type, name: str) -> Any:
    """The special method `name` of `cls` where it is written in Python, else None."""
    if not cls.__flags__ & HEAPTYPE:
        return None
    method = lookup(cls, name)
    return method if is_python(method) else FORMS.get(id(method))


def bind(attribute: Any, instance: Any) -> Any:
    """`attribute` of the class of `instance`, bound to it."""
    get = getattr(type(attribute), "__get__", None)
    if instance is None and get is not None and type(attribute) is types.WrapperDescriptorType:
        return functools.partial(attribute, instance)  # for `__get__`, None is no instance
    return attribute if get is None else get(attribute, instance, type(instance))


def invoke(engine: Engine, ctx: Any, instance: Any, name: str, *args: Any) -> Any:
    """The special method `name` of `instance`, under `ctx`; NotImplemented where it has none."""
    instance = bare(instance) if type(instance) is Tagged else instance
    method = lookup(type(instance), name, ABSENT)
    if method is ABSENT:
        return NotImplemented
    return engine.resolve(ctx, bind(method, instance))(*args)


def own_way(f: types.FunctionType) -> Callable[..., Any] | None:
    """What `f` says that contexts run in its place, `f.__overdub__`: not what `functools.wraps` copied from
    the function that it wraps."""
    own: Callable[..., Any] | None = f.__dict__.get("__overdub__")
    if own is not None and "__wrapped__" in f.__dict__:
        wrapped = getattr(f.__dict__["__wrapped__"], "__dict__", {})
        return None if wrapped.get("__overdub__") is own else own
    return own


def natively(function: F) -> F:
    """`function` is none of the program's: no context looks into it."""
    function.__overdub__ = lambda ctx, *args, **kwargs: function(*args, **kwargs)  # type: ignore[attr-defined]
    return function


def running(function: Callable[..., Any]) -> Total:
    """The handler whose target is function(engine, ctx, f, *args): a form that contexts further out see."""
    return lambda engine, ctx, f: functools.partial(function, engine, ctx, f)


class Handlers(Registry[Total]):
    """By the callee."""

    def runs(self, *callees: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Enters what it decorates, function(engine, ctx, f, *args), as what runs in place of these."""

        def enter(function: Callable[..., Any]) -> Callable[..., Any]:
            self.of(*callees)(running(function))
            return function

        return enter


# -- handlers --------------------------------------------------------------------------------------


def _method(engine: Engine, ctx: Any, f: types.MethodType) -> Target:
    return types.MethodType(engine.resolve(ctx, f.__func__), f.__self__)


def _partial(engine: Engine, ctx: Any, f: functools.partial[Any]) -> Target:
    if f.args and type(f.args[0]) is Engine:  # what a handler returned to a context further in
        return functools.partial(f.func, composed(engine, ctx, f.args[0]), *f.args[1:], **f.keywords)
    return functools.partial(engine.resolve(ctx, f.func), *f.args, **f.keywords)


def composed(outer: Engine, ctx: Any, inner: Engine) -> Engine:
    """`inner` for a run inside a run of `ctx`: what it resolves to is the program that `ctx` sees."""
    return Engine(
        lambda c, f: outer.resolve(ctx, inner.resolve(c, f)),
        lambda c, f: outer.callback(ctx, inner.callback(c, f)),
        inner.handed,
        lambda c, f: outer.resolve(ctx, inner.native(c, f)),
    )


def _wrapped(engine: Engine, ctx: Any, f: Any) -> Target:
    return engine.resolve(ctx, f.__func__)


def _opaque(engine: Engine, ctx: Any, f: Any) -> None:
    return None


def _wrapper(engine: Engine, ctx: Any, f: Any) -> Target | None:
    call = called(type(f))
    return None if call is None else engine.resolve(ctx, types.MethodType(call, f))


def class_or_object(engine: Engine, ctx: Any, f: Any) -> Target | None:
    """A class or metaclass instance, an object with `__call__`."""
    call = special(type(f), "__call__")
    if call is not None:
        return engine.resolve(ctx, bind(call, f))
    return of_class(engine, ctx, f) if issubclass(type(f), type) else None


def of_class(engine: Engine, ctx: Any, cls: type) -> Target | None:
    init = lookup(cls, "__init__")
    unseen = not getattr(type(ctx), "_sees_objects", False)
    plain = unseen and cls.__new__ is NEW and special(cls, "__del__") is None
    if plain and type(init) is types.FunctionType:
        call: Any = type(cls).__call__
        known = Initialiser(call, init, engine.resolve(ctx, init), engine)
        return functools.partial(_construct_known, engine, ctx, cls, known)
    if is_python(lookup(cls, "__new__")) or is_python(init):
        return functools.partial(_construct, engine, ctx, cls)
    return None


def _construct(engine: Engine, ctx: Any, cls: type, /, *args: Any, **kwargs: Any) -> Any:
    """type.__call__, with those of `__new__` and `__init__` that are Python code under `ctx`."""
    new: Any = cls.__new__
    own = getattr(type(ctx), "_new", None)
    if is_python(lookup(cls, "__new__")):
        make = engine.resolve(ctx, new)
    else:
        make = new if own is None else own(ctx, new, cls)
    made = make(cls, *args, **kwargs)
    if issubclass(type(made), cls):
        init = special(type(made), "__init__")
        run = type(made).__init__.__get__(made) if init is None else engine.resolve(ctx, bind(init, made))
        _check_initialised(run(*args, **kwargs))
    return made


def _check_initialised(out: Any) -> None:
    if out is not None:
        raise TypeError(f"__init__() should return None, not {type(out).__name__!r}")


class Initialiser(NamedTuple):
    """`call` of the class of a class, `init` of the class, and what `engine` runs in the place of that."""

    call: Any
    init: types.FunctionType
    run: Target
    engine: Engine


NEW: Any = object.__new__


def _construct_known(
    engine: Engine, ctx: Any, cls: Any, known: Initialiser, /, *args: Any, **kwargs: Any
) -> Any:
    """`_construct`, while the class and its class are as they were."""
    init: Any = cls.__init__
    same = init is known.init and cls.__new__ is NEW and type(cls).__call__ is known.call
    if not same or engine is not known.engine:
        found = class_or_object(engine, ctx, cls)
        return (engine.native(ctx, cls) if found is None else found)(*args, **kwargs)
    made = NEW(cls, *args, **kwargs)
    _check_initialised(known.run(made, *args, **kwargs))
    return made


BY_TYPE: dict[type, Handler] = {
    **dict.fromkeys(WRAPPERS, _wrapper),
    types.MethodType: _method,
    functools.partial: _partial,
    staticmethod: _wrapped,
    types.MethodDescriptorType: _opaque,
    types.WrapperDescriptorType: _opaque,
    types.MethodWrapperType: _opaque,
}
