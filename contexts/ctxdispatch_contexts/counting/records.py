"""What was counted, and where.

    Place     an operation in the source; made once, when the function is rewritten
    Tally     what one instance has counted there; a row of them is what it has counted in a function
    Record    the same to look at; `Counts` has them all, and sums by function, by line, by operation

Invariant: a tally only grows, each step is one addition to one field, so threads need no lock.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ctxdispatch.ir.values import Position

NOWHERE = Position("<generated>", "<generated>", 0)


class Place(NamedTuple):
    """An operation in the source. `weight`: what it costs on floats, in flops; `constant`: its operand that
    is one, else 0."""

    kind: str
    name: str
    position: Position | None
    operation: Any = None
    weight: int = 0
    constant: Any = 0


class Places:
    """Those of one function. Identity is what counts."""

    __slots__ = ("places",)

    def __init__(self, places: list[Place]) -> None:
        self.places = places


class Tally:
    """`others` counts what was not done on floats alone. Of a call, whose callee is known at run time only,
    there is one per name in `callees`."""

    __slots__ = ("place", "others", "flops", "bytes", "callees")

    def __init__(self, place: Place) -> None:
        self.place = place
        self.others = self.flops = self.bytes = 0
        self.callees: dict[str, Tally] = {}

    def callee(self, name: str) -> Tally:
        return self.callees.get(name) or self.callees.setdefault(name, Tally(self.place))

    def add(self, flops: float, nbytes: int) -> None:
        self.others += 1
        self.flops += round(flops)
        self.bytes += nbytes


class Rows(dict[Places, list[Any]]):
    """A row has for each place how often it was done on floats alone, and last a list of tallies. Each
    function gets its row when it is first entered."""

    def __missing__(self, places: Places) -> list[Any]:
        zeros = [0] * len(places.places)
        return self.setdefault(places, [*zeros, [*map(Tally, places.places)]])


class Record(NamedTuple):
    """`calls`: how often it was done; `flops`: floating-point operations; `bytes`: of arrays, read and
    written. `line` is 0, and `operation` empty, where it is a sum over several."""

    function: str
    filename: str
    line: int
    kind: str
    operation: str
    calls: int
    flops: int
    bytes: int


SORTS = ("flops", "bytes", "calls", "line")


class Counts:
    """What a `CountContext` has counted so far."""

    def __init__(self) -> None:
        self.rows = Rows()

    @property
    def records(self) -> list[Record]:
        """One per place and operation, in no order."""
        tallies = [each for *floats, tallies in [*self.rows.values()] for each in zip(floats, tallies)]
        return [record for floats, tally in tallies for record in _records(floats, tally) if record.calls]

    @property
    def calls(self) -> int:
        """How many calls, of whatever."""
        return sum(r.calls for r in self.records if r.kind == "call")

    @property
    def operations(self) -> int:
        """How many arithmetic operators."""
        return sum(r.calls for r in self.records if r.kind == "operator")

    @property
    def flops(self) -> int:
        """Floating-point operations, of all records."""
        return sum(r.flops for r in self.records)

    @property
    def bytes(self) -> int:
        """Of arrays, read and written, of all records."""
        return sum(r.bytes for r in self.records)

    def by_operation(self, sort: str = "calls") -> list[Record]:
        """Summed over all places."""
        return self._summed(lambda r: ("", "", 0, r.kind, r.operation), sort)

    def by_function(self, sort: str = "flops") -> list[Record]:
        """Summed over the lines of each function."""
        return self._summed(lambda r: (r.function, r.filename, 0, "", ""), sort)

    def by_line(self, sort: str = "flops") -> list[Record]:
        """Summed over the operations of each line."""
        return self._summed(lambda r: (r.function, r.filename, r.line, "", ""), sort)

    def of(self, operation: str) -> int:
        """How often the operation of this name was done: "add", "math.sin", "numpy.exp", ..."""
        return sum(r.calls for r in self.records if r.operation == operation)

    def _summed(self, key: Callable[[Record], tuple[Any, ...]], sort: str) -> list[Record]:
        if sort not in SORTS:
            raise ValueError(f"sort by one of {', '.join(SORTS)}, not by {sort!r}")
        sums: dict[tuple[Any, ...], list[int]] = {}
        for record in self.records:
            sums.setdefault(key(record), []).extend(record[5:])
        made = [Record(*k, *(sum(v[i::3]) for i in range(3))) for k, v in sums.items()]
        if sort == "line":
            return sorted(made, key=lambda r: (r.filename, r.line, r.function))
        return sorted(made, key=lambda r: (-getattr(r, sort), -r.calls, r.filename, r.line, r.operation))

    def to_json(self) -> str:
        """Totals, and all records as objects with the fields of `Record`."""
        totals = {name: getattr(self, name) for name in ("calls", "operations", "flops", "bytes")}
        records = [r._asdict() for r in sorted(self.records)]
        return json.dumps({"totals": totals, "records": records}, indent=1)

    def text(self, by: str = "line", sort: str = "flops", limit: int | None = 20) -> str:
        """A table by "line", "function" or "operation"."""
        rows = {"line": self.by_line, "function": self.by_function, "operation": self.by_operation}[by](sort)
        shown = rows if limit is None else rows[:limit]
        totals = f"{self.calls:,} calls, {self.operations:,} operators"
        lines = [f"{totals}, {self.flops:,} flops, {self.bytes:,} bytes"]
        lines += [f"{'calls':>12} {'flops':>14} {'bytes':>14}  {by}"]
        lines += [f"{r.calls:>12,} {r.flops:>14,} {r.bytes:>14,}  {_name(r)}" for r in shown]
        left = len(rows) - len(shown)
        return "\n".join([*lines, *([f"... and {left} more"] if left else [])])


def _records(floats: int, tally: Tally) -> Iterable[Record]:
    place, pos = tally.place, tally.place.position or NOWHERE
    where = (pos.function, pos.filename, pos.line or 0, place.kind)
    for name, each in [*tally.callees.items()] or [(place.name, tally)]:
        yield Record(*where, name, floats + each.others, each.flops + floats * place.weight, each.bytes)


def _name(record: Record) -> str:
    if record.line:
        return f"{record.filename}:{record.line} {record.function}"
    return f"{record.filename} {record.function}".strip() or record.operation
