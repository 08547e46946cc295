"""What is done when nothing refers to an object any longer (`__del__`, `finally` of generators, weak
references) is done when it is in a plain run, in every mode; what computes something then is refused."""

import collections
import weakref

import numpy as np
import pytest

from ctxdispatch import Refused, grad, hessian, jacobian_sparsity, jvp

X = np.array([1.0, 2.0])
LOG = []


class Ending:
    def __init__(self, v):
        self.v = v

    def __del__(self):
        LOG.append("ended")


class Bare:
    def __del__(self):
        LOG.append("ended")


def going(u):
    try:
        while True:
            yield u
    finally:
        LOG.append("ended")


def several(u):
    try:
        yield from u
    finally:
        LOG.append("ended")


PROGRAMS = {
    "an attribute that is given": "o = Bare(); o.v = x; del o",
    "a variable that is deleted": "o = Ending(x); y = o.v * 2; del o",
    "a variable that is bound again": "o = Ending(x); o = None",
    "an item of a list": "l = [Ending(x)]; l.append(x); l.pop(0)",
    "an item of a dict": "d = {'a': Ending(x)}; d['b'] = x; del d['a']",
    "an entry that is made": "d = {}; d.setdefault('a', Ending(x)); d.pop('a')",
    "an attribute that is bound again": "o = Ending(x); o.c = Ending(x); o.c = None",
    "an attribute that is deleted": "o = Ending(x); o.c = Ending(x); del o.c",
    "a list that is cleared": "l = []; l.append(Ending(x)); l.clear()",
    "an item that is bound again": "l = [Ending(x), x]; l[0] = x * 2",
    "a tuple": "t = (Ending(x), x); a, b = t; del t, a",
    "a full deque": "d = collections.deque([Ending(x)], maxlen=1); d.append(x)",
    "an argument": "(lambda o: o.v * 2)(Ending(x))",
    "a temporary value": "y = Ending(x).v * 2",
    "a call": "(lambda: Ending(x).v * 2)()",
    "each step of a loop": "for i in range(2): o = Ending(x * i)\n    o = None",
    "a weak reference": "o = Ending(x); r = weakref.ref(o); del o; LOG.append(r() is None)",
    "a global": "global left; left = Ending(x); left = None",
    "items of a list": "y = list(map(lambda o: o.v * 2, [Ending(x)]))",
    "sums": "l = [Ending(v) for v in x]; y = sum(o.v for o in l); l.pop(); LOG.append('popped')",
    "a generator": "g = going(x); next(g); del g",
    "a generator that was sent something": "g = going(x); next(g); g.send(x); g = None",
    "a loop that stops": "for v in going(x): break",
    "any": "any(z > 0.1 for z in several(x))",
    "any of a generator": "any(several(x))",
    "zip": "y = [a for a, b in zip(several(x), [1.0])]",
    "next": "y = next(several(x))",
}
MODES = {
    "grad": lambda f: grad(f)(X),
    "jvp": lambda f: jvp(f, (X,), (X,)),
    "hessian": lambda f: hessian(f)(X),
    "gradients within": lambda f: grad(lambda y: grad(f)(y)[0])(X),
}


def program(lines, around):
    body = f"    {lines}\n"
    if around == "recorded":
        within = "".join(f"    {line}\n" for line in body.splitlines())
        body = f"    try:\n{within}    except KeyError: pass\n"
    space = {"Ending": Ending, "Bare": Bare, "going": going, "several": several, "LOG": LOG, "np": np}
    space |= {"weakref": weakref, "collections": collections, "__name__": __name__}
    exec(f"def f(x):\n{body}    LOG.append('after')\n    return np.sum(x**2)\n", space)
    return space["f"]


def seen(run):
    LOG.clear()
    run()
    return [*LOG]


@pytest.mark.every(8)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("around", ["alone", "recorded"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_plain(name, around, mode):
    f = program(PROGRAMS[name], around)
    wanted = seen(lambda: f(X))
    for _ in range(2):
        assert seen(lambda: MODES[mode](f)) == wanted


class Storing:
    def __init__(self, u, v):
        self.u, self.v = u, v

    def __del__(self):
        self.u[0] = self.v


class Computing(Storing):
    def __del__(self):
        self.u.append(self.v * self.v)


class Scaling(Storing):
    def __del__(self):
        u = self.u
        u *= 2.0


@pytest.mark.parametrize("cls", [Storing, Computing, Scaling])
@pytest.mark.parametrize("mode", [*MODES, "sparsity"])
def test_what_computes_then_is_refused(cls, mode):
    def f(x):
        y = [x[0] * 2] if cls is Computing else x * 2
        made = cls(y, x[1])
        del made
        return np.sum(y[-1])

    with pytest.raises(Refused, match="__del__"):
        (MODES | {"sparsity": lambda f: jacobian_sparsity(f, X)})[mode](f)
