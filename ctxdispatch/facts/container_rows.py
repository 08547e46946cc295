"""Rows of the methods of builtin containers: lists, sets, dicts, arrays of bytes."""

from __future__ import annotations

import array
import collections
import decimal
import operator
import types

from ctxdispatch.facts.fact import fact
from ctxdispatch.facts.python_rows import ATTRIBUTE, ITERATION, KEYS, NUMBER, TRUTH
from ctxdispatch.facts.table import family, made, of, rows

# -- lists, tuples, deques -----------------------------------------------------------------------------------

_deque = collections.deque
_SEQUENCES = (list, tuple, _deque, bytearray)
_NONE: type = types.NoneType
of(fact(stores="0", keeps="1", gives=_NONE), (list, _deque), "append appendleft")
of(fact(stores="0", looks="1 2", methods="index", gives=_NONE), (bytearray,), "append remove insert resize")
of(fact(stores="0", keeps="2", looks="1", methods="index", gives=_NONE), (list, _deque), "insert")
of(
    fact(stores="0", keeps="1", iterates="1", looks="1", methods=ITERATION, gives=_NONE),
    (list, tuple, _deque),
    "extend extendleft __init__",
)
of(
    fact(
        stores="0",
        keeps="1",
        iterates="1",
        looks="1",
        methods=ITERATION,
        result="itself 0",
        twin=operator.add,
    ),
    (list, _deque),
    "__iadd__",
)
of(
    fact(stores="0", looks="1", methods="buffer", result="itself 0", twin=operator.add),
    (bytearray,),
    "__iadd__",
)
of(fact(stores="0", looks="1", methods="index", result="itself 0", twin=operator.mul), _SEQUENCES, "__imul__")
of(fact(stores="0", looks="1", methods="index", result="item 0"), _SEQUENCES, "pop popleft")
of(fact(stores="0", looks="0 1", inside=True, methods="eq", gives=_NONE), (list, _deque), "remove")
of(fact(stores="0", gives=_NONE), _SEQUENCES, "clear reverse")
of(fact(stores="0", looks="1", methods="index"), (_deque,), "rotate")
of(fact(stores="0", looks="0", inside=True, calls="key", methods=f"lt gt {TRUTH}"), _SEQUENCES, "sort")
of(
    fact(stores="0", keeps="2", iterates="2", looks="1 2", methods=f"index {ITERATION}"),
    (list,),
    "__setitem__",
)
of(
    fact(stores="0", iterates="2", looks="1 2", inside=True, methods=f"index buffer {ITERATION}"),
    (bytearray,),
    "__setitem__",
)
of(fact(stores="0", keeps="2", looks="1", methods="index"), (_deque,), "__setitem__")
of(fact(stores="0", looks="1", methods="index"), _SEQUENCES, "__delitem__")
of(fact(looks="1", methods="index", result="item 0, copies 0"), _SEQUENCES, "__getitem__")
of(
    fact(looks="0..", inside=True, methods="eq ne lt gt le ge index buffer"),
    _SEQUENCES,
    "__contains__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__",
)
of(
    fact(looks="0..", inside=True, methods="eq ne lt gt le ge index buffer", gives=int),
    _SEQUENCES,
    "index count",
)
of(fact(looks="0", inside=True, methods=KEYS), _SEQUENCES, "__hash__")
of(fact(looks="0", inside=True, methods="repr"), _SEQUENCES, "__repr__ __str__")
of(fact(result="copies 0"), (list, _deque, bytearray), "copy __copy__")
of(
    fact(result="copies 0 1", looks="1", methods="index radd"),
    _SEQUENCES,
    "__add__ __mul__ __rmul__ __reversed__ __iter__",
)
made(fact(iterates="0", looks="0", methods=ITERATION, result="copies 0"), [list, tuple])
rows(
    fact(
        iterates="0 iterable",
        looks="0 iterable",
        methods=ITERATION,
        result="copies 0 iterable",
    ),
    [_deque],
)
family(fact(looks="1", methods=f"{KEYS} {ATTRIBUTE}"), (list, tuple, _deque))
of(fact(result="holds 0"), (tuple,), "__getnewargs__")
of(
    fact(stores="0", looks="1", inside=True, iterates="1", methods=f"index buffer {ITERATION}"),
    (bytearray,),
    "__init__ extend",
)
family(
    fact(looks="0..", inside=True, iterates="1", methods=f"{KEYS} {ATTRIBUTE} {ITERATION} index buffer bool"),
    (bytearray,),
)

# -- sets and dicts ------------------------------------------------------------------------------------------

