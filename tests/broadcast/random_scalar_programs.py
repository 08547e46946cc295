"""Random functions of numbers: branches, loops that end, calls of helpers, several outputs.

    program = random_program(draw)         hypothesis draws it
    program = seeded_program(7)            a random number generator does
    program.source, program.function, program.arity, program.kinds

Plain Python computes them without an exception: divisors are not zero, variables stay small (a float is
bounded when it is assigned, an int taken modulo), loops count. All variables exist before the first branch.
"""

from __future__ import annotations

import linecache
import math
import random
import zlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st


class Program(NamedTuple):
    """`kinds`: int or float, per parameter."""

    source: str
    function: Callable
    arity: int
    kinds: tuple[type, ...]

    def operands(self, n: int, seed: int = 0) -> list[np.ndarray]:
        """n elements for every parameter."""
        rng = np.random.default_rng(seed)
        return [
            rng.uniform(-2, 2, n) if kind is float else rng.integers(-3, 7, n) for kind in self.kinds
        ]


def random_program(draw) -> Program:
    return _program(lambda n: draw(st.integers(0, n - 1)))


programs = st.composite(random_program)


def seeded_program(seed: int) -> Program:
    return _program(random.Random(seed).randrange)


HELPERS = '''\
def clamp(x, low=-4.0, high=4.0):
    if x < low:
        return low
    return high if x > high else x


def soft(x):
    return x / (1.0 + abs(x))


def blend(x, y, k):
    for i in range(k % 4):
        x, y = 0.5 * (x + y), y - 0.25 * x
        if x > y:
            break
    return x
'''

NAMESPACE = {"__name__": "random_scalar_programs", "math": math, "np": np}


def _program(pick: Callable[[int], int]) -> Program:
    writer = _Writer(pick)
    source = HELPERS + "\n\n" + writer.function()
    filename = f"<random scalar program {zlib.crc32(source.encode())}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace = dict(NAMESPACE)
    exec(compile(source, filename, "exec"), namespace)
    return Program(source, namespace["program"], len(writer.kinds), writer.kinds)


# -- expressions: `{0}` is a smaller one of the same kind ----------------------------------------------------

FLOATS = (
    "({0} + {0})", "({0} - {0})", "{0} * {0}", "-{0}", "{0} / (1.5 + {0} ** 2)", "({0} / 3)", "abs({0})",
    "max({0}, {0})", "min({0}, {0}, 1.5)", "math.tanh({0})", "math.sin({0})", "np.cos({0})",
    "math.sqrt(abs({0}) + 0.25)", "math.exp(-abs({0}))", "np.log1p(abs({0}))", "np.maximum({0}, 0.5)",
    "math.hypot({0}, 0.75)", "math.atan2({0}, 2.5)", "math.floor({0})",
    "math.copysign({0}, {0})", "{0} ** 3", "soft({0})",
    "float(np.where({1}, {0}, {0}))", "({0} if {1} else {0})", "float({2})", "({2} * {0})",
    "blend({0}, {0}, {2})", "clamp({0})", "clamp({0}, high=1.0)", "({0} % 1.25)", "np.square({0})",
)  # fmt: skip

TRUTHS = (
    "{0} > {0}", "{0} <= 0.5", "-1 < {0} < 1", "{2} == {2}", "{2} % 2 == 1", "{2} < 2", "not {1}",
    "({1} and {1})", "({1} or {1})", "abs({0}) >= 1", "{2}", "{0} != {0}",
)  # fmt: skip

WHOLES = (
    "({2} + {2})", "({2} - 2)", "{2} * {2}", "{2} // 3", "({2} % 5)", "-{2}", "abs({2})", "max({2}, {2})",
    "int({0})", "({2} if {1} else {2})", "round({0})", "({2} & 3)", "({2} ^ 1)", "(({1}) + {2})",
)  # fmt: skip

BOUNDED = ("math.tanh({0})", "clamp({0})", "soft({0})", "math.sin({0})", "clamp({0}, -1.5, 2.5)")


