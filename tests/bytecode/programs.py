"""Programs to lift: (function, argument tuples), one at least for each construct that lifts."""

# ruff: noqa: F401, F541, F821, I001

import math
import operator
from dataclasses import dataclass

CASES = []


def on(*argument_tuples):
    def register(f):
        CASES.append((f, argument_tuples))
        return f

    return register


# -- straight lines --------------------------------------------------------------------------------


@on((3, 4), (2.5, -1), ("a", 2), ("a", "b"))
def binary(a, b):
    return a + a, a * b, [a] * 2


@on((7, 3), (7.5, 2), (7, 0))
def arithmetic(a, b):
    return a - b, a / b, a // b, a % b, a**b, divmod(a, b)


@on((6, 3), (1, 1.5))
def bits(a, b):
    return a & b, a | b, a ^ b, a << b, a >> b


@on((3,), (2.5,), ("x",))
def unary(a):
    return -a, +a, not a


@on((5,))
def invert(a):
    return ~a, not not a


@on((2, 3), ([1], [2]), (1, "x"))
def inplace(a, b):
    c = a
    c += b
    d = 7
    d -= 1
    d *= 2
    d //= 5
    d **= 3
    d %= 5
    d <<= 2
    d >>= 1
    d |= 8
    d &= 15
    d ^= 1
    d /= 3
    return a, c, d


class Mat:
    def __matmul__(self, other):
        return "mat", other

    def __imatmul__(self, other):
        return "imat", other


@on((Mat(), 3), (1, 2))
def matmul(a, b):
    c = a @ b
    a @= b
    return c, a


@on((1, 2), (2, 1), (1.0, 1), ("a", 1))
def compare(a, b):
    return a == b, a != b, a < b, a <= b, a > b, a >= b


@on((None, 1), (1, 1), ([], []))
def identity(a, b):
    return a is None, a is not None, a is b, a is not b


@on((1, [1, 2]), ("x", "y"), (1, 2))
def contains(a, b):
    return a in b, a not in b


@on((1, 2, 3), (3, 2, 1), (1, 3, 2))
def chained(a, b, c):
    if a < b < c:
        return "up"
    x = a > b > c
    return x, 0 < a <= b != c


@on((0, 1), (1, 0), (1, 1), ("", []))
def logic(a, b):
    x = a and b
    y = a or b
    z = (a or b) and not (a and b)
    if a and b or not a:
        return x, y, z, 1
    return x, y, z, 2


@on((0,), (1,))
def ternary(a):
    return (1 if a else 2) + (10 if not a else 20)


@on((5,), (0,))
def walrus(a):
    if (b := a * 2) > 5:
        return b
    return -b, [y := 1, y**2]


@on(([1, 2, 3, 4, 5],), ("hello",), ((),), (3,))
def slices(a):
    return a[1:3], a[:2], a[2:], a[::2], a[-1:0:-1], a[:]


@on(([1, 2, 3, 4, 5],), ((1,),))
def stores(a):
    a[0] = 10
    a[1:3] = [7]
    a[::2] = a[::2]
    del a[-1]
    a[0] += 5
    del a[:1]
    return a


@on(([3, 1, 2],), ("abc",))
def unpacking(a):
    x, y, z = a
    (p, q), r = (x, y), z
    x, y = y, x
    x, y, z = z, x, y
    return x, y, z, p, q, r


@on(([3, 1, 2, 5],), ("a",), ([1, 2],), (5,))
def starred(a):
    x, *y = a
    *z, w = a
    m, *n, o = a
    return x, y, z, w, m, n, o


@on(([1, 2],), (5,))
def unpack_errors(a):
    x, y, z = a
    return x


@on((3,), ([1],))
def nothing(a):
    () = a
    return 1


@on((2, [3, 4], {"k": 1}), (2, 3, {}), (1, [], 5))
def displays(a, b, c):
    return (
        [a, 1],
        (a, 2),
        {a, 3},
        {"a": a, 1: 2},
        {"x": 1, "y": a},
        [a, *b, 1],
        (*b, a),
        {*b, a},
        {**c, "a": a},
        [1, 2, 3],
        [1, 2, 3, *b],
        {1, 2, 3},
        [],
        {},
    )


@on((3.14159, 8), ("x", 5))
def fstrings(a, b):
    return f"{a}", f"{a!r:>{b}}", f"{a!s}|{b!a}", f"{a:>{b + 1}} {b:03d}", f"<{a=}>", f"{{}}"


