"""PrecisionContext: the values of both precisions, and the lines that lose digits."""

import copy
import json
import math
import pickle
import statistics
import subprocess
import sys
import warnings
from argparse import ArgumentParser
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from ctxdispatch import Context, overdub
from ctxdispatch.contexts import PrecisionContext
from ctxdispatch_contexts.precision import Losses, Pair, side_by_side


def quadratic(a, b, c):
    root = math.sqrt(b * b - 4 * a * c)
    return (-b + root) / (2 * a), (-b - root) / (2 * a)


def variance(x):
    squares = np.mean(x * x)
    return squares - np.mean(x) ** 2


def cancelling(x):
    y = 1.0 + x
    return y - 1.0


def log_sum_exp(x):
    terms = np.exp(x)
    return np.log(np.sum(terms))


def stable(x):
    most = np.max(x)
    return most + np.log(np.sum(np.exp(x - most)))


def line(f, offset):
    return f.__code__.co_firstlineno + offset


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f, args",
    [
        (quadratic, (1.0, 5.0, 2.0)), (variance, (np.linspace(0.0, 1.0, 7),)),
        (stable, (np.array([1.0, 2.0]),)),
        (lambda x: [x * k for k in range(3)], (0.1,)), (lambda x: {"a": -x, "b": abs(x) ** 0.5}, (0.3,)),
        (lambda x: sum([x, 2 * x]) + max(x, 0.0) + min([x, 1.0]), (0.7,)),
        (lambda x: np.linalg.solve(np.eye(2) * x, np.ones(2)), (np.float64(3.0),)),
        (lambda x: x.reshape(2, 2).T @ x[:2], (np.arange(4.0) / 3,)),
        (lambda x: np.where(x > 0.5, x, 0.0).sum(axis=0), (np.linspace(0.0, 1.0, 5),)),
        (lambda x: math.hypot(x, 1.0) + math.floor(x * 10), (0.37,)),
        (lambda x: np.array([x, 2.0 * x]).cumsum(), (0.1,)),
        (lambda x: np.stack([x, x])[1] // 0.25 % 0.3, (np.array([0.9, 1.7]),)),
        (lambda x: x // 0.3, (1.0,)),
    ],
)  # fmt: skip
def test_both_programs_are_computed_and_the_high_one_is_the_plain_one(f, args):
    def parts(value, side):
        if isinstance(value, dict):
            return [parts(v, side) for v in value.values()]
        if isinstance(value, list | tuple):
            return [parts(v, side) for v in value]
        return np.asarray(getattr(value, side) if isinstance(value, Pair) else value).tolist()

    outcome = side_by_side(f, *args)
    plain, low = f(*args), f(*(np.float32(a) if np.ndim(a) == 0 else a.astype(np.float32) for a in args))
    found, expected = np.ravel(parts(outcome.result, "high")), np.ravel(parts(plain, "high"))
    assert np.allclose(found, expected, rtol=1e-15)
    found, expected = np.ravel(parts(outcome.result, "low")), np.ravel(parts(low, "high"))
    assert np.allclose(found, expected, rtol=2e-6, atol=1e-7)


def test_types_are_those_of_the_precisions():
    pair = side_by_side(lambda x: math.sin(x) * 2, 0.5).result
    assert (type(pair.low), type(pair.high)) == (np.float32, np.float64)
    assert pair.high == math.sin(0.5) * 2 and pair.low == np.float32(math.sin(0.5)) * np.float32(2)
    assert float(pair) == pair.high and f"{pair:.3f}" == f"{pair.high:.3f}" and str(pair) == str(pair.high)
    array = side_by_side(np.exp, np.ones(3)).result
    assert (array.low.dtype, array.high.dtype) == (np.float32, np.float64)


def test_other_precisions_and_the_other_way():
    outcome = side_by_side(cancelling, 1e-3, low=np.float16, high=np.float32)
    assert (outcome.losses.low, outcome.losses.high) == (np.float16, np.float32)
    assert type(outcome.result.low) is np.float16 and outcome.losses.lines[0].digits > 1.5

    def steps(x):
        count = 0
        while x > 1.0:
            x, count = x / 1.1, count + 1
        return count

    ways = {side_by_side(steps, 1.1**9, follow=follow).result for follow in ("high", "low")}
    assert steps(1.1**9) in ways and all(abs(way - 9) <= 1 for way in ways)
    with pytest.raises(ValueError, match='follow is "high" or "low", not "up"'.replace('"up"', "'up'")):
        Losses(follow="up")


# -- losses ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "f, args, offset, operation, least",
    [
        (quadratic, (1.0, 1e4, 1.0), 2, "add", 6.0),
        (variance, (np.arange(100) + 1e4 + 0.1,), 2, "sub", 4.0),
        (cancelling, (1e-5,), 2, "sub", 3.5),
        (log_sum_exp, (np.array([90.0, 91.0]),), 1, "exp", 7.0),
    ],
)
def test_the_line_that_loses_most_is_named(f, args, offset, operation, least):
    losses = side_by_side(f, *args).losses
    worst = losses.lines[0]
    assert (worst.where.filename, worst.where.line) == (__file__, line(f, offset))
    assert worst.operation == operation and worst.digits > least and worst.times >= 1
    assert f"{operation} at {__file__}:{line(f, offset)} in {f.__name__}" in losses.text()


