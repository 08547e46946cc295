"""What a run knows of the values that depend on what is differentiated; what is done with it is a mode's.

A number is known by its identity, an array by the memory it lies in (`memory.Memory`); containers, objects,
closures, generators hold either and need not be known at all.

Invariant: a number that is known is kept alive, so that no other gets its identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ctxdispatch.dispatch.refusals import Refusals
from ctxdispatch_contexts.programs.c_objects import shows
from ctxdispatch_contexts.programs.errors import MissingRuleError, Refused, user_position
from ctxdispatch_contexts.recording import windows
from ctxdispatch_contexts.recording.escaped import Escaped
from ctxdispatch_contexts.recording.leaves import another, is_number, leaves
from ctxdispatch_contexts.recording.memory import Array, Memory, has_shadow, view_of
from ctxdispatch_contexts.recording.suspects import Suspects


class Number:
    """A number that the run knows, and its tangent or cotangent (None: zero)."""

    __slots__ = ("value", "derivative")

    def __init__(self, value: Any) -> None:
        self.value: Any = value
        self.derivative: Any = None


def iterator_copied() -> MissingRuleError:
    return MissingRuleError(
        "an iterator over what is differentiated is copied or pickled, which its run is no part of; copy "
        "what it goes through, and go through that again",
        user_position(),
    )


class Record:
    """One run. The methods from `call` on say what an operation does to derivatives; the operation on arrays
    itself is done by who asks (`stores.py`)."""

    by_elements = False
    """`elements` and `add_to` are there."""
    sweeps = False
    """There is a way back, and `block`."""

    def __init__(self, context: Any, count: int | None = None) -> None:
        self.context = context
        """The class whose rules say what derivatives are."""
        self.count = count
        self.memory = Memory(count)
        self.numbers: dict[int, Number] = {}
        self.buffers: dict[int, tuple[Any, Array]] = {}
        """Of array.arrays that the run has met, the array by which their memory is known."""
        self.copies: list[Any] = []
        """Arrays that would lie in the same memory, and do not, to have derivatives of their own: they may be
        read, and not be written."""
        self.iterators: set[int] = set()
        self.ufuncs: dict[int, np.ufunc] = {}
        """Those made in the run: what they call is followed."""
        """Identities of the iterators of C code that the run has made: those made before it are none of them,
        as long as they are there."""
        self.opaque: dict[int, Any] = {}
        """By identity, parts of the arguments whose numbers are out of sight (`exposing.py`)."""
        self.doing: Any = None
        """The function of numbers that `unary` or `binary` is told of."""
        self.closed = False
        """Nothing is written down: the run has ended, pauses, or was refused."""
        self.ended = False
        """What goes on (a generator that the run left) is no part of it."""
        self.still = 0
        """So many pauses (`surgery.paused`) have begun and not ended."""
        self.refusals = Refusals()
        self.paused: list[int] = []
        """Those that `surgery.resumed` has set aside."""
        self.suspects = Suspects()
        self.kept: dict[Any, Any] = {}
        """What was put where: `left.py`."""
        self.escaped = Escaped()
        self.outputs: Any = None
        """Of the region that was done last, until they are taken."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Iterators over arrays lead here, and can be copied."""
        raise iterator_copied()

    def refuse(self, error: Refused, carrier: BaseException | None = None) -> None:
        """`error` is raised, or in its place `carrier`: nothing more is written down."""
        if not self.ended:
            self.refusals.remember(error, carrier)
            self.closed = True

    def pause(self) -> None:
        self.still += 1
        self.closed = True

    def resume(self) -> None:
        self.still -= 1
        self.settle()

    def settle(self) -> None:
        self.closed = self.ended or self.still > 0 or self.refusals.first is not None

    def end(self) -> None:
        self.still, self.ended, self.closed = 0, True, True

    # -- what is known -------------------------------------------------------------------------------------

    def is_active(self, value: Any) -> bool:
        """A number or array that depends on what is differentiated."""
        if issubclass(type(value), np.ndarray):
            return self.memory.is_active(value)
        if id(value) in self.numbers:
            return True
        return shows(type(value)) and windows.is_active(self, value)

    def view(self, buffer: Any) -> Array:
        """The array that lies in the memory of an array.array, the same one each time."""
        found = self.buffers.get(id(buffer))
        if found is None:
            found = self.buffers[id(buffer)] = (buffer, view_of(buffer))
            self.memory.views.add(id(found[1]))
        return found[1]

    def release(self) -> None:
        """Nothing more is asked: an array.array whose memory is held here could not become longer."""
        if self.buffers:
            self.suspects.left.clear()
            self.memory = Memory(self.memory.count)
            self.buffers.clear()

    def any_active(self, values: Any) -> bool:
        """Some number or array in `values`, containers included, is; none while the run pauses."""
        return not self.still and any(self.is_active(leaf) for leaf in leaves(values))

    def track(self, value: Any) -> None:
        """From now on `value`, a number or array, depends on what is differentiated."""
        if shows(type(value)):
            value = windows.opened(self, value)
        if issubclass(type(value), np.ndarray):
            self.memory.activate(value)
        elif id(value) not in self.numbers:
            self.numbers[id(value)] = Number(value)

    def suspect(self, value: Any, stored: bool) -> None:
        """`value`, which was there before, may be what an earlier run has computed: `remembered.py`."""
        self.track(value)

    def follow_left(self, left: Any) -> None:
        """A number or array was left by an earlier run."""
        self.track(left.value)

    def own(self, callee: Any, y: Any, operands: Sequence[Any]) -> Any:
        """`y`, which a user's rule returned; another object where it is one of the operands, for the rule
        says what its derivative is."""
        if not self.context.ad_ruled(callee) or not any(y is operand for operand in operands):
            return y
        if issubclass(type(y), np.ndarray):
            return self.apart(y)
        return another(y) if is_number(y) else y

    def made(self, y: Any) -> Any:
        """Of a result, what is new in it and has a derivative, from now on tracked; None where nothing is."""
        if is_number(y) or (issubclass(type(y), np.ndarray) and y.dtype.kind in "fc"):
            if self.is_active(y):
                return None  # an operand, or a view of one
            self.track(y)
            return y
        if issubclass(type(y), (tuple, list)):
            parts = [self.made(item) for item in y]
            new = any(p is not None for p in parts)
            return None if not new else tuple(parts) if issubclass(type(y), tuple) else parts
        if issubclass(type(y), dict):
            found = {key: self.made(item) for key, item in y.items()}
            return found if any(p is not None for p in found.values()) else None
        return None

    def apart(self, array: Array) -> Array:
        """What stands for `array`, with a derivative of its own."""
        made = array.copy()
        self.copies += [array, made]
        return made

    def copied(self, array: Array) -> Array:
        """A copy for an operation whose result goes where `array` lies."""
        return array.copy()

    def note(self, operands: Any) -> None:
        """The arrays among the operands are read once more."""

    def read(self, array: Array, index: Any, out: Any) -> None:
        """out = array[index] is a number, or a copy."""
        self.track(out)
        self.item(array, index, out)

    def join(self, array: Array, index: Any = ...) -> None:
        """array[index] is about to be written: the names of that memory are one from now on."""
        for own in self.memory.about_to_join(array, index):
            self.memory.join(own)

    # -- to be said by a mode ------------------------------------------------------------------------------

    def call(self, callee: Any, operands: Sequence[Any], kwnames: tuple[str, ...]) -> Any:
        """callee(*operands), the last of them by keyword."""
        raise NotImplementedError

    def item(self, array: Array, index: Any, out: Any) -> None:
        raise NotImplementedError

    def unary(self, y: Number, x: Number, partial: Any, a: Any) -> None:
        """y = f(a); `partial` is the function (a, y) -> df/da."""
        raise NotImplementedError

    def binary(
        self, y: Number, first: Number | None, second: Number | None, of_a: Any, of_b: Any, a: Any, b: Any
    ) -> None:
        """y = f(a, b); the partials are functions (a, b, y), None where they are zero."""
        raise NotImplementedError

    def elements(self, y: Array, args: tuple[Any, ...], operands: Sequence[Any]) -> None:
        """y = f(*args), of elements; the partials are functions (*args, y), None where they are zero."""
        raise NotImplementedError

    def add_to(self, array: Array, value: Any, sign: int, kept: Any) -> None:
        """array += sign * value"""
        raise NotImplementedError

    def element(self, y: Number, array: Array, index: Any) -> None:
        """y = array[index], one element."""
        raise NotImplementedError

    def set_element(self, array: Array, index: Any, number: Number | None, before: Any) -> None:
        """array[index] = number, one element, which was `before`."""
        raise NotImplementedError

    def before(self, array: Array, index: Any) -> Any:
        """Called before array[index] is written; what it returns goes to the method that is called after."""
        self.join(array, index)
        return self.keep(array, index)

    def keep(self, array: Array, index: Any) -> Any:
        """As `before`, where it may be written."""

    def unchanged(self, kept: Any) -> None:
        """Something else than a derivative was written there."""

    def store(self, array: Array, index: Any, value: Any, kept: Any) -> None:
        """array[index] = value, where `value` was broadcast and cast."""
        raise NotImplementedError

    def updating(self, f: Any, operands: Sequence[Any], kwnames: tuple[str, ...]) -> Any:
        """f(*operands) is about to be written into an array; what this returns goes to `update`."""
        raise NotImplementedError

    def update(self, array: Array, found: Any, operands: Sequence[Any], kept: Any) -> None:
        raise NotImplementedError

    def move(self, array: Array, values: list[Any], sources: Array, kept: Any) -> None:
        """The elements of `array` are others of its own or of `values`: `sources` numbers them, those of the
        array first."""
        raise NotImplementedError

    def block(self, x: Any, function: Any, given: Sequence[Any]) -> None:
        """Here the way back calls function(cotangent of x, *given), and goes on with what it returns."""
        raise NotImplementedError

    def add_at(self, array: Array, index: Any, value: Any, sign: int, kept: Any) -> None:
        """array[index] += sign * value, each element as often as it is named."""
        raise NotImplementedError


Derivative = Callable[..., Any]
__all__ = ["Number", "Record", "has_shadow"]
