"""One run, as it is written down."""

from __future__ import annotations

import contextlib
import itertools
import operator
import types
from collections.abc import Sequence, Set
from typing import Any

import numpy as np

from ctxdispatch.dispatch.overdub import resolve
from ctxdispatch.dispatch.reach import HEAPTYPE
from ctxdispatch.facts import (
    AS_ARRAY,
    COMPARISONS,
    INPLACE,
    ITEMS,
    SYMBOLS,
    Fact,
    canonical,
)
from ctxdispatch_contexts.derivatives import table
from ctxdispatch_contexts.programs.activity import has_zero_derivative
from ctxdispatch_contexts.traces.changes import Changes
from ctxdispatch_contexts.traces.checks import (
    SEES_METHODS,
    WHOLE,
    Args,
    Checks,
    Kwargs,
    row_of,
    rule_of,
)
from ctxdispatch_contexts.traces.kinds import (
    INTEGER,
    KINDS,
    MAPPINGS,
    NUMBER,
    fixed,
    is_container,
    is_iterator,
    is_number,
    is_sequence,
    items_of,
    root_of,
)
from ctxdispatch_contexts.traces.lines import Unfit

MAX_OPERATIONS = 20_000
CHOOSES = frozenset(f"__{name}__" for name in "lt le gt ge eq ne bool hash".split())
"""Methods by which an operation tells values apart."""
_TOLD = frozenset({bool, np.bool_, str, bytes, *INTEGER})
"""Classes of what an operation may find of values that is no number."""


_SMALL = 10_000
_JOINS = type(np.r_).__getitem__
_OF_ITEMS = {operator.getitem: 2, operator.setitem: 3}

ORDERED = frozenset(f for f in COMPARISONS if f.__name__[0] in "lg")
"""Of numbers they ask which is less."""


