"""Memory that C code is told of by reference, or that is shown as other things than numbers, is followed or
refused; so is what fails when some of it is written."""

import ctypes
import struct

import numpy as np
import pytest

from ctxdispatch import grad, jacfwd, value_and_grad
from ctxdispatch_contexts.programs.errors import Refused
from tests.behaviours.mutation_checks import central

X = np.array([0.7, -1.3, 2.1, 0.4])
D = ctypes.c_double
AT = ctypes.POINTER(D)
LIBM = ctypes.CDLL("libm.so.6")
LIBM.modf.restype, LIBM.modf.argtypes = D, [D, AT]
LIBM.fabs.restype, LIBM.fabs.argtypes = D, [D]


class Pair(ctypes.Structure):
    _fields_ = [("a", D), ("b", D)]


class Mixed(ctypes.Structure):
    _fields_ = [("n", ctypes.c_int), ("a", D)]


class Missing(dict):
    def __init__(self, value, **known):
        super().__init__(known)
        self.value = value

    def __missing__(self, name):
        return self.value


class Boxed:
    def __init__(self, value):
        self._as_parameter_ = value


# -- iterators that are closed -------------------------------------------------------------------------------


def squares_in_place(x):
    with np.nditer(x, op_flags=["readwrite"]) as steps:
        for v in steps:
            v[...] = v * v
    return x.sum()


def chunks_in_place(x):
    with np.nditer(x, flags=["external_loop"], op_flags=["readwrite"]) as steps:
        for v in steps:
            v[...] = np.sin(v)
    return x @ x


def of_one_axis(x):
    y = x.reshape(2, 2)[:, 1:]
    with np.nditer(y, op_flags=["readwrite"]) as steps:
        while not steps.finished:
            steps[0][...] = steps[0] * 2.0
            steps.iternext()
    return x @ x


def of_two_arguments(x):
    with np.nditer([x, x * 2.0]) as steps:
        return sum(float(a * b) for a, b in steps)


# -- functions of C ------------------------------------------------------------------------------------------


def a_callback(x):
    call = ctypes.CFUNCTYPE(D, D)(lambda v: v * x[1])
    return call(2.0) * x[0]


def by_reference(x):
    a = D(x[0])
    LIBM.modf(2.5, ctypes.byref(a))
    return a.value * x[1]


def by_a_parameter_within(x):
    return LIBM.fabs(Boxed(D(x[0]))) * x[1]


def moved_by_reference(x):
    a, s = D(), D(x[0] * x[1])
    ctypes.memmove(ctypes.byref(a), ctypes.byref(s), 8)
    return a.value**2


def cleared_by_reference(x):
    a = D(x[0])
    ctypes.memset(ctypes.byref(a), 0, 8)
    return a.value * x[1] + x[2]


def a_structure_that_is_moved(x):
    s, r = Pair(x[0], x[1]), Pair()
    ctypes.memmove(ctypes.byref(r), ctypes.byref(s), 16)
    return r.a * r.b


# -- memory of bytes -----------------------------------------------------------------------------------------


def packed_into_bytes(x):
    b = ctypes.create_string_buffer(16)
    struct.pack_into("2d", b, 0, x[0], x[1])
    return struct.unpack_from("d", b, 8)[0] ** 2


def moved_into_bytes(x):
    b = ctypes.create_string_buffer(32)
    ctypes.memmove(b, x.ctypes.data, 32)
    return struct.unpack_from("d", b, 8)[0] ** 2


def stored_into_bytes(x):
    b = ctypes.create_string_buffer(16)
    np.frombuffer(b)[0] = x[0]
    return struct.unpack_from("d", b)[0] ** 2


def packed_into_a_structure(x):
    s = Mixed()
    struct.pack_into("d", s, 8, x[0])
    return s.a**2


# -- arrays of arrays ----------------------------------------------------------------------------------------


def a_row(x):
    a = ((D * 2) * 2)()
    a[0] = (D * 2)(x[0], x[1])
    return a[0][0] * a[0][1]


def a_row_of_numbers(x):
    a = ((D * 2) * 2)()
    a[1] = (x[0], x[1])
    return a[1][0] * a[1][1]


def rows(x):
    a = ((D * 2) * 2)((x[0], x[1]), (x[2], x[3]))
    return a[0][1] * a[1][0] + np.asarray(a)[1, 1]


def an_item_that_is_a_structure(x):
    a = (Pair * 2)()
    a[0] = Pair(x[0], x[1])
    return a[0].a * a[0].b


# -- gaps, errors halfway ------------------------------------------------------------------------------------


def with_gaps(x):
    struct.pack_into("d8xd", x, 0, x[1], x[2])
    return x[0] * x[1] * x[2] + x[3]


def constants_with_gaps(x):
    y = np.ones(3) * x[0]
    struct.pack_into("8xd", y, 0, 2.0)
    return y[0] * x[1] + y[1]


def halfway(x):
    try:
        struct.pack_into("dq", x, 0, x[1] * x[2], "a")
    except struct.error:
        pass
    return x[0] * x[3]


# -- one element ---------------------------------------------------------------------------------------------


def a_slice_of_one(x):
    m = memoryview(x)
    m[0:1] = m[1:2]
    return x[0] ** 2


def one_that_is_moved(x):
    a = (D * 2)()
    ctypes.memmove(a, (D * 2)(x[0], x[1]), 8)
    return a[0] ** 2


# -- variables by what a class says --------------------------------------------------------------------------


def variables_that_are_missing(x):
    return eval("q * q", {}, Missing(x[0]))


def globals_that_are_missing(x):
    return eval("q * q * z", Missing(x[0], z=1.0))


PROGRAMS = [f for f in list(globals().values()) if getattr(f, "__module__", "") == __name__ and callable(f)]
PROGRAMS = [f for f in PROGRAMS if not isinstance(f, type)]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_right_or_refused(f):
    wanted, plain, left = central(f, X), f(X.copy()), X.copy()
    f(left)
    for mode in (grad, jacfwd):
        mine = X.copy()
        try:
            value, found = value_and_grad(f)(mine) if mode is grad else (plain, mode(f)(mine))
        except Refused:
            continue
        assert value == pytest.approx(plain, rel=1e-12)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(mine, left)


RIGHT = [
    squares_in_place, chunks_in_place, of_one_axis, packed_into_bytes, moved_into_bytes, stored_into_bytes,
    packed_into_a_structure, a_row, a_row_of_numbers, rows, a_slice_of_one, one_that_is_moved,
]  # fmt: skip


@pytest.mark.parametrize("mode", [grad, jacfwd])
@pytest.mark.parametrize("f", RIGHT, ids=lambda f: f.__name__)
def test_right(f, mode):
    np.testing.assert_allclose(mode(f)(X.copy()), central(f, X), rtol=1e-5, atol=1e-6)
