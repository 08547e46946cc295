"""The harness itself: the list, expectations, the comparison, the import hook, a module that crashes."""

import fcntl
import inspect
import linecache
import pickle
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from . import catalog, compare, expected, hook, report, runner, store

# -- the list of modules ----------------------------------------------------------------------------


def test_marks_of_a_module():
    (module,) = catalog.read(["# a comment", "", "test_dis introspection since=3.12 until=3.13"])
    assert module == catalog.Module("test_dis", introspection=True, since=(3, 12), until=(3, 13))
    assert [module.runs_on(v) for v in [(3, 11), (3, 12), (3, 14)]] == [False, True, False]


@pytest.mark.parametrize("line", ["test_a slow", "test_a fast=1", "test_a since=", "test_a\ntest_a"])
def test_wrong_lines_are_refused(line):
    with pytest.raises(ValueError):
        catalog.read(line.split("\n"))


@pytest.mark.skipif(not catalog.Module("support").installed, reason="the test package is not installed")
def test_every_listed_module_is_installed():
    assert [m.name for m in catalog.catalog() if not m.installed] == []


# -- expected.toml -----------------------------------------------------------------------------------

ENTRY = """
[[expected]]
modes = ["hooks"]
module = "test_a"
tests = ["test.test_a.T.test_one", "test.test_a.U.*"]
reason = "looks at frames"
"""


def test_the_file_itself_is_valid():
    names = {m.name for m in catalog.read(catalog.LIST.read_text().splitlines())}
    assert {entry.module for entry in expected.load()} <= names


def test_entry():
    (entry,) = expected.parse(ENTRY)
    assert entry.concerns("hooks", "test_a")
    assert not entry.concerns("identity", "test_a") and not entry.concerns("hooks", "test_b")
    assert entry.matches("test.test_a.U.anything") and not entry.matches("test.test_a.T.test_two")


def test_versions_of_an_entry():
    (entry,) = expected.parse(ENTRY + 'versions = ["3.11"]')
    assert entry.concerns("hooks", "test_a") == (store.VERSION == "3.11")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ('modes = ["hooks"]', "missing"),
        ('modes = ["plain"]', "plain"),
        ('modes = "hooks"', "list of texts"),
        ("tests = []", "list of texts"),
        ('reason = " "', "reason"),
        ('versions = ["3.10"]', "3.10"),
        ('why = "x"', "unknown"),
    ],
)
def test_invalid_entries_are_refused(change, message):
    key = change.split()[0]
    kept = [line for line in ENTRY.splitlines() if not line.startswith(key)]
    lines = kept if message == "missing" else [*kept, change]
    with pytest.raises(expected.InvalidExpectation, match=message):
        expected.parse("\n".join(lines))


@pytest.mark.parametrize("text", ["[expected", "[[expecte]]"])
def test_what_is_no_list_of_entries_is_refused(text):
    with pytest.raises(expected.InvalidExpectation):
        expected.parse(text)


# -- the comparison ----------------------------------------------------------------------------------

MODULE = catalog.Module("test_a")
PLAIN = store.Result(
    "test_a", "plain", "ok",
    outcomes={"one": "pass", "two": "pass", "three": "xfail", "four": "skip", "five": "fail"},
)  # fmt: skip


def other(status="ok", **outcomes):
    return store.Result("test_a", "hooks", status, outcomes=outcomes)


def test_new_failures():
    same = other(one="pass", two="pass", three="xfail", four="error", five="error")
    assert compare.failures(PLAIN, same) == {}
    worse = other(one="skip", two="fail", three="xpass")
    assert compare.failures(PLAIN, worse) == {"one": "skip", "two": "fail", "three": "xpass"}
    assert compare.failures(PLAIN, other(one="pass", two="missing")) == {"two": "missing", "three": "missing"}


@pytest.mark.parametrize("status", ["broken", "crash", "timeout"])
def test_a_module_that_does_not_finish_fails_as_a_whole(status):
    cut = other(status, one="pass")
    assert compare.failures(PLAIN, cut) == dict.fromkeys(["one", "two", "three"], status)


def test_nothing_is_compared_with_a_plain_run_that_did_not_finish():
    plain = store.Result("test_a", "plain", "crash", outcomes=PLAIN.outcomes)
    assert compare.failures(plain, other()) == {}


def test_expected_unexpected_and_stale():
    text = ENTRY.replace("test.test_a.T.test_one", "one").replace("test.test_a.U.*", "t[x]*")
    found = compare.compare(MODULE, PLAIN, other(one="fail", two="fail", three="pass"), expected.parse(text))
    assert found.expected == {"one": "looks at frames"} and found.unexpected == {"two": "fail"}
    assert found.stale == ["t[x]*"]
    assert report.row("hooks", "library", [found])[2:] == ("1", "3", "2", "1", "1", "33.33 %")


