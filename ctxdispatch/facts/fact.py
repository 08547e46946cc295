"""What is known of a callable that is no Python code: one row.

    list.append      stores into 0, keeps 1
    dict.get         looks at 0 and 1 (`__hash__`, `__eq__`); the result is an item of 0, or 2 itself
    np.reshape       the result may be 0 itself, or a view of it
    np.add           the result is new; `out` is 2

Operands are told by position, in text: `"0 2"`, `"1.."` (all from 1 on), `"out"` (by keyword), `"**"` (all
keywords). Of a method, 0 is its object. A row says what *may* happen: whoever reads it has to be right
whether it does or not.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

A = TypeVar("A")


class Operands(NamedTuple):
    """Some of the operands of a call."""

    positions: tuple[int, ...] = ()
    start: int | None = None
    """All positional operands from this one on."""
    names: tuple[str, ...] = ()
    """Of those that are given by keyword; `**`: all of them."""

    def of(self, args: Sequence[A], kwnames: Sequence[str] = ()) -> list[A]:
        """Those of a call whose last arguments are given by the keywords `kwnames`."""
        if self == NONE:
            return []
        n = len(args) - len(kwnames)
        given = [args[i] for i in self.positions if i < n]
        if self.start is not None:
            given += args[self.start : n]
        return given + [a for name, a in zip(kwnames, args[n:]) if self.has_name(name)]

    def has_name(self, name: str) -> bool:
        return name in self.names or EVERY in self.names

    def has(self, position: int) -> bool:
        return position in self.positions or (self.start is not None and position >= self.start)

    def without(self, position: int) -> Operands:
        return self._replace(positions=tuple([p for p in self.positions if p != position]))

    def after(self, n: int) -> Operands:
        """The same without the first n, and the others by their places after those."""
        start = None if self.start is None else max(self.start - n, 0)
        return Operands(tuple([i - n for i in self.positions if i >= n]), start, self.names)

    def __bool__(self) -> bool:
        return self != NONE

    def __str__(self) -> str:
        rest = () if self.start is None else (f"{self.start}..",)
        return " ".join([*map(str, self.positions), *rest, *self.names])


EVERY = "**"
NONE = Operands()


@functools.cache
def operands(text: str) -> Operands:
    """`Operands` as rows write them."""
    words = text.split()
    starts = [int(w[:-2]) for w in words if w.endswith("..")]
    names = tuple([w for w in words if w.isidentifier() or w == EVERY])
    return Operands(tuple([int(w) for w in words if w.isdecimal()]), min(starts, default=None), names)


class Shares(enum.Enum):
    """How a result, or what an operand keeps, has to do with an operand."""

    ITSELF = enum.auto()
    """It is the operand."""
    ITEM = enum.auto()
    """It is what the operand holds; of an array, a number or a view of a row."""
    VIEW = enum.auto()
    """It is another array in the operand's memory."""
    HOLDS = enum.auto()
    """It is a new object that has the operand in it, or calls it."""
    COPIES = enum.auto()
    """It is a new object that has in it, or gives when asked, what the operand holds."""


_OBJECTS = (Shares.HOLDS, Shares.COPIES)
"""Of containers: an array has numbers."""


class Source(NamedTuple):
    shares: Shares
    operands: Operands

    def __str__(self) -> str:
        return f"{self.shares.name.lower()} {self.operands}"


