"""How far a context reaches: what Python code runs under it when C code runs it, and what does not.

Each program calls `mark` in such code. Run plainly, the marks are those of the program; run under a context
with a rule for `mark`, what it follows arrives at the rule, in the same order. docs/reach.md has it in words.
"""

import _thread
import asyncio
import atexit
import bisect
import collections
import concurrent.futures
import contextlib
import contextvars
import copy
import functools
import gc
import heapq
import itertools
import json
import math
import operator
import os
import pickle
import queue
import re
import threading
import types
import weakref

import numpy as np
import pytest

from ctxdispatch.dispatch import Context, overdub
from ctxdispatch.dispatch.plan import KINDS
from ctxdispatch.ir import primitives

MARKS = []
ADDRESS = re.compile(" at 0x[0-9a-f]+")


def shown(value=None):
    return ADDRESS.sub("", repr(value))


def mark(value=None):
    MARKS.append(shown(value))
    return value


class Follow(Context):
    seen: list
    intercepts = tuple(KINDS)


@Follow.rule(mark)
def _(ctx, value=None):
    ctx.seen.append(shown(value))
    return value


class Hooked(Context):
    seen: list
    intercepts = tuple(KINDS)

    def prehook(self, f, args, kwargs):
        if f is mark:
            self.seen.append(shown(*args))


def outcome(run):
    MARKS.clear()
    try:
        result = ADDRESS.sub("", repr(run()))
    except Exception as error:
        context = error.__context__
        result = type(error), str(error), type(context), str(context)
    return result, list(MARKS)


def thing(**methods):
    return type("Thing", (), {"__module__": "here", **methods})()


def returns(name, value):
    """An object whose special method `name` returns `value`."""
    return thing(**{name: lambda self, *args: mark(value)})


def fails(name, error=ValueError):
    def method(self, *args):
        mark(name)
        raise error(name)

    return thing(**{name: method})


class Count:
    """An iterable and its iterator, in Python."""

    def __init__(self, n, hint=None):
        self.n, self.i, self.hint = n, 0, hint

    def __iter__(self):
        mark("iter")
        return self

    def __next__(self):
        if self.i == self.n:
            raise StopIteration
        self.i += 1
        return mark(self.i)

    def __length_hint__(self):
        mark("hint")
        if isinstance(self.hint, type):
            raise self.hint("hint")
        return NotImplemented if self.hint is None else self.hint


class Pairs(Count):
    def __next__(self):
        return str(super().__next__()), mark("pair")


class Old:
    """An iterable by `__getitem__`."""

    def __init__(self, n, end=IndexError):
        self.n, self.end = n, end

    def __getitem__(self, i):
        mark(i)
        if i == self.n:
            raise self.end(i)
        return i * 10


class Mapping:
    def __init__(self, *keys):
        self.own = keys

    def keys(self):
        mark("keys")
        return Strings(self.own)

    def __getitem__(self, key):
        return mark(key.upper())


class Strings:
    def __init__(self, items):
        self.items = list(items)

    def __iter__(self):
        for_now = iter(self.items)
        mark("strings")
        return for_now


@functools.total_ordering
class Ranked:
    def __init__(self, rank):
        self.rank = rank

    def __lt__(self, other):
        return mark(self.rank) < other.rank

    def __eq__(self, other):
        return mark(self.rank) == other.rank

    def __repr__(self):
        return f"R{self.rank}"


class Text:
    def __str__(self):
        return mark("str")

    def __repr__(self):
        return mark("repr")

    def __format__(self, spec):
        return mark(f"<{spec}>")


class Shown:
    """By `__repr__` alone."""

    def __repr__(self):
        return mark("shown")


def ranked(*ranks):
    return [Ranked(r) for r in ranks]


class Manager:
    def __init__(self, value="value"):
        self.value = value

    def __enter__(self):
        return mark(self.value)

    def __exit__(self, *exc):
        return mark(True)

    async def __aenter__(self):
        return mark("aenter")

    async def __aexit__(self, *exc):
        mark("aexit")


def key(value):
    return mark(-value)


FOLLOWED = {}
NATIVE = {}


def group(table, name, *programs):
    for i, program in enumerate(programs):
        assert f"{name} {i}" not in table
        table[f"{name} {i}"] = program


# -- one object ------------------------------------------------------------------------------------

VALUES = (7, -1, True, 2**70, 2.5, "text", b"bytes", None, NotImplemented, 1j)
CONVERTED = {
    hash: ["__hash__"], repr: ["__repr__"], ascii: ["__repr__"], str: ["__str__", "__repr__"],
    format: ["__format__", "__str__", "__repr__"], bytes: ["__bytes__"],
    int: ["__int__", "__index__"], float: ["__float__", "__index__"],
    complex: ["__complex__", "__float__", "__index__"], bool: ["__bool__", "__len__"], len: ["__len__"],
    operator.not_: ["__bool__", "__len__"], operator.truth: ["__bool__", "__len__"], abs: ["__abs__"],
    round: ["__round__"], reversed: ["__reversed__"], math.floor: ["__floor__"], math.ceil: ["__ceil__"],
    math.trunc: ["__trunc__"], bin: ["__index__"], oct: ["__index__"], hex: ["__index__"],
    operator.index: ["__index__"], operator.neg: ["__neg__"], operator.pos: ["__pos__"],
    operator.invert: ["__invert__"], operator.inv: ["__invert__"], operator.abs: ["__abs__"],
    os.fspath: ["__fspath__"],
}  # fmt: skip


def converts(f, name, value):
    return lambda: f(returns(name, value))


for f_, names_ in CONVERTED.items():
    for name_ in names_:
        label = f"{f_.__module__}.{f_.__name__} {name_}"
        group(FOLLOWED, label, *[converts(f_, name_, v) for v in VALUES], converts(f_, name_, "été"))
        group(FOLLOWED, f"{label} fails", lambda f=f_, name=name_: f(fails(name)))


