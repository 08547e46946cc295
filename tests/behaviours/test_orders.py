"""Derivatives of order 1 to 5 by every mix of modes: each of the k levels is forward or reverse mode, and all
2^k give the closed form. A mix is written innermost first.
"""

import itertools
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ctxdispatch import grad, jvp

pytestmark = pytest.mark.usefixtures("with_a_rule")


def forward(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


MIXES = ["".join(m) for k in range(1, 5) for m in itertools.product("rf", repeat=k)]
MIXES += ["rrrrr", "fffff", "rfrfr", "frfrf", "rrfff", "ffrrr", "rrrrf", "frrrr"]
every_mix = pytest.mark.parametrize("mix", MIXES)


def derivative(f, mix):
    for mode in mix:
        f = grad(f) if mode == "r" else forward(f)
    return f


def falling(n, k):
    return math.prod(range(n - k + 1, n + 1)) if k <= n else 0


@every_mix
def test_sine(mix):
    expected = (math.sin, math.cos, lambda x: -math.sin(x), lambda x: -math.cos(x))[len(mix) % 4](0.7)
    assert derivative(math.sin, mix)(0.7) == pytest.approx(expected, rel=1e-13)


def power_by_loop(x):
    r = 1.0
    for _ in range(4):
        r *= x
    return r


@pytest.mark.every(5)
@every_mix
def test_power_by_loop(mix):
    k = len(mix)
    expected = falling(4, k) * 1.5 ** max(4 - k, 0)
    assert derivative(power_by_loop, mix)(1.5) == pytest.approx(expected, rel=1e-13)


def by_recursion(x, n):
    return 1.0 if n == 0 else x * by_recursion(x, n - 1)


def recursive_power(x):
    return by_recursion(x, 4)


@every_mix
def test_recursive_power(mix):
    k = len(mix)
    expected = falling(4, k) * 1.5 ** max(4 - k, 0)
    assert derivative(recursive_power, mix)(1.5) == pytest.approx(expected, rel=1e-13)


def capturing(x):
    scale = 2.0 * x

    def times(y):
        return scale * y * y

    return times(x) * times(1.0)  # 2 x^3 2 x


@pytest.mark.every(5)
@pytest.mark.parametrize("mix", MIXES)
def test_function_that_captures(mix):
    k = len(mix)
    expected = 4.0 * falling(4, k) * 1.5 ** max(4 - k, 0)
    assert derivative(capturing, mix)(1.5) == pytest.approx(expected, rel=1e-13)


@pytest.mark.every(5)
@pytest.mark.parametrize("mix", [m for m in MIXES if len(m) <= 3])
def test_fresh_closures_again_and_again(mix):
    """More than get programs of their own."""
    for scale in range(1, 13):
        found = derivative(lambda x: scale * x * x * x, mix)(1.5)  # noqa: B023
        assert found == pytest.approx(scale * falling(3, len(mix)) * 1.5 ** (3 - len(mix)), rel=1e-13)


def test_without_rules_second_gradients_are_taken_forward():
    """In a process of its own: symmetry may be used, also of what is called at run time."""
    code = """
from test_mixes_through_containers import FUNCTIONS
from ctxdispatch import grad
from numpy.polynomial import Polynomial
for f in FUNCTIONS:
    expected = f(Polynomial([0.0, 1.0])).deriv(2)(1.3)
    assert abs(grad(grad(f))(1.3) - expected) < 1e-10, f
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent)


def test_a_recording_that_is_recorded_makes_nothing_anew():
    """The engine's own caches hold rules and code: a run finds there what the run before it left."""
    from ctxdispatch_contexts.derivatives import table
    from ctxdispatch_contexts.recording import runs as finding

    def loss(x):
        out = x * 1.0
        np.put(out, [0], x[1] * x[2])
        return np.sum(out**3)

    def slope(x):
        return np.sum(grad(loss)(x))

    x = np.array([1.0, 2.0, 3.0])
    runs = []
    for _ in range(3):  # the first one notes types
        runs.append(jvp(slope, (x,), (np.ones(3),)))
        caches = finding._follow_table, finding._class_for, table.describe
        runs.append([cache.cache_info().misses for cache in caches] + [len(finding._made)])
    assert runs[3] == runs[5]
    assert runs[0] == runs[2] == runs[4] == (pytest.approx(579.0), pytest.approx(1146.0))