class Fact(NamedTuple):
    """One row. What is not said does not happen."""

    stores: Operands = NONE
    """Whose contents it may change: an object's own state, an array's elements."""
    keeps: Operands = NONE
    """What may lie, after the call, in what it stores into, or in what nobody can see."""
    iterates: Operands = NONE
    """Whose items it goes through, or gives when asked: an iterator is at another place afterwards."""
    looks: Operands = NONE
    """On which it runs special methods: `methods`."""
    inside: Operands = NONE
    """On whose items it runs them, too."""
    methods: frozenset[str] = frozenset()
    calls: Operands = NONE
    """Which it calls; what they are called with may be anything that the operands hold."""
    result: tuple[Source, ...] = ()
    """What the result may share with operands; none: it is new, or has nothing that can change."""
    known: bool = True
    """False: the result may be, or share memory with, anything."""
    out: int | None = None
    """Where the array to write into stands, if it is given by position (`out=` by keyword)."""
    effect: bool = False
    """It does what is not seen in the operands: prints, draws a random number, reads the clock or a frame."""
    repeats: bool = False
    """Its effect is on what it stores into alone, or there is none once it is done again from the start (it
    reads the clock, or makes a generator of random numbers)."""
    scoped: bool = False
    """Its effect is on a context variable (`contextvars`): where the context is left, it is gone."""
    raises: bool = True
    """False: it raises nothing, whatever it is given."""
    twin: Any = None
    """`operator.add` for `operator.iadd`: what it does where the first operand cannot change."""
    gives: type | None = None
    """The class of the result, whatever it is given (but for what overrides NumPy's functions)."""
    total: tuple[type, ...] = ()
    """Classes: it raises nothing for operands of these."""
    layout: bool = False
    """It may change the shape, dtype or strides of an array that it stores into, not its elements alone."""
    views_from: int = 0
    """Operands of fewer dimensions have no views: what it makes of them is a new array."""
    lengths: Operands = NONE
    """Which say how many elements the result has, or how many there are along its axes."""

    @property
    def quiet(self) -> bool:
        """It changes nothing, keeps nothing, and runs no code but its own."""
        return self.only_looks and not self.looks

    @property
    def only_looks(self) -> bool:
        """It changes nothing, keeps nothing, and runs no code but its own and what it runs on operands."""
        return not (self.stores or self.keeps or self.iterates or self.calls or self.effect)

    @property
    def needless(self) -> bool:
        """It need not run where its result is not used: it raises nothing, and at most asks its operands."""
        return not (self.raises or self.stores or self.keeps or self.calls or self.effect)

    @property
    def new_array(self) -> bool:
        """An array that it returns is new, unless one is given to be written into. (What NumPy's reductions
        give of an array is a number, or an array.)"""
        return self.known and all(map(self._is_new, self.result))

    def _is_new(self, source: Source) -> bool:
        if source.shares is Shares.ITSELF:
            return source.operands.names == ("out",)
        return source.shares in _OBJECTS or (source.shares is Shares.ITEM and self.out is not None)

    def mentions(self, position: int) -> bool:
        """Something is said of that operand."""
        said = (*(getattr(self, name) for name in _OF_OPERANDS), *(s.operands for s in self.result))
        return any(operands.has(position) for operands in said)

    def bound(self, n: int, takes: bool = False) -> Fact:
        """What a method bound to the first n operands does: storing into those is an effect elsewhere, as is
        taking items of an iterator among them, `takes`. By -1: of `cls.__new__` what a call of `cls` does."""
        elsewhere = takes or any(map(self.stores.has, range(n)))
        moved = {name: getattr(self, name).after(n) for name in _OF_OPERANDS}
        sources = tuple([s._replace(operands=s.operands.after(n)) for s in self.result])
        known = self.known and not any(s.operands.has(i) for s in self.result for i in range(n))
        out = None if self.out is None else self.out - n
        effect, repeats = self.effect or elsewhere, self.repeats and not elsewhere
        return self._replace(
            **moved, result=sources, known=known, out=out, effect=effect, repeats=repeats, twin=None
        )

    def may_share(self, shares: Shares, position: int) -> bool:
        return not self.known or any(s.shares is shares and s.operands.has(position) for s in self.result)


_OF_OPERANDS = ("stores", "keeps", "iterates", "looks", "inside", "calls", "lengths")


def fact(*, inside: bool | str = "", methods: str = "", result: str = "", **columns: Any) -> Fact:
    """A row, of text. `result="item 0, itself 2"`; `inside=True`: of all that it looks at."""
    columns["inside"] = columns.get("looks", "") if inside is True else inside or ""
    columns.update({name: operands(columns[name]) for name in _OF_OPERANDS if name in columns})
    sources = tuple(_source(text) for text in result.split(",") if text)
    return Fact(**columns, methods=_methods(methods), result=sources)


@functools.cache
def _methods(text: str) -> frozenset[str]:
    return frozenset([name if name == "keys" else f"__{name}__" for name in text.split()])


def _source(text: str) -> Source:
    kind, _, of = text.strip().partition(" ")
    return Source(Shares[kind.upper()], operands(of))