class Index(int):
    def __int__(self):
        return mark(3)

    def __repr__(self):
        return mark("index")


class NoHash:
    __hash__ = None
    __iter__ = None
    __len__ = None
    __contains__ = None
    __getitem__ = lambda self, i: mark(i)
    __add__ = None
    __radd__ = None


group(
    FOLLOWED, "text",
    lambda: (str(Index(4)), int(Index(4)), repr(Index(4)), f"{Index(4)!r}"),
    lambda: format(Text(), "spec"), lambda: format(Text()), lambda: format(Shown()),
    lambda: format(Shown(), "x"),
    lambda: f"{Text()}", lambda: f"{Text():>5}", lambda: f"{Text()!r}", lambda: f"{Text()!s:>5}",
    lambda: f"{Shown()}", lambda: f"{Shown()!a}", lambda: f"{Shown()!r:>9}", lambda: f"{Shown():x}",
    lambda: f"{returns('__format__', 3)}", lambda: f"{fails('__repr__')}",
    lambda: print(Text(), Shown(), "end"), lambda: print(fails("__str__")),
    lambda: print(returns("__str__", 1)),
    lambda: print(1, 2, sep=Text()),
    lambda: str(), lambda: str(1, 2, 3, 4), lambda: hash(NoHash()), lambda: len(NoHash()),
    lambda: bool(NoHash()),
    lambda: round(returns("__round__", 1), 2), lambda: round(returns("__round__", 1), None),
    lambda: round(returns("__round__", 1), ndigits=2) if False else mark(),
    lambda: not returns("__bool__", False), lambda: not returns("__len__", 0),
    lambda: 1 if returns("__bool__", False) else 2, lambda: 1 if returns("__len__", -3) else 2,
    lambda: int(returns("__trunc__", 3)) if False else mark(3),
)  # fmt: skip

HERE, NOWHERE = returns("__fspath__", __file__), returns("__fspath__", "/no/such/file")


def opened(path, **said):
    with open(path, **said) as file:
        return file.name


group(
    FOLLOWED, "paths",
    lambda: os.stat(HERE).st_size, lambda: os.stat(path=HERE, follow_symlinks=False).st_size,
    lambda: os.stat(NOWHERE), lambda: os.listdir(NOWHERE), lambda: os.rename(NOWHERE, NOWHERE),
    lambda: opened(HERE), lambda: opened(NOWHERE), lambda: opened(file=HERE, encoding="utf-8"),
    lambda: os.stat(returns("__fspath__", 3.0)), lambda: os.stat(fails("__fspath__")),
    lambda: os.stat(thing()), lambda: os.access(HERE, thing()), lambda: os.path.exists(HERE),
)  # fmt: skip

# -- operators -------------------------------------------------------------------------------------

BINARY = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "matmul": operator.matmul,
    "truediv": operator.truediv, "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow,
    "lshift": operator.lshift, "rshift": operator.rshift, "and": operator.and_, "or": operator.or_,
    "xor": operator.xor, "divmod": divmod,
}  # fmt: skip

for name_, f_ in BINARY.items():
    i_ = getattr(operator, f"i{name_}", None)
    forward_, reflected_ = f"__{name_}__", f"__r{name_}__"
    group(
        FOLLOWED, f"binary {name_}",
        lambda f=f_, n=forward_: f(returns(n, 1), 2),
        lambda f=f_, n=reflected_: f([2], returns(n, 1)),
        lambda f=f_, n=reflected_: f("a", returns(n, 1)) if f is not operator.mod else mark(),
        lambda f=f_, n=forward_: f(returns(n, NotImplemented), 2),
        lambda f=f_, n=forward_, r=reflected_: f(returns(n, NotImplemented), returns(r, NotImplemented)),
        lambda f=f_, n=forward_: f(fails(n), 2),
    )  # fmt: skip
    if i_ is not None:
        group(
            FOLLOWED, f"in place {name_}",
            lambda f=i_, n=f"__i{name_}__": f(returns(n, 1), 2),
            lambda f=i_, n=f"__i{name_}__": f(returns(n, NotImplemented), 2),
            lambda f=i_, n=forward_: f(returns(n, 1), 2),
            lambda f=i_, n=forward_: f(returns(n, NotImplemented), 2),
        )  # fmt: skip

for name_ in "lt le gt ge eq ne".split():
    f_ = getattr(operator, name_)
    group(
        FOLLOWED, f"compare {name_}",
        lambda f=f_, n=f"__{name_}__": f(returns(n, 1), 2),
        lambda f=f_, n=f"__{name_}__": f(returns(n, NotImplemented), 2),
        lambda f=f_: f(*ranked(1, 2)),
    )  # fmt: skip


def in_place(x, y):
    x += y
    return x


group(
    FOLLOWED, "operators",
    lambda: pow(returns("__pow__", 1), 2), lambda: pow(2, returns("__rpow__", 1)),
    lambda: pow(fails("__pow__"), 1),
    lambda: in_place(mark(1), "a"), lambda: in_place([mark(1)], 3), lambda: in_place((mark(1),), [1]),
    lambda: (mark(), NoHash() + 1)[1], lambda: (mark(), 1 + NoHash())[1],
    lambda: (mark(), returns("__add__", NotImplemented) + NoHash())[1],
)  # fmt: skip
group(NATIVE, "dir", lambda: dir(returns("__dir__", ["b", "a"])), lambda: dir(fails("__dir__")))
group(NATIVE, "operators", lambda: pow(returns("__pow__", 1), 2, 3))

# -- attributes ------------------------------------------------------------------------------------


