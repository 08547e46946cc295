"""C functions that are called wrongly refuse it in their own words, also those that have handlers."""

import collections
import re

import pytest

from ctxdispatch import Context, overdub
from ctxdispatch.dispatch import protocols


class Idle(Context):
    """A rule for what nobody calls."""


@Idle.rule(collections.ChainMap.new_child)
def _(ctx, *args):
    raise AssertionError


class Items(list):
    def __len__(self):
        return super().__len__()


ARGUMENTS = [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), ([],), (Items(),), (Items(), 1), (Items(), 1, 2)]
FUNCTIONS = [f for f in protocols.HANDLERS if "ctxdispatch" not in str(getattr(f, "__module__", ""))]


def refusal(f, args, kwargs):
    try:
        f(*args, **kwargs)
    except Exception as error:
        return type(error), re.sub("0x[0-9a-f]+", "", str(error))
    return None


def test_the_table_is_there():
    assert {len, sum, getattr, isinstance, max, sorted, iter} <= {f for f in FUNCTIONS if callable(f)}


@pytest.mark.parametrize("f", FUNCTIONS, ids=str)
def test_what_it_says(f):
    for args in ARGUMENTS:
        for kwargs in {}, {"nobodys": 1}:
            under = refusal(lambda *a, **k: overdub(Idle(), lambda: f(*a, **k)), args, kwargs)
            assert under == refusal(f, args, kwargs), (args, kwargs)