_Proxy = types.MappingProxyType
_SETS = (set, frozenset)
_DICTS = (dict, collections.OrderedDict, collections.defaultdict)
of(fact(stores="0", keeps="1", looks="0 1", inside=True, methods=KEYS), _SETS, "add")
of(fact(stores="0", looks="0 1", inside=True, methods=KEYS), _SETS, "discard remove")
of(fact(stores="0", result="item 0"), _SETS, "pop")
of(fact(stores="0"), (*_SETS, *_DICTS), "clear")
of(
    fact(stores="0", keeps="1.. **", iterates="1..", looks="0..", inside=True, methods=f"{KEYS} {ITERATION}"),
    _SETS,
    "update __init__ intersection_update difference_update symmetric_difference_update",
)
of(
    fact(stores="0", keeps="1", looks="0..", inside=True, methods=f"{KEYS} {ITERATION}", result="itself 0"),
    _SETS,
    "__ior__ __iand__ __isub__ __ixor__",
)
of(
    fact(
        iterates="1..",
        looks="0..",
        inside=True,
        methods=f"{KEYS} {ITERATION}",
        result="copies 0..",
    ),
    _SETS,
    "union intersection difference symmetric_difference",
)
of(
    fact(looks="0..", inside=True, methods=KEYS, result="copies 0.."),
    _SETS,
    "__or__ __and__ __sub__ __xor__ __ror__ __rand__ __rsub__ __rxor__ copy",
)
of(fact(looks="0 1", inside=True, methods=f"{KEYS} {ITERATION} contains"), _SETS, "__contains__ __hash__")
of(
    fact(iterates="0 1", looks="0 1", inside=True, methods=f"{KEYS} {ITERATION}"),
    _SETS,
    "isdisjoint issubset issuperset __eq__ __ne__ __le__ __lt__ __ge__ __gt__",
)
of(fact(result="copies 0"), _SETS, "__iter__")
_MADE = fact(iterates="0", looks="0", inside=True, methods=f"{KEYS} {ITERATION}", result="copies 0")
rows(_MADE, [set])
made(_MADE, [frozenset])
family(fact(looks="0..", inside=True, methods=f"{KEYS} {ITERATION} repr"), _SETS)

_OF_KEY = KEYS
of(fact(looks="0 1", inside="1", methods=_OF_KEY, result="item 0, itself 2"), _DICTS, "get __getitem__")
of(
    fact(stores="0", looks="0 1", inside="1", methods=_OF_KEY, result="item 0, itself 2 default"),
    _DICTS,
    "pop",
)
of(
    fact(
        stores="0",
        keeps="1 2 default",
        looks="0 1",
        inside="1",
        methods=_OF_KEY,
        result="item 0, itself 2 default",
    ),
    _DICTS,
    "setdefault",
)
of(fact(stores="0", keeps="1 2", looks="0 1", inside="1", methods=_OF_KEY), _DICTS, "__setitem__")
of(fact(stores="0", looks="0 1", inside="1", methods=_OF_KEY), _DICTS, "__delitem__")
of(fact(stores="0", looks="1 2 last", inside="1", methods=f"{KEYS} {TRUTH}"), _DICTS, "move_to_end")
of(fact(looks="0 1", inside="1", methods=_OF_KEY), _DICTS, "__contains__")
of(fact(iterates="0 1", looks="0 1", inside=True, methods=_OF_KEY), _DICTS, "__eq__ __ne__")
of(fact(stores="0", looks="1 last", methods=TRUTH, result="copies 0"), _DICTS, "popitem")
_defaults = collections.defaultdict
of(
    fact(
        stores="0",
        keeps="1.. **",
        iterates="1",
        looks="0 1",
        inside=True,
        methods=f"{KEYS} {ITERATION} {ATTRIBUTE}",
    ),
    (dict, collections.OrderedDict),
    "update __init__",
)
of(
    fact(stores="0", keeps="1.. **", iterates="2", looks="0 2", inside=True, methods=f"{KEYS} {ITERATION}"),
    (_defaults,),
    "__init__",
)
of(
    fact(
        stores="0",
        keeps="1",
        iterates="1",
        looks="0 1",
        inside=True,
        methods=f"{KEYS} {ITERATION} {ATTRIBUTE}",
        result="itself 0",
        twin=operator.or_,
    ),
    _DICTS,
    "__ior__",
)
of(
    fact(looks="0 1", inside=True, iterates="0 1", methods=f"{KEYS} {ITERATION}", result="copies 0 1"),
    _DICTS,
    "__or__ __ror__",
)
of(fact(result="copies 0"), _DICTS, "keys values items __iter__ __reversed__")
of(fact(looks="0", iterates="0", methods=f"{ITERATION} keys", result="copies 0"), _DICTS, "copy __copy__")
of(
    fact(stores="0", calls="0", keeps="1", looks="1", inside=True, methods=KEYS, known=False),
    (_defaults,),
    "__missing__",
)
of(
    fact(
        iterates="1",
        looks="1",
        inside=True,
        methods=f"{KEYS} {ITERATION}",
        result="copies 1, holds 2",
    ),
    _DICTS,
    "fromkeys",
)
_MADE = fact(
    iterates="0",
    looks="0",
    inside=True,
    methods=f"{KEYS} {ITERATION} {ATTRIBUTE}",
    result="copies 0.., holds 0..",
)
rows(_MADE._replace(result=fact(result="copies 0, holds **").result), [dict, collections.OrderedDict])
rows(
    fact(
        iterates="1",
        looks="1",
        inside=True,
        methods=f"{KEYS} {ITERATION}",
        result="copies 1, holds 0 **",
    ),
    [_defaults],
)
rows(
    fact(
        stores="0",
        keeps="1",
        iterates="1",
        looks="0 1",
        inside=True,
        methods=f"{KEYS} {ITERATION} {ATTRIBUTE} add",
    ),
    [vars(collections)["_count_elements"]],
)
of(
    fact(
        stores="0",
        keeps="1.. **",
        iterates="1",
        looks="0 1",
        inside=True,
        methods=f"{KEYS} {ITERATION} {ATTRIBUTE}",
    ),
    (collections.defaultdict,),
    "update",
)
family(fact(looks="0 1 2", inside=True, methods=f"{KEYS} {ATTRIBUTE} {TRUTH} repr"), _DICTS)
_VIEWING = f"{KEYS} {ITERATION} {ATTRIBUTE} lt gt le ge ne or ror and rand sub rsub xor rxor"
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
of(
    fact(result="copies 0"),
    (*_VIEWS, _Proxy),
    "__iter__ __reversed__ keys values items copy __copy__ __reduce__",
)
of(fact(looks="1", inside="1", methods=_OF_KEY, result="item 0, itself 2"), (_Proxy,), "get __getitem__")
family(
    fact(looks="0..", inside=True, iterates="0 1", methods=f"{_VIEWING} contains", result="copies 0 1"),
    (*_VIEWS, _Proxy),
)

