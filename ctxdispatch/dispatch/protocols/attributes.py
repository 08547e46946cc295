"""Attributes: properties, descriptors, `__getattr__`, `__getattribute__`, `__setattr__`, `__delattr__`.

Only what is written in Python is run here; everything else about an attribute is the interpreter's. In this
order, as there: `__getattribute__`; a data descriptor of the class; what the object itself has; another
descriptor of the class; `__getattr__`.
"""

from __future__ import annotations

import builtins
import copy
import functools
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ctxdispatch.dispatch.reach import (
    ABSENT,
    HEAPTYPE,
    Engine,
    Handlers,
    Target,
    Total,
    bind,
    invoke,
    is_python,
    lookup,
    running,
    special,
)
from ctxdispatch.dispatch.tags import Tagged, bare, of_proxy
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401
from ctxdispatch.ir.registry import Registry

# -- what reads an attribute -----------------------------------------------------------------------


class Found(NamedTuple):
    """A descriptor, what its `__get__` is called with, and what does that under a context."""

    descriptor: Any
    instance: Any
    owner: Any
    reader: Callable[[Engine, Any, Found], Any]


def _find(instance: Any, name: str) -> Found | None:
    """The descriptor with a `__get__` in Python by which `name` is read; None: it is read natively."""
    if type(instance) is super:
        return _find_beyond(instance, name)
    own = issubclass(type(instance), type)
    if not own and not type(instance).__flags__ & HEAPTYPE:
        return None
    found = lookup(type(instance), name, ABSENT)
    if own and not _has(found, _DATA):
        in_class = lookup(instance, name, ABSENT)
        if in_class is not ABSENT:
            return _if_python(in_class, None, instance)
    read = _if_python(found, instance, type(instance))
    return None if read is not None and not own and _hidden(instance, found, name) else read


def _find_beyond(proxy: Any, name: str) -> Found | None:
    """super().name"""
    mro = proxy.__self_class__.__mro__ if proxy.__self__ is not None else ()
    after = mro[mro.index(proxy.__thisclass__) + 1 :] if proxy.__thisclass__ in mro else ()
    found = next((vars(cls)[name] for cls in after if name in vars(cls)), ABSENT)
    owner = proxy.__self_class__ if name != "__class__" else type(None)
    bound = None if proxy.__self__ is owner else proxy.__self__
    return _if_python(found, bound, owner) if name != "__class__" else None


_DATA = ("__set__", "__delete__")


def _has(attribute: Any, methods: tuple[str, ...]) -> bool:
    return attribute is not ABSENT and any(lookup(type(attribute), m) is not None for m in methods)


def _hidden(instance: Any, found: Any, name: str) -> bool:
    """Whether what the instance has under `name` goes before the class's descriptor."""
    return not _has(found, _DATA) and name in _namespace(instance)


def _namespace(instance: Any) -> Any:
    try:
        return object.__getattribute__(instance, "__dict__")
    except AttributeError:
        return ()


def _if_python(descriptor: Any, instance: Any, owner: Any) -> Found | None:
    reader = _reader(descriptor, instance)
    return None if reader is None else Found(descriptor, instance, owner, reader)


# -- how it is read --------------------------------------------------------------------------------


def _reader(descriptor: Any, instance: Any) -> Callable[[Engine, Any, Found], Any] | None:
    cls = type(descriptor)
    if cls in _NATIVE:
        return None
    get = lookup(cls, "__get__")
    if get is _PROPERTY_GET:
        return _read_property if instance is not None and is_python(descriptor.fget) else None
    if get is _CACHED_GET:
        return None if instance is None else _read_cached
    return _read_descriptor if special(cls, "__get__") is not None else None


_NATIVE = frozenset({
    type(ABSENT), types.FunctionType, classmethod, staticmethod, int, float, str, tuple,
    types.MemberDescriptorType, types.GetSetDescriptorType,
    types.MethodDescriptorType, types.WrapperDescriptorType,
})  # fmt: skip
"""Classes of what most classes hold: nothing in Python takes part in reading it."""


def _read_property(engine: Engine, ctx: Any, found: Found) -> Any:
    return engine.resolve(ctx, found.descriptor.fget)(found.instance)


