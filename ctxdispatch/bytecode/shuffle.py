"""How to bring stack entries to the top, in the fewest instructions.

Entries are small integers: `shuffle((0, 1), (0, 1), {1})` makes `b, a, b` of `a, b`, as a chained comparison
wants it, and gives SWAP 2, COPY 2. What is not there at the start is pushed: ("PUSH", entry).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

Move = tuple[str, int]
Stack = tuple[int, ...]

LIMIT = 20_000
"""States that are looked at before the search gives up."""


@cache
def shuffle(start: Stack, top: Stack, kept: frozenset[int]) -> tuple[tuple[Move, ...], Stack] | None:
    """The moves after which `top` is on top and the entries `kept` lie below in some order, and what lies
    there then; None where the search, which is breadth first, takes too long."""
    came: dict[Stack, tuple[Stack, Move] | None] = {start: None}
    queue = [start]
    wanted = Counter(top)
    wanted.update(kept)
    total = len(top) + len(kept)
    longest = max(len(start), total) + 1
    for stack in queue:
        if len(stack) == total and stack[len(kept) :] == top and kept.issubset(stack[: len(kept)]):
            return tuple(reversed([*_back(came, stack)])), stack
        if len(came) > LIMIT:
            return None
        for move, after in _moves(stack, wanted):
            if after not in came and len(after) <= longest:
                came[after] = stack, move
                queue.append(after)
    return None


def _moves(stack: Stack, wanted: Counter[int]) -> Iterator[tuple[Move, Stack]]:
    have = Counter(stack)
    for depth in range(2, len(stack) + 1):
        *below, top = stack
        below[-depth + 1], top = top, below[-depth + 1]
        yield ("SWAP", depth), (*below, top)
    if stack and have[stack[-1]] > wanted[stack[-1]]:
        yield ("POP_TOP", 0), stack[:-1]
    for entry, count in wanted.items():
        if have[entry] >= count:
            continue
        if entry in have:
            depth = stack[::-1].index(entry) + 1
            yield ("COPY", depth), (*stack, entry)
        else:
            yield ("PUSH", entry), (*stack, entry)


def _back(came: dict[Stack, tuple[Stack, Move] | None], stack: Stack) -> Iterator[Move]:
    step = came[stack]
    while step is not None:
        stack, move = step
        yield move
        step = came[stack]
