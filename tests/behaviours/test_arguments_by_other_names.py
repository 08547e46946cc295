"""An object, list or dict that is an argument, and is also reached otherwise: by a variable, a cell, a
default, what is bound, an attribute, a registry, a weak reference. It has its numbers once: by whichever name
they are read they are what is differentiated, in compiled and recorded runs alike. Another one of its kind is
constant. (Arrays: `test_arguments_elsewhere.py`.)"""

import functools
import threading
import weakref
from contextvars import ContextVar
from types import SimpleNamespace

import numpy as np
import pytest

from ctxdispatch import (
    checkpoint,
    code_adjoint,
    grad,
    hessian_sparsity,
    hvp,
    jacobian_sparsity,
    jvp,
    linearize,
    stop_gradient,
    value_and_grad,
    vjp,
)
from ctxdispatch_contexts.programs.entry import compiled
from ctxdispatch_contexts.reverse import DerivativeError
from tests.recording import recorded


class Box:
    best = None

    def __init__(self, w):
        self.w = w

    def times(self, o):
        return self.w * o.w

    @property
    def number_of_the_best(self):
        return Box.best.w


class Slots:
    __slots__ = ("w", "__weakref__")

    def __init__(self, w):
        self.w = w


KINDS = {
    "object": (lambda: Box(2.0), lambda d: SimpleNamespace(w=d)),
    "slots": (lambda: Slots(2.0), lambda d: SimpleNamespace(w=d)),
    "of an array": (lambda: Box(np.array([2.0])), lambda d: SimpleNamespace(w=np.array([d]))),
    "list": (lambda: [2.0], lambda d: [d]),
    "dict": (lambda: {"w": 2.0}, lambda d: {"w": d}),
    "in a list": (lambda: [Box(2.0)], lambda d: [SimpleNamespace(w=d)]),
    "in a dict": (lambda: {"w": [np.array([2.0])]}, lambda d: {"w": [np.array([d])]}),
}
"""(what makes one that holds the number 2.0, its tangent along that number)"""


def read(o):
    """The number in it. No recursion: what calls itself has a way of its own."""
    if type(o) is dict:
        o = o["w"]
    if type(o) is list:
        o = o[0]
    if type(o) in (Box, Slots, SimpleNamespace):
        o = o.w
    return np.sum(o) if type(o) is np.ndarray else o


# -- ways ----------------------------------------------------------------------------------------------------

m = None


def two(other, o):
    return read(o) * read(other)


def by_variable(o):
    return read(o) * read(m)


def of_cell(c):
    return lambda o: read(o) * read(c)


def of_default(c):
    def f(o, d=c):
        return read(o) * read(d)

    return f


def of_keyword(c):
    def f(o, *, d=c):
        return read(o) * read(d)

    return f


def of_attribute(c):
    owner = SimpleNamespace(kept=SimpleNamespace(c=c))
    return lambda o: read(o) * read(owner.kept.c)


def of_class_attribute(c):
    class Kept:
        here = c

    return lambda o: read(o) * read(Kept.here)


def of_registry(c):
    by_name = {"a": [c]}
    return lambda o: read(o) * read(by_name["a"][0])


def of_loop(c):
    kept = [c]

    def f(o):
        s = 0.0
        for each in kept:
            s = s + read(o) * read(each)
        return s

    return f


def of_comprehension(c):
    kept = (c,)
    return lambda o: read(o) * sum([read(each) for each in kept])


def of_weak_reference(c):
    ref = (lambda: c) if type(c) in (list, dict) else weakref.ref(c)
    return lambda o: read(o) * read(ref())


def of_context(c):
    variable = ContextVar("c")
    variable.set(c)
    return lambda o: read(o) * read(variable.get())


def of_thread(c):
    local = threading.local()
    local.c = c
    return lambda o: read(o) * read(local.c)


def of_function(c):
    def get():
        return c

    return lambda o: read(o) * read(get())


def of_number_of_function(c):
    """It is given nothing to differentiate, and runs as it is."""

    def number():
        return read(c)

    return lambda o: read(o) * number()


def deep(n, c):
    return read(c) if n == 0 else deep(n - 1, c)


def of_recursion(c):
    holder = [c]
    return lambda o: read(o) * deep(3, holder[0])


def of_cache(c):
    @functools.lru_cache
    def get(k):
        return c

    return lambda o: read(o) * read(get(1))


def of_local_containers(c):
    def f(o):
        both = {"a": c, "b": o}
        q, r = [both["a"], o]
        return read(q) * read(r)

    return f


def of_either(c):
    def f(o):
        q = c
        for i in range(3):
            q = o if i == 1 else q
        return read(q) * read(o)

    return f


