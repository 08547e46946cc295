"""The project around the code: what importing costs, the plugin registry, README and CI, the wheel."""

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import ctxdispatch
from ctxdispatch import contexts

ROOT = Path(__file__).parent.parent


def run_python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# The public surface


def test_import_loads_neither_numpy_nor_the_engine():
    loaded = run_python("import ctxdispatch, sys; print(*sys.modules)").split()
    assert not {"numpy", "multipledispatch", "wrapt", "typing", "dis", "importlib.metadata"} & set(loaded)
    assert [name for name in loaded if name.startswith("ctxdispatch")] == ["ctxdispatch"]


def test_programs_are_differentiated_without_the_recorder():
    """It is loaded when the first run is recorded."""
    program = """
import sys
from ctxdispatch import grad, jvp
def f(x):
    for i in range(3):
        x = x * x - 1.0
    return x
grad(f)(1.5), jvp(f, (1.5,), (1.0,))
print(*sys.modules)
"""
    loaded = run_python(program).split()
    assert not [name for name in loaded if name.startswith("ctxdispatch_contexts.recording")]


@pytest.mark.parametrize("name", ctxdispatch.__all__)
def test_public_name_resolves(name):
    assert callable(getattr(ctxdispatch, name))
    assert name in dir(ctxdispatch)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        ctxdispatch.nonsense


def test_ir_is_the_function_whatever_is_imported_first():
    run_python(
        "import ctxdispatch.ir, sys; from ctxdispatch import ir\n"
        "assert callable(ir) and ir is not sys.modules['ctxdispatch.ir'] and ctxdispatch.ir is ir"
    )


def test_typed_names_are_the_lazy_names():
    """What type checkers are told (the TYPE_CHECKING block) is what `__getattr__` gives."""
    tree = ast.parse(Path(ctxdispatch.__file__).read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    told = {a.name: n.module for n in imports for a in n.names if n.module.startswith("ctxdispatch")}
    assert told == ctxdispatch._HOME
    assert sorted(told) == sorted(ctxdispatch.__all__)


# The registry


@pytest.fixture
def distributions(tmp_path, monkeypatch):
    """`distributions(name, entry_points, modules)` installs one for the time of a test."""

    def install(name, entry_points, **modules):
        site = tmp_path / name
        info = site / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = "\n".join(f"{k} = {v}" for k, v in entry_points.items())
        (info / "entry_points.txt").write_text(f"[ctxdispatch.contexts]\n{lines}\n")
        for module, source in modules.items():
            (site / f"{module}.py").write_text(source)
        monkeypatch.syspath_prepend(str(site))
        contexts.refresh()

    yield install
    monkeypatch.undo()
    contexts.refresh()


@pytest.fixture(autouse=True)
def nothing_loaded():
    before = set(vars(contexts))
    yield
    for name in set(vars(contexts)) - before:
        delattr(contexts, name)


def test_the_bundled_context_comes_through_the_registry():
    from ctxdispatch.contexts import ADContext

    assert "ADContext" in contexts.installed()
    assert "ADContext" in dir(contexts)
    assert ADContext is ctxdispatch.ADContext


def test_a_plugin_is_found_and_loaded_by_name(distributions):
    distributions("greeting", {"Greet": "greeting_plugin:Greet"}, greeting_plugin="class Greet: pass")
    from ctxdispatch.contexts import Greet

    assert Greet.__module__ == "greeting_plugin"


def test_listing_loads_nothing(distributions):
    distributions("loud", {"Loud": "loud_plugin:Loud"}, loud_plugin="raise RuntimeError('loaded')")
    assert {"ADContext", "Loud"} <= set(contexts.installed())
    assert "loud_plugin" not in sys.modules


@pytest.mark.parametrize(
    "source, cause",
    [
        ("raise RuntimeError('no licence')", "RuntimeError: no licence"),
        ("import no_such_module", "ModuleNotFoundError"),
        ("", "AttributeError"),
        ("def (", "SyntaxError"),
    ],
)
def test_a_broken_plugin_is_named_and_harms_no_other(distributions, source, cause):
    module = f"broken_{cause.split(':')[0].lower()}"
    distributions("wreck", {"Broken": f"{module}:Broken"}, **{module: source})
    distributions("sound", {"Sound": "sound_plugin:Sound"}, sound_plugin="class Sound: pass")
    with pytest.raises(contexts.PluginError, match=f"'Broken'.*distribution wreck.*{cause}"):
        contexts.load("Broken")
    assert contexts.load("Sound").__name__ == "Sound"


def test_an_unknown_name_is_an_import_error_that_lists_what_there_is():
    with pytest.raises(ImportError, match="no context named 'Nonsense'.* there are: .*ADContext"):
        from ctxdispatch.contexts import Nonsense  # noqa: F401


def test_a_name_registered_twice_is_refused(distributions):
    for name in "one", "two":
        distributions(name, {"Same": f"same_{name}:Same"}, **{f"same_{name}": "class Same: pass"})
    with pytest.raises(contexts.PluginError, match="'Same' is registered several times.*uninstall"):
        contexts.load("Same")


# README and CI


def readme_commands():
    return re.findall(r"^python3 -m venv .*$", (ROOT / "README.md").read_text(), flags=re.M)


def test_readme_has_the_two_commands():
    example, tests = readme_commands()
    assert example.endswith(".venv/bin/python examples/digits.py")
    assert tests.endswith(".venv/bin/python -m pytest -q -n auto")


def test_ci_runs_the_readme_command():
    _, tests = readme_commands()
    assert tests in [line.strip() for line in (ROOT / ".ci" / "run").read_text().splitlines()]


def test_extras_that_readme_and_ci_name_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    texts = [(ROOT / name).read_text() for name in ("README.md", ".ci/run", "CONTRIBUTING.md")]
    named = {extra for text in texts for extra in re.findall(r"'\.\[(\w+)\]'", text)}
    assert named and named <= set(extras)
    assert {"jit", "sparse", "cuda", "test", "bench", "all"} <= set(extras)


# The sizes of files and functions

PACKAGES = ROOT / "ctxdispatch", ROOT / "contexts" / "ctxdispatch_contexts"
SOURCES = sorted(path for package in PACKAGES for path in package.rglob("*.py"))
LONGEST_FILE, LONGEST_FUNCTION = 400, 40
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


def long_functions(path):
    functions = (n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, FUNCTIONS))
    lengths = {f"{path.name}: {n.name}": n.end_lineno - n.lineno + 1 for n in functions}
    return {name: lines for name, lines in lengths.items() if lines > LONGEST_FUNCTION}


