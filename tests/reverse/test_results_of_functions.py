"""What functions that stay calls return, where they call each other."""

from __future__ import annotations

import pytest

from ctxdispatch.passes import types as T
from ctxdispatch_contexts.programs.lifting import lifted
from ctxdispatch_contexts.programs.prepare import prepare
from ctxdispatch_contexts.programs.returns import Returns

FLOAT, INT = T.Exact(float), T.Exact(int)


def one_at_last(x, n):
    return 1 if n == 0 else itself_at_last(x, n - 1)


def itself_at_last(x, n):
    return x if n == 0 else one_at_last(x, n - 1)


def itself(x, n):
    return itself(x, n - 1) if n else x


def through_others(x, n):
    return itself_at_last(x, n) if n > 2 else through_others(x, n + 1)


def results(*functions):
    returns = Returns(
        lifted, lambda guard: None, frozenset(), lambda callee, types: None, prepare, lambda callee: False
    )
    return [returns(f, (FLOAT, INT), ()) for f in functions]


@pytest.mark.parametrize("first", [one_at_last, itself_at_last, through_others])
def test_what_one_returns_is_known_once_what_the_other_returns_is(first):
    """Whichever was asked for first: what is found while the other is under way is not kept."""
    assert results(first, one_at_last, itself_at_last, through_others) == [T.join(INT, FLOAT)] * 4


def test_a_function_that_calls_itself():
    assert results(itself, itself) == [FLOAT, FLOAT]
