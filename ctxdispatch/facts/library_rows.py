"""Rows of the C code of `itertools`, `functools`, `heapq`, `bisect`, `math`, `re`, `io` and their like, and
of iterators."""

from __future__ import annotations

import _statistics  # type: ignore[import-not-found]
import bisect
import builtins
import cmath
import collections
import contextvars
import copy
import functools
import heapq
import io
import itertools
import math
import operator
import re
import struct
import sys
import time
import types
import weakref
from typing import Any

from ctxdispatch.facts.fact import fact
from ctxdispatch.facts.python_rows import ATTRIBUTE, ITERATION, KEYS, NUMBER, REAL, TRUTH
from ctxdispatch.facts.table import family, has_row, made, of, rows

# -- what goes through items ---------------------------------------------------------------------------------

made(fact(looks="0..", iterates="0..", methods=ITERATION, result="copies 0.."), [itertools.chain])
made(
    fact(looks="0..", iterates="0..", methods=ITERATION, result="copies 0.., holds fillvalue"),
    [itertools.zip_longest],
)
made(
    fact(looks="0.. repeat", iterates="0..", methods=f"{ITERATION} index", result="copies 0.."),
    [itertools.product],
)
made(
    fact(
        looks="0 1 data selectors",
        inside=True,
        iterates="0 1 data selectors",
        methods=f"{ITERATION} {TRUTH}",
        result="copies 0 data 1 selectors",
    ),
    [itertools.compress],
)
made(
    fact(
        looks="0.. iterable r n",
        iterates="0 iterable",
        methods=f"{ITERATION} index",
        result="copies 0 iterable",
    ),
    [
        itertools.cycle,
        itertools.pairwise,
        itertools.islice,
        itertools.permutations,
        itertools.combinations,
        itertools.combinations_with_replacement,
        *([itertools.batched] if hasattr(itertools, "batched") else []),
    ],
)
rows(
    fact(looks="0 1", iterates="0", methods=f"{ITERATION} index copy", result="copies 0, holds 0"),
    [itertools.tee],
)
made(fact(looks="0", iterates="0", methods=ITERATION, result="copies 0"), [type(itertools.tee(())[0])])
made(
    fact(
        looks="1",
        inside=True,
        iterates="1",
        calls="0",
        result="copies 1, holds 0",
        methods=f"{TRUTH} {ITERATION}",
    ),
    [itertools.starmap, itertools.takewhile, itertools.dropwhile, itertools.filterfalse],
)
made(
    fact(
        looks="0 iterable initial",
        inside=True,
        iterates="0 iterable",
        calls="1 func",
        methods=f"add radd {ITERATION}",
        result="copies 0 iterable, holds 1 func initial",
    ),
    [itertools.accumulate],
)
made(
    fact(
        looks="0 iterable",
        inside=True,
        iterates="0 iterable",
        calls="1 key",
        methods=f"eq {TRUTH} {ITERATION}",
        result="copies 0 iterable, holds 1 key",
    ),
    [itertools.groupby],
)
made(fact(looks="1 times", methods="index", result="holds 0 object"), [itertools.repeat])
made(
    fact(looks="0.. start step", methods=f"add radd eq array_ufunc {NUMBER}", result="holds 0.. start step"),
    [itertools.count],
)
rows(
    fact(looks="1", inside=True, iterates="1", result="copies 1", methods=ITERATION),
    [vars(itertools.chain)["from_iterable"]],
)

# -- iterators -----------------------------------------------------------------------------------------------


class _Indexed:
    """A sequence that has no `__iter__`."""

    def __getitem__(self, index: int) -> int:
        return index


