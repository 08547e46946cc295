"""The command line: choose, measure, show."""

import argparse
import json
import os
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

COLUMNS = ("primal", "hand", "ours", "autograd", "torch", "jax")


def main() -> None:
    options = parse_options()
    limit_threads(options.threads)  # before anything imports NumPy: a BLAS reads its thread count once
    from . import table
    from .workloads import all_workloads

    chosen = [w for w in all_workloads(options.widths) if options.only.lower() in w.name.lower()]
    if not chosen:
        sys.exit(f"no workload's name contains {options.only!r}; there are: "
                 + "; ".join(w.name for w in all_workloads(options.widths)))  # fmt: skip
    if options.first_call:
        results = first_calls(chosen, options)
        table.show(table.first_call_table(results))
    else:
        results = gradients(chosen, options)
        table.show(table.results_table(results, options.columns))
    explain(results)
    if options.json:
        write_json(options, results)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Gradients compared in one interleaved run. Every column is checked against the "
        "derivative by hand before it is timed. Read the ratios: times depend on the machine.",
    )
    parser.add_argument("--only", default="", metavar="NAME", help="workloads whose name contains NAME")
    parser.add_argument("--columns", type=names, default=COLUMNS, help=f"some of {','.join(COLUMNS)}")
    parser.add_argument("--widths", type=widths, default=(64, 128, 256, 512, 1024, 2048),
                        help="of the MLP with batch 16, e.g. 64,1024")  # fmt: skip
    parser.add_argument("--repeat", type=int, default=0,
                        help="rounds (default 50), or processes for --first-call (default 5)")  # fmt: skip
    parser.add_argument("--threads", type=int, default=1, help="for linear algebra; 0 leaves the default")
    parser.add_argument("--first-call", action="store_true",
                        help="time the first call, ours and JAX jit's, in fresh processes")  # fmt: skip
    parser.add_argument("--json", metavar="FILE", help="write all figures, seconds per call, to FILE")
    return parser.parse_args()


def names(text: str) -> tuple[str, ...]:
    chosen = tuple(text.split(","))
    if unknown := set(chosen) - set(COLUMNS):
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}")
    return chosen


def widths(text: str) -> tuple[int, ...]:
    return tuple(int(width) for width in text.split(","))


def limit_threads(count: int) -> None:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    if count:
        for library in "OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM":
            os.environ[f"{library}_NUM_THREADS"] = str(count)
    if count == 1:
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false " + os.environ.get("XLA_FLAGS", "")


def gradients(workloads: list, options: argparse.Namespace) -> dict[str, Any]:
    """Workload -> column -> seconds per call in every round, or why there are none."""
    from .peers import prepare
    from .timing import measure

    rounds = options.repeat or 50
    results = {}
    with progress_bar(len(workloads) * rounds, "round") as advance:
        for workload in workloads:
            prepared = {column: prepare(column, workload) for column in options.columns}
            missing = {c: p for c, p in prepared.items() if isinstance(p, str)}
            times = measure({c: p for c, p in prepared.items() if c not in missing}, rounds, advance)
            results[workload.name] = {**missing, **times}
    return results


def first_calls(workloads: list, options: argparse.Namespace) -> dict[str, Any]:
    from .first_call import measure

    results = {}
    with progress_bar(len(workloads), "workload") as advance:
        for workload in workloads:
            results[workload.name] = measure(workload.name, options.repeat or 5)
            advance()
    return results


@contextmanager
def progress_bar(total: int, unit: str) -> Iterator[Any]:
    try:
        from tqdm import tqdm
    except ImportError:
        yield lambda: None
        return
    with tqdm(total=total, unit=unit, leave=False) as bar:
        yield bar.update


def explain(results: dict[str, Any]) -> None:
    """The refusals in full, below the table that has room for one word of them."""
    for name, columns in results.items():
        for column, value in columns.items():
            if isinstance(value, str) and ":" in value:
                print(f"{name}, {column}: {value}")


def write_json(options: argparse.Namespace, results: dict[str, Any]) -> None:
    kind = "first_call" if options.first_call else "gradient"
    about = {"python": platform.python_version(), "threads": options.threads, "kind": kind}
    with open(options.json, "w") as file:
        json.dump({**about, "results": results}, file, indent=1)


if __name__ == "__main__":
    main()
