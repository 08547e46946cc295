"""`BroadcastContext`: a scalar function over arrays as a context."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ctxdispatch.dispatch import Context
from ctxdispatch_contexts.forward import DualContext


class BroadcastContext(Context):
    """Broadcasting as a context (Revels et al. 2018): `overdub(BroadcastContext(), f, *arrays)` is f of each
    element, with NumPy's broadcasting, run as one fused kernel.

    With `wrt`, the indices of arguments, the result is (y, partials): per argument in `wrt` the array of the
    partial derivatives of y with respect to it, of y's shape; of a function of several results, a tuple of
    them. The other fields are the options of `broadcast`.
    """

    wrt: int | tuple[int, ...] | None = None
    partials: str = "recompute"
    fastmath: bool = False
    backend: str = "auto"
    threads: int | None = None

    def program(self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
        from ctxdispatch_contexts.broadcast.api import kernel_of, operand

        options = {
            "partials": self.partials, "fastmath": self.fastmath, "backend": self.backend,
            "threads": self.threads, "wrt": (self.wrt,) if isinstance(self.wrt, int) else self.wrt,
        }  # fmt: skip
        function = kernel_of(f, len(args), **options)
        if not any(isinstance(a, (list, tuple)) for a in args):
            return function
        return lambda *arrays: function(*[operand(a) if isinstance(a, (list, tuple)) else a for a in arrays])

    @classmethod
    def ad_ruled(cls, callee: Any) -> bool:
        """It has a derivative rule of a user's, which kernels refuse."""
        return DualContext.ad_ruled(callee)

    ad_entries: Any = None