@on((1.5,), (None,))
def literals(a):
    return 1, 1.0, True, "s", b"b", None, ..., 1j, (1, (2.0,)), a


# -- attributes and calls --------------------------------------------------------------------------


@dataclass
class Point:
    x: float
    y: float = 0.0

    def norm(self, p=2):
        return (abs(self.x) ** p + abs(self.y) ** p) ** (1 / p)


@on((Point(3.0, 4.0),), (3,))
def attributes(p):
    p.z = p.x + p.y
    p.x += 1
    n = p.norm(), p.norm(p=1), p.norm(1)
    del p.z
    p.q = n
    return p.x, n, hasattr(p, "z"), p.q


@on((Point(1.0),))
def no_attribute(p):
    return p.missing


@on((2.0, 3.0), ("a", 1))
def calls(a, b):
    return math.sin(a) + math.pow(a, b), max(a, b, key=abs), round(a, ndigits=1), operator.add(a, b)


def variadic(*args, **kwargs):
    return args, sorted(kwargs.items())


@on(([1, 2], {"a": 3}), ((1,), {}), ([], {1: 2}), (3, {}), ([1], 3))
def star_calls(a, k):
    return (
        variadic(*a),
        variadic(**k),
        variadic(*a, **k),
        variadic(0, *a, 9, *a, z=1, **k),
        variadic(*a, b=2),
        max(*a, 5),
    )


@on(({"z": 1},), ({"y": 1},))
def duplicate_keyword(k):
    return variadic(z=1, **k)


@on((1, 2), (0, 1))
def signature(a, /, b, *rest, c=4, **more):
    return a, b, rest, c, more


@on(("abc",), (3,))
def methods(s):
    return s.upper().replace("A", "b").join(["1", "2"]), (s.lower if s else None)()


# -- control flow ----------------------------------------------------------------------------------


@on((5,), (0,), (-3,))
def branches(a):
    if a > 3:
        x = "big"
    elif a < 0:
        x = "neg"
        return x
    else:
        x = "small"
    y = x
    if a:
        y += "!"
    return x, y


@on((2.0, 5), (3, 0))
def power(x, n):
    r = 1.0
    while n > 0:
        r = r * x
        n = n - 1
    return r


@on((10,), (0,), (3,))
def fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a, b


@on(([1, 2, -1, 4],), ([1, 2],), ([],), (3,))
def for_else(xs):
    out = []
    for x in xs:
        if x < 0:
            break
        if x == 1:
            continue
        out.append(x)
    else:
        return "whole", out
    return "broken", x, out


@on((20,), (1,), (0,))
def while_else(n):
    k = 0
    while n:
        n -= 1
        if n % 3 == 0:
            continue
        k += n
        if k > 50:
            break
    else:
        k = -k
    return n, k


@on((4,), (0,))
def nested_loops(n):
    out = []
    for i in range(n):
        for j in range(i):
            if (i + j) % 3 == 0:
                break
            for k in range(j):
                if k == 2:
                    return out, "early"
                out.append((i, j, k))
        else:
            out.append(i)
        while i > 2:
            i -= 1
            if i == 2:
                continue
    return out


@on((3,), (0,))
def forever(n):
    while True:
        n += 1
        if n > 5:
            return n


@on(({"a": 1, "b": 2},))
def items(d):
    total = 0
    for key, value in d.items():
        total += value * len(key)
    for key in d:
        total += d[key]
    return total


@on(([[1, 2], [3]], [4, 5]))
def for_in_ternary(a, b):
    out = []
    for x in a if a else b:
        for y in x:
            out += [y if y > 1 else -y]
    return out


@on((1,), (0,), ("",))
def asserts(a):
    assert a
    assert a != 1, f"is {a}"
    return a


@on((1,), (0,))
def raises(a):
    if a:
        raise ValueError("one", a)
    raise KeyError


@on((1,), (0,))
def raises_from(a):
    cause = OSError("c") if a else None
    raise ValueError from cause


@on((0,), (1,))
def unbound(c):
    if c:
        v = 1
    return v


@on(([],), ([1, 2],))
def unbound_after_loop(xs):
    for x in xs:
        last = x
    return x, last


@on((1,), (0,))
def deleted(a):
    b = a
    del a
    if b:
        return b
    return a


@on(([1, 2, 3],), ([],))
def deleted_in_loop(xs):
    v = 0
    for x in xs:
        v = v + x
        if x == 2:
            del v
    return v


@on((5,))
def delete_unbound(a):
    del b
    b = 1


