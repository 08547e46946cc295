"""Methods that are called under hooks: what hooks are told of them, and that finding them again runs nothing
of the engine."""

import itertools
import math
import sys
import types
from math import hypot

import pytest

from ctxdispatch import Context, overdub
from tests.dispatch.test_places import entered


class Silent(Context):
    """Has a hook, which looks at nothing."""

    intercepts = ("call",)

    def prehook(self, f, args, kwargs):
        pass


class Told(Context):
    """Keeps what its hooks are told is called."""

    calls: list
    intercepts = ("call",)

    def prehook(self, f, args, kwargs):
        self.calls.append(f)


class ToldAfterwards(Context):
    calls: list
    intercepts = ("call",)

    def posthook(self, out, f, args, kwargs):
        self.calls.append((f, args, kwargs, out))


class Every(Context):
    """Intercepts what classes with hooks do unless they say otherwise: attributes too."""

    calls: list

    def prehook(self, f, args, kwargs):
        self.calls.append(f)


class Number:
    def __init__(self, value):
        self.value = value

    def plus(self, x, *, by=1):
        return self.value + by * x

    @classmethod
    def of_class(cls, x):
        return x

    @staticmethod
    def of_nobody(x):
        return x


class Making(Number):
    """Makes an attribute when it is asked for."""

    def __getattr__(self, name):
        if name != "made":
            raise AttributeError(name)
        return self.plus


class Known(types.SimpleNamespace):
    """Has its functions as attributes."""


PROGRAMS = [
    (lambda n, x: n.plus(x) + n.plus(x, by=2), (Number(1), 2), ["plus", "plus"]),
    (lambda n, x: n.of_class(x) + n.of_nobody(x), (Number(1), 2), ["of_class", "of_nobody"]),
    (lambda n, x: n.made(x) + n.made(x), (Making(1), 2), ["plus", "plus"]),
    (lambda n, x: n.plus(n.plus(x)), (Number(1), 2), ["plus", "plus"]),
    (lambda n, x: n.plus(1 if x else 2), (Number(1), 2), ["plus"]),
    (lambda n, x: n.plus(*x), (Number(1), (2,)), ["plus"]),
    (lambda n, x: n.sin(x) + math.sin(x), (Known(sin=math.sin), 2.0), ["sin", "sin"]),
    (lambda d, k: (d.get(k), d.get(k, 2), "a".join([])), ({1: 2}, 1), ["get", "get", "join"]),
    (lambda a, b: (a.__add__(b), None.__bool__(), a.__class__(b)), (1, 2), ["__add__", "__bool__", "int"]),
]  # fmt: skip


@pytest.mark.parametrize("cls", [Told, ToldAfterwards])
@pytest.mark.parametrize("f, args, names", PROGRAMS)
def test_hooks_are_told_of_the_bound_method(cls, f, args, names):
    ctx = cls([])
    run = ctx.program(f, args, {})
    for _ in range(2):  # the first fills what is remembered
        ctx.calls.clear()
        assert run(*args) == f(*args)
        told = [call if cls is Told else call[0] for call in ctx.calls]
        assert [g.__name__ for g in told] == names


def test_it_is_bound_to_the_object_and_equal_to_what_reading_the_attribute_gives():
    ctx = Told([])
    n, d = Number(1), {1: 2}
    overdub(ctx, lambda n, d: (n.plus(1), d.get(1), None.__bool__()), n, d)
    plus, get, of_none = ctx.calls
    assert type(plus) is types.MethodType and plus == n.plus
    assert type(get) is type(d.get) and get == d.get
    assert of_none == None.__bool__ and type(of_none) is type(None.__bool__)


def test_posthooks_are_told_of_the_arguments_and_the_result():
    ctx = ToldAfterwards([])
    n = Number(1)
    assert overdub(ctx, lambda n, x: n.plus(x, by=3), n, 2) == 7
    assert ctx.calls == [(n.plus, (2,), {"by": 3}, 7)]


@pytest.mark.parametrize("f, args, names", PROGRAMS)
def test_a_hook_that_looks_at_nothing_changes_nothing(f, args, names):
    run = Silent().program(f, args, {})
    assert [run(*args) for _ in range(2)] == [f(*args)] * 2


