"""Code of the user's in the reverse sweep: hooks on cotangents, as functions or as blocks.

    y = insert_grad_of(x, hook)              the cotangent of this use of `x` is what `hook` makes of it
    with insert_grad_of(x) as dx: ..         the block runs when the sweep comes by

In the plain run, and in forward mode, a block is skipped: entering it has the interpreter raise `Skipped` in
the block's own frame, before its first instruction, and leaving it takes that back. A recorded run makes a
function of the block's source (`source_of_blocks.py`) and writes that down.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from ctxdispatch_contexts.programs.errors import user_frame
from ctxdispatch_contexts.reverse.context import ADContext

BINDS = frozenset(
    code for name, code in dis.opmap.items() if name.startswith(("STORE_", "UNPACK_SEQUENCE", "POP_TOP"))
)
"""What a block begins with: what entering it returned is bound, or not used."""


def insert_grad_of(x: Any, hook: Callable[[Any], Any] | None = None) -> Any:
    """`x`; in the reverse sweep its cotangent is what `hook` makes of it.

        x = insert_grad_of(x, lambda dx: np.clip(dx, -1.0, 1.0))
        x = insert_grad_of(x, print)                              # None: it is left as it is

        with insert_grad_of(x) as dx:
            print(dx)
            dx = np.clip(dx, -1.0, 1.0)

    `hook` is called where the cotangent of this use of `x` is complete; once per call of a pullback. A block
    runs where the cotangent is complete of all uses of `x` that come after the block, under whatever name;
    what it leaves in `dx` takes its place. It sees its function's variables as they were when the program
    came by, and its own assignments are seen by nobody else. A plain run skips it. Neither has a part in
    forward mode.

    After Tangent's statement of that name (van Merrienboer, Moldovan, Wiltschko: "Tangent: Automatic
    differentiation using source-code transformation", 2018).
    """
    return Insertion(x) if hook is None else hooked(x, hook)


def hooked(x: Any, hook: Callable[[Any], Any]) -> Any:
    """`x`, on the way back to which there is a hook."""
    return x


@ADContext.rule(hooked)
def _hooked(ctx: ADContext, x: Any, hook: Callable[[Any], Any]) -> Any:
    def pullback(ybar: Any) -> tuple[Any, ...]:
        found = hook(ybar)
        return (ybar if found is None else found, None)

    return x, pullback


class Insertion:
    """`insert_grad_of(x)`, for a with statement."""

    def __init__(self, x: Any) -> None:
        self.x = x
        self.skipped = Skipped("insert_grad_of")

    def __enter__(self) -> None:
        skip(self.skipped, user_frame())

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if error is not self.skipped:
            return False
        self.skipped.put_back()
        return True


class Skipped(BaseException):
    """Ends a block before it begins."""

    before: tuple[Any, ...]
    """Who traced."""

    def put_back(self) -> None:
        """A trace function that raises is no longer one."""
        tracing, frame, own, by_opcode = self.before
        del self.before
        frame.f_trace, frame.f_trace_opcodes = own, by_opcode
        sys.settrace(tracing)


def skip(error: Skipped, frame: FrameType | None) -> None:
    """Raise `error` in `frame`, which is about to enter a block."""
    assert frame is not None
    error.before = (sys.gettrace(), frame, frame.f_trace, frame.f_trace_opcodes)

    def first(frame: FrameType, event: str, arg: Any) -> Any:
        if event == "opcode" and frame.f_code.co_code[frame.f_lasti] in BINDS:
            raise error
        return first

    frame.f_trace, frame.f_trace_opcodes = first, True
    sys.settrace(_no_trace)


def _no_trace(frame: FrameType, event: str, arg: Any) -> None:
    """Of frames that are entered meanwhile."""
