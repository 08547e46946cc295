"""Refusals and warnings. Every message says where in the user's source, what, and what to do about it."""

from __future__ import annotations

from typing import Any

from ctxdispatch_contexts.programs.errors import Refused, own


class SparsityError(Refused):
    """A pattern cannot be had. `position` is where in the user's source. `placed`: that is known; a value
    that is asked by code in C knows no lines, and who runs the program gives them."""

    placed = True


def out_of_sight(message: str) -> SparsityError:
    """What a value raises."""
    error = SparsityError(message)
    error.placed = False
    return error


class OpaqueCallWarning(UserWarning):
    """A callee was not looked into: what it returns is taken to depend on everything that reached it."""


def described(fn: Any) -> str:
    """A callee's name as the user writes it."""
    owner = own(fn, "__objclass__")
    name = own(fn, "__qualname__") or own(fn, "__name__") or repr(fn)
    module = owner.__module__ if owner is not None else own(fn, "__module__")
    return str(name) if module in (None, "builtins", "_operator") else f"{module}.{name}"


REMEDY = 'mode="local" takes the values at hand, np.where keeps the shape'
ELSEWHERE = (
    "an array that shares memory with another one by its address, and not as a view of it, depends on the "
    "inputs; use one of the two"
)
TEXT = (
    "a text that was made of values that depend on the inputs is used as more than a message; compute with "
    "the numbers that it was made of"
)
