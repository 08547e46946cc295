"""Named tuples that a program makes: `collections.namedtuple` says what their code does."""

from __future__ import annotations

from collections import namedtuple
from typing import Any as Anything

from ctxdispatch.ir.wrappers import class_attribute

_Sample = namedtuple("_Sample", ("field",))

REPLACE = _Sample._replace.__code__
"""That of the method of all such classes."""

_MAKE = class_attribute(_Sample, "_make").__func__.__code__
_OF_TUPLE = ("__getitem__", "__iter__", "__len__", "__getattribute__")


def names_of(cls: Anything) -> tuple[str, ...]:
    """The fields of a class whose objects are tuples of just these, under their names and in their places;
    none where that is not known."""
    if type(cls) is not type or not issubclass(cls, tuple):
        return ()
    names = class_attribute(cls, "_fields")
    own = type(names) is tuple and all(_is_getter(cls, name, i) for i, name in enumerate(names))
    own = own and all(class_attribute(cls, n) is class_attribute(tuple, n) for n in _OF_TUPLE)
    return names if own else ()


def _is_getter(cls: type, name: str, place: int) -> bool:
    getter = class_attribute(cls, name)
    return type(getter) is type(_GETTER) and getter.__reduce__()[1][0] == place


_GETTER = class_attribute(_Sample, "field")


def maker_of(cls: type) -> tuple[type, Anything] | None:
    """The class that `cls` has `_make` from, and what it holds; None where that is code of the user's."""
    owner = next((base for base in cls.__mro__ if "_make" in vars(base)), None)
    made = vars(owner)["_make"] if owner is not None else None
    plain = type(made) is classmethod and getattr(made.__func__, "__code__", None) is _MAKE
    return (owner, made) if owner is not None and plain else None
