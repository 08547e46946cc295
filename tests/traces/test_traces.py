"""Functions that are traced from their first call on: each call is as the plain one, whatever has changed
since the trace was made, and whichever way a decision goes."""

import collections
import copy
import dataclasses
import functools
import types

import numpy as np
import pytest

from ctxdispatch import explain, stop_gradient
from ctxdispatch_contexts.forward import jvp
from ctxdispatch_contexts.reverse import grad, value_and_grad
from ctxdispatch_contexts.traces import straight
from ctxdispatch_contexts.traces.lines import Unfit
from ctxdispatch_contexts.traces.straight import Straight


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(straight, "AT_ONCE", True)


@pytest.fixture
def traces(monkeypatch):
    """How often a trace was asked for, and what came of it."""
    found = []
    trace = Straight.trace

    def noted(self, args):
        found.append(trace(self, args))
        return found[-1]

    monkeypatch.setattr(Straight, "trace", noted)
    return found


def slopes(f, x):
    def at(i, step):
        moved = np.array(x, float)
        moved[i] += step
        return f(moved if isinstance(x, np.ndarray) else type(x)(moved.tolist()))

    return [(at(i, 1e-6) - at(i, -1e-6)) / 2e-6 for i in range(len(x))]


def check(f, *points, change=None):
    """At each point three times, with `change()` before each."""
    derivative, tangent = value_and_grad(f), np.arange(1.0, 1.0 + len(points[0]))
    for x in [x for x in points for _ in range(3)]:
        if change is not None:
            change()
        expected, slope = f(x), slopes(f, x)
        value, gradient = derivative(x)
        assert np.allclose(value, expected) and np.allclose(gradient, slope, rtol=1e-4, atol=1e-6)
        along = tangent if isinstance(x, np.ndarray) else type(x)(tangent.tolist())
        value, moved = jvp(f, (x,), (along,))
        assert np.allclose(value, expected) and np.allclose(moved, np.dot(slope, tangent), rtol=1e-4)


POINTS = [np.array([1.6, 0.7, -0.4]), np.array([-1.6, 2.7, 0.4]), np.array([0.3, 0.7, 0.9])]
LISTS = [p.tolist() for p in POINTS]


@dataclasses.dataclass
class Model:
    scale: float = 2.0
    layers: list = dataclasses.field(default_factory=lambda: [1.0, 3.0])
    names: dict = dataclasses.field(default_factory=lambda: {"a": 0, "b": 1})
    power = 2

    def __call__(self, x):
        return self.act(x[0] * self.layers[0] + x[self.names["b"]] * self.layers[-1]) * self.scale

    def act(self, v):
        return v**self.power


class Other(Model):
    def act(self, v):
        return np.sin(v)


MODEL, WEIGHTS, MODE = Model(), np.array([1.0, 2.0, 3.0]), "plain"
SETTINGS = {"rate": 0.5, "steps": [1, 2], "inner": types.SimpleNamespace(deep=1.5)}


def of_globals(x):
    w = WEIGHTS * SETTINGS["rate"]
    for n in SETTINGS["steps"]:
        w = w * n + SETTINGS["inner"].deep
    return MODEL(x) + np.sum(w * x) if MODE == "plain" else float(x[0])


def _set_global(name, value):
    def change():
        globals()[name] = value

    return change


_CHANGES = {
    "nothing": lambda: None,
    "a field": lambda: setattr(MODEL, "scale", MODEL.scale + 1.0),
    "an item": lambda: MODEL.layers.__setitem__(0, MODEL.layers[0] + 1.0),
    "another item": lambda: MODEL.layers.append(len(MODEL.layers) * 1.5),
    "an entry": lambda: MODEL.names.__setitem__("b", (MODEL.names["b"] + 1) % 3),
    "a number of a dict": lambda: SETTINGS.__setitem__("rate", SETTINGS["rate"] + 0.1),
    "a list of a dict": lambda: SETTINGS["steps"].append(2),
    "what lies deep": lambda: setattr(SETTINGS["inner"], "deep", SETTINGS["inner"].deep + 1.0),
    "an array in place": lambda: WEIGHTS.__iadd__(1.0),
    "a global array": lambda: _set_global("WEIGHTS", WEIGHTS + 1.0)(),
    "a global text": lambda: _set_global("MODE", "other" if MODE == "plain" else "plain")(),
    "a class attribute": lambda: setattr(Model, "power", 5 - Model.power),
    "a method": lambda: setattr(Model, "act", Other.act if Model.act is not Other.act else _ACT),
    "the class": lambda: setattr(MODEL, "__class__", Other if type(MODEL) is Model else Model),
    "a method of the object": lambda: setattr(MODEL, "act", np.tanh),
    "the object": lambda: _set_global("MODEL", Other(scale=MODEL.scale + 1.0))(),
}
_ACT = Model.act


