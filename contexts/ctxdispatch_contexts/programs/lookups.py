"""What attributes a program reads, and what those of a user's objects rest on: that their class has no say.

    %y = getattr(%o, 'x')      C.__getattribute__ is object's, and C has no 'x', or the slot it had

A class that is given a property or a `__setattr__` of its own later has another program (The Python Language
Reference, 3.3.2: a data descriptor of the class comes before what the object holds).
"""

from __future__ import annotations

import functools
import operator
from abc import ABCMeta
from collections.abc import Iterator
from types import MemberDescriptorType
from typing import Any

from ctxdispatch.facts import READS
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.values import Const, Value, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.guards import ABSENT, AttrIs, ClassHolds, KeysAre
from ctxdispatch.passes.held import KEYS
from ctxdispatch.passes.python_types import builtin
from ctxdispatch.passes.resolve import class_attribute
from ctxdispatch.passes.types import operand_type

_BY: dict[Any, tuple[str, Any]] = {
    getattr: ("__getattribute__", object.__getattribute__),
    setattr: ("__setattr__", object.__setattr__),
}
"""The method that a class may have for it, and that of classes which have none."""


def lookups(graph: Graph) -> Iterator[ClassHolds]:
    """A guard for each class and name that the program reads or stores attributes by."""
    for _, op in graph.ops():
        cls = _class_of_owner(op)
        if cls is not None:
            name = op.args[1].value  # type: ignore[union-attr]
            yield from _of(cls, name, *_BY[_access(op)])
            if op.fn is hasattr or (op.fn is getattr and len(op.args) == 3):  # it may be computed, or not be
                yield from found_in(cls, name)


def _class_of_owner(op: Op) -> type | None:
    """Whose attribute is read or stored, if it is that of an object of a class that can be changed."""
    if not hashable(op.fn) or _access(op) not in _BY or len(op.args) < 2:
        return None
    if not isinstance(op.args[1], Const) or type(op.args[1].value) is not str:
        return None
    cls = T.cls_of(operand_type(op.args[0]))
    return None if cls is None or builtin(cls) or type(cls) not in (type, ABCMeta) else cls


def _access(op: Op) -> Any:
    return getattr if op.fn is hasattr else op.fn


def _of(cls: type, name: str, method: str, plain: Any) -> Iterator[ClassHolds]:
    if class_attribute(cls, method) in (plain, vars(tuple).get(method)):
        yield from found_in(cls, method)
    found = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), ABSENT)
    if found is ABSENT or type(found) is MemberDescriptorType:
        yield from found_in(cls, name)
        if method == "__getattribute__":
            yield from found_in(cls, "__getattr__")


def as_method(cls: type, name: str) -> Iterator[ClassHolds]:
    """As what the class has a function: a static method gives the same one, without the object."""
    home = next((base for base in cls.__mro__ if name in vars(base)), None)
    if home is not None and not builtin(home):
        yield ClassHolds(home, name, vars(home)[name])


def found_in(cls: type, name: str) -> Iterator[ClassHolds]:
    """Which class the name is found in, of those that can be changed."""
    for base in cls.__mro__:
        if not builtin(base):
            held = vars(base).get(name, ABSENT)
            yield ClassHolds(base, name, held)
            if held is not ABSENT:
                return


def state_of(partial: functools.partial[Any]) -> Iterator[AttrIs | KeysAre]:
    """What a partial is made of, but for the values of its keywords: it may be changed in place."""
    yield AttrIs(partial, "func", partial.func)
    yield AttrIs(partial, "args", partial.args)
    yield AttrIs(partial, "keywords", partial.keywords)
    yield KeysAre(partial.keywords, tuple(partial.keywords))


def held_names(graph: Graph) -> set[Any]:
    """The attributes and keys that a program may read off what its arguments hold, or what it puts in their
    place."""
    names: set[Any] = set()
    for _, op in graph.ops():
        if any(r.type is T.Never for r in op.results):
            continue
        if (op.fn in READS or _puts_data(op)) and len(op.args) > 1:
            key = op.args[1].value if isinstance(op.args[1], Const) else None
            fields = getattr(op.args[0].type, "fields", ()) if isinstance(op.args[0], Value) else ()
            if isinstance(key, (str, int)):
                names.add(fields[key][0] if type(key) is int and -len(fields) <= key < len(fields) else key)
            else:
                names.update(name for name, _ in fields)
        else:
            for held in _held(op):
                names.update([KEYS] if held.cls is dict else [], [name for name, _ in held.fields])
    return names


def _puts_data(op: Op) -> bool:
    """It stores what is no object of which more is known."""
    return op.fn in (setattr, operator.setitem) and not any(
        isinstance(a, Value) and isinstance(a.type, T.Held) for a in op.args[1:]
    )


def _held(op: Op) -> Iterator[T.Held]:
    """What it is given as a whole, or as what its callee is a method of."""
    for type_ in (getattr(op.callee.type, "self", None), *(a.type for a in op.args)):
        if isinstance(type_, T.Held):
            yield type_
