"""Operands that say what is done to them: every special method of theirs logs, and so does what they hold.

`POOL`, `ARRAYS` and `SELVES` have *makers*: a maker gives an equal and new operand each time, so that what an
operand was like before a call is what the next one is like.
"""

from __future__ import annotations

import array
import collections
import datetime
import decimal
import functools
import io
import itertools
import operator
import random
import re
import struct
import types
from collections.abc import Callable
from typing import Any

import numpy as np


class Log:
    """What was done, in order: (object, name of the method). Nothing, while it is off."""

    def __init__(self):
        self.on = False
        self.entries = []

    def add(self, obj, name):
        if self.on:
            self.entries.append((obj, name))


LOG = Log()


def logging(name: str, answer: Callable[..., Any]) -> Callable[..., Any]:
    def method(self, *args, **kwargs):
        LOG.add(self, name)
        on, LOG.on = LOG.on, False
        try:
            return answer(self, *args, **kwargs)
        finally:
            LOG.on = on

    method.__name__ = name
    return method


def _attribute(self, name):
    if LOG.on:
        special = name == "keys" or (name.startswith("__") and name.endswith("__"))
        LOG.entries.append((self, name if special else "__getattribute__"))
    return object.__getattribute__(self, name)


def logged(name: str, bases: tuple[type, ...] = (object,), **methods: Callable[..., Any]) -> type:
    """A class whose special methods log: these, and those that every object has."""
    answers = {**COMMON, **methods}
    made = {f"__{n}__" if n not in PUBLIC else n: answer for n, answer in answers.items()}
    body = {n: answer if n == "__init__" else logging(_shown(n), answer) for n, answer in made.items()}
    return type(name, bases, {**body, "__getattribute__": _attribute})


def _shown(name):
    """A method that is no special one is found as an attribute."""
    return name if name.startswith("__") or name == "keys" else "__getattribute__"


PUBLIC = {"keys", "write", "read", "readline", "readinto", "flush"}
_own = object.__getattribute__
COMMON: dict[str, Callable[..., Any]] = {
    "eq": lambda self, other: self is other,
    "ne": lambda self, other: self is not other,
    "hash": id,
    "repr": lambda self: "logged",
    "str": lambda self: "logged",
    "format": lambda self, spec: "logged",
    "reduce_ex": lambda self, protocol: (float, (1.5,)),
    "copy": lambda self: 1.5,
    "deepcopy": lambda self, memo: 1.5,
    "dir": lambda self: ["a"],
    "sizeof": lambda self: 64,
    "instancecheck": lambda self, obj: False,
    "subclasscheck": lambda self, cls: False,
    "setattr": object.__setattr__,
    "delattr": object.__delattr__,
}
_ORDER = {n: lambda self, other, n=n: n in ("lt", "le") for n in ("lt", "le", "gt", "ge")}
_ARITHMETIC = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift divmod"
_UNARY = "neg pos invert abs"
_TO_INT = "int index trunc floor ceil round"

Number = logged(
    "Number",
    **_ORDER,
    **{f"{side}{n}": lambda *args: 0.75 for n in _ARITHMETIC.split() for side in ("", "r")},
    **{f"i{n}": lambda *args: 0.75 for n in _ARITHMETIC.split() if n != "divmod"},
    **{n: lambda *args: 0.75 for n in _UNARY.split()},
    **{n: lambda *args: 1 for n in _TO_INT.split()},
    float=lambda self: 1.25,
    complex=lambda self: 1.25 + 0j,
    bool=lambda self: True,
)
Real = logged(
    "Real", **_ORDER, float=lambda self: 1.25, add=lambda self, other: 0.5, radd=lambda self, other: 0.5
)


class Iterator:
    """Each item once; `parent` is whose items they are."""

    def __init__(self, items, parent=None):
        self.items, self.place, self.parent = items, 0, parent

    def __iter__(self):
        LOG.add(self, "__iter__")
        return self

    def __next__(self):
        LOG.add(self, "__next__")
        if self.place >= len(self.items):
            raise StopIteration
        self.place += 1
        return self.items[self.place - 1]


def _items(self):
    return _own(self, "held")


def _init(self, *held):
    object.__setattr__(self, "held", list(held))


def _item(self, key):
    if key == 1 and type(key) is int:
        _noted(self)
    return _items(self)[key] if isinstance(key, (int, slice)) else 2.5


def _noted(self):
    LOG.entries.append((self, "items"))


def _setitem(self, key, value):
    _items(self)[0:1] = [value]


