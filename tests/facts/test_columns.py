"""What rows and families say of values, not of operands: measured on some."""

import contextlib
import itertools
import math
import subprocess
import sys
import types

import numpy as np
import pytest

from ctxdispatch.facts import JOINS, MOVES, SAME_PLACES, UFUNC_OF, VALUE_FREE, with_rows
from ctxdispatch.facts.arity import fits
from ctxdispatch.ir.leaves import is_ours

VALUES = {
    bool: [True, False],
    int: [0, 1, -3, 10**6],
    float: [0.0, -0.0, -1.5, 1e308, math.inf, -math.inf, math.nan],
    complex: [0j, 1 + 2j, complex(math.nan, math.inf)],
    str: ["", "a"],
    types.NoneType: [None],
}
TOTAL = [(f, row.total) for f, row in with_rows() if row.total]


NEEDLESS = [f for f, row in with_rows() if row.needless and not is_ours(getattr(f, "__module__", None))]
ANYTHING = [np.ones(2), "a", None, 1.5, 2, [1.0], {}, object()]


@pytest.mark.parametrize("f", NEEDLESS, ids=lambda f: getattr(f, "__name__", ""))
def test_what_need_not_run_raises_nothing(f):
    for n in range(4):
        for operands in itertools.product(ANYTHING, repeat=n) if fits(f, n) else ():
            f(*operands)


def takes(f):
    for n in (1, 2):
        try:
            f(*[1.0] * n)
        except TypeError:
            continue
        yield n


@pytest.mark.parametrize("f, classes", TOTAL, ids=lambda f: getattr(f, "__name__", ""))
def test_nothing_is_raised_on_these_classes(f, classes):
    if hasattr(f, "__self__") and f.__name__ == "__new__":
        f = f.__self__
    values = [v for cls in classes for v in VALUES[cls]]
    counts = list(takes(f)) if f not in (min, max) else [2]
    assert counts
    for n in counts:
        for operands in itertools.product(values, repeat=n):
            f(*operands)


A, B = np.arange(12.0).reshape(3, 4) + 1.0, np.arange(12.0).reshape(3, 4) + 20.0
REST = {
    "reshape": [(4, 3)], "expand_dims": [0], "swapaxes": [0, 1], "moveaxis": [0, 1], "rollaxis": [1],
    "broadcast_to": [(2, 3, 4)], "repeat": [2], "tile": [2], "roll": [1], "take": [[0, 5]], "delete": [1],
    "astype": ["f4"],
}  # fmt: skip


@pytest.mark.parametrize("f", sorted(MOVES | SAME_PLACES, key=str), ids=lambda f: f.__qualname__)
def test_elements_are_moved(f):
    a = A if getattr(f, "__objclass__", None) is not np.generic else np.float64(3.0)
    if np.ndim(a) == 0 and f.__name__ in ("swapaxes", "diagonal", "reshape", "take"):
        return  # of numbers they raise
    out = f(a, *REST.get(f.__name__, []))
    assert set(np.ravel(out)) <= set(np.ravel(a))
    if f in SAME_PLACES:
        assert np.array_equal(out, a)


@pytest.mark.parametrize("f", sorted(JOINS, key=str), ids=lambda f: f.__qualname__)
def test_elements_are_joined(f):
    out = f([A, B])
    assert sorted(np.ravel(out)) == sorted([*np.ravel(A), *np.ravel(B)])


@pytest.mark.parametrize("f", UFUNC_OF, ids=lambda f: f.__name__)
def test_an_operator_is_its_ufunc_on_arrays(f):
    a, b = np.array([[7, 5], [3, 2]]), np.array([[2, 1], [1, 3]])
    operands = (a, b)[: UFUNC_OF[f].nin]
    assert np.array_equal(f(*operands), UFUNC_OF[f](*operands))


@pytest.mark.parametrize("f", sorted(VALUE_FREE, key=str), ids=lambda f: getattr(f, "__name__", ""))
def test_values_do_not_matter(f):
    told = []
    for a in (A, B):
        try:
            out = f(a) if f not in (id, hash) else 0
        except (TypeError, ValueError):
            return
        told.append(out.shape if isinstance(out, np.ndarray) else repr(out))
    assert told[0] == told[1]


LENGTHS = [f for f, row in with_rows() if row.lengths.has(0) and type(f) is not type]


@pytest.mark.parametrize("f", LENGTHS, ids=lambda f: f.__name__)
def test_lengths_say_how_long_the_result_is(f):
    more = [1.0] if f is np.full else []
    made = []
    for n in (2, 3):
        try:
            made.append(np.size(f((n,), *more) if f is np.indices else f(n, *more)))
        except TypeError:
            return  # `__new__`, which has the class first
    assert made[0] != made[1] or f is np.broadcast_shapes


def takes_arrays(f):
    owner = getattr(f, "__objclass__", None)
    return owner is np.ndarray or str(getattr(f, "__module__", "")).startswith(("numpy", "_operator"))


STORING = [f for f, row in with_rows() if row.stores.has(0) and takes_arrays(f)] + [np.add.at, setattr]
OTHERS = [1, (3, 2), [1, 0], "shape", "f4", None, np.ones(3), (1, (6,), np.dtype("f8"), False, bytes(48))]


def moves(f):
    """The layout of an array is another one after some call."""
    moved = False
    for n in (0, 1, 2):
        for operands in itertools.product(OTHERS, repeat=n):
            a = np.arange(6.0).reshape(2, 3)
            before = a.shape, a.strides, a.dtype
            with contextlib.suppress(Exception):
                f(a, *operands)
            moved |= (a.shape, a.strides, a.dtype) != before
    return moved


def test_the_layout_changes_where_a_row_says_so():
    """In a process of its own: memory is changed by C code that is called in ways which nobody means."""
    code = (
        "from ctxdispatch.facts import fact_of\n"
        "from tests.facts.test_columns import STORING, moves\n"
        "assert len(STORING) > 50\n"
        "print([f for f in STORING if moves(f) != fact_of(f).layout])"
    )
    told = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert (told.returncode, told.stdout) == (0, "[]\n"), told.stderr


VIEWS_FROM = [(f, row.views_from) for f, row in with_rows() if row.views_from]


@pytest.mark.parametrize("f, rank", VIEWS_FROM, ids=lambda f: getattr(f, "__name__", ""))
def test_of_fewer_dimensions_there_are_no_views(f, rank):
    for n in range(1, rank):
        for x in (np.ones((3,) * n), np.ones((3,) * n).view(Other), np.ones((1,) * n), np.ones((0,) * n)):
            assert not np.shares_memory(f(x), x) and f(x) is not x
    assert np.shares_memory(f(A), A)


class Other(np.ndarray):
    pass
