"""Arithmetic on numbers, and on single elements of arrays: what loops are made of, so it goes a short way.

An elementwise row of the table says the partial derivatives, and what is kept of y = f(a, b) is `a`, `b`, `y`
and where their derivatives are. What is no real number goes the way of everything else (`context.operate`).
"""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ctxdispatch.facts import COMPARISONS, INPLACE
from ctxdispatch_contexts.derivatives import namespaces
from ctxdispatch_contexts.derivatives.table import Elementwise, elementwise, names
from ctxdispatch_contexts.programs.errors import Refused
from ctxdispatch_contexts.programs.remembered import ORDERS, TINY
from ctxdispatch_contexts.recording import elements, left, remembered
from ctxdispatch_contexts.recording.acting import is_calm, is_calm_key
from ctxdispatch_contexts.recording.record import Number, Record
from ctxdispatch_contexts.recording.refused import guarded, refused

PYTHON = frozenset({float, int, bool})
REAL = frozenset({*PYTHON, np.float64, np.float32, np.int64, np.intp, np.bool_})
RESULTS = frozenset({float, np.float64, np.float32})
Partial = Callable[..., Any]
Otherwise = Callable[..., Any]


def _partials(row: Elementwise, names: dict[str, Any]) -> tuple[Partial | None, ...]:
    """None where the derivative is zero by rule; marked where the row may be steep, or chooses."""
    found = zip(row.partials(names), row.kinds, row.steep, row.picks, strict=True)
    return tuple([None if kind == "zero" else _marked(p, steep=s, picks=c) for p, kind, s, c in found])


def _marked(partial: Partial, **marks: bool) -> Partial:
    partial.__dict__.update({name: True for name, found in marks.items() if found})
    return partial


def is_choice(partial: Partial) -> bool:
    """It chooses between operands."""
    return "picks" in partial.__dict__


def times(bar: Any, slope: Any, partial: Partial) -> Any:
    """bar * slope, 0 where the row may be infinite and nothing moves."""
    if "steep" in partial.__dict__ and np.ndim(bar) == 0 and bar == 0:
        return bar
    return bar * slope


ABSENT: Any = object()
"""Of a call with too few arguments, which fails as it does plainly."""


def _given(*args: Any) -> list[Any]:
    return [a for a in args if a is not ABSENT]


def _by_position(f: Any, args: list[Any], named: dict[str, Any]) -> Sequence[Any]:
    try:
        return inspect.signature(f).bind(*args, **named).args
    except (TypeError, ValueError):
        f(*args, **named)
        raise


