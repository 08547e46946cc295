"""The benchmarks measure what they claim to: right derivatives by hand, and a command line that works."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers import agree
from benchmarks.table import aligned, duration, ratio_cell, results_table
from benchmarks.timing import ratio
from benchmarks.workloads import all_workloads

ROOT = Path(__file__).parent.parent


def run_benchmarks(*options):
    command = [sys.executable, "-m", "benchmarks", *options]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


@pytest.mark.parametrize("workload", all_workloads(widths=[16]), ids=lambda w: w.name)
def test_by_hand_is_the_derivative_along_a_random_direction(workload):
    args = [np.asarray(a, float) if isinstance(a, np.ndarray) else a for a in workload.make_args()]
    gradients = workload.gradients(workload.by_hand(*args))
    positions = range(len(gradients))
    rng = np.random.default_rng(1)
    directions = [rng.normal(size=np.shape(g)) for g in gradients]

    def along(t):
        return workload.program(*(a + t * directions[i] if i in positions else a for i, a in enumerate(args)))

    h = 1e-5
    slope = sum(np.sum(g * d) for g, d in zip(gradients, directions))
    assert (along(h) - along(-h)) / (2 * h) == pytest.approx(slope, rel=1e-6)


def test_agreement_is_strict_about_shape_dtype_and_value():
    a = np.array([1.0, 2.0])
    assert agree((a,), (a * (1 + 1e-13),))
    assert not agree((a,), (a * (1 + 1e-6),))
    assert not agree((a[None],), (a,))
    assert not agree((a.astype(np.float32),), (a,))
    assert not agree((a,), (a, a))


def test_ratios_are_taken_round_by_round():
    assert ratio([1.0, 10.0, 3.0], [2.0, 20.0, 3.0]) == 0.5
    assert ratio_cell("refused: why", [1.0]) == "-"


def test_table_has_times_and_ratios():
    times = {"hand": [1e-6], "ours": [5e-7], "jax": "refused: why"}
    header, row = results_table({"W": times}, ["hand", "ours", "jax"])
    assert header == ["workload", "hand", "ours", "jax", "ours/hand", "jax/ours"]
    assert row == ["W", "1 µs", "500 ns", "refused", "0.50", "-"]
    assert aligned([header, row]).count("\n") == 1
    assert [duration(t) for t in (2.0, 3e-3, 4e-9)] == ["2 s", "3 ms", "4 ns"]


def test_command_line_writes_json(tmp_path):
    file = tmp_path / "out.json"
    done = run_benchmarks("--only", "sincos", "--repeat", "2", "--columns", "primal,hand", "--json", file)
    assert done.returncode == 0, done.stderr
    assert "SINCOS" in done.stdout
    results = json.loads(file.read_text())["results"]
    assert set(results["SINCOS"]) == {"primal", "hand"} and len(results["SINCOS"]["hand"]) == 2


def test_an_unknown_workload_is_refused_with_the_names():
    done = run_benchmarks("--only", "nonsense")
    assert done.returncode == 1 and "SINCOS; LOOP" in done.stderr
