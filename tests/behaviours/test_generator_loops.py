"""Generators of the user's: loops over them, what takes all their items, in every mode; compiled where the
consumer is a loop or takes all at once."""

import itertools

import numpy as np
import pytest

from ctxdispatch import explain, grad, hessian, jvp

X = np.array([0.3, -0.7, 1.1, 0.4, -0.2, 0.9, 1.3, 0.5])


# -- what gives the items: floats ----------------------------------------------------------------------------


def pairs(v):
    for a, b in itertools.pairwise(v):
        yield a * b


def two(v):
    yield v[0] * v[1]
    yield np.sin(v[2])


def endless(v):
    k = 0
    while True:
        yield v[k % 8] * (k + 1)
        k = k + 1


def chosen(v):
    for x in v:
        if x > 1.0:
            yield x * x
        elif x < 0.0:
            continue
        else:
            yield -x
            yield x * 3.0


def delegating(v):
    yield v[3]
    yield from two(v)
    yield from chosen(v)


def with_state(v):
    total = 0.0
    for x in v:
        total = total + x * x
        yield total


def through_another(v):
    for k, x in enumerate(pairs(v)):
        yield x * k


class Model:
    def __init__(self, v):
        self.w, self.b = v[:4], v[4:]

    def parts(self):
        for w, b in zip(self.w, self.b):
            yield w * b

    def __iter__(self):
        yield np.sum(self.w * self.w)
        yield np.sum(self.b) * 2.0


def of_a_method(v):
    return Model(v).parts()


def of_an_object(v):
    return Model(v)


class Sized(Model):
    def __len__(self):
        return 2


def of_an_object_that_has_a_length(v):
    return Sized(v)


def local(v):
    def inner(k=2):
        for i in range(3):
            yield v[i] * v[i + k]

    return inner()


def of_a_function(v, *, f=np.exp):
    return (f(x) * x for x in v)


GIVEN = [
    pairs, two, endless, chosen, delegating, with_state, through_another, of_a_method, of_an_object,
    of_an_object_that_has_a_length, local, of_a_function,
]


# -- what goes through them ----------------------------------------------------------------------------------


def summed(items):
    s = 0.0
    for x in items:
        s = s + x * x
        if s > 40.0:
            break
    return s


def numbered(items):
    s = 1.0
    for k, x in enumerate(items, 1):
        if k > 6:
            break
        s = s * (1.0 + x / k)
    else:
        s = s * 3.0
    return s


def first_of_some(items):
    last = 0.5
    for x in items:
        if x * last > 0.3:
            return x * last
        last = x + last * 0.5
    return last * 2.0


def stored(items):
    out, k = np.zeros(12), 0
    for x in items:
        out[k] = x * (out[k - 1] + 1.0)
        k += 1
        if k == 12:
            break
    return np.sum(out * out)


def nested(items):
    s = 0.0
    for k, x in enumerate(items):
        for y in two(np.ones(3) * x):
            s = s + y * k
        if k == 5:
            return s
    return s


def collected(items):
    found = []
    for x in items:
        found.append(x * 2.0)
        if len(found) == 9:
            break
    return found[0] * found[-1]


LOOPS = [summed, numbered, first_of_some, stored, nested, collected]


def listed(items):
    found = list(items)
    return found[0] * found[-1]


def added(items):
    return sum(items)


def of_expressions(items):
    return sum(x * x for x in items)


def spread(items):
    first, *others = [*items]
    return first * sum(others)


AT_ONCE = [listed, added, of_expressions, spread]


NUMBERS = itertools.count()


def composed(given, through):
    """Of a code of its own."""

    def f(v):
        return through(given(v))

    f.__code__ = f.__code__.replace(co_name=f"f{next(NUMBERS)}")
    return f