class Descriptor:
    def __init__(self, data=False):
        if data:
            self.__class__ = DataDescriptor

    def __get__(self, instance, owner):
        return mark(("get", instance is None, owner.__name__))


class DataDescriptor(Descriptor):
    def __set__(self, instance, value):
        mark(("set", value))

    def __delete__(self, instance):
        mark("delete")


class Meta(type):
    @property
    def on_class(cls):
        return mark("on class")

    def __getattr__(cls, name):
        if name == "missing":
            raise AttributeError(mark(name))
        return mark(("meta", name))


class Base:
    @property
    def prop(self):
        return mark("base prop")

    def method(self):
        return mark("method")


class Attributes(Base):
    plain = Descriptor()
    data = DataDescriptor()

    @property
    def prop(self):
        return mark("prop")

    @prop.setter
    def prop(self, value):
        mark(("fset", value))

    @prop.deleter
    def prop(self):
        mark("fdel")

    @property
    def raising(self):
        raise AttributeError(mark("raising"))

    unreadable = property()
    by_getter = property(operator.attrgetter("prop"))

    @functools.cached_property
    def cached(self):
        return mark("cached")

    @classmethod
    def of_class(cls):
        return mark(cls.__name__)

    @staticmethod
    def static():
        return mark("static")

    def partly(self, a, b):
        return mark((a, b))

    part = functools.partialmethod(partly, 1)

    @functools.singledispatchmethod
    def single(self, value):
        return mark("any")

    @single.register
    def _(self, value: int):
        return mark("int")

    def by_super(self):
        return super().prop


class Missing(Attributes):
    def __getattr__(self, name):
        if name == "missing":
            raise AttributeError(mark(name))
        return mark(("getattr", name))


class GetAttribute(Missing):
    def __getattribute__(self, name):
        if name in ("own", "missing"):
            mark(("getattribute", name))
            raise AttributeError(name)
        if name == "value":
            return mark("value")
        return super().__getattribute__(name)


class SetAttribute:
    def __setattr__(self, name, value):
        mark((name, value))
        super().__setattr__(name, value)

    def __delattr__(self, name):
        mark(name)
        super().__delattr__(name)


class OfMeta(metaclass=Meta):
    plain = Descriptor()


class Slots:
    __slots__ = ("a",)

    @property
    def prop(self):
        return mark("slots")


def shadowed(name):
    x = Attributes()
    vars(x)[name] = "own"
    return getattr(x, name), mark()


def deleted(name):
    x = Attributes()
    delattr(x, name)


def stored(x, name, value):
    setattr(x, name, value)
    return vars(x)


def set_and_deleted():
    x = SetAttribute()
    x.a = 1
    x.b = 2
    del x.a
    return vars(x)


def twice_cached():
    x = Attributes()
    return x.cached, x.cached, vars(x)


module = types.ModuleType("module")
module.here = 1
module.__getattr__ = lambda name: mark(name) if name != "no" else fails("x").__missing


group(
    FOLLOWED, "read",
    lambda: Attributes().prop, lambda: Attributes().plain, lambda: Attributes().data,
    lambda: Attributes.plain,
    lambda: Attributes().raising, lambda: (Attributes().unreadable, mark()), lambda: Attributes().by_getter,
    lambda: Attributes().cached, twice_cached, lambda: shadowed("plain"), lambda: shadowed("data"),
    lambda: shadowed("prop"), lambda: shadowed("cached"), lambda: Attributes().by_super(),
    lambda: super(Attributes, Attributes()).method(), lambda: super(Attributes, Attributes()).prop,
    lambda: (mark(), super(Attributes, Attributes()).nothing), lambda: (mark(), Attributes().nothing),
    lambda: Missing().prop, lambda: Missing().other, lambda: Missing().missing, lambda: Missing().raising,
    lambda: GetAttribute().value, lambda: GetAttribute().own, lambda: GetAttribute().missing,
    lambda: GetAttribute().prop,
    lambda: OfMeta.on_class, lambda: OfMeta.plain, lambda: OfMeta.other, lambda: OfMeta.missing,
    lambda: Slots().prop, lambda: (mark(), Slots().a), lambda: module.other, lambda: module.here and mark(),
    lambda: module.no,
    lambda: getattr(Attributes(), "prop"), lambda: getattr(Attributes(), "raising", 3),
    lambda: getattr(Attributes(), "prop", 3), lambda: getattr(Missing(), "missing", 3), lambda: getattr(1),
    lambda: getattr(Missing(), 3), lambda: getattr(fails("__getattr__"), "x", 1),
    lambda: hasattr(Attributes(), "prop"), lambda: hasattr(Attributes(), "raising"),
    lambda: hasattr(Missing(), "missing"), lambda: hasattr(fails("__getattr__"), "x"), lambda: hasattr(1, 2),
)  # fmt: skip
group(
    FOLLOWED, "write",
    lambda: stored(Attributes(), "prop", 1), lambda: stored(Attributes(), "data", 1),
    lambda: stored(Attributes(), "raising", 1), lambda: (mark(), stored(Attributes(), "other", 1)),
    lambda: deleted("prop"), lambda: deleted("data"), lambda: deleted("raising"), lambda: deleted("other"),
    set_and_deleted, lambda: stored(fails("__setattr__"), "x", 1), lambda: setattr(1, "a", 2),
    lambda: setattr(Attributes(), 1, 2),
)  # fmt: skip
group(
    FOLLOWED, "methods",
    lambda: Attributes().method(), lambda: Attributes.method(Attributes()), lambda: Attributes.of_class(),
    lambda: Attributes().of_class(), lambda: Attributes.static(), lambda: Attributes().part(2),
    lambda: types.MethodType(key, 3)(), lambda: staticmethod(key)(3), lambda: functools.partial(key, 3)(),
    lambda: functools.partial(functools.partial(key), 3)(),
)  # fmt: skip