@pytest.mark.parametrize("cls", [Silent, Told, ToldAfterwards])
@pytest.mark.parametrize("f, args", [
    (lambda n, x: n.plus(x), (Number(1), 2)),
    (lambda d, k: (d.get(k), d.get(k)), ({1: 2}, 1)),
    (lambda n, x: n.sin(x), (Known(sin=math.sin), 2.0)),
])  # fmt: skip
def test_what_is_remembered_is_found_without_the_engine(cls, f, args):
    ctx = cls([]) if cls is not Silent else cls()
    run = ctx.program(f, args, {})
    assert run(*args) == f(*args)
    assert {name for name in entered(lambda: run(*args))} <= {"told"}


@pytest.mark.parametrize("stack", [*itertools.product((Silent, Told, ToldAfterwards, Every), repeat=2)])
@pytest.mark.parametrize("f, args, names", PROGRAMS)
def test_contexts_under_contexts(stack, f, args, names):
    outer, inner = (cls() if cls is Silent else cls([]) for cls in stack)
    for _ in range(2):
        assert overdub(outer, overdub, inner, f, *args) == f(*args)
        for ctx in (outer, inner):
            if type(ctx) is Told:
                assert [g.__name__ for g in ctx.calls] == names
                ctx.calls.clear()


def test_a_rule_replaces_the_method_that_hooks_are_told_of():
    class Ruled(Told):
        pass

    @Ruled.rule(Number.plus)
    def _(ctx, n, x, **options):
        return -x

    ctx = Ruled([])
    n = Number(1)
    assert [overdub(ctx, lambda n, x: n.plus(x), n, 2) for _ in range(2)] == [-2, -2]
    assert ctx.calls == [n.plus] * 2


def test_an_exception_leaves_the_method_as_it_leaves_the_plain_one():
    def program(n, x):
        try:
            return n.plus(x)
        except TypeError as error:
            return str(error), n.plus(1)

    for cls in (Told, ToldAfterwards):
        assert overdub(cls([]), program, Number(1), "a") == program(Number(1), "a")


def test_methods_that_are_bound_before_they_are_called():
    def program(n, x):
        plus = n.plus
        return [plus(k) for k in range(x)]

    ctx = Told([])
    n = Number(1)
    assert overdub(ctx, program, n, 3) == program(n, 3)
    assert ctx.calls.count(n.plus) == 3


def test_no_variable_of_the_engine_is_to_be_seen():
    def program(n, x):
        n.plus(x)
        return sorted(sys._getframe().f_locals), n.plus(1)

    for ctx in (Silent(), Told([]), ToldAfterwards([])):
        names, _ = overdub(ctx, program, Number(1), 2)
        assert [name for name in names if name.startswith("$m")] == []


def test_recursion_through_a_method():
    class Tree:
        def __init__(self, *children):
            self.children = children

        def size(self):
            return 1 + sum(child.size() for child in self.children)

    tree = Tree(Tree(Tree(), Tree()), Tree())
    ctx = Told([])
    assert overdub(ctx, lambda tree: tree.size(), tree) == 5
    assert sum(getattr(f, "__func__", None) is Tree.size for f in ctx.calls) == 5


@pytest.mark.parametrize("f", [lambda *xs: hypot(*xs), lambda *xs, **options: hypot(*xs, **options)])
def test_the_arguments_that_are_handed_on_are_a_tuple_already(f):
    run = Told([]).program(f, (3, 4), {})
    assert run(3, 4) == 5
    assert entered(lambda: run(3, 4)) == []


def test_arguments_that_were_assigned_to_may_be_anything():
    def program(*args):
        args = iter(args)
        return max(*args)

    ctx = Told([])
    assert overdub(ctx, program, 1, 2) == 2


def test_outer_contexts_are_told_of_no_call_that_is_not_written():
    outer, inner = Told([]), Told([])
    assert overdub(outer, overdub, inner, lambda xs: max(*xs), [1, 2]) == 2
    assert outer.calls == inner.calls == [max]
