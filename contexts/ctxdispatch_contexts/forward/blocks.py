"""The derivative of a function along one block of tangents, at many points."""

from __future__ import annotations

from typing import Any

from ctxdispatch_contexts.forward.context import DualContext
from ctxdispatch_contexts.forward.entries import forward_function
from ctxdispatch_contexts.programs.derived import entry_of
from ctxdispatch_contexts.programs.staging import Staged


class BlockDerivative:
    """(*args) -> (f(*args), its tangents (k, *shape)) along `seeds` (k, *shape of argument `argnum`), which
    must not change: what depends on them alone is computed once. The tangents may share memory with what is
    kept: they are to be read."""

    def __init__(self, f: Any, argnum: int, seeds: Any) -> None:
        self.function, self.argnum, self.seeds = f, argnum, seeds
        self._staged: dict[int, Staged] = {}

    def __call__(self, *args: Any) -> Any:
        staged = self._staged.get(len(args))
        if staged is None:
            function = forward_function(
                DualContext, self.function, len(args), (), (self.argnum,), True, inner=True
            )
            entry = entry_of(function)
            assert entry is not None
            staged = self._staged[len(args)] = Staged(entry, (self.seeds, len(self.seeds)), args)
        return staged(*args)
