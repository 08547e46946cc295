"""Which of two classes does an operator, where one comes of the other: the right one is asked first only
where it has a method of its own (The Python Language Reference, 3.3.8), of comparisons always."""

import operator

import numpy as np
import pytest

from ctxdispatch import grad, jacobian_sparsity, jvp
from ctxdispatch_contexts.sparsity.errors import SparsityError

X = 1.5

NAMES = {
    "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv, "pow": operator.pow,
    "matmul": operator.matmul, "mod": operator.mod, "lt": operator.lt, "ge": operator.ge, "eq": operator.eq,
}  # fmt: skip
MIRRORED = {"lt": "gt", "ge": "le", "eq": "eq"}
KINDS = ["inherits", "overrides", "overrides the other", "adds", "unrelated"]
DECLINES = ["none", "left", "right", "both"]


def classes(name, kind, declines):
    reflected = MIRRORED.get(name) or f"r{name}"

    class V:
        def __init__(self, v):
            self.v = v

    def left(a, b):
        return NotImplemented if declines in ("left", "both") else V(a.v * a.v * 2.0 + b.v)

    def right(a, b):
        return NotImplemented if declines in ("right", "both") else V(a.v * b.v * b.v * 3.0)

    def other(a, b):
        return V(a.v * 5.0 + b.v)

    setattr(V, f"__{name}__", left)
    if kind != "adds":
        setattr(V, f"__{reflected}__", right)
    W = type("W", (V if kind != "unrelated" else V.__base__,), {"__init__": V.__init__})
    if kind in ("overrides", "adds"):
        setattr(W, f"__{reflected}__", other)
    if kind == "overrides the other":
        setattr(W, f"__{name}__", other)
    if kind == "unrelated":
        setattr(W, f"__{reflected}__", right)
    return V, W


PLACES = {
    "compiled": "return value(op(A(x), B(x * x)))",
    "recorded": "try:\n        return value(op(A(x), B(x * x)))\n    finally:\n        seen.append(1)",
    "spelled": "a, b = A(x), B(x * x)\n    return value(a {sign} b)",
}
SIGNS = {
    "sub": "-", "mul": "*", "truediv": "/", "pow": "**", "matmul": "@", "mod": "%", "lt": "<", "ge": ">=",
    "eq": "==",
}  # fmt: skip


def value(y):
    return y.v if hasattr(y, "v") else 1.0 if y else 0.0


@pytest.mark.every(20)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("order", ["VW", "WV", "VV"])
@pytest.mark.parametrize("declines", DECLINES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_who_is_asked(name, kind, declines, order, place):
    V, W = classes(name, kind, declines)
    space = dict(value=value, op=NAMES[name], seen=[], A=V if order[0] == "V" else W, __name__=__name__)
    space["B"] = V if order[1] == "V" else W
    exec(f"def f(x):\n    {PLACES[place].format(sign=SIGNS[name])}\n", space)
    f = space["f"]
    try:
        wanted = (f(X + 1e-6) - f(X - 1e-6)) / 2e-6
    except TypeError:
        for derivative in (lambda: grad(f)(X), lambda: jvp(f, (X,), (1.0,))):
            with pytest.raises(TypeError):
                derivative()
        return
    for _ in range(2):
        np.testing.assert_allclose(grad(f)(X), wanted, atol=1e-7, rtol=1e-6)
        y, dy = jvp(f, (X,), (1.0,))
        np.testing.assert_allclose([y, dy], [f(X), wanted], atol=1e-7, rtol=1e-6)
    if place == "recorded":
        return
    try:
        pattern = jacobian_sparsity(lambda x: f(x[0]), np.array([X]))
    except SparsityError:
        return
    assert wanted == 0.0 or np.asarray(pattern.toarray() if hasattr(pattern, "toarray") else pattern).any()
