"""Rows allow all that calls of what they are of are seen to do; `python -m tests.facts.probe` calls more."""

import pytest

from ctxdispatch.facts import fact, fact_of
from tests.facts import probe
from tests.facts.callables import NUMPY, PYTHON, Probed, callables, modules
from tests.facts.observing import Demand
from tests.facts.operands import POOL


@pytest.mark.parametrize("module", modules([*PYTHON, *NUMPY]))
def test_rows_allow_what_is_seen(module):
    with probe.quiet():
        outcomes = [probe.probe(probed, probe.SAMPLE) for probed in callables(module)]
    found = [fault for outcome in outcomes for fault in outcome.faults()]
    assert not found, "\n".join(found)


def _keeps(xs, x):
    xs.append(x)


def _stores(xs, x):
    xs[:] = [x]
    return xs


def _calls(f, x):
    return f(x)


def _holds(x, y):
    return [x, *y]


def _gives(it, x):
    def items():
        yield from it

    return items()


SEEN = {
    _keeps: {("stores", 0), ("keeps", 1)},
    _stores: {("stores", 0), ("keeps", 1), ("result", 0)},
    _calls: {("calls", 0)},
    _holds: {("result", 0), ("result", 1), ("iterates", 1), ("looks", 1)},
    _gives: {("result", 0), ("iterates", 0), ("looks", 0)},
}


@pytest.mark.parametrize("f", SEEN, ids=lambda f: f.__name__)
def test_what_is_done_is_seen(f):
    with probe.quiet():
        outcome = probe.probe(Probed(f"tests.{f.__name__}", f, POOL, []), 400)
    assert {(d.column, d.operand) for d in outcome.demands} >= SEEN[f]


def test_what_stores_calls_or_shares_needs_a_row():
    outcome = probe.Outcome(
        Probed("f", _calls, POOL, []), 1, {Demand("calls", 0): "", Demand("looks", 0, "__len__"): ""}
    )
    assert fact_of(_calls) is None
    assert [fault.split(":")[1] for fault in outcome.faults()] == [" no row"]


def test_a_row_allows_what_it_says():
    row = fact(stores="0 out", looks="1..", methods="len", result="item 2 key, holds **")
    assert probe.allows(row, Demand("stores", "out"))
    assert not probe.allows(row, Demand("stores", 1))
    assert probe.allows(row, Demand("looks", 3, "__len__"))
    assert not probe.allows(row, Demand("inside", 3, "__len__"))
    assert probe.allows(row, Demand("result", "key", "ITEM"))
    assert probe.allows(row, Demand("result", "other", "HOLDS COPIES"))
    assert not probe.allows(row, Demand("result", 2, "ITSELF"))
