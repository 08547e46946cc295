"""Objects, dicts, lists and cells that a program makes itself: what is done with each, under which names.

    name     a value that is one: of the op that makes it, or a block parameter that every edge gives a name
    web      the names that may be the same one
    read     %y = getattr(%name, 'x'), getitem(%name, 'k');  write: setattr, setitem
    leak     any other use: from then on somebody else may have it

`fields.py` makes variables of what they hold.
"""

from __future__ import annotations

import functools
import operator
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from types import BuiltinFunctionType, CellType, MethodDescriptorType, SimpleNamespace
from typing import Any, NamedTuple

from ctxdispatch.facts import fact_of
from ctxdispatch.ir import primitives as prim
from ctxdispatch.ir.analysis import Liveness, liveness, passed
from ctxdispatch.ir.graph import Block, Graph, Op
from ctxdispatch.ir.registry import Registry
from ctxdispatch.ir.rewrite import Use as Reading
from ctxdispatch.ir.rewrite import uses
from ctxdispatch.ir.values import Const, Operand, Value, hashable
from ctxdispatch.passes.python_types import builtin
from ctxdispatch.passes.resolve import class_attribute

Key = str | int | tuple["Key", ...]
Used = Callable[[], dict[Value, list[Reading]]]


class Kind(NamedTuple):
    """`cls`: the class of it. `length`: of a list, whose items are there from the start; else -1. `factory`:
    what makes an entry of a dict that there is none of."""

    cls: type
    length: int = -1
    factory: Any = None


class Use(NamedTuple):
    """`op` does something with the field `key` of `name`."""

    op: Op
    name: Value
    key: Key


class Web:
    """All that is done with one aggregate, or several that meet."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.names: set[Value] = set()
        self.makers: dict[Value, Op] = {}
        self.reads: list[Use] = []
        self.writes: list[Use] = []
        self.tests: list[Use] = []
        """`contains(%dict, key)` of the names of its attributes, or of a dict."""
        self.asks: list[Use] = []
        """What a dict has, or else gets: `setdefault`, `get`, items of one that makes them; what it loses."""
        self.looks_through: list[Use] = []
        """`len(%dict)`, `iter(%dict)`, and `dict.items(%dict)` where that is gone through."""
        self.finds: list[Use] = []
        """Items by keys that are not known."""
        self.looks: list[Op] = []
        """`getattr(%name, '__dict__')` for those, and methods that are read and not used."""
        self.leaks: list[tuple[Block, int]] = []

    @property
    def meets(self) -> bool:
        return len(self.names) > len(self.makers)


def find_webs(graph: Graph) -> list[Web]:
    """Those that can be told apart: see `_keeps_apart`."""
    makers = {op.result: op for _, op in graph.ops() if len(op.results) == 1 and kind_of(op) is not None}
    if not makers:
        return []
    of = _join(graph, makers)
    if any(web.kind.cls in _SUBCLASSES for web in of.values()):
        _bind_methods(graph, of)
    _sort_uses(graph, of)
    webs = list(dict.fromkeys(of.values()))
    if any(web.meets for web in webs):
        live = liveness(graph)
        webs = [web for web in webs if not web.meets or _keeps_apart(graph, web, live)]
    return webs


# -- what is one, and its names ------------------------------------------------------------------------------


def kind_of(op: Op) -> Kind | None:
    """Of what the op makes, if its fields are known."""
    fn = op.fn if hashable(op.fn) else None
    if fn is object.__new__ and len(op.args) == 1 and isinstance(op.args[0], Const):
        return Kind(op.args[0].value) if is_plain(op.args[0].value) else None
    if fn is SimpleNamespace or fn is dict:
        return Kind(fn) if len(op.args) == len(op.kwnames) else None
    if fn is OrderedDict:
        return None if op.args else Kind(fn)
    if fn is prim.build_map:
        return Kind(dict) if all(isinstance(k, Const) and is_key(k.value) for k in op.args[::2]) else None
    if fn is defaultdict:
        first = op.args[0] if len(op.args) == 1 else None
        makes = isinstance(first, Const) and type(first.value) is type and builtin(first.value)
        return Kind(defaultdict, factory=first.value) if makes else None  # type: ignore[union-attr]
    if fn is prim.make_cell:
        return Kind(CellType)
    return Kind(list, len(op.args)) if fn is prim.build_list else None


def is_plain(cls: Any) -> bool:
    """Attributes of its objects are read and written without code of the class, but for descriptors."""
    return (
        issubclass(type(cls), type)
        and class_attribute(cls, "__setattr__") is class_attribute(object, "__setattr__")
        and class_attribute(cls, "__getattribute__") is class_attribute(object, "__getattribute__")
        and not hasattr(cls, "__del__")
    )


def _is_key(operand: Operand) -> bool:
    return isinstance(operand, Const) and type(operand.value) is str


def is_key(value: Any) -> bool:
    """Two of them are equal only where they are of one class: 1 is a key, and neither 1.0 nor True."""
    return type(value) in (str, int) or (type(value) is tuple and all(map(is_key, value)))


def _join(graph: Graph, makers: dict[Value, Op]) -> dict[Value, Web]:
    """name -> its web"""
    given: dict[Value, list[Operand]] = {}
    for block in graph.blocks:
        for edge, params in passed(block):
            for param, arg in zip(params, edge.args, strict=True):
                given.setdefault(param, []).append(arg)
    names = _names(given, makers)
    root = {name: name for name in names}
    for param in names & given.keys():
        for arg in given[param]:
            root[_find(arg, root)] = _find(param, root)
    webs: dict[Value, list[Value]] = {}
    for name in names:
        webs.setdefault(_find(name, root), []).append(name)
    return {name: web for group in webs.values() for web in _web(group, makers) for name in group}


def _names(given: dict[Value, list[Operand]], makers: dict[Value, Op]) -> set[Value]:
    """The makers' results, and parameters that are given nothing else."""
    names, size = set(makers), -1
    while size != len(names):
        size = len(names)
        names.update(p for p, args in given.items() if not names.isdisjoint(args))
    while size:
        wrong = {p for p in names - makers.keys() if not names.issuperset(given[p])}
        size = len(wrong)
        names -= wrong
    return names


