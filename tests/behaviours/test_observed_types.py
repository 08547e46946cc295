"""Programs made of types that a recorded run has noted: right, with the same left behind, when types change.

Each way to come by a value of which nothing is known, after each thing that is done before, with each change
of what the value is, in each mode. Values, derivatives and what is left behind are compared with a plain run
of the same program, before, while and after the value is another.
"""

import copy
import itertools

import numpy as np
import pytest

from ctxdispatch import explain, grad, jvp, value_and_grad, vjp
from ctxdispatch_contexts.programs.errors import Refused

X = np.array([0.3, -0.7, 1.1])

NOT_AGAIN = ("array", "new attribute", "class", "module", "function", "deleted", "list item")
"""What is neither put back nor done again."""

WAYS = {
    "deepcopy": "copy.deepcopy(BOX['v'])",
    "attribute": "HOLDER.read()",
    "item": "BOX.setdefault('v')",
    "function": "given()",
    "partial": "functools.partial(dict.get, BOX, 'v')()",
    "reduced": "functools.reduce(lambda a, b: b, [BOX['v']], None)",
    "popped": "[*BOX.values()].pop()",
    "items": "next(iter(BOX.values()))",
    "getter": "operator.itemgetter('v')(BOX)",
    "array of objects": "np.array([BOX['v'], None], object)[0]",
    "loop": "[item for item in reversed([BOX['v'], 1])][-1]",
}

BEFORE = {
    "nothing": "pass",
    "variable": "COUNT += 1",
    "attribute": "HOLDER.calls = HOLDER.calls + 1",
    "new attribute": "HOLDER.__dict__.pop('made', None); HOLDER.made = x[0]",
    "item": "SEEN['n'] = SEEN.get('n', 0) + 1",
    "new item": "SEEN[len(SEEN)] = 0",
    "list": "LOG.append(len(LOG))",
    "cell": "counted()",
    "clock": "start = time.perf_counter()",
    "generator": "noise = np.random.default_rng(3).normal(size=3); x = x + 0.0 * noise",
    "array": "STATE[0] += 1.0",
    "class": "Holder.all += 1",
    "module": "MODULE.n += 1",
    "function": "given.calls = getattr(given, 'calls', 0) + 1",
    "deleted": "SEEN.pop('gone', None); SEEN['gone'] = 1; del SEEN['gone']",
    "list item": "LAST[0] = LAST[0] + 1",
    "in a loop": "for i in range(3): LOG.append(i)",
}

SOURCE = """
import copy, functools, itertools, operator, time, types
import numpy as np

class Holder:
    all = 0

    def __init__(self):
        self.calls = self.after = 0

    def read(self):
        return BOX["v"]

def given():
    return BOX["v"]

def counter():
    n = 0
    def counted():
        nonlocal n
        n += 1
        LOG.append(n)
    return counted

LAST = [0]
MODULE = types.ModuleType("made")
MODULE.n = 0
COUNT, HOLDER, SEEN, LOG, STATE, counted = 0, Holder(), dict(), [], np.zeros(2), counter()

def f(x):
    global COUNT
    %s
    v = %s
    HOLDER.after += 1
    if v is None:
        return x @ x
    if isinstance(v, str):
        return np.sum(np.sin(x)) * len(v)
    if callable(v):
        return np.sum(v(x))
    if isinstance(v, list):
        return x[0] * v[0] + x[1] ** 2
    return np.sum(x * x * v)
"""

VALUES = {
    "float": 2.5, "int": 3, "array": np.array([1.0, 2.0, 3.0]), "0-d": np.array(2.0), "list": [2.0, 1.0],
    "None": None, "text": "ab", "function": np.sin, "other function": np.cos,
    "float32": np.ones(3, np.float32),
    "matrix": np.array([[1.0, 2.0, 3.0], [0.5, 0.1, 0.2]]),
    "flags": np.array([True, False, True]), "numbers": np.float64(1.5),
    "objects": np.array([1.0, 2.0, 3.0], object), "masked": np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0]),
}  # fmt: skip
ODD = {"objects", "masked"}
"""What may be refused."""
CHANGES = [*itertools.permutations(VALUES, 2)]