def of_long_loop(c):
    def f(o):
        s = 0.0
        for _ in range(25):
            s = s + read(o) * read(c)
        return s / 25.0

    return f


def of_attempt(c):
    def f(o):
        try:
            return read(o) * read(c)
        except ValueError:
            return 0.0

    return f


def of_inner_gradient(c):
    return lambda o: grad(lambda x: x * read(c))(read(o)) * read(o)


def of_checkpoint(c):
    return lambda o: checkpoint(lambda x: x * read(c))(read(o))


class Bound:
    def __init__(self, c):
        self.c = c

    def times(self, o):
        return read(o) * read(self.c)


WAYS = {name: f for name, f in globals().items() if name.startswith("of_")} | {
    "variable": lambda c: by_variable,
    "partial": lambda c: functools.partial(two, c),
    "method": lambda c: Bound(c).times,
}


def reverse(f, o, d):
    return read(grad(f)(o))


def pulled(f, o, d):
    return read(vjp(f, o)[1](1.0)[0])


def forward(f, o, d):
    return jvp(f, (o,), (d,))[1]


MODES = [reverse, pulled, forward]
CASES = [(kind, way) for kind in KINDS for way in WAYS]


@pytest.mark.every(27)
@pytest.mark.parametrize("how", [lambda f: f, recorded], ids=["as it is", "recorded"])
@pytest.mark.parametrize("kind, way", CASES, ids=[f"{k}-{w}" for k, w in CASES])
def test_it_counts_by_both_names(kind, way, how, monkeypatch):
    make, tangent = KINDS[kind]
    for mode in MODES:
        o = make()
        monkeypatch.setitem(globals(), "m", o)
        assert np.allclose(mode(how(WAYS[way](o)), o, tangent(1.0)), 4.0), mode.__name__


@pytest.mark.every(27)
@pytest.mark.parametrize("kind, way", CASES, ids=[f"{k}-{w}" for k, w in CASES])
def test_another_one_of_its_kind_is_constant(kind, way, monkeypatch):
    """And so is it where the next call of the same function is given itself, and the one after that not."""
    make, tangent = KINDS[kind]
    o = make()
    monkeypatch.setitem(globals(), "m", o)
    f = WAYS[way](o)
    if way == "of_either":
        return  # it is given itself, at last
    for mode in MODES:
        found = [float(np.sum(mode(f, each, tangent(1.0)))) for each in (make(), o, make())]
        assert np.allclose(found, [2.0, 4.0, 2.0]), mode.__name__


# -- of objects alone ----------------------------------------------------------------------------------------

T = SimpleNamespace(w=1.0)


def of_its_dict(c):
    fields = vars(c)
    return lambda o: o.w * fields["w"]


def by_name(c):
    return lambda o: o.w * getattr(c, "w") * vars(c)["w"] / c.w  # noqa: B009


def by_its_class(c):
    Box.best = c
    return lambda o: o.w * o.best.w


def by_property(c):
    Box.best = c
    return lambda o: o.w * o.number_of_the_best


def stored_by_the_argument(c):
    def f(o):
        o.w = o.w * o.w
        return c.w

    return f


def stored_by_the_variable(c):
    def f(o):
        c.w = o.w * c.w
        return o.w

    return f


def stored_by_a_function(c):
    def store():
        c.v = c.w * 1.0

    def f(o):
        store()
        return o.v * o.w

    return f


def stored_as_another(c):
    """A number that was read before is what it was."""

    def f(o):
        before = c.w
        o.w = 5.0
        return before * before * c.w / o.w

    return f


def put_into_a_list(c):
    kept = [c]

    def f(o):
        kept[0] = o
        return kept[0].w * c.w

    return f


@pytest.mark.parametrize("how", [lambda f: f, recorded], ids=["as it is", "recorded"])
@pytest.mark.parametrize("way", [
    of_its_dict, by_name, by_its_class, by_property, lambda c: c.times, stored_by_the_argument,
    stored_by_the_variable, stored_by_a_function, stored_as_another, put_into_a_list,
])  # fmt: skip
@pytest.mark.every(2)
def test_of_objects(way, how):
    for mode in MODES:
        o = Box(2.0)
        assert mode(how(way(o)), o, T) == 4.0, mode.__name__


@pytest.mark.parametrize("how", [lambda f: f, recorded], ids=["as it is", "recorded"])
def test_what_an_argument_holds(how):
    c = Box(2.0)
    f = how(lambda o: o["a"][0][1].w * c.w)
    given = {"a": [(1.0, c)]}
    assert grad(f)(given) == {"a": [(0.0, SimpleNamespace(w=4.0))]}
    assert grad(f)({"a": [(1.0, Box(3.0))]}) == {"a": [(0.0, SimpleNamespace(w=2.0))]}
    assert jvp(f, (given,), ({"a": [(0.0, T)]},)) == (4.0, 4.0)


