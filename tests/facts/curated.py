"""Operands that chance does not find: keywords by name, and calls of single callables."""

from __future__ import annotations

import collections
import functools
import io
import itertools
import operator
import re
import struct
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.facts.operands import (
    Callback,
    File,
    Giving,
    Iterator,
    LoggedArray,
    LoggedDict,
    LoggedList,
    Makers,
    Number,
    Plain,
    Sequence,
    _float,
    _matrix,
    text,
)  # fmt: skip

KEYWORDS: dict[str, Makers] = {
    "key": [Callback],
    "default": [lambda: [1.5], Number],
    "start": [lambda: [1.5], Number, lambda: 1],
    "initial": [lambda: [1.5], Number, lambda: 1.5],
    "func": [Callback],
    "function": [Callback],
    "fillvalue": [lambda: [1.5]],
    "iterable": [lambda: [[1.5], [2.5]], lambda: [Number(), Number()], lambda: Iterator([Number(), 1.5])],
    "object": [lambda: [1.5], Number],
    "x": [lambda: [1.5], Number],
    "step": [Number, lambda: 1],
    "repeat": [lambda: 2],
    "strict": [lambda: True],
    "dtype": [lambda: object, lambda: "f4", lambda: float],
    "axis": [lambda: 0, lambda: (0,), Number, lambda: Sequence(0, 1)],
    "copy": [lambda: False],
    "where": [lambda: True, lambda: np.array([True, False, True])],
    "keepdims": [lambda: True],
    "subok": [lambda: True],
    "order": [lambda: "F"],
    "ndmin": [lambda: 2],
    "sep": [text("ab")],
    "file": [File],
    "mycmp": [Callback],
    "overwrite_input": [lambda: True],
    "return_index": [lambda: True],
}

Calls = list[tuple[tuple[Callable[[], Any], ...], dict[str, Callable[[], Any]]]]


def _positional(*makers: Callable[[], Any]) -> tuple[tuple[Callable[[], Any], ...], dict[str, Any]]:
    return makers, {}


def _named(*makers: Callable[[], Any], **named: Callable[[], Any]) -> Any:
    return makers, named


def _x() -> Any:
    return np.array([1.5, 2.5, 3.5])


def _edges() -> Any:
    return np.array([0.5, 1.5, 2.5])


def _unsorted() -> Any:
    return np.array([3.5, 0.5, 2.5, 1.5])


def _nan() -> Any:
    return np.array([np.nan, 1.5])


def _ints() -> Any:
    return np.array([[1, 2], [3, 1]])


def _set(*items: str) -> Callable[[], Any]:
    """Of objects that no other set has."""
    return lambda: {_float(item)() for item in items}


def _pairs() -> Any:
    return Iterator([("a", [1.5]), ("b", [2.5])])


def _list() -> Any:
    return [[1.5], [2.5]]


def _item() -> Any:
    return [1.5]


async def _async_items(x: Any) -> Any:
    yield x


def _sent(x: Any) -> Any:
    """Gives what it holds."""
    made = _forever(x)
    next(made)
    return made


def _forever(x: Any) -> Any:
    while True:
        yield x


