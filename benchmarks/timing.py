"""Interleaved timing: in every round each column runs a burst of calls, so that all see the same machine."""

import statistics
from collections.abc import Callable
from timeit import Timer

from .peers import Prepared

BURST = 2e-3  # seconds: long against the clock's resolution, short against the machine's changes of mood
SLOW = 20e-3  # a call that takes longer has a few rounds only
SLOW_ROUNDS = 3

Seconds = dict[str, list[float]]
"""Column -> seconds per call, a figure for every round."""


def measure(columns: dict[str, Prepared], rounds: int, advance: Callable[[], object]) -> Seconds:
    """Seconds per call of every column, one figure a round (slow columns: of the first rounds)."""
    bursts = {name: Burst(prepared) for name, prepared in columns.items()}
    times: Seconds = {name: [] for name in columns}
    for i in range(rounds):
        for name, burst in bursts.items():
            if i < SLOW_ROUNDS or not burst.slow:
                times[name].append(burst.run())
        advance()
    return times


class Burst:
    """Calls in a loop with positional arguments, as users do: packing `*args` costs as much as SINCOS."""

    def __init__(self, prepared: Prepared) -> None:
        names = [f"a{i}" for i in range(len(prepared.args))]
        bound = dict(zip(names, prepared.args), f=prepared.call)
        self.timer = Timer(f"f({', '.join(names)})", globals=bound)
        self.timer.timeit(1)
        once = self.timer.timeit(1)
        self.slow = once > SLOW
        self.count = 1 if self.slow else self._calibrate()

    def _calibrate(self) -> int:
        count = 1
        while (taken := self.timer.timeit(count)) < BURST / 4:
            count *= 4
        return max(1, round(count * BURST / taken))

    def run(self) -> float:
        return self.timer.timeit(self.count) / self.count


def ratio(times: list[float], base: list[float]) -> float:
    """The median over rounds of times / base: what the machine did to a round, it did to both."""
    return statistics.median(t / b for t, b in zip(times, base))


def difference(times: list[float], base: list[float]) -> float:
    """The median over rounds of times - base."""
    return statistics.median(t - b for t, b in zip(times, base))