class _Writer:
    """Writes one function. `pick(n)` is a number below n."""

    def __init__(self, pick: Callable[[int], int]) -> None:
        self.pick = pick
        self.kinds = (float,) * (1 + pick(3)) + (int,) * pick(3)
        self.params = [("x", "n")[kind is int] + str(i) for i, kind in enumerate(self.kinds)]
        self.counters = 0
        self.floats = ["u", "v", "w"]
        self.wholes = ["j", "k"]
        self.outputs = 1 + pick(3)

    def choose(self, items: Sequence[str]) -> str:
        return items[self.pick(len(items))]

    def function(self) -> str:
        lines = [f"def program({', '.join(self.params)}):"]
        lines += [f"    {line}" for line in self._start()]
        for _ in range(2 + self.pick(4)):
            lines += self.statement(3, False)
        return "\n".join([*lines, self._return(1)]) + "\n"

    def _start(self) -> list[str]:
        whole = [p for p, kind in zip(self.params, self.kinds) if kind is int]
        lines = [f"u, v, w = x0, {self.choose(('0', '0.5', '1'))}, {self.choose(('2.0', '-x0', 'x0 * x0'))}"]
        lines += [f"j, k = {whole[0] if whole else '1'}, {self.choose(('0', '2'))}"]
        self.floats += [p for p in self.params if p.startswith("x")]
        self.wholes += whole
        return lines

    def _return(self, depth: int) -> str:
        results = ", ".join(self.choose((*self.floats[:3], "j", "u + k")) for _ in range(self.outputs))
        return "    " * depth + f"return {results}"

    # -- statements ------------------------------------------------------------------------------------------

    def statement(self, depth: int, in_loop: bool) -> list[str]:
        """Lines at indentation 4 - depth."""
        kinds = [self.assign_float, self.assign_float, self.assign_whole, self.swap]
        if depth:
            kinds += [self.branch, self.branch, self.counted, self.while_loop, self.leave]
        return kinds[self.pick(len(kinds))](depth, in_loop)

    def block(self, depth: int, in_loop: bool) -> list[str]:
        return [line for _ in range(1 + self.pick(2)) for line in self.statement(depth - 1, in_loop)]

    def assign_float(self, depth: int, in_loop: bool) -> list[str]:
        value = self.choose(BOUNDED).format(self.number(2))
        return [_indent(depth) + f"{self.choose(self.floats[:3])} = {value}"]

    def assign_whole(self, depth: int, in_loop: bool) -> list[str]:
        return [_indent(depth) + f"{self.choose(self.wholes[:2])} = ({self.whole(2)}) % {5 + self.pick(4)}"]

    def swap(self, depth: int, in_loop: bool) -> list[str]:
        return [_indent(depth) + self.choose(("u, v = v, u", "u, v, w = w, u, v", "v += 0.125", "j = k"))]

    def branch(self, depth: int, in_loop: bool) -> list[str]:
        lines = [_indent(depth) + f"if {self.truth(2)}:", *self.block(depth, in_loop)]
        if self.pick(3) == 0:
            lines += [_indent(depth) + f"elif {self.truth(1)}:", *self.block(depth, in_loop)]
        if self.pick(2):
            lines += [_indent(depth) + "else:", *self.block(depth, in_loop)]
        return lines

    def counted(self, depth: int, in_loop: bool) -> list[str]:
        bound = self.choose(("3", "abs(j) % 6", "k % 4 + 1"))
        return [_indent(depth) + f"for i{self.counter()} in range({bound}):", *self.block(depth, True)]

    def while_loop(self, depth: int, in_loop: bool) -> list[str]:
        """It counts first, whatever is in it."""
        counter = f"i{self.counter()}"
        return [
            _indent(depth) + f"{counter} = 0",
            _indent(depth) + f"while {counter} < {2 + self.pick(5)} and {self.truth(1)}:",
            _indent(depth - 1) + f"{counter} += 1",
            *self.block(depth, True),
        ]

    def leave(self, depth: int, in_loop: bool) -> list[str]:
        how = ["return"] + ["break", "continue"] * in_loop
        word = self.choose(how)
        line = self._return(5 - depth) if word == "return" else _indent(depth - 1) + word
        return [_indent(depth) + f"if {self.truth(1)}:", line]

    def counter(self) -> int:
        self.counters += 1
        return self.counters

    # -- expressions -----------------------------------------------------------------------------------------

    def number(self, depth: int) -> str:
        if not depth or self.pick(4) == 0:
            return self.choose((*self.floats, *self.floats, "0.75", "-1.25", "2"))
        return self._fill(self.choose(FLOATS), depth - 1)

    def whole(self, depth: int) -> str:
        if not depth or self.pick(4) == 0:
            return self.choose((*self.wholes, *self.wholes, "1", "3"))
        return self._fill(self.choose(WHOLES), depth - 1)

    def truth(self, depth: int) -> str:
        if not depth:
            return f"{self.number(0)} > {self.number(0)}"
        return self._fill(self.choose(TRUTHS), depth - 1)

    def _fill(self, template: str, depth: int) -> str:
        makers = {"0": self.number, "1": self.truth, "2": self.whole}
        text = ""
        rest = template
        while "{" in rest:
            before, _, rest = rest.partition("{")
            text += before + makers[rest[0]](depth)
            rest = rest[2:]
        return text + rest


def _indent(depth: int) -> str:
    return "    " * (4 - depth)