def test_an_attribute_that_was_a_number_and_is_such_an_object_now():
    """It is not read off the argument."""
    c = SimpleNamespace(w=3.0)
    gradient = grad(lambda o: o.w * c.w)
    first, second = Box(2.0), Box(2.0)
    first.more, second.more = 1.0, c
    assert gradient(first) == SimpleNamespace(w=3.0, more=0.0)
    assert gradient(second) == SimpleNamespace(w=3.0, more=SimpleNamespace(w=2.0))


@pytest.mark.parametrize("how", [lambda f: f, recorded], ids=["as it is", "recorded"])
def test_what_another_argument_holds_is_another_name(how):
    def f(o, other):
        return o.w * other["o"].w

    o = Box(2.0)
    assert grad(how(f))(o, {"o": o}).w == 4.0 and grad(how(f))(o, {"o": Box(2.0)}).w == 2.0
    assert jvp(how(f), (o, {"o": o}), (T, None)) == (4.0, 4.0)


def test_two_arguments_are_two():
    """Where the run has to be recorded, which knows one object once, they are refused."""

    def f(o, held):
        return o.w * held.w

    def storing(o, held):
        o.w = o.w * 3.0
        return held.w

    o = Box(2.0)
    assert grad(f)(o, o).w == 2.0 and jvp(f, (o, o), (T, None)) == (4.0, 2.0)
    for each in (recorded(f), storing, functools.partial(f, held=o)):
        given = (o,) if type(each) is functools.partial else (o, o)
        with pytest.raises(DerivativeError, match="the same Box is given as two arguments"):
            grad(each)(*given)


def test_other_derivatives():
    c = Box(2.0)

    def f(o):
        return o.w**2 * c.w

    assert value_and_grad(f)(c) == (8.0, SimpleNamespace(w=12.0))
    assert linearize(f, c)[1](T) == 12.0
    assert hvp(f, (c,), (T,)).w == 12.0
    assert grad(lambda o: grad(f)(o).w)(c).w == 12.0
    assert grad(lambda x: x * grad(f)(c).w)(1.0) == 12.0
    assert grad(lambda o: o.w * stop_gradient(c).w)(c).w == 2.0


def test_many_functions_of_one_code():
    """From the ninth on they share a program."""
    for way in (of_cell, of_registry, of_attribute):
        c = Box(2.0)
        assert [grad(way(c))(c).w for _ in range(12)] == [4.0] * 12
        assert [grad(way(c))(Box(2.0)).w for _ in range(3)] == [2.0] * 3


def test_what_types_tell_apart_is_not_asked_for():
    c, config = Box(2.0), {"scale": 3.0}

    def of_another_class(p):
        return np.sum(p["w"]) * (1.0 if c is None else 2.0)

    def of_the_same_class(p):
        return np.sum(p["w"]) * len(config)

    p = {"w": np.ones(2)}
    texts = [str(code_adjoint(f)(p)) for f in (of_another_class, of_the_same_class)]
    assert [" is p:" in text for text in texts] == [False, True]
    assert not any("containers_in" in text or "id(" in text for text in texts)
    for f in (of_another_class, of_the_same_class):
        before = compiled.get(f.__qualname__, 0)
        assert np.allclose(grad(f)(p)["w"], f(p) / 2.0)
        assert compiled.get(f.__qualname__, 0) == before + 1


# -- patterns ------------------------------------------------------------------------------------------------


def of_items(kept):
    return lambda p: np.array([p[0] * 1.0, kept[1] * 2.0])


def of_a_loop(kept):
    def f(p):
        s = 0.0
        for each in kept:
            s = s + each
        return np.array([p[0] * 1.0, s])

    return f


def of_a_store(kept):
    def f(p):
        p[0] = p[1] * 2.0
        return np.array([p[0], kept[0]])

    return f


@pytest.mark.parametrize("way, pattern", [
    (of_items, [[1, 0], [0, 1]]), (of_a_loop, [[1, 0], [1, 1]]), (of_a_store, [[0, 1], [0, 1]]),
])  # fmt: skip
def test_patterns(way, pattern):
    kept = [1.0, 2.0]
    assert (jacobian_sparsity(way(kept), kept).toarray() == pattern).all()
    assert kept == [1.0, 2.0]
    if way is not of_a_store:
        fixed = jacobian_sparsity(way(kept), [1.0, 2.0]).toarray()
        assert (fixed == [[1, 0], [0, 0]]).all()


def test_patterns_of_hessians():
    kept = {"w": np.ones(2)}
    found = hessian_sparsity(lambda p: p["w"][0] * kept["w"][1], kept).toarray()
    assert (found == [[0, 1], [1, 0]]).all()
