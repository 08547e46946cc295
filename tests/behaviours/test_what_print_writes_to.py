"""`print` writes to what `file` or `sys.stdout` is, which may be an object of the user's: what its methods do
is part of the run, and what they are given is what print gives them."""

from __future__ import annotations

import contextlib
import io
import sys
import traceback
from types import SimpleNamespace

import numpy as np
import pytest

from ctxdispatch import MissingRuleError, grad, jvp
from tests.recording import RECORDED


class Scaling:
    """Each text that is written scales the numbers by its length."""

    def __init__(self, p):
        self.p, self.texts, self.flushed = p, [], 0

    def write(self, text):
        self.texts.append(text)
        self.p["w"] = self.p["w"] * (1.0 + len(text))

    def flush(self):
        self.flushed += 1


class Flushing(io.StringIO):
    """Only what flushes it is the user's."""

    def __init__(self, p):
        super().__init__()
        self.__dict__["p"] = p

    def flush(self):
        self.p["w"] = self.p["w"] * 1.5


class Computing:
    """It makes its methods when they are asked for."""

    def __init__(self, p):
        self.p = p

    def __getattr__(self, name):
        self.p["w"] = self.p["w"] * 1.5
        return lambda *text: None


class Text(str):
    def __str__(self):
        return "text"


def of_its_own(p):
    made = io.StringIO()
    made.write = Scaling(p).write
    return made


def of_functions(p):
    return SimpleNamespace(write=lambda text: p.update(w=np.cos(p["w"])), flush=lambda: None)


@contextlib.contextmanager
def by_hand(stream):
    before, sys.stdout = sys.stdout, stream
    try:
        yield
    finally:
        sys.stdout = before


def raising():
    try:
        raise ValueError("a")
    except ValueError:
        traceback.print_exc(file=sys.stdout)


STREAMS = {
    "a class": Scaling, "functions": of_functions, "attributes": Computing, "a method": of_its_own,
}  # fmt: skip
PRINTS = {
    "a text": lambda: print("a"),
    "several": lambda: print("a", 2, None, sep="--", end="!"),
    "nothing": lambda: print(),
    "flushed": lambda: print("a", flush=True),
    "flushed by a number": lambda: print("a", flush=1),
    "not flushed": lambda: print("a", flush=[]),
    "a text of its own": lambda: print("a", "b", sep=Text("-"), end=Text("!")),
    "no separator": lambda: print("a", "b", sep=None, end=None),
    "by a library": raising,
}
WAYS = {
    "file": lambda stream, printed: print("a", 1.5, file=stream),
    "redirected": lambda stream, printed: _within(contextlib.redirect_stdout(stream), printed),
    "by hand": lambda stream, printed: _within(by_hand(stream), printed),
}


def _within(manager, printed):
    with manager:
        printed()


CASES = [(s, w, p) for s in STREAMS for w in WAYS for p in PRINTS if w != "file" or p == "a text"]


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize(("stream", "way", "printed"), CASES)
def test_what_is_written_is_differentiated(stream, way, printed, recorded):
    def plain(p):
        WAYS[way](STREAMS[stream](p), PRINTS[printed])
        return np.sum(p["w"] ** 2)

    def within(p):
        with RECORDED:
            return plain(p)

    f, x = within if recorded else plain, np.array([0.7, 1.3])
    value = plain({"w": x})
    want = [(plain({"w": x + e}) - plain({"w": x - e})) / 2e-6 for e in 1e-6 * np.eye(2)]
    for _ in range(3):
        np.testing.assert_allclose(grad(f)({"w": x})["w"], want, rtol=1e-5, atol=1e-8)
        y, dy = jvp(f, ({"w": x},), ({"w": np.array([0.5, -1.0])},))
        np.testing.assert_allclose((y, dy), (value, np.dot(want, [0.5, -1.0])), rtol=1e-5, atol=1e-8)


def test_programs_made_before_are_no_programs_for_other_streams():
    def f(p):
        print("a")
        return np.sum(p["w"] ** 2)

    gradient, x = grad(f), np.array([0.7, 1.3])
    with contextlib.redirect_stdout(io.StringIO()) as text:
        np.testing.assert_allclose(gradient({"w": x})["w"], 2 * x)
    assert text.getvalue() == "a\n"
    p = {"w": x}
    with contextlib.redirect_stdout(Scaling(p)):
        np.testing.assert_allclose(gradient(p)["w"], 2 * x * 4.0**2)


@pytest.mark.parametrize("printed", [name for name in PRINTS if name != "by a library"])
def test_the_same_is_written(printed):
    """Text by text."""
    given = []
    for run in (lambda p: PRINTS[printed](), grad(lambda p: PRINTS[printed]() or p["w"])):
        p = {"w": 1.0}
        stream = Scaling(p)
        with contextlib.redirect_stdout(stream):
            run(p)
        given.append((stream.texts, stream.flushed))
    assert given[0] == given[1]


def test_c_code_that_holds_what_is_differentiated_is_refused():
    def f(p):
        print("a", file=Flushing(p), flush=True)
        return np.sum(p["w"] ** 2)

    for _ in range(3):
        with pytest.raises(MissingRuleError, match="StringIO.write"):
            grad(f)({"w": np.array([0.7, 1.3])})


WRONG = [{"sep": 1}, {"end": b""}, {"flush": True, "other": 1}, {"sep": [], "end": 2}]


@pytest.mark.parametrize("words", WRONG)
def test_what_print_refuses(words):
    def f(x):
        print("a", file=Scaling({"w": x}), **words)
        return x

    with pytest.raises(TypeError) as plain:
        f(1.0)
    with pytest.raises(TypeError) as found:
        grad(f)(1.0)
    assert str(found.value) == str(plain.value)


def test_without_a_stream(monkeypatch):
    def f(x):
        print("a")
        return x * x

    monkeypatch.setattr(sys, "stdout", None)
    assert grad(f)(3.0) == 6.0
    monkeypatch.delattr(sys, "stdout")
    with pytest.raises(RuntimeError, match="lost sys.stdout"):
        grad(f)(3.0)


@pytest.mark.parametrize("opened", [lambda: None, lambda: open("/dev/null", "w"), io.StringIO])
def test_files_of_c_code_are_compiled(opened, recorded):
    def f(x, file):
        y = np.sum(x * x)
        print("a", file=file)
        return y

    for _ in range(3):
        np.testing.assert_allclose(grad(f)(np.array([1.0, 2.0]), opened()), [2.0, 4.0])
    recorded.clear()
    grad(f)(np.array([1.0, 2.0]), opened())
    assert not recorded
