"""Optimised programs compute what the programs do, bitwise, exceptions included; all types hold."""

import math

import numpy as np
import pytest
from optimised import check_types, load_cases, outcome, run_optimised

CASES = load_cases()
MINE = []


def on(*argument_tuples):
    def register(f):
        MINE.append((f, argument_tuples))
        return f

    return register


V, M = np.array([0.5, -1.5, 2.0]), np.arange(9.0).reshape(3, 3) - 4.0


@on((V, M), (V.astype("f4"), M), (M, V), (np.array([1]), M))
def layers(x, w):
    h = x
    for _ in range(3):
        h = np.tanh(w @ h + 1.0)
    return h.sum(), h.max(axis=0), np.mean(h), (w**2).sum(axis=1, keepdims=True), w.T[:, None].shape


@on((V,), (M,), (np.array([1, 2]),), (V[:0],), (np.float64(2.0),))
def reductions(x):
    return x.sum(), np.sum(x), x.prod(axis=0), np.max(x), np.min(x, axis=-1), np.sum(x, axis=0, keepdims=True)


@on((V,), (M,), (-0.0,), (np.float64(-0.0),), (3,), (float("nan"),), (1j,))
def identities(x):
    return 1.0 * x, x * 1.0, x / 1.0, x - 0.0, x + 0.0, 0.0 * x, -(-x), x**1, 1 * x, x - 0, x**2


@on((2.0, 3), (2, 0), (-8.0, 2))
def known_branches(x, n):
    if isinstance(x, float):
        y = math.sin(x)
    else:
        y = None
    k = 3
    if k > 2:
        y = (y, k * 2)
    while False:
        y = 1
    for i in range(n):
        if k == 3:
            y = (i, y[0] if y is not None else 0)
    return y


@on((5,), (0,))
def constants_in_loops(n):
    step, total, flip = 1, 0, True
    for i in range(n):
        total += step
        step = step
        flip = not flip
    return total, step, flip


@on((3, V), (0, V))
def lists(n, x):
    out, other = [], [1]
    for i in range(n):
        out.append(x * i)
        other.append(i)
    same = out
    same.append("a") if n > 2 else None
    return out, other[-1], len(out), [*other, 1.5], out + other


@on(([1.0, 2.0],), ([],), ([1.0, "a"],))
def argument_lists(xs):
    first = xs[0]
    ys = xs
    ys.append("text")
    return first, xs[-1], [x for x in xs]


def poke(xs):
    xs.append("poked")


@on(([1.0],), ([[1.0], [2.0]],))
def lists_passed_on(xs):
    own = [1.0]
    before = own[-1]
    poke(own)
    poke(xs)
    return before, own[-1], xs[-1]


@on(([[1.0], [2.0]],))
def nested_lists(xs):
    row = xs[0]
    row.append("a")
    pair = ([1.0], row)
    pair[0].append(None)
    rows = [pair[0], [2]]
    rows[0].append("b")
    return xs[0][-1], pair, rows, pair[0][-1]


@on((2.0,))
def list_methods(x):
    xs = [x]
    append = xs.append
    append("a")
    ys = [1, 2, 3]
    ys[0] = "b"
    ys[1:] = [None]
    zs = [1.0]
    zs += ["c"]
    zs.extend((1, 2))
    return xs[-1], ys, zs, ys.pop(), zs.pop(1)


@on((1, True), (1, False))
def hidden_lists(x, c):
    xs = [x]
    maybe = xs if c else None
    if maybe is not None:
        maybe.append("a")
    ys = [x]
    put = getattr(ys, "append", None)
    put("b")
    zs = [x]
    puts = (zs.append, 1)
    puts[0]("c")
    ws = [x]
    list.append(*(ws, "d"))
    return xs[-1], ys[-1], zs[-1], ws[-1]


class Point:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y

    def norm(self):
        return math.hypot(self.x, self.y)

    @property
    def total(self):
        return self.x + self.y


class Shadowed:
    def __init__(self):
        self.f = lambda: "own"

    def f(self):
        return "class"

    @property
    def g(self):
        return "property"


@on((3.0,))
def objects(x):
    p, s = Point(x, 4.0), Shadowed()
    p.x += 1.0
    return p.norm(), p.total, s.f(), s.g, isinstance(p, Point), type(s) is Shadowed


@on((V,))
def mutation(x):
    a = np.zeros(3)
    b = np.zeros(3)
    a[0] = 1.0
    c = 1.0 * x
    c += 1.0
    d = x * 1.0
    x[0] = 7.0
    return a, b, c, d, x


@on((V,))
def twins(x):
    return np.exp(x), np.exp(x), np.exp(x).sum() + np.exp(x).sum()


def test_equal_results_stay_distinct_objects():
    a, b, _ = run_optimised(twins)(V)
    assert a is not b


def test_a_copy_stays_a_copy():
    def f(x):
        return 1.0 * x

    assert run_optimised(f)(V) is not V


@on((V,), (M,))
def views(x):
    y, z = x.T, x.T
    s, t = x[0], x[0]
    return y + z, s + t, x.reshape(-1), x[None], x.shape, x.ndim


@on((2.0,), (-1.0,))
def raising(x):
    unused = math.log(x)
    math.sqrt(x)
    return 1


@on((0.0,), (2.0,), (1,))
def division(x):
    unused = 1.0 / x
    return 1


@on(("a",), (1.5,))
def unused_sum(x):
    y = x + 1
    return 2


@on((3,))
def dead_loops(n):
    total, unused = 0, 0.0
    for i in range(n):
        unused += i
    for i in range(n):
        for j in range(i):
            if j > 1:
                unused = unused * j
            total += 1
    log = []
    for i in range(n):
        log.append(i)
    return total


@on(((1, 2, 3),), ([1],))
def used_up(xs):
    n, it = 0, iter(xs)
    for i in it:
        n += 1
    return list(it)


@on((3,))
def iterator_read_elsewhere(n):
    it = iter(range(n))
    for i in it:
        break
    return next(it)


@on(((1, 2.0), 3))
def star(args, x):
    pair = (x, *args)
    a, b, c = pair
    first, *rest = args
    return a, b, c, max(*args), max(*(x, 1)), rest, pair[-1], pair[1:]


@on((1.0,))
def cells(x):
    y = x

    def inner():
        nonlocal y
        y = "changed"
        return x

    before = y
    inner()
    return before, y, inner()


counter = 0
SCALE, SIZES = 2.0, (3, 4)


@on((1.0,))
def globals_(x):
    global counter
    counter = 0
    counter += 1
    counter = "text" if counter else None
    return counter, SCALE * x, SIZES[0], np.pi, math.inf


ALL = [
    pytest.param(f, a, id=f"{f.__qualname__}-{n}") for f, cases in CASES + MINE for n, a in enumerate(cases)
]


@pytest.mark.parametrize("f, args", ALL)
def test_the_optimised_program_computes_the_same(f, args):
    assert outcome(run_optimised(f), *args) == outcome(f, *args)


@pytest.mark.parametrize("f, args", ALL)
def test_types_hold(f, args):
    check_types(f, args)
