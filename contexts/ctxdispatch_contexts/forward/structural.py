"""Tangents of functions with structure (products, reductions, shapes, ...), from the derivative table.

    f linear            dy = f(dx)                            reshape, sum, concatenate, ...
    f multilinear       dy = f(da, b) + f(a, db)              products
    any other f         dy = the transpose of the vjp rule    v -> gradient of <v, rule(g)> in g

The transpose of g -> rule(g) is x's tangent -> y's tangent: so one rule, written once, serves both modes. It
is computed by reverse mode, applied to the rule.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ctxdispatch.facts import says
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.values import Const, Operand, Value
from ctxdispatch.passes import types as T
from ctxdispatch.passes.companion import Companions
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives.blocks import blocked
from ctxdispatch_contexts.derivatives.registry import Linear
from ctxdispatch_contexts.derivatives.table import block_rule, linearity, vjp_rule
from ctxdispatch_contexts.forward.tangents import NONE, Shapes, numeric, or_zeros_block
from ctxdispatch_contexts.forward.transposed import transposed_terms
from ctxdispatch_contexts.programs.changes import out_of
from ctxdispatch_contexts.programs.operands import leaf_class, may_apply, means_array, rule_of
from ctxdispatch_contexts.programs.rules import as_array, call_rule
from ctxdispatch_contexts.programs.scaling import typed


def callee_of(op: Op) -> Any:
    """What `op` calls; for `x.name` the descriptor of x's class."""
    if op.fn is not getattr:
        return op.fn
    cls = leaf_class(operand_type(op.args[0]))
    name = op.args[1]
    return getattr(cls, name.value, None) if isinstance(name, Const) and cls is not None else None


def linearity_of(op: Op) -> Linear | None:
    """How `op` is linear, if it is for these arguments."""
    found = linearity(callee_of(op))
    if found is None:
        return None
    rule = vjp_rule(callee_of(op))
    given = dict(zip(op.kwnames, op.args[len(op.args) - len(op.kwnames) :], strict=True))
    if rule is not None and op.fn is not getattr:
        code = rule.__code__
        positional = op.args[: len(op.args) - len(op.kwnames)]
        given |= dict(zip(code.co_varnames[2 : code.co_argcount], positional, strict=False))
    defaults = _defaults(rule)
    spoilt = any(name in given and not _is_default(given[name], defaults, name) for name in found.unless)
    return None if spoilt else found


def _defaults(rule: Any) -> dict[str, Any]:
    if rule is None:
        return {}
    code, values = rule.__code__, rule.__defaults__ or ()
    names = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
    return {**dict(zip(names, values, strict=True)), **(rule.__kwdefaults__ or {})}


def _is_default(operand: Operand, defaults: dict[str, Any], name: str) -> bool:
    if not isinstance(operand, Const):
        return False
    value = operand.value
    if name == "order" and value == "F":  # which is linear; "A" and "K" go by the layout of what they get
        return True
    return value is None or value is np._NoValue or (name in defaults and value is defaults[name])


def is_structural(op: Op, *, certain: bool = True) -> bool:
    """The table says how `op` is differentiated, given what is known of its arguments."""
    if out_of(op) is not None:
        return False
    if is_helper(op):
        return linearity(op.fn) is not None or rule_of(op) is not None
    return rule_of(op) is not None and may_apply(op, certain)


def push_structural(shapes: Shapes, run: Companions, op: Op) -> None:
    """`op` has been emitted."""
    if not op.results:  # a helper that stores
        args = list(op.args)
        for i in _at(op, linearity(op.fn)):
            found = run.of(op.args[i])
            args[i] = NONE if found is None else found
        run.build.op(op.callee, args, [])
        return
    linear = linearity_of(op)
    at = _at(op, linear) if linear is not None else []
    moving = {i for i, a in enumerate(op.args) if moves(run.of(a))}
    terms: list[Operand] = []
    if linear is not None and not moving.isdisjoint(at):
        terms += [_joint(shapes, run, op, at)] if linear.joint else _separate(shapes, run, op, at)
    if moving - set(at) and not is_helper(op):
        terms += transposed_terms(shapes, run, op, moving - set(at), lambda a: filled(shapes, run, op, a))
    total = terms[0] if terms else shapes.zero(run, op.result)
    for term in terms[1:]:
        total = _sum(run, total, term)
    total = shapes.definite(run, total, op.result)
    run.put(op.result, shapes.fit(run, total, op.result))


def moves(tangent: Operand | None) -> bool:
    """It is not known to be zero."""
    return tangent is not None and not (isinstance(tangent, Const) and tangent.value is None)


def _sum(run: Companions, a: Operand, b: Operand) -> Operand:
    if any(type_ is T.Any or T.cls_of(type_) in (tuple, list) for type_ in map(operand_type, (a, b))):
        return run.call(plus, a, b)
    return typed(run.build, operator.add, a, b)


@says(known=False, raises=False)
def plus(a: Any, b: Any) -> Any:
    """a + b, None being zero; of tuples and lists, what functions with several results have for tangents,
    item by item."""
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, (tuple, list)):
        items = [plus(x, y) for x, y in zip(a, b, strict=True)]
        return tuple(items) if isinstance(a, tuple) else items
    return a + b


def _at(op: Op, linear: Linear | None) -> list[int]:
    """The positions of the arguments in which `op` is linear."""
    assert linear is not None
    n = len(op.args)
    if isinstance(linear.positions, slice):
        return list(range(n - len(op.kwnames)))[linear.positions]
    found = [i for i in linear.positions if i < n - len(op.kwnames)]
    rule = vjp_rule(callee_of(op))
    if rule is not None:
        names = rule.__code__.co_varnames[2:]
        for at, name in enumerate(op.kwnames, n - len(op.kwnames)):
            if name in names and names.index(name) in linear.positions:
                found.append(at)
    return found


