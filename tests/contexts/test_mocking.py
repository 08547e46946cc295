"""MockContext: what is replaced, for whom, and what is recorded."""

import asyncio
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
from unittest.mock import AsyncMock, Mock, create_autospec

import numpy as np
import pytest

from ctxdispatch import Context, grad, overdub, recurse
from ctxdispatch.contexts import MockContext
from ctxdispatch_contexts.mocking import Around, Calls, frozen_time


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
    assert {"math.sqrt: 1 call", "math.floor: 1 call", "time.time: 1 call"} < {*lines} and len(lines) == 4


@pytest.mark.parametrize(
    "option, message",
    [("math.sqrt", "takes MODULE.NAME=MODULE:NAME"), ("math.nothing=1", "'math' has no 'nothing'"),
     ("no_such_module.f=1", "no module for 'no_such_module.f'"),
     ("math.sqrt=no_such_module:f", "no module 'no_such_module'"),
     ("math.sqrt=operator:nothing", "'operator' has no 'nothing'"),
     ("math.sqrt=one two", "'one two' is neither MODULE:NAME nor a Python literal")],
)  # fmt: skip
def test_wrong_options_are_named(option, message):
    parser = ArgumentParser()
    MockContext.add_options(parser)
    with pytest.raises(ValueError, match=message):
        MockContext.from_options(parser.parse_args(["--replace", option]))


def test_the_class_itself_replaces_nothing():
    assert overdub(MockContext(), program, 4.0) == program(4.0)


# -- who is replaced -------------------------------------------------------------------------------


class Clock:
    @property
    def now(self):
        return time.time()

    def __add__(self, other):
        return time.time()

    def __getitem__(self, k):
        return time.time()

    def __iter__(self):
        yield time.time()

    def __enter__(self):
        return time.time()

    def __exit__(self, *error):
        pass

    def __lt__(self, other):
        return time.time()

    def __bool__(self):
        return time.time() == 5

    def __format__(self, spec):
        return str(time.time())


def within(x):
    with x as y:
        return y


@pytest.mark.parametrize(
    "f",
    [
        lambda c: c.now,
        lambda c: c + 1,
        lambda c: c[0],
        lambda c: [x for x in c][0],
        lambda c: [*c][0],
        lambda c: within(c),
        lambda c: c < 1,
        lambda c: 5 if c else 0,
        lambda c: int(f"{c}"),
        lambda c: getattr(c, "now"),
    ],
)
def test_replacements_reach_what_syntax_runs(f):
    assert overdub(MockContext.of({time.time: 5}), f, Clock()) == 5


def test_with_fewer_kinds_only_those_are_followed():
    ctx = MockContext.of({time.time: 5}, intercepts=("call",))
    assert overdub(ctx, lambda c: (time.time(), c.now == 5), Clock()) == (5, False)


def test_instances_are_told_apart():
    one, two, three = Account(1), Account(2), Account(3)
    ctx = MockContext.of(
        {Account.withdraw: lambda self, n: self, one.withdraw: "one", two.withdraw: lambda n: n}
    )

    def f():
        return one.withdraw(5), two.withdraw(6), three.withdraw(7)

    assert overdub(ctx, f) == ("one", 6, three)
    assert [c.args for c in ctx.calls[one.withdraw]] == [(5,)]
    assert [c.args for c in ctx.calls[two.withdraw]] == [(6,)]
    assert [c.args for c in ctx.calls[Account.withdraw]] == [(one, 5), (two, 6), (three, 7)]
    ctx = MockContext.of({one.withdraw: "one"})
    assert overdub(ctx, f) == ("one", -4, -4)
    assert len(ctx.calls[Account.withdraw]) == 1 and ctx.calls[two.withdraw] == []


def test_a_bound_method_for_some_types_and_for_the_others():
    replacements = {(random.randint, int, int): "ints", random.randint: "others"}
    ctx = MockContext.of(replacements)
    assert overdub(ctx, lambda: (random.randint(1, 2), random.randint(1.0, 2))) == ("ints", "others")