def _find(name: Any, root: dict[Value, Value]) -> Value:
    while root[name] is not name:
        name = root[name]
    return name


def _web(group: list[Value], makers: dict[Value, Op]) -> Iterator[Web]:
    kinds = {kind_of(makers[name]) for name in group if name in makers}
    if len(kinds) == 1 and (kind := kinds.pop()) is not None:
        web = Web(kind)
        web.names = set(group)
        web.makers = {name: makers[name] for name in group if name in makers}
        yield web


# -- uses ----------------------------------------------------------------------------------------------------


def _bind_methods(graph: Graph, of: dict[Value, Web]) -> None:
    """d.items() is dict.items(d), in place. Inference does not know the class of these:
    of those that it knows, taking an item makes none."""
    used = uses(graph)
    for block, op in [*graph.ops()]:
        name = op.args[0] if op.fn is getattr and len(op.args) == 2 else None
        if not isinstance(name, Value) or name not in of or of[name].kind.cls not in _SUBCLASSES:
            continue
        asked = op.args[1].value if isinstance(op.args[1], Const) else None
        method = class_attribute(of[name].kind.cls, asked) if type(asked) is str else None
        method = _AS_OF_DICTS.get(method, method) if hashable(method) else None
        calls = [reading.user for reading in used[op.result]]
        called = all(isinstance(call, Op) and call.callee is op.result for call in calls)
        if type(method) is MethodDescriptorType and called:
            for call in calls:
                call.callee, call.args = Const(method), [name, *call.args]  # type: ignore[union-attr]
            block.ops.remove(op)


_AS_OF_DICTS = {vars(OrderedDict)[n]: vars(dict)[n] for n in ("keys", "values", "items", "pop", "setdefault")}


