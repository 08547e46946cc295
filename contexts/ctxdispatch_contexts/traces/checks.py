"""What is asked before C code is called in a run: that it has no effect, changes nothing that was there
before, and finds no methods in Python, which would not be seen."""

from __future__ import annotations

import operator
import types
from collections.abc import Callable, Sequence, Set
from typing import Any

import numpy as np

from ctxdispatch.dispatch.context import Args, Kwargs
from ctxdispatch.dispatch.reach import HEAPTYPE, lookup
from ctxdispatch.facts import BINARY, COMPARISONS, INPLACE, OF_FRAME, SIGNS, Fact, canonical, fact_on
from ctxdispatch.ir import primitives
from ctxdispatch.ir.registry import Registry
from ctxdispatch.ir.values import hashable
from ctxdispatch_contexts.traces.changes import Changes
from ctxdispatch_contexts.traces.kinds import (
    NUMBER,
    fixed,
    has_code,
    is_container,
    is_iterator,
    is_plain,
    root_of,
    within,
)
from ctxdispatch_contexts.traces.operands import Operands

_IN_C = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, type, np.ufunc)
_DISPLAYS = (primitives.build_map, primitives.build_tuple, primitives.build_list)
_ARITHMETIC = frozenset({*BINARY, *INPLACE, *COMPARISONS, *SIGNS})

RULES: Registry[Callable[..., Any]] = Registry()
"""rule(run, ctx, f, args, kwargs): what is done at calls of these."""
REFUSED: set[int] = set()
"""Callables whose calls cannot be in a trace, by id: they show what a trace does not know of."""
SEES_METHODS: set[Callable[..., Any]] = set()
"""Rules that see to it that methods of the items that they work on run under the context."""
OF_TEXTS: set[Callable[..., Any]] = set()
"""Rules that make texts of texts."""
WHOLE: set[int] = set()
"""Functions with Python code that are called as they are, by id."""
NO_ROW = Fact()


def refuse(*callables: Any) -> None:
    """Calls of these make a run unfit."""
    REFUSED.update(map(id, callables))


def rule_of(callee: Any) -> Callable[..., Any] | None:
    return RULES.get(callee) if hashable(callee) else None


def row_of(callee: Any, first: Any) -> Fact | None:
    """What a trace may take for granted of a call with this first operand."""
    return fact_on(callee, first) or (NO_ROW if id(callee) in WHOLE else None)


