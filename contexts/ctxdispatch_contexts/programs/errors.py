"""Refusals. Every message says where (the user's file and line), what, and what to do about it."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import ctxdispatch
import ctxdispatch_contexts
from ctxdispatch.bytecode.original import is_generated
from ctxdispatch.dispatch.where import position
from ctxdispatch.facts import BINARY, COMPARISONS, UNARY
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Operand, Position, Value, hashable
from ctxdispatch_contexts.programs.written import operands


class Refused(TypeError):
    """Something cannot be done with a user's program. `message` says what, and after a semicolon what to
    write instead; `position` where: the line of the user's that runs, unless another is given. `reason`: why
    there is no program that would not be refused, where that is known."""

    reason: Any = None

    def __init__(self, message: str, position: Position | str | None = None) -> None:
        super().__init__(message)
        if isinstance(position, Position) and not position.line:
            position = None
        self.message = message
        self.apart: tuple[Any, ...] = ()
        self.place(position or user_position())

    def apart_from(self, ctx: Any) -> None:
        """It is of a derivative that the program under `ctx` takes itself."""
        self.apart = (*self.apart, ctx._run)

    def is_apart_from(self, ctx: Any) -> bool:
        return any(run is ctx._run for run in self.apart)

    def place(self, position: Position | str | None) -> None:
        """Say that it is there; in a library's code, where the user called that."""
        outer = (
            _around_library() if isinstance(position, Position) and of_library(position.filename) else None
        )
        if outer is not None:
            what, separator, remedy = self.message.partition("; ")
            self.message = f"{what} (called in {position}){separator}{remedy}"
            position = outer
        self.position = None if position is None else str(position)
        self.args = (f"{self.position}: {self.message}" if self.position else self.message,)

    def place_call(self, position: Position | None) -> None:
        """It was raised while a program was made, for the call there: frames tell no more than which function
        the program is of."""
        if position is not None and position.line and self.position == str(user_position()):
            self.place(position)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.message, self.position)


def _again(cls: type[Refused], message: str, position: str | None) -> Refused:
    """One that comes out of another process."""
    error = cls.__new__(cls)
    error.message, error.apart = message, ()
    error.place(position)
    return error


class DerivativeError(Refused):
    """Something cannot be differentiated. `position` is where in the user's source."""


class MissingRuleError(DerivativeError):
    """A function without Python code and without a derivative rule was called on differentiated data."""


class MutationError(DerivativeError):
    """Differentiated data was changed in place."""


_OWN = ("ctxdispatch.", "ctxdispatch_contexts.", "multipledispatch")


_COMMAND = "ctxdispatch.command"
"""Whose frames are within those of `python -m ctxdispatch`."""

OWN_FILES = tuple(f"{Path(p.__file__).parent}{os.sep}" for p in (ctxdispatch, ctxdispatch_contexts))


def user_position() -> Position | None:
    """Where the innermost frame is that runs a user's code, original or generated from it; printed, it is
    file:line in function."""
    frame = user_frame()
    return None if frame is None else position(frame)


def caller_position() -> Position | None:
    """The same of who called the pullback that runs: what it was called with is his."""
    frame = user_frame()
    while frame is not None and _is_pullback(frame.f_code):
        frame = None if frame.f_back is None else user_frame(frame.f_back)
    return None if frame is None else position(frame)


def _is_pullback(code: CodeType) -> bool:
    return code.co_qualname.endswith(".pullback") and is_generated(code)


def user_frame(start: FrameType | None = None) -> FrameType | None:
    """The innermost frame, from `start` outwards, that runs a user's code.
    None where the command line itself asks."""
    frame = start or sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", "") == _COMMAND:
            return None
        if _is_user(frame):
            return frame
        frame = frame.f_back
    return None


def given_twice(value: Any) -> DerivativeError:
    return DerivativeError(
        f"the same {type(value).__name__} is given as two arguments, with respect to one of which is "
        "differentiated; give one of them as a copy (`copy.deepcopy`)",
        user_position(),
    )


def left_here(at: Position | None) -> MissingRuleError:
    return MissingRuleError(
        "the result depends on what an earlier run has left here, which is no constant and whose derivatives "
        "are not known any more; compute it in each run, give it as an argument, or read it by "
        "`stop_gradient(...)`",
        at,
    )


Place = tuple[CodeType, int] | None


def place() -> Place:
    """Where the user's program is: enough to find the line, which is hardly ever asked for."""
    frame = user_frame()
    return None if frame is None else (frame.f_code, frame.f_lasti)


def _is_user(frame: FrameType) -> bool:
    """Programs stand in the file of what they were made of, whatever their globals are."""
    code, name = frame.f_code, frame.f_globals.get("__name__", "")
    if code.co_filename.startswith(("<generated", *OWN_FILES)):
        return False
    return is_generated(code) or not name.startswith(_OWN)