def _sort_uses(graph: Graph, of: dict[Value, Web]) -> None:
    used = functools.cache(lambda: uses(graph))
    for block in graph.blocks:
        for i, op in enumerate(block.ops):
            for name in {v for v in op.operands() if isinstance(v, Value) and v in of}:
                if not _known_use(of[name], op, name, used):
                    of[name].leaks.append((block, i))
        assert block.terminator is not None
        out = [v for v in block.terminator.operands() if isinstance(v, Value) and v in of]
        for edge, params in passed(block):
            for param, arg in zip(params, edge.args, strict=True):
                if isinstance(arg, Value) and arg in of and of.get(param) is not of[arg]:
                    out.append(arg)
        for name in out:
            of[name].leaks.append((block, len(block.ops)))


def _known_use(web: Web, op: Op, name: Value, used: Used) -> bool:
    if op.kwnames or op.callee is name:
        return False
    if web.kind.cls is CellType:
        known = {prim.cell_get: web.reads, prim.cell_set: web.writes}.get(op.fn) if hashable(op.fn) else None
        if known is None or op.args[0] is not name or name in op.args[1:]:
            return False
        known.append(Use(op, name, "held"))
        return True
    if issubclass(web.kind.cls, dict) and _looks_through(op, name, used):
        web.looks_through.append(Use(op, name, ""))
        return True
    if len(op.args) < 2:
        return False
    first, key, *rest = op.args
    if issubclass(web.kind.cls, dict) and op.fn in _TESTS:
        return first is name and _keep(web.tests, op, name, _field(web.kind, key))
    if first is not name or key is name or name in rest:
        return False
    if op.fn in (_ASKS if issubclass(web.kind.cls, dict) else ()):
        most = 0 if op.fn is operator.delitem else 1
        return len(rest) <= most and _keep(web.asks, op, name, _field(web.kind, key))
    if web.kind.factory is not None and op.fn is operator.getitem:
        return not rest and _keep(web.asks, op, name, _field(web.kind, key))
    if op.fn in _WRITES[web.kind.cls in _WITH_ITEMS]:
        return len(rest) == 1 and _keep(web.writes, op, name, _field(web.kind, key))
    if op.fn is getattr and not rest and _is_look(web, op, key, used):
        web.looks.append(op)
        return True
    if rest or op.fn is not (operator.getitem if web.kind.cls in _WITH_ITEMS else getattr):
        return False
    if web.kind.cls in _WITH_ITEMS and not isinstance(key, Const):
        web.finds.append(Use(op, name, ""))
        return True
    return _keep(web.reads, op, name, _field(web.kind, key))


REMOVES = (dict.pop, operator.delitem)
_ASKS = (dict.setdefault, dict.get, *REMOVES)
_TESTS = (operator.contains, prim.not_contains)
_SUBCLASSES = (defaultdict, OrderedDict)
_WITH_ITEMS = (dict, *_SUBCLASSES, list)
_WRITES = {True: (operator.setitem, prim.map_add), False: (setattr, object.__setattr__)}


def _is_look(web: Web, op: Op, key: Operand, used: Used) -> bool:
    if not isinstance(key, Const):
        return False
    users = [use.user for use in used()[op.result]]
    if key.value != "__dict__":
        return not users and callable(class_attribute(web.kind.cls, key.value))
    tests = [user for user in users if isinstance(user, Op) and _tests_name(user, op.result)]
    if not web.kind.cls.__dictoffset__ or len(tests) < len(users):
        return False
    web.tests += [Use(t, op.args[0], t.args[1].value) for t in tests]  # type: ignore[union-attr, arg-type]
    return True


def _tests_name(op: Op, attributes: Value) -> bool:
    return op.fn is operator.contains and op.args[0] is attributes and _is_key(op.args[1])


Give = Callable[[Sequence[Operand], Sequence[Operand]], Sequence[Operand | tuple[Operand, Operand]]]

COPIES: Registry[int] = Registry()
"""What takes all entries of a dict at once, and at which place it has that."""
COPIES.of(dict, dict.copy)(0)
COPIES.of(dict.update, operator.ior, prim.dict_update, prim.dict_merge)(1)

