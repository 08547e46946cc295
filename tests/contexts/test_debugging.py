"""`DebugContext` driven by scripts and callables: stepping, breakpoints, variables, exceptions, threads."""

import contextlib
import functools
import math
import statistics
import sys
import threading

import numpy as np
import pytest

from ctxdispatch import Context, overdub
from ctxdispatch_contexts.debugging import Aborted, CannotAssign, DebugContext, Resume, Script, Stop

WRITES = sys.version_info >= (3, 13)
HERE = __file__


def line_of(f, n):
    """The number of the n-th line of f."""
    return getattr(f, "__wrapped__", f).__code__.co_firstlineno + n


def lines(ctx, *functions):
    """Where it stopped: the function's name and the line within it."""
    first = {f.__code__.co_qualname: f.__code__.co_firstlineno for f in functions}
    return [(s.function, s.line - first[s.function]) for s in ctx.stops if s.function in first]


def debug(f, *args, script=(), **options):
    ctx = DebugContext.of(script, **options)
    result = overdub(ctx, f, *args)
    return ctx, result


def helper(z):
    w = z * 2
    return w


def program(a):
    x = 1
    for i in range(2):
        x += helper(i)
    y = [x, a]
    return y


# -- behaviours 90 and 115 -------------------------------------------------------------------------


def test_090_a_script_of_steps_stops_at_each_line_call_and_return():
    ctx, result = debug(program, 5, script=["step"] * 30)
    assert result == [3, 5]
    expected = [
        ("call", "program", 0), ("line", "program", 1), ("line", "program", 2), ("line", "program", 3),
        ("call", "helper", 0), ("line", "helper", 1), ("line", "helper", 2), ("return", "helper", 2),
        ("line", "program", 2), ("line", "program", 3),
        ("call", "helper", 0), ("line", "helper", 1), ("line", "helper", 2), ("return", "helper", 2),
        ("line", "program", 2), ("line", "program", 4), ("line", "program", 5), ("return", "program", 5),
    ]  # fmt: skip
    first = {"program": line_of(program, 0), "helper": line_of(helper, 0)}
    assert [(s.event, s.function, s.line - first[s.function]) for s in ctx.stops] == expected
    assert [s.returned for s in ctx.stops if s.event == "return"] == [0, 2, [3, 5]]


def test_090_variables_at_each_step():
    ctx, _ = debug(program, 5, script=["next"] * 10)
    assert [s.locals for s in ctx.stops] == [
        {"a": 5}, {"a": 5}, {"a": 5, "x": 1}, {"a": 5, "x": 1, "i": 0}, {"a": 5, "x": 1, "i": 0},
        {"a": 5, "x": 1, "i": 1}, {"a": 5, "x": 3, "i": 1}, {"a": 5, "x": 3, "i": 1},
        {"a": 5, "x": 3, "i": 1, "y": [3, 5]},
    ]  # fmt: skip


@pytest.mark.parametrize("how", ["abort", "q", "quit"])
def test_090_abort_raises_out_of_overdub_and_runs_finally(how):
    done = []

    def cleaned(x):
        try:
            try:
                x += 1
            except Exception:
                done.append("except")
            return x
        finally:
            done.append("finally")

    ctx = DebugContext.of(["next", "next", "next", how])
    with pytest.raises(Aborted, match=r"aborted at .*cleaned"):
        overdub(ctx, cleaned, 1)
    assert done == ["finally"] and not isinstance(Aborted(), Exception)


def test_090_exceptions_pass_through_unchanged():
    error = KeyError("mine")

    def fails():
        raise error

    def outer():
        fails()

    for options in ({}, {"on_exception": "leaves"}, {"on_exception": "raised"}):
        error.__traceback__ = None
        with pytest.raises(KeyError) as info:
            debug(outer, script=["step"] * 20, **options)
        assert info.value is error and error.__context__ is None and error.__cause__ is None
        names = [(e.name, e.lineno + 1) for e in info.traceback if e.path.name == "test_debugging.py"]
        assert names[-2:] == [("outer", line_of(outer, 1)), ("fails", line_of(fails, 1))]


