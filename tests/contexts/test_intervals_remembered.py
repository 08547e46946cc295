"""What intervals refuse is raised when the run ends, whoever catches it but the program that runs on
intervals itself."""

import contextlib
import threading

import pytest

from ctxdispatch import Context, overdub
from ctxdispatch_contexts.intervals import Interval, IntervalContext, enclose
from ctxdispatch_contexts.intervals.refusals import IntervalError

X = Interval(0.9, 1.1)


def by_a_handler(x):
    try:
        return 1.0 if x < 1.0 else 2.0
    except ArithmeticError:
        return 3.0


def by_suppress(x):
    with contextlib.suppress(ArithmeticError):
        bool(x < 1.0)
    return x


def by_another_error(x):
    try:
        return 1.0 if x < 1.0 else 2.0
    except ArithmeticError:
        raise KeyError(x) from None


def by_a_thread(x):
    thread = threading.Thread(target=lambda: bool(x < 1.0))
    thread.start()
    thread.join()
    return x


CAUGHT = [by_a_handler, by_suppress, by_another_error, by_a_thread]


class Calls(Context):
    seen: list

    def prehook(self, f, args, kwargs):
        self.seen.append(f)


RUNS = {
    "overdub": lambda f: overdub(IntervalContext(), f, X),
    "enclose": lambda f: enclose(lambda x: f(x * X), 1.0),
    "under a context": lambda f: overdub(Calls([]), overdub, IntervalContext(), f, X),
}


@pytest.mark.parametrize("catch", CAUGHT)
@pytest.mark.parametrize("run", RUNS)
def test_whoever_catches_it(catch, run, monkeypatch):
    monkeypatch.setattr("threading.excepthook", lambda args: None)
    with pytest.raises(IntervalError):
        RUNS[run](catch)


def test_a_run_of_the_programs_own_is_the_programs_to_catch():
    def f(x):
        try:
            return overdub(IntervalContext(), lambda y: 1.0 if y < 1.0 else 2.0, x)
        except IntervalError:
            return 5.0

    assert overdub(Calls([]), f, X) == 5.0


def test_the_next_run_of_a_context_knows_nothing_of_it():
    ctx = IntervalContext()
    with pytest.raises(IntervalError):
        overdub(ctx, by_a_handler, X)
    assert overdub(ctx, by_a_handler, Interval(2.0, 3.0)) == 2.0
