"""`with` over a generator, and the generator's code where that is entered and left, do the same in the same
order."""

from contextlib import contextmanager

import pytest

from ctxdispatch.bytecode.lift import lift_code, lift_generator
from ctxdispatch.ir import primitives
from ctxdispatch.ir.interpret import interpret
from ctxdispatch.ir.prune import prune
from ctxdispatch.ir.verify import verify
from ctxdispatch.passes.fold import fold
from ctxdispatch.passes.infer import infer
from ctxdispatch.passes.managers import ENTER, LEAVE, enters, open_scope, scope_of, yield_of
from ctxdispatch.passes.types import type_of

LOG = []


def plain(v):
    LOG.append("in")
    yield v + 1
    LOG.append("out")


def guarded(v):
    LOG.append(v)
    for k in range(2):
        LOG.append(k)
    try:
        yield v * 2
    finally:
        LOG.append("finally" if v > 1 else "small")


def meeting(v):
    if v > 1:
        LOG.append("large")
    w = v * v
    yield w
    while w > 2:
        LOG.append(w)
        w = w / 2
    if v > 2:
        return
    LOG.append("end")


def not_always(v):
    if v > 100:
        LOG.append("silent")
    else:
        LOG.append("in")
        yield v
    LOG.append("both")


GENERATORS = [plain, guarded, meeting, not_always]


def once(made, v):
    with made(v) as x:
        LOG.append(x)
    return x


def early(made, v):
    for k in range(4):
        with made(v + k) as x:
            if k == 1:
                continue
            if x > 5:
                return x
            LOG.append(x)
    return v


def within(made, v):
    with made(v) as x, made(x) as y:
        if v > 1:
            return y
    with made(y) as z:
        return z


def later(made, v):
    first, second = made(v), made(v + 1)
    with second as x:
        with first as y:
            return x, y


PROGRAMS = [once, early, within, later]


def opened(program, generator):
    """The graph of a program, with no manager left."""
    graph = lift_code(program.__code__, program.__globals__, handlers=False)
    while made := made_in(graph):
        inner = lift_generator(generator.__code__, generator.__globals__, handlers=False)
        open_scope(graph, scope_of(graph, made), inner, made.args, [])
        prune(graph)
        verify(graph)
    return graph


def made_in(graph):
    makers = {r: op for _, op in graph.ops() for r in op.results}
    return next((makers[op.args[0]] for _, op in graph.ops() if enters(op)), None)


@pytest.mark.every(1)
@pytest.mark.parametrize("v", [0, 1, 2, 3])
@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_same_in_the_same_order(program, generator, v):
    LOG.clear()
    expected = program(contextmanager(generator), v), [*LOG]
    graph = opened(program, generator)
    assert not any(op.fn in (primitives.special_method, primitives.yielded) for _, op in graph.ops())
    LOG.clear()
    assert (interpret(graph, [None, v]), LOG) == expected


def test_what_has_not_yielded_raises():
    graph = opened(once, not_always)
    with pytest.raises(RuntimeError):
        interpret(graph, [None, 101])


def again(v):
    while v > 0:
        yield v
        v = v - 1


def either(v):
    if v:
        yield 1
    else:
        yield 2


@pytest.mark.parametrize("generator", [again, either])
def test_several_yields_stay(generator):
    assert yield_of(lift_generator(generator.__code__, generator.__globals__)) is None


# -- managers of which more is done than `with` does ---------------------------------------------------------


def twice(made, v):
    entered = made(v)
    with entered:
        pass
    with entered:
        return v


def in_a_loop(made, v):
    entered = made(v)
    for _ in range(3):
        with entered:
            v = v + 1
    return v


def given_away(made, v):
    entered = made(v)
    LOG.append(entered)
    with entered:
        return v


def chosen(made, v):
    entered = made(v) if v else made(v + 1)
    with entered:
        return v


@pytest.mark.parametrize("program", [twice, in_a_loop, given_away, chosen])
def test_others_stay(program):
    graph = lift_code(program.__code__, program.__globals__, handlers=False)
    calls = [op for _, op in graph.ops() if op.callee is graph.params[0]]
    assert calls and not any(scope_of(graph, op) for op in calls)


def not_left(v):
    entered = made(v)
    return ENTER(entered)


def left_before(v):
    entered = made(v)
    if v:
        LEAVE(entered, None, None, None)
    ENTER(entered)
    LEAVE(entered, None, None, None)


def left_twice(v):
    entered = made(v)
    ENTER(entered)
    LEAVE(entered, None, None, None)
    if v:
        LEAVE(entered, None, None, None)


def left_with_an_error(v):
    entered = made(v)
    ENTER(entered)
    LEAVE(entered, ValueError, None, None)


def left_once(v):
    entered = made(v)
    ENTER(entered)
    if v:
        LEAVE(entered, None, None, None)
        return 1.0
    LEAVE(entered, None, None, None)


def made(v):
    return contextmanager(plain)(v)


@pytest.mark.parametrize("program", [not_left, left_before, left_twice, left_with_an_error, left_once])
def test_calls_by_hand_are_in_order(program):
    graph = lift_code(program.__code__, program.__globals__)
    fold(graph, infer(graph, [type_of(1.0)]))
    call = next(op for _, op in graph.ops() if op.fn is made)
    assert (scope_of(graph, call) is not None) is (program is left_once)
