"""Which row a function has."""

from __future__ import annotations

import _thread
import bisect
import builtins
import collections
import contextvars
import copy
import functools
import heapq
import itertools
import operator
import types
import warnings
import weakref
from typing import Any

from ctxdispatch.dispatch.instructions import PATTERNS
from ctxdispatch.dispatch.moving.choosing import arrange, choose
from ctxdispatch.dispatch.moving.plain import (
    Row,
    about,
    as_it_is,
    classes,
    enter,
    evaluate,
    of_receiver,
    resume,
    view,
    warn,
    without_tags,
)
from ctxdispatch.dispatch.moving.reading import attribute, contains, following, items, matched, read
from ctxdispatch.dispatch.moving.through import (
    accumulate,
    backwards,
    concatenate,
    delegated,
    display,
    kept,
    keywords,
    moved,
    of_each,
    spreading,
    to_dict,
)
from ctxdispatch.dispatch.moving.writing import add_member, delete, set_item, take, write
from ctxdispatch.dispatch.protocols import HANDLERS
from ctxdispatch.dispatch.protocols.callbacks import PYTHON
from ctxdispatch.ir import matching, primitives
from ctxdispatch.ir.own_builtins import own as __builtins__  # type: ignore[no-redef]  # noqa: F401


def _generator() -> Any:
    yield


_GENERATOR = type(_generator())

_OF_HEAPS = [
    getattr(heapq, name)
    for name in (
        "_heapify_max", "_heapreplace_max", "_heappop_max",
        "heapify_max", "heappush_max", "heappop_max", "heappushpop_max", "heapreplace_max",
    )
    if hasattr(heapq, name)
]  # fmt: skip
"""Heaps that have the largest item first, which `heapq.nsmallest` keeps too."""

_ONE = spreading(0, 1)

_ALL = spreading()

_OF_SELF = spreading(1)

