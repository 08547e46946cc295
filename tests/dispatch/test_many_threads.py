"""Sixteen threads rewrite and run the same functions and others, while rules come and go; nothing is kept
alive."""

import gc
import math
import sys
import threading
import weakref

import pytest

from ctxdispatch.dispatch import Context, cache, overdub

THREADS = 16
ROUNDS = 25


def shared(x):
    total = 0.0
    for k in range(5):
        try:
            total += helper(x, k)
        except ZeroDivisionError:
            total += math.sqrt(4.0)
    return total


def helper(x, k):
    if k == 3:
        raise ZeroDivisionError
    return sum(math.sqrt(v) for v in (x, x)) + k


def steps(n):
    for k in range(n):
        sent = yield math.sqrt(k * k)
        if sent:
            return sent


def fresh(k):
    """A function nobody else has, with a closure."""
    scope = {}
    source = f"def made(x, offset={k}):\n    return [math.sqrt(x) + offset for _ in range({k % 3})]"
    exec(source, globals(), scope)
    return scope["made"]


class Doubling(Context):
    """sqrt is the double, where there is a rule."""


@pytest.fixture
def quick_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def in_threads(work):
    failures = []

    def run(number):
        try:
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    if failures:
        raise failures[0]


def test_results_are_right_while_rules_are_added(quick_switches):
    def work(number):
        class Own(Context):
            pass

        Own.rule(math.sqrt)(lambda ctx, v: v)
        for k in range(ROUNDS):
            assert overdub(Own(), shared, 9.0) in (shared(9.0), 4 * 18.0 + 7 + 4.0)
            assert overdub(Own(), fresh(k), 4.0) == [4.0 + k] * (k % 3)
            assert overdub(Doubling(), list, overdub(Doubling(), steps, 4)) in ([0, 1, 2, 3], [0, 2, 8, 18])
            if number % 4 == 0:
                Doubling.rule(math.sqrt)(lambda ctx, v: 2 * v)
                Own.rule(math.cos)(lambda ctx, v: v)

    try:
        in_threads(work)
        assert overdub(Doubling(), shared, 9.0) == 4 * 36.0 + 7 + 8.0
    finally:
        Doubling.unrule(math.sqrt)


def test_each_function_is_compiled_once(quick_switches):
    class Once(Context):
        intercepts = ("call",)

    functions = [eval(f"lambda x: math.sqrt(x) + {k}") for k in range(20)]
    before = cache.stats().compiled
    in_threads(lambda number: [overdub(Once(), f, 1.0) for f in functions])
    assert cache.stats().compiled - before == len(functions)


def test_functions_and_contexts_die(quick_switches):
    alive = []

    def work(number):
        class Local(Context):
            intercepts = ("call", "operator")

        for k in range(ROUNDS):
            f, ctx = fresh(k), Local()
            overdub(ctx, f, 4.0)
            list(overdub(ctx, steps, 3))
            alive.extend(map(weakref.ref, (f, f.__code__, ctx)))

    in_threads(work)
    gc.collect()
    assert not [ref() for ref in alive if ref() is not None]


def test_a_generator_outlives_the_run_and_its_context():
    class Doubles(Context):
        pass

    Doubles.rule(math.sqrt)(lambda ctx, v: 2 * v)
    running = overdub(Doubles(), steps, 4)
    assert next(running) == 0
    gc.collect()
    assert running.send(None) == 2 and list(running) == [8, 18]
    assert running.gi_frame is None and running.gi_code.co_name == "steps"


def test_recursion_is_as_deep_as_without():
    def depth(n=0):
        try:
            return depth(n + 1)
        except RecursionError:
            return n

    class Calls(Context):
        intercepts = ("call", "operator")

    plain = depth()
    assert overdub(Calls(), depth) >= plain // 2
