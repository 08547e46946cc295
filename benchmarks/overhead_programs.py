"""What the fourth table runs: ten programs as people write them, and single operations, many times over."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .roundtrip import comprehension, nested_calls, nested_loops, numpy_loop, scalar_loop

# -- programs ------------------------------------------------------------------------------------------------


def generator(n: int) -> int:
    def collatz(k: int) -> Any:
        while k != 1:
            yield k
            k = k // 2 if k % 2 == 0 else 3 * k + 1

    longest = 0
    for i in range(1, n):
        longest = max(longest, sum(1 for _ in collatz(i)))
    return longest


def try_in_loop(n: int) -> int:
    total = 0
    for i in range(n):
        try:
            if i % 10 == 0:
                raise ValueError(i)
            total += i
        except ValueError:
            total -= 1
        finally:
            total += 1
    return total


class Ball:
    def __init__(self, height: float) -> None:
        self.height = height
        self.speed = 0.0

    def advance(self, dt: float) -> None:
        self.speed -= 9.81 * dt
        self.height += self.speed * dt
        if self.is_below(0.0):
            self.bounce()

    def is_below(self, floor: float) -> bool:
        return self.height < floor

    def bounce(self) -> None:
        self.height = -self.height
        self.speed = -0.9 * self.speed


def method_calls(n: int) -> float:
    ball = Ball(1.0)
    for _ in range(n):
        ball.advance(0.01)
    return ball.height


def string_building(n: int) -> str:
    lines = []
    for i in range(n):
        name = "item" + str(i)
        lines.append(f"{name:>10}: {i / 7:.3f}")
        if name.endswith("9"):
            lines.append("-" * 20)
    return "\n".join(lines).upper()


def dict_work(text: str) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    longest: dict[str, str] = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1
        if len(word) > len(longest.get(word[0], "")):
            longest[word[0]] = word
    for word in longest.values():
        counts[word] += 1
    return sorted(counts.items())


TEXT = "everything is a call so every call dispatches and what no rule is for stays as it was " * 12

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "scalar loop": (scalar_loop, (1.0001, 1000)),
    "nested loops": (nested_loops, (120,)),
    "numpy expression": (numpy_loop, (np.ones(50), np.ones(50))),
    "nested calls": (nested_calls, (400,)),
    "comprehension": (comprehension, (1500,)),
    "generator": (generator, (60,)),
    "try in loop": (try_in_loop, (1000,)),
    "method calls": (method_calls, (300,)),
    "string building": (string_building, (150,)),
    "dict work": (dict_work, (TEXT,)),
}


def identity(x: Any) -> Any:
    return x


# -- operations ----------------------------------------------------------------------------------------------


class Plain:
    def __init__(self, x: Any) -> None:
        pass

    def method(self, x: Any, b: Any = None) -> Any:
        return x


OBJECT = Plain(0)
OBJECT.field = 1.5

OPERATOR = {"identity": 30.0}  # ns over native
METHOD = {"identity": 60.0}


@dataclass(frozen=True)
class Operation:
    """`line`, a statement about `names`. `targets`: column -> ns that it may take over native."""

    what: str
    line: str
    names: Mapping[str, Any]
    targets: Mapping[str, float] = field(default_factory=dict)

    def unrolled(self, count: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """A function with `count` of these lines and no loop, and its arguments. The names are parameters, so
        that nothing but the operation is intercepted."""
        lines = [f"def run({', '.join(self.names)}):", *count * [f"    {self.line}"]]
        namespace: dict[str, Any] = {"__name__": "unrolled", "known": 1.5}
        exec(compile("\n".join(lines), f"<{self.what}>", "exec"), namespace)
        return namespace["run"], tuple(self.names.values())


FLOATS = {"a": 1.5, "b": 2.5}
ITEMS = {"xs": [1.5, 2.5, 3.5], "i": 1}

OPERATIONS = [
    Operation("a + b, floats", "a + b", FLOATS, OPERATOR),
    Operation("-a, float", "-a", {"a": 1.5}, OPERATOR),
    Operation("a < b, floats", "a < b", FLOATS, OPERATOR),
    Operation("xs[i], list", "xs[i]", ITEMS),
    Operation("xs[i] = a, list", "xs[i] = a", {**ITEMS, "a": 1.5}),
    Operation("o.field", "o.field", {"o": OBJECT}),
    Operation("if xs: (truth)", "if xs: pass", ITEMS),
    Operation("for x in xs: (iteration, one item)", "for x in xs: pass", {"xs": (1.5,)}),
    Operation("a global name", "known", {}),
    Operation("(a, b) (display)", "(a, b)", FLOATS),
    Operation("f()", "f()", {"f": lambda: None}, OPERATOR),
    Operation("f(a)", "f(a)", {"f": lambda a: a, "a": 1.5}, OPERATOR),
    Operation("f(a, b)", "f(a, b)", {"f": lambda a, b: a, **FLOATS}, OPERATOR),
    Operation("f(a, b, a)", "f(a, b, a)", {"f": lambda a, b, c: a, **FLOATS}, OPERATOR),
    Operation("f(a, b=b)", "f(a, b=b)", {"f": lambda a, b: a, **FLOATS}, OPERATOR),
    Operation("f(*args)", "f(*args)", {"f": lambda a, b: a, "args": (1.5, 2.5)}),
    Operation("abs(a)", "abs(a)", {"a": -1.5}, OPERATOR),
    Operation("f(a), f is abs", "f(a)", {"f": abs, "a": -1.5}, OPERATOR),
    Operation("o.method(a)", "o.method(a)", {"o": OBJECT, "a": 1.5}, METHOD),
    Operation("o.method(a, b=b)", "o.method(a, b=b)", {"o": OBJECT, **FLOATS}, METHOD),
    Operation("math.sqrt(a), of a module", "math.sqrt(a)", {"math": math, "a": 1.5}, METHOD),
    Operation("d.get(a), builtin", "d.get(a)", {"d": {1.5: 2.5}, "a": 1.5}, METHOD),
    Operation("C(a), instance", "C(a)", {"C": Plain, "a": 1.5}),
]
