"""Programs drawn from what is known, and from what is not: every path agrees (`python -m tests.paths`)."""

import random
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from ctxdispatch import value_and_grad
from tests.paths import callees
from tests.paths.hunting import Hunt, Tally, answer, hunt, told
from tests.paths.judging import PATHS, is_silent, judged
from tests.paths.programs import Program, drawn
from tests.paths.values import is_tame, kind, numbers, same, state

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

POINT = (0.7, -0.4, 1.3)


@pytest.mark.night("4-0.7-3")
@pytest.mark.parametrize("seed, rowless, least", [(1, 0.1, 8), (4, 0.7, 3)])
def test_every_path_agrees(seed, rowless, least):
    """None is silently wrong; `python -m tests.paths` finds errors of ours too."""
    tally: Tally = Counter()
    for of_one, wrong in hunt(15, seed, rowless, silent=True):
        assert wrong is None, wrong
        tally += of_one
    right = tally["compiled", "right"] + tally["compiled", "raises"] + tally["compiled", "not compared"]
    assert right >= least, told(tally)


def program(*body, result="v1"):
    return Program(body, result, POINT, False)


def test_a_right_program():
    outcomes = judged(program("v1 = x[0] * x[1]", "kept.append(v1)", "x[2] = v1"))
    assert outcomes == dict.fromkeys(["plain", *PATHS], "right")
    assert answer(outcomes) == "answered"


def test_what_is_refused_says_so():
    outcomes = judged(program("v1 = np.frombuffer(memoryview(x * 2.0))[0]"))
    assert outcomes["compiled"] in ("right", "refused"), outcomes


def test_an_error_of_the_program_is_the_same_on_every_path():
    outcomes = judged(program("v1 = x[0]", "raise ValueError(v1)"))
    assert {outcomes[path] for path in outcomes if path != "pattern"} == {"raises"}
    assert outcomes["pattern"] in ("raises", "refused")


@pytest.mark.parametrize("left", ["value", "derivative", "left"])
def test_what_is_wrong_is_told(left, monkeypatch):
    """Of a path that says something else."""

    def wrong(f, given):
        x = given.value
        value, derivative = f(x), 2.0 * x
        if left == "left":
            x[0] += 1.0
        return value + (left == "value"), derivative + (left == "derivative")

    monkeypatch.setitem(PATHS, "compiled", ("", wrong))
    said = judged(program("v1 = np.sum(x * x)"))["compiled"]
    assert said.startswith(f"WRONG: {'leaves' if left == 'left' else left}")


def test_a_gradient_of_another_structure_is_a_silent_error(monkeypatch):
    def wrong(f, given):
        value, found = value_and_grad(f)(given.value)
        return value, given.gathered({**found, "b": found["a"]})

    monkeypatch.setitem(PATHS, "compiled", ("", wrong))
    given = ("v1 = given", "x = v1['a']")
    said = judged(program(*given, result="1.0 * x[0]")._replace(given="a dict"))
    assert said["plain"] == said["recorded"] == "right" and is_silent(said["compiled"])


def test_steps_that_do_not_agree_say_nothing():
    outcomes = judged(program("v1 = abs(x[0] - 0.7)"))
    assert outcomes["plain"] == "no derivative" and outcomes["compiled"] == "not compared"


def test_what_is_no_number_is_no_program():
    outcomes = judged(program("v1 = x"))
    assert outcomes == {"plain": "no number"} and answer(outcomes) == "no program"


def test_what_is_found_is_short(monkeypatch):
    """Of a path that is wrong about sums, what is shown is one."""

    def wrong(f, given):
        value, derivative = value_and_grad(f)(given.value)
        return value, derivative + ("sum" in f.__code__.co_names)

    monkeypatch.setitem(PATHS, "compiled", ("", wrong))
    body = ("v1 = [x[0], 2.0]", "for i in range(2):\n    v1.append(math.sin(x.sum()) + i)", "box.put(v1)")
    found = Hunt(60.0, False, lambda p: None).one(program(*body, result="1.0 * v1[2] + 0.7 * x[1]"))
    assert found.program.body in (("x.sum()",), ("x.sum",)), found


def test_chance_is_a_seed():
    drawings = [[drawn(chance, 0.5) for _ in range(3)] for chance in (random.Random(5), random.Random(5))]
    assert drawings[0] == drawings[1]


def test_what_is_shown_runs():
    shown = program("v1 = x[0]", "box.put(v1)", result="box.get()").shown()
    ended = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True)
    assert "1. , 0. , 0." in ended.stdout or "1., 0., 0." in ended.stdout, ended.stderr


def test_callables_are_of_both_kinds():
    assert "math.sin" in callees.functions(False)["math"]
    assert "append" in callees.methods(list)


@pytest.mark.parametrize("value, letter", [(1.5, "N"), (np.ones(3), "A"), ([], "L"), ({}, "D"), (1, "U")])
def test_kinds(value, letter):
    assert kind(value) == letter


def test_numbers_and_states():
    v = {"a": [1.5, np.ones(2)], "b": (2, 3j)}
    read = "v['a'][0] v['a'][1][0] v['a'][1][1] v['b'][1].real v['b'][1].imag"
    assert [*numbers("v", v)] == read.split()
    assert same(state(v), state(v)) and not same(state([1.5]), state([np.float64(1.5)]))
    assert not is_tame(np.inf) and not is_tame([1e9]) and is_tame(v)
