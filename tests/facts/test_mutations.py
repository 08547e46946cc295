"""A row with an entry less fails the probe. Which entries nothing shows says the probe with `--mutations`."""

import pytest

from ctxdispatch.facts import fact
from tests.facts import probe
from tests.facts.callables import callables
from tests.facts.mutations import judged, mutations


@pytest.mark.parametrize("modules", [["heapq", "bisect"], ["operator", "copy", "functools"]], ids=" ".join)
def test_each_entry_of_these_rows_is_shown(modules):
    with probe.quiet():
        found = [probe.probe(p, probe.WHOLE) for module in modules for p in callables(module)]
    shown = [{"entries": dict(judged(outcome))} for outcome in found]
    assert len({name for each in shown for name in each["entries"]}) > 10
    assert probe.not_shown(shown) == []


def test_a_mutation_is_the_row_without_one_entry():
    row = fact(stores="0 out", calls="1..", result="item 0 key")
    names = [name for name, _ in mutations(row)]
    assert names == ["stores 0", "stores out", "calls 1..", "result item 0", "result item key"]
    assert dict(mutations(row))["stores 0"] == row._replace(stores=fact(stores="out").stores)
