"""Whether a derivative program would, or may, end with a refusal: then the run is recorded in its stead."""

from __future__ import annotations

import builtins
import functools
import inspect
from collections.abc import Iterator
from dataclasses import replace
from types import CodeType, FunctionType, MethodDescriptorType, ModuleType, NoneType
from typing import Any

import numpy as np

from ctxdispatch.bytecode.errors import UnsupportedSyntax
from ctxdispatch.dispatch.reach import HEAPTYPE
from ctxdispatch.dispatch.strip import VIEWS
from ctxdispatch.facts import INPLACE
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Graph, Jump, Op
from ctxdispatch.ir.values import Const, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.held import guardable
from ctxdispatch.passes.resolve import class_attribute
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives import table
from ctxdispatch_contexts.programs.activity import has_derivative
from ctxdispatch_contexts.programs.apart import RECORD
from ctxdispatch_contexts.programs.derived import DerivedSource, entry_of
from ctxdispatch_contexts.programs.dispatched import is_left_to_engine
from ctxdispatch_contexts.programs.ending import ended_by
from ctxdispatch_contexts.programs.errors import (
    OWN_FILES,
    DerivativeError,
    Ending,
    Refusal,
    Refusing,
    RunTime,
    described,
    of_library,
    user_position,
    without_program,
)
from ctxdispatch_contexts.programs.kinds import is_of_objects
from ctxdispatch_contexts.programs.lifting import form_of, is_installed
from ctxdispatch_contexts.programs.methods import Method
from ctxdispatch_contexts.programs.objects import unpacked
from ctxdispatch_contexts.programs.operands import is_function, is_iterator
from ctxdispatch_contexts.programs.tiers import Reason, reason_of
from ctxdispatch_contexts.programs.written import expression, method

FOUND_AT_RUN_TIME: set[Any] = set()
"""Functions that find at run time what is called. What is called may change objects that it is given, and
then is refused."""

SOLVED: set[Any] = set()
"""Functions whose derivative is what holds of their result, which a recorded run writes down."""


def refuses(graph: Graph, within: tuple[Any, ...] = ()) -> Reason | None:
    """What the first refusal is that stands in it, or in the programs that it calls; None where none does."""
    for _, op in graph.ops():
        reason = _refuses(op, within)
        if reason is not None:
            return _placed(reason, op)
    return None


def refuse_early(graph: Graph) -> None:
    """Raise MissingRuleError where every run comes by a refusal: the rest of the program need not be made."""
    for op in _run_always(graph):
        entry = _entry_of(op.fn)
        callee = op.fn.fn if isinstance(op.fn, Refusal) else None if entry is None else _callee(entry)
        installed = type(callee) is FunctionType and is_installed(callee.__code__)
        formless = installed and _is_without_form(callee)  # into which attempts look no further
        reason = _refuses(op, ()) if isinstance(op.fn, Refusal) or formless else None
        if reason is not None:
            raise without_program(replace(_placed(reason, op), lasts=formless))


def _run_always(graph: Graph) -> Iterator[Op]:
    """To their blocks nothing but jumps leads from the entry."""
    block, seen = graph.entry, set()
    while block not in seen:
        yield from block.ops
        seen.add(block)
        if isinstance(block.terminator, Jump):
            block = block.terminator.edge.target


def _placed(reason: Reason, op: Op) -> Reason:
    """At the user's line: that of `op`, where what it calls says none, or one of a library's or of ours."""
    at, known = op.pos, reason.position
    if at is None or not at.line or at.filename.startswith(OWN_FILES):
        return reason
    is_frames = known == str(user_position())  # who asks for the program: its `def`
    if known is not None and not (is_frames or known.startswith(OWN_FILES) or of_library(known)):
        return replace(reason, column=at.column) if known == str(at) else reason
    return replace(reason, position=str(at), column=at.column)


def _refuses(op: Op, within: tuple[Any, ...]) -> Reason | None:
    fn = op.fn
    if fn is RECORD and not within:
        return None
    if isinstance(fn, Refusal):
        return reason_of(fn.made_of([T.cls_of(operand_type(a)) for a in op.args]))
    if isinstance(fn, (Ending, Refusing)):
        return Reason("only its run tells whether this can be differentiated", _SIMPLER)
    if finds_at_run_time(fn) or is_left_to_engine(fn):
        return _unknown_call(op)
    if fn is primitives.make_function:
        return _without_program(op)
    if _makes_objects(op) or _may_pick_objects(op):
        return Reason(f"{described(fn)} may be given, or make, arrays of objects", "use float arrays")
    if _is_ended_by_code(op):
        return Reason("objects with a `__del__` are made here, which runs when nobody has them", _NO_DEL)
    if _changes_code(op):
        return Reason("a class, module, function or object gets other code here", "give it that beforehand")
    if fn is builtins.type and len(op.args) > 1:
        # the class holds what it was given, and runs `__set_name__` and `__init_subclass__`
        return Reason("a class is made here", "make it outside the function")
    entry = _entry_of(fn)
    return None if entry is None or entry in within else _refuses_call(op, entry, within)


