"""The benchmarks measure what they claim to: right derivatives by hand, and a command line that works."""

import copy
import dataclasses
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from benchmarks import mutation, overhead, second_order, sparse
from benchmarks.peers import Prepared, agree
from benchmarks.table import (
    aligned,
    duration,
    overhead_table,
    ratio_cell,
    results_table,
    table_with_targets,
    target_cells,
)
from benchmarks.timing import difference, ratio
from benchmarks.workloads import all_workloads

ROOT = Path(__file__).parent.parent


def run_benchmarks(*options):
    command = [sys.executable, "-m", "benchmarks", *options]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


STORING = [*mutation.lattices(20, (7,)), *mutation.grids(9, 8, 5)]


@pytest.mark.parametrize("workload", [*all_workloads(widths=[16]), *STORING], ids=lambda w: w.name)
def test_by_hand_is_the_derivative_along_a_random_direction(workload):
    args = [np.asarray(a, float) if isinstance(a, np.ndarray) else a for a in workload.make_args()]
    gradients = workload.gradients(workload.by_hand(*copy.deepcopy(args)))
    positions = range(len(gradients))
    rng = np.random.default_rng(1)
    directions = [rng.normal(size=np.shape(g)) for g in gradients]

    def along(t):
        moved = (a + t * directions[i] if i in positions else a for i, a in enumerate(args))
        return workload.program(*moved)

    h = 1e-5
    slope = sum(np.sum(g * d) for g, d in zip(gradients, directions))
    assert (along(h) - along(-h)) / (2 * h) == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("workload", [*STORING, *mutation.directed(9, 8, 5)], ids=lambda w: w.name)
@pytest.mark.parametrize("column", ["primal", "hand", "ours"])
def test_of_stores_every_column_is_the_derivative_by_hand(workload, column):
    assert isinstance(mutation.prepare(column, workload), Prepared)


@pytest.mark.parametrize("workload", mutation.directed(9, 8, 5), ids=lambda w: w.name)
def test_of_stores_what_is_directed_by_hand_is_the_derivative(workload):
    x, v, *data = workload.make_args()
    f, h = workload.program, 1e-4
    moved = (f(x + h * v, *data) - f(x - h * v, *data)) / (2 * h)
    found = workload.by_hand(x, v, *data)
    if "hvp" in workload.name:  # a quadratic form: v H v is twice its value at v
        found, moved = v @ found, 2.0 * f(v, *data)
    assert found == pytest.approx(moved, rel=1e-6)


def test_command_line_of_stores(tmp_path):
    file = tmp_path / "out.json"
    chosen = "--mutation", "--only", "lattice, 300", "--columns", "primal,ours", "--repeat", "2"
    done = run_benchmarks(*chosen, "--json", file)
    assert done.returncode == 0, done.stderr
    assert "primal (4.5" in done.stdout and json.loads(file.read_text())["kind"] == "mutation"


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
    header, row = table_with_targets({"W": times}, ["ideal", "grad", "ours"], {"W": {"ideal": 1.6}})
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


# -- the fourth table ----------------------------------------------------------------------------------------

COSTS = {cost.name: cost for cost in overhead.all_workloads()}
REFUSED = {"round trip: generator": "generator function", "round trip: try in loop": "try/except"}


@pytest.mark.parametrize("cost", COSTS.values(), ids=lambda c: c.name)
def test_of_overhead_every_column_does_what_the_plain_one_does_or_says_why_not(cost):
    if cost.group is overhead.TRANSFORM:
        return
    for column in cost.columns:
        prepared = overhead.prepare(column, cost)
        assert isinstance(prepared, Prepared) or prepared.startswith("refused: "), column


@pytest.mark.parametrize("what", ["scalar loop", "comprehension", "method calls", "string building"])
def test_of_overhead_free_emission_has_a_figure(what):
    assert isinstance(overhead.prepare("free", COSTS[f"round trip: {what}"]), Prepared)


@pytest.mark.parametrize("what", REFUSED)
def test_of_overhead_what_has_no_free_form_is_left_out(what):
    assert REFUSED[what] in overhead.prepare("free", COSTS[what])


def test_of_overhead_a_wrong_program_and_one_that_runs_natively_have_no_figure():
    def native():
        warnings.warn("it runs natively", RuntimeWarning)

    columns = {
        "plain": lambda: Prepared(abs, (-2.0,), None),
        "wrong": lambda: Prepared(float, (-2.0,), None),
        "native": lambda: Prepared(native, (), None),
    }
    cost = overhead.Cost(overhead.ROUND_TRIP, "abs", columns, {})
    assert overhead.prepare("wrong", cost) == "wrong"
    assert overhead.prepare("native", cost) == "refused: RuntimeWarning: it runs natively"
    assert overhead.prepare("idle", cost) == "-"


def test_of_overhead_codes_that_are_rewritten_equal_no_other():
    one, other = overhead.fresh(overhead.identity), overhead.fresh(overhead.identity)
    assert one.__code__ != other.__code__ and one.__code__.co_code == other.__code__.co_code


def test_overhead_is_a_ratio_or_a_difference_with_a_mark_where_the_target_is_missed():
    ratios = overhead.Group("R", means={"free": 1.02})
    columns = {"plain": None, "free": None, "faithful": None}
    costs = [overhead.Cost(ratios, what, columns, {"free": 1.15}) for what in ("a", "b")]
    results = {
        "R: a": {"plain": [2e-6], "free": [2e-6], "faithful": "refused: why", "idle": "-"},
        "R: b": {"plain": [2e-6], "free": [3e-6], "faithful": [1e-6], "idle": "-"},
    }
    assert overhead_table(costs, results) == [
        ["R: / plain", "plain", "free", "faithful"],
        ["a", "2 µs", "1.00 (1.15)", "refused"],
        ["b", "2 µs", "1.50 (1.15!)", "0.50"],
        ["geometric mean", "", "1.22 (1.02!)", "0.50"],
    ]
    cost = overhead.Cost(overhead.Group("D", over=True), "a", columns, {"free": 30.0}, count=100)
    times = overhead.per_operation([cost], {cost.name: {"plain": [1e-6], "free": [5e-6], "faithful": "-"}})
    header, row = overhead_table([cost], times)
    assert header == ["D: ns over plain", "plain", "free", "faithful"]
    assert row == ["a", "10 ns", "40 (30!)", "-"]


def test_differences_are_taken_round_by_round():
    assert difference([1.0, 12.0, 3.0], [2.0, 10.0, 3.0]) == 0.0


def test_command_line_of_the_fourth_table(tmp_path):
    file = tmp_path / "out.json"
    chosen = "--overhead", "--only", "idle context: dict", "--columns", "plain,bare"
    done = run_benchmarks(*chosen, "--repeat", "1", "--json", file)
    assert done.returncode == 0, done.stderr
    assert "(1.05" in done.stdout and "geometric mean" in done.stdout
    found = json.loads(file.read_text())
    (times,) = found["results"].values()
    assert found["kind"] == "overhead" and list(map(len, times.values())) == [1, 1]


def test_of_overhead_the_files_of_a_package_are_all_there():
    names = [Path(name).name for _, name in overhead.sources("json")]
    assert {"__init__.py", "decoder.py", "encoder.py"} <= set(names)
    assert len(overhead.sources("argparse")) == 1
