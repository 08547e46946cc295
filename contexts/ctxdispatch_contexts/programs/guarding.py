"""Guards as IR: the tests at the entry of a specialised function, a few nanoseconds each.

entry(x): branch type(x) is float   -> next   else miss
next():   branch math.sin is <sin>  -> body   else miss
miss():   return MISS(x)
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from types import BuiltinMethodType, MethodType, ModuleType, NoneType
from typing import Any

from ctxdispatch.ir import primitives
from ctxdispatch.ir.graph import Block, Edge, Graph, Jump, Op, Return, Trap, positional
from ctxdispatch.ir.values import Const, Position, Value
from ctxdispatch.passes import guards as G
from ctxdispatch.passes import types as T
from ctxdispatch.passes.buffers import make_function
from ctxdispatch.passes.held import guardable
from ctxdispatch_contexts.programs.errors import DerivativeError, described, user_position
from ctxdispatch_contexts.programs.out_of_sight import runs_python
from ctxdispatch_contexts.programs.sources import NAMESPACE
from ctxdispatch_contexts.programs.type_tests import Tests, check_type


def add_guards(
    graph: Graph, types: Sequence[T.Type], guards: Sequence[G.Guard], miss: Callable[..., Any]
) -> None:
    """Put the tests before `graph`, in place. Where one fails, or raises because a name or an attribute is
    gone, miss(*arguments) is returned."""
    body = graph.entry
    entry, failed = Block("entry"), Block("miss")
    entry.params = [Value(p.name, p.type) for p in body.params]
    graph.blocks.insert(0, entry)
    graph.blocks.append(failed)
    result = Value()
    failed.ops = [Op(Const(miss), list(entry.params), [result])]
    failed.terminator = Return(result)
    tests = Tests(graph, entry, failed)
    for param, type_ in zip(entry.params, types, strict=True):
        check_type(tests, param, type_)
    for guard in guards:
        _CHECKS[type(guard)](tests, guard)
    tests.block.terminator = Jump(Edge(body, list(entry.params)))
    graph.trap = Trap(tuple(tests.blocks), failed)


class Lasting:
    """Called where a program ends: DerivativeError where something that it took for granted has changed since
    it began."""

    __name__ = "lasting"

    def __init__(self, guards: Sequence[G.Guard]) -> None:
        self.guards = guards
        self._hold: Callable[[], bool] | None = None

    def __call__(self) -> None:
        if self._hold is None:
            self._hold = asking(self.guards)
        if not self._hold():
            changed = next((g for g in self.guards if not asking([g])()), None)
            raise DerivativeError(
                f"{_described(changed)} changed while the function ran, and its derivative does not follow; "
                "change it before or after the call, or pass what changes as an argument",
                user_position(),
            )


def _described(guard: G.Guard | None) -> str:
    match guard:
        case G.PathIs() | G.PathType():
            return f"the variable {'.'.join(guard.path)!r}"
        case G.AttrIs() | G.AttrType():
            return f"the attribute {guard.name!r} of {described(guard.owner)}"
        case G.IsSubclass():
            return f"what {described(guard.cls)} is a subclass of"
        case G.ClassHolds():
            return f"the attribute {guard.name!r} of {described(guard.cls)}"
        case G.CodeIs() | G.DefaultsAre():
            return f"the code or the defaults of {described(guard.function)}"
    return "a variable of the function around it"


def add_checks(graph: Graph, check: Callable[[], None]) -> None:
    """Call it, in place, wherever code out of sight has run, which may put back later what it changed, and
    wherever the graph returns: for the function as a whole."""
    whole = Position(graph.filename, graph.name, graph.line)
    for block in graph.blocks:
        for op in [op for op in block.ops if runs_python(op)]:
            block.ops.insert(block.ops.index(op) + 1, Op(Const(check), [], [Value()], (), op.pos))
        if isinstance(block.terminator, Return):
            block.ops.append(Op(Const(check), [], [Value()], (), whole))


def _load(tests: Tests, namespace: dict[str, Any], path: tuple[str, ...]) -> Value:
    """The value at the path. An attribute of a module that computes attributes (`numpy` does) is read off its
    dict, once the module is known to be the same: CPython reads it ten times slower as an attribute."""
    *before, name = path
    if not before:
        read = operator.getitem if namespace is sys.modules else primitives.load_global
        return tests.op(read, Const(namespace), Const(name))
    prefix = tuple(before)
    owner = _found(namespace, prefix)
    if not (computes_attributes(owner) and name in vars(owner)):
        return tests.attribute(_load(tests, namespace, prefix), name)
    if (id(namespace), prefix) not in tests.same:
        tests.is_(_load(tests, namespace, prefix), owner)
        tests.same.add((id(namespace), prefix))
    return tests.op(operator.getitem, Const(vars(owner)), Const(name))


def _found(namespace: dict[str, Any], path: tuple[str, ...]) -> Any:
    value = primitives.load_global(namespace, path[0])
    for name in path[1:]:
        value = getattr(value, name)
    return value


def computes_attributes(found: Any) -> bool:
    return type(found) is ModuleType and "__getattr__" in vars(found)


def _path_is(tests: Tests, guard: G.PathIs) -> None:
    loaded = _load(tests, guard.namespace, guard.path)
    _is(tests, loaded, guard.value)


def _is(tests: Tests, found: Value, value: Any) -> None:
    """Methods, and `np.add.reduce`, are new objects each time; equal literals are one constant of code."""
    bound = type(value) in (BuiltinMethodType, MethodType)
    if type(value) in (str, int):
        tests.is_(tests.op(type, found, syntax=False), type(value))
        tests.equal(found, value)
    elif bound and not issubclass(type(value.__self__), (ModuleType, NoneType)):
        tests.equal(found, value)
    else:
        tests.is_(found, value)


def _attr_type(tests: Tests, guard: G.AttrType) -> None:
    """Read as the program reads it."""
    owner = Const(guard.owner)
    if not issubclass(type(guard.owner), (type, ModuleType)):
        tests.is_(tests.op(type, owner, syntax=False), type(guard.owner))
    check_type(tests, tests.attribute(owner, guard.name), guardable(guard.type))


def _class_holds(tests: Tests, guard: G.ClassHolds) -> None:
    """Asked of its dict, which is a tenth of the price of looking for what is not there."""
    held, name = vars(guard.cls), Const(guard.name)
    if guard.value is G.ABSENT:
        tests.is_(tests.op(operator.contains, Const(held), name), False)
    else:
        tests.is_(tests.op(held.get, name, syntax=False), guard.value)


def _is_subclass(tests: Tests, guard: G.IsSubclass) -> None:
    asked = tests.op(issubclass, Const(guard.cls), Const(guard.classes), syntax=False)
    tests.is_(asked, guard.value)


def _cell(tests: Tests, cell: Any) -> Value:
    return tests.op(getattr, Const(cell), Const("cell_contents"))


def _entry(kwdefaults: dict[str, Any] | None, name: str) -> Any:
    """A keyword default as it is now; the dict may have been changed in place, or be gone."""
    return (kwdefaults or {}).get(name, _entry)


def _defaults_are(tests: Tests, guard: G.DefaultsAre) -> None:
    if guard.defaults:
        tests.is_(tests.attribute(Const(guard.function), "__defaults__"), guard.defaults)
    if guard.kwdefaults:
        now = tests.attribute(Const(guard.function), "__kwdefaults__")
        for name, value in guard.kwdefaults.items():
            tests.is_(tests.op(_entry, now, Const(name), syntax=False), value)


_CHECKS: dict[type, Callable[[Tests, Any], None]] = {
    G.PathIs: _path_is,
    G.PathType: lambda tests, g: check_type(tests, _load(tests, g.namespace, g.path), guardable(g.type)),
    G.AttrIs: lambda tests, g: _is(tests, tests.attribute(Const(g.owner), g.name), g.value),
    G.AttrType: _attr_type,
    G.ClassHolds: _class_holds,
    G.IsSubclass: _is_subclass,
    G.CodeIs: lambda tests, g: tests.is_(tests.attribute(Const(g.function), "__code__"), g.code),
    G.DefaultsAre: _defaults_are,
    G.KeysAre: lambda tests, g: tests.equal(tests.op(tuple, Const(g.owner), syntax=False), g.keys),
    G.CellIs: lambda tests, g: _is(tests, _cell(tests, g.cell), g.value),
    G.CellType: lambda tests, g: check_type(tests, _cell(tests, g.cell), guardable(g.type)),
}


def asking(guards: Sequence[G.Guard]) -> Callable[[], bool]:
    """() -> whether they hold now: the same tests."""
    graph = Graph("holds", positional(0), namespace=NAMESPACE)
    body, failed = Block("body"), Block("failed")
    body.terminator, failed.terminator = Return(Const(True)), Return(Const(False))
    graph.blocks += [body, failed]
    tests = Tests(graph, graph.entry, failed)
    try:
        for guard in guards:
            _CHECKS[type(guard)](tests, guard)
    except (NameError, AttributeError):  # what they look at is gone already
        return lambda: False
    tests.block.terminator = Jump(Edge(body))
    graph.trap = Trap(tuple(tests.blocks), failed)
    return make_function(graph)
