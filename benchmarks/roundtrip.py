"""What lift and emit cost: the emitted function against the compiler's, interleaved in one run.

`python -m benchmarks.roundtrip`. Compared are minima of interleaved bursts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ctxdispatch.bytecode.emit import make_function
from ctxdispatch.bytecode.lift import lift


def scalar_loop(x: float, n: int) -> float:
    r = 1.0
    while n > 0:
        r = r * x + 0.5
        n = n - 1
    return r


def numpy_loop(a: Any, b: Any) -> Any:
    for _ in range(20):
        c = np.sin(a) * b + a * 2.0 - b
        a = c * 0.01
    return a


def successor(x: int) -> int:
    return x + 1


def nested_calls(n: int) -> int:
    t = 0
    for i in range(n):
        t = successor(successor(t)) + abs(i)
    return t


def while_break(n: int) -> int:
    i = s = 0
    while True:
        if i >= n:
            break
        if i % 3 == 0:
            i += 1
            continue
        s += i
        i += 1
    return s


def comprehension(n: int) -> list[int]:
    return [x * 2 for x in range(n) if x & 1]


def nested_loops(n: int) -> int:
    c = 0
    for i in range(n):
        for j in range(i):
            if j * j > i:
                break
            c += j
    return c


def newton(x: float) -> float:
    g = x / 2
    for _ in range(200):
        g = (g + x / g) / 2
        if abs(g * g - x) < 1e-300:
            return g
    return g


def strings(n: int) -> dict[str, int]:
    d: dict[str, int] = {}
    for i in range(n):
        k = f"k{i % 7}:{i!r}"
        d[k] = d.get(k, 0) + len(k)
    return d


def choices(n: int) -> int:
    t = 0
    for i in range(n):
        x = i % 3 or i
        t += x if (x > 1 and i & 1) or i % 5 == 0 else 0
    return t


CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (scalar_loop, (1.0001, 3000)),
    (numpy_loop, (np.ones(50), np.ones(50))),
    (nested_calls, (1500,)),
    (while_break, (4000,)),
    (comprehension, (4000,)),
    (nested_loops, (300,)),
    (newton, (2.0,)),
    (strings, (600,)),
    (choices, (2000,)),
]


def ratio(f: Callable[..., Any], args: tuple[Any, ...], bursts: int = 24) -> float:
    both = (f, make_function(lift(f)))
    best = [math.inf, math.inf]
    for burst in range(2 * bursts):
        which = burst & 1
        start = time.perf_counter()
        for _ in range(3):
            both[which](*args)
        best[which] = min(best[which], time.perf_counter() - start)
    return best[1] / best[0]


def main() -> None:
    ratios = {f.__name__: ratio(f, args) for f, args in CASES}
    for name, value in ratios.items():
        print(f"{name:15} {value:.3f}")
    print(f"{'geometric mean':15} {math.exp(sum(map(math.log, ratios.values())) / len(ratios)):.3f}")


if __name__ == "__main__":
    main()
