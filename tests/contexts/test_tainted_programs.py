"""Ordinary programs do under TaintContext what they do without, whatever has labels."""

import bisect
import collections
import contextlib
import copy
import csv
import dataclasses
import datetime
import enum
import fractions
import functools
import hashlib
import heapq
import io
import itertools
import json
import math
import operator
import random
import re
import statistics
import string
import struct
import textwrap
import types
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ctxdispatch import overdub
from ctxdispatch.contexts import TaintContext
from ctxdispatch.dispatch.tags import Tagged

Pair = collections.namedtuple("Pair", "first second")


class Color(enum.Enum):
    RED, BLUE = 1, 2


@dataclasses.dataclass(order=True)
class Item:
    name: str
    price: float = 1.0
    tags: list = dataclasses.field(default_factory=list)


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return type(other) is Slotted and self.value == other.value


class Celsius(float):
    def __init__(self, value):
        self.text = str(value)


class Wrong(Exception):
    def __init__(self, what, code):
        super().__init__(what)
        self.code = code


class Bare(Exception):
    def __init__(self, what):
        self.what = what


class Counted(dict):
    def __missing__(self, key):
        return key * 2


class Bag(collections.UserDict):
    pass


class Chain:
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        yield from self.items

    def __len__(self):
        return len(self.items)

    def __contains__(self, item):
        return item in self.items

    def __getitem__(self, index):
        return self.items[index]

    def __reversed__(self):
        return iter(self.items[::-1])

    @property
    def first(self):
        return self.items[0]


def caught(f, *args):
    try:
        return f(*args)
    except Exception as error:
        return type(error), str(error), repr(error), error.args


def unpacked(xs):
    a, *b, (c, d) = xs
    return d, c, b, a


def swapped(xs):
    xs[0], xs[-1] = xs[-1], xs[0]
    del xs[1]
    xs += [9]
    xs *= 2
    return xs


def matched(value):
    match value:
        case {"kind": "circle", "r": r}:
            return r * 2
        case [x, *rest]:
            return x, rest
        case int() | float():
            return "number"
        case str() as text:
            return text
    return None


def generated(n):
    def go():
        got = 0
        while got < n:
            got += (yield got) or 1
        return "done"

    g = go()
    out = [next(g), g.send(2), *g]
    return out, caught(next, g)


def delegated(xs):
    def inner():
        yield from xs
        return len(xs)

    def outer():
        n = yield from inner()
        yield n

    return [*outer()]


