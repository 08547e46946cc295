"""What a call in a program calls: a Python function, and the arguments that go before those of the call."""

from __future__ import annotations

import builtins
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from ctxdispatch.dispatch.strip import gives_items
from ctxdispatch.facts import fact_of, says
from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Edge, Graph, Iterate, Op
from ctxdispatch.ir.rewrite import Use, uses
from ctxdispatch.ir.values import Const, Operand, Value, hashable, row_of
from ctxdispatch.ir.wrappers import called, is_wrapper
from ctxdispatch.passes import types as T
from ctxdispatch.passes.expected import Hides
from ctxdispatch.passes.guards import ABSENT, AttrIs, ClassHolds, PathIs
from ctxdispatch.passes.infer import Run
from ctxdispatch.passes.infer_ops import SPECIAL
from ctxdispatch.passes.pure import PureFunction
from ctxdispatch.passes.resolve import UNKNOWN, call_guard, class_attribute, unless_hidden
from ctxdispatch.passes.types import operand_type
from ctxdispatch_contexts.derivatives.iterators import GENERATORS
from ctxdispatch_contexts.derivatives.registry import LASTING
from ctxdispatch_contexts.derivatives.table import lowering, read_for
from ctxdispatch_contexts.programs.activity import carries
from ctxdispatch_contexts.programs.changes import out_of
from ctxdispatch_contexts.programs.derived import entry_of, makes_derivatives
from ctxdispatch_contexts.programs.errors import OWN_FILES, DerivativeError, Opaque, user_position
from ctxdispatch_contexts.programs.helper_types import varying
from ctxdispatch_contexts.programs.no_derivative import REFUSALS, no_derivative, stand_at
from ctxdispatch_contexts.programs.objects import method_of_operator
from ctxdispatch_contexts.programs.observed import expects
from ctxdispatch_contexts.programs.operands import applies, row_for, rule_of

if TYPE_CHECKING:
    from ctxdispatch_contexts.programs.prepare import Prepared


@dataclass
class Target:
    """A Python function, and the arguments that go before those of the call."""

    function: FunctionType
    first: list[Operand] = field(default_factory=list)
    entry: Any = None
    """The function is this entry's."""


def callee_of(op: Op, prepared: Prepared) -> Target | None:
    fn = op.fn
    if fn is None:
        return _object(op, prepared) if isinstance(op.callee, Value) else None
    operator_method = method_of_operator(prepared, op)
    if operator_method is not None:
        method, op.args = operator_method
        other = lowering(method)
        return Target(other if type(other) is FunctionType else method)
    as_it_is = _has_rule_for(op) or out_of(op) is not None or _only_draws(op)
    other = None if as_it_is else lowering(fn, op.kwnames)
    other = other or (row_of(GENERATORS, fn) if any(carries(operand_type(a)) for a in op.args) else None)
    if type(other) is FunctionType:
        return None if prepared.waits(op) or _leaves_items(op, prepared) else Target(other)
    if hashable(fn) and fn in REFUSALS and op.pos is not None and not op.pos.filename.startswith(OWN_FILES):
        stand_at(op, op.pos)
        return None
    if type(fn) is FunctionType:
        entry = entry_of(fn)
        stays = fn in STAY or (entry is None and makes_derivatives(fn))
        return None if stays else Target(read_for(fn), entry=entry)
    if type(fn) is MethodType and type(fn.__func__) is FunctionType:
        return Target(read_for(fn.__func__, type(fn.__self__)), [Const(fn.__self__)])
    call = called(type(fn))
    if call is not None and not issubclass(type(fn), (type, Opaque, PureFunction)):
        prepared.assume(call_guard(type(fn)))
        return Target(call, [op.callee])
    return None


def _only_draws(op: Op) -> bool:
    """It changes a generator of random numbers, and is given nothing else that could have a derivative."""
    fact = fact_of(op.fn) if hashable(op.fn) else None
    draws = fact is not None and fact.repeats and fact.stores
    return bool(draws) and not any(carries(operand_type(a)) for a in op.args[1:])


