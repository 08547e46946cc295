"""What Python spells as syntax and `operator`/`builtins` have no function for.

The lifter makes calls of these (`Op.syntax` is True); the emitter spells each with its own instruction; the
reference interpreter, and a context that intercepts one, just calls it.
"""

from __future__ import annotations

import builtins
import itertools
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401
from ctxdispatch.ir.values import UNDEF

# -- names ---------------------------------------------------------------------------------------------------


def load_global(namespace: dict[str, Any], name: str) -> Any:
    """The global or builtin `name`; NameError where there is none."""
    try:
        return namespace[name]
    except KeyError:
        pass
    scope = namespace.get("__builtins__", builtins)
    scope = scope if isinstance(scope, dict) else vars(scope)
    try:
        return scope[name]
    except KeyError:
        raise NameError(f"name {name!r} is not defined", name=name) from None


def store_global(namespace: dict[str, Any], name: str, value: Any) -> None:
    namespace[name] = value


def delete_global(namespace: dict[str, Any], name: str) -> None:
    if name not in namespace:
        raise NameError(f"name {name!r} is not defined", name=name)
    del namespace[name]


def check_bound(value: Any, name: str) -> Any:
    """The value of local `name`; UnboundLocalError where it is not bound."""
    if value is UNDEF.value:
        raise UnboundLocalError(
            f"cannot access local variable {name!r} where it is not associated with a value"
        )
    return value


# -- cells and functions -------------------------------------------------------------------------------------


def make_cell(value: Any = UNDEF.value) -> types.CellType:
    return types.CellType() if value is UNDEF.value else types.CellType(value)


def cell_get(cell: types.CellType, name: str, free: bool = False) -> Any:
    """What `cell` holds; `free` chooses the exception of an empty one, as for a free or a local variable."""
    try:
        return cell.cell_contents
    except ValueError:
        if free:
            raise NameError(
                f"cannot access free variable {name!r} where it is not associated with a value in enclosing "
                "scope"
            ) from None
        raise UnboundLocalError(
            f"cannot access local variable {name!r} where it is not associated with a value"
        ) from None


def cell_set(cell: types.CellType, value: Any) -> None:
    cell.cell_contents = value


def cell_delete(cell: types.CellType, name: str, free: bool = False) -> None:
    cell_get(cell, name, free)
    del cell.cell_contents


def make_function(
    namespace: dict[str, Any],
    code: types.CodeType,
    defaults: tuple[Any, ...] | None = None,
    kwdefaults: dict[str, Any] | None = None,
    annotations: tuple[Any, ...] | None = None,
    closure: tuple[types.CellType, ...] | None = None,
    annotate: Callable[[int], dict[str, Any]] | None = None,
) -> types.FunctionType:
    """A function object. `annotations` is the flat (name, value, ...) tuple of the instruction, `annotate`
    what makes them when they are asked for."""
    function = types.FunctionType(code, namespace, code.co_name, defaults, closure)
    function.__qualname__ = code.co_qualname
    function.__kwdefaults__ = kwdefaults
    if annotations:
        function.__annotations__ = dict(zip(annotations[::2], annotations[1::2], strict=True))
    if annotate is not None:
        function.__annotate__ = annotate  # type: ignore[attr-defined]
    return function


# -- calls ---------------------------------------------------------------------------------------------------


def call_ex(f: Callable[..., Any], args: Iterable[Any], kwargs: dict[str, Any] | None = None) -> Any:
    """f(*args, **kwargs)"""
    return f(*args, **(kwargs or {}))


# -- operators without a function of their own ---------------------------------------------------------------


def not_contains(container: Any, item: Any) -> bool:
    return item not in container


# -- displays ------------------------------------------------------------------------------------------------


def build_tuple(*items: Any) -> tuple[Any, ...]:
    return items


def build_list(*items: Any) -> list[Any]:
    return list(items)


def build_set(*items: Any) -> set[Any]:
    return set(items)


