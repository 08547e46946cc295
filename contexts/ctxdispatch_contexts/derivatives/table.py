"""The table of derivatives, as the contexts read it. Everything is looked up by the callee itself.

    elementwise(np.sin)      the row: parameters, partials, how each parameter enters
    vjp_rule(np.dot)         rule(g, y, *args, **kwargs) -> cotangents of the leading arguments
    linearity(np.dot)        in which arguments a function with a vjp rule is linear, jointly or in each
    block_rule(np.dot, 0)    the function of k tangents at once, of those arguments or of the one given
    lowering(sum)            a Python function of the same meaning, to be differentiated in its stead
    lowering(np.sin, ("dtype",))       the same of a ufunc called with keywords (`ufuncs.py`)
    is_zero(np.argmax)       the derivative is zero by rule

A callee may be in more than one: an elementwise row counts where the call has as many arguments as the row
has parameters (`math.log(x)`, not `math.log(x, base)`), then a vjp rule, a lowering, a zero. Rules are
compiled, and the modules that hold them imported, when first asked for.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib import import_module
from inspect import CO_VARKEYWORDS, Parameter, signature
from types import BuiltinMethodType, FunctionType
from typing import Any, Literal

import numpy as np

from ctxdispatch.ir.values import row_of
from ctxdispatch_contexts.derivatives import blocks, libraries, registry
from ctxdispatch_contexts.derivatives.rows import (
    BOUNDED,
    PIECEWISE_CONSTANT,
    REAL_ONLY,
    ROWS,
    STEEP,
    UNBOUNDED,
    Row,
)
from ctxdispatch_contexts.derivatives.ufuncs import spelled

Kind = Literal["zero", "const", "linear", "nonlinear"]

FAMILIES = """
    linear reductions products shapes padding stacking indexing sorting linalg eigenvalues scalars fourier
    bessel ufuncs