def given(values: Sequence[Any]) -> str:
    """`text: type` of what the line of the user's that runs works on."""
    frame = user_frame()
    if frame is None:
        return ", ".join(operands(None, [*map(type, values)], ()))
    names = [_variable(frame, value) for value in values]
    return ", ".join(operands(position(frame), [*map(type, values)], names))


def _variable(frame: FrameType, value: Any) -> str:
    """The variable that holds it, or nothing."""
    held = [name for name, item in frame.f_locals.items() if item is value and name.isidentifier()]
    return held[0] if held and not isinstance(value, _SHARED) else ""


_SHARED = (bool, int, str, type(None))
"""One object may stand for all that are equal."""


_LIBRARIES = tuple({f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "purelib", "platlib")})


def of_library(filename: str) -> bool:
    return filename.startswith(_LIBRARIES)


def _around_library() -> Position | None:
    """Where the innermost code of the user's runs that is no library's."""
    frame = user_frame()
    while frame is not None and of_library(frame.f_code.co_filename):
        frame = None if frame.f_back is None else user_frame(frame.f_back)
    return None if frame is None else position(frame)


def described(fn: Any) -> str:
    """A callee's name as the user writes it."""
    module, owner = own(fn, "__module__"), own(fn, "__objclass__")
    name = own(fn, "__qualname__") or own(fn, "__name__") or repr(fn)
    if module in (None, "builtins", "_operator") and owner is None:
        return str(name)
    if issubclass(type(owner), type):
        return f"{owner.__module__}.{owner.__qualname__}.{name.rpartition('.')[2]}"
    return f"{module}.{name}"


def own(fn: Any, name: str) -> Any:
    """The attribute, or None; the user's `__getattr__` is not asked for it."""
    read: Any = type if issubclass(type(fn), type) else object
    try:
        return read.__getattribute__(fn, name)
    except AttributeError:
        return None


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

    def called(self, operands: Sequence[Any]) -> Any:
        """What it calls, given these."""
        raise NotImplementedError


def unresolved(call: RunTime, operands: Sequence[Any]) -> MissingRuleError:
    called = call.called(operands)
    name = called.__name__ if isinstance(called, RunTime) else described(called)
    return MissingRuleError(
        f"the derivative of {name} was taken at run time by a rule, or by no function of Python's, "
        "and cannot be differentiated again there; pass what varies as arguments of a function",
        user_position(),
    )


def recorded_only(name: str, reason: Any = None) -> MissingRuleError:
    error = MissingRuleError(
        f"a derivative of {name} is taken by recording its run (it changes things in place, or calls what "
        "only run time knows), and is to be differentiated once more by a program, at run time; call it from "
        "the function that is differentiated itself",
        user_position(),
    )
    error.reason = reason
    return error


def without_program(reason: Any) -> MissingRuleError:
    """The run is recorded: `explain` has the reason."""
    error = MissingRuleError(reason.what, None)
    error.reason = reason
    return error


class Refusing(Opaque):
    """What ends with an error of ours where run time finds it must."""


class Ending(Opaque):
    """A call of it ends with an error: control does not come back."""


_OPERATORS = frozenset((*BINARY, *UNARY, *COMPARISONS))


class Refusal(Ending):
    """Called where `op` would have run, with its operands, or with `only` one of them. `{operands}` in the
    message stands for what the user wrote for them, and their types."""

    def __init__(
        self, error: type[DerivativeError], message: str, op: Op, only: Operand | None = None
    ) -> None:
        self.error, self.message, self.position, self.fn = error, message, op.pos, op.fn
        named = op.pos is not None and bool(op.pos.line)
        self.names = tuple([a.name if named and isinstance(a, Value) else "" for a in op.args])
        self.only = None if only is None else op.args.index(only)
        self._operator = op.fn if hashable(op.fn) and op.fn in _OPERATORS else None
        self.__name__ = "refuse"

    def __call__(self, *given: Any, **keywords: Any) -> Any:
        if self._operator is not None and any(each is None for each in given):
            self._operator(*given)  # it raises what the program raises
        raise self.made_of([*map(type, (*given, *keywords.values()))])

    def made_of(self, classes: Sequence[type | None]) -> DerivativeError:
        """The error, by the classes of the operands, None where only run time knows."""
        at = self.position
        message = self.message.format(operands=self._operands(classes))
        if at is not None and at.filename.startswith(OWN_FILES):
            return self.error(_AGAIN.format(message.partition(";")[0]))
        return self.error(message, at)

    def _operands(self, classes: Sequence[type | None]) -> str:
        if self.only is None:
            return ", ".join(operands(self.position, classes, self.names))
        among = [*classes] * len(self.names)
        return operands(self.position, among, self.names)[self.only] if classes else self.names[self.only]


_AGAIN = (
    "a derivative that is taken here is to be differentiated once more, and goes by functions that only run "
    "time knows (local ones that call themselves or that a branch chooses, functions in containers); make "
    "them functions of the module, and pass what they capture as arguments (what is missing: {})"
)
