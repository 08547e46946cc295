"""The results as a table for people: times, and the ratios of ours to hand and primal, of peers to ours."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from .timing import difference, ratio

if TYPE_CHECKING:
    from .overhead import Cost

Times = dict[str, list[float] | str]


def results_table(
    results: dict[str, Times], columns: Sequence[str], against: Sequence[str] = ("primal", "hand")
) -> list[list[str]]:
    """A header and a row a workload: every column's time, then `ours` as ratios, then the peers to `ours`."""
    ratios = [*(("ours", base) for base in against), *((c, "ours") for c in columns if c in PEERS)]
    ratios = [(a, b) for a, b in ratios if a in columns and b in columns]
    header = ["workload", *columns, *(f"{a}/{b}" for a, b in ratios)]
    return [header, *(row(name, times, columns, ratios) for name, times in results.items())]


PEERS = ("autograd", "reverse", "torch", "jax", "jax donated")


Targets = Mapping[str, Mapping[str, float]]
"""Workload -> column -> how many times as long as that `ours` may take."""


def table_with_targets(
    results: dict[str, Times], columns: Sequence[str], targets: Targets, against: Sequence[str] = ("hand",)
) -> list[list[str]]:
    """The same for those columns that some workload has; last, what `ours` takes of what its targets name."""
    header, *rows = results_table(results, present(results, columns), against)
    held = [", ".join(target_cells(times, targets[name])) for name, times in results.items()]
    return [[*header, "target"], *([*cells, last] for cells, last in zip(rows, held))]


def present(results: dict[str, Times], columns: Sequence[str]) -> list[str]:
    """The columns that some workload has."""
    return [c for c in columns if any(times[c] != "-" for times in results.values())]


def target_cells(times: Times, targets: Mapping[str, float]) -> Iterator[str]:
    """`1.2 ideal (1.6)`, or with a mark, where the target is missed, `1.7 ideal (1.6!)`."""
    for base, most in targets.items():
        if base in times and "ours" in times:
            found = ratio_cell(times["ours"], times[base])
            missed = found != "-" and ratio(times["ours"], times[base]) > most
            yield f"{found} {base} ({most:.2g}{'!' if missed else ''})"


def broadcast_tables(
    results: dict[str, Times], columns: Sequence[str], targets: Targets, against: Sequence[str]
) -> list[list[list[str]]]:
    """Times, ratios and targets: too wide for one table."""
    columns = present(results, columns)
    rows = results_table(results, columns, against)
    at = 1 + len(columns)
    ratios = [[cells[0], *cells[at:]] for cells in rows]
    return [[cells[:at] for cells in rows], ratios, targets_table(results, targets)]


def targets_table(results: dict[str, Times], targets: Targets) -> list[list[str]]:
    """A row for each target whose columns are there."""
    rows = [["workload", "ours / ..", "found", "at most", "held"]]
    for name, times in results.items():
        for base, most in targets[name].items():
            if ratio_cell(times.get("ours", "-"), times.get(base, "-")) != "-":
                found = ratio(times["ours"], times[base])
                rows.append([name, base, f"{found:.3g}", f"{most:.3g}", "yes" if found <= most else "NO"])
    return rows


def overhead_table(costs: Sequence[Cost], results: dict[str, Times]) -> list[list[str]]:
    """Of costs of one group. `1.20 (1.15!)` is 1.2 times plain, where 1.15 is the target, which is missed."""
    group = costs[0].group
    shown = [c for c in results[costs[0].name] if c in costs[0].columns and c != "plain"]
    header = [f"{group.title}: {'ns over' if group.over else '/'} plain", "plain", *shown]
    rows = [overhead_row(cost, results[cost.name], shown) for cost in costs]
    return [header, *rows, *([] if group.over else [mean_row(costs, results, shown)])]


def overhead_row(cost: Cost, times: Times, columns: Sequence[str]) -> list[str]:
    over = cost.group.over
    cells = (held_cell(overhead(times, c, over), cost.targets.get(c), over) for c in columns)
    return [cost.what, time_cell(times.get("plain", "-")), *cells]


