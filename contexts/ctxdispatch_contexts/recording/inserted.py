"""Blocks of the user's on the way back: `with insert_grad_of(x) as dx:`, as an entry of the bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ctxdispatch_contexts.programs.errors import DerivativeError
from ctxdispatch_contexts.recording.bars import Bars
from ctxdispatch_contexts.recording.entries import Again
from ctxdispatch_contexts.recording.leaves import is_number
from ctxdispatch_contexts.reverse.cotangents import project


class Inserted:
    """A block of the user's: bar(x) = function(bar(x), *given)"""

    __slots__ = ("x", "function", "given", "where")

    def __init__(self, x: Any, function: Any, given: Sequence[Any], where: str | None) -> None:
        self.x, self.function, self.given, self.where = x, function, given, where

    def back(self, bars: Bars, again: list[Again]) -> None:
        bar = _in_full(bars.take(self.x), self.x)
        bars.add(self.x, self._checked(self.function(bar, *self.given), self.x))

    def back_masks(self, bars: Bars, again: list[Again]) -> None:
        """A mask is none of the block's business."""

    def _checked(self, bar: Any, value: Any) -> Any:
        if issubclass(type(value), (tuple, list, dict)):
            if type(bar) is not type(value) or len(bar) != len(value):
                raise self._refused(f"a {type(bar).__name__} for a {type(value).__name__}")
            if issubclass(type(value), dict):
                return {key: self._checked(bar.get(key), part) for key, part in value.items()}
            return [self._checked(b, part) for b, part in zip(bar, value, strict=True)]
        if bar is None or not (is_number(value) or issubclass(type(value), np.ndarray)):
            return None
        if np.shape(bar) != np.shape(value):
            raise self._refused(f"shape {np.shape(bar)} for shape {np.shape(value)}")
        return project(bar, value)

    def _refused(self, what: str) -> DerivativeError:
        return DerivativeError(
            f"the block of insert_grad_of leaves a cotangent of {what}; a cotangent has the form of its "
            "value",
            self.where,
        )


def _in_full(bar: Any, value: Any) -> Any:
    """A cotangent with its zeros."""
    if issubclass(type(value), dict):
        return {key: _in_full((bar or {}).get(key), part) for key, part in value.items()}
    if issubclass(type(value), (tuple, list)):
        parts = [_in_full(b, part) for b, part in zip(bar or [None] * len(value), value, strict=True)]
        return tuple(parts) if issubclass(type(value), tuple) else parts
    if bar is None and issubclass(type(value), np.ndarray):
        return np.zeros_like(value)
    return type(value)(0) if bar is None and is_number(value) else bar
