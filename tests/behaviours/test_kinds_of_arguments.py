"""Arguments that are neither NumPy's own arrays, numbers, nor the usual containers: differentiated, by
central differences and in both modes, or refused at the user's line, by name and with a remedy."""

import array
import collections
import ctypes
import decimal
import fractions
import math

import numpy as np
import pytest
from mutation_checks import both_modes

from ctxdispatch import grad, hessian, jvp, value_and_grad, vjp
from ctxdispatch_contexts.programs.errors import DerivativeError


class Twice(np.ndarray):
    """Reads twice, writes three times what is there, in Python code."""

    def __getitem__(self, index):
        return 2.0 * super().__getitem__(index)

    def __setitem__(self, index, value):
        super().__setitem__(index, 3.0 * value)

    def __mul__(self, other):
        return super().__mul__(other)


def buffer(values):
    return array.array("d", values)


def mapped(values, path):
    made = np.memmap(path / str(len([*path.iterdir()])), float, "w+", shape=len(values))
    made[:] = values
    return made


def check(f, make, values=(1.2, 0.7, 2.0)):
    """f of make(values)."""
    values = np.array(values)
    expected = np.array([
        (f(make([*(values + e)])) - f(make([*(values - e)]))) / 2e-6 for e in 1e-6 * np.eye(len(values))
    ])  # fmt: skip
    argument = make([*values])
    y, gradient = value_and_grad(f)(argument)
    np.testing.assert_allclose(np.ravel(gradient), expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_array_equal(y, f(make([*values])))
    direction = make([0.5, -1.0, 2.0])
    _, pushed = jvp(f, (make([*values]),), (direction,))
    np.testing.assert_allclose(pushed, expected @ [0.5, -1.0, 2.0], rtol=1e-7)
    _, pullback = vjp(f, make([*values]))
    np.testing.assert_allclose(np.ravel(pullback(2.0)[0]), 2.0 * expected, rtol=1e-7, atol=1e-8)
    again = jvp(lambda a: np.ravel([*grad(f)(a)]), (make([*values]),), (direction,))[1]
    twice = [
        np.ravel(grad(f)(make([*(values + s * 1e-5 * np.array([0.5, -1.0, 2.0]))]))) for s in (1.0, -1.0)
    ]
    np.testing.assert_allclose(again, (twice[0] - twice[1]) / 2e-5, rtol=1e-6, atol=1e-8)


def items(a):
    return a[0] * a[1] ** 2 * a[-1]


def walk(a):
    return sum(math.sin(v) * v for v in a) + sum(a) * max(a)


def stored(a):
    a[1] = a[0] * a[2]
    a[0] = 3.0
    return a[1] ** 2 * a[0]


def sliced(a):
    part = a[1:]
    part[0] = part[1] * a[0]
    a[0:2] = part
    return a[0] * a[1] * part[0]


def by_numpy(a):
    return np.sum(np.sin(np.asarray(a)) * np.array(a)) + np.dot(a, a)


def made_inside(a):
    made = array.array("d", [v * v for v in a])
    made[0] = made[1] * a[0]
    return made[0] * sum(made.tolist())


@pytest.mark.every(3)
@pytest.mark.parametrize("f", [items, walk, stored, sliced, by_numpy, made_inside], ids=lambda f: f.__name__)
def test_array_arrays(f):
    check(f, buffer)


def test_array_arrays_of_single_precision_and_in_containers():
    gradient = grad(items)(array.array("f", [1.0, 2.0, 3.0]))
    assert gradient.dtype == np.float32
    np.testing.assert_allclose(gradient, [12.0, 12.0, 4.0], rtol=1e-6)
    found = grad(lambda d: items(d["a"][0]) + d["b"])({"a": [buffer([1.0, 2.0, 3.0])], "b": 1.0})
    np.testing.assert_allclose(found["a"][0], [12.0, 12.0, 4.0])
    assert found["b"] == 1.0


def test_arguments_are_as_the_plain_call_leaves_them():
    a = buffer([1.2, 0.7, 2.0])
    grad(stored)(a)
    assert [*a] == [3.0, 1.2 * 2.0, 2.0]
    a.append(1.0)  # nobody holds its memory


@pytest.mark.every(3)
@pytest.mark.parametrize("f", [items, walk, stored], ids=lambda f: f.__name__)
def test_deques(f):
    check(f, collections.deque)


def test_what_is_done_to_deques():
    def f(a):
        a.append(a.popleft() * a[0])
        a.rotate(1)
        return a[0] * a[1]

    check(f, collections.deque)
    assert type(grad(f)(collections.deque([1.0, 2.0, 3.0], 5))) is collections.deque


@pytest.mark.every(3)
@pytest.mark.parametrize("f", [items, walk, stored, by_numpy], ids=lambda f: f.__name__)
def test_mapped_memory(f, tmp_path):
    check(f, lambda values: mapped(values, tmp_path))


@pytest.mark.every(3)
@pytest.mark.parametrize("f", [items, stored], ids=lambda f: f.__name__)
def test_subclasses_with_code_of_their_own(f):
    check(f, lambda values: np.array(values).view(Twice))
    check(lambda a: np.sum(np.asarray(a * a)), lambda values: np.array(values).view(Twice))


def test_matrices():
    check(lambda a: (a * a.T)[0, 0] + a[0, 1] ** 3, np.matrix)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "f",
    [
        lambda a: (a * a).sum() + a.mean(),
        lambda a: (a / (a + 1.0)).compressed().sum() ** 2,
        lambda a: (a * a).filled(7.0).sum() ** 2,
        lambda a: a[0] * a[2],
    ],
)
def test_masked_arrays(f):
    check(f, lambda values: np.ma.array(values, mask=[False, True, False]))


