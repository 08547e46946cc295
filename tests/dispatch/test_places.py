"""Places in rewritten code that remember callees and the types of operands: what they find is what would be
found without memory, and finding it runs nothing of the engine."""

import functools
import gc
import math
import operator
import sys
import types
import weakref

import pytest

from ctxdispatch import Context, overdub
from ctxdispatch.dispatch.plan import KINDS


class Identity(Context):
    """Dispatches every operation; changes nothing."""

    intercepts = tuple(KINDS)


class Calls(Context):
    intercepts = ("call", "operator", "compare", "item")


class Doubles(Context):
    """A rule for something that most programs do not call."""


@Doubles.rule(math.sqrt)
def _(ctx, x):
    return 2 * math.sqrt(x)


def entered(run):
    """The functions of the engine that were entered."""
    found = []

    def seen(frame, event, arg):
        if event == "call" and "ctxdispatch" in frame.f_code.co_filename:
            found.append(frame.f_code.co_qualname)

    gc.disable()  # what dies has the engine forget it
    sys.setprofile(seen)
    try:
        run()
    finally:
        sys.setprofile(None)
        gc.enable()
    return found


def twice(x):
    return x + x


class Number:
    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return math.sqrt(self.value)

    def method(self, x, *, by=1):
        return twice(x) * by

    @classmethod
    def of_class(cls, x):
        return math.sqrt(x)

    @staticmethod
    def of_nobody(x):
        return math.sqrt(x)


# -- without the engine --------------------------------------------------------------------------


