"""What the first gradient costs in a fresh process: `python -m benchmarks.first_call COLUMN WORKLOAD`."""

import json
import statistics
import subprocess
import sys
import time
from typing import Any

IMPORTS = {"numpy": "import numpy", "ours": "from ctxdispatch import grad", "jax": "import jax"}


def measure(workload: str, repeat: int) -> dict[str, Any]:
    """Column -> {"import", "first"} in seconds, medians over processes; or why there is none."""
    columns = ("ours", "jax")
    runs: dict[str, list[Any]] = {column: [] for column in columns}
    for _ in range(repeat):
        for column in columns:
            runs[column].append(in_fresh_process(column, workload))
    return {column: combine(results) for column, results in runs.items()}


def in_fresh_process(column: str, workload: str) -> Any:
    command = [sys.executable, "-m", "benchmarks.first_call", column, workload]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else failure(done.stderr)


def failure(stderr: str) -> str:
    last = stderr.strip().splitlines()[-1] if stderr.strip() else "no output"
    return "not installed" if last.startswith(("ImportError", "ModuleNotFoundError")) else f"refused: {last}"


def combine(results: list[Any]) -> Any:
    wrong = [r for r in results if isinstance(r, str)]
    return wrong[0] if wrong else {key: statistics.median(r[key] for r in results) for key in results[0]}


def main(column: str, name: str) -> None:
    """Imports come before the clock starts: they are paid once, and have figures of their own."""
    imported = {key: seconds(lambda key=key: exec(IMPORTS[key], {})) for key in ("numpy", column)}
    from .peers import COLUMNS
    from .workloads import all_workloads

    workload = next(w for w in all_workloads() if w.name == name)
    args = workload.make_args()
    start = time.perf_counter()
    prepared = COLUMNS[column](workload)
    prepared.call(*(prepared.args if column == "jax" else args))
    first = time.perf_counter() - start
    print(json.dumps({"import numpy": imported["numpy"], "import": imported[column], "first": first}))


def seconds(action: Any) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


if __name__ == "__main__":
    main(*sys.argv[1:])
