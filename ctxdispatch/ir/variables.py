"""Which values share a variable, and what variables are called.

Two values may share one unless one of them is computed while the other is still needed. Those that an edge
hands over to a parameter of the same name do share one, so `x = x * 2` in a loop is one statement; others of
one name do too where they can, so the program reads like what it was lifted from.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator

from ctxdispatch.ir.expressions import INPLACE, Part, leaves, listed
from ctxdispatch.ir.graph import Graph
from ctxdispatch.ir.names import Names
from ctxdispatch.ir.reduce import Program
from ctxdispatch.ir.trees import Built, Item, Node
from ctxdispatch.ir.values import Value

_NO_NAME = re.compile(r"\W+")


def clean(hint: str) -> str:
    """A Python identifier."""
    name = _NO_NAME.sub("_", hint).strip("_") if not hint.isidentifier() else hint
    name = f"t{name}" if name[:1].isdigit() else name
    return f"{name}_" if keyword.iskeyword(name) else name or "t"


class Variables:
    """`variables[value]` is the name of the variable that holds it."""

    def __init__(self, graph: Graph, program: Program, names: Names) -> None:
        self._parent: dict[Value, Value] = {}
        self._conflicts: dict[Value, set[Value]] = {}
        self._names = names
        self._name: dict[Value, str] = {}
        self._fixed = dict.fromkeys((*graph.params, *graph.cells))
        for value in (*self._fixed, *_defined(program)):
            self._parent[value] = value
            self._conflicts[value] = set()
        self._interfere(program)
        self._coalesce(program)
        self._call(program)

    def __getitem__(self, value: Value) -> str:
        root = self._find(value)
        if root not in self._name:
            self._name[root] = self._names.fresh(clean(root.name))
        return self._name[root]

    # -- conflicts ---------------------------------------------------------------------------------

    def _interfere(self, program: Program) -> None:
        live_in = _live_in(program)
        iterables = _iterables(program)
        for node in program.nodes:
            live = _live_at_end(node, live_in)
            for item in reversed(_built(node).statements):
                self._define(item.results, live | _read_after(item))
                live = (live - set(item.results)) | _values(item.expr.parts)
            self._define(node.params, live | iterables.get(node, set()))
        self._define(list(self._fixed), live_in[program.entry])

    def _define(self, values: list[Value], live: set[Value]) -> None:
        """`values` are set at once, while those in `live` are needed."""
        for value in values:
            for other in (*live, *values):
                if other is not value:
                    self._conflicts[value].add(other)
                    self._conflicts[other].add(value)

    # -- sharing -----------------------------------------------------------------------------------

    def _coalesce(self, program: Program) -> None:
        for a, b in _handed_over(program):
            self._share(a, b)

    def _share(self, a: Value, b: Value) -> None:
        a, b = self._find(a), self._find(b)
        same_name = a.name == b.name or not a.name or not b.name
        if a is b or not same_name or self._clash(a, b) or (a in self._fixed and b in self._fixed):
            return
        keep, gone = (a, b) if a in self._fixed or (a.name and b not in self._fixed) else (b, a)
        self._parent[gone] = keep
        self._conflicts[keep] |= self._conflicts.pop(gone)

    def _clash(self, a: Value, b: Value) -> bool:
        small, other = (a, b) if len(self._conflicts[a]) < len(self._conflicts[b]) else (b, a)
        return any(self._find(v) is other for v in self._conflicts[small])

    def _find(self, value: Value) -> Value:
        root = value
        while (above := self._parent.setdefault(root, root)) is not root:
            root = above
        self._parent[value] = root
        return root

    # -- names -------------------------------------------------------------------------------------

    def _call(self, program: Program) -> None:
        for value in self._fixed:
            self._name[value] = self._names.fresh(clean(value.name))
        holders: dict[str, list[Value]] = {}
        for value in self._fixed:
            holders.setdefault(clean(value.name), []).append(value)
        for value in dict.fromkeys(self._find(v) for v in _defined(program)):
            if value not in self._name:
                self._name[value] = self._shared_name(value, holders.setdefault(clean(value.name), []))

    def _shared_name(self, value: Value, holders: list[Value]) -> str:
        """The name of a variable of the same hint that is free then, else a new one."""
        taken = (
            {self._name[h] for h in holders if self._clash(value, h)}
            if value.name
            else set(self._names.taken)
        )
        name = next((n for h in holders if (n := self._name[h]) not in taken), None)
        holders.append(value)
        return name or self._names.fresh(clean(value.name))


def _built(node: Node) -> Built:
    assert node.built is not None
    return node.built


def _defined(program: Program) -> Iterator[Value]:
    for node in program.nodes:
        yield from node.params
        for item in _built(node).statements:
            yield from item.results


def _values(parts: Iterable[Part]) -> set[Value]:
    return {v for p in parts for v in leaves(p) if isinstance(v, Value)}


def _read_after(item: Item) -> set[Value]:
    """`r = a; r += b`: b is read after r is set."""
    return _values(item.expr.parts[2:]) if listed(item.expr.fn, INPLACE) else set()


def _handed_over(program: Program) -> Iterator[tuple[Value, Value]]:
    """Pairs that had best be one variable."""
    for node in program.nodes:
        for item in _built(node).statements:
            target = item.expr.parts[1] if listed(item.expr.fn, INPLACE) else None
            if isinstance(target, Value):
                yield target, item.results[0]
        for arc, args in zip(node.arcs, _built(node).args, strict=True):
            params = arc.target.params[arc.implicit :]
            yield from ((a, p) for a, p in zip(args, params, strict=True) if isinstance(a, Value))


# -- lifetimes -------------------------------------------------------------------------------------


def _live_in(program: Program) -> dict[Node, set[Value]]:
    live_in: dict[Node, set[Value]] = {n: set() for n in program.nodes}
    work = dict.fromkeys(program.nodes)
    while work:
        node, _ = work.popitem()
        live = _live_at_end(node, live_in)
        for item in reversed(_built(node).statements):
            live = (live - set(item.results)) | _values(item.expr.parts)
        live -= set(node.params)
        if live != live_in[node]:
            live_in[node] = live
            work.update(dict.fromkeys(program.preds[node]))
    return live_in


def _live_at_end(node: Node, live_in: dict[Node, set[Value]]) -> set[Value]:
    live = _values(_built(node).parts).union(*(live_in[a.target] for a in node.arcs))
    live |= _values(p for args in _built(node).args for p in args)
    iterable = _built(node).iterable
    return live if iterable is None else live | _values([iterable])


def _iterables(program: Program) -> dict[Node, set[Value]]:
    """What a `for` reads after the parameters of its header are set."""
    found: dict[Node, set[Value]] = {}
    for node in program.nodes:
        iterable = _built(node).iterable
        if iterable is not None:
            found[node.arcs[0].target] = _values([iterable])
    return found