def _read_cached(engine: Engine, ctx: Any, found: Found) -> Any:
    """The function runs under the context; where it is kept, and under which lock, is the version's."""
    twin = copy.copy(found.descriptor)
    twin.func = engine.resolve(ctx, twin.func)
    return twin.__get__(found.instance, found.owner)


def _read_descriptor(engine: Engine, ctx: Any, found: Found) -> Any:
    get = bind(lookup(type(found.descriptor), "__get__"), found.descriptor)
    return engine.resolve(ctx, get)(found.instance, found.owner)


_PROPERTY_GET = lookup(property, "__get__")
_CACHED_GET = lookup(functools.cached_property, "__get__")


# -- reading ---------------------------------------------------------------------------------------


def _access(engine: Engine, ctx: Any, instance: Any, name: str) -> tuple[Target | None, Target | None]:
    """What reads the attribute, what is asked if that fails; None for what no Python code takes part in."""
    cls = type(instance)
    if _is_simple(cls):
        found = lookup(cls, name, ABSENT)
        if type(found) in _NATIVE:
            return None, None
        if type(found) is property and is_python(found.fget):
            return functools.partial(engine.resolve(ctx, found.fget), instance), None
    return _reading(engine, ctx, instance, name), _missing(engine, ctx, instance)


def _is_simple(cls: Any) -> bool:
    """The common case, asked of the interpreter's own cache. (A metaclass could answer for the class.)"""
    if type(cls) is not type:
        return False
    read: Any = cls.__getattribute__
    of_builtin = type(read) is types.WrapperDescriptorType and read in _READS_OF_BUILTINS
    simple = read is _OBJECT_READ or of_builtin
    return simple and getattr(cls, "__getattr__", None) is None


_OBJECT_READ: Any = object.__getattribute__
_READS_OF_BUILTINS = frozenset(
    vars(cls)["__getattribute__"]
    for cls in vars(builtins).values()
    if issubclass(type(cls), type) and cls not in (object, type, super) and "__getattribute__" in vars(cls)
)
"""Of `tuple`, `list`, exceptions, ..., each its own object: they do what that of `object` does."""


def _reading(engine: Engine, ctx: Any, instance: Any, name: str) -> Target | None:
    """What reads the attribute, without `__getattr__`; None where no Python code takes part in that."""
    method = special(type(instance), "__getattribute__")
    if method is not None:
        return functools.partial(engine.resolve(ctx, bind(method, instance)), name)
    found = _find(instance, name) if _generic(instance) else None
    return None if found is None else functools.partial(found.reader, engine, ctx, found)


def _generic(instance: Any) -> bool:
    found = lookup(type(instance), "__getattribute__")
    return found in _GENERIC or (type(found) is types.WrapperDescriptorType and found in _READS_OF_BUILTINS)


_GENERIC = tuple([
    vars(cls)[name]
    for cls in (object, type, super, types.ModuleType, BaseException)
    for name in ("__getattribute__", "__setattr__", "__delattr__")
    if name in vars(cls)
])  # fmt: skip
"""Those of which it is known what they do."""


def _missing(engine: Engine, ctx: Any, instance: Any) -> Target | None:
    """`__getattr__`, of the class, or of a module."""
    if type(instance) is types.ModuleType:
        own = vars(instance).get("__getattr__")
        return engine.resolve(ctx, own) if own is not None and is_python(own) else None
    method = special(type(instance), "__getattr__")
    return None if method is None else engine.resolve(ctx, bind(method, instance))


def _natively(instance: Any, name: str) -> Any:
    module = type(instance) is types.ModuleType  # its own would ask its `__getattr__`
    cls = object if module else type(instance)
    return lookup(cls, "__getattribute__")(instance, name)


def _read(read: Target, missing: Target | None, instance: Any, name: str) -> Any:
    """As object.__getattribute__, then `__getattr__`. No exception is being handled when that runs."""
    try:
        out = read()
    except AttributeError as error:
        if missing is None:
            _name_attribute(error, instance, name)
            raise
        out = ABSENT
    if out is not ABSENT:
        return out
    try:
        return missing(name)  # type: ignore[misc]
    except AttributeError as error:
        _name_attribute(error, instance, name)
        raise


def _name_attribute(error: AttributeError, instance: Any, name: str) -> None:
    """The interpreter says of an exception that does not say it which attribute it is about."""
    if error.name is None and error.obj is None:
        error.name, error.obj = name, instance


