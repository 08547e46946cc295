"""`drawn(chance)`: a program, a function of three numbers, as source: of an array `x` of them, or of a
container or object that is made of them (`rows.GIVEN`).

While a program is drawn, what there is of it runs: a line is kept if it runs, and what its values are says
what can be done with them next. So most of what is drawn are programs, whatever callables are in them; and
what is drawn goes by nothing but what was drawn before. (Hypothesis drew them once: it took longer for that
than all paths for running them, and two minutes for what `Program.shorter` does in ten seconds.)
"""

from __future__ import annotations

import ast
import contextlib
import functools
import itertools
import linecache
import random
import re
import signal
import textwrap
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tests.facts.observing import Deadline
from tests.paths import callees, rows
from tests.paths.folding import FORMS, Fold, bound
from tests.paths.values import is_tame, kind, numbers

POINTS = ([0.7, -0.4, 1.3], [0.2, 0.9, -0.6], [-0.8, 0.35, 0.55], [0.45, 0.45, 1.2])
NAMES = re.compile(r"^(x|v\d+|kept|shelf|box|board)$")
GLOBALS = ("kept = []", "shelf = {'a': 0.5}", "box = Box(0.25)", "board = np.zeros(3)")
SLOT = re.compile(r"\$([a-zA-Z])")
MOST = 8
"""Statements of a program."""
WEIGHTS = (1.0, 0.7, 1.3, 0.45, 1.9, 0.6, 2.3, 0.35)


class Program(NamedTuple):
    body: tuple[str, ...]
    result: str
    point: tuple[float, ...]
    rowless: bool
    """Whether calls without a row were asked for in it."""
    fold: Fold | None = None
    given: str = ""
    """What the function is given, by its name in `rows.GIVEN`; an array where it has none."""

    def source(self, within: str = "") -> str:
        """Within a `try` it is attempted, within a `with` recorded."""
        stored = bound("\n".join(self.body)) & {*GLOBAL}
        parameter, made = ("given", made_of(self.given)) if self.given else ("x", "")
        body = self.fold.of(self.body, parameter, stored) if self.fold else self.body
        lines = "\n".join([*body, f"return {self.result}"])
        lines = _WITHIN[within].format(lines if not within else textwrap.indent(lines, "    "))
        told = f"    global {', '.join(sorted(stored))}\n" if stored else ""
        text = f"def f({parameter}):\n{told}{textwrap.indent(lines, '    ')}\n"
        return f"{header(lines + made)}\n\n{made}{text}"

    def shown(self) -> str:
        """That runs."""
        given = "given(x)" if self.given else "x.copy()"
        end = f"x = np.array({list(self.point)})\nprint(f({given}), value_and_grad(f)({given}))"
        start = "import numpy as np\nfrom ctxdispatch import value_and_grad\n"
        return f"{start}{self.source().replace('import numpy as np', '').strip()}\n\n\n{end}\n"

    def shorter(self) -> Iterator[Program]:
        """Without one of its statements, one of the terms of its result, or what is around an expression."""
        terms = self.result.split(" + ")
        if self.fold:
            yield self._replace(fold=None)
        for i in reversed(range(len(self.body))):
            fold = self.fold and self.fold.without(i)
            yield self._replace(body=self.body[:i] + self.body[i + 1 :], fold=fold)
        for i in range(len(terms) if len(terms) > 1 else 0):
            yield self._replace(result=" + ".join(terms[:i] + terms[i + 1 :]))
        for i in reversed(range(len(self.body))):
            for text in simpler(self.body[i]):
                yield self._replace(body=(*self.body[:i], text, *self.body[i + 1 :]))

    def x(self) -> np.ndarray:
        return np.array(self.point)


def simpler(text: str) -> Iterator[str]:
    """The statement with a block's statements instead of it, or with an expression that is part of another
    instead of that."""
    tree = ast.parse(text)
    starts = [0, *itertools.accumulate(map(len, text.splitlines(True)))]
    yield from ("\n".join(map(ast.unparse, block)) for s in tree.body if (block := getattr(s, "body", ())))
    for outer in ast.walk(tree):
        for inner in ast.iter_child_nodes(outer) if isinstance(outer, ast.expr) else ():
            if isinstance(inner, ast.expr):
                (a, b), (c, d) = _span(outer, starts), _span(inner, starts)
                shorter = text[:a] + text[c:d] + text[b:]
                with contextlib.suppress(SyntaxError):  # 'a' = 1
                    compile(shorter, "<shorter>", "exec")
                    yield shorter


