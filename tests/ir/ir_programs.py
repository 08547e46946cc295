"""Random programs and random control flow, for tests that compare two ways to run the same thing."""

from __future__ import annotations

import operator
import random
from collections.abc import Iterator

from ctxdispatch.ir import Block, Builder, Const, Graph, IrreducibleError, Operand, loops, positional

NAMES = ("x", "y", "z")
FUEL = 60


class OutOfFuel(Exception):
    """The random program has run long enough."""


class Log:
    """The world that a random program acts on: it logs what it is told and says which way to go."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[object] = []

    def note(self, *what: object) -> int:
        self.lines.append(what)
        if len(self.lines) > FUEL:
            raise OutOfFuel
        return len(self.lines)

    def decide(self, *what: object) -> bool:
        self.note(*what)
        return self.random.random() < 0.5

    def items(self, *what: object) -> Iterator[int]:
        self.note(*what)
        return iter(range(self.random.randrange(4)))


# -- source ---------------------------------------------------------------------------------------


def random_source(seed: int) -> str:
    """A function f(w, x, y, z) that acts on a `Log`."""
    rng = random.Random(seed)
    lines = _block(rng, 1, 3, in_loop=False)
    return "\n".join(["def f(w, x, y, z):", *lines, "    return x, y, z", ""])


def _block(rng: random.Random, depth: int, budget: int, in_loop: bool) -> list[str]:
    lines: list[str] = []
    for _ in range(rng.randrange(1, 4)):
        lines += _statement(rng, depth, budget, in_loop)
    return lines


def _statement(rng: random.Random, depth: int, budget: int, in_loop: bool) -> list[str]:
    pad = "    " * depth
    kinds = ["assign"] * 3 + ["note", "swap", "inplace", "value", "ternary"]
    kinds += ["if", "ifelse", "while", "for", "forelse", "true"] * (budget > 0)
    kinds += ["break", "continue"] * (2 * in_loop) + ["return"]
    kind = rng.choice(kinds)
    names = [rng.choice(NAMES) for _ in range(3)]

    def inner(loop: bool) -> list[str]:
        return _block(rng, depth + 1, budget - 1, loop)

    simple = {
        "assign": lambda: f"{names[0]} = {_expression(rng)}",
        "note": lambda: f"w.note({_expression(rng)})",
        "swap": lambda: f"{names[0]}, {names[1]} = {_expression(rng)}, {names[0]}",
        "inplace": lambda: f"{names[0]} {rng.choice(['+=', '-='])} {_expression(rng)}",
        "value": lambda: f"{names[0]} = {_condition(rng)} {rng.choice(['and', 'or'])} {_expression(rng)}",
        "ternary": lambda: f"{names[0]} = {names[1]} if {_condition(rng)} else {_expression(rng)}",
        "return": lambda: f"return {_expression(rng)}" if rng.random() < 0.4 else "pass",
        "break": lambda: "break",
        "continue": lambda: "continue",
    }
    if kind in simple:
        return [pad + simple[kind]()]
    heads = {
        "if": f"if {_condition(rng)}:",
        "ifelse": f"if {_condition(rng)}:",
        "while": f"while {_condition(rng)}:",
        "for": f"for {names[0]} in w.items({names[1]}):",
        "forelse": f"for {names[0]} in w.items({names[1]}):",
        "true": "while True:",
    }
    loop = in_loop or not kind.startswith("if")
    lines = [pad + heads[kind], *inner(loop)]
    if kind in ("true", "while"):
        lines.insert(1, f"{pad}    w.note()")
    if kind.endswith("else"):
        lines += [pad + "else:", *inner(in_loop)]
    return lines


def _expression(rng: random.Random) -> str:
    a, b = rng.choice(NAMES), rng.choice([*NAMES, "1", "2"])
    return rng.choice([a, b, f"{a} + {b}", f"{a} - {b} * 2", f"w.note({a}) + {b}", f"{b} - w.note({a}, {b})"])


def _condition(rng: random.Random) -> str:
    a, b = rng.choice(NAMES), rng.choice(NAMES)
    return rng.choice(
        [
            f"w.decide({a})",
            f"{a} > {b}",
            f"w.decide() and {a}",
            f"{a} > 0 or w.decide({b})",
            f"not {a} or {b} < w.note()",
            f"{a} < {b} < 3",
        ]
    )


# -- control flow graphs --------------------------------------------------------------------------


def random_graph(seed: int) -> Graph | None:
    """A graph f(note, decide, x, y, z) with arbitrary edges; None where that is irreducible."""
    rng = random.Random(seed)
    graph = Graph("f", positional(5, ("note", "decide", *NAMES)))
    b = Builder(graph)
    note, decide, *start = graph.params
    for name, value in zip(NAMES, start, strict=True):
        b.write(name, value)
    blocks = [graph.entry, *(b.new_block() for _ in range(rng.randrange(3, 9)))]
    for index, block in enumerate(blocks):
        b.enter(block)
        for _ in range(rng.randrange(3)):
            _random_op(b, rng, note)
        b.call(note, Const(index))
        _random_end(b, rng, decide, blocks, index)
    for block in blocks[1:]:
        b.seal(block)
    try:
        loops(graph)
    except IrreducibleError:
        return None
    return graph


def _random_op(b: Builder, rng: random.Random, note: Operand) -> None:
    name, other = rng.choice(NAMES), rng.choice(NAMES)
    kind = rng.randrange(3)
    if kind == 0:
        b.write(name, b.call(operator.add, b.read(name), b.read(other), name=name))
    elif kind == 1:
        b.write(name, b.call(note, b.read(other), b.read(name), name=name))
    else:
        b.write(name, b.read(other))


def _random_end(b: Builder, rng: random.Random, decide: Operand, blocks: list[Block], index: int) -> None:
    later, earlier = blocks[index + 1 : index + 5], blocks[max(1, index - 3) : index + 1]
    if not later:
        b.ret(b.call(_items, *(b.read(n) for n in NAMES)))
    elif rng.random() < 0.2:
        b.jump(later[0])
    else:  # the next block is always among the targets: all blocks are reached
        ends = [later[0], rng.choice(later * 3 + earlier)]
        rng.shuffle(ends)
        b.branch(b.call(decide, b.read("x")), *ends)


def _items(*items: object) -> tuple[object, ...]:
    return items
