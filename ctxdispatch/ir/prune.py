"""Prune: what no program needs of a graph's shape goes.

    unreachable blocks             go; the others are put into reverse postorder and renamed
    b2(%p): every edge gives %x    %p becomes %x
    parameters that nobody reads   go, also where they only feed each other around a loop
    empty blocks                   are jumped over, unless two edges would then join the same blocks
    b1: jump b2, its only edge     b2 joins b1

Invariant: the result runs the same ops in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator

from ctxdispatch.ir.analysis import reverse_postorder
from ctxdispatch.ir.graph import Block, Branch, Edge, Graph, Iterate, Jump
from ctxdispatch.ir.rewrite import substitute
from ctxdispatch.ir.values import Const, Operand, Value

Incoming = dict[Block, list[Edge]]
Places = dict[Value, tuple[Block, int]]
"""Where a parameter stands."""
Mapping = dict[Value, Operand]


def prune(graph: Graph) -> Graph:
    """In place; near-linear in the size of the graph."""
    graph.blocks = reverse_postorder(graph)
    mapping: Mapping = {}
    incoming = _incoming(graph)
    places = {p: (b, k) for b in graph.blocks[1:] for k, p in enumerate(b.params)}
    if places:
        _find_trivial(graph, incoming, places, mapping)
        _drop_dead(graph, incoming, places, mapping)
    if _thread(graph, mapping):
        graph.blocks = reverse_postorder(graph)
        incoming = _incoming(graph)
    _merge(graph, incoming, mapping)
    substitute(graph, {old: _find(old, mapping) for old in mapping})
    for n, block in enumerate(graph.blocks):
        block.name = f"b{n}"
    return graph


def _incoming(graph: Graph) -> Incoming:
    incoming: Incoming = {block: [] for block in graph.blocks}
    for block in graph.blocks:
        for edge in block.edges():
            incoming[edge.target].append(edge)
    return incoming


def _find(operand: Operand, mapping: Mapping) -> Operand:
    """What became of `operand`. The way there is shortened, so that long ways are gone once."""
    passed = []
    while operand in mapping:
        passed.append(operand)
        operand = mapping[operand]
    for value in passed[:-1]:
        mapping[value] = operand
    return operand


# -- parameters ------------------------------------------------------------------------------------


def _arguments(block: Block, k: int, incoming: Incoming) -> list[Operand] | None:
    """What the edges give parameter k; None where one is an item of an iteration."""
    params, found = len(block.params), []
    for edge in incoming[block]:
        at = k - params + len(edge.args)
        if at < 0:
            return None
        found.append(edge.args[at])
    return found


def _find_trivial(graph: Graph, incoming: Incoming, places: Places, mapping: Mapping) -> None:
    feeds = _feeds(incoming, places)
    work = list(places)[::-1]
    while work:
        param = work.pop()
        if param in mapping:
            continue
        block, k = places[param]
        same = _only(param, _arguments(block, k, incoming), mapping)
        if same is not None:
            mapping[param] = same
            fed = [p for p in feeds.pop(param, ()) if p not in mapping]
            work += fed
            if isinstance(same, Value):
                feeds.setdefault(same, []).extend(fed)


def _feeds(incoming: Incoming, places: Places) -> dict[Value, list[Value]]:
    """Per parameter those that it is passed on to."""
    feeds: dict[Value, list[Value]] = {}
    for block, edges in incoming.items():
        for edge in edges:
            for param, argument in zip(reversed(block.params), reversed(edge.args), strict=False):
                if argument in places and param in places:
                    feeds.setdefault(argument, []).append(param)
    return feeds


def _only(param: Value, arguments: list[Operand] | None, mapping: Mapping) -> Operand | None:
    """The one operand besides itself that `param` can be."""
    same: Operand | None = None
    for argument in arguments or ():
        argument = _find(argument, mapping)
        if argument is param or argument is same:
            continue
        if same is not None and not _same_const(argument, same):
            return None
        same = argument
    return same


def _same_const(a: Operand, b: Operand) -> bool:
    return isinstance(a, Const) and isinstance(b, Const) and a.value is b.value


def _drop_dead(graph: Graph, incoming: Incoming, places: Places, mapping: Mapping) -> None:
    live: set[Operand] = set()
    work = [v for operand in _read(graph) if (v := _find(operand, mapping)) in places]
    while work:
        param = work.pop()
        if param not in live:
            live.add(param)
            block, k = places[param]
            passed = (_find(a, mapping) for a in _arguments(block, k, incoming) or ())
            work += [a for a in passed if a in places]
    for block in graph.blocks[1:]:
        if not live.issuperset(block.params):
            _keep_params(block, incoming[block], live)


def _read(graph: Graph) -> Iterator[Operand]:
    for block in graph.blocks:
        for op in block.ops:
            yield op.callee
            yield from op.args
        if block.terminator is not None:
            yield from block.terminator.operands()


def _keep_params(block: Block, edges: list[Edge], live: set[Operand]) -> None:
    n = len(block.params)
    items = max((n - len(edge.args) for edge in edges), default=0)
    keep = [k for k, param in enumerate(block.params) if param in live or k < items]
    for edge in edges:
        offset = n - len(edge.args)
        edge.args = [edge.args[k - offset] for k in keep if k >= offset]
    block.params = [block.params[k] for k in keep]


# -- blocks ----------------------------------------------------------------------------------------


def _thread(graph: Graph, mapping: Mapping) -> bool:
    """Jump over empty blocks; whether there were any."""
    empty = {b: b.terminator.edge for b in graph.blocks[1:] if not b.ops and isinstance(b.terminator, Jump)}
    if any(block.params for block in empty):
        read = _read_elsewhere(graph, mapping)
        empty = {block: edge for block, edge in empty.items() if read.isdisjoint(block.params)}
    for block in reversed(graph.blocks) if empty else ():  # an edge onward has been forwarded before
        for edge in block.edges():
            if not (isinstance(block.terminator, Iterate) and edge is block.terminator.body):
                _forward(block, edge, empty, mapping)
        _join_branch(block)
    return bool(empty)


def _read_elsewhere(graph: Graph, mapping: Mapping) -> set[Operand]:
    """What is read anywhere but on the edges of the block that has it as a parameter."""
    read = {_find(operand, mapping) for operand in _read(graph)}
    for block in graph.blocks:
        for edge in block.edges():
            read.update(a for a in (_find(a, mapping) for a in edge.args) if a not in block.params)
    return read


def _forward(block: Block, edge: Edge, empty: dict[Block, Edge], mapping: Mapping) -> None:
    seen: set[Block] = set()
    while edge.target in empty and edge.target not in seen:
        over = edge.target
        onward = empty[over]
        twice = any(other.target is onward.target for other in block.edges() if other is not edge)
        if twice and onward.target.params:
            return
        seen.add(over)
        given: Mapping = dict(zip(over.params, edge.args, strict=True))
        edge.args = [given.get(a, a) for a in (_find(a, mapping) for a in onward.args)]  # type: ignore[arg-type]
        edge.target = onward.target


def _join_branch(block: Block) -> None:
    """A branch whose both edges lead to the same is none."""
    end = block.terminator
    if isinstance(end, Branch) and end.then.target is end.orelse.target and not end.then.target.params:
        block.terminator = Jump(end.then, end.pos)


def _merge(graph: Graph, incoming: Incoming, mapping: Mapping) -> None:
    """Each block takes in those that only it jumps to."""
    for block, edges in incoming.items():
        if len(edges) == 1:
            _settle(block, edges[0], mapping)
    gone: set[Block] = set()
    for block in graph.blocks:
        while block not in gone and isinstance(block.terminator, Jump):
            edge = block.terminator.edge
            if len(incoming[edge.target]) != 1 or edge.target in (block, graph.entry):
                break
            block.ops += edge.target.ops
            block.terminator = edge.target.terminator
            gone.add(edge.target)
    graph.blocks = [block for block in graph.blocks if block not in gone]


def _settle(block: Block, edge: Edge, mapping: Mapping) -> None:
    """With one edge into `block` its parameters are the arguments; an item stays."""
    items = len(block.params) - len(edge.args)
    mapping.update(zip(block.params[items:], edge.args, strict=True))
    del block.params[items:]
    edge.args = []
