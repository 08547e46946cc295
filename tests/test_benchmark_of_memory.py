"""The benchmark of peak memory measures what it says, and gradients keep no more than one by hand would."""

import pytest

from benchmarks import memory, table


def test_peaks_are_those_of_what_is_allocated():
    held = []
    assert 2**20 <= memory.traced(lambda: bytearray(2**20)) < 2**20 + 10_000
    assert memory.resident(lambda: held.append(bytearray(b"x" * 2**24))) >= 2**24


@pytest.mark.parametrize("workload", [w.name for w in memory.all_workloads()])
def test_gradients_take_little_more_than_by_hand(workload):
    found = memory.measure(workload, ("hand", "ours"))
    assert found["ours"]["traced"] < 3 * found["hand"]["traced"], found
    rows = table.memory_table({workload: found}, "traced", ("hand", "ours"), memory.TARGETS["traced"])
    assert rows[1][0] == workload and rows[1][1].endswith(" MiB")


def test_what_is_not_there_is_said():
    assert isinstance(memory.in_fresh_process("nonsense", "1,000 steps"), str)
