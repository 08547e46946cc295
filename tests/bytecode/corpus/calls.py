"""Calls, displays, unpacking, parameters, lambdas, f-strings, signatures."""

# ruff: noqa: E401, F401, F541, F631, F811, F821, F842, I001

import functools
import inspect
import math

from observe import Life, log, program


def show(*args, **kwargs):
    return args, kwargs


@program(([1, 2], {"a": 3}), ((), {}), (5, {}), ([1], 5), ([], {"z": 0}), ([], {1: 2}))
def stars(a, k):
    return (
        show(*a),
        show(**k),
        show(*a, **k),
        show(0, *a, 9, *a, z=1, **k),
        show(*a, b=2, **{"c": 4}, **k),
        show(*(), *[], **{}),
        show(show(**k), **k),
        show([show(show(**k), **k), *a], **k),
        max(*a, 5, 6),
        show(*[x for x in a], *(y for y in a), **{str(x): x for x in a}),
    )


@program()
def star_failures():
    def f(a, b=1, /, c=2, *, d, e=3):
        return a, b, c, d, e

    for call in (
        lambda: f(),
        lambda: f(1),
        lambda: f(1, 2, 3, 4, d=1),
        lambda: f(a=1, d=2),
        lambda: f(1, d=2, g=3),
        lambda: f(1, **{"d": 1}, **{"d": 2}),
        lambda: f(1, c=1, **{"c": 1}),
        lambda: f(*5),
        lambda: f(**5),
        lambda: f(1, 2, c=3, d=4),
        lambda: show(**{"a": 1}, a=2),
        lambda: (5)(1),
        lambda: show.missing(1),
        lambda: None(*(), **{}),
    ):
        try:
            log(call())
        except Exception as e:
            log(str(e))


@program()
def order_of_evaluation():
    log("f", show)(log("a"), *log("b", [1]), log("c"), k=log("d"), **log("e", {"m": 1}), n=log("g"))
    {log("k1"): log("v1"), **log("m", {}), log("k2"): log("v2")}
    [log("x"), *log("y", []), log("z")]
    log("target", {})[log("index")] = log("value")
    log("o", show).x = log("w")
    a = log("first"), log("second")
    d = {}
    d[log("i")] = d[log("j")] = log("shared")
    d["u"] = "?"
    log("t", d)[log("u")] += log("more", "!") if log("u2", "u") in d else log("less", "?")
    del log("gone", d)[log("i")]
    return a, d, show.x


@program()
def augmented_order():
    d = {"u": 1}

    def key(k):
        log("key", k)
        return k

    d[key("u")] += log("value", 2)
    log("box", show).count = 1
    log("box", show).count += log("value", 2)
    x = [1, 2, 3]
    y = x
    y += log("more", (4,))
    y[key(0) : key(2)] += log("slice", [9])
    y[key(0)] -= 1
    return d, show.count, x, y is x


@program((1,), (1, 2, 3), (1, 2, 3, 4, 5))
def parameters(a, b=[], *args, c=None, **more):
    def f(p, /, q, *, r, s=1):
        return p, q, r, s

    def g(*, only): return only

    def h(x, /, **x_too): return x, x_too

    return (a, b, args, c, more), f(1, q=2, r=3), g(only=1), h(1, x=2), str(inspect.signature(f))


@program()
def defaults():
    n = 1

    def f(a=n, b=[n], *, c=n + 1):
        b.append(a)
        return a, b, c

    n = 10
    fs = [lambda x=i, *, y=i * 2: (x, y) for i in range(2)]
    g = lambda *a, **k: (a, k)
    h = lambda: (yield)
    f.__defaults__ = (5, [6])
    return f(), f(1), f.__kwdefaults__, [k() for k in fs], g(1, z=2), (lambda: 1)(), list(h())


@program()
def displays():
    a, b = [1, 2], {"x": 1}
    return (
        [1, 2, 3], (1, 2, 3), {1, 2, 3}, {"a": 1, "b": 2}, [], (), {}, [*a], (*a,), {*a}, {**b}, [*a, 3, *a],
        (0, *a), {0, *a, 5}, {**b, "y": 2, **b}, {"x": 0, **b}, [[], [[]], ()], *a, {1: {2: {3: 4}}},
        [1, 2, 3, 4, 5, *a, 6, 7, 8], {"a": a, "b": b, **{}}, (1, (2, (3, a))), -1, 2**10, "a" "b", b"x" b"y",
    )  # fmt: skip


@program((5,), (None,), ([[]],))
def display_failures(x):
    for f in (lambda: [*x], lambda: {*x}, lambda: {**x}, lambda: (*x,), lambda: {x: 1}, lambda: {1, x}):
        try:
            log(f())
        except TypeError as e:
            log(str(e))


@program(([1, 2, 3],), ("ab",), ((),), (5,), ({"p": 1, "q": 2, "r": 3},), (range(6),))
def unpacking(xs):
    try:
        a, b, c = xs
        log(a, b, c)
    except Exception as e:
        log(str(e))
    first, *rest = xs
    *most, last = xs
    f, *middle, e = xs
    (p, *q), (r, s) = (xs, "rs")
    [t] = [u, *v] = [xs]
    () = []
    x = y = z = rest
    m, (n, [o, *_]), *w = 1, (2, xs), 3
    return first, rest, most, last, middle, p, q, r, s, t, u, v, x is z, m, n, o, w