def test_115_breakpoint_by_function():
    ctx, result = debug(program, 5, breakpoints=[helper], script=["continue"] * 5)
    assert result == [3, 5]
    assert [(s.reason, s.function, s.locals) for s in ctx.stops] == [
        ("breakpoint", "helper", {"z": 0}), ("breakpoint", "helper", {"z": 1})
    ]  # fmt: skip
    assert [b.hits for b in ctx.breakpoints] == [2]


@pytest.mark.parametrize("pattern", ["helper", "help*", f"{__name__}.helper", "*.helper"])
def test_115_breakpoint_by_name_pattern(pattern):
    ctx, _ = debug(program, 5, breakpoints=[pattern], script=["continue"] * 5)
    assert [s.function for s in ctx.stops] == ["helper", "helper"]


def test_115_breakpoint_by_file_and_line():
    where = f"{HERE}:{line_of(program, 3)}"
    ctx, _ = debug(program, 5, breakpoints=[where], script=["continue"] * 5)
    assert [(s.line - line_of(program, 0), s.locals["i"]) for s in ctx.stops] == [(3, 0), (3, 1)]
    short = f"contexts/test_debugging.py:{line_of(helper, 2)}"
    ctx, _ = debug(program, 5, breakpoints=[short], script=["continue"] * 5)
    assert [s.locals for s in ctx.stops] == [{"z": 0, "w": 0}, {"z": 1, "w": 2}]


def other(z):
    return helper(z) + [helper(z + 1) for _ in range(1)][0]


def both(z):
    return program(z), other(z + 10)


def test_115_breakpoint_by_caller():
    for caller in (other, "other"):
        ctx = DebugContext.of(["c"] * 9, breakpoints=["nothing"])
        ctx.breakpoints.add(helper, caller=caller)
        overdub(ctx, both, 1)
        assert [s.locals["z"] for s in ctx.stops] == [11, 12]
    ctx, _ = debug(both, 1, breakpoints=["helper from program"], script=["c"] * 9)
    assert [s.locals["z"] for s in ctx.stops] == [0, 1]


@pytest.mark.parametrize("condition", ["z == 1", lambda names: names["z"] == 1, "any(z == k for k in [1])"])
def test_115_conditional_breakpoint(condition):
    ctx = DebugContext.of(["c"] * 9, stop_at_entry=False)
    made = ctx.breakpoints.add(helper, condition=condition)
    assert overdub(ctx, program, 5) == [3, 5]
    assert [s.locals["z"] for s in ctx.stops] == [1] and made.hits == 1


def test_115_step_in():
    ctx, _ = debug(program, 5, breakpoints=[f"{HERE}:{line_of(program, 3)}"], script=["in", "step"])
    assert lines(ctx, program, helper) == [("program", 3), ("helper", 0), ("helper", 1)]


def test_115_step_over():
    ctx, _ = debug(program, 5, script=["over"] * 20)
    assert lines(ctx, program, helper) == [("program", k) for k in (0, 1, 2, 3, 2, 3, 2, 4, 5)]


def test_115_step_out():
    ctx, _ = debug(program, 5, breakpoints=[helper], script=["next", "out", "c", "out", "out"])
    assert lines(ctx, program, helper) == [
        ("helper", 0), ("helper", 1), ("program", 2), ("helper", 0), ("program", 2),
    ]  # fmt: skip


def test_115_variables_at_each_stop():
    ctx, _ = debug(program, 5, breakpoints=["helper"], script=["return", "out", "until", "c"])
    assert [(s.event, s.locals, s.returned) for s in ctx.stops] == [
        ("call", {"z": 0}, None), ("return", {"z": 0, "w": 0}, 0), ("line", {"a": 5, "x": 1, "i": 0}, None),
        ("line", {"a": 5, "x": 1, "i": 1}, None), ("call", {"z": 1}, None),
    ]  # fmt: skip


def caught():
    try:
        helper(None)
    except TypeError as e:
        found = str(e)
    return found


