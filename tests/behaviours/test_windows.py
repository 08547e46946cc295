"""Numbers that objects of Python's own show of memory: each is read and stored where it lies, by whichever
name; other readings of the bytes are refused."""

import array
import ctypes
import functools
import io
import math
import operator
import statistics
import struct

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jacfwd
from ctxdispatch_contexts.programs.errors import DerivativeError
from tests.behaviours.mutation_checks import central

X = np.array([2.0, 3.0, 5.0])
DOUBLES, AT = ctypes.c_double * 3, ctypes.POINTER(ctypes.c_double)

# -- ways to show an array, crossed with what is done --------------------------------------------------------


class Fields(ctypes.Structure):
    _fields_ = [("n", ctypes.c_double), ("rest", ctypes.c_double * 2)]


class ByStruct:
    """As `struct` sees it."""

    def __init__(self, a):
        self.a = a

    def __getitem__(self, i):
        return struct.unpack_from("d", self.a, 8 * i)[0]

    def __setitem__(self, i, v):
        struct.pack_into("d", self.a, 8 * i, v)


class ByFields:
    def __init__(self, a):
        self.fields = Fields.from_buffer(a)

    def __getitem__(self, i):
        return self.fields.rest[i - 1] if i else self.fields.n

    def __setitem__(self, i, v):
        if i:
            self.fields.rest[i - 1] = v
        else:
            self.fields.n = v


class ByIterator:
    def __init__(self, a):
        self.a = a

    def parts(self):
        return [part for part in np.nditer(self.a, op_flags=["readwrite"])]  # noqa: C416

    def __getitem__(self, i):
        return self.parts()[i] * 1.0

    def __setitem__(self, i, v):
        self.parts()[i][...] = v


SHOWS = {
    "memoryview": memoryview,
    "data": lambda a: a.data,
    "a part of a part": lambda a: memoryview(memoryview(a))[::-1][::-1],
    "from_buffer": lambda a: DOUBLES.from_buffer(a),
    "as_ctypes": np.ctypeslib.as_ctypes,
    "a pointer": lambda a: a.ctypes.data_as(AT),
    "a cast": lambda a: ctypes.cast(a.ctypes.data, AT),
    "an address": lambda a: DOUBLES.from_address(a.ctypes.data),
    "an interface": lambda a: DOUBLES.from_address(a.__array_interface__["data"][0]),
    "struct": ByStruct,
    "a structure": ByFields,
    "nditer": ByIterator,
    "frombuffer": lambda a: np.frombuffer(memoryview(a)),
    "asarray": lambda a: np.asarray(memoryview(a)),
}


def read(show, x):
    a = x * x
    return show(a)[1] * x[0]


def read_of_an_argument(show, x):
    return show(x)[2] * x[0]


def read_after_a_store(show, x):
    a = np.ones(3)
    m = show(a)
    a[1] = x[0] * x[2]
    return m[1] * x[1] + m[0]


def stored(show, x):
    a = np.ones(3)
    show(a)[1] = x[0] * x[2]
    return a[1] * x[1] + a[2]


def stored_over(show, x):
    a = x * x
    b = a * a
    show(a)[1] = 5.0
    return b.sum() + a[1] * x[0] + a[0]


def read_and_stored(show, x):
    a = x * 1.0
    m = show(a)
    for i in range(2):
        m[i + 1] = m[i] * m[i + 1]
    return m[2] * a[1]


def of_a_view(show, x):
    a = np.ones(5)
    m = show(a[1:4])
    m[0] = x[0] * x[1]
    return a[1] * x[2]


DONE = [read, read_of_an_argument, read_after_a_store, stored, stored_over, read_and_stored, of_a_view]


@pytest.mark.parametrize("done", DONE, ids=lambda f: f.__name__)
@pytest.mark.parametrize("name", SHOWS)
def test_it_is_read_and_stored_where_it_lies(name, done):
    is_right(lambda x: done(SHOWS[name], x))


def is_right(f):
    wanted = central(f, X)
    for mode in (grad, jacfwd):
        np.testing.assert_allclose(mode(f)(X.copy()), wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["memoryview", "from_buffer", "struct"])
def test_twice(name):
    def f(x):
        return read_and_stored(SHOWS[name], x)

    wanted = hessian(lambda x: (x[0] * x[1]) ** 2 * x[2])(X)
    np.testing.assert_allclose(hessian(f)(X.copy()), wanted, rtol=1e-12)


