"""The command line: choose, measure, show."""

import argparse
import itertools
import json
import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

COLUMNS = ("primal", "hand", "ours", "autograd", "torch", "jax")
SECOND_ORDER = ("primal", "hand", "strided", "ideal", "grad", "100 jvps", "ours", "autograd", "torch", "jax")
SPARSE = ("primal", "hand", "ours", "asdex")
BROADCAST = ("primal", "forward", "hand", "in place", "reverse", "fused", "torch", "jax", "jax donated",
             "floor", "parts", "ours", "cupy", "seven kernels", "ours on GPU")  # fmt: skip
OVERHEAD = ("plain", "faithful", "free", "bare", "idle", "3 bare", "3 idle",
            "identity", "everything", "2 identity", "3 identity",
            "no hook", "prehook", "reading", "posthook", "both",
            "counting", "cProfile", "settrace")  # fmt: skip
KNOWN = {
    "second_order": SECOND_ORDER, "sparse": SPARSE, "broadcast": BROADCAST, "overhead": OVERHEAD,
    "memory": COLUMNS, "mutation": COLUMNS, "cliffs": COLUMNS,
}  # fmt: skip


def main() -> None:
    options = parse_options()
    limit_threads(options.threads)  # before anything imports NumPy: a BLAS reads its thread count once
    kinds = {"broadcast": broadcasts, "overhead": overheads, "memory": memories, "cliffs": all_cliffs}
    results = next((kinds[kind] for kind in kinds if getattr(options, kind)), run)(options)
    explain(results)
    if options.json:
        write_json(options, results)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the workloads that are chosen, and show the table."""
    from . import mutation, second_order, sparse, table, workloads

    others = {"second_order": second_order, "sparse": sparse, "mutation": mutation}
    other = next((others[kind] for kind in others if getattr(options, kind)), None)
    if other is not None:
        against = ("primal", "hand") if other is mutation else ("hand",)
        chosen = choose(other.all_workloads(), options.only)
        results = derivatives(chosen, other.prepare, options)
        targets = {w.name: w.targets for w in chosen}
        table.show(table.table_with_targets(results, options.columns, targets, against))
        return results
    chosen = choose(workloads.all_workloads(options.widths or workloads.WIDTHS), options.only)
    if options.first_call:
        from .first_call import measure

        results = first_calls(chosen, lambda w: measure(w.name, options.repeat or 5))
        table.show(table.first_call_table(results))
    else:
        from .peers import prepare

        results = derivatives(chosen, prepare, options)
        table.show(table.results_table(results, options.columns))
    return results


def broadcasts(options: argparse.Namespace) -> dict[str, Any]:
    """The same of kernels, with the plots."""
    from . import table
    from .broadcast import first_call, plots, workloads

    if options.first_call:
        chosen, columns = [first_call.FirstCall()], first_call.COLUMNS
        results = first_calls(chosen, lambda w: first_call.measure(w.size, options.repeat or 5))
    else:
        chosen, columns = choose(workloads.all_workloads(options.widths), options.only), options.columns
        results = derivatives(chosen, workloads.prepare, options)
    targets = {w.name: w.targets for w in chosen}
    for part in table.broadcast_tables(results, columns, targets, workloads.AGAINST):
        if len(part) > 1 and len(part[0]) > 1:
            table.show(part)
    if options.plot:
        plots.draw(chosen, results, options.plot)
    return results


def memories(options: argparse.Namespace) -> dict[str, Any]:
    """The peaks of gradients, each in a process of its own."""
    from . import memory, table

    chosen = choose(memory.all_workloads(), options.only)
    results = first_calls(chosen, lambda w: memory.measure(w.name, options.columns))
    for kind, targets in memory.TARGETS.items():
        table.show(table.memory_table(results, kind, options.columns, targets))
    return results


def overheads(options: argparse.Namespace) -> dict[str, Any]:
    """The same of what rewriting costs: a table for each part of that."""
    from . import overhead, table

    chosen = choose(overhead.all_workloads(), options.only)
    results = overhead.per_operation(chosen, derivatives(chosen, overhead.prepare, options))
    for _, part in itertools.groupby(chosen, lambda cost: cost.group.title):
        table.show(table.overhead_table(list(part), results))
    return results


def all_cliffs(options: argparse.Namespace) -> dict[str, Any]:
    """What gradients of programs by others cost, each in a process of its own."""
    from . import table
    from .cliffs import table as cliffs

    results = first_calls(choose(cliffs.all_programs(), options.only), cliffs.measure)
    table.show(cliffs.table(results))
    print(*cliffs.summary(results), sep="\n")
    return results


def choose(workloads: list, name: str) -> list:
    if chosen := [w for w in workloads if name.lower() in w.name.lower()]:
        return chosen
    sys.exit(f"no workload's name contains {name!r}; there are: " + "; ".join(w.name for w in workloads))


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Derivatives compared in one interleaved run. Every column is checked against the "
        "derivative by hand before it is timed. Read the ratios: times depend on the machine.",
    )
    parser.add_argument("--only", default="", metavar="NAME", help="workloads whose name contains NAME")
    parser.add_argument("--columns", type=names,
                        help=f"some of {','.join(COLUMNS)}; of --second-order also "
                        "strided,ideal,grad,100 jvps; of --sparse asdex; of --broadcast "
                        f"{','.join(BROADCAST)}; of --overhead {','.join(OVERHEAD)}")  # fmt: skip
    parser.add_argument("--widths", type=widths,
                        help="of the MLP with batch 16, e.g. 64,1024; n of the HM-LSTM")  # fmt: skip
    parser.add_argument("--repeat", type=int, default=0,
                        help="rounds (default 50), or processes for --first-call (default 5)")  # fmt: skip
    parser.add_argument("--threads", type=int, default=1, help="of every tool; 0 leaves the default")
    parser.add_argument("--plot", metavar="DIR", help="with --broadcast: plots, over n and N, into DIR")
    parser.add_argument("--json", metavar="FILE", help="write all figures, seconds per call, to FILE")
    add_kinds(parser)
    options = parser.parse_args()
    complete(parser, options)
    return options


def add_kinds(parser: argparse.ArgumentParser) -> None:
    """The tables other than that of gradients."""
    parser.add_argument("--first-call", action="store_true",
                        help="time the first call, ours and JAX jit's, in fresh processes; with --broadcast "
                        "of a kernel")  # fmt: skip
    other = parser.add_mutually_exclusive_group()
    other.add_argument("--second-order", action="store_true",
                       help="higher orders, Hessians, Jacobians, against their targets")  # fmt: skip
    other.add_argument("--sparse", action="store_true",
                       help="sparse Jacobians and Hessians, and patterns, against their targets")  # fmt: skip
    other.add_argument("--broadcast", action="store_true",
                       help="kernels over arrays, against their targets; CuPy's too on a GPU")  # fmt: skip
    other.add_argument("--memory", action="store_true",
                       help="the most memory that a gradient takes, against other tools'")  # fmt: skip
    other.add_argument("--mutation", action="store_true",
                       help="gradients of programs that store to arrays, against their targets")  # fmt: skip
    other.add_argument("--cliffs", action="store_true",
                       help="gradients of 60 programs by others, and which cost over 12 x")  # fmt: skip
    other.add_argument("--overhead", action="store_true",
                       help="what rewriting costs by itself, against targets")  # fmt: skip


def complete(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """The columns that are shown; an error where options do not go together."""
    if options.plot and not options.broadcast:
        parser.error("--plot is of --broadcast")
    if options.first_call and any(getattr(options, kind) for kind in KNOWN if kind != "broadcast"):
        parser.error("--first-call is of gradients, or of --broadcast")
    known = next((known for kind, known in KNOWN.items() if getattr(options, kind)), COLUMNS)
    options.columns = options.columns or known
    if unknown := set(options.columns) - set(known):
        parser.error(f"--columns: unknown: {', '.join(sorted(unknown))}")


def names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def widths(text: str) -> tuple[int, ...]:
    return tuple(int(width) for width in text.split(","))


def limit_threads(count: int) -> None:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    if count:
        for library in "OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM":
            os.environ[f"{library}_NUM_THREADS"] = str(count)
        for variable in "CTXDISPATCH_NUM_THREADS", "NPROC", "PJRT_NPROC":  # the last two are JAX's
            os.environ[variable] = str(count)
    if count == 1:
        os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false " + os.environ.get("XLA_FLAGS", "")


def derivatives(
    workloads: list, prepare: Callable[[str, Any], Any], options: argparse.Namespace
) -> dict[str, Any]:
    """Workload -> column -> seconds per call in every round, or why there are none."""
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


def first_calls(workloads: list, measure: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    results = {}
    with progress_bar(len(workloads), "workload") as advance:
        for workload in workloads:
            results[workload.name] = measure(workload)
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
    kinds = [kind for kind in (*KNOWN, "first_call") if getattr(options, kind)]
    kind = ", ".join(kinds) or "gradient"
    about = {"python": platform.python_version(), "threads": options.threads, "kind": kind}
    with open(options.json, "w") as file:
        json.dump({**about, "results": results}, file, indent=1)


if __name__ == "__main__":
    main()