Sequence = logged(
    "Sequence",
    init=_init,
    len=lambda self: len(_items(self)),
    getitem=_item,
    setitem=_setitem,
    iter=lambda self: Iterator(_items(self), self),
    reversed=lambda self: Iterator(_items(self), self),
    contains=lambda self, item: True,
    length_hint=lambda self: 2,
    **{n: lambda self, other: [7.5] for n in ("add", "radd", "iadd", "mul", "rmul", "imul")},
)
Indexed = logged("Indexed", init=_init, len=lambda self: len(_items(self)), getitem=_item, setitem=_setitem)
Mapping = logged(
    "Mapping",
    init=_init,
    keys=lambda self: ["a", "b"],
    getitem=lambda self, key: _items(self)[0],
    iter=lambda self: Iterator(["a", "b"], self),
    len=lambda self: 2,
    contains=lambda self, key: True,
)
ArrayLike = logged("ArrayLike", array=lambda self, *args, **kwargs: np.array([1.5, 2.5, 3.5]))
Overriding = logged(
    "Overriding",
    array_ufunc=lambda self, *args, **kwargs: 8.5,
    array_function=lambda self, *args, **kwargs: 8.5,
)
Path = logged("Path", fspath=lambda self: "nowhere")
File = logged(
    "File",
    write=lambda self, text: len(text),
    flush=lambda self: None,
    read=lambda self, n=-1: "",
    readline=lambda self: "",
    fspath=lambda self: "nowhere",
)
Meta = type(
    "Meta",
    (type,),
    {n: logging(n, lambda *args: False) for n in ("__instancecheck__", "__subclasscheck__")},
)
Callback = logged("Callback", call=lambda self, *args, **kwargs: 1.5)
Giving = logged(
    "Giving",
    init=_init,
    **{n: lambda self, *args: _items(self)[0] for n in ("call", "copy", "deepcopy", "getattr")},
)
"""What is run of it returns what it holds."""
_SHOWN = {n: COMMON[n] for n in ("repr", "hash", "eq")}


def _inherited(base: type, names: str) -> type:
    """A class of it that logs what it is asked, and answers as the base does."""
    found = {_special(n): getattr(base, _special(n)) for n in names.split()}
    found |= {n: _one_by_one(found[n]) for n in ("__iter__", "keys", "__reversed__") if n in found}
    body = {n: logging(n, answer) for n, answer in found.items()}
    return type(f"Logged{base.__name__}", (base,), body)


def _special(name: str) -> str:
    return name if name in PUBLIC else f"__{name}__"


def _one_by_one(answer: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self: Iterator(list(answer(self)), self)


LoggedList = _inherited(list, "iter len getitem eq lt contains repr add iadd reversed")
LoggedDict = _inherited(dict, "iter keys len getitem eq contains repr or ior")
LoggedFloat = _inherited(float, "add radd mul float int hash eq lt gt bool repr format trunc round")
LoggedStr = _inherited(str, "str repr hash eq lt len iter getitem format mod")
LoggedArray = _inherited(
    np.ndarray, "array_ufunc array_function array_finalize array_wrap getitem len iter add eq float"
)

# -- makers --------------------------------------------------------------------------------------------------


def _float(text):
    return lambda: float(text)


def _vector(*items, dtype=float):
    return lambda: np.array(items, dtype)


def _objects():
    made = np.empty(3, object)
    made[:] = [Number(), Number(), Number()]
    return made


def _matrix():
    return np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])


def _generator():
    yield from (1.5, 2.5)


class Plain:
    """An object without special methods."""

    def __init__(self):
        self.a = [1.5]

    def method(self):
        return 1.5


def text(value: str) -> Callable[[], str]:
    """New each time, not interned."""
    return lambda: "".join(list(value))


Makers = list[Callable[[], Any]]
NUMBERS: Makers = [_float("1.5"), lambda: 1, lambda: 0, lambda: 2, lambda: -1, lambda: 0.5 + 1j, lambda: True,
                   lambda: None]  # fmt: skip