def unary(f: Any, row: Elementwise, otherwise: Otherwise) -> Callable[..., Any]:
    """The rule for calls f(x)."""
    (of_python,), (of_numpy,) = _partials(row, namespaces.MATH), _partials(row, namespaces.NUMPY)
    of_arrays = guarded(f, elements.unary(f, (of_numpy,), otherwise))

    def rule(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs:
            return otherwise(ctx, *args, **kwargs)
        x = args[0]
        if type(x) not in REAL:
            return of_arrays(ctx, x)
        record: Record = ctx.record
        number = record.numbers.get(id(x))
        y = f(x)
        if number is None or of_python is None or type(y) not in RESULTS or record.closed:
            return y if number is None or record.closed else otherwise(ctx, x)
        if id(y) in record.numbers:
            return y
        made = record.numbers[id(y)] = Number(y)
        record.doing = f
        try:
            record.unary(made, number, of_python if type(x) in PYTHON else of_numpy, x)
        except Refused as error:
            return refused(ctx, error, f, (x,), {})
        return y

    return rule


def binary(f: Any, row: Elementwise, otherwise: Otherwise, of_arrays: Any = None) -> Callable[..., Any]:
    """The rule for calls f(a, b); `of_arrays` is that for arrays, where it is not by the row."""
    of_python, of_numpy = _partials(row, namespaces.MATH), _partials(row, namespaces.NUMPY)
    of_arrays = guarded(f, of_arrays or elements.binary(f, of_numpy, otherwise))

    def of_two(ctx: Any, a: Any = ABSENT, b: Any = ABSENT, *more: Any, **named: Any) -> Any:
        if named:
            return of_two(ctx, *_by_position(f, _given(a, b, *more), named))
        if b is ABSENT or more:
            return otherwise(ctx, *_given(a, b, *more))
        if type(a) not in REAL or type(b) not in REAL:
            return of_arrays(ctx, a, b)
        record: Record = ctx.record
        first, second = record.numbers.get(id(a)), record.numbers.get(id(b))
        y = f(a, b)
        if (first is None and second is None) or record.closed:
            return y
        if type(y) not in RESULTS:
            return otherwise(ctx, a, b)
        if id(y) in record.numbers:
            return y
        python = type(a) in PYTHON and type(b) in PYTHON
        of_a, of_b = of_python if python else of_numpy
        if (first is None or of_a is None) and (second is None or of_b is None):
            return y
        made = record.numbers[id(y)] = Number(y)
        record.doing = f
        try:
            record.binary(made, first, second, of_a, of_b, a, b)
        except Refused as error:
            return refused(ctx, error, f, (a, b), {})
        return y

    def rule(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        return otherwise(ctx, *args, **kwargs) if len(args) != 2 or kwargs else of_two(ctx, *args)

    return rule if type(f) is np.ufunc or f in vars(math).values() else of_two


# -- elements ------------------------------------------------------------------------------------------------


def get_item(otherwise: Otherwise) -> Callable[..., Any]:
    def rule(ctx: Any, container: Any = ABSENT, index: Any = ABSENT, *more: Any) -> Any:
        if index is ABSENT or more:
            return otherwise(ctx, *_given(container, index, *more))
        cls = type(container)
        if cls is list or cls is tuple:
            calm = type(index) is int or is_calm(index)
            return container[index] if calm else otherwise(ctx, container, index)
        if cls is dict and (type(index) is str or is_calm_key(container, index)):
            if type(index) is not int:
                remembered.looked_up(ctx.record, (container, index))
            return container[index]
        if cls is not np.ndarray or not elements.is_basic(index):
            return otherwise(ctx, container, index)
        record: Record = ctx.record
        out = container[index]
        if type(out) is np.ndarray:
            return out  # a view, known by where it lies
        if record.closed or container.dtype.kind not in "fc" or not record.memory.is_active(container):
            return out
        if type(out) not in RESULTS:
            return otherwise(ctx, container, index)
        made = record.numbers[id(out)] = Number(out)
        record.element(made, container, index)
        return out

    return rule


def set_item(otherwise: Otherwise) -> Callable[..., Any]:
    def rule(ctx: Any, container: Any = ABSENT, index: Any = ABSENT, value: Any = ABSENT, *more: Any) -> Any:
        if value is ABSENT or more:
            return otherwise(ctx, *_given(container, index, value, *more))
        cls = type(container)
        if cls is list or cls is dict:
            if type(index) is int if cls is list else is_calm_key(container, index):
                container[index] = value
                left.put(ctx.record, container, value, index)
                return None
            return otherwise(ctx, container, index, value)
        if cls is not np.ndarray:
            return otherwise(ctx, container, index, value)
        one = type(value) in REAL and _single(index, container.ndim) and container.dtype.kind == "f"
        try:
            return (_set_element if one else _set_elements)(ctx, container, index, value, otherwise)
        except Refused as error:
            return refused(ctx, error, operator.setitem, (container, index, value), {})

    return rule


def _set_element(ctx: Any, container: Any, index: Any, value: Any, otherwise: Otherwise) -> Any:
    """container[index] = value, one element."""
    record: Record = ctx.record
    number = record.numbers.get(id(value))
    if record.still or (record.copies and not record.closed):
        return otherwise(ctx, container, index, value)
    found = record.memory.find(container)
    if record.closed or (number is None and found is None):
        container[index] = value
        return None
    if found is not None and (found.names or found.outside):
        record.join(container, index)
    before = container[index]
    container[index] = value
    if number is not None:
        record.memory.stored(container, index)
    record.set_element(container, index, number, before)
    return None


def _set_elements(ctx: Any, container: Any, index: Any, value: Any, otherwise: Otherwise) -> Any:
    stored = elements.set_item(ctx, container, index, value)
    return None if stored else otherwise(ctx, container, index, value)


def _single(index: Any, ndim: int) -> bool:
    """It names one element."""
    if type(index) is int or type(index) is np.int64:
        return ndim == 1
    if type(index) is not tuple or len(index) != ndim:
        return False
    return all(type(i) is int or type(i) is np.int64 for i in index)


# -- the rules -----------------------------------------------------------------------------------------------


def rules(otherwise: Callable[[Any], Otherwise]) -> dict[Any, Callable[..., Any]]:
    """By callee; `otherwise(callee)` is what there is for all else."""
    made: dict[Any, Callable[..., Any]] = {
        operator.getitem: get_item(otherwise(operator.getitem)),
        operator.setitem: set_item(otherwise(operator.setitem)),
    }
    for kind, f in names():
        row = elementwise(f) if kind == "elementwise" else None
        if row is not None and len(row.params) <= 2 and _is_c(f):
            make = unary if len(row.params) == 1 else binary
            made[f] = make(f, row, otherwise(f))
    for f in COMPARISONS:
        made[f] = _compare(f, otherwise(f))
    for inplace, plain in INPLACE.items():
        row = elementwise(plain)
        if row is not None:
            made[inplace] = binary(inplace, row, otherwise(inplace), _into(inplace, otherwise(inplace)))
    return made


def _into(inplace: Any, otherwise: Otherwise) -> Otherwise:
    sign = {operator.iadd: 1, operator.isub: -1}.get(inplace)
    return otherwise if sign is None else elements.added(inplace, sign, otherwise)


_OUTCOMES = {operator.eq: True, operator.ne: False}
"""Where two numbers are equal."""


def _compare(f: Any, otherwise: Otherwise) -> Callable[..., Any]:
    equal, at = _OUTCOMES.get(f), ORDERS.get(f)

    def rule(ctx: Any, *args: Any) -> Any:
        if len(args) != 2:
            return otherwise(ctx, *args)
        a, b = args
        if type(a) not in REAL or type(b) not in REAL:
            return otherwise(ctx, a, b)
        out = f(a, b)
        if out == equal:
            remembered.compared(ctx.record, f, args, out)
        elif at is not None and -TINY <= (distance := args[at if out else 1 - at]) <= TINY:
            remembered.near(ctx.record, distance, bool(out))
        return out

    return rule


def _is_c(f: Any) -> bool:
    return type(f) is np.ufunc or type(f) is type(math.sin)