def _span(e: ast.expr, starts: list[int]) -> tuple[int, int]:
    return starts[e.lineno - 1] + e.col_offset, starts[(e.end_lineno or 1) - 1] + (e.end_col_offset or 0)


def made_of(name: str) -> str:
    """A function `given`: what a function is given, of an array of three numbers, and linear in them."""
    return f"def given(x):\n    return {rows.GIVEN[name][0]}\n\n\n"


def header(text: str) -> str:
    """What the text needs, and no more."""
    found = {m for m in rows.MODULES if re.search(rf"(?<![\w.]){re.escape(m)}\.", text)}
    needed = [f"import {m}" for m in rows.MODULES if m in found]
    text += "np.zeros" if re.search(r"\bboard\b", text) else ""
    return "\n".join([*needed, *(line for has, line in rows.HEADER.items() if re.search(has, text))])


def namespace(source: str, file: str) -> dict[str, Any]:
    """What it defines; tracebacks find its lines."""
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    given: dict[str, Any] = {"__name__": "programs"}
    exec(compile(source, file, "exec"), given)
    return given


_WITHIN = {
    "": "{}",
    "try": "try:\n{}\nexcept KeyError:\n    raise",
    "with": "from tests.recording import RECORDED\nwith RECORDED:\n{}",
}


@contextlib.contextmanager
def calm(seconds: float) -> Iterator[None]:
    """The same chance each time, no warnings, and an end."""
    random.seed(0)
    np.random.seed(0)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def ran(body: tuple[str, ...], point: tuple[float, ...], name: str) -> dict[str, Any]:
    """The variables after it, which is run outside of a function."""
    text = "\n".join(body)
    given: dict[str, Any] = {"x": np.array(point), "__name__": "programs"}
    with calm(5.0):
        exec(compile(header(text + "np. kept shelf box board"), "<header>", "exec"), given)
        if name:
            given["given"] = eval(rows.GIVEN[name][0], given)
        exec(compile(text, "<drawn>", "exec"), given)
    return {name: v for name, v in given.items() if NAMES.match(name)}


@functools.lru_cache(4096)
def env(body: tuple[str, ...], point: tuple[float, ...], name: str) -> dict[str, tuple[str, type]] | None:
    """Kind and class of each variable; None where it does not run, is not tame, or cannot be read."""
    try:
        found = ran(body, point, name)
        tame = all(map(is_tame, found.values()))
        sum(len([*numbers(n, v)]) for n, v in found.items())
        return {n: (kind(v), type(v)) for n, v in found.items()} if tame else None
    except (Exception, Deadline, SystemExit):
        return None


class Unfit(Exception):
    """There is nothing for a slot."""


