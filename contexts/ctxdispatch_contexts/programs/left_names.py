"""The names under which recorded runs have left numbers and arrays in objects that outlive them.

    m.value = v        the attribute `value` of type(m)
    memo["sin"] = v    the item "sin", and the variable `memo` of this file
    m.kept.append(v)   the attribute `kept` of any class

A program takes what it reads for constants. Once a run has left something, calls of programs that read more
than numbers and arrays that they are given ask whether what is left is in their reach (`Reading.finds`: it
may have been put elsewhere since), and are recorded if so: such runs know whether it is what they read
(`recording/left.py`).
"""

from __future__ import annotations

import builtins
import operator
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from types import BuiltinMethodType, CellType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxdispatch.dispatch.reach import lookup
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.leaves import is_leaf, is_ours
from ctxdispatch.ir.values import Const, Operand, Position, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.effects import immutable
from ctxdispatch_contexts.programs.activity import carries, is_numeric
from ctxdispatch_contexts.programs.reaching import DYNAMIC, MOST, UNKNOWN, is_of_library, named
from ctxdispatch_contexts.programs.regions import reads_of

if TYPE_CHECKING:
    from ctxdispatch_contexts.programs.entry import Entry
    from ctxdispatch_contexts.programs.specialised import Specialised


class Name(NamedTuple):
    """`of`: an attribute's class, None for any; a variable's file; of an item, nothing."""

    kind: str
    name: str
    of: Any = None


def attribute(name: str, cls: type | None = None) -> Name:
    return Name("attribute", name, cls)


def variable(name: str, file: str) -> Name:
    return Name("variable", name, file)


def item(key: str) -> Name:
    return Name("item", key)


ANYTHING = Name("anything", "")
"""What code reads that is called as it is."""
Names = frozenset[Name]

_LEFT: dict[Hashable, Names] = {}
"""By what was left."""
_THERE: Counter[Name] = Counter()
"""How often."""

TOLD: list[Callable[[], None]] = []
"""Called when a run leaves something for the first time."""
_told = False


def enter(key: Hashable, names: Iterable[Name]) -> None:
    """Something was left under these names, and those that are known of it."""
    global _told
    found = frozenset(names) | _LEFT.get(key, frozenset())
    drop(key)
    _LEFT[key] = found
    _THERE.update(found)
    if not _told:
        _told = True
        for tell in TOLD:
            tell()


def was_left() -> bool:
    """Something was, once: it need not be there any more."""
    return _told


def drop(key: Hashable) -> None:
    """It is gone."""
    for name in _LEFT.pop(key, ()):
        _THERE[name] -= 1
        if not _THERE[name]:
            del _THERE[name]


class Reading:
    """What the program of an entry reads that could have a derivative, under which `names` and where, and
    what it knows."""

    def __init__(self, graph: Graph, program: Specialised, entry: Entry) -> None:
        self._entry = entry
        self._guarded = [*reads_of(program.guards)]
        own = enumerate(program.types[: len(entry.source.signature().names)])
        self._given = [i for i, type_ in own if not (entry.mode.needs(i) or is_numeric(type_))]
        ops = [op for _, op in graph.ops()]
        self._variables = [*filter(None, map(_variable, ops))]
        operands = [a for op in ops if _variable(op) is None for a in (op.callee, *op.args)]
        self._known = [a.value for a in operands if isinstance(a, Const) and not is_leaf(a.value)]
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
        kept = any(value is not None for value in self._entry.outside())
        reads = self.names or self._known or self._variables or self._code or self._given or self._guarded
        return bool(reads) or kept or not self._knows_code

    def may_find(self) -> bool:
        """Something is left under a name that it reads, or in what it knows."""
        if not _LEFT or meet(self.names, _THERE):
            return bool(_LEFT)
        return _is_among(named(self._found(), by_code=False), True)

    def finds(self, args: Sequence[Any], may: bool) -> bool:
        """Something that is left is in reach of a call with these arguments, of which numbers and arrays are
        meant to be what they are, as is what they are differentiated by; or it `may` be, which cannot be
        told."""
        if not _LEFT or (may and not self._knows_code):
            return bool(_LEFT)
        held = [args[i] for i in self._given if i < len(args)]
        if _is_among(named([*self._found(), *held], by_code=False), may):
            return True
        return bool(self._code) and _is_among(named(self._code), may)

    def _found(self) -> list[Any]:
        """With what its variables, and what is guarded, hold now."""
        variables = [space.get(name) for space, name in self._variables]
        return [*self._known, *self._entry.outside(), *variables, *(read() for read in self._guarded)]

    def position(self) -> Position | None:
        """Where it reads what is left, as far as names tell."""
        return next((at for name, at in self.names.items() if meet([name], _THERE)), None)


def _is_among(values: list[Any], may: bool) -> bool:
    """Something that is left, or it `may` be in what there is more in reach."""
    ids = set(map(id, values))
    if not _LEFT.keys().isdisjoint(ids):
        return True
    return may and (len(values) >= MOST or id(UNKNOWN) in ids or any(map(_is_others, values)))


def _is_others(value: Any) -> bool:
    """A module of which variables are read by no name that is known."""
    return type(value) is ModuleType and not is_of_library(value)


def meet(names: Iterable[Name], others: Iterable[Name]) -> bool:
    """One of either may be the same."""
    return any(_same(a, b) for b in [*others] for a in names)


def _same(a: Name, b: Name) -> bool:
    if ANYTHING in (a, b):
        return True
    return a[:2] == b[:2] and (a.of is None or b.of is None or a.of == b.of)


def _variable(op: Op) -> tuple[dict[str, Any], str] | None:
    """The namespace and the name of one that it reads."""
    owner, name = [a.value if isinstance(a, Const) else None for a in (*op.args, None, None)[:2]]
    if op.fn is builtins.getattr and type(owner) is ModuleType:
        owner = vars(owner)
    is_one = op.fn in (builtins.getattr, primitives.load_global) and type(owner) is dict
    return (owner, name) if is_one and type(name) is str else None


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
        return variable(name, getattr(owner, "__file__", ""))
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
