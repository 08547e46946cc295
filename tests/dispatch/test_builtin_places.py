"""Places that remember for which argument a builtin runs as it is: `len(x)` of a list, but not of a class in
Python."""

import abc
import gc
import math
import re
import sys

import pytest

from ctxdispatch import Context, overdub
from ctxdispatch.dispatch import memory


class Doubles(Context):
    """A rule for something that most programs do not call."""


@Doubles.rule(math.sqrt)
def _(ctx, x):
    return 2 * math.sqrt(x)


class Sized:
    def __len__(self):
        return int(math.sqrt(4.0))

    def __str__(self):
        return f"{math.sqrt(4.0)}"

    __repr__ = __str__

    def __abs__(self):
        return math.sqrt(4.0)

    def __iter__(self):
        yield math.sqrt(4.0)

    def __index__(self):
        return int(math.sqrt(4.0))

    def __float__(self):
        return math.sqrt(4.0)


class Says(type):
    def __instancecheck__(cls, value):
        return math.sqrt(4.0) == 4.0


class Everything(metaclass=Says):
    pass


CALLS = {
    "len": lambda x: len(x),
    "abs": lambda x: abs(x),
    "str": lambda x: str(x),
    "repr": lambda x: repr(x),
    "float": lambda x: float(x),
    "hex": lambda x: hex(x),
    "list": lambda x: list(x),
    "tuple": lambda x: tuple(x),
    "enumerate": lambda x: list(enumerate(x)),
    "next": lambda x: next(iter(x)),
}
NATIVE = {
    "len": [[1], "ab", {}], "abs": [-1, -2.0, 1j], "str": [1, "a", None], "repr": [1, "a", None],
    "float": [1, "2", True], "hex": [1, 255, True], "list": [[1], "ab", {}], "tuple": [[1], "ab", {}],
    "enumerate": [[1], "ab", {}], "next": [[1], "ab", {2}],
}  # fmt: skip
DOUBLED = {
    "len": 4, "abs": 4.0, "str": "4.0", "repr": "4.0", "float": 4.0, "hex": "0x4", "list": [4.0],
    "tuple": (4.0,), "enumerate": [(0, 4.0)], "next": 4.0,
}  # fmt: skip


def engine_frames(run):
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


def outcome(f, *args):
    try:
        return repr(f(*args))
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", CALLS)
def test_native_arguments_and_others_in_turn(name):
    f = CALLS[name]
    run = Doubles().program(f, ([1],), {})
    for _ in range(2):
        for x in (*NATIVE[name], object, None):
            assert outcome(run, x) == outcome(f, x)
        assert run(Sized()) == DOUBLED[name]


@pytest.mark.parametrize("name", CALLS)
def test_the_engine_is_not_asked_again(name):
    run = Doubles().program(CALLS[name], NATIVE[name][:1], {})
    run(NATIVE[name][0])
    assert engine_frames(lambda: run(NATIVE[name][0])) == []


def test_every_builtin_of_the_table_runs_as_it_is():
    """On an argument of a class of C code, whatever that is."""
    calls = [(name, row.f, count) for name, row in memory.BY_CLASS.items() for count in row.counts]
    assert {"len", "isinstance", "max", "divmod"} <= {name for name, _, _ in calls}
    for name, f, count in calls:
        for x in (1, 2.5, "1", [1], {1: 2}, int, None):
            plain = outcome(f, *[x] * count)
            under = outcome(overdub, Doubles(), eval(f"lambda x: {name}({', '.join('x' * count)})"), x)
            assert re.sub("0x[0-9a-f]{8,}", "", str(under)) == re.sub("0x[0-9a-f]{8,}", "", str(plain)), name


def test_arguments_that_are_splatted():
    run = Doubles().program(lambda pair: isinstance(*pair), ((1, int),), {})
    for _ in range(2):
        assert [run((1, int)), run([1, str]), run((1, Everything))] == [True, False, True]
        with pytest.raises(TypeError, match="expected 2 arguments, got 1"):
            run([1])


class Ordered:
    """Greater than everything."""

    def __gt__(self, other):
        return math.sqrt(4.0) == 4.0

    def __lt__(self, other):
        return math.sqrt(4.0) != 4.0

    def __rdivmod__(self, other):
        return math.sqrt(4.0)

    def __rpow__(self, other):
        return math.sqrt(4.0)

    __divmod__, __pow__ = __rdivmod__, __rpow__


ALIKE = {
    "max of two": lambda x, y: max(x, y),
    "max of three": lambda x, y: max(x, y, 0),
    "min of two": lambda x, y: min(x, y),
    "min of three": lambda x, y: min(0, x, y),
    "divmod": lambda x, y: divmod(x, y),
    "pow": lambda x, y: pow(x, y),
}


