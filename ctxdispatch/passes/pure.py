"""Functions that transforms make, of which passes know what they know of NumPy's.

A call of a `PureFunction` has no effect, runs none of the user's code, gives a new result, and the type of
that is known from the types of the arguments. A call that nobody reads can go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ctxdispatch.passes.types import Type


class PureFunction:
    """Compared by identity, and hashable."""

    def result_type(self, args: Sequence[Type]) -> Type:
        """The type of what it returns for arguments of these types; `Any` where that is not known."""
        raise NotImplementedError
