"""Iterators are made here, what they read changes, and then their items are taken: generator expressions,
generators, `map`, `filter`, functions of itertools. Nothing of them runs before the first item is taken."""

import functools  # noqa: F401
import itertools  # noqa: F401
import math  # noqa: F401
import operator  # noqa: F401

import numpy as np
import pytest

from ctxdispatch import explain
from ctxdispatch_contexts.forward import jvp
from ctxdispatch_contexts.programs.errors import MissingRuleError
from ctxdispatch_contexts.reverse import grad, value_and_grad
from ctxdispatch_contexts.sparsity import SparsityError, jacobian_sparsity


def square(v):
    return v * v


def is_small(v):
    return v < 100.0


def squares(items):
    for item in items:
        yield item * item


def change(items, x):
    items[0] = x * x * x


class Held:
    pass


_MAKERS = {
    "expression": "(v * v for v in q)",
    "read": "(q[0] * k for k in (1.0, 2.0))",
    "length": "(x * len(q) for k in (1.0, 2.0))",
    "condition": "(v for v in q if v < q[0] * 2.5)",
    "two_loops": "(v * w for v in q for w in q)",
    "function": "squares(q)",
    "local": "local(q)",
    "closure": "closed()",
    "map": "map(square, q)",
    "map_lambda": "map(lambda k: k * q[0], (1.0, 2.0))",
    "map_two": "map(operator.mul, q, q)",
    "filter": "filter(is_small, q)",
    "chain": "itertools.chain(q, [1.0])",
    "islice": "itertools.islice(q, 3)",
    "accumulate": "itertools.accumulate(q)",
    "takewhile": "itertools.takewhile(is_small, q)",
    "starmap": "itertools.starmap(operator.mul, zip(q, q))",
    "iter": "iter(q)",
    "values": "(v * 1.5 for v in dict(enumerate(q)).values())",
}
_CHANGES = {
    "append": "q.append(x * 3.0)",
    "store": "q[0] = x * x",
    "insert": "q.insert(0, x * x)",
    "pop": "q.pop()",
    "whole": "q[:] = [x * x]",
    "helper": "change(q, x)",
    "branch": "\n    if x > 0.0:\n        q.append(x * x)",
    "loop": "\n    for i in range(2):\n        q[i] = q[i] * x",
    "rebound": "q = [x * x, x]",
    "none": "pass",
}
_TAKERS = {
    "sum": "sum(g)",
    "of_list": "sum(list(g))",
    "last": "list(g)[-1]",
    "max": "max(g)",
    "sorted": "sorted(g)[0]",
    "unpacked": "(lambda a, *rest: a + len(rest))(*g)",
    "loop": "looped(g)",
    "reduce": "functools.reduce(lambda a, v: a + v * v, g)",
    "extend": "extended(g)",
    "next": "next(g)",
    "dict": "dict(enumerate(g))[0]",
    "array": "np.sum(np.array(list(g)))",
    "fsum": "math.fsum(g)",
    "helper": "(lambda h: sum(h) * 2.0)(g)",
}
_TEXT = """
def looped(g):
    r = 0.0
    for v in g:
        r = r + v * v
    return r

def extended(g):
    r = [1.0]
    r.extend(g)
    return sum(r)

def f(x):
    {before}
    def local(items):
        for item in items:
            yield item * x
    def closed():
        for item in {source}:
            yield item * x
    g = {maker}
    {change}
    return {taker}
"""


_LIST = {"before": "q = [x, x * 2.0]", "source": "q"}


def made(**parts):
    text = _TEXT.format(**{**_LIST, **parts})
    namespace = {**globals(), "__name__": __name__}
    exec(text, namespace)
    return namespace["f"]


def outcome(run):
    try:
        return run()
    except (StopIteration, IndexError, ValueError, RuntimeError, KeyError, MissingRuleError) as error:
        return type(error)


def check(f, x=1.5, refused=False):
    """`refused`: it may be, where it stands."""
    expected = outcome(lambda: f(x))
    step = 1e-6
    slope = None if isinstance(expected, type) else (f(x + step) - f(x - step)) / (2 * step)
    for _ in range(2):
        for run in (lambda: value_and_grad(f)(x), lambda: jvp(f, (x,), (1.0,))):
            found = outcome(run)
            if refused and found is MissingRuleError:
                continue
            if slope is None:
                assert found is expected
            else:
                assert np.isclose(found[0], expected) and np.isclose(found[1], slope, rtol=1e-4)


@pytest.mark.every(90)
@pytest.mark.parametrize("taker", _TAKERS)
@pytest.mark.parametrize("change", _CHANGES)
@pytest.mark.parametrize("maker", _MAKERS)
def test_items_are_made_when_they_are_taken(maker, change, taker):
    # of a list that nobody else has any more, recorded runs do not know the iterator
    f = made(maker=_MAKERS[maker], change=_CHANGES[change], taker=_TAKERS[taker])
    check(f, refused=change == "rebound" and taker in ("next", "fsum"))


