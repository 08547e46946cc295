"""Programs that change what they work on, at random: never silently wrong."""

import itertools
import types

import mutating_programs
import pytest


@pytest.mark.every(4)
@pytest.mark.parametrize("block", range(5))
def test_random_programs_that_change_things(block):
    outcomes = {seed: mutating_programs.examine(seed) for seed in range(6 * block, 6 * block + 6)}
    wrong = {seed: outcome for seed, outcome in outcomes.items() if outcome.startswith("WRONG")}
    assert not wrong
    right = [seed for seed, outcome in outcomes.items() if outcome == "right"]
    assert len(right) >= 4, outcomes  # and most of them are differentiated


BLOCKS = [pytest.param(range(5 * n, 5 * n + 5), marks=pytest.mark.night) for n in range(4)]


@pytest.mark.parametrize("seeds", [(6,), *BLOCKS], ids=str)
def test_random_programs_that_store_to_arrays(seeds):
    outcomes = {seed: mutating_programs.examine(seed, "stores") for seed in seeds}
    wrong = {seed: outcome for seed, outcome in outcomes.items() if outcome.startswith("WRONG")}
    assert not wrong
    assert "right" in outcomes.values(), outcomes


@pytest.mark.night("things", "containers")
@pytest.mark.parametrize("kind", mutating_programs.WRITERS)
def test_programs_that_hypothesis_writes(kind):
    tally = mutating_programs.hypothesis_writes(12, kind)
    assert tally["right"] >= 6, tally


@pytest.mark.night
def test_nothing_is_drawn_by_the_clock(monkeypatch):
    """Hypothesis refuses draws that go by what was not drawn: the time is up between rounds."""
    ticks = itertools.count(step=3.0)  # a second reading is past the end after a round
    monkeypatch.setattr(mutating_programs, "time", types.SimpleNamespace(monotonic=lambda: next(ticks)))
    tally = mutating_programs.hypothesis_runs(minutes=8 / 60, seed=1, kind="things", at_once=4)
    assert tally.total() == 8
    assert next(ticks) == 12.0


def test_most_programs_of_things_run():
    chances = [mutating_programs.random.Random(seed) for seed in range(200)]
    outcomes = [_plain(mutating_programs.written(chance)) for chance in chances]
    assert outcomes.count("runs") > 190, outcomes


def _plain(source):
    try:
        mutating_programs.compiled(source, "<program>")(mutating_programs.point(0))
    except Exception as error:
        return repr(error)
    return "runs"
