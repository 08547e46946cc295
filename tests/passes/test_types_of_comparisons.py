"""What inference says of a comparison is what the comparison gives, whatever is compared and however much is
known of it: of shapes, dtypes and constants it is said beforehand, where none of the user's code runs."""

import itertools
import operator
import warnings

import numpy as np
import pytest

from ctxdispatch.passes import transfer
from ctxdispatch.passes.types import Any, Exact, Known, ListOf, TupleOf, is_literal, type_of
from tests.passes.covering import covers


class Odd:
    """Compares as it likes."""

    def __eq__(self, other):
        return np.arange(3.0)

    __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __hash__ = None


F, I = np.dtype("f8"), np.dtype("i4")
VALUES = [
    (), (3,), (3, 4), (3.0, 4), ("a", 1), (None,), ((1, 2), 3), (np.float64(3.0),), (np.float64(3.0), 4),
    (np.ones(1),), (Odd(),), [], [3], [3.0, 4.0], [np.float64(2.0)], [[1], [2]], [Odd()],
    3, 3.0, True, None, "a", 1j, b"b", np.float64(3.0), np.bool_(True), np.ones(2), F, I, float, int, "f8",
    np.float64,
]  # fmt: skip
OPERATORS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]


def forms(value):
    """What may be known of it."""
    if isinstance(value, (np.dtype, type)) or is_literal(value):
        yield Known(value)
    if type(value) is tuple:
        yield from map(TupleOf, itertools.product(*map(forms, value)))
        yield Exact(tuple)
    elif type(value) is list:
        yield from (ListOf(next(forms(value[0]))),) if value else ()
        yield Exact(list)
    elif not isinstance(value, type):
        yield type_of(value)


@pytest.mark.parametrize("f", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("one", range(len(VALUES)))
def test_comparisons(f, one):
    for a, b in ((VALUES[one], b) for b in VALUES):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = f(a, b)
        except (TypeError, ValueError):
            continue
        for types in itertools.product(forms(a), forms(b)):
            found = transfer.call(f, types)
            assert covers(found, result), (f, a, b, types, found)


@pytest.mark.parametrize("f", OPERATORS[:2], ids=lambda f: f.__name__)
@pytest.mark.parametrize("a, b", [((3,), (4,)), ((3, 4), (3,)), ([1], [2]), (F, float), (F, "f4"), ((), ())])
def test_equality_of_shapes_and_dtypes_is_a_bool(f, a, b):
    for types in itertools.product(forms(a), forms(b)):
        assert transfer.call(f, types) in (Exact(bool), Known(True), Known(False))


@pytest.mark.parametrize("times", [-1, 0, 1, 2, 20])
@pytest.mark.parametrize("value", [(), (3,), (3.0, "a")])
def test_tuples_repeated(value, times):
    for type_, count in itertools.product(forms(value), [Known(times), Exact(int)]):
        for args in ((type_, count), (count, type_)):
            assert covers(transfer.call(operator.mul, args), value * times)


DUNDER = ["__len__", "__array__", "__call__", "__hash__", "__doc__", "__iter__", "__class__", "__mro__"]


class Slotted:
    __slots__ = ("a",)


@pytest.mark.parametrize(
    "value", [3, 2.5, "s", (1,), [1], {}, np.ones(2), np.float64(1), None, Slotted(), Odd(), int]
)
@pytest.mark.parametrize("name", ["shape", "mT", "append", "real", "a", "nothing", *DUNDER])
def test_attributes_that_are_there(value, name):
    try:
        there = hasattr(value, name)
    except ValueError:
        there = None
    found = transfer.call(hasattr, (type_of(value), Known(name)))
    assert found in (Any, Exact(bool)) if there is None else covers(found, there)


@pytest.mark.parametrize(
    "value",
    [True, np.bool_(True), 3, 2**63, 2**70, np.int64(3), 2.5, (3, 4), (2**63, 1), (2**64, 1.0), [2**70], ()],
)
@pytest.mark.parametrize("f", [np.any, np.all, np.sum, np.prod, np.max, np.mean, np.cumsum, np.argmax])
def test_reductions_of_what_is_no_array(f, value):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = f(value)
    except (TypeError, ValueError):
        return
    for type_ in forms(value):
        assert covers(transfer.call(f, (type_,)), result)