def test_115_survives_exceptions():
    ctx, result = debug(caught, script=["next"] * 9)
    assert "NoneType" in result
    assert lines(ctx, caught) == [("caught", k) for k in (0, 1, 2, 3, 4, 5)]
    ctx, _ = debug(caught, script=["step"] * 4 + ["next"] * 9)
    assert [s.event for s in ctx.stops if s.function == "helper"] == ["call", "line", "exception"]
    assert lines(ctx, caught)[-3:] == [("caught", 3), ("caught", 4), ("caught", 5)]


# -- exceptions ------------------------------------------------------------------------------------


def test_stops_where_an_exception_leaves_the_innermost_function_once():
    ctx, _ = debug(caught, on_exception="leaves", stop_at_entry=False, script=["c"] * 9)
    (stop,) = ctx.stops
    assert (stop.reason, stop.event, stop.function) == ("exception", "exception", "helper")
    assert stop.line == line_of(helper, 1) and stop.locals == {"z": None}
    assert [f.function for f in stop.stack] == ["caught", "helper"]
    assert stop.stack[0].line == line_of(caught, 2) and isinstance(stop.exception, TypeError)


def catches_itself(n):
    for k in range(n):
        try:
            raise ValueError(k)
        except ValueError:
            with contextlib.suppress(KeyError):
                raise KeyError(k)
    return n


def test_stops_where_exceptions_are_raised_once_each():
    ctx, _ = debug(catches_itself, 3, on_exception="raised", stop_at_entry=False, script=["c"] * 20)
    mine = [repr(s.exception) for s in ctx.stops if s.function == "catches_itself"]
    assert mine == [f"{name}Error({k})" for k in range(3) for name in ("Value", "Key")]
    ctx, _ = debug(catches_itself, 3, on_exception="leaves", stop_at_entry=False, script=["c"] * 20)
    assert ctx.stops == []


def test_exceptions_of_some_classes_only():
    ctx, _ = debug(
        catches_itself, 2, on_exception="raised", exceptions=KeyError, stop_at_entry=False, script=["c"] * 9
    )
    assert [type(s.exception) for s in ctx.stops] == [KeyError] * 2


def reraises():
    try:
        try:
            helper(None)
        finally:
            done = 1
    except TypeError:
        raise


def test_an_exception_that_is_raised_again_is_told_once():
    for mode in ("leaves", "raised"):
        ctx = DebugContext.of(["c"] * 9, on_exception=mode, stop_at_entry=False)
        with pytest.raises(TypeError):
            overdub(ctx, reraises)
        assert [s.function for s in ctx.stops] == ["helper"]


def test_an_option_that_there_is_not():
    with pytest.raises(ValueError, match="on_exception is one of"):
        DebugContext.of([], on_exception="always")


# -- programs --------------------------------------------------------------------------------------


def numbers(n):
    for k in range(n):
        yield k * k


def consumer():
    total = 0
    for v in numbers(2):
        total += v
    return total


def test_stepping_over_a_generator_stays_in_the_function():
    ctx, result = debug(consumer, script=["next"] * 20)
    assert result == 1
    assert lines(ctx, consumer, numbers) == [("consumer", k) for k in (0, 1, 2, 3, 2, 3, 2, 4)]


def test_stepping_from_a_generator_goes_on_where_it_is_consumed():
    ctx, _ = debug(consumer, breakpoints=[numbers], script=["next"] * 20)
    assert lines(ctx, consumer, numbers) == [
        ("numbers", 0), ("numbers", 1), ("numbers", 2), ("consumer", 3), ("consumer", 2),
        ("consumer", 3), ("consumer", 2), ("consumer", 4),
    ]  # fmt: skip
    ctx, _ = debug(consumer, breakpoints=[numbers], script=["step"] * 20)
    assert lines(ctx, consumer, numbers) == [
        ("numbers", 0), ("numbers", 1), ("numbers", 2), ("consumer", 3), ("consumer", 2),
        ("numbers", 1), ("numbers", 2), ("consumer", 3), ("consumer", 2), ("numbers", 1), ("numbers", 1),
        ("consumer", 4), ("consumer", 4),
    ]  # fmt: skip


def test_out_of_a_generator_does_not_stop_in_it_again():
    ctx, _ = debug(consumer, breakpoints=[numbers], script=["next", "out"] + ["next"] * 9)
    assert lines(ctx, consumer, numbers)[2:5] == [("consumer", 3), ("consumer", 2), ("consumer", 3)]