VIEWS: Registry[Give] = Registry()
"""Which items they give, of a dict with these keys and values."""


@VIEWS.of(dict.keys)
def _keys(names: Sequence[Operand], values: Sequence[Operand]) -> Sequence[Operand]:
    return names


@VIEWS.of(dict.values)
def _values(names: Sequence[Operand], values: Sequence[Operand]) -> Sequence[Operand]:
    return values


@VIEWS.of(dict.items)
def _items(names: Sequence[Operand], values: Sequence[Operand]) -> Sequence[tuple[Operand, Operand]]:
    return [*zip(names, values)]


def _looks_through(op: Op, name: Value, used: Used) -> bool:
    """It goes through the dict, copies it, or gives a view of it that is only gone through."""
    if hashable(op.fn) and op.fn in COPIES:
        return len(op.args) > COPIES[op.fn] and op.args[COPIES[op.fn]] is name and op.args.count(name) == 1
    if op.fn in VIEWS:
        users = [reading.user for reading in used()[op.result]]
        return len(op.args) == 1 and all(isinstance(u, Op) and _goes_through(u, op.result) for u in users)
    return _goes_through(op, name)


SIZES: Registry[Callable[[int], int]] = Registry()
"""What is known of a dict of so many entries."""
SIZES.of(len)(lambda n: n)
SIZES.of(bool, operator.truth)(lambda n: n > 0)
SIZES.of(operator.not_)(lambda n: n == 0)


def _goes_through(op: Op, operand: Value) -> bool:
    """It asks for one item after the other, and for nothing else: of a dict, for its keys."""
    fn = op.fn
    if not hashable(fn) or op.kwnames or op.args.count(operand) != 1:
        return False
    row = fact_of(fn)
    of_python = type(fn) is BuiltinFunctionType and fn.__module__ == "builtins"
    of_python = of_python or (type(fn) is type and fn.__module__ == "builtins" and not issubclass(fn, dict))
    return fn in SIZES or (of_python and row is not None and row.iterates.has(op.args.index(operand)))


def _keep(kept: list[Use], op: Op, name: Value, key: Key | None) -> bool:
    if key is not None:
        kept.append(Use(op, name, key))
    return key is not None


def _field(kind: Kind, key: Operand) -> Key | None:
    """The field that `key` names, if that is one without code behind it."""
    if not isinstance(key, Const):
        return None
    value = key.value
    if kind.cls is list:
        inside = type(value) is int and -kind.length <= value < kind.length
        return value % kind.length if inside else None
    if issubclass(kind.cls, dict):
        return value if is_key(value) else None
    return value if type(value) is str and is_plain_attribute(kind.cls, value) else None


def is_plain_attribute(cls: type, name: str) -> bool:
    """An object of the class holds it itself."""
    found = class_attribute(cls, name)
    if type(found).__name__ == "member_descriptor":
        return True
    return bool(cls.__dictoffset__) and not hasattr(type(found), "__get__") and not name.startswith("__")


# -- several names -------------------------------------------------------------------------------------------


def _keeps_apart(graph: Graph, web: Web, live: Liveness) -> bool:
    """What is written by one name is not read by another: each is handed over to the next, and not used by
    the old name again, or it is not written to under two names."""
    return not _written_late(graph, web) or all(
        _is_handed_over(web, edge.target, edge.args, live)
        for block in graph.blocks
        for edge in block.edges()
        if not web.names.isdisjoint(edge.args)
    )


def _written_late(graph: Graph, web: Web) -> bool:
    """Elsewhere than in the block that makes it."""
    home = {op: block for block, op in graph.ops()}
    return any(
        use.name not in web.makers or home[use.op] is not home[web.makers[use.name]]
        for use in (*web.writes, *web.asks)
    )


def _is_handed_over(web: Web, target: Block, args: list[Operand], live: Liveness) -> bool:
    given = [a for a in args if a in web.names]
    return len(given) == len(set(given)) and live.live_in[target].isdisjoint(given)


__all__ = ["Key", "Use", "Web", "find_webs", "is_plain", "is_plain_attribute", "kind_of"]
