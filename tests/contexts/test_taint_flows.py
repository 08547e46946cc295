"""Where labels go: operands that are not moved, exceptions, patterns, memory, callbacks of NumPy."""

import collections
import functools
import itertools
import operator
import sys

import numpy as np
import pytest

from ctxdispatch import overdub
from ctxdispatch.contexts import TaintContext
from ctxdispatch_contexts.tainting import Labels, all_labels, sources, taints


class Wrong(Exception):
    def __init__(self, what, code):
        super().__init__(what)
        self.code = code


class Celsius(float):
    def __init__(self, value):
        self.text = str(value)


# -- operands that are not moved -------------------------------------------------------------------

HOW = {
    "enumerate": (lambda x: [*enumerate("a", x)], 2),
    "enumerate start": (lambda x: [*enumerate("a", start=x)], 2),
    "sorted": (lambda x: sorted([3, 1], reverse=x), True),
    "sort": (lambda x: (lambda a: (a.sort(reverse=x), a)[1])([3, 1]), True),
    "islice": (lambda x: [*itertools.islice("abc", x)], 2),
    "product": (lambda x: [*itertools.product("ab", repeat=x)], 2),
    "repeat": (lambda x: [*itertools.repeat(1, x)], 2),
    "deque": (lambda x: [*collections.deque([1, 2], x)], 1),
    "deque maxlen": (lambda x: [*collections.deque([1, 2], maxlen=x)], 1),
    "combinations": (lambda x: [*itertools.combinations("ab", x)], 1),
    "accumulate": (lambda x: [*itertools.accumulate([1], initial=x)][-1], 1),
    "fillvalue": (lambda x: [*itertools.zip_longest([1], [1, 2], fillvalue=x)][1][0], "ab"),
    "fromkeys": (lambda x: dict.fromkeys("a", x)["a"], 1),
    "reduce": (lambda x: functools.reduce(operator.add, [1], x), 1),
    "attrgetter": (lambda x: operator.attrgetter(x)(3), "real"),
    "getter": (lambda x: operator.itemgetter(x)([1, 2]), 1),
    "keyword": (lambda x: (lambda **k: k["a"])(**{x: 1}), "a"),
    "keywords": (lambda x: dict(**x)["a"], {"a": 1}),
    "reversed range": (lambda x: [*reversed(range(x))], 2),
    "reversed array": (lambda x: [*reversed(x)], np.arange(2.0)),
    "values": (lambda x: sum({"a": x}.values()), 2),
    "eval": (lambda x: eval(x), "1 + 1"),
    "subclass of float": (lambda x: Celsius(x) + 1, 2.0),
    "live": (lambda x: [v for v in itertools.chain(x, [])], [1]),
}  # fmt: skip


def each(labels):
    return [labels] if isinstance(labels, Labels) else [part for item in labels for part in each(item)]


@pytest.mark.parametrize("name", HOW)
def test_what_says_how_labels_what_comes_out(name):
    f, value = HOW[name]
    result, labels = taints(f, value)
    assert all(found == {"x"} for found in each(labels)) and each(labels)


def test_keywords_have_the_labels_of_their_names_one_by_one():
    result, labels = taints(lambda x: dict(**{x: 1}, b=2), "a")
    assert result == {"a": 1, "b": 2} and labels == {"a": {"x"}, "b": set()}


# -- exceptions ------------------------------------------------------------------------------------


def told(f, *args):
    try:
        f(*args)
    except Exception as error:
        return error.args[0], str(error), f"{error}"


SAYS = {
    "key": (lambda x: told(operator.getitem, {}, x), 0), "number": (lambda x: told(int, x), "zz"),
    "raised": (lambda x: told(operator.call, lambda: _raise(ValueError(x))), "no"),
    "own": (lambda x: told(operator.call, lambda: _raise(Wrong(x, 1))), "no"),
    "division": (lambda x: told(operator.truediv, 1, x), 0),
    "method": (lambda x: told([1].index, x), 5), "attribute": (lambda x: told(getattr, 3, x), "none"),
}  # fmt: skip