@pytest.mark.parametrize("change", _CHANGES)
def test_what_was_there_may_change_between_calls(change):
    held = {name: globals()[name] for name in ("MODEL", "WEIGHTS", "MODE", "SETTINGS")}
    globals()["MODEL"], globals()["WEIGHTS"] = Model(), WEIGHTS.copy()
    globals()["SETTINGS"] = {"rate": 0.5, "steps": [1, 2], "inner": types.SimpleNamespace(deep=1.5)}
    try:
        check(of_globals, *POINTS, change=_CHANGES[change])
    finally:
        globals().update(held)
        Model.power, Model.act = 2, _ACT


def test_so_may_what_functions_have(traces):
    def outer():
        factor, kept = 2.0, [1.0]

        def f(x, by=3.0, *, more=1.0):
            return x[0] * factor * by + kept[-1] * x[1] ** 2 * more

        def change():
            nonlocal factor
            factor += 1.0
            kept.append(kept[-1] * 2.0)
            f.__defaults__ = (f.__defaults__[0] + 1.0,)
            f.__kwdefaults__["more"] += 0.5

        return f, change

    f, change = outer()
    check(f, *LISTS, change=change)
    before = len(traces)
    f, _ = outer()
    check(f, *LISTS)
    assert any(traces[before:])


def _other_code(x):
    return x[0] * x[1]


def test_so_may_their_code():
    def inner(x):
        return x[0] * 2.0

    def f(x):
        return inner(x) + x[2]

    codes = [inner.__code__, _other_code.__code__]
    check(f, *LISTS, change=lambda: setattr(inner, "__code__", codes[inner.__code__ is codes[0]]))


# -- decisions -----------------------------------------------------------------------------------------------

_DECISIONS = {
    "branch": "return x[0] * 2.0 if x[0] > 0.0 else x[1] ** 2",
    "while": """
    n, v = 0, x[0]
    while abs(v) < 4.0 and n < 9:
        v, n = v * 1.7 + x[1], n + 1
    return v""",
    "max": "return max(v * v for v in x) + min(x)",
    "max by key": "return max(x, key=lambda v: -v * v) * 2.0",
    "sorted": "a, b, c = sorted(x); return a * 1.0 + b * 2.0 + c * 3.0",
    "sorted by key": "return sorted(x, key=abs)[0] * x[0]",
    "any": "return x[0] if any(v > 1.0 for v in x) else x[1]",
    "all": "return x[0] if all(v > 0.0 for v in x) else x[1] * 3.0",
    "truth": "return x[0] * 2.0 if int(x[0]) else x[1]",
    "floor": "return x[0] * int(x[1] * 2.0)",
    "argmax": "return x[int(np.argmax(x))] ** 2",
    "mask": "y = np.asarray(x); y = y[y > 0.0]; return np.sum(y) * len(y)",
    "mask and loop": "y = np.asarray(x); return sum(v * v for v in y[y > 0.0])",
    "mask and shape": "y = np.asarray(x); y = y[y > 0.0]; return np.sum(y) / y.shape[0]",
    "nonzero": "return sum(x[i] for i in np.nonzero(np.asarray(x) > 0.0)[0]) * x[0]",
    "unique": "return len(np.unique(np.round(x))) * x[1]",
    "filter": "return sum(filter(lambda v: v > 0.0, x)) * x[2]",
    "key of a dict": "return {True: x[0], False: x[1] * 2.0}[bool(x[2] > 0.0)]",
    "round": "return x[round(abs(x[0])) % 3] * 2.0",
    "sort in place": "y = [v * 2.0 for v in x]; y.sort(); return y[0] + 3.0 * y[1]",
    "index": "y = list(x); return x[y.index(max(y))] * x[0]",
    "in": "return x[0] * 3.0 if x[1] in [0.7, 5.0] else x[2]",
    "count": "return x[0] * sum(v > 0.5 for v in x)",
    "a text": "return x[0] * len(f'{x[0]:.3f}') + x[1]",
    "a raise": """
    try:
        return math_log(x[0]) * x[1]
    except ValueError:
        return x[1] * 5.0""",
    "heap": "import heapq; h = []; [heapq.heappush(h, v * 1.0) for v in x]; return heapq.heappop(h) * x[0]",
    "heap of pairs": """
    import heapq; h = [(v * v, i) for i, v in enumerate(x)]; heapq.heapify(h); heapq.heapreplace(h, (x[0], 7))
    return sum(n * heapq.heappop(h)[0] for n in range(1, 4))""",
    "insort": "import bisect; h = [0.1]; [bisect.insort(h, v) for v in x]; return h[1] * 2.0 + h[-1]",
    "bisect": "import bisect; return x[0] * bisect.bisect([-1.0, 0.5, 1.5], x[0]) + x[1]",
    "bisect by key": "import bisect; return x[0] * bisect.bisect([-1.5, 0, 1], x[0], key=lambda v: v * x[1])",
    "sort pairs": "y = [(v * v, -v) for v in x]; y.sort(reverse=True); return y[0][1] + 3.0 * y[1][0]",
    "sort by key": "y = [*x]; y.sort(key=lambda v: (v > 0.0, -v)); return y[0] + 3.0 * y[1] ** 2",
    "sort objects": "y = sorted(Item(v) for v in x); return y[0].v + 3.0 * y[1].v ** 2",
    "max of objects": "return max(Item(v) for v in x).v * min(Item(v) for v in x).v",
    "max of pairs": "return max((v * v, i) for i, v in enumerate(x))[0]",
    "ties": "return max((round(v), v) for v in x)[1] * sorted(x, key=round)[0]",
    "set": "return sum({v * 1.0 for v in x}) * x[0]",
    "equal": "return x[0] * x[0] if x == x else x[1]",
    "lists": "return x[0] if [x[0], 1.0] > [x[1], 2.0] else x[1] * 4.0",
    "nan": "return x[0] if np.isnan(np.log(np.abs(x[0]) - 1.0)) else x[1]",
}


