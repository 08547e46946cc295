"""The pytest plugin: run in a pytest of its own."""

import subprocess
import sys

import pytest

pytest_plugins = "pytester"

TESTS = """
import math
import unittest

import numpy as np
import pytest


def quotient(x):
    return np.float64(1.0) / x


def test_fine():
    assert quotient(2.0) == 0.5


def test_infinite():
    assert quotient(0.0) == math.inf


@pytest.mark.parametrize("x", [1.0, 0.0])
def test_parametrized(x):
    quotient(x)


class TestMethods:
    scale = 2

    @pytest.fixture
    def zero(self):
        return quotient(0.0) * 0 if False else 0.0

    def test_method(self, zero):
        assert self.scale * quotient(zero) > 0


class TestUnit(unittest.TestCase):
    def test_unit(self):
        self.assertEqual(quotient(0.0), math.inf)
"""


def run(pytester, source, *options):
    pytester.makepyfile(source)
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-W", "ignore", *options)


def test_without_options_tests_run_as_ever(pytester):
    run(pytester, TESTS).assert_outcomes(passed=6)


def test_all_tests_under_a_context(pytester):
    result = run(pytester, TESTS, "--ctxdispatch-context=nan")
    result.assert_outcomes(passed=2, failed=4)
    result.stdout.fnmatch_lines(["*NaNError: *quotient: np.float64(1.0) / 0.0 gave inf"])
    assert "overdub.py" not in result.stdout.str()


def test_a_marked_test_with_options(pytester):
    marked = """
import math
import pytest

def root(x):
    return math.sqrt(x)

@pytest.mark.ctxdispatch("mock")
def test_no_options():
    assert root(4.0) == 2.0

@pytest.mark.ctxdispatch("trace", depth=2)
def test_fails():
    root(4.0)
    assert False

def test_plain():
    assert root(4.0) == 2.0
"""
    result = run(pytester, marked, "--strict-markers")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*TraceContext*", "* ms  *root"])


def test_a_class_of_one_s_own_and_stacks(pytester):
    source = """
import math
import pytest
from ctxdispatch import Context

class Three(Context):
    pass

@Three.rule(math.sqrt)
def _(ctx, x):
    return 3.0

@pytest.mark.ctxdispatch(context=Three)
def test_ruled():
    assert math.sqrt(4.0) == 3.0
"""
    result = run(pytester, source, "--ctxdispatch-context=count", "--ctxdispatch-context=TraceContext")
    result.assert_outcomes(passed=1)


WANTS_FIELDS = """
import pytest
from ctxdispatch import Context

class Wants(Context):
    seen: list

class Asks(Wants):
    def prehook(self, f, args, kwargs):
        self.seen.append(f)

    @classmethod
    def add_options(cls, parser):
        parser.add_argument("--first", default="nothing")

    @classmethod
    def from_options(cls, options):
        return cls([options.first])

    def report(self, options):
        return f"seen {self.seen}"

@pytest.mark.ctxdispatch(context=Asks)
def test_asks():
    assert abs(-1) == 2

@pytest.mark.ctxdispatch(context=Wants)
def test_wants():
    pass
"""


def test_fields_without_default_come_from_from_options(pytester):
    result = run(pytester, WANTS_FIELDS)
    result.stdout.fnmatch_lines(["seen *'nothing', *abs*"])
    result.stdout.fnmatch_lines(["*Wants needs 'seen': give it*or give the fields to the marker*"])