ASKS = {(of_an_object_that_has_a_length, through) for through in (listed, spread)}
"""These ask for the length."""
CASES = [
    *[(given, through) for given in GIVEN for through in LOOPS],
    *[(given, through) for given in GIVEN if given is not endless for through in AT_ONCE],
]


def differences(f, x, step=1e-6):
    return np.array([(f(x + e) - f(x - e)) / (2.0 * step) for e in np.eye(len(x)) * step])


@pytest.mark.every(12)
@pytest.mark.parametrize("given, through", CASES, ids=lambda f: f.__name__)
def test_derivatives(given, through):
    f = composed(given, through)
    wanted = differences(f, X)
    np.testing.assert_allclose(grad(f)(X), wanted, atol=1e-5)
    value, tangent = jvp(f, (X,), (np.ones(8),))
    assert value == f(X)
    np.testing.assert_allclose(tangent, wanted.sum(), atol=1e-4)


@pytest.mark.every(40)
@pytest.mark.parametrize("given, through", CASES, ids=lambda f: f.__name__)
def test_second_derivatives(given, through):
    f = composed(given, through)
    np.testing.assert_allclose(hessian(f)(X), differences(grad(f), X), atol=1e-4)


@pytest.mark.every(12)
@pytest.mark.parametrize("given, through", [c for c in CASES if c not in ASKS], ids=lambda f: f.__name__)
def test_they_are_compiled(given, through):
    report = explain(grad(composed(given, through)))(X)
    assert {region.tier for region in report.regions} <= {"compiled whole", "compiled as an attempt"}, report


# -- what is not known ---------------------------------------------------------------------------------------


def sent(v):
    def doubled():
        x = v[0]
        while True:
            got = yield x * 2.0
            x = x * got if got is not None else x + v[1]

    items = doubled()
    return next(items) + items.send(v[2]) + next(items)


def gone_through_by_two(v):
    items, s = pairs(v), 0.0
    for x in items:
        s = s + x
        if s > 0.1:
            break
    return s * sum(items)


def closed(v):
    def guarded():
        try:
            for x in v:
                yield x
        finally:
            kept.append(v[1] * v[1])

    kept = []
    for x in guarded():
        if x > 1.0:
            break
    return x * sum(kept)


def result_of_yield_from(v):
    def inner():
        yield v[0]
        return v[1] * v[2]

    def outer():
        found = yield from inner()
        yield found

    return sum(x * x for x in outer())


def changed_while_it_runs(v):
    y = v * 1.0

    def items():
        for k in range(7):
            yield y[k] * y[k + 1]

    s = 0.0
    for k, x in enumerate(items()):
        y[k + 1] = x * 2.0
        s = s + x * y[k]
    return s


def several_go_together(v):
    s = 0.0
    for a, b in zip(pairs(v), two(v)):
        s = s + a * b
    return s


def of_arrays_that_change(v):
    def items():
        y = v[:2] * 1.0
        for k in range(3):
            y *= v[k]
            yield y

    s = 0.0
    for y in items():
        s = s + y.sum()
    return s + sum(items())[0]


OTHERS = [
    sent, gone_through_by_two, closed, result_of_yield_from, changed_while_it_runs, several_go_together,
    of_arrays_that_change,
]


@pytest.mark.parametrize("f", OTHERS, ids=lambda f: f.__name__)
def test_what_is_not_a_loop_alone(f):
    wanted = differences(f, X)
    np.testing.assert_allclose(grad(f)(X), wanted, atol=1e-5)
    np.testing.assert_allclose(jvp(f, (X,), (np.ones(8),))[1], wanted.sum(), atol=1e-4)


def test_the_generator_that_is_meant_is_asked_for_each_time(monkeypatch):
    f = composed(lambda v: pairs(v), summed)
    gradient = grad(f)
    first = gradient(X)
    monkeypatch.setitem(globals(), "pairs", two)
    assert not np.array_equal(gradient(X), first)
    np.testing.assert_allclose(gradient(X), differences(f, X), atol=1e-5)