INSTRUMENTED: Makers = [
    Number, Real, Callback, ArrayLike, Overriding, Path, File,
    lambda: Sequence(Number(), Number()), lambda: Indexed(Number(), Number()), lambda: Mapping([1.5]),
    lambda: Sequence(Sequence(Number(), [1.5]), Sequence(Number(), [2.5])),
    lambda: Iterator([Number(), Number(), [1.5]]), lambda: Iterator([1.0, 2.0]),
    lambda: LoggedList([1.5, 2.5]), lambda: LoggedDict(a=[1.5]), lambda: LoggedFloat(1.5),
    lambda: LoggedStr("ab"), lambda: Meta("Class", (), {}),
]  # fmt: skip
CONTAINERS: Makers = [
    lambda: [3.5, 1.5, 2.5], lambda: [1.5, 3.5, 2.5], lambda: [2, 1], lambda: [],
    lambda: [Number(), Number()], lambda: [[1.5], [2.5]],
    lambda: [[Number(), [1.5]], [Number(), [2.5]]], lambda: ([1.5], [2.5]), lambda: (1, 2),
    lambda: (Number(), Number()), lambda: {"a": [1.5], "b": Number()},
    lambda: {1.5, 2.5}, lambda: {Number()}, lambda: frozenset([1.5]), lambda: frozenset([Number()]),
    lambda: collections.deque([[1.5], [2.5]]), lambda: bytearray(b"abcdefgh"),
    lambda: array.array("d", [1.5, 2.5]),
    lambda: iter([[1.5], [2.5]]), lambda: iter([1, 2]), _generator, lambda: [iter([1.5]), iter([2.5])],
    lambda: memoryview(bytearray(b"abcdefgh")), lambda: io.BytesIO(b"abc"), lambda: io.StringIO("abc"),
    lambda: [text("ab")(), text("cd")()], lambda: [b"ab", b"cd"],
    lambda: types.SimpleNamespace(a=[1.5]), lambda: [True, False, True], lambda: "aab",
]  # fmt: skip
OTHERS: Makers = [
    text("ab"), text("a"), lambda: b"ab", lambda: slice(0, 2), Plain, lambda: range(3),
]  # fmt: skip
POOL: Makers = NUMBERS + INSTRUMENTED + CONTAINERS + OTHERS + [_vector(1.5, 2.5, 3.5), _matrix]

REAL_ARRAYS: Makers = [
    _vector(1.5, 2.5, 3.5), _matrix, lambda: np.array([0.25, 0.5, 0.75], np.float32),
    lambda: np.asfortranarray(_matrix()), lambda: np.arange(1.0, 7.0)[::2], lambda: np.array(1.5),
    lambda: np.arange(1.0, 19.0).reshape(2, 3, 3),
]  # fmt: skip
OTHER_ARRAYS: Makers = [
    _vector(2, 0, 1, dtype=int), _vector(True, False, True, dtype=bool),
    _vector(1 + 1j, 2.0, 3.0, dtype=complex),
    _vector(), _objects, lambda: np.array(["ab", "cd"]), lambda: np.zeros(2, [("x", float), ("y", int)]),
    lambda: np.float64(1.5), lambda: np.array([1.5, 2.5, 3.5]).view(LoggedArray),
    lambda: np.array([[1, 0, 2]]), lambda: np.datetime64("2020-01-01"),
]  # fmt: skip
SMALL: Makers = [
    lambda: 1.5, lambda: 1, lambda: 0, lambda: 2, lambda: -1, lambda: None, lambda: (0, 1), lambda: (3,),
    lambda: (1, 0),
    lambda: (3, 3), lambda: [1.5, 2.5, 3.5], lambda: [[1.5, 2.5], [3.5, 4.5]], lambda: float, lambda: "f8",
    lambda: [np.arange(3.0), np.arange(3.0)], lambda: [_matrix(), _matrix()], lambda: slice(0, 2),
    lambda: "C",
    lambda: [1, 2], lambda: bytearray(bytes(24)), lambda: True, lambda: [Number(), Number(), Number()],
    lambda: (np.arange(3.0),), lambda: [np.array([True, False, True])], lambda: ["a", "b"], lambda: object,
    lambda: (np.array([0, 2]), np.array([1, 2])), lambda: [(3, 3)],
    lambda: array.array("d", [1.5, 2.5, 3.5]),
]  # fmt: skip
LOGGED: Makers = [
    ArrayLike, Overriding, Number, Callback, File, lambda: Sequence(1.5, 2.5, 3.5),
    lambda: Indexed(1.5, 2.5, 3.5),
    lambda: Sequence(Number(), Number(), Number()), lambda: Iterator([1.5, 2.5]), Path,
    lambda: Mapping([1.5]), lambda: LoggedFloat(1.5),
]  # fmt: skip
ARRAYS: Makers = REAL_ARRAYS + OTHER_ARRAYS + SMALL + LOGGED


