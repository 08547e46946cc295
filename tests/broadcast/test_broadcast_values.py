"""Values of `broadcast`: those of the same function on elements, with NumPy's shapes and dtypes.

Where `f` has no branch, `f(*arrays)` says what NumPy makes of it; where it has, a loop over elements does.
"""

import itertools
import math
import pickle

import numpy as np
import pytest
from broadcast_checks import BACKENDS, affine, iterated, piecewise, same

from ctxdispatch import overdub
from ctxdispatch_contexts.broadcast import BroadcastContext, KernelError, broadcast

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]


def by_elements(f, *operands):
    """f of NumPy's scalars, one by one."""
    every = np.broadcast(*operands)
    results = [f(*items) for items in every]
    return np.array(results).reshape(every.shape)


def sample(dtype):
    values = np.array([0, 1, 2, 3, 5, 7])
    return values > 2 if dtype == "?" else values.astype(dtype)


# -- dtypes --------------------------------------------------------------------------------------------------


def test_dtypes_of_arithmetic(backend):
    for a, b in itertools.combinations_with_replacement(DTYPES, 2):
        x, y = sample(a), sample(b)[::-1].copy()
        s, p, q = broadcast(lambda v, w: (v + w, v * w, v / w), x, y, backend=backend)
        with np.errstate(all="ignore"):
            for found, wanted in ((s, x + y), (p, x * y), (q, x / y)):
                same(found, wanted)


def test_dtypes_of_comparisons(backend):
    for a, b in itertools.combinations_with_replacement(DTYPES, 2):
        x, y = sample(a), sample(b)[::-1].copy()
        less, equal = broadcast(lambda v, w: (v < w, v == w), x, y, backend=backend)
        same(less, x < y)
        same(equal, x == y)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", [2, 2.5, np.float32(2.5), np.float64(2.5), np.int16(3)])
def test_numbers_take_the_dtype_of_what_they_meet(dtype, number):
    x = sample(dtype)
    same(broadcast(lambda v, c: v * c + 1, x, number), x * number + 1)
    same(broadcast(lambda v: v * number + 1, x), x * number + 1)


@pytest.mark.parametrize("which", BACKENDS)
def test_float16(which):
    x = np.array([0.5, 1.5, 65504.0, 1e-7], "f2")
    with np.errstate(over="ignore"):
        same(broadcast(lambda v: v * 3 + 1, x, backend=which), x * 3 + 1)
        same(broadcast(lambda v, w: v * w, x, np.ones(4, "i1"), backend=which), x * np.ones(4, "i1"))


@pytest.mark.parametrize("order", ["=", ">"])
@pytest.mark.parametrize("dtype", ["f8", "i4"])
def test_byte_order(order, dtype):
    x = np.arange(5).astype(order + dtype)
    same(broadcast(lambda v, w: v * w + 1, x, x), (x * x + 1).astype(dtype))


def test_float32_functions_stay_float32(backend):
    x = np.linspace(0.1, 2.0, 7, dtype="f4")
    found = broadcast(lambda v: math.sin(v) + math.exp(-v) * 2 + math.pi, x, backend=backend)
    same(found, np.sin(x) + np.exp(-x) * 2 + math.pi, exact=False)


@pytest.mark.parametrize("dtype", ["i1", "i2", "u1", "u4", "f4", "f8", "?"])
def test_int_to_a_power(dtype, backend):
    x = sample(dtype)
    same(broadcast(lambda v: v**2, x, backend=backend), x**2)
    same(broadcast(lambda v: v**3, x, backend=backend), x**3)


@pytest.mark.parametrize("power", [1.0, 2.0, 3.0, 4.0])
def test_whole_to_a_float_power(power):
    n = np.arange(5)
    table = {1.0: lambda v: v**1.0, 2.0: lambda v: v**2.0, 3.0: lambda v: v**3.0, 4.0: lambda v: v**4.0}
    same(broadcast(table[power], n), n**power)


def test_int64_against_uint64(backend):
    x, y = np.array([2**63 - 1]), np.array([2**63], "u8")
    same(broadcast(lambda v, w: v < w, x, y, backend=backend), x < y)


@pytest.mark.parametrize(
    "f, number",
    [(np.add, 300), (np.add, -1), (np.less, 300), (np.greater, -1)],
)
def test_numbers_that_do_not_fit(f, number):
    x = np.array([1, 44], "u1")
    try:
        wanted = f(x, number)
    except OverflowError:
        with pytest.raises((KernelError, OverflowError)):
            broadcast(f, x, number)
    else:
        same(broadcast(f, x, number), wanted)