def mean_row(costs: Sequence[Cost], results: dict[str, Times], columns: Sequence[str]) -> list[str]:
    means, cells = costs[0].group.means, []
    for column in columns:
        found = [overhead(results[cost.name], column, over=False) for cost in costs]
        figures = [f for f in found if not isinstance(f, str)]
        cells.append(held_cell(statistics.geometric_mean(figures) if figures else "-", means.get(column)))
    return ["geometric mean", "", *cells]


def overhead(times: Times, column: str, over: bool) -> float | str:
    """Multiples of plain, or ns over it; or why there is no figure."""
    found, base = times[column], times.get("plain", "-")
    if isinstance(found, str) or isinstance(base, str):
        return found.split(":")[0] if isinstance(found, str) else "-"
    return 1e9 * difference(found, base) if over else ratio(found, base)


def held_cell(found: float | str, target: float | None, over: bool = False) -> str:
    if isinstance(found, str):
        return found
    text = f"{found:.0f}" if over or found >= 10 else f"{found:.2f}"
    return text if target is None else f"{text} ({target:.3g}{'!' if found > target else ''})"


def row(name: str, times: Times, columns: Sequence[str], ratios: Iterable[tuple[str, str]]) -> list[str]:
    cells = [time_cell(times[column]) for column in columns]
    return [name, *cells, *(ratio_cell(times[a], times[b]) for a, b in ratios)]


def time_cell(times: list[float] | str) -> str:
    return times.split(":")[0] if isinstance(times, str) else duration(statistics.median(times))


def ratio_cell(times: list[float] | str, base: list[float] | str) -> str:
    if isinstance(times, str) or isinstance(base, str):
        return "-"
    r = ratio(times, base)
    return f"{r:.2f}" if r < 10 else f"{r:.0f}"


def duration(seconds: float) -> str:
    for unit, size in ("s", 1.0), ("ms", 1e-3), ("µs", 1e-6):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def first_call_table(results: dict[str, dict]) -> list[list[str]]:
    header = ["workload", "ours", "jax", "ours/jax", "import numpy", "import grad", "import grad/numpy"]
    return [header, *(first_call_row(name, columns) for name, columns in results.items())]


def first_call_row(name: str, columns: dict) -> list[str]:
    ours, jax = columns["ours"], columns["jax"]
    cells = [c if isinstance(c, str) else duration(c["first"]) for c in (ours, jax)]
    compared = "-" if isinstance(ours, str) or isinstance(jax, str) else f"{ours['first'] / jax['first']:.2f}"
    if isinstance(ours, str):
        return [name, cells[0].split(":")[0], cells[1].split(":")[0], compared, "-", "-", "-"]
    numpy, grad = ours["import numpy"], ours["import"]
    return [name, *cells, compared, duration(numpy), duration(grad), f"{grad / numpy:.2f}"]


def memory_table(
    results: dict[str, dict], kind: str, columns: Sequence[str], targets: Mapping[str, float]
) -> list[list[str]]:
    """Peaks of one kind, and ours over the peers'. `0.80 (1)`: 0.8 times, where 1 is the target."""
    against = [column for column in columns if column in targets]
    header = [f"peak, {kind}", *columns, *(f"ours/{column}" for column in against)]
    rows = []
    for name, found in results.items():
        peaks = {c: p.split(":")[0] if isinstance(p, str) else p[kind] for c, p in found.items()}
        cells = [p if isinstance(p, str) else f"{p / 2**20:.3g} MiB" for p in peaks.values()]
        for column in against:
            figures = peaks.get("ours", "-"), peaks[column]
            known = not any(isinstance(figure, str) for figure in figures)
            cells.append(held_cell(figures[0] / figures[1] if known else "-", targets[column]))
        rows.append([name, *cells])
    return [header, *rows]


def show(rows: list[list[str]]) -> None:
    """With rich where it is installed, else as aligned text."""
    try:
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table
    except ImportError:
        print(aligned(rows))
        return
    table = Table(*rows[0][:1])
    for title in rows[0][1:]:
        table.add_column(title, justify="right", no_wrap=True)
    for cells in rows[1:]:
        table.add_row(*map(escape, cells))
    Console(width=None if sys.stdout.isatty() else 200).print(table)


def aligned(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(map(str.rjust, cells, widths)) for cells in rows)