CURATED: dict[str, Calls] = {
    "itertools.accumulate": [_positional(lambda: [[1.5], [2.5]], Callback)],
    "functools.reduce": [
        _positional(Callback, lambda: Iterator([[1.5], [2.5]])),
        _positional(Callback, lambda: [[1.5]]),
        _positional(Callback, lambda: [], lambda: [1.5]),
    ],
    "re.Pattern.sub": [_positional(lambda: re.compile("a"), Callback, text("aab")),
                       _named(lambda: re.compile("a"), repl=Callback, string=text("aab")),
                       _positional(lambda: re.compile("a"), lambda: "b", text("ccb"))],
    "re.Pattern.subn": [_positional(lambda: re.compile("a"), Callback, text("aab"))],
    "builtins.iter": [_positional(Callback, lambda: 1.5), _positional(Callback, Number)],
    "builtins.sum": [_positional(lambda: [[1.5], [2.5]], lambda: []), _named(list, start=_item),
                     _positional(list, _item),
                     _named(_list, start=_list)],
    "builtins.aiter": [_positional(lambda: _async_items([1.5]))],
    "builtins.anext": [_positional(lambda: _async_items([1.5])),
                       _positional(lambda: _async_items([1.5]), _item)],
    "builtins.bytes": [_named(source=lambda: Iterator([1, 2]))],
    "builtins.bytearray": [_named(source=lambda: Iterator([1, 2]))],
    "builtins.property": [_named(fget=Callback)],
    "operator.delitem": [_positional(_list, lambda: 0)],
    "operator.iadd": [_positional(lambda: (_item(),), lambda: (_item(),)),
                      _positional(_list, lambda: Iterator([1.5]))],
    "operator.itruediv": [_positional(_x, _x)],
    "itertools.starmap": [_positional(Callback, lambda: [([1.5],)])],
    "collections.deque": [_named(iterable=lambda: Iterator([_item()]))],
    "heapq.heappushpop": [_positional(list, Number)],
    "builtins.delattr": [_positional(Plain, text("a"))],
    "builtins.filter": [_positional(Callback, _list)],
    "builtins.getattr": [_positional(Plain, text("zz"), _item), _positional(Plain, text("a")),
                         _positional(Plain, text("method")),
                         _positional(_x, text("T"))],
    "builtins.min": [_named(_list, key=Callback), _named(list, default=_item)],
    "builtins.memoryview": [_named(object=lambda: bytearray(b"ab"))],
    "builtins.next": [_positional(lambda: Iterator([]), _item)],
    "builtins.print": [_named(_item, file=io.StringIO)],
    "builtins.type": [_positional(text("A"), tuple, lambda: {"a": [1.5]})],
    "builtins.mappingproxy.__new__": [_named(lambda: types.MappingProxyType, mapping=lambda: {"a": [1.5]})],
    "builtins.list.__setitem__": [_positional(_list, lambda: slice(0, 1), lambda: Iterator([1.5]))],
    "builtins.bytearray.__setitem__": [
        _positional(lambda: bytearray(b"ab"), lambda: slice(0, 1), lambda: Iterator([1]))
    ],
    "builtins.dict.__eq__": [_positional(lambda: {"a": [1.5]}, lambda: LoggedDict(a=[1.5]))],
    "builtins.dict.__or__": [_positional(lambda: {"a": [1.5]}, lambda: LoggedDict(a=[1.5]))],
    "builtins.generator.send": [_positional(lambda: _sent([1.5]), lambda: 1.5)],
    "itertools.compress": [_named(data=lambda: Iterator([_item()]), selectors=lambda: Iterator([_item()]))],
    "collections.OrderedDict.pop": [
        _named(lambda: collections.OrderedDict(), lambda: "a", default=_item)
    ],
    "collections.OrderedDict.move_to_end": [
        _positional(lambda: collections.OrderedDict(a=[1.5], b=[2.5]), text("a"))
    ],
    "collections._count_elements": [_positional(dict, lambda: ["a", "b"])],
    "collections.defaultdict": [_positional(Callback, lambda: {"a": [1.5]})],
    "collections.defaultdict.__init__": [_positional(collections.defaultdict, Callback, _pairs)],
    "collections.defaultdict.__missing__": [
        _positional(lambda: collections.defaultdict(Giving([1.5])), text("a"))
    ],
    "functools.partial": [
        _named(Callback, a=_item), _positional(lambda: functools.partial(Callback(), [1.5]))
    ],
    "functools.partial.__call__": [_positional(lambda: functools.partial(Giving([1.5])), _item)],
    "functools.partial.__setattr__": [_positional(lambda: functools.partial(len), text("a"), _item)],
    "operator.call": [_positional(lambda: Giving([1.5]))],
    "operator.getitem": [_positional(_list, lambda: 0), _positional(_list, lambda: slice(0, 1)),
                         _positional(_x, lambda: slice(0, 2))],
    "operator.setitem": [_positional(_list, lambda: slice(0, 1), lambda: Iterator([1.5]))],
    "operator.iconcat": [_positional(lambda: ([1.5],), lambda: ([2.5],))],
    "operator.ior": [_positional(dict, _pairs)],
    "operator.imul": [_positional(lambda: (_item(),), lambda: 2), _positional(lambda: 2, _list)],
    "operator.mul": [_positional(lambda: 2, _list), _positional(_list, lambda: 2)],
    "operator.methodcaller": [_named(text("a"), a=_item)],
    "operator.methodcaller.__call__": [
        _positional(lambda: operator.methodcaller("a"), lambda: types.SimpleNamespace(a=Callback()))
    ],
    "bisect.insort": [_named(a=lambda: [1.5], x=lambda: 2.5)],
    "bisect.insort_left": [_named(a=lambda: [1.5], x=lambda: 2.5)],
    "copy.copy": [_named(x=lambda: LoggedList([1.5])), _positional(lambda: Giving([1.5]))],
    "copy.deepcopy": [_positional(_list, dict), _named(_list, memo=dict)],
    "builtins.setattr": [_positional(Sequence, text("ab"), lambda: [1.5])],
    "numpy.einsum": [_positional(lambda: "ij,j", _matrix, _x), _positional(lambda: "ij->ji", _matrix),
                     _positional(lambda: "ii->i", _matrix)],
    "numpy.apply_along_axis": [_positional(Callback, lambda: 0, _matrix)],
    "numpy.apply_over_axes": [_positional(Callback, _matrix, list),
                               _positional(Callback, _matrix, lambda: [0])],
    "numpy.fromfunction": [_positional(Callback, lambda: (2, 2))],
    "numpy.piecewise": [_positional(_x, lambda: [np.array([True, False, True])], lambda: [Callback(), 0.0])],
    "numpy.put_along_axis": [_positional(_matrix, lambda: np.array([[0, 1, 2]]), lambda: 9.0, lambda: 0)],
    "numpy.place": [_positional(_x, lambda: np.array([True, False, True]), lambda: [9.0])],
    "numpy.putmask": [_positional(_x, lambda: np.array([True, False, True]), lambda: [9.0])],
    "numpy.copyto": [_positional(_x, lambda: 9.0)],
    "numpy.fill_diagonal": [_positional(_matrix, lambda: 9.0)],
    "numpy.array2string": [_named(_x, max_line_width=lambda: np.array(75))],
    "numpy.array_repr": [_named(_x, max_line_width=lambda: np.array(75))],
    "numpy.divmod": [_named(_x, _x, out=lambda: (_x(), _x()))],
    "numpy.modf": [_named(_x, out=lambda: (_x(), _x()))],
    "scipy.special.airy": [_named(_x, out=lambda: (_x(), _x(), _x(), _x()))],
    "numpy.frompyfunc": [_positional(Callback, lambda: 1, lambda: 1)],
    "numpy.histogramdd": [_named(_x, bins=lambda: [_x()]), _positional(_x, lambda: [_x()])],
    "numpy.histogram_bin_edges": [
        _named(_x, bins=_edges), _named(_x, bins=lambda: _edges().view(LoggedArray))
    ],
    "numpy.histogram": [_named(_x, bins=_edges)],
    "numpy.histogram2d": [_positional(_x, _x, _edges), _named(_x, _x, bins=_edges)],
    "numpy.mintypecode": [_named(list, default=_x)],
    "numpy.trace": [_positional(_matrix, *[lambda: 0] * 2, lambda: 1, lambda: None, lambda: np.array(0.0))],
    "numpy.ndarray.to_device": [_positional(_x, text("cpu"))],
    "numpy.median": [_named(a=_unsorted, overwrite_input=lambda: True)],
    "numpy.quantile": [_named(a=_unsorted, q=lambda: 0.5, overwrite_input=lambda: True)],
    "numpy.nan_to_num": [_named(x=_nan, copy=lambda: False), _positional(_nan, lambda: False)],
    "numpy.ndarray.__new__": [_named(lambda: np.ndarray, lambda: (2,), buffer=lambda: bytearray(16))],
    "numpy.ndarray": [_named(lambda: (2,), buffer=lambda: bytearray(16))],
    "numpy.printoptions": [_named(formatter=lambda: {"float": Callback()})],
    "numpy.rot90": [_named(_matrix, k=lambda: np.array(5))],
    "numpy.fft.fftn": [_named(lambda: _matrix().view(LoggedArray), axes=tuple)],
    "numpy.random.default_rng": [
        _positional(lambda: np.random.default_rng(1)), _named(seed=np.random.MT19937)
    ],
    "numpy.random.MT19937": [_named(seed=lambda: np.random.SeedSequence(1))],
    "math.prod": [_named(list, start=_item)],
    "array.array": [_positional(lambda: "d", lambda: Iterator([1.5]))],
    "struct.iter_unpack": [_positional(lambda: "d", lambda: bytearray(8))],
    "_struct.Struct.iter_unpack": [_positional(lambda: struct.Struct("d"), lambda: bytearray(8))],
    "struct.pack_into": [_positional(lambda: "d", lambda: bytearray(8), lambda: 0, lambda: 1.5)],
    "_struct.Struct.pack_into": [
        _positional(lambda: struct.Struct("d"), lambda: bytearray(8), lambda: 0, lambda: 1.5)
    ],
    "io.BufferedReader": [_positional(lambda: io.BytesIO(b"ab")), _named(raw=lambda: io.BytesIO(b"ab"))],
    "_io.BytesIO.getbuffer": [_positional(lambda: io.BytesIO(b"ab"))],
    "_io.BufferedReader.detach": [_positional(lambda: io.BufferedReader(io.BytesIO(b"ab")))],
    "numpy.ndarray.sort": [_positional(lambda: np.array([2.0, 1.0]))],
    "builtins.list.__init__": [_positional(lambda: [1.5], lambda: LoggedList([[2.5]]))],
}  # fmt: skip
_SETS = [_set("1.5", "2.5"), _set("1.5"), _set("3.5")]
for _name in "and_ or_ xor sub iand ior ixor isub".split():
    CURATED.setdefault(f"operator.{_name}", []).extend(
        _positional(left, other)
        for one, other in itertools.permutations(_SETS, 2)
        for left in (one, lambda one=one: frozenset(one()))
    )
for _name in "add sub mul floordiv mod pow matmul and or xor lshift rshift".split():
    CURATED.setdefault(f"operator.i{_name}", []).append(_positional(_ints, _ints))
for _name, _given in {
    "random": 2, "standard_normal": 2, "standard_exponential": 3, "standard_gamma": 3
}.items():  # fmt: skip
    _rest = [lambda: 2.0] * (_name == "standard_gamma")
    _fill = [lambda: None, lambda: "f8", lambda: "zig"][: _given - len(_rest)]
    CURATED[f"numpy.random._generator.Generator.{_name}"] = [
        _named(lambda: np.random.default_rng(1), *_rest, out=_x),
        _positional(lambda: np.random.default_rng(1), *_rest, *_fill, _x),
    ]