def test_stable_programs_lose_nothing():
    for f, args in ((stable, (np.array([90.0, 91.0]),)), (quadratic, (1.0, 5.0, 2.0)), (math.exp, (1.0,))):
        assert all(loss.digits < 1.5 for loss in side_by_side(f, *args).losses.lines), f


def test_what_only_goes_on_with_an_error_is_no_loss():
    def f(x):
        lost = (1.0 + x) - 1.0
        for _ in range(5):
            lost = lost * 1.5
        return lost

    losses = side_by_side(f, 1e-6).losses
    assert [loss.where.line for loss in losses.lines] == [line(f, 1)]


def test_losses_add_up_over_a_loop():
    def f(x):
        out = []
        for k in range(10):
            out.append((1.0 + x * k) - 1.0)
        return out

    (loss,) = side_by_side(f, 1e-6).losses.lines
    assert loss.times >= 8 and loss.error > 1e-3


def test_comparisons_that_differ_are_reported():
    def f(x):
        if x * 3.0 == 0.3:
            return "equal"
        return "different"

    def g(x):
        return "above" if (1.0 + x) > 1.0 else "equal"

    assert side_by_side(g, 1e-9).result == "above"
    (found,) = side_by_side(g, 1e-9).losses.divergences
    assert (found.operation, found.where.line, found.times) == ("gt", line(g, 1), 1)
    assert side_by_side(g, 1e-9, follow="low").result == "equal"
    assert side_by_side(f, 0.1).result == f(0.1)
    assert "gt differs between the precisions, 1 times, at" in side_by_side(g, 1e-9).losses.text()


def test_overflow_and_domain_errors_in_the_lower_precision():
    pair = side_by_side(lambda x: math.exp(x), 100.0).result
    assert pair.high == math.exp(100.0) and np.isinf(pair.low)
    with pytest.raises(OverflowError):
        side_by_side(lambda x: math.exp(x), 1000.0)
    pair = side_by_side(lambda x: math.sqrt(((1.0 + x) - 1.0) - 5e-9), 1e-8).result
    assert pair.high > 0 and np.isnan(pair.low) and pair.error == 1.0


def test_stores_items_and_in_place_operators():
    def f(x):
        x = x.copy()
        x[0] = x[1] + 1.0
        x += 1.0
        return x, len(x), [float(v) for v in x]

    pair, count, values = side_by_side(f, np.array([0.1, 0.2])).result
    assert np.allclose(pair.high, [2.2, 1.2]) and pair.low.dtype == np.float32 and count == 2
    assert [float(v) for v in values] == pytest.approx([2.2, 1.2])


# -- programs without arguments, stacks ------------------------------------------------------------


def script():
    total = 0.0
    for _ in range(1000):
        total += 0.1
    return total - 100.0


def test_from_a_command_line_written_floats_are_pairs():
    parser = ArgumentParser()
    PrecisionContext.add_options(parser)
    options = parser.parse_args(["--limit", "5"])
    ctx = PrecisionContext.from_options(options)
    out = overdub(ctx, script)
    assert float(out) == script() and float(out.low) != float(out.high)
    assert ctx.losses.lines[0].where.line == line(script, 4)
    assert ctx.report(options).startswith("float32 beside float64: digits were lost at")
    assert isinstance(overdub(ctx, lambda: float("0.1")), Pair)


