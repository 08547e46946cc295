"""Calls at run time: (y, dy) of a call whose callee or argument types the program did not know.

    call(callee, x, dcallee, dx)     callee = a method, a partial, a closure, ...
    entry(self, a, x, dself, da, dx)     of the function behind it: what it holds are arguments

`unfold.py` finds the function and where its arguments are; the tangents are found at the same places of the
callee's own tangent. So are the tangents of both where such a call stands in a program that is differentiated
once more (`again.py`).
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Op
from ctxdispatch.ir.names import own_name
from ctxdispatch.ir.values import Const, Operand, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.outputs import takes_out
from ctxdispatch.passes.resolve import class_attribute
from ctxdispatch_contexts.forward.places import tangent_at, value_at
from ctxdispatch_contexts.forward.program import ForwardMode
from ctxdispatch_contexts.forward.reading import FUNCTION_PARTS, content
from ctxdispatch_contexts.forward.unfold import Unfolded, refuse_defaults, unfold
from ctxdispatch_contexts.programs.closures import closure_entry, generated_entry
from ctxdispatch_contexts.programs.entry_keys import HOLE, holes
from ctxdispatch_contexts.programs.entry_table import BUILTIN_METHODS, DESCRIPTORS, call_entry
from ctxdispatch_contexts.programs.errors import MutationError, RunTime, described, user_position
from ctxdispatch_contexts.programs.lifting import made_at_run_time
from ctxdispatch_contexts.programs.methods import Method
from ctxdispatch_contexts.programs.ruled import Ruled

Arguments = tuple[Any, ...]
Pair = tuple[Any, Any]


class RunTimeCall(RunTime):
    """(*operands, *tangents) -> (y, dy). The operands are those for the holes of `template`, the first being
    the callee where `callee` is None; tangents come for those at `wrt`, and last the length of blocks."""

    def __init__(
        self, context: Any, callee: Any, template: Arguments, kwnames: tuple[str, ...], wrt: tuple[int, ...],
        block: bool,
    ) -> None:  # fmt: skip
        self.context, self.callee, self.template, self.kwnames = context, callee, template, kwnames
        self.wrt, self.block = wrt, block
        self.__name__ = own_name(callee, "call")
        self.unseen = callee is None or type(callee) is Method or (hashable(callee) and callee in NATIVE)

    def __call__(self, *operands: Any) -> Pair:
        callee, args, moved, tangents, k = self.parts(operands)
        return call_any(self.context, callee, moved, args, tangents, self.kwnames, k)

    def called(self, operands: Arguments) -> Any:
        return self.parts(operands)[0]

    def parts(
        self, operands: Arguments, values: bool = True
    ) -> tuple[Any, Arguments, Any, Arguments, int | None]:
        """callee, arguments, the callee's tangent, the arguments' tangents (None where there is none), k.
        Of operands, or (`values` false) of their tangents: what is no operand has none."""
        n = len(operands) - len(self.wrt) - self.block
        k = operands[-1] if self.block else None
        every: list[Any] = [None] * n
        for i, tangent in zip(self.wrt, operands[n:], strict=False):
            every[i] = tangent
        if self.callee is None:
            return operands[0], operands[1:n], every[0], tuple(every[1:]), k
        given, moved = iter(operands[:n]), iter(every)
        args = tuple([next(given) if t is HOLE else t if values else None for t in self.template])
        tangents = tuple([next(moved) if t is HOLE else None for t in self.template])
        return self.callee if values else None, args, None, tangents, k


def entry_for(
    context: Any, block: bool, op: Op, varies: Callable[[Operand], bool]
) -> tuple[Any, list[Operand]]:
    """What is called in place of `op`, and the operands it takes before their tangents. Literals are part of
    it, not among its operands."""
    if op.fn is None:
        operands = list(op.operands())
        wrt = tuple(i for i, a in enumerate(operands) if varies(a))
        call = RunTimeCall(context, None, (), op.kwnames, wrt, block)
        call.unseen = op.contained is None
        return call, operands
    template = tuple(a.value if isinstance(a, Const) and T.is_literal(a.value) else HOLE for a in op.args)
    operands = [a for a, t in zip(op.args, template, strict=True) if t is HOLE]
    wrt = tuple(i for i, a in enumerate(operands) if varies(a))
    callee = op.fn.function if isinstance(op.fn, Ruled) else op.fn
    if _needs_arguments(context, callee):
        return RunTimeCall(context, callee, template, op.kwnames, wrt, block), operands
    return call_entry(context, callee, template, op.kwnames, ForwardMode(wrt, block, True)).function, operands


def _needs_arguments(context: Any, callee: Any) -> bool:
    """What is to be done depends on the arguments: a rule, or code that is looked for at run time."""
    known = hashable(callee) and (callee in NATIVE or context.ad_ruled(callee))
    return known or type(callee) in (Method, RunTimeCall) or made_at_run_time(callee)


def call_any(
    context: Any, callee: Any, moved: Any, args: Arguments, tangents: Arguments, kwnames: tuple[str, ...],
    k: int | None,
) -> Pair:  # fmt: skip
    """(y, dy) of callee(*args); `moved` is the callee's own tangent, `k` the length of blocks, None for
    single tangents."""
    if moved is None and all(t is None for t in tangents):
        n = len(args) - len(kwnames)
        return callee(*args[:n], **dict(zip(kwnames, args[n:], strict=True))), None
    if context.ad_ruled(callee) if hashable(callee) else False:
        return context.by_rule(callee, args, tangents, kwnames, k)  # type: ignore[no-any-return]
    native = BY_TYPE.get(type(callee)) or (NATIVE.get(callee) if hashable(callee) else None)
    if native is not None:
        return native(context, callee, args, tangents, kwnames, k)  # type: ignore[no-any-return]
    found = unfold(context.ad_has_rule, callee, len(args), kwnames)
    if "out" in found.kwnames and takes_out(found.function):
        raise MutationError(
            f"{described(found.function)} (in place) writes into an array (out=) what depends on what is "
            "differentiated, which is not supported yet; use its result instead",
            user_position(),
        )
    if found.captured is not None and not found.bound and _moves(moved):
        raise refuse_defaults(found.function)
    roots, moving = (callee, *args), (moved, *tangents)
    every = [tangent_at(moving, path) for path in found.paths]
    wrt = tuple([i for i, t in enumerate(every) if t is not None])
    function = entry_of_unfolded(context, found, wrt, k is not None)
    values = [value_at(roots, path) for path in found.paths]
    return function(*values, *(t for t in every if t is not None), *counted(k))  # type: ignore[no-any-return]


def _moves(moved: Any) -> bool:
    """A default has a tangent."""
    return any(getattr(moved, part, None) is not None for part in ("defaults", "kwdefaults"))


def counted(k: int | None) -> tuple[int, ...]:
    return () if k is None else (k,)


def entry_of_unfolded(context: Any, found: Unfolded, wrt: tuple[int, ...], block: bool) -> Any:
    """The function of the entry for calls of an unfolded function."""
    function, names = found.function, found.kwnames
    if found.generated:
        return generated_entry(context, ForwardMode(wrt, block, inner=True), function).function
    mode = ForwardMode(wrt, block, True)
    if found.captured is None:
        return call_entry(context, function, holes(len(found.paths)), names, mode).function
    n = len(found.paths) - found.captured - len(names)
    return closure_entry(context, mode, function, n, names, bound=found.bound).function


# -- what has no entry ---------------------------------------------------------------------------------------


def _call_ex(
    context: Any,
    callee: Any,
    operands: Arguments,
    tangents: Arguments,
    kwnames: tuple[str, ...],
    k: int | None,
) -> Pair:
    """f(*args, **kwargs)"""
    f, args, keywords = (*operands, None)[:3]
    moved, of_args, of_keywords = (*tangents, None, None)[:3]
    items, names = list(args), tuple(keywords or ())
    of_items = [None] * len(items) if of_args is None else list(of_args)
    named = [None if of_keywords is None else of_keywords.get(name) for name in names]
    values = [keywords[name] for name in names]
    return call_any(context, f, moved, (*items, *values), (*of_items, *named), names, k)


def _call_method(
    context: Any,
    callee: Method,
    args: Arguments,
    tangents: Arguments,
    kwnames: tuple[str, ...],
    k: int | None,
) -> Pair:
    """obj.name(*args): the class's function with `obj` first."""
    obj, *rest = args
    found = class_attribute(type(obj), callee.name)
    hidden = callee.name in getattr(obj, "__dict__", ())
    if issubclass(type(found), (FunctionType, *DESCRIPTORS)) and not hidden:
        return call_any(context, found, None, args, tangents, kwnames, k)
    attribute, moved = _read_attribute(context, getattr, (obj, callee.name), (tangents[0], None), (), k)
    return call_any(context, attribute, moved, tuple(rest), tangents[1:], kwnames, k)


