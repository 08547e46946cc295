"""What an argument must be for a derivative with respect to it to make sense."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy as np

from ctxdispatch.ir.leaves import is_leaf
from ctxdispatch.passes import types as T
from ctxdispatch_contexts.programs.activity import carries
from ctxdispatch_contexts.programs.errors import DerivativeError, given_twice, user_position
from ctxdispatch_contexts.programs.kinds import MEMORY, out_of_sight, remedy, remedy_for


class Default:
    """Stands for an argument that the caller left out."""


def as_gradient(function: FunctionType, f: FunctionType) -> None:
    """Make `function` look like `f`. What is left out of a call is seen as `Default`."""
    function.__qualname__, function.__doc__ = f.__qualname__, f.__doc__
    function.__defaults__ = (Default,) * len(f.__defaults__ or ()) or None
    function.__wrapped__ = f  # type: ignore[attr-defined]


def left_out(name: str, i: int) -> DerivativeError:
    return DerivativeError(
        f"argument {name!r} (argnums {i}) was left out of the call; pass it, or leave it out of argnums",
        user_position(),
    )


def is_container(value: Any) -> bool:
    """Something that may hold what is differentiated."""
    return not (is_leaf(value) or issubclass(type(value), (tuple, np.ndarray)) or type(value) is FunctionType)


def lie_apart(bound: Sequence[Any], args: Sequence[Any]) -> bool:
    """No list, dict or object that is bound is given as well."""
    return not any(any(value is a for a in args) and is_container(value) for value in bound)


def check_apart(bound: Sequence[Any], args: Sequence[Any]) -> None:
    """DerivativeError where a list, dict or object that is bound is given as well."""
    for value in bound:
        if not lie_apart([value], args):
            raise given_twice(value)


def check_argument(name: str, i: int, type_: T.Type) -> None:
    """DerivativeError where a derivative with respect to the argument `name`, the caller's i-th, of this type
    makes no sense."""
    if type_ == T.Known(Default):
        raise left_out(name, i)
    if not carries(type_) or remedy_for(T.cls_of(type_)) is not None:
        raise DerivativeError(f"argument {name!r} (argnums {i}) {unfit(type_)}", user_position())


def check_value(name: str, i: int, value: Any) -> None:
    """DerivativeError where nothing in the argument has a derivative, and the numbers of something in it are
    out of sight."""
    found = out_of_sight(value)
    if found is not None:
        inside = "" if found is value else f", which holds a {type(found).__name__}"
        raise DerivativeError(
            f"argument {name!r} (argnums {i}) is of type {type(value).__name__}{inside}: its numbers are out "
            f"of sight, and have no derivative; {remedy(type(value))}, or leave it out of argnums",
            user_position(),
        )


def check_memory(names: Sequence[str], types: Sequence[T.Type]) -> None:
    """DerivativeError where an argument may hold floats, of which the derivative would be lost."""
    for i, type_ in enumerate(types):
        if issubclass(T.cls_of(type_) or object, MEMORY):
            name = names[i - len(types)] if len(names) >= len(types) else names[-1]
            raise DerivativeError(f"argument {name!r} (number {i}) {unfit_kind(type_)}", user_position())


def unfit(type_: T.Type) -> str:
    """Why nothing can be differentiated with respect to an argument of this type, and what to do."""
    if isinstance(type_, T.ArrayOf) and type_.dtype.names is not None:
        return (
            f"is an array of records of dtype {type_.dtype}, which has no derivative; pass its fields as "
            "arrays (`x['name']`)"
        )
    if isinstance(type_, T.ArrayOf):
        return f"is an array of dtype {type_.dtype}, which has no derivative; pass it `.astype(float)`"
    return unfit_kind(type_)


def unfit_kind(type_: T.Type) -> str:
    """The same of what is no array of NumPy's own class."""
    cls = T.cls_of(type_)
    remedy = remedy_for(cls) or "pass a float (or an array of floats), or leave it out of argnums"
    return f"is of type {cls.__name__ if cls else type_}, which has no derivative; {remedy}"