def test_no_file_is_long():
    lines = {path.relative_to(ROOT).as_posix(): len(path.read_text().splitlines()) for path in SOURCES}
    assert len(lines) > 300
    assert {name: n for name, n in lines.items() if n > LONGEST_FILE} == {}


def test_no_function_is_long():
    assert {name: n for path in SOURCES for name, n in long_functions(path).items()} == {}


def test_a_long_function_is_found_wherever_it_is(tmp_path):
    path = tmp_path / "long.py"
    body = "        x = 1\n"
    path.write_text(f"class A:\n    async def f():\n{body * 40}    def g():\n{body * 39}")
    assert long_functions(path) == {"long.py: f": 41}


# The wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("hatchling", reason="building a wheel needs hatchling (extra test)")
    folder = tmp_path_factory.mktemp("dist")
    run_python(f"from hatchling.build import build_wheel; build_wheel({str(folder)!r})")
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_wheel_holds_both_packages_typed(wheel):
    names = set(wheel.namelist())
    assert {"ctxdispatch/py.typed", "ctxdispatch_contexts/py.typed", "ctxdispatch/contexts.py"} <= names
    tops = {name.split("/")[0] for name in names}
    assert tops == {"ctxdispatch", "ctxdispatch_contexts", f"ctxdispatch-{ctxdispatch.__version__}.dist-info"}


def test_wheel_holds_every_module(wheel):
    expected = {p.relative_to(ROOT).as_posix().removeprefix("contexts/") for p in SOURCES}
    assert expected <= set(wheel.namelist())


def test_wheel_holds_the_files_of_pages_and_the_command(wheel):
    folder = ROOT / "ctxdispatch" / "command" / "page_files"
    expected = {path.relative_to(ROOT).as_posix() for path in folder.iterdir()}
    assert len(expected) == 3 and expected <= set(wheel.namelist())
    flame = {f"ctxdispatch_contexts/tracing/flame.{kind}" for kind in ("html", "css", "js")}
    assert flame <= set(wheel.namelist())
    (name,) = (n for n in wheel.namelist() if n.endswith("entry_points.txt"))
    assert "ctxdispatch = ctxdispatch.command:main" in wheel.read(name).decode()


def test_wheel_registers_the_bundled_contexts(wheel):
    (name,) = (n for n in wheel.namelist() if n.endswith("entry_points.txt"))
    text = wheel.read(name).decode()
    assert "[ctxdispatch.contexts]" in text and "ADContext = ctxdispatch_contexts.reverse:ADContext" in text
