"""Whole numbers among the operands, of any bits: derivatives are those beside the same numbers as floats.

Formulas that compute in the dtype of such an operand go beyond its range: -a of uint8, a * a of int8 and, for
dates in nanoseconds, of int64; log of int8 is a float16.
"""

import numpy as np
import pytest

from ctxdispatch import grad, jvp
from tests.recording import recorded

X = np.array([0.3, 0.7, 1.2])
DTYPES = ["?", "i1", "u1", "i2", "u4", "i8", "u8"]
VALUES = {"?": [1, 0, 1], "i8": [3, 20, 4 * 10**9], "u8": [3, 20, 4 * 10**9]}
UFUNCS = [
    f for f in vars(np).values()
    if type(f) is np.ufunc and (f.nin, f.nout) == (2, 1) and not f.signature
]  # fmt: skip


def whole(dtype):
    return np.array(VALUES.get(dtype, [3, 20, 100])).astype(dtype)


def agree(of, number, float_number):
    """Gradients and tangents of `of(number)`, compiled and recorded, and those of `of(float_number)`."""
    f, expected = of(number), of(float_number)
    want = grad(lambda x: np.sum(expected(x)))(X)
    tangent = jvp(expected, (X,), (X,))[1]
    for program in (f, recorded(f)):
        np.testing.assert_allclose(grad(lambda x, p=program: np.sum(p(x)))(X), want, rtol=1e-12)
        np.testing.assert_allclose(jvp(program, (X,), (X,))[1], tangent, rtol=1e-12)


def takes(f, a, b):
    """It computes floats of these, and the same as of floats."""
    try:
        with np.errstate(all="ignore"):
            found, expected = f(a, b), f(np.asarray(a, float), np.asarray(b, float))
    except TypeError:
        return False
    return found.dtype.kind == "f" and np.allclose(found, expected, rtol=1e-12, equal_nan=True)


CASES = [
    (f, dtype, scalar, side)
    for f in UFUNCS for dtype in DTYPES for scalar in (False, True) for side in (0, 1)
    if takes(f, *((X, whole(dtype)) if side else (whole(dtype), X)))
]  # fmt: skip


@pytest.mark.every(16)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("f, dtype, scalar, side", CASES)
def test_of_elementwise_functions(f, dtype, scalar, side):
    number = whole(dtype)[2] if scalar else whole(dtype)

    def of(n):
        return (lambda x: f(x, n)) if side else (lambda x: f(n, x))

    agree(of, number, np.float64(number) if scalar else number.astype(float))


FUNCTIONS = {
    "interp": lambda n: lambda x: np.interp(x + 3.1, np.sort(n), n[::-1]),
    "interp, at": lambda n: lambda x: np.interp(n, [0.0, 50.5, 200.5], x),
    "trapezoid": lambda n: lambda x: np.trapezoid(x * x, n),
    "gradient": lambda n: lambda x: np.gradient(x**3, n[[2, 0, 1]]),
    "average": lambda n: lambda x: np.average(x, weights=n),
    "cross": lambda n: lambda x: np.cross(x, n),
    "polyval": lambda n: lambda x: np.polyval(n, x),
    "convolve": lambda n: lambda x: np.convolve(x, n) ** 2,
    "correlate": lambda n: lambda x: np.correlate(n, x, "full") ** 2,
    "kron": lambda n: lambda x: np.kron(x, n) ** 2,
    "outer": lambda n: lambda x: np.outer(x, n) ** 2,
    "solve": lambda n: lambda x: np.linalg.solve(np.diag(n | 1 if n.dtype.kind != "f" else _odd(n)), x),
    "cov": lambda n: lambda x: np.cov(x, n),
    "corrcoef": lambda n: lambda x: np.corrcoef(x, n),
    "where": lambda n: lambda x: np.where(x > 0.5, x, n) ** 2,
    "clip": lambda n: lambda x: np.clip(x * 50, n, n + n),
    "norm": lambda n: lambda x: np.linalg.norm(x - n),
    "concatenate": lambda n: lambda x: np.var(np.concatenate([x, n])),
    "prod": lambda n: lambda x: np.prod(np.stack([x, n])),
    "einsum": lambda n: lambda x: np.einsum("i,i,i", x, n, x),
    "diff": lambda n: lambda x: np.diff(x, append=n) ** 2,
}


def _odd(n):
    return (n.astype("i8") | 1).astype(float)


@pytest.mark.every(16)
@pytest.mark.parametrize("dtype", DTYPES[1:])
@pytest.mark.parametrize("of", FUNCTIONS.values(), ids=FUNCTIONS)
def test_of_other_functions(of, dtype):
    agree(of, whole(dtype), whole(dtype).astype(float))


@pytest.mark.every(16)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", "jv yv iv kv polygamma beta betaln gammaincc xlogy".split())
def test_of_scipy(name, dtype):
    special = pytest.importorskip("scipy.special")
    number = np.array([1, 0, 1] if dtype == "?" else [0, 1, 2]).astype(dtype)
    number = number + 1 if name in ("beta", "betaln", "gammaincc") else number  # poles
    agree(lambda n: lambda x: getattr(special, name)(n, x), number, number.astype(float))


@pytest.mark.parametrize("dtype", DTYPES)
def test_of_indices_that_are_counted(dtype):
    bins = np.array([0, 1, 1]).astype(dtype)
    if not np.can_cast(bins.dtype, np.intp):
        pytest.skip("NumPy refuses them")
    np.testing.assert_array_equal(
        grad(lambda x: np.sum(np.bincount(bins, weights=x) ** 2))(X), 2 * np.bincount([0, 1, 1], X)[[0, 1, 1]]
    )


@pytest.mark.parametrize("shift", [True, np.True_, np.array([True, False])])
def test_flags_as_shifts(shift):
    axes = (0, 0) if np.ndim(shift) else None
    np.testing.assert_array_equal(grad(lambda x: np.roll(x, shift, axes) @ X)(X), np.roll(X, -1))
