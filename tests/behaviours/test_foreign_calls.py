"""Calls of whatever Python's own C modules have, with what is differentiated anywhere among the operands:
right, refused, or the plain call's own error. `TESTS_MORE=50` tries so many times the sample."""

import gc

import numpy as np
import pytest

from tests.behaviours.foreign_calls import MORE, programs, verdict
from tests.behaviours.mutation_checks import both_modes

SAMPLE = 20
CONTENT = {"right", "refused", "undefined"}


@pytest.mark.parametrize("seed", range(3 * MORE))
def test_foreign_calls(seed):
    said = {source: verdict(source) for source in programs(seed, SAMPLE)}
    wrong = {s: v for s, v in said.items() if v and not {*v.values()} <= CONTENT}
    assert not wrong, "\n\n".join(f"{s}{v}" for s, v in wrong.items())
    answered = sum(v["recorded"] == "right" for v in said.values() if v)
    assert answered > SAMPLE // 2


class Held:
    def __init__(self, v):
        self.v = v


class Raised(Exception):
    pass


def asks_about(x, held):
    return x[1] if gc.is_tracked([x[0]]) and gc.is_tracked(held) else x[0]


def gives_what_it_is_given(x, held):
    (first,) = gc.get_referents([x[0]])
    return first * held.v


def raises_with(x, held):
    try:
        raise Raised(held)
    except Raised as raised:
        return raised.args[0].v * x[1]


@pytest.mark.parametrize("use", [asks_about, gives_what_it_is_given, raises_with], ids=lambda f: f.__name__)
def test_what_nothing_is_known_of_may_ask_and_hand_on(use):
    def f(x):
        return use(x, Held(x[0] * x[1])) * x[1]

    both_modes(f, np.array([3.0, 5.0]))
