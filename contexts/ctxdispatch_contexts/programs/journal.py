"""What a program has stored outside of what it makes, for a recorded run to begin where the program began.

    %j = journal()
    note_attribute(%j, self, 'calls');  setattr(self, 'calls', %n)
    ..                                  where the program is left:  undo(%j)

Attributes that lie in an object's `__dict__`, items of dicts by keys of Python's own, variables, and what is
appended to lists: what was there before is kept, and put back in reverse order. The journal of an attempt is
its caller's (`trial`, `put_back`): it may be left anywhere.
"""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Iterable
from types import CellType
from typing import Any

from ctxdispatch.facts import says
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.effects import immutable
from ctxdispatch.passes.resolve import class_attribute, stores_plainly
from ctxdispatch.passes.types import operand_type

_MISSING: Any = object()


@says(raises=False)
def journal() -> list[Any]:
    return []


@says(stores="0", keeps="1 2", raises=False)
def note_attribute(entries: list[Any], owner: Any, name: str) -> None:
    note_item(entries, owner.__dict__, name)


@says(stores="0", keeps="1 2", raises=False)
def note_item(entries: list[Any], items: dict[Any, Any], key: Any) -> None:
    entries.append((items, key, items.get(key, _MISSING)))


@says(stores="0", keeps="1", raises=False)
def note_length(entries: list[Any], items: list[Any]) -> None:
    entries.append((items, len(items), None))


@says(stores="0", keeps="1", raises=False)
def note_cell(entries: list[Any], cell: CellType) -> None:
    try:
        entries.append((cell, None, cell.cell_contents))
    except ValueError:
        entries.append((cell, None, _MISSING))


@says(stores="1", keeps="2..", raises=False, effect=True)
def note_beside(note: Callable[..., None], entries: list[Any], beside: Any, *key: Any) -> None:
    """Of the tangent of an owner, where it has one: that is stored to as the owner is."""
    if beside is not None:
        note(entries, beside, *key)


@says(stores="0", effect=True)
def undo(entries: list[Any]) -> None:
    for owner, at, before in reversed(entries):
        if type(owner) is list:
            del owner[at:]
        elif type(owner) is CellType:
            _set_cell(owner, before)
        elif before is _MISSING:
            owner.pop(at, None)
        else:
            owner[at] = before


def _set_cell(cell: CellType, before: Any) -> None:
    if before is _MISSING:
        del cell.cell_contents
    else:
        cell.cell_contents = before


class _Trial(threading.local):
    entries: list[Any] | None = None
    """The journal of the attempt that runs."""


_TRIAL = _Trial()


@says(raises=False, effect=True)
def trial() -> list[Any] | None:
    return _TRIAL.entries


NOTES = (trial, note_attribute, note_item, note_length, note_cell, note_beside)
"""They are no stores of the program's."""


class Recorded(BaseException):
    """What the run raised that was recorded in the place of the program."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


def finally_run(run: Callable[..., Any]) -> Callable[..., Any]:
    """`run`, called by an attempt: what it raises, and what it has stored, stays."""

    def recorded(*args: Any) -> Any:
        try:
            return run(*args)
        except BaseException as error:
            raise Recorded(error) from None

    return recorded


def put_back(program: Callable[..., Any]) -> Callable[..., Any]:
    """`program`, an attempt; what it has stored is undone where it raises."""

    def trying(*args: Any) -> Any:
        before, entries = _TRIAL.entries, []
        _TRIAL.entries = entries
        try:
            found = program(*args)
        except Recorded:
            raise
        except BaseException:
            undo(entries)
            raise
        finally:
            _TRIAL.entries = before
        if before is not None:
            before += entries
        return found

    return trying


def keep_journal(graph: Graph, stores: Iterable[Op], entries: Operand) -> Op | None:
    """Have what they change noted before, in place. If of one of them nothing can be, that: nothing is noted
    then."""
    notes = {op: _noted(op, entries) for op in stores}
    for op, note in notes.items():
        if note is None:
            return op
    for block in graph.blocks:
        block.ops = [each for op in block.ops for each in (notes.get(op), op) if each is not None]
    return None


def _noted(op: Op, entries: Operand) -> Op | None:
    """What notes, before `op`, what that changes; None where it is no such store."""
    args = op.args
    if op.fn is setattr and len(args) == 3 and _is_plain_attribute(*args[:2]):
        return _note(note_attribute, entries, *args[:2])
    if op.fn in (operator.setitem, dict.__setitem__) and len(args) == 3 and _is_plain_item(*args[:2]):
        return _note(note_item, entries, *args[:2])
    if op.fn in (list.append, primitives.list_append) and T.cls_of(operand_type(args[0])) is list:
        return _note(note_length, entries, args[0])
    if op.fn is primitives.store_global and isinstance(args[0], Const) and type(args[0].value) is dict:
        return _note(note_item, entries, *args[:2])
    if op.fn is primitives.cell_set:
        return _note(note_cell, entries, args[0])
    return None


def _is_plain_attribute(owner: Operand, name: Operand) -> bool:
    cls = T.cls_of(operand_type(owner))
    if cls is None or not isinstance(name, Const) or not stores_plainly(cls, setattr, name.value):
        return False
    return not callable(class_attribute(cls, name.value))  # what would hide a method


def _is_plain_item(items: Operand, key: Operand) -> bool:
    return T.cls_of(operand_type(items)) is dict and immutable(operand_type(key))


def _note(how: Any, *operands: Operand) -> Op:
    return Op(Const(how), [*operands], [Value()])
