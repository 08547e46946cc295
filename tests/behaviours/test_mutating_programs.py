"""Programs that change what they work on, at random: never silently wrong."""

import mutating_programs
import pytest


@pytest.mark.parametrize("block", range(5))
def test_random_programs_that_change_things(block):
    outcomes = {seed: mutating_programs.examine(seed) for seed in range(6 * block, 6 * block + 6)}
    wrong = {seed: outcome for seed, outcome in outcomes.items() if outcome.startswith("WRONG")}
    assert not wrong
    right = [seed for seed, outcome in outcomes.items() if outcome == "right"]
    assert len(right) >= 4, outcomes  # and most of them are differentiated


@pytest.mark.parametrize("block", range(4))
def test_random_programs_that_store_to_arrays(block):
    seeds = range(5 * block, 5 * block + 5)
    outcomes = {seed: mutating_programs.examine(seed, "stores") for seed in seeds}
    wrong = {seed: outcome for seed, outcome in outcomes.items() if outcome.startswith("WRONG")}
    assert not wrong
    assert "right" in outcomes.values(), outcomes


@pytest.mark.parametrize("kind", mutating_programs.WRITERS)
def test_programs_that_hypothesis_writes(kind):
    tally = mutating_programs.hypothesis_writes(12, kind)
    assert tally["right"] >= 6, tally
