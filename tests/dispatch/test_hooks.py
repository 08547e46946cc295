"""Hooks: what they are called for and with, by whom, and what it costs a program where they are not there."""

import dis
import functools
import math
import operator
import sys

import numpy as np
import pytest

from ctxdispatch import overdub
from ctxdispatch.dispatch import Context


class Both(Context):
    events: list

    def prehook(self, f, args, kwargs):
        self.events.append(("pre", f, args, kwargs))

    def posthook(self, out, f, args, kwargs):
        self.events.append(("post", f, args, kwargs, out))


def only(name, **fields):
    """A context class with one of the two."""
    return type(Context)("Only", (Context,), {
        "__annotations__": {"events": list}, "__module__": __name__, name: getattr(Both, name), **fields,
    })  # fmt: skip


class Box:
    def __init__(self, x):
        self.x = x

    def scaled(self, by, *, offset=0):
        return self.x * by + offset


def program(box, xs, opts):
    first, second = xs
    total = box.scaled(2, offset=first)
    xs[0] += 1
    box.x = total
    for x in xs:
        total = max(total, x, **opts)
    return [total, *xs, f"{second}"]


def run(cls, f, *args):
    ctx = cls([])
    return overdub(ctx, f, *args), ctx.events


# -- which calls, with what ------------------------------------------------------------------------


def test_each_operation_comes_with_its_operands_and_its_result():
    out, events = run(Both, program, Box(3), [1, 2], {"key": abs})
    assert out == [7, 2, 2, "2"]
    pre = [(f, args, kwargs) for kind, f, args, kwargs, *_ in events if kind == "pre"]
    names = [f.__name__ for f, _, _ in pre]
    assert names == ["getattr", "scaled", "getattr", "mul", "add", "getitem", "iadd", "setitem", "setattr",
                     "iter", "max", "abs", "abs", "max", "abs", "abs"]  # fmt: skip
    assert pre[1][1:] == ((2,), {"offset": 1}) and pre[6][1:] == ((1, 1), {})
    assert pre[7][1:] == (([2, 2], 0, 2), {})


def test_every_prehook_has_its_posthook_and_the_inner_come_first():
    _, events = run(Both, program, Box(3), [1, 2], {})
    open_ = []
    for kind, f, args, kwargs, *_ in events:
        if kind == "pre":
            open_.append((f, args, kwargs))
        else:
            assert open_.pop() == (f, args, kwargs)
    assert not open_


def test_either_hook_alone_sees_what_it_sees_beside_the_other():
    _, both = run(Both, program, Box(3), [1, 2], {})
    for name, kind in (("prehook", "pre"), ("posthook", "post")):
        _, alone = run(only(name), program, Box(3), [1, 2], {})
        assert [e[1].__name__ for e in alone] == [e[1].__name__ for e in both if e[0] == kind]


def test_statements_have_none_for_their_result():
    def f(xs, box):
        xs[0] = 5
        box.x = 6
        del xs[1]
        a, *b = xs
        return [*b, a]

    class All(Both):
        intercepts = ("item", "attribute", "unpack", "display")

    out, events = run(All, f, [1, 2, 3], Box(0))
    assert out == [3, 5]
    posts = {f.__name__: out for kind, f, *_, out in events if kind == "post"}
    assert posts["setitem"] is posts["setattr"] is posts["delitem"] is posts["list_extend"] is None
    assert posts["unpack_ex"] == (5, [3])


def test_splats_are_told_as_what_they_are():
    def f(*args, **kwargs):
        return args, kwargs

    def g(xs, more):
        return f(1, *xs, k=2, **more)

    class Calls(Both):
        intercepts = ("call",)

    out, events = run(Calls, g, iter([2, 3]), {"m": 4})
    assert out == ((1, 2, 3), {"k": 2, "m": 4})
    assert events[0] == ("pre", f, (1, 2, 3), {"k": 2, "m": 4})


def test_what_a_hook_does_to_the_keywords_is_not_what_is_called():
    class Meddles(Context):
        intercepts = ("call",)

        def prehook(self, f, args, kwargs):
            kwargs.clear()

    assert overdub(Meddles(), lambda: dict(a=1)) == {"a": 1}


def test_a_hook_that_raises_ends_the_program_at_the_user_s_line():
    class Stops(Context):
        def prehook(self, f, args, kwargs):
            if f is operator.add:
                raise RuntimeError("no additions")

    def f(x):
        return x + 1

    with pytest.raises(RuntimeError) as info:
        overdub(Stops(), f, 1)
    assert [e.name for e in info.traceback][-2:] == ["f", "prehook"]


