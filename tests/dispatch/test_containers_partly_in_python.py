"""Subclasses of C containers with some of their methods in Python: C code that goes through them does what it
does without a context, and runs the same methods in the same order."""

import collections
import itertools
import math

import pytest

from ctxdispatch import Context, overdub

CONTAINERS = [
    list, tuple, dict, set, frozenset, str, bytes, bytearray, collections.deque, collections.OrderedDict,
    collections.defaultdict, collections.Counter,
]  # fmt: skip
METHODS = [
    "__iter__", "__len__", "__getitem__", "keys", "items", "__contains__", "__length_hint__", "__bool__",
]  # fmt: skip
USES = {
    "list": lambda x: list(x), "tuple": lambda x: tuple(x), "set": lambda x: set(x),
    "frozenset": lambda x: frozenset(x), "dict": lambda x: dict(x), "deque": lambda x: collections.deque(x),
    "OrderedDict": lambda x: collections.OrderedDict(x), "Counter": lambda x: collections.Counter(x),
    "defaultdict": lambda x: collections.defaultdict(int, x), "bytes": lambda x: bytes(x),
    "pairs": lambda x: dict([("a", 1)], **x), "fromkeys": lambda x: dict.fromkeys(x),
    "sorted": lambda x: sorted(x), "max": lambda x: max(x), "any": lambda x: any(x), "sum": lambda x: sum(x),
    "join": lambda x: ",".join(x), "zip": lambda x: list(zip(x, x)),
    "enumerate": lambda x: list(enumerate(x)),
    "map": lambda x: list(map(str, x)), "chain": lambda x: list(itertools.chain(x)),
    "from_iterable": lambda x: list(itertools.chain.from_iterable([x])),
    "islice": lambda x: list(itertools.islice(x, 1)), "extend": lambda x: [].extend(x),
    "update": lambda x: {}.update(x), "set.update": lambda x: set().update(x),
    "union": lambda x: set().union(x), "issubset": lambda x: set().issubset(x),
    "comprehension": lambda x: [i for i in x], "[*x]": lambda x: [*x], "f(*x)": lambda x: print(*x, sep=""),
    "f(**x)": lambda x: (lambda **kwargs: kwargs)(**x), "{**x}": lambda x: {**x},
    "in": lambda x: 3 in x, "str in": lambda x: "a" in x, "len": lambda x: len(x), "not": lambda x: not x,
    "reversed": lambda x: list(reversed(x)), "iter": lambda x: list(iter(x)), "{} | x": lambda x: {} | x,
    "==": lambda x: x == x, "[] + x": lambda x: [] + x, "x[0:1]": lambda x: x[0:1],
    "copy": lambda x: x.copy(),
}  # fmt: skip
ITEMS = {str: "ab", bytes: b"ab", bytearray: b"ab"}

asked = []


class Idle(Context):
    pass


Idle.rule(math.lgamma)(lambda ctx, x: None)


class Hooked(Context):
    def prehook(self, f, args, kwargs):
        pass


def overriding(base, names):
    """A subclass with these methods in Python: those of the base, noted."""

    def noting(name):
        def method(self, *args):
            asked.append(name)
            return getattr(base, name)(self, *args) if hasattr(base, name) else 3

        return method

    return type(f"Its{base.__name__}", (base,), {name: noting(name) for name in names})


def made(base, cls):
    if not issubclass(base, dict):
        return cls(ITEMS.get(base, [3, 1]))
    value = cls()
    dict.update(value, {"a": 1, "b": 2})
    return value


def outcome(run, value):
    asked.clear()
    try:
        out = run(value)
        return type(out), repr(out), [*asked]
    except Exception as error:
        return type(error), str(error), [*asked]


@pytest.mark.parametrize("ctx", [Idle, Hooked])
@pytest.mark.parametrize("use", USES)
def test_what_c_code_makes_of_it(use, ctx, capsys):
    f = USES[use]
    for base in CONTAINERS:
        for names in (*itertools.combinations(METHODS, 1), *itertools.combinations(METHODS, 2)):
            cls = overriding(base, names)
            plain = outcome(f, made(base, cls))
            assert outcome(lambda x, f=f: overdub(ctx(), f, x), made(base, cls)) == plain, (base, names)