def test_check_grads_is_a_fixture(pytester):
    source = """
import math
from ctxdispatch import custom_rule

def test_right(check_grads):
    check_grads(math.sin, (0.3,))

def wrong(x):
    return math.sin(x)

@custom_rule(wrong)
def _(x):
    return math.sin(x), lambda ybar: ybar

def test_wrong(check_grads):
    check_grads(wrong, (0.3,))
"""
    run(pytester, source).assert_outcomes(passed=1, failed=1)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "option, message",
    [("nam", "*no context named 'nam' is installed; did you mean 'NaNContext'?*"),
     ("mine:Nothing", "*mine:Nothing: ModuleNotFoundError*")],
)  # fmt: skip
def test_names_that_mean_nothing_are_usage_errors(pytester, option, message):
    result = run(pytester, TESTS, f"--ctxdispatch-context={option}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


def test_the_traceback_ends_at_the_user_s_line(pytester):
    source = "def test_it():\n    x = [1]\n    assert x == [2]\n"
    result = run(pytester, source, "--ctxdispatch-context=count")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([">       assert x == [[]2[]]", "E       assert [[]1[]] == [[]2[]]"])


def test_it_can_be_switched_off(pytester):
    result = run(pytester, TESTS, "-p", "no:ctxdispatch")
    result.assert_outcomes(passed=6)
    result = run(pytester, "def test_it(check_grads): pass", "-p", "no:ctxdispatch")
    result.assert_outcomes(errors=1)


def test_loading_it_imports_neither_numpy_nor_the_engine():
    code = "import ctxdispatch.pytest_plugin, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "numpy" not in loaded and not any(m.startswith("ctxdispatch.dispatch") for m in loaded)


def test_options_are_outside_markers_and_the_nearest_marker_is_the_innermost(pytester):
    source = """
import pytest
from ctxdispatch import Context, overdub

ORDER = []

class Outer(Context):
    name: str = ""
    def program(self, f, args, kwargs):
        ORDER.append(self.name)
        return super().program(f, args, kwargs)

class Last(Outer):
    name: str = "last option"

class First(Outer):
    name: str = "first option"

pytestmark = pytest.mark.ctxdispatch(context=Outer, name="module")

@pytest.mark.ctxdispatch(context=Outer, name="class")
class TestOrder:
    @pytest.mark.ctxdispatch(context=Outer, name="function")
    def test_it(self):
        pass

def test_the_order():
    assert ORDER[:5] == ["last option", "first option", "module", "class", "function"]
"""
    pytester.makepyfile(orders=source.partition("pytestmark")[0])
    pytester.makepyfile("from orders import *\npytestmark" + source.partition("pytestmark")[2])
    options = ["--ctxdispatch-context=orders:First", "--ctxdispatch-context=orders:Last"]
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", *options)
    result.assert_outcomes(passed=2)


def test_a_function_that_makes_the_context_is_called_for_each_test(pytester):
    source = """
import time
import pytest
from ctxdispatch.contexts import MockContext

made = []

def frozen():
    made.append(MockContext.of({time.time: 5.0}))
    return made[-1]

@pytest.mark.ctxdispatch(context=frozen)
@pytest.mark.parametrize("n", [1, 2])
def test_time(n):
    assert [time.time() for _ in range(n)] == [5.0] * n

def test_calls():
    assert time.time() > 5.0
    assert [len(ctx.calls[time.time]) for ctx in made] == [1, 2]
"""
    run(pytester, source).assert_outcomes(passed=3)


def test_fixtures_run_plainly(pytester):
    source = """
import numpy as np
import pytest

@pytest.fixture
def infinite():
    yield np.float64(1.0) / 0
    np.float64(1.0) / 0

def setup_function():
    np.float64(1.0) / 0

def test_it(infinite):
    assert infinite > 0
"""
    run(pytester, source, "--ctxdispatch-context=nan").assert_outcomes(passed=1)


def test_what_unittest_marks_on_a_test_is_kept(pytester):
    source = """
import unittest

class TestIt(unittest.TestCase):
    @unittest.expectedFailure
    def test_expected(self):
        self.assertEqual(1, 2)

    @unittest.skip("not now")
    def test_skipped(self):
        self.assertEqual(1, 2)
"""
    result = run(pytester, source, "--ctxdispatch-context=count")
    result.assert_outcomes(xfailed=1, skipped=1)


def test_asynchronous_tests_run_plainly_with_a_warning(pytester):
    source = """
import unittest
import pytest

class TestIt(unittest.IsolatedAsyncioTestCase):
    async def test_passes(self):
        self.assertEqual(1, 1)

    async def test_fails(self):
        self.assertEqual(1, 2)

    def test_plain(self):
        self.assertEqual(1, 1)
"""
    pytester.makepyfile(source)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--ctxdispatch-context=count")
    result.assert_outcomes(passed=2, failed=1, warnings=2)
    result.stdout.fnmatch_lines(["*TestIt::test_passes is asynchronous: it does not run under a context"])


def test_each_example_of_hypothesis_runs_under_the_context(pytester):
    source = """
import time
import pytest
from hypothesis import given, settings, strategies as st
from ctxdispatch.contexts import MockContext

ctx = MockContext.of({time.time: 5.0})

@pytest.mark.ctxdispatch(context=lambda: ctx)
@settings(max_examples=7, database=None, deadline=None)
@given(st.integers())
def test_property(n):
    assert time.time() == 5.0

def test_calls():
    assert 0 < len(ctx.calls[time.time]) <= 7
"""
    run(pytester, source).assert_outcomes(passed=2)


def test_tracebacks_have_no_frames_of_the_engine(pytester):
    source = """
import unittest
import numpy as np

def quotient(x):
    return np.float64(x) / 0.0

class Holder:
    def __getitem__(self, k):
        return quotient(1.0)

def test_key():
    sorted([1.0, 2.0], key=quotient)

def test_item():
    Holder()[0]

class TestIt(unittest.TestCase):
    def test_map(self):
        [*map(quotient, [1.0])]
"""
    result = run(pytester, source, "--ctxdispatch-context=ctxdispatch_contexts.nans:ThoroughNaNContext")
    result.assert_outcomes(failed=3)
    shown = result.stdout.str()
    for line in ("sorted([1.0, 2.0], key=quotient)", "Holder()[0]", "[*map(quotient, [1.0])]"):
        assert f"\n>       {line}" in shown
    assert shown.count("\n>       return np.float64(x) / 0.0") == 3
    assert "ctxdispatch/" not in shown and "nans.py" not in shown


def test_reports_are_shown_of_tests_that_pass_if_asked_for_and_may_fail(pytester):
    source = """
import pytest
from ctxdispatch import Context

class Told(Context):
    def report(self, options):
        return "all is well"

class Needs(Context):
    @classmethod
    def add_options(cls, parser):
        parser.add_argument("--needed", required=True)

    def report(self, options):
        return options.needed

@pytest.mark.ctxdispatch(context=Told)
@pytest.mark.ctxdispatch(context=Needs)
def test_it():
    pass
"""
    result = run(pytester, source, "-rA")
    result.assert_outcomes(passed=1)
    lines = ["*Captured Needs call*", "the report failed:", "*Captured Told call*", "all is well"]
    result.stdout.fnmatch_lines(lines)


def test_what_pytest_finds_out_about_an_assert_is_no_part_of_the_test(pytester):
    source = """
def test_sum():
    assert [sum(k * 2.0 for k in range(5))] == [0.0]
"""
    result = run(pytester, source, "--ctxdispatch-context=count", "--ctxdispatch-context=taint")
    result.assert_outcomes(failed=1)
    said = result.stdout.str()
    assert "assert [20.0] == [0.0]" in said and "5 flops" in said and "util.py" not in said


def test_a_wrong_marker_fails_its_test_only(pytester):
    source = """
import pytest

@pytest.mark.parametrize("n", [
    pytest.param(0, marks=pytest.mark.ctxdispatch()),
    pytest.param(1, marks=pytest.mark.ctxdispatch("nan", "count")),
    pytest.param(2, marks=pytest.mark.ctxdispatch(context=5)),
    pytest.param(3, marks=pytest.mark.ctxdispatch("nan", infinite=1)),
    pytest.param(4, marks=pytest.mark.ctxdispatch("nam")),
    pytest.param(5, marks=pytest.mark.ctxdispatch("nan")),
])
def test_it(n):
    pass
"""
    result = run(pytester, source)
    result.assert_outcomes(passed=1, failed=5)
    for message in (
        "takes the name of one context, or context=Class, not []",
        "takes the name of one context, or context=Class, not ['nan', 'count']",
        "takes the name of one context, or context=Class, not [5]",
        "unexpected keyword argument 'infinite'",
        "no context named 'nam' is installed; did you mean 'NaNContext'?",
    ):
        assert message in result.stdout.str()


def test_other_outcomes_are_as_ever(pytester):
    source = """
import unittest.mock, math, warnings
import pytest

def test_skips():
    pytest.skip("no")

@pytest.mark.xfail(strict=True)
def test_expected():
    assert False

@unittest.mock.patch("math.sqrt")
def test_patched(fake):
    math.sqrt(3.0)
    fake.assert_called_once_with(3.0)

def test_helpers(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(math, "pi", 3)
    print(math.pi)
    assert capsys.readouterr().out == "3\\n"
    with pytest.raises(ZeroDivisionError, match="division"):
        1 / 0
    with pytest.warns(UserWarning):
        warnings.warn("mind")
"""
    result = run(pytester, source, "--ctxdispatch-context=nan", "--ctxdispatch-context=trace")
    result.assert_outcomes(passed=2, skipped=1, xfailed=1)


def test_mistakes_in_markers_are_told_at_the_test(pytester):
    source = """
import pytest
from ctxdispatch import Context

@pytest.mark.ctxdispatch("nann")
def test_name():
    pass

@pytest.mark.ctxdispatch("nan", infinite=True)
def test_field():
    pass

@pytest.mark.ctxdispatch
def test_none():
    pass
"""
    result = run(pytester, source)
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines([
        "*.py:4: no context named 'nann' is installed; did you mean 'NaNContext'?",
        "*.py:8: NaNContext: *unexpected keyword argument 'infinite'",
        "*.py:12: @pytest.mark.ctxdispatch takes the name of one context*",
    ])  # fmt: skip
    assert "pytest_plugin.py" not in result.stdout.str()


def test_a_class_that_is_no_keyword_hides_no_test(pytester):
    source = """
import pytest
from ctxdispatch import Context

class Mine(Context):
    seen: list

@pytest.mark.ctxdispatch(Mine)
def test_it():
    pass
"""
    result = run(pytester, source)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*test_it: write @pytest.mark.ctxdispatch(context=Mine), by name"])