@pytest.mark.parametrize("f, args", [
    (lambda x: twice(x), (1.5,)),
    (lambda x: math.sin(x) + math.cos(x), (1.5,)),
    (lambda x, y: (x + y) * x - y / x % y // x, (1.5, 2.0)),
    (lambda x, y: (-x, +x, x < y, x >= y, x == y, x != y), (1.5, 2)),
    (lambda xs, i: xs[i] + xs[-1], ([1, 2, 3], 1)),
    (lambda n, x: n.method(x) + n.method(x, by=2), (Number(1), 2.0)),
    (lambda xs, d: (xs.append(1), xs.pop(), d.get(2), "a".upper()), ([], {2: 3})),
])  # fmt: skip
def test_what_is_remembered_is_found_without_the_engine(f, args):
    run = Calls().program(f, args, {})
    assert run(*args) == f(*args)
    assert entered(lambda: run(*args)) == []


def test_what_nested_contexts_remember_of_functions():
    program = f = lambda x: twice(x) + math.sin(x)  # noqa: E731
    for ctx in (Doubles(), Doubles(), Doubles()):
        program = ctx.program(program, (1.5,), {})
    assert program(1.5) == f(1.5)
    assert entered(lambda: program(1.5)) == []


# -- what fits no more ---------------------------------------------------------------------------


def test_another_callee():
    def program(f, x):
        return f(x)

    ctx = Doubles()
    run = ctx.program(program, (abs, 4.0), {})
    for _ in range(2):
        assert run(abs, -4.0) == 4.0
        assert run(math.sqrt, 4.0) == 4.0
        assert run(twice, 4.0) == 8.0
        assert run(lambda x: math.sqrt(x) + x, 4.0) == 8.0
        assert run(float, "4") == 4.0
        assert run(Number(1).method, 2) == 4


def test_a_callee_is_compared_by_identity_alone():
    class Odd:
        __hash__ = None

        def __init__(self, out):
            self.out = out

        def __eq__(self, other):
            raise AssertionError

        def __call__(self, x):
            return math.sqrt(self.out) + x

    run = Doubles().program(lambda f, x: f(x), (Odd(1.0), 1), {})
    assert [run(Odd(4.0), 1), run(Odd(9.0), 1)] == [5.0, 7.0]


def test_operands_of_other_types():
    run = Doubles().program(lambda x, y: x + y, (1, 2), {})
    every = type("Every", (Doubles,), {"intercepts": ("operator",)})().program(lambda x, y: x + y, (1, 2), {})
    for add in (run, every):
        assert [add(1, 2), add(1.0, 2), add("a", "b"), add([1], [2])] == [3, 3.0, "ab", [1, 2]]
    assert every(Number(16.0), 1) == 8.0
    assert every(2, 3) == 5
    with pytest.raises(TypeError, match="unsupported operand"):
        every(1, "a")
    assert every(Number(16.0), 1) == 8.0


def test_items_that_python_code_makes():
    import collections

    run = type("Items", (Doubles,), {"intercepts": ("item",)})().program(lambda x, k: x[k], ({1: 2}, 1), {})
    made = collections.defaultdict(lambda: math.sqrt(4.0))
    assert [run({1: 2}, 1), run(made, 1), run([5], 0), run(list, int)] == [2, 4.0, 5, list[int]]


def test_a_method_that_is_replaced():
    class Own:
        def f(self, x):
            return x

    def program(own, x):
        return own.f(x)

    run = Doubles().program(program, (Own(), 4.0), {})
    own = Own()
    assert [run(own, 4.0), run(own, 4.0)] == [4.0, 4.0]
    own.f = math.sqrt
    assert run(own, 4.0) == 4.0
    Own.f = lambda self, x: math.sqrt(x) + 1
    assert [run(own, 4.0), run(Own(), 4.0)] == [4.0, 5.0]
    del own.f
    assert run(own, 4.0) == 5.0
    Own.f = staticmethod(math.sqrt)
    assert run(own, 9.0) == 6.0
    Own.f = classmethod(lambda cls, x: math.sqrt(x))
    assert run(own, 9.0) == 6.0
    del Own.f
    with pytest.raises(AttributeError, match="'Own' object has no attribute 'f'"):
        run(own, 9.0)


def test_methods_of_all_kinds():
    def program(n, x):
        by_class = Number.of_class(x), math.sqrt(x), Number.method(n, x)
        return n.method(x), n.of_class(x), n.of_nobody(x), *by_class

    run = Doubles().program(program, (Number(1), 4.0), {})
    for _ in range(2):
        assert run(Number(1), 4.0) == (8.0, 4.0, 4.0, 4.0, 4.0, 8.0)


# -- what changes --------------------------------------------------------------------------------


def changing():
    def callee(x, y=1):
        return x + y

    def program(x):
        return callee(x)

    globals()["_callee"] = callee
    return callee


def by_global(x):
    return _callee(x)  # noqa: F821


def test_code_and_defaults_between_runs():
    callee = changing()
    ctx = Doubles()
    assert [overdub(ctx, by_global, 4.0) for _ in range(2)] == [5.0, 5.0]
    callee.__defaults__ = (2,)
    assert overdub(ctx, by_global, 4.0) == 6.0
    callee.__code__ = (lambda x, y: math.sqrt(x)).__code__
    assert overdub(ctx, by_global, 4.0) == 4.0


@pytest.mark.parametrize("assign", [
    lambda f, code: setattr(f, "__code__", code),
    lambda f, code: [setattr][0](f, "__code__", code),
    lambda f, code: functools.partial(setattr, f, "__code__")(code),
    lambda f, code: list(map(setattr, [f], ["__code__"], [code])),
    lambda f, code: f.__setattr__("__code__", code),
    lambda f, code: object.__setattr__(f, "__code__", code),
    lambda f, code: types.FunctionType.__setattr__(f, "__code__", code),
    lambda f, code: operator.methodcaller("__setattr__", "__code__", code)(f),
])  # fmt: skip
def test_code_within_a_run(assign):
    callee = changing()
    code = (lambda x, y: math.sqrt(x)).__code__

    def program(x):
        before = [by_global(x) for _ in range(2)]
        assign(callee, code)
        return before, [by_global(x) for _ in range(2)]

    for contexts in 1, 2, 3:
        callee = changing()
        run = [arg for _ in range(contexts - 1) for arg in (overdub, Doubles())]
        after = 2**contexts * math.sqrt(4.0)
        assert overdub(Doubles(), *run, program, 4.0) == ([5.0, 5.0], [after, after])


def test_an_outer_rule_for_what_assigns():
    class Silent(Context):
        pass

    Silent.rule(setattr)(lambda ctx, *args: None)
    callee = changing()
    given = callee.__code__

    def program(x):
        [setattr][0](callee, "__code__", (lambda x, y: x).__code__)
        return by_global(x)

    assert overdub(Silent(), overdub, Doubles(), program, 4.0) == 5.0
    assert callee.__code__ is given


def test_an_attribute_that_is_assigned_to_within_a_run():
    callee = changing()

    def program(x):
        before = [by_global(x) for _ in range(2)]
        callee.__defaults__ = (5,)
        return before, by_global(x)

    assert overdub(Doubles(), program, 4.0) == ([5.0, 5.0], 9.0)


def test_rules_that_come_and_go():
    class Ruled(Context):
        intercepts = ("call",)

    def program(x, change):
        return [(change(k), twice(x))[1] for k in range(4)]

    def change(k):
        if k == 1:
            Ruled.rule(twice)(lambda ctx, x: "ruled")
        if k == 3:
            Ruled.unrule(twice)

    ctx = Ruled()
    assert overdub(ctx, program, 1, change)[0] == 2
    assert overdub(ctx, program, 1, lambda k: None) == [2] * 4
    Ruled.rule(twice)(lambda ctx, x: "ruled")
    assert overdub(ctx, program, 1, lambda k: None) == ["ruled"] * 4


def test_a_rule_for_an_operator_that_comes_within_a_loop():
    class Ruled(Context):
        intercepts = ("operator",)

    def program(x, change):
        found = []
        for k in range(6):
            found.append(x + 1.0)
            change(k)
        return found

    def change(k):
        if k == 2:
            Ruled.rule(operator.add)(lambda ctx, a, b: "ruled")
        if k == 4:
            Ruled.unrule(operator.add)

    assert overdub(Ruled(), program, 1.0, change) == [2.0, 2.0, 2.0, "ruled", "ruled", 2.0]


def test_instances_remember_their_own():
    class Named(Context):
        name: str

    @Named.rule(math.sqrt)
    def _(ctx, x):
        return ctx.name

    def program(x):
        return math.sqrt(x)

    for _ in range(2):
        assert [overdub(Named(name), program, 1.0) for name in "ab"] == ["a", "b"]


# -- what lives ----------------------------------------------------------------------------------


def test_what_is_remembered_dies_with_the_context():
    namespace = {}
    exec("def f(x):\n return x\ndef program(x):\n return f(x)", namespace)
    ctx = Doubles()
    overdub(ctx, namespace["program"], 1.0)
    dying = [weakref.ref(namespace["f"]), weakref.ref(ctx._memory)]
    namespace.clear()
    del ctx
    gc.collect()
    assert [reference() for reference in dying] == [None, None]


def test_closures_and_objects_are_not_kept():
    class Thing:
        def f(self):
            return 1

    def program(thing):
        def inner():
            return thing

        return inner() is thing and thing.f()

    ctx = Doubles()
    thing = Thing()
    assert overdub(ctx, program, thing) == 1
    reference = weakref.ref(thing)
    del thing
    assert reference() is None


# -- nobody sees it ------------------------------------------------------------------------------


def test_names_show_no_cells():
    def program(x):
        y = twice(x)
        return sorted(locals()), sorted(vars()), dir()

    assert overdub(Doubles(), program, 1) == (["x", "y"], ["x", "y"], ["x", "y"])


@pytest.mark.parametrize("outer", [Identity, Doubles])
def test_an_outer_context_sees_the_operations(outer):
    class Trace(Context):
        seen: list
        intercepts = tuple(KINDS)

        def prehook(self, f, args, kwargs):
            self.seen.append(getattr(f, "__name__", repr(f)))

    def program(n, x):
        return n.method(x) + x

    trace = Trace([])
    assert overdub(trace, overdub, outer(), program, Number(1), 2.0) == 6.0
    assert {"twice", "add"} <= set(trace.seen)
    assert {"resolve", "resolve_at", "select", "select_at", "is_", "unpack", "type"}.isdisjoint(trace.seen)


def test_an_outer_context_that_has_operators_alone():
    class Operators(Context):
        seen: list
        intercepts = ("operator",)

        def prehook(self, f, args, kwargs):
            self.seen.append(f)

    class Ruled(Context):
        pass

    @Ruled.rule(operator.mul)
    def _(ctx, a, b):
        return "ruled"

    def program(x):
        return [x + x, x * x]

    seen = []
    assert overdub(Operators(seen), overdub, Calls(), program, 2.0) == [4.0, 4.0]
    assert seen == [operator.add, operator.mul]
    assert overdub(Ruled(), overdub, Calls(), program, 2.0) == [4.0, "ruled"]


def test_a_gradient_under_a_context_that_remembers():
    from ctxdispatch import grad

    def program(x):
        return math.sin(x) * x

    run = Identity().program(lambda x: grad(program)(x), (0.5,), {})
    for x in (0.5, 1.5):
        assert run(x) == grad(program)(x)


@pytest.mark.parametrize("contexts", [1, 2, 3])
@pytest.mark.parametrize("cls", [Identity, Doubles])
def test_keywords_that_are_given_twice(cls, contexts):
    """The instruction that merges them looks for the callable at a certain place of the stack."""

    def program(n, more):
        return n.method(1, by=2, **more)

    for more in ({}, {"by": 3}, {1: 2}):
        expected = outcome(program, more)
        run = program
        for _ in range(contexts):
            run = cls().program(run, (Number(1), more), {})
        assert outcome(run, more) == expected


def outcome(program, more):
    try:
        return program(Number(1), more)
    except TypeError as error:
        return str(error)


def test_many_keywords_within_generators_and_hooks():
    """Operands that are moved by variables: those of a generator expression have odd names of their own."""

    class Hooked(Context):
        intercepts = tuple(KINDS)

        def prehook(self, f, args, kwargs):
            pass

    def callee(*args, **kwargs):
        return args, kwargs

    def program(xs, a, b, c, d, e, g, h):
        return tuple(callee(x, a, b, c, k=d, l=e, m=g, n=h) for x in xs)

    args = ([1, 2], *range(7))
    run = program
    for _ in range(3):
        run = Hooked().program(run, args, {})
        assert run(*args) == program(*args)


def test_reassignments_by_a_function_that_does_nothing_else():
    callee = changing()

    def change(value):
        callee.__defaults__ = (value,)

    def program(x):
        return [(by_global(x), change(k))[0] for k in range(3)]

    expected = [5.0, 4.0, 5.0]
    for ctx in (Doubles(), Identity()):
        callee.__defaults__ = (1,)
        assert overdub(ctx, program, 4.0) == expected


def test_functions_with_an_empty_closure_and_comparisons_of_none():
    class Equal:
        def __eq__(self, other):
            return "eq"

        def __lt__(self, other):
            return "lt"

    empty = types.FunctionType(twice.__code__, globals(), "empty", None, ())
    assert overdub(Doubles(), lambda x: empty(x), 2) == 4
    for program in (lambda x: None == x, lambda x: None > x, lambda x: (x == None, x < None)):  # noqa: E711
        assert overdub(Identity(), program, Equal()) == program(Equal())
