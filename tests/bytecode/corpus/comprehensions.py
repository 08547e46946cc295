"""Comprehensions: scopes, nesting, captured variables, where they are inlined and where not."""

# ruff: noqa: E401, F401, F541, F631, F811, F821, F842, I001

import sys

from observe import Life, log, program


@program((4,), (0,))
def all_kinds(n):
    a = [i * i for i in range(n)]
    b = {i % 3 for i in range(n) if i}
    c = {i: str(i) for i in range(n) if i if i % 2}
    d = tuple(i for i in range(n))
    return a, b, c, d


@program((3,))
def nested(n):
    a = [[i * j for j in range(i)] for i in range(n)]
    b = [(i, j) for i in range(n) for j in range(i) if (i + j) % 2]
    c = {i: {j: [k for k in range(j)] for j in range(i)} for i in range(n)}
    d = [x for row in [y for y in a if y] for x in row]
    e = [[(i, j) for i in range(2)] for j in range(2) for _ in [i for i in range(1)]]
    return a, b, c, d, e


@program()
def variables_do_not_leak():
    x, y = "x", "y"
    a = [x for x in range(3)]
    b = [(x, y) for y in range(2)]
    c = [z for z in range(2)]
    log(x, y, a, b, sorted(locals()))
    return z


@program()
def unbound_stays_unbound():
    [later for later in range(2)]
    try:
        later
    except UnboundLocalError as e:
        log(str(e))
    later = 1
    del later
    [later for later in range(2)]
    return later


@program()
def captured():
    late = [lambda: i for i in range(3)]
    early = [lambda i=i: i for i in range(3)]
    deep = [[lambda: (i, j) for j in range(2)] for i in range(2)]
    i = "outer"
    reads = [lambda k=k: (k, i) for k in range(2)]
    i = "changed"
    both = [(lambda: i, i) for i in range(2)]
    return (
        [f() for f in late],
        [f() for f in early],
        [[f() for f in r] for r in deep],
        [f() for f in reads],
        [(f(), v) for f, v in both],
        i,
        reads[0].__qualname__,
    )


@program()
def walrus():
    total = 0
    a = [total := total + x for x in range(4)]
    b = [y for x in range(4) if (y := x * x) > 1]
    if any((found := x) > 2 for x in range(5)):
        log(found)
    c = [[w := (i, j) for i in range(2)] for j in range(2)]
    return a, b, total, y, w, c


@program()
def walrus_in_cells():
    def inner():
        nonlocal seen
        [seen := x for x in range(3)]
        return lambda: seen

    seen = None
    f = inner()
    log(seen, f())
    seen = "after"
    return f()


@program()
def in_class_bodies():
    class C:
        n = 3
        xs = [1, 2]
        squares = [x * x for x in xs]
        pairs = [(x, y) for x in xs for y in range(x)]
        names = sorted(k for k in vars() if not k.startswith("__"))
        fs = [lambda: x for x in xs]
        x = "kept"
        z = [x for x in xs]
        try:
            bad = [n for _ in xs]
        except NameError as e:
            error = str(e)

    return C.squares, C.pairs, C.names, [f() for f in C.fs], C.x, C.z, getattr(C, "error",
        C.__dict__.get("bad"))


@program(([1, 0, 2],), ([1],), (5,), ([None],))
def failures(xs):
    try:
        return [
            1 / x
            for x in xs
        ]
    finally:
        log("x" in locals())


@program()
def failure_restores_the_outer_variable():
    x = "outer"
    try:
        [1 / x for x in (1, 0)]
    except ZeroDivisionError:
        log(x)
    try:
        [[y / x for y in (1, 2)] for x in (1, 0)]
    except ZeroDivisionError:
        return x


@program()
def locals_within():
    a = 1
    b = [sorted(k for k in locals()) for c in range(1)]
    d = [sorted(locals()) for c in range(1)]
    e = [c for c in range(1) if not sorted(locals()) and c]
    return b, d, e


@program()
def frames():
    here = sys._getframe()
    depths = [(sys._getframe() is here, sys._getframe().f_code.co_name) for _ in range(1)]
    lazily = list((sys._getframe().f_back is here, sys._getframe().f_code.co_name) for _ in range(1))
    return depths, lazily


@program()
def evaluation_order():
    {log("key"): log("value") for _ in range(2)}
    [log("element") for _ in log("iterable", "ab") if log("condition", True)]
    g = (log("element") for _ in log("at once", "ab"))
    log("made")
    return list(g)


@program()
def conditions():
    return (
        [x if x else "zero" for x in range(3)],
        [x for x in range(9) if x > 2 and x % 2 or x == 0],
        [y for x in range(3) for y in (x, x) if not (x == 1) if y is not None],
        [x for x in range(9) if 2 < x < 5],
        [a and b or c for a in (0, 1) for b in (0, 2) for c in (0, 3)],
    )


@program()
def targets():
    class Slot:
        pass

    s, box = Slot(), [None]
    return (
        [a + b for a, b in [(1, 2)]],
        [(a, r) for a, *r in ["abc"]],
        [s.x for s.x in range(2)],
        [box[0] for box[0] in "ab"],
        [(i, x) for i, (x, y) in enumerate([(1, 2)])],
        s.x,
        box,
    )


@program()
def displays_with_stars():
    xs = [1, 2]
    return [*[x for x in xs], *(x for x in xs)], {**{x: x for x in xs}}, log(*[x for x in xs],
        *{x for x in xs})


@program()
def lifetimes():
    def make(k):
        return Life(k)

    [x.name for x in [make(1), make(2)]]
    log("after the first")
    x = make("outer")
    [x.name for x in [make(3)]]
    log("after the second")
    y = [z for z in [make(4), make(5)] if z.name == 5]
    log("after the third")
    del x
    return len(y)


@program((3,))
def in_arguments_and_defaults(n):
    def f(a=[i for i in range(n)], *, k={i for i in range(n)}):
        return a, k, sum(i for i in a)

    return f(), (lambda q=[i for i in "ab"]: q)()


@program()
def many_at_once():
    i, j, k = "i", "j", "k"
    out = [[(i, j, k) for k in range(2)] for j in range(2)], [i for i in "x"], [(j, k) for j in "y"
        for k in "z"]
    return out, i, j, k


@program()
def of_a_cell_that_is_deleted():
    x = 1
    f = lambda: x
    del x
    a = [x for x in range(2)]
    return a, f()
