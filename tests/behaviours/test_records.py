"""Structured arrays, views that show the same bytes as other numbers, array.array made of arrays."""

import array
import copy

import numpy as np
import pytest

from ctxdispatch import SparsityError, jacobian_sparsity
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


def _tuples_stored(x):
    r = np.zeros(4, [("a", "f8"), ("b", "f8", (2,)), ("text", "U3"), ("n", "i4")])
    r[1] = x[0], x * x, "one", 1
    r[2:] = [(x[1], x[::-1], "two", 2), (x[0] * x[1], 3.0, "three", 3)]
    r[0] = r[1]
    assert [*r["text"]] == ["one", "one", "two", "thr"] and r["n"].sum() == 7
    return r["a"].sum() * r["b"][0, 1] + (r["b"][:, 0] * r["a"]).sum()


def _one_value_stored(x):
    r = np.zeros(2, [("a", "f8"), ("b", "f8", (3,))])
    r[...] = x
    r[x > 1.0] = x[0]
    return r["a"] @ x + (r["b"] @ np.arange(3.0)) @ x**2


def _records_stored(x):
    r, s = _held(x), _held(x * x)
    r[[0, 1]] = s[[1, 0]]
    s[[1]] = 5.0
    np.copyto(s[:1], r[1:])
    return r["a"] @ x + r["b"] @ x**2 + s["a"] @ x


def _filled(x):
    r = np.zeros(2, FIELDS)
    r.fill((x[0], x[1]))
    return r["a"] @ x + (r["b"] ** 2).sum()


def _copied(copy):
    def f(x):
        r = _held(x, [("a", "f8"), ("b", [("c", "f8"), ("n", "i4")])])
        made = copy(r)
        r["a"] = 0.0
        return made["a"] @ np.arange(1.0, 1.0 + made.size) + made["b"]["c"][0] * x[1]

    return f


def _of_records(f):
    return lambda x: f(_held(x))["a"].sum()


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
    "tuples": _tuples_stored, "one value": _one_value_stored, "records of another": _records_stored,
    "filled": _filled,
    "some": _copied(lambda r: r[[1, 0, 1]]), "mask": _copied(lambda r: r[r["a"] > -9.0]),
    "copy": _copied(np.ndarray.copy), "np.array": _copied(np.array), "deepcopy": _copied(copy.deepcopy),
    "reshaped": _copied(lambda r: r[:, None].copy().T[0]),
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
    "concatenate": (_of_records(lambda r: np.concatenate([r, r])), "apply it to the fields"),
    "sort": (_of_records(np.sort), "apply it to the fields"),
    "where": (_of_records(lambda r: np.where([True, False], r, r)), "apply it to the fields"),
    "other fields": (_of_records(lambda r: r.astype([("a", "f4"), ("b", "f8")])), "apply it to the fields"),
    "stacked": (_of_records(lambda r: np.array([r, r])), "apply it to the fields"),
    "sorted in place": (_of_records(lambda r: r.sort() or r), "apply it to the fields"),
    "list": (lambda x: _held(x).tolist()[1][0], "apply it to the fields"),
    "record as a list": (lambda x: sum(_held(x)[1].tolist()), "tolist"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right(name):
    check(RIGHT[name])


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    check_refused(*REFUSED[name])


@pytest.mark.parametrize("f", [_tuples_stored, _filled, _stored_in_an_item])
def test_patterns_are_refused(f):
    with pytest.raises(SparsityError, match="depends on the inputs is stored into"):
        jacobian_sparsity(f, np.ones(2))
