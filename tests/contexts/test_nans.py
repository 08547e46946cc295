"""NaNContext: what is reported, where, and what is not."""

import array
import collections
import decimal
import fractions
import functools
import io
import json
import math
import operator
import pickle
import queue
import statistics
import struct
import threading
import warnings
from argparse import ArgumentParser

import numpy as np
import pytest

from ctxdispatch import Context, grad, overdub
from ctxdispatch.contexts import NaNContext
from ctxdispatch_contexts.nans import NaNError, NaNWarning, ThoroughNaNContext

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:the matrix subclass")


def finding(f, *args, **options):
    with pytest.raises(NaNError) as info:
        overdub(NaNContext(**options), f, *args)
    return info.value.finding


def line_of(f, offset):
    return f.__code__.co_firstlineno + offset


def divide(x, y):
    x = x / y
    return x


def in_place(x, y):
    x /= y
    return x


def chained(x):
    y = np.log(x)
    z = y * 2.0
    return z.sum()


# -- what is found ---------------------------------------------------------------------------------


def test_the_first_one_with_its_line_function_and_operands():
    found = finding(chained, np.array([1.0, 2.0, 0.0, -1.0]))
    assert found.where.line == line_of(chained, 1) and found.where.filename == __file__
    assert found.function is np.log and found.index == (2,) and found.args[0].shape == (4,)
    assert str(found) == (
        f"{__file__}:{line_of(chained, 1)} in chained: numpy.log(array([ 1., 2., 0., -1.])) gave -inf at [2]"
        " of 0.0 (2 of 4 elements, shape (4,), float64)"
    )


@pytest.mark.parametrize(
    "f, args, text",
    [
        (lambda x: x * 10.0, (1e308,), "1e+308 * 10.0 gave inf"),
        (lambda x: np.log(x), (0.0,), "numpy.log(0.0) gave -inf"),
        (lambda x: np.log(x), (0,), "numpy.log(0) gave -inf"),
        (lambda x: x / 0, (np.float32(1),), "np.float32(1.0) / 0 gave inf"),
        (lambda x: math.exp(-x) * 1e308 * 1e308, (-1.0,), "gave inf"),
        (lambda x: x @ x, (np.array([1e200, 1e200]),), "@ array([1.e+200, 1.e+200]) gave inf"),
        (lambda x: x / x, (np.zeros(2, complex),), "gave (nan+nanj) at [0]"),
        (lambda x: np.divide(1.0, x, out=np.full(2, np.nan)), (np.zeros(2),), "gave inf at [0]"),
        (lambda x: np.array([1.0]) / [x], (0.0,), "gave inf at [0]"),
        (lambda x: np.divmod(x, 0.0), (np.ones(2),), "numpy.divmod(array([1., 1.]), 0.0) gave"),
        (lambda x: x.prod(), (np.full(9, 1e300),), "prod() gave inf"),
        (lambda x: np.float32(x), (1e300,), "numpy.float32(1e+300) gave inf"),
        (lambda x: x.astype("f4"), (np.array([[1.0, 1e300]]),), "gave inf at [0, 1] (1 of 2 elements, shape"),
        (lambda x: sum(x), ([1e308, 1e308],), "sum([1e+308, 1e+308]) gave inf"),
        (lambda x: sum(x), ({1e308, 1.1e308},), "gave inf"),
        (lambda x: x * fractions.Fraction(10), (1e308,), "1e+308 * 10.0 gave inf"),
        (lambda x: np.einsum("i,i", x, x), (np.array([1e200]),), "einsum('i,i', array([1.e+200]), array("),
        (lambda x: np.mean(x), (np.zeros(0),), "gave nan"),
        (lambda x: 1.0 / x, (np.ma.array([5.0, 0.0], mask=[True, False]).data,), "gave inf at [1]"),
        (lambda x: 1e308 * x, (complex(1e10, 1),), "gave (inf+1e+308j)"),
        (lambda x: list(map(lambda v: v * 10, x)), ([1e308],), "1e+308 * 10 gave inf"),
    ],
)
def test_operations_that_are_found(f, args, text):
    assert text in str(finding(f, *args))


def test_arrays_that_are_changed_in_place_are_judged_by_what_they_were():
    found = finding(in_place, np.ones(2), np.array([1.0, 0.0]))
    assert found.text == (
        "<array of shape (2,), float64> /= array([1., 0.]) gave inf at [1] of 0.0"
        " (1 of 2 elements, shape (2,), float64)"
    )
    there = np.array([np.nan, 1.0])
    assert np.isnan(overdub(NaNContext(), in_place, there, 2.0)[0])
    assert "1e+308 += array([1.e+308]) gave inf" in str(finding(adding, 1e308, np.array([1e308])))
    whole = np.array([4, 2])
    assert overdub(NaNContext(), lambda x: in_place(x * 1.0, 2), whole).tolist() == [2.0, 1.0]


