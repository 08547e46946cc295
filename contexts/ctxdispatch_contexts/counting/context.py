"""`CountContext`: a pass that puts a count beside every operation.

    at the entry         %row = row_of(ctx, places)
    %y = add(%a, %b)     counted(%row, 3, %a, %b); %y = add(%a, %b)
    %y = f(%x)           %y = f(%x); called(%row, 4, f, %y, %x)

A place is a constant of the code, a row has what one instance counted at the places of one function. So
what is done on floats is counted by one addition; the rest goes the long way, by way of `costs`. No context
is told of these calls: what is counted is the program.
"""

from __future__ import annotations

import operator
from argparse import ArgumentParser, Namespace
from dataclasses import field
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ctxdispatch.dispatch import Context, Editor
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Op
from ctxdispatch.ir.values import Const, Value
from ctxdispatch_contexts.counting.costs import WEIGHTS, call_cost, operator_cost
from ctxdispatch_contexts.counting.records import SORTS, Counts, Place, Places, Tally


class CountContext(Context):
    """Counts calls, operators, flops and bytes of arrays, by function and by source line.

        ctx = CountContext()
        overdub(ctx, f, x)
        print(ctx.counts.text(by="line"))

    The count of an instance goes on over several runs. Calls that raise are not counted, comparisons,
    subscripts and attributes are no operators. What properties and `__getitem__` written in Python do is
    counted by `DeepCountContext` only: to look for them at each attribute takes microseconds.
    """

    counts: Counts = field(default_factory=Counts)
    intercepts = ("call", "operator", "compare", "iterate")

    def transform(self, graph: Graph) -> Graph:
        edit = Editor(graph)
        places: list[Place] = []
        row = edit.at_entry(row_of, edit.context, Places(places))
        for op in edit.calls("operator"):
            count_operator(edit, row, places, op)
        for op in edit.calls("call"):
            count_call(edit, row, places, op)
        return super().transform(edit.finish() if places else graph)

    # -- from a command line -----------------------------------------------------------------------

    @classmethod
    def add_options(cls, parser: ArgumentParser) -> None:
        parser.add_argument("--by", choices=("line", "function", "operation"), default="function")
        parser.add_argument("--sort", choices=SORTS, default="flops")
        parser.add_argument("--limit", type=int, default=20, help="how many rows; 0: all")
        parser.add_argument("--json", action="store_true", help="all records, as JSON")
        parser.add_argument("--deep", action="store_true", help="also within properties and subscripts")

    @classmethod
    def from_options(cls, options: Namespace) -> Any:
        return DeepCountContext() if options.deep else cls()

    def report(self, options: Namespace) -> str:
        if options.json:
            return self.counts.to_json()
        return self.counts.text(options.by, options.sort, options.limit or None)


class DeepCountContext(CountContext):
    """The same, also of what attributes, subscripts, `with` and truth values run."""

    intercepts = ("call", "operator", "compare", "item", "attribute", "iterate", "with", "truth")


# -- the pass --------------------------------------------------------------------------------------


def count_operator(edit: Editor, row: Value, places: list[Place], op: Op) -> None:
    """Of a constant operand it is known which numbers make it a flop."""
    operation, operands = edit.callee(op), edit.operands(op)
    values = [operand for operand in operands if isinstance(operand, Value)]
    constant = next((o.value for o in operands if isinstance(o, Const)), 0)
    divides, number = operation in QUOTIENTS, type(constant)
    if len(values) == 2:
        tell: Any = counted_quotient if divides else counted
    elif values:
        tell = counted_by.get(float if divides and number is int else number, counted)
    else:
        tell = counted_constants
    weight = WEIGHTS.get(operation, 0)
    places.append(Place("operator", name_of(operation), op.pos, operation, weight, constant))
    one = tell in counted_by.values()
    edit.before(op, tell, row, len(places) - 1, *(values if one else operands))


def count_call(edit: Editor, row: Value, places: list[Place], op: Op) -> None:
    places.append(Place("call", "", op.pos))
    told = row, len(places) - 1, edit.called(op), op.result
    if op.fn is primitives.call_ex:
        edit.after(op, called_ex, *told, *edit.operands(op))
    elif op.kwnames:
        edit.after(op, called_by_name, *told, op.kwnames, *edit.operands(op))
    else:
        edit.after(op, called, *told, *edit.operands(op))


QUOTIENTS = (operator.truediv, operator.itruediv)
"""Of whole numbers too they are floats."""

