"""Objects made by the program that change themselves in methods called for their effect: right, or refused
at the line. Never the derivative of what was there before."""

import numpy as np
import pytest

from ctxdispatch import check_grads, grad
from ctxdispatch_contexts.programs.errors import DerivativeError


class Body:
    def __init__(self, k):
        self.k, self.x, self.log, self.named, self.u = k, k, [], {}, np.zeros(2)

    def step(self):
        self.x = self.x * self.k

    def run(self):
        self.step()
        return self.x

    def run_and_drop(self):
        _ = self.step()
        return self.x

    def steps(self):
        for _ in range(3):
            self.step()
        return self.x

    def chained(self):
        self.x = self.x * self.k
        return self

    def append(self):
        self.log.append(self.k * self.k)

    def logged(self):
        self.append()
        return sum(self.log)

    def name(self):
        self.named["v"] = self.k * self.k

    def by_name(self):
        self.name()
        return self.named["v"]

    def set_item(self):
        self.u[0] = self.k * self.k

    def by_item(self):
        self.set_item()
        return self.u[0]


class Later(Body):
    """Attributes of other types at first, or not there."""

    def __init__(self, k):
        self.k, self.x = k, None

    def step(self):
        self.h = self.k * 2.0
        self.x = self.h * self.k


class Network:
    def __init__(self, p):
        self.p = p

    def prepare(self):
        self.h = np.tanh(self.p)

    def loss(self):
        self.prepare()
        return (self.h**2).sum()


def given(o):
    o.step()
    return o.x


def only_step(o):
    o.step()


def in_two_functions(k):
    o = Body(k)
    only_step(o)
    return o.x


def made_out_of_sight(k, make=(lambda k: Body(k),)):
    o = make[0](k)
    o.step()
    return o.x


def in_a_list(k):
    bodies = [Body(k), Body(2.0 * k)]
    for o in bodies:
        o.step()
    return bodies[0].x + bodies[1].x


def fill(z):
    z[0] = 5.0


def array_changed_out_of_sight(k):
    a = np.ones(2) * k
    for f in [fill]:
        f(a)
    return (a * a).sum()


def peeking(k):
    a = np.ones(2) * k
    for f in [np.max, lambda z: z.sum(), print]:
        f(a)
    return (a * a).sum()


class Derived(Body):
    def __init__(self, k):
        super().__init__(k * 2.0)
        self.other = Body(k)

    def step(self):
        super().step()
        self.other.step()
        self.x = self.x + self.other.x


def set_in_one_arm(k):
    o = Body(3.0)
    if k > 100.0:
        o.x = k
    return o.x + k * k


PROGRAMS = {
    "run": lambda k: Body(k).run(),
    "run_and_drop": lambda k: Body(k).run_and_drop(),
    "steps": lambda k: Body(k).steps(),
    "chained": lambda k: Body(k).chained().chained().x,
    "logged": lambda k: Body(k).logged(),
    "by_name": lambda k: Body(k).by_name(),
    "by_item": lambda k: Body(k).by_item(),
    "later": lambda k: Later(k).run(),
    "given": lambda k: given(Body(k)),
    "network": lambda k: Network(k * np.ones(3)).loss(),
    "in_two_functions": in_two_functions,
    "made_out_of_sight": made_out_of_sight,
    "in_a_list": in_a_list,
    "array_changed_out_of_sight": array_changed_out_of_sight,
    "peeking": peeking,
    "derived": lambda k: Derived(k).run(),
    "inherited": lambda k: Derived(k).x,
    "set_in_one_arm": set_in_one_arm,
}
SUPPORTED = """run run_and_drop steps chained later given network in_two_functions peeking inherited
    set_in_one_arm""".split()


@pytest.mark.parametrize("name", PROGRAMS)
def test_right_or_refused(name):
    try:
        check_grads(PROGRAMS[name], (1.5,))
    except DerivativeError as error:
        assert name not in SUPPORTED
        assert "test_methods_for_effect.py:" in str(error)
    else:
        assert grad(PROGRAMS[name])(1.5) != 0.0


def unread_in_this_arm(x, y):
    o = Body(2.0)
    if x > 0.7:
        o.x = x
    return y * y + o.x


def test_a_float_that_nothing_arrives_at_has_zero():
    assert grad(unread_in_this_arm, (0, 1))(0.6, 1.5) == (0.0, 3.0)
