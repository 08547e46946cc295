"""Labels, and how they are put on values."""

from __future__ import annotations

import types
from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ctxdispatch.dispatch import Context

if TYPE_CHECKING:
    from ctxdispatch_contexts.tainting.context import TaintContext


class Labels(frozenset[str]):
    """A set of labels; prints sorted."""

    def __repr__(self) -> str:
        return f"{{{', '.join(map(repr, sorted(self)))}}}"


# -- what is in a value ------------------------------------------------------------------------------

PLAIN = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, type, types.ModuleType, np.ufunc,
    np.random.Generator, Context,
)  # fmt: skip
"""What is no data."""

ATOMS = (int, float, complex, str, bytes, type(None), tuple, frozenset, range, np.generic)


def attributes(value: Any) -> dict[str, Any]:
    """What an object holds, in its `__dict__` and its slots; nothing of what is no data."""
    if issubclass(type(value), (*PLAIN, *ATOMS)):
        return {}
    own = dict(getattr(value, "__dict__", ()))
    for name in [n for cls in type(value).__mro__ for n in _slots(cls)]:
        if hasattr(value, name):
            own[name] = getattr(value, name)
    return own


def _slots(cls: type) -> list[str]:
    return [n for n, held in vars(cls).items() if type(held) is types.MemberDescriptorType and _is_own(cls)]


def _is_own(cls: type) -> bool:
    """Made by a `class` statement: what C code shows as a member is not to be assigned to."""
    return bool(cls.__flags__ & 1 << 9) and "__slots__" in vars(cls)


def put(value: Any, name: str, item: Any) -> None:
    if name in getattr(value, "__dict__", ()):
        value.__dict__[name] = item
    elif getattr(value, name) is not item:
        object.__setattr__(value, name, item)


Step = Generator["Step", Any, Any]
"""One value of a walk: it yields the steps of what is in the value, gets what they return, and returns its
own."""


class Walk:
    """Each object once. Lists of lists may be as deep as there is memory: steps wait in a list of ours."""

    def __init__(self, ctx: TaintContext, granular: bool = False) -> None:
        self.ctx, self.granular = ctx, granular
        self.seen: dict[int, Any] = {}

    def step(self, value: Any, *said: Any) -> Step:
        raise NotImplementedError

    def each(self, values: Iterable[Any], *said: Any) -> Step:
        """Several values, of which the same is said."""
        made = []
        for value in values:
            done = yield self.step(value, *said)
            made.append(done)
        return made

    @staticmethod
    def finish(first: Step) -> Any:
        """What the step returns, the steps that it yields done."""
        waiting, result = [first], None
        while waiting:
            try:
                waiting.append(waiting[-1].send(result))
                result = None
            except StopIteration as end:
                waiting.pop()
                result = end.value
        return result

    def again(self, value: Any) -> bool:
        known = id(value) in self.seen
        self.seen[id(value)] = value
        return known


class Labelling(Walk):
    def of(self, value: Any, name: str) -> Any:
        return self.finish(self.step(value, name))

    def step(self, value: Any, name: str) -> Step:
        if issubclass(type(value), PLAIN):
            return value
        if self.granular:
            parts = next((put for cls, put in self.PARTS if isinstance(value, cls)), None)
            if parts is not None:
                known = self.again(value) and not isinstance(value, tuple)
                return value if known else (yield parts(self, value, name))
        if isinstance(value, ATOMS):
            return self.ctx.tag(value, Labels({name, *(self.ctx.metadata(value) or ())}))
        own = attributes(value) if self.granular else {}
        if own and not self.again(value):
            for k, item in own.items():
                put(value, k, (yield self.step(item, f"{name}.{k}")))
            return value
        self.ctx.mark(value, Labels({name}))
        return value

    def _items(self, value: Any, name: str) -> Step:
        made = []
        for k, item in enumerate(value):
            made.append((yield self.step(item, f"{name}[{k}]")))
        return made

    def _list(self, value: list[Any], name: str) -> Step:
        value[:] = yield self._items(value, name)
        return value

    def _tuple(self, value: Any, name: str) -> Step:
        return tuple.__new__(type(value), (yield self._items(value, name)))

    def _dict(self, value: dict[Any, Any], name: str) -> Step:
        for k, item in [*value.items()]:
            value[k] = yield self.step(item, f"{name}[{k!r}]")
        return value

    def _array(self, value: Any, name: str) -> Step:
        yield from ()
        if value.dtype == object:
            self.ctx.mark(value, Labels({name}))
            return value
        for index in np.ndindex(value.shape):
            path = f"{name}[{', '.join(map(str, index))}]" if index else name
            self.ctx.mark_element(value, index, Labels({path}))
        return value

    PARTS = ((list, _list), (tuple, _tuple), (dict, _dict), (np.ndarray, _array))
