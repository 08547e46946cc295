"""Taking labels off; what can be changed is, in place."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from ctxdispatch.dispatch.strip import Untagging
from ctxdispatch_contexts.tainting.labels import PLAIN, Step, Walk, attributes, put


class Cleaning(Walk):
    def of(self, value: Any) -> Any:
        return self.finish(self.step(value))

    def step(self, value: Any) -> Step:
        bare = self.ctx.untag(value)
        self.ctx.unmark(bare)
        clean = next((clean for cls, clean in self.PARTS if isinstance(bare, cls)), None)
        known = self.again(bare)
        if clean is not None:
            return bare if known and not isinstance(bare, tuple) else (yield clean(self, bare))
        if not known:
            if not issubclass(type(bare), PLAIN) and type(getattr(bare, "__dict__", None)) is dict:
                yield self._dict(bare.__dict__)
            for name, old in attributes(bare).items():
                put(bare, name, (yield self.step(old)))
        return bare

    def _list(self, value: Any) -> Step:
        for k, item in enumerate(value):
            clean = yield self.step(item)
            if clean is not item:
                value[k] = clean
        return value

    def _array(self, value: Any) -> Step:
        if value.dtype == object:
            yield self._list(value.reshape(-1) if value.flags.c_contiguous else value.flat)
        return value

    def _tuple(self, value: Any) -> Step:
        made = yield self.each(value)
        return value if all(a is b for a, b in zip(made, value)) else tuple.__new__(type(value), made)

    def _dict(self, value: Any) -> Step:
        keys, values = (yield self.each([*value.keys()])), (yield self.each([*value.values()]))
        items = [*zip(value.keys(), value.values(), keys, values)]
        renamed = any(k is not clean for k, _, clean, _ in items)
        if renamed:
            value.clear()  # in its order again
        for _, v, key, item in items:
            if renamed or item is not v:
                value[key] = item
        return value

    def _set(self, value: Any) -> Step:
        made = yield self.each(value)
        if all(a is b for a, b in zip(made, value)):
            return value
        if isinstance(value, frozenset):
            return type(value)(made)
        value.clear()
        value.update(made)
        return value

    PARTS: tuple[Any, ...] = (
        (Untagging, lambda self, value: self.step(value.iterator)),
        (list, _list), (deque, _list), (tuple, _tuple), (dict, _dict), (set, _set), (frozenset, _set),
        (np.ndarray, _array),
    )  # fmt: skip
