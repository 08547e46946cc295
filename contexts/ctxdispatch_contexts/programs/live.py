"""All the entries there are, for what changes under many of them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakSet

from ctxdispatch.dispatch import rules
from ctxdispatch_contexts.programs import debugging, left_names

if TYPE_CHECKING:
    from ctxdispatch_contexts.programs.entry import Entry

live: WeakSet[Entry] = WeakSet()


def forget_all() -> None:
    """All programs are made again when they are called next."""
    for entry in tuple(live):
        entry.forget()


def _left() -> None:
    """Programs that could read it have to ask, from now on."""
    for entry in tuple(live):
        if any(not each.asks and each.reading.looks for each in entry.programs()):
            entry.forget()


def _rules_changed(context: type, callee: object) -> None:
    if hasattr(context, "ad_entries"):
        forget_all()


left_names.TOLD.append(_left)
debugging.TURNED.append(forget_all)
rules.subscribe(_rules_changed)
