"""Memory that is reached by its address, or shown by an iterator made before a store: every path is right or
refuses, whichever of the two is stored into and which is read."""

import itertools

import pytest

from tests.paths.judging import PATHS, judged
from tests.paths.test_code_run_by_c import Written

HEAD = """import ctypes
import numpy as np
class ByInterface:
    def __init__(self, a):
        self.__array_interface__ = a.__array_interface__
class ByCapsule:
    def __init__(self, a):
        self.a = a
    def __dlpack__(self, **k):
        return self.a.__dlpack__(**k)
    def __dlpack_device__(self):
        return self.a.__dlpack_device__()
g = np.zeros(3)
h = np.asarray(ByInterface(g))
k = np.zeros(3)
d = np.from_dlpack(k)"""
PAIRS = {
    "an interface": "a = {}\nb = np.asarray(ByInterface(a))",
    "a capsule": "a = {}\nb = np.from_dlpack(a)",
    "another's capsule": "a = {}\nb = np.from_dlpack(ByCapsule(a))",
    "an interface before": "a, b = g, h\na[:] = {}",
    "a capsule before": "a, b = k, d\na[:] = {}",
    "a pointer": "a = {}\nb = a.ctypes.data_as(ctypes.POINTER(ctypes.c_double))",
    "an address": "a = {}\nb = (ctypes.c_double * 3).from_address(a.ctypes.data)",
    "a view of it": "a = {}\nb = memoryview(a)",
}
USES = (
    "a[0] = {}\ny = b[0]", "b[0] = {}\ny = a[0]", "ctypes.memset(a.ctypes.data, 0, 8)\ny = a[0] * {} + b[1]",
)  # fmt: skip
ITERATORS = (
    "iter({})", "reversed({})", "enumerate({})", "zip({}, [1.0, 2.0, 3.0])", "map(float, {})",
    "(v for v in {})",
)  # fmt: skip
SHOWN = [
    f"a = np.zeros(3)\ni = {it.format('memoryview(a)')}\na[:] = x[0]\ny = np.sum([*i])" for it in ITERATORS
]


def _is_right(body):
    outcomes = judged(Written((HEAD, body), "y * x[1]", (0.7, -0.4, 1.3), False))
    assert outcomes["plain"] == "right"
    assert {outcomes[path] for path in PATHS} <= {"right", "refused"}, outcomes


@pytest.mark.parametrize("pair, use", itertools.product(PAIRS, USES))
def test_either_is_the_other(pair, use):
    for first, second in [("np.ones(3)", "x[0]"), ("x * 2.0", "0.5"), ("x * 2.0", "x[2]")]:
        _is_right(f"{PAIRS[pair].format(first)}\n{use.format(second)}")


@pytest.mark.parametrize("body", SHOWN, ids=ITERATORS)
def test_an_iterator_shows_what_is_there(body):
    _is_right(body)


ITSELF = (
    "y = dict.fromkeys('a', x)['a'][1]", "y = max([x])[0]", "y = min([x], default=None)[0]",
    "b = np.zeros(3)\nc = np.broadcast_arrays(b, x)[0]\nc[0] = x[2]\ny = b[0]",
    "b = x * 1.0\nc = np.broadcast_arrays(b, np.ones(3))[0]\nc[0] = x[2]\ny = b[0] * b[1]",
    "import itertools\nc = itertools.chain(float)\ny = x[0]",
)  # fmt: skip


@pytest.mark.parametrize("body", ITSELF)
def test_what_is_given_on_as_it_is(body):
    """It is not gone through, compared or copied where it would not be plainly."""
    _is_right(body)
