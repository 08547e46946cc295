"""`Dual`: a value and its tangent."""

from __future__ import annotations

from typing import Any


class Dual:
    """`value` and `partials`, its tangent: of the shape and dtype of `value`, or with one axis more, the
    first, along which there are several tangents (a block). The tangent of a container is a container of its
    form, with None for what has none.

    What `overdub(DualContext(), f, ...)` takes and returns. It has no arithmetic: programs compute with
    values and tangents side by side, not with pairs of them.
    """

    __slots__ = ("value", "partials")

    def __init__(self, value: Any, partials: Any) -> None:
        self.value, self.partials = value, partials

    def __repr__(self) -> str:
        return f"Dual({self.value!r}, {self.partials!r})"

    def __iter__(self) -> Any:
        """`y, dy = ...`"""
        return iter((self.value, self.partials))