def test_a_rule_added_by_a_hook_holds_from_the_next_call_on():
    class Learns(Context):
        intercepts = ("call",)

        def prehook(self, f, args, kwargs):
            if not type(self).has_rules(math.sqrt):
                type(self).rule(math.sqrt)(lambda ctx, x: "ruled")

    def f():
        return [math.sqrt(4.0) for _ in range(3)][-1]

    assert overdub(Learns(), f) == "ruled"


# -- hooks of other kinds --------------------------------------------------------------------------


def test_hooks_that_are_static_partial_or_callable_objects():
    class Callable:
        def __init__(self):
            self.seen = []

        def __call__(self, f, args, kwargs):
            self.seen.append(f)

    called, seen = Callable(), []

    class Static(Context):
        prehook = called

    class Partial(Context):
        prehook = functools.partialmethod(lambda self, more, f, args, kwargs: seen.append((more, f)), "more")

    class IsStatic(Context):
        @staticmethod
        def prehook(f, args, kwargs):
            seen.append(f)

    for cls in (Static, Partial, IsStatic):
        assert overdub(cls(), lambda x: x + 1, 1) == 2
    assert called.seen == [operator.add] and seen == [("more", operator.add), operator.add]


def test_inherited_hooks_and_super():
    class Loud(Both):
        def prehook(self, f, args, kwargs):
            self.events.append("loud")
            super().prehook(f, args, kwargs)

    _, events = run(Loud, lambda x: -x, 1)
    assert events[0] == "loud" and [e[0] for e in events[1:]] == ["pre", "post"]


# -- who calls them --------------------------------------------------------------------------------


def test_the_frame_that_calls_a_hook_is_the_user_s():
    class Frames(Context):
        frames: list

        def prehook(self, f, args, kwargs):
            frame = sys._getframe(1)
            self.frames.append((frame.f_code.co_name, frame.f_lineno))

    def f(x):
        y = x + 1
        return [v * 2 for v in [y]]

    ctx = Frames([])
    overdub(ctx, f, 1)
    first = f.__code__.co_firstlineno
    assert [line - first for _, line in ctx.frames][0] == 1 and ctx.frames[0][0] == "f"
    assert {line - first for _, line in ctx.frames[1:]} == {2}


def test_where_is_the_user_s_place_for_callbacks_rules_and_fallback_too():
    class Where(Context):
        places: list
        intercepts = ("call",)

        def fallback(self, f, args, kwargs):
            self.places.append(self.where())
            return f(*args, **kwargs)

    @Where.rule(math.sqrt)
    def _(ctx, x):
        ctx.places.append(ctx.where())
        return x

    def key(x):
        return math.sqrt(x)

    def f(xs):
        return sorted(xs, key=key)

    ctx = Where([])
    overdub(ctx, f, [2.0, 1.0])
    assert {p.function.rsplit(".", 1)[-1] for p in ctx.places} == {"key", "f"}
    assert {p.filename for p in ctx.places} == {__file__}
    place = ctx.places[-1]
    assert str(place) == f"{place.filename}:{place.line} in {place.function}"
    assert ctx.where() is None


# -- costs -----------------------------------------------------------------------------------------


def test_what_is_not_overridden_is_not_in_the_code():
    def f(x):
        return abs(x) + 1

    def names(cls):
        made = cls([]).program(f, (), {})
        return {getattr(c, "__name__", "") for c in made.__code__.co_consts} & {"prehook", "posthook"}

    assert names(only("prehook")) == {"prehook"} and names(only("posthook")) == {"posthook"}
    assert names(Both) == {"prehook", "posthook"}

    class Neither(Context):
        events: list
        intercepts = ("call", "operator")

    assert names(Neither) == set()


class OfNames(Context):
    events: list

    def prehook(self, f, args, kwargs):
        self.events.append(f.__name__)


def test_what_no_hook_reads_is_not_made():
    def f(x, y):
        return max(x + y, abs(y), key=id)

    def made(cls):
        code = cls([]).program(f, (), {}).__code__
        return {i.opname for i in dis.get_instructions(code)} & {"BUILD_TUPLE", "BUILD_MAP"}

    assert made(only("prehook")) == {"BUILD_TUPLE", "BUILD_MAP"}
    assert made(OfNames) == set()
    ctx = OfNames([])
    assert overdub(ctx, f, 1, 2) == f(1, 2) and ctx.events == ["add", "abs", "max", "id", "id"]


