"""What a function captures counts, whoever calls it: NumPy's and Python's functions that call one they are
given, where all else that they are given is constant."""

import collections
import functools
import itertools

import numpy as np
import pytest

from ctxdispatch import jacfwd, jvp, value_and_grad
from ctxdispatch_contexts.programs.errors import Refused
from ctxdispatch_contexts.sparsity import jacobian_sparsity
from ctxdispatch_contexts.traces import straight

W, M = np.array([1.0, 2.0, 3.0]), np.arange(1.0, 7.0).reshape(3, 2)

CALLS = {
    "piecewise": "np.sum(np.piecewise(W, [W > 1.5, W <= 1.5], [f, f]))",
    "piecewise, one": "np.sum(np.piecewise(W, [W > 1.5], [f]))",
    "piecewise, else": "np.sum(np.piecewise(W, [W > 1.5], (0.0, f)))",
    "piecewise, masks": "np.sum(np.piecewise(np.ones(3), [np.array([True, False, False])], [f, 0.0]))",
    "apply_along_axis": "np.sum(np.apply_along_axis(f, 0, M))",
    "apply_over_axes": "np.sum(np.apply_over_axes(lambda a, axis: f(a), M, [0]))",
    "vectorize": "np.sum(np.vectorize(f)(W))",
    "fromfunction": "np.sum(np.fromfunction(f, (3,)))",
    "fromiter": "np.sum(np.fromiter(map(f, W), float))",
    "map": "sum(map(f, (1.0, 2.0)))",
    "starmap": "sum(itertools.starmap(f, [(1.0,), (2.0,)]))",
    "reduce": "functools.reduce(lambda a, b: a + f(b), (1.0, 2.0), 0.0)",
    "accumulate": "list(itertools.accumulate((1.0, 2.0), lambda a, b: a + f(b)))[-1]",
    "by key": "max((1.0, 2.0), key=f) * f(3.0)",
    "sorted by key": "sorted([2.0, 1.0], key=f)[0] * f(3.0)",
    "list.sort": "(y := [2.0, 1.0], y.sort(key=f), y[0] * f(3.0))[-1]",
    "defaultdict": "collections.defaultdict(functools.partial(f, 2.0))['a']",
    "iter": "next(iter(functools.partial(f, 2.0), None))",
    "partial": "functools.partial(f, 2.0)()",
    "pad": "np.sum(np.pad(W, 1, lambda v, w, i, k: v.__setitem__(0, f(1.0))))",
    "histogram_bin": "np.sum(np.asarray([f(w) for w in W]))",
}
FUNCTIONS = {
    "closure": "f = lambda v: v * a + a * a",
    "default": "f = lambda v, a=a: v * a + a * a",
    "partial": "f = functools.partial(lambda a, v: v * a + a * a, a)",
    "method": "f = Model(a).act",
    "object": "f = Model(a)",
}


class Model:
    def __init__(self, a):
        self.a = a

    def act(self, v):
        return v * self.a + self.a * self.a

    __call__ = act


def made(call, function, around):
    namespace = {
        "np": np, "W": W, "M": M, "itertools": itertools, "functools": functools, "collections": collections,
        "Model": Model,
    }  # fmt: skip
    lines = [
        "def program(x):",
        *(
            "    " + line
            for line in around.format(f"a = x[0] * x[1]; {FUNCTIONS[function]}; return {CALLS[call]}").split(
                "\n"
            )
        ),
    ]
    exec("\n".join(lines), namespace)
    return namespace["program"]


AROUND = {"plain": "{}", "with": "import contextlib\nwith contextlib.ExitStack() as stack:\n    {}"}
TAKEN = {
    "reverse": lambda f, x: value_and_grad(f)(x)[1],
    "forward": lambda f, x: np.array([jvp(f, (x,), (e,))[1] for e in np.eye(2)]),
    "block": lambda f, x: jacfwd(f)(x),
    "pattern": lambda f, x: jacobian_sparsity(f, x).toarray()[0],
}


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("call", CALLS)
def test_what_a_function_captures_counts(call, function, around, at_once, monkeypatch):
    monkeypatch.setattr(straight, "AT_ONCE", at_once)
    program = made(call, function, AROUND[around])
    x = np.array([1.3, 0.7])
    expected = [(program(x + e) - program(x - e)) / 2e-6 for e in 1e-6 * np.eye(2)]
    for way, take in TAKEN.items():
        try:
            found = take(program, x)
        except Refused as error:
            assert "test_functions_given" in str(error) or "<string>" in str(error)
            continue
        if way == "pattern":
            assert np.all(found | (np.asarray(expected) == 0.0)), found
        else:
            assert np.allclose(found, expected, rtol=1e-6), way


@pytest.mark.parametrize("way", ["reverse", "forward"])
def test_an_iterator_beside_a_function_is_gone_through(way):
    def f(x):
        return np.piecewise(x.flat, [np.array([True, False])], [np.sin, lambda v: v * v]).sum()

    np.testing.assert_allclose(TAKEN[way](f, np.array([0.7, 1.3])), [np.cos(0.7), 2.6])
