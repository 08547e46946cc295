"""Where a part of a program begins, a call that asks whether it has been done (`outline.py`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ctxdispatch.ir import frames, primitives
from ctxdispatch.ir.frames import Handler
from ctxdispatch.ir.graph import Block, Branch, Edge, Graph, Jump, Op, Return
from ctxdispatch.ir.values import Const, Operand, Position, Value
from ctxdispatch.passes.frame_variables import Variable
from ctxdispatch.passes.parts import Part, Place


def insert(
    graph: Graph, places: Sequence[Place], token: Callable[[Part], Any], enter: Any, taken: Any
) -> None:
    """In place: where a part begins `enter(token, *inputs)`, a bool, says whether it has been done; `taken()`
    gives the outputs then, of a whole program after what that returns. Of variables that closures share, the
    inputs are the cells."""
    for place in reversed(places):
        block = place.block
        if place.target is not None and not isinstance(block.terminator, Jump):
            block = _on_edge(graph, block, place.edge)
        _split(graph, block, min(place.at, len(block.ops)), place, (token, enter, taken))


def _on_edge(graph: Graph, block: Block, edge: Edge) -> Block:
    made = Block(f"{block.name}_{len(graph.blocks)}")
    made.params = [Value(getattr(a, "name", "")) for a in edge.args]
    made.terminator = Jump(Edge(edge.target, [*made.params]))
    made.handler = _handler(block.handler, edge.args, made.params)
    edge.target = made
    graph.blocks.insert(graph.blocks.index(block) + 1, made)
    return made


def _handler(handler: Handler | None, below: Sequence[Operand], params: Sequence[Value]) -> Handler | None:
    if handler is None:
        return None
    at = [below.index(a) for a in handler.edge.args]
    return Handler(Edge(handler.edge.target, [params[i] for i in at]), handler.lasti)


def _split(graph: Graph, block: Block, at: int, place: Place, calls: tuple[Any, Any, Any]) -> None:
    part, end = place.part, block.terminator
    token, enter, taken = calls
    assert part is not None and end is not None
    below = end.edges()[0].args[: place.through] if place.through else []
    rest, hit = Block(f"{block.name}_rest"), Block(f"{block.name}_hit")
    for each in (rest, hit):
        each.params = [Value(getattr(a, "name", "")) for a in below]
        each.handler = _handler(block.handler, below, each.params)
    rest.ops, rest.terminator = block.ops[at:], end
    if place.through:
        first = end.edges()[0]
        first.args[: place.through] = rest.params
    pos = next((op.pos for op in rest.ops if op.pos is not None), getattr(end, "pos", None))
    _enter(block, at, part, pos, (enter, Const(token(part))), (hit, rest), below)
    _leave(hit, place, part, pos, taken)
    where = graph.blocks.index(block) + 1
    graph.blocks[where:where] = [hit, rest]


def _enter(
    block: Block, at: int, part: Part, pos: Position | None, enter: tuple[Any, Const],
    ways: Sequence[Block], below: Sequence[Operand],
) -> None:  # fmt: skip
    loads = [Op(Const(_LOADS[isinstance(v, Value)]), [v if isinstance(v, Value) else Const(v)],
                [Value(str(v))], (), pos, True) for v in part.inputs]  # fmt: skip
    done = Value("done")
    call = Op(Const(enter[0]), [enter[1], *(op.result for op in loads)], [done], (), pos)
    block.ops[at:] = [*loads, call]
    hit, rest = (Edge(way, [*below]) for way in ways)
    block.terminator = Branch(done, hit, rest, pos)


_LOADS = (frames.load_local, frames.load_closure)


def _leave(hit: Block, place: Place, part: Part, pos: Position | None, taken: Any) -> None:
    found = Value("outputs")
    hit.ops = [Op(Const(taken), [], [found], (), pos)]
    values = [Value(str(name)) for name in part.outputs]
    stores = [_store(name, value, pos) for name, value in zip(part.outputs, values, strict=True)]
    if place.target is None:
        values.insert(0, Value("returned"))
        hit.terminator = Return(values[0], pos)
    else:
        hit.terminator = Jump(Edge(place.target, [*hit.params]), pos)
    if not values:
        hit.ops.append(Op(Const(frames.drop), [found], [], (), pos, True))
        return
    opening = Op(Const(primitives.unpack), [found, Const(len(values))], values, (), pos, True)
    opening.exempt = True
    hit.ops += [opening, *stores]


def _store(name: Variable, value: Value, pos: Position | None) -> Op:
    """What is set outside is noted as such."""
    if isinstance(name, Value):
        return Op(Const(primitives.cell_set), [name, value], [Value()], (), pos, True)
    op = Op(Const(frames.store_local), [Const(name), value], [], (), pos, True)
    op.exempt = True
    return op
