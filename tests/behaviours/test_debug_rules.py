"""Rules of the user's: by name, by type, checked where they are defined and where they are used."""

import math
import subprocess
import sys

import numpy as np
import pytest

from ctxdispatch import (
    ADContext,
    check_grads,
    custom_rule,
    debug_rules,
    grad,
    hessian,
    insert_grad_of,
    jvp,
    vjp,
)
from ctxdispatch_contexts.recording.checking import WrongRule
from ctxdispatch_contexts.reverse import DerivativeError

X = np.array([0.3, 0.5, 0.7])


def cube(x):
    return x**3


@pytest.fixture
def wrong_rule():
    @custom_rule(cube)
    def _(x):
        return x**3, lambda g: g * 2 * x * x

    yield
    ADContext.unrule(cube)


def program(x):
    y = np.sin(x) * 2
    y[0] = 3.0 * x[1]
    y = insert_grad_of(y, lambda d: d * 5)
    return cube(y).sum() + math.exp(x[0])


WAYS = {
    "grad": lambda: grad(program)(X),
    "vjp": lambda: vjp(program, X),
    "jvp": lambda: jvp(program, (X,), (X,)),
    "second order": lambda: grad(grad(lambda x: cube(x) * x))(2.0),
}
HERE = r"test_debug_rules.py:\d+ in .*: the rule for .*cube gives [-0-9.e]+, central differences"


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_the_first_wrong_rule_is_named_where_it_is_used(wrong_rule, way):
    way()
    with debug_rules(), pytest.raises(WrongRule, match=HERE):
        way()
    way()


def test_debug_of_one_function(wrong_rule):
    with pytest.raises(WrongRule, match=HERE):
        grad(program, debug=True)(X)
    grad(program)(X)


def test_right_rules_pass():
    def f(x):
        a = np.arange(9.0).reshape(3, 3)
        y = a @ x * np.exp(x)
        y *= x
        y[1:] += x[:2]
        return y.sum() / x[0] + math.sin(x[1]) * max(x[0], x[2])

    expected = grad(f)(X)
    np.testing.assert_allclose(grad(f, debug=True)(X), expected)
    with debug_rules():
        np.testing.assert_allclose(grad(f)(X), expected)
        np.testing.assert_allclose(jvp(f, (X,), (X,))[1], expected @ X)
        assert grad(grad(lambda x: x * x * math.sin(x)))(2.0) == pytest.approx(-5.147769546)
        assert hessian(lambda x: x**3)(2.0) == 12.0
    check_grads(f, (X,), rules=True)


def square(x):
    return x * x


def changes(x):
    return x * x, lambda g: (np.multiply(x, 2.0, out=x), g * x)[1]


WRONG = {
    "gives the value": lambda x: (x * x + 1, lambda g: 2 * g * x),
    r"value of float64 of shape \(\)": lambda x: ((x * x).sum(), lambda g: 2 * g * x),
    "cotangent of float32": lambda x: (x * x, lambda g: (2 * g * x).astype(np.float32)),
    "changes its operands in the pullback": changes,
    "central differences": lambda x: (x * x, lambda g: g * x),
}


@pytest.mark.parametrize("what", WRONG)
def test_examples_are_checked_when_a_rule_is_defined(what):
    with debug_rules(), pytest.raises(WrongRule, match=rf"test_debug_rules.py:\d+ in .*square {what}|{what}"):
        custom_rule(square, examples=[(X.copy(),)])(WRONG[what])
    assert not ADContext.has_rules(square)


def test_examples_are_not_looked_at_otherwise():
    custom_rule(square, examples=[(X,)])(WRONG["central differences"])
    ADContext.unrule(square)


# -- by name -------------------------------------------------------------------------------------------------

LAZY = """
import sys
from ctxdispatch import ADContext, custom_rule, grad

@custom_rule("colorsys:rgb_to_yiq")
def _(r, g, b):
    return 1.0, lambda y: (5.0 * y, None, None)

@custom_rule("wave.Wave_read.setpos")
def _(reader, position):
    return position, lambda y: (None, y)

@custom_rule("operator:concat", "fractions:Fraction", float)
def _(a, b):
    return b, lambda y: (None, 7.0 * y)

assert not {"colorsys", "wave", "fractions"} & {*sys.modules} - {"fractions"}
import colorsys, operator, wave, fractions
half = fractions.Fraction(1, 2)
assert grad(lambda x: colorsys.rgb_to_yiq(x, 1.0, 1.0))(2.0) == 5.0
assert ADContext.has_rules(wave.Wave_read.setpos)
assert grad(lambda x: operator.concat(half, x))(2.0) == 7.0
"""


def test_rules_by_name_wait_for_the_import():
    subprocess.run([sys.executable, "-c", LAZY], check=True, timeout=120)


def test_names_that_are_none():
    with pytest.raises(AttributeError, match=r"test_debug_rules.py:\d+ .*math:nosuch"):
        custom_rule("math:nosuch")(lambda x: (x, None))
    with pytest.raises(DerivativeError, match="package.module:function"):
        custom_rule("nosuch")(lambda x: (x, None))
