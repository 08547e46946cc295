"""An answer does not depend on what ran before: a fresh process says what an old one says, the eleventh
function of one code what the first says, a second call what the first said."""

import functools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from answers import ITEMS, MODES, answer

FOLDER = Path(__file__).parent


def test_fresh_processes_answer_as_old_ones():
    """`answers.py` asks each item in a process of its own, and then all of them in one, twice."""
    done = subprocess.run(
        [sys.executable, FOLDER / "answers.py"], capture_output=True, text=True, timeout=600,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"{len(ITEMS)} items"]


def times(c):
    return lambda x: np.sum(x * x) * c


def through(c):
    return lambda x: np.sum(c(x))


def twice(c):
    def inner(x):
        return c(x) * c(2.0 * x)

    return lambda x: np.sum(inner(x))


def over(c):
    def f(x):
        s = 0.0
        for w in c:
            s = s + np.sum(x * w)
        return s

    return f


def unless(c):
    return lambda x: np.sum(x * x) if c is None else x * c


def tried(c):
    def f(x):
        try:
            return np.sum(x * c)
        finally:
            pass

    return f


def itself(c):
    def f(x, k=3):
        return np.sum(x) * c if k == 0 else f(x * x, k - 1)

    return f


def entered(c):
    return lambda x: [np.sum(x * c["a"]), c["b"] * x]


def scaled(s):
    return lambda t: t * s


CLOSURES = {
    "number": (times, lambda: 2.0), "array": (times, lambda: np.ones(1)), "complex": (times, lambda: 1j),
    "float32": (times, lambda: np.float32(2)), "ufunc": (through, lambda: np.sin),
    "closure": (through, lambda: scaled(3.0)), "closures": (twice, lambda: scaled(3.0)),
    "partial": (through, lambda: functools.partial(np.multiply, 2.0)), "nothing": (unless, lambda: None),
    "else": (unless, lambda: 2.0), "list": (over, lambda: [1.0, np.ones(3), 2.0]),
    "recorded": (tried, lambda: 2.0), "recursive": (itself, lambda: 2.0),
    "dict": (entered, lambda: {"a": 2.0, "b": 3.0}),
}  # fmt: skip


@pytest.mark.every(8)
@pytest.mark.parametrize("mode", ["grad", "jacfwd"])
@pytest.mark.parametrize("name", CLOSURES)
def test_the_eleventh_closure_answers_as_the_first(name, mode):
    make, captured = CLOSURES[name]
    code = make(captured()).__code__
    for x in (0.5, np.array([0.5, 1.5, -0.3])):

        def anew(code=code.replace()):  # of which there are no functions yet
            f = make(captured())
            f.__code__ = code
            return f

        answers = [answer(anew(), MODES[mode], x) for _ in range(11)]
        assert answers == answers[:1] * 11


def test_items_alone_and_in_a_random_order():
    """Two of a file that takes derivatives of everything; `tests/alone.py` has more, of all."""
    done = subprocess.run(
        [sys.executable, "tests/alone.py", "--sample", "2", "tests/behaviours/test_nesting.py"],
        capture_output=True, text=True, timeout=600, cwd=FOLDER.parent.parent,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TESTS_SAMPLE": "all"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
