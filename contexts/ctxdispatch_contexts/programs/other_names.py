"""Objects, lists and dicts that are differentiated, and that a program reads by another name as well.

    def f(m): return m.w * model.w         grad(f)(model)

They are one thing and have one set of numbers, by whichever name these are read. To a program what it does
not read off an argument is constant. So where types leave open whether an owner is what is differentiated, or
in it, the program asks, and where it is, the run is recorded, which knows the numbers themselves:

    entry(m):     branch model is m -> recorded   else body          variables, defaults, other arguments
    ..            %t = contains(%ids, id(%v)); branch %t ..           what is read off those

What cannot be asked, for the run could not start again, is not compiled. (Arrays have names of their own, and
are constants by all others: `apart.py`.)
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Iterator, Sequence
from itertools import chain
from types import FunctionType, MethodType
from typing import Any

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.facts import IDENTITY, READS, fact_of
from ctxdispatch.ir.analysis import ahead_of
from ctxdispatch.ir.graph import Block, Graph, Iterate, Op, Return
from ctxdispatch.ir.leaves import is_ours
from ctxdispatch.ir.values import Const, Operand, Position, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.expected import Unexpected
from ctxdispatch.passes.held import names_in
from ctxdispatch.passes.pure import PureFunction
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.activity import ZERO_BY_RULE, carries
from ctxdispatch_contexts.programs.aliases import GLOBAL, Objects
from ctxdispatch_contexts.programs.apart import LOADS
from ctxdispatch_contexts.programs.c_objects import is_namespace
from ctxdispatch_contexts.programs.derived import entry_of
from ctxdispatch_contexts.programs.journal import journal, keep_journal
from ctxdispatch_contexts.programs.out_of_sight import runs_python
from ctxdispatch_contexts.programs.reachable import (
    LEAVES,
    Found,
    containers_in,
    holds,
    leads,
    meet,
    read_by,
)
from ctxdispatch_contexts.programs.remembered import (
    Asked,
    leave_where_equal,
    may_run_again,
    refuse_remembered,
)

ZERO_BY_RULE.add(containers_in)


class Leaving:
    """The tests by which a program is left for a recorded run: `asked`. `names` gets the fields of what is
    differentiated of which they take types for granted."""

    def __init__(self, names: set[Any]) -> None:
        self.names = names
        self.asked: list[Op] = []
        self._unfit: UnsupportedSyntax | None = None
        self._journal: Value | None = None

    def find(
        self, graph: Graph, wrt: Sequence[Value], leading: int, varied: set[Value], objects: Objects,
        may: bool, by_caller: bool = False,
    ) -> None:  # fmt: skip
        """In place. `wrt`: the parameters that are differentiated; so many are `leading`, which are bound or
        captured. `may`: a run may be recorded, or, `by_caller`, its caller does that beforehand; else it is
        part of a program that has asked."""
        self.asked += refuse_remembered(graph, varied, objects, may)
        self._expect(graph, objects, may)
        self._find_owners(graph, wrt, leading, objects, may, by_caller)
        if self._journal is not None:  # before all tests
            graph.entry.ops.insert(0, Op(Const(journal), [], [self._journal]))

    def _find_owners(
        self, graph: Graph, wrt: Sequence[Value], leading: int, objects: Objects, may: bool, by_caller: bool
    ) -> None:
        own = [p for p in wrt if p not in graph.params[:leading]]
        if not (may or by_caller) or not any(classes_in(operand_type(p)) for p in own):
            return
        found = Owners(graph, own, graph.params[:leading], objects)
        if found.any:
            self.names.update(*[names_in(operand_type(p)) for p in own])
        again = not found.read or all(may_run_again(op, objects) for _, op in graph.ops())
        if found.doubtful or (found.asks and not (may and again)):
            self._unfit = unfit(graph, found.doubtful, _BY_ANOTHER_NAME)
        else:
            self.asked += found.ask()

    def _expect(self, graph: Graph, objects: Objects, may: bool) -> None:
        """The tests of types that are taken for granted (`observed.py`)."""
        tests = [op for _, op in graph.ops() if isinstance(op.fn, Unexpected)]
        done = [op for op in ahead_of(graph, tests) if not may_run_again(op, objects)] if may else tests
        self.asked += tests
        entries = Value("journal", T.Exact(list))
        lost = keep_journal(graph, done, entries)
        self._journal = entries if done and lost is None else None
        self._unfit = None if lost is None else unfit(graph, lost, _NOT_AGAIN)

    def leave(self, graph: Graph) -> None:
        """In place. UnsupportedSyntax where something cannot be asked."""
        asked = set(self.asked)
        copies = (op for _, op in graph.ops() if isinstance(op.fn, Unexpected) and op not in asked)
        found = self._unfit or next((unfit(graph, op, _NOT_AGAIN) for op in copies), None)
        if found is not None:
            raise found
        leave_where_equal(graph, self.asked, self._journal)


def unfit(graph: Graph, op: Op | None, why: tuple[str, str]) -> UnsupportedSyntax:
    pos = (op.pos if op is not None else None) or Position(graph.filename, graph.name, graph.line)
    return UnsupportedSyntax(why[0], pos.filename, pos.line, pos.function, why[1])


_BY_ANOTHER_NAME = (
    "what may be an object, list or dict that is differentiated, by another name than the argument's,",
    "read it off the argument, or pass what is read as another argument",
)
_NOT_AGAIN = (
    "what cannot be done again, before values of which nothing is known but what types they had,",
    "do it afterwards, or leave it to the caller",
)

_NOWHERE = Op(Const(iter), [], [])
"""Of a loop: that has no op."""


# -- types ---------------------------------------------------------------------------------------------------


def classes_in(type_: T.Type) -> set[type | None]:
    """Of what can be changed and holds numbers, in a value of this type; None where there may be any."""
    cls = T.cls_of(type_)
    if cls is None:
        return {None} if type_ is T.Any else set()
    if not _may_hold(type_, cls):
        return set()
    return _inside(type_) | (set() if issubclass(cls, tuple) else {cls})


def _inside(type_: T.Type) -> set[type | None]:
    match type_:
        case T.TupleOf(items):
            return set().union(*map(classes_in, items))
        case T.ListOf(item):
            return classes_in(item)
        case T.Held(cls, fields, item):
            found = set().union(*[classes_in(t) for _, t in fields], classes_in(item or T.Never))
            return found if issubclass(cls, (list, tuple, dict)) else found | {dict}  # its `__dict__`
    return {None}


def _may_hold(type_: T.Type, cls: type) -> bool:
    if isinstance(type_, T.ArrayOf):
        return bool(type_.dtype.hasobject)
    return carries(type_) and not issubclass(cls, LEAVES)


# -- owners --------------------------------------------------------------------------------------------------


class Owners:
    """What a program has that was there before, and that it has not read off the parameters `own`, where it
    may be one of these, or in one. `entry`: what there is at the entry; `read`: other values, each with the
    op that gives it, None for items of loops; `called`: what runs as it is. `doubtful`: an op of which
    nothing can be asked. `any`: there are some, but for what types say."""

    def __init__(self, graph: Graph, own: Sequence[Value], bound: Sequence[Value], objects: Objects) -> None:
        self.graph, self.own, self.objects = graph, own, objects
        self.entry: dict[Any, Op | Operand] = {}
        self.read: dict[Value, Op | None] = {}
        self.called: list[Reads] = []
        self.doubtful: Op | None = None
        self.any = False
        self._stores = any(self._stores_into_own(op) for _, op in graph.ops())
        self._all = set[type | None]().union(*[classes_in(operand_type(p)) for p in own])
        self._inside = set[type | None]().union(*[_inside(operand_type(p)) for p in own])
        self._used = {operand for block in graph.blocks for operand in _operands(block)}
        self._whole = {operand for block in graph.blocks for operand in _taken_whole(block)}
        self._bound = bound
        others = (param for param in graph.params if param not in own)
        self.entry.update((param, param) for param in others if self._may_be(param))
        for block in graph.blocks:
            self._block(block)

    @property
    def asks(self) -> bool:
        return bool(self.entry or self.read or self.called or self.doubtful)

    def _block(self, block: Block) -> None:
        for operand in _operands(block):
            if isinstance(operand, Const) and self.objects.of(operand) and self._may_be(operand):
                self.entry[id(operand.value)] = operand
        if isinstance(block.terminator, Iterate):
            self._value(block.terminator.body.target.params[0], None)
        for op in block.ops:
            if not self._runs(op):
                for result in op.results:
                    self._value(result, op)

    def _stores_into_own(self, op: Op) -> bool:
        return op.fn in (setattr, operator.setitem) and not self.objects.of(op.args[0]).isdisjoint(self.own)

    def _value(self, value: Value, op: Op | None) -> None:
        sites = self.objects.of(value)
        outside = any(s is GLOBAL or (isinstance(s, Value) and s not in self.own) for s in sites)
        if not outside or not self._may_be(value) or self._is_read_off(op):
            return
        if op is not None and self._is_guarded(op):
            self.entry[tuple(map(_key, op.args))] = op
        elif sites.isdisjoint(self.own):
            self.read[value] = op
        else:  # it may be read off them as well
            self.doubtful = self.doubtful or op or _NOWHERE

    def _is_read_off(self, op: Op | None) -> bool:
        """It gives what the arguments hold, as they have been given."""
        return op is not None and op.fn in READS and op.args[0] in self.own and not self._stores

    def _is_guarded(self, op: Op) -> bool:
        """It reads a variable, which is at the entry what it will be."""
        known = isinstance(op.args[0], Const) or op.args[0] in self.graph.cells if op.args else False
        return op.fn in LOADS and known and operand_type(op.result) is not T.Any

    def _may_be(self, operand: Operand) -> bool:
        type_ = operand_type(operand)
        if operand not in self._used or not classes_in(type_) or _is_namespace(operand):
            return False
        self.any = True
        return self._may_lead(operand) or self._may_be_itself(operand)

    def _may_be_itself(self, operand: Operand) -> bool:
        cls = T.cls_of(operand_type(operand))
        if (cls is not None and issubclass(cls, tuple)) or self._is_beside(operand):
            return False
        return bool(self._same_as(cls)) or self._may_be_inside(cls)

    def _is_beside(self, operand: Operand) -> bool:
        """Another argument of the caller's: two are two."""
        return operand in self.graph.params and operand not in self._bound

    def _may_lead(self, operand: Operand) -> bool:
        """What is taken whole may lead there."""
        held = _inside(operand_type(operand)) if operand in self._whole else set[type | None]()
        return bool(held) and (None in held | self._all or not held.isdisjoint(self._all))

    def _same_as(self, cls: type | None) -> list[Value]:
        """The parameters that an object of this class may be."""
        classes = [(p, T.cls_of(operand_type(p))) for p in self.own]
        return [p for p, its in classes if cls is None or its is None or cls is its]

    def _may_be_inside(self, cls: type | None) -> bool:
        return bool(self._inside) and (cls is None or not self._inside.isdisjoint((cls, None)))

    def _runs(self, op: Op) -> bool:
        """True where it runs code as it is: what that reads is asked for, and so what it gives."""
        ours = is_ours(getattr(op.fn, "__module__", None)) and fact_of(op.fn) is None
        if isinstance(op.fn, PureFunction) or not (ours or runs_python(op) or self.objects.runs_method(op)):
            return False
        sites = self.objects.of(op.callee)
        method = op.fn is None and bool(sites) and sites <= {*self.own}
        code = [] if method else _code(op, self.objects)
        if code is None:
            self.doubtful = self.doubtful or op
        else:
            self.called.append(Reads(code))
        return code is not None

    # -- the tests -------------------------------------------------------------------------------------------

    def ask(self) -> list[Op]:
        """In place."""
        held = Value("held", T.Exact(set))
        first = [*chain.from_iterable(self._at_entry(each, held) for each in self.entry.values())]
        others = [p for p in self.graph.params if p not in self.own]
        first += [_asked(code, held, *others) for code in self.called]
        asked = [*first]
        for value, op in self.read.items():
            tests = self._tests(value, value, held)
            asked += tests
            block, at = _after(op, value, self.graph)
            block.ops[at:at] = tests
        if any(held in op.args for op in asked):
            first.insert(0, Op(Const(containers_in), [*self.own], [held]))
        self.graph.entry.ops[:0] = first
        return [op for op in asked if isinstance(op.fn, Asked)]

    def _at_entry(self, each: Op | Operand, held: Value) -> list[Op]:
        if not isinstance(each, Op):
            return self._tests(each, each, held)
        loaded = Value(each.result.name, each.result.type)
        load = Op(each.callee, list(each.args), [loaded], (), each.pos, each.syntax)
        return [load, *self._tests(each.result, loaded, held)]

    def _tests(self, seen: Operand, operand: Operand, held: Value) -> list[Op]:
        """Of the operand, which is what is `seen`."""
        if self._may_lead(seen):
            beside = self._is_beside(seen)
            return [_asked(holds, held, operand, *self.own) if beside else _asked(leads, held, operand)]
        cls = T.cls_of(operand_type(seen))
        if self._may_be_inside(cls):
            number = Op(Const(builtins.id), [operand], [Value(type=T.Exact(int))])
            return [number, _asked(operator.contains, held, number.result)]
        return [_asked(operator.is_, operand, p) for p in self._same_as(cls)]


