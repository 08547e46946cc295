"""Warnings of NumPy's ("divide by zero encountered in divide") at the line of the program, not here.

Invariant: whether NumPy ignores, warns or raises is what the program has set (`np.errstate`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from ctxdispatch.dispatch.where import position, user_frame

__undispatched__ = True

OF_OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "pow": "power", "matmul": "matmul", "neg": "negative", "abs": "absolute",
}  # fmt: skip
"""What NumPy calls them."""


def warnings_at_the_line(f: Any, name: str, pairs: Sequence[Any]) -> AbstractContextManager[Any]:
    """Around what is done with `pairs`. Python's own floats do not warn."""
    now = np.geterr()
    if all(pair.plain for pair in pairs) or "warn" not in now.values() or not _FREE.isdisjoint(now.values()):
        return nullcontext()
    told: Any = {kind: "call" for kind, way in now.items() if way == "warn"}
    if getattr(f, "__module__", None) in ("_operator", "builtins") and name in OF_OPERATORS:
        of_arrays = any(np.ndim(pair.high) for pair in pairs)
        name = OF_OPERATORS[name] if of_arrays else f"scalar {OF_OPERATORS[name]}"
    return np.errstate(call=_warning(name), **told)


_FREE = frozenset({"call", "log"})
"""Ways for which the program has a function of its own."""


def _warning(name: str) -> Callable[[str, int], None]:
    def warn(what: str, flag: int) -> None:
        message, frame = f"{what} encountered in {name}", user_frame()
        if frame is None:
            warnings.warn(message, RuntimeWarning, stacklevel=2)
            return
        where, module = position(frame), frame.f_globals
        registry = module.setdefault("__warningregistry__", {})
        line = where.line or 1
        warnings.warn_explicit(
            message, RuntimeWarning, where.filename, line, module.get("__name__"), registry
        )

    return warn