# -- arrays of bytes -----------------------------------------------------------------------------------------

_ARRAY = (array.array,)
_INTO = f"{NUMBER} {ITERATION} buffer eq {ATTRIBUTE}"
of(
    fact(stores="0", looks="1..", inside=True, methods=_INTO, iterates="1.."),
    _ARRAY,
    "append extend insert fromlist frombytes fromfile fromunicode fromstring __setitem__",
)
of(
    fact(stores="0", looks="1", inside=True, methods=_INTO, result="itself 0"),
    _ARRAY,
    "__iadd__ __imul__",
)
of(fact(stores="0", looks="1", methods="index eq"), _ARRAY, "pop remove reverse byteswap __delitem__ clear")
of(fact(stores="1", looks="1", methods=ATTRIBUTE), _ARRAY, "tofile")
of(fact(looks="1", methods="index", result="view 0"), (*_ARRAY, bytearray), "__buffer__")
of(fact(result="copies 0"), _ARRAY, "__iter__")
made(fact(looks="0 1", inside=True, iterates="1", methods=_INTO), _ARRAY)
family(fact(looks="0..", methods=f"index eq {KEYS} {ATTRIBUTE}"), _ARRAY)
_MEMORY = (memoryview,)
of(fact(stores="0", looks="1 2", methods=f"{NUMBER} buffer"), _MEMORY, "__setitem__ __delitem__")
of(
    fact(looks="1 2", methods=f"{NUMBER} {ITERATION}", result="view 0, itself 0"),
    _MEMORY,
    "cast __getitem__ toreadonly __enter__ __buffer__ obj",
)
of(fact(looks="1 2", methods="buffer index", result="view 1"), _MEMORY, "_from_flags")
of(fact(stores="0"), _MEMORY, "release __exit__")
of(fact(result="copies 0"), _MEMORY, "__iter__")
family(fact(looks="0..", methods=f"index eq {TRUTH} {KEYS} {ATTRIBUTE}"), _MEMORY)
of(
    fact(stores="0", looks="1..", methods=f"{KEYS} class"),
    (decimal.Context,),
    "__init__ clear_flags clear_traps",
)
family(fact(stores="0", looks="1..", methods=f"class {KEYS} {ATTRIBUTE} {NUMBER}"), (decimal.Context,))