def build_map(*keys_and_values: Any) -> dict[Any, Any]:
    """{k0: v0, k1: v1, ...} from k0, v0, k1, v1, ..."""
    return dict(zip(keys_and_values[::2], keys_and_values[1::2], strict=True))


def build_string(*parts: str) -> str:
    return "".join(parts)


def format_value(value: Any, conversion: Callable[[Any], str] | None = None, spec: str = "") -> str:
    return format(value if conversion is None else conversion(value), spec)


def list_append(target: list[Any], item: Any) -> None:
    target.append(item)


def set_add(target: set[Any], item: Any) -> None:
    target.add(item)


def map_add(target: dict[Any, Any], key: Any, value: Any) -> None:
    target[key] = value


def list_extend(target: list[Any], items: Iterable[Any]) -> None:
    if not _goes_through(items):
        raise TypeError(f"Value after * must be an iterable, not {type(items).__name__}")
    target.extend(items)


def set_update(target: set[Any], items: Iterable[Any]) -> None:
    target.update(items)


def dict_update(target: dict[Any, Any], other: Any) -> None:
    """{**other}: later keys win."""
    if not hasattr(other, "keys"):
        raise TypeError(f"{type(other).__name__!r} object is not a mapping")
    target.update(other)


def dict_merge(target: dict[str, Any], other: Any, function: Any = None) -> None:
    """f(**other): a key that is there already is an error that names `function`."""
    if not hasattr(other, "keys"):
        kind = type(other).__name__
        raise TypeError(f"{name_of_callee(function)} argument after ** must be a mapping, not {kind}")
    is_dict = issubclass(type(other), dict) and type(other).__iter__ is dict.__iter__
    for key in dict.keys(other) if is_dict else _keys(other):
        if key in target:
            raise TypeError(f"{name_of_callee(function)} got multiple values for keyword argument {key!r}")
        target[key] = dict.__getitem__(other, key) if is_dict else other[key]


def _keys(mapping: Any) -> list[Any]:
    keys = mapping.keys()
    if not _goes_through(keys):
        text = f"{type(mapping).__name__}.keys() returned a non-iterable (type {type(keys).__name__})"
        raise TypeError(text)
    return list(keys)


def yielded(item: Any) -> None:
    """What a generator gives, in the graph of one (`bytecode.lift_generator`), which never runs by itself."""
    raise NotImplementedError(f"{item!r} is given by no generator")


def list_to_tuple(items: list[Any]) -> tuple[Any, ...]:
    return tuple(items)


def name_of_callee(function: Any) -> str:
    """What the interpreter's messages about a call call it."""
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", repr(function)) + "()"
    return name if module in (None, "builtins") else f"{module}.{name}"


# -- unpacking -----------------------------------------------------------------------------------------------


def _is_counted() -> bool:
    try:
        [_] = (1, 2)  # type: ignore[misc]
    except ValueError as e:
        return "got" in str(e)
    return False


COUNTED = _is_counted()
"""Whether the interpreter says of how many values there are too many."""


def unpack(sequence: Iterable[Any], n: int) -> tuple[Any, ...]:
    """a, b, c = sequence: an op with n results."""
    items = _take(_unpacked(sequence), n + 1)
    if len(items) > n:
        counted = COUNTED and type(sequence) in (list, tuple, dict)
        got = f", got {len(sequence)}" if counted else ""  # type: ignore[arg-type]
        raise ValueError(f"too many values to unpack (expected {n}{got})")
    if len(items) < n:
        raise ValueError(f"not enough values to unpack (expected {n}, got {len(items)})")
    return tuple(items)


def unpack_ex(sequence: Iterable[Any], before: int, after: int) -> tuple[Any, ...]:
    """a, *b, c = sequence: an op with before + 1 + after results."""
    iterator = _unpacked(sequence)
    first = _take(iterator, before)
    rest = list(iterator) if len(first) == before else []
    if len(first) + len(rest) < before + after:
        got = len(first) + len(rest)
        raise ValueError(f"not enough values to unpack (expected at least {before + after}, got {got})")
    middle = len(rest) - after
    return (*first, rest[:middle], *rest[middle:])