@pytest.mark.every(3)
@pytest.mark.parametrize("kind", [np.float16, np.longdouble])
def test_other_precisions(kind):
    values = np.array([1.0, 2.0, 3.0], kind)
    gradient = grad(items)(values)
    assert gradient.dtype == values.dtype
    np.testing.assert_array_equal(gradient, np.array([12.0, 12.0, 4.0]))
    assert type(grad(lambda x: x * x)(values[1])) is kind
    np.testing.assert_array_equal(hessian(items)(values)[0], np.array([0.0, 12.0, 4.0]))


POINT = np.dtype([("x", float), ("y", float)])
REFUSED = {
    "memoryview": (memoryview(np.ones(2)), r"np.asarray"),
    "bytearray": (bytearray(b"ab"), r"np.frombuffer"),
    "bytes": (b"ab", "np.frombuffer"),
    "c_double_Array_2": ((ctypes.c_double * 2)(1.0, 2.0), "as_array"),
    "Fraction": (fractions.Fraction(1, 2), r"float\(x\)"),
    "Decimal": (decimal.Decimal(1), r"float\(x\)"),
    "recarray": (np.rec.array([(1.0, 2.0)], POINT), "fields"),
    "records": (np.array([(1.0, 2.0)], POINT), "fields"),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_refused(kind):
    value, remedy = REFUSED[kind]

    def f(given):
        return 1.0

    where = rf"test_kinds_of_arguments.py:\d+ in .*'given' \(argnums 0\).*{kind}.*{remedy}"
    for derivative in (grad, value_and_grad, hessian):
        with pytest.raises(DerivativeError, match=where):
            derivative(f)(value)
    if kind != "records":
        with pytest.raises(DerivativeError, match=rf"test_kinds_of_arguments.py:\d+ .*; .*{remedy}"):
            jvp(f, (value,), (value,))


def test_functions_that_do_not_know_masks_are_refused():
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    with pytest.raises(DerivativeError, match=r"numpy.sum .* masked arrays; use the method"):
        grad(lambda a: np.sum(a * a))(masked)


class Measured(np.ndarray):
    """An array with data of its own, as NumPy's guide to subclasses has it."""

    scale = 3.0

    def __array_finalize__(self, source):
        self.unit = getattr(source, "unit", 1.0)


def test_attributes_that_subclasses_add_only_move():
    def f(x):
        a = x.view(Measured)
        a.unit = x[0] * 2.0
        a[1:] *= a.unit
        part = a[::2] + 1.0
        return (np.asarray(part) * part.unit * part.scale).sum()

    def plain(x):  # the last entry of three: 2 x0 x2
        return 6.0 * x[0] * (x[0] + 2.0 * x[0] * x[2] + 2.0)

    x = np.array([1.2, 0.7, 2.0])
    np.testing.assert_allclose(f(x.copy()), plain(x))
    np.testing.assert_allclose(grad(f)(x.copy()), grad(plain)(x))
    np.testing.assert_allclose(jvp(f, (x.copy(),), (x,))[1], jvp(plain, (x,), (x,))[1])
    np.testing.assert_allclose(hessian(f)(x.copy()), hessian(plain)(x), atol=1e-12)


def numbers_of_two_classes(x):
    total = 0.0
    for v in [2.0, x[0]]:
        total = total + np.sum(v) * np.sum(v)
    return total


def functions_of_numbers_of_two_classes(x):
    total = 0.0
    for i in range(3):
        v = x[i] if i else 2.0
        total = total + np.max(v) * np.dot(v, v) * np.transpose(v) * np.reshape(v, ())
    return total


@pytest.mark.every(3)
@pytest.mark.parametrize("f", [numbers_of_two_classes, functions_of_numbers_of_two_classes])
def test_numbers_that_may_be_python_s_or_numpy_s(f):
    both_modes(f, np.array([0.7, 1.3, -0.4]))
