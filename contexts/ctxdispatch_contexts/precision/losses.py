"""Which operations lost digits, by line, and which comparisons came out differently."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ctxdispatch.dispatch.where import position, user_frame
from ctxdispatch.ir.values import Position

__undispatched__ = True

NOWHERE = Position("<unknown>", "<unknown>", 0)
WORTH = 0.5
"""Fewer digits than this are no loss that is recorded."""


class Loss(NamedTuple):
    """What was lost at one line. `digits`: the most that one operation lost there, the relative error of its
    result over that of its operands; `error`: the worst relative error of a result; `times`: how often
    something was lost; `operation` and `operands` are those of the worst."""

    where: Position
    digits: float
    error: float
    times: int
    operation: str
    operands: tuple[Any, ...]
    """As (low, high) in turn."""

    def __str__(self) -> str:
        lost = f"{self.digits:4.1f} digits, relative error {self.error:.1e}, {self.times} times"
        return f"{lost}: {self.operation} at {self.where}"


class Divergence(NamedTuple):
    """A comparison whose outcome depends on the precision."""

    where: Position
    operation: str
    times: int

    def __str__(self) -> str:
        return f"{self.operation} differs between the precisions, {self.times} times, at {self.where}"


class Losses:
    """What a run lost. `low`, `high`: the dtypes; `follow`: "high" or "low", whose way the program goes."""

    def __init__(self, low: Any = np.float32, high: Any = np.float64, follow: str = "high") -> None:
        if follow not in ("low", "high"):
            raise ValueError(f'follow is "high" or "low", not {follow!r}')
        self.low, self.high = np.dtype(low).type, np.dtype(high).type
        self.follow = follow
        info = np.finfo(self.low)
        self.unit = float(info.eps) / 2
        """The relative error of one rounding in the lower precision."""
        self.most = -math.log10(self.unit)
        """All the digits that it has."""
        self._lost: dict[tuple[str, int], Loss] = {}
        self._diverged: dict[tuple[str, int, str], Divergence] = {}

    @property
    def lines(self) -> list[Loss]:
        """One per line, the worst first."""
        return sorted(self._lost.values(), key=lambda loss: (-loss.digits, -loss.error, loss.where[:3]))

    @property
    def divergences(self) -> list[Divergence]:
        """One per comparison, in the order in which they were met."""
        return [*self._diverged.values()]

    def text(self, limit: int | None = 20) -> str:
        """The report: lines where most digits were lost, `limit` of them (None: all), then divergences."""
        lines = self.lines
        head = f"{np.dtype(self.low)} beside {np.dtype(self.high)}: digits were lost at {len(lines)} lines"
        shown = lines if limit is None else lines[:limit]
        return "\n".join([head, *map(str, shown), *map(str, self.divergences)])

    # -- recording ---------------------------------------------------------------------------------

    def observe(self, operation: str, error: float, before: float, operands: tuple[Any, ...]) -> None:
        """The result of an operation has this relative error, the worst of its operands had that before."""
        digits = min(self.most, math.log10(max(error, self.unit) / max(before, self.unit)))
        if digits < WORTH:
            return
        where = _where()
        key = (where.filename, where.line or 0)
        known = self._lost.get(key)
        times = 1 if known is None else known.times + 1
        if known is None or digits > known.digits:
            worst = error if known is None else max(error, known.error)
            self._lost[key] = Loss(where, digits, worst, times, operation, operands)
        else:
            self._lost[key] = known._replace(times=times, error=max(error, known.error))

    def diverged(self, operation: str) -> None:
        """A comparison comes out another way in the other precision, where the program is."""
        where = _where()
        key = (where.filename, where.line or 0, operation)
        known = self._diverged.get(key)
        self._diverged[key] = Divergence(where, operation, 1 if known is None else known.times + 1)


def _where() -> Position:
    frame = user_frame()
    return NOWHERE if frame is None else position(frame)


def relative_error(low: Any, high: Any) -> float:
    """The largest of all elements; of what is 0, or overflows, in one precision only: 1."""
    low, high = np.asarray(low, dtype=np.longdouble), np.asarray(high, dtype=np.longdouble)
    if not high.size:
        return 0.0
    with np.errstate(all="ignore"):
        same = (low == high) | (np.isnan(low) & np.isnan(high))
        error = np.abs(low - high) / np.abs(high)
    error = np.where(same, 0.0, np.where(np.isfinite(error), np.minimum(error, 1.0), 1.0))
    return float(error.max())
