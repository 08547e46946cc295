"""Plots of the workloads that come in series: seconds per call over what varies, a line for each column."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

Series = Mapping[str, Mapping[int, float]]
"""Column -> where -> seconds."""


def draw(workloads: Iterable[Any], results: Mapping[str, Any], folder: str) -> list[Path]:
    """A file for each series of more than one workload; none without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        print("no plots: matplotlib is not installed")
        return []
    matplotlib.use("Agg")
    Path(folder).mkdir(parents=True, exist_ok=True)
    return [plot(*series, Path(folder)) for series in collect(workloads, results)]


def collect(workloads: Iterable[Any], results: Mapping[str, Any]) -> Iterator[tuple[str, str, Series]]:
    """Title, what varies, and the medians, of each series; columns without figures are left out."""
    titled = [w for w in workloads if w.series]
    for title in dict.fromkeys(w.series for w in titled):
        members = [w for w in titled if w.series == title]
        if len(members) > 1:
            yield title, members[0].varies, medians(members, results)


def medians(workloads: Iterable[Any], results: Mapping[str, Any]) -> Series:
    found: dict[str, dict[int, float]] = {}
    for workload in workloads:
        for column, times in results[workload.name].items():
            if not isinstance(times, str):
                found.setdefault(column, {})[workload.at] = statistics.median(times)
    return found


def plot(title: str, varies: str, columns: Series, folder: Path) -> Path:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 5))
    for column, points in columns.items():
        width, style = 2.5 if column.startswith("ours") else 1.0, "--" if column == "floor" else "-"
        axes.plot(list(points), list(points.values()), style, lw=width, marker="o", ms=3, label=column)
    if varies == "n":
        axes.set_xscale("log", base=2)
    positions = sorted({at for points in columns.values() for at in points})
    axes.set_xticks(positions, map(str, positions))
    axes.set_yscale("log")
    axes.set(title=title, xlabel=varies, ylabel="seconds per call")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    file = folder / f"{re.sub('[^a-z0-9]+', '-', title.lower())}.svg"
    figure.savefig(file, bbox_inches="tight")
    pyplot.close(figure)
    return file