_HELD: tuple[Any, ...] = (
    *([], (), {}, {}.values(), {}.items(), set(), "", "é", b"", bytearray(), memoryview(b"")),
    *(range(0), range(2**70), collections.deque(), collections.OrderedDict()),
)
_LAZY: tuple[type, ...] = (
    zip, map, filter, enumerate, reversed, itertools.chain, itertools.zip_longest, itertools.product,
    itertools.compress, itertools.cycle, itertools.pairwise, itertools.islice, itertools.permutations,
    itertools.combinations, itertools.combinations_with_replacement, itertools.starmap, itertools.takewhile,
    itertools.dropwhile, itertools.filterfalse, itertools.accumulate, itertools.groupby, itertools.repeat,
    itertools.count, type(itertools.tee(())[0]),
)  # fmt: skip
ITERATORS: tuple[type, ...] = (
    *_LAZY,
    *{type(iter(held)) for held in _HELD},
    *{type(reversed(held)) for held in _HELD if hasattr(held, "__reversed__")},
    type(iter(int, 0)),
    type(iter(_Indexed())),
    type(re.finditer("", "")),
    type(struct.iter_unpack("b", b"")),
    types.GeneratorType,
)  # fmt: skip
of(fact(result="itself 0"), ITERATORS, "__iter__")
of(
    fact(
        iterates="0",
        looks="0",
        inside=True,
        calls="0",
        methods=f"{ITERATION} {TRUTH} add radd eq",
        result="item 0, copies 0, holds 0",
    ),
    ITERATORS,
    "__next__",
)
of(fact(iterates="0", looks="1", methods="index"), ITERATORS, "__setstate__")
of(fact(looks="0", inside=True, methods="len length_hint"), ITERATORS, "__length_hint__")
of(fact(result="copies 0"), ITERATORS, "__reduce__ __copy__")
of(
    fact(iterates="0", stores="0", keeps="1..", calls="0", effect=True, known=False),
    (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType),
    "send throw close",
)
_OF_DEQUES: tuple[type, ...] = (type(iter(collections.deque())), type(reversed(collections.deque())))
of(fact(looks="1 2", methods="index", result="copies 1"), _OF_DEQUES, "__new__")
family(fact(looks="0 1", methods=f"{KEYS} {ATTRIBUTE}"), ITERATORS)

# -- functools, operator, copy, weakref ----------------------------------------------------------------------

rows(fact(looks="1", iterates="1", calls="0", methods=ITERATION, known=False), [functools.reduce])
made(
    fact(looks="0", methods=f"getattr getattribute {ATTRIBUTE}", result="holds 0.. **, copies 0"),
    [functools.partial],
)
of(fact(stores="0", keeps="2"), (functools.partial,), "__setattr__")
rows(fact(result="holds 0 mycmp"), [functools.cmp_to_key])
of(
    fact(calls="0", keeps="1.. **", looks="1.. **", inside=True, methods=KEYS, known=False),
    (functools.partial, type(functools.lru_cache(len))),
    "__call__",
)
of(
    fact(looks="0..", inside=True, methods=f"getitem {ATTRIBUTE}", calls="1", known=False),
    (operator.itemgetter, operator.attrgetter, operator.methodcaller),
    "__call__",
)
of(fact(stores="0"), (type(functools.lru_cache(len)),), "cache_clear cache_info")
of(fact(known=False), (functools.partial, type(functools.lru_cache(len))), "__copy__ __deepcopy__ __get__")
rows(
    fact(
        result="itself 0 x, copies 0 x",
        looks="0 x 1 memo",
        inside=True,
        iterates="0 x",
        methods=f"copy deepcopy reduce_ex reduce {ATTRIBUTE} {ITERATION}",
        stores="1 memo",
        keeps="0 x",
        known=False,
    ),
    [copy.copy, copy.deepcopy],
)
rows(fact(result="holds 0 1"), [weakref.ref])
rows(fact(looks="0", iterates="0", methods=ITERATION, result="holds 0 1", known=False), [weakref.proxy])
of(fact(stores="0", keeps="1"), (contextvars.ContextVar,), "set")
of(fact(result="item 0, itself 1"), (contextvars.ContextVar,), "get")
of(fact(calls="1", known=False), (contextvars.Context,), "run")

# -- heaps, sorted lists, arrays of bytes --------------------------------------------------------------------


def _heap(*names: str) -> list[Any]:
    found = [getattr(heapq, name, None) for name in names]
    return [f for f in found if type(f) is types.BuiltinFunctionType]


_LESS = f"lt gt eq {TRUTH}"
rows(
    fact(stores="0", looks="0", inside=True, methods=_LESS),
    _heap("heapify", "_heapify_max", "heapify_max"),
)
rows(
    fact(stores="0", keeps="1", looks="0 1", inside=True, methods=_LESS),
    _heap("heappush", "heappush_max"),
)
rows(
    fact(stores="0", looks="0", result="item 0", inside=True, methods=_LESS),
    _heap("heappop", "_heappop_max", "heappop_max"),
)
rows(
    fact(stores="0", keeps="1", looks="0 1", result="item 0, itself 1", inside=True, methods=_LESS),
    _heap("heappushpop", "heapreplace", "_heapreplace_max", "heappushpop_max", "heapreplace_max"),
)
_SORTED = f"{_LESS} getitem len index getattribute array_ufunc"
rows(
    fact(
        stores="0 a",
        keeps="1 x",
        looks="0.. **",
        calls="key",
        inside=True,
        methods=f"insert {_SORTED}",
        iterates="0",
    ),
    [bisect.insort_left, bisect.insort_right],
)
rows(
    fact(looks="0.. **", calls="key", inside=True, methods=_SORTED, iterates="0"),
    [bisect.bisect_left, bisect.bisect_right],
)