def test_c_code_that_takes_no_pair_gets_the_float():
    def program():
        import json
        import struct

        x = 0.1 + 0.2
        return json.dumps({"x": [x]}), struct.pack("d", x), [x].index(x), "%.2f" % x, f"{x:.3f}", round(x, 2)

    ctx = PrecisionContext.from_options(ArgumentParser().parse_args([], _options()))
    found = overdub(ctx, program)
    assert found[:5] == program()[:5] and float(found[5]) == program()[5]


def _options():
    parser = ArgumentParser()
    PrecisionContext.add_options(parser)
    return parser.parse_args([])


def test_without_pairs_programs_are_what_they_are():
    class Hooks(Context):
        seen: list

        def prehook(self, f, args, kwargs):
            self.seen.append(f)

    assert overdub(PrecisionContext(), variance, np.arange(3.0)) == variance(np.arange(3.0))
    for outer, inner in ((Hooks([]), PrecisionContext()), (PrecisionContext(), Hooks([]))):
        pair = Pair(np.float32(0.1), np.float64(0.1), Losses())
        assert float(overdub(outer, overdub, inner, cancelling, pair)) == cancelling(0.1)


def test_what_a_script_prints_is_what_it_prints_plainly(tmp_path):
    script = tmp_path / "prints.py"
    script.write_text(
        "import json\nimport numpy as np\n"
        "x = 0.1 * 3\nprint(x, [x], {x: 1}, '%s %.3f' % (x, x), f'{x:.2f} {x!r}', isinstance(x, float))\n"
        "a = np.arange(4.0)\nprint(a, a.tolist(), np.full(2, 0.5), np.float64(2) * 1.5, [a[1] * 2])\n"
        "print(json.dumps([x, x / 3]), x.is_integer(), x.real, max(x, 1), sum([x, x]))\n"
    )
    plain = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    command = [sys.executable, "-m", "ctxdispatch", "run", "--context", "precision", str(script)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == plain.stdout


def test_a_pair_of_numbers_is_a_float_and_its_parts_are_there():
    (y, a), _ = side_by_side(lambda x, a: (math.sqrt(x), a[1] * 2), 2.0, np.array([1.0, 3.0]))
    assert isinstance(y, float) and (y.low, y.high) == (np.float32(2) ** 0.5, 2**0.5)
    assert repr(y) == repr(2**0.5) and repr(a) == repr(np.float64(6.0))


def test_python_floats_have_python_s_own_results():
    programs = [
        (lambda x: x / 0, 1.0), (lambda x: x**1000, 1e10), (lambda x: x**0.5, -1.0),
        (lambda x: round(x, 1), 2.55), (lambda x: x == 2**53 + 1, 9007199254740992.0),
        (lambda x: x // 0.0, 1.0), (lambda x: math.sqrt(x), -1.0),
    ]  # fmt: skip
    for f, x in programs:
        try:
            plain = f(x)
        except Exception as error:
            with pytest.raises(type(error)) as caught:
                side_by_side(f, x)
            assert str(caught.value) == str(error)
        else:
            result = side_by_side(f, x).result
            assert result == plain and repr(result) == repr(plain)


# -- arrays that are written to --------------------------------------------------------------------


def augmented(x):
    y = x
    y += 1.0
    y **= 2
    y //= [0.3, 0.7]
    y -= x * 0.25
    y *= np.float32(1.5)
    y %= 7.0
    y /= 3.0
    y @= np.array([[0.0, 1.0], [1.0, 0.0]])
    return x


def views(x):
    first, turned = x[:1], x[::-1]
    first *= 3.0
    turned += x.reshape(2)
    turned[0] = first[0] * 0.1
    return x, first, turned


def given_out(x):
    y, z = np.zeros(2), x.copy()
    same = y
    np.add(x, 1.0, out=y)
    np.multiply(x, y, z)
    np.cumsum(z, out=x)
    return x, y, same, z


def beside_plain_arrays(x):
    y, k = np.ones(2), np.arange(2)
    alias = y[:1]
    y += x
    np.add.at(y, [0, 0], x[1])
    np.floor(x * 10.0, out=k, casting="unsafe")
    np.add(k, x * 10.0, out=k, casting="unsafe")
    return y, alias, k


def arrays_of_other_precisions(x):
    y, z, w = np.ones(2, np.float32), np.zeros((1, 2), np.float32), np.zeros(2)
    same = y
    y += x
    np.copyto(z, x)
    np.multiply(x, 2.0, out=z[0])
    w[:] = x
    w[0] = x[1]
    return same, z, w


@pytest.mark.parametrize(
    "f", [augmented, views, given_out, beside_plain_arrays, arrays_of_other_precisions]
)
def test_arrays_are_written_to_in_place(f):
    def high(value):
        return [np.asarray(getattr(v, "high", v)) for v in (value if type(value) is tuple else (value,))]

    given, plain = np.array([0.1, 0.7]), np.array([0.1, 0.7])
    expected = f(plain)
    result, losses = side_by_side(f, given)
    for a, b in zip(high(result), high(expected), strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(given, plain)  # the caller's too
    lowered = [v for v in (result if type(result) is tuple else (result,)) if isinstance(v, Pair)]
    assert all(v.low.dtype == np.float32 and np.allclose(v.low, v.high, rtol=1e-5) for v in lowered)


def test_an_operator_in_place_gives_the_very_pair_and_names_what_it_lost():
    def f(x):
        y = x
        y += 1e6
        y -= 1e6
        return y is x, x

    (same, x), losses = side_by_side(f, np.array([0.1, 0.2]))
    assert same and losses.lines[0].operation == "sub" and losses.lines[0].where.line == line(f, 3)
    assert x.error > 0.1  # what was written since is in it


# -- as without the context ------------------------------------------------------------------------


def kind(x):
    match x:
        case float():
            return "float"
    return "other"


@pytest.mark.parametrize(
    "f, x",
    [
        (lambda x: (x < 10**400, 10**400 > x, x == 10**400), 1.0),
        (lambda x: np.arange(0, x, 0.25).tolist(), 1.0),
        (kind, 1.0),
        (lambda x: divmod(x, 2) + divmod(7, x), 2.5),
        (lambda x: pow(x, 2, 3), 2.0),
        (lambda x: pow(2.0, x, 3), 2.0),
        (lambda x: json.dumps({"x": [x]}), 0.1),
        (lambda x: (statistics.mean([x, 1.0]), statistics.stdev([x, 1.0, 2.0])), 0.1),
        (lambda x: (Decimal(x), Fraction(x), x.as_integer_ratio(), x.hex()), 0.1),
        (lambda x: (math.trunc(x), math.floor(-x), int(x)), 2.7),
        (lambda x: math.trunc(x), math.inf),
        (lambda x: (copy.deepcopy([x]), copy.copy(x), pickle.loads(pickle.dumps(x))), 0.1),
        (lambda x: type(x)(3), 0.1),
        (lambda x: x * 1j, 2.0),
        (lambda x: copy.deepcopy(x).tolist(), np.array([0.1, 0.2])),
        (lambda x: pickle.loads(pickle.dumps(x)).tolist(), np.array([0.1, 0.2])),
        (lambda x: (x + [1.0, 2.0]).tolist(), np.array([0.1, 0.2])),
    ],
)
def test_what_python_does_with_floats(f, x):
    try:
        plain = f(x)
    except (TypeError, OverflowError) as error:
        with pytest.raises(type(error)) as caught:
            side_by_side(f, x)
        assert str(caught.value) == str(error)
    else:
        result = side_by_side(f, x).result
        assert result == plain and repr(result) == repr(plain)


def test_a_copy_is_another_array():
    def f(x):
        other = copy.copy(x)
        other += 1.0
        return x, other

    (x, other), _ = side_by_side(f, np.array([0.1, 0.2]))
    assert x.high.tolist() == [0.1, 0.2] and other.low.dtype == np.float32 and other.high[0] == 1.1


def warns(x):
    y = x - x
    quotient = x / y
    number = x[0] / y[0]
    logarithm = np.log(y)
    for _ in range(3):
        x *= 1e308
    with np.errstate(all="ignore"):
        return quotient + number + logarithm / 0.0


def test_numpy_warns_at_the_line_of_the_program_as_without_the_context():
    def seen(f):
        globals().pop("__warningregistry__", None)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("default")
            f(np.array([1.0, 20.0]))
        return [(str(w.message), w.category, w.filename, w.lineno) for w in found]

    assert seen(lambda x: side_by_side(warns, x)) == seen(warns) != []
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        side_by_side(lambda x: x / 0.0, np.ones(2))
    with np.errstate(divide="call", call=lambda *what: told.append(what)):
        told = []
        side_by_side(lambda x: x / 0.0, np.ones(2))
    assert [what for what, _ in told] == ["divide by zero"]


def test_a_pair_warns_after_the_run_too():
    x = side_by_side(lambda x: x, np.ones(2)).result
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide") as found:
        x / 0.0
    assert found[0].filename == __file__
