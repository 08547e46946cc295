"""Which local variable slot holds which value.

The live range of a value is a set of program points, kept as the bits of one integer: two values may
share a slot if `a & b == 0`, and a shared slot's range is `a | b`. A point is one read or write of a
slot; a value is live from its write to just before its last read, so that what an op reads and what it
writes may share.

Invariant: whatever an instruction reads from a slot, the last write to that slot on every path was of
that value. A value that may be UNDEF is copied only within one slot, which then is empty (NULL); where
that cannot be had, `Slots.sentinels` has the value, and UNDEF is stored as an object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ctxdispatch.bytecode.assemble import Pos
from ctxdispatch.ir.values import UNDEF, Value

SymbolicAt = tuple[str, Any, Pos]
"""An instruction whose argument is what it means. `MOVES` is a parallel copy: [(parameter, source), ...]."""


class Piece:
    """Straight-line code and where it goes on. `live`: the values that are in slots at its start, as bits."""

    __slots__ = (
        "code", "successors", "test", "pos", "live", "events", "place", "kept", "quiet", "spelled", "written",
    )  # fmt: skip

    def __init__(self, code: list[SymbolicAt]) -> None:
        self.code = code
        self.successors: list[Piece] = []
        self.test: str | None = None  # of a branch; FOR_ITER's is "ITER", SEND's "SEND"
        self.pos: Pos = (None, None, None, None)
        self.live = 0
        self.events: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        self.place = -1
        self.kept = False  # an edge that must be there even without code
        self.written = False  # its block has been: those that are not lie ahead
        self.spelled = False  # there is an instruction, if it goes to the next piece too
        self.quiet = False  # jumps without handling signals


class Slots:
    """`index[value]`; `names` per slot; `empties` are the values for which UNDEF clears the slot."""

    def __init__(self, arguments: Sequence[Value], fixed: Iterable[Value], order: Sequence[Piece]) -> None:
        self.index: dict[Value, int] = {}
        self.names: list[str] = []
        self.sentinels: set[Value] = set()
        self.empties: set[Value] = set()
        self._arguments = arguments
        self._fixed = frozenset(fixed)
        self._order = order
        self._values: list[Value] = []
        self._number: dict[Value, int] = {}
        self._names: dict[Value, str] = {}  # that messages need
        self._checked: set[Value] = set()
        self._two_names: set[Value] = set()  # a message names the slot, so these cannot be empty
        self._unbound: set[Value] = set()
        self._parent: list[int] = []
        self._range: list[int] = []
        self._allocate()

    def _allocate(self) -> None:
        for argument in self._arguments:
            self._numbered(argument)
        for piece in self._order:
            piece.events = list(self._events(piece))
        self._flow()
        self._ranges()
        self._parent = list(range(len(self._values)))
        self._coalesce()
        self._colour()
        self._settle_undef()

    # -- events ------------------------------------------------------------------------------------

    def _numbered(self, value: Value) -> int:
        number = self._number.get(value)
        if number is None:
            number = self._number[value] = len(self._values)
            self._values.append(value)
        return number

    def _events(self, piece: Piece) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """(reads, writes) of what touches slots."""
        fixed, numbered = self._fixed, self._numbered
        for name, arg, _ in piece.code:
            if isinstance(arg, Value):
                if name == "STORE_FAST":
                    yield (), (numbered(arg),)
                elif name != "POP_TOP" and arg not in fixed:
                    if name != "LOAD_FAST":
                        self._names.setdefault(arg, arg.name)
                    yield (numbered(arg),), ()
            elif name == "MOVES":
                reads = (numbered(a) for _, a in arg if isinstance(a, Value) and a not in fixed)
                yield tuple(reads), tuple(numbered(p) for p, _ in arg)
            elif name == "CHECK":
                if self._names.setdefault(arg[0], arg[1]) != arg[1]:
                    self._two_names.add(arg[0])
                self._checked.add(arg[0])
                yield (numbered(arg[0]),), ()

    def _flow(self) -> None:
        """Liveness at the pieces' starts."""
        facts = [(piece, *_exposed(piece)) for piece in reversed(self._order)]
        changed = True
        while changed:
            changed = False
            for piece, reads, writes in facts:
                live = 0
                for successor in piece.successors:
                    live |= successor.live
                live = reads | live & ~writes
                if live != piece.live:
                    piece.live, changed = live, True

    def _ranges(self) -> None:
        self._range = [0] * len(self._values)
        for k in range(len(self._arguments)):
            self._range[k] = 1 << k
        start = len(self._arguments)
        # Arguments are written before the first point; what the first piece reads reaches back to there.
        for number in _bits(self._order[0].live):
            self._range[number] |= (1 << start) - 1 >> number << number
        for piece in self._order:
            self._ranges_of(piece, start)
            start += len(piece.events) + 1

    def _ranges_of(self, piece: Piece, start: int) -> None:
        """Points `start` (the entry) to `start + len(events)`."""
        ranges = self._range
        out = 0
        for successor in piece.successors:
            out |= successor.live
        ends = dict.fromkeys(_bits(out), start + len(piece.events) + 1)
        for k in range(len(piece.events) - 1, -1, -1):
            point = start + k + 1
            reads, writes = piece.events[k]
            for number in writes:
                end = ends.pop(number, point + 1)
                ranges[number] |= (1 << end - point) - 1 << point
            for number in reads:
                ends.setdefault(number, point)
        for number, end in ends.items():
            ranges[number] |= (1 << end - start) - 1 << start

    # -- sharing -----------------------------------------------------------------------------------

    def _find(self, number: int) -> int:
        parent = self._parent
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    def _moves(self) -> Iterator[tuple[Value, Any]]:
        for piece in self._order:
            for name, arg, _ in piece.code:
                if name == "MOVES":
                    yield from arg

    def _coalesce(self) -> None:
        """Copies first whose source may be unbound: they need one slot."""
        moves = [(p, a) for p, a in self._moves() if isinstance(a, Value) and a not in self._fixed]
        self._unbound = self._maybe_unbound()
        moves.sort(key=lambda move: move[1] not in self._unbound)
        for param, source in moves:
            self._unite(self._number[param], self._number[source])

    def _unite(self, a: int, b: int) -> None:
        a, b = sorted((self._find(a), self._find(b)))
        if a == b or self._range[a] & self._range[b] or b < len(self._arguments):
            return
        if self._clash(self._values[a], self._values[b], a < len(self._arguments)):
            return
        self._parent[b] = a
        self._range[a] |= self._range[b]
        name = self._names.get(self._values[a]) or self._names.get(self._values[b])
        if name:
            self._names[self._values[a]] = name

    def _clash(self, a: Value, b: Value, is_argument: bool) -> bool:
        """Whether messages need two names."""
        first = a.name if is_argument else self._names.get(a)
        second = self._names.get(b)
        return bool(first and second and first != second)

    def _colour(self) -> None:
        """First fit; an argument has its own slot, and its name."""
        for k, argument in enumerate(self._arguments):  # each has one of its own: calls may go by name
            mine = bool(argument.name) and argument.name not in self.names
            self.names.append(argument.name if mine else f"{argument.name or 't'}.{k}")
        taken = [self._range[k] for k in range(len(self._arguments))]
        pinned: list[str | None] = [*self.names]
        roots = [n for n in range(len(self._arguments), len(self._values)) if self._parent[n] == n]
        roots.sort(key=lambda n: not self._names.get(self._values[n]))
        place: dict[int, int] = {k: k for k in range(len(self._arguments))}
        for number in roots:
            place[number] = self._fit(number, taken, pinned)
        for number, value in enumerate(self._values):
            self.index[value] = place[self._find(number)]
        self._unique_names(pinned)

    def _fit(self, number: int, taken: list[int], pinned: list[str | None]) -> int:
        live, value = self._range[number], self._values[number]
        name = self._names.get(value) or None
        for slot, mask in enumerate(taken):
            if not mask & live and (name is None or pinned[slot] in (None, name)):
                taken[slot] = mask | live
                pinned[slot] = pinned[slot] or name
                return slot
        taken.append(live)
        pinned.append(name)
        self.names.append(name or value.name)
        return len(taken) - 1

    def _unique_names(self, pinned: list[str | None]) -> None:
        """What a debugger shows; messages need the pinned ones, which stay."""
        seen: set[str] = set(self.names[: len(self._arguments)])
        for slot in range(len(self._arguments), len(self.names)):
            name = self.names[slot]
            if not pinned[slot] and (not name or name in seen):
                name = f"{name or 't'}.{slot}"
            seen.add(name)
            self.names[slot] = name

    def vanishes(self, piece: Piece) -> bool:
        """Whether all that `piece` does is to copy slots to themselves."""
        return all(name == "MOVES" and all(self.is_free(p, a) for p, a in arg) for name, arg, _ in piece.code)

    def is_free(self, param: Value, source: Any) -> bool:
        """Whether a copy needs no instruction."""
        if isinstance(source, Value):
            return self.index.get(source, -1) == self.index[param]
        return source is UNDEF and param not in self.sentinels and param not in self.empties

    # -- UNDEF -------------------------------------------------------------------------------------

    def _maybe_unbound(self) -> set[Value]:
        copies: dict[Any, list[Value]] = {}
        for param, source in self._moves():
            copies.setdefault(source, []).append(param)
        found: set[Value] = set()
        work = list(copies.get(UNDEF, ()))
        while work:
            value = work.pop()
            if value not in found:
                found.add(value)
                work += copies.get(value, ())
        return found

    def _settle_undef(self) -> None:
        """Per group of values that are copied to one another: empty slots will do, or an object must."""
        if not self._unbound:
            return
        group = {value: {value} for value in self._unbound}
        apart = [value for value in self._two_names if value in group]
        for param, source in self._moves():
            if source in group and group[param] is not group[source]:
                group[source] |= group[param]
                for member in group[param]:
                    group[member] = group[source]
            if source in group and self.index[param] != self.index[source]:
                apart.append(param)
        for value in apart:
            self.sentinels |= group[value]
        self.empties = {v for v in self._unbound - self.sentinels if not group[v].isdisjoint(self._checked)}


def _exposed(piece: Piece) -> tuple[int, int]:
    """Values read before they are written, and those written."""
    reads = writes = 0
    for read, written in piece.events:
        for number in read:
            if not writes >> number & 1:
                reads |= 1 << number
        for number in written:
            writes |= 1 << number
    return reads, writes


def _bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