def test_events_make_a_result():
    events = [
        {"collected": ["a", "b", "c"]},
        {"start": "a"}, {"id": "a", "outcome": "fail", "text": "why"}, {"start": "b"},
    ]  # fmt: skip
    result = store.collect("test_a", "plain", events, "crash")
    assert result.outcomes == {"a": "fail", "b": "missing", "c": "missing"}
    assert result.texts == {"a": "why"} and result.text.startswith("in b")


def test_results_come_back_from_disk(tmp_path):
    kept = store.Store(tmp_path)
    assert kept.load("plain", "test_a") is None
    kept.save(PLAIN)
    assert kept.load("plain", "test_a") == PLAIN
    assert not kept.current("plain", "test_a")  # made by unknown sources
    PLAIN_NOW = store.Result("test_a", "plain", "ok", made_by=store.fingerprint("plain"))
    kept.save(PLAIN_NOW)
    assert kept.current("plain", "test_a")


# -- the import hook ---------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package beneath a root, imported with its docstrings, names and constants doubled by the hook."""
    folder = tmp_path / "root" / "hooked_package"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("from . import inner\nword = 'small'\n")
    (folder / "inner.py").write_text("class C:\n    def f(self):\n        return 'small'\n")
    (folder / "alone.py").write_text((folder / "inner.py").read_text())
    (folder / "broken.py").write_text("refuse = 'me'\n")
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.syspath_prepend(str(folder.parent))
    finder = hook.RewritingFinder(shout, [folder.parent])
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    yield finder
    for name in [name for name in sys.modules if name.startswith("hooked_package")]:
        del sys.modules[name]


def shout(code):
    """The code with 'large' for 'small', nested code too."""
    if "refuse" in code.co_names:
        raise RuntimeError("not this one")
    swap = {"small": "large"}

    def changed(const):
        return shout(const) if hasattr(const, "co_code") else swap.get(const, const)

    return code.replace(co_consts=tuple(map(changed, code.co_consts)))


def test_nested_code_of_source_modules_is_rewritten(package):
    import hooked_package

    assert hooked_package.word == "large" and hooked_package.inner.C().f() == "large"


def test_a_hooked_module_looks_like_any_other(package, tmp_path):
    import hooked_package.inner as inner

    path = str(tmp_path / "root" / "hooked_package" / "inner.py")
    assert inner.__file__ == inner.__spec__.origin == path
    assert inner.__cached__ == inner.__spec__.cached and Path(inner.__cached__).exists()
    assert type(inner.__loader__) is type(textwrap.__loader__) and inner.__spec__.loader is inner.__loader__
    assert inspect.getsource(inner.C.f) == linecache.getline(path, 2) + linecache.getline(path, 3)
    assert pickle.loads(pickle.dumps(inner.C)) is inner.C


def test_rewritten_code_is_not_written_to_disk(package, monkeypatch):
    import hooked_package

    monkeypatch.setattr(sys, "meta_path", sys.meta_path[1:])
    del sys.modules["hooked_package"]
    import hooked_package as again

    assert again is not hooked_package and again.word == "small"


def test_run_as_a_module(package):
    import runpy

    assert runpy.run_module("hooked_package.alone")["C"]().f() == "large"


def test_a_refused_module_runs_as_it_is_and_is_recorded(package):
    from hooked_package import broken

    assert broken.refuse == "me" and list(package.refused) == ["hooked_package.broken"]