# -- numbers, text -------------------------------------------------------------------------------------------

_NUMBERS = fact(looks="0.. **", methods=f"{NUMBER} floor ceil trunc")
_THROUGH = fact(
    looks="0.. start",
    inside=True,
    iterates="0",
    methods=f"{NUMBER} mul rmul add radd array_ufunc {ITERATION}",
)
rows(_THROUGH._replace(result=fact(result="itself start").result), [math.fsum, math.prod])
_PAIRS = [f for name in ("dist", "sumprod") if (f := getattr(math, name, None))]
rows(_THROUGH._replace(iterates=fact(iterates="0 1").iterates), _PAIRS)
_TOTAL = "atan tanh fabs isnan isinf isfinite copysign erf erfc atan2 hypot asinh degrees radians cbrt"
rows(
    _NUMBERS._replace(total=REAL),
    [f for name in _TOTAL.split() if (f := getattr(math, name, None))],
)
rows(
    _NUMBERS,
    [
        f
        for m in (math, cmath, _statistics)
        for f in vars(m).values()
        if callable(f) and not issubclass(type(f), type) and not has_row(f)
    ],
)
of(
    fact(calls="1 repl", looks="1..", inside=True, methods=f"class index {KEYS}"),
    (re.Pattern,),
    "sub subn",
)
of(fact(stores="0"), (struct.Struct,), "__init__")
of(fact(stores="1", looks="1..", methods=f"buffer index {NUMBER} {KEYS}"), (struct.Struct,), "pack_into")
rows(fact(stores="1", looks="0..", inside=True, methods=f"buffer index {NUMBER} {KEYS}"), [struct.pack_into])
rows(
    fact(looks="0..", inside=True, methods=f"buffer index {NUMBER} {TRUTH} {KEYS}"),
    [struct.pack, struct.unpack],
)
rows(
    fact(looks="0", inside=True, methods=KEYS, result="copies 1"),
    [struct.iter_unpack],
)
of(fact(result="holds 0, copies 1"), (struct.Struct,), "iter_unpack")

# -- files in memory, generators of random numbers, the clock ------------------------------------------------

_STREAMS = (
    io.BytesIO,
    io.StringIO,
    io.BufferedReader,
    io.BufferedWriter,
    io.BufferedRandom,
    io.TextIOWrapper,
)
made(
    fact(looks="0.. **", methods=f"buffer {TRUTH} index getattribute", result="holds 0.. **"),
    _STREAMS,
)
of(
    fact(
        iterates="0 1",
        stores="0 1",
        keeps="1",
        looks="1..",
        methods=f"buffer {ITERATION} {NUMBER} {ATTRIBUTE} {TRUTH} eq lt gt",
    ),
    _STREAMS,
    "__init__ __next__ close read read1 readinto readinto1 readline readlines seek truncate write writelines "
    "__setstate__ flush peek reconfigure",
)
of(fact(result="itself 0"), _STREAMS, "__iter__ __enter__")
of(fact(stores="0", result="view 0, item 0"), _STREAMS, "getbuffer detach")
family(fact(looks="0..", methods=f"index buffer {KEYS} {ATTRIBUTE}"), _STREAMS)
rows(fact(looks="1", methods="index", result="itself 0"), [io.text_encoding])
_CLOCKS = [f for f in vars(time).values() if type(f) is types.BuiltinFunctionType]
rows(fact(effect=True, repeats=True), _CLOCKS)
rows(fact(effect=True, known=False), [sys._getframe, sys.exc_info])
rows(fact(effect=True, repeats=True), [sys.getsizeof, sys.getrefcount, sys.getrecursionlimit])
rows(fact(), [sys.intern])

EXCEPTIONS = [
    cls for cls in vars(builtins).values() if issubclass(type(cls), type) and issubclass(cls, BaseException)
]
rows(fact(result="holds 0.. **"), EXCEPTIONS)
_LOOKING = (OSError, UnicodeError, SyntaxError)  # into what they are given
of(fact(stores="0", keeps="1.. **"), [e for e in EXCEPTIONS if not issubclass(e, _LOOKING)], "__init__")
__all__ = ["EXCEPTIONS", "ITERATORS"]
