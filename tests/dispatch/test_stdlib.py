"""Other people's code under contexts that touch everything: the results are those of the plain run."""

import base64
import collections
import copy
import dataclasses
import difflib
import enum
import fractions
import heapq
import json
import math
import pprint
import random
import re
import shlex
import statistics
import textwrap

import numpy as np
import pytest

from ctxdispatch.dispatch import Context, overdub
from ctxdispatch.dispatch.plan import KINDS


class Everything(Context):
    """Hooks and a fallback around every kind of operation there is."""

    calls: collections.Counter
    intercepts = tuple(KINDS)

    def prehook(self, f, args, kwargs):
        self.calls["pre"] += 1

    def posthook(self, out, f, args, kwargs):
        self.calls["post"] += 1

    def fallback(self, f, args, kwargs):
        return f(*args, **kwargs)


class Resolved(Context):
    """Every callee and operator by way of the engine, without hooks."""

    intercepts = tuple(KINDS)


@dataclasses.dataclass(order=True)
class Point:
    x: int
    y: float = 2.0


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Countdown:
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


def iteration():
    it = iter(Countdown(4))
    return next(it), list(it), next(it, "end"), [k for k in Countdown(3)], list(iter([1, 2].pop, 1))


PROGRAMS = {
    "json": lambda: json.JSONEncoder(indent=2).encode([1, {"x": (1, 2.5, None)}]),
    "textwrap": lambda: textwrap.fill("the quick brown fox jumps " * 5, 30),
    "statistics": lambda: (statistics.mean([1, 2, 3.5]), statistics.stdev([1, 2, 3, 4])),
    "fractions": lambda: fractions.Fraction(3, 4) + fractions.Fraction("1/3") * 2 - 1,
    "collections": lambda: collections.namedtuple("P", "x y")(1, y=2)._replace(x=5),
    "difflib": lambda: difflib.SequenceMatcher(None, "abcd", "bcde").ratio(),
    "heapq": lambda: heapq.nsmallest(2, [3, 1, 2], key=lambda v: -v),
    "copy": lambda: copy.deepcopy({"a": [1, (2, [3])]}),
    "random": lambda: random.Random(3).sample(range(100), 5),
    "re": lambda: re.sub(r"(\w+) (\w+)", lambda m: m.group(2) + m.group(1), "ab cd ef gh"),
    "base64": lambda: base64.b32encode(b"hello"),
    "shlex": lambda: shlex.split("a 'b c' d\\ e"),
    "pprint": lambda: pprint.pformat({"a": list(range(30)), "b": {"c": ("d",) * 10}}),
    "dataclasses": lambda: (sorted([Point(3), Point(1)]), dataclasses.replace(Point(1), y=3.0)),
    "enum": lambda: (Color(2), Color["RED"], list(Color)),
    "numpy": lambda: (np.linalg.norm(np.arange(6.0)), np.median([1, 3, 2]), np.vectorize(math.floor)([1.5])),
    "iteration": iteration,
}


@pytest.mark.filterwarnings("ignore::ctxdispatch.dispatch.NativeCallWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_the_plain_run(name):
    program = PROGRAMS[name]
    expected = repr(program())
    ctx = Everything(collections.Counter())
    assert repr(overdub(ctx, program)) == expected
    assert ctx.calls["pre"] >= ctx.calls["post"] > 0
    assert repr(overdub(Resolved(), program)) == expected
