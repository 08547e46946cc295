"""What the user wrote: the source text of an expression, and of what an operation works on.

    np.dot(a, b + 1.0)     operands: `a`, `b + 1.0`
    y.reshape(n)           of the method: `y`, `n`
    y[i], y.real, -y       `y`, `i`;  `y`, `'real'`;  `y`

Python keeps for each instruction the lines and columns that it was compiled from. Where there is no source (a
prompt, `exec`), the names of variables stand in.
"""

from __future__ import annotations

import ast
import linecache
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from ctxdispatch.ir.values import Position


def expression(at: Position | None) -> str | None:
    """What stands there, in one line; None where there is no source."""
    node = _node(at)
    return None if node is None else _short(node)


def method(at: Position | None) -> tuple[str, str] | None:
    """Of a method that is called there: what it is a method of, and its name."""
    node = _node(at)
    called = node.func if isinstance(node, ast.Call) else None
    return (_short(called.value), called.attr) if isinstance(called, ast.Attribute) else None


def operands(at: Position | None, classes: Sequence[type | None], names: Sequence[str]) -> list[str]:
    """`text: type` of each of the values that the operation there works on, the type alone where nobody has a
    name for one. Of them are known the `classes`, None where only run time knows, and the `names` of the
    variables that hold them, or empty."""
    texts = _texts(at, len(classes)) or names
    given = [*texts, *[""] * (len(classes) - len(texts))]
    return [_named(text, cls) for text, cls in zip(given, classes, strict=False)]


def _named(text: str, cls: type | None) -> str:
    return ": ".join(part for part in (text, cls.__name__ if cls is not None else "") if part) or "a value"


def _texts(at: Position | None, n: int) -> list[str]:
    node = _node(at)
    parts = [] if node is None else _PARTS.get(type(node), _itself)(node, n)
    return [_short(part) for part in parts] if len(parts) <= n else []


def _node(at: Position | None) -> ast.AST | None:
    source = _segment(at)
    if source is None:
        return None
    try:
        return ast.parse(f"({source}\n)", mode="eval").body
    except SyntaxError:
        return _statement(source)


def _statement(source: str) -> ast.AST | None:
    """`y += x` is the one that is an operation itself."""
    try:
        found = ast.parse(source).body
    except SyntaxError:
        return None
    return found[0] if len(found) == 1 else None


def _segment(at: Position | None) -> str | None:
    """The text between the columns, which count bytes."""
    if at is None or not at.line or at.end_line is None or at.column is None or at.end_column is None:
        return None
    lines = [line.encode() for line in linecache.getlines(at.filename)[at.line - 1 : at.end_line]]
    if len(lines) != at.end_line - at.line + 1:
        return None
    lines[-1] = lines[-1][: at.end_column]
    lines[0] = lines[0][at.column :]
    return b"".join(lines).decode(errors="replace") or None


def _short(node: ast.AST) -> str:
    return textwrap.shorten(ast.unparse(node), 60, placeholder=" ...")


# -- what an operation works on, by its syntax ---------------------------------------------------------------


def _itself(node: Any, n: int) -> list[ast.AST]:
    """Iteration, unpacking, a truth: of what stands there."""
    return [node]


def _of_call(node: ast.Call, n: int) -> list[ast.AST]:
    """A method works on what it is a method of, too. With a star nobody knows which is which."""
    given: list[ast.AST] = [*node.args, *(keyword.value for keyword in node.keywords)]
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        return []
    if len(given) == n - 1 and isinstance(node.func, ast.Attribute):
        return [node.func.value, *given]
    return given if len(given) == n else []


def _of_comparison(node: ast.Compare, n: int) -> list[ast.AST]:
    return [node.left, *node.comparators] if len(node.ops) == 1 else []


_PARTS: dict[type[ast.AST], Callable[[Any, int], list[ast.AST]]] = {
    ast.Call: _of_call,
    ast.Compare: _of_comparison,
    ast.BinOp: lambda node, n: [node.left, node.right],
    ast.AugAssign: lambda node, n: [node.target, node.value],
    ast.UnaryOp: lambda node, n: [node.operand],
    ast.Subscript: lambda node, n: [node.value, node.slice],
    ast.Attribute: lambda node, n: [node.value, ast.Constant(node.attr)],
}