def _unknown_call(op: Op) -> Reason:
    """It calls what only run time knows."""
    called = method(op.pos) if any(isinstance(part, Method) for part in getattr(op.fn, "args", ())) else None
    if called is None:
        text = expression(op.pos)
        return Reason(f"only its run tells what {f'`{text}`' if text else 'is called here'} does", _KNOWN)
    owner, name = called
    what = f"only its run tells what the method `{name}` of `{owner}` is"
    if hasattr(np.ndarray, name) and callable(getattr(np, name, None)):
        return Reason(what, f"call `np.{name}(..)`, or give what `{owner}` is made of as arguments")
    return Reason(what, f"give `{owner}`, or what it is made of, as an argument")


_SIMPLER = "write it with operations on arrays made here, each by one name"
_NO_DEL = "write what it does where it is to be done"
_KNOWN = "call it by the name that its module gives it, on arrays, lists and dicts"


def _refuses_call(op: Op, entry: Any, within: tuple[Any, ...]) -> Reason | None:
    """Of a derivative that another entry makes."""
    callee = _callee(entry)
    if callee in SOLVED:
        return Reason(f"{described(callee)} is known by what holds of its result", "nothing: this is the way")
    if _is_numpys_own_code(callee):
        return Reason(f"{described(callee)} has no rule and is NumPy's own code", "give it a `custom_rule`")
    if table.vjp_rule(callee) and any(map(is_function, op.args)):
        return Reason(f"{described(callee)} is given a function", "write the loop, or pass arrays")
    known = op.contained or ()
    types = tuple([_at_run_time(T.widen(t)) for t in (*known, *map(operand_type, op.args[len(known) :]))])
    if T.Any in types and _is_of_derivative(entry):
        if op.contained is not None:
            return _unknown_call(op)
        types = _with_tangents(types, entry)
    if T.Any in types or T.Never in types or len(types) != len(entry.signature().names):
        writes = {"out", "where"}.intersection(getattr(entry.source, "kwnames", ()))
        none = _has_none(callee) or _is_class(callee) or _takes_out_of_sight(callee, op)
        none = none or _is_without_form(callee)
        if writes or callee in INPLACE or none:
            return Reason(f"what is given to {described(callee)} is not known before it runs", _KNOWN)
        return None
    try:
        return refuses(entry.derivative(types).graph, (*within, entry))
    except (DerivativeError, UnsupportedSyntax) as error:
        return reason_of(error)


def _at_run_time(type_: T.Type) -> T.Type:
    """For which type an entry is asked that gets such a value: it looks into lists."""
    if isinstance(type_, T.ListOf) and type_.item not in (T.Any, T.Never):
        return T.Held(list, (), _at_run_time(T.widen(type_.item)))
    return guardable(type_)


def _with_tangents(types: tuple[T.Type, ...], entry: Any) -> tuple[T.Type, ...]:
    """Tangents of unknown type as what they are tangents of: whether a program refuses is not up to them."""
    n, wrt = len(entry.source.signature().names), getattr(entry.mode, "wrt", None)
    if wrt is None or len(types) != n + len(wrt):
        return types
    tangents = [types[i] if t is T.Any else t for i, t in zip(wrt, types[n:], strict=True)]
    return (*types[:n], *tangents)


def _callee(entry: Any) -> Any:
    """What it is the derivative of, of whatever order."""
    while isinstance(entry.source, DerivedSource):
        entry = entry.source.inner
    callee = getattr(entry.source, "callee", None)
    inner = _entry_of(callee)
    return callee if inner is None else _callee(inner)


def _is_of_derivative(entry: Any) -> bool:
    """It is the derivative of a derivative."""
    source = entry.source
    return isinstance(source, DerivedSource) or _entry_of(getattr(source, "callee", None)) is not None


def _entry_of(fn: Any) -> Any:
    return entry_of(fn) if type(fn) is FunctionType else None