def _raise(error):
    raise error


@pytest.mark.parametrize("name", SAYS)
def test_an_exception_tells_of_the_operands(name):
    f, value = SAYS[name]
    result, labels = taints(f, value)
    assert result == f(value) and labels == ({"x"},) * 3


def test_what_an_exception_is_told_keeps_its_own_labels():
    def f(x, y):
        error = KeyError(x, y)
        return error.args[0], error.args[1], Wrong(x, y).code, StopIteration(y).value

    assert taints(f, 1, 2).labels == ({"x"}, {"y"}, {"x", "y"}, {"y"})


def test_an_exception_that_was_handled_is_not_kept():
    class Local:
        pass

    def fails(x):
        local = Local()
        alive.append(sys.getrefcount(local))
        return {}[x]

    def f(x):
        for _ in range(50):
            try:
                fails(x)
            except KeyError:
                pass

    alive, ctx = [], TaintContext()
    overdub(ctx, f, ctx.label(0, "x"))
    assert len(ctx._marks._raised) <= 2


# -- patterns --------------------------------------------------------------------------------------


def matched(value):
    match value:
        case {"kind": "circle", "r": r}:
            return r
        case [first, *_]:
            return first
        case int(n):
            return n
        case Celsius(text=text):
            return text
    return None


@pytest.mark.parametrize("value", [{"kind": "circle", "r": 2}, [1, 2], 3, Celsius(2.0)])
def test_a_pattern_looks_at_the_value(value):
    result, labels = taints(lambda x: [matched(v) for v in [x[0]]][0], [value])
    assert result == matched(value) is not None and labels == {"x"}


# -- memory and NumPy ------------------------------------------------------------------------------


def by_view(x):
    a = np.zeros(3)
    memoryview(a)[0] = x
    return a


def by_view_of_bytes(x):
    raw = bytearray(3)
    memoryview(raw)[1:][0] = x
    return raw


def out_of_a_view(x):
    a = np.zeros(3)
    view = memoryview(a)
    a[0] = x
    return view[0]


def by_iterator(x):
    a = np.zeros((2, 2))
    for e in np.nditer(a, op_flags=["readwrite"]):
        e[...] = x
    return a


def by_part_of_iterator(x):
    a = np.zeros(2)
    with np.nditer([a, np.arange(2.0)], op_flags=[["readwrite"], ["readonly"]]) as items:
        for e, _ in items:
            e += x
    return a


@pytest.mark.parametrize("f", [by_view, by_view_of_bytes, out_of_a_view, by_iterator, by_part_of_iterator])
def test_what_is_written_into_memory_is_there_for_all_who_see_it(f):
    assert sources(f)(2) == {"x"}
    assert np.array_equal(taints(f, 2).result, f(2))


CALLBACKS = {
    "apply_along_axis": lambda x: np.apply_along_axis(lambda v: v * x, 0, np.ones(2)),
    "apply_over_axes": lambda x: np.apply_over_axes(lambda a, k: a.sum(k, keepdims=True) * x, np.eye(2), [0]),
    "piecewise": lambda x: np.piecewise(np.ones(2), [[True, False]], [lambda v: v * x, 2]),
    "vectorize": lambda x: np.vectorize(lambda v: v * x)(np.ones(2)),
}


@pytest.mark.parametrize("name", CALLBACKS)
def test_functions_that_numpy_calls_return_numbers(name):
    f = CALLBACKS[name]
    result, labels = taints(f, 3)
    assert result.dtype == f(3).dtype and np.array_equal(result, f(3))
    assert {"x"} in labels.flat


def test_an_element_that_an_iterator_gave_has_the_labels_of_the_array():
    ctx = TaintContext()
    a = ctx.label(np.arange(2.0), "a")
    made = overdub(ctx, lambda a: [float(e) for e in np.nditer(a)], a)
    assert [all_labels(ctx, v) for v in made] == [{"a"}, {"a"}]