def test_an_error_comes_where_it_came(monkeypatch):
    log = []

    def items(v):
        for k in range(3):
            log.append(k)
            yield v[k]
        raise ValueError("in the generator")

    def f(v):
        s = 0.0
        for x in items(v):
            log.append("body")
            s = s + x
        return s

    with pytest.raises(ValueError, match="in the generator"):
        grad(f)(X)
    assert log[:6] == [0, "body", 1, "body", 2, "body"]


# -- what happens between the items --------------------------------------------------------------------------


class Box:
    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        return Box(self.x + other.x)

    def __radd__(self, other):
        return Box(self.x + other)

    def __lt__(self, other):
        return self.x < other.x


def boxes_that_change(v):
    box = Box(v[0])
    for x in v:
        box.x = box.x * 0.5 + x
        yield box


def of_the_greatest(v):
    return max(boxes_that_change(v), key=lambda box: box.x * v[1]).x


def of_a_sum_of_boxes(v):
    return sum(boxes_that_change(v)).x


def what_was_there_when_it_was_made(v):
    xs = [v[0], v[1], v[2]]
    made = itertools.combinations(xs, 2)
    xs.append(v[3] * 5.0)
    s = 0.0
    for a, b in made:
        xs[0] = a * 3.0
        s = s + a * b * xs[0]
    return s


def what_is_there_when_it_is_taken(v):
    xs = [v[0], v[1], v[2]]
    made = itertools.pairwise(xs)
    xs.append(v[3] * 5.0)
    s = 0.0
    for a, b in made:
        if len(xs) < 6:
            xs.append(a)
        s = s + a * b
    return s


def a_variable_that_the_body_binds(v):
    k = 1.0

    def items():
        for x in v:
            yield x * k

    s = 0.0
    for x in items():
        s = s + x * x
        k = k + x
    return s


def a_variable_that_the_generator_binds(v):
    total = 0.0

    def items():
        nonlocal total
        for x in v:
            total = total + x
            yield x

    s = 0.0
    for x in items():
        s = s + x * total
    return s * total


def what_a_key_reads(v):
    box = Box(v[0])

    def items():
        for x in v:
            box.x = box.x * 0.5 + x
            yield x

    return max(items(), key=lambda x: x * box.x)


def what_a_key_reads_and_a_method_stores(v):
    box = Box(v[0])

    def stepped(x):
        box.x = box.x * 0.5 + x
        return x

    def items():
        for x in v:
            yield stepped(x)

    return min(items(), key=lambda x: x * box.x) * 2.0


def what_is_compared(v):
    return max(Box(x) for x in v).x * min(Box(x) for x in v).x


def a_sum_of_what_an_expression_changes(v):
    box = Box(v[0])

    def stepped(x):
        box.x = box.x * 0.5 + x
        return box

    return sum(stepped(x) for x in v).x


def a_sum_of_what_is_mapped(v):
    box = Box(v[0])

    def stepped(x):
        box.x = box.x * 0.5 + x
        return box

    return sum(map(stepped, v)).x


BETWEEN = [
    of_the_greatest, of_a_sum_of_boxes, what_a_key_reads, what_a_key_reads_and_a_method_stores,
    what_is_compared, a_sum_of_what_an_expression_changes, a_sum_of_what_is_mapped,
    what_was_there_when_it_was_made, what_is_there_when_it_is_taken,
    a_variable_that_the_body_binds, a_variable_that_the_generator_binds,
]


@pytest.mark.parametrize("f", BETWEEN, ids=lambda f: f.__name__)
def test_items_are_what_they_are_when_they_are_given(f):
    wanted = differences(f, X)
    np.testing.assert_allclose(grad(f)(X), wanted, atol=1e-5)
    np.testing.assert_allclose(jvp(f, (X,), (np.ones(8),))[1], wanted.sum(), atol=1e-4)
