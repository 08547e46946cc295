"""Stores into the dict of an object are stores of attributes: so the object may be known by its fields.

o.__dict__.update(%m, c=%v)         o.a = %m['a']; o.b = %m['b']; o.c = %v
o.__dict__ |= %m                    the same
vars(o)['a'] = %v                   o.a = %v

Of classes that have nothing under such a name: a property, say, would be asked instead. (The guards of
`lookups.py` see to it that this stays so.)
"""

from __future__ import annotations

import builtins
import operator
from abc import ABCMeta
from typing import Any

from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.primitives import build_map
from ctxdispatch.ir.rewrite import substitute, uses
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.held import has_dict
from ctxdispatch.passes.inline import emit_before
from ctxdispatch.passes.python_types import builtin
from ctxdispatch.passes.resolve import class_attribute
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.spelled_parts import entries_given, keys_given, updates


def spell_out_namespaces(graph: Graph) -> bool:
    """In place. Whether anything is changed."""
    return any(_reads(op) for _, op in graph.ops()) and _Speller(graph).spell()


def _reads(op: Op) -> bool:
    """It gives the dict of an object."""
    if op.fn is builtins.vars:
        return len(op.args) == 1
    return op.fn is getattr and len(op.args) == 2 and _is_name(op.args[1], "__dict__")


def _is_name(operand: Operand, name: str) -> bool:
    return isinstance(operand, Const) and type(operand.value) is str and operand.value == name


def _is_free(cls: type | None, name: str) -> bool:
    return cls is not None and not any(name in vars(base) for base in cls.__mro__)


class _Speller:
    def __init__(self, graph: Graph) -> None:
        self.graph, self.uses = graph, uses(graph)
        self.makers: dict[Operand, Op] = {r: op for _, op in graph.ops() for r in op.results}
        self.replaced: dict[Value, Operand] = {}

    def spell(self) -> bool:
        spelled = [self._op(block, op) for block in self.graph.blocks for op in [*block.ops]]
        substitute(self.graph, self.replaced)
        if any(spelled):
            self._drop_reads()
        return any(spelled)

    def _op(self, block: Block, op: Op) -> bool:
        """Whether it stores into the dict of an object, and is gone."""
        target, given = self._stored(op)
        owner = None if target is None else self._owner(target)
        if target is None or owner is None:
            return False
        if op.fn is not setattr:  # that is what `|=` gives back
            cls = T.cls_of(operand_type(owner))
            keys = self._keys(op, given)
            if keys is None or not all(type(key) is str and _is_free(cls, key) for key in keys):
                return False
            entries, emit = self._entries(block, op, given), emit_before(block, op)
            for key, value in entries.items():
                emit(setattr, owner, Const(key), value)
        block.ops.remove(op)
        self.replaced |= dict.fromkeys(op.results, target if op.fn is operator.ior else Const(None))
        return True

    def _owner(self, namespace: Operand) -> Operand | None:
        """The object of a plain class whose dict it is."""
        maker = self.makers.get(namespace)
        if maker is None or not _reads(maker):
            return None
        cls = T.cls_of(operand_type(maker.args[0]))
        plain = cls is not None and type(cls) in (type, ABCMeta) and not builtin(cls) and has_dict(cls)
        return maker.args[0] if plain and class_attribute(cls, "__setattr__") is object.__setattr__ else None

    def _stored(self, op: Op) -> tuple[Operand | None, list[Operand]]:
        """The dict that it stores into, and what."""
        read = self.makers.get(op.callee) if op.fn is None else None
        if read is not None and read.fn is getattr and _is_name(read.args[1], "update"):
            return read.args[0], op.args
        item = op.fn is operator.setitem and isinstance(op.args[1], Const)
        if item or updates(op):
            return op.args[0], op.args[1:]
        if op.fn is setattr and _is_name(op.args[1], "__dict__") and self._owner(op.args[2]) is op.args[0]:
            return op.args[2], []
        return None, []

    def _keys(self, op: Op, given: list[Operand]) -> tuple[Any, ...] | None:
        if op.fn is operator.setitem:
            return (given[0].value,)  # type: ignore[union-attr]
        made = self._made(op, given)
        return keys_given(op, given) if made is None else (*made, *op.kwnames)

    def _entries(self, block: Block, op: Op, given: list[Operand]) -> dict[Any, Operand]:
        if op.fn is operator.setitem:
            return {given[0].value: given[1]}  # type: ignore[union-attr]
        made = self._made(op, given)
        if made is None:
            return entries_given(block, op, given) or {}
        return made | dict(zip(op.kwnames, given[1:], strict=True))

    def _made(self, op: Op, given: list[Operand]) -> dict[Any, Operand] | None:
        """The entries of a dict that is made for this alone (`**kwargs`)."""
        making = self.makers.get(given[0]) if len(given) == 1 + len(op.kwnames) else None
        if making is None or making.fn is not build_map or len(self.uses[making.result]) != 1:
            return None
        keys = making.args[::2]
        if not all(isinstance(key, Const) for key in keys):
            return None
        return {k.value: v for k, v in zip(keys, making.args[1::2], strict=True)}  # type: ignore[union-attr]

    def _drop_reads(self) -> None:
        """Of dicts, and of their `update`, that nobody uses any more: the object has not been given away."""
        dicts = {op.result for _, op in self.graph.ops() if _reads(op)}
        for reads in (lambda op: op.fn is getattr and op.args[0] in dicts, _reads):
            used = uses(self.graph)
            for block in self.graph.blocks:
                block.ops[:] = [op for op in block.ops if not reads(op) or used[op.result]]
