"""What the first call costs in a fresh process: `python -m benchmarks.broadcast.first_call COLUMN SIZE`.

ours           with no object code on disk
ours again     with that of an earlier process
jax            under `jit`
torch.compile  forward and backward, with no cache; it needs a C++ compiler
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..first_call import failure
from ..peers import Prepared, agree

SIZE = 2048
TARGETS = {"jax": 5.0, "torch.compile": 1.0}


@dataclass(frozen=True)
class FirstCall:
    """Of value and partial derivatives of the cell update of an HM-LSTM, as kernels are timed."""

    size: int = SIZE
    name: str = "HM-LSTM, first call"
    targets: Mapping[str, float] = field(default_factory=lambda: TARGETS)
    series: str = ""  # no plot


ENVIRONMENT: dict[str, dict[str, str]] = {
    "ours": {"CTXDISPATCH_CACHE_DIR": ""},
    "ours again": {"CTXDISPATCH_CACHE_DIR": "{folder}"},
    "jax": {},
    "torch.compile": {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1", "TORCHINDUCTOR_CACHE_DIR": "{folder}"},
}
COLUMNS = tuple(ENVIRONMENT)


def measure(size: int, repeat: int) -> dict[str, Any]:
    """Column -> seconds of the first call in each process; or why there are none."""
    runs: dict[str, list[Any]] = {column: [] for column in COLUMNS}
    with tempfile.TemporaryDirectory() as folder:
        in_fresh_process("ours again", size, folder)
        for _ in range(repeat):
            for column in COLUMNS:
                runs[column].append(in_fresh_process(column, size, folder))
    return {column: next((r for r in found if isinstance(r, str)), found) for column, found in runs.items()}


def in_fresh_process(column: str, size: int, folder: str) -> float | str:
    command = [sys.executable, "-m", "benchmarks.broadcast.first_call", column, str(size)]
    variables = {name: value.format(folder=folder) for name, value in ENVIRONMENT[column].items()}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **variables}
    )
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else failure(done.stderr)


def makers() -> dict[str, Callable[[Any], Prepared]]:
    from . import ours, peers

    return {
        "ours": ours.partials, "ours again": ours.partials, "jax": peers.jax,
        "torch.compile": peers.torch_compiled,
    }  # fmt: skip


def main(column: str, size: int) -> None:
    """Imports, and the data as each tool has it, come before the clock starts."""
    from .workloads import cell, expected

    workload = cell(size, "random")
    prepared = makers()[column](workload)
    start = time.perf_counter()
    try:
        result = prepared.call(*prepared.args)
    except Exception as error:  # torch without a compiler ends with advice, not with what it is
        sys.exit(f"{type(error).__name__}: {next(iter(str(error).splitlines()), '')}")
    seconds = time.perf_counter() - start
    if not agree(prepared.gradients(result), expected(workload)):
        sys.exit("wrong")
    print(json.dumps(seconds))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