class Item:
    def __init__(self, v):
        self.v = v

    def __lt__(self, other):
        return self.v * self.v < other.v * other.v


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [list, tuple, np.array])
@pytest.mark.parametrize("decision", _DECISIONS)
def test_decisions_are_made_again(decision, kind):
    if kind is np.array and decision in ("equal", "index"):
        pytest.skip("of lists")
    import math

    namespace = {"np": np, "math_log": math.log, "Item": Item}
    exec(f"def f(x):\n    {_DECISIONS[decision].lstrip()}", namespace)
    check(namespace["f"], *[kind(p) for p in LISTS])


def test_types_and_shapes_of_arguments_may_change(traces):
    def f(p):
        return np.sum(p["w"] ** 2) * p["b"]

    for w in (np.ones(2), np.ones((2, 3)), np.ones(2, np.float32), np.ones(2)):
        for b in (2.0, np.float32(2.0), np.array(2.0)):
            for _ in range(2):
                found = grad(f)({"w": w, "b": b})
                assert np.allclose(found["w"], 2.0 * w * b) and found["w"].dtype == w.dtype
                assert np.allclose(found["b"], np.sum(w**2))
    assert any(traces)
    assert np.allclose(grad(f)({"b": 2.0, "w": np.ones(2)})["w"], 4.0)


def test_arguments_that_are_the_same_object():
    def f(x, y):
        return np.sum(x * y**2)

    w = np.array([1.0, 2.0])
    for _ in range(3):
        assert np.allclose(grad(f)(w, w), w**2)
        assert np.allclose(grad(f, argnums=1)(w, w), 2.0 * w * w)
        assert np.allclose(grad(lambda p: f(p[0], p[1]) + p[0][0])([w, w.copy()])[1], 2.0 * w * w)

    def g(x):
        return x[0] * 2.0 + (x is KEPT) * x[1]

    for x in (KEPT, [1.0, 2.0], KEPT):
        assert np.allclose(grad(g)(x), [2.0, float(x is KEPT)])


KEPT = [1.0, 2.0]

# -- what can be seen from outside ---------------------------------------------------------------------------

LOG, COUNTS = [], {"calls": 0}


def logs(x):
    LOG.append(1)
    return x[0] * x[1]


def counts(x):
    COUNTS["calls"] += 1
    return x[0] ** 2


def counts_on_itself(x):
    counts_on_itself.calls = getattr(counts_on_itself, "calls", 0) + 1
    return x[0] ** 2


def changes_its_argument(x):
    x.append(x[0] * 2.0)
    return x[-1] * x[1]


def changes_late(x):
    v = x[0] * 2.0
    if v > 0.0:
        LOG.append(2)
    return v


@functools.cache
def remembers(n):
    LOG.append(n)
    return n * 2.0


def by_cache(x):
    return x[0] * remembers(3)


@pytest.mark.parametrize("f", [logs, counts, counts_on_itself, changes_its_argument, changes_late, by_cache])
def test_what_can_be_seen_from_outside_happens_once(f):
    def seen():
        return [*LOG], COUNTS["calls"], getattr(counts_on_itself, "calls", 0)

    plain, run = [], []
    for into, call in ((plain, f), (run, grad(f))):
        LOG.clear()
        COUNTS["calls"], counts_on_itself.calls = 0, 0
        remembers.cache_clear()
        for _ in range(3):
            x = [1.5, 2.0]
            call(x)
            into.append((seen(), x))
    assert plain == run


