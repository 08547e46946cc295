"""Emission gives back what was lifted: results, exceptions and their lines; and the code has the shape that is fast."""

import dis
import traceback

import pytest
from programs import CASES
from test_lift import outcome

from ctxdispatch.bytecode.emit import emit, make_function
from ctxdispatch.bytecode.lift import lift


def again(f):
    """`f` after lift and emit."""
    return make_function(lift(f), closure=f.__closure__ or (), defaults=f.__defaults__, kwdefaults=f.__kwdefaults__)


def opnames(f):
    return [i.opname for i in dis.get_instructions(f)]


@pytest.mark.parametrize(
    "f, args",
    [pytest.param(f, a, id=f"{f.__qualname__}-{n}") for f, cases in CASES for n, a in enumerate(cases)],
)
def test_the_round_trip_computes_the_function(f, args):
    assert outcome(again(f), *args) == outcome(f, *args)
