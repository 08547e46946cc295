"""C functions that are called wrongly refuse it in their own words, also those that have handlers."""

import collections
import copy
import re

import pytest

from ctxdispatch import Context, overdub
from ctxdispatch.dispatch import protocols
from ctxdispatch.dispatch.plan import KINDS
from ctxdispatch.dispatch.protocols import paths
from ctxdispatch.ir.values import hashable


class Idle(Context):
    """A rule for what nobody calls."""


@Idle.rule(collections.ChainMap.new_child)
def _(ctx, *args):
    raise AssertionError


class Hooked(Context):
    """Everything is dispatched."""

    intercepts = (*KINDS,)

    def posthook(self, out, f, args, kwargs):
        pass


class Items(list):
    def __len__(self):
        return super().__len__()


ARGUMENTS = [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), ([],), (Items(),), (Items(), 1), (Items(), 1, 2)]
"""Each call is given a copy: some store to them."""

OF_FILES = frozenset(paths.HANDLERS)
"""A number is an open file to them, and 1 is standard output."""

def _name(f):
    """Without the address that is in the text of `list.__new__`."""
    return re.sub("type object at 0x[0-9a-f]+", str(getattr(f, "__self__", None)), str(f))


FUNCTIONS = sorted([
    f for f in protocols.HANDLERS
    if "ctxdispatch" not in str(getattr(f, "__module__", "")) and not (hashable(f) and f in OF_FILES)
], key=_name)  # fmt: skip


def refusal(f, args, kwargs):
    try:
        f(*copy.deepcopy(args), **kwargs)
    except Exception as error:
        return type(error), re.sub("0x[0-9a-f]+", "", str(error))
    return None


def test_the_table_is_there():
    assert {len, sum, getattr, isinstance, max, sorted, iter} <= {f for f in FUNCTIONS if callable(f)}


@pytest.mark.parametrize("f", FUNCTIONS, ids=_name)
@pytest.mark.parametrize("ctx", [Idle(), Hooked()], ids=["idle", "hooked"])
def test_what_it_says(f, ctx):
    for args in ARGUMENTS:
        for kwargs in {}, {"nobodys": 1}:
            under = refusal(lambda *a, **k: overdub(ctx, lambda: f(*a, **k)), args, kwargs)
            assert under == refusal(f, args, kwargs), (args, kwargs)


def test_what_assignments_say_of_classes_of_c_code():
    def add_to(a, b):
        a += b

    def power_of(a, b):
        a **= b

    for f in add_to, power_of:
        for args in (1, collections.deque()), (collections.OrderedDict(), 1), (1, "a"):
            under = refusal(lambda *a, f=f: overdub(Hooked(), f, *a), args, {})
            assert under == refusal(f, args, {}), args
