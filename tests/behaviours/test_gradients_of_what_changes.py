"""A gradient within what is differentiated, of a function that reads or changes what others have as well: it
is run once, and what it read counts as it was then."""

import types

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jacfwd, jvp, value_and_grad, vjp
from ctxdispatch_contexts.programs.errors import DerivativeError

X = 1.5

STATES = {  # how it is read, and how it is set to {0}
    "variable": ("K", "global K\n    K = {0}"),
    "dict": ("d['n']", "d['n'] = {0}"),
    "list": ("l[0]", "l[0] = {0}"),
    "attribute": ("s.v", "s.v = {0}"),
    "class": ("S.w", "S.w = {0}"),
    "array": ("b[0]", "b[0] = {0}"),
    "whole array": ("np.sum(b)", "b[:] = {0} / 3"),
    "nested": ("d['o'].v", "d['o'].v = {0}"),
}
BODIES = {
    "straight": "return y ** 4 * {read}",
    "loop": "t = y\n    for i in range(3):\n        t = t * y\n    return t * {read}",
    "own array": "t = np.empty(4)\n    for i in range(4):\n        t[i] = y\n    return np.prod(t) * {read}",
    "counts": "{more}\n    t = y\n    for i in range(3):\n        t = t * y\n    return t * {read}",
    "counts, straight": "{more}\n    return y ** 4 * {read}",
}
PROGRAMS = {
    "changed after": "{two}\n    h = grad(g)(x)\n    {five}\n    return h * x",
    "used after": "{two}\n    h = grad(g)(x)\n    return h * x * {read}",
    "twice": "{two}\n    h = grad(g)(x)\n    {five}\n    return h * grad(g)(x)",
    "with its value": "{two}\n    y, h = value_and_grad(g)(x)\n    {five}\n    return h * y",
    "by vjp": "{two}\n    y, back = vjp(g, x)\n    {five}\n    return back(x)[0] * y",
    "by jvp": "{two}\n    y, h = jvp(g, (x,), (x,))\n    {five}\n    return h * y",
    "in a function": "{two}\n    h = inner(x)\n    {five}\n    return h * x",
    "in a loop": "{two}\n    h = 0.0\n    for i in range(2):\n        h = h + grad(g)(x)\n        {five}\n"
    "    return h * x",
}
MODES = {
    "grad": lambda f: value_and_grad(f)(X)[1],
    "jvp": lambda f: jvp(f, (X,), (1.0,))[1],
    "vjp": lambda f: vjp(f, X)[1](1.0)[0],
    "jacfwd": lambda f: jacfwd(f)(X),
}


def made(state, body, program):
    read, store = STATES[state]
    name = f"{read} " if "=" not in store else store.splitlines()[-1].strip().partition(" = ")[0]
    first, _, last = store.rpartition("\n    ")
    more = f"{first}\n    {name} = {name} + 1.0" if first else f"{name} = {name} + 1.0"
    within = store.replace("global K\n    ", "")
    text = PROGRAMS[program].format(two=store.format("2.0"), five=within.format("5.0"), read=read)
    text = text.replace("\n        " + within.format("5.0"), "\n        " + last.format("5.0"))
    source = f"""
K = 1.0
class S:
    v = w = 1.0
def g(y):
    {BODIES[body].format(read=read, more=more)}
def inner(y):
    return grad(g)(y)
def f(x):
    {text}
"""
    space = dict(np=np, grad=grad, value_and_grad=value_and_grad, vjp=vjp, jvp=jvp, __name__=__name__)
    space |= dict(d={"n": 1.0, "o": types.SimpleNamespace(v=1.0)}, l=[1.0], b=np.ones(3))
    exec(source, space)
    space["s"] = space["S"]()
    space["now"] = eval(f"lambda: float({read})", space)
    return space


@pytest.mark.every(48)
@pytest.mark.parametrize("mode", [*MODES, "hessian"])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("state", STATES)
def test_run_once_and_read_then(state, body, program, mode):
    space = made(state, body, program)
    f, now = space["f"], space["now"]
    left = (f(X), now())[1]
    step = 1e-5
    wanted = (f(X + step) - f(X - step)) / (2 * step)
    if mode == "hessian":
        wanted = (f(X + 1e-3) - 2 * f(X) + f(X - 1e-3)) / 1e-6
    for _ in range(2):
        try:
            found = hessian(f)(X) if mode == "hessian" else MODES[mode](f)
        except DerivativeError:
            continue
        np.testing.assert_allclose(found, wanted, rtol=1e-4)
        assert now() == left


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("body", ["straight", "loop", "own array"])
def test_pullbacks_called_later(state, body):
    """What has changed since counts as little as elsewhere."""
    space = made(state, body, "used after")
    space["f"](X)
    exec(f"def h(x):\n    return grad(g)(x) * x\ndef change():\n    {STATES[state][1].format('7.0')}", space)
    step = 1e-5
    wanted = (space["h"](X + step) - space["h"](X - step)) / (2 * step)
    _, back = vjp(space["h"], X)
    space["change"]()
    np.testing.assert_allclose(back(1.0)[0], wanted, rtol=1e-6)