def test_literals_that_do_not_fit():
    x = np.array([1, 44], "u1")
    same(broadcast(lambda v: v < 300, x), x < 300)


def test_counts_against_small_ints():
    def reached(v):
        n = 0
        for _ in range(300):
            n += 1
        return n > v

    assert broadcast(reached, np.array([100], "u1")).tolist() == [True]


def test_int_of_a_float_meets_int8():
    try:
        found = broadcast(lambda v, n: int(v) + n, np.array([300.7]), np.array([1], "i1"))
    except (KernelError, OverflowError):
        return
    assert found.tolist() == [301]


# -- shapes --------------------------------------------------------------------------------------------------

SHAPES = [
    [(), ()], [(3,), ()], [(1,), (4,)], [(3, 1), (4,)], [(3, 1), (1, 4)], [(2, 3, 4), (3, 1)],
    [(2, 1, 4), (3, 1)],
    [(2, 3, 1, 5), (4, 1)], [(1, 3, 1, 5), (2, 1, 4, 1)], [(1, 1), (1,)], [(0,), (1,)], [(3, 0), (0,)],
    [(0, 4), (4,)], [(2, 0, 3), (1, 3)], [(5, 1, 1, 1), (1, 1, 1, 1)],
]  # fmt: skip


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("f", [affine, piecewise, iterated])
def test_shapes(shapes, f, backend):
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=s) * 2 for s in shapes)
    shape = np.broadcast_shapes(*shapes)
    wanted = by_elements(f, x, y) if 0 not in shape else np.empty(shape)
    same(broadcast(f, x, y, backend=backend), wanted, exact=False)


@pytest.mark.parametrize("f", [lambda a, b: a, lambda a, b: 1.0, lambda a, b: b * 2, lambda a, b: (a, 2)])
def test_shape_has_all_operands(f, backend):
    x, y = np.ones((3, 1)), np.ones(4)
    found = broadcast(f, x, y, backend=backend)
    for each in found if isinstance(found, tuple) else [found]:
        assert each.shape == (3, 4)


def test_several_results_that_read_different_operands(backend):
    s, a = broadcast(lambda a, b: (a + b, a), np.ones((3, 1)), np.ones(4), backend=backend)
    assert s.shape == a.shape == (3, 4)


def test_operands_not_read_are_checked():
    with pytest.raises(KernelError, match=r"\(3,\).*\(4,\)"):
        broadcast(lambda a, b: a, np.ones(3), np.ones(4))


def test_shapes_that_do_not_broadcast(backend):
    with pytest.raises(KernelError) as caught:
        broadcast(affine, np.ones(3), np.ones(4), backend=backend)
    assert all(w in str(caught.value) for w in ("affine", "a (3,)", "b (4,)"))


def test_numbers_in_numbers_out(backend):
    found = broadcast(affine, 2.0, 3, backend=backend)
    assert type(found) is np.float64 and found == 8.0
    assert broadcast(affine, np.array(2.0, "f4"), 3, backend=backend).dtype == np.float32
    assert type(broadcast(lambda v: v, np.float32(2))) is np.float32


def test_lists_and_tuples_are_arrays(backend):
    same(broadcast(affine, [1, 2], (0.5, 1.5), backend=backend), np.array([1.5, 5.0]))
    same(broadcast(affine, [[1, 2]], [[1], [2]], backend=backend), np.array([[2, 4], [3, 6]]))
    same(overdub(BroadcastContext(), affine, np.arange(2), 2.0), np.array([0.0, 3.0]))


def test_lists_by_way_of_the_context():
    same(overdub(BroadcastContext(), lambda v: v * 2, [1.0, 2.0]), np.array([2.0, 4.0]))


@pytest.mark.parametrize("columns", [*range(1, 18), 33])
def test_narrow(columns):
    rng = np.random.default_rng(columns)
    for dtype in ("f8", "f4"):
        x, y = (rng.normal(size=(7, columns)) * 2).astype(dtype), rng.normal(size=(7, 1)).astype(dtype)
        for f in (iterated, piecewise):
            same(broadcast(f, x, y), by_elements(f, x, y).astype(dtype), exact=False)
        wanted = by_elements(iterated, x[:1], y[:1]).astype(dtype)
        same(broadcast(iterated, x[:1], y[:1]), wanted, exact=False)


