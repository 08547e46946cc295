"""Operators, truth, comparisons, conditionals, walrus, subscripts, deletions, loops."""

# ruff: noqa: E401, F401, F541, F631, F811, F821, F842, I001

import itertools

from observe import Life, log, program

TRUTHS = [(a, b, c) for a in (0, 1) for b in (0, 2) for c in (0, 3)]


class Truth:
    """Logs when it is asked."""

    def __init__(self, name, value):
        self.name, self.value = name, value

    def __bool__(self):
        if self.value == 3:
            raise ValueError(self.name)
        log("asked", self.name)
        return bool(self.value)


@program(*TRUTHS)
def booleans(a, b, c):
    return (
        a and b, a or b, not a, a and b and c, a or b or c, a and b or c, a or b and c, (a or b) and c,
        not a and b,
        not (a and b), not (a or not b), [a and b, a or c], {a or "k": b and c}, log(a and b, b or c),
        a and log(b),
        (a or b) + (b and c), -(a or 1), (a or b) == c, a if b or c else b if a and c else c,
        bool(a and b) is True,
        f"{a or b}", (a and b, *(b or [c])) if not b or isinstance(b, list) else (a, b),
        (lambda: a and b)() or c,
    )  # fmt: skip


@program(*TRUTHS)
def asked_once(a, b, c):
    a, b, c = Truth("a", a), Truth("b", b), Truth("c", c)
    x = a and b or c
    log("value", x.name)
    if a and b or c:
        log("if")
    if not (a or b) and not c:
        log("not")
    while not (a and b):
        log("while")
        break
    y = [1 for _ in "x" if a or b if b and c]
    z = 1 if a and not b else 2
    assert a or b or not c, "assert"
    log(bool(a) or b)
    return x.name, y, z, (not a), (a or b or c).name


@program(*itertools.product((0, 1, 2), repeat=3))
def comparisons(a, b, c):
    x = a < b < c
    y = a <= b == c != a
    log(a < log(b) <= c, not a < b < c)
    if a < b < c or not (a == b == c):
        log("if")
    while a < b < c:
        a += 1
    z = 0 < (a < b) + (b < c) < 2 in (True, False)
    return x, y, z, a is b is not c, a in (b, c) not in [[]], [i for i in range(3) if a < i <= c]


@program((None, 1), (1, None), (None, None), (1, 1))
def identities(a, b):
    r = []
    if a is None:
        r.append(1)
    if b is not None:
        r.append(2)
    if a is None and b is not None or b is None:
        r.append(3)
    if not a is None:
        r.append(4)
    while a is None:
        a = 0
    return r, a is None, b is not a, (a is None) is (b is None), 1 if b is None else 2


@program(*itertools.product((0, 1), repeat=3))
def conditionals(a, b, c):
    x = a if b else c
    y = (1 if a else 2) + (3 if b else 4 if c else 5)
    z = [log("t") if a else log("f"), (log(1) if a else log(2), log(3)) if b else log(4)]
    w = (a if b else c) if (c if a else b) else (b if c else a)
    return x, y, z, w, (lambda: a if b else c)(), {a if b else c: b if a else c}, log(a if b else c,
        c if a else b)


@program((5,), (0,))
def walrus(a):
    if (b := a * 2) > 5 and (c := b + 1):
        log(c)
    d = [y := 1, y**2, (z := y) + z]
    while (a := a - 3) > -3:
        log(a)
    e = (f := lambda: b)() + (g := 1)
    log(h := 5, (i := 6) and i, dict(k=(j := 7)))
    return b, d, e, f(), g, h, i, j, {(m := 1): (n := m + 1)}, x if (x := a) else n


@program((7, 3), (7.5, 2), (-7, 2), (1, 0), ("a", 3), ([1], 2), (True, 2), (2, -1))
def arithmetic(a, b):
    out = []
    for f in (
        lambda: a + b, lambda: a - b, lambda: a * b, lambda: a / b, lambda: a // b, lambda: a % b,
        lambda: a**b,
        lambda: a << b, lambda: a >> b, lambda: a & b, lambda: a | b, lambda: a ^ b, lambda: a @ b,
        lambda: -a,
        lambda: +a, lambda: ~a, lambda: not a, lambda: a < b, lambda: a >= b,
    ):  # fmt: skip
        try:
            out.append(f())
        except Exception as e:
            out.append(str(e))
    return out


