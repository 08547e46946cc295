"""`Editor.at_lines`, `at_exception` and `at_caught`: a program is told of its lines as the interpreter tells
a tracer, and of exceptions that come and leave."""

import asyncio
import contextlib
import sys

import pytest

from ctxdispatch import overdub
from ctxdispatch.dispatch import Context, Editor


class Lines(Context):
    seen: list
    intercepts = ("call", "operator", "iterate", "with")

    def transform(self, graph):
        edit = Editor(graph)
        edit.at_lines(at_line, edit.context)
        return super().transform(edit.finish())


def at_line(ctx, line):
    frame = sys._getframe(1)
    assert frame.f_lineno == line
    ctx.seen.append((frame.f_code.co_name, line))


def traced(f):
    seen = []

    def tracer(frame, event, arg):
        if frame.f_code.co_filename != __file__:
            return None
        if event == "line":
            seen.append((frame.f_code.co_name, frame.f_lineno))
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        with contextlib.suppress(ValueError):
            f()
    finally:
        sys.settrace(before)
    return [each for each in seen if each[0] not in ("traced", "tracer")]


def plain():
    x = 1
    y = x
    return 1


def branches(a=0):
    if a:
        return 1
    elif a == 2:
        pass
    else:
        a = 3
    return 2


def loop_with_jumps():
    s = 0
    for i in range(4):
        if i == 1:
            continue
        if i == 3:
            break
        pass
    else:
        s = 1
    return s


def loop_that_ends_in_branches():
    for i in [1, 2]:
        if i == 1:
            i += 1
        elif i == 2:
            i = 5


def whiles():
    n = 3
    while n:
        n -= 1
    while True:
        n += 1
        if n > 3: break
    else:
        n = 1


def loops_on_a_line():
    n = 3
    while n: n -= 1
    for i in [1, 2, 3]: n += i
    if n: n = 1
    return n


def nested_loops():
    for i in [1, 2]:
        for j in [1, 2]:
            i + j
        while i < 3:
            i += 1


def everything_of_try():
    try:
        int("x")
    except TypeError:
        y = 1
    except ValueError as e:
        y = e
    else:
        y = 2
    finally:
        y = 3
    return y


def raises_over_lines():
    try:
        raise ValueError(
            1)
    finally:
        x = 1


def reraises():
    try:
        raise KeyError(1)
    except KeyError as e:
        try:
            raise
        except KeyError:
            pass
        raise ValueError from e


def numbers(n):
    for i in range(n):
        x = yield i
    return 5


def delegates():
    r = yield from numbers(2)
    yield r


def generators():
    total = 0
    for i in numbers(3):
        total += i
    return list(delegates())


def call_over_lines():
    x = max(
        1,
        min(2,
            3),
    )
    return (x,
            x)


def matches(v=(1, 2)):
    match v:
        case [a, 3]:
            return a
        case (1, b) if b > 1:
            c = b
        case _:
            c = 0
    return c


def recursive(n=3):
    if n == 0:
        return 1
    return n * recursive(n - 1)


@contextlib.asynccontextmanager
async def manager():
    yield 1


async def many():
    for i in range(2):
        yield i


async def coroutine(x):
    await asyncio.sleep(0)
    async with manager() as a:
        x += 1
    async for i in many():
        x += i
    return x


def coroutines():
    return asyncio.run(coroutine(1))


def try_in_loop():
    for i in range(3):
        try:
            if i == 1:
                continue
            if i == 2:
                break
        finally:
            x = i
    return


def with_in_loop():
    n = 2
    while n:
        with contextlib.nullcontext():
            n -= 1


def condition_over_lines():
    while (n := len([1])) and \
            n > 1:
        pass
    a, *b = [1, 2,
             3]
    return (2 if a
            else b)


def implicit_return(a=1):
    if a:
        a = 2