def _of_value(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The attribute is that of the value that has a tag."""
    if not args or type(args[0]) is not Tagged or (type(args[1]) is str and of_proxy(args[1])):
        return args
    return (bare(args[0]), *args[1:])


HANDLERS = Handlers()


@HANDLERS.runs(builtins.getattr)
def _getattr(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    if kwargs or len(args) not in (2, 3) or type(args[1]) is not str:
        return engine.native(ctx, f)(*args, **kwargs)
    instance, name, *default = _of_value(args)
    read, missing = _access(engine, ctx, instance, name)
    if read is None and missing is None:
        return engine.native(ctx, f)(*args)
    try:
        return _read(read or functools.partial(_natively, instance, name), missing, instance, name)
    except AttributeError:
        if not default:
            raise
    return default[0]


@HANDLERS.runs(object.__getattribute__, type.__getattribute__)
def _generic_read(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    """object.__getattribute__(x, name), as a `__getattribute__` in Python calls it."""
    if kwargs:
        return engine.native(ctx, f)(*args, **kwargs)
    found = _find(*args) if len(args) == 2 and type(args[1]) is str else None
    return engine.native(ctx, f)(*args) if found is None else found.reader(engine, ctx, found)


@HANDLERS.runs(builtins.hasattr)
def _hasattr(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
    if kwargs or len(args) != 2 or type(args[1]) is not str:
        return engine.native(ctx, f)(*args, **kwargs)
    if _access(engine, ctx, *_of_value(args)) == (None, None):
        return engine.native(ctx, f)(*args)
    return _getattr(engine, ctx, f, *args, ABSENT) is not ABSENT


# -- writing ---------------------------------------------------------------------------------------


def _writing(method: str | None, of_descriptor: str, of_property: str) -> Total:
    """setattr and delattr: the class's `method`, a descriptor's, or a property's function.

    Without `method`: as object.__setattr__, which asks the class no more.
    """

    def run(engine: Engine, ctx: Any, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return engine.native(ctx, f)(*args, **kwargs)
        named = len(args) >= 2 and type(args[1]) is str
        write = _writer(engine, ctx, *_of_value(args[:2])) if named else None
        if write is None:
            return engine.native(ctx, f)(*args)
        write(*args[2:])
        return None

    def _writer(engine: Engine, ctx: Any, instance: Any, name: str) -> Target | None:
        own = None if method is None else special(type(instance), method)
        if own is not None:
            return functools.partial(engine.resolve(ctx, bind(own, instance)), name)
        if method is not None and lookup(type(instance), method) not in _GENERIC:
            return None
        found = lookup(type(instance), name)
        if lookup(type(found), of_descriptor) is getattr(property, of_descriptor):
            run = getattr(found, of_property)
            return functools.partial(engine.resolve(ctx, run), instance) if is_python(run) else None
        if special(type(found), of_descriptor) is None:
            return None
        return functools.partial(invoke, engine, ctx, found, of_descriptor, instance)

    return running(run)


HANDLERS[builtins.setattr] = _writing("__setattr__", "__set__", "fset")
HANDLERS[builtins.delattr] = _writing("__delattr__", "__delete__", "fdel")
HANDLERS[object.__setattr__] = _writing(None, "__set__", "fset")
HANDLERS[object.__delattr__] = _writing(None, "__delete__", "fdel")


# -- what nothing in Python takes part in ------------------------------------------------------------


Args = Sequence[Any]
NATIVELY: Registry[Callable[[Args], bool]] = Registry()
"""Asked before the handler is: the common cases of it."""


@NATIVELY.of(builtins.getattr)
def _is_read_natively(args: Args) -> bool:
    return len(args) == 2 and _is_simple(type(args[0])) and _is_native(*args)


@NATIVELY.of(builtins.setattr, builtins.delattr)
def _is_written_natively(args: Args) -> bool:
    cls: Any = type(args[0]) if len(args) in (2, 3) else None
    plain = type(cls) is type and cls.__setattr__ is _OBJECT_WRITE and cls.__delattr__ is _OBJECT_DELETE
    return plain and _is_native(*args[:2])


def _is_native(instance: Any, name: Any) -> bool:
    return type(name) is str and type(lookup(type(instance), name, ABSENT)) in _NATIVE


_OBJECT_WRITE: Any = object.__setattr__
_OBJECT_DELETE: Any = object.__delattr__
