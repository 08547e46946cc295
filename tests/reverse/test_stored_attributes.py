"""What a program stores into objects that were there before, and reads again: right in all modes whatever
stands between, compiled where nothing does that is not seen; and told to later runs, which read it."""

import copy
import linecache

import numpy as np
import pytest

from ctxdispatch import explain, grad, hessian, jacfwd, jvp
from ctxdispatch_contexts.programs.errors import DerivativeError
from tests.behaviours.mutation_checks import central

X = np.array([0.3, 0.4, -0.5])
ALONG = np.array([1.0, -2.0, 0.5])
RUNS = 4
"""The first is recorded where types are noted, later ones are compiled."""


class Model:
    def __init__(self):
        self.h, self.k, self.n = np.array([0.1, 0.2, 0.3]), np.float64(2.0), 0
        self.sub = None
        self.log = []

    def step(self, x):
        self.h = np.tanh(x + 0.5 * self.h)
        self.n += 1
        return self.h

    @property
    def state(self):
        return self.h

    @state.setter
    def state(self, value):
        if len(value) != 3:
            raise ValueError("three")
        self.h = value

    def keep(self, x):
        self.h = x * 3.0


class Slots:
    __slots__ = ("h", "k", "n", "sub", "log")

    step, keep, state = Model.step, Model.keep, Model.state
    __init__ = Model.__init__


class Noting(Model):
    """A store of it runs code."""

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value if name != "h" else value * 2.0)


class Computed(Model):
    """A read of it runs code."""

    def __getattribute__(self, name):
        found = object.__getattribute__(self, name)
        return found * 2.0 if name == "h" else found


CLASSES = [Model, Slots, Noting, Computed]

SEEN = {
    "read again": "m.h = x * 2.0; return (m.h * m.h).sum()",
    "a number": "m.k = x[0] * 2.0; return m.k * m.k * x[1]",
    "two attributes": "m.h, m.k = x * 2.0, x[0]; return (m.h * m.k).sum()",
    "stored twice": "m.h = x * 2.0; y = m.h * x; m.h = y + m.h; return (m.h * y).sum()",
    "read before": "y = m.h * x; m.h = y * x; return (m.h * y).sum()",
    "augmented": "m.k = 0.0\n    for v in (x[0], x[1]): m.k += v * v\n    return m.k * x[2]",
    "augmented array": "m.h = m.h * x; m.h *= 3.0; return m.h.sum()",
    "in one arm": "\n    if x[0] > 0.0: m.h = x * 2.0\n    return (m.h * x).sum()",
    "in the other arm": "\n    if x[0] > 9.0: m.h = x * 2.0\n    return (m.h * x).sum()",
    "in both": "\n    if x[0] > 9.0: m.h = x * 2.0\n    else: m.h = x * x\n    return (m.h * x).sum()",
    "carried": "\n    for i in range(4): m.h = np.tanh(m.h + x)\n    return m.h.sum()",
    "carried, while": "\n    while m.n < 3: m.h = np.sin(m.h * x); m.n += 1\n    return m.h.sum()",
    "left by break": "\n    for i in range(4):\n        m.h = m.h * x\n        if i == 2: break\n"
    "    return m.h.sum()",
    "by a method": "m.keep(x); return (m.h * x).sum()",
    "by methods": "\n    for v in (x, x * 2.0): m.step(v)\n    return m.h.sum()",
    "by a property": "m.state = x * 2.0; return (m.state * x).sum()",
    "by setattr": "setattr(m, 'h', x * 2.0); return (getattr(m, 'h') * x).sum()",
    "of another name": "o = m; o.h = x * 2.0; return (m.h * x).sum()",
    "of a part": "m.sub = p\n    m.sub.h = x * 2.0; return (m.sub.h * x).sum()",
    "in a function": "\n    def inner(): return m.h * 2.0\n    m.h = x * x; return (inner() * x).sum()",
    "not read": "m.k = (x * x).sum(); return m.k * 2.0 if False else (x * x).sum()",
    "counted": "m.n += 1; m.h = x * m.n; return (m.h * m.n).sum()",
    "added up": "v = (x * x).sum(); m.k += v; return v * x[0]",
}
"""Statements of which nothing else has a part in what is read."""