# -- special numbers -----------------------------------------------------------------------------------------

SPECIAL = np.array([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 5e-324, -1e-310, 1e308])


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b, lambda a, b: a // b,
        lambda a, b: a % b, lambda a, b: np.maximum(a, b), lambda a, b: np.minimum(a, b),
        lambda a, b: np.fmax(a, b),
        lambda a, b: np.copysign(a, b), lambda a, b: np.fmod(a, b), lambda a, b: -a + b * 0,
        lambda a, b: abs(a),
        lambda a, b: a + 0, lambda a, b: 0 - a, lambda a, b: a * 0, lambda a, b: a - a,
        lambda a, b: np.sign(a),
        lambda a, b: np.where(a < b, a, b), lambda a, b: a / 3, lambda a, b: np.floor(a),
        lambda a, b: np.rint(a),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_special_numbers(f, dtype, backend):
    with np.errstate(all="ignore"):
        x = SPECIAL.astype(dtype)
        wanted = f(x[:, None], x)
        found = broadcast(f, x[:, None], x, backend=backend)
    found, wanted = (np.broadcast_to(r, (len(x), len(x))) for r in (found, wanted))
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found)[~np.isnan(found)], np.signbit(wanted)[~np.isnan(wanted)])


@pytest.mark.parametrize("dtype", ["i1", "i8", "u1", "u8"])
def test_whole_numbers_at_the_ends(dtype, backend):
    info = np.iinfo(dtype)
    x = np.array([info.min, info.max, 0, 1, 3], dtype)
    with np.errstate(all="ignore"):
        for f in (np.add, np.subtract, np.multiply, np.floor_divide, np.remainder):
            same(broadcast(f, x[:, None], x, backend=backend), f(x[:, None], x))
        for f in (lambda a: -a, lambda a: abs(a), lambda a: ~a, lambda a: a >> 1, lambda a: a**3):
            same(broadcast(f, x, backend=backend), f(x))


@pytest.mark.parametrize("to", [int, np.uint8, np.int16])
def test_casts_out_of_range_are_the_same(to):
    x = np.array([np.nan, np.inf, 1e30, -1e30, 300.0])
    same(broadcast(lambda v: to(v), x), broadcast(lambda v: to(v), x, backend="reference"))


# -- refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "operand, words",
    [
        (np.ones(2, complex), ["'v'", "complex128"]), (np.array([1, None]), ["'v'", "object"]),
        (np.array(["a"]), ["'v'", "U1"]), (np.array(["2020"], "M8[Y]"), ["'v'", "datetime64"]),
        (np.zeros(2, [("a", "f8")]), ["'v'", "f8"]), (None, ["'v'", "NoneType"]), ("ab", ["'v'", "str"]),
        ({}, ["'v'", "dict"]), (np.ones(2, np.longdouble), ["'v'", np.dtype(np.longdouble).name]),
        (1j, ["'v'", "complex"]),
        (2**70, ["'v'"]),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), ["'v'"]),
        ([1, [2.5]], ["'v'"]),
    ],
)  # fmt: skip
def test_operands_that_are_refused(operand, words):
    with pytest.raises(KernelError) as caught:
        broadcast(lambda v: v * 2, operand)
    assert all(w in str(caught.value) for w in [*words, __file__]), str(caught.value)


@pytest.mark.parametrize(
    "options", [{"backend": "fast"}, {"partials": "save"}, {"threads": 0}, {"threads": -1}, {"threads": 1.5}]
)
def test_options_that_are_refused(options):
    with pytest.raises((ValueError, TypeError), match=str(next(iter(options)))):
        broadcast(affine, np.ones(3), 1.0, **options)


def test_not_a_function():
    with pytest.raises(KernelError, match="NoneType"):
        broadcast(None, np.ones(3))


def test_errors_pickle():
    error = KernelError("words")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize("a, b", [("u1", "i2"), ("i1", "i4"), ("u4", "f8"), ("u2", "f4"), ("i8", "i8")])
def test_negatives_of_whole_numbers_in_sums(a, b, backend):
    """-a is of the dtype of a, and wraps there."""
    x, y = np.array([1, 200, -128]).astype(a), np.array([5, 5, 1]).astype(b)
    for f in (lambda v, w: -v + w, lambda v, w: w - (-v), lambda v, w: w + -v):
        same(broadcast(f, x, y, backend=backend), f(x, y))
