"""How to bring stack entries to the top: in the fewest instructions where a search finds them soon, else in
about two per entry.

Entries are small integers: `shuffle((0, 1), (0, 1), {1})` makes `b, a, b` of `a, b`, as a chained comparison
wants it, and gives SWAP 2, COPY 2. What is not there at the start is pushed: ("PUSH", entry).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

Move = tuple[str, int]
Stack = tuple[int, ...]

LIMIT = 1_000
"""States that are looked at before the search gives up. Twenty times as many would save the hard cases one
instruction in seventy, and take a third of the time in which a program is rewritten."""


@cache
def shuffle(start: Stack, top: Stack, kept: frozenset[int]) -> tuple[tuple[Move, ...], Stack]:
    """The moves after which `top` is on top and the entries `kept` lie below in some order, and what lies
    there then."""
    found = _searched(start, top, kept)
    if found is not None:
        return found
    goal = (*(entry for entry in dict.fromkeys(start) if entry in kept), *top)
    return permuted(start, goal), goal


def _searched(start: Stack, top: Stack, kept: frozenset[int]) -> tuple[tuple[Move, ...], Stack] | None:
    """Breadth first; None where that takes too long."""
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
    if stack:
        *below, top = stack
        for at in range(len(stack) - 2, -1, -1):
            yield ("SWAP", len(stack) - at), (*below[:at], top, *below[at + 1 :], below[at])
        if stack.count(top) > wanted.get(top, 0):
            yield ("POP_TOP", 0), stack[:-1]
    for entry, count in wanted.items():
        have = stack.count(entry)
        if have >= count:
            continue
        if have:
            yield ("COPY", stack[::-1].index(entry) + 1), (*stack, entry)
        else:
            yield ("PUSH", entry), (*stack, entry)


def permuted(start: Stack, goal: Stack) -> tuple[Move, ...]:
    """The moves from `start` to `goal`: what is wanted no more goes, then the shortest beginning of `goal` in
    which all that is left occurs is completed and put in order, and the rest comes on top of it."""
    stack = [*start]
    moves: list[Move] = []
    for entry in (Counter(start) - Counter(goal)).elements():
        moves += [*_swapped(stack, stack.index(entry)), ("POP_TOP", 0)]
        stack.pop()
    lengths = range(len(stack), len(goal) + 1)
    ordered = next(n for n in lengths if not Counter(stack) - Counter(goal[:n]))
    missing = Counter(goal[:ordered]) - Counter(stack)
    moves += [_added(stack, entry) for entry in missing.elements()]
    moves += _in_order(stack, goal[:ordered])
    return (*moves, *(_added(stack, entry) for entry in goal[ordered:]))


def _added(stack: list[int], entry: int) -> Move:
    move = ("COPY", stack[::-1].index(entry) + 1) if entry in stack else ("PUSH", entry)
    stack.append(entry)
    return move


def _in_order(stack: list[int], goal: Stack) -> Iterator[Move]:
    """Each swap brings the top to its place; where the top is in its own, another that is not comes up."""
    while wrong := [at for at, entry in enumerate(goal) if stack[at] != entry]:
        yield from _swapped(stack, next((at for at in wrong if goal[at] == stack[-1]), wrong[0]))


def _swapped(stack: list[int], at: int) -> Iterator[Move]:
    """The entry at this place comes to the top, the top there."""
    if at < len(stack) - 1:
        yield "SWAP", len(stack) - at
        stack[at], stack[-1] = stack[-1], stack[at]


def _back(came: dict[Stack, tuple[Stack, Move] | None], stack: Stack) -> Iterator[Move]:
    step = came[stack]
    while step is not None:
        stack, move = step
        yield move
        step = came[stack]
