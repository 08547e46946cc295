"""What functions that stay calls return: the type of a recursive function's result, by iteration from below.

fact(x: float, n: int)  =  1.0 | x * fact(x, n)   ->   Never, then float, then float again: float

And whether they are *contained*, a recursive one together with its calls of itself (`contained.py`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.dispatch import Context
from ctxdispatch.dispatch.transform import is_of_engine
from ctxdispatch.ir.graph import Graph
from ctxdispatch.ir.rewrite import clone
from ctxdispatch.ir.values import hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.guards import AttrIs, CodeIs, DefaultsAre, Guard
from ctxdispatch.passes.held import without_held
from ctxdispatch.passes.infer import Variable, infer
from ctxdispatch.passes.lengths import plain
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs import replaced
from ctxdispatch_contexts.programs.contained import is_contained, may_be_contained
from ctxdispatch_contexts.programs.derived import entry_of
from ctxdispatch_contexts.programs.errors import DerivativeError
from ctxdispatch_contexts.programs.objects import REFLECTED, has_other, is_made_by_init, method_of_type

if TYPE_CHECKING:
    from ctxdispatch_contexts.programs.prepare import Prepared

PACKAGE = "ctxdispatch_contexts."

MAX_ROUNDS, MAX_DEPTH = 5, 8
MAX_LOOKS = 32
"""So often functions are looked at whole for one program."""

Call = tuple[FunctionType, tuple[T.Type, ...]]


class Returns:
    """Serves `infer` as its `call_type`. What the answers rest on goes to `assume`."""

    def __init__(
        self, lifted: Callable[[FunctionType], Graph], assume: Callable[[Guard], None],
        untrusted: Set[Variable], searched: Callable[[Any, Sequence[T.Type]], T.Type | None],
        prepared: Callable[[Graph, Sequence[T.Type], Sequence[Any], Returns], Prepared],
        ruled: Callable[[Any], bool],
    ) -> None:  # fmt: skip
        """`searched`: what is known of the results of the engine's functions. `prepared` prepares the graph
        of another function, asking this. `ruled`: calls of a function mean something else. `looks`: whether
        functions are contained is asked, too; `asked`: of those; `uncontained`: which are not. `outermost`:
        for each call under way, the depth of the outermost one that it has asked for meanwhile;
        `provisional`: the same of those that are done, or under way, and not final before that one is."""
        self.lifted, self.assume, self.untrusted, self.searched = lifted, assume, untrusted, searched
        self.prepared, self.ruled = prepared, ruled
        self.looks, self._left = False, MAX_LOOKS
        self.known: dict[Call, T.Type] = {}
        self.asked: set[Call] = set()
        self.uncontained: set[Call] = set()
        self.refused: dict[tuple[Any, tuple[T.Type, ...]], DerivativeError] = {}
        self.outermost: list[int] = []
        self.provisional: dict[Call, int] = {}

    def __call__(self, callee: Any, types: Sequence[T.Type], kwnames: tuple[str, ...]) -> T.Type | None:
        if issubclass(type(callee), type):
            return T.Exact(callee) if is_made_by_init(callee) or _is_context(callee) else None
        if hashable(callee) and callee in REFLECTED and len(types) == 2:
            return self._of_operator(callee, types)
        copied = replaced.result_type(callee, types, kwnames) if type(callee) is FunctionType else None
        if copied is not None or type(callee) is not FunctionType:
            return copied
        if is_of_engine(callee):
            return None if kwnames else self.searched(callee, types)
        bound = self._bound(callee, types, kwnames)
        if bound is None:
            return None
        entry = entry_of(callee)
        if entry is not None:
            return self._of_entry(entry, tuple(map(_settled, bound)))
        looked = self._looked(callee, bound)
        return self._found((callee, tuple(map(_settled, bound)))) if looked is None else looked

    def is_contained(self, callee: Any, types: Sequence[T.Type], kwnames: tuple[str, ...]) -> bool:
        if not self.looks or type(callee) is not FunctionType or entry_of(callee) is not None:
            return False
        bound = self._bound(callee, types, kwnames)
        return bound is not None and self._looked(callee, bound) is not None

    def _looked(self, callee: FunctionType, bound: Sequence[T.Type]) -> T.Type | None:
        """What a contained function returns, given arguments of which all that is known holds meanwhile."""
        if not self.looks or T.Any in bound or self.ruled(callee) or not may_be_contained(callee):
            return None
        key = (callee, tuple([plain(T.widen(t)) for t in bound]))
        self.asked.add(key)
        found = self._found(key)
        return None if key in self.uncontained else found

    def _found(self, key: Call) -> T.Type:
        if key not in self.known:
            self._iterate(key)
        self._rest_on(self.provisional.get(key, MAX_DEPTH))
        return self.known[key]

    def _bound(
        self, callee: FunctionType, types: Sequence[T.Type], kwnames: tuple[str, ...]
    ) -> list[T.Type] | None:
        """The types of all parameters, with those of defaults; None where the call does not bind."""
        code, defaults = callee.__code__, callee.__defaults__ or ()
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given = len(types) - len(kwnames)
        if code.co_flags & 0x0C or given > code.co_argcount:
            return None
        last = dict(zip(names[code.co_argcount - len(defaults) : code.co_argcount], defaults, strict=True))
        left = {name: T.type_of(value) for name, value in {**last, **(callee.__kwdefaults__ or {})}.items()}
        own = dict(zip((*names[:given], *kwnames), types, strict=True))
        if len(own) < len(types) or not {*own} <= {*names} or not {*names} <= {*own, *left}:
            return None
        if not {*names} <= {*own} and not (callee.__module__ or "").startswith(PACKAGE):
            self.assume(DefaultsAre(callee, callee.__defaults__, dict(callee.__kwdefaults__ or {})))
        return [own[name] if name in own else left[name] for name in names]

    def _of_entry(self, entry: Any, types: tuple[T.Type, ...]) -> T.Type | None:
        """Where there is no derivative nothing is known of it."""
        if (entry, types) in self.refused:
            return None
        try:
            return _number(entry.result(types))
        except DerivativeError as error:
            self.refused[entry, types] = error
            return None

    def refuse_calls(self, graph: Graph) -> None:
        """DerivativeError at a call, in the graph, of what has no derivative for its arguments."""
        for _, op in graph.ops() if self.refused else ():
            entry = entry_of(op.fn) if type(op.fn) is FunctionType and not op.kwnames else None
            error = self.refused.get((entry, tuple(map(_settled, map(operand_type, op.args)))))
            if error is not None:
                error.place_call(op.pos)
                raise error

    def _of_operator(self, operator: Any, types: Sequence[T.Type]) -> T.Type | None:
        """Where one class decides: the left one's, or the right one's where that has no such method."""
        asked = list(zip(types, REFLECTED[operator], strict=True))
        found = [None if any(has_other(*each) for each in asked) else method_of_type(*each) for each in asked]
        left, right = map(T.cls_of, types)
        if found[0] is not None and (found[1] is None or left is right) and right is not None:
            cls, name, method, order = left, REFLECTED[operator][0], found[0], types
        elif found[0] is None and found[1] is not None and left is not None:
            cls, name, method, order = right, REFLECTED[operator][1], found[1], types[::-1]
        else:
            return None
        self.assume(AttrIs(cls, name, method))
        result = self(method, order, ())
        return None if result is None or T.cls_of(result) is type(NotImplemented) else result

    def _rest_on(self, depth: int) -> None:
        """What is under way innermost rests on what was found so far of the call at `depth`."""
        if self.outermost:
            self.outermost[-1] = min(self.outermost[-1], depth)

    def _iterate(self, key: Call) -> None:
        depth = len(self.outermost)
        self.known[key] = T.Never
        if depth >= MAX_DEPTH:
            self._give_up(key)
            return
        self.provisional[key] = depth
        self.outermost.append(MAX_DEPTH)
        for _ in range(MAX_ROUNDS):
            if self._infer_again(key, depth):
                break
        else:
            self._give_up(key)
        self._settle(depth, self.outermost.pop())

    def _give_up(self, key: Call) -> None:
        self.known[key] = T.Any
        self.uncontained.add(key)

    def _infer_again(self, key: Call, depth: int) -> bool:
        """One round. Whether the next would find the same; if not, what rests on this one's result goes."""
        before, others = (self.known[key], key in self.uncontained), set(self.provisional)
        self.known[key] = T.widen(T.join(before[0], self._once(*key)))
        if (self.known[key], key in self.uncontained) == before or self.outermost[depth] > depth:
            return True
        for other in self.provisional.keys() - others:
            del self.known[other], self.provisional[other]
            self.uncontained.discard(other)
        return False

    def _settle(self, depth: int, outermost: int) -> None:
        """The call at `depth` is done: final, and what rests on it, unless it rests on one further out."""
        self._rest_on(outermost if outermost < depth else MAX_DEPTH)
        for key in [k for k, on in self.provisional.items() if on >= depth]:
            if outermost < depth:
                self.provisional[key] = outermost
            else:
                del self.provisional[key]

    def _once(self, function: FunctionType, types: tuple[T.Type, ...]) -> T.Type:
        try:
            graph = self.lifted(function)
        except UnsupportedSyntax:
            self.uncontained.add((function, types))
            return T.Any
        cells = function.__closure__ or ()
        found = self._prepared(function, graph, types)
        if found is not None:
            return found
        inference = infer(graph, types, cells=cells, call_type=self, untrusted=self.untrusted, annotate=False)
        self.assume(CodeIs(function, function.__code__))
        for guard in inference.guards:
            self.assume(guard)
        return _number(inference.return_type)

    def _prepared(self, function: FunctionType, graph: Graph, types: tuple[T.Type, ...]) -> T.Type | None:
        """The same of one whose code is looked at whole, with all that it calls: which is contained."""
        if (function, types) not in self.asked:
            return None
        self._left -= 1
        found = None
        if self._left >= 0 and may_be_contained(function):
            with suppress(UnsupportedSyntax, DerivativeError):
                found = self.prepared(clone(graph), types, function.__closure__ or (), self)
        if found is None or found.return_type is T.Never or not is_contained(found):
            self.uncontained.add((function, types))
            return None
        self.assume(CodeIs(function, function.__code__))
        for guard in found.guards.values():
            self.assume(guard)
        return _number(found.return_type)


def _is_context(cls: type) -> bool:
    return issubclass(cls, Context) and cls.__new__ is Context.__new__


def _settled(type_: T.Type) -> T.Type:
    """What may be said of an argument wherever the function is called."""
    return plain(T.widen(without_held(type_)))


def _number(type_: T.Type) -> T.Type:
    """Only results that cannot change under way: numbers, arrays, tuples of such."""
    if isinstance(type_, (T.Exact, T.OneOf, T.ArrayOf)) or type_ is T.Never:
        return type_
    if isinstance(type_, T.TupleOf):
        items = tuple(map(_number, type_.items))
        return T.TupleOf(items)
    if isinstance(type_, T.Held) and issubclass(type_.cls, tuple):
        return dataclasses.replace(type_, fields=tuple((name, _number(part)) for name, part in type_.fields))
    return T.widen(type_) if isinstance(type_, T.Known) and T.is_literal(type_.value) else T.Any
