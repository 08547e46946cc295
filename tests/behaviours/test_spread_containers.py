"""`f(p, *batch, **options)` of tuples, lists and dicts that are given: as f(p, a, b, k=c), whatever they hold
by the time they are spread, and as many items and the keys that they have then."""

import numpy as np
import pytest

from ctxdispatch import grad, jvp
from ctxdispatch_contexts.programs.entry import compiled

A, B, C = np.array([1.0, 2.0]), np.array([3.0, -1.0]), np.array([[1.0, 2.0], [0.5, 3.0]])


def several(*args, scale=1.0, **more):
    s = 0.0
    for i, a in enumerate(args):
        s = s + (i + 1.0) * np.sum(np.sin(a))
    for i, name in enumerate(more):
        s = s + (i + 2.0) * np.sum(more[name] ** 2)
    return s * scale


def three(a, b, c=2.0):
    return np.sum(np.sin(a) * b) * np.sum(c)


def star(x, items, options):
    return three(x, *items)


def stars(x, items, options):
    return several(*items, x, *items[:1], *items[1:])


def displayed(x, items, options):
    a, b, *c = (x, *items, x)
    return np.sum(a * b) * np.sum(c[-1] ** 2)


def keywords(x, items, options):
    return three(x, **options)


def both(x, items, options):
    return several(x, *items, **options, last=x)


def any_keywords(x, items, options):
    return several(x, **options)


def both_twice(x, items, options):
    return several(**options, **{"x": x}, scale=3.0)


def values(x, items, options):
    s = 0.0
    for value in options.values():
        s = s + (np.tanh(value) * 5.0 if type(value) is float else value)
    return np.sum(s * x)


def changed_between(x, items, options):
    def change():
        items[0] = items[0] * 2.0
        return items[-1]

    head = items[:1]
    items[0] = items[0] + 1.0
    return several(*head, *items[1:], change(), *items) * np.sum(x)


def longer_meanwhile(x, items, options):
    def add():
        items.append(x)
        options["more"] = x * x
        return x

    return several(*items, add(), *items, **options)


PROGRAMS = [star, stars, displayed, keywords, both, any_keywords, both_twice, values]
PROGRAMS += [changed_between, longer_meanwhile]
ITEMS = {
    "tuple": lambda: (A, B),
    "list": lambda: [A, 2.0],
    "other kinds": lambda: [2.0, A],
    "one": lambda: [A],
    "more": lambda: [A, 3.0, C, 1.0],
    "none": lambda: [],
    "an array": lambda: C * 1.0,
    "an iterator": lambda: iter([A, B]),
}
OPTIONS = {
    "two": lambda: {"b": A, "c": 2.0},
    "in another order": lambda: {"c": 2.0, "b": A},
    "one more": lambda: {"b": A, "c": 2.0, "d": 3.0},
    "one less": lambda: {"b": A},
    "other kinds": lambda: {"b": 2.0, "c": A},
    "a key twice": lambda: {"a": A, "b": 2.0, "x": B},
    "no text": lambda: {"b": A, 1: A},
    "a mapping": lambda: type("M", (), {"keys": lambda s: ["c", "b"], "__getitem__": lambda s, k: A * 3.0})(),
}


def central(f, x, h=1e-6):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2.0 * h) for e in np.eye(len(x))])


@pytest.mark.parametrize("f", [star, displayed, keywords])
def test_they_are_compiled(f):
    before = compiled.get(f.__name__, 0)
    grad(f)(B, [A, 2.0], {"b": A, "c": 2.0})
    assert compiled.get(f.__name__, 0) == before + 1


def state(given):
    return [repr(each) if type(each) in (list, tuple, dict) else type(each).__name__ for each in given]


CASES = [(i, o) for i in ITEMS for o in ("two",)] + [("list", o) for o in OPTIONS]


@pytest.mark.every(4)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_each_call_has_what_it_is_given(f):
    """The derivatives are those of one function, which is called with all of these."""
    gradient = grad(f)
    for items, options in [*CASES, *reversed(CASES)]:
        given = lambda i=items, o=options: (ITEMS[i](), OPTIONS[o]())  # noqa: E731
        try:
            f(B, *given())
        except Exception as error:
            with pytest.raises(type(error)):
                gradient(B, *given())
            continue
        want = central(lambda x, given=given: f(x, *given()), B)
        left, plain = given(), given()
        assert np.allclose(gradient(B, *left), want, atol=1e-6), (items, options)
        f(B, *plain)
        assert state(left) == state(plain)
        rate = jvp(lambda x, given=given: f(x, *given()), (B,), (A,))[1]
        assert np.allclose(rate, np.sum(want * A), atol=1e-6)


def test_the_keys_of_a_dict_are_asked_for():
    """A loop over what a dict of one key held had no place for another kind of value."""
    gradient = grad(values)
    assert np.allclose(gradient(B, (), {"a": A}), A)
    assert np.allclose(gradient(B, (), {"a": A, "b": 0.5}), A + 5.0 * np.tanh(0.5))