# -- memory of their own -------------------------------------------------------------------------------------


class Mixed(ctypes.Structure):
    _fields_ = [("count", ctypes.c_int), ("mass", ctypes.c_double), ("at", ctypes.c_double * 2)]


class Both(ctypes.Union):
    _fields_ = [("bits", ctypes.c_uint64), ("value", ctypes.c_double)]


def a_number(x):
    made = ctypes.c_double(x[0] * 2.0)
    made.value = made.value * x[1]
    return made.value


def an_array(x):
    made = DOUBLES(x[0], x[1] * 2.0, 1.0)
    made[0:2] = made[1:3]
    return made[0] * sum(made) * max(made)


def a_structure(x):
    made = Mixed(3, x[0])
    made.at[1] = made.mass * x[1]
    return made.at[1] * made.count + made.mass


def a_structure_by_name(x):
    made = Mixed(count=2, mass=x[0] * x[1])
    return made.mass * made.count


def behind_a_pointer(x):
    made = DOUBLES(*x)
    at = ctypes.pointer(made)
    at.contents[1] = at[0][0] * 2.0
    return made[1] * at.contents[2]


def by_numpy(x):
    made = DOUBLES(*x)
    return np.frombuffer(made)[1] * np.asarray(made)[0] * np.ctypeslib.as_array(made)[2] + np.sum(made)


def copied(x):
    made = (ctypes.c_double * 2).from_buffer_copy(x * 3.0, 8)
    return made[0] * made[1]


def parts_of_bytes(x):
    made = array.array("d", [*x, 1.0])
    made[0:2] = made[1:3]
    memoryview(made)[3] = made[0] * x[0]
    return made[0] * made[1] * made[3]


def moved(x):
    a = np.ones(3)
    ctypes.memmove(a.ctypes.data, (x * x).ctypes.data, 16)
    ctypes.memset(a.ctypes.data, 0, 8)
    return a[1] * x[0] + a[0] + a[2]


def gone_through(x):
    m = memoryview(x * x)
    return sum(m) * max(m) + m.tolist()[1] * [*m][0] * tuple(reversed(m))[0] + len(m) + sorted(m)[0]


def in_two_axes(x):
    m = memoryview(np.outer(x, x))
    return m[1, 2] * m.tolist()[0][1]


def given_back(x):
    with memoryview(x * x) as m:
        found = m[1] * x[0]
    return found


def of_two_arrays(x):
    steps = np.nditer([x * x, None])
    for a, b in steps:
        b[...] = a * a
    return steps.operands[1].sum()


def in_chunks(x):
    return sum(np.sum(v * v) for v in np.nditer(x * x, flags=["external_loop"]))


def by_format(x):
    made = struct.Struct("<dd")
    a = np.ones(3)
    made.pack_into(a, 8, x[0] * x[1], x[2])
    return made.unpack_from(buffer=a, offset=8)[0] * a[2]


def in_lists(x):
    pair = [memoryview(x * x), memoryview(x * 2.0)]
    return np.array(pair)[1, 1] * x[0] + np.sum(pair) + np.concatenate([*pair, DOUBLES(*x)])[7]


def by_python(x):
    m = memoryview(x * x)
    products = sum(a * b for a, b in zip(m, memoryview(x)))
    return products * statistics.fmean(m) * math.fsum(m) + functools.reduce(operator.mul, m) + math.hypot(*m)


def of_complex_numbers(x):
    z = x * (1.0 + 2.0j)
    return struct.unpack_from("d", z, 24)[0] * x[0] + np.asarray(memoryview(z))[2].real


def turned(x):
    made = Turned()
    made.value = x[0] * x[1]
    return made.value * x[1]


class Turned(ctypes.BigEndianStructure):
    _fields_ = [("value", ctypes.c_double)]


def of_many_operands(x):
    return float(sum(a * b for a, b in np.nditer([x[:, None], x * x])))


table = np.ones(3)
TABLE = table.ctypes.data


def overwritten_by_a_pointer(x):
    a = np.ones(3)
    y = x * a
    a.ctypes.data_as(AT)[0] = 7.0
    return y.sum()


def overwritten_by_a_view(x):
    a = np.ones(3)
    y = x * a
    m = memoryview(a)
    m[0], m[1:] = 7.0, np.array([8.0, 9.0])
    return y.sum()


def overwritten_by_a_file(x):
    a = np.ones(3)
    y = x * a
    io.BytesIO(np.full(3, 7.0).tobytes()).readinto(memoryview(a))
    return y.sum() + (a * x).sum()


