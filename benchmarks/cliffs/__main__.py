"""One program in a process of its own: python -m benchmarks.cliffs MODULE NAME. Prints JSON.

What one program leaves in objects may have others recorded, so each has a process. CPU times, minima of
interleaved rounds; `first` and `second` are the first two calls.
"""

import json
import logging
import sys
import time
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ctxdispatch import explain, grad

ROUNDS, LEAST = 7, 2e-3


def main(module: str, name: str) -> None:
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    programs = {n: (f, args) for n, f, args in import_module(f"benchmarks.cliffs.{module}").PROGRAMS}
    f, args = programs[name]
    gradient = grad(f)
    try:
        first, second = once(gradient, args), once(gradient, args)
        ran = explain(gradient)(*args).regions[0]
        primal, ours = interleaved([f, gradient], args)
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
        return
    found = {"first": first, "second": second, "primal": primal, "ours": ours, "tier": ran.tier}
    print(json.dumps({**found, "reason": "" if ran.reason is None else str(ran.reason)}))


def once(call: Callable[..., Any], args: Any) -> float:
    start = time.process_time()
    call(*args)
    return time.process_time() - start


def interleaved(calls: list[Callable[..., Any]], args: Any) -> list[float]:
    counts = [max(1, min(1000, int(LEAST / max(once(call, args), 1e-7)))) for call in calls]
    best = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        for i, call in enumerate(calls):
            start = time.process_time()
            for _ in range(counts[i]):
                call(*args)
            best[i] = min(best[i], (time.process_time() - start) / counts[i])
    return best


if __name__ == "__main__":
    main(*sys.argv[1:3])
