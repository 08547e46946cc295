"""What the frame form of a graph has beyond SSA form.

In *SSA form* the user's variables are values. In *frame form* they stay where the interpreter keeps them, and
are read and written by ops; only what lies on the interpreter's stack is a value. So every construct has a
graph, and emitting it again keeps names, slots and lifetimes.

    f(%x):
      b0(): %0 = load_local('x'); %1 = iter(%0); jump b1(%1)
      b1(%it): iterate %it b2(%it) b3()
      b2(%item, %it): store_local('i', %item); ..; jump b1(%it)

Invariants of the frame form:
  * a block's parameters are the stack that it is entered with, from the bottom; the item of an iteration, the
    first parameter, lies on top; no value is used outside of its block (`temporaries` of the emitter, apart);
  * `block.handler` is where an exception in the block goes, with the part of the stack that stays: parameters
    of the block, which no op of it takes from the stack.
"""

from __future__ import annotations

from types import CodeType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

if TYPE_CHECKING:
    from ctxdispatch.ir.graph import Edge
    from ctxdispatch.ir.values import Value


class Frame:
    """`code` is what was lifted, `prologue` its instructions before the first RESUME as (opcode, argument,
    position); `cells` has a value per variable of its own that closures share;
    `sites` is how many places (`Site`) a transform has given it."""

    __slots__ = ("code", "prologue", "cells", "sites")

    def __init__(self, code: CodeType, cells: dict[str, Value]) -> None:
        self.code = code
        self.sites = 0
        self.prologue: list[Any] = []
        self.cells = cells


class Handler(NamedTuple):
    """The target of `edge` takes two parameters more than its arguments: the instruction that raised, if
    `lasti`, and the exception."""

    edge: Edge
    lasti: bool

    @property
    def implicit(self) -> int:
        return 1 + self.lasti


class Instruction:
    """The callee of an op that is one instruction of the interpreter and has no meaning apart from its frame.
    `arg` is what the argument means: a name, a variable, a number."""

    __slots__ = ("name", "arg")

    def __init__(self, name: str, arg: Any = 0) -> None:
        self.name = name
        self.arg = arg

    def __call__(self, *args: Any) -> NoReturn:
        raise NotImplementedError(f"{self} runs in the interpreter's frame only")

    def __repr__(self) -> str:
        return f"{self.name.lower()}[{self.arg}]" if self.arg else self.name.lower()


class Place(NamedTuple):
    """An instruction's `arg` that says where in the code it is, or where another one is that it names."""

    number: int


SPECIAL_METHODS = ("__enter__", "__exit__", "__aenter__", "__aexit__")
"""Those that an instruction names, by its number for them."""


# -- variables -----------------------------------------------------------------------------------------------


def load_local(name: str) -> Any:
    """The local variable `name`; UnboundLocalError where it may be unbound."""
    _in_frame()


def load_local_checked(name: str) -> Any:
    """`load_local` of a variable that the compiler could not prove bound."""
    _in_frame()


def load_local_borrowed(name: str) -> Any:
    """`load_local` of a variable that outlives the use of the value."""
    _in_frame()


def take_local(name: str) -> Any:
    """What the variable holds, if anything; the variable becomes unbound."""
    _in_frame()


def load_closure(cell: Any) -> Any:
    """The cell itself, as an object."""
    _in_frame()


def store_local(name: str, value: Any) -> None:
    _in_frame()


def delete_local(name: str) -> None:
    _in_frame()


def load_builtin(function: Any) -> Any:
    """One of those for whose call the compiler puts a loop, where the name means it: that is asked first."""
    return function


def load_constant(value: Any) -> Any:
    """A constant that stands on a line of its own: it is loaded there."""
    return value


LOADS = frozenset(map(id, (load_local, load_local_checked, load_local_borrowed)))
ASSIGNS = frozenset(map(id, (store_local, delete_local, take_local)))
"""What reads a variable, and what assigns to it, by id."""


def drop(value: Any) -> None:
    """The value is not used: where the interpreter lets go of it."""


def _in_frame() -> NoReturn:
    raise NotImplementedError("variables of a frame exist in its code only")
