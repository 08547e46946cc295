"""Whether what earlier runs have left is in reach of a call of a program (`left_names.py`)."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import BuiltinMethodType, CellType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from ctxdispatch.dispatch.reach import lookup
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.leaves import file_of, is_leaf, is_ours
from ctxdispatch.ir.values import Const, Operand, Position, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.effects import immutable
from ctxdispatch_contexts.programs import left_names
from ctxdispatch_contexts.programs.activity import carries, is_numeric
from ctxdispatch_contexts.programs.entry_reads import EntryReads
from ctxdispatch_contexts.programs.left_names import ANYTHING, Name, attribute, item, variable
from ctxdispatch_contexts.programs.reaching import DYNAMIC, MOST, UNKNOWN, is_of_library, named
from ctxdispatch_contexts.programs.regions import reads_of

if TYPE_CHECKING:
    from ctxdispatch_contexts.programs.entry import Entry
    from ctxdispatch_contexts.programs.specialised import Specialised


_followed: ContextVar[bool] = ContextVar("followed", default=False)


@contextmanager
def followed() -> Iterator[None]:
    """The program that is called next is given what a recorded run follows: that knows what was left."""
    token = _followed.set(True)
    try:
        yield
    finally:
        _followed.reset(token)


def are_followed() -> bool:
    """The arguments of the program that begins are: those of what it calls need not be."""
    if not _followed.get():
        return False
    _followed.set(False)
    return True


class Reading:
    """What the program of an entry reads that could have a derivative, under which `names` and where, and
    what it knows."""

    def __init__(self, graph: Graph, program: Specialised, entry: Entry) -> None:
        self._entry = entry
        self._guarded = [*reads_of(program.guards)]
        own = enumerate(program.types[: len(entry.source.signature().names)])
        captured = entry.mode.leading  # of these numbers and arrays are looked at, too: nobody gave them
        vouched = entry.mode.vouches_for
        given = [i for i, type_ in own if i < captured or not (vouched(i) or is_numeric(type_))]
        self._reads = EntryReads(graph, given, entry.source.cells)
        ops = [op for _, op in graph.ops()]
        calls = _Unseen(ops)
        ops = [op for op in ops if any(carries(r.type) for r in op.results)]
        unseen = [*filter(calls.calls, ops)]
        code = [*map(calls.code, unseen)]
        self._code, self._knows_code = [f for each in code for f in each or ()], None not in code
        reads = [(_read(op, graph.filename), op.pos) for op in ops] + [(ANYTHING, op.pos) for op in unseen]
        self.names = {name: at for name, at in reversed(reads) if name is not None}

    @property
    def looks(self) -> bool:
        """It reads more than the numbers and arrays that it is given, or may do so."""
        kept = any(value is not None for value in self._entry.defaults())
        reads = self.names or self._reads or self._code or self._guarded
        return bool(reads) or kept or not self._knows_code

    def may_find(self) -> bool:
        """Something is left under a name that it reads, or in what it knows."""
        return left_names.may_be_there(self.names)

    def finds(self, args: Sequence[Any] | None, may: bool) -> bool:
        """Something that is left is in reach of a call with these arguments, of which numbers and arrays are
        meant to be what they are, as is what they are differentiated by; or it `may` be, which cannot be
        told. None: what the arguments hold is known to be as it should."""
        if not left_names.anything_left() or (may and not self._knows_code):
            return left_names.anything_left()
        kept = [value for value in self._entry.defaults() if value is not None]
        found = [*self._reads.values(args), *(read() for read in self._guarded)]
        if _is_among(found + named(kept, by_code=False) if kept else found, may):
            return True
        return bool(self._code) and _is_among(named(self._code), may)

    def position(self) -> Position | None:
        """Where it reads what is left, as far as names tell."""
        return next((at for name, at in self.names.items() if left_names.may_be_there([name])), None)


def _is_among(values: list[Any], may: bool) -> bool:
    """Something that is left, or it `may` be in what there is more in reach."""
    if left_names.is_left(values):
        return True
    return may and (len(values) >= MOST or any(v is UNKNOWN or _is_others(v) for v in values))


def _is_others(value: Any) -> bool:
    """A module of which variables are read by no name that is known."""
    return type(value) is ModuleType and not is_of_library(value)


def _read(op: Op, file: str) -> Name | None:
    """The name of what it reads."""
    fn = op.fn if hashable(op.fn) and len(op.args) > 1 else None
    name = op.args[1].value if fn in _READS and isinstance(op.args[1], Const) else None
    if type(name) is not str:
        return None
    if fn is operator.getitem:
        return item(name)
    if fn is not builtins.getattr:
        return variable(name, file if op.pos is None else op.pos.filename)
    owner = op.args[0].value if isinstance(op.args[0], Const) else None
    if type(owner) is ModuleType:
        return variable(name, file_of(owner))
    return attribute(name, T.cls_of(T.operand_type(op.args[0])))


_READS = (builtins.getattr, operator.getitem, primitives.load_global, primitives.cell_get)
"""Their second operand is the name."""


# -- code that is called as it is ----------------------------------------------------------------------------


class _Unseen:
    """Which ops call Python code that is no part of the program, and that may read more than what it is
    given: it is given nothing to differentiate. `leaves`: values that hold no object in which something is
    left."""

    def __init__(self, ops: list[Op]) -> None:
        self.makers = {op.results[0]: op for op in ops if len(op.results) == 1}
        self.leaves = set[Operand]()
        for op in ops:
            if self._reads_operands_only(op) and all(map(self.is_leaf, op.args)):
                self.leaves.update(op.results)

    def is_leaf(self, operand: Operand) -> bool:
        type_ = T.operand_type(operand)
        if isinstance(operand, Const) or isinstance(type_, T.Known):
            return is_leaf(operand.value if isinstance(operand, Const) else type_.value)
        is_array = isinstance(type_, T.ArrayOf) and type_.dtype.kind != "O"
        return operand in self.leaves or is_array or immutable(type_)

    def _reads_operands_only(self, op: Op) -> bool:
        """As code of libraries and of this project does."""
        if not isinstance(op.callee, Const):
            return op.callee in self.leaves or self._is_made_by_us(op)
        fn = op.callee.value
        of_library = type(fn) is FunctionType and is_of_library(fn) and not fn.__closure__
        return (of_library or is_leaf(fn)) and not _finds_variables(op)

    def _is_made_by_us(self, op: Op) -> bool:
        made = self.makers.get(op.callee)
        if made is None or made.fn is not primitives.make_function or not isinstance(made.args[0], Const):
            return False
        return is_ours(made.args[0].value.get("__name__"))

    def calls(self, op: Op) -> bool:
        fn = op.callee.value if isinstance(op.callee, Const) else None
        if not self._reads_operands_only(op):
            is_method = type(fn) is BuiltinMethodType and type(fn.__self__) is not ModuleType
            return _finds_variables(op) or not (is_method or is_ours(getattr(fn, "__module__", None)))
        if fn is None or is_ours(getattr(fn, "__module__", None)):
            return False
        others = [a for a in op.args if not self.is_leaf(a)]
        return any(type(fn) is FunctionType or _is_function(a) for a in others)

    def code(self, op: Op) -> list[Any] | None:
        """The functions that are called, or the object of which one is a method; None where there is more
        that they could read."""
        made = self.makers.get(op.callee)
        is_attribute = made is not None and made.fn is builtins.getattr
        if _finds_variables(op) or (is_attribute and not _is_method(*made.args)):  # type: ignore[union-attr]
            return None
        called = made.args[0] if is_attribute else op.callee  # type: ignore[union-attr]
        given = [called, *(a for a in op.args if not self.is_leaf(a))]
        known = [each.value if isinstance(each, Const) else self._made(each) for each in given]
        return None if any(each is None for each in known) else known

    def _made(self, operand: Operand) -> FunctionType | None:
        """A function that the program makes, of nothing but its code."""
        op = self.makers.get(operand)
        parts = [] if op is None or op.fn is not primitives.make_function else op.args
        if not parts or not all(map(self.is_leaf, parts[1:])):
            return None
        known = [a.value for a in parts[:2] if isinstance(a, Const)]
        if len(known) < 2:
            return None
        namespace, code = known
        return FunctionType(code, namespace, None, None, tuple([CellType() for _ in code.co_freevars]))


def _finds_variables(op: Op) -> bool:
    return is_leaf(op.fn) and getattr(op.fn, "__name__", None) in DYNAMIC


def _is_method(owner: Operand, name: Operand, *default: Operand) -> bool:
    """Of an object that is known, by its class."""
    if not isinstance(owner, Const) or not isinstance(name, Const):
        return False
    return type(lookup(type(owner.value), name.value)) is FunctionType


def _is_function(operand: Operand) -> bool:
    cls = T.cls_of(T.operand_type(operand))
    return cls is not None and issubclass(cls, _FUNCTIONS)


_FUNCTIONS = (FunctionType, MethodType)
