"""Counts the closed tables of callables in the product's code: what a callable does is said in its row of
`ctxdispatch.facts` (families of operators: `ir/operators.py`), and derivatives in `derivatives`; a list of
callables anywhere else is a second place.

    python -m tests.facts.tables            each with file, line and what it names; the count last

A table is a display (tuple, list, set, dict by its keys, also within `in (a, b, c)`), wherever it stands, or
the cases of a `match`, that names at least `LEAST` callables which are not ours: functions, methods, ufuncs.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import pathlib
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

ROOT = pathlib.Path(__file__).parents[2]
PACKAGES = {
    "ctxdispatch": ROOT / "ctxdispatch",
    "ctxdispatch_contexts": ROOT / "contexts/ctxdispatch_contexts",
}
LEAST = 3
_ELSEWHERE = ("facts", "derivatives", "operators.py")
_OURS = ("ctxdispatch", "ctxdispatch_contexts")


class TableOfCallables(NamedTuple):
    path: pathlib.Path
    line: int
    names: tuple[str, ...]

    def __str__(self) -> str:
        shown = " ".join(self.names[:6]) + (" .." if len(self.names) > 6 else "")
        return f"{self.path.relative_to(ROOT)}:{self.line}: {len(self.names)}: {shown}"


def tables() -> list[TableOfCallables]:
    """All of them, by file and line."""
    return [
        table
        for name, top in PACKAGES.items()
        for path in sorted(top.rglob("*.py"))
        if not set(_ELSEWHERE) & set(path.relative_to(top).parts)
        for table in _in_file(name, top, path)
    ]


def _in_file(package: str, top: pathlib.Path, path: pathlib.Path) -> Iterator[TableOfCallables]:
    parts = (package, *path.relative_to(top).with_suffix("").parts)
    module = importlib.import_module(".".join(p for p in parts if p != "__init__"))
    tree = ast.parse(path.read_text(encoding="utf-8"))
    yield from (TableOfCallables(path, line, names) for line, names in _outermost(tree, module))


def _outermost(node: ast.AST, module: types.ModuleType) -> Iterator[tuple[int, tuple[str, ...]]]:
    """A display within a display is part of it."""
    found = _named(node, module)
    if len(found) >= LEAST:
        yield node.lineno, tuple(found)  # type: ignore[attr-defined]
        return
    for child in ast.iter_child_nodes(node):
        yield from _outermost(child, module)


def _named(node: ast.AST, module: types.ModuleType) -> list[str]:
    entries: list[ast.expr] = []
    match node:
        case ast.Tuple(elts=entries) | ast.List(elts=entries) | ast.Set(elts=entries):
            pass
        case ast.Dict(keys=keys):
            entries = [k for k in keys if k is not None]
            entries += [v for k, v in zip(keys, node.values) if k is None]
        case ast.Match(cases=cases):
            entries = [
                n.value for case in cases for n in ast.walk(case.pattern) if isinstance(n, ast.MatchValue)
            ]
        case _:
            return []
    return [name for entry in entries for name in _callables(entry, module)]


def _callables(entry: ast.expr, module: types.ModuleType) -> Iterator[str]:
    match entry:
        case ast.Starred(value=value):
            yield from _callables(value, module)
        case ast.Tuple(elts=elts) | ast.List(elts=elts) | ast.Set(elts=elts):
            for each in elts:
                yield from _callables(each, module)
        case ast.Call(args=args):
            for each in args:
                yield from _callables(each, module)
        case ast.Attribute() | ast.Name() | ast.Subscript():
            if _is_callable(_value(entry, module)):
                yield ast.unparse(entry)


def _value(entry: ast.expr, module: types.ModuleType) -> Any:
    try:
        return eval(ast.unparse(entry), {**vars(builtins), **vars(module)})
    except Exception:  # a local's name
        return None


_KINDS = (
    types.BuiltinFunctionType, types.FunctionType, types.MethodType, types.MethodDescriptorType,
    types.WrapperDescriptorType, types.ClassMethodDescriptorType,
)  # fmt: skip


def _is_callable(value: Any) -> bool:
    """Of a function or method of others. Classes are how data is told apart, and count as data."""
    if not isinstance(value, _KINDS) and type(value).__name__ not in ("ufunc", "_ArrayFunctionDispatcher"):
        return False
    return str(getattr(value, "__module__", None)).partition(".")[0] not in _OURS


def main() -> None:
    found = tables()
    for table in found:
        print(table)
    print(
        f"{len(found)} tables, {sum(len(t.names) for t in found)} entries,"
        f" {len({t.path for t in found})} files"
    )


if __name__ == "__main__":
    sys.exit(main())