OF_NUMPY = (ModuleType, np.ndarray, np.ufunc)
"""Of other objects, methods in C cost nothing that is counted."""

# -- what programs call ----------------------------------------------------------------------------


def row_of(ctx: CountContext, places: Places) -> list[Any]:
    return ctx.counts.rows[places]


def counted(row: list[Any], k: int, a: Any, b: Any) -> None:
    """An operator, before it."""
    if type(a) is float:
        if type(b) is float or type(b) is int:
            row[k] += 1
            return
    elif type(a) is int:
        if type(b) is int:
            row[-1][k].others += 1
            return
        if type(b) is float:
            row[k] += 1
            return
    _measured(row[-1][k], a, b)


def counted_quotient(row: list[Any], k: int, a: Any, b: Any) -> None:
    """A division: that of whole numbers is one of floats."""
    if (type(a) is float or type(a) is int) and (type(b) is float or type(b) is int):
        row[k] += 1
    else:
        _measured(row[-1][k], a, b)


def counted_with_float(row: list[Any], k: int, a: Any) -> None:
    """The same where the other operand is a constant float."""
    if type(a) is float or type(a) is int:
        row[k] += 1
    else:
        _measured(row[-1][k], a, row[-1][k].place.constant)


def counted_with_int(row: list[Any], k: int, a: Any) -> None:
    """... or a constant int, or where there is no other."""
    if type(a) is float:
        row[k] += 1
    elif type(a) is int:
        row[-1][k].others += 1
    else:
        _measured(row[-1][k], a, row[-1][k].place.constant)


def counted_constants(row: list[Any], k: int, *operands: Any) -> None:
    """... where all are: what the compiler has left of them, which may well fail (`1 / 0`)."""
    _measured(row[-1][k], *operands)


counted_by = {float: counted_with_float, int: counted_with_int}


def _measured(tally: Tally, *operands: Any) -> None:
    try:
        cost = operator_cost(tally.place.operation, operands)
    except (TypeError, ValueError, AttributeError, LookupError):
        cost = 0, 0  # the operation has an error of its own to raise
    tally.add(*cost)


def called(row: list[Any], k: int, f: Any, out: Any, *args: Any) -> None:
    """A call, after it."""
    _called(row[-1][k], f, out, args, {})


def called_by_name(row: list[Any], k: int, f: Any, out: Any, names: tuple[str, ...], *args: Any) -> None:
    """... whose last arguments have names."""
    first = len(args) - len(names)
    _called(row[-1][k], f, out, args[:first], dict(zip(names, args[first:])))


def called_ex(row: list[Any], k: int, f: Any, out: Any, args: Any, kwargs: Any = None) -> None:
    """... that is f(*args, **kwargs); what they were unpacked from may be used up."""
    given = args if type(args) in (tuple, list) else ()
    _called(row[-1][k], f, out, given, kwargs if type(kwargs) is dict else {})


def _called(tally: Tally, f: Any, out: Any, args: Any, kwargs: dict[str, Any]) -> None:
    kind = type(f)
    if kind is FunctionType or (kind is MethodType and type(f.__func__) is FunctionType):
        tally.callee(f.__qualname__).others += 1
    elif kind is BuiltinMethodType and not issubclass(type(f.__self__), OF_NUMPY):
        tally.callee(f.__qualname__).others += 1
    else:
        tally.callee(name_of(f)).add(*_cost(f, out, args, kwargs))


def _cost(f: Any, out: Any, args: Any, kwargs: dict[str, Any]) -> tuple[float, int]:
    try:
        return call_cost(f, out, args, kwargs)
    except (TypeError, ValueError, AttributeError, LookupError):
        return 0, 0  # of no kind that is known: by name, of other shapes; never an error of the program's


def name_of(f: Any) -> str:
    if type(f) is BuiltinMethodType and type(f.__self__) is np.ufunc:
        return f"{name_of(f.__self__)}.{f.__name__}"
    if hasattr(type(f), "__getattr__") or type(type(f).__getattribute__) is FunctionType:
        return type(f).__name__  # a class of the program's, whose code is not to run for us
    name = getattr(f, "__qualname__", None) or getattr(f, "__name__", None) or type(f).__name__
    module = getattr(f, "__module__", None)
    return name if type(module) is not str or module in HIDDEN else f"{module}.{name}"


HIDDEN = ("builtins", "__main__", "_operator", "operator", "ctxdispatch.ir.primitives")
