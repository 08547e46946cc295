"""MockContext: what is replaced, for whom, and what is recorded."""

import datetime
import gc
import io
import math
import operator
import random
import threading
import time
import weakref
from argparse import ArgumentParser
from unittest.mock import Mock

import numpy as np
import pytest

from ctxdispatch import Context, grad, overdub, recurse
from ctxdispatch.contexts import MockContext


class Account:
    def __init__(self, balance):
        self.balance = balance

    def withdraw(self, amount):
        self.balance -= amount
        return self.balance

    @classmethod
    def empty(cls):
        return cls(0)

    @staticmethod
    def fee(amount):
        return amount * 0.1


def root(x):
    return math.sqrt(x)


def program(x):
    return root(x) + root(x + 1)


@pytest.mark.parametrize(
    "replacements, f, expected",
    [
        ({math.sqrt: lambda x: x}, lambda: program(4.0), 9.0),
        ({math.sqrt: 1.0}, lambda: program(4.0), 2.0),
        ({root: Mock(return_value=5)}, lambda: program(4.0), 10),
        ({time.time: 7.0}, lambda: time.time(), 7.0),
        ({random.random: lambda: 0.5}, lambda: random.random() + random.random(), 1.0),
        ({random.random: 0.5}, lambda: random.Random(1).random(), random.Random(1).random()),
        ({random.Random.random: lambda generator: 0.5}, lambda: random.Random(1).random(), 0.5),
        ({open: lambda name: io.StringIO("faked")}, lambda: open("/no/such/file").read(), "faked"),
        ({input: lambda prompt="": "typed"}, lambda: input("? ") + input(), "typedtyped"),
        ({Account.withdraw: lambda self, amount: "refused"}, lambda: Account(5).withdraw(1), "refused"),
        ({Account: lambda balance: "an account"}, lambda: Account(5), "an account"),
        ({Account.empty: lambda: "empty"}, lambda: Account.empty(), "empty"),
        ({Account.fee: 3}, lambda: Account.fee(10), 3),
        ({datetime.datetime.now: lambda: "noon"}, lambda: datetime.datetime.now(), "noon"),
        ({operator.add: operator.sub}, lambda: len("abc") + 2, 1),
        ({np.load: lambda name: np.ones(2)}, lambda: np.load("nothing.npy").sum(), 2.0),
        ({(root, int): "int"}, lambda: (root(4), root(4.0)), ("int", 2.0)),
        ({"".join: "joined"}, lambda: "".join(["a"]), "joined"),
        ({root: lambda x: recurse}, lambda: root(4.0) is recurse, True),
    ],
)
def test_what_can_be_replaced(replacements, f, expected):
    assert overdub(MockContext.of(replacements), f) == expected


def test_globals_and_other_callers_are_not_concerned():
    ctx = MockContext.of({root: 0.0})
    before = root
    assert overdub(ctx, program, 4.0) == 0.0
    assert program(4.0) > 4 and root is before and math.sqrt(4.0) == 2.0


def test_a_thread_of_its_own_is_not_concerned_one_started_inside_is():
    ctx = MockContext.of({root: 0.0})
    inside, outside, ready = [], [], threading.Event()

    def other():
        ready.wait()
        outside.append(program(4.0))

    def run():
        ready.set()
        thread = threading.Thread(target=lambda: inside.append(program(4.0)))
        thread.start(), thread.join()
        return program(4.0)

    thread = threading.Thread(target=other)
    thread.start()
    assert overdub(ctx, run) == 0.0
    thread.join()
    assert inside == [0.0] and outside == [program(4.0)]


def test_calls_are_recorded_with_what_came_of_them():
    failing = Mock(side_effect=ValueError("no"))
    ctx = MockContext.of({root: lambda x, scale=1: x * scale, math.sqrt: failing})

    def f():
        root(2.0)
        root(3.0, scale=2)
        return math.sqrt(4.0)

    with pytest.raises(ValueError, match="no"):
        overdub(ctx, f)
    first, second = ctx.calls[root]
    assert first[:3] == ((2.0,), {}, 2.0) and second[:3] == ((3.0,), {"scale": 2}, 6.0)
    (failed,) = ctx.calls[math.sqrt]
    assert failed.args == (4.0,) and isinstance(failed.exception, ValueError)
    assert ctx.calls[len] == []


def test_a_spy_records_and_runs_the_function_under_the_context():
    ctx = MockContext.spying(root, math.sqrt, Account.withdraw)

    def f():
        account = Account(5)
        account.withdraw(2)
        return program(4.0) + account.balance

    assert overdub(ctx, f) == program(4.0) + 3
    assert [c.args for c in ctx.calls[root]] == [(4.0,), (5.0,)] == [c.args for c in ctx.calls[math.sqrt]]
    assert ctx.calls[Account.withdraw][0].args[1:] == (2,)


def test_replacements_reach_callbacks_and_the_standard_library():
    ctx = MockContext.of({time.perf_counter: iter(range(100)).__next__})

    def measured():
        start = time.perf_counter()
        return [*map(lambda _: time.perf_counter() - start, range(3))]

    assert overdub(ctx, measured) == [1, 2, 3]


def test_a_key_that_cannot_be_called_is_refused():
    with pytest.raises(TypeError, match="5 cannot be called, so it cannot be replaced"):
        MockContext.of({5: 1})


def test_instances_do_not_mix_and_classes_are_let_go():
    one, two = MockContext.of({root: 1.0}), MockContext.of({root: 2.0})
    assert (overdub(one, program, 4.0), overdub(two, program, 4.0)) == (2.0, 4.0)
    assert len(one.calls[root]) == len(two.calls[root]) == 2
    left = weakref.ref(type(one))
    del one
    gc.collect()
    assert left() is None


def test_within_and_around_other_contexts():
    class Log(Context):
        seen: list
        intercepts = ("call",)

        def prehook(self, f, args, kwargs):
            self.seen.append(f)

    ctx, log = MockContext.of({math.sqrt: lambda x: 3.0}), Log([])
    assert overdub(log, overdub, ctx, program, 4.0) == overdub(ctx, overdub, log, program, 4.0) == 6.0
    assert overdub(MockContext.of({math.sin: math.cos}), grad(math.sin), 0.0) in (0.0, 1.0)


def test_from_a_command_line():
    parser = ArgumentParser()
    MockContext.add_options(parser)
    options = parser.parse_args([
        "--replace", "math.sqrt=operator:neg", "--replace", "os.path.exists=True", "--freeze-time", "5",
        "--spy", "math.floor",
    ])  # fmt: skip
    ctx = MockContext.from_options(options)

    def f():
        import os

        return math.sqrt(4.0), os.path.exists("/no/such/file"), time.time(), math.floor(1.5)

    assert overdub(ctx, f) == (-4.0, True, 5.0, 1)
    lines = ctx.report(options).splitlines()
    assert "math.sqrt: 1 calls" in lines and "math.floor: 1 calls" in lines and "time.time: 1 calls" in lines


@pytest.mark.parametrize(
    "option, message",
    [("math.sqrt", "takes MODULE.NAME=MODULE:NAME"), ("math.nothing=1", "'math' has no 'nothing'"),
     ("no_such_module.f=1", "no module for 'no_such_module.f'")],
)  # fmt: skip
def test_wrong_options_are_named(option, message):
    parser = ArgumentParser()
    MockContext.add_options(parser)
    with pytest.raises(ValueError, match=message):
        MockContext.from_options(parser.parse_args(["--replace", option]))


def test_the_class_itself_replaces_nothing():
    assert overdub(MockContext(), program, 4.0) == program(4.0)
