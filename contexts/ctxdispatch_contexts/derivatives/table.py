"""The table of derivatives, as the contexts read it. Everything is looked up by the callee itself.

    elementwise(np.sin)      the row: parameters, partials, how each parameter enters
    vjp_rule(np.dot)         rule(g, y, *args, **kwargs) -> cotangents of the leading arguments
    lowering(sum)            a Python function of the same meaning, to be differentiated in its stead
    is_zero(np.argmax)       the derivative is zero by rule

A callee may be in more than one: an elementwise row counts where the call has as many arguments as the row
has parameters (`math.log(x)`, not `math.log(x, base)`), then a vjp rule, a lowering, a zero. Rules are
compiled, and the modules that hold them imported, when first asked for.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, Literal

from ctxdispatch_contexts.derivatives import registry
from ctxdispatch_contexts.derivatives.rows import PIECEWISE_CONSTANT, REAL_ONLY, ROWS

Kind = Literal["zero", "const", "linear", "nonlinear"]

FAMILIES = "linear reductions products shapes stacking indexing sorting linalg scalars".split()
LOWERED = "lowerings statistics numerical norms".split()


# -- elementwise rows ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Elementwise:
    """A row. Arguments broadcast; the cotangent of each is g * partial, summed to its shape.

    `kinds` says how each parameter enters: "zero" (not at all), "const" (times a constant), "linear" (times
    what does not vary with it) or "nonlinear". `varies[i]` are the parameters that partial i itself varies
    with: the pattern of second derivatives. `needs[i]` are the names that partial i reads. `holomorphic` is
    false where the row holds for real arguments only.
    """

    name: str
    params: tuple[str, ...]
    expressions: tuple[str, ...]
    kinds: tuple[Kind, ...]
    needs: tuple[frozenset[str], ...]
    varies: tuple[frozenset[str], ...]
    holomorphic: bool = True

    def partials(self, namespace: dict[str, Any]) -> tuple[Callable[..., Any], ...]:
        """Per parameter the function (*params, y) -> partial, over MATH, CMATH or NUMPY."""
        return _compiled(self.name, namespace["__name__"], _Namespace(namespace))


def elementwise(callee: Any) -> Elementwise | None:
    """The row of `callee`, or None."""
    return _get(_elementwise_callees(), callee)


@cache
def describe(name: str) -> Elementwise:
    """The row of that name, classified."""
    params, expressions = ROWS[name]
    trees = [ast.parse(text, mode="eval").body for text in expressions]
    needs = tuple(_names(tree) & {*params, "y"} for tree in trees)
    varies = tuple(_varying(tree, params) for tree in trees)
    kinds = tuple(map(_kind, params, expressions, needs, varies))
    return Elementwise(name, params, expressions, kinds, needs, varies, name not in REAL_ONLY)


def _kind(param: str, expression: str, needs: frozenset[str], varies: frozenset[str]) -> Kind:
    if expression == "0":
        return "zero"
    if not needs:
        return "const"
    return "nonlinear" if param in varies else "linear"


def _names(tree: ast.expr) -> frozenset[str]:
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


def _varying(tree: ast.expr, params: tuple[str, ...]) -> frozenset[str]:
    """The parameters that move the value of `tree`: those outside of steps; `y` moves with all."""
    names = _names(_Steps().visit(tree)) & {*params, "y"}
    return frozenset(params) if "y" in names else names


class _Steps(ast.NodeTransformer):
    """Puts a constant in the place of what is piecewise constant."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Name) and node.func.id in PIECEWISE_CONSTANT:
            return ast.Constant(0)
        self.generic_visit(node)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        if isinstance(node.op, ast.FloorDiv):
            return ast.Constant(0)
        self.generic_visit(node)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        return ast.Constant(0)


class _Namespace:
    """A namespace as a key of the cache: they are few and live as long as the module."""

    def __init__(self, names: dict[str, Any]):
        self.names = names

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Namespace) and self.names is other.names

    def __hash__(self) -> int:
        return id(self.names)


@cache
def _compiled(name: str, where: str, namespace: _Namespace) -> tuple[Callable[..., Any], ...]:
    params, expressions = ROWS[name]
    return tuple(
        eval(
            compile(f"lambda {', '.join((*params, 'y'))}: {text}", f"<derivative of {name}>", "eval"),
            namespace.names,
        )
        for text in expressions
    )


@cache
def _elementwise_callees() -> dict[Any, Elementwise]:
    namespaces = import_module("ctxdispatch_contexts.derivatives.namespaces")
    return {callee: describe(name) for name in ROWS for callee in namespaces.callees(name)}


# -- structural rules, lowerings, zeros ----------------------------------------------------------------------


def vjp_rule(callee: Any) -> Callable[..., Any] | None:
    """rule(g, y, *args, **kwargs) -> cotangents of the leading arguments; `registry` has the contract."""
    return _get(_vjp_rules(), callee)


def array_arguments(callee: Any) -> int:
    """How many leading arguments of a callee are arrays: make arrays of numbers and lists there."""
    _vjp_rules()
    return _get(registry.ARRAYS, callee) or 0


def attribute_rule(cls: type, name: str) -> Callable[..., Any] | None:
    """The vjp rule of reading attribute `name` of a `cls`: rule(g, y, obj) -> (cotangent of obj,)"""
    return vjp_rule(getattr(cls, name, None))


def lowering(callee: Any) -> Callable[..., Any] | None:
    """A Python function that does what `callee` does, with the same parameters, or None."""
    return _get(_lowerings(), callee)


def is_zero(callee: Any) -> bool:
    """Whether `callee` (a function, method or attribute descriptor) has the derivative zero by rule."""
    return _get(_zeros(), callee) is not None


@cache
def _vjp_rules() -> dict[Any, Callable[..., Any]]:
    for family in (*FAMILIES, *LOWERED):
        import_module(f"ctxdispatch_contexts.derivatives.{family}")
    return registry.VJP


@cache
def _lowerings() -> dict[Any, Callable[..., Any]]:
    for family in LOWERED:
        import_module(f"ctxdispatch_contexts.derivatives.{family}")
    return registry.LOWERING


@cache
def _zeros() -> dict[Any, bool]:
    zeros = import_module("ctxdispatch_contexts.derivatives.zeros")
    rows = (callee for callee, entry in _elementwise_callees().items() if set(entry.kinds) == {"zero"})
    return dict.fromkeys((*zeros.ZEROS, *rows), True)


def _get(table: dict[Any, Any], callee: Any) -> Any:
    try:
        return table.get(callee)
    except TypeError:  # unhashable
        return None


def names() -> Iterator[tuple[str, Any]]:
    """Everything there is: ("elementwise" | "vjp" | "lowering" | "zero", callee)."""
    tables = {
        "elementwise": _elementwise_callees(), "vjp": _vjp_rules(), "lowering": _lowerings(),
        "zero": _zeros(),
    }  # fmt: skip
    for table, entries in tables.items():
        for callee in entries:
            yield table, callee
