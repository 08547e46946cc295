"""Passes that users write with `Editor`: what they insert, replace, remove and thread through, in programs as
they are and in those that a context further in has made."""

import asyncio
import math
import operator

import numpy as np
import pytest

from ctxdispatch import grad, overdub
from ctxdispatch.dispatch import Context, Editor, undispatched
from ctxdispatch.ir.verify import verify


def edited(change, *kinds, base=Context, **fields):
    """A context class whose pass is change(edit)."""

    class Edited(base):
        intercepts = kinds
        seen: list

        def transform(self, graph):
            edit = Editor(graph)
            change(edit)
            return super().transform(edit.finish())

    return Edited([], **fields)


def note(ctx, *what):
    ctx.seen.append(what[0] if len(what) == 1 else what)
    return len(ctx.seen)


def helper(x):
    return math.sqrt(x) + x


def program(x):
    y = helper(x)
    for _ in range(3):
        y = y * 2 if y < 100 else y
    print("y is", y)
    return [y, -y][0]


# -- insert ----------------------------------------------------------------------------------------


def results_of_operators(edit):
    for op in edit.calls("operator"):
        edit.after(op, note, edit.context, edit.callee(op), op.result)


def test_after_sees_the_results_in_order_in_what_is_called_too():
    ctx = edited(results_of_operators, "call")
    assert overdub(ctx, program, 4.0) == 48.0
    assert ctx.seen == [
        (operator.add, 6.0), (operator.mul, 12.0), (operator.mul, 24.0), (operator.mul, 48.0),
        (operator.neg, -48.0),
    ]  # fmt: skip


def test_before_sees_the_operands_and_its_value_can_be_used():
    def change(edit):
        for op in edit.calls("operator"):
            if edit.callee(op) is operator.mul:
                left, right = edit.operands(op)
                edit.replace(op, operator.add, left, edit.before(op, twice, right))

    assert overdub(edited(change, "call"), program, 4.0) == 6.0 + 4 + 4 + 4


def twice(x):
    return 2 * x


@pytest.mark.parametrize("stacked", [0, 1, 2])
def test_a_pass_sees_what_contexts_further_in_made(stacked):
    class Inner(Context):
        intercepts = ("call", "operator", "compare")

    ctx = edited(results_of_operators, "call")
    inner = [x for _ in range(stacked) for x in (overdub, Inner())]
    assert overdub(ctx, *inner, program, 4.0) == 48.0
    assert [f for f, _ in ctx.seen] == [operator.add, *3 * [operator.mul], operator.neg]


def test_two_instances_of_one_pass_stacked_see_the_same():
    outer, inner = edited(results_of_operators, "call"), edited(results_of_operators, "call")
    assert overdub(outer, overdub, inner, program, 4.0) == 48.0
    assert outer.seen == inner.seen and len(outer.seen) == 5


def test_what_is_inserted_is_not_dispatched_unless_asked_for():
    class Hooked(Context):
        def prehook(self, f, args, kwargs):
            self.seen.append(f.__name__)

    for dispatch, expected in ((False, ["add"]), (True, ["add", "twice", "mul"])):

        def change(edit, dispatch=dispatch):
            for op in edit.calls("operator"):
                if edit.callee(op) is operator.add:
                    edit.after(op, twice, op.result, dispatch=dispatch)

        ctx = edited(change, "call", "operator", base=Hooked)
        assert overdub(ctx, lambda x: x + 1, 2) == 3
        assert ctx.seen == expected


def test_outer_contexts_are_not_told_of_undispatched_calls():
    class Log(Context):
        calls: list
        intercepts = ("call",)

        def prehook(self, f, args, kwargs):
            self.calls.append(f)

    log, inner = Log([]), edited(results_of_operators, "call")
    overdub(log, overdub, inner, helper, 4.0)
    assert log.calls == [math.sqrt] and len(inner.seen) == 1


def test_entry_and_return_of_functions_generators_and_coroutines():
    def change(edit):
        edit.at_entry(note, edit.context, "enter")
        edit.at_return(note, edit.context, "return")

    def numbers(n):
        yield from range(n)
        return "done"

    async def wait(x):
        await asyncio.sleep(0)
        return x

    def both():
        return list(numbers(2)), asyncio.run(wait(5))

    ctx = edited(change, "call")
    assert overdub(ctx, numbers, 2).__next__() == 0 and ctx.seen == ["enter"]
    ctx = edited(change, "call")
    assert overdub(ctx, both) == ([0, 1], 5)
    assert ctx.seen[:3] == ["enter", "enter", ("return", "done")] and ("return", 5) in ctx.seen
    assert ctx.seen[-1] == ("return", ([0, 1], 5))


