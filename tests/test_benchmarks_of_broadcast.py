"""The fourth table: right derivatives by hand, columns that agree with them, first calls, and plots."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.broadcast import first_call, gpu, peers, plots, workloads
from benchmarks.peers import Prepared, agree
from benchmarks.table import broadcast_tables

ROOT = Path(__file__).parent.parent

SMALL = [
    workloads.cell(8, "random"),
    workloads.cell(40, "uniform"),
    workloads.cell_kept(8),
    workloads.cell_pullback(8),
    workloads.cell_loss(8),
    *(dataclasses.replace(workloads.arity(n), make_args=lambda n=n: arity_data(n)) for n in (1, 2, 5)),
    workloads.kepler(50),
]
EACH = pytest.mark.parametrize("workload", SMALL, ids=lambda w: w.name)


def arity_data(n):
    return workloads.arity_data(n, rows=3, columns=5)


def run_benchmarks(*options):
    command = [sys.executable, "-m", "benchmarks", "--broadcast", *options]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


@EACH
def test_by_hand_is_the_derivative_along_a_random_direction(workload):
    args = [a.astype(float) for a in workload.args()]
    (*args, seed) = args if workload.seed else (*args, 1.0)
    y, cotangents = workload.by_hand(*args, *([seed] if workload.seed else []))
    random = np.random.default_rng(1)
    directions = [random.normal(size=a.shape) for a in args[: workload.wrt]]

    def along(t):
        moved = [a + t * d for a, d in zip(args, directions)]
        return np.sum(seed * workload.arrays(*moved, *args[workload.wrt :]))

    h = 1e-6
    slope = sum(np.sum(g * d) for g, d in zip(cotangents, directions))
    assert (along(h) - along(-h)) / (2 * h) == pytest.approx(slope, rel=1e-6)
    np.testing.assert_allclose(y, workload.arrays(*args), rtol=1e-12, atol=1e-12)


@EACH
@pytest.mark.parametrize(
    "column", [*"primal forward hand reverse fused floor parts ours".split(), "in place"]
)
def test_every_column_is_the_one_by_hand_or_not_there(workload, column):
    made = workloads.prepare(column, workload)
    there = workload.own[column] is not None if column in workload.own else column in workloads.MAKERS
    assert isinstance(made, Prepared) if there else made == "-"


def test_runs_of_uniform_flags_are_warps():
    *_, z1, z2 = workloads.cell_data(70, "uniform")
    for flags in z1, z2:
        assert flags.shape == (70,) and set(flags) <= {0.0, 1.0}
        assert all(len(set(flags[at : at + 32])) == 1 for at in (0, 32, 64))


def test_a_wrong_derivative_has_no_figure():
    by_hand = SMALL[0].by_hand
    wrong = dataclasses.replace(SMALL[0], by_hand=lambda *args: (by_hand(*args)[0], by_hand(*args)[1][::-1]))
    assert workloads.prepare("ours", wrong) == "wrong"


def test_the_floor_moves_as_many_arrays_on_every_number_of_threads(monkeypatch):
    for threads in "1", "3":
        monkeypatch.setenv("CTXDISPATCH_NUM_THREADS", threads)
        prepared = peers.floor(SMALL[0])
        assert prepared.call(*prepared.args) is None
    given, stored = [np.arange(4.0)], [np.zeros(4), np.zeros(4)]
    peers.move(given, stored)
    assert (stored[0] == given[0]).all() and (stored[1] == 1).all()


def test_a_program_with_other_names_takes_them_into_what_it_calls():
    program = peers.with_names(workloads.programs.loss_of_arrays, sigmoid=lambda x: 0.0 * x)
    c, f, i, g, W, *_ = SMALL[4].args()
    n = len(c)
    assert program(c, f, i, g, W, np.zeros(n), np.ones(n)) == 0.0


@pytest.mark.skipif(gpu.cupy() is None, reason="no GPU, or no CuPy")
@pytest.mark.parametrize("column", gpu.COLUMNS)
def test_columns_on_a_gpu_are_right(column):
    assert isinstance(workloads.prepare(column, SMALL[0]), Prepared)


def test_series_are_collected_from_what_has_figures():
    members = [workloads.cell(n, "random") for n in (8, 16)]
    results = {w.name: {"ours": [1.0, 3.0, 2.0], "jax": "not installed"} for w in members}
    assert list(plots.collect(members, results)) == [
        ("HM-LSTM, random flags", "n", {"ours": {8: 2.0, 16: 2.0}})
    ]
    assert list(plots.collect(members[:1], results)) == []


def test_plots_are_files(tmp_path):
    pytest.importorskip("matplotlib")
    members = [workloads.cell(n, "random") for n in (8, 16)]
    (file,) = plots.draw(members, {w.name: {"ours": [1.0], "floor": [0.5]} for w in members}, tmp_path)
    assert file.name == "hm-lstm-random-flags.svg" and file.stat().st_size


def test_the_first_call_is_checked_and_timed(tmp_path, monkeypatch):
    monkeypatch.setitem(first_call.ENVIRONMENT, "nonsense", {})
    assert first_call.in_fresh_process("ours", 8, str(tmp_path)) > 0.0
    assert isinstance(first_call.in_fresh_process("nonsense", 8, str(tmp_path)), str)


def test_command_line(tmp_path):
    file = tmp_path / "out.json"
    chosen = "--only", "random", "--widths", "8,16", "--columns", "hand,floor,ours"
    done = run_benchmarks(*chosen, "--repeat", "2", "--json", file, "--plot", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "random flags, n = 16" in done.stdout and "ours/floor" in done.stdout
    found = json.loads(file.read_text())
    assert found["kind"] == "broadcast" and len(found["results"]) == 2
    assert all(list(map(len, times.values())) == [2, 2, 2] for times in found["results"].values())


def test_targets_are_rows_that_are_held_or_not():
    results = {"W": {"hand": [4.0], "jax": [1.0], "torch": "not installed", "ours": [1.5]}}
    targets = {"W": {"hand": 0.5, "jax": 1.0, "torch": 1.0}}
    times, ratios, held = broadcast_tables(results, ["hand", "jax", "ours"], targets, ["hand"])
    assert times == [["workload", "hand", "jax", "ours"], ["W", "4 s", "1 s", "1.5 s"]]
    assert ratios == [["workload", "ours/hand", "jax/ours"], ["W", "0.38", "0.67"]]
    assert held[1:] == [["W", "hand", "0.375", "0.5", "yes"], ["W", "jax", "1.5", "1", "NO"]]


def test_targets_are_those_of_the_project():
    held = {w.name: dict(w.targets) for w in workloads.all_workloads()}
    assert held["HM-LSTM, random flags, n = 2048"] == {
        "hand": 0.25, "jax": 0.25, "jax donated": 0.5, "floor": 1.3
    }  # fmt: skip
    assert (
        held["product of tanh, N = 8"]["reverse"] == held["Kepler's equation, 1048576 elements"]["jax"] == 0.2
    )


@pytest.mark.parametrize("options", [("--first-call", "--sparse"), ("--plot", "plots")])
def test_options_that_do_not_go_together_are_refused(options):
    command = [sys.executable, "-m", "benchmarks", *options]
    assert subprocess.run(command, capture_output=True, cwd=ROOT).returncode == 2


def test_agreement_takes_all_results():
    y, partials = SMALL[0].by_hand(*SMALL[0].args())
    assert agree(peers.flat((y, partials)), workloads.expected(SMALL[0]))
