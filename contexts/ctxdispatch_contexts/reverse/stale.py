"""Stores into what the sweep has yet to read: `y = x * buf; buf[0] = 5.0`. See `stores.py`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.values import Operand
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.aliases import Objects, Sites
from ctxdispatch_contexts.programs.order import Order


def stale_stores(
    graph: Graph, objects: Objects, stores: Sequence[tuple[Op, Sites]], reads: list[tuple[Operand, Op]]
) -> dict[Op, Op]:
    """store -> reader: the store changes what the sweep needs as it was when `reader` read it."""
    if not stores or not reads:
        return {}
    order = Order(graph)
    readers: dict[Any, set[Op]] = {}
    for value, reader in reads:
        for site in objects.loose(_data(objects, value)) if reader in order.place else ():
            readers.setdefault(site, set()).add(reader)
    found: dict[Op, Op] = {}
    for store, sites in stores:
        for site in sites:
            for reader in readers.get(site, ()):
                if store not in found and order.after(order.place[reader], order.place[store], site):
                    found[store] = reader
    return found


def _data(objects: Objects, value: Operand) -> Sites:
    """Where what `value` is, or holds, is in memory: an array of numbers holds no other."""
    type_ = operand_type(value)
    numbers = isinstance(type_, T.ArrayOf) and type_.dtype.kind != "O"
    return objects.of(value) if numbers else objects.reach(value)


__all__ = ["stale_stores"]