def test_inserted_calls_stand_on_the_line_of_the_op():
    def fail(*_):
        raise KeyError("inserted")

    def change(edit):
        for op in edit.calls("operator"):
            edit.after(op, fail)

    def f(x):
        y = x
        return y + 1

    with pytest.raises(KeyError) as info:
        overdub(edited(change), f, 1)
    (entry,) = [e for e in info.traceback if e.name == "f"]
    assert entry.lineno + 1 == f.__code__.co_firstlineno + 2


# -- replace, remove, bodies -----------------------------------------------------------------------


def test_prints_become_a_callback(capsys):
    def change(edit):
        for op in edit.calls("call"):
            if edit.callee(op) is print:
                edit.replace(op, note, edit.context, *edit.operands(op))

    ctx = edited(change, "call")
    assert overdub(ctx, program, 4.0) == 48.0
    assert ctx.seen == [("y is", 48.0)] and capsys.readouterr().out == ""


def test_what_is_no_kind_is_refused():
    for given, message in (("cal", "no kind 'cal'; did you mean 'call'?"), (math.sqrt, "no kind <built-in")):
        with pytest.raises(ValueError, match=message.replace("?", r"\?")):
            overdub(edited(lambda edit, given=given: [*edit.calls(given)]), program, 4.0)


def test_prints_are_removed(capsys):
    def change(edit):
        for op in edit.calls("call"):
            if edit.callee(op) is print:
                edit.remove(op)

    assert overdub(edited(change, "call"), program, 4.0) == 48.0
    assert capsys.readouterr().out == ""


def test_the_value_in_the_place_of_what_is_removed():
    def change(edit):
        for op in edit.calls("call"):
            edit.remove(op, 7.0)

    assert overdub(edited(change), helper, 4.0) == 11.0


def plain(a, b=2):
    return a - b


def everything(a, /, b, *rest, c=1, **more):
    def inner():
        return a

    return inner()


@pytest.mark.parametrize(
    "f, args, kwargs",
    [(plain, (1,), {}), (plain, (), {"b": 3, "a": 1}), (everything, (1, 2, 3), {"c": 4, "d": 5}),
     (everything, (1,), {"b": 2}), (lambda: 1, (), {}), (lambda *, k: k, (), {"k": 1})],
)  # fmt: skip
def test_the_whole_body_is_replaced(f, args, kwargs):
    def show(*args, **kwargs):
        return args, kwargs

    got = overdub(edited(lambda edit: edit.body(show)), f, *args, **kwargs)
    assert f.__name__ != "<lambda>" or got == (args, kwargs)
    if f is plain:
        assert got == ((1, kwargs.get("b", 2)), {})
    elif f is everything:
        assert got == ((1, 2, *args[2:]), {"c": 1, **{k: v for k, v in kwargs.items() if k != "b"}})


def test_the_body_of_a_generator_is_not_replaced():
    def numbers():
        yield 1

    with pytest.raises(ValueError, match=r"numbers does not run its body: it makes a generator"):
        overdub(edited(lambda edit: edit.body(twice)), numbers)


# -- a value threaded through ----------------------------------------------------------------------


def test_a_counter_is_threaded_through_each_call_of_a_function():
    def change(edit):
        steps = edit.variable(0)
        for op in edit.calls("operator"):
            more = edit.before(op, operator.add, steps.read(op), 1)
            steps.write(op, more)
            edit.after(op, note, edit.context, more)

    ctx = edited(change, "call")
    assert overdub(ctx, program, 4.0) == 48.0
    assert ctx.seen == [1, 1, 2, 3, 4]  # one of its own in each function


def test_threads_through_generators_and_recursion():
    def change(edit):
        count = edit.variable(0)
        for op in edit.calls("operator"):
            more = edit.before(op, operator.add, count.read(op), 1)
            count.write(op, more)
            edit.after(op, note, edit.context, more)

    def numbers(n):
        for k in range(n):
            yield k + 1

    def down(n):
        return 0 if n == 0 else down(n - 1)

    ctx = edited(change, "call")
    assert overdub(ctx, lambda: [*zip(numbers(2), numbers(2))]) == [(1, 1), (2, 2)]
    assert ctx.seen == [1, 1, 2, 2]
    ctx = edited(change, "call")
    overdub(ctx, down, 3)
    assert ctx.seen == [1, 1, 1]