@program((7, 3), ([1], [2]), (1.5, 2), ("a", 2), ({1}, {2}), ((1,), (2,)))
def augmented(a, b):
    out, kept = [], a
    for f in range(13):
        x = a
        try:
            if f == 0: x += b
            elif f == 1: x -= b
            elif f == 2: x *= b
            elif f == 3: x /= b
            elif f == 4: x //= b
            elif f == 5: x %= b
            elif f == 6: x **= b
            elif f == 7: x <<= b
            elif f == 8: x >>= b
            elif f == 9: x &= b
            elif f == 10: x |= b
            elif f == 11: x ^= b
            else: x @= b
            out.append(x)
        except TypeError as e:
            out.append(str(e))
    return out, kept is a, a


@program()
def augmented_everywhere():
    class Box:
        n = 1

    box, xs, d = Box(), [1, [2]], {}
    global augmented_global
    augmented_global = 1
    augmented_global += 1
    box.n += 1
    xs[0] += 1
    xs[1][0] *= 5
    xs[1:] += [7]
    xs[-1] **= 2
    cell = 1
    f = lambda: cell
    cell <<= 3
    t = ([],)
    try:
        t[0] += [1]
    except TypeError as e:
        log(str(e), t)
    try:
        d["k"] += 1
    except KeyError as e:
        log(e)
    try:
        unbound += 1
    except UnboundLocalError as e:
        log(str(e))
    unbound = 0
    return augmented_global, box.n, Box.n, xs, f()


@program(([1, 2, 3, 4, 5],), ("hello",), ((),), (3,), (range(10),))
def slices(a):
    i, j = 1, -1
    return (
        a[1:3], a[:2], a[2:], a[::2], a[-1:0:-1], a[:], a[i:j], a[i:], a[:j], a[i:j:i], a[None:None],
        a[0:10:1][0:1],
        a[slice(i, j)],
    )  # fmt: skip


@program()
def subscripts():
    class Keys:
        def __getitem__(self, k):
            return k

        def __setitem__(self, k, v):
            log("set", k, v)

        def __delitem__(self, k):
            log("del", k)

    k, a, b = Keys(), 1, [2]
    k[1] = k[1:2] = k[a, b] = k[...] = k[1:2, ::3] = k[*b, a] = "v"
    k[a, b] += k[..., a]
    return k[1], k[1:2], k[a:a:a], k[a, b], k[1:2, ...], k[()], k[*b], k[a, *b, a:], k[(yield_ := 5)]


@program()
def deletions():
    class Box:
        pass

    box = Box()
    box.a = box.b = 1
    xs, d = [0, 1, 2, 3, 4, 5], {"a": 1, "b": {"c": 2}}
    del box.a, xs[0], xs[1:3], xs[::2], d["b"]["c"]
    x = y = z = Life("deleted")
    del x, (y, [z])
    log("after")
    try:
        x
    except UnboundLocalError as e:
        log(str(e))
    try:
        del x
    except UnboundLocalError as e:
        log(str(e))
    global deleted_global
    deleted_global = 1
    del deleted_global
    for f in (lambda: deleted_global, lambda: box.a, lambda: xs[99], lambda: d["zz"]):
        try:
            f()
        except Exception as e:
            log(str(e))
    try:
        del deleted_global
    except NameError as e:
        log(str(e))
    cell = 1
    g = lambda: cell
    del cell
    try:
        g()
    except NameError as e:
        log(str(e))
    try:
        cell
    except UnboundLocalError as e:
        log(str(e))
    return vars(box), xs, d, sorted(locals())


