"""Classes that a run makes: the body and what the metaclass does are followed.

    class C(Base, metaclass=M, k=v): ...        M.__prepare__, M.__new__, M.__init__
    type.__new__(..)                            runs `__set_name__` and `__init_subclass__` in C (`unseen.py`)
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Callable
from typing import Any

from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch_contexts.programs import ending
from ctxdispatch_contexts.programs.special_methods import LIBRARIES
from ctxdispatch_contexts.recording import unseen
from ctxdispatch_contexts.recording.callees import look_at

Args = tuple[Any, ...]


class _Metaclass:
    """What makes a class for `__build_class__`: the metaclass, under the context."""

    def __init__(self, ctx: Any, given: dict[str, Any]) -> None:
        self.ctx, self.given = ctx, given
        self.cls: Any = None

    def __prepare__(self, name: str, bases: Args, /, **kwargs: Any) -> Any:
        prepare: Callable[..., Any] = resolve(self.ctx, types.prepare_class)
        self.cls, namespace, _ = prepare(name, bases, {**self.given, **kwargs})
        return namespace

    def __call__(self, name: str, bases: Args, namespace: Any, /, **kwargs: Any) -> Any:
        args, module = (name, bases, namespace), str(getattr(self.cls, "__module__", ""))
        if self.cls is not type and module.partition(".")[0] in LIBRARIES:
            return unseen.run_watched(self.ctx, self.cls, args, kwargs)
        return resolve(self.ctx, self.cls)(*args, **kwargs)


def built(ctx: Any, body: Any, name: str, /, *bases: Any, **kwargs: Any) -> Any:
    """The rule for class statements."""
    given = {key: kwargs.pop(key) for key in ("metaclass",) if key in kwargs}
    followed = _Metaclass(ctx, given)
    return builtins.__build_class__(resolve(ctx, body), name, *bases, metaclass=followed, **kwargs)


def made_by(ctx: Any, new: Any, cls: type) -> Any:
    """What makes an object, or a class, where no Python code does."""
    if look_at(cls).ends:
        raise ending.out_of_sight(cls)
    return resolve(ctx, new) if new is type.__new__ else new


RULES = {builtins.__build_class__: built}