BETWEEN = {
    "by another argument": "p.h = x * 3.0; m.h = x * 2.0; return (p.h * x).sum()",
    "by its dict": "m.h = x * 2.0; vars(m)['h'] = x * 5.0; return (m.h * x).sum()",
    "by an update": "m.h = x * 2.0; m.__dict__.update(h=x * 5.0); return (m.h * x).sum()",
    "by a name": "m.h = x * 2.0\n    for n in ('h', 'k'): setattr(m, n, x * 5.0)\n"
    "    return (m.h * m.k).sum()",
    "by a key": "m.h = x * 2.0; sorted([3, 1], key=lambda i: m.keep(x) or i); return (m.h * x).sum()",
    "by a map": "m.h = x * 2.0; list(map(m.keep, [x, x * 2.0])); return (m.h * x).sum()",
    "by a generator": "\n    def g():\n        for i in (1.0, 2.0): m.h = x * i; yield i\n"
    "    m.h = x; s = 0.0\n    for i in g(): s = s + (m.h * x).sum() * i\n    return s",
    "by a comparison": "m.h = x * 2.0; [Keeps(m, x)] == [1]; return (m.h * x).sum()",
    "by deleting": "m.h = x * 2.0; y = (m.h * x).sum(); del m.h; return y * hasattr(m, 'h') + x.sum()",
    "by deleting it": "m.h = x * 2.0; del m.h; return x.sum() * (2.0 if hasattr(m, 'h') else 3.0)",
    "by deleting one of its own": "o = Named(x); del o.h; return (o.h * x).sum()",
    "by deleting in an arm": "o = Named(x)\n    if x[0] > 0.0: del o.h\n    return (o.h * x).sum()",
    "by delattr": "o = Named(x); delattr(o, 'h'); o.h = o.h * x; return (o.h * x).sum()",
    "by deleting what is missed": "o = Keeps(m, x); del o.x\n    try: return (o.x * 2.0).sum()\n"
    "    except AttributeError: return x.sum()",
    "in itself": "m.sub = m; m.sub.h = x * 2.0; return (m.h * x).sum()",
    "raised midway": "\n    try:\n        m.h = x * 2.0; m.h = [1][3] * x\n    except IndexError: pass\n"
    "    return (m.h * x).sum()",
    "put into a list": "m.h = x * 2.0; m.log.append(m.h); return (m.log[-1] * x).sum()",
    "of its class": "type(m).shared = x * 2.0; y = (m.shared * x).sum(); del type(m).shared; return y",
}  # fmt: skip
"""Where the value comes from elsewhere, or goes another way."""


class Keeps:
    def __init__(self, m, x):
        self.m, self.x = m, x

    def __eq__(self, other):
        self.m.keep(self.x)
        return False

    __hash__ = None


class Named:
    h = 7.0

    def __init__(self, h):
        self.h = h


MADE = {}


def function(name, source, place):
    """`place`: what m is."""
    made = MADE.get((name, place))
    if made is None:
        head = {"argument": "f(x, m, p)", "variable": "f(x, p=None)", "captured": "f(x, p=None)"}[place]
        code = f"def {head}:\n    {source}\n"
        if place == "captured":
            code = "def make(m):\n  " + code.replace("\n", "\n  ") + "\n  return f\n"
        file = f"<stored attributes, {name}, {place}>"
        linecache.cache[file] = (len(code), None, code.splitlines(True), file)
        made = MADE[name, place] = compile(code, file, "exec")
    space = {"np": np, "Keeps": Keeps, "Named": Named, "__name__": "stored"}
    exec(made, space)
    return space


class Case:
    """A function, and how it is called with a model."""

    def __init__(self, name, source, place, cls, same):
        self.place, self.cls, self.same = place, cls, same
        self.space = function(name, source, place)
        self.m = cls()
        self.f = self.space["make"](self.m) if place == "captured" else self.space["f"]
        self.space["m"] = self.m

    def args(self):
        """Objects as they were."""
        fresh = self.cls()
        for name in ("h", "k", "n", "sub", "log"):
            object.__setattr__(self.m, name, object.__getattribute__(fresh, name))
        m = self.m if self.place != "argument" else fresh
        p = m if self.same else self.cls()
        return (m, p) if self.place == "argument" else (p,)

    def left(self, args):
        m = args[0] if self.place == "argument" else self.m
        names = ("h", "k", "n", "log")
        return [object.__getattribute__(o, n) for o in (m, args[-1]) for n in names if _has(o, n)]


def _has(o, name):
    try:
        object.__getattribute__(o, name)
    except AttributeError:
        return False
    return True


def same(a, b):
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return np.allclose(a, b)


MODES = {
    "grad": lambda f, args: grad(f)(X, *args),
    "jacfwd": lambda f, args: jacfwd(f)(X, *args),
    "jvp": lambda f, args: jvp(lambda x: f(x, *args), (X,), (ALONG,))[1],
    "hessian": lambda f, args: hessian(f)(X, *args),
}


def plainly(case, mode):
    slope = lambda x: central(lambda y: case.f(y, *case.args()), x)  # noqa: E731
    if mode == "hessian":
        rows = [(slope(X + step) - slope(X - step)) / 2e-3 for step in 1e-3 * np.eye(3)]
        return np.array(rows), 2e-3
    return (slope(X) @ ALONG if mode == "jvp" else slope(X)), 1e-5


