"""How a module of rules says whom its functions are for.

    @vjp(np.trace, np.ndarray.trace)
    def trace(g, y, a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
        return (...,)

A vjp rule takes the cotangent of the result, the result, and then whatever the primal takes; it returns the
cotangents of the leading parameters, each of its primal's shape (None: no derivative). What the rule leaves
to its caller: to refuse `out`, to cast a cotangent to its primal's dtype (the real part, where the primal
is real), and to make arrays of the numbers and lists among the first `arrays` arguments, given by position or
by name, and those named in `array_keywords`.

A rule is plain Python, to be lifted, specialised on the types of its arguments and inlined: it branches on
types, ranks and flags, and calls helpers where it needs a loop.

A function that is linear says so beside its rule, for whoever carries derivatives forward:

    @vjp(np.sum, linear=(0,), unless="initial out")      d sum(a) = sum(da)
    @vjp(np.matmul, multilinear=(0, 1))                  d (a @ b) = da @ b + a @ db

and may have a form that does this for k directions at once (`blocks.py` has the contract):

    @block(np.trace, np.ndarray.trace)                   @block(np.matmul, of=0)
    def trace(a, offset=0, axis1=0, axis2=1, ...):       def matmul_left(a, b):
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

VJP: dict[Any, Callable[..., Any]] = {}
ARRAYS: dict[Any, int] = {}
ARRAY_KEYWORDS: dict[Any, frozenset[str]] = {}
LOWERING: dict[Any, Callable[..., Any]] = {}


class Linear(NamedTuple):
    """In which arguments of a call the function is linear over the real numbers, everything else held fixed.

        joint:      f(s a, s b) = s f(a, b) and f(a + c, b + d) = f(a, b) + f(c, d)    so dy = f(da, db)
        otherwise:  linear in a and linear in b                          so dy = f(da, b) + f(a, db)

    `positions`: of the primal's arguments, counted from 0, `self` of a method included; a slice where the
    function takes any number of them. An argument there that has no derivative (the subscripts of einsum) is
    held fixed as well; whole numbers in a list that becomes an array are zero in the tangent. An argument at
    another position may have the derivative zero (the condition of where) or another one: its rule knows.

    `unless`: names of parameters for which the claim does not hold where a call gives them another value
    than their default.
    """

    positions: tuple[int, ...] | slice
    joint: bool
    unless: frozenset[str] = frozenset()


LINEAR: dict[Any, Linear] = {}

FLOW: dict[Any, str] = {}
"""By callee, where its rule has no coefficient below 0: "all", "picks" or "nan", see `vjp`."""


def vjp(
    *callees: Any,
    arrays: int = 1,
    array_keywords: str = "",
    linear: tuple[int, ...] | slice | None = None,
    multilinear: tuple[int, ...] | slice | None = None,
    unless: str = "",
    picks: bool | Literal["nan"] = False,
    mixed: bool = False,
) -> Callable[[Function], Function]:
    """Register the function below as the vjp rule of `callees` (functions, methods, getset descriptors).

    `arrays`: how many leading arguments are arrays by nature, so that a list among them means an array.
    `array_keywords` (names, separated by blanks): which others are.
    `linear`, `multilinear`, `unless` (names, separated by blanks): see `Linear`.
    `picks`: some elements of the arguments have no part in the result, by an index, a condition or an order,
    or ("nan") because they are no numbers;
    the others' cotangents are multiples, by nothing below 0, of what arrives. Of a linear function that does
    not pick all elements have a part, and coefficients are not below 0 (of a product, where its other factors
    are 1), or they are `mixed`.
    """
    positions, joint = (linear, True) if linear is not None else (multilinear, False)

    def register(rule: Function) -> Function:
        for callee in callees:
            VJP[callee] = rule
            ARRAYS[callee] = arrays
            ARRAY_KEYWORDS[callee] = frozenset(array_keywords.split())
            if picks or (positions is not None and not mixed):
                FLOW[callee] = "nan" if picks == "nan" else "picks" if picks else "all"
            if positions is not None:
                LINEAR[callee] = Linear(positions, joint, frozenset(unless.split()))
        return rule

    return register


MASK: dict[Any, Callable[..., Any]] = {}


def mask(*callees: Any, picks: bool | Literal["nan"] = False) -> Callable[[Function], Function]:
    """Register the function below for what `callees` do to structural zeros: a vjp rule but for the
    coefficients."""

    def register(rule: Function) -> Function:
        for callee in callees:
            MASK[callee] = rule
            FLOW[callee] = "nan" if picks == "nan" else "picks" if picks else "all"
        return rule

    return register


BLOCK: dict[tuple[Any, int | None], Callable[..., Any]] = {}


def block(*callees: Any, of: int | None = None) -> Callable[[Function], Function]:
    """Register the function below as the block form of linear `callees`, of argument `of` of products."""

    def register(form: Function) -> Function:
        for callee in callees:
            BLOCK[callee, of] = form
        return form

    return register


def lower(*callees: Any) -> Callable[[Function], Function]:
    """Register the function below as Python code that means the same as `callees`."""

    def register(function: Function) -> Function:
        for callee in callees:
            LOWERING[callee] = function
        return function

    return register


READ_AS: dict[Any, Callable[[type | None], Callable[..., Any] | None]] = {}


def read_as(*functions: Any, of_class: bool = False) -> Callable[[Function], Function]:
    """Register the function below as what programs read in the place of Python code; what is recorded runs
    `functions` themselves. `of_class`: the function below says which one that is for methods of objects of
    exactly this class, or None."""

    def register(found: Function) -> Function:
        READ_AS.update(dict.fromkeys(functions, found if of_class else lambda cls: found))
        return found

    return register


LASTING: set[type] = set()
"""Classes of which a library makes one object, or a few, when it is imported."""


def of(owner: Any, *names: str) -> tuple[Any, ...]:
    """Those attributes of `owner` that exist in this Python and this NumPy."""
    return tuple(getattr(owner, name) for name in names if hasattr(owner, name))
