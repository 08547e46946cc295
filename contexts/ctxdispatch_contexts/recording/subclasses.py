"""Operations on arrays of subclasses of np.ndarray that NumPy's C code does.

Rules compute with their operands, and operators of a subclass may be its own: `*` of np.matrix is a product
of matrices. So what is written down is the same operation on the same memory, seen as plain arrays; its
result has the class, the axes and the attributes that the subclass gives it.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ctxdispatch_contexts.programs.errors import MissingRuleError, described, given, user_position


def of_subclasses(record: Any, callee: Any, operands: Sequence[Any], kwnames: tuple[str, ...]) -> Any:
    """callee(*operands), the last of them by keyword."""
    n = len(operands) - len(kwnames)
    y = callee(*operands[:n], **dict(zip(kwnames, operands[n:], strict=True)))
    made = record.call(callee, operands, kwnames)
    if not _same(y, made):
        raise MissingRuleError(
            f"{described(callee)} has no derivative rule for ({given(operands)}), of which the class makes "
            "something else than of arrays; use `np.asarray` of them",
            user_position(),
        )
    if issubclass(type(y), np.ndarray) and not issubclass(type(made), np.ndarray):
        made = record.call(np.asarray, (made,), ())  # of a subclass NumPy makes no scalars
    return formed(made, y)


def plain(value: Any) -> Any:
    """`value`, lists and tuples too, with arrays in the place of those of subclasses that have no masks."""
    if issubclass(type(value), np.ndarray):
        seen = type(value) is np.ndarray or issubclass(type(value), np.ma.MaskedArray)
        return value if seen else np.ndarray.view(value, np.ndarray)
    if type(value) is list or type(value) is tuple:
        items = [plain(item) for item in value]
        return value if all(map(operator.is_, items, value)) else type(value)(items)
    return value


def _same(y: Any, made: Any) -> bool:
    """The numbers are the same, whatever holds them."""
    if issubclass(type(y), (tuple, list)):
        return len(y) == len(made) and all(map(_same, y, made))
    if issubclass(type(y), np.ndarray):
        return np.array_equal(np.ravel(plain(y)), np.ravel(made), equal_nan=y.dtype.kind in "fc")
    return True


def formed(made: Any, y: Any) -> Any:
    """`made`, in the form of `y`."""
    if issubclass(type(y), (tuple, list)):
        parts = [formed(a, b) for a, b in zip(made, y, strict=True)]
        return parts if issubclass(type(y), list) else tuple(parts)
    if not issubclass(type(y), np.ndarray) or type(y) is type(made) or not issubclass(type(made), np.ndarray):
        return made
    out = made.reshape(y.shape).view(type(y))
    if hasattr(y, "__dict__"):
        out.__dict__.update(y.__dict__)
    return out


__all__ = ["formed", "of_subclasses", "plain"]
