"""Python code behind syntax: constructors and operators of user classes, as calls that can be inlined.

C(*args)      o = object.__new__(C);  C.__init__(o, *args);  o
a + b         type(a).__add__(a, b), and the reflected method where that says NotImplemented
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
from abc import ABCMeta
from collections.abc import Callable
from inspect import isabstract
from types import FunctionType, NoneType, WrapperDescriptorType
from typing import Any

import numpy as np

from ctxdispatch.bytecode.lift import is_generator
from ctxdispatch.dispatch.reach import lookup
from ctxdispatch.facts import BINARY, COMPARISONS, UNARY, fact_of
from ctxdispatch.ir import primitives, wrappers
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.leaves import is_ours, of_installed, package_of
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes import types as T
from ctxdispatch.passes.guards import ABSENT, AttrIs, PathIs
from ctxdispatch.passes.inline import emit_before
from ctxdispatch.passes.resolve import class_attribute
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.programs.converting import leaves_operator
from ctxdispatch_contexts.programs.declined import (
    by_either,
    by_left_alone,
    by_left_first,
    by_right_alone,
    may_decline,
    otherwise,
)
from ctxdispatch_contexts.programs.errors import DerivativeError, Refusing, user_position
from ctxdispatch_contexts.programs.lookups import found_in, state_of

REFLECTED = {
    **{
        f: (f"__{name}__", f"__r{name}__")
        for f, name in ((f, f.__name__.rstrip("_")) for f in (*BINARY, divmod, pow))
    },
    **{f: (f"__{f.__name__}__", f"__{g}__") for f, g in zip(COMPARISONS, "gt ge eq ne lt le".split())},
}

SINGLE = {
    **{f: f"__{f.__name__}__" for f in UNARY}, operator.getitem: "__getitem__", abs: "__abs__",
    operator.setitem: "__setitem__", operator.delitem: "__delitem__", int: "__int__",
    operator.contains: "__contains__", float: "__float__", iter: "__iter__", len: "__len__",
    complex: "__complex__", round: "__round__", math.floor: "__floor__", math.ceil: "__ceil__",
    math.trunc: "__trunc__",
}  # fmt: skip


def is_made_by_init(cls: type) -> bool:
    """A call of the class gives a new object of it."""
    new, init = class_attribute(cls, "__new__"), class_attribute(cls, "__init__")
    return is_plain(cls) and new is object.__new__ and type(init) is FunctionType


def is_plain(cls: Any) -> bool:
    """A class that has its metaclass no say in how objects are made."""
    return type(cls) in (type, ABCMeta) and not isabstract(cls)


def construct(prepared: Any, block: Block, op: Op) -> bool:
    """Rewrite the call of a class. True where something was changed."""
    cls = op.fn
    if not is_plain(cls) or cls.__module__ == "builtins":
        return False
    new, init = class_attribute(cls, "__new__"), class_attribute(cls, "__init__")
    new = new.__func__ if issubclass(type(new), staticmethod) else new
    if type(new) is FunctionType and init is object.__init__:
        prepared.assume(AttrIs(cls, "__new__", new))
        op.callee, op.args = Const(new), [Const(cls), *op.args]
        return True
    if is_made_by_init(cls):
        prepared.assume(AttrIs(cls, "__init__", init))
        op.callee = Const(new_object(prepared.graph, block, op, cls))
        return True
    if new is object.__new__ and init is object.__init__ and not op.args:
        prepared.assume_all([AttrIs(cls, "__new__", new), AttrIs(cls, "__init__", init)])
        op.callee, op.args = Const(new), [Const(cls)]
        return True
    return False


def may_be_given(op: Op, graph: Graph) -> bool:
    """Its objects may be given what varies later: a class of the user's, or of the program's own package.
    What `with` enters is all seen, or nothing of it."""
    cls, space = op.fn, graph.namespace or {}
    if not issubclass(type(cls), type):
        return False
    own = str(space.get("__name__", "")).partition(".")[0]
    of_user = package_of(cls) == own or not (of_installed(cls) or is_ours(cls.__module__))
    return of_user or (fact_of(cls) is None and _is_entered(op.result, graph))


def _is_entered(value: Value, graph: Graph) -> bool:
    return any(op.fn is primitives.special_method and op.args[0] is value for _, op in graph.ops())


def new_object(graph: Graph, block: Block, op: Op, cls: type) -> FunctionType:
    """Make an object before `op`, the call of its class; what is to be called in its place, which has the
    object among its arguments now."""
    made = Value(op.result.name or cls.__name__.lower(), T.Exact(cls))
    at = next(i for i, other in enumerate(block.ops) if other is op)
    block.ops.insert(at, Op(Const(object.__new__), [Const(cls)], [made], (), op.pos))
    substitute(graph, {op.result: made})
    op.args, op.results = [made, *op.args], [Value()]
    return class_attribute(cls, "__init__")  # type: ignore[return-value]


def open_partial(prepared: Any, block: Block, op: Op) -> bool:
    """functools.partial(f, a, k=b)(*args, **kwargs) is f(a, *args, k=b, **kwargs). True where something was
    changed."""
    changed = False
    while (bound := _bound(prepared, op.callee, emit_before(block, op))) is not None:
        function, first, keywords = bound
        n = len(op.args) - len(op.kwnames)
        keywords |= dict(zip(op.kwnames, op.args[n:], strict=True))
        op.args = [*first, *op.args[:n], *keywords.values()]
        op.callee, op.kwnames, changed = function, tuple(keywords), True
    return changed


def open_wrapper(assume: Callable[[Any], None], block: Block, op: Op) -> bool:
    """f(a, k=b) of a wrapper that is known: wrapper(wrapped, instance, (a,), {"k": b})."""
    held = wrappers.held(op.fn)
    if held is None:
        return False
    for name, part in wrappers.parts(op.fn).items():
        assume(AttrIs(op.fn, name, part))
    if held.wrapper is None:
        op.callee, op.syntax = Const(held.wrapped), False
        return True
    emit, n = emit_before(block, op), len(op.args) - len(op.kwnames)
    named = [x for k, a in zip(op.kwnames, op.args[n:]) for x in (Const(k), a)]
    args, kwargs = emit(primitives.build_tuple, *op.args[:n]), emit(primitives.build_map, *named)
    args.type = T.TupleOf(tuple(map(operand_type, op.args[:n])))
    op.callee, op.kwnames, op.syntax = Const(held.wrapper), (), False
    op.args = [Const(held.wrapped), Const(held.instance), args, kwargs]
    return True


def _bound(
    prepared: Any, callee: Operand, emit: Callable[..., Operand]
) -> tuple[Operand, list[Operand], dict[str, Operand]] | None:
    """The function, arguments and keywords of a partial, that is given or that the program makes."""
    if isinstance(callee, Const):
        partial = callee.value
        if type(partial) is not functools.partial:
            return None
        prepared.assume_all(state_of(partial))
        named = {name: _keyword(prepared, partial.keywords, name, emit) for name in partial.keywords}
        return Const(partial.func), [Const(a) for a in partial.args], named
    made = prepared.maker.get(callee)
    if made is None or made.fn is not functools.partial:
        return None
    n = len(made.args) - len(made.kwnames)
    return made.args[0], made.args[1:n], dict(zip(made.kwnames, made.args[n:], strict=True))


def _keyword(prepared: Any, keywords: dict[str, Any], name: str, emit: Callable[..., Operand]) -> Operand:
    """One of a partial that is given, which may be assigned to: a variable, unless it is a choice."""
    value = keywords[name]
    if type(value) not in (int, str, bool, NoneType):
        return emit(primitives.load_global, Const(keywords), Const(name))
    prepared.assume(PathIs(keywords, (name,), value))
    return Const(value)


def set_by_code(prepared: Any, op: Op) -> bool:
    """`obj.name = value` where a property's setter does it."""
    cls = T.cls_of(operand_type(op.args[0])) if op.fn is setattr else None
    found = (
        class_attribute(cls, op.args[1].value) if cls is not None and isinstance(op.args[1], Const) else None
    )
    if not issubclass(type(found), property) or type(found.fset) is not FunctionType:
        return False
    prepared.assume(AttrIs(cls, op.args[1].value, found))  # type: ignore[union-attr]
    op.callee, op.args, op.syntax = Const(found.fset), [op.args[0], op.args[2]], False
    if not op.results:
        op.results = [Value()]
    return True


