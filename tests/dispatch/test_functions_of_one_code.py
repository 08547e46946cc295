"""Functions that a program makes anew each time: what runs in place of one is made of what runs in place of
the last with the same code; and which functions with a closure are remembered after all."""

import functools
import gc
import math
import sys
import types
import weakref

import numpy as np
import pytest

from ctxdispatch import Context, overdub


class Doubles(Context):
    """A rule for something that most programs do not call."""


@Doubles.rule(math.sqrt)
def _(ctx, x):
    return 2 * math.sqrt(x)


def names(run, *args):
    """Of the functions that are called."""
    found = []
    sys.setprofile(lambda frame, event, arg: event == "call" and found.append(frame.f_code.co_name))
    try:
        run(*args)
    finally:
        sys.setprofile(None)
    return found


def closures(n, f):
    return [(lambda x: f(x) + i)(4.0) for i in range(n)]


def with_defaults(n, f):
    return [(lambda x, i=i, *, j=2 * i: f(x) + i + j)(4.0) for i in range(n)]


def comprehensions(n, f):
    return [[f(x) for x in range(i)] for i in range(n)]


def expressions(n, f):
    return [list(f(x) for x in range(i)) for i in range(n)]


def nothing_to_do(n, f):
    return [list(x for x in range(i)) for i in range(n)]


def definitions(n, f):
    out = []
    for i in range(n):
        def inner(x):
            def more(y):
                return f(y) + x
            return more
        out.append(inner(i)(9.0))
    return out


PROGRAMS = [closures, with_defaults, comprehensions, expressions, nothing_to_do, definitions]


@pytest.mark.parametrize("contexts", [1, 2, 3])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_functions_that_are_made_anew(program, contexts):
    run = program
    for _ in range(contexts):
        run = Doubles().program(run, (1, math.sqrt), {})
    assert run(5, math.exp) == program(5, math.exp)
    assert run(5, math.sqrt) == program(5, lambda x: 2**contexts * math.sqrt(x))
    assert "code_for" not in names(run, 5, math.exp)


def test_what_differs_between_functions_of_one_code():
    def program(make, x):
        return [f(x) for f in make()]

    def plain():
        def f(x, y=1, *, z=2):
            return x, y, z, math.sqrt(4.0)

        return f

    def make():
        a, b, c, d = plain(), plain(), plain(), plain()
        b.__defaults__ = (10,)
        c.__kwdefaults__ = {"z": 20}
        d.__code__ = (lambda x: (x, math.sqrt(16.0))).__code__
        return a, b, c, d

    expected = [(0, 1, 2, 4.0), (0, 10, 2, 4.0), (0, 1, 20, 4.0), (0, 8.0)]
    ctx = Doubles()
    for _ in range(3):
        assert overdub(ctx, program, make, 0) == expected


def test_functions_of_one_code_with_other_globals():
    code = (lambda: helper(4.0)).__code__  # noqa: F821
    one = types.FunctionType(code, {"helper": math.sqrt})
    two = types.FunctionType(code, {"helper": math.exp, "__builtins__": {}})

    def program(fs):
        return [f() for f in fs]

    for fs in ([one, two, one], [two, one, two]):
        assert overdub(Doubles(), program, fs) == [4.0 if f is one else math.exp(4.0) for f in fs]


def test_a_rule_for_one_of_them():
    class Ruled(Context):
        pass

    def make(i):
        return lambda: i + math.floor(1.5)

    def program(fs):
        return [f() for f in fs]

    fs = [make(i) for i in range(4)]
    ctx = Ruled()
    Ruled.rule(math.ceil)(lambda ctx, x: 0)
    assert overdub(ctx, program, fs) == [1, 2, 3, 4]
    Ruled.rule(fs[2])(lambda ctx: "ruled")
    assert overdub(ctx, program, fs) == [1, 2, "ruled", 4]
    Ruled.rule(math.floor)(lambda ctx, x: 100)
    assert overdub(ctx, program, fs) == [100, 101, "ruled", 103]
    Ruled.unrule(fs[2], math.floor)
    assert overdub(ctx, program, fs) == [1, 2, 3, 4]


