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