def adding(total, xs):
    total += xs
    return total


@pytest.mark.parametrize(
    "change, text",
    [
        (lambda x, y: np.log(y, out=x), "gave -inf at [0] of 0.0"),
        (lambda x, y: np.log(y, x), "gave -inf at [0]"),
        (lambda x, y: np.log(y, out=y), "gave -inf at [0]"),
        (lambda x, y: np.log(y, y), "gave -inf at [0]"),
        (lambda x, y: np.divide(x, y, y), "gave inf at [0]"),
        (lambda x, y: np.divide(x, y, out=y), "gave inf at [0]"),
        (lambda x, y: np.divide(x[1:], y[:1], out=x[:1]), "gave inf at [0]"),
        (lambda x, y: np.divide(x, y, out=(y,)), "gave inf at [0]"),
        (lambda x, y: np.divide(1e300, x, out=x, dtype="f4", casting="unsafe"), "gave inf at [0]"),
        (lambda x, y: (x * 1e308).cumsum(out=x), "ndarray.cumsum("),
        (lambda x, y: grow(x * 1e308), "ndarray.cumsum("),
        (lambda x, y: np.copyto(x.astype("f4"), 1e300, casting="unsafe"), "numpy.copyto("),
        (lambda x, y: np.put(x.astype("f4"), [1], 1e300), "gave inf at [1]"),
    ],
)
def test_results_that_are_put_into_an_operand_or_elsewhere(change, text):
    assert text in str(finding(change, np.ones(2), np.zeros(2)))


@pytest.mark.parametrize("change", [
    lambda x: np.multiply(x, 2.0, out=x),
    lambda x: np.multiply(x, 2.0, x),
    lambda x: np.add(x[:1], x[1:], out=x[:1]),
    lambda x: x.cumsum(out=x),
    lambda x: np.copyto(x, 1.0, where=np.array([True, False])),
    lambda x: np.log(np.ones(2), out=np.full(2, np.nan)),
])  # fmt: skip
def test_what_was_not_finite_before_it_was_overwritten_is_no_finding(change):
    overdub(NaNContext(), change, np.array([1.0, np.nan]))


def grow(x):
    x.cumsum(out=x)
    return x


def store(xs, key, value):
    xs[key] = value
    return xs


def test_stores_that_do_not_fit():
    single = np.zeros((2, 2), np.float32)
    found = finding(store, single, (0, slice(None)), 1e300)
    assert found.where.line == line_of(store, 1) and found.function is operator.setitem
    assert found.text.startswith("storing 1e+300 in an array of float32 gave inf at [0]")
    assert "storing [1.0, 1e+300] in" in str(finding(store, single, 0, [1.0, 1e300]))
    for key, value in ((0, np.inf), (1, np.float64(2.0)), ((1, 1), 3), (0, single[1])):
        overdub(NaNContext(), store, single, key, value)
    overdub(NaNContext(), store, {}, "x", math.inf)
    overdub(NaNContext(), store, np.zeros(1, object), 0, math.inf)


def test_in_callbacks_generators_threads_and_library_code():
    def key(x):
        return np.float64(x) / 0.0

    assert finding(lambda: sorted([1.0, 2.0], key=key)).where.line == line_of(key, 1)
    assert finding(lambda: sum(np.float64(x) / 0.0 for x in (1.0,))).where is not None

    caught = []

    def inside():
        try:
            divide(np.float64(1.0), 0.0)
        except NaNError as error:
            caught.append(error.finding.where.line)

    def start():
        thread = threading.Thread(target=inside)
        thread.start(), thread.join()

    overdub(NaNContext(), start)
    assert caught == [line_of(divide, 1)]
    assert finding(lambda: statistics.fmean([1e308, 1e308], weights=[1e300, 1.0])).where.filename != __file__


