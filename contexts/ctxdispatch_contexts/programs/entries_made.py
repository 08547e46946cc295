"""Dicts of classes with `__missing__`: reading an entry makes it where there is none."""

from __future__ import annotations

from typing import Any

from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type


def makes_entries(site: Any) -> bool:
    """A dict that is made here, as far as is known, of such a class."""
    if not isinstance(site, Op) or len(site.results) != 1:
        return False
    made = site.fn if issubclass(type(site.fn), type) else T.cls_of(operand_type(site.result))
    return made is None or hasattr(made, "__missing__")


def makes_new(site: Any) -> bool:
    """`defaultdict(list)`: what it makes nobody else has. So it is taken to be of what no class has made."""
    if not isinstance(site, Op) or not issubclass(type(site.fn), type):
        return True
    factory = site.args[0].value if site.args and isinstance(site.args[0], Const) else None
    return type(factory) is type and factory.__module__ == "builtins"