""".split()
BLOCKS = "block_sums block_shapes block_indexing block_products".split()
LOWERED = "lowerings statistics numerical norms assembling vectorizing".split()


# -- elementwise rows ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Elementwise:
    """A row. Arguments broadcast; the cotangent of each is g * partial, summed to its shape.

    `kinds` says how each parameter enters: "zero" (not at all), "const" (times a constant), "linear" (times
    what does not vary with it) or "nonlinear". `varies[i]` are the parameters that partial i itself varies
    with: the pattern of second derivatives. `steep[i]`: it is infinite at points. `unbounded[i]`: it is, or
    grows beyond all numbers. `picks[i]`: it is a choice among the arguments, 0 where another is the result.
    `needs[i]` are the names that partial i reads. `holomorphic` is false where the row holds for real
    arguments only. `library`: the one whose function it is, which has a namespace of its own, for numbers
    too.
    """

    name: str
    params: tuple[str, ...]
    expressions: tuple[str, ...]
    holomorphic: bool = True
    library: str = ""

    @property
    def is_zero(self) -> bool:
        return all(text == "0" for text in self.expressions)

    # Found out when it is asked for: a program uses few of the rows.

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(map(_kind, self.params, self.expressions, self.needs, self.varies))

    @cached_property
    def needs(self) -> tuple[frozenset[str], ...]:
        return tuple(_names(tree) & {*self.params, "y"} for tree in self._trees)

    @cached_property
    def varies(self) -> tuple[frozenset[str], ...]:
        found = [_names(tree) & {*self.params, "y"} for tree in self._moving]
        return tuple(frozenset(self.params) if "y" in names else names for names in found)  # `y` with all

    @cached_property
    def steep(self) -> tuple[bool, ...]:
        return tuple(not STEEP.isdisjoint(_names(tree)) for tree in self._moving)

    @cached_property
    def unbounded(self) -> tuple[bool, ...]:
        return tuple(self.name not in BOUNDED and _is_unbounded(tree) for tree in self._moving)

    @cached_property
    def picks(self) -> tuple[bool, ...]:
        return tuple("share" in _names(tree) for tree in self._trees)

    @cached_property
    def _trees(self) -> list[ast.expr]:
        return [ast.parse(text, mode="eval").body for text in self.expressions]

    @cached_property
    def _moving(self) -> list[ast.expr]:
        """The partials without what moves in steps only. (The transformer changes a tree in place.)"""
        return [_Steps().visit(ast.parse(text, mode="eval").body) for text in self.expressions]

    def partials(self, namespace: dict[str, Any]) -> tuple[Callable[..., Any], ...]:
        """Per parameter the function (*params, y) -> partial, over MATH, CMATH or NUMPY."""
        if self.library:
            namespace = libraries.namespace(self.library)
        row = Row(self.params, self.expressions)
        return _compiled(self.name, row, namespace["__name__"], _Namespace(namespace))


def elementwise(callee: Any) -> Elementwise | None:
    """The row of `callee`, or None."""
    return row_of(_elementwise_callees(), callee)


@cache
def describe(name: str) -> Elementwise:
    """The row of that name."""
    return Elementwise(name, *ROWS[name], name not in REAL_ONLY)


def _is_unbounded(tree: ast.expr) -> bool:
    """It divides, calls something unbounded, or is a multiple of the result: exp(x), -y / b. A factor that is
    an operand is as large as that is."""
    divides = any(isinstance(node, ast.Div) for node in ast.walk(tree))
    names = _names(tree)
    return divides or "y" in names or not UNBOUNDED.isdisjoint(names)


def _kind(param: str, expression: str, needs: frozenset[str], varies: frozenset[str]) -> Kind:
    if expression == "0":
        return "zero"
    if not needs:
        return "const"
    return "nonlinear" if param in varies else "linear"


def _names(tree: ast.expr) -> frozenset[str]:
    return frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))


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
def _compiled(name: str, row: Row, where: str, namespace: _Namespace) -> tuple[Callable[..., Any], ...]:
    params, expressions = row
    return tuple(
        eval(
            compile(f"lambda {', '.join((*params, 'y'))}: {text}", f"<derivative of {name}>", "eval"),
            namespace.names,
        )
        for text in expressions
    )


def _elementwise_callees() -> dict[Any, Elementwise]:
    return _elementwise_with(libraries.loaded())


@cache
def _elementwise_with(loaded: tuple[str, ...]) -> dict[Any, Elementwise]:
    namespaces = import_module("ctxdispatch_contexts.derivatives.namespaces")
    found = {callee: describe(name) for name in ROWS for callee in namespaces.callees(name)}
    for library in loaded:
        found |= _elementwise_of(library)
    return found


def _elementwise_of(library: str) -> dict[Any, Elementwise]:
    return {
        callee: Elementwise(name, *row, name not in libraries.real_only(library), library)
        for name, row in libraries.rows(library).items()
        for callee in libraries.callees(library, name)
    }


# -- structural rules, lowerings, zeros ----------------------------------------------------------------------


def vjp_rule(callee: Any) -> Callable[..., Any] | None:
    """rule(g, y, *args, **kwargs) -> cotangents of the leading arguments; `registry` has the contract."""
    return row_of(_vjp_rules(), callee)


def linearity(callee: Any) -> registry.Linear | None:
    """In which arguments a callee that has a vjp rule is linear; None where it is in none."""
    _vjp_rules()
    entry: registry.Linear | None = row_of(registry.LINEAR, callee)
    return entry


def flow(callee: Any, count: int = 0, keywords: tuple[str, ...] = ()) -> str | None:
    """What the rule of a callee does to structural zeros: "all", "picks", "nan" or None, see `registry.vjp`.
    So many arguments (`count`) are given by position."""
    _vjp_rules()
    entry: str | None = row_of(registry.FLOW, callee)
    rule: Any = mask_rule(callee)
    if entry is None or not takes(rule, keywords):
        return None
    code, linear = rule.__code__, linearity(callee)
    named = {*code.co_varnames[2 : min(count + 2, code.co_argcount)], *keywords}
    return entry if linear is None or linear.unless.isdisjoint(named) else None


def mask_rule(callee: Any) -> Callable[..., Any] | None:
    """The rule by which masks go through a callee: another one where its vjp rule has coefficients of all
    kinds."""
    return row_of(registry.MASK, callee) or vjp_rule(callee)


def block_rule(callee: Any, i: int | None = None) -> Callable[..., Any] | None:
    """A function of the parameters of `callee` that takes and returns *blocks*: arrays along a leading axis.

    Of a function that is jointly linear (i is None) every argument that it is linear in is a block; of a
    product that of position i alone. None where `callee` is not linear so. `blocks.py` has the contract.
    """
    entry = linearity(callee)
    if entry is None or entry.joint != (i is None) or not _has_position(entry, i):
        return None
    return _block_forms().get((callee, i)) or _one_by_one(callee, i)


def _has_position(entry: registry.Linear, i: int | None) -> bool:
    return i is None or (i >= 0 if isinstance(entry.positions, slice) else i in entry.positions)


@cache
def _one_by_one(callee: Any, i: int | None) -> Callable[..., Any]:
    """The form of a callee that has none of its own."""
    positions = registry.LINEAR[callee].positions if i is None else (i,)
    names = [] if isinstance(positions, slice) else _named(registry.VJP[callee], positions)
    return partial(blocks.each, callee, positions, tuple(names))


def _named(rule: Callable[..., Any], positions: tuple[int, ...]) -> list[str]:
    """The names of the primal's arguments at those positions, in the parameters of its rule."""
    parameters = list(signature(rule).parameters.values())[2:]
    at = [parameters[i] for i in positions if i < len(parameters)]
    return [parameter.name for parameter in at if parameter.kind is Parameter.POSITIONAL_OR_KEYWORD]


