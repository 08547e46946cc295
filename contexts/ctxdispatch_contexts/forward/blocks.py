"""The derivative of a function along one block of tangents, at many points."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from ctxdispatch_contexts.forward.context import DualContext
from ctxdispatch_contexts.forward.entries import forward_function
from ctxdispatch_contexts.programs.derived import entry_of
from ctxdispatch_contexts.programs.staging import Online, Staged


class BlockDerivative:
    """(*args) -> the tangents (k, *shape of the result) along `seeds` (k, *shape of argument `argnum`), which
    must not change: what depends on them alone is computed once. The tangents may share memory with what is
    kept: they are to be read. `finish`, `finish_recorded`: see `Staged`."""

    def __init__(
        self, f: Any, argnum: int, seeds: Any, finish: Callable[[Online], Any] = attrgetter("run"),
        finish_recorded: Callable[[Any], Any] = lambda run: run,
    ) -> None:  # fmt: skip
        self.function, self.argnum, self.seeds = f, argnum, seeds
        self.finish = finish, finish_recorded
        self._staged: dict[int, Staged] = {}

    def __call__(self, *args: Any) -> Any:
        staged = self._staged.get(len(args))
        if staged is None:
            function = forward_function(
                DualContext, self.function, len(args), (), (self.argnum,), True,
                inner=True, alone=True, frozen=True, asking=True,
            )  # fmt: skip
            entry = entry_of(function)
            assert entry is not None
            static = self.seeds, len(self.seeds)
            staged = self._staged[len(args)] = Staged(entry, static, args, *self.finish)
        return staged(*args)
