"""Labels, and how they are put on values."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ctxdispatch_contexts.tainting.context import TaintContext


class Labels(frozenset[str]):
    """A set of labels; prints sorted."""

    def __repr__(self) -> str:
        return f"{{{', '.join(map(repr, sorted(self)))}}}"


# -- what is in a value ------------------------------------------------------------------------------

PLAIN = (
    types.FunctionType, types.BuiltinFunctionType, types.MethodType, type, types.ModuleType, np.ufunc,
    np.random.Generator,
)  # fmt: skip
"""What is no data."""

ATOMS = (int, float, complex, str, bytes, type(None), tuple, frozenset, range, np.generic)


def attributes(value: Any) -> dict[str, Any]:
    """What an object holds, in its `__dict__` and its slots; nothing of what is no data."""
    if isinstance(value, (*PLAIN, *ATOMS)):
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


class Walk:
    """Each object once."""

    def __init__(self, ctx: TaintContext, granular: bool = False) -> None:
        self.ctx, self.granular = ctx, granular
        self.seen: dict[int, Any] = {}

    def again(self, value: Any) -> bool:
        known = id(value) in self.seen
        self.seen[id(value)] = value
        return known


class Labelling(Walk):
    def of(self, value: Any, name: str) -> Any:
        if isinstance(value, PLAIN):
            return value
        if self.granular:
            parts = next((put for cls, put in self.PARTS if isinstance(value, cls)), None)
            if parts is not None:
                known = self.again(value) and not isinstance(value, tuple)
                return value if known else parts(self, value, name)
        if isinstance(value, ATOMS):
            return self.ctx.tag(value, Labels({name, *(self.ctx.metadata(value) or ())}))
        own = attributes(value) if self.granular else {}
        if own and not self.again(value):
            for k, item in own.items():
                put(value, k, self.of(item, f"{name}.{k}"))
            return value
        self.ctx.mark(value, Labels({name}))
        return value

    def _list(self, value: list[Any], name: str) -> Any:
        value[:] = [self.of(item, f"{name}[{k}]") for k, item in enumerate(value)]
        return value

    def _tuple(self, value: Any, name: str) -> Any:
        return tuple.__new__(type(value), [self.of(item, f"{name}[{k}]") for k, item in enumerate(value)])

    def _dict(self, value: dict[Any, Any], name: str) -> Any:
        for k, item in [*value.items()]:
            value[k] = self.of(item, f"{name}[{k!r}]")
        return value

    def _array(self, value: Any, name: str) -> Any:
        if value.dtype == object:
            self.ctx.mark(value, Labels({name}))
            return value
        for index in np.ndindex(value.shape):
            path = f"{name}[{', '.join(map(str, index))}]" if index else name
            self.ctx.mark_element(value, index, Labels({path}))
        return value

    PARTS = ((list, _list), (tuple, _tuple), (dict, _dict), (np.ndarray, _array))
