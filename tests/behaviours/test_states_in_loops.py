"""State that each step of a loop replaces by another: objects, dicts, lists and tuples of arrays, given by
arguments and variables or made inside. They are compiled; what the loop does to them is seen as plainly."""

import copy
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from ctxdispatch import explain, grad, hessian, jvp

X = np.array([0.3, -0.8])


@dataclass
class Body:
    x: object
    v: object
    steps: int = 0
    history: list = field(default_factory=list)

    def moved(self, dt=0.1):
        return Body(self.x + dt * self.v, self.v - dt * self.x, self.steps + 1)

    def pushed(self, force, *, dt=0.1):
        return replace(self, v=self.v + dt * force)

    def energy(self):
        return (self.x**2).sum() + (self.v**2).sum() * self.steps


class Slotted:
    __slots__ = ("x", "v")

    def __init__(self, x, v):
        self.x, self.v = x, v

    def moved(self, dt=0.1):
        return type(self)(self.x + dt * self.v, self.v - dt * self.x)


class Pair(NamedTuple):
    x: object
    v: object

    def moved(self, dt=0.1):
        return self._replace(x=self.x + dt * self.v, v=self.v - dt * self.x)


START, SLOTS, PAIR = Body(np.ones(2), X), Slotted(np.ones(2), X), Pair(np.ones(2), X)
DICT, LIST = {"x": np.ones(2), "v": X}, [np.ones(2), X]


def made_inside(x, n):
    s = Body(x, x * 0.5)
    for _ in range(n):
        s = s.moved()
    return s.energy() + (s.x * s.v).sum()


def of_a_variable(x, n):
    s = START
    for _ in range(n):
        s = s.moved().pushed(x, dt=0.2)
    return s.energy() + (s.x * x).sum()


def of_slots(x, n):
    s = SLOTS
    for _ in range(n):
        s = Slotted(s.x + x * s.v, s.v)
    return (s.x * s.v * x).sum()


def with_slots(x, n):
    s = Slotted(x, x)
    for _ in range(n):
        s = s.moved()
    return (s.x * s.v).sum()


def of_a_tuple(x, n):
    s = PAIR._replace(v=x)
    for _ in range(n):
        s = s.moved()
    return (s.x * s.v).sum()


def of_a_dict(x, n):
    s = DICT
    for _ in range(n):
        s = {"x": s["x"] + 0.1 * s["v"] * x, "v": s["v"] - 0.1 * s["x"]}
    return (s["x"] * s["v"] * x).sum()


def of_a_list(x, n):
    s = LIST
    for _ in range(n):
        s = [s[0] + 0.1 * s[1] * x, s[1] - 0.1 * s[0]]
    return (s[0] * s[1] * x).sum()


def of_a_comprehension(x, n):
    s = LIST
    for k in range(n):
        s = [v * x + k for v in s]
    return sum((v * x).sum() for v in s)


def leaving_early(x, n):
    s = START
    for k in range(n):
        t = s.moved()
        if t.steps > 2:
            break
        s = t.pushed(x)
    return (s.x * s.v * x).sum()


def two_states(x, n):
    s, t = START, Body(x, x)
    for _ in range(n):
        s, t = t.moved(), s.pushed(x)
    return (s.x * t.v * x).sum()


def of_a_namespace(x, n):
    s = SimpleNamespace(x=x, v=x * 2.0)
    for _ in range(n):
        s = SimpleNamespace(x=s.x + 0.1 * s.v, v=s.v * s.x)
    return (s.x * s.v).sum()


def in_a_while(x, n):
    s = START
    while s.steps < n:
        s = s.moved()
    return (s.x * x).sum()


STATES = [
    made_inside, of_a_variable, of_slots, with_slots, of_a_tuple, of_a_dict, of_a_list, of_a_comprehension,
    leaving_early, two_states, of_a_namespace, in_a_while,
]  # fmt: skip


def central(f, *args, h=1e-6):
    return np.array([(f(X + e, *args) - f(X - e, *args)) / (2 * h) for e in np.eye(2) * h])


@pytest.mark.every(8)
@pytest.mark.parametrize("f", STATES, ids=lambda f: f.__name__)
def test_states(f):
    for n in (4, 0, 1, 4):
        np.testing.assert_allclose(grad(f)(X, n), central(f, n), atol=1e-7)
        tangents = [jvp(f, (X, n), (e, 0))[1] for e in np.eye(2)]
        np.testing.assert_allclose(tangents, central(f, n), atol=1e-7)
    wanted = [(grad(f)(X + e, 4) - grad(f)(X - e, 4)) / 2e-5 for e in np.eye(2) * 1e-5]
    np.testing.assert_allclose(hessian(f)(X, 4), wanted, atol=1e-5)


