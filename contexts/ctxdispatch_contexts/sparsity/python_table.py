"""Which of Python's own functions have which rule."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import Any

from ctxdispatch.ir.wrappers import CALLS
from ctxdispatch_contexts.sparsity.calls import Rule
from ctxdispatch_contexts.sparsity.iterables import PYTHON, iter_, updating
from ctxdispatch_contexts.sparsity.python_rules import (
    changing,
    contains,
    getitem,
    making,
    moving,
    plain,
    setitem,
)  # fmt: skip


def _methods(cls: type, names: str) -> Iterable[Any]:
    return (getattr(cls, name) for name in names.split() if hasattr(cls, name))


def _as(form: Any) -> Rule:
    return lambda run, f, args, kwargs: run.call(form, args, kwargs)


def container_rules() -> dict[Any, Rule]:
    return {**_method_rules(), **PYTHON, **{call: _as(form) for call, form in CALLS.items()}}


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
        found[dict.update] = updating
        found.update(dict.fromkeys(_methods(cls, "get keys values items index count"), plain))
        found.update(dict.fromkeys(_methods(cls, "copy"), making))
        for name, rule in SPECIAL_METHODS.items():
            found.update(dict.fromkeys(_methods(cls, name), rule))
    found.update(dict.fromkeys(_methods(tuple, "index count"), plain))
    return found
