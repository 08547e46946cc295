"""Objects with `__float__` among what C code makes numbers of: the method's derivative counts, or they are
refused."""

import array
import ctypes
import datetime
import fractions
import math
import random
import statistics
import struct

import numpy as np
import pytest

from ctxdispatch import jvp, value_and_grad
from ctxdispatch_contexts.programs.errors import Refused
from tests.recording import recorded as on_tape

X = np.array([0.55, 0.7])


class Quantity:
    def __init__(self, v):
        self.v = v

    def __float__(self):
        return float(self.v * 2.0)

    def __complex__(self):
        return complex(self.v * 2.0)


def changed(name, *before):
    def read(q):
        numbers = array.array("d", [0.0, 1.0])
        getattr(numbers, name)(*before, q)
        return sum(numbers)

    return read


def through_memory(q):
    numbers = array.array("d", [0.0, 1.0])
    memoryview(numbers)[0] = q
    return sum(numbers)


def packed(q):
    memory = bytearray(8)
    struct.pack_into("d", memory, 0, q)
    return struct.unpack("d", memory)[0]


def stored(store):
    def read(q):
        numbers = np.zeros(3)
        store(numbers, q)
        return numbers.sum()

    return read


READERS = {
    "array": lambda q: array.array("d", [q])[0], "floats": lambda q: array.array("f", (q, q))[0],
    "items": lambda q: sum(array.array("d", (each for each in [q, 1.0, q]))), "append": changed("append"),
    "insert": changed("insert", 1), "item": changed("__setitem__", 1), "memory": through_memory,
    "extend": lambda q: changed("extend")([q]), "fromlist": lambda q: changed("fromlist")([q]),
    "pack": lambda q: struct.unpack("d", struct.pack("d", q))[0], "pack_into": packed,
    "ctypes": lambda q: ctypes.c_double(q).value, "of ctypes": lambda q: (ctypes.c_double * 2)(q, 1.0)[0],
    "float": float, "complex": lambda q: complex(q).real, "sin": math.sin,
    "fsum": lambda q: math.fsum([q, q]), "hypot": lambda q: math.hypot(q, 1.0),
    "dist": lambda q: math.dist([q], [0.5]), "ldexp": lambda q: math.ldexp(q, 2),
    "modf": lambda q: math.modf(q)[0], "np.array": lambda q: np.array([q], float)[0],
    "full": lambda q: np.full(2, q, float)[0], "np.float64": np.float64,
    "uniform": lambda q: random.Random(0).random() + float(q),
    "fromiter": lambda q: np.fromiter([q, 1.0, q], float).sum(),
    "asarray": lambda q: np.asarray(q, float)[()], "put": stored(lambda a, q: np.put(a, 0, q)),
    "fill": stored(lambda a, q: a.fill(q)), "stored": stored(lambda a, q: a.__setitem__(0, q)),
    "sliced": stored(lambda a, q: a.__setitem__([0, 2], [q, q])),
    "flat": stored(lambda a, q: a.flat.__setitem__(0, q)),
    "copyto": stored(lambda a, q: np.copyto(a, np.array(q, float))),
    "interp": lambda q: np.interp(q, [0.0, 5.0], [0.0, 5.0]),
    "normal": lambda q: statistics.NormalDist(float(q)).mean,
    "seconds": lambda q: datetime.timedelta(seconds=float(q)).total_seconds(),
    "fraction": lambda q: float(fractions.Fraction(float(q))),
}  # fmt: skip


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("name", [*READERS])
def test_derivatives(name, recorded):
    def program(x):
        return READERS[name](Quantity(x[0])) * 1.0 + x[1]

    f = on_tape(program) if recorded else program
    want = f(X)
    try:
        y, gradient = value_and_grad(f)(X)
    except Refused:
        return
    assert y == want
    step = 1e-3 if name == "floats" else 1e-6
    differences = np.array([(f(X + e) - f(X - e)) / (2.0 * step) for e in step * np.eye(2)])
    np.testing.assert_allclose(gradient, differences, rtol=1e-4)
    np.testing.assert_allclose(jvp(f, (X,), (np.ones(2),))[1], sum(differences), rtol=1e-4)