def test_modules_outside_the_roots_are_left_alone(package, tmp_path, monkeypatch):
    (tmp_path / "outside_the_roots.py").write_text("word = 'small'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import outside_the_roots

    del sys.modules["outside_the_roots"]
    assert outside_the_roots.word == "small"


def test_frozen_modules_are_rewritten(monkeypatch):
    seen = []
    finder = hook.RewritingFinder(lambda code: seen.append(code.co_name) or code, [])
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    monkeypatch.delitem(sys.modules, "__phello__", raising=False)
    import __phello__

    assert len(seen) == 1
    assert __phello__.__spec__.loader is __phello__.__loader__ is hook.FrozenImporter


def test_purge_leaves_what_the_interpreter_holds():
    """In a process of its own: this one needs its modules."""
    code = f"""
import sys
sys.path[:0] = {runner.FRONT!r}
import json, typing, collections.abc, functools
from conformance import child, modes
modes.MODES["plain"] = lambda: lambda code: code
old = json
import re as old_re
child.install("plain", {len(runner.FRONT)})
assert not {{"json", "json.decoder", "typing", "functools", "collections", "re"}} & set(sys.modules)
assert {{"os", "codecs", "io", "_functools", "ctxdispatch"}} <= set(sys.modules)
assert old_re.compile("a+").match("aa")
import json
assert json is not old and json.loads(old.dumps([1])) == [1]
assert isinstance(json.loads("{{}}"), dict) and "importlib.util" not in sys.modules
import importlib.util
"""
    subprocess.run([sys.executable, "-c", code], check=True)


# -- processes ---------------------------------------------------------------------------------------

PROGRAM = """
import fcntl, os, subprocess, sys, time, unittest

class T(unittest.TestCase):
    def test_a(self):
        self.assertNotIn("conformance", " ".join(sys.path))

    def test_b(self):
        for i in range(3):
            with self.subTest(i=i):
                self.assertNotEqual(i, 1)

    @unittest.expectedFailure
    def test_c(self):
        self.fail()

    def test_d(self):
        LAST

    @unittest.skip("later")
    def test_e(self):
        pass
"""


@pytest.fixture(scope="module")
def nursery():
    made = runner.Nursery("plain")
    assert made.ready(), made.last_words()
    yield made
    made.close()


@pytest.fixture
def run(nursery, request):
    def run(last, timeout=60):
        name = f"program_{abs(hash(last))}"
        work = nursery.folder / name / "work"
        work.mkdir(parents=True)
        (work / f"{name}.py").write_text(PROGRAM.replace("LAST", last))
        result = nursery.run(name, timeout, package="")
        result.outcomes = {test.removeprefix(f"{name}.T.test_"): o for test, o in result.outcomes.items()}
        result.texts = {test.removeprefix(f"{name}.T.test_"): text for test, text in result.texts.items()}
        return result

    return run


def test_outcomes(run):
    result = run("raise KeyError('k')")
    assert result.status == "ok"
    assert result.outcomes == {"a": "pass", "b": "fail", "c": "xfail", "d": "error", "e": "skip"}
    assert "i=1" in result.texts["b"] and "KeyError: 'k'" in result.texts["d"]


def test_an_interrupt_is_heard_where_the_shell_ignores_it():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        made = runner.Nursery("plain")
        assert made.ready(), made.last_words()
    finally:
        signal.signal(signal.SIGINT, before)
    work = made.folder / "interrupted" / "work"
    work.mkdir(parents=True)
    last = "with self.assertRaises(KeyboardInterrupt): import signal; signal.raise_signal(signal.SIGINT)"
    (work / "interrupted.py").write_text(PROGRAM.replace("LAST", last))
    result = made.run("interrupted", 60, package="")
    made.close()
    assert result.outcomes["interrupted.T.test_d"] == "pass", result.texts


def test_a_test_that_crashes_is_one_failure(run):
    result = run("os.abort()")
    assert result.status == "ok"
    assert result.outcomes == {"a": "pass", "b": "fail", "c": "xfail", "d": "error", "e": "skip"}
    assert "exit status -6" in result.texts["d"] and "Fatal Python error: Aborted" in result.texts["d"]


def test_a_crash_outside_the_tests_is_recorded_with_its_place(run):
    result = run("pass\n    os.abort()  # in the class")
    assert result.status == "crash" and result.outcomes == {}
    assert "its import" in result.text.splitlines()[0] and "Fatal Python error: Aborted" in result.text


def test_a_timeout_kills_what_was_started(run, tmp_path):
    path = tmp_path / "held"
    lock = f"held = open({str(path)!r}, 'w'); fcntl.flock(held, fcntl.LOCK_EX)"
    start = "subprocess.Popen(['sleep', '60'], pass_fds=[held.fileno()])"
    result = run(f"{lock}; {start}; time.sleep(60)", timeout=2)
    assert result.status == "timeout" and result.outcomes["d"] == "missing"
    with open(path) as held:  # the lock goes when the last process that has the file is gone
        before = time.monotonic()
        fcntl.flock(held, fcntl.LOCK_EX)
    assert time.monotonic() - before < 20


def test_what_two_modules_imported_is_rewritten_for_the_third_but_not_imported(run):
    assert run("import colorsys  # 1").outcomes["d"] == "pass"
    assert run("import colorsys  # 2").outcomes["d"] == "pass"
    known = "{name for name, _ in sys.meta_path[0].rewritten}"
    third = run(f"self.assertTrue('colorsys' in {known} and 'colorsys' not in sys.modules)")
    assert third.outcomes["d"] == "pass", third.texts


def test_an_import_that_fails(run):
    result = run("nonsense syntax")
    assert result.status == "broken" and "SyntaxError" in result.text


def test_the_nursery_itself_may_die(monkeypatch, tmp_path):
    monkeypatch.setattr(runner, "PROGRAM", "raise SystemExit('no nursery')")
    tasks = [("plain", "test_json"), ("plain", "test_re")]
    results = list(runner.Runner(store.Store(tmp_path), timeout=10).run(tasks))
    assert [(r.module, r.status, r.made_by) for r in results] == [
        (module, "crash", store.fingerprint("plain")) for _, module in tasks
    ]
    assert all("no nursery" in r.text and r.text.startswith("in the nursery") for r in results)