def iterate_by_code(prepared: Any, block: Block, op: Op) -> bool:
    """`a, b = obj` where obj's class has a Python __iter__: unpack what that returns, unless it is `obj`. A
    loop over obj, or what goes through it, goes through the generator, if that is what it returns."""
    if hashable(op.fn) and op.fn in GO_THROUGH:
        return _iterate_generator(prepared, block, op, GO_THROUGH[op.fn])
    if op.fn not in (*primitives.UNPACKING, unpacked):
        return False
    if method_of_type(operand_type(op.args[0]), "__next__") is not None:
        return False
    method = _method(prepared, op.args[0], "__iter__")
    if method is None:
        return False
    items = Value("items")
    at = next(i for i, other in enumerate(block.ops) if other is op)
    block.ops.insert(at, Op(Const(method), [op.args[0]], [items], (), op.pos))
    op.args[0] = items
    return True


GO_THROUGH: dict[Any, int] = {
    builtins.iter: 0, builtins.enumerate: 0, builtins.sum: 0, list: 0, tuple: 0, primitives.list_extend: 1,
}  # fmt: skip


def _iterate_generator(prepared: Any, block: Block, op: Op, at: int) -> bool:
    """Of what says its length, not where that is asked for."""
    type_ = operand_type(op.args[at]) if len(op.args) > at else T.Any
    found = [method_of_type(type_, name) for name in ("__iter__", "__len__", "__length_hint__")]
    asks = op.fn is list or op.fn is tuple or op.fn is primitives.list_extend
    if found[0] is None or not is_generator(found[0].__code__) or (asks and found[1:] != [None, None]):
        return False
    method = _method(prepared, op.args[at], "__iter__")
    if op.fn is builtins.iter and len(op.args) == 1:
        op.callee, op.syntax = Const(method), False
        return True
    items = Value("items")
    block.ops.insert(block.ops.index(op), Op(Const(method), [op.args[at]], [items], (), op.pos))
    op.args = [*op.args[:at], items, *op.args[at + 1 :]]
    return True


