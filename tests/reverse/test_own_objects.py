"""Objects, dicts and lists that a function makes and keeps to itself: compiled, and nothing left of them."""

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jvp
from ctxdispatch.ir import primitives
from ctxdispatch_contexts.programs.entry import Entry
from ctxdispatch_contexts.recording import api


@pytest.fixture
def programs(monkeypatch):
    """The programs that are made; none may be recorded."""
    found = []
    plain = Entry.program

    def program(self, types):
        found.append(plain(self, types).graph)
        return plain(self, types)

    monkeypatch.setattr(Entry, "program", program)
    monkeypatch.setattr(api, "joint", lambda *args: pytest.fail("recorded"))
    return found


class Vec:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __add__(self, other):
        return Vec(self.x + other.x, self.y + other.y)

    def __mul__(self, scale):
        return Vec(self.x * scale, self.y * scale)

    __rmul__ = __mul__

    def __neg__(self):
        return Vec(-self.x, -self.y)

    @property
    def square(self):
        return self.x * self.x + self.y * self.y

    def norm(self):
        return math.sqrt(self.square)


@dataclass
class Body:
    x: float
    v: float = 0.0
    seen: float = field(default=0.0)

    def step(self, dt):
        self.v -= dt * self.x
        self.x += dt * self.v
        self.seen = max(self.seen, self.x)


class Net:
    scale = 0.5

    def __init__(self, w):
        self.w = w

    def __call__(self, h):
        return np.tanh(self.w * h) * self.scale


def march(a):
    p, d = Vec(0.0, -3.0), Vec(a, 1.0)
    d = d * (1.0 / d.norm())
    t = 0.0
    for _ in range(6):
        q = p + 0.9 * (d * t)
        t = t + (-q).norm() - 1.0
        p = p + Vec(0.01, t * 0.001)
    return t + p.x


def leap(a):
    body = Body(a, 0.3)
    for _ in range(9):
        body.step(0.1)
    return body.x + body.seen


def table(a):
    state = {"x": a, "v": 1.0}
    for i in range(5):
        if i % 2:
            state["v"] -= 0.1 * state["x"]
        else:
            state = {"x": state["x"] + 0.1 * state["v"], "v": state["v"]}
    return state["x"] * state["v"]


def items(a):
    pair = [a, 1.0]
    for _ in range(4):
        pair[0], pair[-1] = pair[1] * 0.9, pair[0] + pair[1]
    return pair[0] * pair[1]


def chosen(a):
    body = Body(a) if a > 0 else Body(-a, a)
    body.v += body.x * 2.0
    return body.v * body.x


def nested(a):
    outer = {"body": Body(a), "vec": [Vec(a, 1.0), 2.0]}
    outer["body"].step(0.5)
    outer["vec"][0] = outer["vec"][0] + Vec(outer["body"].x, a)
    return outer["vec"][0].square * outer["vec"][1]


@pytest.mark.parametrize("f", [march, leap, table, items, chosen, nested], ids=lambda f: f.__name__)
@pytest.mark.parametrize("a", [0.4, -0.7])
def test_gradients(f, a, programs):
    slope = (f(a + 1e-6) - f(a - 1e-6)) / 2e-6
    assert grad(f)(a) == pytest.approx(slope, rel=1e-6)
    assert jvp(f, (a,), (1.0,)) == pytest.approx((f(a), slope), rel=1e-6)
    curve = (f(a + 1e-4) - 2 * f(a) + f(a - 1e-4)) / 1e-8
    assert grad(grad(f))(a) == pytest.approx(curve, rel=1e-4, abs=1e-4)
    for graph in programs:
        assert not [op for _, op in graph.ops() if op.fn in (object.__new__, setattr, primitives.build_map)]


def test_arrays_in_objects(programs):
    def f(w, h):
        net = Net(w)
        for _ in range(3):
            h = net(h)
        return np.sum(h)

    w, h = np.array([0.3, -0.8]), np.array([1.0, 0.5])
    step = np.array([1e-6, 0.0])
    slope = (f(w + step, h) - f(w - step, h)) / 2e-6
    assert grad(f)(w, h)[0] == pytest.approx(slope, rel=1e-6)
    assert hessian(f)(w, h).shape == (2, 2)


def test_an_array_that_an_object_of_ones_own_stores_to(programs):
    class Grid:
        def __init__(self, u):
            self.u = u.copy()

        def sweep(self):
            for i in range(1, len(self.u)):
                self.u[i] += 0.5 * self.u[i - 1]

    def f(u):
        grid = Grid(u)
        grid.sweep()
        grid.sweep()
        return np.sum(grid.u**2)

    u = np.array([0.3, -0.8, 1.1])
    slopes = [(f(u + s) - f(u - s)) / 2e-6 for s in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(grad(f)(u), slopes, rtol=1e-6)


def test_the_right_operand_may_have_a_say():
    """What is on the right is known at run time only: there a subclass is asked first, and the other class
    where the left one leaves it to it."""

    class Special(Vec):
        def __rmul__(self, other):
            return 10.0 * other.x * self.x

    class Shy(Vec):
        def __mul__(self, other):
            return Vec(self.x * other, 0.0).x if type(other) is float else NotImplemented

    class Other:
        def __rmul__(self, left):
            return left.x * left.x

    kept = []

    def f(a, which):
        kept[:] = [Special(a, 1.0), Other(), 3.0]
        return Vec(a, 2.0) * kept[0] if which == 0 else Shy(a, 0.0) * kept[which]

    assert [grad(f)(0.5, which) for which in (0, 1, 2)] == [10.0, 1.0, 3.0]
