"""Special methods of the user's classes that are run without being called: by `bool(c)`, `c[i] = v`,
`del c[i]`, `c.name = v`, a key of a dict, an f-string.

Where such a method can be part of the program, it is by the time that this is asked. What is left is code out
of sight, which may change what its object holds.
"""

from __future__ import annotations

import builtins
import functools
import operator
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ctxdispatch.dispatch.reach import lookup, special
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type

_TRUTH = ("__bool__", "__len__")
_ITEMS = ("__iter__", "__next__", "__getitem__", "__len__", "__length_hint__", "keys")
_KEYS = ("__hash__", "__eq__", "__missing__")
_TEXT = ("__format__", "__str__", "__repr__", *_ITEMS)
_ORDER = ("__lt__", "__gt__")
_NUMBER = ("__int__", "__index__", "__float__", "__complex__", "__trunc__")
_READ = ("__getattr__", "__getattribute__")

_BY_NAME: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("bool", "not_", "truth", "any", "all", "filter"), (*_TRUTH, *_ITEMS)),
    **dict.fromkeys(("contains", "not_contains"), ("__contains__", *_KEYS, *_ITEMS)),
    **dict.fromkeys(
        "iter next list tuple enumerate zip reversed list_extend unpack unpack_ex map extend call_ex".split(),
        ("__reversed__", *_ITEMS),
    ),
    **dict.fromkeys("hash build_set build_map set_add map_add index count remove".split(), _KEYS),
    **dict.fromkeys("set frozenset dict set_update dict_update dict_merge".split(), (*_KEYS, *_ITEMS)),
    **dict.fromkeys(("str", "repr", "ascii", "format", "format_value", "print", "join"), _TEXT),
    **dict.fromkeys(("sum", "min", "max", "sorted", "sort"), ("__add__", "__radd__", *_ORDER, *_ITEMS)),
    **dict.fromkeys(("int", "float", "complex", "range", "slice", "chr"), _NUMBER),
    **dict.fromkeys(("lt", "gt"), _ORDER), **dict.fromkeys(("le", "ge"), ("__le__", "__ge__")),
    **dict.fromkeys(("getitem", "setitem", "delitem"), ("__index__", *_KEYS)),
    "iadd": ("__iadd__", "__add__", "__radd__", *_ITEMS), "mul": ("__mul__", "__rmul__", "__index__"),
    "mod": ("__mod__", "__rmod__", *_TEXT), "eq": ("__eq__",), "ne": ("__ne__", "__eq__"),
    "len": ("__len__",), "abs": ("__abs__",), "round": ("__round__",), "dir": ("__dir__",),
    "divmod": ("__divmod__", "__rdivmod__"),
    "getattr": _READ, "hasattr": _READ, "setattr": ("__setattr__",), "delattr": ("__delattr__",),
}  # fmt: skip
"""By the name of a function of Python's own, what it may call; an operator, what is named after it."""

_MODULES = (builtins.__name__, operator.setitem.__module__, primitives.__name__)
_OF_HASHED = (dict, set, frozenset)
_OF_ITEMS = frozenset(
    "sum min max sorted sort any all filter getitem setitem delitem contains not_contains index count remove "
    "str repr format format_value print mod lt gt le ge eq ne set frozenset dict set_update dict_update "
    "dict_merge hash build_set build_map set_add map_add".split()
)
"""They look at the items of an operand, too."""


def runs_method(op: Op) -> bool:
    """It is a function of Python's own, and calls a method of an operand's class: one written in Python."""
    fn = op.fn
    if not hashable(fn) or not _is_pythons(fn):
        return False
    names, through = _called(fn)
    classes = {cls for a in looked_at(op) for cls in _classes(operand_type(a), through)}
    if any(special(cls, name) is not None for cls in classes for name in names):
        return True
    if fn in _BY_INDEX and _has(op.args[0], f"__{fn.__name__}__"):
        return True
    return fn in (getattr, setattr, delattr, hasattr) and _by_descriptor(op.args)


def runs_method_of(op: Op, held: Iterable[type]) -> bool:
    """The same, where that looks at the items of its operands, and these are of the classes `held`."""
    if not looks_at_items(op):
        return False
    names, _ = _called(op.fn)
    users = (cls for cls in held if cls.__module__.partition(".")[0] not in LIBRARIES)
    return any(special(cls, name) is not None for cls in users for name in names)


LIBRARIES = sys.stdlib_module_names | {"numpy", "scipy", "ctxdispatch", "ctxdispatch_contexts"}
"""Their special methods store nothing that a program could see."""


def looks_at_items(op: Op) -> bool:
    fn = op.fn
    return hashable(fn) and _is_pythons(fn) and _called(fn)[1]


def _has(operand: Operand, method: str) -> bool:
    cls = T.cls_of(operand_type(operand))
    return cls is not None and special(cls, method) is not None


_BY_INDEX = (operator.getitem, operator.setitem, operator.delitem)


def looked_at(op: Op) -> Sequence[Operand]:
    """The operands that it does not only move: of what is stored by an index or key, that."""
    if op.fn in (*_BY_INDEX, primitives.map_add) or getattr(op.fn, "__objclass__", None) is dict:
        return op.args[1:2]
    return op.args[::2] if op.fn is primitives.build_map else op.args


def _is_pythons(fn: Any) -> bool:
    owner = getattr(fn, "__objclass__", None)
    return (owner.__module__ if owner else getattr(fn, "__module__", None)) in _MODULES


def _classes(type_: T.Type, through: bool) -> Iterator[type]:
    cls = T.cls_of(type_)
    if cls is not None:
        yield cls
    for item in _items(type_) if through else ():
        yield from _classes(item, through)


def _items(type_: T.Type) -> Sequence[T.Type]:
    """What an operand of this type holds, as far as is known; of a method, the object that it is bound to."""
    match type_:
        case T.TupleOf(items):
            return items
        case T.ListOf(item) | T.IterOf(item):
            return [item]
        case T.Bound(itself):
            return [itself]
        case T.Held(_, fields, item):
            return [*(of for _, of in fields), *([] if item is None else [item])]
    return []


@functools.cache
def _called(fn: Any) -> tuple[tuple[str, ...], bool]:
    """The methods that it may call; whether of items of operands, too."""
    name, owner = getattr(fn, "__name__", "").strip("_"), getattr(fn, "__objclass__", None)
    if owner in _OF_HASHED:
        return (*_KEYS, *_ITEMS), True
    if name in _BY_NAME or getattr(fn, "__module__", None) != operator.setitem.__module__:
        return _BY_NAME.get(name, ()), name in _OF_ITEMS
    plain = name[1:] if name.startswith("i") and hasattr(operator, name[1:]) else name
    return (f"__{plain}__", f"__r{plain}__", f"__i{plain}__"), False


def _by_descriptor(args: list[Operand]) -> bool:
    cls = T.cls_of(operand_type(args[0]))
    name = args[1]
    if cls is None or not isinstance(name, Const) or type(name.value) is not str:
        return False
    found = lookup(cls, name.value)
    return isinstance(found, property) or any(
        special(type(found), method) is not None for method in ("__get__", "__set__", "__delete__")
    )


__all__ = ["LIBRARIES", "looked_at", "looks_at_items", "runs_method", "runs_method_of"]
