"""match: every kind of pattern, guards, what captures leave behind."""

# ruff: noqa: E401, F401, F541, F631, F811, F821, F842, I001

from dataclasses import dataclass

from observe import log, program


@dataclass
class Point:
    x: int
    y: int = 0


class Shape:
    __match_args__ = ("kind",)

    def __init__(self, kind):
        self.kind = kind


ANY = [
    (x,)
    for x in (
        0, 1, -1, 2.5, 1j, -2 - 3j, "a", "abc", b"b", None, True, False, [], [1], [1, 2], (1, 2, 3),
        [1, [2, [3]]],
        {}, {"k": 1}, {"k": 1, "m": 2}, {"k": {"n": [1, 2]}}, Point(1, 2), Point(0), Shape("round"), object,
        {1, 2},
        range(3), [Point(1, 1), {"k": Point(2, 3)}], bytearray(b"x"),
    )
]


@program(*ANY)
def kinds(x):
    match x:
        case 0 | 1 as small:
            return "literal", small
        case -1 | 2.5 | 1j | -2 - 3j:
            return "number"
        case "a" | b"b":
            return "text"
        case None | True | False:
            return "singleton"
        case []:
            return "empty"
        case [a]:
            return "one", a
        case [1, [b, [c]]]:
            return "nested", b, c
        case [Point(x=p), {"k": Point(q, r)}]:
            return "deep", p, q, r
        case (a, b):
            return "two", a, b
        case [first, *_, last]:
            return "ends", first, last
        case {"k": {"n": [*n]}}:
            return "inner", n
        case {"k": k, **rest} if rest:
            return "rest", k, rest
        case {"k": k}:
            return "key", k
        case {}:
            return "mapping"
        case Point(x=0):
            return "at the edge"
        case Point(a, b):
            return "point", a, b
        case Shape("round"):
            return "round"
        case str(s) | bytes(s):
            return "string", s
        case set():
            return "set"
        case other:
            return "other", other


@program((5,), ([1, 2],), ({"a": 1},), (Point(3, 4),))
def captures(x):
    match x:
        case [a, b] if log("guard", a) and False:
            pass
        case {"a": c} if c > 1:
            pass
        case Point(x=d, y=e) if d > e:
            pass
        case f if False:
            pass
    return sorted((k, v) for k, v in locals().items() if k != "x")


@program()
def values():
    class Names:
        ONE = 1
        TEXT = "text"

    out = []
    for x in (1, 1.0, True, "text", 2):
        match x:
            case Names.ONE:
                out.append("one")
            case Names.TEXT:
                out.append("text")
            case _:
                out.append("none")
    return out


@program()
def several_subjects():
    out = []
    for a, b in ((1, 2), (2, 1), (0, 0)):
        match a, b:
            case 1, x:
                out.append(x)
            case x, 1:
                out.append(-x)
            case x, y if x == y:
                out.append("equal")
    match (5, 6), 7:
        case (a, b), c:
            out.append((a, b, c))
    match [*range(4)]:
        case [1, *rest] | [0, *rest]:
            out.append(rest)
    return out


@program()
def order_of_looks():
    class Odd:
        def __eq__(self, other):
            log("eq", other)
            return other == 3

        def __getattr__(self, name):
            log("getattr", name)
            raise AttributeError(name)

    class Map(dict):
        def get(self, key, default=None):
            log("get", key)
            return super().get(key, default)

        def __len__(self):
            log("len")
            return super().__len__()

    match Odd():
        case 1 | 2:
            log("no")
        case Odd(missing=1):
            log("no")
        case 3:
            log("three")
    match Map(a=1, b=2):
        case {"c": _}:
            log("no")
        case {"a": 1, "b": b, **rest}:
            log(b, rest)


@program((0,), (1,), (2,), (3,))
def failures(k):
    class Bad:
        __match_args__ = ("a", "a") if k == 0 else 5 if k == 1 else ("a",)
        a = 1

    match Bad() if k < 3 else {"x": 1}:
        case Bad(1, 2) if k == 2:
            return "never"
        case Bad(p, q):
            return p, q
        case {"x": 1, **m}:
            match m:
                case int(x, y):
                    return x, y
                case dict(real=5) | dict():
                    return 1 / 0


@program()
def in_loops():
    out = []
    for x in range(6):
        match x:
            case 1:
                continue
            case 4:
                break
            case n if n % 2:
                out.append(("odd", n))
            case _:
                out.append(x)
    else:
        out.append("never")
    while True:
        match out:
            case [_, *out]:
                pass
            case []:
                return x, n


@program()
def into_globals_and_cells():
    global captured_globally
    match [1, 2]:
        case [captured_globally, cell]:
            pass
    f = lambda: cell
    match 5:
        case cell:
            pass
    return captured_globally, f()


@program(("go", 5), ("stop", None), ("go", "far"), (1, 2))
def one_statement_after_another(a, b):
    match a:
        case "go":
            r = 1
        case "stop":
            r = 2
    match b:
        case None:
            r += 10
        case int() as r:
            pass
    return r


# -- constants on lines of their own ---------------------------------------------------------------


@program((0, 0))
def constant_that_is_matched(a, b):
    match 0:
        case [a, *_]:
            pass
        case a:
            pass
    return a


@program((2, 0), (0, 0), (5, 0))
def constants_that_are_compared(a, b):
    return (1
            < a
            < 3)  # fmt: skip


@program((0, 0))
def constant_that_is_assigned_twice(a, b):
    x = y = \
        5
    return x, y


@program((1, 0), (0, 0))
def constants_that_are_arguments(a, b):
    return max(
        1,
        (a if b
         else 3),
        2,
        *(
            7,
        ),
        key=
        None,
    )  # fmt: skip


@program((1, 2))
def constants_in_displays(a, b):
    return [
        1,
        2,
        3,
    ], {
        "x":
        1,
        a: 2,
        **{
            "y":
            3,
        },
    }, a[
        1
        :
        b
    ] if a is None else f"{a!r:>10}"  # fmt: skip


@program((0, 0))
def constant_that_is_matched_and_named(a, b):
    match (a := 0):
        case [a, *_]:
            pass
        case a:
            pass
    return a


@program((1, 0), (5, 0))
def constants_below_others(a, b):
    return log(1, a,
               b), [2, *(3, b,
                         a)], 1 if 0 < a < \
        4 else (x := 7,
                8)  # fmt: skip
