"""examples/plugin: built as a wheel, installed into a clean environment, found there by its name; and what
the tutorial shows of it is what it is."""

import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PLUGIN = ROOT / "examples" / "plugin"
TUTORIAL = (ROOT / "docs" / "write_a_context.md").read_text()

SCRIPT = """
import random
for _ in range(3):
    random.randint(1, 6)
print("done")
"""


def run(*command, cwd=None):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, cwd=cwd)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    for project in (ROOT, PLUGIN):
        run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=project)
    return sorted(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def python(wheels, tmp_path_factory):
    """The interpreter of an environment that has the two wheels, and what they depend on."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    found = folder / "bin" / "python"
    run(found, "-m", "pip", "install", "-q", *wheels)
    return found


def test_the_registry_finds_it_by_name(python, tmp_path):
    code = "from ctxdispatch.contexts import WatchContext; print(WatchContext)"
    assert run(python, "-c", code, cwd=tmp_path).strip() == "<class 'ctxdispatch_watch.WatchContext'>"
    listed = run(python, "-m", "ctxdispatch", "contexts", cwd=tmp_path)
    assert re.search(r"WatchContext.*where a program calls some functions", listed, re.S)


def test_the_command_line_runs_a_script_under_it(python, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    options = ["--context", "watch", "--function", "random.randint"]
    found = run(python, "-m", "ctxdispatch", "run", *options, script, cwd=tmp_path)
    assert "done" in found and f"3 x {script}:4 in <module>" in found


def test_every_bundled_context_loads_there(python, tmp_path):
    code = "from ctxdispatch.contexts import installed, load; print(*[load(n).__name__ for n in installed()])"
    names = run(python, "-c", code, cwd=tmp_path).split()
    assert len(names) >= 13 and all(name.endswith("Context") for name in names)


def test_its_own_tests_pass():
    options = ["-q", "-p", "no:cacheprovider", "-c", "pyproject.toml", "-o", "pythonpath=."]
    assert "1 passed" in run(sys.executable, "-m", "pytest", *options, "tests", cwd=PLUGIN)


def test_pytest_runs_tests_under_it(python, tmp_path):
    run(python, "-m", "pip", "install", "-q", "pytest")
    (tmp_path / "test_it.py").write_text("def test_it():\n    assert sum([1, 2]) == 3\n")
    options = ["-q", "-p", "no:cacheprovider", "--ctxdispatch-context=watch"]
    assert "1 passed" in run(python, "-m", "pytest", *options, cwd=tmp_path)


def test_a_function_that_there_is_not_is_an_error_of_usage(python, tmp_path):
    for name in ("random.randnt", "nomodule.f"):
        words = ["-m", "ctxdispatch", "run", "--context", "watch", "--function", name, "-c", "1"]
        done = subprocess.run([python, *words], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 2 and done.stderr.count("\n") == 1 and f"--function {name}: " in done.stderr


def test_the_package_of_the_tutorial_can_be_built(tmp_path):
    for file in FILES[:2]:
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text((PLUGIN / file).read_text())  # the tutorial shows these, see below
    readme, wheel, *_ = re.search(r"```sh\n(echo .*?)```", TUTORIAL, re.S)[1].splitlines()
    subprocess.run(readme, shell=True, cwd=tmp_path, check=True)
    assert wheel.startswith("pip wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist", cwd=tmp_path)
    assert [*(tmp_path / "dist").glob("*.whl")]


FILES = ["pyproject.toml", "ctxdispatch_watch/__init__.py", "tests/test_watch.py"]


@pytest.mark.parametrize("file", FILES)
def test_the_tutorial_shows_it_as_it_is(file):
    assert (PLUGIN / file).read_text() in TUTORIAL


def test_the_first_context_of_the_tutorial_has_at_most_20_lines():
    block, session = re.findall(r"```(?:python|pycon)\n(.*?)```", TUTORIAL, re.S)[:2]
    lines = [line for line in block.splitlines() if line.strip()]
    lines += [line for line in session.splitlines() if line.startswith((">>>", "..."))]
    lines = [line for line in lines if "example.py" not in line]
    assert len(lines) <= 20
