"""Moves of the interpreter's stack: played, they give what they are for."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ctxdispatch.bytecode.shuffle import permuted, shuffle


def played(start, moves):
    stack = [*start]
    for name, arg in moves:
        if name == "SWAP":
            stack[-arg], stack[-1] = stack[-1], stack[-arg]
        elif name == "COPY":
            stack.append(stack[-arg])
        elif name == "PUSH":
            assert arg not in stack
            stack.append(arg)
        else:
            assert name == "POP_TOP"
            stack.pop()
    return tuple(stack)


STARTS = st.lists(st.integers(0, 5), max_size=6).map(tuple)
GOALS = st.lists(st.integers(0, 8), max_size=10).map(tuple)


@settings(deadline=None)
@given(STARTS, GOALS)
def test_any_stack_becomes_any_other(start, goal):
    moves = permuted(start, goal)
    assert played(start, moves) == goal
    assert sum(name == "SWAP" for name, _ in moves) <= 1.5 * len(goal) + len(start)


def test_where_the_search_takes_too_long_there_are_moves_too():
    start, top, kept = tuple(range(6)), (*range(20, 5, -1), 2, 0), frozenset({1, 3, 4, 5, 0})
    moves, stack = shuffle(start, top, kept)
    assert played(start, moves) == stack
    assert stack[-len(top) :] == top and {*stack[: -len(top)]} == kept


def test_what_is_copied_to_be_kept_and_constants_need_one_instruction_each():
    moves, stack = shuffle((0, 1, 2), tuple(range(12)), frozenset({2}))
    assert stack == (2, *range(12)) and [name for name, _ in moves[:3]] == ["SWAP", "SWAP", "COPY"]
    assert moves[3:] == tuple(("PUSH", k) for k in range(3, 12))
