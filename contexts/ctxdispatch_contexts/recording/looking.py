"""What C code looks at of the objects that it is given: all, and their items, unless it is known here.

    NOWHERE     xs.append(c), isinstance(c, C)      INSIDE    c in xs: of a hash table only at the key
    AT_KEY      d[c], d.get(c, y), s.add(c)         ORDERS    sorted(xs, key=f): at what f returns
"""

from __future__ import annotations

import builtins
import enum
import operator
import types
from collections import deque
from typing import Any

from ctxdispatch.ir import primitives


class Looks(enum.Enum):
    NOWHERE, AT_KEY, INSIDE, ORDERS, EVERYWHERE = range(5)


def at(callee: Any) -> Looks:
    return _KNOWN.get(id(callee), Looks.EVERYWHERE)


def takes_index(callee: Any) -> bool:
    return id(callee) in _WITH_INDEX


def is_prepared(callee: Any) -> bool:
    """Something is done about its operands before it gets them."""
    return id(callee) in _WITH_INDEX or id(callee) in _FROM_ITEMS


_NOWHERE = frozenset(map(id, (
    list.append, list.extend, list.clear, list.copy, list.reverse, list.__iter__, list.__len__,
    deque.append, deque.appendleft, deque.pop, deque.popleft, deque.extend, deque.clear,
    dict.values, dict.items, dict.keys, dict.copy, dict.clear, dict.popitem,
    operator.is_, operator.is_not, builtins.iter, builtins.next, builtins.enumerate, builtins.zip,
    builtins.reversed, builtins.map, builtins.filter, builtins.isinstance, builtins.issubclass, builtins.id,
    builtins.type, builtins.callable, builtins.list, builtins.tuple, builtins.super, builtins.getattr,
    builtins.setattr, builtins.delattr, builtins.len, builtins.vars, builtins.locals, builtins.globals,
    builtins.__build_class__, object.__new__, types.FunctionType, types.MethodType, types.CellType,
    primitives.build_list, primitives.build_tuple, primitives.list_append, primitives.list_extend,
    primitives.list_to_tuple, primitives.unpack, primitives.unpack_ex, primitives.build_string,
    primitives.import_name,
)))  # fmt: skip
"""They move objects, or ask for their classes; attributes and lengths are followed."""

_BY_KEY = frozenset(map(id, (
    operator.getitem, operator.setitem, operator.delitem, dict.get, dict.pop, dict.setdefault,
    dict.__setitem__, dict.__getitem__, dict.__delitem__, dict.__contains__, set.add, set.discard, set.remove,
    set.__contains__, primitives.set_add, primitives.map_add, list.insert, list.pop,
)))  # fmt: skip
"""Of a container they look at a key: its own, and the one that they are given."""
HASHED = (dict, set, frozenset)
_ORDERING = frozenset(map(id, (builtins.sorted, builtins.min, builtins.max, list.sort)))
"""By keys, where they are given a function for those, which is followed."""
_IN_HASHED = frozenset(map(id, (operator.contains, primitives.not_contains)))
_WITH_INDEX = frozenset(map(id, (operator.getitem, operator.setitem, operator.delitem)))
_FROM_ITEMS = frozenset(map(id, (set, frozenset, dict.fromkeys, set.update, str.join)))
_KNOWN = {
    **dict.fromkeys(_NOWHERE, Looks.NOWHERE), **dict.fromkeys(_BY_KEY, Looks.AT_KEY),
    **dict.fromkeys(_IN_HASHED, Looks.INSIDE), **dict.fromkeys(_ORDERING, Looks.ORDERS),
}  # fmt: skip