def down(n):
    if n == 0:
        return 1
    k = down(n - 1)
    return k * n


def test_stepping_over_a_recursive_call_stays_in_its_frame():
    ctx, result = debug(down, 3, script=["next"] * 20)
    assert result == 6 and [s.locals["n"] for s in ctx.stops] == [3] * 4
    assert [s.depth for s in ctx.stops] == [1] * 4


def test_out_of_recursion_is_one_level():
    ctx, _ = debug(down, 3, breakpoints=["down, n == 0"], script=["out"] * 20)
    assert [(s.locals["n"], s.depth) for s in ctx.stops] == [(0, 4), (1, 3), (2, 2), (3, 1)]


def test_return_runs_to_the_return_of_this_very_frame():
    ctx, _ = debug(down, 2, script=["next", "return", "c"])
    assert [(s.event, s.locals["n"], s.returned) for s in ctx.stops][-1] == ("return", 2, 2)


def two_on_one_line(x):
    y = helper(x) + other_helper(x)
    return y


def other_helper(x):
    return x


def test_out_does_not_stop_in_another_call_on_the_same_line():
    ctx, _ = debug(two_on_one_line, 1, breakpoints=[helper], script=["out", "out"])
    assert lines(ctx, two_on_one_line, helper, other_helper) == [("helper", 0), ("two_on_one_line", 2)]


def test_step_goes_from_one_call_of_a_line_to_the_next():
    ctx, _ = debug(two_on_one_line, 1, breakpoints=[helper], script=["return", "step", "c"])
    assert [(s.event, s.function) for s in ctx.stops] == [
        ("call", "helper"), ("return", "helper"), ("call", "other_helper")
    ]  # fmt: skip


def comprehension(n):
    xs = [helper(k) for k in range(n)]
    return {x: x for x in xs}


def test_a_comprehension_is_stepped_over_with_its_calls():
    ctx, _ = debug(comprehension, 2, script=["next"] * 20)
    assert {s.function.split(".")[0] for s in ctx.stops} == {"comprehension"}
    assert ctx.stops[-1].locals["xs"] == [0, 2]


def test_a_breakpoint_within_a_comprehension():
    ctx, _ = debug(comprehension, 2, breakpoints=[helper], script=["up", "c"] * 2)
    assert [s.locals["z"] for s in ctx.stops] == [0, 1]


def with_and_finally(x):
    with contextlib.nullcontext(x) as y:
        x += y
    try:
        x += 1
    finally:
        x += 2
    return x


def test_with_and_finally():
    ctx, result = debug(with_and_finally, 1, script=["next"] * 20)
    assert result == 5
    assert lines(ctx, with_and_finally) == [("with_and_finally", k) for k in (0, 1, 2, 1, 3, 4, 6, 7)]


def loops(n):
    for k in range(n):
        if k == 5:
            break
    else:
        k = -1
    while n:
        n -= 1
        continue
    else:
        n = 7
    return k, n


def test_loops_with_else():
    ctx, result = debug(loops, 1, script=["next"] * 20)
    assert result == (-1, 7)
    stopped = [n for _, n in lines(ctx, loops)]
    assert stopped == [0, 1, 2, 1, 5, 6, 7, 8, 6, 10, 11]


def announced(f):
    @functools.wraps(f)
    def wrapper(*args):
        value = f(*args)
        return value

    return wrapper


@announced
def decorated(x):
    return x + 1


def test_decorators_are_functions_to_step_through():
    ctx, result = debug(lambda: decorated(1), script=["step"] * 30)
    assert result == 2
    names = [s.function for s in ctx.stops if s.event == "call"]
    assert names[1:] == ["announced.<locals>.wrapper", "decorated"]


def test_class_bodies_are_not_followed():
    def makes():
        class Made:
            x = helper(1)

        return Made.x

    ctx, result = debug(makes, script=["step"] * 30)
    assert result == 2 and {s.function.split(".")[-1] for s in ctx.stops} == {"makes"}


