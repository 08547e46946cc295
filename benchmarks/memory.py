"""The most memory that a gradient takes: `python -m benchmarks --memory`.

    traced     what Python and NumPy allocate, by `tracemalloc`: the peak of one call above what was there
    resident   what the process has, by the kernel: PyTorch and JAX allocate where no tracer sees it

Each figure is of a call in a fresh process after the one that compiles, and whose result is checked. What
that returned is let go before, and the heap trimmed.
"""

import ctypes
import gc
import json
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .first_call import failure
from .workloads import Workload, network, pair, rng

COLUMNS = ("primal", "hand", "ours", "autograd", "torch", "jax")
TARGETS = {"traced": {"autograd": 1.0}, "resident": {"autograd": 1.0, "torch": 1.1}}
"""By kind: ours is to be at most so many times theirs."""


def all_workloads() -> list[Workload]:
    return [
        network("MNIST MLP, batch 256", [784, 32, 10], batch=256, dtype=np.float32),
        Workload("1,000 steps", *pair("recurrence"), partial(recurrence_data, 100, 1_000), (0, 1)),
    ]


def recurrence_data(size: int, steps: int) -> tuple[Any, ...]:
    random = rng()
    return random.normal(size=(size, size)) / np.sqrt(size), random.normal(size=size), steps


def measure(workload: str, columns: tuple[str, ...]) -> dict[str, Any]:
    """Column -> {"traced", "resident"} in bytes, or why there is none."""
    return {column: in_fresh_process(column, workload) for column in columns}


def in_fresh_process(column: str, workload: str) -> Any:
    command = [sys.executable, "-m", "benchmarks.memory", column, workload]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else failure(done.stderr)


def main(column: str, name: str) -> None:
    from .peers import prepare

    prepared = prepare(column, next(w for w in all_workloads() if w.name == name))
    if isinstance(prepared, str):
        print(json.dumps(prepared))
        return
    call = partial(prepared.call, *prepared.args)
    print(json.dumps({"traced": traced(call), "resident": resident(call)}))


def traced(call: Callable[[], Any]) -> int:
    settle()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak - before


def resident(call: Callable[[], Any]) -> int:
    settle()
    with open("/proc/self/clear_refs", "w") as kernel:
        kernel.write("5")  # the high-water mark begins anew
    before = status("VmRSS")
    call()
    return status("VmHWM") - before


def settle() -> None:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def status(field: str) -> int:
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


if __name__ == "__main__":
    main(*sys.argv[1:])