_UFUNCS: Makers = [lambda: np.add, lambda: np.multiply, lambda: np.maximum, lambda: np.subtract]
_ITERATORS: Makers = [
    lambda: iter([[1.5], [2.5]]), lambda: iter(([1.5], [2.5])), lambda: iter({"a": 1.5}), lambda: iter({1.5}),
    lambda: iter("ab"), lambda: iter(range(3)), lambda: reversed([[1.5], [2.5]]),
    lambda: zip([[1.5]], [[2.5]]),
    lambda: map(Callback(), [[1.5]]), lambda: filter(Callback(), [[1.5]]), lambda: enumerate([[1.5]]),
    _generator,
    lambda: itertools.chain([[1.5]], [[2.5]]), lambda: itertools.cycle([[1.5]]), lambda: itertools.count(1.5),
    lambda: itertools.islice([[1.5]], 1), lambda: itertools.repeat([1.5], 2),
    lambda: itertools.tee([[1.5]])[0],
    lambda: itertools.accumulate([1.5, 2.5], Callback()), lambda: itertools.groupby([[1.5]], Callback()),
    lambda: itertools.starmap(Callback(), [([1.5],)]), lambda: itertools.takewhile(Callback(), [[1.5]]),
    lambda: itertools.product([[1.5]], [[2.5]]), lambda: itertools.permutations([[1.5], [2.5]]),
    lambda: itertools.zip_longest([[1.5]], [[2.5]]), lambda: itertools.compress([[1.5]], [1]),
    lambda: iter({"a": [1.5]}.values()), lambda: iter({"a": [1.5]}.items()),
    lambda: iter(collections.deque([[1.5]])),
    lambda: re.finditer("a", "aa"), lambda: iter(Callback(), 2.5), lambda: struct.iter_unpack("d", bytes(16)),
    lambda: iter(Indexed([1.5], [2.5])), lambda: iter(_matrix()), lambda: iter(bytearray(b"ab")),
]  # fmt: skip
_VALUES: Makers = [
    lambda: [3.5, 1.5, 2.5], lambda: [[1.5], [2.5]], lambda: [Number(), Number()], lambda: ([1.5], [2.5]),
    lambda: (Number(), Number()), lambda: {"a": [1.5], 1: [2.5]}, lambda: {1.5, 2.5},
    lambda: {Number()}, lambda: frozenset([1.5, 2.5]), lambda: frozenset([Number()]), text("ab"),
    lambda: "%s {0} {a}",
    lambda: b"ab", lambda: bytearray(b"abcdefgh"), lambda: memoryview(bytearray(b"abcdefgh")),
    lambda: memoryview(array.array("d", [1.5])), lambda: collections.deque([[1.5], [2.5]]),
    lambda: collections.deque([Number()]), lambda: collections.OrderedDict(a=[1.5], b=Number()),
    lambda: collections.defaultdict(Callback(), a=[1.5]), lambda: 3, lambda: _float("1.5")(), lambda: 1 + 2j,
    lambda: range(3), lambda: slice(0, 2, 1), lambda: array.array("d", [1.5, 2.5]),
    lambda: array.array("u", "ab"),
    lambda: True, lambda: {"a": [1.5]}.keys(), lambda: {"a": [1.5]}.values(), lambda: {"a": [1.5]}.items(),
    lambda: types.MappingProxyType({"a": [1.5]}), lambda: re.compile("(a)"), lambda: re.match("(a)", "ab"),
    lambda: datetime.date(2020, 1, 2), lambda: datetime.datetime(2020, 1, 2), lambda: datetime.time(1, 2),
    lambda: datetime.timedelta(1), lambda: datetime.timezone(datetime.timedelta(0)), datetime.tzinfo,
    lambda: decimal.Decimal("1.5"), decimal.Context, lambda: random.Random(1), lambda: struct.Struct("d"),
    lambda: io.BytesIO(b"abc\n"), lambda: io.StringIO("abc\n"),
    lambda: io.BufferedReader(io.BytesIO(b"abc\n")),
    lambda: io.BufferedWriter(io.BytesIO()), lambda: io.TextIOWrapper(io.BytesIO(b"abc\n")),
    lambda: functools.partial(Callback(), [1.5]), lambda: operator.itemgetter(0),
    lambda: operator.attrgetter("a"),
    lambda: operator.methodcaller("method", 1), lambda: functools.lru_cache(_generator), Plain,
    lambda: np.random.default_rng(1), lambda: np.random.RandomState(1), lambda: collections.Counter("ab"),
]  # fmt: skip
SELVES: dict[type, Makers] = {}
for _make in [*_VALUES, *_ITERATORS, *_UFUNCS, *REAL_ARRAYS, *OTHER_ARRAYS]:
    SELVES.setdefault(type(_make()), []).append(_make)
SELVES[np.ndarray] += SELVES[LoggedArray]
SELVES[np.generic] = [lambda: np.float64(1.5), lambda: np.int64(2)]