def overwritten_at_an_address(x):
    table[:] = 1.0
    y = x * table
    ctypes.memset(TABLE, 0, 16)
    return y.sum()


OWN = [
    a_number, an_array, a_structure, a_structure_by_name, behind_a_pointer, by_numpy, copied, parts_of_bytes,
    moved, gone_through, in_two_axes, given_back, of_two_arrays, in_chunks, by_format, in_lists, by_python,
    of_complex_numbers, turned, of_many_operands, overwritten_by_a_pointer, overwritten_by_a_view,
    overwritten_by_a_file, overwritten_at_an_address,
]  # fmt: skip


@pytest.mark.parametrize("f", OWN, ids=lambda f: f.__name__)
def test_what_is_kept_there_is_followed(f):
    is_right(f)


# -- what is not followed ------------------------------------------------------------------------------------


def bits_of_a_number(x):
    made = Both()
    made.value = x[0]
    return made.bits * x[1]


def bytes_one_by_one(x):
    return memoryview(x * x).cast("B")[7] * x[0]


def a_pointer_to_bytes(x):
    a = x * x
    return a.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))[7] * x[0]


def packed_apart(x):
    return struct.unpack("d", struct.pack("d", x[0]))[0] * x[1]


def another_format(x):
    a = x * x
    return struct.unpack_from("q", a, 8)[0] * x[0]


def a_copy_by_its_bytes(x):
    import copy

    return copy.copy(DOUBLES(*x))[1] * x[0]


def as_bytes(x):
    return bytes(DOUBLES(*x))[7] * x[0]


def an_array_of_an_iterator(x):
    return np.asarray(np.nditer(x * x))[1] * x[0]


def half_a_number(x):
    a = np.ones(3)
    ctypes.memmove(a.ctypes.data, x.ctypes.data, 12)
    return a[1] * x[0]


def by_a_function_of_c(x):
    a = x * x
    return NORM(a.ctypes.data, 3) * x[0]


def through_copies(x):
    return sum(float(v) for v in np.nditer(x * x, flags=["buffered"]))


def through_converted_copies(x):
    steps = np.nditer(op=x * x, op_dtypes=["f4"], op_flags=["readonly", "copy"], casting="same_kind")
    return sum(float(v) for v in steps)


NORM = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_int)(
    lambda at, n: sum(v * v for v in ctypes.cast(at, AT)[:n])
)
OTHERS = [
    bits_of_a_number, bytes_one_by_one, a_pointer_to_bytes, packed_apart, another_format, a_copy_by_its_bytes,
    as_bytes, an_array_of_an_iterator, half_a_number, by_a_function_of_c, through_copies,
    through_converted_copies,
]  # fmt: skip


@pytest.mark.parametrize("mode", [grad, jacfwd])
@pytest.mark.parametrize("f", OTHERS, ids=lambda f: f.__name__)
def test_other_readings_of_the_bytes_are_refused(f, mode):
    f(X.copy())
    with pytest.raises(DerivativeError, match=f"in {f.__name__}"):
        mode(f)(X.copy())


# -- errors and state ----------------------------------------------------------------------------------------


ERRORS = (
    "memoryview(a)[9] = v", "DOUBLES.from_buffer(a)[9] = v", "struct.pack_into('d', a, 99, v)",
    "memoryview(a)[0] = 'a'", "DOUBLES(v, v, v, v)", "DOUBLES.from_buffer(a)[0:2] = [v]",
    "struct.pack_into('dd', a, 0, v)", "memoryview(b'12345678').cast('d')[0] = v", "AT()[0]",
    "memoryview(a)[0:2] = memoryview(a)[0:1]",
)  # fmt: skip


@pytest.mark.parametrize("mode", [grad, jacfwd])
@pytest.mark.parametrize("line", ERRORS)
def test_errors_are_those_of_plain_code(line, mode):
    space = {"struct": struct, "DOUBLES": DOUBLES, "AT": AT, "np": np, "told": []}
    body = f"    try:\n        {line}\n    except Exception as error:\n        told.append(repr(error))\n"
    exec(f"def f(x):\n    a, v = np.ones(3), x[0] * 2.0\n{body}    return a[0] * v\n", space)
    f, told = space["f"], space["told"]
    f(X)
    np.testing.assert_allclose(mode(f)(X.copy()), [2.0, 0.0, 0.0])
    assert len(told) == 2 and told[0] == told[1]
