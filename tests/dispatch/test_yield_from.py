"""`yield from` over what is no generator: the methods of the user's that it runs are under the context.

Each program calls `mark` in such a method; what the rule for `mark` sees is what a plain run marks.
"""

import types

import pytest

from ctxdispatch.dispatch import Context, overdub

MARKS = []


def mark(value):
    MARKS.append(value)
    return value


class Follow(Context):
    seen: list
    intercepts = ("call", "operator", "iterate")


@Follow.rule(mark)
def _(ctx, value):
    ctx.seen.append(value)
    return value


class Items:
    def __iter__(self):
        yield mark(1)
        yield mark(2)


class Steps:
    """An iterator, and what it returns to `yield from`."""

    def __init__(self):
        self.left = 2

    def __iter__(self):
        mark("iter")
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration(mark("returned"))
        self.left -= 1
        return mark(self.left)


class Channel(Steps):
    def send(self, value):
        return mark(("sent", value))

    def throw(self, error):
        return mark(("thrown", str(error)))

    def close(self):
        mark("closed")


class ByIndex:
    def __getitem__(self, i):
        if i == 2:
            raise IndexError
        return mark(i)


class Nested:
    def __init__(self, inner):
        self.inner = inner

    def __iter__(self):
        yield from self.inner


class Endless:
    def __iter__(self):
        return mark([1])


def through(items):
    def run():
        result = yield from items
        yield ("result", result)

    return lambda: list(run())


def resumed(*steps):
    """A generator over a `Channel` that is taken through these steps."""

    def run():
        yield from Channel()

    def program():
        suspended = run()
        return [next(suspended), *[step(suspended) for step in steps]]

    return program


def of_coroutine():
    async def plain():
        return mark("coroutine")

    @types.coroutine
    def run():
        return (yield from plain())

    try:
        run().send(None)
    except StopIteration as stop:
        return stop.value


PROGRAMS = {
    "iterable": lambda: through(Items())(), "iterator": lambda: through(Steps())(),
    "index": lambda: through(ByIndex())(), "nested": lambda: through(Nested(Nested(Items())))(),
    "iter": lambda: through(iter(Items()))(), "list": lambda: through([mark(1), 2])(),
    "no iterator": lambda: through(Endless())(), "not iterable": lambda: through(mark(3))(),
    "send": resumed(lambda g: g.send("x")), "throw": resumed(lambda g: g.throw(ValueError("x"))),
    "close": resumed(lambda g: g.close()), "coroutine": of_coroutine,
    "send to none": lambda: (lambda g: (next(g), g.send(1)))(Nested(Steps()).__iter__()),
}  # fmt: skip


def outcome(run):
    MARKS.clear()
    try:
        return run(), list(MARKS)
    except (TypeError, AttributeError) as error:
        return (type(error), str(error)), list(MARKS)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_it_runs_is_under_the_context(name):
    expected, marks = outcome(PROGRAMS[name])
    ctx = Follow([])
    got, native = outcome(lambda: overdub(ctx, PROGRAMS[name]))
    assert got == expected
    assert marks and (ctx.seen, native) == (marks, [])


class Iterating(Context):
    seen: list


@Iterating.rule(iter)
def _(ctx, items):
    ctx.seen.append(type(items).__name__)
    return iter(items)


def test_a_rule_for_iter_is_one_for_yield_from():
    ctx = Iterating([])
    assert overdub(ctx, through(Items())) == [1, 2, ("result", None)]
    assert ctx.seen == ["Items"]


class Told(Context):
    seen: list
    intercepts = ("iterate",)

    def prehook(self, f, args, kwargs):
        self.seen.append((f.__name__, *[type(a).__name__ for a in args]))


def test_hooks_are_told_of_it():
    ctx = Told([])

    def program(items):
        yield from items

    assert list(overdub(ctx, program, Steps())) == [1, 0]
    assert ("delegated", "Steps") in ctx.seen


def test_an_outer_context_follows_what_an_inner_one_does():
    inner, outer = Told([]), Follow([])
    assert overdub(outer, overdub, inner, through(Nested(Items()))) == [1, 2, ("result", None)]
    assert outer.seen == [1, 2]