UNPACKING = (unpack, unpack_ex)
"""They take a value apart, for names that it is assigned to."""


def _unpacked(sequence: Any) -> Iterator[Any]:
    if not _goes_through(sequence):
        raise TypeError(f"cannot unpack non-iterable {type(sequence).__name__} object")
    return iter(sequence)


def _take(iterator: Iterator[Any], n: int) -> list[Any]:
    """The next n items, or all there are, with no other question asked of the iterator."""
    return list(itertools.islice(map(next, itertools.repeat(iterator)), n))


def _goes_through(value: Any) -> bool:
    return hasattr(type(value), "__iter__") or hasattr(type(value), "__getitem__")


# -- with ----------------------------------------------------------------------------------------------------


def enter(manager: Any) -> tuple[Any, Any]:
    """`with manager`: an op with two results, the bound exit and what entering returned."""
    begin, end = with_methods(manager)
    return end, begin()


def enter_async(manager: Any) -> tuple[Any, Any]:
    """`async with manager`: the bound exit, and the awaitable that entering returned."""
    begin, end = async_with_methods(manager)
    return end, begin()


def awaited(value: Any) -> Any:
    """What `await value` awaits."""
    return value


def gone_through(value: Any) -> Any:
    """What `async for .. in value` goes through."""
    return value


def delegated(value: Any) -> Any:
    """What `yield from value` goes through."""
    return value


def with_methods(manager: Any) -> tuple[Any, Any]:
    """Both are bound before the first is called."""
    return special_method(manager, "__enter__"), special_method(manager, "__exit__")


def async_with_methods(manager: Any) -> tuple[Any, Any]:
    return special_method(manager, "__aenter__"), special_method(manager, "__aexit__")


def special_method(manager: Any, name: str) -> Any:
    """The method `name` of the class of `manager`, bound to it; without one, the statement's error."""
    cls = type(manager)
    for base in cls.__mro__:
        if name in base.__dict__:
            method = base.__dict__[name]
            bind = getattr(type(method), "__get__", None)
            return method if bind is None else bind(method, manager, cls)
    return _refuse_async(manager).send(None) if name.startswith("__a") else _refuse(manager)


def _refuse(manager: Any) -> None:
    """Nothing of the manager's is run: one of the two methods is missing."""
    with manager:
        pass


async def _refuse_async(manager: Any) -> None:
    async with manager:
        pass


def exit_arguments(exc: BaseException) -> tuple[Any, ...]:
    """What `__exit__` is called with, whatever the class of the exception says of its attributes."""
    return type(exc), exc, BaseException.__dict__["__traceback__"].__get__(exc)


def super_object(f: Any, cls: type, instance: Any, two: bool) -> Any:
    """super(), or super(cls, instance) if `two`; `f` is what `super` means there, which may be anything."""
    return f(cls, instance) if two or f is super else f()


# -- imports -------------------------------------------------------------------------------------------------


def import_name(namespace: dict[str, Any], name: str, fromlist: tuple[str, ...] | None, level: int) -> Any:
    scope = namespace.get("__builtins__", builtins)
    scope = scope if isinstance(scope, dict) else vars(scope)
    return scope["__import__"](name, namespace, None, fromlist, level)


def import_from(module: Any, name: str) -> Any:
    """`from module import name`, with the errors of the statement."""
    try:
        return getattr(module, name)
    except AttributeError:
        pass
    package = getattr(module, "__name__", "<unknown module name>")
    found = sys.modules.get(f"{package}.{name}")  # a submodule that is being imported
    if found is not None:
        return found
    path = getattr(module, "__file__", None)
    where, why = repr(package), ""
    if getattr(getattr(module, "__spec__", None), "_initializing", False):
        where, why = f"partially initialized module {where}", " (most likely due to a circular import)"
    text = f"cannot import name {name!r} from {where}{why} ({path or 'unknown location'})"
    raise ImportError(text, name=package, path=path)


MULTIPLE_RESULTS = frozenset({unpack, unpack_ex, enter, enter_async})
"""Primitives whose op has one result per item of what they return."""
