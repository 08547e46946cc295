"""What functions of generated programs return: inference knows no function of ours by itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ctxdispatch.facts import fact, has_row, rows
from ctxdispatch.passes import types as T
from ctxdispatch.passes.container_types import sum_of_some
from ctxdispatch.passes.numpy_shapes import SHAPE_ARGUMENT, dims_of, dtype_of
from ctxdispatch.passes.numpy_types import by_sampling
from ctxdispatch.passes.type_rules import UNKNOWN, Rule, known, row
from ctxdispatch_contexts.derivatives import blocks, eigenvalues, linear, lowerings, ufuncs
from ctxdispatch_contexts.programs.activity import ZERO_BY_RULE
from ctxdispatch_contexts.programs.operands import leaf_class

Args = tuple[T.Type, ...]


def numeric(type_: T.Type) -> bool:
    """Of a number or array of floats, exactly."""
    if isinstance(type_, T.ArrayOf):
        return type_.dtype.kind in "fc"
    return isinstance(type_, T.Exact) and issubclass(type_.cls, (float, complex, np.inexact))


def always(type_: T.Type) -> Rule:
    return lambda args, kwargs: type_


def like_argument(i: int) -> Rule:
    """What argument i is, where that is a number or array; else nothing is known."""

    def rule(args: Args, kwargs: Mapping[str, T.Type]) -> T.Type:
        type_ = T.widen(args[i])
        return type_ if numeric(type_) else T.Any

    return rule


def first_if_numeric(args: Args, kwargs: Mapping[str, T.Type]) -> T.Type:
    """The first argument itself, where it cannot be None."""
    type_ = T.widen(args[0])
    return type_ if numeric(type_) else T.Any


def block_like(i: int) -> Rule:
    """A block of what argument i is."""

    def rule(args: Args, kwargs: Mapping[str, T.Type]) -> T.Type:
        type_ = T.widen(args[i])
        if isinstance(type_, T.ArrayOf):
            return T.ArrayOf(type_.dtype, (None, *type_.dims)) if numeric(type_) else T.Any
        cls = leaf_class(type_)
        return T.ArrayOf(np.dtype(cls), (None,)) if cls is not None and numeric(type_) else T.Any

    return rule


def of_shape(shape: int, dtype: int) -> Rule:
    """An array of the shape and dtype that the arguments there say."""

    def rule(args: Args, kwargs: Mapping[str, T.Type]) -> T.Type:
        dims, made = dims_of(args[shape]), dtype_of(args[dtype], float)
        return T.ArrayOf(made, dims) if dims is not None and made is not None else T.Any

    return rule


def one_longer(args: Args, kwargs: Mapping[str, T.Type]) -> T.Type:
    """A shape, and one length before it."""
    items = args[0].items if isinstance(args[0], T.TupleOf) else (args[0],)
    known = all(T.cls_of(i) is int for i in items)
    return T.TupleOf((T.Exact(int),) * (len(items) + 1)) if known else T.Any


def sequence_of_arrays(args: Args, kwargs: Mapping[str, T.Type]) -> T.Type:
    """A tuple of arrays as it is."""
    arrays = isinstance(args[0], T.TupleOf) and all(isinstance(i, T.ArrayOf) for i in args[0].items)
    return args[0] if arrays else T.Any


def product_of_ints(args: Args, kwargs: Mapping[str, T.Type]) -> T.Type:
    items = args[0].items if isinstance(args[0], T.TupleOf) else (T.Any,)
    return T.Exact(int) if len(args) == 1 and all(T.cls_of(i) is int for i in items) else T.Any


def returning(rule: Rule, *functions: Any) -> None:
    """The types of what these functions return."""
    row(functions, rule)


def as_it_runs(function: Any) -> Rule:
    """Of arguments that are known: what it returns for them."""

    def rule(args: Args, kwargs: Mapping[str, T.Type]) -> T.Type:
        values = list(map(known, args))
        if any(v is UNKNOWN for v in values) or kwargs:
            return T.Any
        try:
            return T.const_type(function(*values))
        except Exception:  # raised where the program gets there
            return T.Any

    return rule


def sampled(function: Any) -> Rule:
    """What it returns for small arrays."""
    return lambda args, kwargs: by_sampling(function, args, kwargs)


def broadcast_shape(args: Args, kwargs: Mapping[str, T.Type]) -> T.Type:
    """Of shapes of known lengths: one as long as the longest."""
    if kwargs or not all(isinstance(a, T.TupleOf) for a in args):
        return T.Any
    return T.TupleOf((T.Exact(int),) * max(len(a.items) for a in args))  # type: ignore[attr-defined]


def varying(literal: Any) -> Any:
    """Itself, of which programs know the class alone."""
    return literal


returning(lambda args, kwargs: T.widen(args[0]), varying)
rows(fact(raises=False), [varying])
ZERO_BY_RULE.add(varying)
for _function in (ufuncs.loop_dtypes, ufuncs.reduced_axes, ufuncs.leading):
    returning(as_it_runs(_function), _function)
    if not has_row(_function):
        rows(fact(known=False, raises=False), [_function])
    ZERO_BY_RULE.add(_function)
for _function in (eigenvalues.equal, eigenvalues.free):
    returning(sampled(_function), _function)
returning(broadcast_shape, ufuncs.common_shape)
returning(one_longer, blocks.shape_of)
returning(sequence_of_arrays, blocks.blocks_in)
returning(product_of_ints, math.prod)
returning(sum_of_some, lowerings.sum_of)
returning(of_shape(1, 2), linear.spread)
returning(of_shape(2, 3), linear.place, linear.scatter)
returning(of_shape(3, 4), linear.scatter_along)

SHAPE_ARGUMENT.update({linear.spread: 1, linear.place: 2, linear.scatter: 2, linear.scatter_along: 3})
