"""Through what Python code runs besides calls: `a + b` runs `__add__`, `sorted(xs, key=f)` runs `f`.

`BY_IDENTITY` maps the id of such a callee to a handler, `BY_TYPE` the type of one, as `reach` says. Two rules
hold throughout. What has no Python code in it is left to the interpreter: in doubt it is native, and so
exactly Python's. And rules and hooks are for what Python code does: what C code does by itself (the additions
of `sum`, the comparisons of `sorted`) is no call of theirs, though the Python code that it runs is under the
context like any other.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable, Sequence
from typing import Any

from ctxdispatch.dispatch import reach
from ctxdispatch.dispatch.protocols import (
    attributes,
    callbacks,
    containers,
    conversions,
    getters,
    iteration,
    operators,
    paths,
    streams,
)
from ctxdispatch.dispatch.reach import Handler
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401

HANDLERS: dict[Any, Handler] = {
    **iteration.HANDLERS,
    **operators.HANDLERS,
    **conversions.HANDLERS,
    **attributes.HANDLERS,
    **containers.HANDLERS,
    **callbacks.HANDLERS,
    **getters.HANDLERS,
    **paths.HANDLERS,
    **streams.HANDLERS,
}

OPERATIONS: dict[Any, Handler] = {
    **operators.HANDLERS,
    **conversions.OPERATIONS,
    **attributes.HANDLERS,
    **containers.OPERATIONS,
    builtins.iter: iteration.HANDLERS[builtins.iter],
    builtins.next: iteration.HANDLERS[builtins.next],
}
"""Those that run special methods themselves, and hand no stand-in to C code that asks for them later."""

BY_FIRST: tuple[Any, ...] = (*conversions.BY_FIRST, *iteration.BY_FIRST)
"""Those that ask nothing but the class of their argument, where they have one, whether it is native."""

NATIVELY: dict[int, Callable[[Sequence[Any]], bool]] = {
    id(f): test for f, test in (*attributes.NATIVELY.items(), *containers.NATIVELY.items())
}
"""By id, of operations: whether the interpreter does it on these operands and runs no Python code."""

BY_IDENTITY: dict[int, Handler] = {id(f): handler for f, handler in HANDLERS.items()}
"""By id: a callee need not be hashable. `HANDLERS` keeps the ids from being reused."""

BY_TYPE: dict[type, Handler] = {**reach.BY_TYPE, **getters.BY_TYPE}


def of_function(f: types.FunctionType) -> Handler | None:
    """The handler of Python code that is in a table all the same: a primitive, a library's function."""
    return BY_IDENTITY.get(id(f)) or callbacks.PYTHON.get((f.__module__, f.__qualname__))


__all__ = [
    "BY_FIRST", "BY_IDENTITY", "BY_TYPE", "HANDLERS", "NATIVELY",
    "OPERATIONS", "of_function",
]  # fmt: skip
