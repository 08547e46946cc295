"""What a recorded run has put into containers that nobody holds when it ends, though they hold one another,
is not left: programs that come later are compiled. What somebody holds is."""

import numpy as np
import pytest

from ctxdispatch import grad
from ctxdispatch_contexts.programs import left_names

X = np.array([0.7, -1.3])
KEPT = []


class Plain:
    pass


class Slotted:
    __slots__ = ("parts",)


def put(owner, value):
    if type(owner) in (Plain, Slotted):
        owner.parts = value
    elif type(owner) is dict:
        owner["parts"] = value
    else:
        owner.append(value)
    return owner


MAKERS = {"list": list, "dict": dict, "object": Plain, "slots": Slotted}


def program(outer, inner, captured, kept):
    def f(x):
        try:
            part = put(MAKERS[inner](), x * 2.0)
        finally:
            whole = put(MAKERS[outer](), part)
        if captured:
            found = [np.sum(x) for _ in range(2) if whole is not part]
        else:
            found = [np.sum(x)]
        if kept:
            KEPT.append(whole)
        return found[0] * 2.0

    return f


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("inner", MAKERS)
@pytest.mark.parametrize("outer", MAKERS)
def test_containers_of_containers(outer, inner, captured, kept):
    KEPT.clear()
    before = {*left_names._LEFT}
    assert grad(program(outer, inner, captured, kept))(X).tolist() == [2.0, 2.0]
    assert bool(left_names._LEFT.keys() - before) == kept


@pytest.mark.parametrize("kept", [False, True])
def test_a_list_that_holds_itself(kept):
    """It is there until the collector comes: what is in it may be read."""

    def f(x):
        try:
            part = [x * 2.0]
        finally:
            part.append(part)
        if kept:
            KEPT.append(part)
        return np.sum(part[0])

    KEPT.clear()
    before = {*left_names._LEFT}
    assert grad(f)(X).tolist() == [2.0, 2.0]
    assert not kept or left_names._LEFT.keys() - before