_OTHERS = {
    "field": ("o = Held(); o.v = x", "(o.v * k for k in (1.0, 2.0))", "o.v = x * x"),
    "entry": ("d = {'k': x}", "(d['k'] * k for k in (1.0, 2.0))", "d['k'] = x * x"),
    "keys": ("d = {'a': x}", "(d[k] * 2.0 for k in d)", "d['a'] = x * x"),
    "items": ("d = {'a': x, 'b': 2.0}", "(v * len(k) for k, v in d.items())", "d['b'] = x * x"),
    "array": ("a = np.array([x, 1.0])", "(k * a.sum() for k in (x, 2.0))", "a *= 2.0"),
    "element": ("a = np.array([x, 1.0])", "map(lambda k: k * a[0], (x, 2.0))", "a[0] = x * 3.0"),
    "variable": ("y = x; h = lambda k: k * y", "map(h, (1.0, 2.0))", "y = x * x"),
    "bound_later": ("", "(k * x for k in (1.0, 2.0, 3.0) if k > t)", "t = 1.5"),
    "taken_from": ("s = [x]", "(s.pop() * k for k in (1.0, 2.0))", "s.append(x * x)"),
    "in_order": ("s = []; h = lambda k: s.append(k) or k * x", "(h(k) for k in (x, 2.0))", "s.append(x * 5)"),
}


@pytest.mark.parametrize("taker", [t for t in _TAKERS if t != "next"])
@pytest.mark.parametrize("kind", _OTHERS)
def test_so_is_what_is_read_besides(kind, taker):
    before, maker, change = _OTHERS[kind]
    taken = _TAKERS[taker]
    if kind == "in_order":
        taken = f"{taken} + sum([i * v for i, v in enumerate(s)])"
    before = before or "pass"
    check(made(before=before, source="(x,)", maker=maker, change=change, taker=taken))


def test_what_takes_them_may_change_what_they_read():
    def f(x):
        o = Held()
        o.v = x

        def bump(a, v):
            o.v += v
            return o.v * a

        return functools.reduce(bump, (o.v * k for k in (1.0, 2.0, 3.0)))

    def g(x):
        o = Held()
        o.v = x

        def taking(items):
            o.v = x * x
            return sum(items)

        return taking(o.v * k for k in (1.0, 2.0))

    def h(x):
        q = [x, 2.0, x * 3.0]
        q.extend(v * 2.0 for v in q if len(q) < 5)
        return sum(q)

    for each in (f, g, h):
        check(each)


@pytest.mark.parametrize("maker", ["expression", "function", "map", "filter", "chain", "accumulate"])
@pytest.mark.parametrize("change", ["append", "store", "helper"])
def test_patterns_and_second_derivatives_know_it(maker, change):
    change = _CHANGES[change].replace("x", "y")
    f = made(before="x, y = x; q = [x, x * 2.0]", maker=_MAKERS[maker], change=change, taker="sum(g)")
    at = np.array([1.5, 0.7])
    try:
        assert all(jacobian_sparsity(lambda p: np.array([f(p)]), at).toarray()[0])
    except SparsityError as error:
        assert any(text in str(error) for text in ("after what it goes", "cannot be followed", "or another"))
    step = np.array([0.0, 1e-6])
    slope = (grad(f)(at + step) - grad(f)(at - step))[1] / 2e-6
    assert np.isclose(jvp(grad(f), (at,), (np.array([0.0, 1.0]),))[1][1], slope, rtol=1e-4, atol=1e-6)


def in_turn(x):
    return functools.reduce(lambda a, v: a + v * v, (u * 2.0 for u in x), 0.5)


def by_map_in_a_loop(x):
    found = []
    for a, b in zip(map(square, x), x, strict=True):
        found.append(a * b)
    return sum(found)


def extended(x):
    found = [1.0]
    found.extend(u * u for u in x)
    return sum(found)


@pytest.mark.parametrize("f", [in_turn, by_map_in_a_loop, extended])
def test_where_nothing_changes_there_is_a_program(f):
    derivative = value_and_grad(f)
    for _ in range(3):
        derivative([1.0, 2.0, 3.0])
    assert "recorded" not in str(explain(derivative)([1.0, 2.0, 3.0]))


CALLERS = [1.0, 2.0]


def stores_in_one_arm(x):
    if x[0] > 0.0:
        s = sum(v * 2.0 for v in CALLERS)
        CALLERS[0] = x[1]
    else:
        s = CALLERS[0] * 1.0
    return np.array([s, x[0]])


def stores_in_the_other_arm(x):
    s = x[2]
    if x[0] < 0.0:
        s = sum(map(square, CALLERS))
        CALLERS[0] = x[1]
    return np.array([s, x[0]])


@pytest.mark.parametrize("f", [stores_in_one_arm, stores_in_the_other_arm])
def test_what_a_pattern_reads_ahead_is_the_caller_s_afterwards(f):
    found = jacobian_sparsity(f, np.ones(3)).toarray()
    assert found.tolist() == [[False, False, f is stores_in_the_other_arm], [True, False, False]]
    assert [1.0, 2.0] == CALLERS and all(type(v) is float for v in CALLERS)