def test_derivatives_and_rules_within_are_not_traced_through(traces):
    def f(x):
        return stop_gradient(x[0]) * x[0] + grad(lambda v: v * v * x[1])(x[0])

    for _ in range(3):
        assert np.allclose(grad(f)([1.5, 2.0]), [1.5 + 4.0, 3.0])


def test_containers_are_gone(traces):
    def f(x):
        window = collections.deque(maxlen=2)
        for v in x:
            window.append(v * v)
        table = {f"k{i}": v for i, v in enumerate(window)}
        return sum(table[k] * n for n, k in enumerate(table, 1))

    check(f, *LISTS)
    assert any(traces)


def test_a_run_that_cannot_be_a_straight_line_ends_before_it_changes_anything():
    class Held:
        total = 0.0

    held = Held()

    def f(x):
        try:
            held.total += x[0]
        except Unfit:  # no handler of the program's is meant
            return 0.0
        return held.total * x[1]

    for i in range(1, 4):
        held.total = 0.0
        assert f([1.5, 2.0]) == 3.0
        held.total = 0.0
        grad(f)([1.5 * i, 2.0])
        assert held.total == 1.5 * i


def test_an_argument_that_is_left_out_is_one_case_of_several():
    def f(x, k=2.0, *, m=3.0):
        return x * k * m

    for _ in range(2):
        assert [grad(f)(1.0), grad(f)(1.0, 4.0)] == [6.0, 12.0]
        assert [grad(f)(1.0, m=5.0), grad(f)(1.0, k=7.0)] == [10.0, 21.0]


def test_what_generators_do_at_their_end_is_done_once():
    ends = []

    def items(x):
        try:
            for v in x:
                yield v * v
        finally:
            ends.append(1)

    def f(x):
        given = items(x)
        return next(given) + next(given)

    for i in range(1, 4):
        assert np.allclose(grad(f)([1.5, 2.0, 3.0]), [3.0, 4.0, 0.0])
        assert len(ends) == i


_COPIES = {
    "copy": "p = Model(x[0], [x[1], x[2]]); q = copy.copy(p); q.scale = q.scale * x[1]; return p(x) * q(x)",
    "deepcopy": "p = Model(x[0], x[1:]); q = copy.deepcopy(p); q.layers[0] *= x[1]; return p(x) * q(x)",
    "array": "p = Model(x[0], np.array(x)); q = copy.deepcopy(p); q.layers[0] *= x[1]; return p(x) * q(x)",
    "twice": "w = np.array(x); a = [w, w]; b = copy.deepcopy(a); b[0][0] *= x[1]; return b[1][0] * w[0]",
    "namespace": "s = Space(p=x[0], v=x[1]); t = copy.copy(s); t.p = t.p + t.v * x[2]; return t.p * s.p",
    "what was there": "q = copy.deepcopy(MODEL); q.layers[0] = x[0]; q.names['b'] = 2; return q(x) * x[1]",
}


@pytest.mark.parametrize("case", _COPIES)
def test_copies_of_objects(case, traces):
    namespace = {"np": np, "copy": copy, "Model": Model, "MODEL": Model(), "Space": types.SimpleNamespace}
    exec(f"def f(x):\n    {_COPIES[case]}", namespace)
    check(namespace["f"], *POINTS, *LISTS)
    assert any(traces) and namespace["MODEL"] == Model()


def test_a_class_may_say_how_it_is_copied():
    class Counted(Model):
        copies = 0

        def __getstate__(self):
            Counted.copies += 1
            return {**self.__dict__, "scale": self.scale * 2.0}

    def f(x):
        return copy.copy(Counted(x[0]))(x)

    plain = f(LISTS[0])
    for i in range(2, 5):
        assert value_and_grad(f)(LISTS[0])[0] == plain and Counted.copies == i


def test_explain_says_that_a_trace_runs():
    def f(x):
        if x[0] > 5.0:
            LOG.append(3)
        return {True: x[0], False: x[1] ** 2}[bool(x[2] > 0.0)]

    gradient = grad(f)
    traced, recorded = "compiled as a trace", "recorded"
    for x, tier in ((LISTS[0], traced), (LISTS[1], traced), ([6.0, 1.0, 1.0], recorded), (LISTS[1], traced)):
        (region,) = explain(gradient)(x).regions
        assert region.tier == tier and region.reason.startswith("it has a program") == (tier == traced)
