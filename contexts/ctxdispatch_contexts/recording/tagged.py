"""Values with tags (`Context.tag`) in a recorded run: the run knows a number by its identity, and what has a
tag is another object, which stands for the number.

    moves        goes into containers and variables as it is; of what it is looked up in, the tag is taken off
    computes     the operands have no tags: so C code does it, and what it returns has none
    is ruled     nor have the items in them
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ctxdispatch.dispatch import tags
from ctxdispatch.dispatch.tags import Tagged, bare
from ctxdispatch.facts import ATTRIBUTES, IDENTITY, INPLACE
from ctxdispatch_contexts.recording.callees import Callee, moves

_OF_OBJECTS = (type, id, *IDENTITY)
FUNCTIONS = (
    Tagged, tags.tag, tags.untag, tags.metadata, tags.without, tags.has, tags.parent, tags.bare,
)


def are_there(args: Iterable[Any], kwargs: dict[str, Any]) -> bool:
    """Some operand, or an item of one, has a tag."""
    return _has([*args, *kwargs.values()])


def _has(values: Iterable[Any]) -> bool:
    """Containers may hold themselves, and be deeper than the interpreter's stack."""
    open_, seen = list(values), set()
    while open_:
        value = open_.pop()
        if type(value) is Tagged:
            return True
        if type(value) in (tuple, list, dict) and id(value) not in seen:
            seen.add(id(value))
            open_ += value.values() if type(value) is dict else value
    return False


def is_of_proxy(callee: Any, args: tuple[Any, ...]) -> bool:
    """It asks for the tag itself, or which object it is."""
    if any(callee is f for f in (*ATTRIBUTES, hasattr)):
        return len(args) > 1 and type(args[1]) is str and tags.of_proxy(args[1])
    return any(callee is f for f in _OF_OBJECTS)


def operands(
    callee: Any, known: Callee, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What moves objects looks into the first of them."""
    given = (bare(args[0]), *args[1:]) if args else args
    if moves(known, callee, given):
        return given, kwargs
    return tuple(map(bare, given)), {name: bare(value) for name, value in kwargs.items()}


def without(value: Any) -> Any:
    """An operand of what has a rule, and the items in it, without tags."""
    value = bare(value)
    if not _has([value]):
        return value
    if type(value) is dict:
        return {key: without(item) for key, item in value.items()}
    return type(value)(map(without, value))


def returned(callee: Any, whole: tuple[Any, ...], out: Any) -> Any:
    """`a += b` is `a` with its tag where `a` itself was changed."""
    changed = bool(whole) and callee in INPLACE and type(whole[0]) is Tagged and out is bare(whole[0])
    return whole[0] if changed else out