# -- comprehensions and closures -------------------------------------------------------------------


@on((range(5), 2), ([], 1), (3, 1))
def comprehensions(xs, k):
    x = "kept"
    a = [x * k for x in xs if x % 2]
    b = {x: x * k for x in xs}
    c = {x // 2 for x in xs}
    d = [(x, y) for x in xs for y in range(x) if y]
    e = [[x + y for y in xs] for x in xs]
    return a, b, c, d, e, x


@on((range(4),))
def generator_expressions(xs):
    return sum(x * x for x in xs), list(x for x in xs if x), any(x > 2 for x in xs)


@on(([3, 4],))
def cells_in_comprehension(xs):
    fs = [lambda: x * len(xs) for x in xs]
    return [f() for f in fs]


@on(([3, 4],), (3,))
def comprehension_in_loop(xs):
    out = []
    for x in xs:
        out.append([x for x in range(x)])
        out.append(x)
    return out


@on((3,))
def closures(a):
    def add(b, *, c=a, d: int = 2) -> int:
        return a + b + c + d

    double = lambda v=a: v * 2
    a = 10
    return add(1), add(1, c=0), double(), add.__annotations__, add.__kwdefaults__, add.__qualname__


@on((3,))
def counters(n):
    count = 0

    def step():
        nonlocal count
        count += n
        return count

    return step(), step(), count


@on((1,), (0,))
def empty_cell(a):
    if a:
        b = 1

    def inner():
        return b

    return inner()


@on((1,), (0,))
def empty_own_cell(a):
    if a:
        b = 1
    inner = lambda: b
    return b


@on((2,))
def deleted_cell(a):
    f = lambda: a
    del a
    return f()


def adder(n):
    def add(x):
        return x + n

    return add


CASES.append((adder(5), ((1,), ("x",))))


def _bare():
    if False:
        n = 1

    def read(x):
        return n

    return read


CASES.append((_bare(), ((1,),)))


@on((4,))
def recursion(n):
    def fact(k):
        return 1 if k < 2 else k * fact(k - 1)

    return fact(n)


@on((2,))
def local_class(a):
    class Local(Point):
        scale = a

        def get(self):
            return super().norm() * self.scale

    return Local(3.0, 4.0).get()


# -- names -----------------------------------------------------------------------------------------

state = 0


@on((3,), (4,))
def global_names(a):
    global state, fresh
    state = a
    state += 1
    fresh = 5
    del fresh
    return state, len, nowhere


@on(())
def delete_missing_global():
    global missing_name
    del missing_name


@on((1.0,))
def imports(a):
    import os.path as p
    import xml.dom
    from math import cos, sin as sine

    return p.join("a", "b"), xml.dom.__name__, cos(a), sine(a)


@on(())
def import_fails():
    from math import nothing_of_the_kind


@on(())
def import_missing():
    import no_such_module_anywhere


class Base:
    tag = "base"

    def m(self, *a):
        return "base", a

    @classmethod
    def c(cls):
        return cls.__name__

    def __init_subclass__(cls):
        cls.registered = True


class Derived(Base):
    tag = "derived"

    @on((None, 2))
    def no_super(self, a):
        return a

    def m(self, *a):
        s = super()
        return super().m(*a), super().m(1), super().tag, s.tag, super(Derived, self).m(), super().c()

    def captured(self):
        f = lambda: self.tag
        return super().tag, f(), __class__.__name__

    def wrong(self):
        return super().nothing


for _f in (Derived.m, Derived.captured, Derived.wrong):
    CASES.append((_f, ((Derived(),), (3,))))


# -- match -----------------------------------------------------------------------------------------


@on(
    (1,),
    ("a",),
    ((1, 2),),
    ([1, 2, 3],),
    ({"k": 1, "z": 2},),
    ({"k": 1},),
    (Point(1, 2),),
    (Point(0.0, 5),),
    (2.5,),
)
def matching(x):
    match x:
        case 1 | 2:
            return "small"
        case str() as s:
            return "str", s
        case (1, a):
            return "pair", a
        case [a, *rest] if a == 1:
            return "seq", a, rest
        case {"k": v, **others} if others:
            return "map", v, others
        case {"k": v}:
            return "key", v
        case Point(x=0.0, y=y):
            return "axis", y
        case Point(a, b):
            return "point", a, b
        case float(f):
            return f
    return "none"


@on((3,), ("x",))
def match_errors(x):
    match x:
        case int(a, b):
            return a
        case str(real=1):
            return 1
    return 2