# -- items, iteration ------------------------------------------------------------------------------


class Items:
    def __getitem__(self, k):
        return mark(k)

    def __setitem__(self, k, v):
        mark((k, v))

    def __delitem__(self, k):
        mark(k)

    def __contains__(self, k):
        return mark(k)


class MissingKeys(dict):
    def __missing__(self, k):
        return mark(k)


class Generic:
    def __init__(self, x=None):
        mark(x)

    def __class_getitem__(cls, item):
        return mark((cls.__name__, item))


class Alias:
    __class_getitem__ = classmethod(types.GenericAlias)

    def __init__(self):
        mark("init")


class MetaItem(type):
    def __getitem__(cls, item):
        return mark(item)


class OfMetaItem(metaclass=MetaItem):
    def __class_getitem__(cls, item):
        return mark("not this")


def item_stores():
    x = Items()
    x[1] = 2
    del x[1]
    x[2] += 1


def defaulted():
    d = collections.defaultdict(lambda: mark([]))
    d[1].append(2)
    d[1].append(3)
    d[2]
    return d


class StoringDefault(collections.defaultdict):
    def __setitem__(self, k, v):
        mark(k)
        super().__setitem__(k, v)


def stored_default():
    d = StoringDefault(list)
    d[1].append(2)
    return d


group(
    FOLLOWED, "items",
    lambda: Items()[1], lambda: Items()[1:2], item_stores, lambda: 1 in Items(), lambda: 0 in Items(),
    lambda: 0 not in Items(), lambda: [] not in Items(), lambda: operator.contains(Items(), 0),
    lambda: 2 in Count(3), lambda: 5 not in Count(3), lambda: 20 in Old(4), lambda: 3 in fails("__iter__"),
    lambda: 3 in fails("__iter__", TypeError), lambda: 3 in returns("__iter__", 4),
    lambda: 3 in fails("__contains__"),
    lambda: (mark(), 3 in NoHash()), lambda: (mark(), 3 in object()), lambda: (mark(), 3 in 4),
    lambda: MissingKeys()[3], lambda: (MissingKeys({1: 2})[1], mark()), lambda: (MissingKeys()[[]], mark()),
    defaulted, stored_default, lambda: (mark(), collections.defaultdict()[3]),
    lambda: Generic[int], lambda: Alias[int]().__orig_class__, lambda: OfMetaItem[3],
    lambda: (mark(), int[3]),
    lambda: (mark(), list[int]), lambda: collections.ChainMap({}, {1: mark(2)})[1],
)  # fmt: skip


def loop(iterable):
    out = []
    for x in iterable:
        out.append(x)
    return out


def unpacked(iterable):
    a, b, c = iterable
    return a, b, c


def starred(iterable):
    a, *b, c = iterable
    return a, b, c


def arguments(*args, **kwargs):
    return args, kwargs


def shared():
    it = iter(Count(4))
    out = [next(it)]
    for x in it:
        out.append(x)
        if x == 2:
            break
    return out, list(it), next(it, "end")


def extended(target, method, *args):
    getattr(target, method)(*args)
    return target


def added(target, items):
    target += items
    return target


def assigned(target, part, items):
    target[part] = items
    return target


def merged(target, other):
    target |= other
    return target


def delegating(items):
    yield from items


class Own:
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return mark(self.items)