def arrays(a):
    b = np.sin(a)
    c = a @ b
    return float(c)


def test_numpy_calls_are_stepped_over():
    a = np.arange(3.0)
    ctx, result = debug(arrays, a, script=["step"] * 9)
    assert result == arrays(a)
    assert lines(ctx, arrays) == [("arrays", k) for k in (0, 1, 2, 3, 3)]
    assert np.array_equal(ctx.stops[2].locals["b"], np.sin(a))


def test_modules_that_are_skipped_have_no_stops_but_at_breakpoints():
    def mean(xs):
        return statistics.fmean(xs)

    ctx, _ = debug(mean, [1, 2], skip="stat*", script=["step"] * 200)
    assert {s.function.split(".")[-1] for s in ctx.stops} == {"mean"}
    ctx, _ = debug(mean, [1, 2], script=["step"] * 200)
    assert "fmean" in {s.function for s in ctx.stops}
    ctx, _ = debug(mean, [1, 2], skip=["statistics"], breakpoints=["statistics.fmean"], script=["c"] * 9)
    assert [s.function for s in ctx.stops] == ["fmean"]


def test_lambdas_and_callbacks_from_c():
    def sorts(xs):
        return sorted(xs, key=lambda x: -x)

    ctx, result = debug(sorts, [1, 2], breakpoints=["<lambda>"], script=["step", "out", "c", "c"])
    assert result == [2, 1]
    assert [s.locals.get("x") for s in ctx.stops] == [1, 1, 2]
    assert all(s.stack[0].function.endswith("sorts") and s.depth == 2 for s in ctx.stops)


class Vector:
    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        return Vector(self.x + other.x)

    @property
    def double(self):
        return 2 * self.x

    def __getitem__(self, k):
        return self.x

    def __iter__(self):
        yield self.x

    def __bool__(self):
        return True

    def __eq__(self, other):
        return True


@pytest.mark.parametrize(
    "use, name",
    [(lambda v: v + v, "__add__"), (lambda v: v.double, "double"), (lambda v: v[0], "__getitem__"),
     (lambda v: [*v], "__iter__"), (lambda v: v == v, "__eq__"), (lambda v: 1 if v else 0, "__bool__"),
     (lambda v: [k for k in v], "__iter__")],
)  # fmt: skip
def test_stepping_enters_operators_properties_items_and_iteration(use, name):
    ctx, _ = debug(use, Vector(1), script=["step"] * 40)
    assert f"Vector.{name}" in {s.function for s in ctx.stops if s.event == "call"}


# -- breakpoints -----------------------------------------------------------------------------------


def test_temporary_ignored_disabled_and_removed_breakpoints():
    ctx = DebugContext.of(["c"] * 20, stop_at_entry=False)
    points = ctx.breakpoints
    once = points.add(helper, temporary=True)
    assert overdub(ctx, program, 0) and len(ctx.stops) == 1 and once not in list(points)
    later = points.add(helper, ignore=1)
    assert overdub(ctx, program, 0) and ctx.stops[-1].locals == {"z": 1} and later.hits == 2
    points.change(later.number, enabled=False)
    assert overdub(ctx, program, 0) and len(ctx.stops) == 2 and later.hits == 2
    points.change(later.number, enabled=True, condition="z > 0")
    assert overdub(ctx, program, 0) and len(ctx.stops) == 3
    points.remove(later.number)
    assert overdub(ctx, program, 0) and len(ctx.stops) == 3
    with pytest.raises(ValueError, match="there is no breakpoint 2"):
        points.remove(later.number)


def test_a_condition_that_raises_stops_and_says_so():
    ctx, _ = debug(program, 1, breakpoints=["helper, unknown > 1"], script=["c", "c"])
    assert "unknown" in ctx.stops[0].message and len(ctx.stops) == 2


@pytest.mark.parametrize(
    "where, error, message",
    [("helper, 1 +", ValueError, "is no expression"), (len, TypeError, "no Python code"),
     ("x.py:nine", ValueError, "is no number"), (12, ValueError, "of which file")],
)  # fmt: skip
def test_breakpoints_that_cannot_be(where, error, message):
    with pytest.raises(error, match=message):
        DebugContext.of([], breakpoints=[where])