# -- what is not -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f",
    [
        lambda: math.inf - math.inf,
        lambda: float("nan") + 1.0,
        lambda: np.full(3, np.nan).sum(),
        lambda: np.empty(3) * 0 == 0,
        lambda: np.array([np.inf, 1.0]).mean(),
        lambda: min([1.0, 2.0], key=lambda x: -x, default=math.inf),
        lambda: {"a": 1.0}.get("b", math.inf),
        lambda: np.where(np.isfinite(np.array([np.nan, 1.0])), 1.0, np.nan),
        lambda: np.ma.log(np.ma.array([0.0, 1.0])),
        lambda: np.ma.array([1.0, 2.0], mask=[True, False]) / np.ma.array([0.0, 1.0], mask=[True, False]),
        lambda: np.array(["a", None], dtype=object),
        lambda: np.zeros(2, dtype=[("x", float)]),
        lambda: np.zeros(0) / np.zeros(0),
        lambda: 10**400,
        lambda: divmod(10**400, 3),
        lambda: sorted([10**400, 1]),
        lambda: getattr(collections.namedtuple("P", "x")(math.nan), "x", 0.0),
        lambda: {"a": math.inf}.get("a", 0.0),
        lambda: {"a": math.inf}.pop("a", 0.0),
        lambda: next(iter([math.inf]), 0.0),
        lambda: sum((x for x in [math.inf]), 0.0),
        lambda: max((x for x in [math.inf]), default=0.0),
        lambda: [math.nan, *range(3000)].pop(0),
        lambda: operator.getitem([math.nan, *range(3000)], 0),
        lambda: np.array([[[[math.nan]]]], ndmin=4),
        lambda: np.loadtxt(io.StringIO("1 2\nnan 3"), skiprows=1),
        lambda: np.fromstring("nan 1", sep=" ", count=2),
        lambda: np.fromiter((x for x in [math.nan]), float, 1),
        lambda: struct.unpack_from("d", struct.pack("dd", 1.0, math.nan), 8),
        lambda: np.array([0x7FF8 << 48]).view(float),
        lambda: np.array([math.nan, 1], object).sum(axis=0),
        lambda: array.array("d", [math.nan]).pop(0),
        lambda: queue_of(math.nan).get(timeout=1.0),
        lambda: json.loads("[NaN, Infinity]"),
        lambda: float(decimal.Decimal("NaN")),
        lambda: np.array(["nan", "1"]).astype(float),
        lambda: np.interp(5.0, [0, 1], [0, 1], right=math.nan),
        lambda: np.log(np.matrix([[1.0]])),
        lambda: complex(1.0, 2.0) * 2,
        lambda: np.array(["2020-01-01", "NaT"], dtype="M8[D]"),
    ],
)
def test_what_is_deliberate_or_no_number_is_no_finding(f):
    found, plain = overdub(NaNContext(), f), f()
    assert type(found) is type(plain)


def queue_of(item):
    made = queue.Queue()
    made.put(item)
    return made


def test_options_choose_what_to_look_for():
    log, zero = np.log, np.float64(0.0)
    assert overdub(NaNContext(inf=False), lambda: log(zero)) == -math.inf
    assert math.isnan(overdub(NaNContext(nan=False), lambda: zero / zero))
    assert overdub(NaNContext(allow=frozenset({np.log})), lambda: log(zero)) == -math.inf
    assert overdub(NaNContext(ignore=("*test_nans.py",)), lambda: log(zero)) == -math.inf
    assert finding(lambda: zero / zero, inf=False).function is not None
    assert finding(lambda: np.float64(1e308) * [10.0, np.float64(0)][0], nan=False).value == math.inf
    both = finding(lambda: np.ones(3) * 0 / np.array([0.0, 1.0, 0.0]), inf=False)
    assert both.index == (0,) and "(2 of 3 elements" in both.text
    with pytest.raises(ValueError, match="leave nothing to look for"):
        NaNContext(nan=False, inf=False)
    with pytest.raises(ValueError, match='on is one of "raise", "warn", "record", not \'shout\''):
        NaNContext(on="shout")


def test_recording_and_warning_go_on():
    ctx = NaNContext(on="record")
    assert overdub(ctx, lambda: [float(divide(np.float64(x), 0.0)) for x in (1.0, 2.0)]) == 2 * [math.inf]
    assert [f.args[0] for f in ctx.found] == [1.0, 2.0]
    ctx = NaNContext(on="record", most=2)
    overdub(ctx, lambda: [divide(np.float64(x), 0.0) for x in (1.0, 2.0, 3.0)])
    assert len(ctx.found) == 2 and ctx.found.total == 3 and ctx.report(None).endswith("\n... and 1 more")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NaNWarning)
        assert overdub(NaNContext(on="warn"), divide, np.float64(1.0), 0.0) == math.inf
    (warning,) = [w for w in caught if w.category is NaNWarning]
    assert (warning.filename, warning.lineno) == (__file__, line_of(divide, 1))
    assert str(warning.message) == "np.float64(1.0) / 0.0 gave inf"


def test_one_finding_is_recorded_once_though_a_c_function_hands_it_on():
    ctx = NaNContext(on="record")
    overdub(ctx, lambda: functools.reduce(lambda a, b: a * b, [1e200, 1e200], 1.0))
    assert [f.function for f in ctx.found] == [operator.mul]


def test_messages_are_of_when_it_happened():
    def f(x):
        y = 1.0 / x
        x[:] = 7.0
        return y

    ctx = NaNContext(on="record")
    overdub(ctx, f, np.zeros(1))
    assert "1.0 / array([0.]) gave inf at [0] of 0.0" in str(ctx.found[0])