ITERABLES = {
    "count": lambda: Count(3), "hint": lambda: Count(3, 2), "hint fails": lambda: Count(3, ValueError),
    "hint type": lambda: Count(3, TypeError), "bad hint": lambda: Count(3, "a"),
    "negative": lambda: Count(3, -1),
    "old": lambda: Old(3), "old stop": lambda: Old(3, StopIteration), "old fails": lambda: Old(1, ValueError),
    "own": lambda: Own(iter([1, 2, 3])), "not": lambda: Own([1]), "no": lambda: Own(3),
    "fails": lambda: fails("__iter__"), "none": lambda: NoHash(),
    "type": lambda: fails("__iter__", TypeError),
    "next fails": lambda: Own(fails("__next__")), "list": lambda: [mark(1), 2, 3], "number": lambda: mark(3),
    "pairs": lambda: Pairs(3), "object": lambda: thing(),
}  # fmt: skip
CONSUMERS = {
    "loop": loop, "unpack": unpacked, "unpack star": starred, "comprehension": lambda x: [v for v in x],
    "set comprehension": lambda x: {v for v in x}, "dict comprehension": lambda x: {v: 1 for v in x},
    "list display": lambda x: [*x, 4], "tuple display": lambda x: (0, *x), "set display": lambda x: {0, *x},
    "call": lambda x: arguments(*x), "call more": lambda x: arguments(1, *x, 2, a=3),
    "callee": lambda x: max(*x),
    "list": list, "tuple": tuple, "set": set, "frozenset": frozenset, "sum": sum,
    "sum float": lambda x: sum(x, 0.5),
    "any": any, "all": all, "min": min, "max": max, "sorted": sorted,
    "sorted key": lambda x: sorted(x, key=key),
    "min key": lambda x: min(x, key=key, default=3), "enumerate": lambda x: list(enumerate(x, 5)),
    "zip": lambda x: list(zip(x, "abc")), "zip after": lambda x: list(zip("abc", x)),
    "map": lambda x: list(map(key, x)),
    "filter": lambda x: list(filter(key, x)), "reduce": lambda x: functools.reduce(operator.add, x),
    "reduce from": lambda x: functools.reduce(lambda a, b: mark((a, b)), x, 0), "dict": dict,
    "join": lambda x: ", ".join(x), "bytes": bytes, "bytearray": bytearray, "deque": collections.deque,
    "deque extend": lambda x: extended(collections.deque(), "extend", x),
    "fromkeys": lambda x: dict.fromkeys(x, 1),
    "extend": lambda x: extended([], "extend", x), "update": lambda x: extended({}, "update", x),
    "set update": lambda x: extended(set(), "update", x, [1]), "union": lambda x: set().union(x),
    "intersection": lambda x: {1, 3}.intersection(x), "difference": lambda x: {1, 3} - {1}.difference(x),
    "superset": lambda x: {1, 2, 3}.issuperset(x),
    "deque init": lambda x: extended(collections.deque(), "__init__", x),
    "new tuple": lambda x: tuple.__new__(tuple, x),
    "chain": lambda x: list(itertools.chain(x, [9])),
    "chain of": lambda x: list(itertools.chain.from_iterable([x, x])),
    "chain from": lambda x: list(itertools.chain.from_iterable(x)),
    "islice": lambda x: list(itertools.islice(x, 2)), "accumulate": lambda x: list(itertools.accumulate(x)),
    "accumulate by": lambda x: list(itertools.accumulate(x, lambda a, b: mark(b))),
    "groupby": lambda x: [k for k, _ in itertools.groupby(x, key=key)],
    "starmap": lambda x: list(itertools.starmap(arguments, x)),
    "takewhile": lambda x: list(itertools.takewhile(key, x)),
    "dropwhile": lambda x: list(itertools.dropwhile(key, x)),
    "filterfalse": lambda x: list(itertools.filterfalse(key, x)),
    "product": lambda x: list(itertools.product(x, repeat=1)), "cycle": lambda x: next(itertools.cycle(x)),
    "pairwise": lambda x: list(itertools.pairwise(x)), "tee": lambda x: list(itertools.tee(x)[1]),
    "zip_longest": lambda x: list(itertools.zip_longest(x, [1])),
    "compress": lambda x: list(itertools.compress(x, x)),
    "permutations": lambda x: list(itertools.permutations(x, 2)), "iter": lambda x: list(iter(x)),
    "in": lambda x: 3 in x,
    "next": lambda x: next(iter(x)), "Counter": collections.Counter,
    "OrderedDict": lambda x: collections.OrderedDict(x),
    "+=": lambda x: added([0], x), "deque +=": lambda x: added(collections.deque(), x),
    "iadd": lambda x: [0].__iadd__(x), "subclass +=": lambda x: added(type("L", (list,), {})([0]), x),
    "slice": lambda x: assigned([0, 0], slice(1), x), "step": lambda x: assigned([0] * 6, slice(0, 6, 2), x),
    "set slice": lambda x: extended([0, 0], "__setitem__", slice(1), x),
    "bytes slice": lambda x: assigned(bytearray(2), slice(1), x),
    "fsum": math.fsum, "prod": math.prod, "dist": lambda x: math.dist(x, [1, 2, 3]),
    "yield from": lambda x: list(delegating(x)),
}  # fmt: skip

for consumer_, consume_ in CONSUMERS.items():
    group(FOLLOWED, f"through {consumer_}", *[lambda f=consume_, x=x: f(x()) for x in ITERABLES.values()])

group(
    FOLLOWED, "iterating",
    shared, lambda: list(iter(lambda: mark(1), 1)), lambda: next(Count(0), mark(2)), lambda: next(Count(0)),
    lambda: sum([Ranked(1)], 0), lambda: sum([1, returns("__radd__", 5), 2]),
    lambda: sum([returns("__add__", 5)] * 2, 1.5),
    lambda: sum([1, 2], returns("__add__", 5)), lambda: sum([0.1] * 10 + [returns("__radd__", 1)]),
    lambda: sum([1, fails("__radd__")]), lambda: sum([mark("a")], ""), lambda: sum([mark(1)], start=2),
    lambda: any([returns("__bool__", False), returns("__len__", 1)]), lambda: all([returns("__bool__", 3)]),
    lambda: list(reversed(thing(__len__=lambda self: mark(2), __getitem__=lambda self, i: mark(i)))),
    lambda: list(reversed(NoHash())), lambda: reversed(thing()), lambda: reversed(3),
    lambda: list(iter(Old(2))),
    lambda: any(map(mark, [0, 1, 2])), lambda: all(x for x in [mark(1)]),
    lambda: added([1], returns("__radd__", 5)), lambda: added([1], returns("__radd__", NotImplemented)),
    lambda: added([1], thing(__radd__=lambda self, x: NotImplemented, __iter__=lambda self: iter([mark(2)]))),
    lambda: added([1], fails("__radd__")), lambda: assigned({}, slice(1), Count(1)),
)  # fmt: skip

MAPPINGS = {
    "mapping": lambda: Mapping("a", "b"), "empty": lambda: Mapping(),
    "fails": lambda: thing(keys=lambda self: mark(["a"])),
    "no iterable": lambda: thing(keys=lambda self: mark(3), __getitem__=lambda self, k: k),
    "dict": lambda: {"a": mark(1)}, "pairs": lambda: Pairs(2),
    "chain": lambda: collections.ChainMap({"a": mark(1)}),
    "raises": lambda: thing(keys=lambda self: mark(["a"]), __getitem__=fails("x").__class__.x),
}  # fmt: skip
SPREADS = {
    "dict": lambda m: dict(m), "dict more": lambda m: dict(m, z=1),
    "update": lambda m: extended({"a": 0}, "update", m),
    "display": lambda m: {"a": 0, **m}, "call": lambda m: arguments(**m),
    "twice": lambda m: arguments(a=1, **m),
    "pop": lambda m: arguments(1, *[2], **m, y=2), "|=": lambda m: merged({"a": 0}, m),
    "ior": lambda m: {"a": 0}.__ior__(m),
}  # fmt: skip
for spread_, spreads_ in SPREADS.items():
    group(FOLLOWED, f"spread {spread_}", *[lambda f=spreads_, m=m: f(m()) for m in MAPPINGS.values()])