@pytest.mark.parametrize("f", [f for f in STATES if f is not of_slots], ids=lambda f: f.__name__)
def test_they_are_compiled(f):
    report = explain(grad(f))(X, 4)
    assert {region.tier for region in report.regions} <= {"compiled whole", "compiled as an attempt"}, report


# -- given by arguments --------------------------------------------------------------------------------------


def steps(s, n):
    for _ in range(n):
        s = s.moved()
    return (s.x * s.v).sum()


def of_entries(s, n):
    for _ in range(n):
        s = {"x": s["x"] + 0.1 * s["v"], "v": s["v"] - 0.1 * s["x"]}
    return (s["x"] * s["v"]).sum()


def of_items(s, n):
    for _ in range(n):
        s = [s[0] + 0.1 * s[1], s[1] - 0.1 * s[0]]
    return (s[0] * s[1]).sum()


ARGUMENTS = [(steps, START), (steps, SLOTS), (steps, PAIR), (of_entries, DICT), (of_items, LIST)]


@pytest.mark.parametrize("f, state", ARGUMENTS)
def test_arguments(f, state):
    def parts(s):
        return [s["x"], s["v"]] if type(s) is dict else [*s] if isinstance(s, (list, tuple)) else [s.x, s.v]

    x, v = parts(state)
    for n in (3, 0, 1):
        found = parts(grad(f)(copy.deepcopy(state), n))
        wanted = grad(lambda xv: of_items(xv, n))([x, v])
        np.testing.assert_allclose(found, wanted)


# -- what is done to them meanwhile --------------------------------------------------------------------------


def changed_in_place(x, n):
    s = Body(x, x)
    for _ in range(n):
        before = s
        s = s.moved()
        before.x = before.x * 100.0
        s.v = s.v * x
    return (s.x * s.v).sum() + (before.x * x).sum()


def kept_and_changed(x, n):
    s, kept = Body(x, x), []
    for _ in range(n):
        kept.append(s)
        s = s.moved()
        kept[-1].x = s.v
    return sum((k.x * x).sum() for k in kept)


def one_object_twice(x, n):
    s = t = Body(x, x)
    for _ in range(n):
        s.x = s.x * x
        s, t = t, s.moved()
    return (s.x * t.v).sum()


def compared(x, n):
    first = s = Body(x, x)
    for k in range(n):
        s = s.moved() if k % 2 else s
    return (s.x * 2.0 if s is first else s.x * 3.0).sum()


def hides_a_method(x, n):
    s = Body(x, x)
    for k in range(n):
        if k == 1:
            s.moved = lambda: Body(x * x, x)
        s = s.moved()
    return (s.x * s.v).sum()


def changes_the_given(x, n):
    s = copy.copy(START)
    given = s
    for _ in range(n):
        given.v = x
        s = s.moved()
    return (s.x * given.v).sum()


CHANGED = [changed_in_place, kept_and_changed, one_object_twice, compared, hides_a_method, changes_the_given]


@pytest.mark.every(40)
@pytest.mark.parametrize("f", CHANGED, ids=lambda f: f.__name__)
def test_what_is_done_meanwhile(f):
    for n in (1, 2, 3):
        np.testing.assert_allclose(grad(f)(X, n), central(f, n), atol=1e-6)
        np.testing.assert_allclose([jvp(f, (X, n), (e, 0))[1] for e in np.eye(2)], central(f, n), atol=1e-6)


JOINED = {
    "array": "np.array(path)[:, 0]", "stack": "np.stack(path, axis=1)[0]",
    "concatenate": "np.concatenate(path)", "sum": "sum(path)", "item": "path[3]",
}  # fmt: skip


@pytest.mark.parametrize("how", JOINED)
@pytest.mark.parametrize("given", [START, SLOTS, PAIR])
def test_paths_that_begin_with_what_an_argument_holds(how, given):
    space = {"np": np, "__name__": __name__}
    exec(
        "def f(s):\n    x, path = s.x, [s.x]\n    for _ in range(4):\n        x = x + 0.1 * np.sin(x * s.v)\n"
        f"        path.append(x)\n    return np.sum({JOINED[how]} ** 2)\n",
        space,
    )
    gradient, f = grad(space["f"]), space["f"]
    for _ in range(3):
        found = gradient(given)
    step, rest = 1e-6, given.v
    slopes = [(f(at(given, d)) - f(at(given, -d))) / (2 * step) for d in np.eye(2) * step]
    np.testing.assert_allclose(found.x, slopes, rtol=1e-6)
    assert rest is given.v and explain(gradient)(given).regions[0].tier == "compiled whole"


def at(given, d):
    if type(given) is Pair:
        return given._replace(x=given.x + d)
    other = copy.copy(given)
    other.x = given.x + d
    return other
