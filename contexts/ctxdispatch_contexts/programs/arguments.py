"""What an argument must be for a derivative with respect to it to make sense."""

from __future__ import annotations

from ctxdispatch.passes import types as T
from ctxdispatch_contexts.programs.activity import carries
from ctxdispatch_contexts.programs.errors import DerivativeError, user_position


class Default:
    """Stands for an argument that the caller left out."""


def left_out(name: str, i: int) -> DerivativeError:
    return DerivativeError(
        f"argument {name!r} (argnums {i}) was left out of the call; pass it, or leave it out of argnums",
        user_position(),
    )


def check_argument(name: str, i: int, type_: T.Type) -> None:
    """DerivativeError where a derivative with respect to the argument `name`, the caller's i-th, of this type
    makes no sense."""
    if type_ == T.Known(Default):
        raise left_out(name, i)
    if not carries(type_):
        raise DerivativeError(f"argument {name!r} (argnums {i}) {unfit(type_)}", user_position())


def unfit(type_: T.Type) -> str:
    """Why nothing can be differentiated with respect to an argument of this type, and what to do."""
    if isinstance(type_, T.ArrayOf):
        return f"is an array of dtype {type_.dtype}, which has no derivative; pass it `.astype(float)`"
    cls = T.cls_of(type_)
    return (
        f"is of type {cls.__name__ if cls else type_}, which has no derivative; pass a float (or an array of "
        "floats), or leave it out of argnums"
    )
