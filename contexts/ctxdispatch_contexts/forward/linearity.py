"""What another forward derivative does with the functions that forward programs call: they are linear in
tangents, so it does the same with theirs (see `reverse/linearity.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ctxdispatch_contexts.derivatives import registry
from ctxdispatch_contexts.derivatives.blocks import level
from ctxdispatch_contexts.derivatives.registry import Linear
from ctxdispatch_contexts.forward import (
    containers,
    duals,
    elementwise,
    reading,
    releasing,
    structural,
    tangents,
    walking,
)

POSITIONS: dict[Any, tuple[int, ...]] = {
    tangents.or_zeros: (0,),
    tangents.or_zeros_block: (0,),
    tangents.expand: (0,),
    tangents.as_number: (0,),
    tangents.of_inexact: (0,),
    structural.plus: (0, 1),
    structural.fill: (0,),
    releasing.apart: (0,),
    duals.all_of: (0,),
    reading.entry: (0,),
    reading.entry_or_default: (0, 3),
    reading.pop_entry: (0, 3),
    reading.attribute_or_default: (0, 3),
    reading.content: (0,),
    containers.dict_of: (1, 3),
    containers.concatenated: (2, 4),
    containers.unless_none: (2,),
    containers.function_tangent: (0, 1, 2),
    containers.partial_tangent: (0, 1, 2),
    containers.entries_of: (0,),
    walking.items: (0,),
    walking.as_many: (0,),
    walking.backwards: (0,),
    walking.values_of: (0,),
    walking.items_of_mapping: (0,),
    walking.like_unpacked: (0,),
    walking.next_or: (1, 2),
}

_SHAPELESS = (containers.__name__, reading.__name__, walking.__name__)
"""Their functions look at no shape: a block goes through them like a single tangent."""

for _function, _positions in POSITIONS.items():
    registry.LINEAR[_function] = Linear(_positions, True)

for _function in (structural.plus, duals.all_of, *[f for f in POSITIONS if f.__module__ in _SHAPELESS]):
    registry.BLOCK[_function, None] = _function


def passed_on(block: Any, *values: Any) -> Any:
    """None stays the zero: of what shape, whoever asks knows."""
    return block


for _function in (tangents.or_zeros, tangents.or_zeros_block, tangents.of_inexact, releasing.apart):
    registry.BLOCK[_function, None] = passed_on


def steep_block_of_slope(slope: Any, tangent: Any) -> Any:
    """A block of slopes: the tangent, of one or of k directions, is as it is."""
    return elementwise.steep_times(level(slope, np.ndim(tangent)), tangent)


def steep_block_of_tangent(slope: Any, tangent: Any) -> Any:
    return elementwise.steep_times(slope, level(tangent, np.ndim(slope)))


for _function in (elementwise.times, elementwise.steep_times):
    registry.LINEAR[_function] = Linear((0, 1), False)
    registry.BLOCK[_function, 0] = steep_block_of_slope
    registry.BLOCK[_function, 1] = steep_block_of_tangent
