"""NaNContext: what is reported, where, and what is not."""

import math
import pickle
import statistics
import threading
import warnings
from argparse import ArgumentParser

import numpy as np
import pytest

from ctxdispatch import Context, grad, overdub
from ctxdispatch.contexts import NaNContext
from ctxdispatch_contexts.nans import NaNError, NaNWarning

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


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
        " of 0.0 (2 of 4 elements)"
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
    ],
)
def test_operations_that_are_found(f, args, text):
    assert text in str(finding(f, *args))


def test_arrays_that_are_changed_in_place_are_judged_by_what_they_were():
    found = finding(in_place, np.ones(2), np.array([1.0, 0.0]))
    assert str(found).endswith("gave inf at [1] of 0.0 (1 of 2 elements)")
    there = np.array([np.nan, 1.0])
    assert np.isnan(overdub(NaNContext(), in_place, there, 2.0)[0])
    whole = np.array([4, 2])
    assert overdub(NaNContext(), lambda x: in_place(x * 1.0, 2), whole).tolist() == [2.0, 1.0]


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
        lambda: complex(1.0, 2.0) * 2,
        lambda: np.array(["2020-01-01", "NaT"], dtype="M8[D]"),
    ],
)
def test_what_is_deliberate_or_no_number_is_no_finding(f):
    found, plain = overdub(NaNContext(), f), f()
    assert type(found) is type(plain)


def test_options_choose_what_to_look_for():
    log, zero = np.log, np.float64(0.0)
    assert overdub(NaNContext(inf=False), lambda: log(zero)) == -math.inf
    assert math.isnan(overdub(NaNContext(nan=False), lambda: zero / zero))
    assert overdub(NaNContext(allow=frozenset({np.log})), lambda: log(zero)) == -math.inf
    assert overdub(NaNContext(ignore=("*test_nans.py",)), lambda: log(zero)) == -math.inf
    assert finding(lambda: zero / zero, inf=False).function is not None
    with pytest.raises(ValueError, match='on is one of "raise", "warn", "record", not \'shout\''):
        NaNContext(on="shout")


def test_recording_and_warning_go_on():
    ctx = NaNContext(on="record")
    assert overdub(ctx, lambda: [float(divide(np.float64(x), 0.0)) for x in (1.0, 2.0)]) == 2 * [math.inf]
    assert [f.args[0] for f in ctx.found] == [1.0, 2.0]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NaNWarning)
        assert overdub(NaNContext(on="warn"), divide, np.float64(1.0), 0.0) == math.inf
    (warning,) = [w for w in caught if w.category is NaNWarning]
    assert (warning.filename, warning.lineno) == (__file__, line_of(divide, 1))
    assert str(warning.message) == "np.float64(1.0) / 0.0 gave inf"


def test_the_error_is_a_floating_point_error_at_the_line_and_can_be_sent():
    with pytest.raises(FloatingPointError) as info:
        overdub(NaNContext(), divide, np.float64(1.0), 0.0)
    assert [e.name for e in info.traceback].count("divide") == 1
    again = pickle.loads(pickle.dumps(info.value))
    assert isinstance(again, RuntimeError) and str(again) == str(info.value)


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
    assert ctx.report(None) == "every result on finite operands is finite"
    overdub(ctx, divide, np.float64(1.0), 0.0)
    assert (ctx.nan, ctx.inf) == (False, True) and ctx.report(None).endswith("np.float64(1.0) / 0.0 gave inf")
