"""`python -m ctxdispatch contexts`, and finding contexts by the names that people use."""

import importlib.metadata
import json
import os

import pytest
from command_lines import CONTEXTS, ROOT, python

import ctxdispatch
from ctxdispatch import contexts

SOUND = """
class SoundContext(Count):
    '''Says nothing.

    More.'''
"""


@pytest.fixture
def plugins(tmp_path):
    """A directory with a sound distribution, a broken one, and one that ends the process that imports it."""
    modules = {
        "sound": ("2.5", "SoundContext", CONTEXTS + SOUND),
        "wreck": ("0.1", "WreckContext", "import no_such_module"),
        "quitter": ("1", "Quitter", "import sys; sys.exit(3)"),
    }
    for name, (version, cls, source) in modules.items():
        info = tmp_path / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[ctxdispatch.contexts]\n{cls} = {name}_module:{cls}\n")
        (tmp_path / f"{name}_module.py").write_text(source)
    return tmp_path


def listed(plugins, *words):
    path = os.pathsep.join(map(str, (ROOT, ROOT / "contexts", plugins)))
    done = python("-m", "ctxdispatch", "contexts", *words, cwd=plugins, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_registered_context_is_listed_as_json(plugins):
    found = {each["name"]: each for each in json.loads(listed(plugins, "--json"))}
    assert {"SoundContext", "WreckContext", "Quitter", *contexts.installed()} <= set(found)
    assert found["SoundContext"] == {
        "name": "SoundContext", "summary": "Says nothing.", "distribution": "sound", "version": "2.5",
        "module": "sound_module", "file": str(plugins / "sound_module.py"), "options": ["--top", "--quiet"],
        "error": None,
    }  # fmt: skip
    ad = found["ADContext"]
    assert ad["summary"].startswith("Reverse-mode") and ad["file"].endswith("reverse/context.py")
    assert ad["version"] == importlib.metadata.version("ctxdispatch")


def test_broken_plugins_have_their_error_and_break_no_other(plugins):
    found = {each["name"]: each for each in json.loads(listed(plugins, "--json"))}
    assert found["WreckContext"]["error"] == "ModuleNotFoundError: No module named 'no_such_module'"
    assert found["Quitter"]["error"] == "SystemExit: 3"
    assert found["WreckContext"]["version"] == "0.1"


def test_the_listing_as_text(plugins):
    text = listed(plugins)
    assert "SoundContext: Says nothing.\n    from     sound 2.5\n    module   sound_module\n" in text
    assert "    error    ModuleNotFoundError: No module named 'no_such_module'" in text


def test_plugins_run_by_their_short_names(plugins):
    path = os.pathsep.join(map(str, (ROOT, ROOT / "contexts", plugins)))
    words = "run", "--context", "sound", "-c", "print(abs(-1))"
    done = python("-m", "ctxdispatch", *words, cwd=plugins, PYTHONPATH=path)
    assert done.stdout == "1\n" and "('abs', 1)" in done.stderr
    broken = python("-m", "ctxdispatch", "run", "--context", "wreck", "-c", "1", cwd=plugins, PYTHONPATH=path)
    assert broken.returncode == 2 and "of the distribution wreck" in broken.stderr
    assert len(broken.stderr.splitlines()) == 1


# -- find ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["DualContext", "dualcontext", "dual", "DUAL", "Dual"])
def test_find_takes_any_case_and_leaves_out_the_suffix(name):
    assert contexts.find(name) is ctxdispatch.DualContext


def test_find_takes_a_module_and_a_class():
    assert contexts.find("ctxdispatch_contexts.forward:DualContext") is ctxdispatch.DualContext


@pytest.mark.parametrize(
    "name, message",
    [
        ("dula", "no context named 'dula' is installed; did you mean 'DualContext'"),
        ("zzzzzzzz", "there are: ADContext"),
        ("", "no context named ''"),
        ("no_such_module:Ctx", "No module named 'no_such_module'"),
        ("ctxdispatch_contexts.forward:DaulContext", "did you mean 'DualContext'"),
    ],
)
def test_find_says_what_is_missing_and_what_there_is(name, message):
    with pytest.raises(ImportError, match=message):
        contexts.find(name)