def _asked(test: Any, *operands: Operand) -> Op:
    return Op(Const(Asked(test)), [*operands], [Value(type=T.Exact(bool))])


def _after(op: Op | None, value: Value, graph: Graph) -> tuple[Block, int]:
    """Where the value is there: after the op that gives it, or where the loop's body begins."""
    for block in graph.blocks:
        if op is None and value in block.params:
            return block, 0
        if op in block.ops:
            return block, block.ops.index(op) + 1
    raise KeyError(value)


def _operands(block: Block) -> Iterator[Operand]:
    """Of which more is used than their identity."""
    for op in block.ops:
        if op.fn not in IDENTITY:
            yield from op.operands()
    assert block.terminator is not None
    yield from block.terminator.operands()
    for edge in block.edges():
        yield from edge.args


def _taken_whole(block: Block) -> Iterator[Operand]:
    """Of which more is used than the one item, attribute or loop over its items that is seen."""
    for op in block.ops:
        if not (op.fn in READS or op.fn in LOADS or op.fn in IDENTITY or op.fn in (iter, len)):
            yield from op.operands()
    if isinstance(block.terminator, Return):
        yield block.terminator.value
    for edge in block.edges():
        yield from edge.args


def _is_namespace(operand: Operand) -> bool:
    return isinstance(operand, Const) and type(operand.value) is dict and is_namespace(operand.value)