def check(case, mode):
    wanted, tolerance = plainly(case, mode)
    args = case.args()
    case.f(X, *args)
    state, answered = copy.deepcopy(case.left(args)), 0
    for _ in range(RUNS):
        args = case.args()
        try:
            found = MODES[mode](case.f, args)
        except DerivativeError:
            continue
        answered += 1
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
        assert same(case.left(args), state)
    return answered


@pytest.mark.every(72)
@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("place", ["argument", "variable", "captured"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", [*SEEN, *BETWEEN])
def test_what_is_stored_is_read(name, mode, place, cls, same):
    if cls is Slots and ("__dict__" in BETWEEN.get(name, "") or "vars" in BETWEEN.get(name, "")):
        return
    case = Case(name, {**SEEN, **BETWEEN}[name], place, cls, same)
    answered = check(case, mode)
    assert answered == RUNS or name in BETWEEN


_OTHERWISE = {"augmented", "augmented array", "of a part"}
"""What is stored is of another type than what was there, is changed in place, or an object."""


@pytest.mark.every(2)
@pytest.mark.parametrize("place", ["argument", "captured"])
@pytest.mark.parametrize("mode", ["grad", "jacfwd"])
@pytest.mark.parametrize("name", [name for name in SEEN if name not in _OTHERWISE])
def test_it_is_compiled(name, mode, place):
    case = Case(name, SEEN[name], place, Model, False)
    g = {"grad": grad, "jacfwd": jacfwd}[mode](case.f)
    n = 2 if place == "argument" else 0
    for _ in range(3):
        g(X, *case.args()[:n])
    assert "compiled whole" in str(explain(g)(X, *case.args()[:n])).split("\n")[0]


# -- what later runs read ------------------------------------------------------------------------------------


WRITES = {
    "attribute": ("m.h = x * 2.0", "m.h"),
    "number": ("m.k = x[0] * 2.0", "m.k"),
    "augmented": ("m.k += x[0]", "m.k"),
    "pair": ("m.h = (x * 2.0, 3.0)", "m.h[0]"),
    "list": ("m.h = [x * 2.0]", "m.h[0]"),
    "part": ("m.sub = p; m.sub.h = x * 2.0", "m.sub.h"),
    "new object": ("o = Model(); o.h = x * 2.0; m.sub = o", "m.sub.h"),
    "appended": ("m.log.append(x * 2.0)", "m.log[-1]"),
    "pair appended": ("m.log.append((1, x * 2.0))", "m.log[-1][1]"),
    "entry": ("d['h'] = x * 2.0", "d['h']"),
    "update": ("d.update(h=x * 2.0)", "d['h']"),
    "setdefault": ("d.setdefault('h', x * 2.0)", "d['h']"),
    "array": ("b[:] = x * 2.0", "b"),
    "element": ("b[1] = x[0] * 2.0", "b"),
    "variable": ("global g\n    g = x * 2.0", "g"),
}
"""How it is put somewhere, and read there by another function, which has d and b of its own by name."""


def _reader(how, argument):
    reads = {"b": "m.b", "d['h']": "m.d['h']"}.get(WRITES[how][1], WRITES[how][1])
    head = "f(x, m)" if argument else "f(x)"
    return f"def {head}:\n    return (np.sum({reads}) * x).sum()\n"


@pytest.mark.every(3)
@pytest.mark.parametrize("argument", [True, False])
@pytest.mark.parametrize("runs", [1, 4])
@pytest.mark.parametrize("reading", ["grad", "jacfwd"])
@pytest.mark.parametrize("writing", ["grad", "jacfwd", "hessian"])
@pytest.mark.parametrize("how", WRITES)
def test_later_runs_refuse_what_it_left(how, writing, reading, runs, argument):
    modes = {"grad": grad, "jacfwd": jacfwd, "hessian": hessian}
    space = {"np": np, "Model": Model, "g": 1.0, "__name__": "left"}
    exec(f"def w(x, m, p, d, b):\n    {WRITES[how][0]}\n    return (x * x).sum()\n", space)
    writes = space["w"]
    exec(_reader(how, argument), space)
    reads = space["f"]
    writer, reader = modes[writing](writes), modes[reading](reads)
    m = space["m"] = Model()
    m.d, m.b = {"h": 1.0}, np.ones(3)
    args = (m,) if argument else ()
    for _ in range(runs):  # with nothing left, it is a constant
        writes(X, m, Model(), m.d, m.b)
        wanted = np.full(3, reads(np.array([1.0, 0.0, 0.0]), *args))
        np.testing.assert_allclose(reader(X, *args), wanted)
    for _ in range(runs):
        if how == "setdefault":
            m.d.clear()
        writer(X, m, Model(), m.d, m.b)
    for _ in range(2):
        with pytest.raises(DerivativeError, match="an earlier run has left"):
            reader(X, *args)
    if how not in ("augmented", "element"):  # which keep something of it
        m.d.clear()
        writes(X * 3.0, m, Model(), m.d, m.b)
        reader(X, *args)  # others have put it there since
