"""Which of Python's own functions have which rule."""

from __future__ import annotations

import builtins
import collections
import copy
import functools
import heapq
import itertools
import operator
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from ctxdispatch.ir import primitives
from ctxdispatch_contexts.sparsity.calls import Rule
from ctxdispatch_contexts.sparsity.iterables import (
    any_all,
    collecting,
    cycled,
    eagerly,
    flattened,
    iter_,
    next_,
    repeated,
    reversed_,
    unpacking,
)
from ctxdispatch_contexts.sparsity.python_rules import (
    attributes_of,
    by_name,
    call_ex,
    changing,
    check_bound,
    contains,
    copied,
    deeply_copied,
    getattr_,
    getitem,
    hasattr_,
    identity,
    isinstance_,
    making,
    moving,
    of_container_or_array,
    plain,
    setattr_,
    setitem,
    sort_,
    text,
    truth,
    type_,
)


def _methods(cls: type, names: str) -> Iterable[Any]:
    return (getattr(cls, name) for name in names.split() if hasattr(cls, name))


def container_rules() -> dict[Any, Rule]:
    return {**_function_rules(), **_method_rules()}


def _function_rules() -> dict[Any, Rule]:
    p = primitives
    return {
        **dict.fromkeys((p.load_global, p.cell_get, p.import_name, p.import_from, builtins.super), plain),
        **dict.fromkeys((builtins.property, builtins.callable, builtins.id, object.__getattribute__), plain),
        **dict.fromkeys((builtins.staticmethod, builtins.classmethod, types.MethodType), plain),
        **dict.fromkeys((p.build_tuple, p.list_to_tuple, functools.partial, builtins.slice), plain),
        **dict.fromkeys((p.build_list, p.build_set, p.build_map, p.make_cell, p.make_function), making),
        **dict.fromkeys((object.__new__, builtins.object, types.SimpleNamespace), making),
        **dict.fromkeys((builtins.eval, builtins.exec, builtins.locals, builtins.globals), by_name),
        **dict.fromkeys((tuple.__new__, operator.itemgetter, operator.attrgetter), plain),
        **dict.fromkeys((p.list_append, p.set_add, p.map_add, p.cell_set, p.cell_delete), moving),
        **dict.fromkeys((p.store_global, p.delete_global), moving),
        **dict.fromkeys((p.dict_update, p.dict_merge), changing),
        **dict.fromkeys((heapq.heappush, heapq.heappop, heapq.heapify), moving),
        **dict.fromkeys((heapq.heappushpop, heapq.heapreplace), moving),
        functools._lru_cache_wrapper: plain, functools.update_wrapper: plain,
        **dict.fromkeys((p.list_extend, p.set_update), changing),
        **dict.fromkeys((builtins.list, builtins.tuple, builtins.set, builtins.frozenset), collecting),
        **dict.fromkeys((builtins.dict, collections.deque, collections.OrderedDict), collecting),
        **dict.fromkeys((builtins.zip, builtins.enumerate, itertools.chain, itertools.product), eagerly),
        **dict.fromkeys((itertools.islice, itertools.pairwise), eagerly),
        **dict.fromkeys((itertools.combinations, itertools.permutations, itertools.zip_longest), eagerly),
        **dict.fromkeys((itertools.combinations_with_replacement,), eagerly),
        itertools.chain.from_iterable: flattened, itertools.repeat: repeated, itertools.cycle: cycled,
        **dict.fromkeys((builtins.bool, operator.truth, operator.not_), truth),
        **dict.fromkeys((operator.is_, operator.is_not), identity),
        **dict.fromkeys((operator.contains, p.not_contains), contains),
        **dict.fromkeys((builtins.any, builtins.all), any_all),
        **dict.fromkeys((p.unpack, p.unpack_ex), unpacking),
        **dict.fromkeys((builtins.str, builtins.repr, builtins.format, p.format_value), text),
        **dict.fromkeys((p.build_string, builtins.ascii), text),
        **{m: text for m in vars(str).values() if isinstance(m, types.MethodDescriptorType)},
        **dict.fromkeys((float.as_integer_ratio, np.float64.as_integer_ratio), text),
        builtins.vars: attributes_of, builtins.dir: by_name,
        builtins.reversed: reversed_, builtins.getattr: getattr_, builtins.setattr: setattr_,
        object.__setattr__: setattr_, builtins.delattr: moving, operator.getitem: getitem,
        operator.setitem: setitem, operator.delitem: moving, builtins.isinstance: isinstance_,
        builtins.issubclass: plain, builtins.type: type_, builtins.hasattr: hasattr_,
        p.check_bound: check_bound,
        builtins.len: of_container_or_array, builtins.iter: iter_, builtins.next: next_, p.call_ex: call_ex,
        copy.copy: copied, copy.deepcopy: deeply_copied,
    }  # fmt: skip


SPECIAL_METHODS: dict[str, Rule] = {
    "__getitem__": getitem, "__setitem__": setitem, "__delitem__": moving, "__contains__": contains,
    "__iter__": iter_, "__add__": plain, "__mul__": plain, "__rmul__": plain, "__or__": plain,
    "__ror__": plain,
    "__iadd__": changing, "__imul__": moving, "__ior__": changing,
}  # fmt: skip
"""Of containers, called by name."""


def _method_rules() -> dict[Any, Rule]:
    """Of the methods of containers."""
    found: dict[Any, Rule] = {}
    for cls in (list, dict, set, collections.deque):
        changes = (
            "append appendleft extend extendleft insert pop popleft popitem remove clear sort reverse rotate"
        )
        for m in _methods(cls, changes + " update setdefault add discard"):
            found[m] = changing if m.__name__ in ("extend", "extendleft", "update") else moving
        found.update(dict.fromkeys(_methods(cls, "get keys values items index count"), plain))
        found.update(dict.fromkeys(_methods(cls, "copy"), making))
        for name, rule in SPECIAL_METHODS.items():
            found.update(dict.fromkeys(_methods(cls, name), rule))
    found[list.sort] = sort_
    found.update(dict.fromkeys(_methods(tuple, "index count"), plain))
    return found