class Run(Checks):
    def __init__(self, context: Any, wrt: Set[str] | None, most: int) -> None:
        super().__init__(wrt, most)
        self.context = context
        self.generators: list[types.GeneratorType[Any, Any, Any]] = []
        self.closed = False
        self._left = MAX_OPERATIONS

    def end(self) -> None:
        """Generators that were not gone through end with the run; plainly they may end before."""
        for generator in self.generators:
            asked = self.asked
            with contextlib.suppress(BaseException):
                generator.close()
            if self.asked != asked:
                self.why = self.why or "a generator that does something at its end"
        if not self.changed.end():
            self.why = self.why or "something that was there before has changed"
        self.changed = Changes()
        self.closed = True

    # -- operations ------------------------------------------------------------------------------------------

    def operate(self, ctx: Any, f: Any, args: Args, kwargs: Kwargs) -> Any:
        self._left -= 1
        if self._left < 0:
            raise self.unfit("more operations than a trace is worth")
        if self.why is not None:
            raise Unfit(self.why)
        callee, bound = canonical(f)
        args = (*bound, *args) if bound else args
        try:
            if type(callee) is operator.attrgetter and len(args) == 1:
                return self._attributes(ctx, callee, args[0])
            rule = rule_of(callee)
            if rule is None:
                return self.done(callee, args, kwargs)
            if rule not in SEES_METHODS:
                self.check_looked_at(callee, args, kwargs)
            return rule(self, ctx, callee, args, kwargs)
        except Unfit as error:
            self.why = self.why or str(error)
            raise

    def _attributes(self, ctx: Any, getter: Any, owner: Any) -> Any:
        found = []
        for path in getter.__reduce__()[1]:
            value = owner
            for name in path.split("."):
                value = resolve(ctx, getattr)(value, name)
            found.append(value)
        return found[0] if len(found) == 1 else self.made(tuple(found))

    def of_its_class(self, value: Any) -> None:
        """Which class a number or array is of, is as it was."""
        if self.holds_values(value):
            known = self.lines.name(type(value))
            self.lines.add(f"if {self.lines.name(type)}({self.expression(value)}) is not {known}: raise Left")

    def done(self, callee: Any, args: Args, kwargs: Kwargs) -> Any:
        """A call of C code."""
        if type(callee) is operator.itemgetter and len(args) == 1:
            found = [self.done(operator.getitem, (args[0], key), {}) for key in callee.__reduce__()[1]]
            return found[0] if len(found) == 1 else self.made(tuple(found))
        if self._leaves_operator(callee, args):
            return NotImplemented
        fact = self._fact(callee, args[0] if args else None)
        if fact is None:
            return self.made(callee(*args, **kwargs))
        operands, names = (*args, *kwargs.values()), tuple(kwargs)
        self.check(callee, fact, operands, names)
        asked = [a for a in operands if not self.is_itself(a)] if callee in COMPARISONS else operands
        valued = any(map(self.holds_values, asked))
        try:
            out = callee(*args, **kwargs)
        except Exception as error:
            by_key = bool(args) and is_container(args[0]) and not any(map(self.holds_values, args[1:2]))
            ended = callee is next and type(error) is StopIteration  # which decisions of numbers say
            if valued and not (by_key or ended):
                raise self.unfit(f"{callee!r} raised something") from None
            raise
        if not (fact.known or self._is_ours(out)):
            raise self.unfit(f"{callee!r} gives what may have been there before")
        if not valued:
            return self._of_constants(callee, args, kwargs, out)
        looked = self._told_apart(callee, fact, operands, names)
        looks = bool(CHOOSES & fact.methods) and any(map(self.holds_values, looked))
        return self._of_values(callee, args, kwargs, out, fact.stores.of(operands, names), looks)

    def _is_ours(self, out: Any) -> bool:
        """It is known, or nothing that could be changed."""
        known = self.is_known(out) or self._was_there(out)
        return known or type(out) is tuple or fixed(out) or is_number(out)

    def _was_there(self, value: Any) -> bool:
        return id(value) in self.origins.paths

    def _leaves_operator(self, callee: Any, args: Args) -> bool:
        """float.__mul__(2.0, an object): the operator goes on to the object's own."""
        if type(callee) is not types.WrapperDescriptorType or not args or all(map(is_number, args)):
            return False
        return issubclass(callee.__objclass__, (float, complex, np.generic))

    def _fact(self, callee: Any, first: Any) -> Fact | None:
        """None for classes in Python whose objects are made without code."""
        fact = row_of(callee, first)
        if fact is None:
            bare = issubclass(type(callee), type) and callee.__flags__ & HEAPTYPE
            if not bare or callee.__new__ is not object.__new__ or callee.__init__ is not object.__init__:
                raise self.unfit(f"nothing is known of {callee!r}")
            if hasattr(callee, "__del__"):
                raise self.unfit(f"a {callee.__name__}, which does something when it ends")
            self.origins.of_class(callee)
        return fact

    def _told_apart(self, callee: Any, fact: Fact, operands: Args, names: Sequence[str]) -> list[Any]:
        """The operands that are asked whether they are equal, or which is less."""
        first = operands[0] if operands else None
        if type(first) in MAPPINGS or type(first) is set:
            given = [*operands[1]] if operands[1:] and type(operands[1]) in MAPPINGS else operands[1:2]
            return [key for key in (*given, *first) if not self.is_key(key)]
        if is_sequence(first) and callee in ITEMS:
            return []
        inside = fact.inside.of(operands, names)
        if fact.stores.of(operands, names):
            return inside
        looked = fact.looks.of(operands, names)
        return [a for a in looked if type(a) in NUMBER or type(a) is np.ndarray] + inside

    # -- results ---------------------------------------------------------------------------------------------

    def _of_constants(self, callee: Any, args: Args, kwargs: Kwargs, out: Any) -> Any:
        """What an operation gives of what are no values: an array is made anew each time."""
        if not _has_array(out):
            return self.constant(out)
        arrays = [out] if type(out) is np.ndarray else [*out]
        if all(map(self._is_apart, arrays)) and not _share_memory(arrays):
            if out is not arrays[0]:
                self.made(out)
            for array in arrays:
                kept = array.copy()
                self.register(array, f"{self.lines.name(np.ndarray.copy)}({self.lines.name(kept)})")
        else:
            self.register(out, self.call(callee, args, kwargs))
        return out

    def _is_apart(self, array: Any) -> bool:
        """A small new array: it may be kept in the place of what made it."""
        if type(array) is not np.ndarray or array.dtype.char not in KINDS or not array.flags.writeable:
            return False
        root = root_of(array)
        known = id(root) in self.values or self._was_there(root) or self._was_there(array)
        return root.base is None and not known and array.size <= _SMALL

    def constant(self, out: Any) -> Any:
        if type(out) in NUMBER:
            self.origins.constants.add(id(out))
            self.alive.append(out)
        elif is_container(out):
            for item in items_of(out):
                self.constant(item)
        return self.moved(out)

    def _of_values(
        self, callee: Any, args: Args, kwargs: Kwargs, out: Any, stores: list[Any], looks: bool
    ) -> Any:
        into_array = any(type(each) is np.ndarray for each in stores)
        if stores and looks and not into_array:
            raise self.unfit(f"{callee!r} tells values apart")
        if into_array:
            call = self.call(callee, args, kwargs)
            if out is None or id(out) in self.values:
                self.lines.add(call)
            else:
                self.register(out, call)
            return out
        if is_iterator(out) and (not looks or callee is zip):  # which asks how long they are
            if any(type(a) is np.ndarray for a in args):
                raise self.unfit(f"{callee!r} goes through an array")
            return self.made(out)
        fresh, known, told = self._parts(out)
        on_objects = bool(args) and not (is_number(args[0]) or type(args[0]) in (str, bytes))
        moves = on_objects and not (looks or fresh or id(callee) in WHOLE)
        if stores or moves or not (fresh or looks or told):
            return self.moved(out)
        if known and any(out is a for a in args):
            return out  # `np.asarray` of an array
        if known and looks:
            raise self.unfit(f"{callee!r} chooses among values")
        if told:
            self._check_told(callee, (*args, *kwargs.values()), out)
        self.register(out, self.call(callee, args, kwargs))
        return out

    def _check_told(self, callee: Any, operands: Args, out: Any) -> None:
        """What is found of numbers has to be the same for all numbers around; and one that is equal to what
        was there before may have been computed from it."""
        of_floats = any(map(_is_inexact, operands))
        is_ruled = is_container(out) and table.vjp_rule(callee) is not None  # which says what it is of
        told = type(out) not in (bool, np.bool_, str, bytes) and not is_ruled
        if told and of_floats and not has_zero_derivative(callee):
            raise self.unfit(f"{callee!r} tells numbers by whole ones")
        if callee not in ORDERED and type(out) in (bool, np.bool_) and any(map(self._was_given, operands)):
            raise self.unfit("whether a number is equal to one that was there before")

    def _was_given(self, value: Any) -> bool:
        if is_container(value):
            return any(map(self._was_given, items_of(value)))
        return id(value) in self.origins.given

    def _parts(self, out: Any) -> tuple[bool, bool, bool]:
        """Whether there are numbers or arrays in it that are new; that are known; and something else that an
        operation may find of values."""
        if type(out) in NUMBER or type(out) is np.ndarray:
            known = id(out) in self.values or self.origins.is_constant(out)
            return not known, known, False
        if is_container(out):
            found = [self._parts(item) for item in items_of(out)]
            return any(f for f, _, _ in found), any(k for _, k, _ in found), any(t for *_, t in found)
        return False, False, type(out) in _TOLD

    def moved(self, out: Any) -> Any:
        """What only moves values about: containers and objects that it makes are the run's own."""
        if not (fixed(out) or is_number(out) or type(out) is types.MethodType or self._was_there(out)):
            self.made(out)
        return out

    def call(self, callee: Any, args: Args, kwargs: Kwargs) -> str:
        """The statement or expression."""
        callee = operator.getitem if callee is _JOINS else callee
        if callee in _OF_ITEMS and len(args) == _OF_ITEMS[callee]:
            place = f"{self.expression(args[0])}[{self.index(args[1])}]"
            return f"{place} = {self.expression(args[2])}" if callee is operator.setitem else place
        if callee in AS_ARRAY:
            args = (*map(_as_tuples, args[:1]), *args[1:])  # of which the length is known
        given = [self.expression(a) for a in args]
        if len(given) == 2 and callee in SYMBOLS:
            return f"{given[0]} {SYMBOLS[callee]} {given[1]}"
        if callee in INPLACE and type(args[0]) is np.ndarray:
            return f"{given[0]} {SYMBOLS[INPLACE[callee]]}= {given[1]}"
        if callee is getattr and type(args[1]) is str:
            return f"{given[0]}.{args[1]}"
        named = [f"{name}={self.expression(value)}" for name, value in kwargs.items()]
        return f"{self.lines.name(callee)}({', '.join([*given, *named])})"

    def register(self, out: Any, expression: str) -> None:
        """The trace computes `out`: what it holds are values, or is tested."""
        cls = type(out)
        if cls in NUMBER or cls is np.ndarray:
            if cls is np.ndarray and out.dtype.char not in KINDS:
                raise self.unfit(f"an array of {out.dtype}")
            self.origins.named(out, expression)
            if cls is np.ndarray and out.base is None:
                self.inside.add(id(out))
        elif cls in _TOLD:
            self.decided(out, expression)
        elif cls is list or is_sequence(out):
            name = self.lines.variable()
            self.lines.add(f"{name} = {expression}")
            self.made(out)
            self.lines.add(f"if {self.lines.name(len)}({name}) != {len(out)}: raise Left")
            for i, item in enumerate(out):
                self.register(item, f"{name}[{i}]")
        else:
            raise self.unfit(f"a {cls.__name__} of numbers")

    def decided(self, out: Any, expression: str) -> None:
        """Something was found of values that is no number: it has to be the same again."""
        if type(out) in (bool, np.bool_):
            self.lines.add(f"if {'not ' if out else ''}({expression}): raise Left")
        elif type(out) in INTEGER:
            self.lines.add(f"if ({expression}) != {self.lines.constant(int(out))}: raise Left")
        else:
            self.texts.add(id(out))
            self.alive.append(out)

    # -- arrays, item by item --------------------------------------------------------------------------------

    def length(self, array: np.ndarray) -> int:
        """It may depend on what other arrays hold."""
        self.decided(len(array), f"{self.lines.name(len)}({self.expression(array)})")
        return len(array)

    def item(self, array: np.ndarray, i: int) -> Any:
        return self.done(operator.getitem, (array, i), {})

    def spread(self, array: np.ndarray) -> list[Any]:
        items: list[Any] = self.made([self.item(array, i) for i in range(self.length(array))])
        return items


def _is_inexact(value: Any) -> bool:
    return type(value) in NUMBER or (type(value) is np.ndarray and value.dtype.kind in "fc")


def _share_memory(arrays: Sequence[np.ndarray]) -> bool:
    return any(np.may_share_memory(a, b) for a, b in itertools.combinations(arrays, 2))


def _has_array(out: Any) -> bool:
    return type(out) is np.ndarray or (is_sequence(out) and any(map(_has_array, out)))


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if type(value) in (list, tuple) else value