_TABLE: list[tuple[Row, tuple[Any, ...]]] = [
    (without_tags, (
        builtins.type, builtins.id, builtins.callable, builtins.hasattr,
        matching.match_sequence, matching.match_mapping,
        object.__new__, object.__init__, weakref.ref, weakref.proxy, type.__call__, object.__init_subclass__,
    )),
    (classes, (builtins.isinstance, builtins.issubclass)),
    (about, (
        builtins.len, builtins.bool, operator.not_, operator.truth, operator.is_, operator.is_not,
    )),
    (attribute, (builtins.getattr, object.__getattribute__, type.__getattribute__)),
    (read, (
        operator.getitem, list.__getitem__, tuple.__getitem__, dict.__getitem__, dict.get,
        collections.deque.__getitem__, collections.defaultdict.__missing__,
    )),
    (take, (
        list.pop, dict.pop, dict.popitem, set.pop, collections.deque.pop, collections.deque.popleft,
        collections.OrderedDict.popitem,
    )),
    (matched, (matching.match_keys, matching.match_class)),
    (following, (builtins.next,)),
    (set_item, (
        operator.setitem, list.__setitem__, dict.__setitem__, collections.deque.__setitem__,
        collections.OrderedDict.__setitem__,
    )),
    (write, (
        builtins.setattr, object.__setattr__, type.__setattr__, list.append, list.insert, dict.setdefault,
        collections.deque.append, collections.deque.appendleft, collections.deque.insert,
    )),
    (delete, (
        operator.delitem, builtins.delattr, object.__delattr__, list.__delitem__, dict.__delitem__,
        list.clear, dict.clear, set.clear, list.reverse, collections.deque.clear, collections.deque.rotate,
        collections.deque.reverse, collections.OrderedDict.move_to_end,
    )),
    (add_member, (set.add, set.discard, set.remove, primitives.set_add, primitives.map_add)),
    (display, (primitives.build_set, primitives.build_map)),
    (spreading(0, 1), (
        builtins.list, builtins.tuple, primitives.unpack, primitives.unpack_ex, primitives.list_to_tuple,
        collections.deque,
    )),
    (spreading(0, 1, live=True), (
        builtins.iter, builtins.enumerate, itertools.cycle, itertools.pairwise, itertools.tee,
        itertools.islice, itertools.permutations, itertools.combinations,
        itertools.combinations_with_replacement,
    )),
    (delegated, (primitives.delegated,)),
    (spreading(0, 1, result=True), (builtins.set, builtins.frozenset)),
    (spreading(live=True), (
        builtins.zip, itertools.chain, itertools.zip_longest, itertools.product, itertools.compress,
    )),
    (spreading(0, 1, live=True, rest=moved), (itertools.groupby,)),
    (spreading(1, live=True), (
        builtins.map, builtins.filter, itertools.filterfalse, itertools.takewhile, itertools.dropwhile,
    )),
    (spreading(1), (
        primitives.list_extend, list.extend, list.__init__, list.__iadd__, tuple.__new__,
        collections.deque.extend, collections.deque.extendleft, collections.deque.__init__,
        collections.deque.__iadd__,
    )),
    (spreading(1, result=True), (
        primitives.set_update, set.__init__, set.update, set.union, frozenset.union, set.intersection,
        set.difference, set.intersection_update, set.difference_update, set.symmetric_difference,
        collections._count_elements,  # type: ignore[attr-defined]
    )),
    (backwards, (builtins.reversed,)),
    (spreading(1, 2, rest=moved), (functools.reduce,)),
    (spreading(1, 2, result=True, rest=moved), (dict.__dict__["fromkeys"],)),
    (of_each, (itertools.chain.__dict__["from_iterable"], itertools.starmap)),
    (to_dict, (
        builtins.dict, dict.__init__, dict.update, collections.OrderedDict, collections.OrderedDict.__init__,
        collections.OrderedDict.update, collections.defaultdict, collections.defaultdict.__init__,
        primitives.dict_update,
    )),
    (keywords, (primitives.dict_merge,)),
    (evaluate, (builtins.eval, builtins.exec)),
    (warn, (warnings.warn,)),
    (concatenate, (
        operator.add, operator.iadd, operator.mul, operator.imul, operator.or_, operator.ior,
    )),
    (choose, (builtins.max, builtins.min, builtins.sorted)),
    (arrange, (
        list.sort, heapq.heapify, heapq.heappush, heapq.heappop, heapq.heappushpop, heapq.heapreplace,
        bisect.insort_left, bisect.insort_right, *_OF_HEAPS,
    )),
    (contains, (operator.contains, primitives.not_contains, dict.__contains__)),
    (enter, (primitives.enter, primitives.enter_async)),
    (view, (
        dict.keys, dict.values, dict.items, list.copy, dict.copy, set.copy, collections.deque.copy,
        copy.copy, copy.deepcopy,
    )),
    (resume, (_GENERATOR.send, _GENERATOR.throw, _GENERATOR.close)),
    (accumulate, (itertools.accumulate,)),
    (kept, (itertools.repeat,)),
    (as_it_is, (
        functools.partial, types.SimpleNamespace, types.MappingProxyType, types.MethodType,
        _thread.start_new_thread, builtins.super, staticmethod, classmethod, property, operator.call,
        operator.itemgetter,
    )),
    (of_receiver, (contextvars.ContextVar.set, contextvars.ContextVar.get, contextvars.Context.run)),
]  # fmt: skip

if hasattr(_thread, "start_joinable_thread"):
    _TABLE.append((as_it_is, (_thread.start_joinable_thread,)))

ROWS: dict[int, Row] = {id(f): row for row, functions in _TABLE for f in functions}

_SPREAD = (choose, arrange, of_each, to_dict, keywords, accumulate, backwards)
SPREADING: frozenset[Row] = frozenset(row for row, _ in _TABLE if row in _SPREAD or row.__name__ == "row")
"""Those that go through operands."""

_BY_TYPE: dict[type, Row] = {operator.itemgetter: items}
"""The same by the type of the callee."""


def row_of(callee: Any) -> Row | None:
    """That of the function itself, of its type, or of what its Python code hands on; None: there is none."""
    found = ROWS.get(id(callee)) or _BY_TYPE.get(type(callee))
    if found is None and type(callee) is types.FunctionType:
        hands_on = (callee.__module__, callee.__qualname__) in PYTHON
        return as_it_is if hands_on else None
    return found


RULED: list[Any] = [
    *HANDLERS, primitives.build_set, primitives.build_map, primitives.set_add, primitives.map_add,
    primitives.build_string, builtins.eval, builtins.exec, warnings.warn, *PATTERNS.values(),
]  # fmt: skip
"""What does not reach `fallback` with the operands that the program gave."""
