"""Taking labels off; what can be changed is, in place."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from ctxdispatch_contexts.tainting.labels import PLAIN, Walk, attributes, put


class Cleaning(Walk):
    def of(self, value: Any) -> Any:
        bare = self.ctx.untag(value)
        self.ctx.unmark(bare)
        clean = next((clean for cls, clean in self.PARTS if isinstance(bare, cls)), None)
        if clean is not None:
            return bare if self.again(bare) and not isinstance(bare, tuple) else clean(self, bare)
        if not self.again(bare):
            if not isinstance(bare, PLAIN) and type(getattr(bare, "__dict__", None)) is dict:
                self._dict(bare.__dict__)
            for name, old in attributes(bare).items():
                put(bare, name, self.of(old))
        return bare

    def _list(self, value: Any) -> Any:
        for k, item in enumerate(value):
            clean = self.of(item)
            if clean is not item:
                value[k] = clean
        return value

    def _array(self, value: Any) -> Any:
        if value.dtype == object:
            self._list(value.reshape(-1) if value.flags.c_contiguous else value.flat)
        return value

    def _tuple(self, value: Any) -> Any:
        made = [*map(self.of, value)]
        return value if all(a is b for a, b in zip(made, value)) else tuple.__new__(type(value), made)

    def _dict(self, value: Any) -> Any:
        items = [(k, v, self.of(k), self.of(v)) for k, v in value.items()]
        renamed = any(k is not clean for k, _, clean, _ in items)
        if renamed:
            value.clear()  # in its order again
        for _, v, key, item in items:
            if renamed or item is not v:
                value[key] = item
        return value

    def _set(self, value: Any) -> Any:
        made = [*map(self.of, value)]
        if all(a is b for a, b in zip(made, value)):
            return value
        if isinstance(value, frozenset):
            return type(value)(made)
        value.clear()
        value.update(made)
        return value

    PARTS: tuple[Any, ...] = (
        (list, _list), (deque, _list), (tuple, _tuple), (dict, _dict), (set, _set), (frozenset, _set),
        (np.ndarray, _array),
    )  # fmt: skip
