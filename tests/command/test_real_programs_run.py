"""Programs that nobody here wrote, under contexts: stdout and exit status are those of the plain run."""

import ast
import difflib
import json
import sysconfig
from pathlib import Path

import pytest
from command_lines import is_installed, python, run, same

CONTEXTS = ["mine:Count", "mine:Everything", "trace", "count", "nan"]

ROSENBROCK = """
import numpy as np
from scipy.optimize import minimize, rosen

found = minimize(rosen, np.array([1.3, 0.7, 0.8, 1.9]), method="Nelder-Mead", options={"maxiter": 60})
print(found.x.round(6), found.nit, found.message)
found = minimize(lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2, [-1.2, 1.0], method="BFGS")
print(found.x.round(4), found.success)
"""

DIFF = """
import difflib, sys
a, b = (open(name).read().splitlines(True)[:150] for name in sys.argv[1:])
sys.stdout.writelines(difflib.unified_diff(a, b, "a", "b"))
print(round(difflib.SequenceMatcher(None, a, b).ratio(), 6))
"""


pytestmark = pytest.mark.every(6)


@pytest.fixture(params=CONTEXTS)
def context(request):
    if not is_installed(request.param) and ":" not in request.param:
        pytest.skip(f"the context {request.param} is not installed")
    return request.param


def stdlib(module):
    return str(Path(sysconfig.get_path("stdlib")) / module)


def test_json_tool(folder, context):
    deep = [[{"x": i, "y": [i / 3, None, True]}] for i in range(30)]
    data = {"names": [f"n{i}" for i in range(30)], "deep": deep}
    (folder / "data.json").write_text(json.dumps(data))
    words = ["-m", "json.tool", "--sort-keys", "--indent", "2", "data.json"]
    plain, _ = same(words, cwd=folder, context=context)
    assert json.loads(plain.stdout) == data
    bad = ["-m", "json.tool", "data.json", "--no-such-option"]
    assert same(bad, cwd=folder, context=context)[0].returncode == 2


def test_scipy_minimize(folder, context):
    pytest.importorskip("scipy")
    (folder / "rosenbrock.py").write_text(ROSENBROCK)
    plain, _ = same(["rosenbrock.py"], cwd=folder, context=context)
    assert "[1. 1.] True" in plain.stdout


def test_difflib(folder, context):
    (folder / "differ.py").write_text(DIFF)
    files = [difflib.__file__, ast.__file__]
    plain, _ = same(["differ.py", *files], cwd=folder, context=context)
    assert plain.stdout.startswith("--- a\n+++ b\n")


def test_ast(folder, context):
    plain, _ = same(["-m", "ast", stdlib("this.py")], cwd=folder, context=context)
    assert plain.stdout.startswith("Module(")


@pytest.mark.parametrize("words", [["2026", "2"], ["-t", "html", "2026"], ["--locale", "C", "2024", "13"]])
def test_calendar(folder, context, words):
    same(["-m", "calendar", *words], cwd=folder, context=context)


def test_this(folder, context):
    plain, _ = same(["-m", "this"], cwd=folder, context=context)
    assert "Beautiful is better than ugly." in plain.stdout


def test_timeit(folder, context):
    words = "-m", "timeit", "-n", "5", "-r", "2", "-s", "x = 3", "sum(range(x))"
    done = run(*words, context=context, cwd=folder)
    assert done.returncode == 0 and done.stdout.startswith("5 loops, best of 2:")
    wrong = ["-m", "timeit", "-n", "1", "-r", "1", "nonsense"]
    plain, other = python(*wrong, cwd=folder), run(*wrong, context=context, cwd=folder)
    assert (other.returncode, other.stdout) == (plain.returncode, plain.stdout)
    assert "NameError: name 'nonsense' is not defined" in other.stderr


def test_two_contexts_at_once(folder):
    (folder / "data.json").write_text(json.dumps({"a": [1, 2.5, {"b": None}]}))
    same(["-m", "json.tool", "data.json"], cwd=folder, context=("mine:Everything", "mine:Count"))
    same(["-m", "calendar", "2026", "2"], cwd=folder, context=("mine:Count", "mine:Everything"))