def _has_rule_for(op: Op) -> bool:
    """A row or a vjp rule fits these arguments: better than reading what the callee is lowered to."""
    return row_for(op) is not None or (rule_of(op) is not None and applies(op))


def _leaves_items(op: Op, prepared: Prepared) -> bool:
    """`map` of which not all items are taken, and at once, or of an iterator that somebody else takes items
    from too: its lowering takes all at once."""
    if op.fn is not builtins.map and op.fn is not builtins.filter:
        return False
    known = uses(prepared.graph)
    iterators = [a for a in op.args[1:] if isinstance(a, Value) and _gives_items(a)]
    return any(len(known[a]) > 1 for a in iterators) or not _is_taken_whole(op.result, known)


def _is_taken_whole(iterator: Value, known: dict[Value, list[Use]]) -> bool:
    """It is gone through to its end, by what does that when it is called, or by a loop."""
    users = known[iterator]
    return len(users) == 1 and _takes_all(users[0].user, iterator, known)


def _takes_all(user: Any, iterator: Value, known: dict[Value, list[Use]]) -> bool:
    if type(user) is Edge:
        params = user.target.params[-len(user.args) :]  # the item of a loop is none of the edge's
        return _is_taken_whole(params[user.args.index(iterator)], known)
    if type(user) is not Op:
        return type(user) is Iterate
    fn = user.fn
    if fn is builtins.iter or (hashable(fn) and fn in _PASS_ON):
        return _is_taken_whole(user.result, known)
    row = fact_of(fn)
    if row is None or fn is builtins.next or (issubclass(type(fn), type) and gives_items(fn)):
        return False
    return iterator in user.args and row.iterates.has(user.args.index(iterator))


_PASS_ON = frozenset({builtins.zip, builtins.map, builtins.filter, builtins.enumerate})


def _gives_items(operand: Operand) -> bool:
    cls = T.cls_of(operand_type(operand))
    return isinstance(operand_type(operand), T.IterOf) or (cls is not None and gives_items(cls))


def _object(op: Op, prepared: Prepared) -> Target | None:
    """A call of a method read off an instance, or of an instance whose class has a Python __call__."""
    reading = prepared.maker.get(op.callee)  # type: ignore[arg-type]
    if reading is not None and reading.fn in (getattr, read_method):
        method = method_of(reading, prepared)
        if method is not None:
            return method
    cls = T.cls_of(operand_type(op.callee))
    call = called(cls) if cls is not None else None
    if cls is not None and call is not None and not is_wrapper(cls):
        prepared.assume(call_guard(cls))
        return Target(call, [op.callee])
    return None


def method_of(reading: Op, prepared: Prepared) -> Target | None:
    """obj.name(...), `name` a function of obj's class. That no attribute of the instance hides it is checked
    when the method is read."""
    obj, name = reading.args[0], reading.args[1]
    parent = prepared.maker.get(obj)  # type: ignore[arg-type]
    if parent is not None and parent.fn is super:
        return _of_super(parent, reading, prepared)
    cls = T.cls_of(operand_type(obj))
    if cls is None or not isinstance(name, Const) or len(reading.args) != 2:
        return None
    found = class_attribute(cls, name.value)
    function = found.__func__ if issubclass(type(found), staticmethod) else found
    if type(function) is not FunctionType or "__getattribute__" in _own_names(cls):
        return None
    lasting = _lasting(obj, prepared) if type(cls) is type and cls in LASTING else None
    if _is_hidden(obj, name.value) or (lasting is not None and name.value in vars(lasting.value)):
        return None
    prepared.assume(AttrIs(cls, name.value, function))
    if lasting is not None:
        prepared.assume_all([lasting, ClassHolds(lasting.value, name.value, ABSENT)])
    if reading.fn is getattr and cls.__dictoffset__:
        _look(prepared.graph, reading)
    return Target(read_for(function, cls), [] if issubclass(type(found), staticmethod) else [obj])