def with_manager(x):
    @contextlib.contextmanager
    def opened(value):
        log.append(("in", value))
        try:
            yield value * 2
        finally:
            log.append("out")

    log = []
    with opened(x) as y, contextlib.suppress(ZeroDivisionError):
        log.append(y // 0)
    return log


def grouped(xs):
    return {k: [*g] for k, g in itertools.groupby(sorted(xs), key=lambda v: v % 2)}


def merged(a, b):
    c = {**a, **b}
    c.update(z=1)
    c |= {"w": 2}
    popped = c.pop("z"), c.pop("none", None), c.setdefault("q", [])
    return c, popped, [*c.items()], c.keys() & b.keys(), c == a


def raising(kind, *args):
    raise kind(*args)


def chained(x):
    try:
        try:
            int(x)
        except ValueError as error:
            raise KeyError(x) from error
    except KeyError as error:
        return str(error), str(error.__cause__), error.args, type(error.__cause__)


def shuffled(xs, seed):
    random.Random(seed).shuffle(xs)
    return xs, random.Random(seed).sample(xs, 2), random.Random(seed).choice(xs)


def closed(x):
    def bump():
        nonlocal x
        x += 1
        return x

    return bump(), bump(), x


def namespace(x):
    y = 2
    return eval("y + 1"), eval(x), eval(x, {"a": 5}), eval("z", {}, {"z": 3}), eval(x + "+y")


def executed(x):
    space = {}
    exec(x, space)
    exec("b = a + 1", space)
    return space["a"], space["b"]


def cached(x):
    @functools.lru_cache
    def f(n):
        return n * 2

    return f(x), f(x), f.cache_info().hits


def dispatched(x):
    @functools.singledispatch
    def f(v):
        return "other"

    f.register(int, lambda v: "int")
    f.register(str, lambda v: "str")
    return f(x), f([x])


def filled(a, x):
    a[0] = x
    a[1:] += 1
    b = a.reshape(-1)[::-1]
    b[...] = b * 2
    return a, b.copy()


def by_memory(x):
    a, raw = np.zeros(3), bytearray(4)
    m = memoryview(raw)
    memoryview(a)[0] = x
    m[1] = 7
    out = m[1], bytes(m), m.tolist()
    m.release()
    m.release()
    return a, raw, out


def iterated(x):
    a = np.zeros(3)
    for e in np.nditer(a, op_flags=["readwrite"]):
        e[...] = x
    with np.nditer([a, None]) as it:
        for e, out in it:
            out[...] = e * 2
        return a, it.operands[1]


def growing(xs):
    seen = []
    for v in xs:
        if len(xs) < 4:
            xs.append(v + 1)
        seen.append(v)
    for i, v in enumerate(xs):
        if i < 2:
            xs.append(v)
    xs.extend(xs)
    return seen, xs


def grouped_errors(x):
    out = []
    try:
        raise ExceptionGroup("g", [ValueError(x), TypeError(x)])
    except* ValueError as group:
        out.append(group.exceptions[0].args)
    except* TypeError as group:
        out.append(str(group.exceptions[0]))
    return out


def in_a_thread(x):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(operator.mul, x, 2).result(), [*pool.map(str, [x])]


def keywords(**names):
    return names


def options(a, /, b=1, *c, d=2, **e):
    return a, b, c, d, e


PROGRAMS = {
    # containers
    "unpack": (unpacked, [1, 2, 3, (4, 5)]),
    "swap": (swapped, [1, 2, 3]),
    "unpack too few": (unpacked, [1]),
    "unpack number": (unpacked, 3),
    "merge": (merged, {"a": 1}, {"b": 2}),
    "group": (grouped, [3, 1, 2]),
    "slices": (lambda x: (x[1:], x[::-1], x[-1], x[:0]), [1, 2, 3]),
    "list methods": (lambda x: (x.index(2), x.count(1), x.copy(), x + [1], [1] + x, x * 2), [1, 2]),
    "list changes": (
        lambda x, y: (x.append(y), x.insert(0, y), x.remove(1), x.sort(), x.reverse(), x),
        [1, 3],
        2,
    ),
    "pops": (lambda x: (x.pop(), x.pop(0), x), [1, 2, 3]),
    "pop empty": (lambda x: x[:0].pop(), [1]),
    "sets": (lambda x: (x & {1}, x | {9}, x - {1}, x ^ {2}, 1 in x, len(x), x <= {1, 2}), {1, 2}),
    "set from": (lambda x, y: ({x, y}, {x: y}, frozenset([x, y]), {v for v in (x, y)}), 1, 2),
    "reversed range": (lambda x: [*reversed(range(x))], 4),
    "reversed": (lambda x: ([*reversed(x)], [*reversed(dict.fromkeys(x))]), [1, 2]),
    "reversed kinds": (lambda x: ([*reversed(Chain(x))], [*reversed(collections.deque(x))]), [1, 2]),
    "reversed set": (lambda x: reversed({x}), 1),
    "reversed array": (lambda x: [*reversed(x)], np.arange(3.0)),
    "reversed text": (lambda x: "".join(reversed(x)), "abc"),
    "range": (lambda x: (range(x)[1:], range(0, x, 2), len(range(x)), 1 in range(x), range(x).index(1)), 4),
    "deque": (
        lambda x: (lambda d: (d.appendleft(0), d.rotate(1), d.pop(), d))(collections.deque(x, maxlen=3)),
        [1, 2],
    ),
    "deque of": (lambda x: collections.deque([1, 2, 3], x), 2),
    "counter": (lambda x: collections.Counter(x).most_common(1), "abca"),
    "defaultdict": (lambda x: (lambda d: (d[x].append(x), d[1], d))(collections.defaultdict(list)), "k"),
    "ordered": (
        lambda x: (lambda d: (d.move_to_end(x), [*d]))(collections.OrderedDict([(x, 1), ("b", 2)])),
        "a",
    ),
    "chain map": (lambda x: dict(collections.ChainMap(x, {"b": 2})), {"a": 1}),
    "user dict": (lambda x: (Bag(x).data, Bag(a=1), {**Bag(x)}, dict(Bag(x)), keywords(**Bag(x))), {"k": 1}),
    "missing": (lambda x: (Counted(a=1)[x], Counted({x: 1})), 3),
    "namedtuple": (
        lambda x: (Pair(x, 1), Pair(x, 1)._replace(first=2), Pair(x, 2)._asdict(), Pair(*[x, x])),
        1,
    ),
    "views": (
        lambda x: (sum(x.values()), sorted(x.items()), ",".join(x.keys()), max(x.values())),
        {"a": 1, "b": 2},
    ),
    "views of": (
        lambda x: (sum({"a": x}.values()), json.dumps([*{"a": x}.items()]), len({1: x}.values())),
        3,
    ),
    "comprehensions": (
        lambda x: ([i * j for i in x for j in x if i < j], {k: v for k, v in enumerate(x)}),
        [1, 2],
    ),
    "nested lists": (lambda x: (x[0][0], [*map(list, zip(*x))], copy.deepcopy(x) == x), [[1, 2], [3, 4]]),
    "compare": (lambda x, y: (x < y, x == y, [x] < [y], (x, 1) > (y, 2), x != y, min([x], [y])), 1, 2),
    "index error": (lambda x: [1, 2][x], 5),
    "key error": (lambda x: {"a": 1}[x], "b"),
    "type error": (lambda x: [1][x], "a"),
    "unhashable": (lambda x: {x: 1}, [1]),
    "slice assign": (lambda x: (lambda a: (a.__setitem__(slice(0, 1), x), a))([9, 8]), [1, 2]),
    "growing": (growing, [1, 2]),
    "errors in groups": (grouped_errors, "x"),
    "thread": (in_a_thread, 3),
    "deques": (lambda x: (x + collections.deque([1]), collections.deque([1]) + x), collections.deque([2])),
    "ordered dicts": (lambda x: (x | {"b": 1}, {"b": 1} | x, x | x), collections.OrderedDict(a=1)),
    "default dicts": (lambda x: (x | {"b": 1}, {"b": 1} | x), collections.defaultdict(int, a=1)),
    "set and list": (lambda x: {1} | x, [1]),
    "list and tuple": (lambda x: x + [1], (1,)),
    "thrown number": (lambda x: (_ for _ in ()).throw(x), 3),
    "thrown": (lambda x: (_ for _ in ()).throw(KeyError(x)), 3),
    "calls of no functions": (lambda x: x(), 3),
    "no iterable": (lambda x: [*x], 3),
    "no number": (lambda x: x + 1, "a"),
    # calls
    "keywords": (lambda x: (dict(**x), keywords(**x), options(1, **x)), {"b": 1}),
    "keyword": (lambda x: (keywords(**{x: 1}), dict(**{x: 1}), options(0, **{x: 3})), "d"),
    "keyword twice": (lambda x: keywords(d=1, **{x: 1}), "d"),
    "no mapping": (lambda x: keywords(**x), 3),
    "keyword number": (lambda x: keywords(**{x: 1}), 3),
    "splat": (lambda x: options(*x, *[9]), [1, 2, 3]),
    "splat number": (lambda x: options(*x), 3),
    "missing argument": (lambda x: options(), 3),
    "unknown": (lambda x: math.sqrt(x, a=1), 3),
    "partial": (lambda x: (functools.partial(options, x, d=x)(5), functools.partial(max, x).args), 1),
    "closure": (closed, 1),
    "cache": (cached, 2),
    "single dispatch": (dispatched, 2),
    "eval": (namespace, "1+1"),
    "exec": (executed, "a = 4"),
    "eval error": (lambda x: eval(x), "1+"),
    "eval name": (lambda x: eval(x), "nothing"),
    "compile": (lambda x: eval(compile(x, "f", "eval")), "3"),
    "getattr": (lambda x: (getattr("a", x)(), hasattr("a", x), getattr("a", x + "1", 0)), "upper"),
    "attribute error": (lambda x: getattr(3, x), "none"),
    "chosen function": (lambda x: [[len, sum][x]([1, 2]), [*map([str, abs][x], [-1])]], 1),
    "chosen key": (lambda x: sorted([-2, 1], key=[str, abs][x]), 1),
    "getters": (lambda x: (operator.itemgetter(x)([1, 2]), operator.attrgetter("real")(x)), 1),
    "attrgetter": (lambda x: operator.attrgetter(x)(3), "real"),
    "methodcaller": (lambda x: operator.methodcaller("split", x)("a,b"), ","),
    "call": (lambda x: (operator.call(abs, x), abs.__call__(x), options.__call__(x)), -1),
    "recursion": (lambda x: (lambda f: f(f, x))(lambda f, n: n and n + f(f, n - 1)), 4),
    # strings
    "strings": (
        lambda x: (x.upper(), x + "b", x * 2, x[0], x in "abc", "%s" % x, f"{x!r:>5}", "{}".format(x)),
        "a",
    ),
    "string methods": (
        lambda x: (x.split(), x.partition(" "), x.replace("a", "b"), x.encode(), x.title()),
        "a b",
    ),
    "format": (
        lambda x: (f"{x:.2f}", f"{x!s}", format(x, "e"), "%d %5.1f" % (x, x), "{0:{1}}".format(x, 9)),
        1.5,
    ),
    "format map": (lambda x: ("{a}".format(**x), "{a}".format_map(x), "%(a)s" % x), {"a": 1}),
    "template": (lambda x: string.Template("$a b").substitute(x), {"a": "1"}),
    "join": (lambda x: (",".join(x), "".join(reversed(x)), x[0].join(x)), ["a", "b"]),
    "join wrong": (lambda x: ",".join(x), ["a", 1]),
    "translate": (lambda x: "abc".translate({97: x}), "z"),
    "parse": (lambda x: (int(x), float(x), int(x, 16), complex(x), bytes(x, "ascii")), "12"),
    "parse error": (lambda x: int(x), "zz"),
    "parse error caught": (lambda x: caught(int, x), "zz"),
    "bytes": (
        lambda x: (x + b"a", x[0], x.hex(), x.decode(), [*x], bytearray(x), struct.unpack("<h", x)),
        b"ab",
    ),
    "decode error": (lambda x: x.decode("ascii"), b"\xff"),
    "decode caught": (lambda x: caught(x.decode, "ascii"), b"\xff"),
    "wrap": (lambda x: textwrap.fill(x, 10), "some words to wrap here"),
    "re": (
        lambda x: (re.sub("a", "b", x), re.findall("[a-z]", x), re.split(",", x), bool(re.match("x", x))),
        "a,b",
    ),
    "re groups": (lambda x: re.match(r"(?P<k>\w)=(\d)", x).groupdict(), "a=1"),
    "re function": (lambda x: re.sub(r"\d", lambda m: str(int(m[0]) + 1), x), "a1b2"),
    "re error": (lambda x: re.compile(x), "("),
    "re escape": (lambda x: re.escape(x), "a.b"),
    "hash": (lambda x: hashlib.sha256(x).hexdigest(), b"abc"),
    "url": (lambda x: urllib.parse.urlencode(x), {"a": "b c"}),
    "ord": (lambda x: (ord(x), chr(ord(x) + 1), ascii(x), repr(x), hash(x) == hash("a")), "a"),
    # numbers
    "numbers": (lambda x: (x + 1, 2**x, x // 2, -x, divmod(x, 2), pow(x, 2, 5), round(x / 3, 2), abs(-x)), 7),
    "bits": (lambda x: (x & 3, x | 8, x ^ 1, x << 2, ~x, x.bit_length(), bin(x), hex(x)), 5),
    "zero": (lambda x: 1 / x, 0),
    "zero caught": (lambda x: caught(operator.truediv, 1, x), 0),
    "math": (
        lambda x: (math.sqrt(x), math.floor(x), math.fsum([x, x]), math.gcd(int(x), 4), math.isclose(x, x)),
        4.0,
    ),
    "domain": (lambda x: math.sqrt(x), -1.0),
    "fraction": (lambda x: fractions.Fraction(x, 3) + x, 2),
    "statistics": (lambda x: (statistics.mean(x), statistics.median(x), statistics.pstdev(x)), [1, 2, 4]),
    "date": (lambda x: datetime.date(2026, x, 1) + datetime.timedelta(days=x), 2),
    "date error": (lambda x: datetime.date(2026, x, 1), 13),
    "enum": (lambda x: (Color(x), Color(x).name), 1),
    "enum error": (lambda x: Color(x), 9),
    "bool": (lambda x: (not x, x and 1, x or 2, bool(x), 1 if x else 0), 3),
    "isinstance": (
        lambda x: (isinstance(x, int), type(x) is int, type(x).__name__, callable(x), x is None),
        3,
    ),
    # iteration
    "enumerate": (lambda x: [*enumerate("ab", x)], 2),
    "enumerate start": (lambda x: [*enumerate("ab", start=x)], 2),
    "zip": (lambda x: ([*zip(x, x[1:])], dict(zip("ab", x)), [*zip(x, x, strict=True)]), [1, 2]),
    "zip strict": (lambda x: [*zip(x, [1], strict=True)], [1, 2]),
    "zip longest": (lambda x: [*itertools.zip_longest([1], [1, 2], fillvalue=x)], "ab"),
    "sorted": (lambda x: (sorted([3, 1, 2], reverse=x), sorted("ba", key=lambda c: c)), True),
    "sorted error": (lambda x: sorted([x, "a"]), 1),
    "max empty": (lambda x: max(x[:0]), [1]),
    "max": (lambda x: (max(x), min(x, key=lambda v: -v), max([], default=x), max(*x), sum(x, 1)), [1, 3]),
    "map": (lambda x: ([*map(str, x)], [*filter(None, x)], functools.reduce(operator.add, x, 1)), [0, 1]),
    "any": (lambda x: (any(x), all(x), any(v > 1 for v in x), sum(v for v in x)), [0, 1]),
    "itertools": (
        lambda x: (
            [*itertools.chain(x, x)],
            [*itertools.islice(x, 1)],
            [*itertools.accumulate(x)],
            [*itertools.combinations(x, 2)],
            [*itertools.product(x, repeat=2)],
            [*itertools.pairwise(x)],
            [*itertools.starmap(pow, [x])],
            [*itertools.takewhile(bool, x)],
            [*itertools.compress(x, [1, 0])],
        ),
        [2, 3],
    ),
    "itertools of": (
        lambda x: (
            [*itertools.islice("abc", x)],
            [*itertools.repeat(0, x)],
            [*itertools.islice(itertools.count(x), 2)],
            [*itertools.combinations("abc", x)],
            [*itertools.product("ab", repeat=x)],
            [*itertools.accumulate([1, 2], initial=x)],
            itertools.tee([1], x) and 1,
        ),
        2,
    ),
    "types of iterators": (
        lambda x: [*map(type, (enumerate("a", x), reversed([x]), zip([x]), reversed(range(x))))],
        2,
    ),
    "iter of": (lambda x: [*iter(iter([1, 2, 3]).__next__, x)], 3),
    "next": (lambda x: next(iter(x), 5), []),
    "stop": (lambda x: next(iter(x)), []),
    "generator": (generated, 4),
    "delegated": (delegated, [1, 2]),
    "dict from": (lambda x: (dict(x), dict.fromkeys("ab", x), dict([x[0]])), [("a", 1)]),
    "dict wrong": (lambda x: dict(x), [1]),
    "dict changed": (lambda x: [x.pop(k) for k in x], {"a": 1, "b": 2}),
    "heap": (
        lambda x: (heapq.heapify(x), heapq.heappop(x), heapq.nlargest(2, x), x, [*heapq.merge(x, [4])]),
        [3, 1, 2],
    ),
    "bisect": (lambda x: (bisect.bisect([1, 3], x), (lambda a: (bisect.insort(a, x), a))([1, 3])), 2),
    "bisect key": (lambda x: bisect.bisect([3, 1], -x, key=lambda v: -v), 2),
    "shuffle": (shuffled, [1, 2, 3], 5),
    "random": (lambda x: random.Random(x).randint(1, x), 9),
    "user iterable": (
        lambda x: ([*Chain(x)], len(Chain(x)), 1 in Chain(x), Chain(x)[0], Chain(x).first),
        [1, 2],
    ),
    # classes
    "dataclass": (
        lambda x: (
            Item(x),
            Item(x) < Item("b"),
            dataclasses.replace(Item(x), price=2),
            dataclasses.astuple(Item(x)),
        ),
        "a",
    ),
    "argument object": (
        lambda x: (setattr(x, "price", x.price * 2), x.tags.append(x.name), x),
        Item("a", 2.0),
    ),
    "slots": (lambda x: (Slotted(x), Slotted(x) == Slotted(x), Slotted([x]).value), 3),
    "float class": (lambda x: (Celsius(x), Celsius(x).text, Celsius(x) + 1, type(Celsius(x))), 3.5),
    "namespace": (lambda x: types.SimpleNamespace(a=x, **{"b": x}), 3),
    "vars": (lambda x: (vars(Item(x)), Item(x).__dict__, dir(Item(x)) == dir(Item("b"))), "a"),
    "made class": (lambda x: type(x, (), {"a": x})().a, "Made"),
    "match": (lambda x: [*map(matched, x)], [{"kind": "circle", "r": 2}, [1, 2], 3, "a", None]),
    "copy": (lambda x: (copy.copy(x), copy.deepcopy(x), copy.copy(x) is x), Item("a")),
    "manager": (with_manager, 2),
    "super": (lambda x: Counted.__mro__[1](x), {"a": 1}),
    # exceptions
    "exception": (lambda x: raising(ValueError, x), "no"),
    "exception of two": (lambda x: raising(OSError, x, "m"), 2),
    "exception args": (lambda x: caught(raising, KeyError, x, 2), "k"),
    "exit": (lambda x: caught(raising, Wrong, x, 3), "no"),
    "own exception": (lambda x: raising(Wrong, x, x), "no"),
    "bare exception": (lambda x: caught(raising, Bare, x), "no"),
    "bare": (lambda x: raising(Bare, x), "no"),
    "chained": (chained, "x"),
    "assert": (lambda x: raising(AssertionError, x), [1]),
    "unicode error": (lambda x: raising(UnicodeDecodeError, "a", x, 0, 1, "r"), b"\xff"),
    "file error": (lambda x: open(x), "/no/such"),
    "stop value": (lambda x: caught(raising, StopIteration, x), 3),
    "exception text": (lambda x: (str(ValueError(x)), repr(KeyError(x, 1)), f"{TypeError(x)}"), "t"),
    "exception group": (lambda x: ExceptionGroup(x, [ValueError(x)]).exceptions[0].args, "g"),
    "notes": (lambda x: (lambda e: (e.add_note(x), e.__notes__))(ValueError()), "n"),
    "os error": (lambda x: (lambda e: (e.errno, e.strerror, e.filename, e.args))(OSError(x, "m", "f")), 2),
    # formats
    "json": (
        lambda x: (json.dumps(x), json.loads(json.dumps(x)), json.dumps(x, indent=1, sort_keys=True)),
        {"b": [1, None], "a": "t"},
    ),
    "json keys": (lambda x: json.dumps({x: 1, "k": x}), "a"),
    "json error": (lambda x: json.loads(x), "{"),
    "json default": (lambda x: json.dumps({"a": {x}}, default=sorted), 1),
    "csv": (lambda x: [*csv.reader(io.StringIO(x))], "a,b\nc,d\n"),
    "io": (lambda x: (lambda f: (f.write(x), f.getvalue()))(io.StringIO()), "ab"),
    # NumPy
    "array": (filled, np.arange(4.0), 3.0),
    "array of": (lambda x: (np.array([x, 1]), np.full(2, x), np.arange(x)), 3),
    "array sums": (
        lambda x: (x.sum(axis=0), x.mean(), np.cumsum(x), x.max(), np.median(x), x.tolist()),
        np.eye(2),
    ),
    "array views": (
        lambda x: (x.T, x.reshape(-1), x[0], x[:, 1], x[x > 0], x[[0, 1]], x.flatten()),
        np.eye(2),
    ),
    "array maths": (
        lambda x: (np.sin(x), x @ x, np.dot(x, x), np.where(x > 0, x, 1), np.linalg.inv(x)),
        np.eye(2),
    ),
    "array shapes": (lambda x: np.ones(2) + x, np.ones(3)),
    "array item": (lambda x: (x[0], x.item(0), float(x[1]), int(x[0])), np.ones(2)),
    "array index": (lambda x: np.arange(4)[x], 9),
    "along axis": (lambda x: np.apply_along_axis(lambda v: v * x, 0, np.ones(2)), 3),
    "over axes": (
        lambda x: np.apply_over_axes(lambda a, k: a.sum(k, keepdims=True) * x, np.eye(2), [0]),
        3.0,
    ),
    "piecewise": (lambda x: np.piecewise(np.arange(2.0), [[True, False]], [lambda v: v * x, x]), 3.0),
    "vectorize": (lambda x: np.vectorize(lambda v: v * x)(np.ones(2)), 3.0),
    "from function": (lambda x: np.fromfunction(lambda i: i * x, (2,)), 3),
    "from iterator": (lambda x: np.fromiter((x * i for i in range(2)), float), 3.0),
    "memory": (by_memory, 2.0),
    "nditer": (iterated, 2.0),
    "concatenate": (
        lambda x: (np.concatenate([x, x]), np.stack([x, x]), np.split(x, 2), np.unique(x)),
        np.ones(2),
    ),
    "object array": (lambda x: np.array([x, None], dtype=object), 3),
    "sort": (lambda x: (np.sort(x), np.argsort(x), x.sort(), x), np.array([2, 1])),
    "scalars": (lambda x: (x + 1, np.float32(x), x.dtype, round(x, 1), x.item(), int(x)), np.float64(2.5)),
    "structured": (lambda x: np.array([(x, 2.0)], dtype=[("a", int), ("b", float)])["a"], 1),
}


def outcome(run, args):
    try:
        return "returned", run(*args)
    except Exception as error:
        return "raised", (type(error), str(error), error.args, vars(error))


def same(a, b):
    """Equal, and of the very classes."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return (
            a.dtype == b.dtype
            and a.shape == b.shape
            and all(map(same, a.ravel().tolist(), b.ravel().tolist()))
        )
    if isinstance(a, dict):
        return same([*a.items()], [*b.items()])
    if isinstance(a, list | tuple | collections.deque):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, set | frozenset):
        return a == b and {*map(type, a)} == {*map(type, b)}
    if isinstance(a, Slotted):
        return same(a.value, b.value)
    if isinstance(a, type):
        return a is b
    if isinstance(a, BaseException):
        return same(a.args, b.args)
    if type(a).__eq__ is object.__eq__ and not callable(a):
        return same(vars(a), vars(b)) if hasattr(a, "__dict__") else repr(a) == repr(b)
    return a == b and (not dataclasses.is_dataclass(a) or same(vars(a), vars(b)))


@pytest.mark.parametrize("granular", [False, True], ids=["whole", "parts"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_what_it_does_without_labels(name, granular):
    f, *args = PROGRAMS[name]
    plain_args = copy.deepcopy(args)
    plain = outcome(f, plain_args)
    ctx = TaintContext()
    own = copy.deepcopy(args)
    given = [ctx.label(a, f"a{k}", granular) for k, a in enumerate(own)]
    found = outcome(lambda *xs: overdub(ctx, f, *xs), given)
    if found[0] == "raised":
        assert "Tagged" not in found[1][1]
    found = ctx.clean(found)
    assert same(found, plain), (found, plain)
    assert same(ctx.clean(given), plain_args)


def test_nothing_tagged_is_left_in_what_was_cleaned():
    ctx = TaintContext()
    assert same([1, {"a": (2,)}], ctx.clean([ctx.label(1, "x"), {"a": (ctx.label(2, "y"),)}]))
    assert not same([1], [ctx.label(1, "x")]) and type(ctx.label(1, "x")) is Tagged
