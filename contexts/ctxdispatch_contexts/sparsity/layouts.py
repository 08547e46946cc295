"""How arrays lie in memory. That tells whether NumPy makes a view or a copy, and what order "K" and "A" are.

    sample, root = alike(v)    a copy of v that NumPy treats as v itself
    root                       the C-contiguous array that is all of the sample's memory
"""

from __future__ import annotations

from typing import Any

import numpy as np


def in_memory_order(owner: Any) -> Any:
    """An array with its axes as they lie in memory: C-contiguous, if it has no gaps."""
    if owner.flags.c_contiguous:
        return owner
    return owner.transpose(sorted(range(owner.ndim), key=lambda axis: -owner.strides[axis]))


def own_memory(out: Any) -> tuple[Any, Any]:
    """A new array and its root; a copy of what is no memory of its own."""
    if out.base is None and out.flags.writeable and out.flags.owndata:
        root = in_memory_order(out)
        if root.flags.c_contiguous:
            return out, root
    return alike(out)


def alike(v: Any) -> tuple[Any, Any]:
    """Gaps are gaps of one element. What overlaps itself becomes C-contiguous."""
    dense = np.array(v, order="K")
    if same_layout(dense, v):
        return dense, in_memory_order(dense)
    if overlaps(v):
        dense = np.array(v, order="C")
        return dense, dense
    return _with_gaps(v)


def _with_gaps(v: Any) -> tuple[Any, Any]:
    axes = _inner_first(v)
    lengths, end = [1], v.itemsize
    for axis in axes:
        lengths[-1] += abs(v.strides[axis]) != end
        lengths.append(v.shape[axis])
        end = abs(v.strides[axis]) * v.shape[axis]
    root = np.zeros(lengths[::-1], v.dtype)
    steps = [slice(None, v.shape[a]) for a in reversed(axes)]
    view = root[(*steps, 0)]
    view = view[tuple(slice(None, None, -1 if v.strides[a] < 0 else 1) for a in reversed(axes))]
    sample = view.transpose(np.argsort(axes[::-1])).reshape(v.shape)
    sample[...] = v
    return sample, root


def overlaps(v: Any) -> bool:
    """Whether two elements may be one."""
    end = v.itemsize
    for axis in _inner_first(v):
        if abs(v.strides[axis]) < end:
            return bool(v.size)
        end += abs(v.strides[axis]) * (v.shape[axis] - 1)
    return False


def _inner_first(v: Any) -> list[int]:
    """The axes in which there is a step."""
    return sorted((a for a in range(v.ndim) if v.shape[a] > 1), key=lambda axis: abs(v.strides[axis]))


def same_layout(a: Any, b: Any) -> bool:
    """Of two arrays of one shape, up to the sizes of their elements."""
    if not a.size:
        return True
    sizes = (a.itemsize, b.itemsize)
    steps = zip(a.shape, a.strides, b.strides, strict=True)
    return all(n == 1 or s * sizes[1] == t * sizes[0] for n, s, t in steps)


def common(a: Any, b: Any) -> tuple[Any, Any] | None:
    """Of an array that is laid out as `a` or as `b`: a copy of `a`, of which everything is a view that is
    one of either. None: what is made of them is in one order or another."""
    if same_layout(a, b):
        return alike(a)
    dense = np.array(a, order="K")
    return (dense, in_memory_order(dense)) if same_layout(dense, np.array(b, order="K")) else None


__all__ = ["alike", "common", "in_memory_order", "overlaps", "own_memory", "same_layout"]