# -- callbacks, order ------------------------------------------------------------------------------


def sorted_in_place(items, **options):
    items.sort(**options)
    return items


group(
    FOLLOWED, "callbacks",
    lambda: bisect.bisect([1, 2], 1, key=key), lambda: list(map.__new__(map, key, [1])),
    lambda: sorted([1, 3, 2], key=key), lambda: sorted_in_place([1, 3, 2], key=key, reverse=True),
    lambda: min([1, 2], key=key), lambda: max(1, 2, key=key),
    lambda: functools.cmp_to_key(lambda a, b: mark(a - b))(1) < functools.cmp_to_key(key)(2),
    lambda: sorted([2, 1], key=functools.cmp_to_key(lambda a, b: mark(a - b))),
    lambda: re.compile("b").sub(lambda m: mark(m[0].upper()), "abc"),
    lambda: re.sub("b", lambda m: mark("x"), "abcb"),
    lambda: (re.compile("b").sub("x", "abc"), mark()),
    lambda: re.compile("b").subn(repl=lambda m: mark("y"), string="abc"),
    lambda: json.dumps({"a": object}, default=lambda o: mark("b")),
    lambda: contextvars.copy_context().run(key, 3), lambda: operator.call(key, 3),
    lambda: operator.itemgetter(1)(Items()), lambda: operator.itemgetter(1, 2)(Items()),
    lambda: operator.attrgetter("prop")(Attributes()),
    lambda: operator.attrgetter("prop", "method.__name__")(Attributes()),
    lambda: operator.methodcaller("method")(Attributes()),
    lambda: operator.methodcaller("partly", 1, b=2)(Attributes()),
    lambda: operator.itemgetter(1)([1, mark(2)]), lambda: operator.attrgetter("real")(mark(1)),
    lambda: operator.methodcaller("upper")(mark("a")), lambda: operator.itemgetter(1)(),
    lambda: operator.attrgetter("a")(mark(1)),
    lambda: list(map(operator.attrgetter("prop"), [Attributes()])),
    lambda: operator.add(returns("__add__", 3), 1),
)  # fmt: skip
group(
    FOLLOWED, "order",
    lambda: sorted(ranked(3, 1, 2)), lambda: sorted(ranked(3, 1, 2), reverse=True),
    lambda: sorted_in_place(ranked(3, 1, 2)),
    lambda: min(ranked(3, 1, 2)), lambda: max(ranked(3, 1, 2)), lambda: min(*ranked(3, 1, 2)),
    lambda: max(iter(ranked(3, 1, 2))),
    lambda: sorted([3, 1, 2], key=Ranked), lambda: max([3, 1, 2], key=Ranked), lambda: sorted([1, Ranked(2)]),
    lambda: sorted([Ranked(2), 1]), lambda: sorted(["a", *ranked(2)]), lambda: min([], default=mark(3)),
    lambda: min([]),
    lambda: sorted([returns("__lt__", fails("__bool__")), 1]), lambda: max([returns("__gt__", 1), 1]) and 1,
    lambda: (mark(), sorted(3)), lambda: (mark(), sorted([1], 2)), lambda: (mark(), sorted([1, "a"])),
    lambda: sorted([3, returns("__gt__", True)])[1], lambda: Ranked(2) >= Ranked(1),
    lambda: Ranked(2) > Ranked(1),
)  # fmt: skip
# -- classes ---------------------------------------------------------------------------------------


class Made:
    def __new__(cls, *args):
        mark("new")
        return super().__new__(cls)

    def __init__(self, *args):
        mark("init")


class CallMeta(type):
    def __call__(cls, *args):
        mark("call")
        return super().__call__(*args)

    def __instancecheck__(cls, instance):
        return mark(instance)

    def __subclasscheck__(cls, sub):
        return mark(0)


class OfCallMeta(metaclass=CallMeta):
    def __init__(self, *args):
        mark(args)


class Callable:
    def __call__(self, x):
        return mark(x)


class FromInt(int):
    def __init__(self, *args):
        mark(args)


class Bag(list):
    def __init__(self, items):
        mark("bag")
        super().__init__(items)


def class_statement():
    class Registered:
        def __init_subclass__(cls, **kw):
            mark("init subclass")

    class Sub(Registered):
        x = thing(__set_name__=lambda self, owner, name: mark("set name"))


group(
    FOLLOWED, "classes",
    lambda: type(Made()).__name__, lambda: type(OfCallMeta(1)).__name__, lambda: isinstance(3, OfCallMeta),
    lambda: issubclass(int, OfCallMeta), lambda: isinstance(0, (str, (OfCallMeta,))),
    lambda: isinstance(OfCallMeta(), OfCallMeta),
    lambda: (mark(), isinstance(1, 2)), lambda: (mark(), isinstance(1, int | OfMetaItem)),
    lambda: Callable()(3),
    lambda: FromInt("3"), lambda: Bag(Count(2)), lambda: type(fails("__init__")).__name__,
    lambda: type(returns("__init__", 3)), lambda: (mark(), isinstance([], collections.abc.Sized)),
)  # fmt: skip
group(
    NATIVE, "classes",
    class_statement,
    lambda: type("Sub", (type("B", (), {"__init_subclass__": lambda cls, **kw: mark("sub")}),), {}).__name__,
    lambda: __build_class__(lambda: mark("body"), "C").__name__,
    lambda: type("ListOf", (list,), {})(Count(2)),
)

# -- functools and other libraries -----------------------------------------------------------------


@functools.lru_cache
def cached(x):
    return mark(x)


@functools.wraps(key)
def wrapper(*args):
    return key(*args)


def uncached(x):
    cached.cache_clear()
    return cached(x)


class Copied:
    def __copy__(self):
        return mark("copy")

    def __deepcopy__(self, memo):
        return mark("deepcopy")


