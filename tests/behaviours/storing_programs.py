"""Random programs of arrays that they make themselves and store to: elements, slices, rows, masks, in-place
operators, views of views, second names, swapped buffers, in loops and branches. Each is a function of an
array of three numbers. `mutating_programs.py` runs them, with `--stores`, and those of `Followed`, with
`--followed`.
"""

from __future__ import annotations

import random
from collections.abc import Callable

HEADER = """
import math
import numpy as np

def damp(a, s):
    a[0] = s
    a[1:] *= 0.5

def shifted(a, s):
    b = np.zeros(6)
    b[1:] = a[:-1] * s
    b[0] += a[-1]
    return b
"""

START = (
    "v0 = np.zeros(6)", "v0[:3] = x", "v1 = np.concatenate([x, x * 0.5])", "v2 = np.arange(6.0) * 0.1",
    "m0 = np.outer(np.array([0.5, -0.3, 0.2]), np.ones(4))", "m0[:, 1] = x", "s0 = x[0] * x[1]", "s1 = 0.3",
    "kept = []",
)  # fmt: skip
LENGTH, ROWS, COLUMNS = 6, 3, 4


class Writer:
    """Writes one program, from what a generator of random numbers says."""

    def __init__(self, chance: random.Random) -> None:
        self.random = chance
        self.lines: list[str] = []
        self.depth = 1
        self.vectors, self.matrices, self.scalars = ["v0", "v1", "v2"], ["m0"], ["s0", "s1"]
        self.counters: list[str] = []
        self.count = 0

    def program(self) -> str:
        self.lines = ["def f(x):"]
        for line in START:
            self.write(line)
        for _ in range(self.random.randint(4, 11)):
            self.statement()
        self.write(
            "return sum(np.sum(a * a) for a in kept) + s0 + s1 + v0.sum() + v1 @ v2 + np.sum(m0 * m0) + "
            + " + ".join(f"np.sum(np.sin({v}))" for v in self.vectors[:5])
        )
        return HEADER + "\n".join(self.lines) + "\n"

    def write(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    # -- expressions -----------------------------------------------------------------------------------------

    def name(self, names: list[str]) -> str:
        return self.random.choice(names)

    def index(self, length: int) -> str:
        if self.counters and self.random.random() < 0.6:
            counter = self.random.choice(self.counters)
            return f"{counter} % {length}" if length < 4 else counter
        return str(self.random.randint(-length, length - 1))

    def scalar(self) -> str:
        v, w, s = self.name(self.vectors), self.name(self.vectors), self.name(self.scalars)
        return self.pick(
            s, f"{v}[{self.index(LENGTH)}]", f"math.sin({s})", f"{s} * {v}[{self.index(LENGTH)}]", "0.7",
            f"np.sum({v} * {w}) * 0.1", f"{v} @ {w} * 0.1", f"x[{self.random.randint(0, 2)}]",
            f"{self.name(self.matrices)}[{self.index(ROWS)}, {self.index(COLUMNS)}]", f"np.tanh({v}).sum()",
            f"({s} + 0.1) * 0.5", f"{v}[1:4].sum()", f"-{s}",
        )  # fmt: skip

    def vector(self) -> str:
        v, w = self.name(self.vectors), self.name(self.vectors)
        return self.pick(
            v, f"{v} * {w}", f"np.sin({v})", f"{v} + {self.scalar()}", f"{v} * {self.scalar()}", f"{v}[::-1]",
            f"np.tanh({v} - {w})", f"{v}.copy()", f"np.where({w} > 0.05, {v}, 0.1)", f"shifted({v}, 0.9)",
            f"np.repeat({self.name(self.matrices)}[0, :3], 2)", f"-{v}", f"{v} - {w}",
        )  # fmt: skip

    def part(self, length: int) -> str:
        """An expression of so many numbers."""
        first = self.random.randint(0, LENGTH - length)
        v = self.name(self.vectors)
        return self.pick(
            f"{v}[{first}:{first + length}]", f"np.cos({v}[{first}:{first + length}])", self.scalar(),
            f"{v}[{first}:{first + length}] * {self.scalar()}", f"({self.vector()})[:{length}]",
            f"{v}[:{length}][::-1]",
        )  # fmt: skip

    def op(self) -> str:
        return self.pick("+=", "-=", "*=", "+=", "-=", "*=", "/=")

    def update(self, target: str, value: str) -> None:
        op = self.op()
        self.write(f"{target} {op} " + (f"(1.5 + np.tanh({value}))" if op == "/=" else value))

    # -- statements ------------------------------------------------------------------------------------------

    def statement(self) -> None:
        plain, nested = self.kinds()
        self.random.choice(plain + nested if self.depth < 4 else plain)()

    def kinds(self) -> tuple[list[Callable[[], None]], list[Callable[[], None]]]:
        """Of statements: single ones, and those that have others in them."""
        return [
            self.element, self.slice_, self.whole, self.new, self.matrix, self.view, self.listed, self.rename,
            self.number, self.element, self.slice_, self.matrix, self.other, self.buffer, self.call,
        ], [self.loop, self.loop, self.branch, self.counted, self.swap, self.attempt]  # fmt: skip

    def body(self) -> None:
        kept = self.vectors[:], self.matrices[:], self.scalars[:]
        self.depth += 1
        for _ in range(self.random.randint(1, 3)):
            self.statement()
        self.depth -= 1
        self.vectors, self.matrices, self.scalars = kept

    def element(self) -> None:
        target = f"{self.name(self.vectors)}[{self.index(LENGTH)}]"
        if self.random.random() < 0.5:
            self.write(f"{target} = {self.scalar()}")
        else:
            self.update(target, self.scalar())

    def slice_(self) -> None:
        length = self.random.randint(2, 5)
        first = self.random.randint(0, LENGTH - length)
        v = self.name(self.vectors)
        target = self.pick(
            f"{v}[{first}:{first + length}]", f"{v}[{first}:{first + length}]", f"{v}[:{length}]",
            f"{v}[{first}:{first + length}][::-1]",
        )  # fmt: skip
        if self.random.random() < 0.5:
            self.write(f"{target} = {self.part(length)}")
        else:
            self.update(target, self.part(length))

    def whole(self) -> None:
        v = self.name(self.vectors)
        if self.random.random() < 0.5:
            self.update(v, self.vector())
        else:
            self.write(f"{v}[{self.pick(':', '...')}] = {self.pick(self.vector(), self.scalar())}")

    def new(self) -> None:
        self.count += 1
        name = f"w{self.count}"
        filled = f"np.full(6, {self.scalar()})"
        self.write(f"{name} = {self.pick('np.zeros(6)', 'np.ones(6)', f'{self.vector()} * 1.0', filled)}")
        self.vectors.append(name)
        self.write(f"{name}[{self.index(LENGTH)}] = {self.scalar()}")

    def matrix(self) -> None:
        m = self.name(self.matrices)
        i, j = self.index(ROWS), self.index(COLUMNS)
        target, size = self.random.choice([
            (f"{m}[{i}, {j}]", 0), (f"{m}[{i}][{j}]", 0), (f"{m}[{i}]", 4), (f"{m}[:, {j}]", 3),
            (f"{m}[1:, ::2]", 2), (m, 4), (f"{m}[{i}, 1:]", 3), (f"{m}.T[{j}]", 3),
        ])  # fmt: skip
        value = self.part(size) if size and self.random.random() < 0.6 else self.scalar()
        if self.random.random() < 0.5 and target != m:
            self.write(f"{target} = {value}")
        else:
            self.update(target, value)

    def view(self) -> None:
        self.count += 1
        name = f"p{self.count}"
        m, v = self.name(self.matrices), self.name(self.vectors)
        viewed = self.pick(f"{v}[1:5]", f"{m}[{self.index(ROWS)}]", f"{m}[1]", f"{v}[::-1][:4]")
        self.write(f"{name} = {viewed}")
        s = self.scalar()
        self.write(self.pick(f"{name}[{self.index(4)}] = {s}", f"{name} *= {s}", "pass"))
        self.write(self.pick(
            f"s0 = s0 + {name}.sum() * 0.1", f"{name}[1:] += {name}[:-1]", f"{v}[0] = {name}[-1] * 0.5",
            f"kept.append({name} * 0.5)",
        ))  # fmt: skip
        if self.random.random() < 0.4:
            self.element()
            self.write(f"s1 = s1 + np.sum({name} * {name}) * 0.1")

    def listed(self) -> None:
        """Positions, masks."""
        v = self.name(self.vectors)
        at = self.pick("[0, 2]", "[1, 1, 3]", "np.array([4, 0])", f"{v} > 0.05", "np.arange(6) % 2 == 0")
        chosen = self.random.random()
        if chosen < 0.4:
            self.write(f"{v}[{at}] = {self.scalar()}")
        elif chosen < 0.7:
            self.update(f"{v}[{at}]", self.scalar())
        else:
            value = self.pick(self.scalar(), f"{self.vector()}[{at}]")
            self.write(f"np.{self.pick('add', 'subtract')}.at({v}, {at}, {value})")

    def rename(self) -> None:
        """A second name; one of two arrays."""
        v, w = self.name(self.vectors), self.name(self.vectors)
        self.count += 1
        name = f"q{self.count}"
        self.write(f"{name} = {self.pick(v, f'{v} if {self.name(self.scalars)} > 0.1 else {w}')}")
        self.vectors.append(name)
        self.element()

    def number(self) -> None:
        self.write(f"{self.name(self.scalars)} = math.tanh({self.scalar()})")

    def other(self) -> None:
        v = self.name(self.vectors)
        self.write(self.pick(
            f"np.copyto({v}, {self.vector()})", f"{v}.fill({self.scalar()})",
            f"np.multiply({v}, 0.5, out={v})",
            f"kept.append({v})", f"kept.append({v}.copy())", f"kept = [{self.vector()}]", f"{v} **= 2",
            f"v0, v1 = {v} * 0.5, v0", f"np.multiply.at({v}, [0, 0, 1], {self.scalar()})",
        ))  # fmt: skip

    def buffer(self) -> None:
        """One that holds no differentiated data, changed after it was read."""
        self.count += 1
        name = f"c{self.count}"
        self.write(f"{name} = np.arange(6.0)")
        self.write(f"s0 = s0 + np.sum({self.vector()} * {name}) * 0.05")
        self.write(f"{name}[{self.index(LENGTH)}] = 0.5")
        if self.random.random() < 0.5:
            self.write(f"{self.name(self.vectors)}[:] = {self.vector()} * {name} * 0.1")

    def call(self) -> None:
        v = self.name(self.vectors)
        self.write(self.pick(f"damp({v}, {self.scalar()})", f"{v} = shifted({v}, {self.scalar()})"))

    def loop(self) -> None:
        self.count += 1
        name = f"i{self.count}"
        self.write(f"for {name} in range({self.random.randint(1, 5)}):")
        self.counters.append(name)
        self.body()
        if self.random.random() < 0.2:
            self.depth += 1
            self.write(f"if {self.scalar()} > 0.9: {self.pick('break', 'continue')}")
            self.depth -= 1
        self.counters.pop()

    def counted(self) -> None:
        self.count += 1
        name = f"k{self.count}"
        self.write(f"{name} = 0")
        self.write(f"while {name} < {self.random.randint(1, 4)}:")
        self.depth += 1
        self.write(f"{name} += 1")
        self.depth -= 1
        self.counters.append(name)
        self.body()
        self.counters.pop()

    def branch(self) -> None:
        self.write(f"if {self.scalar()} > {self.pick('0.1', '-0.2', '0.0')}:")
        self.body()
        if self.random.random() < 0.5:
            self.write("else:")
            self.body()

    def swap(self) -> None:
        """Two buffers in turn; a new one a time."""
        self.write(f"for _ in range({self.random.randint(1, 4)}):")
        self.depth += 1
        if self.random.random() < 0.5:
            self.write("v1[1:-1] = v0[2:] * 0.5 + v0[:-2] * 0.3")
            self.write(f"v1[0] = {self.scalar()}")
            self.write("v0, v1 = v1, v0")
        else:
            self.write("new = v0.copy()")
            self.write("new[1:-1] = v0[1:-1] + 0.1 * (v0[2:] - v0[:-2])")
            self.write(f"new[0] = {self.scalar()}")
            self.write("v0 = new")
        self.depth -= 1

    def attempt(self) -> None:
        self.write("try:")
        self.body()
        self.depth += 1
        self.write(self.pick("pass", f"if {self.scalar()} > 0.0: raise ValueError", "[][0]"))
        self.depth -= 1
        self.write("except (ValueError, IndexError):")
        self.body()


class Followed(Writer):
    """Those of them, mostly, that are compiled: arrays have one name."""

    def kinds(self) -> tuple[list[Callable[[], None]], list[Callable[[], None]]]:
        return [
            self.element, self.slice_, self.whole, self.new, self.matrix, self.view, self.listed, self.number,
            self.element, self.slice_, self.buffer, self.call,
        ], [self.loop, self.branch, self.counted]  # fmt: skip

    def write(self, line: str) -> None:
        """No list keeps a view, no store is by the name of a transpose."""
        super().write(line.replace("kept.append(", "s0 = s0 + np.sum(").replace(".T[", "[:, "))
