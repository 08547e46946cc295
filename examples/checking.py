"""What the examples have in common: a check against central differences, and timings beside a peer's."""

import statistics
import time

import numpy as np


def check(name, f, x, gradient, rng, step=1e-6, samples=5):
    """Print how far `gradient` is from central differences of f along random directions."""
    worst = 0.0
    for _ in range(samples):
        along = rng.normal(size=x.shape)
        along /= np.linalg.norm(along)
        expected = (f(x + step * along) - f(x - step * along)) / (2 * step)
        found = np.sum(gradient * along)
        worst = max(worst, abs(found - expected) / max(1.0, abs(expected)))
    print(f"{name:34} within {worst:.1e} of central differences")
    assert worst < 1e-5, "the gradient is wrong"


def timed(*calls, repeat=5):
    """Median seconds of each call, by turns."""
    found = [[] for _ in calls]
    for _ in range(repeat):
        for times, call in zip(found, calls, strict=True):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    return [statistics.median(times) for times in found]


def compare(primal, gradient, peer=None, name=""):
    """Print what the gradient costs, in times the program itself, and a peer's if it is installed."""
    calls = [primal, gradient, *([peer] if peer is not None else [])]
    for call in calls[1:]:
        call()  # compiled
    seconds = timed(*calls)
    print(f"{'the program':34} {seconds[0] * 1e3:9.2f} ms")
    print(f"{'its gradient':34} {seconds[1] * 1e3:9.2f} ms  {seconds[1] / seconds[0]:6.1f} x")
    if peer is not None:
        print(f"{name:34} {seconds[2] * 1e3:9.2f} ms  {seconds[2] / seconds[0]:6.1f} x")