@pytest.mark.parametrize(
    "prehook, seen",
    [
        (lambda self, f, args, kwargs: self.events.append(args), [((-1,))]),
        (lambda self, f, args, kwargs: self.events.append(kwargs), [{}]),
        (lambda self, f, *rest: self.events.append(rest), [((-1,), {})]),
        (lambda self, f, args, kwargs: self.events.append((lambda: args)()), [(-1,)]),
        (lambda self, f, args, kwargs: self.events.append(locals()["args"]), [(-1,)]),
        (lambda self, f, args, kwargs: self.events.append([args for _ in "a"][0]), [(-1,)]),
        (lambda self, f, args, kwargs, more=5: self.events.append((args, more)), [((-1,), 5)]),
        (lambda self, f, args, kwargs, *, more=5: self.events.append((args, more)), [((-1,), 5)]),
        (lambda self, called, given, named: self.events.append((named, given)), [({}, (-1,))]),
    ],
)
def test_hooks_that_read_get_what_there_is(prehook, seen):
    cls = type(Context)("Reads", (Context,), {
        "__annotations__": {"events": list}, "__module__": __name__, "prehook": prehook,
        "intercepts": ("call",),
    })  # fmt: skip
    ctx = cls([])
    assert overdub(ctx, lambda x: abs(x), -1) == 1 and ctx.events == seen


def test_a_prehook_is_one_call_without_moving_operands():
    """What an operator costs more: the tuple and the dict, the call, and no detour."""

    def f(x, y):
        return x + y

    code = only("prehook")([]).program(f, (), {}).__code__
    ops = [i.opname for i in dis.get_instructions(code)]
    assert ops.count("CALL_FUNCTION_EX") == 0 and "BUILD_MAP" in ops
    assert not any(name.startswith("STORE_FAST") for name in ops)


# -- under stacks ----------------------------------------------------------------------------------


def test_inner_hooks_are_not_part_of_the_program_that_outer_contexts_see():
    class Inner(Context):
        events: list
        intercepts = ("call",)

        def prehook(self, f, args, kwargs):
            self.events.append(len(args))

    class Outer(Both):
        intercepts = ("call",)

    outer, inner = Outer([]), Inner([])
    assert overdub(outer, overdub, inner, lambda x: math.sqrt(x), 4.0) == 2.0
    assert [e[1] for e in outer.events if e[0] == "pre"] == [math.sqrt] and inner.events == [1]


def test_each_of_three_contexts_sees_each_call_once():
    class Calls(Both):
        intercepts = ("call", "operator")

    contexts = [Calls([]) for _ in range(3)]

    def f(x):
        return np.sin(x) + max(x, 2.0)

    args = [overdub, contexts[1], overdub, contexts[2], f, 1.0]
    assert overdub(contexts[0], *args) == f(1.0)
    seen = [[e[1] for e in ctx.events if e[0] == "pre"] for ctx in contexts]
    assert seen[2] == [np.sin, max, operator.add]
    assert seen[0] == seen[1] == seen[2]


def test_hooks_around_calls_over_several_lines_stay_out_of_sight():
    class Calls(Both):
        intercepts = ("call", "operator")

    contexts = [Calls([]) for _ in range(3)]

    def f(x, y):
        return max(
            np.sin(x),
            np.cos(
                x
                + y,
            ),
            *[
                y,
            ],
        )

    assert overdub(contexts[0], overdub, contexts[1], overdub, contexts[2], f, 1.0, 2.0) == f(1.0, 2.0)
    seen = [[e[1] for e in ctx.events if e[0] == "pre"] for ctx in contexts]
    assert seen[0] == seen[1] == seen[2] == [np.sin, operator.add, np.cos, max]


@pytest.mark.parametrize("between", [Context, Both])
def test_an_operator_is_no_call_however_many_contexts_have_dispatched_it(between):
    class Operators(between):
        events: list
        intercepts = ("operator",)

    class Calls(Both):
        intercepts = ("call",)

    outer = Calls([])
    contexts = [overdub, Operators([]), overdub, Operators([])]
    assert overdub(outer, *contexts, lambda x: abs(x) + x * 2.0, 1.5) == 4.5
    assert [e[1] for e in outer.events if e[0] == "pre"] == [abs]


def test_a_posthook_with_a_default_reads_what_it_reads():
    class Ctx(Context):
        events: list
        intercepts = ("call",)

        def posthook(self, out, f, args, kwargs, sep="-"):
            self.events.append((out, args, sep))

    ctx = Ctx([])
    assert overdub(ctx, lambda x: abs(x), -1) == 1 and ctx.events == [(1, (-1,), "-")]


def test_partial_objects_are_told_as_they_are_without_being_compared():
    class Uncomparable:
        def __eq__(self, other):
            raise AssertionError("compared")

        __hash__ = object.__hash__

        def __call__(self, *args):
            return args

    f = functools.partial(Uncomparable(), 1)

    class Calls(Both):
        intercepts = ("call",)

    out, events = run(Calls, lambda f: f(2), f)
    assert out == (1, 2) and events[0][1] is f
