"""Cotangents that are one number for a whole array, which the primal has left: rules that look at the shape
of a cotangent get it in full, wherever the blocks of the program begin and end."""

import functools
import operator

import numpy as np
import pytest

from ctxdispatch import value_and_grad

X = np.array([0.7, -0.4, 1.3])

MADE = [
    "np.cumsum(y)",
    "y[::-1]",
    "np.sort(y)",
    "np.roll(y,1)",
    "sum([y,y])",
    "np.stack([y,y])",
    "np.concatenate([y,y[:1]])",
    "np.outer(y,y)",
    "np.outer(y,y) @ y",
    "y[[0,2]]",
    "np.diff(y)",
    "np.pad(y,1)",
    "np.where(y>0,y,2*y)",
    "y.reshape(3,1)",
    "np.tile(y,2)",
    "np.diag(y)",
    "np.cumprod(y)",
    "np.fft.rfft(y).real",
    "np.convolve(y,y)",
    "np.linalg.inv(np.diag(y+5))",
    "np.tril(np.outer(y,y))",
    "np.clip(y,-1,1)",
    "np.maximum(y,0.1)",
    "np.repeat(y,2)",
    "np.outer(y,x).T",
    'np.einsum("i,j->ij",y,y)',
    "np.dot(np.outer(x,x),y)",
    "y[1:]",
    "y.copy()",
    "np.array([p for p in y])",
    "np.outer(y,y)[1]",
    "np.cross(y,x)",
    "np.exp(y)",
    "np.interp(y,[0.,1.],[1.,2.])",
    "sum([y for p in x])",
    "sum((y, y), y)",
    "functools.reduce(operator.add, [y, y])",
    "sum(y for p in (1, 2))",
    "sum(map(np.sin, [y, y]))",
]
TEXTS = {
    "if": """\
def f(x):
    y = x * 3.0
    s = x[1]
    if x[0] > 0.0:
        r = np.sum({R} * s)
    else:
        r = 0.0
    return r
""",
    "if2": """\
def f(x):
    y = x * 3.0
    s = x[1]
    z = 0.0
    if x[0] > 0.0:
        z = {R}
    return np.sum(z * s)
""",
    "loop": """\
def f(x):
    y = x * 3.0
    r = 0.0
    for i in range(len(x)):
        r = r + np.sum({R} * x[i])
    return r
""",
    "loop2": """\
def f(x):
    y = x * 3.0
    r = 0.0
    for i in range(len(x)):
        z = {R}
        r = r + np.mean(z * x[i] * 2.0)
    return r
""",
    "split": """\
def f(x):
    y = x * 3.0
    z = 0.0
    for i in range(2):
        z = z + {R}
    return np.sum(z * x[1])
""",
    "early": """\
def f(x):
    y = x * 3.0
    z = {R}
    if x[0] < 0.0:
        return x[0]
    return np.sum(z * x[1])
""",
    "mixed": """\
def f(x):
    y = x * 3.0
    s = x[1]
    if x[0] > 0.0:
        z = {R}
    else:
        z = 1.0
    if s < 0.0:
        s = s * 2.0
    return np.sum(z * s)
""",
    "while": """\
def f(x):
    y = x * 3.0
    n = 0
    r = 0.0
    while n < 2:
        z = {R}
        r = r + (z * x[n]).sum()
        n += 1
    return r
""",
    "straight": """\
def f(x):
    y = x * 3.0
    return np.sum({R} * x[1])
""",
    "mean": """\
def f(x):
    y = x * 3.0
    return np.mean({R} * x[1] * 2.0)
""",
}


@pytest.mark.every(40)
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("made", MADE)
def test_rules_that_look_at_shapes(made, text):
    names = {"np": np, "functools": functools, "operator": operator}
    exec(TEXTS[text].replace("{R}", made), names)
    f = names["f"]
    want = [(f(X + step) - f(X - step)) / 2e-6 for step in 1e-6 * np.eye(3)]
    for _ in range(3):
        np.testing.assert_allclose(value_and_grad(f)(X.copy())[1], want, atol=1e-4)