# -- what is known ---------------------------------------------------------------------------------


class Scope:
    function = staticmethod(helper)


def test_callees_that_are_known():
    def f(x, g):
        abs(x)
        np.sin(x)
        Scope.function(x)
        g(x)
        return max(*[x, x]) + x

    found = []

    def change(edit):
        found.extend(edit.callee(op) for op in edit.calls("call", "operator"))

    assert overdub(edited(change), f, 1.0, abs) == 2.0
    assert found == [abs, np.sin, helper, None, max, operator.add]


def test_lines_are_the_first_ops_of_lines():
    def f(x):
        y = x
        for k in range(2):
            y = y + k
        return y

    def change(edit):
        for op, pos in edit.lines():
            edit.before(op, note, edit.context, pos.line)

    ctx = edited(change)
    assert overdub(ctx, f, 1) == 2
    first = f.__code__.co_firstlineno
    assert [line - first for line in ctx.seen] == [1, 2, 2, 3, 2, 3, 4]


# -- derivatives, graphs ---------------------------------------------------------------------------


def test_a_pass_over_a_gradient_sees_the_program_of_the_derivative():
    ctx = edited(results_of_operators, "call")
    assert overdub(ctx, grad(lambda x: x * x * x), 3.0) == 27.0
    assert ctx.seen and all(f in (operator.mul, operator.add) for f, _ in ctx.seen)
    assert ctx.seen[-1][1] == 27.0


def test_the_graph_that_is_given_is_left_alone():
    from ctxdispatch.bytecode.program import lift_program

    graph = lift_program(program)
    before = str(graph)
    edit = Editor(graph)
    results_of_operators(edit)
    edit.variable(1)
    verify(edit.finish())
    assert str(graph) == before


def test_undispatched_functions_keep_what_they_are():
    def f(a, *, b=2):
        """Doc."""
        return a + b

    made = undispatched(f)
    assert made(1) == 3 and made(1, b=5) == 6 and made.__name__ == "f" and undispatched(made) is made
    assert undispatched(math.sqrt)(4.0) == 2.0


def test_a_method_that_is_called_can_be_looked_at_by_a_pass():
    def change(edit):
        for op in edit.calls("call"):
            edit.after(op, note, edit.context, edit.called(op), op.result)

    def f(xs):
        xs.append(3)
        return xs.index(3) + "-".join(["a", "b"]).count("-")

    ctx = edited(change, "call")
    xs = [1]
    assert overdub(ctx, f, xs) == 2
    assert [g.__name__ for g, _ in ctx.seen] == ["append", "index", "join", "count"]
    assert [out for _, out in ctx.seen] == [None, 1, "a-b", 1]


class Callables:
    given = staticmethod(lambda *args: args)

    def method(self, *args):
        return args


@pytest.mark.parametrize("count", range(1, 10))
def test_the_operands_of_a_call_can_be_looked_at_after_it_however_many(count):
    def change(edit):
        for op in edit.calls("call"):
            edit.after(op, note, edit.context, *edit.operands(op), op.result)

    given = ["x", *(repr(k) for k in range(count - 1))]
    for callee in ("names.given", "names.method", "given"):
        names = {"names": Callables(), "given": Callables.given}
        for args in (given, given[::-1], given[1:] + ["x", "x + x"]):
            f = eval(f"lambda x: {callee}({', '.join(args)}) + (x, x)", names)
            ctx = edited(change, "call")
            out = overdub(ctx, f, "value")
            assert out == f("value")
            assert (*out[:-2], out[:-2]) in ctx.seen


def test_keywords_and_objects_of_their_own_can_be_looked_at_after_a_call():
    def change(edit):
        for op in edit.calls("call"):
            edit.after(op, note, edit.context, *edit.operands(op))

    def f(x, names):
        return names.given(x, [x], {x}, x + 1, x, x) + (names.method(x, x, [x], -x, x),)

    ctx = edited(change, "call")
    assert overdub(ctx, f, 2, Callables()) == f(2, Callables())
    assert (2, [2], {2}, 3, 2, 2) in ctx.seen and (2, 2, [2], -2, 2) in ctx.seen
