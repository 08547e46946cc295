"""Rules of outer contexts for Python functions that a context further in, or `grad`, rewrote: a warning."""

import math
import warnings

import numpy as np
import pytest

from ctxdispatch import Context, grad, overdub
from ctxdispatch.dispatch import HiddenRuleWarning


def helper(x):
    return math.sqrt(x) + 1.0


def program(x):
    return helper(x) * 2.0


class Follows(Context):
    intercepts = ("call",)

    def prehook(self, f, args, kwargs):
        pass


def mocking():
    class Mock(Context):
        pass

    Mock.rule(helper)(lambda ctx, x: 99.0)
    Mock.rule(math.exp)(lambda ctx, x: 99.0)
    return Mock()


def test_a_context_further_in_is_told_of():
    with pytest.warns(HiddenRuleWarning, match=r"Mock for .*helper does not run.*innermost") as caught:
        assert overdub(mocking(), overdub, Follows(), program, 4.0) == 6.0
    assert len(caught) == 1 and caught[0].filename == __file__


def test_a_gradient_is_told_of():
    with pytest.warns(HiddenRuleWarning, match=r"helper does not run"):
        assert overdub(mocking(), grad(program), 4.0) == 0.5


def test_none_where_rules_run():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert overdub(Follows(), overdub, mocking(), program, 4.0) == 198.0
        assert overdub(mocking(), program, 4.0) == 198.0
        assert overdub(mocking(), grad(lambda x: x * x), 3.0) == 6.0


def test_none_of_a_recorded_run_within_another():
    def stored(x):
        kept = [np.ones(3)]
        kept[0][:] = x
        np.multiply(kept[0], x, out=kept[0])
        return kept[0].sum()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert grad(lambda x: grad(stored)(x).sum())(np.ones(3)).tolist() == [2.0] * 3
