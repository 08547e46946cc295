"""Code that is not followed: what it changes is taken back or refused, and what C code runs of the user's is
refused at the user's line."""

import warnings

import numpy as np
import pytest

from ctxdispatch_contexts.sparsity import OpaqueCallWarning, SparsityError, jacobian_sparsity

X = np.array([1.0, 2.0, 3.0, 4.0])

LIST, ARRAY, DICT, SET, BYTES = [0.0, [1.0]], np.zeros(2), {"a": 1}, {1}, bytearray(b"ab")
ITERATOR = iter([1.0, 2.0, 3.0])
COUNT = 0


class Box:
    shared = 1

    def __init__(self):
        self.value, self.array = 1.0, np.zeros(2)


BOX = Box()


def pattern(f, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OpaqueCallWarning)
        return jacobian_sparsity(f, *args)


def snapshot():
    return repr([
        LIST, ARRAY, DICT, SET, BYTES, COUNT, Box.shared, vars(BOX), ITERATOR.__length_hint__(),
        sorted(vars(Box)),
    ])  # fmt: skip


def count(x):
    global COUNT
    COUNT = 7


CHANGES = {
    "list": lambda x: LIST.__setitem__(0, x[0]),
    "nested list": lambda x: LIST[1].append(2.0),
    "dict": lambda x: DICT.update(b=2),
    "set": lambda x: SET.add(2),
    "bytes": lambda x: BYTES.__setitem__(0, 3),
    "field": lambda x: setattr(BOX, "value", x[0]),
    "class": lambda x: setattr(Box, "shared", 3),
    "class gets more": lambda x: setattr(Box, "more", 3),
    "global": count,
    "iterator": lambda x: next(ITERATOR),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("fails", [False, True])
def test_what_changes_objects_unseen_is_refused_and_changes_nothing(change, fails):
    def f(x):
        try:
            change(x)
            assert not fails
        finally:
            pass
        return x * 1.0

    before = snapshot()
    with pytest.raises((SparsityError, AssertionError)) as caught:
        pattern(f, X)
    assert fails or caught.match("not looked into.*; (return what it computes instead|pass it a list)")
    assert snapshot() == before


def test_stores_into_arrays_unseen_are_taken_back():
    def f(x):
        try:
            x[0] = 1.0
            ARRAY[0] = x[1]
            BOX.array[1] = 2.0
        finally:
            pass
        return x * ARRAY[0]

    x, before = X.copy(), snapshot()
    assert pattern(f, x).toarray().all()
    assert snapshot() == before and (x == X).all()


def test_what_nothing_tracked_reaches_changes_what_it_changes_until_the_end():
    def change():
        try:
            LIST.append(2.0)
            BOX.value = 5.0
            ARRAY[0] = 3.0
        finally:
            pass

    def f(x):
        change()
        return x[: len(LIST)] * BOX.value * ARRAY[0]

    before = snapshot()
    assert pattern(f, X).nnz == 3
    assert snapshot() == before


class Point:
    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        return bool(self.v[0] == other.v[0])

    def __hash__(self):
        return hash(float(self.v.sum()))

    def __lt__(self, other):
        return bool(self.v[0] - other.v[0] < 0.0)

    def __str__(self):
        return f"{self.v[0]}"


def queue(x):
    import heapq

    heap = [Point(x[2:])]
    heapq.heappush(heap, Point(x[:2]))
    return heap[0].v * 1.0


BY_C = {
    "index": lambda x: [Point(x[:2]), Point(x[2:])].index(Point(x[2:])) * x,
    "count": lambda x: [Point(x[:2])].count(Point(x[2:])) * x,
    "a set": lambda x: x * len({Point(x[:2]), Point(x[2:])}),
    "a key": lambda x: {Point(x[:2]): x[2]}[Point(x[:2])] * 1.0,
    "lists": lambda x: x * ([Point(x[:2])] == [Point(x[2:])]),
    "tuples": lambda x: x * ((Point(x[:2]), 1) < (Point(x[2:]), 1)),
    "text": lambda x: x * len("%s" % Point(x[:2])),
    "heap": queue,
}  # fmt: skip


@pytest.mark.parametrize("f", BY_C.values(), ids=BY_C)
def test_what_c_code_runs_of_an_object_is_refused_at_the_line(f):
    with pytest.raises(SparsityError, match=r"(?s)test_unseen_code.py:\d+.*C code runs.*; write out"):
        pattern(f, X)