def method_of_operator(prepared: Any, op: Op) -> tuple[FunctionType, list[Operand]] | None:
    """The Python function that an operator or builtin means for these operands, and its arguments."""
    if op.kwnames or not op.args:
        return None
    if op.fn in SINGLE:
        method = _method(prepared, op.args[0], SINGLE[op.fn])
        if method is not None and op.fn is operator.contains:
            return contained, [Const(method), *op.args]
        return (method, list(op.args)) if method else None
    if op.fn not in REFLECTED or len(op.args) != 2:
        return None
    name, reflected = REFLECTED[op.fn]
    a, b = op.args
    first, second = _method(prepared, a, name), _method(prepared, b, reflected)
    if _same_class(a, b) and op.fn not in COMPARISONS:
        second = None  # it is asked once (The Python Language Reference, 3.3.8)
    if first is None and _is_numpys(a, b):
        return None
    hidden = has_other(operand_type(a), name) or has_other(operand_type(b), reflected)
    if hidden or operand_type(a) is T.Any or (first is None and second is None):
        return None  # run time knows
    if operand_type(b) is T.Any:
        if prepared.waits(op):
            return None
        return by_left, [Const(first), Const(T.cls_of(operand_type(a))), a, b]
    asks_both = not _same_class(a, b) or (op.fn in COMPARISONS and first is not None and may_decline(first))
    if first is not None and second is not None and asks_both:
        inherits = op.fn not in COMPARISONS and _method(prepared, a, reflected) is second
        asked = by_left_first if inherits else by_either
        return asked, [Const(first), Const(second), Const(otherwise(op.fn)), a, b]
    method = first or second
    if not may_decline(method):
        return method, [a, b] if first is not None else [b, a]
    by_one = by_left_alone if first is not None else by_right_alone
    return by_one, [Const(method), Const(otherwise(op.fn)), a, b]


def _is_numpys(a: Operand, b: Operand) -> bool:
    """NumPy does it, `a` being an array or a number of its own, and does not ask the class of `b`."""
    number, other = T.cls_of(operand_type(a)), T.cls_of(operand_type(b))
    if number is None or other is None or not issubclass(number, (np.ndarray, np.generic)):
        return False
    return not leaves_operator(number, other)


def _method(prepared: Any, operand: Operand, name: str) -> FunctionType | None:
    cls, found = T.cls_of(operand_type(operand)), method_of_type(operand_type(operand), name)
    if found is not None:
        prepared.assume(AttrIs(cls, name, found))
    elif cls is not None and type(cls) in (type, ABCMeta):
        prepared.assume_all(found_in(cls, name))
    return found


def method_of_type(type_: T.Type, name: str) -> FunctionType | None:
    """The Python function that the class has under this name."""
    cls = T.cls_of(type_)
    found = class_attribute(cls, name) if cls is not None else None
    return found if type(found) is FunctionType else None


def has_other(type_: T.Type, name: str) -> bool:
    """Whether the class has a say by something else: None, a partial, an object that is called, or the
    `__eq__` that its `__ne__` asks."""
    cls = T.cls_of(type_)
    found = ABSENT if cls is None else lookup(cls, name, ABSENT)
    if found is object.__ne__:
        return method_of_type(type_, "__eq__") is not None
    return found is not ABSENT and type(found) not in (FunctionType, WrapperDescriptorType)


def _same_class(a: Operand, b: Operand) -> bool:
    return T.cls_of(operand_type(a)) is T.cls_of(operand_type(b))


def contained(method: Any, a: Any, item: Any) -> Any:
    return bool(method(a, item))


class _Asked(Refusing):
    """Stands where the right operand's class has a say, of which nothing is known."""

    __name__ = "reflected"

    def __call__(self, a: Any, b: Any) -> Any:
        raise DerivativeError(
            f"an operator of {type(a).__name__} is decided by {type(b).__name__}, its right operand; write "
            "the call of the method out",
            user_position(),
        )


_asked = _Asked()


def by_left(method: Any, cls: type, a: Any, b: Any) -> Any:
    """a op b, where the left operand's class decides: but a subclass is asked first, and NotImplemented has
    the other one asked."""
    if type(b) is not cls and issubclass(type(b), cls):
        return _asked(a, b)
    y = method(a, b)
    return _asked(a, b) if y is NotImplemented else y


def unpacked(sequence: Any, before: int, after: int | None) -> tuple[Any, ...]:
    """The items that an unpacking gives: as many as `before`, or, with `after`, a list of the rest
    between."""
    if after is None:
        return primitives.unpack(sequence, before)
    return primitives.unpack_ex(sequence, before, after)