class Ratio:
    def __init__(self, x, y):
        self.x, self.y = x, y

    @property
    def value(self):
        return self.x / self.y

    def __getitem__(self, k):
        return self.x / self.y

    def __iter__(self):
        yield self.x / self.y

    def __mul__(self, other):
        return self.x / self.y * other


@pytest.mark.parametrize(
    "f", [lambda r: r.value, lambda r: r[0], lambda r: [v for v in r], lambda r: r * 2.0]
)
def test_the_thorough_one_looks_into_what_syntax_runs(f):
    with pytest.raises(NaNError) as info:
        overdub(ThoroughNaNContext(), f, Ratio(np.float64(1.0), 0.0))
    assert info.value.where.function.startswith("Ratio.") and info.value.function is operator.truediv


def test_the_error_is_a_floating_point_error_at_the_line_and_can_be_sent():
    with pytest.raises(FloatingPointError) as info:
        overdub(NaNContext(), divide, np.float64(1.0), 0.0)
    assert [e.name for e in info.traceback].count("divide") == 1
    error = info.value
    assert (error.function, error.operands, error.kwargs) == (operator.truediv, (1.0, 0.0), {})
    assert error.out == math.inf and error.where.line == line_of(divide, 1)
    assert error.args == (str(error),)
    with pytest.raises(AttributeError, match="'NaNError' object has no attribute 'count'"):
        error.count
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, NaNError) and str(again) == str(error) and again.finding is again.where is None


def test_operands_whose_repr_raises_do_not_hide_the_finding():
    class Odd:
        def __array__(self, dtype=None, copy=None):
            return np.zeros(2)

        def __repr__(self):
            raise RuntimeError("no")

    assert "<Odd, whose repr raises RuntimeError>" in str(finding(lambda: np.divide(1.0, Odd())))


# -- derivatives, stacks ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f, x",
    [
        (lambda x: np.sqrt(x) * 2.0, 0.0),
        (lambda x: np.sum(np.log(x * x)), np.array([1.0, 0.0])),
        (lambda x: 1.0 / x, np.float64(0.0)),
        (lambda x: np.sqrt(np.sum(x * x)), np.zeros(2)),
        (lambda x: np.sum(np.arcsin(x)), np.ones(2)),
        (lambda x: np.sqrt(np.linalg.norm(x)), np.zeros(2)),
        (lambda x: np.sum(np.abs(x) ** 0.5), np.zeros(2)),
        (lambda x: x**0.5, 0.0),
    ],
)
def test_over_a_gradient_it_names_the_user_s_line(f, x):
    found = finding(grad(f), x)
    assert (found.where.filename, found.where.line) == (__file__, f.__code__.co_firstlineno)


def test_stacks():
    class Hooks(Context):
        seen: list

        def prehook(self, f, args, kwargs):
            self.seen.append(f)

    for outer, inner in ((Hooks([]), NaNContext()), (NaNContext(), Hooks([])), (NaNContext(), NaNContext())):
        assert overdub(outer, overdub, inner, divide, 6.0, 3.0) == 2.0
        with pytest.raises(NaNError, match=f"test_nans.py:{line_of(divide, 1)} in divide"):
            overdub(outer, overdub, inner, divide, np.float64(1.0), 0.0)


def test_from_a_command_line():
    parser = ArgumentParser()
    NaNContext.add_options(parser)
    ctx = NaNContext.from_options(parser.parse_args(["--on", "record", "--no-nan"]))
    assert ctx.report(None) == "no operation on finite numbers gave a NaN or an infinity"
    overdub(ctx, divide, np.float64(1.0), 0.0)
    ctx.found.clear()
    overdub(ctx, divide, np.float64(1.0), 0.0)
    assert (ctx.nan, ctx.inf) == (False, True) and ctx.report(None).endswith("np.float64(1.0) / 0.0 gave inf")
    options = parser.parse_args("--allow numpy.log --allow math.exp --ignore */x.py --most 3".split())
    ctx = NaNContext.from_options(options)
    assert ctx.allow == {np.log, math.exp} and ctx.ignore == ("*/numpy/ma/*", "*/x.py") and ctx.most == 3
    with pytest.raises(ValueError, match="'numpy' has no 'lgo'; did you mean 'log'?"):
        NaNContext.from_options(parser.parse_args(["--allow", "numpy.lgo"]))


def test_a_masked_product_whose_mask_does_not_fit_is_returned():
    a = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [0, 0]])
    plain = np.matmul(a, np.ones(2))
    found = overdub(NaNContext(), lambda a: np.matmul(a, np.ones(2)), a)
    assert np.array_equal(np.asarray(found), np.asarray(plain))