class Reduced:
    def __reduce__(self):
        return mark, ("unpickled",)


def finalized():
    x = thing()
    weakref.finalize(x, mark, "finalize")
    weakref.ref(x, mark)
    del x
    gc.collect()


def at_exit():
    atexit.register(mark, "exit")
    atexit._run_exitfuncs()


@functools.singledispatch
def generic(x):
    return mark("any")


@generic.register
def _(x: int):
    return mark("int")


group(
    FOLLOWED, "functools",
    lambda: wrapper(3), lambda: functools.wraps(key)(wrapper)(3), lambda: copy.copy(Copied()),
    lambda: (Attributes().single(1), Attributes().single("")), lambda: copy.deepcopy([Copied()]),
    lambda: (generic(1), generic("")),
)  # fmt: skip
def started():
    out = queue.SimpleQueue()
    _thread.start_new_thread(lambda: out.put(mark("started")), ())
    return out.get()


class Partial(functools.partial):
    pass


class Deleted:
    def __del__(self):
        mark("del")


class Written:
    def write(self, text):
        mark(text)


POOL = concurrent.futures.ThreadPoolExecutor(1)
group(
    FOLLOWED, "executor",
    started, lambda: POOL.submit(key, 3).result(), lambda: POOL.submit(fails("__len__").__len__).result(),
)  # fmt: skip
group(
    NATIVE, "libraries",
    lambda: Deleted() and None,
    lambda: Partial(key, 3)(),
    lambda: uncached(3), lambda: pickle.loads(pickle.dumps(Reduced())), finalized,
    lambda: np.vectorize(key, otypes=[float])([1.5]).tolist(), lambda: np.frompyfunc(key, 1, 1)(3),
    lambda: np.apply_along_axis(lambda v: mark(v.sum()), 0, np.ones((2, 1))).tolist(),
    lambda: eval("mark(3)"), lambda: exec("mark(3)"), lambda: "%s" % Text(), lambda: "{}".format(Text()),
    lambda: math.sqrt(returns("__float__", 4.0)), lambda: [1, 2][returns("__index__", 1)],
    lambda: range(returns("__index__", 1)),
    lambda: heapq.heapify(ranked(2, 1)), lambda: bisect.bisect(ranked(1, 2), Ranked(1)),
)  # fmt: skip
group(
    NATIVE, "containers",
    lambda: {thing(__hash__=lambda self: mark(1)): 2} and 1, lambda: hash((returns("__hash__", 3),)) and 1,
    lambda: ranked(1) == ranked(1), lambda: ranked(1) < ranked(2), lambda: Ranked(1) in [Ranked(1)],
    lambda: [Ranked(2)].index(Ranked(2)), lambda: repr([Shown()]), lambda: str({1: Shown()}),
    lambda: {}.setdefault(thing(__hash__=lambda self: mark(1)), 2),
)  # fmt: skip


# -- statements, generators, threads ---------------------------------------------------------------


def entered():
    with Manager("a") as a, Manager("b"):
        return mark(a)


def suppressed():
    with Manager():
        raise ValueError("suppressed")
    return mark("after")


@contextlib.contextmanager
def managed():
    mark("before")
    yield mark("value")
    mark("after")


def by_generator():
    with managed() as value:
        return value


def numbers(n):
    for i in range(n):
        yield mark(i)


def resumed():
    g = numbers(3)
    return next(g), list(g)


def delegated():
    def outer():
        yield mark("first")
        yield from numbers(2)

    return list(outer())


def sent():
    def echo():
        got = yield mark("start")
        while got:
            got = yield mark(got)

    g = echo()
    return next(g), g.send(1), g.send(2), next(g, "end")


def handled():
    try:
        fails("__len__").__len__()
    except ValueError as error:
        return mark(str(error))
    finally:
        mark("finally")


async def awaited(n):
    await asyncio.sleep(0)
    return mark(n)


async def tasks():
    started = [asyncio.ensure_future(awaited(i)) for i in range(2)]
    async with Manager():
        return await asyncio.gather(*started, awaited(2))


class Awaitable:
    def __await__(self):
        yield from asyncio.sleep(0).__await__()
        return mark("await")


async def iterated():
    async def items():
        for i in range(2):
            yield mark(i)

    return [i async for i in items()]


async def waiting():
    return await Awaitable()


class Raising:
    def __enter__(self):
        raise ValueError(mark("enter"))

    def __exit__(self, *exc):
        mark("exit")


class Failing(Manager):
    def __exit__(self, kind, exc, traceback):
        mark((kind.__name__, str(exc), traceback is exc.__traceback__))
        raise KeyError("exit") from exc


def failing(manager):
    try:
        with manager:
            raise ValueError("body")
    except Exception as error:
        return mark(type(error)), repr(error.__cause__), repr(error.__context__)


def left_early():
    for i in range(3):
        with Manager(i):
            if i == 1:
                break
            continue
    return i


def threaded():
    out = queue.Queue()
    t = threading.Thread(target=lambda: out.put(mark("thread")))
    t.start()
    t.join()
    return out.get()


class Running(threading.Thread):
    def run(self):
        self.out = mark("run")


def thread_of_its_own():
    t = Running()
    t.start()
    t.join()
    return t.out


def submitted():
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(key, 3).result(), list(pool.map(key, [1, 2]))


def pickled_by_python():
    return pickle._loads(pickle._dumps(Reduced()))