@program()
def unpacking_targets():
    class Box:
        pass

    box, d = Box(), {}
    box.a, d["k"], (box.b, *d["rest"]) = 1, 2, (3, 4, 5)
    i, xs = 0, [0, 0]
    i, xs[i] = 1, "stored"
    for box.c, d["n"] in [(1, 2), (3, 4)]:
        pass
    for k, (m, *n) in enumerate([(1, 2), (3, 4, 5)]):
        log(k, m, n)
    a, b = b, a = 1, 2
    a, b, c = c, a, b = 3, 1, 2
    a, a = 5, 6
    return box.a, box.b, box.c, d, i, xs, a, b, c


@program()
def iterators_of_unpacking():
    class It:
        def __init__(self, n):
            self.n, self.life = n, Life(f"iterator {n}")

        def __iter__(self):
            return self

        def __next__(self):
            if log("next", self.n) == 0:
                raise StopIteration
            self.n -= 1
            return self.n

    a, b = It(2)
    log("unpacked")
    try:
        c, d = It(3)
    except ValueError as e:
        log(str(e))
    e, *f = It(3)
    return a, b, e, f


@program((3.14159, 8), ("x", 5), (None, 4))
def fstrings(a, b):
    c = {"k": "v"}
    return (
        f"{a}", f"{a!r:>{b}}", f"{a!s}|{b!a}", f"{b:>{b + 1}} {b:03d}", f"<{a=}>", f"{{}}",
        f"{a}{b}" f"{c['k']}",
        f"{f'{b!r}'}", f"{b + 1 = }", f"{b:{'>'}{b}.{1}f}", f"",
        f"{'a' if a else 'b'}", f"{(lambda x: x * 2)(b)}", f"{[x for x in 'ab']}", rf"\{a}", f"{a,}",
        f"{c!r:^{len('abcde') * b}}", f"{b, }" + "%s and %r" % (a, b), "%d%%" % b, f"{(y := b)}{y}",
    ) if True else None  # fmt: skip


@program((1,), ("s",), ([],))
def fstring_failures(x):
    class Bad:
        def __format__(self, spec):
            log("spec", spec)
            return 5

        def __str__(self):
            return log("str", 6)

        __repr__ = None

    for f in (lambda: f"{x:d}", lambda: f"{x:{x}}", lambda: f"{x:zz}", lambda: f"{Bad():a{x}b}",
        lambda: f"{Bad()!s}"):
        try:
            log(f())
        except Exception as e:
            log(type(e))
    return (
        f"{x}"
        f"{x.missing:>{3}}"
    )


@program()
def methods():
    s = " ab "
    add = [].append
    d = dict(a=1)
    return (
        s.strip().upper().center(8, "*"), add(1), d.get("b", 2), d.setdefault("c", []).append(1), d,
        "{}-{x}".format(1, x=2), str.join(",", "ab"), math.floor(2.5), (1).bit_length(),
        "".join(map(str, range(3))),
        functools.partial(show, 1, k=2)(3, m=4), functools.reduce(lambda p, q: p * q, range(1, 5)),
    )  # fmt: skip


@program()
def many_arguments():
    args = list(range(300))
    f = lambda *a, **k: (len(a), len(k))
    return (
        f(*args),
        f(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
        27, 28,
          29, 30, 31, 32, a=1, b=2, c=3, d=4, e=5, f=6, g=7, h=8, i=9, j=10, k=11, l=12, m=13, n=14, o=15,
          p=16),
        f(**{f"k{i}": i for i in range(40)}),
    )  # fmt: skip


@program()
def closures():
    def counter(start=0):
        n = start

        def up(by=1):
            nonlocal n
            n += by
            return n

        def down():
            nonlocal n
            n -= 1
            return lambda: n

        return up, down

    up, down = counter(5)
    up(), up(3)
    return up(), down()(), up.__closure__[
        0].cell_contents, up.__code__.co_freevars, counter.__code__.co_cellvars


@program()
def parameters_that_are_cells():
    def f(a, b=1, *c, d=2, **e):
        g = lambda: (a, b, c, d, e)
        a = "changed"
        del b
        c += (9,)
        try:
            g()
        except NameError as error:
            log(str(error))
        b = "again"
        return g(), sorted(locals())

    return f(1, 2, 3, d=4, x=5)


@program()
def what_inspect_sees():
    def f(a, /, b: int, *c, d=1, **e) -> str:
        """Said."""
        return c

    async def g(): ...

    def h():
        yield

    async def i():
        yield

    def j():
        "doc" "string"

    def k():
        f"not {1}"

    return (
        str(inspect.signature(f)), f.__doc__, f.__name__, f.__qualname__, f.__annotations__, f.__module__,
        [inspect.iscoroutinefunction(x) for x in (f, g, h, i)],
        [inspect.isgeneratorfunction(x) for x in (f, g, h, i)],
        inspect.isasyncgenfunction(i), j.__doc__, k.__doc__, inspect.getclosurevars(f).unbound,
    )  # fmt: skip
