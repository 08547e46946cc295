"""Calls of C code with a number of arguments that it does not take: the plain call's error, also where
nobody asks for the result, and within `try`, where the run is recorded."""

import operator

import numpy as np
import pytest

from ctxdispatch import grad, jacfwd
from ctxdispatch.facts import ARITHMETIC
from ctxdispatch_contexts.programs.arity import fits, least

X = np.array([1.5, 2.0])
CALLS = {
    "len": lambda x: len(x, x), "float": lambda x: float(1, 2), "max": lambda x: max(),
    "abs": lambda x: abs(x[0], 1), "sin": lambda x: np.sin(), "isinstance": lambda x: isinstance(x),
    "method": lambda x: (1.0).is_integer(3), "ufunc": lambda x: np.add(x),
    "item": lambda x: operator.getitem(x),
    "sum": lambda x: operator.add(x[0]), "three": lambda x: operator.add(x[0], 1, 2),
    "none": lambda x: operator.neg(), "store": lambda x: operator.setitem(x, 0),
    "order": lambda x: operator.lt(x[0]), "in place": lambda x: operator.iadd(x[0]),
    "contains": lambda x: operator.contains(x), "attribute": lambda x: getattr(x),
    "class": lambda x: type(), "set": lambda x: setattr(x, "a"),
}  # fmt: skip


@pytest.mark.parametrize("mode", [grad, jacfwd])
@pytest.mark.parametrize("name", CALLS)
def test_the_error_is_the_plain_one(name, mode):
    call = CALLS[name]

    def unread(x):
        call(x)
        return 2.0 * x[0]

    def recorded(x):
        try:
            call(x)
        finally:
            pass
        return 2.0 * x[0]

    with pytest.raises(TypeError) as plain:
        call(X)
    for f in (unread, recorded, lambda x: call(x) * x[0]):
        with pytest.raises(TypeError) as found:
            mode(f)(X)
        assert str(found.value) == str(plain.value)


def test_how_many_arguments_c_code_takes():
    assert fits(len, 1) and not fits(len, 2) and not fits(len, 0)
    assert fits(np.add, 2) and fits(np.add, 3) and not fits(np.add, 1)
    assert fits(sum, 2, ("start",)) and not fits(sum, 2, ("begin",))
    assert fits(dict, 0) and fits(max, 7)  # they do not say
    assert [least(f) for f in (len, operator.setitem, np.add, print, max)] == [1, 3, 2, 0, 1]
    assert all(least(f) in (1, 2) for f in ARITHMETIC)
