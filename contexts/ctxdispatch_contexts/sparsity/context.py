"""`SparsityContext`: `overdub(SparsityContext(), f, *args)` is the pattern of f's Jacobian."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.dispatch import Context
from ctxdispatch_contexts.sparsity.api import Mode, jacobian_sparsity
from ctxdispatch_contexts.sparsity.errors import SparsityError
from ctxdispatch_contexts.sparsity.pattern import SparsityPattern


class SparsityContext(Context):
    """Sparsity detection: the result is the pattern of the Jacobian with respect to all float arguments,
    floats and arrays of floats (see `jacobian_sparsity`)."""

    mode: Mode = "global"

    def program(
        self, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Callable[..., SparsityPattern]:
        def pattern(*args: Any, **kwargs: Any) -> SparsityPattern:
            if kwargs:
                raise SparsityError(
                    "SparsityContext takes positional arguments; bind others with functools.partial"
                )
            argnums = [i for i, a in enumerate(args) if _is_float(a)]
            return jacobian_sparsity(f, *args, argnums=argnums, mode=self.mode)

        return pattern


def _is_float(v: Any) -> bool:
    if isinstance(v, (list, tuple)):
        return bool(v) and all(map(_is_float, v))
    return isinstance(v, (float, np.floating)) or (isinstance(v, np.ndarray) and v.dtype.kind == "f")
