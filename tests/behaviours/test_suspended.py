"""Generators that were made before, and what `await` and `async for` call of the user's."""

import numpy as np
import pytest

from ctxdispatch import grad, hessian, jacfwd, jvp
from ctxdispatch_contexts.programs.errors import DerivativeError


def running_total(weight):
    total = 0.0
    while True:
        total += (yield total) * weight


def _refused(f, x):
    for derivative in (lambda: grad(f)(x), lambda: jvp(f, (x,), (x,)), lambda: jacfwd(f)(x)):
        with pytest.raises(DerivativeError, match=r"test_suspended\.py:.*"):
            derivative()


def test_generator_made_before_that_is_sent_what_varies():
    totals = running_total(2.0)
    next(totals)
    _refused(lambda x: totals.send(x), 3.0)
    assert totals.send(3.0) == 6.0  # nothing has been sent to it yet


class Holder:
    def __init__(self, x):
        self.x = x

    def scaled(self):
        while True:
            yield self.x * 3.0


@pytest.mark.parametrize("resume", [next, lambda items: [x for x, _ in zip(items, [0])][0]])
def test_generator_made_before_whose_variables_hold_what_varies(resume):
    holder = Holder(1.0)
    items = holder.scaled()

    def f(x):
        holder.x = x
        return resume(items)

    _refused(f, 2.0)


def test_generator_made_before_of_constants():
    def f(x, data):
        return sum(x * next(data) for _ in range(2)) + sum(x * d for d in data)

    assert grad(f)(2.0, (float(i) for i in range(5))) == 10.0
    assert jvp(lambda x: f(x, (float(i) for i in range(5))), (2.0,), (1.0,)) == (20.0, 10.0)


class Sent:
    """Awaiting it gives what it is sent times what it holds."""

    def __init__(self, x):
        self.x = x

    def __await__(self):
        sent = yield self.x
        return sent * self.x


class Multiples:
    def __init__(self, x):
        self.x, self.n = x, 0

    def __aiter__(self):
        self.x = self.x * 2.0
        return self

    async def __anext__(self):
        if self.n == 3:
            raise StopAsyncIteration
        self.n += 1
        return self.x * self.n


class Squares:
    """Its `__aiter__` gives an asynchronous generator."""

    def __init__(self, x):
        self.x = x

    async def items(self):
        for n in range(3):
            yield self.x * self.x * n

    def __aiter__(self):
        self.x = self.x * 2.0
        return self.items()


def _by_hand(coroutine):
    sent = None
    while True:
        try:
            sent = coroutine.send(sent)
        except StopIteration as stop:
            return stop.value


async def awaiting(x):
    return await Sent(x) * x


async def going_through(x):
    total = 0.0
    async for item in Multiples(x):
        total += item * x
    return total


async def comprehending(x):
    return sum([item async for item in Squares(x)])


@pytest.mark.parametrize(("main", "slope"), [(awaiting, 12.0), (going_through, 48.0), (comprehending, 48.0)])
def test_methods_that_await_calls(main, slope):
    def f(x):
        return _by_hand(main(x))

    assert grad(f)(2.0) == pytest.approx(slope)
    assert jvp(f, (2.0,), (1.0,))[1] == pytest.approx(slope)
    below, above = grad(f)(2.0 - 1e-4), grad(f)(2.0 + 1e-4)
    assert hessian(f)(2.0) == pytest.approx((above - below) / 2e-4)


async def _awaits_number(x):
    return await x


async def _goes_through_number(x):
    async for item in x:
        return item


@pytest.mark.parametrize("main", [_awaits_number, _goes_through_number])
@pytest.mark.parametrize("x", [2.0, np.ones(2)])
def test_errors_of_what_cannot_be_awaited(main, x):
    def f(x):
        return _by_hand(main(x))

    with pytest.raises(TypeError) as plain:
        f(x)
    with pytest.raises(TypeError) as found:
        grad(f)(x)
    assert str(found.value) == str(plain.value)


def _numbers_times_two(numbers):
    return (2.0 * v for v in numbers)


MADE_BEFORE = {
    "iterator": iter,
    "generator": _numbers_times_two,
    "map": lambda numbers: map(lambda v: v * 3.0, numbers),
    "zip": lambda numbers: map(sum, zip(iter(numbers), strict=True)),
}


@pytest.mark.parametrize("make", MADE_BEFORE.values(), ids=list(MADE_BEFORE))
def test_iterators_made_before_over_arrays_that_are_stored_to(make):
    held = {}

    def f(x):
        held["numbers"][:] = x
        return sum(v * v for v in held["items"])

    x = np.array([1.0, 2.0])
    for derivative in (lambda: grad(f)(x), lambda: jvp(f, (x,), (x,))):
        held["numbers"] = np.zeros(2)
        held["items"] = make(held["numbers"])
        with pytest.raises(DerivativeError, match=r"test_suspended\.py:.*not made by the function"):
            derivative()


@pytest.mark.parametrize("make", [_numbers_times_two, lambda numbers: map(lambda v: v * 3.0, numbers)])
def test_iterators_made_before_over_lists_that_are_stored_to(make):
    numbers = [0.0, 0.0]

    def f(x):
        numbers[:] = x
        return sum(v * v for v in make_items[0])

    make_items = [make(numbers)]
    with pytest.raises(DerivativeError, match=r"test_suspended\.py:.*not made by the function"):
        grad(f)(np.array([1.0, 2.0]))


def test_generators_of_code_that_computes_nothing_are_taken_from():
    items = iter([2.0, 3.0])
    constants = (v for v in items)

    def f(x):
        kept = [x]
        kept.extend(v for v in (1.0, 2.0))
        kept.extend(constants)
        return sum(v * v * (i + 1.0) for i, v in enumerate(kept)) * x

    assert grad(f)(2.0) == 3.0 * 4.0 + 2.0 * 1.0 + 3.0 * 4.0 + 4.0 * 4.0 + 5.0 * 9.0


def test_functions_that_are_gone_through_compute_nothing_by_that():
    scales = (lambda v: v * 3.0, lambda v: v * v)

    def f(x):
        total = 0.0
        try:
            items = iter((*scales, x))
            for scale in items:
                if scale is x:
                    continue
                total = total + scale(x)
        finally:
            pass
        return total

    assert grad(f)(2.0) == 7.0
    assert jvp(f, (2.0,), (1.0,)) == (10.0, 7.0)
