"""Functions of Python's and NumPy's own in recorded runs: those that nothing differentiated can reach run as
they are, those that are given it, or code of the user's, do not."""

import bisect
import contextlib
import dataclasses
import importlib

import numpy as np
import pytest

from ctxdispatch import grad, jvp
from ctxdispatch_contexts.recording import regions

IMPORTED = "collections contextlib copy fractions functools heapq json random statistics string textwrap"

STILL = {
    "errors of NumPy": "x * len(np.geterr())",
    "points": "x * np.linspace(0, 1, 4).sum()",
    "text": "x * len(textwrap.dedent('  a'))",
    "written": "x * len(json.dumps({'a': [1, 2.5]}, indent=1))",
    "read": "x * json.loads('[1, 2.5]')[1]",
    "fractions": "x * float(fractions.Fraction(1, 3) + fractions.Fraction('1/7'))",
    "counted": "x * collections.Counter('abca')['a']",
    "copied": "x * copy.deepcopy([1.0, [2.0]])[1][0]",
    "template": "x * len(string.Template('$a b').substitute(a='c'))",
    "drawn": "x * random.Random(3).gauss(0, 1)",
    "mean": "x * statistics.mean([1.0, 2.5])",
    "nothing": "x * (contextlib.nullcontext(2.0).__enter__())",
}
REACHED = {
    "mean of it": "statistics.fmean([x, x * x])",
    "a weight": "x * sum(random.Random(3).choices([1.0, 2.0], weights=[1.0, float(x)], k=3))",
    "copied with it": "copy.deepcopy([x, [x * 2]])[1][0]",
    "object of the user's": "copy.copy(Box(x)).v * 3",
    "with a key": "heapq.nlargest(1, [1.0, 2.0], key=lambda v: -v * x)[0] * x",
    "written by the user's": "x * len(json.dumps(Box(2), default=lambda b: b.v))",
    "replaced": "dataclasses.replace(Pair(x, 2.0), b=3.0).a * 2",
    "called back": "functools.reduce(lambda a, b: a * b, [x, 2.0, x])",
    "stored by a library": "filled(x)",
    "inserted": "inserted(x)",
    "kept by an object": "of_stack(x)",
}


class Box:
    def __init__(self, v):
        self.v = v


@dataclasses.dataclass
class Pair:
    a: float
    b: float


def filled(x):
    """A constant that a product has read is overwritten afterwards."""
    w = np.eye(2) * 3
    y = w @ np.array([x, 2 * x])
    np.fill_diagonal(w, 7.0)
    return y.sum() + w.sum() * x


def inserted(x):
    items = [1.0, 3.0]
    bisect.insort(items, 2.0)
    return items[1] * x


def of_stack(x):
    got = []
    with contextlib.ExitStack() as stack:
        stack.callback(lambda: got.append(x * 2))
    return got[0]


def program(text):
    space = {**globals(), **{name: importlib.import_module(name) for name in IMPORTED.split()}}
    lines = f"def f(x):\n    with np.errstate(all='ignore'):\n        return {text}\n"
    exec(compile(lines, f"<{text}>", "exec"), space)
    return space["f"]


@pytest.mark.parametrize("name", [*STILL, *REACHED])
def test_derivatives(name):
    f = program({**STILL, **REACHED}[name])
    expected = (f(0.7 + 1e-6) - f(0.7 - 1e-6)) / 2e-6
    assert grad(f)(0.7) == pytest.approx(expected, rel=1e-6)
    assert jvp(f, (0.7,), (1.0,)) == pytest.approx((f(0.7), expected), rel=1e-6)


@pytest.fixture
def native(monkeypatch):
    found = []
    ask = regions._as_it_is
    monkeypatch.setattr(regions, "_as_it_is", lambda *args: (found.append(ask(*args)), found[-1])[1])
    return found


@pytest.mark.parametrize("name", ["text", "written", "read", "copied", "template", "drawn", "mean"])
def test_they_run_as_they_are(name, native):
    plain = program("x * 1.0")
    grad(plain)(0.7)
    before = sum(native)
    native.clear()
    grad(program(STILL[name]))(0.7)
    assert sum(native) > before


def test_what_they_raise_is_raised():
    f = program("x * len(string.Template('$a').substitute())")
    with pytest.raises(KeyError):
        grad(f)(0.7)
