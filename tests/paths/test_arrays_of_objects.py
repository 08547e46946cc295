"""What NumPy makes an array of objects of what is differentiated by: right, or refused; what only puts
numbers into one is right."""

import contextlib

import numpy as np
import pytest

from ctxdispatch import grad, stop_gradient
from tests.paths.callees import functions
from tests.paths.hunting import verdict
from tests.paths.judging import PATHS, judged
from tests.paths.programs import Program

OPERANDS = ("x", "[x, x]", "x, x", "3, x[0]", "x, x[0]", "x[0], x[1], 3", "x[0]", "[x[0], x[1]]")
POINT = (0.7, -0.4, 1.3)


def calls():
    """Those that run and give numbers, of all functions with a row."""
    for name in functions(False)["numpy"]:
        for operands in OPERANDS:
            text = f"np.ravel({name.replace('numpy.', 'np.')}({operands}, dtype=object))[0] * 1.5"
            with contextlib.suppress(Exception), np.errstate(all="ignore"):
                if isinstance(eval(text, {"np": np, "x": np.array(POINT)}), float):
                    yield text


@pytest.mark.parametrize("text", [*calls()])
def test_numbers_that_numpy_makes(text):
    told = judged(Program((f"v1 = {text}",), "v1 * x[1]", POINT, False))
    assert not any(said.startswith("WRONG: derivative") for said in told.values()), told


@pytest.mark.parametrize("f", ["logical_and", "logical_or", "maximum", "add"])
@pytest.mark.parametrize("made", ["np.array([x[0], x[1]], object)", "x.astype(object)"])
def test_numbers_that_are_in_one(f, made):
    told = judged(Program((f"v1 = {made}", f"v2 = np.{f}(v1, v1)"), "v2[0] * x[1]", POINT, False))
    assert not any(said.startswith("WRONG: derivative") for said in told.values()), told


@pytest.mark.parametrize("made", [
    "np.array([x[0], x[1] * x[2]], object)", "np.asarray([[x[0]], [x[1]]], dtype=object)",
    "np.array((x[0:1], x[1:2]), object)", "np.array([(x[0], x[1]), x], object)[1]",
    "np.array([x[0]], object, ndmin=2)", "np.array(x[0], object)",
])  # fmt: skip
def test_numbers_that_are_put_there(made):
    told = judged(Program((f"v1 = {made}",), "np.ravel(v1)[0] * x[1]", POINT, False))
    assert {verdict(told[path]) for path in PATHS if path != "pattern"} == {"right"}, told


@pytest.mark.parametrize("made", [lambda x: np.array([x[0], [x[1]]], object), lambda x: x.astype(object)])
def test_numbers_there_are_stopped(made):
    """One by one: a copy of the array would hold the same ones."""

    def f(x):
        return stop_gradient(made(x))[0] * x[1]

    assert grad(f)(np.array(POINT)).tolist() == [0.0, 0.7, 0.0]


def test_lists_there_are_the_same_ones():
    def f(x):
        items = [x[1]]
        made = np.array([x[0], items], object)
        items.append(x[2])
        return made[1][1] * x[0] * (made[1] is items)

    assert grad(f)(np.array(POINT)).tolist() == [1.3, 0.0, 0.7]


STORES = (
    "v1.fill({})", "v1[0] = {}", "v1[...] = {}", "v1[1:] = {}", "np.copyto(v1, {})", "np.put(v1, [1], {})",
    "v1.put([0, 1], {})", "np.place(v1, [True, False], {})", "v1[[0, 1]] = {}",
    "v1.flat[0] = {}", "v1.flat[-1:] = {}", "np.putmask(v1, [True, True], {})",
)  # fmt: skip
STORED = (
    "3", "[4, 5]", "[x[0], 5]", "x[1]", "[[x[1], 2]]", "(1, x[0])", "x[:2]", "'ab'", "None",
    "{'a': x[0]}",
)  # fmt: skip


MADE = ("np.array(x[:2], object)", "np.zeros(2, object)", "np.array([None, [x[2]]], object)")


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("value", STORED)
@pytest.mark.parametrize("store", STORES)
def test_objects_that_are_stored(store, value, made):
    """An element may be a list: what is stored is as plainly, and what is in it has its derivative."""
    number = "sum(n for v in v1 for n in (v if type(v) in (list, tuple) else [v]) if isinstance(n, float))"
    told = judged(Program((f"v1 = {made}", f"v2 = {store.format(value)}"), f"{number} * x[1]", POINT, False))
    assert {verdict(told[path]) for path in PATHS} <= {"right", "refused", "raises"}, told
