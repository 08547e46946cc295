"""Functions, containers and objects that hold themselves, or that hold each other, are gone through to an
end: wherever they are when a derivative is taken, it is right, or refused."""

import contextlib
import functools
import operator
import sys
import types
from collections import deque

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jvp, value_and_grad
from ctxdispatch_contexts.programs.errors import Refused
from ctxdispatch_contexts.sparsity import jacobian_sparsity
from tests.recording import recorded

X = np.array([0.7, -0.4, 1.3])


class Node:
    def __init__(self, v):
        self.v, self.me, self.get = v, self, self.read

    def read(self):
        return self.v


def recursive(v):
    def countdown(n):
        return countdown(n - 1) if n else v

    return countdown, lambda f: f(3)


def mutual(v):
    def even(n):
        return odd(n - 1) if n else v

    def odd(n):
        return even(n - 1)

    return even, lambda f: f(4)


def not_yet(v):
    def late():
        return v if v[0] < 9.0 else never

    if v[0] > 9.0:
        never = 1.0
    return late, lambda f: f()


def in_list(v):
    found = [v]
    found.append(found)
    return found, lambda found: found[1][1][0]


def in_dict(v):
    found = {"v": v}
    found["me"] = found
    return found, lambda found: found["me"]["me"]["v"]


def in_tuple(v):
    found = ([], v)
    found[0].append(found)
    return found, lambda found: found[0][0][1]


def in_deque(v):
    found = deque([v], maxlen=3)
    found.append(found)
    return found, lambda found: found[1][0]


def in_object(v):
    return Node(v), lambda node: node.me.me.v


def by_method(v):
    return Node(v), lambda node: node.get()


def in_namespace(v):
    found = types.SimpleNamespace(v=v)
    found.me = found
    return found, lambda found: found.me.v


def in_array(v):
    found = np.empty(2, object)
    found[0], found[1] = v, found
    return found, lambda found: found[1][0]


def in_attribute(v):
    def f():
        return f.v

    f.v, f.me = v, f
    return f, lambda f: f.me()


def in_default(v):
    def f(kept=[v]):  # noqa: B006
        return kept[0]

    f.__defaults__[0].append(f)
    return f, lambda f: f()


def in_partial(v):
    found = {}
    found["get"] = functools.partial(operator.getitem, [v, found], 0)
    return found, lambda found: found["get"]()


def in_closure_and_list(v):
    found = [v]

    def f():
        return found[0]

    found.append(f)
    return found, lambda found: found[1]()


MAKERS = [
    recursive, mutual, not_yet, in_list, in_dict, in_tuple, in_deque, in_object, by_method, in_namespace,
    in_array, in_attribute, in_default, in_partial, in_closure_and_list,
]  # fmt: skip

KEPT = []


def keeps(thing):
    KEPT[:] = [thing]
    return KEPT[0]


@functools.lru_cache(maxsize=2)
def cached(n):
    return float(n)


USES = {
    "read": lambda thing: thing,
    "given to a function": lambda thing: (lambda t, *others, **named: t)(thing, thing, again=thing),
    "in a global list": keeps,
    "in a container": lambda thing: {"a": [(thing, 1.0)]}["a"][0][0],
    "beside C code": lambda thing: [thing, [], np.vectorize(lambda n: n + 0.0)(np.arange(2.0))][0],
    "given to C code": lambda thing: functools.reduce(lambda t, n: t, [1, 2], thing),
    "called back": lambda thing: max([1.0, 2.0], key=lambda n: (n, id(thing) and 0.0)[0]) and thing,
    "in a context": lambda thing: contextlib.nullcontext(thing).__enter__(),
    "through a generator": lambda thing: next(t for t in (thing,)),
    "found by its size": lambda thing: thing if sys.getsizeof([1]) else None,
    "bool": lambda thing: thing if callable(thing) or len([thing]) else None,
    "cached": lambda thing: thing if cached(2) else None,
}
PATHS = {
    "reverse": lambda f, x: value_and_grad(f)(x)[1],
    "recorded": lambda f, x: value_and_grad(recorded(f))(x)[1],
    "forward": lambda f, x: [jvp(f, (x,), (step,))[1] for step in np.eye(3)],
    "forward recorded": lambda f, x: [jvp(recorded(f), (x,), (step,))[1] for step in np.eye(3)],
    "second": lambda f, x: np.diag(hessian(f)(x)) * x,
    "pattern": lambda f, x: jacobian_sparsity(f, x).toarray().ravel() * 2 * x,
}


@pytest.mark.every(150)
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("make", MAKERS)
def test_it_is_gone_through_to_an_end(make, use, path):
    def f(x):
        thing, read = make(x * 1.0)
        return np.sum(read(USES[use](thing)) ** 2)

    try:
        found = [PATHS[path](f, X) for _ in range(3)]
    except Refused as refused:
        assert path == "pattern" or make is in_array or "holds itself" in str(refused), refused
        return
    np.testing.assert_allclose(found, [2 * X] * 3)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("make", MAKERS)
def test_of_constants(make, path):
    """What the function has captured."""
    thing, read = make(np.ones(3))

    def f(x):
        return np.sum(read(thing) * x**2)

    found = [PATHS[path](f, X) for _ in range(3)]
    np.testing.assert_allclose(found, [2 * X] * 3)


@pytest.mark.parametrize("make", MAKERS)
def test_of_arguments(make):
    """A gradient of what holds itself would hold itself, too."""
    thing, read = make(X.copy())
    try:
        found = grad(lambda t: np.sum(read(t) ** 2))(thing)
    except Refused:
        return
    assert found is not None or callable(thing)