def _key(operand: Operand) -> Any:
    return id(operand.value) if isinstance(operand, Const) else operand


# -- code that runs as it is ---------------------------------------------------------------------------------


class Reads:
    """Called with what is differentiated, by identity, and with the other arguments: whether such code reads
    one of the former otherwise. Methods of whatever it may be given are among it."""

    __name__ = "reads"

    def __init__(self, code: Sequence[Any]) -> None:
        self.code = code

    def __call__(self, held: Found, *others: Any) -> bool:
        beside = [each for each in others if id(each) not in held]
        return meet(held, read_by(*self.code, *{*held.values()}, *beside))


def _code(op: Op, objects: Objects) -> list[Any] | None:
    """Where the Python code begins that it runs; None where that is not known."""
    unknown = (a for a in op.args if isinstance(a, Value) and T.cls_of(operand_type(a)) in _FUNCTIONS)
    if op.fn is None or any(unknown):
        return None
    entry = entry_of(op.fn) if type(op.fn) is FunctionType else None
    fn = op.fn if entry is None else getattr(entry.source, "function", getattr(entry.source, "callee", op.fn))
    given = [a.value for a in op.args if isinstance(a, Const) and callable(a.value)]
    classes = [cls for a in op.args for cls in classes_in(operand_type(a)) if cls is not None]
    return [fn, *given, *classes, *objects.classes_in(op)]


_FUNCTIONS = (FunctionType, MethodType)

__all__ = ["Leaving", "classes_in", "unfit"]
