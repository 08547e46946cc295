"""The labels that a value has, and all that is in it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from ctxdispatch.dispatch.holding import held_by, is_holder, metadata_of
from ctxdispatch_contexts.tainting.labels import Labels, Walk, attributes

if TYPE_CHECKING:
    from ctxdispatch_contexts.tainting.context import TaintContext


def labels_of(ctx: TaintContext, value: Any, above: frozenset[str] = frozenset()) -> Any:
    """The labels of `value`, in its structure."""
    return _Reading(ctx).of(value, above)


class _Reading(Walk):
    def of(self, value: Any, above: frozenset[str]) -> Any:
        bare = self.ctx.untag(value)
        labels = Labels(above.union(self.ctx.metadata(value) or (), *self.ctx.marks(bare)))
        read = next((read for cls, read in self.PARTS if isinstance(bare, cls)), None)
        if read is None and is_holder(bare):
            read = _Reading._held
        if read is not None and (isinstance(bare, _ACYCLIC) or not self.again(bare)):
            return read(self, bare, labels)
        own = attributes(bare)
        return {k: self.of(v, labels) for k, v in own.items()} if own and not self.again(bare) else labels

    def _held(self, value: Any, labels: Labels) -> Any:
        """All that is in what has no structure of its own to show."""
        items = value if isinstance(value, set | frozenset) else held_by(value)
        own = metadata_of(value)
        return Labels(labels.union(*own, *(union(self.of(item, frozenset())) for item in items)))

    def _sequence(self, value: Any, labels: Labels) -> Any:
        if not value:
            return labels
        made = [self.of(item, labels) for item in value]
        return made if isinstance(value, list | deque) else tuple.__new__(type(value), made)

    def _array(self, value: Any, labels: Labels) -> Any:
        if value.dtype == object:
            each = [self.of(item, labels) for item in value.flat]
        else:
            shadow = self.ctx.elements(value)
            each = [Labels(labels.union(*boxes)) for boxes in shadow]
        made = np.empty(value.shape, dtype=object)
        for index, found in zip(np.ndindex(value.shape), each):
            made[index] = found
        return made if value.ndim else made[()]

    def _dict(self, value: Any, labels: Labels) -> Any:
        if not value:
            return labels
        return {self.ctx.untag(k): self.of(v, labels | self.of(k, frozenset())) for k, v in value.items()}

    PARTS: tuple[Any, ...] = (
        (list, _sequence), (deque, _sequence), (tuple, _sequence), (np.ndarray, _array), (dict, _dict),
        ((set, frozenset), _held),
    )  # fmt: skip


_ACYCLIC = (tuple, set, frozenset, np.ndarray)
"""What is in itself by way of others only."""


def all_labels(ctx: TaintContext, value: Any) -> Labels:
    return union(labels_of(ctx, value))


def union(labels: Any) -> Labels:
    if isinstance(labels, Labels):
        return labels
    each: Iterable[Any] = labels.values() if isinstance(labels, dict) else labels
    parts = each.flat if isinstance(each, np.ndarray) else each
    return Labels(frozenset().union(*map(union, parts)))