def test_a_rule_that_comes_while_they_are_made():
    class Late(Context):
        pass

    Late.rule(math.ceil)(lambda ctx, x: 0)

    def program(n):
        out = []
        for i in range(n):
            if i == 3:
                Late.rule(math.floor)(lambda ctx, x: 100)
            out.append((lambda x: math.floor(x) + i)(0.5))
        return out

    assert overdub(Late(), program, 6) == [0, 1, 2, 103, 104, 105]


def test_they_and_what_they_hold_die():
    class Thing:
        pass

    def program(things):
        return [(lambda x: x is thing and math.sqrt(4.0))(thing) for thing in things]

    ctx = Doubles()
    things = [Thing() for _ in range(4)]
    dying = [weakref.ref(thing) for thing in things]
    assert overdub(ctx, program, things) == [4.0] * 4
    things.clear()
    gc.collect()
    assert [reference() for reference in dying] == [None] * 4


# -- held by their module --------------------------------------------------------------------------


def decorated(f):
    @functools.wraps(f)
    def wrapper(*args):
        return f(*args)

    return wrapper


@decorated
def rooted(x):
    return math.sqrt(x)


class Roots:
    @decorated
    def of(self, x):
        return math.sqrt(x)

    @staticmethod
    @decorated
    def static(x):
        return math.sqrt(x)


ROOTS = Roots()


@pytest.mark.parametrize(
    "program",
    [
        lambda x: rooted(x), lambda x: ROOTS.of(x), lambda x: Roots.static(x),
        lambda x: np.multiply(math.sqrt(x), x),
    ],
    ids=["function", "method", "static method", "ufunc"],
)  # fmt: skip
def test_what_a_module_holds_is_remembered(program):
    run = Doubles().program(program, (4.0,), {})
    assert run(4.0) == run(4.0) == 2 * program(4.0)
    assert "resolve_at" not in names(run, 4.0)


def test_another_under_the_name(monkeypatch):
    def program(x):
        return rooted(x)

    ctx = Doubles()
    assert overdub(ctx, program, 4.0) == 4.0
    monkeypatch.setitem(globals(), "rooted", decorated(math.exp))
    assert overdub(ctx, program, 4.0) == math.exp(4.0)
    monkeypatch.setitem(globals(), "rooted", decorated(math.sqrt))
    assert overdub(ctx, program, 4.0) == 4.0


@pytest.mark.parametrize("name", [None, "", ".", "Roots.", "Roots.of.more", "missing", "__name__.x"])
def test_odd_names(name):
    f = decorated(math.sqrt)
    f.__qualname__ = name or ""
    f.__module__ = None if name is None else __name__

    def program(x):
        return f(x)

    assert overdub(Doubles(), program, 4.0) == 4.0


# -- handlers of contexts further in ---------------------------------------------------------------


class Point:
    def __init__(self, x):
        self.x = math.exp(x)


@pytest.mark.parametrize(
    "program",
    [lambda x: sum([x, x]), lambda x: max(x, 1.0), lambda x: Point(x).x, lambda x: sorted([x])],
    ids=["sum", "max", "class", "sorted"],
)
def test_what_runs_in_place_of_c_functions_is_remembered_further_out(program):
    run = program
    for _ in range(3):
        run = Doubles().program(run, (4.0,), {})
    assert run(4.0) == run(4.0) == program(4.0)
    assert "resolve_at" not in names(run, 4.0)


def test_sorting_keeps_no_list():
    class Things(list):
        pass

    def program(things):
        things.sort()
        return len(things)

    run = program
    for _ in range(2):
        run = Doubles().program(run, ([],), {})
    things = Things([2, 1])
    assert run(things) == 2 and things == [1, 2]
    reference = weakref.ref(things)
    del things
    assert reference() is None


# -- functions that say themselves what runs in their place ----------------------------------------


def test_some_of_one_code_say_what_runs_in_their_place():
    def make(own):
        def f(x):
            return math.sqrt(x)

        if own:
            f.__overdub__ = lambda ctx, x: "own"
        return f

    def program(x):
        return [make(k % 2 == 1)(x) for k in range(4)]

    assert overdub(Doubles(), program, 4.0) == [4.0, "own", 4.0, "own"]
    assert overdub(Doubles(), lambda fs: [f(4.0) for f in fs], [make(True), make(False)]) == ["own", 4.0]
