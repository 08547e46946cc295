"""What a program reads, of what it is given or knows at the entry: by which attributes and keys.

    %l = getattr(%m, 'layer'); %w = getattr(%l, 'w')         m.layer.w, and of `m` and `m.layer` nothing else
    for %x in getattr(%m, 'items'): ..                       all that m.items leads to

So that what lies beside it in the same objects need not be looked through at each call.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from types import CellType, FunctionType, ModuleType
from typing import Any, NamedTuple

from ctxdispatch.facts import IDENTITY
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.leaves import is_leaf
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import effects
from ctxdispatch.passes import types as T
from ctxdispatch.passes.pure import PureFunction
from ctxdispatch.passes.resolve import class_attribute
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs import journal
from ctxdispatch_contexts.programs.activity import carries, is_numeric
from ctxdispatch_contexts.programs.apart import Record
from ctxdispatch_contexts.programs.errors import Ending
from ctxdispatch_contexts.programs.forwarding import opens_namespace, place_of
from ctxdispatch_contexts.programs.left_stores import leave
from ctxdispatch_contexts.programs.order import uses
from ctxdispatch_contexts.programs.reaching import named
from ctxdispatch_contexts.programs.targets import hidden


class Parameter(NamedTuple):
    number: int


class Path(NamedTuple):
    """`root`: an object, or which parameter; what is read off it step by step, each by a function and a
    key."""

    root: Any
    steps: tuple[tuple[Callable[[Any, Any], Any], Any], ...] = ()

    def value(self, args: Sequence[Any] | None) -> Any:
        """What is there now; None where nothing is."""
        if type(self.root) is Parameter and args is None:
            return None
        found = args[self.root.number] if type(self.root) is Parameter else self.root  # type: ignore[index]
        try:
            for read, key in self.steps:
                found = read(found, key)
        except (LookupError, AttributeError, NameError, ValueError, TypeError):
            return None
        return found


class EntryReads:
    """`given`: the parameters of a program that are looked at; `cells`: what stands in its graph for those of
    its function."""

    def __init__(self, graph: Graph, given: Sequence[int], cells: Sequence[Any]) -> None:
        self._known: dict[Operand, Path] = {graph.params[i]: Path(Parameter(i)) for i in given}
        self._known.update((cell, Path(held)) for cell, held in zip(graph.cells, cells, strict=False))
        for _, op in graph.ops():
            owner = self._path(op.args[0]) if op.args else None
            step = None if owner is None or op.tested else _step(op)
            if owner is not None and step is not None:
                self._known[op.result] = Path(owner.root, (*owner.steps, step))
        self._alone: dict[Operand, Path] = {}
        """Numbers and arrays."""
        self._whole: dict[Operand, Path] = {}
        """Of these all that they lead to is read."""
        needed, self._opens = _needed(graph), opens_namespace(graph)
        for operand, _, user in uses(graph):
            path = self._path(operand)
            if path is not None and _is_needed(user, needed) and not self._goes_on(operand, user):
                (self._alone if is_numeric(operand_type(operand)) else self._whole)[operand] = path

    def _path(self, operand: Operand) -> Path | None:
        if isinstance(operand, Value):
            holds = carries(operand.type) or T.cls_of(operand.type or T.Any) is type
            return self._known.get(operand) if holds else None
        leaf = is_leaf(operand.value) and type(operand.value) is not ModuleType  # `sys` has all others
        known = leaf or isinstance(operand.value, _OURS)
        return None if known else Path(operand.value)

    def _goes_on(self, operand: Operand, user: Any) -> bool:
        """It reads a part, or what is no part of what the operand leads to."""
        if not isinstance(user, Op):
            return False
        if user.fn in _ASIDE or isinstance(user.fn, _OURS):
            return True
        if not user.args or user.args[0] is not operand or user.args.count(operand) > 1:
            return False
        if (len(user.results) == 1 and user.result in self._known) or self._reads_class(user):
            return True
        return _puts(user) or (user.fn is len and T.cls_of(operand_type(operand)) in (list, dict))

    def _reads_class(self, op: Op) -> bool:
        """A method, or whether there is an attribute."""
        name = op.args[1].value if op.fn is getattr and isinstance(op.args[1], Const) else None
        cls = T.cls_of(operand_type(op.args[0]))
        if name == "__dict__":
            return not self._opens
        return cls is not None and type(name) is str and type(class_attribute(cls, name)) in _BOUND

    def __bool__(self) -> bool:
        return bool(self._alone or self._whole)

    def values(self, args: Sequence[Any] | None) -> Iterator[Any]:
        """All that is read, of these arguments, if any."""
        for path in self._alone.values():
            found = path.value(args)
            while found is not None:
                yield found
                found = getattr(found, "base", None)
        whole = [path.value(args) for path in self._whole.values()]
        yield from named(whole, by_code=False) if whole else ()


_OURS = (PureFunction, Ending, Record)
"""Tests, what raises, and what records the run, which knows what was left."""
_ASIDE = IDENTITY | {*journal.NOTES, leave, hidden}
"""What the object that they are given holds does not matter to them."""


def _puts(op: Op) -> bool:
    """It puts its last operand into the first, and does nothing else."""
    if op.fn is setattr:
        return place_of(op) is not None
    return op.fn in _INTO and T.cls_of(operand_type(op.args[0])) in (list, dict)


_BOUND = (FunctionType, staticmethod, classmethod)
_INTO = (operator.setitem, list.append, primitives.list_append)


def _needed(graph: Graph) -> set[Any]:
    """What the program is run for: values that its result depends on, ops that do more than put what is told
    (`left_stores`) into objects, and None, which returns."""
    told = {a for _, op in graph.ops() if op.fn is leave for a in op.args[2:]}
    needed: set[Any] = {None}
    needed.update(op for _, op in graph.ops() if not _is_idle(op, told))
    needed.update(a for block in graph.blocks if block.terminator for a in block.terminator.operands())
    before = -1
    while before != len(needed):
        before = len(needed)
        needed.update(operand for operand, _, user in uses(graph) if _is_needed(user, needed))
    return needed


def _is_idle(op: Op, told: set[Operand]) -> bool:
    return effects.op_is_pure(op) or op.fn is leave or (_puts(op) and op.args[-1] in told)


def _is_needed(user: Any, needed: set[Any]) -> bool:
    return user in needed or (isinstance(user, Op) and not needed.isdisjoint(user.results))


def _step(op: Op) -> tuple[Callable[[Any, Any], Any], Any] | None:
    """How the op reads a part of its first operand, and which."""
    key = op.args[1].value if len(op.args) == 2 and isinstance(op.args[1], Const) else None
    if op.fn is primitives.cell_get:
        return _content, None
    if op.fn is primitives.load_global and type(key) is str:
        return primitives.load_global, key
    if op.fn is getattr and T.cls_of(operand_type(op.args[0])) is ModuleType and type(key) is str:
        return _of_module, key
    if op.fn is getattr and T.cls_of(operand_type(op.args[0])) is type and type(key) is str:
        return class_attribute, key
    if op.fn is getattr and place_of(op) is not None:
        return object.__getattribute__, key  # as it holds it, too
    if op.fn is operator.getitem and type(key) in (str, int):
        return (operator.getitem, key) if T.cls_of(operand_type(op.args[0])) in (list, dict, tuple) else None
    return None


def _of_module(module: ModuleType, name: str) -> Any:
    """As it holds it: what it computes, nobody has left there, and to look would be to run it."""
    return vars(module)[name]


def _content(cell: CellType, key: None) -> Any:
    return cell.cell_contents


__all__ = ["EntryReads"]
