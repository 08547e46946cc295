"""Functions in themselves: whether a call is opened, for it goes down something that ends.

    def norm(tree): return sum(map(norm, tree)) if type(tree) is list else tree ** 2
    kernel = Sum(Scaled(a, rbf), linear)        # made here: `__call__` within `__call__`, of another object
    f = compose(sin, compose(cos, exp))         # one code, another function each time
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, NamedTuple

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Operand
from ctxdispatch.passes import types as T
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.containers import DISPLAYS
from ctxdispatch_contexts.programs.recipes import is_none

if TYPE_CHECKING:
    from ctxdispatch_contexts.programs.prepare import Prepared

MAX_CALLS = 64
"""So often functions are inlined into themselves in one program."""


class Given(NamedTuple):
    """Of which types the arguments of a call of this code are; what its parameters are; the function, if it
    was there before."""

    code: CodeType
    types: tuple[T.Type, ...]
    params: tuple[Operand, ...] = ()
    function: FunctionType | None = None


def types_of(
    prepared: Prepared, op: Op, code: CodeType, args: Sequence[Operand], function: FunctionType | None = None
) -> Given | None:
    """With what a call is opened; `args` begin with the function itself where that is made here. None for a
    function in itself, unless it goes down something: it is given a part, by its type, of what it was given
    before; or what was made before it was called for the first time; or None, where a tree ends; or it is
    another function of that code, of which there are so many."""
    given = Given(code, tuple([T.widen(operand_type(a)) for a in args]), tuple(args), function)
    before = calls_around(prepared, op, code)
    if not before and code is prepared.graph.code:
        params = prepared.graph.params
        before = [Given(code, tuple([T.widen(operand_type(p)) for p in params]), tuple(params))]
    if not before or code.co_name in _COMPREHENSIONS:  # what is around it is in itself, or not
        return given
    prepared.descents += 1
    descends = (
        any(new in _parts(old) for new, old in zip(given.types, before[-1].types))
        or any(is_none(a) and not is_none(b) for a, b in zip(args, before[-1].params))
        or any(_is_another(prepared, code, a, before) for a in args)
        or not any(each.function in (None, function) for each in before)
    )
    return given if descends and prepared.descents <= MAX_CALLS else None


def _is_another(prepared: Prepared, code: CodeType, operand: Operand, before: Sequence[Given]) -> bool:
    """Something that the program has made, but not within such a call, and that none was given yet."""
    op = prepared.maker.get(operand)  # type: ignore[arg-type]
    if op is None or op.fn not in _MAKE or any(operand in each.params for each in before):
        return False
    return all(each.code is not code for each in prepared.chain.get(op, ()) if type(each) is Given)


_MAKE = (*DISPLAYS, primitives.make_function, object.__new__)


def calls_around(prepared: Prepared, op: Op, code: CodeType) -> list[Given]:
    return [each for each in prepared.chain.get(op, ()) if type(each) is Given and each.code is code]


_COMPREHENSIONS = ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>")


def _parts(type_: T.Type) -> Iterator[T.Type]:
    """The types of what a value of this type holds, at any depth."""
    inside: Sequence[T.Type | None] = ()
    match type_:
        case T.TupleOf(items):
            inside = items
        case T.Held(_, fields, item):
            inside = [*(of for _, of in fields), item]
        case T.ListOf(item):
            inside = [item]
    for part in inside:
        if part is not None and part is not T.Any:
            yield T.widen(part)
            yield from _parts(part)


__all__ = ["Given", "calls_around", "types_of"]