class Drawing:
    """A program while it is drawn."""

    def __init__(self, random: random.Random, share: float) -> None:
        self.random, self.share = random, share
        self.point = tuple(random.choice(POINTS))
        self.given = random.choice([*rows.GIVEN]) if self.chance(0.4) else ""
        self.body: tuple[str, ...] = rows.GIVEN[self.given][1] if self.given else ()
        self.env = env(self.body, self.point, self.given) or {}
        self.fresh, self.rowless, self.asked = 2, False, False

    def pick(self, options: Any) -> Any:
        if not options:
            raise Unfit
        return self.random.choice(options)

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    # -- text ------------------------------------------------------------------------------------------------

    def fill(self, row: str, depth: int = 0) -> str:
        return SLOT.sub(lambda slot: self.slot(slot[1], depth), row)

    def slot(self, letter: str, depth: int) -> str:
        filler = SLOTS.get(letter)
        return filler(self, depth + 1) if filler else self.pick(self.names(letter))

    def names(self, letter: str) -> list[str]:
        """Those of the program's before those of its module; the newest first."""
        found = [n for n, (k, _) in self.env.items() if k == letter or letter == "V"]
        return sorted(found, key=lambda n: (n in GLOBAL, -int(n[1:]) if n[1:].isdigit() else 0))

    def expression(self, letter: str, table: tuple[str, ...], depth: int) -> str:
        names = self.names(letter)
        if depth > 2:
            return self.pick(names or [table[0].replace("$i", "0")])
        return self.fill(self.pick([*names, *(table[:1] if depth > 1 else table)]), depth)

    def anything(self, depth: int) -> str:
        if depth > 2:
            return self.slot("V", depth)
        return self.fill(self.pick(["$n", "$V", "$a", *rows.OTHERS]), depth)

    def new(self, depth: int) -> str:
        self.fresh += 1
        return f"v{self.fresh}"

    def block(self, depth: int) -> str:
        if depth > 2:
            raise Unfit
        return textwrap.indent(self.statement(depth), "    ").strip()

    # -- statements ------------------------------------------------------------------------------------------

    def statement(self, depth: int = 0) -> str:
        self.asked = self.chance(self.share)
        written = self.pick(ASKED if self.asked else KNOWN)
        return self.fill(self.pick(written), depth) if isinstance(written, tuple) else written(self, depth)

    def around(self, depth: int) -> str:
        if depth > 1:
            raise Unfit
        return self.fill(self.pick(rows.AROUND), depth)

    def thing(self, depth: int) -> str:
        return self.fill("$y = " + self.pick(rows.ROWLESS), depth)

    def call(self, depth: int) -> str:
        callee = self.pick([self.function, self.method])()
        operands = ", ".join([self.anything(1) for _ in range(self.pick([1, 0, 2, 1, 3]))])
        return f"{self.new(0)} = {callee}({self.pick(['{}', '{}', '{}', '*[{}]']).format(operands)})"

    def function(self) -> str:
        every = callees.functions(self.asked)
        return str(self.pick(every[self.pick([*every])]))

    def method(self) -> str:
        name = self.pick(self.names("U" if self.asked and self.names("U") else "V"))
        return f"{name}.{self.pick(callees.methods(self.env[name][1]))}"

    def accept(self, text: str) -> bool:
        after = env((*self.body, text), self.point, self.given)
        if after is not None:
            self.body, self.env = (*self.body, text), after
        return after is not None

    def step(self, tries: int = 8) -> None:
        """One more statement, if one runs."""
        for _ in range(tries):
            with contextlib.suppress(Unfit):
                if self.accept(self.statement()):
                    self.rowless |= self.asked
                    return

    def last(self) -> str | None:
        """Sometimes, one that raises."""
        if self.chance(0.06):
            with contextlib.suppress(Unfit):
                return self.fill("raise ValueError($v)") if self.chance(0.3) else self.call(0)
        return None


GLOBAL = ("kept", "shelf", "box", "board")
SLOTS: dict[str, Callable[[Drawing, int], str]] = {
    "n": lambda d, depth: d.expression("N", rows.NUMBERS, depth),
    "a": lambda d, depth: d.expression("A", rows.ARRAYS, depth),
    "v": Drawing.anything,
    "y": Drawing.new,
    "s": Drawing.block,
    "c": Drawing.call,
    "i": lambda d, depth: str(d.pick([0, 1, -1])),
    "w": lambda d, depth: d.pick(rows.WHOLE),
    "b": lambda d, depth: d.pick(rows.UFUNCS),
    "r": lambda d, depth: d.fill(d.pick(rows.READERS), depth),
}
KNOWN = [rows.MAKE, rows.CHANGE, Drawing.call, rows.MAKE, rows.CHANGE, Drawing.call, Drawing.around]
ASKED = [rows.ROWLESS_MAKE, Drawing.call, Drawing.thing, Drawing.call]


def drawn(random: random.Random, rowless: float = 0.3) -> Program:
    """`rowless`: the share of statements about what has no row."""
    drawing = Drawing(random, rowless)
    for _ in range(random.randint(1, MOST)):
        drawing.step()
    return finished(drawing)


def finished(drawing: Drawing) -> Program:
    """What it returns: a sum of whatever numbers can be read from its variables, each with a weight."""
    found = ran(drawing.body, drawing.point, drawing.given)
    text = "\n".join(drawing.body)
    names = [n for n in reversed([*found]) if n not in GLOBAL or re.search(rf"\b{n}\b", text)]
    paths = [p for name in names for p in numbers(name, found[name])][: len(WEIGHTS)]
    result = " + ".join(f"{w} * {p}" for w, p in zip(WEIGHTS, paths)) or "0.0"
    end = drawing.last()
    body = (*drawing.body, end) if end else drawing.body
    fold = folded(drawing, len(body))
    return Program(body, result, drawing.point, drawing.rowless, fold, drawing.given)


def folded(drawing: Drawing, count: int) -> Fold | None:
    """Half of the programs have some of their statements in a function."""
    if not count or not drawing.chance(0.5):
        return None
    first = drawing.random.randrange(count)
    return Fold(first, drawing.random.randint(first + 1, count), drawing.pick([*FORMS]))
