"""The block of a with statement as a function, made of its source.

    with insert_grad_of(x) as dx:            def block(dx, limit):
        dx = np.clip(dx, -limit, limit)          dx = np.clip(dx, -limit, limit)
                                                 return dx

Local variables that it reads are parameters, given what they hold now; all other names are global.
"""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Iterator
from types import CodeType, FrameType, FunctionType
from typing import Any

from ctxdispatch_contexts.programs.errors import DerivativeError

REMEDY = "give `insert_grad_of` a function, insert_grad_of(x, hook)"
LEAVES = (ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Nonlocal, ast.AsyncFor, ast.AsyncWith)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
LOOPS = (ast.For, ast.While)


def block_function(frame: FrameType) -> tuple[FunctionType, tuple[Any, ...]]:
    """The block that `frame` is about to enter, as a function of the cotangent and of what it reads, and
    that. DerivativeError where there is no such function."""
    code, local = frame.f_code, frame.f_locals
    line, column = _place(frame)
    statement = _statement(code.co_filename, line, column) if line is not None else None
    where = f"{code.co_filename}:{frame.f_lineno} in {code.co_qualname}"
    if statement is None:
        raise DerivativeError(f"there is no source of this block; {REMEDY}", where)
    if len(statement.items) > 1:
        raise DerivativeError(
            "a `with` statement with more than `insert_grad_of` is no block of one cotangent; write one "
            f"`with` within the other, or {REMEDY}",
            where,
        )
    names = _names(statement, where)
    read = tuple([name for name in _read(statement) if name in local and name not in names])
    target = names[0] if names else "_cotangent"
    made = _compiled(code.co_filename, statement, target, read)
    return FunctionType(made, frame.f_globals, made.co_name), tuple([local[name] for name in read])


def _place(frame: FrameType) -> tuple[int | None, int | None]:
    """Where the call stands that made the manager, or the statement itself."""
    for unit, (line, _, column, _) in enumerate(frame.f_code.co_positions()):
        if unit == frame.f_lasti // 2:
            return line, column
    return None, None


@functools.lru_cache(maxsize=64)
def _parsed(filename: str, lines: tuple[str, ...]) -> ast.Module | None:
    try:
        return ast.parse("".join(lines), filename)
    except SyntaxError:
        return None


def _statement(filename: str, line: int, column: int | None) -> ast.With | None:
    """The innermost with statement of which an item begins there."""
    tree = _parsed(filename, tuple(linecache.getlines(filename)))
    if tree is None:
        return None
    found = [s for s in ast.walk(tree) if isinstance(s, ast.With) and _at(s, line, column)]
    return found[-1] if found else None


def _at(statement: ast.With, line: int, column: int | None) -> bool:
    begins = [statement, *(item.context_expr for item in statement.items)]
    return (line, column) in {(node.lineno, node.col_offset) for node in begins}


def _names(statement: ast.With, where: str) -> tuple[str, ...]:
    """The name after `as`, if there is one."""
    target = statement.items[0].optional_vars
    if target is not None and not isinstance(target, ast.Name):
        raise DerivativeError(
            "`insert_grad_of(x) as` is followed by one name; write `with insert_grad_of(x) as dx:`", where
        )
    for node in _own_nodes(statement.body):
        if isinstance(node, LEAVES) or (isinstance(node, (ast.Break, ast.Continue)) and not _in_loop(node)):
            kind = type(node).__name__.lower()
            raise DerivativeError(
                f"the block runs in the reverse sweep, and cannot {kind} from its function; {REMEDY}", where
            )
    return () if target is None else (target.id,)


def _own_nodes(body: list[Any], in_loop: bool = False) -> Iterator[ast.AST]:
    """Those of the block, without the functions in it."""
    for node in body:
        node._in_loop = in_loop
        yield node
        if not isinstance(node, SCOPES):
            within = in_loop or isinstance(node, LOOPS)
            yield from _own_nodes([*ast.iter_child_nodes(node)], within)


def _in_loop(node: Any) -> bool:
    return bool(node._in_loop)


def _read(statement: ast.With) -> list[str]:
    """All names in the block, functions in it included."""
    nodes = (node for part in statement.body for node in ast.walk(part))
    return [*dict.fromkeys(node.id for node in nodes if isinstance(node, ast.Name))]


def _compiled(filename: str, statement: ast.With, target: str, read: tuple[str, ...]) -> CodeType:
    held = statement.__dict__.setdefault("_made", {})
    if (target, read) not in held:
        held[target, read] = _compile(filename, statement, target, read)
    code: CodeType = held[target, read]
    return code


def _compile(filename: str, statement: ast.With, target: str, read: tuple[str, ...]) -> CodeType:
    last = ast.Return(ast.Name(target, ast.Load()))
    parameters = ast.arguments([], [ast.arg(name) for name in (target, *read)], None, [], [], None, [])
    function = ast.FunctionDef("insert_grad_of", parameters, [*statement.body, last], [])
    function.type_params = []
    for node in ast.walk(function):
        if not hasattr(node, "lineno") and "lineno" in node._attributes:
            ast.copy_location(node, statement)
    ast.fix_missing_locations(function)
    module = compile(ast.Module([function], []), filename, "exec")
    return next(c for c in module.co_consts if type(c) is CodeType)