@pytest.mark.parametrize("contexts", [1, 2, 3])
@pytest.mark.parametrize("name", ALIKE)
def test_all_arguments_of_one_class(name, contexts):
    f = run = ALIKE[name]
    for _ in range(contexts):
        run = Doubles().program(run, (1, 2), {})
    assert run(5, 3) == f(5, 3)
    assert engine_frames(lambda: run(5, 3)) == []
    big = Ordered()
    expected = {"max": big, "min": 0, "div": 2.0 * 2**contexts, "pow": 2.0 * 2**contexts}[name[:3]]
    for _ in range(2):
        for x, y in [(5, 3), (5.0, 3.0), (5, 3.0), (True, 2), ("a", 1), (None, None), (object, int)]:
            assert outcome(run, x, y) == outcome(f, x, y)
        if contexts == 1:
            for x, y in [(5, big), (big, 5)]:
                assert run(x, y) == (5 if name == "min of two" else expected)


def test_instances_of_c_classes_and_of_classes_in_python():
    run = Doubles().program(lambda x, cls: isinstance(x, cls), (1, int), {})
    for _ in range(2):
        assert [run(1, int), run(1, str), run(1, (str, int)), run(1, (str,))] == [True, False, True, False]
        assert [run(1, Sized), run(Sized(), Sized), run(1, int | str)] == [False, True, True]
        assert [run(1, Everything), run(1, (str, Everything)), run([], abc.ABC)] == [True, True, False]
        with pytest.raises(TypeError, match="isinstance"):
            run(1, 2)


def test_a_rule_for_the_builtin_itself():
    class Own(Doubles):
        pass

    def program(x, add):
        out = []
        for k in range(4):
            if k == 2:
                add()
            out.append(len(x))
        return out

    def add():
        Own.rule(len)(lambda ctx, x: -1)

    assert overdub(Own(), program, [1], add) == [1, 1, -1, -1]
    assert overdub(Own(), program, [1], lambda: None) == [-1] * 4


def test_a_name_that_means_something_else():
    def own(x):
        return math.sqrt(x)

    namespace = {"len": own}
    exec("def program(x): return len(x)", namespace)
    program = namespace["program"]
    run = Doubles().program(program, (4.0,), {})
    assert [run(4.0), run(9.0)] == [4.0, 6.0]
    del namespace["len"]
    assert [run([1]), run("ab")] == [1, 2]
    namespace["len"] = Sized
    with pytest.raises(TypeError, match="takes no arguments"):
        run([1])


def test_a_fallback_is_asked_for_each():
    class Falls(Doubles):
        asked: list

        def fallback(self, f, args, kwargs):
            self.asked.append(f)
            return f(*args, **kwargs)

    ctx = Falls([])
    assert overdub(ctx, lambda x: (len(x), len(x)), [1]) == (1, 1)
    assert ctx.asked == [len, len]


def test_contexts_within_contexts():
    class Trace(Context):
        seen: list
        intercepts = ("call",)

        def prehook(self, f, args, kwargs):
            self.seen.append(f)

    class Operators(Context):
        intercepts = ("operator",)

    def program(x):
        return len(x) + len(x), isinstance(x, list), str(x)

    plain = program([1])
    trace = Trace([])
    assert overdub(trace, overdub, Doubles(), program, [1]) == plain
    assert trace.seen == [len, len, isinstance, str]
    for outer, size in ((Doubles, 8), (Operators, 4)):
        assert overdub(outer(), overdub, Doubles(), program, [1]) == plain
        assert overdub(outer(), overdub, outer(), overdub, Doubles(), program, [1]) == plain
        assert overdub(outer(), overdub, Doubles(), lambda x: len(x), Sized()) == size


def test_errors_are_where_the_call_is():
    def program(x):
        return (
            len(x)
        )  # fmt: skip

    with pytest.raises(TypeError) as error:
        overdub(Doubles(), program, 1)
    last = error.tb.tb_next
    while last.tb_next is not None:
        last = last.tb_next
    assert last.tb_frame.f_code.co_name == "program"
    assert last.tb_lineno == program.__code__.co_firstlineno + 2


def test_the_arguments_are_evaluated_after_the_name():
    """`len` is read before what its argument does."""
    namespace = {}
    exec("def program(x): return len(change(x))", namespace)

    def change(x):
        namespace["len"] = lambda x: "changed"
        return x

    namespace["change"] = change
    run = Doubles().program(namespace["program"], ([1],), {})
    assert [run([1]), run([1])] == [1, "changed"]