PROGRAMS = [
    plain, branches, loop_with_jumps, loop_that_ends_in_branches, whiles, loops_on_a_line, nested_loops,
    everything_of_try, raises_over_lines, reraises, generators, call_over_lines, matches, recursive,
    coroutines, try_in_loop, with_in_loop, condition_over_lines, implicit_return,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_lines_are_those_that_a_tracer_is_told_of(f):
    ctx = Lines([])
    with contextlib.suppress(ValueError):
        overdub(ctx, f)
    assert [each for each in ctx.seen if each[0] in globals()] == traced(f)


@pytest.mark.parametrize("f", [loop_with_jumps, loops_on_a_line, everything_of_try, recursive])
def test_lines_of_a_program_that_a_context_further_in_has_told_of_its_lines(f):
    outer, inner = Lines([]), Lines([])
    overdub(outer, overdub, inner, f)
    assert outer.seen == inner.seen == traced(f)


def test_lines_come_before_other_insertions():
    def change(edit):
        edit.at_lines(note, edit.context, "line")
        edit.at_return(note, edit.context, "return")

    ctx = noting(change)
    assert overdub(ctx, implicit_return) is None
    first = implicit_return.__code__.co_firstlineno
    assert ctx.seen == [("line", first + 1), ("line", first + 2), ("return", None)]


# -- exceptions ------------------------------------------------------------------------------------


def note(ctx, *what):
    ctx.seen.append(what)


def noting(change):
    class Noting(Context):
        seen: list
        intercepts = ("call",)

        def transform(self, graph):
            edit = Editor(graph)
            change(edit)
            return super().transform(edit.finish())

    return Noting([])


def both_ways(edit):
    name = edit._graph.name.split(".")[-1]
    edit.at_exception(note, edit.context, name, "leaves")
    edit.at_caught(note, edit.context, name, "caught")


def fails(x):
    raise KeyError(x)


def catches(x):
    try:
        fails(x)
    except KeyError as e:
        found = e
    try:
        fails(x + 1)
    finally:
        found = None


def test_exceptions_that_are_caught_and_that_leave():
    ctx = noting(both_ways)
    with pytest.raises(KeyError, match="2") as info:
        overdub(ctx, catches, 1)
    assert [(name, how, e.args) for name, how, e in ctx.seen] == [
        ("fails", "leaves", (1,)), ("catches", "caught", (1,)),
        ("fails", "leaves", (2,)), ("catches", "caught", (2,)), ("catches", "leaves", (2,)),
    ]  # fmt: skip
    first = {f.__name__: f.__code__.co_firstlineno for f in (fails, catches)}
    mine = [(e.name, e.lineno + 1 - first[e.name]) for e in info.traceback if e.name in first]
    assert mine == [("catches", 6), ("fails", 1)]
    assert info.value.__context__ is None


def test_generators_that_are_closed_and_thrown_into():
    def closes():
        def makes():
            yield 1
            yield 2

        first, second = makes(), makes()
        next(first), next(second)
        first.close()
        try:
            second.throw(OSError)
        except OSError:
            return [*makes()]

    ctx = noting(both_ways)
    assert overdub(ctx, closes) == [1, 2]
    assert ("makes", "leaves", OSError) in [(n, how, type(e)) for n, how, e in ctx.seen]
    assert ("closes", "caught", OSError) in [(n, how, type(e)) for n, how, e in ctx.seen]


def test_what_is_raised_instead_replaces_the_exception():
    def other(exception):
        raise OSError from exception

    with pytest.raises(OSError) as info:
        overdub(noting(lambda edit: edit.at_exception(other)), fails, 1)
    assert isinstance(info.value.__cause__, KeyError)


def test_the_exception_that_is_being_handled_is_the_programs():
    def f():
        try:
            fails(1)
        except KeyError:
            inner = sys.exc_info()[0]
        return inner, sys.exc_info()[0]

    assert overdub(noting(both_ways), f) == (KeyError, None)
