"""Refusals. Every message says where (the user's file and line), what, and what to do about it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import ctxdispatch
import ctxdispatch_contexts
from ctxdispatch.ir.values import Position


class DerivativeError(TypeError):
    """Something cannot be differentiated. `position` is where in the user's source."""

    def __init__(self, message: str, position: str | None = None) -> None:
        super().__init__(f"{position}: {message}" if position else message)
        self.position = position


class MissingRuleError(DerivativeError):
    """A function without Python code and without a derivative rule was called on differentiated data."""


class MutationError(DerivativeError):
    """Differentiated data was changed in place."""


_OWN = ("ctxdispatch.", "ctxdispatch_contexts.", "multipledispatch")


_COMMAND = "ctxdispatch.command"
"""Whose frames are within those of `python -m ctxdispatch`."""

_OWN_FILES = tuple(f"{Path(p.__file__).parent}{os.sep}" for p in (ctxdispatch, ctxdispatch_contexts))


def user_position() -> str | None:
    """file:line in function of the innermost frame that runs a user's code, original or generated from it."""
    frame = user_frame()
    return f"{frame.f_code.co_filename}:{frame.f_lineno} in {frame.f_code.co_qualname}" if frame else None


def user_frame() -> FrameType | None:
    """The innermost frame that runs a user's code. None where the command line itself asks."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name == _COMMAND:
            return None
        if not frame.f_code.co_filename.startswith("<generated") and not name.startswith(_OWN):
            return frame
        frame = frame.f_back
    return None


def described(fn: Any) -> str:
    """A callee's name as the user writes it."""
    module = getattr(fn, "__module__", None)
    name = getattr(fn, "__qualname__", None) or getattr(fn, "__name__", None) or repr(fn)
    if module in (None, "builtins", "_operator") and getattr(fn, "__objclass__", None) is None:
        return str(name)
    owner = getattr(fn, "__objclass__", None)
    if owner is not None:
        return f"{owner.__module__}.{owner.__qualname__}.{name.rpartition('.')[2]}"
    return f"{module}.{name}"


class Opaque:
    """What stands in programs and is not looked into: contexts know what it means."""


class RunTime(Opaque):
    """A derivative whose program is found when it is called. `unseen`: what is called then is not known now,
    and may change objects that it is given."""

    unseen: bool = False

    def resolved(self, operands: Sequence[Any]) -> tuple[Any, Sequence[Any]] | None:
        """The function that does it, and the places of its arguments: `place.read(operands)` gives one, and
        `place.keys` are those of its cotangent in that of the operand number `place.at`. None where there is
        no such function."""
        raise NotImplementedError


def unresolved(call: Any) -> MissingRuleError:
    return MissingRuleError(
        f"the derivative of {call.__name__} was taken at run time by a rule, or by no function of Python's, "
        "and cannot be differentiated again there; pass what varies as arguments of a function",
        user_position(),
    )


class Refusing(Opaque):
    """What ends with an error of ours where run time finds it must."""


class Refusal(Opaque):
    """Called where the op it stands for would have run."""

    def __init__(self, error: type[DerivativeError], message: str, position: Position | None) -> None:
        self.error, self.message, self.position = error, message, position
        self.__name__ = "refuse"

    def __call__(self, *operands: Any, **keywords: Any) -> Any:
        at = self.position
        message = self.message.format(types=", ".join(type(o).__name__ for o in operands))
        if at is not None and at.filename.startswith(_OWN_FILES):
            raise self.error(_AGAIN.format(message.partition(";")[0]), user_position())
        raise self.error(message, str(at) if at is not None and at.line else user_position())


_AGAIN = (
    "a derivative that is taken here is to be differentiated once more, and goes by functions that only run "
    "time knows (local ones that call themselves or that a branch chooses, functions in containers); make "
    "them functions of the module, and pass what they capture as arguments (what is missing: {})"
)
