"""Loops and branches in `f` of `broadcast`: the same as Python's own, on both back ends."""

import numpy as np
import pytest
from broadcast_checks import BACKENDS, FIVE, INTS, close
from broadcast_checks import check_by_elements as check

from ctxdispatch import grad
from ctxdispatch_contexts.broadcast import KernelError, broadcast

X, N = FIVE, INTS


def breaks_and_continues(x):
    n = 0
    while True:
        n += 1
        if n > 20:
            return -1.0
        if x > 50:
            break
        if n % 2:
            x = x * 3
            continue
        x = x - 0.1
    return x + n


def else_of_while(x):
    n = 0
    while x < 3:
        x = abs(x) * 2 + 0.1
        n += 1
        if n == 2:
            break
    else:
        n = n + 100
    return n


def ranges(n):
    s = 0
    for i in range(n, -n, -2):
        for j in range(i):
            if j == 3:
                break
            s += i * j
        else:
            s += 1000
    for _ in range(2, 9, 3):
        s += 1
    return s


def counter_afterwards(n):
    k = -5
    for k in range(n):
        pass
    return k


def counter_assigned(n):
    s = 0
    for k in range(n):
        s += k
        k = k * 10
        s += k
    return s


def bound_changes(n):
    s = 0
    for _ in range(n):
        n = n + 5
        s += n
    return s


def nested_returns(x):
    for i in range(4):
        for j in range(4):
            if i * j > x:
                return float(i * 10 + j)
    return x


def nested_while(x):
    total = 0.0
    while x > 0.1:
        y = x
        while y > 0.5:
            y = y / 2
            if y < 0.7:
                continue
            total += y
        x = x - 0.9
        if total > 20:
            return total
    return total + x


def swap(x):
    a, b = x, 1.0
    for _ in range(3):
        a, b = b, a * x
    return a + b


def constant_tuple(x):
    r = 0.0
    for c in (1.0, 2.0, 3.0):
        if c > abs(x) * 2:
            continue
        r = r * x + c
    return r


def zip_and_enumerate(x):
    r = 0.0
    for a, b in zip((1.0, 2.0), (3.0, 4.0)):
        r = r + a * x + b
    for i, a in enumerate((1.0, 2.0)):
        r = r + i * a * x
    for a in reversed((1.0, 2.0)):
        r = r * a + x
    return r


def augmented(x):
    r = 0.0
    for a, b in zip((1.0, 2.0), (3.0, 4.0)):
        r += abs(x) ** b * a
    return r


def leaves_a_tuple(x):
    for a in (1.0, 2.0, 3.0):
        if a > x:
            return a
    return x


def operands_in_a_tuple(x):
    r = 0.0
    for a in (x, 2.0):
        r = r * a + x
    return r


def unrolled_generator(x):
    return sum(x * k for k in range(3))


def comprehensions(x):
    return max([x * k for k in range(4)]) + sum(i * j * x for i in range(2) for j in (1.0, 2.0))


def polynomial(x):
    return sum(c * x**i for i, c in enumerate((1.0, -2.0, 0.5))) + sum(x * k for k in range(4) if k != 2)


def appended(x):
    terms = [x]
    for i in range(3):
        terms.append(terms[i] * x)
    return sum(terms) + len(terms)


PROGRAMS_OF_FLOATS = [
    comprehensions, polynomial, appended,
    breaks_and_continues, else_of_while, nested_returns, nested_while, swap, constant_tuple,
    zip_and_enumerate,
    augmented,
    leaves_a_tuple,
    operands_in_a_tuple,
    unrolled_generator,
]  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", PROGRAMS_OF_FLOATS)
def test_programs_of_floats(f, backend):
    check(f, X, backend)
    check(f, np.tile(X, 11), backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", [ranges, counter_afterwards, counter_assigned, bound_changes])
def test_programs_of_ints(f, backend):
    check(f, N, backend)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u8"])
def test_bounds_of_other_dtypes(dtype):
    n = np.array([0, 3, 100], dtype)

    def f(n):
        s = 0
        for k in range(0, n, 2):
            s += k
        return s

    assert broadcast(f, n).tolist() == [f(v) for v in n.tolist()]


def test_bound_at_the_end_of_its_dtype():
    def f(n):
        s = 0
        for k in range(0, n, 2):
            s += 1
        return s

    assert broadcast(f, np.array([127], "i1")).tolist() == [64]


def test_counting_down_from_unsigned():
    def f(n):
        s = 0
        for k in range(n, -1, -1):
            s += k
        return s

    assert broadcast(f, np.array([3, 0], "u1")).tolist() == [6, 0]


def test_ranges_of_floats_are_refused():
    with pytest.raises(KernelError, match="range"):
        broadcast(lambda v: sum_to(v), X)


def sum_to(n):
    s = 0
    for k in range(n):
        s += k
    return s


def test_a_list_that_is_filled_on_some_paths_is_refused():
    def f(x):
        terms = [x]
        if x > 0:
            terms.append(x)
        return sum(terms)

    with pytest.raises(KernelError, match="a list"):
        broadcast(f, X)


def left_at_once(x):
    s, n = 0.0, 0
    while n < 5:
        n += 1
        for _ in range(2):
            s = s + x
            break
    return s


def left_on_all_paths(x, flag=None):
    s, n = 0.0, 0
    while n < 4:
        n += 1
        for i in range(n - 1):
            if x > 0:
                s = s + x
                break
            s = s - i
            if flag is None:
                break
        else:
            s = s + 10.0
        for c in (2.0, 3.0):
            s = s * c
            break
    return s


@pytest.mark.parametrize("f", [left_at_once, left_on_all_paths])
@pytest.mark.parametrize("backend", BACKENDS)
def test_loops_that_never_go_round(f, backend):
    """What is there is the loop around them."""
    check(f, X, backend)
    close(grad(lambda x: np.sum(broadcast(f, x)))(X), [grad(f)(v) for v in X.tolist()])


def test_a_comprehension_over_a_long_range_is_refused_at_once():
    with pytest.raises(KernelError, match="a list"):
        broadcast(lambda x: sum(x * k for k in range(10**12)), X)


def shared_by_runs(x):
    items, s, n = iter((1.0, 2.0, 3.0)), 0.0, 0
    while n < 3:
        n += 1
        for a in items:
            s = s + a * x
            break
    return s


def shared_by_loops(x):
    pairs, s = zip((1.0, 2.0), (3.0, 4.0)), 0.0
    for a, b in pairs:
        s = s + a * b * x
    for _ in pairs:
        s = s + 100.0
    return s


@pytest.mark.parametrize("f", [shared_by_runs, shared_by_loops])
def test_iterators_of_several_loops_are_refused(f):
    with pytest.raises(KernelError, match="make one for each"):
        broadcast(f, X)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_iterator_that_is_made_before(backend):
    def f(x):
        pairs, s = zip((1.0, 2.0), reversed((3.0, 4.0))), 0.0
        if x > 0:
            s = 1.0
        for i, (a, b) in enumerate(pairs):
            s = s + a * b * x + i
        return s

    check(f, X, backend)