@cache
def _block_forms() -> dict[tuple[Any, int | None], Callable[..., Any]]:
    for family in BLOCKS:
        import_module(f"ctxdispatch_contexts.derivatives.{family}")
    return registry.BLOCK


def array_arguments(callee: Any) -> int:
    """How many leading arguments of a callee are arrays: make arrays of numbers and lists there."""
    _vjp_rules()
    return row_of(registry.ARRAYS, callee) or 0


def array_parameters(callee: Any) -> frozenset[str]:
    """The names by which a callee may be given those arguments, and others that are arrays."""
    rule = vjp_rule(callee)
    if rule is None:
        return frozenset()
    named: frozenset[str] = row_of(registry.ARRAY_KEYWORDS, callee) or frozenset()
    return named | {*_named(rule, tuple(range(array_arguments(callee))))}


def attribute_rule(cls: type, name: str) -> Callable[..., Any] | None:
    """The vjp rule of reading attribute `name` of a `cls`: rule(g, y, obj) -> (cotangent of obj,)"""
    return vjp_rule(getattr(cls, name, None))


def lowering(callee: Any, keywords: tuple[str, ...] = ()) -> Callable[..., Any] | None:
    """A Python function that does what `callee` does, called with those keywords, or None."""
    found: Callable[..., Any] | None = row_of(_lowerings(), callee)
    if found is not None and (not is_of_ufunc(callee) or takes(found, keywords)):
        return found
    if not is_of_ufunc(callee) or (type(callee) is np.ufunc and not keywords):
        return None
    rule = vjp_rule(callee)
    if rule is not None and takes(rule, keywords):
        return None
    return spelled(callee) if _is_differentiable(getattr(callee, "__self__", callee)) else None


def read_for(function: Any, cls: type | None = None) -> Any:
    """The function that programs read in place of `function`, a method of objects of `cls`: mostly itself."""
    _lowerings()
    found = registry.READ_AS.get(function)
    return function if found is None else found(cls) or function


def _is_differentiable(ufunc: np.ufunc) -> bool:
    row = elementwise(ufunc)
    if row is not None and not row.is_zero:
        return True
    return vjp_rule(ufunc) is not None or row_of(_lowerings(), ufunc) is not None


def is_of_ufunc(callee: Any) -> bool:
    """A ufunc, or a method of one: it takes keywords that its rule may leave to `ufuncs.py`."""
    method = type(callee) is BuiltinMethodType and type(callee.__self__) is np.ufunc
    return method or type(callee) is np.ufunc


def takes(function: Callable[..., Any], keywords: tuple[str, ...]) -> bool:
    """Whether a rule or lowering, a Python function, has parameters of these names."""
    if not keywords or type(function) is not FunctionType:
        return True
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return bool(code.co_flags & CO_VARKEYWORDS) or set(keywords) <= set(names)


def is_zero(callee: Any) -> bool:
    """Whether `callee` (a function, method or attribute descriptor) has the derivative zero by rule."""
    return row_of(_zeros(), callee) is not None


def _vjp_rules() -> dict[Any, Callable[..., Any]]:
    _load((*FAMILIES, *LOWERED))
    libraries.load(libraries.loaded())
    return registry.VJP


def _lowerings() -> dict[Any, Callable[..., Any]]:
    _load(tuple(LOWERED))
    libraries.load(libraries.loaded())
    return registry.LOWERING


@cache
def _load(families: tuple[str, ...]) -> None:
    for family in families:
        import_module(f"ctxdispatch_contexts.derivatives.{family}")


@cache
def _zeros() -> dict[Any, bool]:
    zeros = import_module("ctxdispatch_contexts.derivatives.zeros")
    rows = (callee for callee, entry in _elementwise_with(()).items() if entry.is_zero)
    return dict.fromkeys((*zeros.ZEROS, *rows), True)


def names() -> Iterator[tuple[str, Any]]:
    """Everything there is: ("elementwise" | "vjp" | "lowering" | "zero", callee)."""
    tables: dict[str, dict[Any, Any]] = {
        "elementwise": _elementwise_callees(), "vjp": _vjp_rules(), "lowering": _lowerings(),
        "zero": _zeros(),
    }  # fmt: skip
    for table, entries in tables.items():
        for callee in entries:
            if not is_of_contexts(callee):
                yield table, callee


def is_of_contexts(callee: Any) -> bool:
    """A function that programs made by contexts call, not one of the user's."""
    module = str(getattr(callee, "__module__", ""))
    return module.startswith("ctxdispatch_contexts.") and not module.startswith(__package__)
