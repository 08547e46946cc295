"""Second derivatives of functions that store what is differentiated into what was there before, whatever
earlier derivatives have left there."""

import types

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jacfwd, jacrev, jvp, vjp

X = 1.3

SECOND = {
    "hessian": hessian,
    "jacfwd of grad": lambda f: jacfwd(grad(f)),
    "jacrev of grad": lambda f: jacrev(grad(f)),
    "grad of grad": lambda f: grad(grad(f)),
    "jvp of grad": lambda f: lambda x: jvp(grad(f), (x,), (1.0,))[1],
    "vjp of grad": lambda f: lambda x: vjp(grad(f), x)[1](1.0)[0],
    "jacfwd twice": lambda f: jacfwd(jacfwd(f)),
    "grad of jvp": lambda f: grad(lambda x: jvp(f, (x,), (1.0,))[1]),
    "jvp of jvp": lambda f: lambda x: jvp(lambda y: jvp(f, (y,), (1.0,))[1], (x,), (1.0,))[1],
}
STORES = {
    "attribute": "o.v = x * x\n    return o.v * x",
    "attribute, new": "o.w = x * x\n    return o.w * x",
    "attribute, added to": "o.v = 0.0\n    o.v += x ** 3\n    return o.v",
    "attribute of the class": "n.v = x * x\n    return n.v * x",
    "item of a dict": "d['v'] = x * x\n    return d['v'] * x",
    "item of a list": "s[0] = x * x\n    return s[0] * x",
    "appended": "s.append(x * x)\n    return s[-1] * x",
    "element": "a[1] = x * x\n    return a[1] * x",
    "variable": "global count\n    count = x * x\n    return count * x",
    "nothing read": "o.v = x\n    d['v'] = x\n    return x ** 3",
}
BEFORE = {
    "nothing": lambda f: None,
    "grad": lambda f: grad(f)(X),
    "jvp": lambda f: jvp(f, (X,), (1.0,)),
    "hessian": lambda f: hessian(f)(X),
    "plain": lambda f: f(X),
}


def made(store):
    class Bare:
        v = 1.0

    space = {"o": types.SimpleNamespace(v=1.0), "n": Bare(), "d": {"v": 1.0}, "s": [1.0], "a": np.ones(3)}
    exec(f"count = 1.0\ndef f(x):\n    {STORES[store]}\n", space)
    return space["f"]


@pytest.mark.every(60)
@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("second", SECOND)
def test_second_derivatives(second, store, before):
    f = made(store)
    for _ in range(2):
        BEFORE[before](f)
        for x in (X, 2 * X):
            assert float(SECOND[second](f)(x)) == pytest.approx(6 * x)