def _joint(shapes: Shapes, run: Companions, op: Op, at: list[int]) -> Operand:
    """f(da, db): zeros where an argument does not vary."""
    args = list(op.args)
    for i in at:
        args[i] = filled(shapes, run, op, op.args[i])
    return _call(shapes, run, op, args, None)


def _separate(shapes: Shapes, run: Companions, op: Op, at: list[int]) -> list[Operand]:
    terms: list[Operand] = []
    for i in at:
        if moves(run.of(op.args[i])):
            args = [*op.args[:i], filled(shapes, run, op, op.args[i]), *op.args[i + 1 :]]
            terms.append(_call(shapes, run, op, args, _position(op, i)))
    return terms


def _position(op: Op, i: int) -> int:
    """Of argument i among the parameters: those that are given by name stand in any order."""
    first, rule = len(op.args) - len(op.kwnames), vjp_rule(callee_of(op))
    return i if i < first or rule is None else rule.__code__.co_varnames[2:].index(op.kwnames[i - first])


def _call(shapes: Shapes, run: Companions, op: Op, args: list[Operand], of: int | None) -> Operand:
    """The function itself, or its block form."""
    tangents = [operand_type(a) for a, held in zip(args, op.args, strict=True) if a is not held]
    unsure = is_helper(op) and not all(map(numeric, tangents))  # None for None, and of such
    if not shapes.block:
        value = run.call(op.callee, *args, kwnames=op.kwnames, syntax=op.syntax)
        value.type = T.Any if unsure else shapes.type(op.result.type)
        return value
    args = [as_one_block(run, op, i, a) for i, a in enumerate(args)]
    rule = block_rule(callee_of(op), of)
    if op.fn is getattr:
        args = args[:1]
    found = call_rule(run.build, rule, args, op.kwnames)
    if isinstance(found, Value) and numeric(op.result.type):
        want = shapes.type(op.result.type)
        if unsure:
            return run.call(or_zeros_block, found, op.result, shapes.count, type=want)
        _settle(found, want)
    return found


def as_one_block(run: Companions, op: Op, i: int, arg: Operand) -> Operand:
    """A list of blocks, of one that means an array, as one block; what is held fixed as an array."""
    listed = T.cls_of(operand_type(op.args[i])) in (list, tuple)
    if is_helper(op) or not listed or not means_array(op, i):
        return arg
    if arg is op.args[i]:
        return as_array(run.build, op, i, arg)
    return run.call(blocked, arg)


def _settle(found: Value, want: T.Type) -> None:
    """The block form of a function has the shape of its result, and one axis more."""
    now = found.type or T.Any
    if isinstance(want, T.ArrayOf) and isinstance(now, T.ArrayOf) and len(now.dims) == len(want.dims):
        found.type = T.ArrayOf(now.dtype, want.dims)
    elif now is T.Any:
        found.type = want


def filled(shapes: Shapes, run: Companions, op: Op, operand: Operand) -> Operand:
    """The tangent of an argument, with zeros for None in it and in the place of it."""
    tangent = run.of(operand)
    maker = run.makers.get(operand) if isinstance(operand, Value) else None
    if maker is not None and _is_display(maker, run):
        items = [filled(shapes, run, op, a) for a in maker.args]
        return typed(run.build, maker.fn, *items)
    if tangent is None:
        return NONE if is_helper(op) else _zero(shapes, run, operand)
    if is_helper(op) or numeric(operand_type(operand)):
        return tangent
    return (
        run.call(fill_block, tangent, operand, shapes.count)
        if shapes.block
        else run.call(fill, tangent, operand)
    )


def _is_display(maker: Op, run: Companions) -> bool:
    """A tuple, or a list that nobody else has: nothing has been stored to it since it was made."""
    alone = maker.fn is primitives.build_list and run.uses.get(maker.result) == 1
    return maker.fn is primitives.build_tuple or alone


def is_helper(op: Op) -> bool:
    """A function that programs of ours call, which knows None for zero."""
    module = str(getattr(op.fn, "__module__", ""))
    return module.startswith(("ctxdispatch_contexts.reverse", "ctxdispatch_contexts.forward"))


def _zero(shapes: Shapes, run: Companions, operand: Operand) -> Operand:
    zero = shapes.zero(run, operand)
    if zero is not NONE:
        return zero
    return (
        run.call(fill_block, NONE, operand, shapes.count) if shapes.block else run.call(fill, NONE, operand)
    )


@says(known=False, raises=False)
def fill(tangent: Any, value: Any) -> Any:
    """A tangent with zeros for None in it, of any depth."""
    if isinstance(value, (list, tuple)):
        parts = [None] * len(value) if tangent is None else tangent
        return [fill(d, v) for d, v in zip(parts, value, strict=True)]
    return zeros_for(value) if tangent is None else tangent


@says(known=False, raises=False)
def fill_block(tangent: Any, value: Any, k: int) -> Any:
    if isinstance(value, (list, tuple)):
        parts = [None] * len(value) if tangent is None else tangent
        return [fill_block(d, v, k) for d, v in zip(parts, value, strict=True)]
    return zeros_for(value, k) if tangent is None else tangent


def zeros_for(value: Any, *lead: int) -> Any:
    """The tangent 0 of a number or an array, in its precision."""
    if type(value) in (int, float) and not lead:
        return 0.0
    dtype = getattr(value, "dtype", np.dtype(type(value)))
    return np.zeros((*lead, *np.shape(value)), dtype if dtype.kind in "fc" else float)