def _changes_code(op: Op) -> bool:
    """It gives a class or module another function or object, a function other code, an object another class:
    the program is made of those that were there before."""
    if op.fn not in (setattr, delattr) or len(op.args) < 2:
        return False
    owner, name = T.cls_of(operand_type(op.args[0])), op.args[1]
    if isinstance(name, Const) and name.value == "__class__":
        return True
    if owner is FunctionType:
        return not isinstance(name, Const) or name.value in _OF_FUNCTIONS
    if owner is None or not issubclass(owner, (type, ModuleType)):
        return False
    value = T.cls_of(operand_type(op.args[2])) if len(op.args) > 2 else None
    if value is not None:
        return not issubclass(value, _DATA)
    if not isinstance(op.args[0], Const) or not isinstance(name, Const):
        return True
    return not issubclass(type(inspect.getattr_static(op.args[0].value, name.value, None)), _DATA)


_DATA = (int, float, complex, str, bytes, NoneType, np.generic, np.ndarray)
_OF_FUNCTIONS = ("__code__", "__defaults__", "__kwdefaults__")


def _makes_objects(op: Op) -> bool:
    """A call of NumPy's with dtype=object: no row says what its numbers are then."""
    if not (type(op.fn) is np.ufunc or str(getattr(op.fn, "__module__", "")).startswith("numpy")):
        return False
    return any(isinstance(t, T.Known) and is_of_objects(t.value) for t in map(operand_type, op.args))


def _may_pick_objects(op: Op) -> bool:
    """Of arrays of objects these give the objects themselves, one of each pair."""
    picks = op.fn is np.logical_and or op.fn is np.logical_or
    return picks and T.Any in map(operand_type, op.args)


def _takes_out_of_sight(callee: Any, op: Op) -> bool:
    """It is given an iterator, or a view of a dict, and no program says what it makes of the items."""
    if not any(is_iterator(a) or T.cls_of(operand_type(a)) in VIEWS for a in op.args):
        return False
    callee = _with_code(callee)
    if type(callee) is FunctionType:
        return _is_without_form(callee)
    return hashable(callee) and not (has_derivative(callee) or callee in _MIRRORED)


def _with_code(callee: Any) -> Any:
    """What runs first where `callee` is a class of the user's: its `__init__`."""
    if issubclass(type(callee), type) and callee.__flags__ & HEAPTYPE:
        return class_attribute(callee, "__init__")
    return callee


def _is_class(callee: Any) -> bool:
    """Of Python code, that is called as it is: no program says what its objects hold."""
    made = issubclass(type(callee), type) and bool(callee.__flags__ & HEAPTYPE)
    return made and not has_derivative(callee)


def _is_ended_by_code(op: Op) -> bool:
    """It makes an object that does something when nothing refers to it: a program keeps some for longer."""
    cls = op.args[0].value if op.fn is object.__new__ and isinstance(op.args[0], Const) else op.fn
    return ended_by(cls) is not None


def _is_without_form(callee: Any) -> bool:
    """A function, or class, whose Python code has no SSA form: whatever it is given."""
    callee = _with_code(callee)
    return type(callee) is FunctionType and _without_form(callee.__code__, callee.__globals__) is not None


_MIRRORED = frozenset({
    builtins.iter, builtins.next, builtins.list, builtins.tuple, builtins.enumerate, builtins.zip,
    builtins.dict, builtins.sum, builtins.len, unpacked,
})  # fmt: skip
"""Of C code, what a program does to items."""


def _has_none(callee: Any) -> bool:
    """A method of arrays that has no derivative, whatever it is given."""
    return type(callee) is MethodDescriptorType and not (has_derivative(callee) or table.lowering(callee))


def finds_at_run_time(fn: Any) -> bool:
    """It, or what it is the derivative of."""
    if issubclass(type(fn), functools.partial):
        return fn.func in FOUND_AT_RUN_TIME or any(map(_is_unseen, fn.args))
    return _is_unseen(fn)


def _is_unseen(fn: Any) -> bool:
    if not isinstance(fn, RunTime):
        return False
    f = getattr(fn, "callee", None)
    return fn.unseen or (type(f) is FunctionType and _is_without_form(f))


def _is_numpys_own_code(callee: Any) -> bool:
    """A function of NumPy's that no rule is for: its Python code takes arguments to pieces at run time."""
    if getattr(callee, "_implementation", None) is None:
        return False
    return not (has_derivative(callee) or table.lowering(callee))


def _without_program(op: Op) -> Reason | None:
    """Where the function that is made has no SSA form."""
    namespace, code = op.args[:2]
    if not (isinstance(code, Const) and type(code.value) is CodeType and isinstance(namespace, Const)):
        return None
    return _without_form(code.value, namespace.value)


def _without_form(code: CodeType, namespace: dict[str, Any]) -> Reason | None:
    """Where the code has no SSA form."""
    try:
        form_of(code, namespace)
    except UnsupportedSyntax as error:
        return reason_of(error)
    return None