def test_around_is_given_the_original_which_runs_under_the_context():
    ctx = MockContext.of({root: Around(lambda original, x: original(x * 4) + 1), math.sqrt: lambda x: -x})
    assert overdub(ctx, lambda: root(1.0)) == -3.0
    assert ctx.calls[root][0][:3] == ((1.0,), {}, -3.0) and ctx.calls[math.sqrt][0].args == (4.0,)
    account = Account(5)
    twice = Around(lambda original, amount: (original(amount), original(amount=amount)))
    assert overdub(MockContext.of({account.withdraw: twice}), lambda: account.withdraw(2)) == (3, 1)
    rich = Around(lambda original, balance: original(1000 * balance))
    assert overdub(MockContext.of({Account: rich}), lambda: Account(2).balance) == 2000
    assert overdub(MockContext.of({open: Around(lambda original, *a: 1)}), lambda: open("/no/such/file")) == 1


def test_a_replacement_runs_plainly_and_may_call_what_it_replaces():
    ctx = MockContext.of({root: lambda x: root(x) + 1, math.sqrt: 0.0})
    assert overdub(ctx, lambda: root(4.0)) == 3.0
    assert ctx.calls[math.sqrt] == []


def test_objects_of_unittest_mock():
    spec = create_autospec(root, return_value=1.0)
    overdub(MockContext.of({root: spec}), program, 4.0)
    assert [call.args for call in spec.call_args_list] == [(4.0,), (5.0,)]
    spec.assert_called_with(5.0)
    with pytest.raises(TypeError, match="too many"):
        overdub(MockContext.of({root: spec}), lambda: root(1, 2))

    async def fetch():
        return "fetched"

    async def both():
        return await fetch(), await asyncio.create_task(fetch())

    fake = AsyncMock(return_value="faked")
    assert overdub(MockContext.of({fetch: fake}), lambda: asyncio.run(both())) == ("faked", "faked")
    assert fake.await_count == 2


def test_frozen_time_stands_still_and_sleeping_goes_on():
    class Moment(datetime.datetime):
        pass

    at = datetime.datetime(2026, 1, 31, 12, 0, 5)
    ctx = MockContext.of(frozen_time(at.timestamp()))

    def f():
        start = time.monotonic()
        time.sleep(0.001)
        assert time.monotonic() > start
        return datetime.datetime.now(), Moment.now(), datetime.date.today(), datetime.datetime.today()

    assert overdub(ctx, f) == (at, at, at.date(), at)
    assert type(overdub(ctx, lambda: Moment.now())) is Moment
    utc = at.astimezone(datetime.UTC)
    assert overdub(ctx, lambda: datetime.datetime.now(datetime.UTC)) == utc
    assert overdub(ctx, lambda: (time.time_ns(), time.gmtime()[:6], time.gmtime(0).tm_year)) == (
        int(at.timestamp() * 10**9), utc.timetuple()[:6], 1970,
    )  # fmt: skip
    assert overdub(ctx, lambda: (time.ctime(), time.asctime())) == (time.ctime(at.timestamp()),) * 2
    assert overdub(ctx, lambda: (time.strftime("%F %T"), time.strftime("%Y", time.gmtime(0)))) == (
        at.strftime("%F %T"), "1970",
    )  # fmt: skip
    assert overdub(ctx, lambda: time.asctime(time.gmtime(0))) == time.asctime(time.gmtime(0))


@pytest.mark.skipif(not hasattr(time, "clock_gettime"), reason="a clock of POSIX systems")
def test_frozen_time_is_that_of_the_wall_clock():
    def clocks():
        wall, own = time.CLOCK_REALTIME, time.CLOCK_MONOTONIC
        return time.clock_gettime(wall), time.clock_gettime_ns(wall), time.clock_gettime(own) > 5.0

    assert overdub(MockContext.of(frozen_time(5.0)), clocks) == (5.0, 5 * 10**9, True)


def test_a_date_on_the_command_line():
    parser = ArgumentParser()
    MockContext.add_options(parser)
    ctx = MockContext.from_options(parser.parse_args(["--freeze-time", "2026-01-31T12:00"]))
    assert overdub(ctx, lambda: datetime.datetime.now().hour) == 12
    with pytest.raises(ValueError, match="--freeze-time takes seconds.*not .noon"):
        MockContext.from_options(parser.parse_args(["--freeze-time", "noon"]))


def test_one_mapping_for_many_runs():
    ctx = MockContext.of({root: 0.0})
    first, second = ctx.replace(calls=Calls()), ctx.replace(calls=Calls())
    assert overdub(first, program, 4.0) == 0.0 == overdub(second, lambda: root(1.0))
    assert type(first) is type(second) and (len(first.calls[root]), len(second.calls[root])) == (2, 1)