def test_a_file_that_is_nowhere_is_refused():
    with pytest.raises(ValueError, match=r"there is no file 'nowhere_at_all.py'; give its path"):
        DebugContext.of([], breakpoints=["nowhere_at_all.py:3"])


def test_a_file_that_is_imported_later_is_found_along_the_path(tmp_path, monkeypatch):
    (tmp_path / "imported_later.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    DebugContext.of([], breakpoints=["imported_later.py:1"])


def test_a_line_without_code_is_refused_with_the_next_that_has():
    with pytest.raises(ValueError, match=rf"has no code .*; the next that has is {line_of(helper, 0)}"):
        DebugContext.of([], breakpoints=[f"{HERE}:{line_of(helper, -1)}"])


def test_breakpoints_on_methods_partials_classes_and_properties():
    def uses():
        return functools.partial(helper, 3)(), Vector(1).double, Vector(1) + Vector(2)

    for where, name in (
        (functools.partial(helper, 3), "helper"), (Vector, "Vector.__init__"),
        (Vector.double, "Vector.double"),
        (Vector(1).__add__, "Vector.__add__"), (decorated, None),
    ):  # fmt: skip
        ctx, _ = debug(uses, breakpoints=[where], script=["c"] * 9)
        assert {s.function for s in ctx.stops} == ({name} if name else set())


def test_a_line_that_a_loop_comes_to_again_stops_again_and_its_header_once_each_time():
    ctx, _ = debug(program, 1, breakpoints=[f"{HERE}:{line_of(program, 2)}"], script=["c"] * 9)
    assert [s.locals.get("i") for s in ctx.stops] == [None, 0, 1]


def test_lines_with_nothing_but_return_and_continue_are_lines():
    def early(x):
        for k in range(2):
            if k:
                continue
        if x:
            return 1
        return 2

    where = [f"{HERE}:{line_of(early, k)}" for k in (3, 5)]
    ctx, _ = debug(early, 1, breakpoints=where, script=["c"] * 9)
    assert [n for _, n in lines(ctx, early)] == [3, 5]


def test_until_a_line():
    ctx, _ = debug(program, 1, script=["next", "next", f"until {line_of(program, 4)}", "c"])
    assert [n for _, n in lines(ctx, program)] == [0, 1, 2, 4]
    ctx, _ = debug(program, 1, script=["next", "next", "next", "until", "until", "c"])
    assert [n for _, n in lines(ctx, program)] == [0, 1, 2, 3, 4, 5]


# -- what can be asked and changed -----------------------------------------------------------------


def test_what_a_stop_tells():
    def on_stop(stop):
        seen.append((stop.arguments, stop.globals is globals(), stop.evaluate("[z + k for k in (1, 2)]"),
                     stop.evaluate("x", 1)))  # fmt: skip
        return "continue"

    seen = []
    ctx = DebugContext.of(on_stop, breakpoints=["helper, z == 1"])
    overdub(ctx, program, 5)
    assert seen == [({"z": 1}, True, [2, 3], 1)]
    (stop,) = ctx.stops
    assert stop.file == HERE and stop.source == "def helper(z):" and stop.thread == "MainThread"
    assert [(f.function, f.source) for f in stop.stack] == [
        ("program", "x += helper(i)"), ("helper", "def helper(z):")
    ]  # fmt: skip
    with pytest.raises(RuntimeError, match="has gone on"):
        stop.evaluate("z")


def test_a_local_variable_is_changed_or_refused():
    def on_stop(stop):
        if stop.event != "line":
            return "next"
        if WRITES:
            stop.assign("z", 50)
        else:
            with pytest.raises(CannotAssign, match="cannot change the local variable 'z'"):
                stop.assign("z", 50)
        with pytest.raises(NameError):
            stop.assign("unknown", 1)
        return "continue"

    assert overdub(DebugContext.of(on_stop), helper, 1) == (100 if WRITES else 2)


COUNTER = 0


def test_statements_change_globals_and_make_variables_of_the_session():
    global COUNTER
    COUNTER = 0
    script = ["!global COUNTER; COUNTER = 5", "!mine = COUNTER + a", "next", "p mine * 2", "c"]
    ctx, _ = debug(program, 1, script=script)
    assert COUNTER == 5 and ctx.session.front.output.getvalue() == "12\n"
    assert "mine" not in ctx.stops[-1].locals and "mine" not in globals()


def test_watch_stops_where_a_value_changes_in_place_too():
    def grows():
        xs = []
        n = 0
        xs.append(1)
        n = 0
        helper(1)
        xs.append(2)
        return xs

    ctx, _ = debug(grows, script=["n", "n", "watch xs", "c", "c", "c", "c"])
    watched = [s for s in ctx.stops if s.reason == "watch"]
    assert [(s.line - line_of(grows, 0), s.message) for s in watched] == [
        (4, "xs: [] -> [1]"), (7, "xs: [1] -> [1, 2]")
    ]  # fmt: skip


class Slotted:
    __slots__ = ("x",)


class Held:
    def __init__(self):
        self.items, self.slotted, self.me = [np.array([1.0, np.nan])], Slotted(), self
        self.slotted.x = {"k": math.nan}


@pytest.mark.parametrize("change", [
    lambda h: h.items[0].__setitem__(0, 2.0), lambda h: h.items.append(1),
    lambda h: setattr(h.slotted, "x", 2),
    lambda h: setattr(h, "new", 1),
])  # fmt: skip
def test_a_watched_object_changes_with_what_it_holds_and_not_else(change):
    def program():
        held = Held()
        helper(1)
        helper(2)
        change(held)
        return 0

    ctx, _ = debug(program, script=["n", "n", "watch held", *["c"] * 4])
    watched = [s for s in ctx.stops if s.reason == "watch"]
    assert [s.line - line_of(program, 0) for s in watched] == [5]


def test_a_watched_name_that_is_not_defined_yet_is_no_change():
    def defines():
        a = 1
        b = a + 1
        late = b
        return late

    ctx, _ = debug(defines, script=["n", "watch late", "c", "c"])
    assert [s.message for s in ctx.stops if s.reason == "watch"] == ["late: (not defined) -> 2"]


def test_hidden_cells_never_show():
    def closes(x):
        def inner():
            return x

        return inner()

    ctx, _ = debug(closes, 1, script=["step", "locals"] * 20)
    names = {name for s in ctx.stops for name in s.locals}
    assert names == {"x", "inner"} and "$" not in ctx.session.front.output.getvalue()


def captured_and_not(n):
    late = [lambda: k for k in range(n)]
    early = [lambda k=k: k for k in range(n)]
    return late[0]() + early[0]()


def test_variables_that_are_in_a_cell_in_one_comprehension_only():
    ctx, result = debug(captured_and_not, 2, script=["step"] * 40)
    assert result == 1 and ctx.stops[-1].returned == 1
    assert {"n", "late", "early"} <= {*ctx.stops[-1].locals}


# -- front ends ------------------------------------------------------------------------------------


def test_a_generator_is_sent_the_stops():
    def script():
        stop = yield
        while True:
            assert isinstance(stop, Stop)
            stop = yield "next" if stop.function == "program" else "out"

    ctx, _ = debug(program, 1, script=script())
    assert {s.function for s in ctx.stops} == {"program"} and len(ctx.stops) == 9


def test_a_script_that_has_ended_lets_the_program_run():
    ctx, result = debug(program, 5, breakpoints=[helper], script=["next"])
    assert result == [3, 5] and len(ctx.stops) == 2 and ctx.session.detached


def test_scripts_of_resumes_callables_and_text():
    seen = []
    script = [Resume("next"), lambda stop: seen.append(stop.line), lambda stop: "next", Resume("continue")]
    ctx, _ = debug(program, 5, script=script)
    assert seen == [line_of(program, 1)] and len(ctx.stops) == 3
    front = Script("# a comment\nnext\n\nnext\nc\n")
    ctx = DebugContext.of(front)
    assert overdub(ctx, program, 5) == [3, 5]


@pytest.mark.parametrize("answer, error", [("jump", ValueError), (3, TypeError)])
def test_an_answer_that_is_no_way_to_go_on(answer, error):
    with pytest.raises(error):
        overdub(DebugContext.of(lambda stop: answer), program, 1)
    with pytest.raises(TypeError, match="a front end is"):
        DebugContext.of(3)


def test_what_is_evaluated_at_a_stop_does_not_stop():
    ctx, _ = debug(program, 1, breakpoints=[helper], script=["p helper(3)", "c"] * 3)
    assert len(ctx.stops) == 2 and ctx.session.front.output.getvalue() == "6\n6\n"


def test_a_context_that_has_been_used_is_used_again():
    ctx = DebugContext.of(lambda stop: "next")
    assert overdub(ctx, program, 1) == overdub(ctx, program, 1) == [3, 1]
    assert len(ctx.stops) == 9  # it begins once


# -- threads, stacks -------------------------------------------------------------------------------


def test_eight_threads_step_each_for_itself():
    def worker(k, results):
        x = helper(k)
        results[k] = x

    def starts():
        results = {}
        threads = [threading.Thread(target=worker, args=(k, results), name=f"t{k}") for k in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return results

    asked, most = [], []

    def on_stop(stop):
        asked.append(stop)
        most.append(len(asked))
        asked.remove(stop)
        return "next"

    ctx = DebugContext.of(on_stop, breakpoints=[worker], skip="threading")
    assert overdub(ctx, starts) == {k: 2 * k for k in range(8)}
    assert set(most) == {1}  # one is asked at a time
    for k in range(8):
        mine = [s for s in ctx.stops if s.thread == f"t{k}" and s.function.endswith("worker")]
        assert [s.line - line_of(worker, 0) for s in mine] == [0, 1, 2]
        assert [s.locals.get("x") for s in mine] == [None, None, 2 * k]


class Counting(Context):
    seen: list

    def prehook(self, f, args, kwargs):
        self.seen.append(getattr(f, "__name__", None))


def test_under_an_outer_context_with_hooks():
    plain = Counting([])
    overdub(plain, program, 5)
    outer, ctx = Counting([]), DebugContext.of(["next"] * 20)
    assert overdub(outer, overdub, ctx, program, 5) == [3, 5]
    assert [n for _, n in lines(ctx, program)] == [0, 1, 2, 3, 2, 3, 2, 4, 5]
    assert [n for n in outer.seen if n == "helper"] == ["helper"] * 2
    assert not {n for n in outer.seen if n and n.startswith("at_")}


def test_over_an_inner_context_with_hooks():
    inner, ctx = Counting([]), DebugContext.of(["next"] * 20)
    assert overdub(ctx, overdub, inner, program, 5) == [3, 5]
    assert [n for _, n in lines(ctx, program)] == [0, 1, 2, 3, 2, 3, 2, 4, 5]
    assert inner.seen.count("helper") == 2
    assert ctx.stops[-1].locals == {"a": 5, "x": 3, "i": 1, "y": [3, 5]}


def test_two_debuggers_stacked_stop_each():
    outer, inner = DebugContext.of(["next"] * 20), DebugContext.of([], breakpoints=[helper])
    assert overdub(outer, overdub, inner, program, 5) == [3, 5]
    assert len(outer.stops) == 9 and [s.function for s in inner.stops] == ["helper"]


def test_a_run_without_breakpoints_and_steps_asks_nobody():
    asked = []
    ctx = DebugContext.of(asked.append, stop_at_entry=False)
    assert overdub(ctx, program, 5) == [3, 5] and not asked
    assert not ctx.session.lines and not ctx.session.stepping and not ctx.session.raising


def test_coroutines_are_stepped_through():
    import asyncio

    async def waits(x):
        y = await asyncio.sleep(0, x)
        return y + 1

    def runs():
        return asyncio.run(waits(1))

    ctx, result = debug(runs, breakpoints=["*waits"], skip=["asyncio*"], script=["next", "next", "next", "c"])
    assert result == 2
    assert [(s.function.split(".")[-1], s.locals.get("y")) for s in ctx.stops][:3] == [
        ("waits", None), ("waits", None), ("waits", 1)
    ]  # fmt: skip
