"""Places of code under several contexts: one test for what holds for all of them."""

import itertools
import math
import operator
import sys

import pytest

from ctxdispatch import Context
from ctxdispatch.dispatch import rules


class Doubles(Context):
    """A rule for something that most programs do not call."""

    intercepts = ("operator", "compare", "item")


@Doubles.rule(math.sqrt)
def _(ctx, x):
    return 2 * math.sqrt(x)


class Calls(Doubles):
    """The same, of calls alone."""

    intercepts = ()


class Trace(Context):
    seen: list
    intercepts = ("call", "operator")

    def prehook(self, f, args, kwargs):
        self.seen.append(f)


class Number:
    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        return math.sqrt(self.value)

    def __len__(self):
        return int(math.sqrt(self.value))

    def root(self):
        return math.sqrt(self.value)


def under(contexts, f, *args):
    """What runs for `overdub(outermost, overdub, .., f, *args)`; `contexts` from the inside out."""
    for ctx in contexts:
        f = ctx.program(f, args, {})
    return f


def engine_frames(run):
    found = []

    def seen(frame, event, arg):
        if event == "call" and "ctxdispatch" in frame.f_code.co_filename:
            found.append(frame.f_code.co_qualname)

    sys.setprofile(seen)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def operators(x, y):
    return x + y, x * y - x, -x, x < y, x == y


def builtins_and_methods(xs, d):
    return len(xs), isinstance(xs, list), xs.index(1), d.get(2), abs(xs[0]), xs.copy().pop()


def loop(n):
    total = 0
    for k in range(n):
        if k % 2:
            total += abs(k) * math.floor(1.5)
    return total


PROGRAMS = [(operators, (1.5, 2.0)), (builtins_and_methods, ([1, 2], {2: 3})), (loop, (5,))]
STACKS = [stack for n in (2, 3) for stack in itertools.product((Doubles, Calls), repeat=n)]


@pytest.mark.parametrize("stack", STACKS, ids=lambda stack: "-".join(cls.__name__ for cls in stack))
@pytest.mark.parametrize("f, args", PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_stacks(f, args, stack):
    run = under([cls() for cls in stack], f, *args)
    for _ in range(3):
        assert run(*args) == f(*args)
    if f is not loop:
        assert engine_frames(lambda: run(*args)) == []


@pytest.mark.parametrize("stack", STACKS, ids=lambda stack: "-".join(cls.__name__ for cls in stack))
def test_native_operands_and_others_in_turn(stack):
    def program(x, y):
        return x + y, [1, 2].index(2)

    def sizes(x):
        return len(x)

    factor = 2 ** len(stack)
    add = under([cls() for cls in stack], program, 1, 2)
    size = under([cls() for cls in stack], sizes, [1])
    follows = all(cls is Doubles for cls in stack)
    for _ in range(2):
        assert [add(1, 2)[0], add("a", "b")[0], add(1.5, 2)[0]] == [3, "ab", 3.5]
        if follows:
            assert add(Number(4.0), 1)[0] == 2.0 * factor
        assert [size([1]), size(Number(4.0)), size("ab")] == [1, 2 * factor, 2]
        with pytest.raises(TypeError, match="unsupported operand"):
            add(1, "a")
        with pytest.raises(TypeError, match="has no len"):
            size(1)


def method(n):
    return n.root(), n.root()


def test_methods_in_python():
    for depth in (1, 2, 3):
        run = under([Calls() for _ in range(depth)], method, Number(4.0))
        for _ in range(2):
            assert run(Number(4.0)) == (2.0 * 2**depth,) * 2

    class Other:
        def root(self):
            return "own"

    class Own:
        def __init__(self):
            self.root = lambda: math.sqrt(9.0)

    run = under([Calls(), Calls()], method, Number(4.0))
    for _ in range(2):
        assert [run(Number(4.0)), run(Other()), run(Own())] == [(8.0,) * 2, ("own",) * 2, (12.0,) * 2]


def test_methods_across_branches():
    def program(x, xs):
        return xs.index(1 if x else 2) + xs.count(2 if x else 1)

    for depth in (1, 2, 3):
        run = under([Calls() for _ in range(depth)], program, True, [1, 2])
        assert [run(True, [1, 2]), run(False, [1, 2])] == [1, 2]


def adding(change, x):
    out = []
    for k in range(6):
        change(k)
        out.append(x + x)
    return out


def measuring(change, x):
    out = []
    for k in range(6):
        change(k)
        out.append(len(x))
    return out


@pytest.mark.parametrize("level", range(3))
@pytest.mark.parametrize("callee, program", [(operator.add, adding), (len, measuring)])
def test_a_rule_that_one_of_them_gets(callee, program, level):
    """Within a run: the iterations that come after it see it, and those after it is gone do not."""
    classes = [type(f"Level{k}", (Doubles,), {}) for k in range(3)]

    def change(k):
        if k == 2:
            classes[level].rule(callee)(lambda ctx, *args: "ruled")
        if k == 4:
            rules.remove(classes[level], callee)

    plain = callee("a", *["a"] * (callee is operator.add))
    run = under([cls() for cls in classes], program, change, "a")
    assert run(lambda k: None, "a") == [plain] * 6
    assert run(change, "a") == [plain, plain, "ruled", "ruled", plain, plain]


def test_hooks_outside_see_each_operation_once():
    def program(x):
        return x + x, len([x]), [x].index(x), abs(x)

    for inner in ([Doubles()], [Doubles(), Calls()], [Doubles(), Doubles()]):
        trace = Trace([])
        assert under([*inner, trace], program, 1.5)(1.5) == program(1.5)
        assert trace.seen == [operator.add, len, trace.seen[2], abs]
        assert trace.seen[2].__name__ == "index"


def test_instances_of_one_class_stay_apart():
    class Scale(Context):
        factor: float
        intercepts = ("operator",)

    @Scale.rule(math.sqrt)
    def _(ctx, x):
        return ctx.factor * x

    def program(n):
        return n.root() + n.root(), len([n])

    outer = Calls()
    for factor in (1.0, 10.0, 100.0):
        run = under([Scale(factor), outer], program, Number(4.0))
        assert run(Number(4.0)) == run(Number(4.0)) == (8.0 * factor, 1)
