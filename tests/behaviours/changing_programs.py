"""Random programs of things that can be changed: numbers, arrays and views of them, lists, dicts, queues,
objects, complex arrays, variables of functions around and of the module. Each has a few of these, and
changes them in loops, branches, handlers, generators, contexts and calls that return nothing. Each is a
function of an array of three numbers. What they are made of is in `changing_tables.py`;
`mutating_programs.py` runs them.
"""

from __future__ import annotations

import random
import re

try:
    from tests.behaviours.changing_tables import FIELDS, HEADER, IN_OUTER, NEW, OF_MODULE, TABLES, THINGS
except ImportError:  # among the tests, whose folder is on the path
    from changing_tables import FIELDS, HEADER, IN_OUTER, NEW, OF_MODULE, TABLES, THINGS

KINDS = ["scalars", "arrays", *["stores"] * 4, *["changes"] * 4, "calls", "calls", *["blocks"] * 4]
THING = re.compile(r"(?<![\w.])(?:Box\.shared|" + "|".join(n for n in THINGS if n not in FIELDS) + r")\b")
DRAWN = re.compile(r"\$([a-z]+)")
BODY = re.compile(r"\$body(?:\((\w+)\)|\[(\w+)\])?$")


class Writer:
    """Writes one program, from what a generator of random numbers says."""

    def __init__(self, chance: random.Random) -> None:
        self.random = chance
        self.lines: list[str] = []
        self.depth = 2
        self.names: dict[str, list[str]] = {"x": ["s0"], "y": ["a0"]}
        self.things = [name for name in THINGS if chance.random() < 0.45]
        self.tables = {name: [row for row in rows if self.has(row)] for name, rows in TABLES.items()}
        self.count = 0

    def has(self, row: str) -> bool:
        """Whether the program has all things that a row is about."""
        return set(THING.findall(row)) <= {*self.things}

    def program(self) -> str:
        self.lines = ["def outer():", "    total = 0.1", "    def f(x):", "        nonlocal total"]
        if self.has("kept"):
            self.write("global kept")
        for line in ["s0 = x[0] * x[1]", "a0 = x * 1.0", *(THINGS[name][0] for name in self.things)]:
            self.write(line)
        for _ in range(self.random.randint(3, 9)):
            self.statement()
        self.write(" + ".join(["return s0 + a0 @ a0 + x[0]", *(THINGS[name][1] for name in self.things)]))
        self.lines.append("    return f")
        return HEADER + "\n".join(self.lines) + "\nf = outer()\n"

    def write(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def draw(self, table: str) -> str:
        """A row of a table, with what it draws itself."""
        if table == "names":
            return ", ".join(self.variables()) + "; global kept" * self.has("kept")
        rows = self.names[table] if table in self.names else self.tables[table]
        return self.fill(self.random.choice(rows))

    def fill(self, row: str) -> str:
        return DRAWN.sub(lambda drawn: self.draw(drawn[1]), row)

    def variables(self) -> list[str]:
        things = [name for name in self.things if name not in (*FIELDS, *OF_MODULE, *IN_OUTER)]
        return sorted({"total", *things, *self.names["x"], *self.names["y"]})

    # -- statements ------------------------------------------------------------------------------------------

    def statement(self) -> None:
        kind = self.random.choice(KINDS if self.depth < 5 else KINDS[:-4])
        row, name = self.random.choice(self.tables[kind]), self.new_name()
        row = row.replace("$names", self.draw("names"))
        if "$T" in row:
            row = row.replace("$T", self.draw("t"))
        for line in re.sub(r"\$n\b", name, re.sub(r"\$m\b", f"{name}w", row)).splitlines():
            self.line(line)
        if kind in NEW:
            self.names["x" if kind == "scalars" else "y"].append(name)

    def new_name(self) -> str:
        self.count += 1
        return f"n{self.count}"

    def line(self, line: str) -> None:
        """Of a row: as deep as it stands there."""
        stripped = line.lstrip()
        deeper = (len(line) - len(stripped)) // 4
        self.depth += deeper
        if body := BODY.match(stripped):
            self.body(*body.groups())
        else:
            self.write(self.fill(stripped))
        self.depth -= deeper

    def body(self, number: str | None, array: str | None) -> None:
        """A block whose own names are gone afterwards."""
        names = self.names
        self.names = {
            "x": [*names["x"], *[number] * 2 * bool(number)],
            "y": [*names["y"], *[array] * 2 * bool(array)],
        }
        for _ in range(self.random.randint(1, 3)):
            self.statement()
        self.names = names
