"""Statements of a program put into a function of their own, which sets the program's variables: closures,
generators, recursion, callbacks of C and whatever else runs code that is not the program's own. Plainly it is
the same program."""

from __future__ import annotations

import symtable
import textwrap
from collections.abc import Set
from typing import NamedTuple

FORMS = {
    "called": "def part():\n{}\npart()",
    "looped": "def part():\n{}\nfor turn in range(1):\n    part()",
    "generator": "def part():\n{}\n    yield\nfor turn in part():\n    pass",
    "mapped": "def part(item):\n{}\nlist(map(part, [0]))",
    "keyed": "def part(item):\n{}\nmin([0], key=part)",
    "recursive": "def part(n):\n    if n:\n        return part(n - 1)\n{}\npart(2)",
    "manager": "@contextlib.contextmanager\ndef part():\n{}\n    yield\nwith part():\n    pass",
    "counted": "turn = 0\ndef part():\n    nonlocal turn\n    turn += 1\n{}\nwhile turn < 1:\n    part()",
    "method": "class Part:\n    def __call__(self):\n{}\nPart()()",
}


class Fold(NamedTuple):
    """Of the statements from `first` on, before `last`, in one of the forms."""

    first: int
    last: int
    form: str

    def without(self, i: int) -> Fold | None:
        """Where the statement i is no more."""
        fold = self._replace(first=self.first - (i < self.first), last=self.last - (i < self.last))
        return fold if fold.first < fold.last else None

    def of(self, body: tuple[str, ...], parameter: str, stored: Set[str]) -> tuple[str, ...]:
        """The program's statements; `stored`: variables of the module that it sets."""
        within = "\n".join(body[self.first : self.last])
        before, set_ = bound("\n".join(body[: self.first])) | {parameter}, bound(within) - stored
        words = ("nonlocal", set_), ("global", bound(within) & stored)
        declared = [f"{word} {', '.join(sorted(names))}" for word, names in words if names]
        unset = [f"{' = '.join(sorted(set_ - before))} = None"] if set_ - before else []
        depth = 8 if self.form == "method" else 4
        text = FORMS[self.form].format(textwrap.indent("\n".join([*declared, within]), " " * depth))
        return (*body[: self.first], *unset, text, *body[self.last :])


def bound(text: str) -> set[str]:
    """Variables that a function of these statements would set."""
    table = symtable.symtable(f"def f():\n{textwrap.indent(text or 'pass', '    ')}", "<part>", "exec")
    (function,) = (t for t in table.get_children() if isinstance(t, symtable.Function))
    return {*function.get_locals()}
