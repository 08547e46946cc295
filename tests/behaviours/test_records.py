"""Structured arrays, views that show the same bytes as other numbers, array.array made of arrays."""

import array

import numpy as np
import pytest

from tests.behaviours.protocol_checks import check, check_refused

FIELDS = [("a", "f8"), ("b", "f8")]


def _held(x, dtype=FIELDS):
    r = np.zeros(2, dtype)
    r["a"], r["b"] = x, x * x
    return r


def _item_of_item(x):
    return _held(x)[1]["b"] * x[0]


def _by_number(x):
    return _held(x)[1][1] * _held(x)[0][0]


def _stored_in_an_item(x):
    r = np.zeros(2, FIELDS)
    r[0]["a"], r[1][1] = x
    return r["a"] @ x + r["b"] @ x


def _array_in_an_item(x):
    r = np.zeros(2, [("a", "f8"), ("b", "f8", (2,))])
    r["a"] = x
    r[0]["b"][:] = x * 2.0
    r["b"][1] = r["a"] ** 2
    return r["b"].sum() * r[1]["a"] + r[0]["b"] @ x


def _unpacked(x):
    a, b = _held(x)[1]
    return a * b


def _gone_through(x):
    return sum(each["a"] * each["b"] for each in _held(x))


def _nested(x):
    r = np.zeros(2, [("a", "f8"), ("b", [("c", "f8")])])
    r["b"]["c"] = x
    return r[1]["b"]["c"] ** 2


def _shown_before(dtype):
    def f(x):
        y = np.zeros(2)
        shown = y.view(dtype)
        y[:] = x
        return float(shown[1])

    return f


def _shown_and_forgotten(x):
    y = np.zeros(2)
    assert y.view("i8")[1] == 0
    y[:] = x
    return y @ y


RIGHT = {
    "item": _item_of_item, "number": _by_number, "stored": _stored_in_an_item, "array": _array_in_an_item,
    "unpacked": _unpacked, "loop": _gone_through, "nested": _nested,
    "fields": lambda x: _held(x)[["a", "b"]][1]["b"],
    "rows": lambda x: np.array([(x[0], 1), (x[1], 2)], dtype=[("a", "f8"), ("i", "i4")])["a"] @ x,
    "row": lambda x: (lambda r: (r["a"] * r["b"])[()])(np.array((x[0], x[1]), dtype=FIELDS)),
    "recarray": lambda x: np.rec.fromarrays([x, x**2], names="a,b").b[1],
    "complex": lambda x: x.view(complex)[0].imag ** 2,
    "bits of a constant": _shown_and_forgotten,
    "records": lambda x: x.view(FIELDS)["b"][0] ** 2,
    "array.array": lambda x: sum(array.array("d", x)) * x[0],
    "array.array of a part": lambda x: array.array("d", x[1:])[0] ** 2,
    "array.array of a generator": lambda x: array.array("d", (v * v for v in x))[1],
    "array.array of a list": lambda x: array.array("d", [*x])[1] ** 2,
}  # fmt: skip


REFUSED = {
    "another precision": (lambda x: float(x.view("f4")[1]), "dtype float32"),
    "bits": (lambda x: float(x.view("i8")[1]), "dtype int64"),
    "before": (_shown_before("f4"), "dtype float32"),
    "bits before": (_shown_before("i8"), "dtype int64"),
    "record as a list": (lambda x: sum(_held(x)[1].tolist()), "tolist"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right(name):
    check(RIGHT[name])


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    check_refused(*REFUSED[name])
