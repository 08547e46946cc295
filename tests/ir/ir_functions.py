"""Functions as users write them, with arguments: each is lifted, and printed as source again."""

import math

import numpy as np


def newton(f, df, x, tol):
    for i in range(50):
        step = f(x) / df(x)
        x = x - step
        if abs(step) < tol and x > 0 or i == 40:
            break
    else:
        raise ValueError("no")
    return x, i


def fib(n):
    a, b = 0, 1
    while n > 0:
        a, b = b, a + b
        n -= 1
    return a


def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n //= 2
            continue
        n = 3 * n + 1
        steps += 1
        if steps > 100:
            return None
    return steps


def cond(x, y):
    z = x or y
    w = x if y else -x
    if x < 0:
        y = -y
    elif x == 1 and (y or z):
        y = y * 2
    else:
        y = 0
    return y + z**2 - w


def nest(rows, limit):
    total = 0
    for row in rows:
        for v in row:
            if v < 0:
                break
            if v == 5:
                continue
            total += v
            if total > limit:
                return total, v
        else:
            total += 100
    return total, None


def multi(rows):
    found = None
    for i, row in enumerate(rows):
        for j, v in enumerate(row):
            if v == 3:
                found = (i, j)
                break
        if found:
            break
    return found


def store(x, d):
    x[0] += 1
    x[1] = x[0] * 2
    d["k"] = [a * 2 for a in x]
    y = x[1:3]
    del d["k"]
    return y, {"a": x, "b": d}, f"{x}-{d!r}"


def logsumexp(x):
    m = np.max(x)
    return m + np.log(np.sum(np.exp(x - m), axis=0))


def sincos(x):
    return math.sin(x) * math.cos(x)


def whiletrue(x):
    while True:
        x = x * 2
        if x > 100:
            break
        if x % 7 == 0:
            x += 1
    return x


def chain(a, b, c):
    return a < b < c and not (a == 1)


def calls(f, *args, k=1, **kw):
    return f(*args, **kw) + k


def guard(x):
    if x > 10:
        if x > 20:
            r = 1
        else:
            return 5
    else:
        r = 2
    for q in range(3):
        for z in range(3):
            if z * q == x:
                return z
            if z + q == x:
                break
            r += z
        r += 1
    return r


def first(xs):
    for x in xs:
        return x
    return None


def unpackstar(t):
    a, *b = t
    (c,) = b
    return a, c


def swap(a, b, n):
    for _ in range(n):
        a, b = b, a
    return a - b


def closure(k):
    def inner(x):
        nonlocal k
        k = k + x
        return k * x

    return inner


def kinds(x):
    if x is None or x is not True and not x in (1, 2):
        return -x if x else (x, -1j, float("inf"), 1e300)
    return x[0] if x == [1] else ~x & 3 | 4 ^ x << 2


def precedence(a, b, c):
    return (
        (a + b) * c - (a - (b - c)) / -((a**b) ** -c),
        (-a) ** 2,
        2 ** (a**b),
        -(a**2),
        (a, (b,), [c, {a}]),
        (a < b) == c,
    )


def chained(d, o, i):
    o.value = d["k"][i + 1].real
    d["k"][i] += o.value * 2
    o.value -= 1
    return d, o.value, "k" not in d


def late(n):
    for i in range(n):
        last = i * 2
    return last


def assertion(x):
    assert x > 0, f"bad {x:.2f} {x!r}"
    try_ = x
    return try_


def chosen(f, g, x):
    return (f if x > 1 else g)(x)


def reraises(x):
    if x:
        raise ValueError("a") from TypeError("b")
    raise KeyError


class Box:
    value = 0


CASES = [
    (newton, (lambda x: x * x - 2, lambda x: 2 * x, 1.0, 1e-9)),
    (newton, (lambda x: 1, lambda x: 2 * x, 1.0, 0)),
    (fib, (10,)),
    (collatz, (27,)),
    (collatz, (6,)),
    (cond, (1, 2)),
    (cond, (0, 3)),
    (cond, (-1, 0)),
    (nest, ([[1, 2], [3, -1], [5, 6]], 50)),
    (nest, ([[1, 2], [3, -1], [5, 6]], 100)),
    (multi, ([[1, 2], [0, 3]],)),
    (multi, ([[1]],)),
    (store, ([1, 2, 3], {})),
    (logsumexp, (np.arange(3.0),)),
    (sincos, (1.0,)),
    (whiletrue, (3,)),
    (chain, (1, 2, 3)),
    (chain, (0, 2, 3)),
    (calls, (max, 1, (1, 2), {})),
    (guard, (1,)),
    (guard, (15,)),
    (guard, (25,)),
    (guard, (3,)),
    (first, ([],)),
    (first, ([3, 4],)),
    (unpackstar, ((1, 2),)),
    (unpackstar, ((1, 2, 3),)),
    (swap, (1, 2, 3)),
    (closure(2), (3,)),
    (kinds, (None,)),
    (kinds, (5,)),
    (kinds, (2,)),
    (kinds, (0,)),
    (precedence, (1.5, 2.0, 3.0)),
    (chained, ({"k": [1, 2, 3]}, Box(), 0)),
    (late, (3,)),
    (late, (0,)),
    (assertion, (1,)),
    (assertion, (-1,)),
    (chosen, (abs, str, 2)),
    (chosen, (abs, str, 1)),
    (reraises, (1,)),
    (reraises, (0,)),
]
