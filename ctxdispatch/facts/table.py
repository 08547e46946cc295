"""Which row a callable has: its own, or that of its family; None where nothing is known."""

from __future__ import annotations

import functools
import sys
import types
from collections import deque
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from ctxdispatch.facts.binding import canonical
from ctxdispatch.facts.fact import Fact, fact
from ctxdispatch.ir import primitives

F = TypeVar("F")

_ROWS: dict[int, tuple[Any, Fact]] = {}
"""By identity: not every callable has a hash. The callable beside its row keeps the identity its own."""


def rows(row: Fact, callables: Iterable[Any]) -> None:
    """Each of them has this row. One row each: a second one is a mistake."""
    for callee in callables:
        found = _ROWS.setdefault(id(callee), (callee, row))
        if found[1] != row:
            raise ValueError(f"{callee!r} has two rows")


def made(row: Fact, classes: Iterable[type]) -> None:
    """Calls of these classes; their own `__new__` has the class as operand 0 and the same row otherwise."""
    classes = list(classes)
    rows(row, classes)
    rows(row.bound(-1), [vars(cls)["__new__"] for cls in classes if "__new__" in vars(cls)])


def of(row: Fact, classes: Iterable[type], names: str) -> None:
    """The methods of these names that the classes have themselves."""
    found = (vars(cls).get(name) for cls in classes for name in names.split())
    rows(row, [f for f in found if f is not None])


def says(row: Fact | None = None, **columns: Any) -> Callable[[F], F]:
    """Says beside its definition what a function of ours does, of which programs are made."""
    made = fact(**columns) if row is None else row

    def declared(function: F) -> F:
        rows(made, [function])
        return function

    return declared


def fact_of(callee: Any) -> Fact | None:
    """The row of `callee`, its own or its family's; of a bound method, for the operands that are left."""
    own = _ROWS.get(id(callee))
    if own is not None:
        return own[1]
    function, bound = canonical(callee)
    row = _row(function)
    if row is None and _loaded():
        row = _row(function)
    if row is None or not bound:
        return row
    takes = any(row.iterates.has(i) and hasattr(type(owner), "__next__") for i, owner in enumerate(bound))
    return _bound(row, len(bound), takes)


def fact_on(callee: Any, first: Any) -> Fact | None:
    """What `callee` does, given `first`: an operator on a container is the container's own method."""
    cls: Any = type(first)
    return _of_method(callee, cls) if cls in _CONTAINERS and _is_operator(callee) else fact_of(callee)


def _is_operator(callee: Any) -> bool:
    return getattr(callee, "__module__", None) == "_operator" or callee is primitives.not_contains


@functools.cache
def _of_method(callee: Any, cls: type) -> Fact | None:
    name = "contains" if callee is primitives.not_contains else callee.__name__.strip("_")
    method = getattr(cls, f"__{name}__", None)
    return fact_of(method if type(method) in _SLOTS else callee)


_CONTAINERS = (list, tuple, str, dict, set, frozenset, deque)
_SLOTS = (types.WrapperDescriptorType, types.MethodDescriptorType)


def _row(function: Any) -> Fact | None:
    found = _ROWS.get(id(function))
    return found[1] if found is not None else _of_family(function)


_WAITING = {"numpy.random": "random_rows", "numpy.fft": "fft_rows"}
"""The modules of rows of what this process may not have imported."""


def _loaded() -> bool:
    """There are more rows now, of what has been imported meanwhile."""
    found = [name for name in tuple(_WAITING) if name in sys.modules and not _in_progress(sys.modules[name])]
    for name in found:
        import_module(f"ctxdispatch.facts.{_WAITING[name]}")
        _WAITING.pop(name, None)  # afterwards: another thread may ask meanwhile
    return bool(found)


def _in_progress(module: Any) -> bool:
    return getattr(getattr(module, "__spec__", None), "_initializing", False)


@functools.lru_cache(maxsize=4096)
def _bound(row: Fact, n: int, takes: bool) -> Fact:
    return row.bound(n, takes)


_METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType, types.ClassMethodDescriptorType)

# -- families ------------------------------------------------------------------------------------------------


def _of_family(function: Any) -> Fact | None:
    if type(function) is np.ufunc:
        return _of_ufunc(function)
    return _FAMILIES.get(_family(function)) or _CALLABLE.get(type(function))


def _of_ufunc(function: np.ufunc) -> Fact:
    """The operands after the inputs are arrays to write into."""
    key = (function.nin, function.nout)
    made = _UFUNCS.get(key)
    if made is None:
        after = f"{function.nin}.. out"
        made = _UFUNCS[key] = fact(
            looks="0.. **",
            inside=True,
            iterates=" ".join(map(str, range(function.nin))),
            stores=after,
            result=f"itself {after}" if function.nout == 1 else f"holds {function.nin}.., copies out",
            methods=ARRAY_METHODS,
            out=function.nin,
        )
    return made


_UFUNCS: dict[tuple[int, int], Fact] = {}
_ARITHMETIC = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
ARRAY_METHODS = " ".join(
    [
        "array_ufunc array_function array array_interface array_struct array_priority array_wrap "
        "array_finalize buffer",
        "numpy_dtype dlpack dlpack_device class getattribute getattr bases fspath",
        "str repr bytes float int index complex bool trunc floor ceil iter next len getitem lt le gt ge eq "
        "ne neg pos invert abs divmod rdivmod",
        *[f"{name} r{name} i{name}" for name in _ARITHMETIC.split()],
    ]
)
"""What NumPy may ask of an object that is to become an array, or lies in one. What has `array_ufunc` in its
row may, given an array, ask all of it."""


def _family(function: Any) -> Any:
    """What tells the family: the class that a method belongs to."""
    return getattr(function, "__objclass__", None) if type(function) in _METHODS else None


_FAMILIES: dict[Any, Fact] = {}


def family(row: Fact, classes: Iterable[type]) -> None:
    """Each method of these classes that has no row of its own has this one."""
    _FAMILIES.update(dict.fromkeys(classes, row))


_CALLABLE: dict[type, Fact] = {}


def callable_objects(row: Fact, classes: Iterable[type]) -> None:
    """Each object of exactly these classes, called."""
    _CALLABLE.update(dict.fromkeys(classes, row))


def with_rows() -> list[tuple[Any, Fact]]:
    """What has a row of its own, and that."""
    return list(_ROWS.values())


def has_row(callee: Any) -> bool:
    """A row of its own, not a family's."""
    return id(callee) in _ROWS


@functools.cache
def storing_methods() -> frozenset[str]:
    """Names of the methods that store into their object: what a method of that name may do, of an object of
    which nothing is known."""
    methods = (f for f, row in _ROWS.values() if row.stores.has(0) and type(f) in _METHODS)
    return frozenset(f.__name__ for f in methods)
