"""Closures of one code that have no program: each is traced, and none gets what another has captured."""

import math
import re

import numpy as np
import pytest

from ctxdispatch import Context, explain, grad, jvp
from ctxdispatch.dispatch.rules import version
from tests.behaviours.mutation_checks import central


def make(data, name, options, weights=(1.0, 2.0)):
    table = {"a": weights[0], "b": weights[1]}

    def scaled(x):
        return x * options["scale"]

    def loss(p, power=2):
        total = 0.0
        for key in "a b".split():
            total += table[re.match(r"(\w)", key).group(1)] * np.sum((scaled(p) - data) ** power)
        return total if name == "squares" else math.sqrt(total)

    return loss


def closures():
    random = np.random.default_rng(1)
    for i in range(6):
        options = {"scale": 1.5 + i} if i != 3 else {"scale": np.float64(2.0), "more": 1}
        given = (1.0, 2.0) if i % 3 else (0.5, np.float64(3.0))
        yield make(random.normal(size=3 + i // 4), "squares" if i % 2 else "root", options, given)


@pytest.mark.parametrize("mode", ["grad", "jvp"])
def test_all_closures_are_traced(mode):
    random = np.random.default_rng(2)
    for f in closures():
        n = f.__closure__[0].cell_contents.size
        along = random.normal(size=n)
        derivative = grad(f) if mode == "grad" else lambda p: jvp(f, (p,), (along,))[1]
        for _ in range(4):
            p = random.normal(size=n)
            found, expected = derivative(p), central(f, p)
            expected = expected if mode == "grad" else expected @ along
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
        assert explain(derivative)(p).regions[0].tier == "compiled as a trace"


def test_what_was_captured_may_change():
    options = {"scale": 2.0}
    fs = [make(np.ones(3), "squares", options) for _ in range(3)]
    gs, p = [*map(grad, fs)], np.array([0.3, -0.2, 0.9])
    for scale in (2.0, 2.0, 3.0, 4.0):
        options["scale"] = scale
        for f, g in zip(fs, gs):
            for _ in range(2):
                np.testing.assert_allclose(g(p), central(f, p), rtol=1e-5, atol=1e-6)


def test_a_new_context_class_is_no_change_of_rules():
    before = version()

    class New(Context):
        pass

    assert version() == before
    New.rule(math.sin)(lambda ctx, x: x)
    assert version() != before
