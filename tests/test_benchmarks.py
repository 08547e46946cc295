"""The benchmarks measure what they claim to: right derivatives by hand, and a command line that works."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import second_order, sparse
from benchmarks.peers import Prepared, agree
from benchmarks.table import aligned, duration, ratio_cell, results_table, second_order_table, target_cells
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


# -- the second table ----------------------------------------------------------------------------------------

SECOND = pytest.mark.parametrize("workload", second_order.all_workloads(), ids=lambda w: w.name)


def differences(f, x, h):
    """The Jacobian of f at x by central differences, the axes of x last."""
    x = np.asarray(x, float)
    steps = h * np.eye(x.size).reshape((x.size, *x.shape))
    rows = [(np.asarray(f(x + step)) - np.asarray(f(x - step))) / (2 * h) for step in steps]
    return np.moveaxis(np.array(rows), 0, -1).reshape(rows[0].shape + x.shape)


def below(workload):
    """The function whose Jacobian the workload's derivative is."""
    orders = [second_order.programs.wobble, *(second_order.order(k).by_hand for k in (1, 2, 3, 4))]
    if workload.by_hand in orders:
        return orders[orders.index(workload.by_hand) - 1]
    gradients = {
        second_order.programs.rosenbrock: second_order.hand.rosenbrock_gradient,
        second_order.programs.flat_mlp: second_order.hand.flat_mlp_gradient,
    }
    return gradients.get(workload.program, workload.program)


@SECOND
def test_of_second_order_by_hand_is_the_derivative(workload):
    x, *data = workload.args(directed=False)
    jacobian = differences(lambda x: below(workload)(x, *data), x, h=1e-5)
    (found,) = workload.expected("hand")
    if workload.directed:
        jacobian = jacobian @ workload.make_args()[1]
    np.testing.assert_allclose(found, jacobian, rtol=1e-7, atol=1e-7 * np.abs(jacobian).max())


@pytest.mark.parametrize("make", [lambda: second_order.rosenbrock_hvp(20), second_order.mlp_hvp])
def test_the_gradient_by_hand_is_the_gradient(make):
    workload = make()
    x, *data = workload.args(directed=False)
    (found,) = workload.expected("grad")
    expected = differences(lambda x: workload.program(x, *data), x, h=1e-6)
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7 * np.abs(expected).max())


@SECOND
@pytest.mark.parametrize("column", ["strided", "ideal", "grad", "100 jvps", "ours"])
def test_of_second_order_every_column_is_the_derivative_by_hand(workload, column):
    prepared = second_order.prepare(column, workload)
    known = {"ours", *workload.beside, *(["ideal"] if workload.ideal else [])}
    assert isinstance(prepared, Prepared) if column in known else prepared == "-"


def test_a_wrong_derivative_has_no_figure():
    workload = second_order.rosenbrock_hessian(4, {})
    wrong = dataclasses.replace(workload, ideal=lambda x: 1.001 * workload.by_hand(x))
    assert second_order.prepare("ideal", wrong) == "wrong"


def test_targets_are_ratios_with_a_mark_where_they_are_missed():
    times = {"ideal": [2.0], "jax": [1.0], "torch": "not installed", "ours": [3.0]}
    cells = target_cells(times, {"ideal": 1.6, "jax": 2.5, "torch": 0.1, "grad": 1.0})
    assert list(cells) == ["1.50 ideal (1.6)", "3.00 jax (2.5!)", "- torch (0.1)"]


def test_the_second_table_shows_the_columns_that_there_are():
    times = {"ideal": [2e-6], "grad": "-", "ours": [3e-6]}
    header, row = second_order_table({"W": times}, ["ideal", "grad", "ours"], {"W": {"ideal": 1.6}})
    assert header == ["workload", "ideal", "ours", "target"]
    assert row == ["W", "2 µs", "3 µs", "1.50 ideal (1.6)"]


def test_command_line_of_the_second_table(tmp_path):
    file = tmp_path / "out.json"
    chosen = "--second-order", "--only", "order 1", "--columns", "ideal,ours"
    done = run_benchmarks(*chosen, "--repeat", "2", "--json", file)
    assert done.returncode == 0, done.stderr
    assert "ideal (1.6" in done.stdout
    found = json.loads(file.read_text())
    (times,) = found["results"].values()
    assert found["kind"] == "second_order" and list(map(len, times.values())) == [2, 2]


def test_columns_of_the_other_table_are_refused():
    done = run_benchmarks("--columns", "hand,ideal")
    assert done.returncode == 2 and "unknown: ideal" in done.stderr


# -- the third table -----------------------------------------------------------------------------------------

SMALL = [sparse.hessian(7), sparse.jacobian(5), sparse.pattern(5)]


@pytest.mark.parametrize("workload", SMALL[:2], ids=lambda w: w.name)
def test_of_sparse_derivatives_by_hand_is_the_derivative(workload):
    x = workload.make_argument()
    program = second_order.hand.rosenbrock_gradient if "Hessian" in workload.name else workload.program
    expected = differences(program, x, h=1e-6)
    found = workload.by_hand(x)(x).toarray()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("workload", SMALL, ids=lambda w: w.name)
@pytest.mark.parametrize("column", ["primal", "hand", "ours"])
def test_of_sparse_derivatives_every_column_is_the_one_by_hand(workload, column):
    prepared = sparse.prepare(column, workload)
    assert (
        prepared == "-" if column == "hand" and workload.by_hand is None else isinstance(prepared, Prepared)
    )


def test_a_wrong_sparse_derivative_has_no_figure():
    wrong = dataclasses.replace(SMALL[0], ours=lambda f, x: lambda x: 1.001 * SMALL[0].by_hand(x)(x))
    assert sparse.prepare("ours", wrong) == "wrong"


def test_command_line_of_the_third_table(tmp_path):
    file = tmp_path / "out.json"
    done = run_benchmarks(
        "--sparse", "--only", "Hessian", "--columns", "hand,ours", "--repeat", "2", "--json", file
    )
    assert done.returncode == 0, done.stderr
    assert "hand (3.5" in done.stdout and json.loads(file.read_text())["kind"] == "sparse"