def _read_attribute(
    context: Any, callee: Any, args: Arguments, tangents: Arguments, kwnames: tuple[str, ...], k: int | None
) -> Pair:
    """obj.name as a value. What is bound to `obj` has `obj` as a part."""
    obj, name = args[:2]
    found = class_attribute(type(obj), name) if isinstance(name, str) else None
    if issubclass(type(found), (FunctionType, *DESCRIPTORS, classmethod, staticmethod)):
        y = getattr(obj, name)
        bound = getattr(y, "__self__", None) is obj
        return y, SimpleNamespace(__self__=tangents[0]) if bound else None
    if len(args) == 3 and not hasattr(obj, name):
        return args[2], tangents[2]
    if type(obj) is types.CellType and name == "cell_contents":
        return obj.cell_contents, content(tangents[0])
    if issubclass(type(obj), CALLABLES):
        part = FUNCTION_PARTS.get(name, name) if type(obj) is FunctionType else name
        return getattr(obj, name), getattr(tangents[0], part, None)
    if tangents[0] is None:
        return getattr(obj, name), None
    entry = call_entry(context, getattr, (HOLE, name), (), ForwardMode((0,), k is not None, True))
    return entry.function(obj, tangents[0], *counted(k))  # type: ignore[no-any-return]


CALLABLES = (FunctionType, types.MethodType, functools.partial, *BUILTIN_METHODS)

NATIVE: dict[Any, Any] = {primitives.call_ex: _call_ex, getattr: _read_attribute}
BY_TYPE: dict[type, Any] = {Method: _call_method}