def made(before, way):
    space = {"BOX": {"v": None}}
    exec(SOURCE % (BEFORE[before], WAYS[way]), space)
    return space


def left(space):
    holder = {name: float(value) for name, value in vars(space["HOLDER"]).items()}
    others = space["Holder"].all, space["MODULE"].n, getattr(space["given"], "calls", 0), space["LAST"][0]
    return space["COUNT"], holder, dict(space["SEEN"]), [*space["LOG"]], space["STATE"].tolist(), others


def by_grad(f):
    return lambda x, run=value_and_grad(f): run(x)


def by_jvp(f):
    def found(x):
        y, first = jvp(f, (x,), (np.eye(3)[0],))
        return y, np.array([first, *[jvp(f, (x,), (e,))[1] for e in np.eye(3)[1:]]])

    return found


def by_vjp(f):
    def found(x):
        y, pull = vjp(f, x)
        return y, pull(1.0)[0]

    return found


MODES = {"grad": (by_grad, 1), "jvp": (by_jvp, 3), "vjp": (by_vjp, 1)}


@pytest.mark.every(1000)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("change", CHANGES, ids="-".join)
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("way", WAYS)
def test_whatever_the_value_becomes(way, before, change, mode):
    how, runs = MODES[mode]
    ours, plain = made(before, way), made(before, way)
    derivative = how(ours["f"])
    first, second = change
    for which in (first, first, first, second, second, first, second, first, first):
        ours["BOX"]["v"], plain["BOX"]["v"] = copy.deepcopy(VALUES[which]), copy.deepcopy(VALUES[which])
        for _ in range(runs):
            value = plain["f"](X)
        try:
            y, found = derivative(X)
        except Refused:
            assert which in ODD
            return
        assert y == value
        assert left(ours) == left(plain)
        fresh = made("nothing", way)
        fresh["BOX"]["v"] = copy.deepcopy(VALUES[which])
        step = 1e-6
        wanted = [(fresh["f"](X + step * e) - fresh["f"](X - step * e)) / (2 * step) for e in np.eye(3)]
        np.testing.assert_allclose(found, wanted, rtol=2e-7, atol=1e-8)


@pytest.mark.parametrize("before", [name for name in BEFORE if name not in NOT_AGAIN])
def test_the_second_call_is_compiled(before):
    space = made(before, "function")
    space["BOX"]["v"] = np.array([1.0, 2.0, 3.0])
    gradient = grad(space["f"])
    gradient(X), gradient(X)
    assert explain(gradient)(X).regions[0].tier == "compiled whole"


def test_a_type_that_changes_each_time_is_recorded_in_the_end():
    space = made("variable", "function")
    gradient = grad(space["f"])
    for i in range(40):
        space["BOX"]["v"] = [2.0, np.ones(3), None, "a"][i % 4]
        gradient(X)
    assert space["COUNT"] == 40


class Given:
    def __init__(self):
        self.x = X.copy()


LOWERED = {
    "interp": "np.interp(np.linspace(0.0, 1.0, 5), ts, s)", "at a number": "np.interp(0.3, ts, s)",
    "array": "np.array(s)[1:] * ts[1]",
}  # fmt: skip


@pytest.mark.parametrize("name", LOWERED)
def test_what_a_call_gives_is_not_expected_of_its_parts(name):
    """Calls that are written out as others: the type that was noted is that of the whole."""
    text = f"""
def f(p):
    ts, s, t = [0.0], [p.x[0]], 0.0
    for v in p.x:
        t = t + np.max(np.abs(v)) * 0.1
        ts.append(t)
        s.append(v * t)
    return np.sum({LOWERED[name]})
"""
    space = {"np": np, "__name__": __name__}
    exec(text, space)
    gradient, given = grad(space["f"]), Given()
    for _ in range(3):
        gradient(given)
    assert explain(gradient)(given).regions[0].tier == "compiled whole"
