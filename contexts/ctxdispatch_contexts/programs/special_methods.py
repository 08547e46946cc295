"""Special methods of the user's classes that are run without being called: by `bool(c)`, `c[i] = v`,
`del c[i]`, `c.name = v`, a key of a dict, an f-string.

Where such a method can be part of the program, it is by the time that this is asked. What is left is code out
of sight, which may change what its object holds.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from types import FunctionType
from typing import Any

from ctxdispatch.dispatch.reach import HEAPTYPE, lookup, special
from ctxdispatch.facts import ATTRIBUTES, INPLACE, Fact, fact_of
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.leaves import package_of
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import effects
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.reading import LIBRARIES, reads

_CHANGING = frozenset({"__next__", "__setitem__", "__delitem__", "__setattr__", "__delattr__"}) | frozenset(
    f"__{f.__name__}__" for f in INPLACE
)


_ELSEWHERE = frozenset({"__call__", "__class__"})
"""What calls its operands has that in another column; every class has a `__class__`."""


def runs_method(op: Op) -> bool:
    """It is a function with a row, and calls a method of an operand's class: one written in Python."""
    if next(_run(op), None) is not None:
        return True
    if op.fn is primitives.call_ex:
        called = op.args[0].value if isinstance(op.args[0], Const) else None
        return any(called is fn for fn in _BY_NAME)
    return op.fn in _BY_NAME and _by_descriptor(op.args)


_BY_NAME = frozenset({hasattr, *ATTRIBUTES})


def runs_method_of(op: Op, held: Iterable[type]) -> bool:
    """The same, where that looks at the items of its operands, and these are of the classes `held`."""
    return next(_run_of(op, held), None) is not None


def may_store(op: Op, held: Iterable[type]) -> bool:
    """The methods that it runs of operands, and of such items, do more than read."""
    return not all(map(reads, (*_run(op), *_run_of(op, held))))


def _run(op: Op) -> Iterator[Any]:
    for fact, operand, inside in _looked_at(op):
        for cls in _classes(operand_type(operand), inside):
            yield from _methods(cls, fact.methods)


def _run_of(op: Op, held: Iterable[type]) -> Iterator[Any]:
    facts = {id(fact): fact for fact, _, inside in _looked_at(op) if inside}
    for fact in facts.values():
        for cls in held:
            yield from _methods(cls, fact.methods)


def _methods(cls: type, methods: frozenset[str]) -> Iterable[Any]:
    if not cls.__flags__ & HEAPTYPE:
        return ()
    of_library = package_of(cls) in LIBRARIES
    asked = methods & _CHANGING if of_library else methods - _ELSEWHERE
    return (found for name in asked if (found := special(cls, name)) is not None)


def python_class(site: Any) -> type | None:
    """The class of an object, that the op `site` made or that is a parameter, where it may have special
    methods written in Python, as far as is known."""
    value = site.results[0] if isinstance(site, Op) and len(site.results) == 1 else site
    cls = T.cls_of(value.type) if isinstance(value, Value) and value.type else None
    return cls if cls is not None and cls.__flags__ & HEAPTYPE else None


def opened(op: Op) -> list[Operand]:
    """The operands at whose items it looks."""
    found = [operand for _, operand, inside in _looked_at(op) if inside]
    return [operand for operand in found if not effects.plain(operand_type(operand))]


def _looked_at(op: Op) -> Iterator[tuple[Fact, Operand, bool]]:
    """(row, operand, whether at its items too). What goes into a dict by a key, or into a list by an index,
    is only moved (into arrays: `converting`). What is spread is looked at by the function that is called."""
    fact = fact_of(op.fn)
    if op.fn is primitives.call_ex and isinstance(op.args[0], Const):
        called = fact_of(op.args[0].value)
        if called is not None and (called.looks or called.calls):
            yield from ((called, operand, True) for operand in op.args[1:])
    if fact is None:
        return
    inside = fact.inside.of(op.args, op.kwnames)
    for operand in fact.looks.of(op.args, op.kwnames):
        if op.fn is not operator.setitem or operand not in op.args[2:]:
            yield fact, operand, operand in inside
    for operand in fact.calls.of(op.args, op.kwnames) if inside else ():
        if _is_of_c(operand_type(operand)):  # `key=xs.__getitem__`
            yield fact, operand, True


def _is_of_c(type_: T.Type) -> bool:
    """A method that gives what its object holds."""
    return isinstance(type_, T.Bound) and type(type_.function) is not FunctionType


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


def _by_descriptor(args: list[Operand]) -> bool:
    cls = T.cls_of(operand_type(args[0]))
    name = args[1]
    if cls is None or not isinstance(name, Const) or type(name.value) is not str:
        return False
    found = lookup(cls, name.value)
    return issubclass(type(found), property) or any(
        special(type(found), method) is not None for method in ("__get__", "__set__", "__delete__")
    )


__all__ = ["LIBRARIES", "may_store", "opened", "python_class", "runs_method", "runs_method_of"]
