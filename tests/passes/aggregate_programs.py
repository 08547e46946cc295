"""Random programs of objects, dicts and lists that they make, hand on, share, leak, and ask for what they may
not have."""

from __future__ import annotations

import random
from types import SimpleNamespace

HEADER = """
from types import SimpleNamespace

class P:
    z = 5.0
    def norm(self):
        return self.x

class S:
    __slots__ = ("x", "y")

def fill(a, s):
    a.x = s

def put(a, s):
    a["x"] = s
"""

OBJECTS = ("object.__new__(P)", "object.__new__(S)", "SimpleNamespace()", "SimpleNamespace(x={0}, y={1})")
DICTS = ("{{'x': {0}, 'y': {1}}}", "dict(x={0})", "{{}}", "{{'x': {0}, 'x': {1}}}")
FIELDS = {"o": (".x", ".x", ".y", ".z"), "d": ("['x']", "['x']", "['y']"), "l": ("[0]", "[-1]", "[1]")}
LISTS = ("[{0}, {1}, 0.25]", "[{0}]")


class Writer:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.depth = 1
        self.names = {"o": ["o0"], "d": ["d0"], "l": ["l0"]}
        self.count = 0

    def program(self) -> str:
        self.write("kept, s, n = [], x, 0")
        self.make("o", "o0", full=True)
        self.make("d", "d0", full=True)
        self.make("l", "l0", full=True)
        for _ in range(self.random.randint(3, 10)):
            self.statement()
        if self.random.random() < 0.3:
            self.write(f"kept.append({self.any()})")
        self.write("return s, n, [shown(k) for k in kept]")
        return HEADER + "def f(x, b, shown):\n" + "\n".join(self.lines) + "\n"

    def write(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def any(self) -> str:
        return self.pick(*sum(self.names.values(), []))

    def value(self) -> str:
        return self.pick("s", "x", "1.5", f"s + {self.random.randint(1, 9)}", self.read(), "float(b)")

    def field(self, kind: str) -> tuple[str, str]:
        """A name of that kind, and a field of it."""
        name = self.pick(*self.names[kind])
        return name, self.pick(*FIELDS[kind])

    def read(self) -> str:
        return "".join(self.field(self.pick("o", "d", "l")))

    def make(self, kind: str, name: str, full: bool = False) -> None:
        forms = {"o": OBJECTS, "d": DICTS, "l": LISTS}[kind]
        self.write(f"{name} = " + self.pick(*forms).format("s", "x"))
        if full and kind == "o":
            self.write(f"{name}.x = s")
        if full and kind == "d":
            self.write(f"{name}['x'] = s")

    def statement(self) -> None:
        kind = self.pick("o", "o", "d", "l")
        choice = self.random.random()
        if choice < 0.3:
            name, field = self.field(kind)
            self.write(f"{name}{field} = {self.value()}")
        elif choice < 0.4:
            name, field = self.field(kind)
            self.write(f"{name}{field} += {self.value()}")
        elif choice < 0.6:
            self.write(f"s = s * 0.5 + {self.read()}")
        elif choice < 0.68:
            self.make(kind, self.pick(*self.names[kind]), full=self.random.random() < 0.7)
        elif choice < 0.76:
            self.write(f"{self.pick(*self.names[kind])} = {self.pick(*self.names[kind])}")
        elif choice < 0.8:
            self.leak(kind)
        elif self.depth < 4:
            self.nest(kind)

    def leak(self, kind: str) -> None:
        name = self.pick(*self.names[kind])
        call = {"o": f"fill({name}, s)", "d": f"put({name}, s)", "l": f"{name}.append(s)"}[kind]
        asked = {"o": f"n += 'x' in {name}.__dict__", "d": f"n += 'y' in {name}", "l": f"n += len({name})"}
        self.write(self.pick(call, f"kept.append({name})", asked[kind], asked[kind]))

    def nest(self, kind: str) -> None:
        self.count += 1
        head = self.pick(
            "if b:", "if s > 1.0:", f"for i{self.count} in range(3):", f"for i{self.count} in range(int(b)):"
        )
        self.write(head)
        self.depth += 1
        self.write("pass")
        for _ in range(self.random.randint(1, 4)):
            self.statement()
        if "for" in head and self.random.random() < 0.3:
            self.write(self.pick("if s > 4.0: break", "if s < 0.0: continue"))
        self.depth -= 1
        if head.startswith("if") and self.random.random() < 0.5:
            self.write("else:")
            self.depth += 1
            self.make(kind, self.pick(*self.names[kind]), full=True)
            self.depth -= 1


def shown(value: object) -> object:
    """What is in an object, dict or list that was kept."""
    if isinstance(value, (dict, list)):
        return repr(value)
    if hasattr(value, "__slots__"):
        return [getattr(value, name, None) for name in value.__slots__]
    return repr(sorted(vars(value).items()))


def function(seed: int) -> object:
    source = Writer(seed).program()
    namespace: dict[str, object] = {"SimpleNamespace": SimpleNamespace}
    exec(compile(source, f"<program {seed}>", "exec"), namespace)
    namespace["f"].source = source  # type: ignore[attr-defined]
    return namespace["f"]