STATEMENTS = {
    "with": entered, "with suppresses": suppressed, "contextmanager": by_generator, "generator": resumed,
    "yield from": delegated, "send": sent, "try": handled,
    "generator expression": lambda: sum(mark(x) for x in [1, 2]),
    "asyncio": lambda: asyncio.run(tasks()), "async for": lambda: asyncio.run(iterated()),
    "to_thread": lambda: asyncio.run(asyncio.to_thread(key, 3)),
    "thread": threaded, "thread subclass": thread_of_its_own, "executor": submitted,
    "pickle in Python": pickled_by_python,
    "ExitStack": lambda: contextlib.ExitStack().enter_context(Manager()),
    "enter raises": lambda: failing(Raising()), "exit raises": lambda: failing(Failing()),
    "break": left_early, "with of nothing": lambda: failing(thing()),
    "without exit": lambda: failing(thing(__enter__=lambda self: mark())),
}  # fmt: skip
FOLLOWED |= STATEMENTS
FOLLOWED["print to"] = lambda: print("text", file=Written())
NATIVE["__await__"] = lambda: asyncio.run(waiting())


# -- the tests -------------------------------------------------------------------------------------


def follows(program, ctx):
    """That the marks of a plain run all arrive at the context, and that nothing else differs."""
    expected, marks = outcome(program)
    got, native = outcome(lambda: overdub(ctx, program))
    assert got == expected
    assert ctx.seen == marks
    assert not (type(ctx) is Follow and native)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ctx", [Follow, Hooked])
@pytest.mark.parametrize("name", FOLLOWED)
def test_python_code_that_c_code_runs_is_under_the_context(name, ctx):
    follows(FOLLOWED[name], ctx([]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NATIVE)
def test_python_code_that_is_not_followed_runs_as_it_is(name):
    program = NATIVE[name]
    expected, marks = outcome(program)
    ctx = Follow([])
    assert outcome(lambda: overdub(ctx, program)) == (expected, marks)
    assert marks and not ctx.seen


@pytest.mark.filterwarnings("ignore")
def test_a_pool_s_threads_do_not_stay_under_the_context():
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        ctx = Follow([])
        assert overdub(ctx, lambda: pool.submit(key, 3).result()) == -3
        assert pool.submit(key, 4).result() == -4
    assert ctx.seen == ["-3"]


class Roots:
    def __init__(self):
        self.left = [9.0, 4.0, 1.0]

    def __iter__(self):
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration
        return math.sqrt(self.left.pop())

    def __lt__(self, other):
        return math.sqrt(4.0) < 1


class Root(Context):
    seen: list
    intercepts = tuple(KINDS)


@Root.rule(math.sqrt)
def _(ctx, x):
    ctx.seen.append(x)
    return x**0.5


class Counted(Context):
    calls: collections.Counter
    intercepts = tuple(KINDS)

    def prehook(self, f, args, kwargs):
        self.calls[f] += 1


STACKED = {
    "loop": lambda: loop(Roots()), "call": lambda: arguments(*Roots()), "list": lambda: list(Roots()),
    "sum": lambda: sum(Roots()), "unpack": lambda: unpacked(Roots()),
    "reduce": lambda: functools.reduce(operator.add, Roots()),
    "sorted": lambda: len(sorted([Roots(), Roots()])), "key": lambda: sorted([4.0, 1.0, 9.0], key=math.sqrt),
    "display": lambda: [*Roots()], "in": lambda: 7.0 in Roots(), "map": lambda: list(map(math.sqrt, Roots())),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("inner", [Root, Counted])
@pytest.mark.parametrize("name", STACKED)
def test_an_outer_context_follows_what_the_inner_one_does(name, inner):
    program, alone, outer = STACKED[name], Counted(collections.Counter()), Root([])
    expected = program()
    assert overdub(alone, program) == expected
    inner = inner([] if inner is Root else collections.Counter())
    assert overdub(outer, overdub, inner, program) == expected
    if isinstance(inner, Counted):
        assert inner.calls[math.sqrt] == len(outer.seen) >= alone.calls[math.sqrt] > 0
    else:
        assert len(inner.seen) == alone.calls[math.sqrt] > 0


@pytest.mark.parametrize("enter", [primitives.enter, primitives.enter_async])
@pytest.mark.parametrize("missing", ["enter", "exit", "nothing"])
def test_entering_says_what_the_statement_says(enter, missing):
    a = "a" if enter is primitives.enter_async else ""
    names = {n: (lambda self, *args: 3) for n in (f"__{a}enter__", f"__{a}exit__") if missing not in n}
    manager = thing(**names)

    def plainly():
        with manager as value:
            return value

    async def awaiting():
        async with manager as value:
            return value

    def plainly_async():
        awaiting().send(None)

    if missing == "nothing":
        leave, value = enter(manager)
        assert value == 3 and leave.__self__ is manager
        return
    with pytest.raises(TypeError) as error:
        enter(manager)
    with pytest.raises(TypeError) as expected:
        (plainly_async if a else plainly)()
    assert str(error.value) == str(expected.value)


@pytest.mark.parametrize("ctx", [Follow, Hooked])
def test_entering_runs_under_the_context_and_leaving_is_left_to_the_call(ctx):
    def program(manager):
        leave, value = primitives.enter(manager)
        return leave(None, None, None), value

    ctx = ctx([])
    assert overdub(ctx, program, Manager()) == (True, "value")
    assert ctx.seen == ["'value'", "True"]


def test_a_builtin_class_method_has_one_rule_and_super_its_own():
    class Ruled(Context):
        pass

    @Ruled.rule(dict.fromkeys)
    def _(ctx, cls, keys):
        return cls.__name__, keys

    @Ruled.rule(dict.update)
    def _(ctx, mapping, other):
        return "ruled"

    class Mapped(dict):
        def update(self, other):
            return super().update(other)

    assert overdub(Ruled(), lambda: dict.fromkeys([1])) == ("dict", [1])
    assert overdub(Ruled(), lambda: Mapped.fromkeys([1])) == ("Mapped", [1])
    assert overdub(Ruled(), lambda: Mapped().update(3)) == "ruled"
