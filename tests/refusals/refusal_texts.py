"""What the package says where it refuses, read from its sources.

Each place that makes an error of ours has a text: a literal or an f-string, or what the function or constant
that it names is. A text is a pattern, in which what is filled in stands for anything.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import ctxdispatch_contexts

ROOT = Path(ctxdispatch_contexts.__file__).parent

DERIVATIVES = ("programs", "reverse", "forward", "higher", "recording", "derivatives")
OTHERS = ("sparsity", "broadcast")

MESSAGE_AT = {
    "DerivativeError": 0, "MissingRuleError": 0, "MutationError": 0, "KernelError": 0, "ShapeError": 0,
    "SparsityError": 0, "Refusal": 1, "_refuse": 2, "refused": 0, "refuse": -1, "misfit": 0,
}  # fmt: skip
"""Which argument is the text, by who makes the error."""

ANYTHING = ".*?"


@dataclass(frozen=True)
class Text:
    """One text, and a place that says it."""

    file: str
    line: int
    pattern: str

    def __str__(self) -> str:
        shown = re.sub(r"\\(.)", r"\1", self.pattern.replace(ANYTHING, "..."))
        return f"{self.file}:{self.line}: {shown}"

    def fits(self, message: str) -> bool:
        return re.fullmatch(self.pattern, message, re.DOTALL) is not None


@functools.cache
def texts(contexts: tuple[str, ...]) -> tuple[Text, ...]:
    """Of all places in these parts of the package. Those without a word of their own pass on what "
    "another says."""
    paths = [p for context in contexts for p in sorted((ROOT / context).rglob("*.py"))]
    found = {text.pattern: text for path in paths for text in _texts_of(path)}
    return tuple(text for text in found.values() if " " in text.pattern)


def _texts_of(path: Path) -> Iterator[Text]:
    for node in ast.walk(_tree(path)):
        for pattern in _message(node, path):
            yield Text(str(path.relative_to(ROOT)), node.lineno, pattern)  # type: ignore[attr-defined]


def _message(node: ast.AST, path: Path) -> list[str]:
    """What an error that is made here says."""
    if not isinstance(node, ast.Call):
        return []
    name = getattr(node.func, "id", None) or getattr(node.func, "attr", "")
    if name == "no_derivative":
        why, remedy = (patterns(a, path) for a in node.args)
        return [f"there\\ is\\ no\\ derivative\\ of\\ {w}{ANYTHING};\\ {r}" for w in why for r in remedy]
    at = MESSAGE_AT.get(name)
    return [] if at is None or len(node.args) <= max(at, 0) else patterns(node.args[at], path)


# -- expressions ---------------------------------------------------------------------------------------------


def patterns(node: ast.expr, path: Path) -> list[str]:
    """Those of what an expression may be."""
    return _OF.get(type(node), _anything)(node, path)


def _anything(node: ast.expr, path: Path) -> list[str]:
    return [ANYTHING]


def _of_constant(node: ast.Constant, path: Path) -> list[str]:
    # what `Refusal` fills in; in f-strings it is written with two braces
    return [re.sub(r"\\\{\w+\\\}", lambda _: ANYTHING, re.escape(str(node.value)))]


def _of_fstring(node: ast.JoinedStr, path: Path) -> list[str]:
    found = [""]
    for part in node.values:
        inner = part.value if isinstance(part, ast.FormattedValue) else part
        named = isinstance(inner, (ast.Constant, ast.Name, ast.Call))
        ends = patterns(inner, path) if named else [ANYTHING]
        found = [a + b for a in found for b in ends]
    return found


def _of_sum(node: ast.BinOp, path: Path) -> list[str]:
    return [a + b for a in patterns(node.left, path) for b in patterns(node.right, path)]


def _of_choice(node: ast.IfExp, path: Path) -> list[str]:
    return [*patterns(node.body, path), *patterns(node.orelse, path)]


def _of_name(node: ast.Name, path: Path) -> list[str]:
    """A constant in capitals is what it was given; a variable may be anything."""
    if not node.id.isupper() and not node.id.strip("_").isupper():
        return [ANYTHING]
    found = _defined(node.id, path)
    return patterns(found[0].value, found[1]) if found and isinstance(found[0], ast.Assign) else [ANYTHING]


def _of_call(node: ast.Call, path: Path) -> list[str]:
    """A function with annotated result `str` says one of what it returns, unless it only names something."""
    found = _defined(node.func.id, path) if isinstance(node.func, ast.Name) else None
    if found is None or not isinstance(found[0], ast.FunctionDef) or not _says(found[0]):
        return [ANYTHING]
    returned = [n.value for n in ast.walk(found[0]) if isinstance(n, ast.Return) and n.value is not None]
    return [p for value in returned for p in patterns(value, found[1])]


def _says(function: ast.FunctionDef) -> bool:
    return isinstance(function.returns, ast.Name) and function.returns.id == "str" and function.name in SAYING


SAYING = frozenset(
    "no_cotangent mutation_message missing_message unknown_message stale_message unfit unfit_kind "
    "_frame_message _unsupported "
    "_not_scalar".split()
)
"""Functions that say why something is refused."""

_OF = {
    ast.Constant: _of_constant, ast.JoinedStr: _of_fstring, ast.BinOp: _of_sum, ast.IfExp: _of_choice,
    ast.Name: _of_name, ast.Call: _of_call,
}  # fmt: skip


# -- where names come from -----------------------------------------------------------------------------------


def _defined(name: str, path: Path) -> tuple[ast.stmt, Path] | None:
    """The statement that defines a name of a module, or of the one that it imports it from."""
    for node in _tree(path).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node, path
        if isinstance(node, ast.Assign) and any(getattr(t, "id", "") == name for t in node.targets):
            return node, path
        if isinstance(node, ast.ImportFrom) and any(a.name == name for a in node.names):
            other = ROOT.parent / Path(*str(node.module).split(".")).with_suffix(".py")
            return _defined(name, other) if other.exists() else None
    return None


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())
