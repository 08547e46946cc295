"""The programs of this folder, each measured in a process of its own, and which miss the limits."""

import json
import statistics
import subprocess
import sys
from importlib import import_module
from typing import Any, NamedTuple

from ..timing import ratio

MODULES = ("learning", "science")
MOST = 12
"""A gradient is to cost so many times the primal, at most."""


class Program(NamedTuple):
    module: str
    name: str


def all_programs() -> list[Program]:
    return [
        Program(module, name)
        for module in MODULES
        for name, _, _ in import_module(f"benchmarks.cliffs.{module}").PROGRAMS
    ]


def measure(program: Program) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.cliffs", *program]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        return {"error": ran.stderr.strip().splitlines()[-1]}
    return json.loads(ran.stdout)


def table(results: dict[str, dict[str, Any]]) -> list[list[str]]:
    """A header and a row a program; `!` where a limit is missed."""
    header = ["program", "primal µs", "ours µs", "ours/primal", "first s", "second s", "tier"]
    return [header, *(_row(name, found) for name, found in results.items())]


def _row(name: str, found: dict[str, Any]) -> list[str]:
    if "error" in found:
        return [name, "-", "-", "!", "-", "-", "refused"]
    over = ratio(found["ours"], found["primal"])
    times = [f"{statistics.median(found[column]) * 1e6:.0f}" for column in ("primal", "ours")]
    calls = [f"{found[call]:.2f}" for call in ("first", "second")]
    return [name, *times, f"{over:.1f}{'!' if over > MOST else ''}", *calls, found["tier"]]


def summary(results: dict[str, dict[str, Any]]) -> list[str]:
    """How many keep the limit, and of each that does not, why."""
    ratios = {name: ratio(r["ours"], r["primal"]) for name, r in results.items() if "error" not in r}
    kept = sum(over <= MOST for over in ratios.values())
    lines = [f"{kept} of {len(results)} within {MOST} x primal"]
    if ratios:
        lines.append(f"median {statistics.median(ratios.values()):.1f} x primal")
    for name, found in results.items():
        if ratios.get(name, MOST + 1) > MOST:
            lines.append(f"{name}: {found.get('error') or found['reason'] or found['tier']}")
    return lines