class Checks(Operands):
    def __init__(self, wrt: Set[str] | None, most: int) -> None:
        super().__init__(wrt, most)
        self.changed = Changes()
        self.asked = 0
        """So many calls were asked about."""

    def check_call(self, f: Any, args: Args, kwargs: Kwargs) -> None:
        """Of anything. Texts of numbers are for people, what `id` gives is for dicts of the run's own."""
        self.asked += 1
        callee, bound = canonical(f)
        args = (*bound, *args)
        fact, rule = row_of(callee, args[0] if args else None), rule_of(callee)
        if id(callee) in REFUSED:
            raise self.unfit(f"{callee.__name__}")
        if fact is None:
            return
        if fact.effect and rule is None and callee is not vars:
            raise self.unfit(f"{callee!r} has an effect")
        if not self.texts and not self.ids:
            return
        operands, names = (*args, *kwargs.values()), tuple(kwargs)
        looked = [*args[:1], *fact.looks.of(operands, names), *fact.iterates.of(operands, names)]
        inside = operands if id(callee) in WHOLE else fact.inside.of(operands, names)
        is_text = any(id(a) in self.texts for a in looked) or any(map(self._has_text, inside))
        if is_text and rule not in OF_TEXTS:
            raise self.unfit("what is in a text of a number")
        own = type(args[0]) is dict and id(args[0]) in self.inside if args else False
        if any(id(a) in self.ids for a in operands) and not (own or callee in _DISPLAYS):
            raise self.unfit("what `id` gives")

    def _has_text(self, value: Any) -> bool:
        if is_container(value) or type(value) in (set, frozenset):
            return any(map(self._has_text, within(value)))
        return id(value) in self.texts

    def check_looked_at(self, callee: Any, args: Args, kwargs: Kwargs) -> None:
        """Before C code runs: it finds no methods in Python."""
        fact = fact_on(callee, args[0] if args else None)
        if fact is not None:
            self._check_methods_of(callee, fact, (*args, *kwargs.values()), tuple(kwargs))

    def is_made(self, function: Any) -> bool:
        """A function that the run has made."""
        return type(function) is types.FunctionType and not self.origins.is_there(function)

    def check(self, callee: Any, fact: Fact, operands: Args, names: Sequence[str]) -> None:
        """Before it is called: that it changes nothing that was there, and calls nothing unseen."""
        if fact.effect or callee in OF_FRAME:
            raise self.unfit(f"{callee!r} has an effect")
        if any(type(each) in _IN_C for each in fact.calls.of(operands, names)):
            raise self.unfit(f"{callee!r} calls C code")
        if id(callee) in WHOLE and any(map(has_code, operands)):
            raise self.unfit(f"{callee!r}, which is not followed, calls code")
        self._check_methods_of(callee, fact, operands, names)
        for operand in fact.iterates.of(operands, names):
            self.check_gone_through(operand)
        for operand in fact.stores.of(operands, names):
            self.check_stored(operand)

    def _check_methods_of(self, callee: Any, fact: Fact, operands: Args, names: Sequence[str]) -> None:
        numeric = callee in _ARITHMETIC or type(callee) is np.ufunc or id(callee) in WHOLE
        if numeric and any(map(_is_computed_with, operands)) and not all(map(is_plain, operands)):
            raise self.unfit(f"{callee!r} of numbers and an object")
        by_item = callee is operator.setitem and not any(type(each) is slice for each in operands[1:2])
        for operand in fact.looks.of(operands[:2] if by_item else operands, names):
            self._check_methods(fact, operand)
        for operand in fact.inside.of(operands, names):
            self._check_methods_within(fact, operand)

    def _check_methods(self, fact: Fact, operand: Any) -> None:
        """Methods in Python that C code runs are not seen."""
        if type(operand) is slice and not is_plain(operand):
            raise self.unfit("a slice of objects")
        if not (fixed(operand) or is_container(operand)) and has_method(type(operand), fact.methods):
            raise self.unfit(f"C code that runs methods of a {type(operand).__name__}")

    def _check_methods_within(self, fact: Fact, operand: Any, depth: int = 4) -> None:
        self._check_methods(fact, operand)
        if is_container(operand) or type(operand) in (set, frozenset):
            if not depth:
                raise self.unfit("what lies deep within what is looked at")
            for item in within(operand):
                self._check_methods_within(fact, item, depth - 1)

    def check_gone_through(self, operand: Any) -> None:
        if type(operand) is types.GeneratorType:
            return  # its code is under the context, or it is met as something that was there
        if is_iterator(operand) and id(operand) not in self.inside:
            raise self.unfit("an iterator that was there before")

    def check_stored(self, operand: Any) -> None:
        if type(operand) is np.ndarray:
            if id(root_of(operand)) not in self.inside:
                raise self.unfit("an array that was there before changes")
        elif type(operand) is dict and id(operand) not in self.origins.paths:
            self.made(operand)  # `**kwargs`: the interpreter has made it
        elif id(operand) not in self.inside and not is_iterator(operand):
            self.changes(operand)

    def changes(self, owner: Any) -> None:
        """Something that was there before is about to get other items."""
        of_object = self.origins.paths.get(id(owner), "").endswith("__dict__")
        if of_object or not self.changed.of_items(owner):
            raise self.unfit(f"a {type(owner).__name__} that was there before changes")


def has_method(cls: type, names: Set[str]) -> bool:
    """One of them is written in Python."""
    return bool(cls.__flags__ & HEAPTYPE) and any(type(lookup(cls, n)) is types.FunctionType for n in names)


def _is_computed_with(value: Any) -> bool:
    return type(value) in NUMBER or isinstance(value, (np.ndarray, np.generic))
