"""What has no program is not made to the end, nor a second time before recorded runs have taken as long."""

import os
import sysconfig
import types

import numpy as np
import pytest

from ctxdispatch import explain, grad, jvp
from ctxdispatch_contexts.programs import entry, observed
from ctxdispatch_contexts.reverse.program import ReverseMode

X = np.array([0.3, 0.4, -0.5])

INSTALLED = """
def guarded(x):
    try:
        return x * 2.0
    except TypeError:
        return x
"""
"""A function of a package that is installed, which has handlers, and so no program."""

given = {}
exec(compile(INSTALLED, os.path.join(sysconfig.get_path("stdlib"), "made_up.py"), "exec"), given)
guarded = given["guarded"]


def always(x):
    return np.sum(guarded(x * x[-1]) ** 2)


def sometimes(x):
    return np.sum(guarded(x * x[-1]) ** 2) if x[0] > 0.0 else x[0]


class Layer:
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return np.tanh(x * self.w)


class Lazy:
    """What its attribute is, a run finds out."""

    def __getattr__(self, name):
        self.layer = Layer(3.0)
        return self.layer


@pytest.fixture
def clock(monkeypatch):
    """Seconds of the processor's time, by what the test says that things take."""
    now = types.SimpleNamespace(time=0.0, build=0.0, run=0.0, builds=0)
    for module in (entry, observed):
        monkeypatch.setattr(module, "time", types.SimpleNamespace(thread_time=lambda: now.time))
    made, recorded = entry.Entry.program_or_reason, ReverseMode.recorded

    def build(self, *args):
        if self.function.__name__ == "f":
            now.time, now.builds = now.time + now.build, now.builds + 1
        return made(self, *args)

    def record(self, *args):
        run = recorded(self, *args)

        def timed(*values):
            now.time += now.run
            return run(*values)

        return timed

    monkeypatch.setattr(entry.Entry, "program_or_reason", build)
    monkeypatch.setattr(ReverseMode, "recorded", record)
    return now


@pytest.mark.parametrize(
    "build, run, again", [(15.0, 0.01, 2), (40.0, 80.0, 3), (40.0, 16.0, 5), (40.0, 4.0, 12)]
)
def test_a_build_is_repeated_when_runs_have_taken_as_long(clock, build, run, again, monkeypatch):
    monkeypatch.setattr(entry, "straightened", lambda *args: None)  # else the second run is traced
    own = {"np": np, "lazy": Lazy()}
    exec("def f(x): return np.sum(lazy.layer(x))", own)  # of no other's code, which would share its program
    g, clock.build, clock.run = grad(own["f"]), build, run
    expected = 3.0 / np.cosh(3.0 * X) ** 2
    builds = []
    for _ in range(again + 1):
        np.testing.assert_allclose(g(X), expected)
        builds.append(clock.builds)
    assert builds == [1] * (again - 1) + [2, 2]
    assert explain(g)(X).regions[0].tier == "compiled whole"


@pytest.mark.parametrize("way", [lambda f: grad(f)(X), lambda f: jvp(f, (X,), (X,))], ids=["grad", "jvp"])
@pytest.mark.parametrize("early", [True, False])
def test_no_program_is_finished_or_attempted_that_every_run_refuses(monkeypatch, early, way):
    """In a branch it may never be called."""
    monkeypatch.setattr(observed, "FREE", np.inf)
    optimised, tries = [], []
    f = always if early else sometimes
    tried = entry.Entry._tried
    monkeypatch.setattr(entry.Entry, "_tried", lambda self, *args: tries.append(self) or tried(self, *args))
    for module in ("reverse", "forward"):
        program = pytest.importorskip(f"ctxdispatch_contexts.{module}.program")
        optimise = program.optimise
        monkeypatch.setattr(program, "optimise", lambda g, *a, o=optimise: optimised.append(g) or o(g, *a))
    for _ in range(3):
        way(f)
    whole = [each for each in tries if each.function.__name__ == f.__name__]
    assert (len(whole) == 1) is early  # another time with types that the first run has noted
    assert any(graph.name.endswith(f.__name__) for graph in optimised) is not early