def _is_hidden(obj: Operand, name: str) -> bool:
    """An object that is known has an attribute of this name, and the class's method is not what is called."""
    type_ = operand_type(obj)
    return isinstance(type_, T.Known) and name in getattr(type_.value, "__dict__", ())


def _lasting(obj: Operand, prepared: Prepared) -> PathIs | AttrIs | None:
    """That the variable of a module that holds the object goes on holding it."""
    reading = prepared.maker.get(obj)  # type: ignore[arg-type]
    if reading is None or len(reading.args) != 2 or not all(isinstance(a, Const) for a in reading.args):
        return None
    owner, name = reading.args
    if reading.fn is primitives.load_global:
        return PathIs(owner.value, (name.value,), primitives.load_global(owner.value, name.value))
    if reading.fn is getattr and issubclass(type(owner.value), ModuleType):
        return AttrIs(owner.value, name.value, getattr(owner.value, name.value))
    return None


def _of_super(parent: Op, reading: Op, prepared: Prepared) -> Target | None:
    """super(C, obj).name: the next function of that name along the MRO of obj's class."""
    name = reading.args[1]
    if len(parent.args) != 2 or not isinstance(name, Const):
        return None
    start, cls = operand_type(parent.args[0]), T.cls_of(operand_type(parent.args[1]))
    if not isinstance(start, T.Known) or cls is None or start.value not in cls.__mro__:
        return None
    after = cls.__mro__[cls.__mro__.index(start.value) + 1 :]
    owner = next((base for base in after if name.value in vars(base)), None)
    found = vars(owner)[name.value] if owner is not None else None
    if owner is None or type(found) is not FunctionType:
        return None
    prepared.assume_all([AttrIs(cls, "__mro__", cls.__mro__), AttrIs(owner, name.value, found)])
    target, known = Target(found, [parent.args[1]]), uses(prepared.graph)
    if len(known[reading.result]) == 1:  # found already: nobody need look at the object for it
        for op in (reading, parent) if len(known[parent.result]) == 1 else (reading,):
            op.callee, op.args, op.syntax = Const(primitives.build_tuple), [], True
    return target


def _own_names(cls: type) -> set[str]:
    return {name for base in cls.__mro__[:-1] for name in vars(base)}


@says(known=False)
def read_method(obj: Any, name: str) -> Any:
    """The method `name` of `obj`, of which it is known that its class has it."""
    if name in obj.__dict__:
        raise hidden(obj, name)
    return primitives.special_method(obj, name)  # getattr would be found to need this very function


@SPECIAL.of(read_method)
def _read_method(run: Run, op: Op, args: Sequence[T.Type]) -> None:
    name = args[1].value if isinstance(args[1], T.Known) else None
    run.note(op, UNKNOWN if type(name) is not str else unless_hidden(args[0], name))


def keep_promises(graph: Graph, promised: Set[Op]) -> None:
    """In place: what is taken for a method of a class looks whether an object hides it."""
    for op in [op for _, op in graph.ops() if op in promised]:
        if op.fn is getattr and isinstance(op.result.type, T.Bound):
            _look(graph, op)


def _look(graph: Graph, reading: Op) -> None:
    """In place: whether the object hides the method. A program that goes by types that were noted is left."""
    reading.callee, reading.syntax = Const(primitives.special_method if expects() else read_method), False
    if expects():
        test = Op(Const(Hides(reading.args[1].value)), [reading.args[0]], [Value(type=T.Exact(bool))])  # type: ignore[union-attr]
        block = next(block for block, op in graph.ops() if op is reading)
        block.ops.insert(block.ops.index(reading), test)


def hidden(obj: Any, name: str) -> DerivativeError:
    return DerivativeError(
        f"attribute {name!r} of this {type(obj).__name__} hides the method of its class; "
        "give the attribute another name, or put the function on the class",
        user_position(),
    )


STAY = (
    primitives.store_global, primitives.delete_global, primitives.special_method, varying,
    no_derivative, hidden,
)  # fmt: skip
"""They are not inlined: inference knows what they do, and would not know it of what they consist of. (The
last two look at frames.)"""

REFUSALS.add(hidden)
