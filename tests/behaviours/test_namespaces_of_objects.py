"""Objects whose attributes are stored by way of their dict, and in loops by names: as plainly, compiled, and
with another class later."""

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jacfwd
from ctxdispatch_contexts.explain import explain
from ctxdispatch_contexts.programs.errors import DerivativeError

X = np.array([0.3, -0.7])

WAYS = {
    "update": "self.__dict__.update(p)",
    "update, keywords": "self.__dict__.update(p, k=3.0)",
    "update, keywords alone": "self.__dict__.update(w=p['w'], b=p['b'], k=3.0)",
    "update of vars": "vars(self).update(p)",
    "merge": "self.__dict__ |= p",
    "items": "self.__dict__['w'] = p['w']\n        self.__dict__['b'] = p['b'] * 2.0",
    "loop over items": "for name, value in p.items(): setattr(self, name, value)",
    "loop over keys": "for name in p: self.__dict__[name] = p[name]",
    "loop over names": "for name in ('w', 'b'): setattr(self, name, p[name])",
    "loop over f-strings": "for i in range(2): setattr(self, f'w{i}', p['w'] * i)\n"
    "        self.w, self.b = self.w1, p['b']",
    "stored over": "self.w = 1.0\n        self.__dict__.update(p)\n        self.w = self.w * self.b",
    "twice": "self.__dict__.update(p)\n        self.__dict__.update(w=self.b, b=self.w)",
    "kept": "d = self.__dict__\n        d.update(p)\n        d['w'] = d['w'] * 2.0",
    "replaced": "self.__dict__ = dict(p)",
    "taken over": "self.__dict__ = p",
    "by locals": "w, b = p['w'], p['b']\n        self.__dict__.update(locals())",
    "of a class attribute": "self.__dict__.update(p, shared=p['w'])",
    "through a property": "self.__dict__.update(p, doubled=p['w'])",
    "no texts": "self.__dict__.update(p)\n        self.__dict__[3] = p['w']",
    "names of another": "self.__dict__.update(vars(Namespace(p)))",
}
USES = {
    "attributes": "m.w * x * m.b",
    "the dict": "m.w * x * m.b * len(m.__dict__) + sum(v for k, v in vars(m).items() if k == 'b')",
    "class": "m.w * x * m.shared + m.doubled",
    "item of the dict": "m.__dict__['w'] * x + vars(m).get('none', 2.0) * m.b",
}
COMPILED = [*WAYS][:9]


def made(way, use):
    space = {"np": np, "__name__": __name__}
    exec(
        f"""
class Namespace:
    def __init__(self, p):
        self.w, self.b = p["w"], p["b"]
class M:
    shared = 2.0
    def __init__(self, p):
        {WAYS[way]}
    @property
    def doubled(self):
        return 2.0 * self.w
def f(p, x):
    m = M(p)
    seen.append([*vars(m)])
    return np.sum({USES[use]})
def bare(p, x):
    m = M(p)
    return np.sum({USES[use]})
""",
        space,
    )
    return space


def arguments():
    return {"w": np.array([0.5, 1.5]), "b": 2.0}


def check(space, mode):
    f = space["f"]
    space["seen"] = plain = []
    numeric = [(f(arguments(), X + e) - f(arguments(), X - e)) / 2e-6 for e in 1e-6 * np.eye(2)]
    space["seen"] = found = []
    if mode == "grad":
        by_p, by_x = grad(f, (0, 1))(arguments(), X)
        np.testing.assert_allclose(by_x, numeric, rtol=1e-6)
        p = arguments()
        up, down = ({**p, "b": p["b"] + e} for e in (1e-6, -1e-6))
        np.testing.assert_allclose(by_p["b"], (f(up, X) - f(down, X)) / 2e-6, rtol=1e-6)
    elif mode == "jacfwd":
        np.testing.assert_allclose(jacfwd(f, 1)(arguments(), X), numeric, rtol=1e-6)
    else:
        assert hessian(f, 1)(arguments(), X).shape == (2, 2)
    assert found[0] == plain[0]


@pytest.mark.every(15)
@pytest.mark.parametrize("mode", ["grad", "jacfwd", "hessian"])
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("way", WAYS)
def test_as_plainly(way, use, mode):
    space = made(way, use)
    for _ in range(3):
        try:
            check(space, mode)
        except DerivativeError:
            assert way in ("taken over", "replaced", "by locals", "no texts") or use != "attributes"
    space["M"].w = property(lambda self: 5.0)
    try:
        wanted = space["bare"](arguments(), X)
    except AttributeError:
        return
    for _ in range(2):
        try:
            found = grad(space["bare"], 1)(arguments(), X)
        except DerivativeError:
            continue
        steps = [space["bare"](arguments(), X + e) for e in 1e-6 * np.eye(2)]
        np.testing.assert_allclose(found, (np.array(steps) - wanted) / 1e-6, rtol=1e-4)


@pytest.mark.parametrize("way", COMPILED)
def test_compiled(way):
    g = grad(made(way, "attributes")["bare"])
    for _ in range(2):
        g(arguments(), X)
    assert "recorded" not in {region.tier for region in explain(g)(arguments(), X).regions}
