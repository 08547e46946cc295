"""Objects that C code makes numbers or arrays of, by methods in Python that compute with what varies."""

import cmath
import enum
import math

import numpy as np
import pytest

from tests.behaviours.protocol_checks import check, check_refused


class Held:
    def __init__(self, v):
        self.v = v


class Float(Held):
    def __float__(self):
        return float(self.v * self.v)


class Complex(Held):
    def __complex__(self):
        return complex(self.v, self.v**2)


class AnArray(Held):
    def __array__(self, dtype=None, copy=None):
        return self.v * self.v


class Sequence(Held):
    def __len__(self):
        return len(self.v)

    def __getitem__(self, i):
        return self.v[i] ** 2


class Both(Sequence):
    def __float__(self):
        return float(self.v[0] * self.v[1])


class Interface(Held):
    @property
    def __array_interface__(self):
        return self.v.__array_interface__


class Rounded(Held):
    def __round__(self, n=None):
        return self.v * 2.0

    def __floor__(self):
        return self.v * 3.0

    def __ceil__(self):
        return self.v * 4.0

    def __trunc__(self):
        return self.v * 5.0

    def __abs__(self):
        return self.v * 6.0

    def __divmod__(self, other):
        return self.v * 7.0, other

    def __pow__(self, n, modulus=None):
        return self.v**n


class Factor(Held):
    def __mul__(self, other):
        return self.v * other

    __rmul__ = __mul__

    def __radd__(self, other):
        return self.v + other

    def sin(self):
        return np.sin(self.v)


def _stored(*values):
    def f(x):
        a = np.zeros(2)
        for index, value in values:
            a[index] = value(x)
        return a @ x

    return f


def _filled(fill):
    def f(x):
        a = np.ones(2)
        fill(a, x)
        return a @ x

    return f


def _in_place(x):
    a = np.ones(2)
    a += AnArray(x)
    a *= Sequence(x)
    return a @ x


ARRAYS = {
    "__float__": lambda x: np.array([Float(x[0]), Float(x[1])], float) @ x,
    "__float__ beside a number": lambda x: np.array([Float(x[0]), x[1]], dtype="f8") @ x,
    "__float__ alone": lambda x: np.asarray(Float(x[0]), dtype=np.float64) * x[1],
    "__complex__": lambda x: np.array([Complex(x[0]), 1.0], complex)[0].imag,
    "full": lambda x: np.full(3, Float(x[0]), dtype=float).sum(),
    "__array__": lambda x: np.asarray(AnArray(x)) @ x,
    "of arrays": lambda x: np.array([AnArray(x), AnArray(2.0 * x)])[1] @ x,
    "sequence": lambda x: np.asarray(Sequence(x)) @ x,
    "sequence, dtype": lambda x: np.array(Sequence(x), float) @ x,
    "item": _stored((0, lambda x: Float(x[0])), (1, lambda x: Float(x[1]))),
    "items": _stored((slice(None), lambda x: [Float(x[0]), x[1]])),
    "item of __array__": _stored((slice(None), AnArray)),
    "item of a sequence": _stored((..., Sequence)),
    "fill": _filled(lambda a, x: a.fill(Float(x[0]))),
    "copyto": _filled(lambda a, x: np.copyto(a, AnArray(x))),
    "put": _filled(lambda a, x: np.put(a, [0], Float(x[1]))),
    "in place": _in_place,
    "ufunc": lambda x: np.sin(AnArray(x)) @ x,
    "ufunc of a sequence": lambda x: np.sin(Sequence(x)) @ x,
    "operator": lambda x: (x + AnArray(x)) @ x + (x * Sequence(x)).sum(),
    "product": lambda x: np.dot(AnArray(x), x) + x.dot(AnArray(x)),
    "sum": lambda x: np.sum(AnArray(x)) * np.sum(Sequence(x)),
    "by keyword": lambda x: np.average(x, weights=AnArray(x)),
    "in a list": lambda x: np.concatenate([AnArray(x), x])[1] * x[0],
    "kept in an array of objects": lambda x: np.array([Float(x[0]), None], dtype=object)[0].v * x[1],
}

NUMBERS = {
    "float64": lambda x: np.float64(Float(x[0])) * x[1],
    "float64 of a sequence": lambda x: np.float64(Both(x)) * x[1],
    "complex128": lambda x: np.complex128(Complex(x[0])).imag,
    "float": lambda x: float(Float(x[0])) * x[1],
    "complex": lambda x: complex(Complex(x[0])).imag,
    "complex of __float__": lambda x: complex(Float(x[0])).real,
    "sin": lambda x: math.sin(Float(x[0])) * x[1],
    "hypot": lambda x: math.hypot(Float(x[0]), x[1]),
    "two": lambda x: math.atan2(Float(x[0]), Float(x[1])),
    "fsum": lambda x: math.fsum([Float(x[0]), x[1]]),
    "dist": lambda x: math.dist([Float(x[0]), x[1]], (0.0, 0.0)),
    "exp": lambda x: cmath.exp(Complex(x[0])).real,
    "modf": lambda x: math.modf(Float(x[0]))[0],
    "prod": lambda x: math.prod([Factor(x[0]), Factor(x[1])]),
    "sum": lambda x: sum([Factor(x[0]), Factor(x[1])], x[0]),
    "round": lambda x: round(Rounded(x[0])) * x[1],
    "round to": lambda x: round(Rounded(x[0]), 2) * x[1],
    "floor": lambda x: math.floor(Rounded(x[0])) * x[1],
    "ceil": lambda x: math.ceil(Rounded(x[0])) * x[1],
    "trunc": lambda x: math.trunc(Rounded(x[0])) * x[1],
    "abs": lambda x: abs(Rounded(x[0])) * x[1],
    "divmod": lambda x: divmod(Rounded(x[0]), 2)[0] * x[1],
    "pow": lambda x: pow(Rounded(x[0]), 3) * x[1],
}


def _flags_in_the_function(x):
    class Flag(enum.IntFlag):
        A = 1
        B = 2

    return x[0] * (Flag.A | Flag.B)


def _found_at_run_time(f):
    def g(x):
        either = [Rounded(x[0]), 1.0]
        return f(either[int(x[1] > 0.0) - 1]) * x[1]

    return g


OTHERS = {
    **{
        f"{f.__name__} of what only run time knows": _found_at_run_time(f)
        for f in (round, math.floor, math.ceil, math.trunc, abs)
    },
    "sum of arrays and lists": lambda x: sum([x * x, [1.0, 2.0]]) @ x,
    "flags": _flags_in_the_function,
}

REFUSED = {
    "memory": (lambda x: np.asarray(Interface(x)).sum(), "shares memory"),
    "modulus": (lambda x: pow(Rounded(x[0]), 3, None), "pow"),
    "array of objects": (lambda x: np.array([Factor(x[0])], object).sum(), "sum"),
    "object in an operation": (lambda x: (np.ones(2) * Factor(x[0])).sum(), "multiply"),
    "method of its name": (lambda x: np.sin(Factor(x[0])), "numpy.sin"),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays(name):
    check(ARRAYS[name])


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name):
    check(NUMBERS[name])


@pytest.mark.parametrize("name", OTHERS)
def test_others(name):
    check(OTHERS[name])


def test_products_with_sparse_matrices():
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_array(np.array([[1.0, 2.0], [0.0, 3.0]]))
    check_refused(lambda x: (x @ matrix).sum(), "sparsetools")


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    check_refused(*REFUSED[name])