@program((0,), (3,), (7,))
def loops(n):
    out = []
    for i in range(n):
        if i == 1:
            continue
        if i == 5:
            break
        for j in range(i):
            if j == 2:
                break
            out.append((i, j))
        else:
            out.append(i)
            continue
        out.append("inner break")
    else:
        out.append("else")
    while n > 0:
        n -= 1
        if n == 4:
            break
        if n % 2:
            continue
        while True:
            out.append(n)
            if out:
                break
    else:
        out.append("while else")
    for _ in out: pass
    while 0: log("never")
    while 1:
        if out: break
    if 0:
        log("never")
    elif 1:
        log("always")
    else:
        log("never")
    if not True or None: out = 5
    return out, i if out and "i" in locals() else None, n


@program()
def loops_over_what_changes():
    xs = [1, 2, 3]
    for x in xs:
        if len(xs) < 6:
            xs.append(x * 2)
        xs = xs
    d = {1: 2}
    try:
        for k in d:
            d[k + 1] = 1
    except RuntimeError as e:
        log(str(e))
    for x in (x := [1, 2]):
        x = "rebound"
    for i in range(3):
        i += 10
        del i
    for a, b in zip(range(2), "ab"):
        for a in "c":
            pass
    return xs, x, a, b, "i" in locals()


@program()
def iterables_that_fail():
    class Bad:
        def __iter__(self):
            return 5

    class Raises:
        def __iter__(self):
            return self

        def __next__(self):
            raise KeyError("next")

    for it in (5, Bad(), Raises()):
        try:
            for _ in it:
                log("never")
        except Exception as e:
            log(str(e))
    for _ in (
        None
    ):
        pass


@program((1,), (0,))
def constants(x):
    "A docstring."
    1
    "not a docstring"
    x
    ...
    None
    () if x else []
    if x: "text"
    -1, 1 + 2, "a" * 3, (1, 2)[0], not 0, 10**2
    return 1e10, 1j, b"", "\N{BULLET}", 0x10, 1_000, True, None, ..., (1,
        (2, (3,))), frozenset({1}), -0.0, 1e400


@program((3,))
def one_line(n): a = n; b = a + 1; c = (a, b); return c if a else b


@program()
def deep_expressions():
    x = 1
    y = ((((((((((x + 1) * 2) - 3) / 4) + 5) * 6) - 7) + 8) * 9) - x)
    z = [[[[[[x, [x, {x: (x, [x])}]]]]]]]
    return y, z, x + x + x + x + x + x + x + x + x + x, 1 + (2 + (3 + (4 + (5 + (6 + x)))))


@program()
def lifetimes_of_operands():
    def make(name):
        return Life(name)

    log(make("a").name + make("b").name)
    log((make("c"), make("d"))[0].name)
    x = make("e") and make("f")
    log("after and")
    y = make("g") or make("h")
    log("after or")
    make("i") if make("j") else make("k")
    log("after if")
    make("l") is make("m")
    log("after is")
    [make("n"), make("o")][0].name.upper().lower()
    x = make("p")
    log("end")


@program(([3, 1, 2],), ([],))
def swaps(a):
    x, y, z = 1, 2, 3
    x, y = y, x
    x, y, z = z, x, y
    x, y, z = y, y, x
    if a:
        a[0], a[-1] = a[-1], a[0]
        a[0], a[1], a[2] = a[2], a[0], a[1]
    for i in range(3):
        x, y = y, x + y
    x, (y, z) = z, (x, y)
    x, x = y, z
    return x, y, z, a


@program((0,), (1,), (2,))
def constants_in_chains(x):
    found = []
    if 0 < 1 <= 1 == 1 >= 1 > 0 != 1:
        found.append("constants")
    if 0 <= x < 2 != 1 <= 3 > x:
        found.append("mixed")
    while not 0 < 1 < x + 2 < 4 > 3:
        x -= 1
    found.append(1 if 0 < 1 < 2 > x else 2)
    found.append((0, 1 if x > 0 > -1 else 2, 3 < 4 < 5, 0 < 1 > 2 or 5))
    assert 1 < 2 > 0 < 3 > -1
    return found, x, [y for y in range(4) if 0 < 1 < y < 3 > 2]
