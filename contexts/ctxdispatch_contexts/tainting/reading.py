"""The labels that a value has, and all that is in it."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from ctxdispatch.dispatch.holding import held_by, is_holder, metadata_of
from ctxdispatch_contexts.tainting.labels import Labels, Step, Walk, attributes

if TYPE_CHECKING:
    from ctxdispatch_contexts.tainting.context import TaintContext


def labels_of(ctx: TaintContext, value: Any, above: frozenset[str] = frozenset()) -> Any:
    """The labels of `value`, in its structure."""
    return _Reading(ctx).of(value, above)


class _Reading(Walk):
    def of(self, value: Any, above: frozenset[str]) -> Any:
        return self.finish(self.step(value, above))

    def step(self, value: Any, above: frozenset[str]) -> Step:
        bare = self.ctx.untag(value)
        labels = Labels(above.union(self.ctx.metadata(value) or (), *self.ctx.marks(bare)))
        read = next((read for cls, read in self.PARTS if isinstance(bare, cls)), None)
        if read is None and is_holder(bare):
            read = _Reading._held
        if read is not None and (isinstance(bare, _ACYCLIC) or not self.again(bare)):
            return (yield read(self, bare, labels))
        own = attributes(bare)
        if not own or self.again(bare):
            return labels
        return dict(zip(own, (yield self.each(own.values(), labels))))

    def _held(self, value: Any, labels: Labels) -> Step:
        """All that is in what has no structure of its own to show."""
        items = value if isinstance(value, set | frozenset) else held_by(value)
        own = metadata_of(value)
        return Labels(labels.union(*own, *map(union, (yield self.each(items, frozenset())))))

    def _sequence(self, value: Any, labels: Labels) -> Step:
        if not value:
            return labels
        made = yield self.each(value, labels)
        return made if isinstance(value, list | deque) else tuple.__new__(type(value), made)

    def _array(self, value: Any, labels: Labels) -> Step:
        if value.dtype == object:
            each = yield self.each(value.flat, labels)
        else:
            shadow = self.ctx.elements(value)
            each = [Labels(labels.union(*boxes)) for boxes in shadow]
        made = np.empty(value.shape, dtype=object)
        for index, found in zip(np.ndindex(value.shape), each):
            made[index] = found
        return made if value.ndim else made[()]

    def _dict(self, value: Any, labels: Labels) -> Step:
        found = {}
        for k, v in value.items():
            of_key = union((yield self.step(k, frozenset())))
            found[self.ctx.untag(k)] = yield self.step(v, labels | of_key)
        return found or labels

    PARTS: tuple[Any, ...] = (
        (list, _sequence), (deque, _sequence), (tuple, _sequence), (np.ndarray, _array), (dict, _dict),
        ((set, frozenset), _held),
    )  # fmt: skip


_ACYCLIC = (tuple, set, frozenset, np.ndarray)
"""What is in itself by way of others only."""


def all_labels(ctx: TaintContext, value: Any) -> Labels:
    """The labels of `value` and of what is in it, by whatever way."""
    return union(labels_of(ctx, value))


def union(labels: Any) -> Labels:
    found: set[str] = set()
    left = [labels]
    while left:
        each = left.pop()
        if isinstance(each, Labels):
            found |= each
        elif isinstance(each, np.ndarray):
            left += each.flat
        else:
            left += each.values() if isinstance(each, dict) else each
    return Labels(found)
