"""The examples run, and do what they say."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture
def by_hand(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import digits_by_hand

    return digits_by_hand


def test_the_model_imports_numpy_alone():
    tree = ast.parse((EXAMPLES / "digits_model.py").read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert [ast.unparse(node) for node in imports] == ["import numpy as np"]


def test_the_gradient_by_hand_is_the_gradient(by_hand):
    """The yardstick of the example, against finite differences in every parameter."""
    from digits_model import Network, loss

    rng = np.random.default_rng(0)
    network = Network(rng, [5, 4, 3, 10])
    x, labels = rng.normal(size=(6, 5)), rng.integers(0, 10, 6)
    value, gradient = by_hand.loss_and_gradient(network, x, labels)
    assert value == pytest.approx(loss(network, x, labels), rel=1e-14)
    for layer, layer_bar in zip(network.layers, gradient.layers, strict=True):
        for parameter, bar in (layer.W, layer_bar.W), (layer.b, layer_bar.b):
            expected = finite_differences(loss, parameter, network, x, labels)
            np.testing.assert_allclose(bar, expected, atol=1e-8)


def finite_differences(loss, parameter, *args, h=1e-6):
    out = np.zeros_like(parameter)
    for i in np.ndindex(parameter.shape):
        kept = parameter[i]
        parameter[i] = kept + h
        above = loss(*args)
        parameter[i] = kept - h
        out[i] = (above - loss(*args)) / (2 * h)
        parameter[i] = kept
    return out


def test_digits_reaches_its_accuracy():
    pytest.importorskip("sklearn", reason="the digits are scikit-learn's (extra examples)")
    pytest.importorskip("tqdm", reason="the example shows progress (extra examples)")
    done = subprocess.run([sys.executable, EXAMPLES / "digits.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(re.search(r"test accuracy +([\d.]+)", done.stdout)[1]) >= 0.96
    assert re.search(r"overdub / by hand [\d.]+", done.stdout)


# -- Newton's method -----------------------------------------------------------------------------------------


def run_hessian(*options):
    command = [sys.executable, EXAMPLES / "hessian.py", *options]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("options", [["--n", "2"], ["--n", "8"], ["--n", "40", "--dense", "8"]])
def test_newton_finds_the_minimum(options):
    done = run_hessian(*options)
    assert done.returncode == 0, done.stderr
    assert ("Newton-CG, n" in done.stdout) == ("--dense" in options)
    rows = re.findall(r"^ +(\d+|last) +(\S+) +(\S+)", done.stdout, re.MULTILINE)
    values = [float(f) for _, f, _ in rows]
    assert [i for i, *_ in rows] == [*map(str, range(len(rows) - 1)), "last"]
    assert values == sorted(values, reverse=True)
    assert float(rows[-1][2]) < 1e-8
    assert "\nconverged in" in done.stdout
    assert float(re.search(r"\|x - 1\| = (\S+)", done.stdout)[1]) < 1e-8


def test_the_hessian_is_nearer_than_differences_say():
    done = run_hessian("--n", "6")
    gradients, values = map(float, re.findall(r"relative error (\S+)", done.stdout))
    assert gradients < 1e-7 and values < 1e-3


def test_a_tolerance_that_is_not_reached_is_said():
    done = run_hessian("--n", "6", "--max-iter", "3")
    assert done.returncode == 0 and "\nnot converged in" in done.stdout


def test_both_directions_are_newtons_near_the_minimum(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import hessian

    x = 1.0 + 1e-4 * np.random.default_rng(0).normal(size=12)
    g = hessian.gradient(x)
    exact = -np.linalg.solve(hessian.differences_of_gradients(x), g)
    np.testing.assert_allclose(hessian.newton(x, g), exact, rtol=1e-6, atol=1e-9)
    residual = hessian.full_hessian(x) @ hessian.newton_cg(x, g) + g
    assert np.linalg.norm(residual) <= 0.5 * np.linalg.norm(g)


@pytest.mark.parametrize(
    "name, options, words",
    [
        ("nbody.py", ["--iterations", "3"], ["within", "miss afterwards"]),
        ("kalman.py", ["--measurements", "80"], ["within", "L-BFGS"]),
        ("heat.py", ["--size", "24", "--steps", "10", "--iterations", "3"], ["within", "misfit"]),
        ("trees.py", ["--points", "12", "--iterations", "2"], ["central differences", "loss"]),
    ],
)
def test_programs_as_found_in_the_wild(name, options, words):
    command = [sys.executable, str(EXAMPLES / name), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not [word for word in (*words, "its gradient") if word not in done.stdout], done.stdout
